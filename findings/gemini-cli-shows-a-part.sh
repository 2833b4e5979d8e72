#!/usr/bin/env bash
# Package:  Gemini CLI 0.61.0 (@google/gemini-cli), with a stand-in for its model on loopback. Source: npm;
#   https://github.com/google-gemini/gemini-cli
# Behaviour: of a server that gives its tools in two pages the model is offered the first. Of a result with structured content alone the
#   model is given an empty object, of one with text and structured content the text alone.
# Why a good guess is wrong: Claude Code and Codex read all pages, and give their models the structured content alone. One expects agents
#   of this size to agree on what a result says. A tool that one of them uses well can look absent, or silent, in another.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@google/gemini-cli@${GEMINI_CLI_VERSION:-0.61.0}"
cat >server.py <<'SERVER'
import json
import sys

text = [{"type": "text", "text": "3 orders are late"}]
pages = {None: ["alone", "both"], "2": ["later"]}
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params") or {}
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if method == "initialize":
        who = {"name": "orders", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": who}}
    if method == "tools/list":
        schema = {"type": "object", "properties": {}}
        cursor = params.get("cursor")
        tools = [{"name": name, "description": name, "inputSchema": schema} for name in pages[cursor]]
        answer = {"result": {"tools": tools, **({} if cursor else {"nextCursor": "2"})}}
    if method == "tools/call":
        content = text if params["name"] == "both" else []
        answer = {"result": {"content": content, "structuredContent": {"late": 3}}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >run.py <<'RUN'
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

offered, given = set(), {}


class Model(BaseHTTPRequestHandler):
    """Calls the tools `alone` and `both` in turn, and notes what it is offered and given."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        names = [each["name"] for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])]
        offered.update(name for name in names if name.startswith("mcp_orders_"))
        parts = [part for each in body["contents"] for part in each["parts"]]
        given.update((part["functionResponse"]["name"], part["functionResponse"]["response"]) for part in parts if "functionResponse" in part)
        due = [name for name in ("mcp_orders_alone", "mcp_orders_both") if name in names and name not in given]
        part = {"functionCall": {"name": due[0], "args": {}}} if due else {"text": "done"}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(answer)}\r\n\r\n".encode())

    def log_message(self, *_):
        pass


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
here = os.getcwd()
os.makedirs("home/.gemini")
with open("home/.gemini/settings.json", "w") as settings:
    server = {"command": "python3", "args": [f"{here}/server.py"], "trust": True}
    json.dump({"mcpServers": {"orders": server}, "security": {"auth": {"selectedType": "gemini-api-key"}}}, settings)
environment = {**os.environ, "HOME": f"{here}/home", "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
environment |= {"GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{model.server_port}", "NO_PROXY": "127.0.0.1"}
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
gemini = "node_modules/.bin/gemini"
subprocess.run([gemini, "-p", "Go.", "--yolo", "-m", "gemini-2.5-pro"], env=environment, timeout=240, **quiet)
print("Gemini CLI", subprocess.run([gemini, "--version"], env=environment, capture_output=True, text=True).stdout.strip())
print("offered to the model:", sorted(offered))
print("given to the model:", given)
both = json.dumps(given["mcp_orders_both"])
so = offered == {"mcp_orders_alone", "mcp_orders_both"} and given["mcp_orders_alone"] == {}
sys.exit(not (so and "3 orders are late" in both and '"late"' not in both))
RUN
python3 run.py
