"""The timeline: requests as bars on a shared clock, the newest on top, with the rate of messages above them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.panes import TIMELINE
from mcp_tui.tui.view.index import Key, key
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.seen import LOOKED, Seen
from mcp_tui.tui.view.spans import Spans
from mcp_tui.tui.view.text import SafeText, clean, fit, join, safe, words
from mcp_tui.tui.view.timeline import (
    SPANS,
    Window,
    axis,
    bar,
    label,
    latency_line,
    span_words,
)
from mcp_tui.tui.widgets.canvas import Canvas

_WAITS: Final = {"live": 0.1, "slow": 1.0}
"""Seconds between two frames in which only the time has passed."""


class Timeline(Canvas):
    """Requests by their time, and nothing that changes them.

    Call :meth:`refresh_spans` from the screen's timer. While :attr:`follow` is on the present is at the right edge; who
    pans away from it stops that. Until a person zooms, the window grows with the session.

    Args:
        spans: the requests by their time.
        shows: whether a request passes the table's filter.
        get: the request of an id.
        now: monotonic seconds.
    """

    DEFAULT_CSS = """
    Timeline {
        overflow: hidden;
        scrollbar-gutter: auto;
    }
    """

    ALLOW_SELECT = False

    SCOPES = (TIMELINE,)
    BINDINGS = bindings(*SCOPES)

    class Selected(Message):
        """The cursor went to another request."""

        def __init__(self, id: RequestId) -> None:
            super().__init__()
            self.id = id

    class Activated(Selected):
        """Enter or a double click on a request."""

    def __init__(
        self,
        spans: Spans,
        *,
        shows: Callable[[Request], bool],
        get: Callable[[RequestId], Request | None],
        now: Callable[[], float],
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.now = now
        self.timers = "live"
        self.title = words("Timeline")
        self._spans = spans
        self._get = get
        self._cursor: Key | None = None
        self._follow = True
        self._span: float | None = None
        self._right = 0.0
        self._below: int | None = None
        self._rows: list[tuple[int, Request]] = []
        self._more = False
        self._seen = Seen(spans, shows)
        self._window = Window(0, 1, 1.0)
        self._drawn_at = 0.0

    # -- what the screen sets and asks -------------------------------------------------------------------------

    @property
    def follow(self) -> bool:
        """Whether the present is at the right edge."""
        return self._follow

    @follow.setter
    def follow(self, follow: bool) -> None:
        if not follow:
            self._right = self.now()
        self._follow = follow
        self.draw()

    @property
    def window(self) -> Window:
        """The time in sight."""
        return self._window

    @property
    def span(self) -> float:
        """Seconds in sight."""
        if self._span is not None:
            return self._span
        first = self._spans.first()
        age = 0.0 if first is None else self.now() - first
        return (
            next((each for each in SPANS if each >= 10 and each * 0.9 >= age), 300.0) if age < 300 else 300.0
        )

    @property
    def rows(self) -> list[Request]:
        """The requests that have a line, from the top."""
        return [row for _, row in self._rows]

    def select(self, id: RequestId | None) -> None:
        """Put the cursor on the table's request; its time comes into sight, unless the present is followed."""
        wanted = None if id is None else (type(id), id)
        if wanted == self._cursor:
            return
        self._cursor = wanted
        row = self._row()
        if row is not None and not self._follow:
            begin, end = row.called_at, row.ended_at or row.called_at
            if end < self._right - self.span or begin > self._right:
                self._right = begin + self.span * 0.75
        self._bring()
        self.draw()

    def retitle(self, title: SafeText) -> None:
        """Let the border say something else."""
        self.title = title
        self._caption()

    def zoom(self, steps: int, at: float | None = None) -> None:
        """Show less time, or more for a negative number; what is at a moment stays in its place."""
        span = self.span
        nearest = min(range(len(SPANS)), key=lambda place: abs(SPANS[place] - span))
        self._span = SPANS[max(0, min(len(SPANS) - 1, nearest - steps))]
        if not self._follow:
            row = self._row()
            middle = self._right - span / 2
            if (
                at is None
                and row is not None
                and self._right - span <= (row.ended_at or row.called_at) <= self._right
            ):
                at = row.ended_at or row.called_at
            at = middle if at is None else at
            self._right = at + (self._right - at) / span * self._span
        self._below = None
        self.draw()
        self._bring()
        self.draw()

    def refresh_spans(self) -> None:
        """Draw what changed, or what the time alone has moved."""
        if not self.is_mounted or not self.size:
            return
        changed = self._spans.update()
        now = self.now()
        if not changed:
            wait = _WAITS.get(self.timers)
            if wait is None or (now - self._drawn_at < wait and now >= self._drawn_at):
                return
            moves = self._follow and self._place(now) != self._window
            if not moves and not any(row.open for _, row in self._rows):
                return
        self.draw()

    # -- what is in sight ----------------------------------------------------------------------------------------

    def _place(self, now: float) -> Window:
        return Window.ending(now if self._follow else self._right, self.span, self.inner_width - self._gutter)

    @property
    def _gutter(self) -> int:
        return max(14, min(34, self.inner_width // 4))

    @property
    def _top(self) -> int:
        """Lines above the bars."""
        return 2 if self.inner_height > 4 else 1

    @property
    def _room(self) -> int:
        """Lines for bars."""
        return max(1, self.inner_height - self._top - (1 if self.inner_height > 3 else 0))

    def draw(self) -> None:
        """Look at everything anew."""
        if not self.is_mounted or not self.size:
            return
        now = self.now()
        self._spans.update()
        self._window = self._place(now)
        self._drawn_at = now
        rows = list(islice(self._seen.during(self._window, self._below), self._room + 1))
        if not rows and self._below is not None:
            self._below = None
            rows = list(islice(self._seen.during(self._window), self._room + 1))
        self._rows, self._more = rows[: self._room], len(rows) > self._room
        self._seen.count(self._window, now)
        self._seen.measure(now)
        self._caption()
        self.virtual_size = Size(self.inner_width, self.inner_height)
        self.refresh()

    # -- lines ---------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        top, height = self._top, self.inner_height
        if y == top - 2:
            return self.strip(self._seen.rates(self._window, self._gutter))
        if y == top - 1:
            return self._clock()
        if y == height - 1 and height > 3:
            return self.strip(
                latency_line(self._seen.latencies, self.inner_width, first=self._selected_label())
            )
        at = y - top
        if at < len(self._rows):
            row = self._rows[at][1]
            selected = key(row) == self._cursor
            pieces = (*label(row, self._gutter, selected=selected), *bar(row, self._window, self.now()))
            return self.strip(pieces, cursor=selected)
        if not at and not self._rows:
            return self.say(join((clean(" " * self._gutter), self._words_for_none())))
        return self.blank()

    def _words_for_none(self) -> SafeText:
        if self._seen.left_out:
            return safe("the newest {:,} of this time do not pass the filter", LOOKED)
        if self._spans.first() is None:
            return words("no requests yet")
        return words("nothing that the table shows was under way in this time")

    def _clock(self) -> Strip:
        said = safe(" {} in sight", span_words(self.span))
        pieces = axis(self._window, origin=self._spans.origin, now=self.now())
        return self.strip(((fit(said, self._gutter), "muted"), *pieces))

    def _selected_label(self) -> SafeText:
        row = self._row()
        return words("") if row is None else request(row)

    def _caption(self) -> None:
        parts: list[SafeText] = []
        if self._follow:
            parts.append(words("follow"))
        else:
            parts.append(safe("ends {} ago", span_words(max(0.0, self.now() - self._right))))
        if self._below is not None:
            parts.append(words("newer above"))
        if self._more:
            parts.append(words("older below"))
        self.caption(self.title, join(parts, " · "))

    # -- cursor --------------------------------------------------------------------------------------------------

    def _row(self) -> Request | None:
        """The request under the cursor, in sight or not."""
        return None if self._cursor is None else self._get(self._cursor[1])

    def _in_time(self) -> list[tuple[int, Request]]:
        return list(self._seen.during(self._window))

    def _bring(self) -> None:
        """Bring the line of the cursor into sight, where its time is."""
        if any(key(row) == self._cursor for _, row in self._rows) or not self.size:
            return
        self._window = self._place(self.now())
        rows = self._in_time()
        at = next((at for at, (_, row) in enumerate(rows) if key(row) == self._cursor), None)
        if at is not None:
            self._show_from(
                rows, at if self._rows and rows[at][0] > self._rows[0][0] else at - self._room + 1
            )

    def _show_from(self, rows: list[tuple[int, Request]], at: int) -> None:
        """Let the line ``at`` of all be the topmost."""
        at = max(0, min(at, len(rows) - self._room))
        self._below = None if at == 0 else rows[at][0] + 1

    def _go(self, lines: int) -> None:
        rows = self._in_time()
        if not rows:
            return
        at = next((at for at, (_, row) in enumerate(rows) if key(row) == self._cursor), None)
        at = 0 if at is None else max(0, min(len(rows) - 1, at + lines))
        row = rows[at][1]
        self._cursor = key(row)
        shown = [place for place, _ in self._rows]
        if rows[at][0] not in shown:
            self._show_from(rows, at if lines < 0 else at - self._room + 1)
        self.post_message(self.Selected(row.id))
        self.draw()

    def action_cursor(self, lines: int) -> None:
        self._go(lines)

    def action_page(self, pages: int) -> None:
        self._go(pages * max(1, self._room - 1))

    def action_activate(self) -> None:
        if self._cursor is not None:
            self.post_message(self.Activated(self._cursor[1]))

    # -- time ----------------------------------------------------------------------------------------------------

    def action_pan(self, eighths: int) -> None:
        """To what was before, or after, by eighths of what is in sight."""
        now = self.now()
        right = (now if self._follow else self._right) + eighths * self.span / 8
        first = self._spans.first()
        if self._span is None:
            self._span = self.span
        if first is not None:
            right = max(right, first + self._span / 2)
        self._follow, self._right = right >= now, right
        self._below = None
        self.draw()

    def action_newest(self) -> None:
        """To the present, and follow it."""
        self._follow, self._below = True, None
        self.draw()

    def action_oldest(self) -> None:
        """To the first request."""
        first = self._spans.first()
        if first is None:
            return
        self._span = self.span
        self._right = first + self._span * 0.9
        self._follow = self._right >= self.now()
        self._window = self._place(self.now())
        rows = self._in_time()
        self._show_from(rows, len(rows))
        self.draw()

    # -- mouse ---------------------------------------------------------------------------------------------------

    def _wheel(self, event: events.MouseScrollUp | events.MouseScrollDown, by: int) -> None:
        event.stop()
        event.prevent_default()
        if event.ctrl:
            self.zoom(-by, self._moment_at(event.x))
        elif event.shift:
            self.action_pan(by)
        elif self._rows:
            rows = self._in_time()
            first = self._rows[0][0]
            at = next((at for at, (place, _) in enumerate(rows) if place == first), 0)
            self._show_from(rows, at + 3 * by)
            self.draw()

    def _moment_at(self, x: int) -> float:
        return self._window.begin + (x - 1 - self._gutter + 0.5) * self._window.step

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or not 0 <= at.y - self._top < len(self._rows):
            return
        row = self._rows[at.y - self._top][1]
        self._cursor = key(row)
        self.post_message(self.Selected(row.id))
        if event.chain == 2:
            self.action_activate()
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        self._below = None
        self.draw()
