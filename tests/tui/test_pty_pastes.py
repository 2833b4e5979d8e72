"""Pastes in a real terminal: nothing in them is a key, on any screen; and what they hold is shown and not obeyed."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcp_tui.live.running import sessions
from mcp_tui.tui.terminal.pastes import END, START
from tests.cli.running import MCP_TUI, SERVERS
from tests.tap.test_tap import Client
from tests.tui.terminal import Terminal
from tests.tui.test_pastes import CONTROLS
from tests.tui.test_pty_hostile import Walk, foreign, sampling
from tests.waiting import HANG, wait

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]

SEQUENCES = [END, START, END + START, "\x1b[I", "\x1b[24~", "\x1b[<0;5;5M", "\x1b]11;rgb:ffff/ffff/ffff\x07"]
"""What a terminal, or what reads from it, may take for something else than text."""

OBEYED = [
    *(each.encode() for each in (*CONTROLS, *SEQUENCES)),
    *(bytes([each]) for each in range(0x80, 0xA0)),  # some terminals obey these without UTF-8, too
]


class Shown(NamedTuple):
    """A screen. ``steps`` lead to it from the one before, ``keys`` act on it, and ``text`` is on no other.

    ``field`` is whether a text field has the focus. ``leave`` is the key that closes it; without one it stays.
    """

    steps: tuple[str, ...]
    text: str
    keys: str
    field: bool = False
    leave: str = "\x1b"


def still(terminal: Terminal) -> str:
    """What the screen shows, but for its last line, which says that a paste was ignored, and for what time changes."""
    return re.sub(r"quiet|[\d.:]+[a-z]*|[─,\s]+", "", "".join(terminal.screen.display[:-1]))


def paste(terminal: Terminal, keys: str, *, field: bool) -> None:
    """Pastes everything in :data:`OBEYED` before each of the keys; waits until the ``field`` has or refused it."""
    walk = Walk(terminal)
    walk.wait(0.1)
    before, stood = len(terminal.raw), still(terminal)
    text = b"".join(each + key.encode() for key in keys for each in OBEYED)
    terminal.press(START.encode() + text + b"zaf" + END.encode())
    if field:
        terminal.until(lambda: re.search(b"zaf|Not pasted", terminal.raw[before:]))
    walk.wait(0.3)
    if field:
        # It would go while the next screen is compared.
        terminal.until(lambda: "Not pasted" not in terminal.text())
    else:
        assert still(terminal) == stood


def sweep(terminal: Terminal, sent: Callable[[], object], *screens: Shown) -> None:
    """Pastes on each screen: it stays, nothing opens, and nothing is ``sent``."""
    walk = Walk(terminal)
    for screen in screens:
        for step in screen.steps:
            walk.step(step, seconds=0.2)
        terminal.see(screen.text)
        before = sent()
        paste(terminal, screen.keys, field=screen.field)
        assert screen.text in terminal.text(), terminal.text()
        assert sent() == before, screen.text
        if screen.leave:
            press(walk, screen.leave, lambda gone=screen.text: gone not in terminal.text())
    assert not foreign(terminal.raw.rpartition(b"\x1b")[0])  # what was read last may end within a sequence


def press(walk: Walk, key: str, met: Callable[[], object]) -> None:
    """Presses a key until something is met: right behind a paste it would be a part of that, as another one may follow."""
    end = time.monotonic() + HANG
    while not met():
        assert time.monotonic() < end, f"not met:\n{walk.terminal.text()}"
        walk.step(key, seconds=1.0)


def messages(file: Path, method: str) -> list[dict[str, Any]]:
    """The parameters of what a server heard."""
    found = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    frames = (each.get("frame", each) for each in found)
    return [each.get("params", {}) for each in frames if each.get("method") == method]


def lost(text: str) -> list[str]:
    """The control characters that are not in a text as symbols; those for spaces may be spaces there."""
    symbols = {"\x7f": "␡", **{each: chr(0x2400 + ord(each)) for each in map(chr, range(0x20))}}
    return [
        each
        for each in CONTROLS
        if not each.isspace() and symbols.get(each, f"‹{ord(each):04X}›") not in text
    ]


def test_nothing_in_a_paste_acts_in_the_workbench(terminals: Callable[..., Terminal], tmp_path: Path) -> None:
    log = tmp_path / "server.jsonl"
    terminal = terminals("--", sys.executable, "-m", "mcp_tui.demo", "--log", str(log), columns=120, lines=36)
    walk = Walk(terminal)
    terminal.see("Tools 15")
    sweep(
        terminal,
        log.read_bytes,
        Shown((), "No requests yet", "nqXcCSvPbR?\r\x11", leave=""),
        Shown(("\x10",), "╭─ Commands", "\r", field=True),
        Shown(("?",), "What the table shows", "qp"),
        Shown(("v",), "1 server", "qax\r"),
        Shown(("S",), "Reconnect", "q\r"),
        Shown(("P",), "╭─ Probe", "\rrwy"),
        Shown(("\x10", "open a recording", "\r"), "╭─ Open a recording", "\r", field=True),
        Shown(("\x10", "open a recording", "\r", "\r"), "This recording has only", " .]{>f\x11?q"),
        Shown(("/",), "Filter requests", "\r", field=True),
        Shown(("n",), "Call a tool", "\r\x13", field=True),
        Shown(("n", "echo", "\r"), "Text to return", "\x13\x07\r", field=True, leave=""),
    )
    press(walk, "\x13", lambda: messages(log, "tools/call"))
    (called,) = messages(log, "tools/call")
    assert lost(called["arguments"]["text"]) == []
    terminal.see("completed")
    sweep(
        terminal,
        log.read_bytes,
        Shown(("y",), "Issue block", "\rq"),
        Shown(("1", "\r"), "1 of 2", "ywpt\x1b"),
    )


def test_no_paste_answers_a_server(terminals: Callable[..., Terminal], tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    server = ("-e", f"HEARD={heard}", "--", sys.executable, "-S", str(SERVERS / "asking_server.py"))
    terminal = terminals(*server, "2025-11-25", columns=120, lines=36, env=sampling(tmp_path / "config"))
    terminal.see("Tools 10")
    sweep(
        terminal,
        heard.read_bytes,
        Shown(("n", "ask", "\x13"), "asks for input", "\x13\x04\x18\r", leave="\x04"),  # a choice
        Shown(("n", "login", "\x13"), "Who are you?", "\x13\x04\x18\r", field=True, leave="\x04"),
        Shown(("n", "link", "\x13"), "I opened it", "oy\x13\x04\x18\r", leave="\x04"),
        Shown(("n", "both", "\x13"), "asks for input", "\x13\x04\x18\r", leave="\x04"),
        Shown((), "asks for a model", "\x13\x04\x18\r", field=True, leave="\x04"),
        Shown(("n", "folders", "\x13"), "Roots to send", "\x13\x04\x18\r", field=True, leave="\x04"),
    )


def test_no_paste_cancels_what_a_foreign_client_calls(terminals: Callable[..., Terminal]) -> None:
    command = [*MCP_TUI, "tap", "--name", "files", "--", sys.executable, "-m", "mcp_tui.demo"]
    client = Client(command)
    try:
        client.connect()
        wait(lambda: [each.summary.client for each in sessions()[0]] == ["other 3"])
        terminal = terminals("attach", columns=120, lines=36)
        terminal.see("initialize", "other 3 (")
        client.call(7, "silent")
        sweep(
            terminal,
            lambda: None,
            Shown((), "tools/call silent", "cCX\r\x11", leave=""),
            Shown(("c",), "Cancel 7", "\r", field=True),
        )
        terminal.see("▸ in flight")
    finally:
        client.process.kill()
        client.process.__exit__(None, None, None)


def test_no_paste_agrees_to_start_a_server(
    terminals: Callable[..., Terminal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    touched = tmp_path / "started"
    command = [sys.executable, "-c", f"open({str(touched)!r}, 'w')"]
    servers = {"evil": {"command": command[0], "args": command[1:]}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    sweep(
        terminals(columns=120, lines=36),
        touched.exists,
        Shown((), "evil", "\r", field=True, leave=""),
        Shown(("\x15", "evil", "\r"), "Start evil?", "y\r", leave="n"),
    )


def test_a_large_paste_is_sent_whole(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("--demo", columns=120, lines=36)
    terminal.see("Tools 15")
    terminal.press("necho\r")
    terminal.see("Text to return")
    terminal.press(f"{START}{'0123456789' * 500_000}{END}")
    terminal.see("5,000,000 characters, sent unchanged")
    terminal.press("\x13")
    terminal.see("completed")
    terminal.see("5.0 MB")
