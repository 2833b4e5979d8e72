"""What the lists show: a filter for each, the orders of requests and cancellations, and the messages of one request."""

from __future__ import annotations

from typing import Final

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Label

from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.keys import key_of
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.details import Messages
from mcp_tui.tui.view import table_columns
from mcp_tui.tui.view.cancellations import SORTS, counted
from mcp_tui.tui.view.columns import NEWEST, after
from mcp_tui.tui.view.lines import FilteredLines
from mcp_tui.tui.view.pane_filters import (
    CANCELLATIONS_HINT,
    CATALOGUE_HINT,
    LOG_HINT,
    WIRE_HINT,
    cancellations_filter,
    catalogue_filter,
    log_filter,
    wire_filter,
)
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import SafeText, brief, clean, join, safe, words
from mcp_tui.tui.widgets.editor import LineInput
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import RequestTable

COUNTED: Final = 2000
"""Cancellations whose outcomes are counted."""

_LISTS: Final = {
    "requests": (words("Filter requests"), "state:late  name:slow  id:7  -name:poll  /text/  words"),
    "catalogue": (words("Filter catalogue"), CATALOGUE_HINT),
    "log": (words("Filter log"), LOG_HINT),
    "wire": (words("Filter wire"), WIRE_HINT),
    "cancellations": (words("Filter cancellations"), CANCELLATIONS_HINT),
}
"""What the line of the filter says of each list, and an example."""

_NOTHING: Final = words("")


class FilterLine(Horizontal):
    """The line in which a filter is typed: of which list it is, and how many pass it."""

    def __init__(self) -> None:
        super().__init__()
        self.input = LineInput(id="filter", compact=True)
        self._what = Label("", markup=False)
        self._passing = Label("", markup=False)
        self.display = False

    def compose(self) -> ComposeResult:
        yield self._what
        yield self.input
        yield self._passing

    def name_list(self, what: SafeText, hint: str) -> None:
        """Name the list that is filtered, and show an example of a filter."""
        self._what.update(what)
        self.input.placeholder = hint

    def tell(self, passing: SafeText) -> None:
        """Show how many pass."""
        self._passing.update(passing)


class Filtering:
    """The line in which a filter is typed is one, and of the focused list."""

    def __init__(self, screen: LayoutScreen, scene: Scene, table: RequestTable, messages: Messages) -> None:
        self._screen = screen
        self._scene = scene
        self._table = table
        self._messages = messages
        self._lists = {name: pane for name, pane in screen.panes.items() if isinstance(pane, LineList)}
        self.line = FilterLine()
        self.input = self.line.input
        self._typed_for = "requests"
        self._texts: dict[str, str] = {}
        self._problems: dict[str, SafeText] = {}
        self._cancel_sort = NEWEST
        self._only: Request | None = None
        self._counted: tuple[object, SafeText] = None, _NOTHING
        self.cancellations: FilteredLines[Request] = FilteredLines(scene.cancellations)
        self.log: FilteredLines[ev.Event] = FilteredLines(scene.log)
        self.wire: FilteredLines[FrameHead | None] = FilteredLines(scene.wire, around=messages.marked)
        self._narrowed = {"cancellations": self.cancellations, "log": self.log, "wire": self.wire}
        for name, narrowed in self._narrowed.items():
            self._lists[name].source = narrowed

    def refresh(self, *, all_: bool = True) -> None:
        """Draw what came in the lists that are in sight; where not ``all_``, only those that a filter still looks at."""
        for name, narrowed in self._narrowed.items():
            pane = self._lists[name]
            if pane.display and (all_ or narrowed.waiting):
                narrowed.update()
                pane.refresh_source()
                pane.tell(*self._about(name))
        self._count()

    def _count(self) -> None:
        """Say in the line of the filter how many pass it; once it is typed, it goes with its list."""
        pane = self._lists.get(self._typed_for)
        if not self.input.has_focus:
            self.line.display = bool(self.input.value) and (pane is None or pane.display)
        if not self.line.display:
            return
        if pane is None:
            said = self._table.counted if self._table.filter else _NOTHING
        else:
            said = pane.counted if pane.wanted else _NOTHING
        self.line.tell(words("not understood") if self._problems.get(self._typed_for) else said)

    def _about(self, name: str) -> list[SafeText]:
        """What stands in the lower border of a list."""
        parts: list[SafeText] = []
        if name == "cancellations":
            parts.append(self._outcomes())
            if self._cancel_sort is not NEWEST:
                parts.append(safe("sort {}", self._cancel_sort.value))
        if name == "wire" and self._only is not None:
            parts.append(safe("request {} only", brief(str(self._only.id), 40)))
        if self._texts.get(name):
            parts.append(safe("filter {}", self._texts[name]))
        return [part for part in parts if part]

    def _outcomes(self) -> SafeText:
        """How many of the cancellations that are shown came to what."""
        shown = self.cancellations
        known = shown.version, len(shown.numbers)
        if len(shown.numbers) > COUNTED:
            return _NOTHING
        if known != self._counted[0]:
            self._counted = known, counted(shown.items(), self._scene.now())
        return self._counted[1]

    # -- the line --------------------------------------------------------------------------------------------

    def open_input(self) -> None:
        """Open the line of the filter, for the focused list or else the requests."""
        focused = self._screen.focused
        name = str(focused.id) if isinstance(focused, LineList) else ""
        self._typed_for = name if name in _LISTS else "requests"
        with self.input.prevent(Input.Changed):
            self.input.value = (
                self._table.filter if self._typed_for == "requests" else self._texts.get(name, "")
            )
        self.line.name_list(*_LISTS[self._typed_for])
        self.line.display = True
        self._screen.set_focus(self.input)

    def type(self, text: str) -> None:
        """Filter the list that the line is for."""
        self._filter(self._typed_for, text)

    def submit(self) -> None:
        """Go back to the list; the line stays where it says something."""
        self.line.display = bool(self.input.value)
        self._back_to_list()

    def close_input(self) -> None:
        """Show everything again, and go back to the list."""
        self.clear(self._typed_for)
        self._back_to_list()

    def _back_to_list(self) -> None:
        self._screen.set_focus(self._lists.get(self._typed_for, self._table))

    # -- filters ---------------------------------------------------------------------------------------------

    def clear(self, name: str) -> None:
        """Show everything in a list again."""
        if name == "wire":
            self._only = None
        if self._typed_for == name:
            with self.input.prevent(Input.Changed):
                self.input.value = ""
            self.line.display = False
        self._filter(name, "")

    def clear_focused(self) -> bool:
        """Show everything in the focused list again; false where that is so already."""
        screen = self._screen
        name = "" if screen.focused is None else str(screen.focused.id)
        if name == "requests" and self._table.filter:
            self.clear("requests")
        elif self._texts.get(name) or (name == "wire" and self._only is not None):
            self.clear(name)
        else:
            return False
        return True

    def _filter(self, name: str, text: str) -> None:
        """Show what passes a filter, and say what of it is not understood."""
        if name == "requests":
            self._table.filter = text
            problem = self._table.problem
        else:
            self._texts[name] = text.strip()
            problem = self._narrow(name)
        if problem:
            self._screen.tell(problem)
        elif self._problems.get(name):
            self._screen.keys.hush()
        self._problems[name] = problem
        self._screen.forget()

    def _narrow(self, name: str) -> SafeText:
        """Put a filter to work; returns what of it is not understood."""
        text = self._texts.get(name, "")
        only = self._only if name == "wire" else None
        told = [] if only is None else [safe("request {}", brief(str(only.id), 40))]
        self._lists[name].wanted = join([*told, *([clean(text)] if text else [])], " ")
        if name == "log":
            logs = log_filter(text)
            self.log.filter(logs.matches if logs else None)
            return logs.problem
        if name == "wire":
            frames = wire_filter(text)
            only = None if self._only is None else self._messages.belonging(self._only)
            if only is not None and frames:
                self.wire.filter(lambda head: only(head) and frames.matches(head))
            else:
                self.wire.filter(only or (frames.matches if frames else None))
            return frames.problem
        if name == "catalogue":
            offered = catalogue_filter(text)
            self._scene.catalogue.narrow(offered.matches if offered else None)
            self._lists[name].tell(*self._about(name))
            return offered.problem
        cancels = cancellations_filter(text, self._scene.now)
        order = self._cancel_sort.at(self._scene.now())
        self.cancellations.filter(cancels.matches if cancels else None, order)
        return cancels.problem

    # -- orders ----------------------------------------------------------------------------------------------

    def sort(self) -> None:
        """The next order of the focused list: of the cancellations, or else the requests."""
        screen = self._screen
        if screen.focused is self._lists["cancellations"]:
            self._cancel_sort = after(self._cancel_sort, SORTS)
            self._narrow("cancellations")
            screen.forget()
            screen.tell(safe("cancellations sorted by {}", self._cancel_sort.value), "muted", seconds=3)
            return
        wanted = after(self._table.sort, table_columns.SORTS)
        if self._table.resort(wanted):
            screen.tell(safe("sorted by {}", wanted.value), "muted", seconds=3)
        else:
            screen.tell(words("Too many requests to sort. Filter them first."))
        screen.forget()

    # -- messages of one request -----------------------------------------------------------------------------

    def messages_of_selected(self) -> None:
        """Show the messages of the selected request alone; those of all again, where they are shown already."""
        screen = self._screen
        row, wire = self._table.selected, self._lists["wire"]
        if self._only is not None and (row is None or row is self._only or screen.focused is wire):
            self._only = None
            screen.tell(words("Messages of all requests"), "muted", seconds=3)
        elif row is None:
            screen.refuse(words("No request selected"))
            return
        else:
            self._only = row
            said = "Messages of {} {} only; {} shows all"
            told = safe(said, brief(str(row.id), 40), request(row), key_of("wire.request"))
            screen.tell(told, "muted", seconds=4)
        self._narrow("wire")
        screen.choose_pane("wire")
        screen.set_focus(wire)

    def go_to(self, id: RequestId) -> None:
        """Put the cursor on a request and show its detail, whatever the filter shows."""
        if not self._table.select(id) and self._table.filter:
            self.clear("requests")
        if self._table.select(id):
            self._screen.show_pane("detail")
            self._screen.set_focus(self._table)
