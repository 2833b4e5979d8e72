"""The cancellation log: every request that was ever cancelled, and what came of that, updated in place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from mcp_tui.journal.projections import Outcome, cancel_of, cancelled, outcome
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Signal
from mcp_tui.protocol.requests import Request, State
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.allotment import Need, allot
from mcp_tui.tui.view.badges import UNSUBSCRIBED, badge, late_answer, late_progress, unsubscribed
from mcp_tui.tui.view.index import Key, Rows, key
from mcp_tui.tui.view.lines import Line
from mcp_tui.tui.view.rows import after_cancel, late_words, task_came_late, waits_for_task, written_after_all
from mcp_tui.tui.view.text import SafeText, brief, clean, fit, join, safe, width, words

SIGNALS: Final = {
    Signal.NOTIFICATION: words("notified"),
    Signal.STREAM_CLOSED: words("stream closed"),
    Signal.TASKS_CANCEL: words("tasks/cancel sent"),
    Signal.NONE: words("not sent"),
}
"""How a signal left, in words."""

CAUSES: Final = {
    Cause.USER: words("user"),
    Cause.TIMEOUT: words("timeout"),
    Cause.MAX_TIMEOUT: words("maximum"),
    Cause.SHUTDOWN: words("shutdown"),
    Cause.PARENT: words("parent"),
}
"""Who or what cancelled, in words."""


_FINE: Final = 12
_COARSE: Final = 8
"""Cells of a time of day with its thousandths and without."""

_BOTH: Final = 120
"""Cells from which on a line has a column for the signal, although something else is cut for that."""


def outcome_words(came: Outcome) -> SafeText:
    """What came of a cancel, as the index over all sessions names it: ``silent``, ``late result``."""
    return clean(came.value.replace("_", " "))


def counted(rows: Iterable[Request]) -> SafeText:
    """How many cancels came to what: ``3 silent · 1 late result``; what is seldom comes last."""
    counts = Counter(outcome(row) for row in rows)
    order = list(Outcome)
    found = sorted(counts, key=lambda came: (-counts[came], order.index(came)))
    return join([safe("{:,} {}", counts[came], outcome_words(came)) for came in found], " · ")


def cancellation_json(row: Request) -> str:
    """What is known of a cancellation as JSON on one line, in the words of ``mcp-tui log --json``; times in seconds."""
    made = cancelled(row)
    assert made is not None  # only rows that were cancelled come in
    return json.dumps(made.as_json(), ensure_ascii=True)


class CancelSort(Enum):
    """An order of the cancellations."""

    NEWEST = "newest"
    OUTCOME = "outcome"
    LAG = "lag"
    """What was answered latest first."""
    NAME = "name"

    @property
    def next(self) -> CancelSort:
        """The one that comes after this."""
        sorts = list(CancelSort)
        return sorts[(sorts.index(self) + 1) % len(sorts)]

    def place(self, row: Request) -> tuple[object, ...]:
        """What rows are ordered by, the least first."""
        match self:
            case CancelSort.OUTCOME:
                return (list(Outcome).index(outcome(row)),)
            case CancelSort.LAG:
                return (-max((each.last_after for each in row.late), default=-1.0),)
            case CancelSort.NAME:
                return ((row.name or row.method).casefold(),)
            case CancelSort.NEWEST:
                return (-_cancelled_at(row),)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancellationLine:
    """One line of the log. ``aftermath`` is empty until there is something to say."""

    time: SafeText
    id: SafeText
    request: SafeText
    cause: SafeText
    reason: SafeText
    signal: SafeText
    aftermath: SafeText
    style: str


def cancellation(row: Request, *, origin: float) -> CancellationLine | None:
    """The line of ``row``, or ``None`` where it was never cancelled.

    ``origin`` is the epoch, in seconds, at which the monotonic clock of the row's times read 0.
    """
    asked = cancel_of(row)
    if asked is None:
        return None
    withdrawn = row.cancel_at is None
    return CancellationLine(
        time=durations.moment(asked.at, origin),
        id=brief(str(row.id), 40),
        request=brief(row.name or row.method),
        cause=CAUSES[asked.cause],
        reason=brief(asked.reason),
        signal=words("withdrawn") if withdrawn else signal(row),
        aftermath=_reply_first(row) if withdrawn else aftermath(row),
        style=badge(row).style,
    )


def _reply_first(row: Request) -> SafeText:
    if row.state in {State.COMPLETED, State.FAILED}:
        return safe("reply came first: {}", badge(row).word)
    return words("reply came first")


def signal(row: Request) -> SafeText:
    """How the cancel left."""
    if row.undelivered:
        return words("undelivered")
    if waits_for_task(row):
        return words("waits for its id")
    if row.signal is None:
        return words("not sent yet") if row.state is State.CANCEL_REQUESTED else words("not sent")
    return SIGNALS[row.signal]


def aftermath(row: Request) -> SafeText:
    """What came after the cancel; empty while a request waits for that."""
    late = late_answer(row)
    going_on = late_progress(row)
    if late is not None:
        more = safe("progress ×{}", going_on.count) if going_on is not None else words("")
        said = late_words(late, task=bool(row.task_id))
        anyway = bool(row.task_id) and late.kind in (Kind.RESULT, Kind.ERROR)
        return join((said if anyway else safe("late {}", said), more), ", ")
    if going_on is not None or row.undelivered or task_came_late(row):
        return after_cancel(row)
    if unsubscribed(row):
        return UNSUBSCRIBED
    if row.state is not State.CANCELLED or row.signal is Signal.STREAM_CLOSED:
        return brief(row.settled)
    if written_after_all(row):
        return words("the request was written after all")
    if row.settled:
        return brief(row.settled)
    return words("no answer since") if row.signal is not Signal.NONE else words("")


class Cancellations:
    """The log as a :class:`~mcp_tui.tui.view.lines.LineSource`, oldest first. Its lines' keys are ids.

    Feed it every event after the book has taken it in. What the book knew before is found at the start.
    """

    def __init__(self, book: Rows, *, origin: float) -> None:
        self.origin = origin
        self._version = 0
        self._book = book
        self._rows: list[Request] = [row for row in book.order if cancel_of(row) is not None]
        self._rows.sort(key=_cancelled_at)
        self._known: set[Key] = {key(row) for row in self._rows}
        self._width = 0
        self._needs = Needs()
        self._changed = {key(row): row for row in self._rows}

    @property
    def version(self) -> int:
        self._fit()
        return self._version

    def _fit(self) -> None:
        """Fit the columns to what changed."""
        if self._changed:
            needs = needs_of(self._changed.values(), self._needs)
            self._changed.clear()
            self._version += needs != self._needs  # the columns of all lines move
            self._needs = needs

    @property
    def start(self) -> int:
        return 0

    @property
    def end(self) -> int:
        return len(self._rows)

    def note(self, event: ev.Event) -> None:
        """Take in an event."""
        if not isinstance(event, ev.RequestEvent):
            return
        known = (type(event.id), event.id)
        row = self._book.get(event.id)
        if row is None:
            return
        if known in self._known:
            self._version += 1
            self._changed[known] = row
        elif isinstance(event, ev.CancelRequested):
            self._known.add(known)
            self._rows.append(row)
            self._changed[known] = row

    def item(self, number: int) -> Request:
        """The request of a line."""
        return self._rows[number]

    def line(self, number: int, width: int) -> Line:
        if width != self._width:  # what stood in the columns before need no longer be minded
            self._width = width
            self._needs = Needs()
            self._changed = {key(row): row for row in self._rows}
        self._fit()
        row = self._rows[number]
        shown = cancellation(row, origin=self.origin)
        assert shown is not None  # only such rows come in
        return layout(shown, width, self._needs, key=row.id)


def _cancelled_at(row: Request) -> float:
    asked = cancel_of(row)
    return row.called_at if asked is None else asked.at


@dataclass(frozen=True, slots=True)
class Needs:
    """The most cells that any of the lines takes in each column; ``outcome`` where the signal has none of its own."""

    id: int = 2
    request: int = 0
    cause: int = 0
    reason: int = 0
    signal: int = 0
    aftermath: int = 0
    outcome: int = 0

    def grown(self, shown: CancellationLine) -> Needs:
        """These, and those of one more line."""
        return Needs(
            max(self.id, min(12, width(shown.id))),
            max(self.request, width(shown.request)),
            max(self.cause, width(shown.cause)),
            max(self.reason, width(shown.reason)),
            max(self.signal, width(shown.signal)),
            max(self.aftermath, width(shown.aftermath)),
            max(self.outcome, width(shown.aftermath or shown.signal)),
        )


def needs_of(rows: Iterable[Request], before: Needs | None = None) -> Needs:
    """What the lines of these rows need, and what was needed before."""
    needs = before or Needs()
    for row in rows:
        shown = cancellation(row, origin=0.0)
        needs = needs if shown is None else needs.grown(shown)
    return needs


def layout(shown: CancellationLine, cells: int, needs: Needs, *, key: object = None) -> Line:
    """A line of the log in columns: the signal's place is taken by what came after, where there is no room for both."""
    time, (id_, request, cause, reason, *rest) = _columns(cells, needs)
    pieces = [
        (clean(shown.time[:time]), "muted"),
        (fit(shown.id, id_, right=True), ""),
        (fit(shown.request, request), ""),
        (fit(shown.cause, cause), "muted"),
        (fit(shown.reason, reason), ""),
    ]
    came = (shown.signal, shown.aftermath) if len(rest) == 2 else (shown.aftermath or shown.signal,)
    pieces += [(fit(text, column), shown.style) for text, column in zip(came, rest, strict=True)]
    (first, tone), *others = pieces
    return Line(((first, tone), *((safe("  {}", text), tone) for text, tone in others)), key)


@lru_cache(maxsize=64)
def _columns(cells: int, needs: Needs) -> tuple[int, list[int]]:
    """The width of the time, and those of the other columns: the signal's among them where there is room for it."""
    columns = (
        Need(needs.id, needs.id, 4),
        Need(min(10, needs.request), needs.request, 2),
        Need(needs.cause, needs.cause, 1),
        Need(min(8, needs.reason), needs.reason, 8),
    )
    both = (*columns, Need(needs.signal, needs.signal, 4), Need(min(17, needs.aftermath), needs.aftermath, 3))
    one = (*columns, Need(min(17, needs.outcome), needs.outcome, 3))
    for asked, time in ((both, _FINE), (both, _COARSE), (one, _FINE), (one, _COARSE)):
        if time + sum(2 + need.wish for need in asked) <= cells:
            break
    else:
        asked, time = (both, _FINE) if cells >= _BOTH else (one, _COARSE)
    return time, allot(asked, cells - time - 2 * len(asked))
