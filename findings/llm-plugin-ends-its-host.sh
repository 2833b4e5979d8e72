#!/usr/bin/env bash
# Packages: llm 0.36 and its plugin llm-tools-mcp 0.4 (Python), with the mcp 2.3.0 that pip resolves for it. Source: PyPI;
#   https://github.com/simonw/llm, https://github.com/VirtusLab/llm-tools-mcp
# Behaviour: the plugin asks for any mcp, gets version 2, and imports a name that version 2 does not have. Every command of
#   the host program ends with that ImportError, `llm --version` too.
# Why a good guess is wrong: a plugin that does not load is usually skipped with a warning, and a command that uses no tool
#   needs no plugin. Here installing support for MCP takes the whole program away until the plugin is removed or mcp is
#   pinned below 2.
# Versions: Holds with mcp from 2.0.0 on; with mcp 1.30.0 the plugin loads.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check llm==0.36 llm-tools-mcp==0.4 mcp==2.3.0
export LLM_USER_PATH=$folder/user
version() { "$folder/venv/bin/python" -c "from importlib.metadata import version; print('$1', version('$1'))"; }
version llm
version llm-tools-mcp
version mcp
status=0
"$folder/venv/bin/llm" --version >"$folder/said" 2>&1 || status=$?
echo "llm --version: exit $status: $(tail -n 3 "$folder/said" | cut -c1-100)"
"$folder/venv/bin/pip" uninstall --quiet --yes llm-tools-mcp
echo "without the plugin: $("$folder/venv/bin/llm" --version)"
[ "$status" -ne 0 ] && grep -q "^ImportError: cannot import name" "$folder/said"
