#!/usr/bin/env bash
# Packages: Claude Code 2.1.332 (@anthropic-ai/claude-code), opencode 1.18.33 (opencode-ai), and Kilo CLI 7.7.7 (@kilocode/cli), with a
#   stand-in for their model on loopback. Source: npm; https://github.com/anomalyco/opencode, https://github.com/Kilo-Org/kilocode
# Behaviour: of a server with the tools `orders.cancel` and `orders_cancel` each offers its model one tool, …orders_cancel. A call of it
#   reaches `orders.cancel` in Claude Code, and `orders_cancel` in opencode and Kilo. None says a word.
# Why a good guess is wrong: the names of a server differ, so one expects two tools, or a warning. All three replace the dot by a line, and
#   keep one tool of a name: the first, or the last. A server that renames its tools, and has the old names beside the new for a while,
#   is called by the new name here and by the old one there. (Codex and Cline make two names with a digest, Copilot CLI two with a hyphen.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
NPM_CONFIG_USERCONFIG=$(npm config get userconfig) NPM_CONFIG_CACHE=$(npm config get cache)
export NPM_CONFIG_USERCONFIG NPM_CONFIG_CACHE
mkdir home
export HOME="$folder/home" TMPDIR="$folder" # their packages write there when they are installed
npm install --silent --no-fund --no-audit "@anthropic-ai/claude-code@${CLAUDE_CODE_VERSION:-2.1.332}" \
    "opencode-ai@${OPENCODE_VERSION:-1.18.33}" "@kilocode/cli@${KILO_VERSION:-7.7.7}"
cat >server.py <<'SERVER'
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        who = {"name": "shop", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        schema = {"type": "object", "properties": {}}
        answer = {"result": {"tools": [{"name": name, "inputSchema": schema} for name in ("orders.cancel", "orders_cancel")]}}
    if message["method"] == "tools/call":
        name = message["params"]["name"]
        with open(sys.argv[1], "a") as file:
            file.write(f"{name}\n")
        answer = {"result": {"content": [{"type": "text", "text": name}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >run.py <<'RUN'
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

offered = set()


def tool(names):
    """The name of the tool that the model calls."""
    mine = [name for name in names if "orders" in name]
    offered.update(mine)
    return mine[0] if mine else None


def messages(body):
    """Anthropic's API: calls the tool once."""
    parts = [part for each in body["messages"] if isinstance(each["content"], list) for part in each["content"]]
    name = tool(each["name"] for each in body.get("tools", []))
    block, delta, end = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
    if name and not any(part["type"] == "tool_result" for part in parts):
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
        delta, end = {"type": "input_json_delta", "partial_json": "{}"}, "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "model": body["model"], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": end}, "usage": usage}
    yield {"type": "message_stop"}


def chat(body):
    """OpenAI's API for chats, in the same way."""
    name = tool(each["function"]["name"] for each in body.get("tools", []))
    delta, end = {"role": "assistant", "content": "done"}, "stop"
    if name and not any(each["role"] == "tool" for each in body["messages"]):
        called = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": "{}"}}
        delta, end = {"role": "assistant", "tool_calls": [called]}, "tool_calls"
    part = {"id": "r", "object": "chat.completion.chunk", "created": 0, "model": "stand-in"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {**part, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**part, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage}


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        api = {"/v1/chat/completions": chat, "/v1/messages": messages}.get(path, lambda _: [])
        lines = [f"data: {json.dumps(each)}\n\n" for each in api(body)]
        if path == "/v1/messages":
            lines = [f"event: {json.loads(line[6:])['type']}\n{line}" for line in lines]
        self.send_response(200 if lines else 404)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(lines).encode())

    def log_message(self, *_):
        pass


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
url, here = f"http://127.0.0.1:{model.server_port}", os.getcwd()
nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
environment = {**os.environ, **nowhere, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "PWD": f"{here}/work", "TMPDIR": here}
environment |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "ENABLE_TOOL_SEARCH": "false"}
environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
environment |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "KILO_TELEMETRY_LEVEL": "off"}
for name in "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME":
    environment[name] = f"{here}/home/{name}"
os.makedirs("work")
command = ["python3", f"{here}/server.py", f"{here}/called"]
with open("mcp.json", "w") as config:
    json.dump({"mcpServers": {"shop": {"command": command[0], "args": command[1:]}}}, config)
options = {"baseURL": f"{url}/v1", "apiKey": "none"}
provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"stand-in": {}}}
settings = {"provider": {"loopback": provider}, "model": "loopback/stand-in", "autoupdate": False}
settings["mcp"] = {"shop": {"type": "local", "command": command}}
for name in "opencode/opencode.json", "kilo/kilo.jsonc":
    file = f"{here}/home/XDG_CONFIG_HOME/{name}"
    os.makedirs(os.path.dirname(file))
    with open(file, "w") as config:
        json.dump(settings, config)
claude = ["-p", "Go.", "--mcp-config", f"{here}/mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__shop", "--model", "stand-in"]
agents = {"claude": claude, "opencode": ["run", "--auto", "Go."], "kilo": ["run", "--auto", "Go."]}
seen = []
for name, words in agents.items():
    program = f"{here}/node_modules/.bin/{name}"
    offered.clear()
    open("called", "w").close()
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([program, *words], cwd="work", env=environment, timeout=240, **quiet)
    version = subprocess.run([program, "--version"], env=environment, capture_output=True, text=True).stdout.split()[0]
    with open("called") as file:
        called = file.read().split()
    print(f"{name} {version} offers {', '.join(sorted(offered))}; a call reaches {', '.join(called)}")
    seen.append((len(offered), called))
sys.exit(seen != [(1, ["orders.cancel"]), (1, ["orders_cancel"]), (1, ["orders_cancel"])])
RUN
python3 run.py
