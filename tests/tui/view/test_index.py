from __future__ import annotations

import random
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import events as ev
from mcp_tui.tui.view.filters import parse
from mcp_tui.tui.view.index import Outline
from tests.journal.making import STEPS as RECORDED
from tests.journal.making import recorded_session, write
from tests.tui.making import book, called, cancelled, completed, started

FILTERS = st.sampled_from(["", "state:flight", "state:completed", "state:open", "3", "id:2"])


def ids(index: Outline) -> list[object]:
    return [index.item(line).key[1] for line in range(len(index))]


def test_own_requests_are_hidden_when_they_are_over_and_not_before():
    made = book(called(1, internal=True), ev.Sent(at=0.0, id=1), called(2))
    index = Outline(made)
    index.update()
    assert ids(index) == [2, 1]
    made.apply(completed(id=1))
    index.update()
    assert ids(index) == [2]
    assert (index.total, index.internal_hidden) == (1, 1)
    index.refilter(parse(""), show_internal=True)
    assert ids(index) == [2, 1]


def test_a_cancel_that_a_recording_leaves_open_passes_another_filter_at_its_end(tmp_path: Path):
    recording = Recording.read(write(tmp_path / "a.jsonl", *started(1), *cancelled(id=1), *started(2)))
    moment = RecordedBook(recording)
    moment.seek(len(recording.table) - 1)
    index = Outline(moment)
    index.refilter(parse("state:requested"), show_internal=False)
    assert ids(index) == [1]
    moment.seek(len(recording.table))
    index.update()
    assert ids(index) == []
    moment.seek(len(recording.table) - 1)
    index.update()
    assert ids(index) == [1]


def told(index: Outline) -> tuple[object, ...]:
    """Everything that the lines say of themselves."""
    while index.unfiltered:
        index.update()
    items = [index.item(line) for line in range(len(index))]
    lines = [index.line(item.key) for item in items]
    below = [(item.key, item.children, item.server_request and item.server_request.outcome) for item in items]
    return below, lines, index.shown, index.total, index.internal_hidden


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(RECORDED, max_size=40), text=FILTERS, own=st.booleans(), seed=st.integers(0, 100))
def test_a_step_in_a_recording_finds_what_a_new_look_finds(
    steps: list[tuple[str, int, float, str]], text: str, own: bool, seed: int
):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        recorded_session(path, "stdio", "2025-11-25", steps)
        moment = RecordedBook(Recording.read(path))
        index = Outline(moment)
        index.refilter(parse(text), show_internal=own)
        for position in random.Random(seed).choices(range(len(moment.recording.table) + 1), k=20):
            moment.seek(position)
            index.update()
            again = Outline(moment)
            again.refilter(parse(text), show_internal=own)
            assert told(index) == told(again)
