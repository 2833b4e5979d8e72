#!/usr/bin/env bash
# Package:  @modelcontextprotocol/sdk 1.32.2 (the official TypeScript SDK), as a client. Source: npm;
#   https://github.com/modelcontextprotocol/typescript-sdk
# Behaviour: a signal that was given to three calls is aborted when all are over: two were answered, one reached its limit. A cancel is
#   sent for each of the three, so the third gets two.
# Why a good guess is wrong: a call that is over has nothing to stop, and the specification allows a cancel only of a request in progress.
#   One signal for all calls of a turn is usual, and a program aborts it when the turn ends. Kilo 7.7.7, opencode 1.18.33, and Kimi Code
#   2.1.0 are built on this SDK: they cancel calls that were answered, and send two cancels of one that reached its limit. Who counts
#   cancels in a log counts calls that went well.
# Versions: Holds in 1.10.2, 1.22.0, and 1.32.2; @modelcontextprotocol/client 2.4.0 sends none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@modelcontextprotocol/sdk@${SDK_VERSION:-1.32.2}"
cat >server.py <<'SERVER'
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "notifications/cancelled":
        with open("cancelled", "a") as file:
            file.write(f"{message['params']['requestId']}\n")
    if "id" not in message or message.get("params", {}).get("name") == "silent":
        continue
    answer = {"content": [{"type": "text", "text": "done"}]}
    if message["method"] == "initialize":
        who = {"name": "orders", "version": "1"}
        answer = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": who}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
SERVER
cat >client.mjs <<'CLIENT'
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "client", version: "1" });
await client.connect(new StdioClientTransport({ command: "python3", args: ["server.py"] }));
const turn = new AbortController();
for (const name of ["first", "second", "silent"]) {
  const options = { signal: turn.signal, timeout: 1000 };
  const end = await client.callTool({ name, arguments: {} }, undefined, options).then(() => "answered", (error) => error.message);
  console.log(`${name}: ${end}`);
}
turn.abort();
await new Promise((done) => setTimeout(done, 1000));
await client.close();
CLIENT
echo "@modelcontextprotocol/sdk" "$(grep '"version"' node_modules/@modelcontextprotocol/sdk/package.json)"
: >cancelled
node client.mjs
# shellcheck disable=SC2046  # on one line
echo "the requests 1 to 3 are over; cancelled were:" $(cat cancelled)
[ "$(sort cancelled | tr '\n' ' ')" = "1 2 3 3 " ]
