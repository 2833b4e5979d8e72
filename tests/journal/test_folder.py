from __future__ import annotations

import os
import re
import stat
import time
from pathlib import Path

import pytest

from mcp_tui.journal import folder
from mcp_tui.journal.recording import Recording, RecordingError
from mcp_tui.journal.redaction import Redactor


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
    assert folder.state_folder() == state
    monkeypatch.setenv("MCP_TUI_STATE", "~/there")
    assert folder.state_folder() == Path.home() / "there"
    monkeypatch.delenv("MCP_TUI_STATE")
    assert folder.state_folder().name == "mcp-tui"
    assert folder.state_folder().is_relative_to(Path.home())


def test_a_journal_is_named_after_its_moment_and_its_server(state: Path) -> None:
    path = folder.new_journal_path("everything")
    assert path.parent == state / "journal"
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d{{6}}-everything-{os.getpid()}\.jsonl", path.name)


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
    path = folder.new_journal_path(name)
    assert path.parent == state / "journal"
    assert path.name.split("-", 3)[3] == f"{safe}-{os.getpid()}.jsonl"


@pytest.mark.parametrize("umask", [0, 0o777])
def test_folders_are_private_whatever_the_umask(state: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        path = folder.new_journal_path("x")
    finally:
        os.umask(before)
    assert [mode(each) for each in (path.parent, state, state.parent)] == [0o700] * 3
    path.parent.chmod(0o755)
    folder.new_journal_path("x")
    assert mode(path.parent) == 0o700


def test_two_journals_of_one_second_have_two_names(state: Path) -> None:
    writers = [folder.open_journal("x", redactor=Redactor()) for _ in range(5)]
    assert len({writer.path for writer in writers}) == 5
    assert all(Recording.read(writer.path).header.id for writer in writers)


def test_a_folder_that_cannot_be_made_is_told_in_one_sentence(state: Path) -> None:
    state.parent.mkdir(parents=True)
    state.write_bytes(b"a file")
    with pytest.raises(RecordingError, match=r"^The folder for journals, .*, cannot be made: .*\.$"):
        folder.new_journal_path("x")


def test_the_oldest_journals_are_deleted_and_the_fresh_ones_never(tmp_path: Path) -> None:
    now = time.time()  # noqa: TID251 - what the file system compares with
    for age in range(10):
        path = tmp_path / f"{age}.jsonl"
        path.write_bytes(b"x" * 100)
        written = now - age * 20 * 3600.0
        os.utime(path, (written, written))
    (tmp_path / "other.txt").write_bytes(b"")

    def left() -> list[str]:
        return sorted(path.name for path in tmp_path.iterdir())

    folder.prune(tmp_path)
    assert len(left()) == 11
    folder.prune(tmp_path, kept=6)
    assert left() == ["0.jsonl", "1.jsonl", "2.jsonl", "3.jsonl", "4.jsonl", "5.jsonl", "other.txt"]
    folder.prune(tmp_path, kept_bytes=350)
    assert left() == ["0.jsonl", "1.jsonl", "2.jsonl", "other.txt"]
    folder.prune(tmp_path, kept=0)
    assert left() == ["0.jsonl", "1.jsonl", "other.txt"]
    folder.prune(tmp_path / "missing")
