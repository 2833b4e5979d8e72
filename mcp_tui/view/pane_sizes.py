"""The sizes of the panes: computed from their content, or shares of the screen if the user moved a border."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from mcp_tui.protocol.values import fact

Border = Literal["requests", "catalogue", "tabs"]
"""The borders that can be moved: below the requests, and between the detail and the catalogue or the tabs."""

LEAST_SHARE: Final = 0.1
"""The least share of a pane."""

REQUESTS_LEAST_LINES: Final = 8
"""The least lines of the requests, including the border."""

REQUESTS_MOST: Final = 45
"""The most percent of the height that the requests take unless the user moves the border; answers are below them."""

REQUESTS_MOST_NARROW: Final = 55
"""The same on a narrow screen, where the detail is one of the tabs."""

CATALOGUE_LEAST_CELLS: Final = 26
CATALOGUE_MOST_CELLS: Final = 30
"""The most cells of the catalogue, unless the user moves its border."""

SIDES_MOST: Final = 45
"""The most percent of the width that the catalogue and the tabs take together; the detail has the rest."""

ROOMY_CELLS: Final = 160
"""The least width of a screen with room for whole lines in the catalogue and the tabs."""

ROOMY_CATALOGUE_MOST: Final = 27
ROOMY_TABS_MOST: Final = 33
ROOMY_SIDES_MOST: Final = 58
"""The most percent of the width of such a screen that the catalogue, the tabs, and both take."""


@fact
class Shares:
    """The shares of panes whose border the user moved: ``requests`` of the height of the screen, the others of its width."""

    requests: float | None = None
    catalogue: float | None = None
    tabs: float | None = None

    def moved(self, border: Border, to: float) -> Shares:
        """Returns the shares with that of one pane set to ``to``, or as near to it as the other panes permit."""
        other = {"catalogue": self.tabs, "tabs": self.catalogue}.get(border) or 0.0
        most = 1 - LEAST_SHARE - (0.0 if border == "requests" else max(other, LEAST_SHARE))
        changed: dict[str, float] = {border: round(max(LEAST_SHARE, min(most, to)), 3)}
        return replace(self, **changed)

    def height(self, screen: int, lines: int, *, narrow: bool) -> int:
        """Returns the height of the requests in lines.

        ``screen`` is the height of the screen; ``lines`` is the height that the requests need.
        """
        if self.requests is not None:
            return max(3, min(screen - 3, round(self.requests * screen)))
        most = (REQUESTS_MOST_NARROW if narrow else REQUESTS_MOST) * screen // 100
        return max(min(REQUESTS_LEAST_LINES, most), min(lines, most))

    def catalogue_width(self, screen: int, cells: int) -> int:
        """Returns the width of the catalogue in cells; ``cells`` is the width of its longest line."""
        if self.catalogue is not None:
            return round(self.catalogue * screen)
        most = CATALOGUE_MOST_CELLS if screen < ROOMY_CELLS else ROOMY_CATALOGUE_MOST * screen // 100
        return min(most, max(CATALOGUE_LEAST_CELLS, cells))

    def tabs_width(self, screen: int, catalogue: int = 0) -> int:
        """Returns the width of the tabs in cells; ``catalogue`` is the width of a catalogue that is always shown."""
        least = round(LEAST_SHARE * screen)
        if self.tabs is not None:
            return min(round(self.tabs * screen), screen - catalogue - least)
        if screen >= ROOMY_CELLS:
            most = min(ROOMY_TABS_MOST * screen // 100, ROOMY_SIDES_MOST * screen // 100 - catalogue)
            return max(least, most)
        return max(least, SIDES_MOST * screen // 100 - catalogue)


def shares(sizes: dict[str, object]) -> Shares:
    """Reads shares from the content of a file; ignores invalid values, and limits those that leave a pane no room."""
    made = Shares()
    borders: tuple[Border, ...] = ("requests", "catalogue", "tabs")
    for border in borders:
        to = sizes.get(border)
        if isinstance(to, int | float) and not isinstance(to, bool) and 0 < to < 1:
            made = made.moved(border, float(to))
    return made
