#!/usr/bin/env bash
# Package:  @modelcontextprotocol/sdk 1.32.2 (the official TypeScript SDK), as a client. Source: npm;
#   https://github.com/modelcontextprotocol/typescript-sdk
# Behaviour: a result that lacks the structured content its tool declares is refused if the tool was on the page of `tools/list` that
#   was read last. If it was on an earlier page, or the tools were not listed, the same result passes.
# Why a good guess is wrong: the client knows the output schema of each tool that it has listed, so one expects all to be checked, or
#   none. Reading the next page makes it forget those of the page before. Version 2 (@modelcontextprotocol/client 2.4.0) reads all
#   pages in one call and checks all, but nothing either before the tools were listed.
# Versions: Holds from 1.22.0 on; 1.10.2 checks nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@modelcontextprotocol/sdk@${SDK_VERSION:-1.32.2}"
cat >server.py <<'SERVER'
import json
import sys

output = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
pages = {None: ("early", "2"), "2": ("late", None)}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"content": [{"type": "text", "text": "no structure"}]}
    if message["method"] == "initialize":
        who = {"name": "pages", "version": "1"}
        answer = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": who}
    if message["method"] == "tools/list":
        name, cursor = pages[(message.get("params") or {}).get("cursor")]
        tool = {"name": name, "inputSchema": {"type": "object"}, "outputSchema": output}
        answer = {"tools": [tool], **({"nextCursor": cursor} if cursor else {})}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
SERVER
cat >client.mjs <<'CLIENT'
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "client", version: "1" });
await client.connect(new StdioClientTransport({ command: "python3", args: ["server.py"] }));
const seen = [];
async function call(when) {
  for (const name of ["early", "late"]) {
    const end = await client.callTool({ name, arguments: {} }).then(() => "passes", (error) => `refused: ${error.message}`);
    console.log(`${when}: ${name} ${end}`);
    seen.push(end.slice(0, 6));
  }
}
await call("not listed");
await client.listTools();
await call("page 1 read");
await client.listTools({ cursor: "2" });
await call("page 2 read");
await client.close();
process.exit(seen.join() === "passes,passes,refuse,passes,passes,refuse" ? 0 : 1);
CLIENT
echo "@modelcontextprotocol/sdk" "$(grep '"version"' node_modules/@modelcontextprotocol/sdk/package.json)"
node client.mjs
