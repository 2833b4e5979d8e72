"""Arrays of objects as tables: the choice of arrays, and the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, LiteralString, cast

from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json
from mcp_tui.view.columns import narrowed
from mcp_tui.view.lines import Segments
from mcp_tui.view.text import SafeText, brief, fit, join, safe, width, words

SAMPLED_ITEMS: Final = 200
"""The items of an array that decide whether it is shown as a table, and how wide the columns are."""

WIDEST_COLUMN_CELLS: Final = 240
"""The most cells of a column."""

NARROWEST_COLUMN_CELLS: Final = 6
"""The cells below which a column is not narrowed."""

COLUMNS_MOST: Final = 40
"""The most columns of a table."""

HIDDEN_CELLS: Final = 6
"""The cells for the number of columns that are left out."""

GAP: Final[LiteralString] = "  "


def json_tone(value: Json) -> str:
    """Returns the tone of a JSON value."""
    if isinstance(value, bool) or value is None:
        return "json-word"
    if isinstance(value, int | float):
        return "json-number"
    return "json-text" if isinstance(value, str) else "muted"


class JsonTable:
    """The columns of an array of objects, in the order in which the objects first name them."""

    def __init__(self, rows: Sequence[Mapping[str, Json]]) -> None:
        sample = [*islice(rows, SAMPLED_ITEMS)]
        named = Counter(name for row in sample for name in row)
        self._names = [*islice(named, COLUMNS_MOST)]
        self._wanted = [
            min(WIDEST_COLUMN_CELLS, max(width(brief(name)), *(width(_cell(row, name)) for row in sample)))
            for name in self._names
        ]
        self._numbers = [
            all(_is_number(row.get(name)) for row in sample if row.get(name) is not None)
            for name in self._names
        ]
        self._dropped = len(named) - len(self._names)
        self._laid_out_for = -1
        self._widths: list[int] = []

    def lay_out(self, cells: int) -> None:
        """Fits the columns into ``cells``: narrows the widest columns first, then leaves out the last ones."""
        if cells == self._laid_out_for:
            return
        self._laid_out_for = cells
        for count in range(len(self._names), 0, -1):
            space = cells - len(GAP) * (count - 1) - (HIDDEN_CELLS if self._hidden(count) else 0)
            self._widths = narrowed(self._wanted[:count], space, NARROWEST_COLUMN_CELLS)
            if sum(self._widths) <= space:
                break

    def _hidden(self, shown: int) -> int:
        return len(self._names) - shown + self._dropped

    def header(self) -> Segments:
        """Returns the names of the columns, and the number of columns that are left out."""
        named = [self._placed(brief(name), at) for at, name in enumerate(self._names[: len(self._widths)])]
        hidden = self._hidden(len(self._widths))
        return ((join([*named, safe("+{}", hidden) if hidden else words("")], GAP), "header"),)

    def row(self, row: Mapping[str, Json]) -> Segments:
        """Returns the cells of an object."""
        pieces: list[tuple[SafeText, str]] = []
        for at, name in enumerate(self._names[: len(self._widths)]):
            shown = self._placed(_cell(row, name), at)
            pieces.append((shown if not at else safe("{}{}", GAP, shown), json_tone(row.get(name, ""))))
        return tuple(pieces)

    def _placed(self, text: SafeText, at: int) -> SafeText:
        return fit(text, self._widths[at], right=self._numbers[at])


def json_table(value: Json) -> JsonTable | None:
    """Returns the table of an array of at least two objects that share most of their names; else ``None``."""
    if not isinstance(value, list) or len(cast("list[Json]", value)) < 2:
        return None
    found = cast("list[dict[str, Json]]", value)
    if not all(isinstance(row, dict) and len(row) for row in found):  # pyright: ignore[reportUnnecessaryIsInstance]
        return None
    sample = found[:SAMPLED_ITEMS]
    named = Counter(name for row in sample for name in row)
    shared = sum(count >= 0.7 * len(sample) for count in named.values())
    simple = any(not isinstance(each, dict | list) for row in sample for each in row.values())
    return JsonTable(found) if simple and 2 * shared >= len(named) else None


def _cell(row: Mapping[str, Json], name: str) -> SafeText:
    value = row.get(name, "")
    if isinstance(value, dict | list):
        size = len(cast("Sequence[Json]", value))
        return safe("{{{:,}}}", size) if isinstance(value, dict) else safe("[{:,}]", size)
    return brief(value[:400] if isinstance(value, str) else messages.text(value))


def _is_number(value: Json | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
