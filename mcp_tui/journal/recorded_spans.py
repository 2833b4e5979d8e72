"""The spans of a recording, each made from the events of its request alone, on all processor cores."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import merge
from typing import Final

from mcp_tui.journal import workers
from mcp_tui.journal.event_table import written_id
from mcp_tui.journal.recorded_requests import ANSWERS, RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.spans import SpanContext, SpanMaker, TraceSpan, context_in, otlp_span
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import called
from mcp_tui.protocol.server_requests import NONE
from mcp_tui.protocol.transitions import KINDS

Ended = tuple[tuple[int, int, int], str]
"""When a span ended, as the number of an event and what is first at the same event; and the span as JSON."""

_SENT, _LOST, _TASK = map(KINDS.index, (ev.Sent, ev.Lost, ev.TaskCreated))
_ASKED = (ev.ServerRequestReceived, ev.ServerRequestAnswered, ev.ServerRequestWithdrawn)
_NOT_LOST: Final = re.compile(b"[^%s]" % re.escape(bytes([_LOST])))
_OF_THE_SERVER: Final = re.compile(b"[%s]" % re.escape(bytes(map(KINDS.index, _ASKED))))


def spans_of(recording: Recording, places: Sequence[int] | None = None) -> Iterator[str]:
    """Yields the spans of a recording as JSON, in the order in which they ended; with ``places``, of these requests."""
    first = recording.table.first
    chosen = range(len(first)) if places is None else places
    maker = _RequestSpans(recording)

    def work(piece: range) -> tuple[int, list[Ended]]:
        return piece.stop, sorted(span for each in piece for span in maker.of_request(chosen[each]))

    def of_requests() -> Iterator[Ended]:
        waiting: list[Ended] = []
        for done, found in workers.in_parallel(len(chosen), work):
            waiting = sorted(waiting + found)
            # No span of a later request ends before that request begins.
            ended = bisect_left(waiting, ((first[chosen[done]] if done < len(chosen) else NONE, -1, 0), ""))
            yield from waiting[:ended]
            del waiting[:ended]
        yield from waiting

    return (text for _, text in merge(of_requests(), _RequestSpans(recording).of_server(places is None)))


class _RequestSpans(SpanMaker):
    """Makes the spans of a recording, one request after the other."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording.header)
        self._recording = recording
        self._rows = RecordedRequests.whole(recording)
        self._number = 0

    def of_request(self, place: int) -> Iterator[Ended]:
        """Yields the spans of a request."""
        table = self._recording.table
        number, over = table.first[place], table.requests.over[place]
        if over != NONE and table.after[over] == NONE and table.kinds[over] in ANSWERS:
            row = self._rows.row(place)
            # Its span needs no other row, and no order of events.
            if row.cause is None and row.parent is None:
                sent = [event.seq for event in row.history if isinstance(event, ev.Sent)]
                if carried := [each for seq in sent if (each := self._carried_in(seq, before=over))]:
                    self._carried[type(row.id), row.id] = carried
                self._begin(over)
                yield (over, 1, 0), otlp_span(self._made(row))
                return
        self._at, last = self._header.mono, number
        while number != NONE:
            for span in self._take_event(number):
                yield (number, 1, 0), otlp_span(span)
            if self._lost and (next_one := _NOT_LOST.search(table.kinds, number)):
                for span in self._made_lost(self._recording.event(next_one.start())):
                    yield (next_one.start(), 0, number), otlp_span(span)
            last, number = number, table.after[number]
        what, order = (0, last) if self._lost else (1, over) if over != NONE else (2, place)
        for span in self._rest():
            yield (NONE, what, order), otlp_span(span)

    def of_server(self, is_wanted: bool) -> Iterator[Ended]:
        """Yields the spans of the requests from the server, in order."""
        for each in _OF_THE_SERVER.finditer(self._recording.table.kinds if is_wanted else b""):
            for span in self._take_event(each.start()):
                yield (each.start(), 1, 0), otlp_span(span)
        for number, span in enumerate(self._rest()):
            yield (NONE, 3, number), otlp_span(span)

    def _rest(self) -> Iterator[TraceSpan]:
        self._at = self._rows.recording.ended_at
        self._begin(NONE)
        return self.rest()

    def _take_event(self, number: int) -> Iterator[TraceSpan]:
        event = self._recording.event(number)
        if isinstance(event, ev.Sent | ev.ServerRequestReceived) and (
            carried := self._carried_in(event.seq, before=number)
        ):
            self._contexts[event.seq] = carried
        self._begin(number)
        return iter(()) if event is None else self.take(event)

    def _begin(self, number: int) -> None:
        """Takes what is known before an event."""
        self._number = number
        self.session = self._sessions[bisect_left(self._connected, number)]

    @cached_property
    def _connected(self) -> list[int]:
        return [*self._recording.connections()]

    @cached_property
    def _sessions(self) -> list[dict[str, str | int]]:
        """The attributes of the session before the first connection, and after each."""
        maker, found = SpanMaker(self._header), [self.session]
        for event in self._recording.connections().values():
            found += [maker.session for _ in (*maker.take(event), 0)]
        return found

    def _carried_in(self, seq: int, *, before: int) -> SpanContext | None:
        """Returns the trace context in the message with a number, if its record precedes an event."""
        recording, frame = self._recording, self._recording.find(seq)
        if frame is None or (offset := recording.frame_offset(frame)) > recording.table.offsets[before]:
            return None
        line = recording.line(offset)
        is_likely = b"traceparent" in line or b"\\u" in line  # it may be written with escapes
        return context_in(recording.payload(seq) or b"") if is_likely else None

    # -- other requests ----------------------------------------------------------------------------------------

    def context_of(self, id_: RequestId) -> SpanContext | None:
        place = self._recording.table.place(written_id(id_))
        return None if place == NONE else self._context_before(place, self._number)

    def _task_context(self, task: str) -> SpanContext | None:
        numbers = self._created.get(task, ())
        at = bisect_left(numbers, self._number) - 1
        return self._context_before(self._recording.table.rows[numbers[at]], numbers[at]) if at >= 0 else None

    @cached_property
    def _created(self) -> dict[str, list[int]]:
        """The events that created a task, by its id."""
        found: dict[str, list[int]] = {}
        number, recording = -1, self._recording
        while (number := recording.table.kinds.find(_TASK, number + 1)) >= 0:
            event = recording.event(number)
            if isinstance(event, ev.TaskCreated) and recording.table.rows[number] != NONE:
                found.setdefault(event.task_id, []).append(number)
        return found

    def _context_before(self, place: int, before: int) -> SpanContext | None:
        """Returns the ids of the span of a request as they are before an event; ``None`` before its call."""
        table, number, now = self._recording.table, self._recording.table.first[place], self._number
        event = self._recording.event(number) if number < before else None
        if not isinstance(event, ev.Called):
            return None
        row, self._number = called(event), number
        while number < before and table.kinds[number] != _SENT:
            number = table.after[number]
        sent = self._recording.event(number) if number < before else None
        if isinstance(sent, ev.Sent) and (carried := self._carried_in(sent.seq, before=number)):
            self._carried[type(row.id), row.id] = [carried]
        context, self._number = self._context(row), now
        self._carried.pop((type(row.id), row.id), None)
        return context
