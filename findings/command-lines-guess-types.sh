#!/usr/bin/env bash
# Packages: @modelcontextprotocol/inspector 2.12.0 (its command line) and mcporter 0.12.3, as clients. Source: npm;
#   https://github.com/modelcontextprotocol/inspector, https://github.com/openclaw/mcporter
# Behaviour: a tool's parameter `commit` has the type string. `--tool-arg commit=12345e7` of the Inspector sends the number 123450000000,
#   `commit=12345` a number, `commit=012345` a string. mcporter sends all three as strings, but `commit=true` and `commit=null`
#   become true and null in both.
# Why a good guess is wrong: both read the tool's schema before the call, and the schema says string, so one expects a string whatever it
#   looks like. What was typed is gone before the server sees it: now and then a commit is refused, or is not found, and the fault looks
#   like the server's. The argument as JSON ('commit="12345e7"') holds in the Inspector.
# Versions: Holds in the Inspector from 0.17.5, in mcporter from 0.9.0 on; mcporter 0.4.1 sends 12345 as a number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@modelcontextprotocol/inspector@${INSPECTOR_VERSION:-2.12.0}" "mcporter@${MCPORTER_VERSION:-0.12.3}"
cat >server.py <<'SERVER'
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        who = {"name": "builds", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        schema = {"type": "object", "properties": {"commit": {"type": "string"}}, "required": ["commit"]}
        answer = {"result": {"tools": [{"name": "build", "description": "builds a commit", "inputSchema": schema}]}}
    if message["method"] == "tools/call":
        with open("seen.json", "w") as seen:
            json.dump(message["params"]["arguments"]["commit"], seen)
        answer = {"result": {"content": [{"type": "text", "text": "built"}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >run.py <<'RUN'
import json
import os
import subprocess
import sys

server = f"{os.getcwd()}/server.py"
inspector = ["mcp-inspector", "--cli", "python3", server, "--method", "tools/call", "--tool-name", "build", "--tool-arg"]
programs = {
    "@modelcontextprotocol/inspector": inspector,
    "mcporter": ["mcporter", "call", "--stdio", f"python3 {server}", "build"],
}
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
found = {}
for name, (program, *rest) in programs.items():
    for typed in ("12345", "12345e7", "012345", "true", "null"):
        command = [f"node_modules/.bin/{program}", *rest, f"commit={typed}"]
        subprocess.run(command, env={**os.environ, "HOME": os.getcwd()}, timeout=60, **quiet)
        with open("seen.json") as seen:
            found[name, typed] = json.load(seen)
        os.remove("seen.json")
    with open(f"node_modules/{name}/package.json") as package:
        print(name, json.load(package)["version"])
    print("  typed and sent:", ", ".join(f"{typed} {json.dumps(sent)}" for (each, typed), sent in found.items() if each == name))
inspector, mcporter = ([sent for (each, _), sent in found.items() if each == name] for name in programs)
expected = [12345, 123450000000, "012345", True, None], ["12345", "12345e7", "012345", True, None]
sys.exit((inspector, mcporter) != expected)
RUN
python3 run.py
