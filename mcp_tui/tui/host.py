"""The app as every screen of ours sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from textual.app import App
from textual.filter import LineFilter
from textual.keys import key_to_character

from mcp_tui.config.settings import Timers
from mcp_tui.tui.key_guard import KeyGuard
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.view.text import NOTHING, SafeText
from mcp_tui.tui.widgets.canvas import AsciiTwins

STYLESHEET: Final = Path(__file__).with_name("app.tcss")
"""The stylesheet of all screens and widgets."""

Offer = tuple[SafeText, SafeText, Callable[[], object]]
"""A command of the palette: its name, a note, and its function."""


class Host(App[int], inherit_bindings=False):
    """An app for our screens.

    If the settings say ``ascii``, the terminal cannot show the glyphs, so their ASCII twins are drawn. ``timers`` says how
    clocks run: ``live``, ``slow`` (once a second), or ``off`` (only when something else changes).
    """

    CSS_PATH = STYLESHEET

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self.preferences = preferences
        self.ascii = preferences.settings.ascii is True
        self.timers: Timers = preferences.settings.timers
        self.guard = KeyGuard()
        self.theme_names: list[str] = []
        self.chosen_theme = ""
        """The theme to go back to while another one is previewed."""
        self._twins = [AsciiTwins()] if self.ascii else []

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """Leaves a key to the focused widget if it is text there, whatever a person has bound to it."""
        if (
            priority
            and self.focused is not None
            and self.focused.check_consume_key(key, key_to_character(key))
        ):
            return False
        return await super()._check_bindings(key, priority)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self._twins]

    @property
    def whose(self) -> SafeText:
        """The name of the server on the screen; empty while there is only one."""
        return NOTHING

    def offers(self) -> Iterable[Offer]:
        """Returns the commands about servers."""
        return ()

    def offers_elsewhere(self, query: str) -> Iterable[Offer]:
        """Returns the commands about requests of servers that are not on the screen."""
        return ()
