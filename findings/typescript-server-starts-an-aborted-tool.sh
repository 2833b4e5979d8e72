#!/usr/bin/env bash
# Package:  @modelcontextprotocol/server 2.4.0 (the official TypeScript SDK). Source: npm;
#   https://github.com/modelcontextprotocol/typescript-sdk
# Behaviour: when a call and its cancel arrive in one write, the tool is started all the same. Its `signal` is aborted at its
#   first line, a listener for `abort` that it adds never fires, and it works to its end. When the cancel arrives later, the
#   listener fires.
# Why a good guess is wrong: the request is known to be cancelled before the tool's first line runs, so one expects that it
#   is not run, or that the usual `addEventListener("abort", …)` ends it. Only a tool that also looks at `signal.aborted`
#   stops; an agent that gives up at once gets the whole work, unseen.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit @modelcontextprotocol/server@2.4.0
cat >server.mjs <<'SERVER'
import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

const note = (text) => appendFileSync(process.argv[2], `${text}\n`);
const server = new McpServer({ name: "signals", version: "1" });
server.registerTool("slow", { description: "works for a second" }, async (context) => {
  const { signal } = context.mcpReq;
  note(`begun, aborted: ${signal.aborted}`);
  signal.addEventListener("abort", () => note("the listener fired"));
  await new Promise((done) => setTimeout(done, 1000));
  note("worked to its end");
  return { content: [{ type: "text", text: "done" }] };
});
await server.connect(new StdioServerTransport());
SERVER
cat >client.py <<'CLIENT'
import json
import subprocess
import sys
import time
from pathlib import Path


def run(log, together):
    server = subprocess.Popen(
        ["node", "server.mjs", log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def send(*messages):
        server.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages))
        server.stdin.flush()

    def until(text):
        end = time.monotonic() + 60
        while not (Path(log).exists() and text in Path(log).read_text()):
            assert time.monotonic() < end, "it took longer than a minute"
            time.sleep(0.05)

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}
    send({"id": 1, "method": "initialize", "params": hello})
    next(message for message in map(json.loads, server.stdout) if message.get("id") == 1)
    send({"method": "notifications/initialized"})
    call = {"id": 2, "method": "tools/call", "params": {"name": "slow", "arguments": {}}}
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 2, "reason": "not needed"}}
    if together:
        send(call, cancel)
    else:
        send(call)
        until("begun")
        send(cancel)
    until("worked to its end")
    server.kill()
    server.wait()
    return Path(log).read_text().splitlines()


together, later = run("together.log", True), run("later.log", False)
print("in one write:", together)
print("cancel later:", later)
sys.exit(
    together != ["begun, aborted: true", "worked to its end"]
    or later != ["begun, aborted: false", "the listener fired", "worked to its end"]
)
CLIENT
node -p '"@modelcontextprotocol/server " + require("./node_modules/@modelcontextprotocol/server/package.json").version' 2>/dev/null ||
    grep '"version"' node_modules/@modelcontextprotocol/server/package.json
python3 client.py
