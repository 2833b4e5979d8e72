"""Folding a file gives exactly the rows that were on the screen."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.journal.recording import Recording
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import State, fold
from tests.journal.making import STEPS, Session

WIRES = [("stdio", "2025-11-25"), ("http", "2025-03-26"), ("http", "2026-07-28")]


@pytest.mark.parametrize(("transport", "revision"), WIRES)
@settings(max_examples=150)
@given(steps=st.lists(STEPS, max_size=40), at_once=st.booleans())
def test_the_journal_folds_to_the_live_book(
    transport: str, revision: str, steps: list[tuple[str, int, float, str]], at_once: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        writer = Writer(path)
        store = Store(writer) if at_once else Store(writer, soon=lambda _: None)
        session = Session(store, transport, revision)
        for step in steps:
            session.step(*step)
        store.close()
        recording = Recording.read(path)

        assert writer.problem == ""
        assert (recording.skipped, recording.unknown) == (0, 0)
        assert recording.events == session.told
        live = session.ledger.book
        for book in (recording.book(), fold(recording.events)):
            assert book.order == live.order  # every field of every row
            assert book.rows == live.rows
            assert book.version == live.version
        assert recording.misfits == 0
        assert list(recording.frames) == list(store.frames)
        for head in store.frames:
            assert recording.payload(head.seq) == store.payload(head.seq)


def test_sessions_of_this_kind_reach_every_state_that_a_ledger_knows(tmp_path: Path) -> None:
    """The property above holds nothing if its sessions are dull."""
    writer = Writer(tmp_path / "journal.jsonl")
    session = Session(Store(writer), "stdio", "2025-11-25")
    for what, number in [
        ("call", 1), ("written", 1), ("progress", 1), ("cancel", 1), ("signalled", 1), ("progress", 1), ("tick", 1),
        ("result", 1), ("call", 2), ("written", 2), ("result", 2), ("result", 2), ("call", 3), ("written", 3),
        ("error", 3), ("call", 4), ("written", 4), ("pause", 4), ("resume", 4), ("extend", 4), ("cancel", 4),
        ("call", 5), ("written", 5), ("closed", 1), ("garbage", 1), ("stranger", 1), ("log", 1), ("asks", 1),
    ]:  # fmt: skip
        session.step(what, number, 2.5, "because")
    session.store.close()
    recording = Recording.read(writer.path)
    states = {row.state for row in recording.book().order}
    assert states >= {State.CANCELLED, State.COMPLETED, State.FAILED, State.LOST}
    kinds = {type(event) for event in recording.events}
    assert kinds >= {
        ev.Late,
        ev.Duplicate,
        ev.Settled,
        ev.Pollution,
        ev.Unknown,
        ev.Log,
        ev.ServerRequestAnswered,
        ev.Extended,
    }
