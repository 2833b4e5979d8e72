"""Text on stdout, where much of it comes at once and no session depends on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Final

from mcp_tui.cli.status import Exit, Failure
from mcp_tui.tui.view.text import clean


def out(text: str) -> None:
    """Write ``text``, with its line ends.

    Raises:
        Failure: it cannot be written, for another reason than that nobody reads it any more.
        BrokenPipeError: nobody does.
    """
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        # Python must not try again when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Failure(f"Cannot write to stdout: {error.strerror}.", Exit.STDOUT_CLOSED) from None


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
