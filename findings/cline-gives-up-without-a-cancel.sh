#!/usr/bin/env bash
# Package:  cline 3.0.65 (Cline CLI), with a stand-in for its model on loopback. Source: npm; https://github.com/cline/cline
# Behaviour: a call that reaches the limit of its server's entry (`timeout`, in seconds) is given up without a word to the server: no cancel
#   is sent, over stdio, and the next call follows. It asks for 2024-11-05, and of tools in two pages it reads the first.
# Why a good guess is wrong: agents of this size are built on an SDK that cancels, reads all pages in one call, and asks for the newest
#   revision (Claude Code, Codex, and Copilot CLI cancel, and read both pages). A tool that was given up works on to its end and nobody
#   hears of it; a server that waits for a cancel, or offers more than one page of tools, looks broken here alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "cline@${CLINE_VERSION:-3.0.65}"
cat >server.py <<'SERVER'
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    with open(sys.argv[1], "a") as seen:
        seen.write(line)
    if "id" not in message or message.get("params", {}).get("name") == "silent":
        continue
    answer = {"content": [{"type": "text", "text": "done"}]}
    if message["method"] == "initialize":
        who = {"name": "orders", "version": "1"}
        revision = message["params"]["protocolVersion"]
        answer = {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": who}
    if message["method"] == "tools/list":
        more = (message.get("params") or {}).get("cursor")
        names = ("late",) if more else ("silent", "quick")
        answer = {"tools": [{"name": name, "inputSchema": {"type": "object", "properties": {}}} for name in names]}
        answer |= {} if more else {"nextCursor": "2"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
SERVER
cat >run.py <<'RUN'
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    """OpenAI's API for chats: calls the tool that is silent, then the other, and says one word."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        offered = [each["function"]["name"] for each in body.get("tools", [])]
        script = [name for end in ("silent", "quick") for name in offered if name.endswith(f"__{end}")]
        done = sum(each["role"] == "tool" for each in body["messages"])
        delta, end = {"role": "assistant", "content": "done"}, "stop"
        if done < len(script):
            called = {"name": script[done], "arguments": "{}"}
            delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": f"call_{done}", "type": "function", "function": called}]}
            end = "tool_calls"
        part = {"id": "r", "object": "chat.completion.chunk", "created": 0, "model": "stand-in"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        said = {**part, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last = {**part, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(f"data: {each}\n\n" for each in (json.dumps(said), json.dumps(last), "[DONE]")).encode())

    def log_message(self, *_):
        pass


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
here, settings = os.getcwd(), "home/.cline/data/settings"
os.makedirs(settings)
access = {"provider": "openai-compatible", "apiKey": "none", "model": "stand-in", "baseUrl": f"http://127.0.0.1:{model.server_port}/v1"}
provider = {"settings": access, "updatedAt": "2026-11-29T00:00:00.000Z", "tokenSource": "manual"}
known = {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": provider}}
with open(f"{settings}/providers.json", "w") as file:
    json.dump(known, file)
server = {"type": "stdio", "command": "python3", "args": [f"{here}/server.py", f"{here}/seen"]}
with open(f"{settings}/cline_mcp_settings.json", "w") as file:
    json.dump({"mcpServers": {"orders": {"transport": server, "timeout": 4}}}, file)
nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
environment = {**os.environ, **nowhere, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HOME": f"{here}/home"}
environment["CLINE_SESSION_BACKEND_MODE"] = "local"  # without its daemon
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.run(["node_modules/.bin/cline", "Call both tools."], env=environment, timeout=240, **quiet)
version = subprocess.run(["node_modules/.bin/cline", "--version"], env=environment, capture_output=True, text=True).stdout.strip()
with open("seen") as file:
    seen = [json.loads(line) for line in file]
revision = next(each["params"]["protocolVersion"] for each in seen if each.get("method") == "initialize")
methods = [each["method"] for each in seen]
called = [each["params"]["name"] for each in seen if each["method"] == "tools/call"]
print(f"cline {version} asks for {revision}; the server gets: {', '.join(methods)}; calls: {', '.join(called)}")
alone = called == ["silent", "quick"] and methods.count("tools/list") == 1 and "notifications/cancelled" not in methods
sys.exit(not (alone and revision == "2024-11-05"))
RUN
python3 run.py
