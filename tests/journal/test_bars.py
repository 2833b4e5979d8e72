"""What journal and index promise while much goes on at once, while a process is killed, and when bytes have changed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.journal import index
from mcp_tui.journal.files import journal_folder, journals, open_parts
from mcp_tui.journal.index import Query
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import read_record
from mcp_tui.protocol import evidence
from mcp_tui.protocol.evidence import Outcome
from tests.journal.making import heads, rows

pytestmark = pytest.mark.slow  # a hundred thousand records take their time

BUSY = str(Path(__file__).parent / "busy.py")


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, BUSY, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a process did. It may not have had an error."""
    out, err = process.communicate()
    assert (process.returncode, err) == (0, ""), err[-3000:]
    return json.loads(out.splitlines()[-1])


def cancelled_by_session() -> dict[str, int]:
    """How many cancellations the index has of each session; all are over."""
    entries = index.find(index.sessions(journal_folder()), Query())
    assert {evidence.outcome(each.row, each.until) for each in entries} <= {Outcome.NO_REPLY}
    return Counter(each.session.name for each in entries)


def whole_day(seconds: str, *more: str) -> None:
    writers = [start("write", "2500", seconds) for _ in range(2)]
    askers = [start("ask", seconds) for _ in range(2)]
    others = [start(word, seconds) for word in more]
    made: dict[str, int] = {}
    for process in writers:
        made.update(end(process)["cancelled"])
    for process in askers:
        assert end(process)["asked"] > 0
    for process in others:
        end(process)
    assert sum(made.values()) > 100
    assert cancelled_by_session() == made
    for each in index.sessions(journal_folder()):
        assert (each.broken, each.lost) == (0, 0)
    read = sum(len(rows(Recording.read(journal.paths[0]))) for journal in journals(journal_folder()))
    assert read == sum(made.values())


def test_two_write_and_two_index_and_read_and_nothing_is_lost():
    whole_day("4")


def test_after_a_kill_at_thousands_of_frames_a_second_one_line_is_torn_at_most():
    for after in (40, 170, 333):
        process = start("write", "5000", "30")
        assert process.stdout is not None
        name, number = "", 0
        for _ in range(after):
            name, said = process.stdout.readline().split()
            number = int(said)
        process.kill()
        out, _ = process.communicate()
        if out.strip():
            name, said = (
                out.splitlines()[-1].split()
                if len(out.splitlines()[-1].split()) == 2
                else (name, str(number))
            )
            number = int(said)
        journal = next(each for each in journals(journal_folder()) if each.name == name)
        with open_parts(journal.paths[0]) as file:
            lines = list(file)
        bad = [line for line in lines if read_record(line) is None]
        assert len(bad) <= 1
        assert bad in ([], lines[-1:])
        recording = Recording.read(journal.paths[0])
        assert [head.seq for head in heads(recording)] == list(range(1, len(heads(recording)) + 1))
        made = rows(recording)
        assert recording.table.misfits == 0
        # all that was told is there, and what was written behind it may be
        assert number <= sum(row.settled_at is not None for row in made) <= number + 2
        found = index.find([index.read_session(journal)], Query())
        assert len(found) == sum(row.cancel_at is not None for row in made)


def test_the_index_may_be_deleted_at_any_moment():
    whole_day("4", "delete")
