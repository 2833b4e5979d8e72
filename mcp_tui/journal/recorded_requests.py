"""The requests of a recording at one position. A request is built from its events when it is read."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import lru_cache
from itertools import groupby
from typing import Final

from mcp_tui.journal.event_table import NONE, written_id
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.client_violations import REPEAT, ClientViolation
from mcp_tui.protocol.descriptions import guard_words, repeat_words
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Request, State, add_count, called, evolve, evolve_run
from mcp_tui.protocol.server_requests import ServerRequest, ServerRequests
from mcp_tui.protocol.transitions import KINDS, IllegalTransition, counts

CACHED: Final = 1024
"""The number of rows that are cached."""

NEAR: Final = 1000
"""The most events between two positions for which the changed rows are listed."""


_PROGRESS: Final = KINDS.index(ev.Progress)
ANSWERS: Final = frozenset({KINDS.index(ev.Completed), KINDS.index(ev.Failed)})


class RecordedRequests:
    """The requests of a recording at one position, with the interface of ``Requests`` that views need.

    ``position`` is the number of events that have happened. ``over`` means that the session has ended at this position.
    ``internal`` and ``logged_at`` also include requests and log messages after the position.

    With ``is_brief``, the history of an answered request has only the last progress of each run, and the longest gap
    between two is unknown. That makes a row in half the time.
    """

    sortable = CACHED

    def __init__(self, recording: Recording, *, is_brief: bool = False) -> None:
        self.recording: Final = recording
        self._is_brief = is_brief
        self.position = 0
        self.over = False
        self.order: Final = RecordedRows(self)
        self.internal: Final = recording.table.requests.internal
        self.logged_at: Final = recording.table.logged_at
        self._folded: OrderedDict[int, tuple[Request, int]] = OrderedDict()  # rows, with their last events
        self._cancelled = array("I")
        self.server_requests = ServerRequests(
            recording.table.server_requests, lambda: self.position, self._server_request
        )
        self._ended = lru_cache(CACHED)(self._fold_server_request)

    @classmethod
    def whole(cls, recording: Recording, *, is_brief: bool = False) -> RecordedRequests:
        """Returns the requests at the end of a recording that was read completely."""
        requests = cls(recording, is_brief=is_brief)
        requests.seek(len(recording.table))
        return requests

    def seek(self, position: int) -> bool:
        """Moves to a position; returns whether anything changed."""
        recording = self.recording
        position = max(0, min(len(recording.table), position))
        # The session has only ended if no process writes to the file; otherwise a cancel is still watched.
        over = 0 < position == len(recording.table) and not recording.is_locked()
        over = over and not recording.grown()
        if (position, over) == (self.position, self.over):
            return False
        self.position, self.over = position, over
        return True

    @property
    def version(self) -> int:
        """A number made of ``position`` and ``over``, on which rows depend."""
        return 2 * self.position + self.over

    def get(self, id: RequestId) -> Request | None:
        """Returns the row of an id, compared by type and value; ``None`` if it was not called before the position."""
        place = self.place(id)
        return None if place is None or place >= len(self.order) else self.row(place)

    def written(self, id: str) -> Request | None:
        """Returns the row of an id that the user typed: the id as a number if possible, else as a text."""
        number = int(id) if re.fullmatch("0|-?[1-9][0-9]{0,30}", id) else id
        return self.get(number) or self.get(id)

    def place(self, id: RequestId) -> int | None:
        """Returns the index of the row of an id in :attr:`order`, even if it is called later; ``None`` for an unknown id."""
        place = self.recording.table.place(written_id(id))
        return None if place == NONE else place

    def parent(self, place: int) -> int | None:
        """Returns the place of the parent of an internal request; ``None`` without one."""
        event = self.recording.event(self.recording.table.first[place])
        parent = event.parent if isinstance(event, ev.Called) else None
        return None if parent is None else self.place(parent)

    def changed_since(self, version: int) -> set[int] | None:
        """Returns the places of rows that may have changed since a version; ``None`` means all rows."""
        table, (before, over) = self.recording.table, divmod(version, 2)
        low, high = sorted((before, self.position))
        if low < 0 or high - low > NEAR:
            return None
        places = {*table.rows[low:high]}
        if over != self.over:  # the end of the session ends the watching of cancels
            places.update(
                place
                for place in map(table.rows.__getitem__, table.cancels)
                if table.requests.over[place] == NONE
            )
        return places - {NONE}

    @property
    def cancelled(self) -> Sequence[int]:
        """The places of the requests cancelled before the position, in order of the cancels; without internal requests."""
        table, known = self.recording.table, self._cancelled
        count = bisect_left(table.cancels, self.position)
        del known[count:]
        known.extend(table.requests.cancelled[len(known) : count])
        return known

    @property
    def cancel_events(self) -> Sequence[int]:
        """The numbers of the cancel events of :attr:`cancelled`, in the same order."""
        table = self.recording.table
        return table.cancels[: bisect_left(table.cancels, self.position)]

    @property
    def violation_events(self) -> Sequence[int]:
        """The numbers of the violations and repeats by the client behind a tap, before the position."""
        table = self.recording.table
        return table.violations[: bisect_left(table.violations, self.position)]

    def violation(self, event: int) -> ClientViolation:
        """Returns the violation or repeat in an event."""
        found = self.recording.event(event)
        if isinstance(found, ev.Repeat):
            return self._repeat(found)
        if not isinstance(found, ev.Violation):
            return ClientViolation(at=self.recording.at(event), rule="?", detail="its record is damaged")
        row = None if found.id is None else self.get(found.id)
        return ClientViolation(
            at=found.at,
            rule=found.rule,
            detail=found.detail,
            id=found.id,
            method="" if row is None else row.method,
            name="" if row is None else row.name,
            count=found.count,
        )

    def _repeat(self, found: ev.Repeat) -> ClientViolation:
        row = self.get(found.id)
        first = None if found.session else self.get(found.repeat_of)
        withheld = (
            guard_words(row.guard)
            if row is not None and row.withheld_by_guard and row.guard is not None
            else ""
        )
        answered = found.first_after is not None or (first is not None and evidence.is_answered(first))
        return ClientViolation(
            at=found.at,
            rule=REPEAT,
            detail=f"{repeat_words(found)}; {withheld}" if withheld else repeat_words(found),
            id=found.id,
            method="" if row is None else row.method,
            name="" if row is None else row.name,
            repeat_of=found.repeat_of,
            first_outcome=found.first_outcome,
            ran_twice=answered and not withheld and row is not None and evidence.is_answered(row),
        )

    def is_over(self, place: int) -> bool:
        """Whether a request ended before the position."""
        return self.recording.table.requests.over[place] < self.position

    def counts(self) -> tuple[int, int, int]:
        """Returns the numbers of requests in flight, cancelling, and answered late; without subscriptions."""
        table, until = self.recording.table, self.position
        listening = sum(self.row(each).open for each in table.requests.listening if table.first[each] < until)
        in_flight, requested, late = counts(lambda effect: table.effects.count(effect, 0, until), listening)
        return in_flight, 0 if self.over else requested, late

    # -- rows ------------------------------------------------------------------------------------------------

    def row(self, place: int) -> Request:
        """Returns the request at a place. A request that is called after the position is returned as it is called."""
        row, last = self._folded.pop(place, (None, NONE))
        # Events can be added to a row, but not undone. For an earlier position, the row is built again from its first event.
        if row is None or last >= self.position:
            last = self.recording.table.first[place]
            event = self.recording.event(last)
            if not isinstance(event, ev.Called):
                # The record of the call is damaged, and so is the id of its other events.
                return called(ev.Called(at=self.recording.header.mono, id=place, method="?"))
            row = called(event)
        self._folded[place] = (
            row,
            self._continue(row, last, is_brief=self._is_brief and self._is_answered(place)),
        )
        if len(self._folded) > CACHED:
            self._folded.popitem(last=False)
        # Checked first, because at() reads the file.
        is_open = self.over and row.state is State.CANCEL_REQUESTED
        return left_at_end(row, self.recording.at(self.position)) if is_open else row

    def _server_request(self, number: int) -> ServerRequest:
        """Returns a request from the server, built from its two events."""
        over = self.recording.table.server_requests.over[number]
        return self._ended(number, over if over < self.position else NONE)

    def _fold_server_request(self, number: int, over: int) -> ServerRequest:
        received = self.recording.event(self.recording.table.server_requests.arrived[number])
        if not isinstance(received, ev.ServerRequestReceived):  # its record is damaged
            received = ev.ServerRequestReceived(at=self.recording.header.mono, request_id=number, method="?")
        row = ServerRequest.of(received)
        if over != NONE and (event := self.recording.event(over)) is not None:
            row.end(event)
        return row

    def _is_answered(self, place: int) -> bool:
        over = self.recording.table.requests.over[place]
        return over < self.position and self.recording.table.kinds[over] in ANSWERS

    def _continue(self, row: Request, last: int, *, is_brief: bool) -> int:
        """Applies the events of a row after the number ``last`` and before the position; returns the last one's number."""
        table, numbers = self.recording.table, array("I")
        number = table.after[last]
        while number < self.position:
            numbers.append(number)
            last = number
            number = table.after[number]
        # Runs of the same event, such as ten thousand progress events, are applied together, without reading each record.
        for (code, effect), run in groupby(numbers, lambda each: (table.kinds[each], table.effects[each])):
            same = array("I", run)
            if is_brief and code == _PROGRESS:
                add_count(row, ev.Progress, len(same) - 1)
                del same[:-1]
            evolve_run(row, code, effect, same, self._apply)
        return last

    def _apply(self, row: Request, number: int) -> None:
        """Applies an event, unless its record is damaged."""
        event = self.recording.event(number)
        if isinstance(event, ev.RequestEvent):
            # If a record before this one is damaged, the state may not permit this event.
            with suppress(IllegalTransition):
                evolve(row, event)


def left_at_end(row: Request, at: float) -> Request:
    """Returns a row as it is after the end of a recording, where no cancel is watched any more."""
    if row.state is not State.CANCEL_REQUESTED:
        return row
    settled = copy(row)
    settled.history = [*row.history]
    evolve(settled, ev.Settled(at=at, id=row.id, detail=evidence.RECORDING_ENDS))
    return settled


class RecordedRows:
    """The requests called before the position, oldest first."""

    def __init__(self, requests: RecordedRequests) -> None:
        self._requests = requests

    def __len__(self) -> int:
        return bisect_left(self._requests.recording.table.first, self._requests.position)

    def __getitem__(self, index: int) -> Request:
        return self._requests.row(range(len(self))[index])

    def __iter__(self) -> Iterator[Request]:
        return map(self._requests.row, range(len(self)))
