"""Results of any size as lines: wrapped text, and JSON as a tree that folds, with tables. Both can be searched.

Only visible lines are laid out. The page of a 64 MB text computes only the number of its lines. The page of a JSON value
with a million items shows ranges of items that can be unfolded.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, cast

from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json
from mcp_tui.view.json_tables import JsonTable, json_table, json_tone
from mcp_tui.view.keys import key_of
from mcp_tui.view.lines import Line, line
from mcp_tui.view.markdown import MarkdownPage
from mcp_tui.view.text import NOTHING, SafeText, brief, broken, clean, clip, safe, words

TEXT_CHARACTERS: Final = 32 * 1024 * 1024
"""The most characters of a text that are shown; a saved file has all of them."""

KIDS: Final = 500
"""The most members that a container shows; a container with more members shows ranges."""

UNFOLDED_LINES: Final = 400
"""The most lines of JSON that are unfolded at first."""

FOUND: Final = 10_000
"""The most matches of a search."""

MatchPlace = tuple[int, ...]
"""The place of a match. In text it is a line and a column; in JSON, the numbers of members on the way from the root."""


class TextPage:
    """A text as a page. Like every page, it has lines with the numbers from 0 to :attr:`count` - 1."""

    def __init__(self, text: str) -> None:
        # Line by line, because one long `str` operation would block the event loop even from another thread.
        lines = text[:TEXT_CHARACTERS].replace("\r\n", "\n").split("\n")
        self._lines = [each if each.isascii() and each.isprintable() else str(clean(each)) for each in lines]
        if len(text) > TEXT_CHARACTERS:
            self._lines.append(
                f"… {len(text) - TEXT_CHARACTERS:,} more characters: {key_of('result.save')} saves all of them"
            )
        self._cells = 0
        self._ends: list[int] = []

    @property
    def count(self) -> int:
        """The number of lines at the current width."""
        return self._ends[-1] if self._ends else 0

    def lay_out(self, cells: int) -> None:
        """Sets the width."""
        cells = max(2, cells)
        if cells != self._cells:
            self._cells = cells
            self._ends = list(accumulate(self._rows(each) for each in self._lines))

    def _chunk(self, text: str) -> int:
        """Returns the number of characters that always fit into a line; the widest characters take two cells."""
        return self._cells if text.isascii() else self._cells // 2

    def _rows(self, text: str) -> int:
        return max(1, -(-len(text) // self._chunk(text)))

    def line(self, number: int) -> Line:
        at = bisect_right(self._ends, number)
        text = self._lines[at]
        chunk = self._chunk(text)
        start = (number - (self._ends[at - 1] if at else 0)) * chunk
        shown = clean(text[start : start + chunk])
        return line(broken(shown) if start + chunk < len(text) else shown)

    def toggle(self, number: int) -> bool:
        """Folds or unfolds the lines below a line; returns whether anything changed."""
        return False

    def find(self, wanted: str, stop: Callable[[], bool]) -> list[MatchPlace]:
        """Returns the places of a text, ignoring case, until ``stop`` returns true. May run in a thread."""
        wanted = wanted.casefold()
        found: list[MatchPlace] = []
        for number, text in enumerate(self._lines):
            if number % 1000 == 0 and stop():
                break
            folded = text.casefold()
            at = folded.find(wanted)
            while at != -1:
                found.append((number, at))
                if len(found) >= FOUND:
                    return found
                at = folded.find(wanted, at + len(wanted))
        return found

    def reveal(self, place: MatchPlace) -> int:
        """Returns the line of a place, and unfolds the lines that hide it."""
        number, column = place
        before = self._ends[number - 1] if number else 0
        text = self._lines[number]
        return before + min(column, max(0, len(text) - 1)) // self._chunk(text)


@dataclass(slots=True, eq=False)
class _Node:
    """One line of a JSON value: a member, a range of members, or a line of a long text."""

    label: str
    value: Json
    depth: int
    start: int = 0
    stop: int = -1
    open: bool = False
    kids: list[_Node] = field(default_factory=list["_Node"])
    table: JsonTable | None = None
    """The table of which this line is a row or the header."""
    header: bool = False
    broken: bool = False
    """Whether this is a line of a long text that continues on the next line."""

    @property
    def ranged(self) -> bool:
        return self.stop >= 0


class JsonPage:
    """A JSON value as a tree that folds."""

    def __init__(self, value: Json, *, folded: bool = False) -> None:
        self._cells = 80
        self._root = _Node("", value, 0)
        self._nodes = [self._root]
        waiting = deque([] if folded else [self._root])
        while waiting:
            node = waiting.popleft()
            size = _size(node.value)
            space = node is self._root or len(self._nodes) + min(KIDS, size) <= UNFOLDED_LINES
            if space and size and not node.ranged and node.table is None:
                self._unfold(node)
                waiting.extend(node.kids)

    @property
    def count(self) -> int:
        return len(self._nodes)

    def lay_out(self, cells: int) -> None:
        self._cells = max(20, cells)

    def line(self, number: int) -> Line:
        node = self._nodes[number]
        mark = words("  ") if not self._can_unfold(node) else words("▾ ") if node.open else words("▸ ")
        lead = safe("{}{}", "  " * min(node.depth, 30), mark)
        if node.table is not None:
            node.table.lay_out(max(8, self._cells - len(lead)))
            if node.header:
                return Line(((lead, "muted"), *node.table.header()))
            return Line(((lead, "muted"), *node.table.row(cast("dict[str, Json]", node.value))))
        if node.ranged:
            return line((lead, "muted"), (safe("{:,} … {:,}", node.start, node.stop - 1), "muted"))
        label = safe("{}: ", brief(node.label, 200)) if node.label else NOTHING
        label_tone = "json-name" if node.label.startswith('"') else "muted"
        space = max(8, self._cells - len(lead) - len(label))
        shown, tone = self._shown(node, space)
        return line((lead, "muted"), (label, label_tone), (shown, tone))

    def _shown(self, node: _Node, space: int) -> tuple[SafeText, str]:
        size = _size(node.value)
        match node.value:
            case dict():
                return (safe("{{ {:,} }}", size) if size else words("{}")), "muted"
            case list():
                return (safe("[ {:,} ]", size) if size else words("[]")), "muted"
            case str() as text if node.label == "" and node.depth and not node.open:
                shown = clip(brief(text, space), space)
                return broken(shown) if node.broken else shown, ""
            case str() as text if len(text) > space:
                cut = clean(json.dumps(text[:space], ensure_ascii=False)[:-1])
                return clip(safe("{}", cut), space), json_tone(text)
            case value:
                return clean(messages.text(value)), json_tone(value)

    def _can_unfold(self, node: _Node) -> bool:
        """Whether a line can be unfolded."""
        if node.ranged:
            return True
        if node.header:
            return False
        if isinstance(node.value, str):
            return bool(node.label or not node.depth) and len(node.value) > max(
                8, self._cells - 2 * node.depth - len(node.label) - 6
            )
        return _size(node.value) > 0

    def toggle(self, number: int) -> bool:
        node = self._nodes[number]
        if not self._can_unfold(node):
            return False
        if node.open:
            end = number + 1
            while end < len(self._nodes) and self._nodes[end].depth > node.depth:
                end += 1
            del self._nodes[number + 1 : end]
            node.open = False
            node.kids = []
        else:
            self._unfold(node)
        return True

    def _unfold(self, node: _Node) -> None:
        node.open = True
        node.kids = list(self._kids(node))
        shown = node.kids
        if (table := json_table(node.value)) is not None and not all(kid.ranged for kid in node.kids):
            for kid in node.kids:
                kid.table = table
            shown = [_Node("", None, node.depth + 1, table=table, header=True), *node.kids]
        at = self._nodes.index(node) + 1
        self._nodes[at:at] = shown

    def _kids(self, node: _Node) -> Iterable[_Node]:
        depth = node.depth + 1
        if isinstance(node.value, str):
            cells = max(16, self._cells - 2 * depth - 4)
            for start in range(0, min(len(node.value), cells * KIDS), cells):
                more = start + cells < len(node.value)
                yield _Node("", node.value[start : start + cells], depth, broken=more)
            return
        size = _size(node.value)
        start, stop = (node.start, node.stop) if node.ranged else (0, size)
        if stop - start > KIDS:
            step = KIDS
            while (stop - start) / step > KIDS:
                step *= KIDS
            for each in range(start, stop, step):
                yield _Node("", node.value, depth, each, min(each + step, stop))
            return
        for label, value in _members(node.value, start, stop):
            yield _Node(label, value, depth)

    def find(self, wanted: str, stop: Callable[[], bool]) -> list[MatchPlace]:
        wanted = wanted.casefold()
        found: list[MatchPlace] = []
        waiting: list[tuple[MatchPlace, Json]] = [((), [self._root.value])]
        while waiting and len(found) < FOUND and not stop():
            place, value = waiting.pop()
            named = isinstance(value, dict)
            kids = cast("dict[str, Json]", value).items() if named else enumerate(cast("list[Json]", value))
            for number, (name, kid) in enumerate(kids):
                if isinstance(kid, (dict, list)):
                    waiting.append(((*place, number), cast("Json", kid)))
                elif wanted in (kid if isinstance(kid, str) else messages.text(kid)).casefold():
                    found.append((*place, number))
                    continue
                if named and wanted in cast("str", name).casefold():
                    found.append((*place, number))
        return [each[1:] for each in sorted(found)[:FOUND]]

    def reveal(self, place: MatchPlace) -> int:
        node = self._root
        for number in place:
            node = self._opened(node, number)
        return self._nodes.index(node)

    def _opened(self, node: _Node, number: int) -> _Node:
        """Returns a member of a container by its number, and unfolds the ranges that contain it."""
        while True:
            if not node.open:
                self._unfold(node)
            inside = next((kid for kid in node.kids if kid.ranged and kid.start <= number < kid.stop), None)
            if inside is None:
                return node.kids[number - (node.start if node.ranged else 0)]
            node = inside


Page = TextPage | JsonPage | MarkdownPage
"""A page of one part of a result."""


class PartsPage:
    """Several pages as one, each below its heading, if any. A search includes the last page only if no other matches."""

    def __init__(self, pages: Sequence[tuple[SafeText, Page]]) -> None:
        self._heads = [head for head, _ in pages]
        self._pages = [page for _, page in pages]
        self._cells = 0
        self._starts: list[int] = []
        self.count = 0

    def lay_out(self, cells: int) -> None:
        self._cells = cells
        for page in self._pages:
            page.lay_out(cells)
        self._place()

    def _place(self) -> None:
        """Computes the start of each page: the blank line above its heading."""
        sizes = [page.count + 2 * bool(head) for head, page in zip(self._heads, self._pages, strict=True)]
        *self._starts, self.count = accumulate(sizes, initial=0)

    def replace(self, part: int, page: Page) -> None:
        """Replaces one page."""
        page.lay_out(self._cells)
        self._pages[part] = page
        self._place()

    def part_at(self, number: int) -> tuple[int, int]:
        """Returns the number of the page of a line, and the number of the line in that page; negative for the heading."""
        part = max(0, bisect_right(self._starts, number) - 1)
        return part, number - self.start_of(part)

    def start_of(self, part: int) -> int:
        """Returns the first line of a page, below its heading."""
        return self._starts[part] + 2 * bool(self._heads[part])

    def line(self, number: int) -> Line:
        part, at = self.part_at(number)
        if at < 0:
            return line((self._heads[part], "title")) if at == -1 else line()
        return self._pages[part].line(at)

    def toggle(self, number: int) -> bool:
        part, at = self.part_at(number)
        changed = at >= 0 and self._pages[part].toggle(at)
        self._place()
        return changed

    def find(self, wanted: str, stop: Callable[[], bool]) -> list[MatchPlace]:
        found: list[MatchPlace] = []
        for part, page in enumerate(self._pages):
            if found and (part == len(self._pages) - 1 or len(found) >= FOUND):
                break
            found += [(part, *place) for place in page.find(wanted, stop)]
        return found[:FOUND]

    def reveal(self, place: MatchPlace) -> int:
        part, *inside = place
        at = self._pages[part].reveal(tuple(inside))
        self._place()
        return self.start_of(part) + at


def _size(value: Json) -> int:
    return len(cast("Sequence[Json]", value)) if isinstance(value, (dict, list)) else 0


def _members(value: Json, start: int, stop: int) -> Iterable[tuple[str, Json]]:
    if isinstance(value, dict):
        members = list(cast("dict[str, Json]", value).items())[start:stop]
        return [(json.dumps(name, ensure_ascii=False), member) for name, member in members]
    return [(str(start + number), item) for number, item in enumerate(cast("list[Json]", value)[start:stop])]
