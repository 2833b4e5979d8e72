from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_tui.journal import journal_files
from mcp_tui.journal.records import RecordingError


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "new" / "state"
    monkeypatch.setenv("MCP_TUI_STATE", str(path))
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_the_one_that_the_environment_names(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert journal_files.state_folder() == state
    monkeypatch.setenv("MCP_TUI_STATE", "~/there")
    assert journal_files.state_folder() == Path.home() / "there"
    monkeypatch.delenv("MCP_TUI_STATE")
    assert journal_files.state_folder().name == "mcp-tui"
    assert journal_files.state_folder().is_relative_to(Path.home())


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../etc/passwd", "etc-passwd"),
        ("a b\x1b[2J\n\u202ec", "a-b-2J-c"),
        ("", "server"),
        ("...", "server"),
        ("✓✓", "server"),
        ("x" * 500, "x" * 48),
        ("@scope/server@1.2", "scope-server-1.2"),
    ],
)
def test_a_name_cannot_leave_the_folder(state: Path, name: str, safe: str) -> None:
    path = journal_files.new_journal_path(name)
    assert path.parent == state / "journal"
    assert path.name.split("-", 3)[3] == f"{safe}-{os.getpid()}.jsonl"


@pytest.mark.parametrize("umask", [0, 0o777])
def test_folders_are_private_whatever_the_umask(state: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        path = journal_files.new_journal_path("x")
    finally:
        os.umask(before)
    assert [mode(each) for each in (path.parent, state, state.parent)] == [0o700] * 3
    path.parent.chmod(0o755)
    journal_files.new_journal_path("x")
    assert mode(path.parent) == 0o700


def test_a_folder_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(
        RecordingError, match=r"Cannot read the journal folder .*loop: too many levels of symbolic links\.$"
    ):
        journal_files.journals(tmp_path / "loop")
    assert journal_files.journals(tmp_path / "missing") == []
