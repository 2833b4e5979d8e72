"""The filters of the lists, the sort orders of requests and cancellations, and the messages of one request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, Label

from mcp_tui.protocol.client_violations import Cancelled
from mcp_tui.protocol.descriptions import about
from mcp_tui.protocol.events import Event, RequestId
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.details import Messages
from mcp_tui.tui.sources.scene import Scene
from mcp_tui.tui.widgets.line_input import LineInput
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view import list_filters, table_columns
from mcp_tui.view.cancellations import CANCELLATION_SORTS, counted
from mcp_tui.view.columns import NEWEST, after
from mcp_tui.view.filters import Terms, request_fields
from mcp_tui.view.keys import key_of
from mcp_tui.view.lines import FilteredLines
from mcp_tui.view.rows import request
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, join, safe, words

COUNTED_CANCELLATIONS: Final = 2000
"""The number of cancellations above which their outcomes are not counted."""

_FILTER_EXAMPLES: Final = {
    "requests": (words("Filter requests"), "state:late  name:slow  id:7  -name:poll  /text/  words"),
    "catalogue": (words("Filter catalogue"), "kind:prompts  /text/  words"),
    "log": (words("Filter log"), "level:warning  logger:db  source:stderr  /text/  words"),
    "wire": (words("Filter wire"), "dir:out  id:7  method:tools  /text/  words"),
    "cancellations": (
        words("Filter cancellations"),
        "outcome:late  cause:user  name:slow  reason:wrong  id:7  /text/  words",
    ),
}
"""The label and the placeholder of the filter line, for each list."""


class FilterLine(Horizontal):
    """The filters of all lists, typed in one line for the focused list, with its name and the number of matches."""

    def __init__(self, screen: LayoutScreen, scene: Scene, table: RequestTable, messages: Messages) -> None:
        self._screen = screen
        self._scene = scene
        self._table = table
        self._messages = messages
        self._lists = {name: pane for name, pane in screen.panes.items() if isinstance(pane, LineList)}
        self._what = Label(markup=False)
        self.input = LineInput(id="filter", compact=True)
        self.input.entered = self._enter
        self.passing = Label(markup=False)
        super().__init__(self._what, self.input, self.passing)
        self.display = False
        self._typed_for = "requests"
        self._opened_from: Widget | None = None
        self._readers: dict[str, Callable[[str], Terms[Any]]] = {
            "catalogue": list_filters.catalogue,
            "log": self._log,
            "wire": list_filters.wire,
            "cancellations": partial(list_filters.cancellations, now=scene.now),
        }
        self._terms: dict[str, Terms[Any]] = dict.fromkeys(_FILTER_EXAMPLES, Terms[Any]())
        self._cancel_sort = NEWEST
        self._only: Request | None = None
        self._counted: tuple[object, SafeText] = None, NOTHING
        self.cancellations: FilteredLines[Cancelled] = FilteredLines(scene.cancellations)
        self._filtered: dict[str, FilteredLines[Any]] = {
            "cancellations": self.cancellations,
            "log": FilteredLines(scene.log),
            "wire": FilteredLines(replace(scene.wire, made=messages.line)),
        }
        for name, pane in self._lists.items():
            pane.remarks = partial(self._about, name)
            pane.source = self._filtered.get(name, pane.source)

    def refresh_lists(self, *, all_: bool = True) -> None:
        """Draws the changes of the visible lists; ``all_=False`` only of those that are still being searched."""
        for name, filtered in self._filtered.items():
            pane = self._lists[name]
            if pane.display and (all_ or filtered.waiting):
                filtered.update()
                pane.refresh_source()
        self._count()

    def _count(self) -> None:
        """Updates the number of matches; the line is hidden with its list, unless it has the focus."""
        pane = self._typed_list
        if self._screen.focused is not self.input:
            self.display = bool(self.input.value) and pane.display
        if self.display:
            problem = self._terms[self._typed_for].problem
            self.passing.set_class(bool(problem), "-problem")
            text = problem or (pane.counted if pane.wanted else NOTHING)
            if text != self.passing.content:  # each update lays out the whole screen
                self.passing.update(text)

    @property
    def _typed_list(self) -> LineList | RequestTable:
        """The list of the filter line."""
        return self._lists.get(self._typed_for, self._table)

    def _about(self, name: str) -> list[SafeText]:
        """Returns the texts for the lower border of a list."""
        parts = [self._outcomes() if name == "cancellations" else NOTHING]
        if name == "catalogue" and self._scene.catalogue.by_cost:
            parts.append(words("sort cost"))
        if name == "cancellations" and self._cancel_sort is not NEWEST:
            parts.append(safe("sort {}", self._cancel_sort.value))
        if name == "wire" and self._only is not None:
            parts.append(safe("request {} only", brief(str(self._only.id), 40)))
        if self._terms[name].text:
            parts.append(safe("filter {}", self._terms[name].text))
        return [part for part in parts if part]

    def _outcomes(self) -> SafeText:
        """Returns the outcomes of the shown cancellations, counted."""
        shown = self.cancellations
        known = shown.version, len(shown.numbers)
        if len(shown.numbers) > COUNTED_CANCELLATIONS:
            return NOTHING
        if known != self._counted[0]:
            self._counted = known, counted(shown.items(), self._scene.now())
        return self._counted[1]

    # -- the line --------------------------------------------------------------------------------------------

    def open_input(self) -> None:
        """Opens the filter line for the focused list, or for the requests."""
        focused = self._screen.focused
        self._typed_for = str(focused.id) if isinstance(focused, LineList) else "requests"
        self._opened_from = focused if focused in self._screen.panes.values() else None
        with self.input.prevent(Input.Changed):
            self.input.value = self._terms[self._typed_for].text
        what, self.input.placeholder = _FILTER_EXAMPLES[self._typed_for]
        self._what.update(what)
        self.display = True
        self._screen.set_focus(self.input)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._filter(self._typed_for, event.value)

    def _enter(self) -> None:
        """Returns to the list; the line stays unless it is empty."""
        self.display = bool(self.input.value)
        self._return()

    def close_input(self) -> None:
        """Clears the filter and returns to the list."""
        self.clear(self._typed_for)
        self._return()

    def _return(self) -> None:
        """Focuses the pane from which the line was opened: the timeline also uses the filter of the requests."""
        pane = self._opened_from
        self._screen.set_focus(self._typed_list if pane is None or not pane.display else pane)

    # -- filters ---------------------------------------------------------------------------------------------

    def _log(self, text: str) -> Terms[Event]:
        """Parses a filter of the log, with the fields of the requests that its messages name."""
        table, requests = self._table, self._scene.requests

        def request(event: Event) -> Request | None:
            id = about(event)
            return None if id is None else requests.get(id)

        fields = request_fields(server=table.server, now=self._scene.now, payload=table.messages)
        return list_filters.log(text, request, fields, server=table.server)

    def carry(self, other: FilterLine) -> None:
        """Filters all lists as another screen does."""
        for name, terms in other._terms.items():
            if terms.text:
                self._filter(name, terms.text)
        self._typed_for = other._typed_for
        with self.input.prevent(Input.Changed):
            self.input.value = other.input.value

    def clear(self, name: str) -> None:
        """Clears the filter of a list."""
        if name == "wire":
            self._only = None
        if self._typed_for == name:
            with self.input.prevent(Input.Changed):
                self.input.value = ""
            self.display = False
        self._filter(name, "")

    def clear_focused(self) -> bool:
        """Clears the filter of the focused list; returns false if there is none."""
        pane = self._screen.focused
        if not isinstance(pane, LineList | RequestTable) or not pane.wanted:
            return False
        self.clear(str(pane.id))
        return True

    def _filter(self, name: str, text: str) -> None:
        """Sets the filter of a list."""
        if name == "requests":
            self._table.refilter(text)
            self._terms[name] = self._table.outline.filter
        else:
            self._terms[name] = self._readers[name](text)
            self._apply(name)
        self._screen.forget()

    def _apply(self, name: str) -> None:
        """Applies the filter of a list, with the request of the wire or the order of the cancellations."""
        pane, terms = self._lists[name], self._terms[name]
        tests, texts = terms.tests, [clean(terms.text)]
        if name == "wire" and self._only is not None:
            tests = (self._messages.belonging(self._only), *tests)
            texts.insert(0, safe("request {}", brief(str(self._only.id), 40)))
        pane.wanted = join(filter(None, texts), " ")
        passes = Terms(tests=tests).matches if tests else None
        if name == "catalogue":
            self._scene.catalogue.filter(passes)
        else:
            order = self._cancel_sort.at(self._scene.now()) if name == "cancellations" else None
            self._filtered[name].filter(passes, order)

    # -- orders ----------------------------------------------------------------------------------------------

    def sort(self) -> None:
        """Sorts the cancellations or the catalogue, if one has the focus, or the requests by the next order."""
        screen = self._screen
        if screen.focused is self._lists["cancellations"]:
            self._cancel_sort = after(self._cancel_sort, CANCELLATION_SORTS)
            self._apply("cancellations")
            screen.forget()
            screen.show_message(
                safe("cancellations sorted by {}", self._cancel_sort.value), "muted", seconds=3
            )
            return
        if screen.focused is self._lists["catalogue"]:
            catalogue = self._scene.catalogue
            catalogue.sort()
            screen.forget()
            by = words("cost, the largest first") if catalogue.by_cost else words("server's order")
            screen.show_message(safe("tools sorted by {}", by), "muted", seconds=3)
            return
        wanted = after(self._table.outline.sort, table_columns.SORTS)
        if self._table.resort(wanted):
            screen.show_message(safe("sorted by {}", wanted.value), "muted", seconds=3)
        else:
            screen.show_message(words("Too many requests to sort. Filter them first."))
        screen.forget()

    # -- messages of one request -----------------------------------------------------------------------------

    def messages_of_selected(self) -> None:
        """Shows only the messages of the selected request, or all messages again."""
        screen = self._screen
        row, wire = self._table.selected, self._lists["wire"]
        if self._only is not None and (row is None or row is self._only or screen.focused is wire):
            self._only = None
            screen.show_message(words("Messages of all requests"), "muted", seconds=3)
        elif row is None:
            screen.refuse(words("No request selected"))
            return
        else:
            self._only = row
            text = "Messages of {} {} only; {} shows all"
            message = safe(text, brief(str(row.id), 40), request(row), key_of("wire.request"))
            screen.show_message(message, "muted", seconds=4)
        self._apply("wire")
        screen.choose_pane("wire")
        screen.set_focus(wire)

    def go_to(self, id: RequestId) -> None:
        """Selects a request and shows its detail; clears a filter that hides it."""
        if not self._table.select(id) and self._table.wanted:
            self.clear("requests")
        if self._table.select(id):
            self._screen.show_pane("detail")
            self._screen.set_focus(self._table)
