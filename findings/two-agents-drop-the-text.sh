#!/usr/bin/env bash
# Packages: Claude Code 2.1.332 (@anthropic-ai/claude-code) and Codex 0.171.0 (@openai/codex), with a stand-in for their model on
#   loopback. Source: npm; https://github.com/openai/codex
# Behaviour: of a result with `content` ("3 orders are late, ask before you cancel them") and `structuredContent` ({"late": 3}) both give
#   their model the structured content alone. Of a result with `isError: true` Codex gives the words, and nothing says that it failed.
# Why a good guess is wrong: `content` is what the protocol has for the model, and structured content came later, for programs; a server
#   that fills both is told to put the same in both. One that puts advice in the text finds that it is never read here, while
#   openai-agents and smolagents give their models the text alone.
# Versions: Holds in Claude Code from 2.1.140 on; 2.0.20 gives its model the text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@anthropic-ai/claude-code@${CLAUDE_CODE_VERSION:-2.1.332}" "@openai/codex@${CODEX_VERSION:-0.171.0}"
cat >server.py <<'SERVER'
import json
import sys

text = [{"type": "text", "text": "3 orders are late, ask before you cancel them"}]
results = {"both": {"content": text, "structuredContent": {"late": 3}}, "failing": {"content": text, "isError": True}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        who = {"name": "orders", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        schema = {"type": "object", "properties": {}}
        answer = {"result": {"tools": [{"name": name, "inputSchema": schema} for name in results]}}
    if message["method"] == "tools/call":
        answer = {"result": results[message["params"]["name"]]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >run.py <<'RUN'
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

heard = {}


def responses(body):
    """OpenAI's API: calls each tool in turn, and notes what the model is given."""
    given = [each["output"] for each in body["input"] if each["type"] == "function_call_output"]
    heard["Codex"] = max(heard.get("Codex", []), given, key=len)
    named = [{"namespace": group["name"], "name": tool["name"]} for group in body.get("tools", []) for tool in group.get("tools", [])]
    named = [each for name in ("both", "failing") for each in named if each["name"] == name]
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    if len(given) < len(named):
        item = {"type": "function_call", "call_id": f"call_{len(given)}", "arguments": "{}", **named[len(given)]}
    yield {"type": "response.created", "response": {"id": "r"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": {"id": f"item_{len(given)}", **item}}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.completed", "response": {"id": "r", "usage": usage}}


def messages(body):
    """Anthropic's API, in the same way."""
    parts = [part for each in body["messages"] if isinstance(each["content"], list) for part in each["content"]]
    given = [(part["content"], part.get("is_error", False)) for part in parts if part["type"] == "tool_result"]
    heard["Claude Code"] = max(heard.get("Claude Code", []), given, key=len)
    offered = {tool["name"] for tool in body.get("tools", [])}
    named = [name for name in ("mcp__orders__both", "mcp__orders__failing") if name in offered]
    block, delta, end = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
    if len(given) < len(named):
        block = {"type": "tool_use", "id": f"toolu_{len(given)}", "name": named[len(given)], "input": {}}
        delta, end = {"type": "input_json_delta", "partial_json": "{}"}, "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{len(given)}", "type": "message", "role": "assistant", "content": [], "usage": usage}
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
both, failing = (json.dumps(each) for each in heard["Codex"])
print("Codex gives its model:", both, "and", failing)
(half, _), (words, failed) = heard["Claude Code"]
print("Claude Code gives its model:", json.dumps(half), "and", json.dumps(words), "as a failure:", failed)
alone = all("late" in each and "ask before" not in each for each in (both, json.dumps(half)))
sys.exit(not (alone and failed and "ask before" in failing and "rror" not in failing and "ail" not in failing))
RUN
python3 run.py
