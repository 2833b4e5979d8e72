// Node clients, each as small as it can be: `drive.mjs NAME COMMAND…` starts the server, calls `add`, and ends it.
const [name, command, ...args] = process.argv.slice(2);
const call = { name: "add", arguments: { a: 2, b: 3 } };

async function connected({ Client }, { StdioClientTransport }) {
  const client = new Client({ name: "driver", version: "1" });
  await client.connect(new StdioClientTransport({ command, args }));
  console.log(JSON.stringify(await client.callTool(call)));
  await client.close();
}

const clients = {
  async sdk() {
    await connected(
      await import("@modelcontextprotocol/sdk/client/index.js"),
      await import("@modelcontextprotocol/sdk/client/stdio.js"),
    );
  },
  async client() {
    await connected(await import("@modelcontextprotocol/client"), await import("@modelcontextprotocol/client/stdio"));
  },
  async ai() {
    const { experimental_createMCPClient, createMCPClient = experimental_createMCPClient } = await import("@ai-sdk/mcp");
    const { Experimental_StdioMCPTransport: Transport } = await import("@ai-sdk/mcp/mcp-stdio");
    const client = await createMCPClient({ transport: new Transport({ command, args }) });
    const tools = await client.tools();
    console.log(JSON.stringify(await tools.add.execute(call.arguments, { toolCallId: "1", messages: [] })));
    await client.close();
  },
  async agents() {
    const { MCPServerStdio } = await import("@openai/agents");
    const server = new MCPServerStdio({ command, args });
    await server.connect();
    console.log(JSON.stringify(await server.callTool(call.name, call.arguments)));
    await server.close();
  },
};
await clients[name]();
