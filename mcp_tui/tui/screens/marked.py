"""The prompt that cancels several requests: which they are, one reason, one confirmation."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Label

from mcp_tui.protocol.requests import Request
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.dialogs import REASON
from mcp_tui.tui.screens.dialog import Dialog, Hint, ReasonInput, place
from mcp_tui.tui.screens.reason import default_reason
from mcp_tui.tui.view.listing import listed, plural
from mcp_tui.tui.view.text import SafeText


class MarkedScreen(Dialog[str | None]):
    """Asks for the reason of several cancels; dismisses it, or ``None`` where nothing is to be cancelled.

    Requests that end meanwhile leave the list; where none is left enter only closes. The caller cancels.
    """

    DEFAULT_CSS = """
    MarkedScreen {
        & Horizontal { height: 1; margin-top: 1; }
        & Label { width: 8; color: $text-muted; }
        & #over { color: $text-muted; }
    }
    """

    SCOPES = (REASON,)
    BINDINGS = bindings(*SCOPES)

    TICK = 0.1

    def __init__(self, rows: Sequence[Request], *, recent: Sequence[str]) -> None:
        super().__init__()
        self._rows = rows
        self._recent = list(dict.fromkeys(reason for reason in recent if reason.strip()))
        self._at = -1
        self._draft = ""
        self._field = ReasonInput(placeholder=default_reason())
        self._list = place("list")
        self._over = place("over")
        self._keys = place("keys")

    @property
    def open(self) -> list[Request]:
        """Those that an answer is still waited for."""
        return [row for row in self._rows if row.open]

    def content(self) -> ComposeResult:
        yield self._list
        yield self._over
        with Horizontal():
            yield Label("Reason", markup=False)
            yield self._field
        yield self._keys

    def on_mount(self) -> None:
        super().on_mount()
        self.tick()
        self.set_focus(self._field)

    def tick(self) -> None:
        left = self.open
        gone = len(self._rows) - len(left)
        self.caption(SafeText(f"Cancel {plural(len(left))}"))
        self.say(self._list, SafeText("\n".join(listed(left)) or "Nothing is left to cancel."))
        self._over.display = bool(gone)
        self.say(self._over, SafeText(f"{plural(gone)} of the marked already over: left alone"))
        pairs: list[Hint]
        pairs = (
            [("reason.cancel", "cancel them"), ("app.back", "keep waiting")]
            if left
            else [("reason.cancel", "close")]
        )
        if left and self._recent:
            pairs.insert(1, ("reason.earlier", "recent"))
        self.say(self._keys, *self.keys(pairs))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_cancel()

    def action_cancel(self) -> None:
        """Cancel with what is typed."""
        self.dismiss((self._field.value.strip() or default_reason()) if self.open else None)

    @property
    def unsent(self) -> str:
        """What stands in the field; empty for nothing."""
        return self._field.value.strip()

    def action_recall(self, step: int) -> None:
        """Go through the recent reasons; past the latest stands what was typed before."""
        at = min(len(self._recent) - 1, max(-1, self._at + step))
        if at == self._at:
            return
        if self._at == -1:
            self._draft = self._field.value
        self._at = at
        self._field.recall(self._draft if at == -1 else self._recent[at])
