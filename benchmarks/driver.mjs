// One measurement with one TypeScript SDK, in a process of its own: node driver.mjs CLIENT SCENARIO FOLDER PACKAGES PYTHON
//
// CLIENT is `ts1` (@modelcontextprotocol/sdk 1.x) or `ts2` (@modelcontextprotocol/client 2.x), found in the folder PACKAGES.
// The scenarios are those of driver.py, where each is described.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";

const [client, scenario, folder, packages, python] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${packages}/@modelcontextprotocol/${path}`));
const old = client === "ts1";
const { Client } = await load(old ? "sdk/dist/esm/client/index.js" : "client/dist/index.mjs");
const { StdioClientTransport } = await load(old ? "sdk/dist/esm/client/stdio.js" : "client/dist/stdio.mjs");
const { StreamableHTTPClientTransport } = await load(old ? "sdk/dist/esm/client/streamableHttp.js" : "client/dist/index.mjs");
const server = new URL("server.py", import.meta.url).pathname;
const width = Number(scenario.split("http_")[1]);

const peer = new Client({ name: "bench", version: "1" }, { capabilities: {} });
const NEVER = { timeout: 2 ** 31 - 1 };
if (width) {
  const process_ = spawn(python, ["-S", server, "--http", `${folder}/port`]);
  process.on("exit", () => process_.kill());
  while (!(existsSync(`${folder}/port`) && String(readFileSync(`${folder}/port`)))) await sleep(10);
  await peer.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${readFileSync(`${folder}/port`)}/mcp`)));
} else {
  await peer.connect(new StdioClientTransport({ command: python, args: ["-S", server, `${folder}/cancels`], stderr: "ignore" }));
}

const call = (name, args, options = NEVER) =>
  old ? peer.callTool({ name, arguments: args }, undefined, options) : peer.callTool({ name, arguments: args }, options);
const now = () => Number(process.hrtime.bigint()) / 1e9;
const resident = () => Number(readFileSync("/proc/self/status", "utf8").match(/VmRSS:\s+(\d+)/)[1]) * 1024;

async function many(width, total) {
  let left = total;
  const worker = async () => { while (left-- > 0) await call("echo", {}); };
  const began = now();
  await Promise.all(Array.from({ length: width }, worker));
  return now() - began;
}

async function inFlight(width) {
  const total = 10_000 + width;
  return { per_second: total / (await many(width, total)) };
}

async function roundTrip(count) {
  await many(1, 200);
  return { us: ((await many(1, count)) / count) * 1e6 };
}

async function memory(count) {
  await many(10, 1000);
  const before = resident();
  for (let each = 0; each < count; each++) call("silent", {}).catch(() => {});
  await call("echo", {});
  return { bytes: (resident() - before) / count };
}

async function http() {
  await many(width, 100);
  return { per_second: 500 / (await many(width, 500)) };
}

const SCENARIOS = {
  in_flight_1000: () => inFlight(1000),
  in_flight_10000: () => inFlight(10_000),
  round_trip_pinned: () => roundTrip(2000),
  memory: () => memory(5000),
};
console.log(JSON.stringify(await (SCENARIOS[scenario] ?? http)()));
process.exit(0);
