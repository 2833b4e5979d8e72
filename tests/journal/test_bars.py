"""Journals and their index while several processes write, read, and delete at once."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress

import pytest

from mcp_tui.journal import index
from mcp_tui.journal.journal_files import journal_folder, journals, new_journal_path
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.retention import Retention, prune
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Cause, Signal
from mcp_tui.protocol.evidence import Outcome
from tests.journal.making import rows

pytestmark = pytest.mark.slow  # a hundred thousand records take their time

FRAME = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"' + b"x" * 200 + b'"}}'
SECONDS = 4.0


def write() -> dict[str, int]:
    """Makes sessions of about 2,000 cancelled calls each, in parts of 300 kB; how many calls each has."""
    made: dict[str, int] = {}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        path = new_journal_path("busy")
        prune(path.parent, Retention(days=30, size=2_000_000_000))
        writer = Writer(path, rotate=300_000)
        store = Store(writer, soon=lambda _: None)
        number = 0
        while number < 2_000 and time.monotonic() < end:
            at = time.monotonic()
            for _ in range(5):
                store.frame("in", FRAME, at=at, method="notifications/message")
            number += 1
            for event in (
                ev.Called(at=at, id=number, method="tools/call", name="busy"),
                ev.Sent(at=at, id=number),
                ev.CancelRequested(at=at, id=number, cause=Cause.USER, reason="x"),
                ev.CancelSignalled(at=at, id=number, signal=Signal.NOTIFICATION, reason_delivered=True),
                ev.Settled(at=at, id=number),
            ):
                store.event(event)
            store.flush()
            time.sleep(0.002)
        store.close()
        assert store.problems == []
        made[writer.path.stem] = number
    return made


def ask() -> int:
    """Brings the index up to date and asks it for all that was cancelled, over and over; how often."""
    end, asked = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        if journal_folder().is_dir():
            assert all(each.row for each in index.find(index.sessions(journal_folder()))[-50:])
            asked += 1
        time.sleep(0.01)
    return asked


def delete() -> None:
    """Takes the index away, over and over."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with suppress(OSError):
            (journal_folder() / index.CACHE_NAME).unlink()
        time.sleep(0.15)


def cancelled_by_session() -> dict[str, int]:
    """How many cancellations the index has of each session; all are over."""
    entries = index.find(index.sessions(journal_folder()))
    assert {evidence.outcome(each.row, each.until) for each in entries} <= {Outcome.NO_REPLY}
    return Counter(each.session.name for each in entries)


@pytest.mark.parametrize("deletes", [False, True], ids=["", "the index deleted all the time"])
def test_two_write_and_two_index_and_read_and_nothing_is_lost(deletes: bool):
    with ProcessPoolExecutor(5, multiprocessing.get_context("spawn")) as pool:
        writers = [pool.submit(write) for _ in range(2)]
        askers = [pool.submit(ask) for _ in range(2)]
        deleter = pool.submit(delete) if deletes else None
        made = {name: count for each in writers for name, count in each.result().items()}
        assert all(each.result() > 0 for each in askers)
        if deleter is not None:
            deleter.result()
    assert sum(made.values()) > 100
    assert cancelled_by_session() == made
    for each in index.sessions(journal_folder()):
        assert (each.broken, each.lost) == (0, 0)
    read = sum(len(rows(Recording.read(journal.paths[0]))) for journal in journals(journal_folder()))
    assert read == sum(made.values())
