#!/usr/bin/env bash
# Package:  @openai/codex 0.171.0 (Codex CLI), its command `mcp add`. Source: npm; https://github.com/openai/codex
# Behaviour: `codex mcp add other …` writes the entries of all other servers anew: comments in them and keys that Codex does not know
#   are gone, and `startup_timeout_ms = 9000` is `startup_timeout_sec = 9.0`. Comments and keys before the first table stay. With the
#   name of an entry that exists it says "Added", and that entry's limits and its `enabled = false` are gone: the server is on again.
# Why a good guess is wrong: the file is edited in place, with comments kept, so one expects that adding a server touches no other, and
#   that a taken name is refused (as Claude Code does) or its other keys kept. Who marks an entry with a key of their own (a tool that
#   wraps servers, a team's note on why a limit is high) loses it when anybody adds another server.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "@openai/codex@${CODEX_VERSION:-0.171.0}"
mkdir home
export CODEX_HOME=$folder/home HOME=$folder/home
config=$CODEX_HOME/config.toml
cat >"$config" <<'CONFIG'
# about the file
model = "a-model"
[mcp_servers.orders]
# about the entry
command = "python3"
args = ["orders.py"]
startup_timeout_ms = 9000
tool_timeout_sec = 7
enabled = false
wrapped_by = "a tool of ours"
CONFIG
codex() { node_modules/.bin/codex "$@" 2>/dev/null; }
has() { grep -qF "$1" "$config" && echo yes || echo no; }
codex --version
codex mcp add other -- python3 other.py
first="file's comment: $(has '# about the file'), entry's comment: $(has '# about the entry'), own key: $(has wrapped_by)"
first+=", limit in ms: $(has startup_timeout_ms), in s: $(has 'startup_timeout_sec = 9.0'), call limit: $(has 'tool_timeout_sec = 7')"
echo "after adding another server: $first"
said=$(codex mcp add orders -- python3 new.py)
second="call limit: $(has tool_timeout_sec), disabled: $(has 'enabled = false')"
echo "after adding a server of the same name: $second ($said)"
[ "$first" = "file's comment: yes, entry's comment: no, own key: no, limit in ms: no, in s: yes, call limit: yes" ]
[ "$second" = "call limit: no, disabled: no" ]
[[ $said == Added* ]]
