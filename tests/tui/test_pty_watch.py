"""``--watch`` in a real terminal: a server's file is changed, and the difference is said."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]

SERVER = """
import json, sys
TOOLS = [{"name": "total", "inputSchema": {"type": "object"}}]
RESULTS = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": TOOLS},
    "tools/call": {"content": [], "structuredContent": {"rows": 5}},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        found = RESULTS.get(message["method"])
        answer = {"error": {"code": -32601, "message": "no"}} if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


def test_a_changed_server_is_restarted_repeated_and_compared(
    terminals: Callable[..., Terminal], tmp_path: Path
) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    terminal = terminals("--watch", "--", sys.executable, str(server), columns=160, lines=30)
    terminal.see("Tools 1")
    terminal.press("n")
    terminal.see("Call a tool")
    terminal.press("\x13")
    terminal.see("completed")
    terminal.press("W")
    terminal.see("tools/call total is repeated after each change")
    changed = SERVER.replace('"rows": 5', '"rows": 6').replace(
        '"object"}}', '"object", "required": ["a"]}}, {"name": "more", "inputSchema": {"type": "object"}}'
    )
    server.write_text(changed)
    terminal.see("tools added more, changed total; inputSchema of total: required", "answer: rows 5 → 6")
    assert terminal.text().count("tools/call total") >= 2  # the row of the earlier run stays
    server.write_text("raise SystemExit(3)")
    terminal.see("server.py changed, and the server does not start. The next change tries again.")
    server.write_text(changed)
    terminal.see("same answer · ", ": same lists")
    terminal.press("\x11")
    assert terminal.ended() == 0


def test_what_mcp_tui_does_not_start_cannot_be_watched(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("http://127.0.0.1:9/mcp", "--watch", columns=160)
    terminal.see("--watch needs a server that mcp-tui starts.")
