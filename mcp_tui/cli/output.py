"""The forms in which a command prints: JSON, CSV, and tables."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, TextIO

from mcp_tui import clock
from mcp_tui.cli.status import Exit
from mcp_tui.cli.streams import out
from mcp_tui.tui.view.text import SafeText, clean, fit, width


def show(value: object, lines: Iterable[str], *, as_json: bool) -> Exit:
    """Print a value as JSON, or in lines for people; the exit status."""
    if as_json:
        out(dump(value, indent=2))
    else:
        for line in lines:
            out(line)
    return Exit.COMPLETED


def dump(value: Any, *, indent: int | None = None) -> str:
    """A value as ASCII JSON, whatever a server put into it: numbers that JSON or Python cannot write become text."""
    try:
        return json.dumps(value, allow_nan=False, indent=indent)
    except ValueError:
        # pydantic's JSON, which takes longer to load than the words to read
        from mcp_tui.protocol.messages import writable

        return json.dumps(writable(value), indent=indent)


def colourful(stream: TextIO) -> bool:
    """Whether colours are wanted there: a terminal, and no ``NO_COLOR``."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def table(rows: Sequence[Sequence[SafeText]]) -> list[str]:
    """Rows with their columns aligned; the last one as long as it is."""
    widths = [max(map(width, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    return [
        "  ".join((*(fit(cell, cells) for cell, cells in zip(row, widths, strict=False)), row[-1])).rstrip()
        for row in rows
    ]


def utc(wall: float) -> str | None:
    """A moment in a table or in JSON; ``None`` for one that no calendar has."""
    with contextlib.suppress(ValueError):
        return clock.utc_stamp(wall)
    return None


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
