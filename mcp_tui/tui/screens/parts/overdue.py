"""Handles requests near their timeout: extends them, or asks about those that are overdue."""

from __future__ import annotations

from mcp_tui.protocol.events import RequestId
from mcp_tui.tui.preferences import MORE_SECONDS
from mcp_tui.tui.screens.cancel_dialogs import TimeoutScreen
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.cancelling import Cancelling
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view.rows import request
from mcp_tui.view.text import safe, words


class OverdueRequests:
    """The limits of the requests of a session. The part for cancels stores the reasons."""

    def __init__(
        self, screen: LayoutScreen, session: Session, table: RequestTable, cancelling: Cancelling
    ) -> None:
        self._screen = screen
        self._session = session
        self._table = table
        self._cancelling = cancelling
        self._asked: set[tuple[RequestId, float | None]] = set()
        self._warned: set[tuple[RequestId, float | None]] = set()

    def extend(self) -> None:
        """Gives the selected request 30 seconds more."""
        row = self._table.selected
        if row is not None and self._session.client.extend(row.id, MORE_SECONDS):
            self._screen.show_message(safe("Request {} has 30 s more", row.id), "muted", seconds=3)
        else:
            self._screen.refuse(words("Only a running request can get more time"))
        self._screen.look()

    def ask_about_overdue(self) -> None:
        """Opens one prompt for all overdue requests; while another screen is open, warns once about each instead."""
        new = [
            row
            for row in self._session.running
            if row.overdue_until is not None and (row.id, row.overdue_until) not in self._asked
        ]
        if not new:
            return
        screen, client = self._screen, self._session.client
        if screen.on_top:
            # With the time: a request that was extended and is overdue again is asked about again.
            self._asked.update((row.id, row.overdue_until) for row in new)
            prompt = TimeoutScreen(client, client.cancellation(new[0]).why)
            screen.app.push_screen(prompt, lambda _: self._cancelling.remember(prompt.unsent))
        elif not any(isinstance(each, TimeoutScreen) for each in screen.app.screen_stack):
            for row in new:
                if (row.id, row.overdue_until) not in self._warned:
                    self._warned.add((row.id, row.overdue_until))
                    text = safe("{} {} is overdue and will be cancelled automatically", row.id, request(row))
                    screen.app.notify(self._session.named(text), severity="warning", markup=False)
