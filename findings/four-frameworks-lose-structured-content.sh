#!/usr/bin/env bash
# Packages: @strands-agents/sdk 1.19.0, @ai-sdk/mcp 2.0.99, @openai/agents 0.20.0, @langchain/mcp-adapters 1.1.4 (TypeScript), as
#   clients. Source: npm; https://github.com/strands-agents/harness-sdk, https://github.com/vercel/ai,
#   https://github.com/openai/openai-agents-js, https://github.com/langchain-ai/langchainjs
# Behaviour: of a result whose `content` is empty and whose `structuredContent` is {"late": 3} each gives its model nothing of the data:
#   three an empty list, strands the words "Tool execution completed successfully with no output."
# Why a good guess is wrong: the specification says that such a result *should* have the data as text too, so one may leave it out, and
#   Claude Code and Codex give their models the structured content first. One expects a client to fall back on what is there. A tool that
#   works in those two says nothing here, and by strands' words it found nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit --legacy-peer-deps @strands-agents/sdk@1.19.0 @ai-sdk/mcp@2.0.99 @openai/agents@0.20.0 \
    @langchain/mcp-adapters@1.1.4 @langchain/core@1.4.0 @langchain/langgraph@1.7.3 @modelcontextprotocol/sdk@1.32.2 \
    @opentelemetry/api@1.10.0 zod@4.6.7
cat >server.py <<'SERVER'
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        who = {"name": "orders", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        schema = {"type": "object", "properties": {}}
        answer = {"result": {"tools": [{"name": "late", "description": "counts late orders", "inputSchema": schema}]}}
    if message["method"] == "tools/call":
        answer = {"result": {"content": [], "structuredContent": {"late": 3}}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >run.mjs <<'RUN'
import { readFileSync } from "node:fs";
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { MCPServerStdio, RunContext, getAllMcpTools } from "@openai/agents";
import { McpClient } from "@strands-agents/sdk";

const server = { command: "python3", args: ["server.py"] };
const given = {
    async "@strands-agents/sdk"() {
        const [tool] = await new McpClient({ transport: new StdioClientTransport(server) }).listTools();
        const running = tool.stream({ toolUse: { name: "late", toolUseId: "1", input: {} }, agent: {}, invocationState: {} });
        for (;;) {
            const { done, value } = await running.next();
            if (done) return value.content.map((block) => block.text);
        }
    },
    async "@ai-sdk/mcp"() {
        const client = await createMCPClient({ transport: new Experimental_StdioMCPTransport(server) });
        const { late } = await client.tools();
        const output = await late.execute({}, { messages: [], toolCallId: "1" });
        return (await late.toModelOutput({ output, toolCallId: "1", input: {} })).value;
    },
    async "@openai/agents"() {
        const client = new MCPServerStdio({ ...server, name: "orders" });
        await client.connect();
        const [tool] = await getAllMcpTools([client]);
        return tool.invoke(new RunContext({}), "{}", {});
    },
    async "@langchain/mcp-adapters"() {
        const [tool] = await new MultiServerMCPClient({ mcpServers: { orders: server } }).getTools();
        return (await tool.invoke({ id: "1", name: "late", args: {}, type: "tool_call" })).content;
    },
};
const expected = { "@strands-agents/sdk": ["Tool execution completed successfully with no output."] };
let other = 0;
for (const [name, run] of Object.entries(given)) {
    const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
    const seen = JSON.stringify(await run());
    console.log(name, version, "gives its model:", seen);
    if (seen !== JSON.stringify(expected[name] ?? [])) other = 1;
}
process.exit(other);
RUN
OPENAI_AGENTS_DISABLE_TRACING=1 timeout 100 node run.mjs 2>said || { echo "not so: $(tail -n 3 said)"; exit 1; }
