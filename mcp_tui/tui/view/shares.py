"""The sizes of the panes as shares of the screen; keys change them, and a file keeps them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from mcp_tui.protocol.values import fact

Border = Literal["left", "right", "split", "lower", "tabs"]
"""The borders that can be moved: the right edge of the catalogue, the left edge of the detail, the right edge of the
cancellations, the top of the lower row in three columns, and the top of the tabs otherwise."""

LEAST: Final = 0.1
"""The least share of a pane."""


@fact
class Shares:
    """The places of the borders, from the left or from the top."""

    left: float = 0.171
    right: float = 0.764
    split: float = 0.55
    lower: float = 0.667
    tabs: float = 0.55

    def moved(self, border: Border, to: float) -> Shares:
        """Returns the shares with a border moved, as near to ``to`` as the other panes permit."""
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
        """Returns the shares with more room for the panes below the requests."""
        return self.moved("lower", self.lower - by) if wide else self.moved("tabs", self.tabs - by)

    def widened(self, pane: str, by: float) -> Shares:
        """Returns the shares with more room at both sides, or for one pane: ``cancellations`` and ``log`` share a border."""
        if pane in {"cancellations", "log"}:
            return self.moved("split", self.split + (by if pane == "cancellations" else -by))
        made = self if pane == "detail" else self.moved("left", self.left + by)
        return made if pane == "catalogue" else made.moved("right", made.right - by)

    def columns(self) -> str:
        """Returns the columns of the grid in three columns, in the syntax of a stylesheet."""
        widths = (self.left, self.split - self.left, self.right - self.split, 1 - self.right)
        return " ".join(f"{round(1000 * each)}fr" for each in widths)

    def rows(self, *, wide: bool) -> str:
        """Returns the rows of the grid."""
        upper = self.lower if wide else self.tabs
        return f"{round(1000 * upper)}fr {round(1000 * (1 - upper))}fr"


def shares(told: dict[str, object]) -> Shares:
    """Reads shares from a file, and ignores values that are not valid or leave a pane no room."""
    made = Shares()
    for border in ("split", "left", "right", "lower", "tabs"):
        to = told.get(border)
        if isinstance(to, int | float) and not isinstance(to, bool) and 0 < to < 1:
            made = made.moved(border, float(to))
    return made
