#!/usr/bin/env bash
# Packages: Codex 0.171.0 (@openai/codex, `codex exec`), and Claude Code 2.1.332 (@anthropic-ai/claude-code) beside it, with a stand-in for
#   their model on loopback. Source: npm; https://github.com/openai/codex
# Behaviour: in a call a server offers one more tool, and says so (`notifications/tools/list_changed`, which it has declared). Codex does not
#   read the list again: for the rest of the run its model is offered the tools of the start. Claude Code reads it, and offers the new one.
# Why a good guess is wrong: the notification is as old as the protocol, and most agents follow it (Copilot CLI, Gemini CLI, opencode, and
#   Kilo, too; Cline, Continue, and Kimi Code do not). Servers that show their tools step by step, after a sign-in or by a tool
#   that turns others on, work in one agent, and in the other the model is told of tools that it cannot call.
# Versions: Holds in Codex from 0.124.0 on; Claude Code 2.0.20 does not read the list again either.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@anthropic-ai/claude-code@${CLAUDE_CODE_VERSION:-2.1.332}" "@openai/codex@${CODEX_VERSION:-0.171.0}"
cat >server.py <<'SERVER'
import json
import sys
import time

names = ["open", "pause"]


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        who = {"name": "orders", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        schema = {"type": "object", "properties": {}}
        answer = {"result": {"tools": [{"name": name, "inputSchema": schema} for name in names]}}
    if message["method"] == "tools/call":
        if "cancel" not in names:
            names.append("cancel")
            say(method="notifications/tools/list_changed")
        answer = {"result": {"content": [{"type": "text", "text": "done"}]}}
    say(id=message["id"], **answer)
    if message["method"] == "tools/call":
        time.sleep(1)
SERVER
cat >run.py <<'RUN'
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

offered = {}


def called(agent, names, results):
    """The tool that the model calls next, of those that it is offered; `names` has theirs by the server's name."""
    if names:
        offered.setdefault(agent, []).append(sorted(names))
    return names.get(("open", "pause", "pause")[results]) if results < 3 else None


def responses(body):
    """OpenAI's API."""
    results = sum(each["type"] == "function_call_output" for each in body["input"])
    named = [{"namespace": group["name"], "name": tool["name"]} for group in body.get("tools", []) for tool in group.get("tools", [])]
    name = called("Codex", {each["name"]: each for each in named if "orders" in each["namespace"]}, results)
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    if name:
        item = {"type": "function_call", "call_id": f"call_{results}", "arguments": "{}", **name}
    yield {"type": "response.created", "response": {"id": "r"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": {"id": f"item_{results}", **item}}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.completed", "response": {"id": "r", "usage": usage}}


def messages(body):
    """Anthropic's API, in the same way."""
    parts = [part for each in body["messages"] if isinstance(each["content"], list) for part in each["content"]]
    results = sum(part["type"] == "tool_result" for part in parts)
    named = {tool["name"].rpartition("__")[2]: tool["name"] for tool in body.get("tools", []) if "orders" in tool["name"]}
    name = called("Claude Code", named, results)
    block, delta, end = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
    if name:
        block = {"type": "tool_use", "id": f"toolu_{results}", "name": name, "input": {}}
        delta, end = {"type": "input_json_delta", "partial_json": "{}"}, "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{results}", "type": "message", "role": "assistant", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "model": body["model"], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": end}, "usage": usage}
    yield {"type": "message_stop"}


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        api = {"/v1/responses": responses, "/v1/messages": messages}.get(path, lambda _: [])
        lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in api(body)]
        self.send_response(200 if lines else 404)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(lines).encode())

    def log_message(self, *_):
        pass


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
url, here = f"http://127.0.0.1:{model.server_port}", os.getcwd()
os.makedirs("home/.codex")
server = {"command": "python3", "args": [f"{here}/server.py"]}
with open("home/.codex/config.toml", "w") as config:
    config.write('model = "stand-in"\nmodel_provider = "loopback"\n[model_providers.loopback]\nname = "loopback"\n')
    config.write(f'base_url = "{url}/v1"\nwire_api = "responses"\n[mcp_servers.orders]\ncommand = "python3"\n')
    config.write(f"args = {json.dumps(server['args'])}\n")
with open("mcp.json", "w") as config:
    json.dump({"mcpServers": {"orders": server}}, config)
nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
environment = {**os.environ, **nowhere, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HOME": f"{here}/home"}
environment |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "ENABLE_TOOL_SEARCH": "false"}
environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "TMPDIR": here}
claude = ["claude", "-p", "Go.", "--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__orders", "--model", "stand-in"]
codex = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Go."]
for command in claude, codex:
    command[0] = f"node_modules/.bin/{command[0]}"
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, env=environment, timeout=240, **quiet)
    subprocess.run([command[0], "--version"], env=environment, stderr=subprocess.DEVNULL)
for agent, seen in offered.items():
    print(f"{agent} offers its model at first: {', '.join(seen[0])}; at last: {', '.join(seen[-1])}")
old, new = ["open", "pause"], ["cancel", "open", "pause"]
ends = {agent: (seen[0], seen[-1], len(seen)) for agent, seen in offered.items()}
sys.exit(ends != {"Codex": (old, old, 4), "Claude Code": (old, new, 4)})
RUN
python3 run.py
