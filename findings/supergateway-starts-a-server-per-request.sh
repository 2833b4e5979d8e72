#!/usr/bin/env bash
# Package:  supergateway 4.0.0 (npm), a bridge from streamable HTTP to a stdio server. Source: npm;
#   https://github.com/supercorp-ai/supergateway
# Behaviour: without `--stateful` each POST starts a server. The client agrees on 2025-11-25 and declares elicitation; the process that
#   gets its call was initialized by the bridge, for 2024-11-05, by a client "supergateway" without capabilities
#   (3.4.3 declares roots and sampling).
# Why a good guess is wrong: one process for each request can be guessed; that a call is made in another revision than the one that the
#   client agreed on, hardly. A server that goes by the revision leaves out what is younger (structured content, elicitation, resource
#   links), and a client that checks for it finds a fault in the server. Run directly, the same server is right.
# Versions: Holds in 4.0.0; 3.4.3 declares other capabilities.
set -euo pipefail
folder=$(mktemp -d)
bridge=
trap '[ -z "$bridge" ] || kill "$bridge"; rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "supergateway@${SUPERGATEWAY_VERSION:-4.0.0}"
cat >server.py <<'SERVER'
import json
import os
import sys

hello = {}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        hello = message["params"]
        who = {"name": "server", "version": "1"}
        answer = {"protocolVersion": hello["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": who}
    else:
        said = [hello["protocolVersion"], hello["clientInfo"]["name"], sorted(hello["capabilities"]), os.getpid()]
        answer = {"content": [{"type": "text", "text": json.dumps(said)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
SERVER
cat >client.py <<'CLIENT'
import json
import sys
import urllib.request

headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def post(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with urllib.request.urlopen(urllib.request.Request(sys.argv[1], body, headers), timeout=60) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                return json.loads(line[6:])["result"]


who = {"name": "client", "version": "1"}
params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": who}
agreed = post(id=1, method="initialize", params=params)["protocolVersion"]
headers["MCP-Protocol-Version"] = agreed
post(method="notifications/initialized")
calls = [post(id=id, method="tools/call", params={"name": "who", "arguments": {}}) for id in (2, 3)]
(*first, process), (*second, other) = (json.loads(call["content"][0]["text"]) for call in calls)
print("agreed with the client:", agreed)
print("the server of each call heard:", first, second, "in one process" if process == other else "in two processes")
sys.exit(not (agreed == "2025-11-25" and first == second == ["2024-11-05", "supergateway", []] and process != other))
CLIENT
echo supergateway "$(grep '"version"' node_modules/supergateway/package.json)"
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
node node_modules/supergateway/dist/index.js --stdio "python3 server.py" --outputTransport streamableHttp --port "$port" >log 2>&1 &
bridge=$!
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 "$bridge" || { cat log; exit 1; }
    sleep 0.1
done
python3 client.py "http://127.0.0.1:$port/mcp"
