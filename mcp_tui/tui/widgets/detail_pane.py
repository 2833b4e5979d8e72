"""Panes to read: sections of lines, and a page of any length. Both search for a text."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.widgets.canvas import Canvas, ListCanvas, ShownNumbers, marked, selected_text
from mcp_tui.tui.widgets.links import linked
from mcp_tui.view.detail import Section
from mcp_tui.view.keys import DETAIL, FIRST_KEYS, PAGE
from mcp_tui.view.lines import Line, Segments
from mcp_tui.view.pages import MatchPlace, PartsPage
from mcp_tui.view.text import NOTHING, SafeText, clean, clip, join, safe, width, words, wrap

FIND_CHARACTERS: Final = 200
"""The maximum number of characters of a search text."""


@dataclass(eq=False)
class Finder:
    """Searches a pane, which passes its keys on.

    Attributes:
        pane: the pane. It searches for :attr:`wanted`, sets :attr:`places`, and then calls :meth:`go`.
        not_found: the words for a text that is not found.
        typing: whether the text is being typed.
        wanted: the text.
        places: the places of the text; ``None`` during the search.
        match: the number of the place on the screen, from 0.
    """

    pane: Detail | Pager
    not_found: SafeText
    typing: bool = False
    wanted: str = ""
    places: Sequence[MatchPlace] | None = ()
    match: int = 0

    def end(self) -> None:
        """Ends the search."""
        self.typing, self.wanted, self.places = False, "", ()

    def go(self) -> None:
        """Shows the match."""
        if self.places:
            self.match = min(self.match, len(self.places) - 1)
            self.pane.reveal(self.places[self.match])
        self._draw()

    def _draw(self) -> None:
        self.pane.placed()
        self.pane.refresh()

    def handle_key(self, event: events.Key) -> None:
        """Handles a key while the text is typed."""
        if not self.typing:
            return
        event.stop()
        event.prevent_default()
        before = self.wanted
        if event.key == "enter":
            self.typing = False
        elif event.key in FIRST_KEYS["app.back"].names:
            self.end()
        elif event.key == "backspace":
            self.wanted = self.wanted[:-1]
        elif event.character is not None and event.character.isprintable():
            self.wanted = (self.wanted + event.character)[:FIND_CHARACTERS]
        if self.wanted != before:
            self.match = 0
            self.pane.look()
        self._draw()

    def pause(self) -> None:
        """Ends the typing; the search continues."""
        self.typing = False
        self.pane.placed()

    def begin(self) -> None:
        """Begins to type the text."""
        self.end()
        self.typing, self.match = True, 0
        self.pane.placed()

    def step(self, by: int) -> None:
        """Goes to the next or previous place, from the last one to the first."""
        if not self.wanted:
            self.begin()
            return
        if self.places:
            self.match = (self.match + by) % len(self.places)
        self.go()

    def highlighted(self, strip: Strip) -> Strip:
        """Returns a line in which the text looks selected."""
        # casefold() would make some texts longer, so that the places would be wrong.
        found = re.search(re.escape(self.wanted), strip.text, re.IGNORECASE) if self.wanted else None
        return marked(self.pane, strip, None if found is None else found.span())

    @property
    def said(self) -> SafeText:
        """The words for the border: ``/wanted▏ 3 of 17``."""
        if not self.typing and not self.wanted:
            return NOTHING
        if not self.wanted:
            count = ""
        elif self.places is None:
            count = "  …"
        elif self.places:
            count = f"  {self.match + 1:,} of {len(self.places):,}"
        else:
            count = safe("  {}", self.not_found)
        return safe("/{}{}{}", clean(self.wanted), "▏" if self.typing else "", count)


_BLANK_LINE: Final = Line(())


class Detail(Canvas):
    """A pane that shows sections.

    :meth:`show` may be called on every tick: sections that are the same objects as before are not wrapped again. The
    scroll position is kept while ``key`` stays the same. If a section has a page, there is a cursor, and enter folds
    its line; otherwise the keys scroll, and enter posts :class:`Opened`.
    """

    ALLOW_SELECT = True

    BINDINGS = bindings(DETAIL)

    class Opened(Message):
        """Enter was pressed, to open the whole of a content that is shown in part."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.hint = NOTHING
        self._name = NOTHING
        self._key: object = None
        self._sections: list[Section] = []
        self._wrapped: dict[int, tuple[Section, list[Segments]]] = {}
        self._wrapped_to = 0
        self._lines: list[Segments] = []
        self._starts: list[int] = []
        self._at = 0, 0
        """The place of the cursor: the number of a section, and a line in it."""
        self.finder = Finder(self, words("not found here"))

    def action_find(self) -> None:
        self.finder.begin()

    def action_step(self, by: int) -> None:
        self.finder.step(by)

    def show(self, name: SafeText, sections: Sequence[Section], *, key: object = None) -> None:
        """Shows sections, from the top if ``key`` has changed; ``name`` follows the title."""
        moved = key != self._key
        self._name, self._key = name, key
        self._sections = list(sections)
        if moved:
            self.finder.end()
            self._at = 0, 0
        self._lay_out()
        if moved:
            self.scroll_to(y=0, animate=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        cells = self.inner.width
        if cells <= 0:
            return
        known = self._wrapped if self._wrapped_to == cells else {}
        self._wrapped_to = cells
        # The sections are stored with their lines, so that no other section gets the same identity.
        self._wrapped = {
            id(each): known.get(id(each)) or (each, wrapped_lines(each, cells)) for each in self._sections
        }
        lines: list[Segments] = []
        self._starts = []
        for section, wrapped in self._wrapped.values():
            if section.title:
                if lines:
                    lines.append(_BLANK_LINE.segments)
                lines.append(((clip(section.title, cells), "title"),))
            self._starts.append(len(lines))
            lines.extend(wrapped)
        before, self._lines = self._lines, lines
        if self.finder.wanted and before != lines:
            self._find()
        self.placed()
        self.virtual_size = Size(cells, len(lines))  # draws everything if it changed
        for at in range(self.scroll_offset.y, self.scroll_offset.y + self.inner.height):
            if before[at : at + 1] != lines[at : at + 1]:
                self.refresh_line(at)

    def placed(self) -> None:
        hint = self.hint if self.has_focus and self._sections else NOTHING
        cells = max(1, self.outer_size.width - 6)
        self.caption(
            clip(join((self.title, self._name), " · "), cells), clip(self.finder.said or hint, cells)
        )

    def on_focus(self) -> None:
        self.call_after_refresh(self.placed)

    def on_blur(self) -> None:
        self.finder.pause()

    # -- search ----------------------------------------------------------------------------------------------

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Takes the keys of the search, which the surrounding screen may also use."""
        if self.finder.typing:
            return character is not None
        ids = ("detail.find", "detail.next", "detail.previous") if self.finder.wanted else ("detail.find",)
        return any(key in FIRST_KEYS[id_].names for id_ in ids)

    async def _on_key(self, event: events.Key) -> None:
        if not self.finder.typing and self.finder.wanted and event.key in FIRST_KEYS["app.back"].names:
            event.stop()
            event.prevent_default()
            self.finder.end()
            self.finder.go()
        self.finder.handle_key(event)

    def action_open(self) -> None:
        """Folds or unfolds the line of the cursor; opens content that has its own screen."""
        if not self._toggled(self.cursor):
            self.post_message(self.Opened())

    def _toggled(self, line: int | None) -> bool:
        if line is None:
            return False
        section, at = self._place(line)
        page = self._sections[section].page
        number = at - self._before(section)
        if page is None or number < 0 or not page.toggle(number):
            return False
        self._forget_section(section)
        return True

    def _forget_section(self, section: int) -> None:
        """Lays out a section again, whose page has changed."""
        self._wrapped.pop(id(self._sections[section]), None)
        self._lay_out()
        self.refresh()

    def look(self) -> None:
        """Searches for the text of the finder."""
        self._find()
        self.finder.go()

    def _find(self) -> None:
        wanted = self.finder.wanted.casefold()
        places: list[MatchPlace] = []
        for number, (section, wrapped) in enumerate(self._wrapped.values() if wanted else ()):
            own = len(wrapped) if section.page is None else self._before(number)
            texts = ("".join(text for text, _ in pieces).casefold() for pieces in wrapped[:own])
            places += [(number, at) for at, text in enumerate(texts) if wanted in text]
            if section.page is not None:
                places += [(number, own, *place) for place in section.page.find(wanted, lambda: False)]
        self.finder.places = places
        self.finder.match = min(self.finder.match, max(0, len(places) - 1))

    def reveal(self, place: MatchPlace) -> None:
        """Scrolls to a place of the text, and unfolds the lines around it."""
        section, at, *inside = place
        page = self._sections[section].page
        if page is not None and at == self._before(section):
            at += page.reveal(tuple(inside))
            self._forget_section(section)
        self._put_cursor(self._starts[section] + at, margin=self.inner.height // 3)

    # -- the cursor ------------------------------------------------------------------------------------------

    @property
    def cursor(self) -> int | None:
        """The line of the cursor; ``None`` if no section has a page."""
        if all(each.page is None for each in self._sections) or not self._starts:
            return None
        section = min(self._at[0], len(self._starts) - 1)
        return min(self._starts[section] + self._at[1], max(0, len(self._lines) - 1))

    def _before(self, section: int) -> int:
        """Returns the number of lines of a section above its page."""
        (shown, wrapped) = [*self._wrapped.values()][section]
        return len(wrapped) - (0 if shown.page is None else shown.page.count)

    def _place(self, line: int) -> tuple[int, int]:
        """Returns the section of a line, and the line's number in its page; negative above the page."""
        section = max(0, bisect_right(self._starts, line) - 1)
        return section, line - self._starts[section]

    def _put_cursor(self, line: int, *, margin: int = 0) -> None:
        """Puts the cursor on a line and scrolls to it, with ``margin`` lines above it if it was off the screen."""
        line = max(0, min(len(self._lines) - 1, line))
        self._at = self._place(line)
        top, rows = self.scroll_offset.y, self.inner.height
        if line < top or line >= top + rows:
            to = line - margin if margin else line if line < top else line - rows + 1
            self.scroll_to(y=max(0, to), animate=False, force=True)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or self.cursor is None:
            return
        line = at.y + self.scroll_offset.y
        if line < len(self._lines):
            same = line == self.cursor
            self._put_cursor(line)
            if event.chain == 2 or (same and event.chain == 1):
                self._toggled(line)

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        if at >= len(self._lines):
            return self.say(words(" Nothing selected.")) if y == 0 and not self._sections else self.blank()
        on_cursor = self.has_focus and at == self.cursor
        strip = linked(Strip(self.paint(self._lines[at], cursor=on_cursor)), at, self._lines.__getitem__)
        if on_cursor:
            rest = self.paint(((words(" "), ""),), cursor=True)[0].style
            strip = strip.adjust_cell_length(self.inner.width, rest)
        strip = self.finder.highlighted(strip)
        selection = self.text_selection
        if selection is not None:
            strip = marked(self, strip, selection.get_span(at))
        return strip.adjust_cell_length(self.inner.width, self.tone("")).apply_offsets(0, at)

    def action_go(self, way: str) -> None:
        """Moves the cursor, or scrolls: ``up``, ``down``, ``page_up``, ``page_down``, ``home``, or ``end``."""
        cursor = self.cursor
        if cursor is None:
            getattr(self, f"scroll_{way}")(animate=False, force=True)
            return
        page = max(1, self.inner.height - 1)
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page}
        ends = {"home": 0, "end": len(self._lines)}
        self._put_cursor(ends[way] if way in ends else cursor + steps[way])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Returns the selected text without images."""
        return selected_text(selection, range(len(self._lines)), self._text)

    @property
    def text(self) -> str:
        """The whole text of the pane."""
        return "\n".join(self._text(line).rstrip() for line in range(len(self._lines)))

    def _text(self, line: int) -> str:
        return "".join(piece for piece, _ in self._lines[line])


def wrapped_lines(section: Section, cells: int) -> list[Segments]:
    """Returns the lines of a section, wrapped to ``cells`` cells; the lines of its page come last."""
    lines: list[Segments] = []
    for line in section.lines:
        lines.extend(_wrapped_line(line, cells))
    if section.table is not None:
        lines.extend(line.segments for line in section.table(cells))
    if section.page is not None:
        section.page.lay_out(cells)
        lines.extend(section.page.line(number).segments for number in range(section.page.count))
    return lines


def _wrapped_line(line: Line, cells: int) -> list[Segments]:
    """Wraps the last piece of a line, indented to the start of that piece if there is room."""
    if not line.segments:
        return [()]
    *before, (text, tone) = line.segments
    taken = sum(width(piece) for piece, _ in before)
    if taken + width(text) <= cells:
        return [line.segments]
    if taken > cells // 2:
        joined = clean("".join((piece for piece, _ in line.segments)))
        return [((part, tone),) for part in wrap(joined, cells)]
    first, *rest = wrap(text, cells - taken)
    indent = (clean(" " * taken), "")
    return [(*before, (first, tone)), *((indent, (part, tone)) for part in rest)]


# -- a page --------------------------------------------------------------------------------------------------

FIND_PAUSE_SECONDS: Final = 0.1
"""Seconds without a key after which the search begins."""


class Pager(ListCanvas):
    """Shows a :class:`~mcp_tui.view.pages.PartsPage` with a cursor."""

    BINDINGS = bindings(PAGE)

    cursor_in_sight = True

    def __init__(self) -> None:
        super().__init__(ShownNumbers((), newest_first=False))
        self._page = PartsPage(())  # while it is being read
        self._searches = 0
        self.finder = Finder(self, words("not found"))

    def action_find(self) -> None:
        self.finder.begin()

    def action_step(self, by: int) -> None:
        self.finder.step(by)

    @property
    def at(self) -> int:
        """The number of the line under the cursor."""
        return self.cursor_line or 0

    def show(self, title: SafeText, page: PartsPage | None) -> None:
        """Shows a page from its top; ``None`` while it is being read."""
        self.title, self._page = title, page or PartsPage(())
        self.finder.end()
        self._searches += 1
        self._cursor, self._follow = 0, True
        self.settle(None)

    def settle(self, anchor: tuple[Any, int] | None) -> None:
        if self.inner.width > 0:
            self._page.lay_out(self.inner.width)
        super().settle(anchor)

    def resize(self) -> None:
        self.lines = ShownNumbers(range(self._page.count), newest_first=False)
        super().resize()

    def placed(self) -> None:
        count = len(self.lines)
        where = safe("line {:,} of {:,}", self.at + 1, count) if count else NOTHING
        self.caption(self.title, self.finder.said or where)

    def render_line(self, y: int) -> Strip:
        line = self.line_at(y)
        if line is None:
            return self.say(words("reading …")) if y == 0 else self.blank()
        strip = self.strip(self._page.line(line).segments, cursor=line == self.at and self.has_focus)
        return self.finder.highlighted(linked(strip, line, lambda at: self._page.line(at).segments))

    def action_activate(self) -> None:
        """Folds or unfolds the line; posts :class:`Activated` for a line that does not fold, such as a link."""
        line = self.cursor_line
        if line is not None and self._page.toggle(line):
            self.settle(self.anchored())
        else:
            super().action_activate()

    # -- search ----------------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        self.finder.handle_key(event)

    def on_blur(self) -> None:
        self.finder.pause()

    def look(self) -> None:
        self._searches += 1
        wanted = self.finder.wanted
        self.finder.places = None if wanted else ()
        if wanted and self.lines:
            self.run_worker(partial(self._search, self._page, wanted, self._searches), exit_on_error=True)

    async def _search(self, page: PartsPage, wanted: str, number: int) -> None:
        # In a thread: a large page takes seconds, and keys must work meanwhile.
        await asyncio.sleep(FIND_PAUSE_SECONDS)
        # Another letter or page has started a newer search meanwhile.
        if number != self._searches:
            return
        places = await asyncio.to_thread(page.find, wanted, lambda: number != self._searches)
        if number == self._searches:
            self.finder.places = places
            self.finder.go()

    def reveal(self, place: MatchPlace) -> None:
        line = self._page.reveal(place)
        self.resize()
        self.put_cursor(line)
