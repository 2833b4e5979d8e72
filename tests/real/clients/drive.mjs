// Node clients, each as small as it can be: `drive.mjs NAME COMMAND…` starts the server, or goes to MCP_SERVER_URL.
// It calls `add`. Where `mcp-tui probe-client` names an experiment, it does that instead. A client gives how it calls a
// tool, with a limit in milliseconds and a signal to stop it, and how it ends.
const [name, command, ...args] = process.argv.slice(2);
const url = process.env.MCP_SERVER_URL;
const experiment = process.env.MCP_EXPERIMENT ?? "";
const limit = 1000 * (process.env.MCP_TIMEOUT ?? 30);
const most = 1000 * process.env.MCP_MAX_TIMEOUT || undefined;
const connecting = experiment === "initialize" ? { timeout: limit } : undefined;
const words = { a: 2, b: 3 };
const unable = 77;

const declines = () => new Promise((done) => setTimeout(() => done({ action: "decline" }), 1500));

// Calls a tool as a task of 2025-11-25; to stop this is to cancel the task.
async function asTask(client, [made, cancelled], name, words, signal) {
  const params = { name, arguments: words, task: { ttl: 60_000 } };
  const { task } = await client.request({ method: "tools/call", params }, made);
  await new Promise((stopped) => signal.addEventListener("abort", stopped));
  await client.request({ method: "tasks/cancel", params: { taskId: task.taskId } }, cancelled);
  throw new Error("the task was cancelled");
}

async function connected({ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }, asked, tasks, more) {
  const client = new Client({ name: "driver", version: "1" }, { capabilities: { elicitation: {} } });
  client.onerror = (error) => console.error("onerror:", error.message);
  client.setRequestHandler(asked, declines);
  const transport = url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args });
  await client.connect(transport, connecting);
  const given = { onprogress() {}, resetTimeoutOnProgress: experiment === "progress", maxTotalTimeout: most };
  return {
    call: (name, words, timeout, signal) =>
      experiment === "task" && name !== "add"
        ? asTask(client, tasks, name, words, signal)
        : client.callTool({ name, arguments: words }, ...more({ ...given, timeout, signal })),
    close: () => client.close(),
  };
}

const clients = {
  async sdk() {
    const types = await import("@modelcontextprotocol/sdk/types.js");
    return connected(
      await import("@modelcontextprotocol/sdk/client/index.js"),
      await import("@modelcontextprotocol/sdk/client/stdio.js"),
      await import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      types.ElicitRequestSchema,
      [types.CreateTaskResultSchema, types.CancelTaskResultSchema],
      (options) => [undefined, options],
    );
  },
  async client() {
    const client = await import("@modelcontextprotocol/client");
    const stdio = await import("@modelcontextprotocol/client/stdio");
    const tasks = [client.specTypeSchemas.CreateTaskResult, client.specTypeSchemas.CancelTaskResult];
    return connected(client, stdio, client, "elicitation/create", tasks, (options) => [options]);
  },
  ai_again: () => clients.ai({ maxRetries: 2 }),
  async ai(more) {
    const ai = await import("@ai-sdk/mcp");
    const { Experimental_StdioMCPTransport: Transport } = await import("@ai-sdk/mcp/mcp-stdio");
    const client = await (ai.createMCPClient ?? ai.experimental_createMCPClient)({
      transport: url ? { type: "http", url } : new Transport({ command, args }),
      capabilities: { elicitation: {} },
      initializationOptions: connecting,
      ...more,
      onUncaughtError: (error) => console.error("uncaught error:", error.message),
    });
    client.onElicitationRequest(ai.ElicitationRequestSchema, declines);
    const tools = await client.tools();
    return {
      // a tool has no limit of its own: a signal is one
      call: (name, words, timeout, signal) =>
        tools[name].execute(words, {
          toolCallId: "1",
          messages: [],
          abortSignal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
        }),
      close: () => client.close(),
    };
  },
  async mastra() {
    const { MCPClient } = await import("@mastra/mcp");
    const server = url ? { url: new URL(url) } : { command, args };
    const client = new MCPClient({ servers: { demo: { ...server, connectTimeout: connecting?.timeout } }, timeout: limit });
    const tools = await client.listTools();
    await tools.demo_add.execute(words); // its first call takes a while to leave
    return {
      call: (name, words, timeout, signal) => tools[`demo_${name}`].execute(words, { abortSignal: signal }),
      close: () => client.disconnect(),
    };
  },
  async langchain() {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const server = url ? { url } : { transport: "stdio", command, args };
    const client = new MultiServerMCPClient({ mcpServers: { demo: server }, onProgress() {} });
    const tools = await client.getTools();
    return {
      call: (name, words, timeout, signal) => tools.find((each) => each.name === name).invoke(words, { timeout, signal }),
      close: () => client.close(),
    };
  },
  async agents() {
    const { MCPServerStdio, MCPServerStreamableHttp } = await import("@openai/agents");
    const limits = { clientSessionTimeoutSeconds: limit / 1000, timeout: limit };
    const server = url
      ? new MCPServerStreamableHttp({ url, ...limits })
      : new MCPServerStdio({ command, args, ...limits });
    await server.connect();
    return {
      call: (name, words, timeout, signal) => server.callTool(name, words, undefined, { signal }),
      close: () => server.close(),
    };
  },
};

async function add({ call }) {
  console.log(JSON.stringify(await call("add", words, 30_000, new AbortController().signal)));
}

// An ordinary day: nothing is given up, and equal calls are sent one after another, and at once.
async function day(client) {
  const shown = async (tool, given) => {
    const call = client.call(tool, given, 30_000, new AbortController().signal);
    const done = await call.then(JSON.stringify, (error) => error.name);
    console.log("gave:", done.length < 10_000 ? done : done.length);
  };
  const [letter, wrong] = [{ to: "Ada", seconds: 0 }, { seconds: 0, steps: 0 }];
  for (const [tool, given] of [["add", words], ["send", letter], ["count", wrong]]) {
    await shown(tool, given);
    await shown(tool, given);
  }
  await Promise.all([1, 2, 3].map(() => shown("send", { to: "Bo", seconds: 0.2 })));
  await shown("count", { seconds: 0.2, steps: 4 });
  await shown("big", { megabytes: url ? 0.9 : 2 });
}

async function tried(client) {
  const stop = new AbortController();
  const moment = { stop: limit / 4, task: 500 }[experiment];
  if (moment) setTimeout(() => stop.abort(), moment);
  try {
    const given = JSON.parse(process.env.MCP_ARGUMENTS);
    console.log(JSON.stringify(await client.call(process.env.MCP_TOOL, given, limit, stop.signal)));
  } catch (error) {
    console.log("gave up:", error.message);
  }
}

const unables = { task: ["ai", "agents", "mastra", "langchain"], question: ["agents", "mastra", "langchain"] };
if (unables[experiment]?.includes(name)) process.exit(unable);
const client = await clients[name]();
if (experiment === "day") await day(client);
else if (!["", "exit", "ids"].includes(experiment)) await tried(client);
for (let count = { ids: 20, count: 0 }[experiment] ?? 1; count > 0; count--) await add(client);
await client.close();
