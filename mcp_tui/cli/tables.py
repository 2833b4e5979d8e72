"""CSV as RFC 4180 has it, fit to be opened in a spreadsheet and shown in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mcp_tui.tui.view.text import clean

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet take a cell for a formula, full-width forms included."""


def csv_line(cells: Iterable[object]) -> str:
    """One record without its end. ``None`` is an empty cell; numbers stand as they are."""
    return ",".join(map(_cell, cells))


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value}"
        case _:
            pass
    text = str(value)
    if text.lstrip(" ").startswith(_FORMULA):
        text = f"'{text}"
    text = clean(text, newlines=True)
    if any(each in text for each in ',"\n') or text != text.strip():
        return '"{}"'.format(text.replace('"', '""'))
    return text
