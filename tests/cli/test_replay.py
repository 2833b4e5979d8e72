from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.cli.output import Exit
from tests.cli.keeping import called, cancelled, connected, keep
from tests.cli.running import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return keep("session", connected(), called(1), cancelled(1), path=tmp_path / "session.jsonl")


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


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_without_a_terminal_it_names_the_commands_that_read_a_recording(path: Path, term: str):
    run("replay", str(path), TERM=term).sentence(Exit.USAGE, "Replay needs a terminal", "se log or export.")
