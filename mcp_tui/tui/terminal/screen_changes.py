"""Writes only the difference between a frame and the previous one to the terminal.

Textual writes whole lines with all their colours, and if the rows of a table move down, all lines are new. Most of
their cells stay the same. That matters over ssh: 50 calls a second took 118 kB a second, and now take 2. This module
is a workaround: it belongs in Textual's compositor, which knows the cells already. ``contrib/textual`` has the text
of an issue and a reproduction.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby, repeat
from typing import Final, NamedTuple

from mcp_tui.view.text import TO_ASCII

_MOVE: Final = re.compile(r"\x1b\[(\d+);(\d+)H")
_TEXT: Final = f"[ -~¡-¬®-ſ─-▟{re.escape(''.join(map(chr, TO_ASCII)))}]"
"""The characters that every terminal draws in one cell; terminals differ, for example, about emoji."""
_STYLED_RUN: Final = re.compile(rf"\x1b\[([\d;]+)m({_TEXT}*)\x1b\[0m|({_TEXT}+)")
_STYLED: Final = len("\x1b[m\x1b[0m")

_BRIDGE: Final = 4
"""The maximum number of unchanged cells between two changed ones that are written too: moving the cursor takes as many
bytes.
"""

_MOST_STYLES: Final = 0x8000
"""The maximum number of styles before all cells are forgotten: each theme has its own."""

_UNKNOWN: Final = "\0"

_OFF: Final = {"1": "22", "2": "22", "3": "23", "4": "24", "7": "27", "9": "29"}
"""The code that ends each attribute: bold, dim, italic, underline, reverse, strike."""

_MARKS: Final = frozenset({"4", "5", "6", "7", "8", "9", "21", "51", "52", "53"})
"""The attributes that are visible on a blank."""


class _Style(NamedTuple):
    attributes: frozenset[str]
    foreground: str
    background: str


class Cells:
    """The cells of a terminal after the frames so far.

    Each row is a text, and another text of characters that stand for styles. Of a blank only the background counts:
    half of a dialog is blank, and changing the colour for each blank took a third of its bytes. After a link or an
    emoji, where terminals differ, a row is written unchanged.
    """

    def __init__(self) -> None:
        self._rows: dict[int, tuple[str, str]] = {}
        self._styles: dict[str, str] = {}
        self._codes: dict[str, str] = {}
        self._blanks = set[str]()
        self._cursor = ""

    _size: tuple[int, int] = 0, 0

    def forget(self) -> None:
        """Forgets the cells: other programs wrote there, or a frame was not written."""
        self.__init__()

    def changes(self, frame: str, size: tuple[int, int]) -> str:
        """Returns the text to write instead of a frame on a terminal of a ``size``; empty if nothing changes."""
        _, *parts = _MOVE.split(frame)
        *pieces, (y, x, _) = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        if size != self._size or len(self._styles) > _MOST_STYLES:
            self.forget()
            self._size = size
        written = _Writing(self._codes)
        for row, column, piece in pieces:
            self._put(int(row), int(column) - 1, piece.rstrip("\n"), written)
        cursor = f"\x1b[{y};{x}H"
        if not written.parts and cursor == self._cursor:
            return ""
        self._cursor = cursor
        return f"{written.ended()}{cursor}"

    def _put(self, row: int, column: int, piece: str, written: _Writing) -> None:
        """Stores a part of a row, and writes the cells that it changes."""
        known, looks = self._rows.get(row, ("", ""))
        found = [(codes, styled or plain) for codes, styled, plain in _STYLED_RUN.findall(piece)]
        if sum(len(text) + (len(codes) + _STYLED if codes else 0) for codes, text in found) != len(piece):
            written.whole(row, column, piece)
            self._rows[row] = known[:column], looks[:column]
            return
        text = "".join(text for _, text in found)
        style = "".join(self._styled(codes, text) for codes, text in found)
        end = column + len(text)
        known, looks = known.ljust(end, _UNKNOWN), looks.ljust(end, _UNKNOWN)
        before = known[column:end], looks[column:end]
        if before == (text, style):
            return
        self._rows[row] = f"{known[:column]}{text}{known[end:]}", f"{looks[:column]}{style}{looks[end:]}"
        if before[0] == _UNKNOWN * len(text):
            written.run(row, column, text, style)
            return
        first = last = -1
        for at, (new, look, old, looked) in enumerate(zip(text, style, *before, strict=True)):
            if new == old and look == looked:
                continue
            if first < 0:
                first = at
            elif at - last > _BRIDGE + 1 or not {*style[last:at]} <= {style[last], *self._blanks}:
                written.run(row, column + first, text[first : last + 1], style[first : last + 1])
                first = at
            last = at
        written.run(row, column + first, text[first : last + 1], style[first : last + 1])

    def _styled(self, codes: str, text: str) -> str:
        """Returns, for each character of a text, the character that stands for its style."""
        if " " not in text or _MARKS & _parts(codes).attributes:
            return self._style(codes) * len(text)
        ground = f" {_parts(codes).background}"
        blank = self._style(ground)
        self._blanks.add(blank)
        letter = "" if text.isspace() else self._style(codes)
        return "".join(map({" ": blank}.get, text, repeat(letter)))

    def _style(self, codes: str) -> str:
        found = self._styles.get(codes)
        if found is None:
            found = self._styles[codes] = chr(len(self._styles) + 1)
            self._codes[found] = codes
        return found


class _Writing:
    """Collects runs of cells with the fewest moves and changes of style."""

    def __init__(self, codes: dict[str, str]) -> None:
        self.parts: list[str] = []
        self._codes = codes
        self._place = 0, 0
        self._style = ""

    def run(self, row: int, column: int, text: str, style: str) -> None:
        """Writes cells, a style for each character."""
        if (row, column) != self._place:
            same = row == self._place[0]
            self.parts.append(f"\x1b[{column + 1}G" if same else f"\x1b[{row};{column + 1}H")
        begin = 0
        for look, cells in groupby(style):
            end = begin + len(list(cells))
            codes = self._codes[look]
            if codes[:1] == " ":
                codes = on_ground(self._style, codes[1:])
            self.parts += (turn(self._style, codes), text[begin:end])
            self._style, begin = codes, end
        self._place = row, column + len(text)

    def whole(self, row: int, column: int, piece: str) -> None:
        """Writes a part of a row unchanged."""
        self.parts += (turn(self._style, ""), f"\x1b[{row};{column + 1}H", piece)
        self._style, self._place = "", (0, 0)

    def ended(self) -> str:
        """Returns all output, and then the reset of the style."""
        return "".join((*self.parts, turn(self._style, "")))


def is_frame(text: str) -> bool:
    """Whether Textual draws with a text; otherwise it sets a mode, the title, or the clipboard."""
    return text.endswith("H") and _MOVE.match(text) is not None


@lru_cache(maxsize=4096)
def turn(before: str, after: str) -> str:
    """Returns the sequence that changes one style to another; a style is the parameters of SGR as Textual writes them."""
    if before == after:
        return ""
    if not after:
        return "\x1b[0m"
    old, new = _parts(before), _parts(after)
    gone = {_OFF.get(each, "0") for each in old.attributes - new.attributes}
    if "0" in gone:
        return f"\x1b[0;{after}m"
    # The code that ends bold also ends dim.
    codes = [
        *sorted(gone),
        *sorted(each for each in new.attributes if each not in old.attributes or _OFF.get(each) in gone),
    ]
    if new.foreground != old.foreground:
        codes.append(new.foreground or "39")
    if new.background != old.background:
        codes.append(new.background or "49")
    return f"\x1b[{';'.join(codes)}m"


@lru_cache(maxsize=4096)
def on_ground(before: str, background: str) -> str:
    """Returns a style for blanks: this background, and the rest unchanged unless it is visible on a blank."""
    old = _parts(before)
    if _MARKS & old.attributes:
        return background
    return ";".join(filter(None, (*sorted(old.attributes), old.foreground, background)))


@lru_cache(maxsize=4096)
def _parts(codes: str) -> _Style:
    attributes: set[str] = set()
    colours = {"3": "", "4": ""}
    for code in re.findall(r"[34]8;2;\d+;\d+;\d+|[34]8;5;\d+|\d+", codes):
        if code[:2] in ("38", "48"):
            colours[code[0]] = code
        elif len(code) == 1:
            attributes.add(code)
        elif code[:-1] in ("3", "9"):
            colours["3"] = code
        elif code[:-1] in ("4", "10"):
            colours["4"] = code
        else:
            attributes.add(code)
    return _Style(frozenset(attributes), colours["3"], colours["4"])
