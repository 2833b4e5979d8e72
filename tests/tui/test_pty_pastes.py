"""Pastes in a real terminal: nothing in them is a key, on any screen; and what they hold is shown and not obeyed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tui.tui.pastes import END, START
from tests.tui.terminal import Terminal
from tests.tui.test_pastes import CONTROLS

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]

OBEYED = [
    *CONTROLS,
    END,
    START,
    END + START,
    "\x1b[I",
    "\x1b[24~",
    "\x1b[<0;5;5M",
    "\x1b]11;rgb:ffff/ffff/ffff\x07",
]
"""What a terminal, or what reads from it, may take for something else than text."""

SHOWN_RAW = (
    "\x00\x01\x02\x03\x04\x05\x06\x0b\x0c\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1c\x1d\x1e\x1f\x7f"
)
"""Control characters that mcp-tui never writes itself."""


def paste(terminal: Terminal, *keys: str, field: bool) -> None:
    """Paste every one of :data:`OBEYED` before each key, each in a paste of its own; then, into a ``field``, a last word."""
    before = len(terminal.raw)
    terminal.press("".join(f"{START}be{each}{key}zaf{END}" for key in keys for each in OBEYED))
    terminal.until(lambda: (b"zaf" if field else b"Pasted text ignored") in terminal.raw[before:])
    if field:
        pressed = 0.0
        while "zaf" in terminal.text():
            # right behind a paste it would be part of it, as another one follows
            if time.monotonic() > pressed + 1:
                terminal.press("\x15")
                pressed = time.monotonic()
            terminal.read()
        terminal.press(f"{START}last{END}")
        terminal.see("last")
    written = terminal.raw[before:].decode("utf-8", "replace")
    assert not set(SHOWN_RAW) & set(written)
    assert not {chr(each) for each in range(0x80, 0xA0)} & set(written)


@pytest.mark.parametrize(
    ("opening", "title", "keys"),
    [
        ("", "No requests yet", "nqXcS\r"),
        ("n", "Call a tool", "\r\x13"),
        ("necho\r", "Text to return", "\x13\x07"),
        ("\x10", "Commands", "\r"),
        ("?", "What the table shows", "q"),
        ("q", "Quit mcp-tui?", "yn"),
        ("/", "Filter requests", "\r"),
        ("v", "1 server", "q"),
    ],
    ids=["workbench", "tools", "form", "palette", "help", "quit", "filter", "servers"],
)
def test_nothing_in_a_paste_acts(
    terminals: Callable[..., Terminal], opening: str, title: str, keys: str
) -> None:
    terminal = terminals("--demo", columns=120, lines=36)
    terminal.see("Tools 14")
    terminal.press(opening)
    terminal.see(title)
    paste(
        terminal,
        *keys,
        field=title in ("Call a tool", "Text to return", "Commands", "Filter requests"),
    )
    terminal.see(title, "No requests yet")


def test_no_paste_agrees_to_start_a_server(
    terminals: Callable[..., Terminal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    touched = tmp_path / "started"
    command = [sys.executable, "-c", f"open({str(touched)!r}, 'w')"]
    servers = {"evil": {"command": command[0], "args": command[1:]}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    terminal = terminals(columns=120, lines=36)
    terminal.see("evil")
    terminal.press("evil\r")
    terminal.see("Start evil?")
    terminal.press("".join(f"{START}be{each}{key}zaf{END}" for each in OBEYED for key in "y\r"))
    terminal.press("n")
    terminal.until(lambda: "Start evil?" not in terminal.text())
    assert not touched.exists()


def test_a_large_paste_is_sent_whole(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("--demo", columns=120, lines=36)
    terminal.see("Tools 14")
    terminal.press("necho\r")
    terminal.see("Text to return")
    terminal.press(f"{START}{'0123456789' * 500_000}{END}")
    terminal.see("5,000,000 characters, sent unchanged")
    terminal.press("\x13")
    terminal.see("completed")
    terminal.see("5.0 MB")
