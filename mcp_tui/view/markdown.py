"""Markdown as lines of styled text, and the test whether a text is Markdown. HTML, images, and links stay plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from mcp_tui.protocol.patterns import late
from mcp_tui.view.columns import narrowed
from mcp_tui.view.lines import Line, line
from mcp_tui.view.text import NOTHING, SafeText, broken, clean, fit, is_broken, join, safe, width, words, wrap

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MARKDOWN_CHARACTERS: Final = 16 * 1024
"""The most characters of a text that is parsed as Markdown: nested brackets take the parser quadratic time."""

NARROWEST_CELLS: Final = 4
"""The cells below which a column of a table is not narrowed."""

_SIGNS: Final = late(
    r"^#{1,6} \S|^(```|~~~)|^\s{0,3}([-*+]|\d{1,3}[.)]) \S.*\n\s{0,3}([-*+]|\d{1,3}[.)]) \S"
    r"|^ {0,3}\|? {0,9}:?-{3,}:? {0,9}\||\*\*\S[^*\n]*\S\*\*|\[[^\[\]\n]+\]\(https?://[^)\s]+\)",
    re.MULTILINE,
)
"""A heading, a fence, a list of two items, a table, bold text, or a link.

The text may be hostile. Therefore no two repetitions in the pattern match the same characters, so it cannot backtrack.
"""


def is_markdown(text: str, mime: str = "") -> bool:
    """Returns whether a text is Markdown, by its type or by signs that plain text seldom has."""
    if len(text) > MARKDOWN_CHARACTERS:
        return False
    return mime.partition(";")[0].strip().lower() == "text/markdown" or _SIGNS.search(text) is not None


@cache
def _parser() -> MarkdownIt:
    # markdown_it takes time to load, and few answers are Markdown.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").enable("strikethrough")


class MarkdownLines:
    """The lines of a Markdown text, wrapped at ``cells`` cells."""

    def __init__(self, text: str, cells: int) -> None:
        self.lines: list[Line] = []
        self._cells = max(8, cells)
        self._lead: list[tuple[SafeText, str]] = []
        """The start of each line: the bars of quotes, and the indentation of lists."""
        self._first: tuple[SafeText, str] | None = None
        """The bullet or number of a list item, at the start of the next line only."""
        self._numbers: list[int | None] = []
        self._blocks(_parser().parse(text))

    # -- blocks ------------------------------------------------------------------------------------------------

    def _blocks(self, tokens: Sequence[Token]) -> None:
        tone = ""
        table: list[Token] | None = None
        for token in tokens:
            if token.type == "table_open":
                table = []
            elif token.type == "table_close" and table is not None:
                self._table(table)
                table = None
            elif table is not None:
                table.append(token)
            elif token.type == "inline":
                self._wrapped(_inline(token.children or (), tone))
            elif token.type in ("fence", "code_block"):
                self._code(token.content)
            elif token.type == "hr":
                self._space()
                self._put([(clean("─" * min(40, self._available)), "muted")])
            elif token.nesting > 0:
                self._opened(token)
                tone = "title" if token.type == "heading_open" else tone
            elif token.nesting < 0:
                self._closed(token)
                tone = "" if token.type == "heading_close" else tone

    def _opened(self, token: Token) -> None:
        """Handles the beginning of a block."""
        if token.type == "list_item_open":
            number = self._numbers[-1]
            mark = words("• ") if number is None else safe("{}. ", number)
            if number is not None:
                self._numbers[-1] = number + 1
            self._first = (mark, "accent")
            self._lead.append((clean(" " * len(mark)), ""))
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            if not self._lead:
                self._space()
            start = token.attrGet("start")
            self._numbers.append(None if token.type == "bullet_list_open" else int(start or 1))
        elif not token.hidden:
            self._space()
            if token.type == "blockquote_open":
                self._lead.append((words("▏ "), "muted"))

    def _closed(self, token: Token) -> None:
        """Handles the end of a block."""
        if token.type in ("bullet_list_close", "ordered_list_close"):
            self._numbers.pop()
        elif token.type == "blockquote_close":
            self._lead.pop()
        elif token.type == "list_item_close":
            if self._first is not None:
                self._put([])  # an item without a text
            self._lead.pop()

    def _code(self, text: str) -> None:
        self._space()
        for each in text.rstrip("\n").split("\n"):
            for part in wrap(clean(each), self._available - 2) or [NOTHING]:
                self._put([(words("  "), ""), (part, "json-text")])

    def _table(self, tokens: Sequence[Token]) -> None:
        self._space()
        rows: list[list[SafeText]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(join(text for text, _ in _inline(token.children or (), "")))
        columns = max(map(len, rows), default=0)
        widths = [max(width(row[at]) if at < len(row) else 0 for row in rows) for at in range(columns)]
        widths = narrowed(widths, self._available - 2 * (columns - 1), NARROWEST_CELLS)
        for number, row in enumerate(rows):
            cells = [fit(row[at] if at < len(row) else NOTHING, widths[at]) for at in range(columns)]
            self._put([(join(cells, "  "), "" if number else "header")])

    # -- lines -------------------------------------------------------------------------------------------------

    @property
    def _available(self) -> int:
        return max(8, self._cells - sum(width(text) for text, _ in self._lead))

    def _space(self) -> None:
        if self.lines and self.lines[-1].text.strip() and self._first is None:
            self.lines.append(Line(tuple(self._lead)))

    def _put(self, pieces: Sequence[tuple[SafeText, str]]) -> None:
        lead = [*self._lead]
        if self._first is not None:
            lead[-1], self._first = self._first, None
        self.lines.append(Line((*lead, *pieces)))

    def _wrapped(self, pieces: Sequence[tuple[SafeText, str]]) -> None:
        for pieces_of_line in _wrapped(pieces, self._available):
            self._put(pieces_of_line)


def _inline(tokens: Sequence[Token], tone: str) -> list[tuple[SafeText, str]]:
    """Returns the styled pieces of a paragraph; a line break is a separate piece."""
    pieces: list[tuple[SafeText, str]] = []
    tones = [tone]
    target = ""
    for token in tokens:
        match token.type:
            case "text":
                pieces.append((clean(token.content), tones[-1]))
            case "code_inline":
                pieces.append((clean(token.content), "json-text"))
            case "softbreak":
                pieces.append((words(" "), tones[-1]))
            case "hardbreak":
                pieces.append((words("\n"), ""))
            case "strong_open" | "em_open":
                tones.append("title" if token.type == "strong_open" else "accent")
            case "s_open":
                tones.append("struck")
            case "link_open":
                target = str(token.attrGet("href") or "")
                tones.append("accent")
            case "link_close":
                tones.pop()
                # The whole target of a link is shown, unless it is the text of the link.
                if target and not any(clean(target) == text for text, _ in pieces[-1:]):
                    pieces.append((safe(" ({})", target), "muted"))
                target = ""
            case "strong_close" | "em_close" | "s_close":
                tones.pop()
            case "image":
                pieces.append((safe("[image: {}] ({})", token.content, token.attrGet("src") or ""), "muted"))
            case _:
                pieces.append((clean(token.content), tones[-1]))
    return pieces


def _wrapped(pieces: Sequence[tuple[SafeText, str]], cells: int) -> list[list[tuple[SafeText, str]]]:
    """Wraps pieces at spaces; the pieces of each line keep their styles."""
    made: list[list[tuple[SafeText, str]]] = []
    run: list[tuple[SafeText, str]] = []

    def end() -> None:
        whole = join(text for text, _ in run)
        at, left = 0, [*run]
        for part in wrap(whole, cells) if whole else [NOTHING]:
            place = whole.find(part, at)
            left = _dropped(left, place - at)
            taken, left = _taken(left, len(part))
            at = place + len(part)
            if is_broken(part):
                taken[-1] = broken(taken[-1][0]), taken[-1][1]
            made.append(taken)
        run.clear()

    for text, tone in pieces:
        if text == "\n":
            end()
        else:
            run.append((text, tone))
    end()
    return made


def _taken(
    pieces: Sequence[tuple[SafeText, str]], count: int
) -> tuple[list[tuple[SafeText, str]], list[tuple[SafeText, str]]]:
    """Splits pieces after ``count`` characters."""
    taken: list[tuple[SafeText, str]] = []
    for number, (text, tone) in enumerate(pieces):
        if len(text) > count:
            if count:
                taken.append((clean(text[:count]), tone))
            return taken, [(clean(text[count:]), tone), *pieces[number + 1 :]]
        taken.append((text, tone))
        count -= len(text)
    return taken, []


def _dropped(pieces: Sequence[tuple[SafeText, str]], count: int) -> list[tuple[SafeText, str]]:
    return _taken(pieces, count)[1] if count > 0 else [*pieces]


class MarkdownPage:
    """A Markdown text as a page (see :mod:`mcp_tui.view.pages`)."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._cells = -1
        self._lines: list[Line] = []

    @property
    def count(self) -> int:
        return len(self._lines)

    def lay_out(self, cells: int) -> None:
        if cells != self._cells:
            self._cells = cells
            self._lines = MarkdownLines(self._text, cells).lines or [line()]

    def line(self, number: int) -> Line:
        return self._lines[number]

    def toggle(self, number: int) -> bool:
        return False

    def find(self, wanted: str, stop: Callable[[], bool]) -> list[tuple[int, ...]]:
        wanted = wanted.casefold()
        return [(at, 0) for at, each in enumerate(self._lines) if wanted in each.text.casefold()]

    def reveal(self, place: tuple[int, ...]) -> int:
        return min(place[0], max(0, self.count - 1))
