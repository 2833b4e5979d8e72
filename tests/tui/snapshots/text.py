"""A screen as text: its rows, then the styles of each row run by run, then what the letters of those mean."""

from __future__ import annotations

import difflib
import os
from itertools import groupby
from pathlib import Path

from rich.color import Color, ColorSystem
from rich.style import Style
from textual.app import App

FOLDER = Path(__file__).parent
REMAKE = "python -m tests.tui.snapshots --write"
WRITE = "WRITE_SNAPSHOTS"
"""The environment variable with which a difference is written and not told."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MARKS = ("bold", "dim", "italic", "underline", "reverse", "strike")


def snapshot(app: App[int], *, few: bool = False) -> str:
    """What stands on the screen of an app now; with ``few``, on a terminal of 256 colours."""
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    runs = [_runs([(text, style or Style()) for text, style, _ in strip], few=few) for strip in strips]
    names = sorted({style for row in runs for style, _ in row})
    letters = {style: _letter(number) for number, style in enumerate(names)}
    coded = ["".join(f"{letters[style]}{cells}" for style, cells in row) for row in runs]
    kind = ", 256 colours" if few else ", no colours" if app.no_color else ""
    lines = [f"{app.size.width} × {app.size.height}, {app.theme}{kind}", ""]
    lines += [strip.text.rstrip() for strip in strips]
    lines.append("")
    row = 1
    for code, same in groupby(coded):
        last = row + len(list(same)) - 1
        lines.append(f"{row if row == last else f'{row}-{last}'} {code}")
        row = last + 1
    lines += ["", *(f"{letters[style]} {style}" for style in names)]
    return "\n".join(lines) + "\n"


def _letter(number: int) -> str:
    return _LETTERS[number] if number < len(_LETTERS) else f"{_LETTERS[number - len(_LETTERS)]}'"


def _runs(segments: list[tuple[str, Style]], *, few: bool) -> list[tuple[str, int]]:
    """Styles with how many characters have them. What is blank has a background alone."""
    each = [(_said(style, blank=not text.strip(), few=few), len(text)) for text, style in segments if text]
    return [(style, sum(cells for _, cells in run)) for style, run in groupby(each, key=lambda pair: pair[0])]


def _said(style: Style, *, blank: bool, few: bool) -> str:
    marks = [mark for mark in _MARKS if getattr(style, mark)]
    plain = blank and not {"underline", "reverse", "strike"} & set(marks)
    shown = "" if plain else " ".join([_color(style.color, few=few), *marks])
    return f"{shown} on {_color(style.bgcolor, few=few)}".strip()


def _color(color: Color | None, *, few: bool) -> str:
    if color is None:
        return "-"
    if few:
        return str(color.downgrade(ColorSystem.EIGHT_BIT).number)
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
