from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mcp_tui.cli.status import Exit
from mcp_tui.journal.records import Header
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from tests.cli.running import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    store = Store(Writer(path, header=Header(id="abc", wall=1_700_000_000.0, mono=10.0, target="./server")))
    store.event(ev.Called(at=11.0, id=1, method="tools/call", name="slow_sql"))
    store.event(ev.Sent(at=11.0, id=1))
    store.event(ev.CancelRequested(at=12.0, id=1, cause=Cause.USER, reason="wrong table"))
    store.close()
    return path


def test_help_says_what_it_takes():
    ran = run("replay", "--help")
    assert ran.status == Exit.COMPLETED
    for word in ("FILE", "last", "--speed", "read-only"):
        assert word in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "takes a recording"),
        (("one", "two"), "second"),
        (("https://example.org/mcp",), "needs no server"),
        (("last", "--speed", "0"), "--speed"),
        (("last", "--speed", "fast"), "--speed"),
        (("/no/such/file.jsonl",), "no file"),
        (("last",), "no session"),
        (("2026-11",), "2026-11"),
    ],
    ids=" ".join,
)
def test_words_that_name_no_recording_are_refused_in_one_sentence(
    tmp_path: Path, words: tuple[str, ...], said: str
):
    run("replay", *words, MCP_TUI_STATE=str(tmp_path)).sentence(Exit.USAGE, said)


@pytest.mark.parametrize("content", [b"", b"hello\nworld\n", b"\x00" * 5000, b'{"some":"json"}\n'])
def test_what_is_no_recording_is_refused_in_one_sentence(tmp_path: Path, content: bytes):
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    run("replay", str(path)).sentence(Exit.USAGE, "is no recording of mcp-tui")


@pytest.mark.parametrize("version", [0, 2])
def test_another_version_of_the_format_is_refused_in_one_sentence(path: Path, version: int):
    path.write_bytes(path.read_bytes().replace(b'"v":1', b'"v":%d' % version))
    run("replay", str(path)).sentence(Exit.USAGE, f"of format {version}", "reads format 1")


def test_without_a_terminal_it_says_so(path: Path):
    run("replay", str(path)).sentence(Exit.USAGE, "needs a terminal")


@pytest.mark.pty
@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")
@pytest.mark.parametrize("named", ["FILE", "last", "2026-11-21T10", "copied"])
def test_it_opens_in_a_terminal_and_leaves_it_as_it_was(tmp_path: Path, path: Path, named: str):
    from tests.tui.test_pty import Terminal

    folder = tmp_path / "state" / "journal"
    folder.mkdir(parents=True, mode=0o700)
    shutil.copy(path, folder / "2026-11-21T101112-sql-12.jsonl")
    copied = tmp_path / "no-suffix"
    shutil.copy(path, copied)
    words = {"FILE": str(path), "copied": str(copied)}.get(named, named)
    terminal = Terminal(
        "replay", words, env={"MCP_TUI_STATE": str(tmp_path / "state"), "TERM": "xterm-256color"}
    )
    terminal.see("cancel requested", "event 3 of 3", "wrong table")
    terminal.press(",")
    terminal.see("event 2 of 3", "in flight")
    terminal.press("c")
    terminal.see("read-only: a recording")
    terminal.press("\x11")
    assert terminal.ended() == Exit.COMPLETED
