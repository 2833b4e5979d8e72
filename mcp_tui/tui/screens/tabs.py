"""The titles of the panes: tabs, where several panes share one place."""

from __future__ import annotations

from typing import Final, LiteralString, Protocol

from textual import events

from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.view.text import SafeText, join, safe, words
from mcp_tui.tui.widgets.canvas import Canvas

SHARED: Final = ("log", "wire", "timeline")
"""The panes that share one place in three columns."""

TABS: Final = {
    "detail": words("Detail"),
    "catalogue": words("Catalogue"),
    "cancellations": words("Cancellations"),
    "log": words("Log"),
    "wire": words("Wire"),
    "timeline": words("Timeline"),
}
"""The panes in the order of their keys and tabs."""

FRAME: Final = 6
"""Cells of a border beside its title."""


class Paned(Protocol):
    """A screen with panes."""

    panes: dict[str, Canvas]

    @property
    def sharing(self) -> tuple[str, ...]: ...


class TabTitles:
    """The titles of a screen's panes."""

    def __init__(self, screen: Paned) -> None:
        self._screen = screen
        self._counts: dict[str, int] = {}
        self._rooms: dict[tuple[str, ...], int] = {}

    def count(self, counts: dict[str, int]) -> None:
        """Say in the tabs how much there is."""
        if counts != self._counts:
            self._counts = counts
            self.caption()

    def caption(self) -> None:
        """Title all panes; how wide a place is says the one that is shown in it, once it was laid out."""
        panes = self._screen.panes
        for name, widget in panes.items():
            if widget.display and widget.region:  # one that was hidden has the size that it had then
                self._rooms[self._sharing(name)] = widget.region.width
        for name, widget in panes.items():
            widget.retitle(self.title_of(name))

    def title_of(self, pane: str) -> SafeText:
        """The title of a pane: the tabs that share its place."""
        labels, between = self._labels(pane)
        return join(labels.values(), between) if labels else TABS[pane]

    def at(self, event: events.Click) -> str:
        """The name of the pane whose tab was clicked in the border of one; empty for none."""
        widget = event.widget
        if widget not in self._screen.panes.values() or widget is None or event.screen_y != widget.region.y:
            return ""
        at = event.screen_x - widget.region.x - 2
        labels, between = self._labels(str(widget.id))
        for name, label in labels.items():
            if 0 <= at < len(label):
                return name
            at -= len(label) + len(between)
        return ""

    def _labels(self, active: str) -> tuple[dict[str, SafeText], LiteralString]:
        """The tabs in the place of a pane, brackets around the one that is shown, and what stands between two of them.

        Where there is no room, they do without how much is in them, then stand closer together; then those that are not
        shown are named by their keys.
        """
        names = self._sharing(active)
        room = self._rooms.get(names, 0) - FRAME
        labels: dict[str, SafeText] = {}
        between: LiteralString = " "
        by_key = {name: key_of(f"view.pane-{place}") for place, name in enumerate(TABS, 1)}
        forms: tuple[tuple[dict[str, SafeText], dict[str, int], LiteralString], ...] = (
            (TABS, self._counts, "  "),
            (TABS, {}, "  "),
            (TABS, {}, " "),
            ({**by_key, active: TABS[active]}, {}, " "),
        )
        for known, counts, between in forms:
            labels = {name: _tab(known[name], counts.get(name, 0), chosen=name == active) for name in names}
            if room <= 0 or len(join(labels.values(), between)) <= room:
                break
        return labels, between

    def _sharing(self, name: str) -> tuple[str, ...]:
        """The panes that share the place of this one."""
        sharing = self._screen.sharing
        return sharing if name in sharing else ()


def _tab(label: SafeText, count: int, *, chosen: bool) -> SafeText:
    if chosen:
        return safe("[{}]", label)
    return safe("{} {:,}", label, count) if count else label
