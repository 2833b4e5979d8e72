"""The list of commands: one line for each, found by its name or by other words for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.host import Offer
from mcp_tui.tui.screens.dialog import Dialog
from mcp_tui.tui.widgets.line_input import LineInput
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.view.keys import CHOOSE
from mcp_tui.view.lines import Line, Lines
from mcp_tui.view.text import NOTHING, fit, safe, width, words

LIST_LINES: Final = 20
"""The maximum number of lines of the list."""


class PaletteScreen(Dialog[Offer | None]):
    """Dismisses with the command to run, or ``None`` on esc.

    ``find`` returns the commands that a text may mean, the best first. A theme under the cursor is shown at once.
    """

    BINDINGS = bindings(CHOOSE)
    HINTS = [("enter", "Run"), ("choose.up choose.down", "Choose"), ("app.back", "Close")]

    def __init__(self, find: Callable[[str], Sequence[Offer]]) -> None:
        self._find = find
        self._found = find("")
        self._changes = 0
        self._most = len(self._found)
        self._input = LineInput(placeholder="type to search", id="filter", compact=True)
        source = Lines(
            lambda: range(len(self._found)),
            lambda number: self._found[number],
            self._line,
            lambda: self._changes,
        )
        self._lines = LineList(
            source, what="command", from_top=True, empty="No matching command.", id="entries"
        )
        self._lines.can_focus = False
        super().__init__(self._input, self._lines, title=words("Commands"))

    def on_mount(self) -> None:
        self._size_list()  # set before the first drawing, so that it is drawn once

    def on_resize(self) -> None:
        self._size_list()
        self.call_after_refresh(self._point)

    def _size_list(self) -> None:
        """Makes the dialog as high as the unfiltered list, so that it does not move while a person types."""
        self._lines.styles.height = max(3, min(self._most, LIST_LINES, self.app.size.height - 10) + 2)

    def on_input_changed(self) -> None:
        self._found = self._find(self._input.value)
        self._changes += 1
        self._lines.source = self._lines.source  # makes the list start at its first line
        self._point()

    def _point(self) -> None:
        """Puts the cursor on the first line, unless it is on another one."""
        if self.on_top and self._lines.cursor_line is None:
            self._lines.action_top()
            self._preview()

    def _line(self, number: int, space: int) -> Line:
        offer = self._found[number]
        names = min(max(width(each.name) for each in self._found), max(32, space * 2 // 5))
        keys = max(width(each.key) for each in self._found)
        if width(offer.name) > names:  # a long name uses the room of its note
            names = min(width(offer.name), space - keys - 1)
        note = max(0, space - names - keys - 3)
        tone = "" if offer.now else "muted"
        return Line(
            (
                (fit(offer.name, names), tone),
                (safe("  {} ", fit(offer.note, note)) if note else NOTHING, "muted"),
                (fit(offer.key, keys, right=True), "accent"),
            ),
            offer,
        )

    @property
    def chosen(self) -> Offer | None:
        """The command under the cursor; the first one before the list was drawn."""
        at = self._lines.cursor_line or 0
        return self._found[at] if at < len(self._found) else None

    def _preview(self) -> None:
        offer, app = self.chosen, self.app
        app.chosen_theme = app.chosen_theme or app.theme
        app.theme = (offer.theme if offer is not None else "") or app.chosen_theme

    # -- keys ------------------------------------------------------------------------------------------------

    def action_choose(self, step: str) -> None:
        if self._found:
            getattr(self._lines, f"action_{step}")()

    def on_list_canvas_selected(self) -> None:
        if self.on_top:
            self._preview()

    def on_list_canvas_activated(self) -> None:
        self.on_input_submitted()

    def on_input_submitted(self) -> None:
        if self.chosen is not None:
            self.dismiss(self.chosen)
