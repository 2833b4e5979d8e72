"""Finding a text in what is shown: ``/`` and the text, then ``n`` and ``N`` from place to place."""

from __future__ import annotations

from typing import Final

from textual.strip import Strip

from mcp_tui.tui.bindings import means
from mcp_tui.tui.view.text import SafeText, clean, safe, words
from mcp_tui.tui.widgets.canvas import Canvas, marked

_NOT_FOUND: Final = words("not found")

LONGEST: Final = 200
"""Characters of a text that is looked for."""


class Finder:
    """What is looked for, and which of the places it was found in is shown; ``nothing`` is said where there is none.

    Attributes:
        typing: whether it is being typed.
        wanted: the text.
        found: how many places there are; ``None`` while they are looked for.
        at: which of them is shown, from 0.
    """

    def __init__(self, nothing: SafeText = _NOT_FOUND) -> None:
        self._nothing = nothing
        self.typing = False
        self.wanted = ""
        self.found: int | None = 0
        self.at = 0

    def begin(self) -> None:
        """Type a text anew."""
        self.typing, self.wanted, self.found, self.at = True, "", 0, 0

    def end(self) -> None:
        """Look for nothing any more."""
        self.typing, self.wanted, self.found = False, "", 0

    def takes(self, key: str, character: str | None) -> bool:
        """Whether a key was part of the typing; then :attr:`wanted` and :attr:`typing` say what came of it."""
        if not self.typing:
            return False
        if key == "enter":
            self.typing = False
        elif means("app.back", key):
            self.end()
        elif key == "backspace":
            self.wanted = self.wanted[:-1]
        elif character is not None and character.isprintable():
            self.wanted = (self.wanted + character)[:LONGEST]
        return True

    def step(self, by: int) -> None:
        """To another place; behind the last comes the first."""
        if self.found:
            self.at = (self.at + by) % self.found

    def highlighted(self, canvas: Canvas, strip: Strip) -> Strip:
        """A line with the text shown as selected, where it stands in that."""
        wanted = self.wanted.casefold()
        start = strip.text.casefold().find(wanted) if wanted else -1
        return marked(canvas, strip, (start, start + len(wanted)) if start >= 0 else None)

    @property
    def said(self) -> SafeText:
        """What stands in the border: ``/wanted▏ 3 of 17``."""
        if not self.typing and not self.wanted:
            return words("")
        cursor = "▏" if self.typing else ""
        if not self.wanted:
            count = ""
        elif self.found is None:
            count = "  …"
        elif self.found:
            count = f"  {self.at + 1:,} of {self.found:,}"
        else:
            count = safe("  {}", self._nothing)
        return safe("/{}{}{}", clean(self.wanted), cursor, count)
