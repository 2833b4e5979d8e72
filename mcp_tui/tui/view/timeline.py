"""Requests as bars on a shared clock: which of them, the window of time, a bar, the axis, the sparkline, and percentiles."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, LiteralString, TypeAlias

from mcp_tui.journal.event_table import LATE
from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.journal.store import Frames
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.evidence import late_answer, late_progress
from mcp_tui.protocol.requests import Book, Request, State
from mcp_tui.protocol.values import frozen
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.badges import TIMEOUTS, badge
from mcp_tui.tui.view.index import put
from mcp_tui.tui.view.lines import Segments
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import NOTHING, SafeText, brief, clean, clip, fit, join, safe, width, words

SPANS: Final = (
    *(0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 18_000.0, 43_200.0, 86_400.0),
)
"""Seconds that a window may show."""

_TICKS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0),
)
"""Seconds between two labels of the axis."""

_SPARKS: Final = "▁▂▃▄▅▆▇█"
_EMPTY: Final = " "


@frozen
class Window:
    """The time in sight: ``cells`` cells of ``step`` seconds each. Cells are numbered from the monotonic clock's 0 on,
    so that a window which follows the clock moves by whole cells, and what is drawn in it does not flicker.
    """

    first: int
    cells: int
    step: float

    @classmethod
    def ending(cls, at: float, span: float, cells: int) -> Window:
        """The window of a span in seconds whose last cell has a moment in it."""
        cells = max(1, cells)
        step = span / cells
        return cls(math.floor(at / step) - cells + 1, cells, step)

    @property
    def begin(self) -> float:
        """The moment of its left edge."""
        return self.first * self.step

    @property
    def end(self) -> float:
        """The moment of its right edge."""
        return (self.first + self.cells) * self.step

    def cell(self, at: float) -> int:
        """The cell of a moment, counted from the left edge; it may be outside."""
        return math.floor(min(1e15, at / self.step)) - self.first


# -- one request -----------------------------------------------------------------------------------------------


class _Track:
    """Cells of one line, each with a character and a style."""

    def __init__(self, cells: int) -> None:
        self._glyphs = [_EMPTY] * cells
        self._tones = [""] * cells

    def put(self, cell: int, glyph: LiteralString | SafeText, tone: str) -> None:
        if 0 <= cell < len(self._glyphs):
            self._glyphs[cell], self._tones[cell] = glyph, tone

    def fill(self, first: int, last: int, glyph: LiteralString, tone: str) -> None:
        """From a cell up to and with another."""
        first, last = max(0, first), min(len(self._glyphs) - 1, last)
        if first <= last:
            self._glyphs[first : last + 1] = [glyph] * (last + 1 - first)
            self._tones[first : last + 1] = [tone] * (last + 1 - first)

    def say(self, cell: int, text: SafeText, tone: str) -> bool:
        """Words from a cell on, where there is room for them; returns whether there is."""
        room = text.isascii() and cell >= 0 and cell + len(text) <= len(self._glyphs)
        if room:
            self._glyphs[cell : cell + len(text)] = text
            self._tones[cell : cell + len(text)] = [tone] * len(text)
        return room

    def beside(self, first: int, last: int, text: SafeText, tone: str) -> None:
        """Words behind a bar that goes from a cell to another; before it, where there is no room behind it."""
        if not self.say(last + 2, text, tone) and last < len(self._glyphs):
            self.say(first - 1 - len(text), text, tone)

    def segments(self) -> Segments:
        """The cells, those of one style that stand together in one piece."""
        made: list[tuple[SafeText, str]] = []
        at = 0
        for tone, run in groupby(self._tones):
            count = sum(1 for _ in run)
            made.append((clean("".join(self._glyphs[at : at + count])), tone))
            at += count
        return tuple(made)


def bar(row: Request, window: Window, now: float) -> Segments:
    """A request in a window, in as many cells as that has.

    Dotted while it is queued, then solid to its outcome, or to ``now`` while it is open; a tick at each progress that its
    history still has; its cancel at that instant, and behind it what came late, with the lag.
    """
    track = _Track(window.cells)
    shown = badge(row)
    until = now if row.ended_at is None else row.ended_at
    queued = until if row.sent_at is None else min(row.sent_at, until)
    track.fill(window.cell(row.called_at), window.cell(queued), "·", "muted")
    if row.sent_at is not None and row.sent_at <= until:
        running = "in-flight" if row.cause is not None else shown.style
        track.fill(window.cell(row.sent_at), window.cell(until), "━", running)
        _history(track, row, window, until, running)
    if row.cancel_at is None and not (row.state is State.LOST and row.late):
        if row.ended_at is not None:
            end = window.cell(row.ended_at)
            track.put(end, shown.glyph, shown.style)
            track.beside(window.cell(row.called_at), end, durations.elapsed(row.elapsed(now)), "muted")
        else:
            track.put(window.cell(now), shown.glyph, shown.style)
    else:
        _given_up(track, row, window, now)
    return track.segments()


def _history(track: _Track, row: Request, window: Window, until: float, running: str) -> None:
    """Progress, and the time in which a person was asked."""
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


def _given_up(track: _Track, row: Request, window: Window, now: float) -> None:
    """The cancel, or the loss, and what came after it."""
    given_up = row.ended_at or row.cancel_at or 0.0
    at = window.cell(given_up)
    answer, going_on = late_answer(row), late_progress(row)
    last = max((given_up + each.last_after for each in row.late), default=given_up)
    if answer is None and row.state is State.CANCEL_REQUESTED:
        last = max(last, now)
    elif answer is None and row.settled_at is not None:
        last = max(last, row.settled_at)
    track.fill(at + 1, window.cell(last), "·", "muted")
    if going_on is not None:
        for after in (going_on.after, going_on.last_after):
            track.put(window.cell(given_up + after), "┿", "late")
    if answer is not None:
        came = window.cell(given_up + answer.after)
        track.put(came, "↯", "late")
        end = max(came, window.cell(last))
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
    """The cells that :func:`label` takes, with nothing cut."""
    return width(_label(row)) + 4


def _label(row: Request) -> SafeText:
    return join((brief(str(row.id), 20), brief(row.name, 80) or brief(row.method, 80)), " ")


def label(row: Request, cells: int, *, selected: bool) -> Segments:
    """What stands left of a bar: the mark of the cursor, the badge, the id and what was asked for."""
    shown = badge(row)
    return (
        (words("›" if selected else " "), "accent"),
        (safe("{} ", shown.glyph), shown.style),
        (safe("{} ", fit(_label(row), max(1, cells - 4))), "title" if selected else ""),
    )


# -- the clock -------------------------------------------------------------------------------------------------


def axis(window: Window, *, origin: float, now: float) -> Segments:
    """Times of day below which things happened, as many as there is room for, and ``now`` where it is in sight."""
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
    """Counts as blocks of an eighth to eight eighths of ``most``; nothing for none."""
    top = max(1, most)
    return clean(
        "".join(_SPARKS[(each * 8 - 1) // top if each < top else 7] if each else " " for each in counts)
    )


def rate(count: int, seconds: float) -> SafeText:
    """Messages a second: ``412/s``, ``0.4/s``."""
    found = count / seconds if seconds else 0.0
    return safe("{:,.0f}/s", found) if found >= 10 or found == 0 else safe("{:.1f}/s", found)


def span_words(seconds: float) -> SafeText:
    """How much time a window shows: ``50ms``, ``30s``, ``5m``."""
    return safe("{:.0f}ms", seconds * 1000) if seconds < 1 else durations.limit(seconds)


# -- how long answers take -------------------------------------------------------------------------------------


@frozen
class Latency:
    """How long the answers to one sort of request took, in seconds."""

    label: SafeText
    answers: int
    p50: float
    p95: float


def latencies(rows: Iterable[Request]) -> list[Latency]:
    """Percentiles of the requests that were answered, by method and name, the most frequent first.

    They are nearest ranks, so each is a time that was seen. What was cancelled, lost or refused by ourselves was not
    answered.
    """
    found: dict[tuple[str, str], list[float]] = {}
    labels: dict[tuple[str, str], Request] = {}
    for row in rows:
        if row.state is State.COMPLETED or (row.state is State.FAILED and row.origin is ev.Origin.SERVER):
            sort = row.method, row.name
            labels.setdefault(sort, row)
            found.setdefault(sort, []).append(row.elapsed(0.0))
    made: list[Latency] = []
    for sort, times in found.items():
        times.sort()
        made.append(Latency(request(labels[sort]), len(times), _rank(times, 0.50), _rank(times, 0.95)))
    return sorted(made, key=lambda each: (-each.answers, each.label))


def _rank(times: Sequence[float], share: float) -> float:
    return times[max(0, math.ceil(share * len(times)) - 1)]


def latency_line(found: Sequence[Latency], cells: int, *, first: SafeText) -> Segments:
    """``p50/p95  tools/call crawl 1.2s/4.0s ×12 · …`` in so many cells; the sort that is asked for stands first."""
    if not found:
        return ((fit(words(" p50/p95  no responses yet"), cells), "muted"),)
    pieces: list[tuple[SafeText, str]] = [(words(" p50/p95"), "muted")]
    taken = width(pieces[0][0])
    for each in sorted(found, key=lambda each: each.label != first):
        said = safe("  {} {}/{}", clip(each.label, 32), precise(each.p50), precise(each.p95))
        often = safe(" ×{:,}", each.answers)
        if taken + width(said) + width(often) > cells:
            break
        taken += width(said) + width(often)
        pieces += [(said, ""), (often, "muted")]
    return tuple(pieces)


def precise(seconds: float) -> SafeText:
    """A duration of which thousandths matter: ``12ms``, ``1.2s``, ``2:05``."""
    if seconds < 1:
        return safe("{}ms", int(seconds * 1000))
    return durations.elapsed(seconds)


# -- a window of a session -------------------------------------------------------------------------------------

LOOKED: Final = 2_000
"""Requests that one key, and one frame where most are filtered out, looks through at most."""

MEASURED: Final = 1_000
"""The newest requests that percentiles are made of."""


def rates(spans: Spans, window: Window, gutter: int) -> Segments:
    """The messages of each cell as a sparkline, with the most of them in words before it."""
    edges = range(window.first, window.first + window.cells + 1)
    before_each = [spans.messages(edge * window.step) for edge in edges]
    counts = [max(0, after - before) for before, after in pairwise(before_each)]
    most = max(counts, default=0)
    said = safe(" messages, peak {}" if gutter > 22 else " peak {}", rate(most, window.step))
    return (fit(said if most else NOTHING, gutter), "muted"), (sparkline(counts, most), "accent")


# -- requests and messages by their time ---------------------------------------------------------------------

BLOCK: Final = 64
"""Requests that are left out together, where all of them had ended before."""

_FINAL: Final = frozenset({State.COMPLETED, State.FAILED})
"""States after which nothing makes a request longer: an answer that comes to any other is late."""


def _under_way(
    begins: Sequence[float],
    ends: Sequence[float],
    latest: Callable[[int], float],
    begin: float,
    end: float,
    late: Collection[int] = (),
) -> Iterator[int]:
    """The places of requests between two moments, and of the ``late`` ones; ``latest`` is the last end in a block."""
    kept = {each // BLOCK for each in late}
    place = bisect_right(begins, end) - 1
    while place >= 0:
        block = place // BLOCK
        if latest(block) < begin and block not in kept:
            place = block * BLOCK - 1
            continue
        if ends[place] >= begin or place in late:
            yield place
        place -= 1


class BookSpans:
    """Requests of a book that grows, by when they were under way: from a call to its outcome, or to what came late.

    Times are monotonic seconds. ``origin`` is the epoch, in seconds, at which that clock read 0.
    """

    def __init__(self, book: Book, frames: Frames, *, origin: float) -> None:
        self.origin = origin
        self._book = book
        self._frames = frames
        self._begins = array("d")
        self._ends = array("d")
        self._latest: list[float] = []  # of each block of requests, the end that is last
        self._watched = array("I")  # places that may yet change, sorted
        self._seen = -1

    def update(self) -> bool:
        """Take in what happened; returns whether anything did."""
        if self._book.version == self._seen:
            return False
        changed = self._book.changed_since(self._seen)
        self._seen = self._book.version
        order = self._book.order
        for place in [*(self._watched if changed is None else changed)]:
            if place < len(self._begins):
                self._take(place, order[place])
        for place in range(len(self._begins), len(order)):
            row = order[place]
            self._begins.append(row.called_at)
            self._ends.append(math.inf)
            if place % BLOCK == 0:
                self._latest.append(-math.inf)
            self._take(place, row)
        return True

    def _take(self, place: int, row: Request) -> None:
        self._ends[place] = ended(row)
        put(self._watched, place, present=row.state not in _FINAL)
        begin = place - place % BLOCK
        self._latest[place // BLOCK] = max(self._ends[begin : begin + BLOCK])

    def first(self) -> float | None:
        """When the first request was called."""
        return self._begins[0] if self._begins else None

    def during(self, begin: float, end: float) -> Iterator[Request]:
        """The requests under way between two moments, newest first."""
        places = _under_way(self._begins, self._ends, self._latest.__getitem__, begin, end)
        return map(self._book.row, places)

    def messages(self, until: float) -> int:
        """How many messages went either way before a moment."""
        return self._frames.hidden + self._frames.until(until)


class RecordedSpans:
    """The same of a recording at a moment: found by the numbers of events, so that no request is folded but those given."""

    def __init__(self, book: RecordedBook, *, origin: float) -> None:
        self.origin = origin
        self._book = book
        self._blocks: list[int] = []
        self._seen = -1

    def update(self) -> bool:
        version, self._seen = self._seen, self._book.version
        return version != self._seen

    def first(self) -> float | None:
        table = self._book.recording.table
        if not table.first or table.first[0] >= self._book.position:
            return None
        return self._book.recording.at(table.first[0] + 1)

    def during(self, begin: float, end: float) -> Iterator[Request]:
        book, recording = self._book, self._book.recording
        since, until = recording.position_at(begin), min(book.position, recording.position_at(end))
        table = recording.table
        late = self._late(since, until)
        return map(book.row, _under_way(table.first, table.over, self._last_over, since, until - 1, late))

    def _late(self, since: int, until: int) -> set[int]:
        """The requests that were answered late between two positions."""
        table, found = self._book.recording.table, set[int]()
        at = table.moves.find(LATE, since, until)
        while at >= 0:
            found.add(table.rows[at])
            at = table.moves.find(LATE, at + 1, until)
        return found

    def _last_over(self, block: int) -> int:
        """The event that ended the last one of a block; of whole blocks it is kept, since it only ever comes down."""
        over = self._book.recording.table.over
        while len(self._blocks) <= block and (len(self._blocks) + 1) * BLOCK <= len(over):
            begin = len(self._blocks) * BLOCK
            self._blocks.append(max(over[begin : begin + BLOCK]))
        return self._blocks[block] if block < len(self._blocks) else max(over[block * BLOCK :])

    def messages(self, until: float) -> int:
        recording = self._book.recording
        return recording.frames_until(min(recording.position_at(until), self._book.position))


def ended(row: Request) -> float:
    """When the last thing that can be drawn of a request happened; infinity while it is under way."""
    if row.ended_at is None or row.state is State.CANCEL_REQUESTED:
        return math.inf
    return max(row.ended_at, *(row.ended_at + each.last_after for each in row.late), row.ended_at)


Spans: TypeAlias = BookSpans | RecordedSpans
