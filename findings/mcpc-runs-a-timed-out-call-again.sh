#!/usr/bin/env bash
# Package:  @apify/mcpc 0.2.6 (npm), a command line for MCP. Source: npm; https://github.com/apify/mcpc
# Behaviour: `mcpc --timeout 6 @orders tools-call place`, of a tool that takes longer: after 6 s the call is cancelled, its server is
#   ended, another is started, and the call is sent again; that one is cancelled after 6 s more, and then the command fails.
# Why a good guess is wrong: a limit says how long one is ready to wait, so one expects a cancel and an error after 6 s. The tool is called
#   twice, though it says that it is destructive and not idempotent, and what the first server knew of its session is gone: the
#   timed-out call is taken for a lost connection. A result with `isError: true` is the exit status 0.
set -euo pipefail
folder=$(mktemp -d)
export HOME="$folder/home"
mcpc() { "$folder/node_modules/.bin/mcpc" "$@"; }
trap 'mcpc close @orders >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
mkdir "$HOME"
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@apify/mcpc@${MCPC_VERSION:-0.2.6}"
cat >server.py <<'SERVER'
import json
import os
import sys


def note(words):
    with open(sys.argv[1], "a") as file:
        file.write(f"{words} {os.getpid()}\n")


never = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False}
tools = [{"name": name, "inputSchema": {"type": "object"}, "annotations": never} for name in ("place", "refuse")]
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "notifications/cancelled":
        note("cancelled")
    if "id" not in message or message.get("params", {}).get("name") == "place":
        if "id" in message:
            note("called")
        continue
    answer = {}
    if message["method"] == "initialize":
        who = {"name": "orders", "version": "1"}
        answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": who}
    if message["method"] == "tools/list":
        answer = {"tools": tools}
    if message["method"] == "tools/call":
        answer = {"content": [{"type": "text", "text": "no such order"}], "isError": True}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
SERVER
cat >servers.json <<SERVERS
{"mcpServers": {"orders": {"command": "python3", "args": ["$folder/server.py", "$folder/seen"]}}}
SERVERS
echo "mcpc $(mcpc --version)"
: >seen
mcpc connect servers.json:orders @orders >/dev/null
failed=0
mcpc @orders tools-call refuse >/dev/null || failed=$?
limited=0
mcpc --timeout 6 @orders tools-call place >said 2>&1 || limited=$?
for _ in {1..50}; do
    [ "$(wc -l <seen)" -ge 4 ] || sleep 0.1  # the command ends before the last cancel is sent
done
echo "a result with isError: exit status $failed; a call over its limit: exit status $limited, $(grep -i error said | head -1)"
echo "the servers, each with its process:"
cat seen
[ "$failed" = 0 ] && [ "$limited" != 0 ] && [ "$(cut -d ' ' -f 1 seen | tr '\n' ' ')" = "called cancelled called cancelled " ] &&
    [ "$(cut -d ' ' -f 2 seen | sort -u | wc -l)" = 2 ]
