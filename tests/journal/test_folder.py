from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.journal import files
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
    assert files.state_folder() == state
    monkeypatch.setenv("MCP_TUI_STATE", "~/there")
    assert files.state_folder() == Path.home() / "there"
    monkeypatch.delenv("MCP_TUI_STATE")
    assert files.state_folder().name == "mcp-tui"
    assert files.state_folder().is_relative_to(Path.home())


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
    path = files.new_journal_path(name)
    assert path.parent == state / "journal"
    assert path.name.split("-", 3)[3] == f"{safe}-{os.getpid()}.jsonl"


@pytest.mark.parametrize("umask", [0, 0o777])
def test_folders_are_private_whatever_the_umask(state: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        path = files.new_journal_path("x")
    finally:
        os.umask(before)
    assert [mode(each) for each in (path.parent, state, state.parent)] == [0o700] * 3
    path.parent.chmod(0o755)
    files.new_journal_path("x")
    assert mode(path.parent) == 0o700


DAY = 86_400.0


def journal(folder: Path, name: str, *, days: float = 0, size: int = 100) -> Path:
    """A journal as an earlier session left it."""
    path = folder / name
    path.write_bytes(b"x" * size)
    written = time.time() - days * DAY  # noqa: TID251 - what the file system compares with
    os.utime(path, (written, written))
    return path


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def name(number: int) -> str:
    return f"2026-01-{number:02}T101010-demo-4711.jsonl"


@pytest.mark.parametrize(("limits", "kept"), [({}, 9), ({"keep_days": 5.5}, 5), ({"keep_bytes": 350}, 3)])
def test_what_is_too_old_or_too_large_is_deleted(tmp_path: Path, limits: dict[str, Any], kept: int) -> None:
    for days in range(1, 10):
        journal(tmp_path, name(days), days=days)
    files.prune(tmp_path, **limits)
    assert left(tmp_path) == {name(days) for days in range(1, kept + 1)}
    files.prune(tmp_path / "missing")


def test_nothing_is_touched_that_is_not_ours(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    precious = journal(elsewhere, name(1), days=400)
    state = tmp_path / "state"
    state.mkdir()
    (state / name(2)).symlink_to(precious)
    (state / name(3)).mkdir()
    for other in ("notes.txt", "for-a-colleague.jsonl", "2026-01-01.jsonl", f"{name(4)}.bak", "index.sqlite"):
        journal(state, other, days=400)
    before = left(state)
    files.prune(state, keep_days=0, keep_bytes=0)
    assert left(state) == before
    assert precious.exists()


HOLD = """
import sys
from mcp_tui.journal import files
from mcp_tui.journal.writer import Writer
writer = Writer(files.new_journal_path("held"))
print(writer.path.name, flush=True)
sys.stdin.read()
"""


def test_the_journal_of_a_living_process_is_never_deleted_and_that_of_a_killed_one_is(state: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    path = state / "journal" / process.stdout.readline().strip()
    long_ago = time.time() - 400 * DAY  # noqa: TID251
    os.utime(path, (long_ago, long_ago))
    for _ in range(3):
        files.prune(path.parent, keep_days=0, keep_bytes=0)
        assert path.exists()
    process.kill()
    process.communicate()
    files.prune(path.parent, keep_days=0, keep_bytes=0)
    assert not path.exists()


def test_a_folder_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(
        RecordingError, match=r"Cannot read the journal folder .*loop: too many levels of symbolic links\.$"
    ):
        files.journals(tmp_path / "loop")
    assert files.journals(tmp_path / "missing") == []
