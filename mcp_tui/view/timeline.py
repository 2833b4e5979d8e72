"""The timeline: its window, the bars of requests, the axis, the rate of messages, and percentiles."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, LiteralString, TypeAlias

from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.store import Frames
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import units
from mcp_tui.protocol.evidence import TIMEOUTS, late_answer, late_progress
from mcp_tui.protocol.requests import Request, Requests, State
from mcp_tui.protocol.transitions import LATE
from mcp_tui.protocol.values import frozen
from mcp_tui.view import durations
from mcp_tui.view.badges import badge
from mcp_tui.view.lines import Segments
from mcp_tui.view.outline import put
from mcp_tui.view.rows import request
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, clip, fit, join, safe, width, words

SPANS: Final = (
    *(0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 18_000.0, 43_200.0, 86_400.0),
)
"""The spans that a window may have, in seconds."""

_TICKS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0),
)
"""The distances between two labels of the axis, in seconds."""

_SPARKS: Final = "▁▂▃▄▅▆▇█"


@frozen
class TimeWindow:
    """The period that the timeline shows: ``cells`` cells of ``step`` seconds each.

    ``first`` is the number of the first cell since 0 of the monotonic clock. So a window that follows the clock moves by
    whole cells, and its bars do not flicker.
    """

    first: int
    cells: int
    step: float

    @classmethod
    def ending(cls, at: float, span: float, cells: int) -> TimeWindow:
        """Returns the window of ``span`` seconds whose last cell contains the time ``at``."""
        cells = max(1, cells)
        step = span / cells
        return cls(math.floor(at / step) - cells + 1, cells, step)

    @property
    def begin(self) -> float:
        """The time of the left edge."""
        return self.first * self.step

    @property
    def end(self) -> float:
        """The time of the right edge."""
        return (self.first + self.cells) * self.step

    def cell(self, at: float) -> int:
        """Returns the cell of the time ``at``, counted from the left edge; it may be outside the window."""
        return math.floor(min(1e15, at / self.step)) - self.first


# -- one request -----------------------------------------------------------------------------------------------


class _Track:
    """The cells of one line, each with a character and a style."""

    def __init__(self, cells: int) -> None:
        self._cells: list[tuple[str, str]] = [(" ", "")] * cells

    def put(self, cell: int, glyph: LiteralString | SafeText, tone: str) -> None:
        self.fill(cell, cell, glyph, tone)

    def fill(self, first: int, last: int, glyph: LiteralString | SafeText, tone: str) -> None:
        """Fills the cells from ``first`` to ``last``, both included."""
        for cell in range(max(0, first), min(last + 1, len(self._cells))):
            self._cells[cell] = glyph, tone

    def say(self, cell: int, text: SafeText, tone: str) -> bool:
        """Writes a text that starts in a cell; returns whether there was room for it."""
        space = text.isascii() and cell >= 0 and cell + len(text) <= len(self._cells)
        if space:
            self._cells[cell : cell + len(text)] = [(each, tone) for each in text]
        return space

    def beside(self, first: int, last: int, text: SafeText, tone: str) -> None:
        """Writes a text after a bar, or before it if there is no room after it."""
        if not self.say(last + 2, text, tone) and last < len(self._cells):
            self.say(first - 1 - len(text), text, tone)

    def segments(self) -> Segments:
        """Returns the cells as pieces; adjacent cells of one style are one piece."""
        runs = groupby(self._cells, key=lambda cell: cell[1])
        return tuple((clean("".join(glyph for glyph, _ in run)), tone) for tone, run in runs)


def bar(row: Request, window: TimeWindow, now: float) -> Segments:
    """Returns the bar of a request in a window.

    The bar is dotted while the request is queued, then solid until the outcome, or until ``now`` while the request is open.
    Progress notifications and the cancel are marked, as are late messages after the cancel, with the delay of a late answer.
    """
    track = _Track(window.cells)
    shown = badge(row, now)
    until = now if row.ended_at is None else row.ended_at
    queued = until if row.sent_at is None else min(row.sent_at, until)
    track.fill(window.cell(row.called_at), window.cell(queued), "·", "muted")
    if row.sent_at is not None and row.sent_at <= until:
        running = "in-flight" if row.cause is not None else shown.style
        track.fill(window.cell(row.sent_at), window.cell(until), "━", running)
        _draw_history(track, row, window, until, running)
    if row.cancel_at is None and not (row.state is State.LOST and row.late):
        if row.ended_at is not None:
            end = window.cell(row.ended_at)
            track.put(end, shown.glyph, shown.style)
            track.beside(window.cell(row.called_at), end, durations.elapsed(row.elapsed(now)), "muted")
        else:
            track.put(window.cell(now), shown.glyph, shown.style)
    else:
        _draw_aftermath(track, row, window, now)
    return track.segments()


def _draw_history(track: _Track, row: Request, window: TimeWindow, until: float, running: str) -> None:
    """Draws progress notifications, and the periods in which the request waited for the user."""
    paused: float | None = None
    for event in row.history:
        match event:
            case ev.Progress() if event.at <= until:
                track.put(window.cell(event.at), "┿", running)
            case ev.Paused() | ev.InputRequired() if paused is None:
                paused = event.at
            case ev.Resumed() | ev.Round() if paused is not None:
                track.fill(window.cell(paused), window.cell(event.at), "┄", "awaiting-input")
                paused = None
            case _:
                pass
    if paused is not None:
        track.fill(window.cell(paused), window.cell(until), "┄", "awaiting-input")


def _draw_aftermath(track: _Track, row: Request, window: TimeWindow, now: float) -> None:
    """Draws the cancel or the loss of the connection, and the messages after it."""
    stopped_at = row.ended_at or row.cancel_at or 0.0
    at = window.cell(stopped_at)
    answer, continued = late_answer(row), late_progress(row)
    last = max((each.last_at for each in row.late), default=stopped_at)
    if answer is None and row.state is State.CANCEL_REQUESTED:
        last = max(last, now)
    elif answer is None and row.settled_at is not None:
        last = max(last, row.settled_at)
    track.fill(at + 1, window.cell(last), "·", "muted")
    if continued is not None:
        first = continued.last_at - continued.last_after + continued.after
        for moment in (first, continued.last_at):
            track.put(window.cell(moment), "┿", "late")
    if answer is not None:
        cell = window.cell(answer.last_at)
        track.put(cell, "↯", "late")
        end = max(cell, window.cell(last))
        track.beside(window.cell(row.called_at), end, durations.lag(answer.after), "late")
    if row.cancel_at is None:
        track.put(at, "∅", "lost")
    elif row.cause in TIMEOUTS:
        track.put(at, "◷", "timed-out")
    elif row.state is State.CANCEL_REQUESTED:
        track.put(at, "◔", "cancel-requested")
    else:
        track.put(at, "⊘", "cancel-requested")


def label_cells(row: Request) -> int:
    """Returns the number of cells of the uncut :func:`label`."""
    return width(_label(row)) + 4


def _label(row: Request) -> SafeText:
    return join((brief(str(row.id), 20), brief(row.name, 80) or brief(row.method, 80)), " ")


def label(row: Request, cells: int, now: float, *, selected: bool) -> Segments:
    """Returns the text to the left of a bar: the cursor, the badge, the id, and the name."""
    shown = badge(row, now)
    return (
        (words("›" if selected else " "), "accent"),
        (safe("{} ", shown.glyph), shown.style),
        (safe("{} ", fit(_label(row), max(1, cells - 4))), "title" if selected else ""),
    )


# -- the clock -------------------------------------------------------------------------------------------------


def axis(window: TimeWindow, *, origin: float, now: float) -> Segments:
    """Returns the axis, with as many times of day as fit, and ``now`` if it is in the window."""
    fine = next((tick for tick in _TICKS if tick / window.step >= 11), _TICKS[-1])
    tick = fine if fine >= 1 else next((each for each in _TICKS if each / window.step >= 15), 1.0)
    track = _Track(window.cells)
    number = math.ceil((origin + window.begin) / tick)
    present = window.cell(now)
    while True:
        at = number * tick - origin
        cell = window.cell(at + window.step / 1000)
        if cell >= window.cells:
            break
        shown = durations.moment(at + 1e-6, origin)
        text = clean(shown) if tick < 1 else clean(shown[:8])
        if not (0 <= present < window.cells and cell + len(text) + 1 > present - 3):
            track.put(cell, "│", "muted")
            track.say(cell + 1, text, "muted")
        number += 1
    if 0 <= present < window.cells:
        track.say(max(0, present - 2), words("now"), "accent")
    return track.segments()


def sparkline(counts: Sequence[int], most: int) -> SafeText:
    """Returns counts as block characters of one to eight eighths of ``most``; 0 becomes a blank."""
    top = max(1, most)
    return clean(
        "".join(_SPARKS[(each * 8 - 1) // top if each < top else 7] if each else " " for each in counts)
    )


def rate(count: int, seconds: float) -> SafeText:
    """Returns messages per second: ``412/s``, ``0.4/s``."""
    found = count / seconds if seconds else 0.0
    return safe("{:,.0f}/s", found) if found >= 10 or found == 0 else safe("{:.1f}/s", found)


def span_words(seconds: float) -> SafeText:
    """Returns the span of a window: ``50ms``, ``30s``, ``5m``."""
    return safe("{:.0f}ms", seconds * 1000) if seconds < 1 else durations.limit(seconds)


# -- response times -------------------------------------------------------------------------------------


@frozen
class Latency:
    """The response times of requests with one method and name, in seconds."""

    label: SafeText
    answers: int
    p50: float
    p95: float


def latencies(rows: Iterable[Request]) -> list[Latency]:
    """Returns percentiles of the requests that were answered, by method and name, the most frequent first.

    Percentiles are nearest ranks, so each is a measured time. Cancelled, lost, and refused requests do not count.
    """
    times: dict[SafeText, list[float]] = {}
    for row in rows:
        if row.answered_after is not None:
            times.setdefault(request(row), []).append(row.answered_after)
    made = [
        Latency(sort, len(each), units.percentile(each, 0.50), units.percentile(each, 0.95))
        for sort, each in times.items()
    ]
    return sorted(made, key=lambda each: (-each.answers, each.label))


def latency_line(found: Sequence[Latency], cells: int, *, first: SafeText) -> Segments:
    """Returns ``p50/p95  tools/call crawl 1.2s/4.0s ×12 …`` in at most ``cells`` cells; the label ``first`` comes first."""
    if not found:
        return ((fit(words(" p50/p95  no responses yet"), cells), "muted"),)
    pieces: list[tuple[SafeText, str]] = [(words(" p50/p95"), "muted")]
    taken = width(pieces[0][0])
    for each in sorted(found, key=lambda each: each.label != first):
        text = safe("  {} {}/{}", clip(each.label, 32), precise(each.p50), precise(each.p95))
        often = safe(" ×{:,}", each.answers)
        if taken + width(text) + width(often) > cells:
            break
        taken += width(text) + width(often)
        pieces += [(text, ""), (often, "muted")]
    return tuple(pieces)


def precise(seconds: float) -> SafeText:
    """Returns a duration to the millisecond below one second: ``12ms``, ``1.2s``, ``2:05``."""
    if seconds < 1:
        return safe("{}ms", int(seconds * 1000))
    return durations.elapsed(seconds)


# -- a window of a session -------------------------------------------------------------------------------------

LOOKED: Final = 2_000
"""The most requests that one frame of the screen checks against the filter."""

MEASURED_REQUESTS: Final = 1_000
"""The number of newest requests that percentiles are computed from."""


def rates(spans: Spans, window: TimeWindow, gutter: int) -> Segments:
    """Returns the peak rate of messages as text, and the messages of each cell as a sparkline."""
    edges = range(window.first, window.first + window.cells + 1)
    before_each = [spans.messages(edge * window.step) for edge in edges]
    counts = [max(0, after - before) for before, after in pairwise(before_each)]
    most = max(counts, default=0)
    text = safe(" messages, peak {}" if gutter > 22 else " peak {}", rate(most, window.step))
    return (fit(text if most else NOTHING, gutter), "muted"), (sparkline(counts, most), "accent")


# -- requests and messages by their time ---------------------------------------------------------------------

SKIPPED_TOGETHER: Final = 64
"""The size of a block of requests. A block is skipped if all its requests ended before the window."""

_FINAL: Final = frozenset({State.COMPLETED, State.FAILED})
"""States in which a bar is final. In all others, a late response may still arrive."""


def _under_way(
    begins: Sequence[float],
    ends: Sequence[float],
    latest: Callable[[int], float],
    begin: float,
    end: float,
    late: Collection[int] = (),
) -> Iterator[int]:
    """Yields the places of requests that ran between ``begin`` and ``end``, and those in ``late``, newest first.

    ``begins`` and ``ends`` have the start and end of each request; ``latest`` returns the last end in a block.
    """
    kept = {each // SKIPPED_TOGETHER for each in late}
    place = bisect_right(begins, end) - 1
    while place >= 0:
        block = place // SKIPPED_TOGETHER
        if latest(block) < begin and block not in kept:
            place = block * SKIPPED_TOGETHER - 1
            continue
        if ends[place] >= begin or place in late:
            yield place
        place -= 1


class RequestSpans:
    """The requests of a session, found by time. A request lasts from its call to its outcome or last late response.

    Times are monotonic seconds. ``origin`` is the epoch, in seconds, at which the monotonic clock read 0.
    """

    def __init__(self, requests: Requests, frames: Frames, *, origin: float) -> None:
        self.origin = origin
        self._requests = requests
        self._frames = frames
        self._begins = array("d")
        self._ends = array("d")
        self._latest: list[float] = []  # the last end in each block of requests
        self._watched = array("I")  # places of requests that may still change, sorted
        self._seen = -1

    def update(self) -> bool:
        """Applies changes of the requests; returns whether there were any."""
        if self._requests.version == self._seen:
            return False
        changed, self._seen = self._requests.changed_since(self._seen), self._requests.version
        order = self._requests.order
        for place in [*(self._watched if changed is None else changed)]:
            if place < len(self._begins):
                self._take(place, order[place])
        for place in range(len(self._begins), len(order)):
            row = order[place]
            self._begins.append(row.called_at)
            self._ends.append(math.inf)
            if place % SKIPPED_TOGETHER == 0:
                self._latest.append(-math.inf)
            self._take(place, row)
        return True

    def _take(self, place: int, row: Request) -> None:
        self._ends[place] = ended(row)
        put(self._watched, place, present=row.state not in _FINAL)
        begin = place - place % SKIPPED_TOGETHER
        self._latest[place // SKIPPED_TOGETHER] = max(self._ends[begin : begin + SKIPPED_TOGETHER])

    def first(self) -> float | None:
        """Returns the time of the first call; ``None`` without a request."""
        return self._begins[0] if self._begins else None

    def during(self, begin: float, end: float) -> Iterator[Request]:
        """Returns the requests that ran between ``begin`` and ``end``, newest first."""
        places = _under_way(self._begins, self._ends, self._latest.__getitem__, begin, end)
        return map(self._requests.row, places)

    def messages(self, until: float) -> int:
        """Returns the number of messages in both directions before ``until``."""
        return self._frames.hidden + self._frames.until(until)


class RecordedSpans:
    """The requests of a recording up to a moment, found by time.

    The search uses only the numbers of events, so that only the requests in the result are built from their events.
    """

    def __init__(self, requests: RecordedRequests, *, origin: float) -> None:
        self.origin = origin
        self._requests = requests
        self._blocks: list[int] = []
        self._seen = -1

    def update(self) -> bool:
        version, self._seen = self._seen, self._requests.version
        return version != self._seen

    def first(self) -> float | None:
        table = self._requests.recording.table
        if not table.first or table.first[0] >= self._requests.position:
            return None
        return self._requests.recording.at(table.first[0] + 1)

    def during(self, begin: float, end: float) -> Iterator[Request]:
        requests, recording = self._requests, self._requests.recording
        since, until = recording.position_at(begin), min(requests.position, recording.position_at(end))
        table = recording.table
        late = self._late(since, until)
        return map(
            requests.row,
            _under_way(table.first, table.requests.over, self._last_over, since, until - 1, late),
        )

    def _late(self, since: int, until: int) -> set[int]:
        """Returns the places of the requests that were answered late between two positions."""
        table, found = self._requests.recording.table, set[int]()
        at = table.effects.find(LATE, since, until)
        while at >= 0:
            found.add(table.rows[at])
            at = table.effects.find(LATE, at + 1, until)
        return found

    def _last_over(self, block: int) -> int:
        """Returns the number of the last event that ended a request of a block; cached for complete blocks."""
        over = self._requests.recording.table.requests.over
        while len(self._blocks) <= block and (len(self._blocks) + 1) * SKIPPED_TOGETHER <= len(over):
            begin = len(self._blocks) * SKIPPED_TOGETHER
            self._blocks.append(max(over[begin : begin + SKIPPED_TOGETHER]))
        return self._blocks[block] if block < len(self._blocks) else max(over[block * SKIPPED_TOGETHER :])

    def messages(self, until: float) -> int:
        recording = self._requests.recording
        return recording.frames_until(min(recording.position_at(until), self._requests.position))


def ended(row: Request) -> float:
    """Returns the right end of the bar of a request; infinity while the request is running."""
    if row.ended_at is None or row.state is State.CANCEL_REQUESTED:
        return math.inf
    return max((row.ended_at, *(each.last_at for each in row.late)))


Spans: TypeAlias = RequestSpans | RecordedSpans
