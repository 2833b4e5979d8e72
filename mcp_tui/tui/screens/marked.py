"""The prompt that cancels several requests: which they are, one reason, one confirmation."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.widgets import Input

from mcp_tui.protocol.requests import Request
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.dialogs import REASON
from mcp_tui.tui.screens.dialog import Dialog, Hint, ReasonField, place
from mcp_tui.tui.screens.reason import default_reason
from mcp_tui.tui.view.listing import listed, plural
from mcp_tui.tui.view.text import SafeText, join, safe, words


class MarkedScreen(Dialog[str | None]):
    """Asks for the reason of several cancels; dismisses it, or ``None`` where nothing is to be cancelled.

    Requests that end meanwhile leave the list; where none is left enter only closes. The caller cancels.
    """

    DEFAULT_CSS = """
    MarkedScreen {
        & ReasonField { margin-top: 1; }
        & #over { color: $text-muted; }
    }
    """

    SCOPES = (REASON,)
    BINDINGS = bindings(*SCOPES)

    TICK = 0.1

    def __init__(self, rows: Sequence[Request], *, recent: Sequence[str]) -> None:
        super().__init__()
        self._rows = rows
        self.field = ReasonField(placeholder=default_reason(), recent=recent)
        self._list = place("list")
        self._over = place("over")

    @property
    def open(self) -> list[Request]:
        """Those that an answer is still waited for."""
        return [row for row in self._rows if row.open]

    def heading(self) -> SafeText:
        return safe("Cancel {}", plural(len(self.open)))

    def body(self) -> ComposeResult:
        yield self._list
        yield self._over
        yield self.field

    def hints(self) -> Sequence[Hint | None]:
        if not self.open:
            return [("reason.cancel", "close")]
        recent: Hint | None = ("reason.earlier", "recent") if self.field.recent else None
        return [("reason.cancel", "cancel them"), recent, ("app.back", "keep waiting")]

    def on_mount(self) -> None:
        self.set_focus(self.field.input)

    def tick(self) -> None:
        left = self.open
        gone = len(self._rows) - len(left)
        self.say(self._list, join(listed(left), "\n") if left else words("Nothing left to cancel."))
        self._over.display = bool(gone)
        self.say(self._over, safe("{} of the marked already finished", plural(gone)))
        super().tick()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_cancel()

    def action_cancel(self) -> None:
        """Cancel with what is typed."""
        self.dismiss((self.field.text or default_reason()) if self.open else None)

    @property
    def unsent(self) -> str:
        """The reason in the field; empty for none."""
        return self.field.text

    def action_recall(self, step: int) -> None:
        """Go through the recent reasons; past the latest stands what was typed before."""
        self.field.recall(step)
