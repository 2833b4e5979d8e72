"""What may be chosen for a field, listed over what lies below it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mcp_tui.client.fields import Choice
from mcp_tui.tui.view.forms import Styled
from mcp_tui.tui.view.glyphs import ascii_twin
from mcp_tui.tui.view.text import brief, safe, width, words

LISTED: Final = 8
"""Lines of choices in sight."""


def styled(pieces: Sequence[Styled], *, ascii_only: bool = False) -> Content:
    """Pieces as Textual's text, none of it read as markup."""
    parts = [Content.styled(ascii_twin(text) if ascii_only else text, style) for text, style in pieces]
    return Content("").join(parts)


class Choices(OptionList):
    """What may be chosen, over what lies below the field. The focus stays in the field."""

    can_focus = False

    DEFAULT_CSS = """
    Choices {
        display: none;
        overlay: screen;
        constrain: none inflect;
        padding: 0 1;
        border: none;
        background: $panel;
        scrollbar-size-vertical: 1;
        & > .option-list--option-highlighted {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
        }
    }
    """

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(markup=False, compact=True)
        self._ascii = ascii_only

    def put(
        self,
        choices: Sequence[Choice],
        at: int | None,
        *,
        chosen: Collection[str] | None = None,
        more: int = 0,
    ) -> None:
        """List choices with the cursor at one; ``chosen`` marks labels where several may be; ``more`` are not listed."""
        self.clear_options()
        self.add_options([Option(self._said(each, chosen)) for each in choices])
        if more > 0:
            said = safe("… {:,} more: type to find them", more)
            self.add_option(Option(styled([(said, "$text-muted")], ascii_only=self._ascii), disabled=True))
        self.highlighted = at
        cells = [width(brief(each.label, 80)) + width(brief(each.title, 60)) for each in choices]
        self.styles.max_height = LISTED
        self.styles.height = min(LISTED, self.option_count)
        self.styles.width = max(16, min(60, max(cells, default=0) + 10))
        self.display = True

    def _said(self, choice: Choice, chosen: Collection[str] | None) -> Content:
        mark = words("") if chosen is None else words("[x] ") if choice.label in chosen else words("[ ] ")
        titled = choice.title and choice.title != choice.label
        title = safe("  {}", brief(choice.title, 60)) if titled else words("")
        pieces = [(mark, ""), (brief(choice.label, 80), ""), (title, "$text-muted")]
        return styled(pieces, ascii_only=self._ascii)
