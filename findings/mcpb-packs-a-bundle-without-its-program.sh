#!/usr/bin/env bash
# Package:  @anthropic-ai/mcpb 2.1.2 (npm), the tool that makes MCPB bundles. Source: npm;
#   https://github.com/modelcontextprotocol/mcpb
# Behaviour: a folder whose manifest names an entry point that is not there, and whose arguments use a setting
#   (`${user_config.region}`) that the manifest does not declare, is packed with exit status 0. `package-lock.json` is left out of the
#   bundle, and the report counts it as "ignored (.mcpbignore)" where no such file is.
# Why a good guess is wrong: the tool refuses a manifest with one unknown key, so one expects that it looks for the program, and for the
#   settings that the command line needs. It checks the form of each value alone: the bundle installs, and its server never starts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@anthropic-ai/mcpb@${MCPB_VERSION:-2.1.2}"
mkdir -p bundle/server
cat >bundle/manifest.json <<'MANIFEST'
{
  "manifest_version": "0.3",
  "name": "orders",
  "version": "1.0.0",
  "description": "Looks up orders",
  "author": {"name": "A"},
  "server": {
    "type": "node",
    "entry_point": "server/absent.js",
    "mcp_config": {"command": "node", "args": ["${__dirname}/server/absent.js", "${user_config.region}"]}
  }
}
MANIFEST
echo '{"name": "orders", "version": "1.0.0"}' | tee bundle/package.json >bundle/package-lock.json
mcpb() { node_modules/.bin/mcpb "$@" </dev/null; }
echo "mcpb $(mcpb --version)"
packed=0
mcpb pack bundle orders.mcpb >said 2>&1 || packed=$?
files=$(python3 -c 'import zipfile; print(*sorted(zipfile.ZipFile("orders.mcpb").namelist()))')
ignored=$(grep '^ignored' said)
echo "pack: exit $packed; in the bundle: $files; $ignored"
sed -i.old 's/"name": "orders",/"name": "orders", "team": "B",/' bundle/manifest.json
unknown=0
mcpb validate bundle/manifest.json >said 2>&1 || unknown=$?
echo "validate with an unknown key: exit $unknown: $(grep -i unrecognized said)"
[ "$packed" = 0 ] && [ "$unknown" != 0 ] && [ "$files" = "manifest.json package.json" ] &&
    [ "$ignored" = "ignored (.mcpbignore) files: 1" ]
