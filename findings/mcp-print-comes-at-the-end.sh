#!/usr/bin/env bash
# Package:  mcp 2.3.0 (Python), as a server over stdio. Source: PyPI; https://github.com/modelcontextprotocol/python-sdk
# Behaviour: a tool's `print(…, flush=True)` and the output of a program that it starts go to stderr. A plain `print` does not: it comes
#   on stdout when stdin was closed and the process ends, and the client reads a line that is no message. With PYTHONUNBUFFERED set,
#   as in many containers, it goes to stderr like the others.
# Why a good guess is wrong: by one guess a print breaks the stream at once, as with mcp 1; by the other the server keeps stdout for
#   itself. It does, at the level of the file descriptor, but gives it back when it ends, and then Python writes what it had buffered.
#   So the noise stands at the end of a session, far from the call that made it.
# Versions: Holds from 2.0.0 on; with 1.30.0 what is flushed comes on stdout at once, in the session.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "mcp==${MCP_VERSION:-2.3.0}"
cat >"$folder/server.py" <<'SERVER'
import subprocess
import sys

try:
    from mcp.server import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("prints")


@server.tool()
def talk() -> str:
    print("a plain print")
    return "done"


@server.tool()
def talk_at_once() -> str:
    print("a flushed print", flush=True)
    subprocess.run([sys.executable, "-c", "print('a program')"], check=True)
    return "done"


server.run(transport="stdio")
SERVER
cat >"$folder/client.py" <<'CLIENT'
import json
import os
import subprocess
import sys

pipe = subprocess.PIPE
environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
server = subprocess.Popen(sys.argv[1:], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
lines = []


def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def answer(id):
    for line in server.stdout:
        lines.append(line.strip())
        if line.startswith("{") and json.loads(line).get("id") == id:
            return


hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}
send(id=1, method="initialize", params=hello)
answer(1)
send(method="notifications/initialized")
for id, tool in (2, "talk_at_once"), (3, "talk"):
    send(id=id, method="tools/call", params={"name": tool, "arguments": {}})
    answer(id)
in_session = [line for line in lines if not line.startswith("{")]
rest, errors = server.communicate()
said = [line for line in errors.splitlines() if line in ("a flushed print", "a program", "a plain print")]
print("on stdout in the session:", in_session)
print("on stdout at the end:", rest.splitlines())
print("on stderr:", said)
sys.exit((in_session, rest.split("\n"), sorted(said)) != ([], ["a plain print", ""], ["a flushed print", "a program"]))
CLIENT
"$folder/venv/bin/python" -c 'from importlib.metadata import version; print("mcp", version("mcp"))'
"$folder/venv/bin/python" "$folder/client.py" "$folder/venv/bin/python" "$folder/server.py"
