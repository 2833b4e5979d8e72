#!/usr/bin/env bash
# Package:  @modelcontextprotocol/conformance 0.2.0-alpha.12 (the official suite), in client mode. Source: npm;
#   https://github.com/modelcontextprotocol/conformance
# Behaviour: a "client" that sends nothing passes the scenarios `initialize` and `http-standard-headers` with exit status 0. One that
#   exits with 3 fails `initialize` alone, and passes it within `--requirements 2025-11-25`.
# Why a good guess is wrong: the first is the test that a client connects at all, so one expects a failure without a connection. But the
#   checks are made of what arrives: nothing arrived, so 0 of 0 failed. A green line proves something only where its counts are not
#   zero; a harness of one's own must fail a client that does nothing.
# Versions: Holds in 0.2.0-alpha.12; 0.1.16 fails the second scenario, and 0.2.0-alpha.9 has no option for requirements.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
platform=$(node -p 'process.platform + "-" + process.arch')
# The suite needs Node 22; this package is its binary.
npm install --silent --no-fund --no-audit "node-$platform@22" "@modelcontextprotocol/conformance@${CONFORMANCE_VERSION:-0.2.0-alpha.12}"
suite() {
    status=0
    "node_modules/node-$platform/bin/node" node_modules/@modelcontextprotocol/conformance/dist/index.js client "$@" >said 2>&1 </dev/null ||
        status=$?
}
printf '#!/bin/sh\nexit 0\n' >silent
printf '#!/bin/sh\nexit 3\n' >failing
chmod +x silent failing
echo "conformance" "$(grep '"version"' node_modules/@modelcontextprotocol/conformance/package.json)"
seen=
for scenario in initialize http-standard-headers tools_call; do
    suite --command "$folder/silent" --scenario "$scenario"
    echo "sends nothing, exits 0: $scenario: status $status, $(grep '^Passed:' said)"
    seen+=" $status"
done
suite --command "$folder/failing" --scenario initialize
echo "sends nothing, exits 3: initialize: status $status, $(grep '^Passed:' said)"
seen+=" $status"
suite --command "$folder/failing" --requirements 2025-11-25
echo "sends nothing, exits 3: of all requirements $(grep -c '^✗' said || true) fail, and this passes: $(grep '^✓' said)"
[ "$seen" = " 0 0 1 1" ] && [ "$(grep '^✓' said)" = "✓ initialize: 0 passed, 0 failed" ]
