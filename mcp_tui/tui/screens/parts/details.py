"""What the pane Detail shows: a request, an entry of the catalogue, a message, a question, or the connection."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import as_object
from mcp_tui.protocol.requests import Request, ServerRequest, State
from mcp_tui.tui.payloads import Payloads
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.screens.layout import TABS, LayoutScreen
from mcp_tui.tui.screens.parts.messages import Messages
from mcp_tui.tui.view import detail
from mcp_tui.tui.view.catalogue import Entry, entry_sections
from mcp_tui.tui.view.detail import Section, sent, server_request_sections
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import SafeText, brief, join, safe, words
from mcp_tui.tui.view.wire import READ, frame_sections, parsed, reason
from mcp_tui.tui.widgets.detail import Detail
from mcp_tui.tui.widgets.request_table import RequestTable

RECENT: Final = 500
"""Requests among which is looked for the last reading of a resource."""


class Details:
    """``message`` is the number of the message that was opened, ``None`` while none is."""

    def __init__(
        self,
        screen: LayoutScreen,
        scene: Scene,
        table: RequestTable,
        payloads: Payloads,
        messages: Messages,
        pane: Detail,
    ) -> None:
        self._screen = screen
        self._scene = scene
        self._table = table
        self._payloads = payloads
        self._messages = messages
        self._pane = pane
        self.message: int | None = None
        self._opened_at: RequestId | None = None
        self._framed: tuple[object, list[Section]] = None, []
        self._sent: tuple[ServerRequest | None, list[Section]] = None, []

    def show(self, now: float, entry: Entry | None, row: Request | None, advice: SafeText) -> None:
        """Show what is pointed at, as it is at ``now``: an entry, else a request with what can be done about it."""
        if not self._pane.display or self._show_message():
            return
        if entry is not None and self._screen.beside:
            shown = [*entry_sections(entry), *self._held(entry)]
            self._pane.show(self._title(brief(entry.name, 80)), shown, key=(entry.kind, entry.name))
            return
        if row is None:
            if self._show_question(now):
                return
            self._pane.empty = words("Nothing selected.")
            self._pane.show(self._title(words("")), self._scene.about())
            return
        payloads, command = self._payloads.of(row)
        shown = detail.sections(
            row,
            now,
            payloads,
            command=command,
            advice=advice,
            server_requests=self._messages.family(row)[1],
        )
        title = safe("{} {}", brief(str(row.id), 40), brief(row.name) or request(row))
        self._pane.show(self._title(title), shown, key=(type(row.id), row.id))

    def _title(self, own: SafeText) -> SafeText:
        if self._screen.beside:
            return join((TABS["detail"], own), " · ")
        return self._screen.tab_titles.title_of("detail")

    def _held(self, entry: Entry) -> list[Section]:
        """What a resource held when it was read last, if that is not long ago."""
        if entry.kind != "resources":
            return []
        uri = entry.raw.get("uri")
        for row in islice(reversed(self._scene.book.order), RECENT):
            if row.method == "resources/read" and row.name == uri and row.state is State.COMPLETED:
                return self._payloads.held(row)
        return []

    def _show_question(self, now: float) -> bool:
        """Show the server's request under the cursor; false where there is none."""
        asked = self._table.server_request
        if asked is None:
            return False
        if self._sent[0] is not asked:
            raw = self._scene.payload(asked.seq) if asked.seq else None
            message = as_object(parsed(raw) if raw is not None and len(raw) <= READ else None)
            self._sent = asked, sent(message.get("params")) if "params" in message else []
        shown = server_request_sections(asked, now, self._sent[1])
        self._pane.show(self._title(brief(asked.method, 80)), shown, key=(ServerRequest, asked.seq))
        return True

    async def open_result(self, follow: Callable[[str | None], None] | None) -> None:
        """Show all of the selected request's answer; ``follow`` reads what a link in it names."""
        from mcp_tui.tui.screens.result import ResultScreen

        screen = self._screen
        row = self._table.selected
        raw = None if row is None else self._payloads.answer(row)
        if row is None or raw is None:
            screen.refuse(words("No response to open"))
            return
        title = safe("{} {}", brief(str(row.id), 40), request(row))
        broken = self._payloads.broken(row)
        await screen.ask(ResultScreen(raw, title=title, broken=broken, follow=follow is not None), follow)

    # -- a message of the wire -------------------------------------------------------------------------------

    def open_message(self, seq: int) -> None:
        """Show a message, and put the cursor on the request that it belongs to."""
        screen = self._screen
        head = self._scene.frame(seq)
        if head is None:
            return
        row = self._messages.row_of(head)
        if row is not None:
            self._table.select(row.id)
        selected = self._table.selected
        self.message, self._opened_at = seq, None if selected is None else selected.id
        if screen.beside:
            screen.forget()
        else:
            screen.choose_pane("detail")
            screen.set_focus(self._pane)

    def close_message(self) -> None:
        """Go back to the wire."""
        self.message = None
        if not self._screen.beside:
            self._screen.show_pane("wire")
        self._screen.set_focus(self._screen.panes["wire"])
        self._screen.forget()

    def leave_message(self, selected: RequestId | None) -> None:
        """Let the message go once another request is selected."""
        if selected != self._opened_at:
            self.message = None

    def point_at_message(self, seq: int) -> None:
        """Say what is wrong with the message under the cursor of the wire; show it where another one is open."""
        head = self._scene.frame(seq)
        broken = None if head is None else self._messages.broken(head)
        if broken:
            self._screen.tell(safe("Schema violation: {}", reason(broken)), "error", seconds=8)
        if self.message is not None and self._screen.beside:
            self.message = seq
            self._screen.forget()

    def _show_message(self) -> bool:
        head = None if self.message is None else self._scene.frame(self.message)
        if head is None:
            return False
        scene = self._scene
        if self._framed[0] != head.seq:
            made = frame_sections(
                head,
                scene.payload(head.seq),
                self._messages.broken(head, most=READ) or (),
                origin=getattr(scene.wire, "origin", 0.0),
                revision=scene.facts(scene.now()).revision,
            )
            self._framed = head.seq, made
        self._pane.show(self._title(safe("Message {:,}", head.seq)), self._framed[1], key=("frame", head.seq))
        return True
