"""The timeline: requests as bars on a shared clock, the newest on top, with the rate of messages above them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Final

from textual import events
from textual.strip import Strip

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.widgets.canvas import ListCanvas, ShownNumbers
from mcp_tui.view import timeline as view
from mcp_tui.view.keys import TIMELINE
from mcp_tui.view.outline import Outline, row_key
from mcp_tui.view.rows import request
from mcp_tui.view.text import NOTHING, SafeText, clean, fit, join, safe, words

_WAITS: Final = {"live": 0.1, "slow": 1.0}
"""Seconds between two frames in which only the time has changed."""


class Timeline(ListCanvas):
    """Requests by their time; call :meth:`refresh_spans` from the screen's timer.

    While :attr:`follow` is on, the present is at the right edge; panning away turns it off. Until a person zooms, the
    window grows with the session.

    Args:
        spans: the requests by their time.
        outline: the lines of the table, whose filter also applies here.
        now: returns monotonic seconds.

    Attributes:
        window: the time on the screen.
    """

    ALLOW_SELECT = False

    BINDINGS = bindings(TIMELINE)

    def __init__(
        self, spans: view.Spans, outline: Outline, *, now: Callable[[], float], id: str | None = None
    ) -> None:
        super().__init__(ShownNumbers((), newest_first=False, ordered=True), id=id)
        self._found: list[Request] = []
        self.now = now
        self.timers = "live"
        self.title = words("Timeline")
        self._spans = spans
        self._present = True
        self._span: float | None = None
        self._right = 0.0
        self._outline = outline
        self._left_out = False  # whether there are more requests than one frame can search
        self._latencies: list[view.Latency] = []
        self._measured_at = -math.inf
        self.window = view.TimeWindow(0, 1, 1.0)
        self._drawn_at = 0.0
        self._longest = 0  # the cells of labels; they only grow, so that bars do not jump

    # -- for the screen ----------------------------------------------------------------------------------------

    @property
    def follow(self) -> bool:
        """Whether the present is at the right edge."""
        return self._present

    @follow.setter
    def follow(self, follow: bool) -> None:
        if not follow:
            self._right = self.now()
        self._present = follow
        self.draw()

    @property
    def span(self) -> float:
        """The seconds on the screen."""
        if self._span is not None:
            return self._span
        first = self._spans.first()
        age = 0.0 if first is None else self.now() - first
        return next(each for each in view.SPANS if each == 300 or (each >= 10 and each * 0.9 >= age))

    @property
    def rows(self) -> list[Request]:
        """The requests on the screen, from the top."""
        return [self._found[line] for line in self.in_view()]

    def select(self, id: RequestId | None) -> None:
        """Puts the cursor on a request, and scrolls to its time unless the timeline follows the present."""
        wanted = None if id is None else (type(id), id)
        if wanted == self._cursor:
            return
        self._cursor = wanted
        row = self._row()
        if row is not None and not self._present:
            begin, end = row.called_at, row.ended_at or row.called_at
            if end < self._right - self.span or begin > self._right:
                self._right = begin + self.span * 0.75
        self._bring()

    def zoom(self, steps: int, at: float | None = None) -> None:
        """Shows less time, or more for a negative number; the time ``at`` stays in its place."""
        span = self.span
        nearest = min(range(len(view.SPANS)), key=lambda place: abs(view.SPANS[place] - span))
        self._span = view.SPANS[max(0, min(len(view.SPANS) - 1, nearest - steps))]
        if not self._present:
            if at is None:
                row = self._row()
                end = math.inf if row is None else row.ended_at or row.called_at
                at = end if self._right - span <= end <= self._right else self._right - span / 2
            self._right = at + (self._right - at) / span * self._span
        self._follow = True
        self._bring()

    def refresh_spans(self) -> None:
        """Draws the changes, and the bars that moved with the time."""
        if not self.is_mounted or not self.size:
            return
        changed = self._spans.update()
        now = self.now()
        if not changed:
            if 0 <= now - self._drawn_at < _WAITS.get(self.timers, math.inf):
                return
            moves = self._present and self._place(now) != self.window
            if not moves and not any(row.open for row in self.rows):
                return
        self.draw()

    # -- the window ----------------------------------------------------------------------------------------------

    def _place(self, now: float) -> view.TimeWindow:
        right = now if self._present else self._right
        return view.TimeWindow.ending(right, self.span, self.inner.width - self._gutter)

    @property
    def _gutter(self) -> int:
        """The cells left of the bars: as many as the names need, up to a third of the width."""
        cells = self.inner.width
        return max(14, min(34, cells // 4), min(self._longest, cells // 3))

    def draw(self, *, all_: bool = False) -> None:
        """Finds the requests of the window and draws them: with ``all_`` all, otherwise those of the next pages."""
        if not self.is_mounted or not self.size:
            return
        now = self.now()
        self._spans.update()
        self.window = self._place(now)
        self._drawn_at = now
        anchor = self.anchored()
        self.header = 2 if self.inner.height > 4 else 1
        self.footer = 1 if self.inner.height > 3 else 0
        most = None if all_ else self.scroll_offset.y + 3 * self.visible_lines
        found = self._spans.during(self.window.begin, self.window.end)
        passing = filter(self._outline.shows, islice(found, view.LOOKED))
        self._found = [*islice(passing, most)]
        self.lines = ShownNumbers([*map(row_key, self._found)], newest_first=False, ordered=True)
        self._left_out = next(found, None) is not None
        longest = max(map(view.label_cells, self._found), default=0)
        if longest > self._longest:
            self._longest = longest
            self.window = self._place(now)
        if not 0 <= now - self._measured_at < 1:
            self._measured_at = now
            newest = islice(self._spans.during(-math.inf, math.inf), view.MEASURED_REQUESTS)
            self._latencies = view.latencies(filter(self._outline.shows, newest))
        self.settle(anchor)

    def _bring(self) -> None:
        """Draws everything, and scrolls to the cursor if its time is on the screen."""
        self.draw()
        if self._cursor is not None and self.cursor_line is None:
            self.draw(all_=True)
        line = self.cursor_line
        if line is not None:
            self.put_cursor(line)
        self.draw()

    def on_resize(self, event: events.Resize) -> None:
        self._follow = True
        self.draw()

    # -- lines ---------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        if y == self.header - 2:
            return self.strip(view.rates(self._spans, self.window, self._gutter))
        if y == self.header - 1:
            text = safe(" last {}" if self._present else " span {}", view.span_words(self.span))
            pieces = view.axis(self.window, origin=self._spans.origin, now=self.now())
            return self.strip(((fit(text, self._gutter), "muted"), *pieces))
        if self.footer and y == self.inner.height - 1:
            first = self._row()
            text = NOTHING if first is None else request(first)
            return self.strip(view.latency_line(self._latencies, self.inner.width, first=text))
        line = self.line_at(y)
        if line is not None:
            row = self._found[line]
            selected = row_key(row) == self._cursor
            now = self.now()
            pieces = (
                *view.label(row, self._gutter, now, selected=selected),
                *view.bar(row, self.window, now),
            )
            return self.strip(pieces, cursor=selected)
        if y == self.header and not self._found:
            return self.say(join((clean(" " * self._gutter), self._words_for_none())))
        return self.blank()

    def _words_for_none(self) -> SafeText:
        if self._left_out:
            return safe("No match among the newest {:,} of this time range", view.LOOKED)
        if self._spans.first() is None:
            return words("No requests yet")
        return words("No visible requests in this time range")

    def placed(self) -> None:
        ago = view.span_words(max(0.0, self.now() - self._right))
        parts = [words("following") if self._present else safe("ends {} ago", ago)]
        if self.scroll_offset.y:
            parts.append(words("newer above"))
        if self.in_view().stop < len(self.lines):
            parts.append(words("older below"))
        self.caption(self.title, join(parts, " · "))

    # -- cursor --------------------------------------------------------------------------------------------------

    def _row(self) -> Request | None:
        """Returns the request under the cursor, on the screen or elsewhere."""
        return None if self._cursor is None else self._outline.requests.get(self._cursor[1])

    def about(self, line: int) -> RequestId:
        return self._found[line].id

    def move(self, lines: int) -> None:
        super().move(lines)
        self.draw()

    def action_activate(self) -> None:
        if self._cursor is not None:
            self.post_message(self.Activated(self, self._cursor[1]))

    # -- time ----------------------------------------------------------------------------------------------------

    def action_pan(self, eighths: int) -> None:
        """Moves the window by eighths of its span."""
        now = self.now()
        right = (now if self._present else self._right) + eighths * self.span / 8
        first = self._spans.first()
        if self._span is None:
            self._span = self.span
        if first is not None:
            right = max(right, first + self._span / 2)
        self._present, self._right = right >= now, right
        self._follow = True
        self.draw()

    def action_newest(self) -> None:
        """Goes to the present and follows it."""
        self._present = self._follow = True
        self.draw()

    def action_oldest(self) -> None:
        """Goes to the first request."""
        first = self._spans.first()
        if first is None:
            return
        self._span = self.span
        self._right = first + self._span * 0.9
        self._present = self._right >= self.now()
        self.draw(all_=True)
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    # -- mouse ---------------------------------------------------------------------------------------------------

    def _wheel(self, event: events.MouseScrollUp | events.MouseScrollDown, by: int) -> None:
        event.stop()
        event.prevent_default()
        if event.ctrl:
            begin = self.window.begin
            self.zoom(-by, begin + (event.x - 1 - self._gutter + 0.5) * self.window.step)
        elif event.shift:
            self.action_pan(by)
        else:
            self.scroll_to(y=self.scroll_offset.y + 3 * by, animate=False, force=True)
            self.draw()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1)
