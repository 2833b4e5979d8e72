#!/usr/bin/env bash
# Package:  @genkit-ai/mcp 1.42.0 with genkit 1.42.0 (TypeScript), as a client. Source: npm; https://github.com/genkit-ai/genkit
# Behaviour: a text block that holds JSON is parsed, and the model is given the data: of {"order": 12345678901234567890, "price": 1.10}
#   it reads the order 12345678901234567000 and the price 1.1. A result with two text blocks is one text with nothing between them
#   ("3 orders2 late").
# Why a good guess is wrong: a text block is text for the model, so one expects the server's own words, as other clients give them, and a
#   line between two. Ids longer than 16 digits end in zeros, and the model asks for an order that is not there; the server's answer, in
#   any log, is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "genkit@${GENKIT_VERSION:-1.42.0}" "@genkit-ai/mcp@${GENKIT_VERSION:-1.42.0}"
cat >server.py <<'SERVER'
import json
import sys

results = {"json": ['{"order": 12345678901234567890, "price": 1.10}'], "two": ["3 orders", "2 late"]}
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
        answer = {"result": {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in results]}}
    if message["method"] == "tools/call":
        texts = results[message["params"]["name"]]
        answer = {"result": {"content": [{"type": "text", "text": text} for text in texts]}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >run.mjs <<'RUN'
import { readFileSync } from "node:fs";
import { createMcpClient } from "@genkit-ai/mcp";
import { genkit } from "genkit";

for (const name of ["genkit", "@genkit-ai/mcp"]) console.log(name, JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version);
const ai = genkit({});
const given = {};
ai.defineModel({ name: "stand-in" }, async ({ messages }) => {
    const parts = messages.flatMap((message) => message.content).filter((part) => part.toolResponse);
    for (const { toolResponse } of parts) given[toolResponse.name] = JSON.stringify(toolResponse.output);
    const calls = ["json", "two"].map((name) => ({ toolRequest: { name, ref: name, input: {} } }));
    return { message: { role: "model", content: parts.length ? [{ text: "done" }] : calls }, finishReason: "stop" };
});
const client = createMcpClient({ name: "shop", mcpServer: { command: "python3", args: ["server.py"] } });
await client.ready();
await ai.generate({ model: "stand-in", prompt: "Go.", tools: await client.getActiveTools(ai) });
for (const [name, output] of Object.entries(given)) console.log(`${name}: the model is given ${output}`);
const expected = { json: '{"order":12345678901234567000,"price":1.1}', two: '"3 orders2 late"' };
process.exit(JSON.stringify(given) === JSON.stringify(expected) ? 0 : 1);
RUN
timeout 100 node run.mjs 2>said || { echo "not so: $(tail -n 3 said)"; exit 1; }
