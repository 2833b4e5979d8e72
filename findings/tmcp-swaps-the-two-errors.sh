#!/usr/bin/env bash
# Package:  tmcp 1.20.0 with @tmcp/transport-stdio and @tmcp/adapter-zod (TypeScript), as a server. Source: npm;
#   https://github.com/paoloricciuti/tmcp
# Behaviour: a tool that throws is answered with the JSON-RPC error -32603. Arguments that its schema refuses are answered with a result
#   whose `isError` is true.
# Why a good guess is wrong: a tool's own failure is a result with `isError`, which the model reads; the official SDKs and FastMCP make
#   one of what a tool throws. One expects both as results, or the schema's refusal as the error -32602. Here it is the other way round:
#   frameworks that hide the words of a JSON-RPC error (openai-agents) hide what went wrong in the tool, and a count of failed calls by
#   `isError` has none of them.
# Versions: Holds in 1.20.0; 1.16.1 to 1.19.4 answer with the error 0 in place of -32603.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "tmcp@${TMCP_VERSION:-1.20.0}" @tmcp/transport-stdio@0.5.0 @tmcp/adapter-zod@0.1.7 zod@4.6.7
cat >server.mjs <<'SERVER'
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { StdioTransport } from "@tmcp/transport-stdio";
import { McpServer } from "tmcp";
import { z } from "zod";

const about = { name: "orders", version: "1", description: "orders" };
const server = new McpServer(about, { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } });
const schema = z.object({ order: z.number() });
server.tool({ name: "cancel", description: "cancels an order", schema }, async ({ order }) => {
    throw new Error(`there is no order ${order}`);
});
new StdioTransport(server).listen();
SERVER
cat >client.py <<'CLIENT'
import json
import subprocess
import sys

pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
server = subprocess.Popen(["node", "server.mjs"], text=True, **pipes)


def ask(number, method, params):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}), file=server.stdin, flush=True)
    for line in server.stdout:
        if json.loads(line).get("id") == number:
            return json.loads(line)


ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}})
print(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), file=server.stdin, flush=True)
thrown = ask(2, "tools/call", {"name": "cancel", "arguments": {"order": 7}})
refused = ask(3, "tools/call", {"name": "cancel", "arguments": {"order": "seven"}})
server.terminate()
with open("node_modules/tmcp/package.json") as package:
    print("tmcp", json.load(package)["version"])
print("a tool that throws:", json.dumps(thrown.get("error") or thrown["result"]))
print("arguments against the schema:", json.dumps(refused.get("error") or refused["result"]))
sys.exit(not (thrown.get("error", {}).get("code") == -32603 and refused.get("result", {}).get("isError")))
CLIENT
python3 client.py
