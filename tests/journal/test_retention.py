"""What of the folder of journals is deleted, above all when a clock is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_tui.journal.retention import DAY, Retention, prune

NOW = time.time()  # noqa: TID251 - what the file system compares with


def journal(
    folder: Path, name: str, *, days: float = 0, size: int = 100, wall: float | None = None, after: float = 0
) -> Path:
    """A journal as an earlier session left it, ``days`` ago; ``wall`` is how many days ago it began by its own clock.

    ``after`` is how many days ago, by its own clock, the newest other session was.
    """
    path = folder / name
    header = {
        "record": "session",
        "v": 1,
        "wall": NOW - (wall or 0) * DAY,
        "after": NOW - after * DAY if after else 0,
    }
    text = b"" if wall is None else json.dumps(header).encode() + b"\n"
    path.write_bytes(text.ljust(size, b"x"))
    os.utime(path, (NOW - days * DAY, NOW - days * DAY))
    return path


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def name(number: int) -> str:
    return f"2026-01-{number:02}T101010-demo-4711.jsonl"


@pytest.mark.parametrize(
    ("limits", "kept"), [(Retention(), 9), (Retention(days=4.5), 5), (Retention(size=350), 3)]
)
def test_what_is_too_old_or_too_large_is_deleted_and_said(
    tmp_path: Path, limits: Retention, kept: int
) -> None:
    for days in range(1, 10):
        journal(tmp_path, name(days), days=days)
    _, notes, _ = prune(tmp_path, limits)
    assert left(tmp_path) == {name(days) for days in range(1, kept + 1)}
    assert len(notes) == (kept < 9)
    for note in notes:
        assert note.startswith(f"deleted {9 - kept} recordings (2026-01-0")
        assert note.endswith(("older than 4.5 days", "the oldest, to keep all below 0.00035 MB"))
    assert prune(tmp_path / "missing", limits) == (0, (), "")


@pytest.mark.parametrize("ahead", [40, 200, 10_000])
def test_a_clock_that_is_ahead_deletes_nothing(tmp_path: Path, ahead: int) -> None:
    for days in range(1, 29):
        journal(tmp_path, name(days), days=days, wall=days)
    before = left(tmp_path)
    far = (
        "" if ahead == 40 else f"the clock is {ahead + 1:,} days ahead of every recording, so none is deleted"
    )
    for run in range(3):  # the sessions of that clock do not bear each other out
        newest, _, none = prune(tmp_path, Retention(days=30, size=100_000), now=NOW + ahead * DAY + run)
        assert (left(tmp_path), none) == (before, far)
        if far:
            made = name(29 + run)
            journal(tmp_path, made, days=-ahead, wall=-ahead, after=(NOW - newest) / DAY)
            before.add(made)
    # By the right clock it is as if they were not there, and a day later by theirs it was right.
    prune(tmp_path, Retention(days=20))
    assert len(left(tmp_path)) == len(before) - 7
    if far:
        prune(tmp_path, Retention(days=20), now=NOW + (ahead + 1.5) * DAY)
        assert len(left(tmp_path)) == 3


def test_far_ahead_not_even_what_is_too_large_is_deleted(tmp_path: Path) -> None:
    for days in range(1, 10):
        journal(tmp_path, name(days), days=days)
    prune(tmp_path, Retention(size=350), now=NOW + 200 * DAY)
    assert len(left(tmp_path)) == 9
    prune(tmp_path, Retention(size=350))
    assert len(left(tmp_path)) == 3


def test_a_running_session_whose_file_is_of_a_wrong_clock_bears_nothing_out(tmp_path: Path) -> None:
    for days in range(1, 10):
        journal(tmp_path, name(days), days=days, wall=days)
    journal(tmp_path, name(10), days=-200, wall=5)  # a tap, when the clock jumped
    prune(tmp_path, Retention(days=30), now=NOW + 200 * DAY)
    assert len(left(tmp_path)) == 10


def test_a_clock_that_is_behind_deletes_nothing_and_what_it_wrote_is_not_old_later(tmp_path: Path) -> None:
    for days in range(1, 10):
        journal(tmp_path, name(days), days=days, wall=days)
    newest, *_ = prune(tmp_path, Retention(days=30, size=100_000), now=NOW - 9_000 * DAY)
    journal(tmp_path, name(10), days=9_000, wall=9_000, after=(NOW - newest) / DAY)
    journal(tmp_path, name(11), days=40, wall=0)  # nothing but its file says how old it is
    prune(tmp_path, Retention(days=30))
    assert left(tmp_path) == {name(days) for days in range(1, 11)}
    prune(tmp_path, Retention(days=0), now=NOW + 1)
    assert left(tmp_path) == {name(1), name(10)}, "it counts as written when the newest of the others was"


def test_a_file_from_the_future_makes_no_other_old_and_gives_way_to_all(tmp_path: Path) -> None:
    for days in range(1, 5):
        journal(tmp_path, name(days), days=days, wall=days)
    journal(tmp_path, name(9), days=-3_000, wall=-3_000)
    journal(tmp_path, name(8), days=-3_000)
    prune(tmp_path, Retention(days=30))
    assert len(left(tmp_path)) == 6
    prune(tmp_path, Retention(days=30), now=NOW + 40 * DAY)
    assert len(left(tmp_path)) == 6
    prune(tmp_path, Retention(size=450))
    assert left(tmp_path) == {name(days) for days in range(1, 5)}


def test_nothing_is_touched_that_is_not_ours(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    precious = journal(elsewhere, name(1), days=40)
    state = tmp_path / "state"
    state.mkdir()
    (state / name(2)).symlink_to(precious)
    (state / name(3)).mkdir()
    for other in ("notes.txt", "for-a-colleague.jsonl", "2026-01-01.jsonl", f"{name(4)}.bak", "index.sqlite"):
        journal(state, other, days=40)
    before = left(state)
    prune(state, Retention(days=0, size=0))
    assert left(state) == before
    assert precious.exists()


HOLD = """
import sys
from mcp_tui.journal import journal_files
from mcp_tui.journal.writer import Writer
writer = Writer(journal_files.new_journal_path("held"))
print(writer.path.name, flush=True)
sys.stdin.read()
"""


def test_the_journal_of_a_living_process_is_never_deleted_and_that_of_a_killed_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_TUI_STATE", str(tmp_path))
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    path = tmp_path / "journal" / process.stdout.readline().strip()
    os.utime(path, (NOW - 40 * DAY, NOW - 40 * DAY))
    for _ in range(3):
        prune(path.parent, Retention(days=0, size=0))
        assert path.exists()
    process.kill()
    process.communicate()
    prune(path.parent, Retention(days=0, size=0))
    assert not path.exists()
