"""The cancellation log: every request that was ever cancelled, with its outcome, updated in place."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp_tui.protocol import evidence
from mcp_tui.protocol.client_violations import Cancelled, ClientViolation
from mcp_tui.protocol.requests import Evidence, Request, State
from mcp_tui.protocol.values import fact
from mcp_tui.view import durations
from mcp_tui.view.badges import CAUSES, badge
from mcp_tui.view.columns import BY_NAME, NEWEST, Column, ColumnWidths, Sort, StyledPiece
from mcp_tui.view.lines import DAMAGED, EMPTY, Line
from mcp_tui.view.outline import Rows, has, put
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, join, safe, words

if TYPE_CHECKING:
    from mcp_tui.journal.index import Logged

_TIME_CELLS: Final = len("12:04:31")
"""Cells of a time of day without its thousandths."""

_UPDATED_CANCELLATIONS: Final = 100
"""The number of newest cancellations that are updated each second while an answer may still arrive."""

FITTED_CANCELLATIONS: Final = 1000
"""The number of newest cancellations that determine the widths of the columns."""

_BOTH_CELLS: Final = 120
"""The least width at which a line keeps the column of the signal, even if other columns are cut."""


def counted(entries: Iterable[Cancelled], now: float) -> SafeText:
    """Returns the number of cancels with each outcome, the most frequent first: ``3 no reply · 1 late result``."""
    rows, others = list[Request](), list[ClientViolation]()
    for each in entries:
        if isinstance(each, Request):
            rows.append(each)
        else:
            others.append(each)
    return tally((outcome for row in rows for outcome in evidence.outcomes(row, now)), others)


def tally(outcomes: Iterable[evidence.Outcome], others: Collection[ClientViolation] = ()) -> SafeText:
    """Returns the number of each outcome, the most frequent first; then those of repeats and of client violations."""
    counts = Counter(outcomes)
    order = list(evidence.Outcome)
    found = sorted(counts, key=lambda outcome: (-counts[outcome], order.index(outcome)))
    parts = [safe("{:,} {}", counts[outcome], evidence.OUTCOME_WORDS[outcome]) for outcome in found]
    repeated = sum(each.is_repeat for each in others)
    broken = len(others) - repeated
    parts += [safe("{:,} repeat", repeated)] if repeated else []
    return join([*parts, *([safe("{:,} violation by the client", broken)] if broken else [])], " · ")


def _badness(entry: Cancelled, now: float) -> int:
    order = list(evidence.Outcome)
    return len(order) if isinstance(entry, ClientViolation) else order.index(evidence.outcome(entry, now))


def _late(entry: Cancelled) -> Iterable[Evidence]:
    return () if isinstance(entry, ClientViolation) else entry.late


CANCELLATION_SORTS: Final = (
    NEWEST,
    Sort("outcome", _badness),
    Sort("lag", lambda row, _: -max((each.last_after for each in _late(row)), default=-1.0)),
    BY_NAME,
)
"""The sort orders of the cancellations. By lag, the answer that took longest is first."""


@fact
class CancellationLine:
    """One line of the log. ``aftermath`` is empty until a message arrives after the cancel."""

    time: SafeText
    id: SafeText
    request: SafeText
    cause: SafeText
    reason: SafeText
    signal: SafeText
    aftermath: SafeText
    style: str


def violation(broken: ClientViolation, *, origin: float) -> CancellationLine:
    """Returns the line of a rule that the client broke."""
    return CancellationLine(
        time=durations.moment(broken.at, origin),
        id=brief("" if broken.id is None else str(broken.id), 40),
        request=brief(broken.name or broken.method),
        cause=CAUSES[broken.cause],
        reason=NOTHING,
        signal=NOTHING,
        aftermath=brief(broken.words),
        style="warning",
    )


def cancellation_line(entry: Cancelled, *, origin: float, until: float) -> CancellationLine | None:
    """Returns the line of a cancelled request or of a client violation."""
    if isinstance(entry, ClientViolation):
        return violation(entry, origin=origin)
    return cancellation(entry, origin=origin, until=until)


def cancellation(row: Request, *, origin: float, until: float) -> CancellationLine | None:
    """Returns the line of a request, or ``None`` if it was never cancelled.

    The times of the row are readings of a monotonic clock. ``origin`` is the epoch, in seconds, at which that clock
    read 0; ``until`` is the end of the observation on that clock.
    """
    asked = evidence.cancel_of(row)
    if asked is None:
        return None
    aftermath = brief(evidence.aftermath_words(row, until))
    if row.cancel_at is None:  # the reply arrived before the cancel was sent
        over = row.state in {State.COMPLETED, State.FAILED}
        aftermath = join((words("reply came first"), badge(row).word if over else NOTHING), ": ")
    return CancellationLine(
        time=durations.moment(asked.at, origin),
        id=brief(str(row.id), 40),
        request=brief(row.name or row.method),
        cause=CAUSES[asked.cause],
        reason=brief(asked.reason),
        signal=brief(evidence.delivery_words(row, until)),
        aftermath=aftermath,
        style=badge(row, until).style,
    )


def logged(entry: Logged) -> CancellationLine:
    """Returns the line of an entry of the index: a cancellation or a client violation."""
    origin = entry.session.wall - entry.session.mono
    if isinstance(entry, ClientViolation):
        return violation(entry, origin=origin)
    line = cancellation(entry.row, origin=origin, until=entry.until)
    assert line is not None  # only rows that were cancelled are in the index
    return line


class CancellationColumns(ColumnWidths[CancellationLine]):
    """Columns of the log, wide enough for every line that :meth:`measure` has measured."""

    def measure(self, entries: Iterable[Cancelled]) -> bool:
        """Measures more lines; returns whether a column became wider."""
        lines = (cancellation_line(each, origin=0.0, until=evidence.FOREVER) for each in entries)
        return self.grow(
            (_TIME, _SHORT_TIME, *_CANCELLATION_COLUMNS, _SIGNAL, _AFTERMATH, _EITHER),
            (line for line in lines if line is not None),
        )

    def line(self, shown: CancellationLine, cells: int, *, key: object = None) -> Line:
        """Returns a line in columns. A narrow line shows either the aftermath or, while there is none, the signal."""
        layout = self.fit((_TIME, *_CANCELLATION_COLUMNS, _SIGNAL, _AFTERMATH), cells)
        if layout.cut:
            last = (_SIGNAL, _AFTERMATH) if cells >= _BOTH_CELLS else (_EITHER,)
            layout = self.fit((_SHORT_TIME, *_CANCELLATION_COLUMNS, *last), cells)
        return Line(layout.pieces(shown), key)


def _column(cell: Callable[[CancellationLine], StyledPiece], **fields: Any) -> Column[CancellationLine]:
    return Column(cell=cell, gap=2, **fields)


_SHORT_TIME: Final = _column(lambda shown: (clean(shown.time[:_TIME_CELLS]), "muted"), leaves=1)
_TIME: Final = _column(lambda shown: (shown.time, "muted"), leaves=1)
_CANCELLATION_COLUMNS: Final = (
    _column(lambda shown: (shown.id, ""), most=12, usual=2, right=True),
    _column(lambda shown: (shown.request, ""), weight=2, least=10),
    _column(lambda shown: (shown.cause, "muted"), leaves=2),
    _column(lambda shown: (shown.reason, ""), weight=8, least=8),
)
_SIGNAL: Final = _column(lambda shown: (shown.signal, shown.style))
_AFTERMATH: Final = _column(lambda shown: (shown.aftermath, shown.style), weight=3, least=25)
_EITHER: Final = _column(lambda shown: (shown.aftermath or shown.signal, shown.style), weight=3, least=25)


class BrokenRules(Protocol):
    """The cancels and the client violations of a recording, by the numbers of their events, in ascending order."""

    @property
    def cancel_events(self) -> Sequence[int]: ...
    @property
    def violation_events(self) -> Sequence[int]: ...
    def violation(self, event: int, /) -> ClientViolation: ...


class Cancellations:
    """The log as a source of lines, oldest first; the key of a line is the id of its request.

    The columns fit the ``fitted`` newest lines, and later changes. ``broken`` has the violations of the client, if a
    tap recorded the session.
    """

    def __init__(
        self,
        requests: Rows,
        *,
        origin: float,
        now: Callable[[], float],
        fitted: int = FITTED_CANCELLATIONS,
        broken: BrokenRules | None = None,
    ) -> None:
        self._requests = requests
        self._broken = broken
        self._merged: tuple[tuple[int, int], list[int]] = (0, 0), []
        self.origin = origin
        self._now = now
        self._fitted = fitted
        self._seen: int = -1
        self._second = 0
        self._version = 0
        self._known = array("I")  # places of their rows, sorted
        self._width = 0
        self._columns = CancellationColumns()

    @property
    def version(self) -> int:
        self._update()
        now = self._now()
        if int(now) != self._second:
            self._second = int(now)
            newest = self._newest(min(_UPDATED_CANCELLATIONS, self._fitted))
            self._version += any(
                isinstance(each, Request) and evidence.wording_may_change(each, now) for each in newest
            )
        return self._version + self._violations

    @property
    def _violations(self) -> int:
        return 0 if self._broken is None else len(self._broken.violation_events)

    @property
    def numbers(self) -> range:
        return range(len(self._requests.cancelled) + self._violations)

    def _newest(self, most: int) -> Iterable[Cancelled]:
        return map(self.item, self.numbers[-most:])

    def _update(self) -> None:
        """Applies changes of the requests, and fits the columns to them."""
        requests = self._requests
        if requests.version == self._seen:
            return
        places, self._seen = requests.changed_since(self._seen), requests.version
        for place in requests.cancelled[len(self._known) :]:
            put(self._known, place, present=True)
        if places is None:
            entries = [*self._newest(self._fitted)]
        else:
            entries = [requests.row(place) for place in places if has(self._known, place)]
        if places is None or entries:
            self._version += 1
            self._columns.measure(entries)

    def _order(self, broken: BrokenRules) -> list[int]:
        """Returns the lines in the order of their events: ``n`` for cancel ``n``, ``~n`` for violation ``n``."""
        cancels, violations = broken.cancel_events, broken.violation_events
        counts = len(cancels), len(violations)
        if counts != self._merged[0]:
            both = [
                *zip(cancels, range(len(cancels)), strict=True),
                *((event, ~event) for event in violations),
            ]
            self._merged = counts, [number for _, number in sorted(both)]
        return self._merged[1]

    def item(self, number: int) -> Cancelled:
        """Returns the cancelled request or the client violation of a line."""
        if self._broken is not None and self._violations:
            number = self._order(self._broken)[number]
            if number < 0:
                return self._broken.violation(~number)
        return self._requests.row(self._requests.cancelled[number])

    def line(self, number: int, width: int) -> Line:
        if number not in self.numbers:
            return EMPTY
        self._update()
        if width != self._width:  # forget the widths of lines seen before
            self._width = width
            self._columns.reset()
            self._columns.measure(self._newest(self._fitted))
        entry = self.item(number)
        shown = cancellation_line(entry, origin=self.origin, until=self._now())
        return DAMAGED if shown is None else self._columns.line(shown, width, key=entry.id)
