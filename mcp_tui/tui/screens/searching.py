"""Finding one's way: a filter for each list, orders, what belongs to a row, and the frames of one request."""

from __future__ import annotations

from typing import Final

from textual.widget import Widget
from textual.widgets import Input

from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import as_object
from mcp_tui.protocol.requests import Request, ServerRequest
from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.screens.judging import Judging
from mcp_tui.tui.view.cancellations import CancelSort, counted
from mcp_tui.tui.view.columns import NEWEST
from mcp_tui.tui.view.detail import Section, sent, server_request_sections
from mcp_tui.tui.view.frame import READ, frame_sections, parsed, reason
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
from mcp_tui.tui.view.text import SafeText, brief, clean, words
from mcp_tui.tui.widgets.line_list import LineList

COUNTED: Final = 2000
"""Cancellations whose outcomes are counted."""

_HINTS: Final = {
    "requests": "state:late  name:slow  id:7  -name:poll  /text/  words",
    "catalogue": CATALOGUE_HINT,
    "log": LOG_HINT,
    "wire": WIRE_HINT,
    "cancellations": CANCELLATIONS_HINT,
}
_NOTHING: Final = words("")


class Searching(Judging):
    """The part of a screen that narrows what its lists show. The filter's line is one, and of the focused list."""

    def narrow_lists(self) -> None:
        """Put what can be narrowed between the lists and what they show."""
        self._chosen = False
        self._filtering = "requests"
        self._filters: dict[str, str] = {}
        self._problems: dict[str, SafeText] = {}
        self._cancel_sort = CancelSort.NEWEST
        self._only: Request | None = None
        self._frame: int | None = None
        self._frame_row: RequestId | None = None
        self._framed: tuple[object, list[Section]] = None, []
        self._counted: tuple[object, SafeText] = None, _NOTHING
        self._sent: tuple[ServerRequest | None, list[Section]] = None, []
        self.cancelled: FilteredLines[Request] = FilteredLines(self.scene.cancellations)
        self.logged: FilteredLines[ev.Event] = FilteredLines(self.scene.log)
        self.framed: FilteredLines[FrameHead | None] = FilteredLines(self.scene.wire, around=self.judged)
        self.cancellations.source = self.cancelled
        self.log_list.source = self.logged
        self.wire.source = self.framed

    def refresh_lists(self, *, all_: bool = True) -> None:
        """Draw what came in the lists that are in sight; where not ``all_``, only those that a filter still looks at."""
        pairs = (
            (self.cancellations, self.cancelled),
            (self.log_list, self.logged),
            (self.wire, self.framed),
        )
        for pane, narrowed in pairs:
            if pane.display and (all_ or narrowed.waiting):
                narrowed.update()
                pane.refresh_source()
                pane.tell(*self._about(str(pane.id)))

    def _about(self, name: str) -> list[SafeText]:
        """What stands in the lower border of a list."""
        parts: list[SafeText] = []
        if name == "cancellations":
            parts.append(self._outcomes())
            if self._cancel_sort is not CancelSort.NEWEST:
                parts.append(SafeText(f"sort {self._cancel_sort.value}"))
        if name == "wire" and self._only is not None:
            parts.append(SafeText(f"request {brief(str(self._only.id), 40)} only"))
        if self._filters.get(name):
            parts.append(SafeText(f"filter {clean(self._filters[name])}"))
        return [part for part in parts if part]

    def _outcomes(self) -> SafeText:
        """How many of the cancellations that are shown came to what."""
        shown = self.cancelled
        known = shown.version, len(shown.numbers)
        if len(shown.numbers) > COUNTED:
            return _NOTHING
        if known != self._counted[0]:
            self._counted = known, counted(shown.items())
        return self._counted[1]

    # -- filters ---------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Open the line of the filter, for the focused list or else the requests."""
        name = str(self.focused.id) if isinstance(self.focused, LineList) else ""
        self._filtering = name if name in _HINTS else "requests"
        with self.filter_input.prevent(Input.Changed):
            self.filter_input.value = self._filter_of(self._filtering)
        self.filter_input.placeholder = _HINTS[self._filtering]
        self.filter_input.display = True
        self.set_focus(self.filter_input)

    def _filter_of(self, name: str) -> str:
        return self.table.filter if name == "requests" else self._filters.get(name, "")

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input is self.filter_input:
            self._filter(self._filtering, event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input is self.filter_input:
            self.filter_input.display = bool(event.value)
            self.set_focus(self._filtered())

    def _filtered(self) -> Widget:
        return self.table if self._filtering == "requests" else self.panes[self._filtering]

    def _filter(self, name: str, text: str) -> None:
        """Show what passes a filter, and say what of it is not understood."""
        problem = _NOTHING
        if name == "requests":
            self.table.filter = text
            problem = self.table.problem
        else:
            self._filters[name] = text.strip()
            problem = self._narrow(name)
        if problem:
            self.keys.tell(problem)
        elif self._problems.get(name):
            self.keys.hush()
        self._problems[name] = problem
        self.forget()

    def clear_filter(self, name: str) -> None:
        """Show everything in a list again."""
        if name == "wire":
            self._only = None
        if self._filtering == name:
            with self.filter_input.prevent(Input.Changed):
                self.filter_input.value = ""
            self.filter_input.display = False
        self._filter(name, "")

    def _narrow(self, name: str) -> SafeText:
        """Put a filter to work; returns what of it is not understood."""
        text = self._filters.get(name, "")
        if name == "log":
            logs = log_filter(text)
            self.logged.filter(logs.matches if logs else None)
            return logs.problem
        if name == "wire":
            frames = wire_filter(text)
            only = None if self._only is None else self.belonging(self._only)
            if only is not None and frames:
                self.framed.filter(lambda head: only(head) and frames.matches(head))
            else:
                self.framed.filter(only or (frames.matches if frames else None))
            return frames.problem
        if name == "catalogue":
            offered = catalogue_filter(text)
            self.scene.catalogue.narrow(offered.matches if offered else None)
            self.catalogue.tell(*self._about(name))
            return offered.problem
        cancels = cancellations_filter(text)
        order = None if self._cancel_sort is CancelSort.NEWEST else self._cancel_sort.place
        self.cancelled.filter(cancels.matches if cancels else None, order)
        return cancels.problem

    def step_back(self) -> bool:
        """What esc closes of this: the filter's line, a frame, marks, a filter; false where there is none of them."""
        focused = str(self.focused.id) if self.focused is not None else ""
        if self.filter_input.has_focus:
            target = self._filtered()
            self.clear_filter(self._filtering)
            self.set_focus(target)
        elif self._frame is not None:
            self._close_frame()
        elif self.table.marks and self.focused is self.table:
            self.table.unmark()
        elif self.table.filter and self.focused is self.table:
            self.clear_filter("requests")
        elif self._filters.get(focused) or (focused == "wire" and self._only is not None):
            self.clear_filter(focused)
        else:
            return False
        return True

    # -- orders ----------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """The next order of the focused list: of the cancellations, or else the requests."""
        if self.focused is self.cancellations:
            self._cancel_sort = self._cancel_sort.next
            self._narrow("cancellations")
            self.forget()
            self.keys.tell(SafeText(f"cancellations by {self._cancel_sort.value}"), "muted", seconds=3)
            return
        wanted = self.table.next_sort
        if not self.table.resort(wanted):
            self.keys.tell(words("too many requests here for another order: filter them first"))
        elif wanted is NEWEST:
            self.keys.tell(words("newest first"), "muted", seconds=3)
        else:
            said = SafeText(f"by {wanted.value}; rows hold still, g puts them in order anew")
            self.keys.tell(said, "muted", seconds=4)
        self.forget()

    # -- what belongs to a row -------------------------------------------------------------------------------

    def action_unfold(self, way: str = "") -> None:
        """Show what belongs to the selected row under it (``open``), hide it (``close``), or the other of the two."""
        if self.focused is not self.table and way:
            return
        expanded = None if not way else way == "open"
        if not self.table.unfold(expanded=expanded) and not way:
            self.keys.tell(words("nothing belongs to this: no rounds, polls or requests of the server's"))
        self.forget()

    # -- frames ----------------------------------------------------------------------------------------------

    def action_wire_of(self) -> None:
        """Show the frames of the selected request alone; those of all again, where they are shown already."""
        row = self.table.selected
        if self._only is not None and (row is None or row is self._only or self.focused is self.wire):
            self._only = None
            self.keys.tell(words("the frames of all requests"), "muted", seconds=3)
        elif row is None:
            self.keys.tell(words("no request is selected"))
            return
        else:
            self._only = row
            said = f"the frames of {brief(str(row.id), 40)} {request(row)} alone; {key_of('wire.request')} shows all again"
            self.keys.tell(SafeText(said), "muted", seconds=4)
        self._narrow("wire")
        self._chosen = True
        self.show_pane("wire")
        self.set_focus(self.wire)

    def open_frame(self, seq: int) -> None:
        """Show a frame in the detail, and put the cursor on the request that it belongs to."""
        head = self.scene.frame(seq)
        if head is None:
            return
        row = self.row_of(head)
        if row is not None:
            self.table.select(row.id)
        selected = self.table.selected
        self._frame, self._frame_row = seq, None if selected is None else selected.id
        self._chosen = True
        if not self.wide:
            self.show_pane("detail")
            self.set_focus(self.detail)
        self.forget()

    def _close_frame(self) -> None:
        self._frame = None
        if not self.wide:
            self.show_pane("wire")
        self.set_focus(self.wire)
        self.forget()

    def leave_frame(self, selected: RequestId | None) -> None:
        """Let a frame go once another request is selected."""
        if self._frame is not None and selected != self._frame_row:
            self._frame = None

    def on_line_list_selected(self, event: LineList.Selected) -> None:
        if event.lines is not self.wire or not isinstance(event.key, int):
            return
        head = self.scene.frame(event.key)
        broken = None if head is None else self.broken(head)
        if broken:
            self.keys.tell(SafeText(f"breaks the schema: {reason(broken)}"), "error", seconds=8)
        if self._frame is not None and self.wide:
            self._frame = event.key
            self.forget()

    def show_frame(self) -> bool:
        """Have the detail show the frame that was opened; false where none is."""
        head = None if self._frame is None else self.scene.frame(self._frame)
        if head is None:
            return False
        if self._framed[0] != head.seq:
            wire = self.scene.wire
            made = frame_sections(
                head,
                self.scene.payload(head.seq),
                self.broken(head, most=READ) or (),
                origin=getattr(wire, "origin", 0.0),
                revision=self.scene.facts(self.scene.now()).revision,
            )
            self._framed = head.seq, made
        title = SafeText(f"Frame {head.seq:,}") if self.wide else self._title_of("detail")
        self.detail.show(title, self._framed[1], key=("frame", head.seq))
        return True

    def show_asked(self, now: float) -> bool:
        """Have the detail show the server's request under the cursor; false where there is none."""
        server_request = self.table.server_request
        if server_request is None:
            return False
        if self._sent[0] is not server_request:
            raw = self.scene.payload(server_request.seq) if server_request.seq else None
            message = as_object(parsed(raw) if raw is not None and len(raw) <= READ else None)
            self._sent = server_request, sent(message.get("params")) if "params" in message else []
        title = SafeText(brief(server_request.method, 80)) if self.wide else self._title_of("detail")
        self.detail.show(
            title,
            server_request_sections(server_request, now, self._sent[1]),
            key=(ServerRequest, server_request.seq),
        )
        return True
