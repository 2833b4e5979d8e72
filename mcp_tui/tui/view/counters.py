"""What the server bar counts: late answers, lost cancels, and progress that goes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.evidence import (
    end_of_watching,
    is_disconnected,
    is_internal,
    is_still_progressing,
    late_answer,
)
from mcp_tui.protocol.requests import Book, Request
from mcp_tui.protocol.states import LISTEN
from mcp_tui.tui.view.index import Key, key
from mcp_tui.tui.view.server import Counts


class Counters:
    """The counts over the rows of a book, adjusted with each event instead of made anew. Feed it what the book took in."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._late: set[Key] = set()
        self._lost: set[Key] = set()
        self._progressing: dict[Key, Request] = {}
        for row in book.order:
            self._take(row)

    def note(self, event: ev.Event) -> None:
        """Take in an event."""
        if type(event) in _COUNTED and isinstance(event, ev.RequestEvent):
            row = self._book.get(event.id)
            if row is not None:
                self._take(row)

    def _take(self, row: Request) -> None:
        own, known = is_internal(row), key(row)
        for rows, counts in (
            (self._late, late_answer(row) is not None),
            (self._lost, is_disconnected(row)),
        ):
            if counts and not own:
                rows.add(known)
            else:
                rows.discard(known)
        if row.late and row.cancel_at is not None and not own:
            self._progressing[known] = row
        else:
            self._progressing.pop(known, None)

    def counts(self, now: float) -> Counts:
        """The counts at a moment, in monotonic seconds."""
        in_flight = requested = 0
        for row in self._book.unfinished.values():
            if row.open:
                in_flight += row.method != LISTEN or not row.internal
            else:
                requested += 1
        self._progressing = {
            known: row
            for known, row in self._progressing.items()
            if is_still_progressing(row, end_of_watching(row, now))
        }
        late, progressing, lost = len(self._late), len(self._progressing), len(self._lost)
        return Counts(in_flight, requested, late, progressing=progressing, lost=lost)


_COUNTED: Final = frozenset({ev.CancelRequested, ev.CancelWithdrawn, ev.Late, ev.Unwatched})
"""Events that may change what counts of a row that is not in flight."""


def count_aftermath(rows: Iterable[Request], now: float, counts: Counts) -> Counts:
    """The counts, with what still goes on or was lost of these cancelled rows."""
    progressing = lost = 0
    for row in rows:
        progressing += bool(row.late) and is_still_progressing(row, end_of_watching(row, now))
        lost += is_disconnected(row)
    return replace(counts, progressing=progressing, lost=lost)
