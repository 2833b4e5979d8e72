"""The one sanitiser: makes text from a server safe to show.

Terminals obey control characters, reorder text at bidi controls, and hide characters of no width, and Textual passes
all of them through. So widgets take :data:`SafeText` only, which :func:`clean` makes. A character that cannot be shown
becomes its picture (``␛``) or its code point (``‹202E›``). The raw text stays where it is kept; cleaned text is never
sent or stored.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Final, LiteralString, NewType, cast

from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.units import OUT_OF_RANGE

SafeText = NewType("SafeText", str)
"""Text that a terminal shows and does not obey. Made by :func:`clean`, and from our own words."""

NOTHING: Final = SafeText("")

STACKED_MARKS: Final = 4
"""Combining marks on one character, at most; more would cover the lines above and below."""

SHOWN_CHARACTERS: Final = 65_536
"""Characters of one payload that are shown."""

SHOWN_LEVELS: Final = 48
"""Levels of a payload that are shown."""

_C0: Final = "\x00-\x1f\x7f"
_C0_IN_LINES: Final = "\x00-\x09\x0b-\x1f\x7f"
_UNSEEN_CHARACTERS: Final = (
    "\x80-\x9f"  # C1
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, bidi controls, line and paragraph separators
    "\u2800\u3164\uffa0"  # letters and symbols that are blank
    "\ud800-\udfff"  # lone surrogates
    "\ue000-\uf8ff"  # private use
    "\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\ufff0-\ufffb\ufffe\uffff"  # variation selectors, BOM, noncharacters
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # shorthand and musical format controls
    "\U0001f3fb-\U0001f3ff"  # skin tones: no two terminals agree on their width
    "\U000e0000-\U0010ffff"  # tags, more variation selectors, private planes
)
# One selector after a symbol only chooses between its text and its emoji form, and terminals disagree on the width
# of the latter. Two in a row, or one after a letter, carry hidden data.
_PRESENTATION: Final = (
    "(?<=[#*0-9\xa9\xae\u203c-\u2049\u2122-\u23ff\u2460-\u27ff\u2900-\u2bff\u3030-\u3299\U0001f000-\U0001faff])"
    "[\ufe0e\ufe0f](?![\ufe00-\ufe0f\U000e0100-\U000e01ef])"
)


@cache
def _odd(*, newlines: bool, plain: bool) -> re.Pattern[str]:
    """Returns the pattern of characters that cannot be shown. Compiled on first use: most runs see ordinary text only."""
    controls = _C0_IN_LINES if newlines else _C0
    return re.compile(f"[{controls}]" if plain else f"[{controls}{_UNSEEN_CHARACTERS}]")


def clean(text: str, *, newlines: bool = False) -> SafeText:
    """Returns ``text`` normalised (NFC), without anything that a terminal obeys or hides.

    Args:
        text: anything, lone surrogates included.
        newlines: keep line feeds, and CR LF as one; otherwise they become ``␊``.
    """
    if text.isascii() and text.isprintable():
        return SafeText(text)
    if newlines and "\r\n" in text:
        text = text.replace("\r\n", "\n")
    odd = _odd(newlines=newlines, plain=text.isascii())
    if odd.search(text) is not None:
        if "\ufe0f" in text or "\ufe0e" in text:
            text = re.sub(_PRESENTATION, "", text)
        text = text.translate({ord(character): _picture(character) for character in set(odd.findall(text))})
    if text.isascii():
        return SafeText(text)
    marks = _marks()
    if marks.any.search(text) is not None:
        text = marks.spell_out(text)
        # Long runs of marks are spelled out by now; to normalise them would take quadratic time.
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return SafeText(text)


_LINE_ENDS: Final = late("\r\n?")
_UNTYPED: Final = late("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)")
"""Characters that no key types: controls except tab and line ends, and halves of a surrogate pair."""


def symbols(text: str, *, line_ends: bool = False) -> str:
    """Returns a text to copy, or one that was pasted, with control characters (C0, DEL, C1) as symbols.

    Tabs, LF, and CR LF stay, as does everything that only hides. With ``line_ends`` each CR LF and CR becomes LF.
    """
    if line_ends:
        text = _LINE_ENDS.sub("\n", text)
    return _UNTYPED.sub(lambda found: _picture(found[0]), text)


def one_line(text: str) -> str:
    """Returns text for a field of one line: what can be seen of it, with each white space as one space.

    Control characters become symbols.
    """
    if text.isascii() and text.isprintable():
        return text
    text = symbols("".join(" " if each.isspace() else each for each in text))
    line = "".join(each for each in text if each.isprintable())
    return _odd(newlines=False, plain=line.isascii()).sub("", line)


def brief(text: str, limit: int = 240) -> SafeText:
    """Returns the first ``limit`` characters of ``text``, cleaned, with ``…`` if there are more."""
    return clean(text) if len(text) <= limit else SafeText(clean(text[:limit]) + "…")


def words(text: LiteralString) -> SafeText:
    """Returns our own words as they are."""
    return SafeText(text)


def safe(template: LiteralString, *parts: object) -> SafeText:
    """Fills a template of our own words, as :meth:`str.format` does, with parts that need not be safe.

    Numbers keep their format (``{:,}``); everything else is cleaned first.
    """
    return SafeText(
        template.format(*[part if isinstance(part, _NUMBERS) else clean(str(part)) for part in parts])
    )


_NUMBERS: Final = (int, float)
"""A tuple: a union of types would be created for each part of each cell."""


def paint(text: SafeText, style: str) -> SafeText:
    """Returns ``text`` in a style, by SGR parameters (``1;31``), for printed output."""
    return SafeText(f"\x1b[{style}m{text}\x1b[0m")


def join(parts: Iterable[SafeText], separator: LiteralString = "") -> SafeText:
    """Joins the parts that are not empty."""
    return SafeText(separator.join([part for part in parts if part]))


def _picture(character: str) -> str:
    match ord(character):
        case 0x09:
            return "    "
        case 0x7F:
            return "␡"
        case code:
            return chr(0x2400 + code) if code < 0x20 else f"‹{code:04X}›"


class _Marks:
    """Characters of no width, by the table that Rich measures with.

    The patterns match every character outside the basic plane too: with the hundred ranges of marks there a search is
    twenty times slower. :meth:`_spelled` tells marks from other characters.
    """

    def __init__(self) -> None:
        # With the first text that is not ASCII.
        from rich._unicode_data import load
        from rich.cells import get_character_cell_size

        self._cells = get_character_cell_size
        spans = [(max(start, 0x300), end) for start, end, cells in load("auto").widths if cells == 0]
        basic = "".join(f"{chr(start)}-{chr(end)}" for start, end in spans if start <= end <= 0xFFFF)
        mark = f"[{basic}\U00010000-\U0010ffff]"
        self.any = re.compile(mark)
        self._mark = mark

    @cached_property
    def _runs(self) -> tuple[re.Pattern[str], ...]:
        """Those on one character, at the beginning, and after a line end: few sessions ever see one."""
        mark = self._mark
        forms = (f"{mark}{mark}{{{STACKED_MARKS},}}", f"{mark}+", f"\n{mark}+")
        return tuple(re.compile(form) for form in forms)

    def spell_out(self, text: str) -> str:
        """Writes marks without a base, and those beyond :data:`STACKED_MARKS` on one character, as code points."""
        stacked, leading, after_line_end = self._runs
        text = stacked.sub(lambda run: self._spelled(run[0], STACKED_MARKS), text)
        first = leading.match(text)
        if first is not None:
            text = self._spelled(first[0], 0) + text[first.end() :]
        if "\n" in text:
            text = after_line_end.sub(lambda run: "\n" + self._spelled(run[0][1:], 0), text)
        return text

    def _spelled(self, run: str, available: int) -> str:
        shown: list[str] = []
        for character in run:
            if self._cells(character):
                available = STACKED_MARKS
            elif available:
                available -= 1
            else:
                character = f"‹{ord(character):04X}›"
            shown.append(character)
        return "".join(shown)


_marks = cache(_Marks)


# -- measuring -------------------------------------------------------------------------------------------------


def width(text: str) -> int:
    """Returns the width of ``text`` in cells."""
    if text.isascii():
        return len(text)
    # Rich takes time to load, and most text is ASCII.
    from rich.cells import cell_len

    return cell_len(text)


def clip(text: SafeText, cells: int) -> SafeText:
    """Returns ``text`` in at most ``cells`` cells, with ``…`` at the end if it was cut."""
    if cells <= 0:
        return NOTHING
    # no more characters can fit, with all their marks
    start = text[: cells * (STACKED_MARKS + 1) + 1]
    if len(start) == len(text) and width(text) <= cells:
        return text
    return SafeText(_head(start, cells - 1) + "…")


def fit(text: SafeText, cells: int, *, right: bool = False) -> SafeText:
    """Returns ``text`` in exactly ``cells`` cells: clipped, or padded with spaces (on the left if ``right``)."""
    text = clip(text, cells)
    space = " " * (cells - width(text))
    return SafeText(space + text if right else text + space)


class _Broken(str):
    __slots__ = ()


def broken(text: SafeText) -> SafeText:
    """Returns a line whose last word goes on in the next line, such as a URL that is longer than a line."""
    return SafeText(_Broken(text))


def is_broken(text: str) -> bool:
    """Returns whether :func:`broken` made a line."""
    return isinstance(text, _Broken)


def wrap(text: SafeText, cells: int) -> list[SafeText]:
    """Returns ``text`` as lines of at most ``cells`` cells, broken at spaces if possible, else :func:`broken`."""
    lines: list[SafeText] = []
    cells = max(2, cells)
    start = 0
    reach = cells * (STACKED_MARKS + 1) + 1
    while start < len(text):
        rest = text[start : start + reach]
        if width(rest) <= cells and start + reach >= len(text):
            lines.append(SafeText(rest))
            break
        head = _head(rest, cells)
        space = head.rfind(" ")
        if space > len(head) // 2 and rest[len(head) : len(head) + 1] != " ":
            head = head[: space + 1]
        start += max(1, len(head))
        within = not head.endswith(" ") and text[start : start + 1] not in ("", " ")
        lines.append(broken(SafeText(head)) if within else SafeText(head.rstrip(" ") or head))
        if text[start : start + 1] == " " and not head.endswith(" "):
            start += 1  # the space at the break
    return lines or [NOTHING]


def _head(text: str, cells: int) -> str:
    """Returns the longest start of ``text`` within ``cells`` cells; a character and its marks stay together."""
    if text.isascii():
        return text[:cells]
    # The same.
    from rich.cells import split_graphemes

    taken = 0
    for start, _end, cell_length in split_graphemes(text)[0]:
        taken += cell_length
        if taken > cells:
            return text[:start]
    return text


# -- payloads --------------------------------------------------------------------------------------------------


def paragraphs(text: str, *, limit: int = SHOWN_CHARACTERS) -> list[SafeText]:
    """Returns the lines of ``text``; beyond ``limit`` characters it only counts the rest."""
    lines = [SafeText(line) for line in clean(text[:limit], newlines=True).split("\n")]
    if len(text) > limit:
        lines.append(SafeText(f"… {len(text) - limit:,} more characters"))
    return lines


def pretty(value: object, *, limit: int = SHOWN_CHARACTERS) -> list[SafeText]:
    """Returns a JSON value as indented lines.

    Beyond ``limit`` characters, or :data:`SHOWN_LEVELS` levels, it only counts the rest, so the time is bounded.
    """
    page = _Page(limit)
    page.value(value, indent="", label="", tail="")
    return page.lines


def compact(value: object) -> list[SafeText]:
    """Returns a JSON value on one line of 72 characters at most, or else as :func:`pretty` does."""
    lines = pretty(value)
    if len(lines) < 20:
        joined = "".join(text.strip() + (" " if text.endswith((",", ":")) else "") for text in lines)
        if len(joined) <= 72:
            return [SafeText(joined)]
    return lines


class _Page:
    """The lines of one payload, and how many characters may still be added."""

    def __init__(self, limit: int) -> None:
        self.lines: list[SafeText] = []
        self.left = limit

    def line(self, text: str) -> None:
        self.lines.append(clean(text))
        self.left -= len(text)

    def value(self, value: object, *, indent: str, label: str, tail: str) -> None:
        match value:
            case dict() if value:
                members = cast("Mapping[object, object]", value).items()
                named = ((f"{self.scalar(name)}: ", member) for name, member in members)
                self.block("{ members }", len(members), named, indent, label, tail)
            case list() | tuple() if value:
                items = cast("Sequence[object]", value)
                self.block("[ items ]", len(items), (("", item) for item in items), indent, label, tail)
            case _:
                self.line(f"{indent}{label}{self.scalar(value)}{tail}")

    def block(
        self, kind: str, count: int, parts: Iterable[tuple[str, object]], indent: str, label: str, tail: str
    ) -> None:
        """Adds labelled parts between brackets; ``kind`` is the brackets with the name of such parts between."""
        opening, what, closing = kind.split()
        if len(indent) >= 2 * SHOWN_LEVELS:
            self.line(f"{indent}{label}{opening} … {count:,} {what} {closing}{tail}")
            return
        self.line(f"{indent}{label}{opening}")
        inner = indent + "  "
        for index, (name, part) in enumerate(parts, 1):
            if self.left <= 0:
                self.line(f"{inner}… {count - index + 1:,} more {what}")
                break
            self.value(part, indent=inner, label=name, tail="," if index < count else "")
        self.line(f"{indent}{closing}{tail}")

    def scalar(self, value: object) -> str:
        if isinstance(value, str):
            available = max(self.left, 64)
            shown = json.dumps(value[:available], ensure_ascii=False)
            return (
                shown if len(value) <= available else f"{shown} … {len(value) - available:,} more characters"
            )
        try:
            return json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            return f"‹{OUT_OF_RANGE if isinstance(value, int | float) else type(value).__name__}›"


# -- ASCII ---------------------------------------------------------------------------------------------------

_PLAIN_GLYPHS: Final = (
    ("◌▸◔⊘↯↻⇣◷✓✗∅", ".>~-!ovT+x?"),  # states of a request
    ("◂▪", "<*"),  # what the server asks, and a mark
    ("›‹…·–×→←↓↑≤≈▼▲", "><~--x><v^<~v^"),  # furniture
    ("█▉▊▋▌▍▎▏░", "#####----"),  # progress bars: what is less than half a cell is no cell
    ("━┿┄▁▂▃▄▅▆▇─│", "=+..:-=+*%-|"),  # the timeline: bars, what came while they ran, and a sparkline
    ("".join(map(chr, range(0x2400, 0x2422))), "?" * 0x22),  # pictures of control characters
)

TO_ASCII: Final = {
    ord(glyph): twin for glyphs, twins in _PLAIN_GLYPHS for glyph, twin in zip(glyphs, twins, strict=True)
}
"""The ASCII character for each glyph, for :meth:`str.translate`."""


def markdown_code(value: str, limit: int = 200) -> str:
    """Returns a code span for Markdown, also within a table: no markup, no mention, and no link."""
    shown = brief(value, limit).replace("`", "'").replace("|", "¦")
    return f"`{shown}`"


def in_ascii(text: SafeText) -> SafeText:
    """Returns a text with the ASCII characters for our glyphs."""
    return SafeText(text.translate(TO_ASCII))
