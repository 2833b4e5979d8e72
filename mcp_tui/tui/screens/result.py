"""An answer on one page, to read, fold, search, copy, and save; its links can be followed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from mcp_tui.client.results import BINARY, NotDecoded, Part, PartKind, content, file_name, free, parts, save
from mcp_tui.client.schemas import Problem
from mcp_tui.protocol.messages import as_object
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.dialog import Dialog, Hint, place
from mcp_tui.tui.widgets.detail_pane import Pager
from mcp_tui.tui.widgets.line_input import LineInput
from mcp_tui.view import durations
from mcp_tui.view.detail import data_words, distinct_parts, label, part_page, plain
from mcp_tui.view.keys import RESULT, hint, key_of
from mcp_tui.view.markdown import is_markdown
from mcp_tui.view.pages import JsonPage, Page, PartsPage, TextPage
from mcp_tui.view.text import NOTHING, SafeText, brief, clip, join, safe, symbols, words
from mcp_tui.view.wire import parsed

Made = TypeVar("Made")

READ_AT_ONCE_BYTES: Final = 64 * 1024
"""The size in bytes up to which an answer is parsed at once; larger ones are parsed in a thread."""

CLIPBOARD_BYTES: Final = 256 * 1024
"""The maximum number of bytes for the terminal's clipboard."""


class ResultScreen(Dialog[str | None]):
    """Shows an answer; dismisses with the URI of a link to read, or ``None``.

    Args:
        raw: the frame as received.
        title: the request that it answers.
        broken: the violations of the output schema.
        follow: whether links can be read, because there is a connection.
        redact: removes the secrets from copies.
    """

    BINDINGS = bindings(RESULT)

    def __init__(
        self,
        raw: bytes,
        *,
        title: SafeText,
        broken: Sequence[Problem] = (),
        follow: bool = True,
        redact: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self._raw = raw
        self._title_ = title
        self._follow = follow
        self._redact = redact
        self._parts: list[Part] = []
        self._flat: set[int] = set()
        self._page: PartsPage | None = None
        self._over = ""
        self._path_of: int | None = None
        """The number of the part for which a path is being typed."""
        self._symbols_in: int | None = None
        """The number of the part that was saved with symbols; it is saved unchanged if a person asks again."""
        heading = place("heading", (title, "bold"), words("  "), durations.size(len(raw)))
        self._pager = Pager()
        text = "Does not match the output schema: {}"
        promise = place("broken", join((safe(text, brief(str(each), 300)) for each in broken[:4]), "\n"))
        self._path = LineInput(compact=True, select_on_focus=False, id="path")
        self._said_ = place("said")
        super().__init__(heading, self._pager, promise, self._said_, self._path)

    def on_mount(self) -> None:
        self._pager.show(self._title_, None)
        self.run_worker(self._read, exit_on_error=True)

    @property
    def _at(self) -> int:
        """The number of the part under the cursor."""
        return 0 if self._page is None else self._page.part_at(self._pager.at)[0]

    @property
    def _link(self) -> Part | None:
        """The part under the cursor, if it is a link that can be read."""
        part = self._parts[self._at] if self._parts and self._follow else None
        return part if part is not None and part.sort is PartKind.LINK else None

    async def _read(self) -> None:
        self._parts, self._page = await self._reading(partial(_paged, self._raw, self._pager.inner.width))
        self._pager.show(self._title_, self._page)
        self._describe()

    async def _reading(self, read: Callable[[], Made]) -> Made:
        """Parses a small answer before the next key, and a large one, which takes seconds, in a thread."""
        return read() if len(self._raw) <= READ_AT_ONCE_BYTES else await asyncio.to_thread(read)

    def _put(self, number: int, page: Page) -> None:
        """Replaces the page of a part; the cursor stays in its part."""
        if self._page is None:
            return
        part, at = self._page.part_at(self._pager.at)
        self._page.replace(number, page)
        self._pager.resize()
        start = self._page.start_of(part)
        self._pager.put_cursor(start if part == number else start + at)
        self._pager.refresh()

    def _describe(self) -> None:
        """Shows above the page which part the cursor is in."""
        if self._parts:
            part, count = self._parts[self._at], len(self._parts)
            where = safe("{:,} of {:,}", self._at + 1, count) if count > 1 else NOTHING
            self._pager.retitle(join((where, label(part)), "  "))
        self.tick()

    on_list_canvas_selected = _describe

    def hints(self) -> Sequence[Hint | None]:
        if self._path.display:
            return [("enter", "Save"), ("app.back", "Back")]
        if self._pager.finder.typing:
            return [("enter", "Done"), ("app.back", "Clear")]
        part = self._parts[self._at] if self._parts else None
        folds = part is not None and _foldable(part)
        flat = self._at in self._flat
        return [
            ("page.open", "Read") if self._link else None,
            ("page.open", "Fold") if folds and not flat else None,
            ("result.switch", "Tree" if flat else "Text") if folds else None,
            ("result.next", "Next") if len(self._parts) > 1 else None,
            ("page.find page.next page.previous", "Find"),
            ("result.copy", "Copy"),
            ("result.save", "Save"),
            ("view.pager", "Pager"),
            ("app.back", "Back"),
        ]

    # -- keys ------------------------------------------------------------------------------------------------

    def action_part(self, by: int) -> None:
        """Moves the cursor to the next or the previous part."""
        if self._page is not None and not self._path.display:
            self._pager.put_cursor(self._page.start_of((self._at + by) % len(self._parts)))
            self.say(self._said_)

    async def action_switch(self) -> None:
        """Switches JSON between a tree and the received text."""
        at = self._at
        if self._parts and _foldable(self._parts[at]):
            self._flat ^= {at}
            self._put(at, await self._reading(partial(_unlaid, self._parts[at], at in self._flat)))
            self._describe()

    def on_list_canvas_activated(self) -> None:
        if self._link and self._link.uri:
            self.dismiss(self._link.uri)

    def action_copy(self) -> None:
        """Copies the result, without secrets."""
        if not self._parts:
            return
        if len(self._raw) > CLIPBOARD_BYTES:
            self._note(hint("Too large for a terminal's clipboard. {result.save} saves it."), "$warning")
            return
        self.app.copy_to_clipboard(plain(parsed(self._redact(self._raw))))  # pyright: ignore[reportUnknownMemberType]
        note = "Copied the result (if your terminal supports OSC 52). {result.save} saves a part to a file."
        self._note(hint(note), "$text-muted")

    async def action_pager(self) -> None:
        """Shows the result in the pager, without secrets."""
        if not self._path.display:
            # Some results have many megabytes: timeouts and cancels keep running meanwhile.
            self.app.page(await asyncio.to_thread(lambda: plain(parsed(self._redact(self._raw)))))

    def action_save(self) -> None:
        """Asks for the path of a file for the part."""
        if not self._parts:
            return
        self._over = ""
        self._path.display = True
        self.set_focus(self._path)
        if self._path_of != self._at:
            self._path_of = self._at
            self._path.value = str(free(Path.cwd(), file_name(self._parts[self._at])))
            self._path.select_all()
        raw = self._symbols_in == self._at
        self._note(
            words("Save the raw bytes of this part to:" if raw else "Save this part to:"), "$text-muted"
        )
        self.tick()

    def on_input_submitted(self) -> None:
        text = self._path.value.strip()
        path = Path(text).expanduser()
        if not text:
            return
        try:
            part = self._parts[self._at]
            data = content(part)
            raw = bool(part.data) or self._symbols_in == self._at
            shown = data if raw else symbols(data.decode()).encode()
            save(path, shown, over=self._over == text)
        except FileExistsError:
            self._over = text
            self._note(safe("{} exists – press enter again to overwrite", brief(str(path), 200)), "$warning")
            return
        except NotDecoded as error:
            self._done(safe("Not written: {}", brief(str(error))), "$error")
            return
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            self._note(safe("Cannot write {}: {}", brief(str(path), 200), brief(why)), "$error")
            return
        self._path_of = None
        self._symbols_in = self._at if shown != data else None
        more = (
            hint(", control characters as symbols. {result.save} saves the raw bytes.")
            if shown != data
            else NOTHING
        )
        place = brief(str(path), 300)
        self._done(safe("{} written to {}{}", durations.size(len(shown)), place, more), "$success")

    def _done(self, text: SafeText, style: str) -> None:
        self._path.display = False
        self.set_focus(self._pager)
        self._note(text, style)
        self.tick()

    def _note(self, text: SafeText, style: str) -> None:
        self.say(self._said_, (clip(text, max(20, 2 * self.size.width - 4)), style))

    def action_close(self) -> None:
        """Closes the field for a path, or the screen."""
        if self._path.display:
            self._done(words("Nothing written"), "$text-muted")
        else:
            self.dismiss(None)


def _paged(raw: bytes, cells: int) -> tuple[list[Part], PartsPage]:
    """Returns the parts of an answer and their page, laid out; the whole answer as JSON comes last, folded."""
    message = parsed(raw)
    members = as_object(message)
    if isinstance(message, str):
        found = [Part(PartKind.TEXT, text=message)]
    elif "result" in members:
        *others, whole = parts(members["result"])
        found = [*distinct_parts(others), whole]
    else:
        found = [Part(PartKind.WHOLE, value=members.get("error", message))]
    pages: list[tuple[SafeText, Page]] = []
    for number, part in enumerate(found[:-1] or found):
        # Consecutive texts, such as a list from a tool, read as one.
        text = part.sort is PartKind.TEXT and not part.role and not part.uri
        more = text and found[number - 1].sort is part.sort
        pages.append((NOTHING if more or not number else label(part), _unlaid(part, flat=False)))
    if len(found) > 1:
        pages.append((words("All of it as JSON"), JsonPage(found[-1].value, folded=True)))
    page = PartsPage(pages)
    page.lay_out(cells)
    return found, page


def _foldable(part: Part) -> bool:
    """Whether a part is shown in another form than it was received in."""
    return part.sort in (PartKind.STRUCTURED, PartKind.WHOLE) or (
        part.sort is PartKind.TEXT
        and (part.text.lstrip()[:1] in ("{", "[") or is_markdown(part.text, part.mime))
    )


def _unlaid(part: Part, flat: bool) -> Page:
    if part.sort in BINARY:
        return TextPage(f"{data_words(part)}\n{part.uri}\n\n{hint('{result.save} saves it to a file.')}")
    if part.sort is PartKind.LINK:
        opens = f"A link. {key_of('page.open')} reads it; nothing is fetched before."
        return TextPage(f"{part.name}\n{part.uri}\n{part.mime}\n{part.text}\n\n{opens}")
    return TextPage(content(part).decode()) if flat else part_page(part, math.inf) or TextPage(part.text)
