"""Journals and their index while several processes write, read, and delete at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.journal import index
from mcp_tui.journal.files import journal_folder, journals
from mcp_tui.journal.index import Query
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import evidence
from mcp_tui.protocol.evidence import Outcome
from tests.journal.making import rows

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


@pytest.mark.parametrize("others", [[], ["delete"]], ids=["", "the index deleted all the time"])
def test_two_write_and_two_index_and_read_and_nothing_is_lost(others: list[str]):
    writers = [start("write", "2500", "4") for _ in range(2)]
    askers = [start("ask", "4") for _ in range(2)]
    deleters = [start(word, "4") for word in others]
    made: dict[str, int] = {}
    for process in writers:
        made.update(end(process)["cancelled"])
    for process in askers:
        assert end(process)["asked"] > 0
    for process in deleters:
        end(process)
    assert sum(made.values()) > 100
    assert cancelled_by_session() == made
    for each in index.sessions(journal_folder()):
        assert (each.broken, each.lost) == (0, 0)
    read = sum(len(rows(Recording.read(journal.paths[0]))) for journal in journals(journal_folder()))
    assert read == sum(made.values())
