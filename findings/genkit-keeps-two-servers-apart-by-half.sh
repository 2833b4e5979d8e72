#!/usr/bin/env bash
# Package:  @genkit-ai/mcp 1.42.0 with genkit 1.42.0 (TypeScript), as a client. Source: npm; https://github.com/genkit-ai/genkit
# Behaviour: a host with two servers that have a tool of one name (the same server for production and for staging) ends each
#   `generate` with "Cannot provide two tools with the same name: 'staging/orders' and 'production/orders'". The tools of one server
#   work, and the model is offered `orders` without a prefix.
# Why a good guess is wrong: the host is for several servers, and gives each tool its server's name as a prefix, so one expects that the
#   prefix keeps them apart. It is taken off again before the model sees it, and before the names are compared: the message names two
#   names that differ, and says that they are the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "genkit@${GENKIT_VERSION:-1.42.0}" "@genkit-ai/mcp@${GENKIT_VERSION:-1.42.0}"
cat >server.py <<'SERVER'
import json
import sys

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
        answer = {"result": {"tools": [{"name": "orders", "description": "lists orders", "inputSchema": schema}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >run.mjs <<'RUN'
import { readFileSync } from "node:fs";
import { createMcpHost } from "@genkit-ai/mcp";
import { genkit } from "genkit";

for (const name of ["genkit", "@genkit-ai/mcp"]) console.log(name, JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version);
const ai = genkit({});
let offered = [];
ai.defineModel({ name: "stand-in" }, async (request) => {
    offered = request.tools.map((tool) => tool.name);
    return { message: { role: "model", content: [{ text: "done" }] }, finishReason: "stop" };
});

async function generate(...names) {
    const mcpServers = Object.fromEntries(names.map((name) => [name, { command: "python3", args: ["server.py"] }]));
    const tools = await createMcpHost({ name: names.join("-"), mcpServers }).getActiveTools(ai);
    console.log("the host's tools:", tools.map((tool) => tool.__action.name).join(", "));
    try {
        await ai.generate({ model: "stand-in", prompt: "Go.", tools });
        return `the model is offered: ${offered.join(", ")}`;
    } catch (error) {
        return error.message;
    }
}

const one = await generate("production");
console.log(one);
const two = await generate("production", "staging");
console.log(two);
process.exit(one.endsWith("offered: orders") && two.includes("two tools with the same name") ? 0 : 1);
RUN
timeout 100 node run.mjs 2>said || { echo "not so: $(tail -n 3 said)"; exit 1; }
