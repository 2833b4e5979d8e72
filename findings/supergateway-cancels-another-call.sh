#!/usr/bin/env bash
# Package:  supergateway 4.0.0, a bridge from stdio to streamable HTTP. Source: npm; https://github.com/supercorp-ai/supergateway
# Behaviour: in 2025-11-25 it gives each request an id of its own, and passes a cancel on with the id that its client gave. To the server
#   that is another call: of two calls that run, a cancel of the first stops the second, and the first works to its end.
# Why a good guess is wrong: a bridge that loses a cancel can be guessed, and so can one that renumbers both. With a client that counts
#   from 0, as the official TypeScript SDK and mcp 1 do, the ids are the same by chance, and a test sees nothing; mcp 2 counts from 1.
# Versions: Holds in 4.0.0; with 3.4.3 the cancel stops no call.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" "supergateway@${SUPERGATEWAY_VERSION:-4.0.0}" >/dev/null
cat >"$folder/server.py" <<'SERVER'
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

running, stopped = {}, set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if method == "notifications/cancelled":
            stopped.add(params["requestId"])
            print("stopped:", running.get(params["requestId"], "nothing"), flush=True)
        result = {}
        if method == "initialize":
            who = {"name": "two calls", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": who}
        elif method == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("first", "second")]}
        elif method == "tools/call":
            running[id] = params["name"]
            for _ in range(60):
                if id in stopped:
                    break
                time.sleep(0.1)
            else:
                print("finished:", params["name"], flush=True)
            result = {"content": []}
        if id is None:
            self.answer(202, b"")
        elif method == "server/discover":
            self.answer(400, b"")
        else:
            self.answer(200, json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode())

    def do_GET(self):
        self.answer(405, b"")

    def do_DELETE(self):
        self.answer(200, b"")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(sys.argv[1], "w") as file:
    file.write(str(server.server_port))
server.serve_forever()
SERVER
python3 "$folder/server.py" "$folder/port" >"$folder/seen" &
server=$!
until [ -s "$folder/port" ]; do sleep 0.1; done
client() {
    local call='{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{}}}\n'
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
    sleep 3
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    # shellcheck disable=SC2059
    printf "$call" 2 first
    sleep 1
    # shellcheck disable=SC2059
    printf "$call" 3 second
    sleep 1
    echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}'
    sleep 7
}
client | "$folder/node_modules/.bin/supergateway" --streamableHttp "http://127.0.0.1:$(cat "$folder/port")/mcp" >/dev/null 2>"$folder/log" &
bridge=$!
sleep 13
kill "$bridge" 2>/dev/null || true
echo "supergateway $(node -p "require('$folder/node_modules/supergateway/package.json').version"); the client cancels the call \"first\". The server:"
cat "$folder/seen"
grep -q "stopped: second" "$folder/seen" && grep -q "finished: first" "$folder/seen"
