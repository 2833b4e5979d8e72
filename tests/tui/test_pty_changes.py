"""One word of a long answer changes, and is seen by keys alone: in the comparison, and with ``--watch``."""

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
WORDS = ["first", "first"]
TEXT = "\\n".join(f"line {number} of the report: nothing changes in this one" for number in range(1, 201))
for line in sys.stdin:
    message = json.loads(line)
    found = {
        "initialize": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}
        },
        "tools/list": {"tools": [{"name": "report", "inputSchema": {"type": "object"}}]},
    }.get(message["method"])
    if message["method"] == "tools/call":
        text = TEXT.replace("line 137 of the report: nothing", f"line 137 of the report: {WORDS.pop(0)}")
        found = {"content": [{"type": "text", "text": text}], "structuredContent": {"result": text}}
    if "id" in message:
        answer = {"error": {"code": -32601, "message": "no"}} if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


def call(terminal: Terminal, id_: int) -> None:
    terminal.press("n")
    terminal.see("╭─ Call a tool")
    terminal.press("\x13")
    terminal.see(f"›✓ completed {id_:>6}")


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 36)])
def test_one_word_of_200_lines_is_seen_in_the_comparison_and_when_a_file_changes(
    columns: int, lines: int, terminals: Callable[..., Terminal], tmp_path: Path
) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER.replace('"first", "first"', '"first", "second"'))
    terminal = terminals("--watch", "--", sys.executable, str(server), columns=columns, lines=lines)
    terminal.see("report")
    call(terminal, 4)
    call(terminal, 5)
    terminal.press("d")
    terminal.see("compared", "− line 137 of the report: first", "+ line 137 of the report: second")
    terminal.press("\x1b")
    terminal.until(lambda: "compared" not in terminal.text())
    terminal.press("W")
    terminal.see("is repeated after each change")
    server.write_text(SERVER.replace('"first", "first"', '"third"'))
    terminal.see("answer: line 137 …report: [second → third]")
    terminal.press("\x11")
    assert terminal.ended() == 0
