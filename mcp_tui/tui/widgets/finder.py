"""Finding a text in what is shown: ``/`` and the text, then ``n`` and ``N`` from place to place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual import events
from textual.strip import Strip

from mcp_tui.tui.bindings import means
from mcp_tui.tui.view.pages import Place
from mcp_tui.tui.view.text import NOTHING, SafeText, clean, safe, words
from mcp_tui.tui.widgets.canvas import Canvas, marked

LONGEST: Final = 200
"""Characters of a text that is looked for."""


class Finder(Canvas):
    """A canvas in which a text can be found.

    Attributes:
        not_found: is said where the text has no place.
        typing: whether the text is being typed.
        wanted: the text.
        places: where it is; ``None`` while it is looked for.
        match: the number of the place that is shown, from 0.
    """

    not_found = words("not found")
    typing = False
    wanted = ""
    places: Sequence[Place] | None = ()
    match = 0

    # -- for the widget to say ---------------------------------------------------------------------------------

    def look(self) -> None:
        """Look for :attr:`wanted`, set :attr:`places`, and then :meth:`go`."""
        raise NotImplementedError

    def reveal(self, place: Place) -> None:
        """Bring a place into sight."""
        raise NotImplementedError

    def placed(self) -> None:
        """Say in the border where one is, or :attr:`said`."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------------------------

    @property
    def finding(self) -> bool:
        """Whether a text to find is being typed here."""
        return self.has_focus and self.typing

    def end(self) -> None:
        """Look for nothing any more."""
        self.typing, self.wanted, self.places = False, "", ()

    def go(self) -> None:
        """Show the match."""
        if self.places:
            self.match = min(self.match, len(self.places) - 1)
            self.reveal(self.places[self.match])
        self.placed()
        self.refresh()

    async def _on_key(self, event: events.Key) -> None:
        if not self.typing:
            return
        event.stop()
        event.prevent_default()
        before = self.wanted
        if event.key == "enter":
            self.typing = False
        elif means("app.back", event.key):
            self.end()
        elif event.key == "backspace":
            self.wanted = self.wanted[:-1]
        elif event.character is not None and event.character.isprintable():
            self.wanted = (self.wanted + event.character)[:LONGEST]
        if self.wanted != before:
            self.match = 0
            self.look()
        self.placed()
        self.refresh()

    def on_blur(self) -> None:
        self.typing = False
        self.placed()

    def action_find(self) -> None:
        """Type what is to be found."""
        self.end()
        self.typing, self.match = True, 0
        self.placed()

    def action_step(self, by: int) -> None:
        """To the next place, or the one before; behind the last comes the first."""
        if not self.wanted:
            self.action_find()
            return
        if self.places:
            self.match = (self.match + by) % len(self.places)
        self.go()

    def highlighted(self, strip: Strip) -> Strip:
        """A line with the text shown as selected, where it stands in that."""
        wanted = self.wanted.casefold()
        start = strip.text.casefold().find(wanted) if wanted else -1
        return marked(self, strip, (start, start + len(wanted)) if start >= 0 else None)

    @property
    def said(self) -> SafeText:
        """What stands in the border: ``/wanted▏ 3 of 17``."""
        if not self.typing and not self.wanted:
            return NOTHING
        if not self.wanted:
            count = ""
        elif self.places is None:
            count = "  …"
        elif self.places:
            count = f"  {self.match + 1:,} of {len(self.places):,}"
        else:
            count = safe("  {}", self.not_found)
        return safe("/{}{}{}", clean(self.wanted), "▏" if self.typing else "", count)
