"""How the room is shared out among the panes, in shares of the whole: what keys change, and a file keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from mcp_tui.protocol.values import fact

Border = Literal["left", "right", "split", "lower", "tabs"]
"""What can be moved: the right edge of the catalogue; the left one of the detail; the border between the cancellations and
what stands beside them; the top of the lower row, where panes stand side by side; and the edge of the tabs."""

LEAST: Final = 0.1
"""The share that every pane keeps."""


@fact
class Shares:
    """Places of the borders, from the left or from the top."""

    left: float = 0.171
    right: float = 0.764
    split: float = 0.55
    lower: float = 0.667
    tabs: float = 0.55

    def moved(self, border: Border, to: float) -> Shares:
        """These with a border elsewhere, as near to ``to`` as the others and their panes permit."""
        low, high = {
            "left": (LEAST, self.split - LEAST),
            "right": (self.split + LEAST, 1 - LEAST),
            "split": (self.left + LEAST, self.right - LEAST),
            "lower": (2 * LEAST, 1 - LEAST),
            "tabs": (2 * LEAST, 1 - LEAST),
        }[border]
        changed: dict[str, float] = {border: round(max(low, min(high, to)), 3)}
        return replace(self, **changed)

    def raised(self, by: float, *, wide: bool) -> Shares:
        """These with more room for the panes below the requests."""
        return self.moved("lower", self.lower - by) if wide else self.moved("tabs", self.tabs - by)

    def widened(self, pane: str, by: float) -> Shares:
        """These with more room at the sides, or for a pane in the row below: ``cancellations``, or ``log`` beside them."""
        made = self
        if pane in {"cancellations", "log"}:
            return made.moved("split", made.split + (by if pane == "cancellations" else -by))
        if pane != "detail":
            made = made.moved("left", made.left + by)
        return made if pane == "catalogue" else made.moved("right", made.right - by)

    def columns(self) -> str:
        """The columns of the grid where panes stand side by side, as a stylesheet has them."""
        widths = (self.left, self.split - self.left, self.right - self.split, 1 - self.right)
        return " ".join(f"{round(1000 * each)}fr" for each in widths)

    def rows(self, *, wide: bool) -> str:
        """Its rows."""
        upper = self.lower if wide else self.tabs
        return f"{round(1000 * upper)}fr {round(1000 * (1 - upper))}fr"


def shares(told: dict[str, object]) -> Shares:
    """Shares from a file that anybody may have written to: what is no share, or leaves a pane no room, is not taken."""
    made = Shares()
    for border in ("split", "left", "right", "lower", "tabs"):
        to = told.get(border)
        if isinstance(to, int | float) and not isinstance(to, bool) and 0 < to < 1:
            made = made.moved(border, float(to))
    return made
