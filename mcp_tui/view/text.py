"""The only sanitiser: makes text from a server safe to show.

Terminals obey control characters, reorder text at bidi controls, and hide zero-width characters, and Textual passes all
of them on. Therefore widgets accept only :data:`SafeText`, which :func:`clean` returns. A character that cannot be shown
becomes a symbol (``␛``) or its code point (``‹202E›``). Only the screen gets sanitised text: mcp-tui sends and stores the
original.
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
"""Text without control characters for a terminal: the result of :func:`clean`, or a literal of mcp-tui."""

NOTHING: Final = SafeText("")

STACKED_MARKS: Final = 4
"""The most combining marks on one character; more marks would cover the lines above and below."""

SHOWN_CHARACTERS: Final = 65_536
"""The most characters shown of one payload."""

SHOWN_LEVELS: Final = 48
"""The most levels shown of a payload."""

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
# A single variation selector after a symbol selects its text or its emoji form. It is removed, because terminals disagree
# on the width of the emoji. Two selectors in a row, or one after a letter, carry hidden data, so they are shown.
_PRESENTATION: Final = (
    "(?<=[#*0-9\xa9\xae\u203c-\u2049\u2122-\u23ff\u2460-\u27ff\u2900-\u2bff\u3030-\u3299\U0001f000-\U0001faff])"
    "[\ufe0e\ufe0f](?![\ufe00-\ufe0f\U000e0100-\U000e01ef])"
)


@cache
def _odd(*, newlines: bool, plain: bool) -> re.Pattern[str]:
    """Returns the pattern of characters that cannot be shown. It is compiled on first use: most runs need none."""
    controls = _C0_IN_LINES if newlines else _C0
    return re.compile(f"[{controls}]" if plain else f"[{controls}{_UNSEEN_CHARACTERS}]")


def clean(text: str, *, newlines: bool = False) -> SafeText:
    """Returns ``text`` in NFC, without characters that a terminal obeys or hides.

    Args:
        text: any text; it may contain lone surrogates.
        newlines: whether line feeds stay, and CR LF becomes a line feed; otherwise line feeds become ``␊``.
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
        # Long runs of marks are spelled out first, because normalising them takes quadratic time.
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return SafeText(text)


_LINE_ENDS: Final = late("\r\n?")
_UNTYPED: Final = late("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)")
"""Characters that no key types: control characters except tab and line ends, and lone surrogates."""


def symbols(text: str, *, line_ends: bool = False) -> str:
    """Returns a text to copy, or a pasted text, with control characters (C0, DEL, C1) as symbols.

    Tabs, LF, CR LF, and invisible characters stay. With ``line_ends``, each CR LF and CR becomes LF.
    """
    if line_ends:
        text = _LINE_ENDS.sub("\n", text)
    return _UNTYPED.sub(lambda found: _picture(found[0]), text)


def one_line(text: str) -> str:
    """Returns text for a field of one line.

    Control characters become symbols, each white space becomes a space, and invisible characters are removed.
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
    """Returns a literal of mcp-tui unchanged."""
    return SafeText(text)


def safe(template: LiteralString, *parts: object) -> SafeText:
    """Fills a literal template, like :meth:`str.format`, with parts that need not be safe.

    Numbers keep their format (``{:,}``); all other parts are sanitised first.
    """
    return SafeText(
        template.format(*[part if isinstance(part, _NUMBERS) else clean(str(part)) for part in parts])
    )


_NUMBERS: Final = (int, float)
"""A tuple, because the expression ``int | float`` would create an object for each part of each cell."""


def paint(text: SafeText, style: str) -> SafeText:
    """Returns ``text`` in a style, given as SGR parameters (``1;31``), for printed output."""
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
    """Patterns of zero-width characters, from the table that Rich uses to measure text.

    The patterns also match every character outside the basic plane: listing the hundred ranges of marks there would make a
    search twenty times slower. :meth:`_spelled` distinguishes marks from other characters.
    """

    def __init__(self) -> None:
        # Rich takes time to load, so only the first text that is not ASCII loads it.
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
        """The patterns of stacked marks, and of marks at the start of the text or of a line; few sessions need them."""
        mark = self._mark
        forms = (f"{mark}{mark}{{{STACKED_MARKS},}}", f"{mark}+", f"\n{mark}+")
        return tuple(re.compile(form) for form in forms)

    def spell_out(self, text: str) -> str:
        """Replaces marks without a base character, and those above :data:`STACKED_MARKS`, by their code points."""
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
    # More characters cannot fit, even if each has all its marks.
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
    """Marks a line whose last word continues on the next line, such as a URL that is longer than a line."""
    return SafeText(_Broken(text))


def is_broken(text: str) -> bool:
    """Returns whether :func:`broken` marked a line."""
    return isinstance(text, _Broken)


def wrap(text: SafeText, cells: int) -> list[SafeText]:
    """Returns ``text`` as lines of at most ``cells`` cells, wrapped at spaces; a line cut in a word is :func:`broken`."""
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
    """Returns the longest start of ``text`` that fits into ``cells`` cells; a character keeps its marks."""
    if text.isascii():
        return text[:cells]
    # Imported here for the same reason as in `width`.
    from rich.cells import split_graphemes

    taken = 0
    for start, _end, cell_length in split_graphemes(text)[0]:
        taken += cell_length
        if taken > cells:
            return text[:start]
    return text


# -- payloads --------------------------------------------------------------------------------------------------


def paragraphs(text: str, *, limit: int = SHOWN_CHARACTERS) -> list[SafeText]:
    """Returns the lines of ``text``, at most ``limit`` characters, and the number of further characters."""
    lines = [SafeText(line) for line in clean(text[:limit], newlines=True).split("\n")]
    if len(text) > limit:
        lines.append(SafeText(f"… {len(text) - limit:,} more characters"))
    return lines


def pretty(value: object, *, limit: int = SHOWN_CHARACTERS) -> list[SafeText]:
    """Returns a JSON value as indented lines.

    Members beyond ``limit`` characters or :data:`SHOWN_LEVELS` levels are only counted, which bounds the time.
    """
    page = _Page(limit)
    page.value(value, indent="", label="", tail="")
    return page.lines


def compact(value: object) -> list[SafeText]:
    """Returns a JSON value on one line of at most 72 characters, or else the lines of :func:`pretty`."""
    lines = pretty(value)
    if len(lines) < 20:
        joined = "".join(text.strip() + (" " if text.endswith((",", ":")) else "") for text in lines)
        if len(joined) <= 72:
            return [SafeText(joined)]
    return lines


class _Page:
    """The lines of one payload, and the number of characters that may still be added."""

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
        """Adds labelled parts between brackets. ``kind`` has the brackets and the name of the parts: ``{ members }``."""
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
    ("◂▪", "<*"),  # requests from the server, and marks
    ("›‹…·–×→←↓↑≤≈▼▲", "><~--x><v^<~v^"),  # punctuation and arrows
    ("█▉▊▋▌▍▎▏░", "#####----"),  # progress bars: less than half a cell is shown as empty
    ("━┿┄▁▂▃▄▅▆▇─│", "=+..:-=+*%-|"),  # the timeline: bars, messages on them, and a sparkline
    ("".join(map(chr, range(0x2400, 0x2422))), "?" * 0x22),  # pictures of control characters
)

TO_ASCII: Final = {
    ord(glyph): twin for glyphs, twins in _PLAIN_GLYPHS for glyph, twin in zip(glyphs, twins, strict=True)
}
"""The ASCII character for each glyph, for :meth:`str.translate`."""


def markdown_code(value: str, limit: int = 200) -> str:
    """Returns a code span for Markdown, also for a table; it cannot contain markup, mentions, or links."""
    shown = brief(value, limit).replace("`", "'").replace("|", "¦")
    return f"`{shown}`"


def in_ascii(text: SafeText) -> SafeText:
    """Returns a text with ASCII characters in place of mcp-tui's glyphs."""
    return SafeText(text.translate(TO_ASCII))
