"""A screen as text: its rows, then the styles of each row run by run, then what the letters of those mean.

A letter has a column for each way to show the screen: dark, light, with 256 colours and without any (``NO_COLOR``). What it
says is the same in all of them, and the last two follow from the first.
"""

from __future__ import annotations

import difflib
import os
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from rich.color import Color, ColorSystem, ColorType
from rich.style import Style
from textual.app import App
from textual.filter import monochrome_style

from tests.tui.painted import strips

FOLDER = Path(__file__).parent
REMAKE = "python -m tests.tui.snapshots --write"
WRITE = "WRITE_SNAPSHOTS"
"""The environment variable with which a difference is written and not told."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MARKS = ("bold", "dim", "italic", "underline", "reverse", "strike")

Rows = list[list[tuple[str, Style]]]

VERSIONS = ("mcp-tui-dark", "mcp-tui-light", "256 colours", "no colours")


def drawn(app: App[int]) -> Rows:
    """What stands on the screen of an app now, in pieces of one style."""
    return [[(text, style or Style()) for text, style, _ in strip if text] for strip in strips(app)]


def texts(rows: Rows) -> list[str]:
    """The rows without styles."""
    return ["".join(text for text, _ in row) for row in rows]


def snapshot(app: App[int], dark: Rows | None = None, light: Rows | None = None) -> str:
    """What stands on the screen of an app now, or was drawn on it in both themes."""
    dark = dark or drawn(app)
    runs = [_runs(*each) for each in zip(dark, light or dark, strict=True)]
    names = sorted({styles for row in runs for styles, _ in row})
    letters = {styles: _letter(number) for number, styles in enumerate(names)}
    coded = ["".join(f"{letters[styles]}{cells}" for styles, cells in row) for row in runs]
    lines = [f"{app.size.width} × {app.size.height}: {' | '.join(VERSIONS)}", ""]
    lines += map(str.rstrip, texts(dark))
    lines.append("")
    row = 1
    for code, same in groupby(coded):
        last = row + len(list(same)) - 1
        lines.append(f"{row if row == last else f'{row}-{last}'} {code}")
        row = last + 1
    lines += ["", *(f"{letters[styles]} {' | '.join(styles)}" for styles in names)]
    return "\n".join(lines) + "\n"


def without_colours(rows: Rows) -> list[list[tuple[str, int]]]:
    """The styles of rows as they are without colours, with how many characters have them."""
    return [
        [
            (style, sum(cells for _, cells in run))
            for style, run in groupby(_runs(row, row), lambda each: each[0][3])
        ]
        for row in rows
    ]


def _letter(number: int) -> str:
    return _LETTERS[number] if number < len(_LETTERS) else f"{_LETTERS[number - len(_LETTERS)]}'"


def _runs(dark: list[tuple[str, Style]], light: list[tuple[str, Style]]) -> list[tuple[tuple[str, ...], int]]:
    """The versions of styles with how many characters have them. What is blank has a background alone."""
    each = [
        (_versions(style, other, blank=not text.strip()), len(text))
        for (text, style), (_, other) in zip(dark, light, strict=True)
    ]
    return [
        (styles, sum(cells for _, cells in run)) for styles, run in groupby(each, key=lambda pair: pair[0])
    ]


@lru_cache(maxsize=4096)
def _versions(dark: Style, light: Style, *, blank: bool) -> tuple[str, ...]:
    few = Style.from_color(
        *(each and each.downgrade(ColorSystem.EIGHT_BIT) for each in (dark.color, dark.bgcolor))
    )
    return tuple(_said(style, blank=blank) for style in (dark, light, dark + few, monochrome_style(dark)))


def _said(style: Style, *, blank: bool) -> str:
    marks = [mark for mark in _MARKS if getattr(style, mark)]
    plain = blank and not {"underline", "reverse", "strike"} & set(marks)
    shown = "" if plain else " ".join([_color(style.color), *marks])
    return f"{shown} on {_color(style.bgcolor)}".strip()


def _color(color: Color | None) -> str:
    if color is None:
        return "-"
    if color.type is ColorType.EIGHT_BIT:
        return str(color.number)
    return color.name if color.triplet is None else color.triplet.hex


def difference(name: str, now: str) -> str:
    """How a screen differs from its snapshot, with the way to remake it; empty where it does not."""
    file = FOLDER / f"{name}.txt"
    if os.environ.get(WRITE):
        file.write_text(now, encoding="utf-8", newline="\n")
        return ""
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    if before == now:
        return ""
    lines = difflib.unified_diff(
        before.splitlines(), now.splitlines(), "the snapshot", "the screen", "", "", 1, ""
    )
    return "\n".join([f"{file.name} is another one now. If that is meant: {REMAKE}", *lines])
