"""The base class of apps that can show our screens."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple, TypeVar, cast

from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter
from textual.keys import key_to_character
from textual.screen import Screen

from mcp_tui.config.settings import Timers
from mcp_tui.tui.key_guard import KeyGuard
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.terminal.background import assumed_light
from mcp_tui.tui.terminal.driver import TerminalDriver
from mcp_tui.tui.terminal.editor_and_pager import Programs
from mcp_tui.tui.themes import AUTO, automatic
from mcp_tui.tui.widgets.canvas import AsciiTwins
from mcp_tui.view.text import NOTHING, SafeText, symbols

FRAME_STYLES: Final = Path(__file__).with_name("frame.tcss")
"""The styles of the first screen of a workbench."""

STYLES: Final = Path(__file__).with_name("app.tcss")
"""The styles of all other screens and widgets."""


OPENING_TURNS: Final = 50
"""The number of turns of the event loop until an opened screen receives keys."""

SCREEN_WAIT_SECONDS: Final = 2.0
"""Seconds for which a key waits for its screen."""

Result = TypeVar("Result")


class Offer(NamedTuple):
    """A command of the palette.

    Attributes:
        name: its name.
        note: its effect, for a person.
        run: its function.
        key: the key with the same effect, if there is one.
        now: whether it would do something now.
        theme: the theme that it chooses, if any.
    """

    name: SafeText
    note: SafeText
    run: Callable[[], object]
    key: SafeText = NOTHING
    now: bool = True
    theme: str = ""


class Host(App[int], inherit_bindings=False):
    """An app for our screens.

    With the setting ``ascii`` the terminal cannot show the glyphs, so their ASCII twins are drawn. ``timers`` is
    ``live``, ``slow`` (updated once a second), or ``off`` (updated only when something else changes).
    """

    CSS_PATH = [FRAME_STYLES, STYLES]

    def __init__(self, preferences: Preferences, styles: list[str | PurePath] | None = None) -> None:
        super().__init__(css_path=styles)
        self.preferences = preferences
        self.ascii = preferences.settings.ascii is True
        self.timers: Timers = preferences.settings.timers
        self.guard = KeyGuard()
        self.programs = Programs(self)
        self.terminal: TerminalDriver | None = None
        """The terminal, after the start; ``None`` in a browser."""
        self.theme_names: list[str] = []
        self.chosen_theme = ""
        """The theme to restore after the preview of another one."""
        self.light = assumed_light()
        """Whether the terminal has a light background, as far as known."""
        self.automatic = preferences.settings.theme == AUTO
        """Whether the theme follows the terminal's background."""
        self._twins = [AsciiTwins()] if self.ascii else []

    def get_driver_class(self) -> type[Driver]:
        """Returns our driver, or the driver that ``TEXTUAL_DRIVER`` names."""
        if os.environ.get("TEXTUAL_DRIVER"):
            return super().get_driver_class()
        return TerminalDriver

    def suiting(self, theme: str) -> str:
        """Returns the name of a theme; for :data:`AUTO`, the theme that suits the terminal."""
        return automatic(self.console.color_system, light=self.light) if theme == AUTO else theme

    def choose_theme(self, name: str) -> None:
        """Uses a theme, and stores it for the next start unless the settings name one."""
        look = self.preferences.look
        self.automatic = name == AUTO
        self.theme = self.suiting(name)
        if not look.themed:
            look.theme = "" if self.automatic else name

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """Leaves a key to the focused widget if it is text there, even if a person bound it to a command."""
        if (
            priority
            and self.focused is not None
            and self.focused.check_consume_key(key, key_to_character(key))
        ):
            return False
        return await super()._check_bindings(key, priority)

    def copy_to_clipboard(self, text: str, *, raw: bool = False) -> None:
        """Copies a text by OSC 52, with control characters as symbols, because a shell would obey them. ``raw`` keeps
        them.
        """
        super().copy_to_clipboard(text.encode("utf-8", "replace").decode() if raw else symbols(text))

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self._twins]

    def page(self, text: str) -> None:
        """Shows a text in the person's pager."""
        self.run_worker(partial(self.programs.read, text), group="program", exit_on_error=True)

    async def open_over(
        self,
        screen: Screen[Result],
        answered: Callable[[Result | None], Awaitable[None] | None] | None = None,
    ) -> None:
        """Opens a screen and waits until it receives keys, so that keys typed ahead reach it."""
        await self.push_screen(screen, cast("Callable[[Result | None], None] | None", answered))
        for _ in range(OPENING_TURNS):
            if screen.focused is not None:
                break
            await asyncio.sleep(0)

    async def arrived(self, screen: Screen[Any]) -> bool:
        """Waits until a pushed screen has its widgets; returns false if that does not happen."""
        until = time.monotonic() + SCREEN_WAIT_SECONDS
        while not screen.is_mounted and time.monotonic() < until:  # noqa: ASYNC110 - Textual has no event for it
            await asyncio.sleep(0)
        return screen.is_mounted

    @property
    def server_name(self) -> SafeText:
        """The name of the server on the screen; empty while there is only one."""
        return NOTHING

    def offers(self) -> Iterable[Offer]:
        """Returns the commands about servers."""
        return ()

    def offers_elsewhere(self, query: str) -> Iterable[Offer]:
        """Returns the commands about requests of servers that are not on the screen."""
        return ()
