"""Lines across the screen: the server at the top, the keys that work now at the bottom, and above these, in a recording,
whether it plays, the moment, the event, and how far that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from textual import events
from textual.message import Message
from textual.strip import Strip

from mcp_tui.journal.event_table import KINDS
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import name_of
from mcp_tui.tui.bindings import footer, in_footer, keys
from mcp_tui.tui.keys.key import Key
from mcp_tui.tui.view.lines import Segments
from mcp_tui.tui.view.rows import bar
from mcp_tui.tui.view.server import ServerFacts, server_bar
from mcp_tui.tui.view.text import NOTHING, SafeText, brief, clean, clip, fit, join, safe, width, words
from mcp_tui.tui.widgets.canvas import Bar

KEPT: Final = frozenset({"app.help", "app.leave"})
"""Keys that lead to all others and out, by their ids. No sentence covers them."""

_SPACE: Final = words(" ")


class KeyBar(Bar, can_focus=False):
    """Keys with their labels: those that are :attr:`offered` and would do something now, as many as there is room for."""

    @dataclass
    class Pressed(Message):
        """A click on a key."""

        key: Key

    def __init__(self, *, now: Callable[[], float], id: str | None = None) -> None:
        super().__init__(id=id)
        self.now = now
        self.offered: Callable[[], Iterable[Key]] = keys
        self.said: SafeText = NOTHING
        self._tone = ""
        self._until = 0.0
        self._holds: Callable[[], bool] = lambda: True
        self._idle: AbstractSet[str] = frozenset()
        self._keys: list[Key] | None = None

    def tell(
        self,
        text: SafeText,
        tone: str = "warning",
        *,
        seconds: float = 6.0,
        holds: Callable[[], bool] = lambda: True,
    ) -> None:
        """Say one sentence in place of most keys, for a while and no longer than it ``holds``."""
        self.said, self._tone, self._until, self._holds = text, tone, self.now() + seconds, holds
        self.refresh()

    def hush(self) -> None:
        """Show the keys again."""
        if self.said:
            self.said = NOTHING
            self.refresh()

    def show(self, idle: AbstractSet[str]) -> None:
        """Set which keys would do nothing now, by id; and let a sentence go when its time is over."""
        if self.said and (self.now() >= self._until or not self._holds()):
            self.hush()
        offered = [*self.offered()]
        if idle != self._idle or offered != self._keys:
            self._idle, self._keys = idle, offered
            self.refresh()

    def fitting(self) -> list[Key]:
        """The keys that there is room for, each whole: first the last of the wide go, but never those of :data:`KEPT`."""
        offered = self.offered() if self._keys is None else self._keys
        shown = [key for key in footer(offered) if key.id not in self._idle or key.id in KEPT]
        if self.said:
            return [key for key in shown if key.id in KEPT]
        while sum(_cells(key) for key in shown) > self.inner_width + 1:
            spare = [key for key in shown if key.id not in KEPT]
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
        """The cell where the first of the keys begins: beside a sentence they stand at the right end."""
        return max(2, self.inner_width + 1 - sum(map(_cells, keys))) if self.said else 1

    def on_click(self, event: events.Click) -> None:
        keys = self.fitting()
        at = self._start(keys)
        if event.x < at:
            return
        for key in keys:
            at += _cells(key)
            if event.x < at:
                self.post_message(self.Pressed(key))
                return


def _cells(key: Key) -> int:
    return width(safe("{} {}  ", in_footer(key), key.label))


class ServerBar(Bar, can_focus=False):
    """One line that says what :meth:`show` was told last."""

    facts = ServerFacts()

    def show(self, facts: ServerFacts) -> None:
        """Say something else; the same again costs nothing."""
        if facts != self.facts:
            self.facts = facts
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self.strip(server_bar(self.facts, self.inner_width)) if y == 0 else self.blank()


# -- the line above the keys of a recording ------------------------------------------------------------------

NARROW: Final = 100
"""Cells below which words give way."""

LEAST: Final = 8
"""Cells of the graph below which it is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What the bar says. ``speed`` is how many times as fast as it happened a recording is played, ``None`` where it
    stands still; ``read`` the share of the file that was read, ``None`` where that is all. ``event`` is the last thing
    that happened, ``damaged`` counts what had to be left out.
    """

    speed: float | None = None
    read: float | None = None
    moment: SafeText = NOTHING
    position: int = 0
    events: int = 0
    event: SafeText = NOTHING
    damaged: int = 0

    @property
    def share(self) -> float:
        """How far it is, from 0 to 1."""
        return self.position / self.events if self.events else 0.0


def said(event: ev.Event | None) -> SafeText:
    """An event in a few words: ``cancel requested 212``."""
    if event is None:
        return NOTHING
    name = clean(name_of(type(event)).replace("_", " "))
    return join((name, brief(str(event.id), 40)), " ") if isinstance(event, ev.RequestEvent) else name


LONGEST: Final = max(len(kind.__name__) for kind in KINDS) + 8
"""Cells that the words of an event have, so that the graph stays where it is."""


def position_bar(facts: Position, cells: int) -> Segments:
    """The bar in ``cells`` cells."""
    pieces = _words(facts, cells)
    room = graph(facts, cells)
    rest = () if room is None else ((bar(facts.share, room[1]), "accent"),)
    taken = sum(width(text) for text, _ in (*pieces, *rest))
    return (*pieces, *rest, (clean(" " * max(0, cells - taken)), ""))


def graph(facts: Position, cells: int) -> tuple[int, int] | None:
    """The cell where the graph begins, and how many it has; ``None`` where there is no room for it."""
    start = sum(width(text) for text, _ in _words(facts, cells))
    room = cells - start - 1
    return (start, room) if room >= LEAST else None


def _words(facts: Position, cells: int) -> Segments:
    wide = cells >= NARROW
    gap = words("   ") if wide else words("  ")
    if facts.read is not None:
        state = safe("reading {:>2}%", int(facts.read * 100))
    else:
        state = words("paused") if facts.speed is None else safe("playing {:g}×", facts.speed)
    number = f"{facts.position:>{len(f'{facts.events:,}')},}"
    pieces = [
        (safe(" {:<11}", state), "warning" if facts.read is not None else "title"),
        (safe("{}{}", gap, facts.moment), "muted"),
        (safe("{}event {} of {:,}", gap, number, facts.events), ""),
    ]
    if facts.damaged:
        pieces.append((safe("{}{:,} skipped", gap, facts.damaged), "warning"))
    used = sum(width(text) for text, _ in pieces)
    room = min(LONGEST, cells - used - 2 * len(gap) - LEAST)
    if room >= 10:
        pieces.append((safe("{}{:<{}}", gap, clip(facts.event, room), room), "muted"))
    return (*pieces, (gap, ""))


class PositionBar(Bar, can_focus=False):
    """One line that says what :meth:`show` was told last. A click on the graph posts :class:`Pressed`."""

    DEFAULT_CSS = "PositionBar { background: $surface; }"

    position = Position()

    @dataclass
    class Pressed(Message):
        """A click on the graph, at a share of it from 0 to 1."""

        share: float

    def show(self, position: Position) -> None:
        """Say something else; the same again costs nothing."""
        if position != self.position:
            self.position = position
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self.strip(position_bar(self.position, self.inner_width)) if y == 0 else self.blank()

    def on_click(self, event: events.Click) -> None:
        found = graph(self.position, self.inner_width)
        if found is not None and found[0] <= event.x < found[0] + found[1]:
            self.post_message(self.Pressed((event.x - found[0] + 1) / found[1]))
