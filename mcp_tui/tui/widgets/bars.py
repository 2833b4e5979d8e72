"""The server bar at the top of the screen, and the key bar at the bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

from textual import events
from textual.strip import Strip

from mcp_tui.tui.widgets.canvas import Bar
from mcp_tui.view.keys import Key, in_footer, keys
from mcp_tui.view.server_bar import ServerFacts, server_bar
from mcp_tui.view.text import NOTHING, SafeText, fit, safe, width, words

ALWAYS_SHOWN: Final = frozenset({"app.help", "app.leave"})
"""The keys for help and quitting, by id; no sentence covers them."""

_SPACE: Final = words(" ")


class KeyBar(Bar, can_focus=False):
    """The offered keys that would do something now, as many as fit."""

    def __init__(self) -> None:
        super().__init__(id="keys")
        self.said: SafeText = NOTHING
        self._tone = ""
        self._until = 0.0
        self._applies: Callable[[], bool] = lambda: True
        self._keys: list[Key] = []
        self.show(keys())

    def show_message(
        self,
        text: SafeText,
        tone: str = "warning",
        *,
        seconds: float = 6.0,
        applies: Callable[[], bool] = lambda: True,
    ) -> None:
        """Shows a sentence instead of most keys for a while, but only while ``applies`` returns true."""
        self.said, self._tone, self._until, self._applies = text, tone, time.monotonic() + seconds, applies
        self.refresh()

    def hush(self) -> None:
        """Shows the keys again."""
        if self.said:
            self.said = NOTHING
            self.refresh()

    def show(self, offered: Iterable[Key], idle: AbstractSet[str] = frozenset()) -> None:
        """Shows the offered keys without idle ones, by id; hides a sentence whose time is over."""
        if self.said and (time.monotonic() >= self._until or not self._applies()):
            self.hush()
        shown = [key for key in offered if key.footer and (key.id not in idle or key.id in ALWAYS_SHOWN)]
        if shown != self._keys:
            self._keys = shown
            self.refresh()

    def fitting(self) -> list[Key]:
        """Returns the keys that fit: the last wide ones are left out first, :data:`ALWAYS_SHOWN` never."""
        shown = sorted(self._keys, key=lambda key: key.footer)
        if self.said:
            return [key for key in shown if key.id in ALWAYS_SHOWN]
        while sum(_cells(key) for key in shown) > self.inner.width + 1:
            spare = [key for key in shown if key.id not in ALWAYS_SHOWN]
            if not spare:
                break
            wide = [key for key in spare if key.wide]
            shown.remove((wide or spare)[-1])
        return shown

    def render_line(self, y: int) -> Strip:
        if y:
            return self.blank()
        keys = self.fitting()
        pieces: list[tuple[SafeText, str]] = [(_SPACE, "")]
        if self.said:
            pieces.append((fit(self.said, self._start(keys) - 2), self._tone))
            pieces.append((_SPACE, ""))
        for key in keys:
            pieces += [(in_footer(key), "accent"), (safe(" {}  ", key.label), "")]
        return self.strip(pieces)

    def _start(self, keys: Iterable[Key]) -> int:
        """Returns the first cell of the keys, which are at the right end next to a sentence."""
        return max(2, self.inner.width + 1 - sum(map(_cells, keys))) if self.said else 1

    def on_click(self, event: events.Click) -> None:
        keys = self.fitting()
        at = self._start(keys)
        if event.x < at:
            return
        for key in keys:
            at += _cells(key)
            if event.x < at:
                self.run_worker(partial(self.screen.run_action, key.action))
                return


def _cells(key: Key) -> int:
    return width(safe("{} {}  ", in_footer(key), key.label))


class ServerBar(Bar, can_focus=False):
    """The line with the facts of :meth:`show`."""

    facts = ServerFacts()

    def show(self, facts: ServerFacts) -> None:
        """Shows other facts."""
        if facts != self.facts:
            self.facts = facts
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self.strip(server_bar(self.facts, self.inner.width)) if y == 0 else self.blank()
