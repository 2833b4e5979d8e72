// One measurement with one TypeScript SDK, in a process of its own: node driver.mjs CLIENT SCENARIO FOLDER PACKAGES PYTHON
//
// CLIENT is `ts1` (@modelcontextprotocol/sdk 1.x) or `ts2` (@modelcontextprotocol/client 2.x), found in the folder PACKAGES.
// The scenarios are those of driver.py, where each is described.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";

const [client, scenario, folder, packages, python] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${packages}/@modelcontextprotocol/${path}`));
const old = client === "ts1";
const { Client } = await load(old ? "sdk/dist/esm/client/index.js" : "client/dist/index.mjs");
const { StdioClientTransport } = await load(old ? "sdk/dist/esm/client/stdio.js" : "client/dist/stdio.mjs");
const server = new URL("server.py", import.meta.url).pathname;

const peer = new Client({ name: "bench", version: "1" }, { capabilities: {} });
const NEVER = { timeout: 2 ** 31 - 1 };
let notes = 0;
peer.fallbackNotificationHandler = async () => { notes += 1; };
const transport = new StdioClientTransport({ command: python, args: ["-S", server, `${folder}/cancels`], stderr: "ignore" });
await peer.connect(transport);

const call = (name, args, options = NEVER) =>
  old ? peer.callTool({ name, arguments: args }, undefined, options) : peer.callTool({ name, arguments: args }, options);
const now = () => Number(process.hrtime.bigint()) / 1e9;
const resident = (field = "VmRSS") => Number(readFileSync("/proc/self/status", "utf8").match(`${field}:\\s+(\\d+)`)[1]) * 1024;
const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

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

async function cancel(rate) {
  await call("pour", { rate });
  const due = [], called = [];
  for (let each = 0; each < 200; each++) {
    const leave = new AbortController();
    call("silent", {}, { ...NEVER, signal: leave.signal }).catch(() => {});
    await sleep(10);
    due.push(now() + 0.005);
    await new Promise((over) => setTimeout(() => { called.push(now()); leave.abort("enough"); over(); }, 5));
  }
  await sleep(500);
  const heard = readFileSync(`${folder}/cancels`, "utf8").trim().split("\n").map((line) => Number(line) / 1e9);
  const figures = {};
  for (const [name, since] of [["call", called], ["due", due]]) {
    const taken = since.map((at, each) => (heard[each] - at) * 1000).sort((a, b) => a - b).slice(10);
    figures[`${name}_p99`] = taken[Math.floor(taken.length * 0.99)];
    figures[`${name}_median`] = median(taken);
  }
  return figures;
}

async function flood(count) {
  const began = now();
  await call("flood", { count });
  while (notes < count) await sleep(1);
  return { seconds: now() - began };
}

async function large(kind) {
  await many(1, 20);
  let longest = 0, last = now();
  const watched = setInterval(() => {
    const at = now();
    longest = Math.max(longest, at - last - 0.002);
    last = at;
  }, 2);
  const began = now();
  await call("large", { kind });
  const taken = now() - began;
  await sleep(500);
  clearInterval(watched);
  return { seconds: taken, stall: longest * 1000, mb: resident("VmHWM") / 1e6 };
}

const SCENARIOS = {
  in_flight_1000: () => inFlight(1000),
  in_flight_10000: () => inFlight(10_000),
  round_trip: () => roundTrip(2000),
  round_trip_pinned: () => roundTrip(2000),
  memory: () => memory(5000),
  cancel: () => cancel(50_000),
  flood: () => flood(100_000),
  large_string: () => large("string"),
  large_items: () => large("items"),
};
console.log(JSON.stringify(await SCENARIOS[scenario]()));
process.exit(0);
