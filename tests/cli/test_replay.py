from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.cli.output import Exit
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Missing recording."),
        (("one", "two"), "Unexpected argument 'two'."),
        (("https://example.org/mcp",), "takes no server"),
        (("last", "--speed", "0"), "--speed"),
        (("last", "--speed", "fast"), "--speed"),
        (("/no/such/file.jsonl",), "File not found"),
        (("last",), "No recorded sessions"),
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
    run("replay", str(path)).sentence(Exit.USAGE, "is not a recording of mcp-tui")


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_without_a_terminal_it_names_the_commands_that_read_a_recording(path: Path, term: str):
    run("replay", str(path), TERM=term).sentence(Exit.USAGE, "Replay needs a terminal", "se log or export.")
