"""One answer, part by part: read, folded, searched, copied, saved, and its links followed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from textual.app import ComposeResult
from textual.widgets import Input

from mcp_tui.client.results import NotDecoded, Part, PartKind, content, file_name, free, parts, save
from mcp_tui.client.schemas import Problem
from mcp_tui.protocol.messages import Json, as_object, read_json
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.dialogs import RESULT
from mcp_tui.tui.keys.now import hint, key_of
from mcp_tui.tui.screens.dialog import Dialog, Hint, place
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.image import ImagePage, NotDrawn, facts, pictured
from mcp_tui.tui.view.pages import JsonPage, Page, TextPage
from mcp_tui.tui.view.results import label
from mcp_tui.tui.view.text import SafeText, brief, clip, join, safe, words
from mcp_tui.tui.widgets.image import decode, ground, undrawn
from mcp_tui.tui.widgets.pager import Pager

LARGE: Final = 64 * 1024
"""Bytes from which an answer is read beside the screen."""

COPIED: Final = 256 * 1024
"""Bytes that are handed to the terminal's clipboard; most take less."""

_BINARY: Final = (PartKind.IMAGE, PartKind.AUDIO, PartKind.BLOB)


class ResultScreen(Dialog[str | None]):
    """Shows an answer; dismisses the URI of a link that is to be read, or ``None``.

    Args:
        raw: the frame as it came.
        title: what it answers.
        broken: what the result breaks of its output schema.
        follow: whether links can be read: there is a connection.
    """

    DEFAULT_CSS = """
    ResultScreen {
        overflow: hidden;
        & > #dialog { width: 100%; height: 100%; padding: 0; border: none; background: $background; }
        & #parts { height: auto; max-height: 3; padding: 0 1; background: $panel; }
        & Pager { height: 1fr; }
        &.-ascii > #dialog { border: none; }
        &.-ascii Pager { border: ascii $primary; scrollbar-visibility: hidden; }
        & #broken { padding: 0 1; color: $error; display: none; max-height: 4; }
        & #path { display: none; margin: 0 1; }
        & #said { padding: 0 1; display: none; }
        & #keys { margin: 0 1; }
    }
    """

    SCOPES = (RESULT,)
    BINDINGS = bindings(*SCOPES)

    AUTO_FOCUS = "Pager"

    def __init__(
        self, raw: bytes, *, title: SafeText, broken: list[Problem] | None = None, follow: bool = True
    ) -> None:
        super().__init__()
        self._raw = raw
        self._title_ = title
        self._broken = broken or []
        self._follow = follow
        self._parts: list[Part] = []
        self._at = 0
        self._flat: set[int] = set()
        self._pages: dict[tuple[int, bool], Page] = {}
        self._over = ""
        self._path_of: int | None = None
        self._tabs = place("parts")
        self._pager = Pager()
        self._promise = place("broken")
        self._path = Input(compact=True, select_on_focus=False, id="path")
        self._path.cursor_blink = False
        self._said_ = place("said")

    def body(self) -> ComposeResult:
        yield self._tabs
        yield self._pager
        yield self._promise
        yield self._said_
        yield self._path

    def on_mount(self) -> None:
        self._pager.show(self._title_, None)
        self.say(self._tabs, (self._title_, "bold"), words("  "), durations.size(len(self._raw)))
        if self._broken:
            said = [
                safe("not as the output schema promised: {}", brief(str(each), 300)) for each in self._broken
            ]
            self._promise.display = True
            self.say(self._promise, join(said[:4], "\n"))
        self.run_worker(self._read(), exit_on_error=True)

    async def _read(self) -> None:
        made = await asyncio.to_thread(_parted, self._raw) if len(self._raw) > LARGE else _parted(self._raw)
        self._parts = made
        await self._show()

    async def _show(self) -> None:
        part, flat = self._parts[self._at], self._at in self._flat
        key = (self._at, flat)
        if key not in self._pages and pictured(part):
            self._decode(key, part)
        elif key not in self._pages:
            self._pager.show(self._title_, None)
            large = len(self._raw) > LARGE
            cells = self._pager.inner_width
            made = asyncio.to_thread(_page, part, flat, cells) if large else None
            self._pages[key] = _page(part, flat, cells) if made is None else await made
        if key == (self._at, self._at in self._flat) and key in self._pages:
            self._pager.show(label(part), self._pages[key])
            self._tell()

    def _decode(self, key: tuple[int, bool], part: Part) -> None:
        """Have the page of an image made; what is known of it stands there meanwhile, or why it is not drawn."""
        why = undrawn(self.app)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - any app
        if why:
            self._pages[key] = _told(part, why)
            return
        self._pager.show(label(part), _told(part, words("reading the image …")))
        self._tell()
        self.run_worker(self._decoded(key, part), group="image", exclusive=True, exit_on_error=True)

    async def _decoded(self, key: tuple[int, bool], part: Part) -> None:
        page: Page
        try:
            picture = await decode(part)
            page = ImagePage(facts(part, picture), picture, lambda: ground(self._pager))
        except NotDrawn as error:
            page = _told(part, safe("not drawn: {}", error))
        # One image takes much: those that were looked at before are decoded again.
        others = {at: known for at, known in self._pages.items() if not isinstance(known, ImagePage)}
        self._pages = {**others, key: page}
        if key == (self._at, self._at in self._flat):
            await self._show()

    def _tell(self) -> None:
        pieces: list[SafeText | tuple[SafeText, str]] = [(self._title_, "bold")]
        for number, part in enumerate(self._parts[:20]):
            shown = safe(" {}:{} ", number + 1, part.sort.value)
            pieces += [words(" "), (shown, "reverse" if number == self._at else "$text-muted")]
        if len(self._parts) > 20:
            pieces.append((safe(" … {:,} parts", len(self._parts)), "$text-muted"))
        self.say(self._tabs, *pieces)
        self.tick()

    def hints(self) -> Sequence[Hint | None]:
        if self._path.display:
            return [("enter", "write it"), ("app.back", "do not")]
        part = self._parts[self._at] if self._parts else None
        link = part is not None and part.sort is PartKind.LINK and self._follow
        folds = part is not None and _foldable(part)
        flat = self._at in self._flat
        opens: Hint | None = (
            ("page.open", "read it") if link else ("page.open", "fold") if folds and not flat else None
        )
        return [
            opens,
            ("result.switch", "tree" if flat else "text") if folds else None,
            ("result.next", "part"),
            ("page.find page.next page.previous", "find"),
            ("result.copy", "copy"),
            ("result.save", "save"),
            ("app.back", "back"),
        ]

    # -- keys ------------------------------------------------------------------------------------------------

    async def action_part(self, by: int) -> None:
        """The next part, or the one before."""
        if self._path.display:
            return
        if self._parts:
            self._at = (self._at + by) % len(self._parts)
            self._hush()
            await self._show()

    async def action_switch(self) -> None:
        """JSON as a tree, or as the text that it came as."""
        if self._parts and _foldable(self._parts[self._at]):
            self._flat ^= {self._at}
            await self._show()

    def on_pager_opened(self, event: Pager.Opened) -> None:
        event.stop()
        part = self._parts[self._at] if self._parts else None
        if part is not None and part.sort is PartKind.LINK and self._follow and part.uri:
            self.dismiss(part.uri)

    def action_copy(self) -> None:
        """Hand the part to the terminal's clipboard."""
        if not self._parts:
            return
        part = self._parts[self._at]
        if part.sort in _BINARY:
            self._note(hint("only text can be copied: {result.save} saves it"), "$warning")
            return
        data = content(part)
        if len(data) > COPIED:
            self._note(hint("too much for a terminal's clipboard: {result.save} saves it"), "$warning")
            return
        self.app.copy_to_clipboard(data.decode(errors="replace"))  # pyright: ignore[reportUnknownMemberType]
        self._note(
            hint("copied, if your terminal lets programs copy; {result.save} saves it in any case"),
            "$text-muted",
        )

    def action_save(self) -> None:
        """Ask where the part is to be written."""
        if not self._parts:
            return
        self._over = ""
        if self._path_of != self._at:
            self._path_of = self._at
            self._path.value = str(free(Path.cwd(), file_name(self._parts[self._at])))
        self._path.cursor_position = len(self._path.value)
        self._path.display = True
        self.set_focus(self._path)
        self._note(words("Write this part to:"), "$text-muted")
        self.tick()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = self._path.value.strip()
        path = Path(text).expanduser()
        if not text:
            return
        try:
            data = content(self._parts[self._at])
            save(path, data, over=self._over == text)
        except FileExistsError:
            self._over = text
            self._note(safe("{} is there: enter again writes over it", brief(str(path), 200)), "$warning")
            return
        except NotDecoded as error:
            self._done(safe("not written: {}", brief(str(error))), "$error")
            return
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            self._note(safe("{} cannot be written: {}", brief(str(path), 200), brief(why)), "$error")
            return
        self._path_of = None
        self._done(safe("{} written to {}", durations.size(len(data)), brief(str(path), 300)), "$success")

    def _done(self, text: SafeText, style: str) -> None:
        self._path.display = False
        self.set_focus(self._pager)
        self._note(text, style)
        self.tick()

    def _note(self, text: SafeText, style: str) -> None:
        self._said_.display = True
        self.say(self._said_, (clip(text, max(20, 2 * self.size.width - 4)), style))

    def _hush(self) -> None:
        self._said_.display = False

    def action_close(self) -> None:
        """Close the question for a path, or the screen."""
        if self._path.display:
            self._done(words("nothing was written"), "$text-muted")
        else:
            self.dismiss(None)


def _parted(raw: bytes) -> list[Part]:
    """The parts of an answer; the text of what is no JSON."""
    try:
        message: Json = read_json(raw)
    except ValueError:
        return [Part(PartKind.TEXT, text=raw.decode(errors="replace"))]
    members = as_object(message)
    if "result" in members:
        return parts(members["result"])
    return [Part(PartKind.WHOLE, value=members.get("error", message))]


def _told(part: Part, *more: SafeText) -> Page:
    """What is known of what is no text, and no more."""
    return TextPage("\n".join([*facts(part), *more, "", hint("{result.save} saves it to a file.")]))


def _foldable(part: Part) -> bool:
    return part.sort in (PartKind.STRUCTURED, PartKind.WHOLE) or (
        part.sort is PartKind.TEXT and part.text.lstrip()[:1] in ("{", "[")
    )


def _page(part: Part, flat: bool, cells: int) -> Page:
    """The page of a part, laid out."""
    page = _unlaid(part, flat)
    page.lay_out(cells)
    return page


def _unlaid(part: Part, flat: bool) -> Page:
    if part.sort in _BINARY:
        return _told(part)
    if part.sort is PartKind.LINK:
        said = [
            part.name,
            part.uri,
            part.mime,
            part.text,
            "",
            f"A link: nothing is fetched until {key_of('page.open')} reads it.",
        ]
        return TextPage("\n".join(each for each in said if each or each == ""))
    if part.sort in (PartKind.STRUCTURED, PartKind.WHOLE):
        return TextPage(content(part).decode()) if flat else JsonPage(part.value)
    if not flat and _foldable(part):
        try:
            return JsonPage(read_json(part.text))
        except ValueError:
            pass
    return TextPage(part.text)
