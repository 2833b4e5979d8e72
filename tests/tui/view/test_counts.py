"""Every count of the table, and its statement of emptiness, against the events of the recording itself."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol.requests import TERMINAL, Book
from mcp_tui.tui.recorded import RecordedIndex
from mcp_tui.tui.view.empty_states import counted, empty_state
from mcp_tui.tui.view.filters import parse
from mcp_tui.tui.view.index import RowIndex
from mcp_tui.tui.view.text import clean, words
from tests.journal.making import STEPS, recorded_session

FILTERS = ("", "zzz", "id:1", "-id:1", "state:cancelled", "state:completed")


@pytest.mark.parametrize(("transport", "revision"), [("stdio", "2025-11-25"), ("http", "2026-07-28")])
@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEPS, max_size=40), own=st.booleans())
def test_what_is_shown_hidden_and_not_there_is_what_the_events_say(
    transport: str, revision: str, steps: list[tuple[str, int, float, str]], own: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        session = recorded_session(path, transport, revision, steps)
        recorded = RecordedBook.whole(Recording.read(path))
        live = Book()
        for event in session.told:
            live.apply(event)
        rows = list(live.order)
        over = [row for row in rows if row.internal and row.state in TERMINAL and not own]
        for typed, index in (
            (each, made) for each in FILTERS for made in (RowIndex(live), RecordedIndex(recorded))
        ):
            filter = parse(typed)
            index.refilter(filter, show_internal=own)
            while index.unfiltered:
                index.update()
            if not typed and any(row.parent is not None for row in rows):
                continue  # what stands under others is counted there
            passing = [row for row in rows if row not in over and filter.matches(row)]
            assert [index.row(line).id for line in range(len(index))] == [row.id for row in passing[::-1]]
            assert (index.total, index.internal_hidden) == (len(rows) - len(over), len(over))
            said = counted(len(index), index.total, internal=index.internal_hidden, what=words("all"))
            some = f"{len(passing):,} of {len(rows) - len(over):,}"
            if over:
                assert said.startswith(
                    some if len(passing) < len(rows) - len(over) else f"{len(passing):,} shown"
                )
                assert f", {len(over):,} internal hidden" in said
            else:
                assert said == (some if len(passing) < len(rows) else "all")
            if not passing:
                hidden = len(rows) - len(over)
                none = empty_state(words("None."), wanted=clean(typed), hidden=hidden)
                assert none == (
                    f"No match for '{typed}' ({hidden:,} hidden)" if typed and hidden else "None."
                )
