"""The person's own programs on the terminal of the workbench: the editor and the pager."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.stdio_scripted import processes
from tests.tui.driving import answering
from tests.tui.terminal import Terminal
from tests.tui.test_pty import call_silent, received, wait_for

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]

EDITOR = """
import os, sys
*given, path = sys.argv[1:]
while True:
    try:
        text = open(path).read()
        print(given, oct(os.stat(path).st_mode & 0o777), oct(os.stat(os.path.dirname(path)).st_mode & 0o777))
        old, new = input(text.strip() + " ed> ").split("~")
        open(path, "w").write(text.replace(old, new))
        break
    except KeyboardInterrupt:
        print("interrupted")
"""

PAGER = """
import sys
text = sys.stdin.buffer.read()
open(sys.argv[1], "wb").write(text)
open("/dev/tty", "wb").write(text)
print("pager> ", end="", flush=True)
open("/dev/tty").readline()
"""


@pytest.fixture
def editor(tmp_path: Path) -> dict[str, str]:
    """The environment with an editor that replaces one text by another."""
    (tmp_path / "ed.py").write_text(EDITOR)
    return {"EDITOR": f"{sys.executable} '{tmp_path}/ed.py' 'two words'", "VISUAL": ""}


def open_form(terminal: Terminal, tool: str) -> None:
    terminal.see("stubborn")
    terminal.press("n")
    terminal.see("Call a tool")
    terminal.press(tool)
    terminal.see("1 of 15")
    terminal.press("\r")
    terminal.see(f"Call {tool}", "^g Editor")


def test_arguments_are_edited_while_limits_pass_and_wrong_ones_are_kept(
    terminals: Callable[..., Terminal], tmp_path: Path, editor: dict[str, str]
) -> None:
    log = tmp_path / "server.jsonl"
    server = (sys.executable, "-m", "mcp_tui.demo", "--log", str(log))
    terminal = terminals("--max-timeout", "4", "--", *server, env=editor, columns=120, lines=36)
    call_silent(terminal)
    open_form(terminal, "echo")
    terminal.press("\x07")
    terminal.see("['two words'] 0o600 0o700", "{} ed>")
    assert not terminal.modes()
    wait_for(lambda: "notifications/cancelled" in received(log))
    terminal.press("\x03")
    terminal.see("interrupted")
    terminal.press("{}~{oops\r")
    terminal.see("1  {oops", "expecting property name")
    assert 1049 in terminal.modes()
    terminal.press("\x07")
    terminal.see("{oops ed>")
    terminal.press('oops~"text": 5}\r')
    terminal.see('text: 5 is not of type "string"')
    terminal.press("\x11")
    assert terminal.ended() == 0
    terminal.assert_restored()
    assert not list(tmp_path.glob("mcp-tui-*"))


def test_a_signal_ends_the_editor_too_and_the_terminal_is_as_it_was(
    terminals: Callable[..., Terminal], tmp_path: Path, editor: dict[str, str]
) -> None:
    terminal = terminals("--demo", env=editor)
    open_form(terminal, "echo")
    terminal.press("\x07")
    terminal.see("ed>")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ended() == 128 + signal.SIGTERM
    terminal.assert_restored()
    assert processes(f"{tmp_path}/ed.py") == []


def test_ctrl_z_in_the_editor_stops_both_and_fg_continues_both(
    terminals: Callable[..., Terminal], editor: dict[str, str]
) -> None:
    shell = terminals(
        "--norc", "--noediting", "-i", program=["bash"], env={"PS1": "prompt> ", **editor}, columns=120
    )
    shell.see("prompt>")
    shell.press(f"{sys.executable} -m mcp_tui --demo\r")
    open_form(shell, "echo")
    shell.press("\x07")
    shell.see("ed>")
    shell.press("\x1a")
    shell.see("Stopped")
    shell.press('fg; echo en""ded\r')  # what is typed is on the screen too
    shell.press('{}~{"text": "hello"}\r')
    shell.see("╭─ Call echo", "hello")
    shell.press("\x11")
    shell.see("ended")
    assert shell.modes() == set()


def test_a_missing_editor_is_said_with_the_way_out(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("--demo", env={"VISUAL": "no-such-editor -w"}, columns=120)
    open_form(terminal, "echo")
    terminal.press("\x07")
    terminal.see("Command not found: no-such-editor. Set VISUAL or EDITOR", "╭─ Call echo")


def test_an_answer_is_paged_without_what_a_terminal_obeys(
    terminals: Callable[..., Terminal], tmp_path: Path
) -> None:
    (tmp_path / "pager.py").write_text(PAGER)
    pager = {"PAGER": f"{sys.executable} '{tmp_path}/pager.py' '{tmp_path}/paged'"}
    content = [{"type": "text", "text": "see https://example.org/a for more\n\x1b]0;owned\x07\x9b31mlast"}]
    target = answering(
        {
            "tools/call": {"content": content},
            "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
        }
    )
    terminal = terminals("--", *target.command, env=pager)
    terminal.see("Tools 1")
    terminal.press("n")
    terminal.see("Call a tool")
    terminal.press("\x13")
    terminal.see("completed")
    terminal.until(lambda: b";https://example.org/a\x1b\\" in terminal.raw)  # a link in the detail
    terminal.press("p")
    terminal.see("pager>")
    assert (tmp_path / "paged").read_text() == "see https://example.org/a for more\n␛]0;owned␇‹009B›31mlast\n"
    terminal.press("\r")
    terminal.see("completed", "╭─ Requests")
    terminal.press("\x11")
    assert terminal.ended() == 0
    assert b"owned\x07" not in terminal.raw
