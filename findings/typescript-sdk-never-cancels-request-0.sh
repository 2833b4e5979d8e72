#!/usr/bin/env bash
# Package:  @modelcontextprotocol/sdk 1.32.2 (the official TypeScript SDK), as a server over stdio. Source: npm;
#   https://github.com/modelcontextprotocol/typescript-sdk
# Behaviour: a cancel of the request 1 aborts the tool's `signal`, and nothing is answered. The same cancel of the request 0 does nothing:
#   the tool works to its end, and its result comes.
# Why a good guess is wrong: 0 is an id like any other, and it is the first that this SDK's own clients give. It is mostly that of
#   `initialize`, which nobody cancels, so no test sees it; a client that numbers its calls apart has one call that cannot be stopped.
# Versions: Holds from 1.27.0 on; 1.22.0 stops both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@modelcontextprotocol/sdk@${TYPESCRIPT_SDK_VERSION:-1.32.2}"
cat >server.mjs <<'SERVER'
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const server = new McpServer({ name: "two seconds", version: "1" });
server.registerTool("work", { description: "Works." }, async ({ signal }) => {
    for (let step = 0; step < 20 && !signal.aborted; step++) await new Promise((done) => setTimeout(done, 100));
    console.error(signal.aborted ? "the tool was stopped" : "the tool worked to its end");
    return { content: [] };
});
await server.connect(new StdioServerTransport());
SERVER
talk() {
    echo '{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
    sleep 3
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    echo '{"jsonrpc":"2.0","id":'"$1"',"method":"tools/call","params":{"name":"work","arguments":{}}}'
    sleep 0.5
    echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'"$1"'}}'
    sleep 4
}
echo "@modelcontextprotocol/sdk $(node -p "require('./node_modules/@modelcontextprotocol/sdk/package.json').version")"
for id in 1 0; do
    talk "$id" | node server.mjs >"answers$id" 2>"said$id" || true
    echo "request $id, cancelled: $(cat "said$id"), and $(grep -c "\"id\":$id\b" "answers$id" || true) answers came"
done
grep -q stopped said1 && ! grep -q '"id":1\b' answers1 && grep -q "to its end" said0 && grep -q '"id":0\b' answers0
