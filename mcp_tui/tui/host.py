"""What every screen of ours may ask of its app."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from textual.app import App
from textual.filter import LineFilter

from mcp_tui.config.settings import Timers
from mcp_tui.tui.key_guard import KeyGuard
from mcp_tui.tui.view.text import NOTHING, SafeText
from mcp_tui.tui.widgets.canvas import AsciiTwins

STYLESHEET: Final = Path(__file__).with_name("app.tcss")
"""The stylesheet of all screens and widgets."""


class Host(App[int], inherit_bindings=False):
    """An app that screens of ours can stand in.

    ``ascii`` says that the terminal cannot show the glyphs; they are drawn as their twins then. ``timers`` says how clocks
    run: ``live``, ``slow`` (once a second), or ``off``, only with what changes.
    """

    CSS_PATH = STYLESHEET

    def __init__(self, *, ascii_only: bool = False, timers: Timers = "live") -> None:
        super().__init__()
        self.ascii = ascii_only
        self.timers: Timers = timers
        self.guard = KeyGuard()
        self._twins = [AsciiTwins()] if ascii_only else []

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self._twins]

    @property
    def whose(self) -> SafeText:
        """What the server on the screen is called; empty while there is no other."""
        return NOTHING
