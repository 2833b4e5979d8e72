"""The catalogue as a list: it is read from its top, and does not follow what is added."""

from __future__ import annotations

from mcp_tui.tui.view.catalogue import Catalogue, Entry
from mcp_tui.tui.view.text import join, safe, words
from mcp_tui.tui.widgets.line_list import LineList


class CatalogueList(LineList):
    """Entries of a :class:`~mcp_tui.tui.view.catalogue.Catalogue`; enter on one posts :class:`LineList.Activated`."""

    def __init__(self, catalogue: Catalogue, *, id: str | None = None) -> None:
        empty = "Nothing here until a server is connected."
        super().__init__(catalogue, title="Catalogue", empty=empty, id=id)
        self._catalogue = catalogue
        self._follow = False

    def on_focus(self) -> None:
        """Take up the first entry in sight, so that enter has something to call."""
        if self.selected is not None:
            return
        top = self.scroll_offset.y
        for number in range(top, self.count):
            if isinstance(self._line(number).key, Entry):
                self.select(number)
                return

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._follow = False

    def _caption(self) -> None:
        count = self._catalogue.count
        self.caption(self.title, join((*self._about, (safe("{:,}", count) if count else words(""))), " · "))

    @property
    def entry(self) -> Entry | None:
        """The entry under the cursor."""
        line = self.selected
        return line.key if line is not None and isinstance(line.key, Entry) else None
