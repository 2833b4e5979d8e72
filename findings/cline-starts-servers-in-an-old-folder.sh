#!/usr/bin/env bash
# Package:  cline 3.0.65 (Cline CLI), with a stand-in for its model on loopback. Source: npm; https://github.com/cline/cline
# Behaviour: `cline PROMPT` ends, and leaves a daemon in a session of its own. The stdio server of a second `cline PROMPT`, in another
#   folder and with another value of a variable, is a child of that daemon: it has the folder and the variables of the first command.
# Why a good guess is wrong: one prompt is one process, so one expects its server to start where the command was typed, with the
#   environment that it was given. A server that reads files of its folder, or a key
#   from a variable, works on the project of the first command, and a variable that was mended since is not seen.
set -euo pipefail
folder=$(mktemp -d)
# shellcheck disable=SC2046  # none or several
trap '[ ! -s "$folder/daemon" ] || kill $(cat "$folder/daemon") || true; sleep 1; rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "cline@${CLINE_VERSION:-3.0.65}"
cat >server.py <<'SERVER'
import json
import os
import sys

with open(sys.argv[1], "a") as seen:
    seen.write(json.dumps([os.path.basename(os.getcwd()), os.environ.get("KEY")]) + "\n")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        who = {"name": "orders", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "late", "inputSchema": {"type": "object", "properties": {}}}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >run.py <<'RUN'
import contextlib
import glob
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    """OpenAI's API for chats: says one word."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        part = {"id": "r", "object": "chat.completion.chunk", "created": 0, "model": "stand-in"}
        said = {"index": 0, "delta": {"role": "assistant", "content": "done"}, "finish_reason": None}
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        lines = (json.dumps({**part, "choices": [said]}), json.dumps({**part, "choices": [end], "usage": usage}), "[DONE]")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(f"data: {each}\n\n" for each in lines).encode())

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
    json.dump({"mcpServers": {"orders": {"transport": server}}}, file)
nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
environment = {**os.environ, **nowhere, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HOME": f"{here}/home"}
environment.pop("CLINE_SESSION_BACKEND_MODE", None)
for name in ("first", "second"):
    os.mkdir(name)
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [f"{here}/node_modules/.bin/cline", "Say a word."]
    subprocess.run(command, cwd=name, env={**environment, "KEY": f"key of the {name}"}, timeout=240, **quiet)
subprocess.run(["node_modules/.bin/cline", "--version"], env=environment, check=True)
with open("seen") as file:
    seen = [json.loads(line) for line in file]
for where, key in seen:
    print(f"a server was started in the folder {where!r}, with the {key!r}")
# A small machine has no ps, a Mac no /proc.
listed = []
for each in glob.glob("/proc/[0-9]*/cmdline"):
    with contextlib.suppress(OSError), open(each) as file:
        listed.append(f"{each.split('/')[2]} {file.read()}".replace("\0", " "))
listed = listed or subprocess.run(["ps", "-axo", "pid=,command="], stdout=subprocess.PIPE, text=True).stdout.splitlines()
left = [each.split()[0] for each in listed if f"--cline-hub-daemon --cwd {here}/first" in each]
with open("daemon", "w") as file:
    file.write(" ".join(left))
print("daemons that are left:", len(left))
sys.exit(not (left and len(seen) > 1 and all(each == ["first", "key of the first"] for each in seen)))
RUN
python3 run.py
