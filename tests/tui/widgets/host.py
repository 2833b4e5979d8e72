"""An app around the widget under test, with a clock that the test moves."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import deque

from textual.app import App, ComposeResult
from textual.widget import Widget

from mcp_tui.protocol.requests import Book
from mcp_tui.tui.host import STYLESHEET
from mcp_tui.tui.view.index import Outline
from mcp_tui.tui.view.lines import EMPTY, Line
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.tui.widgets.request_table import RequestTable


class Host(App[None]):
    """Shows one widget and keeps the messages of ours that reach it."""

    CSS_PATH = STYLESHEET
    CSS = "RequestTable, LineList, Detail { height: 1fr; }"

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget


class Clock:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def inside(widget: Canvas) -> list[str]:
    """The lines within the border."""
    return [widget.render_line(y).text for y in range(widget.inner.height)]


class Ring:
    """The last ``size`` lines."""

    def __init__(self, size: int = 10_000) -> None:
        self.size = size
        self.version = 0
        self._dropped = 0
        self._lines: deque[Line] = deque(maxlen=size)

    @property
    def numbers(self) -> range:
        return range(self._dropped, self._dropped + len(self._lines))

    def append(self, line: Line) -> None:
        """Add a line, dropping the oldest where the ring is full."""
        if len(self._lines) == self.size:
            self._dropped += 1
        self._lines.append(line)

    def item(self, number: int) -> Line:
        """The line itself."""
        return self._lines[number - self._dropped]

    def line(self, number: int, width: int = 0) -> Line:
        return self.item(number) if number in self.numbers else EMPTY


def show_book(table: RequestTable, book: Book) -> None:
    """Let a table show the requests of another book."""
    before = table.outline
    table.book = book
    table.lines = table.outline = Outline(book)
    table._cursor = None
    table._painter.reset()
    table.forget()
    table.outline.refilter(before.filter, show_internal=before.show_internal)
    table.outline.resort(before.sort, table.now())
    table.settle(None)
