"""Dialogs: the frame with its line of keys, a confirmation, a short menu, and fields to fill in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final, LiteralString

from rich.console import RenderableType
from rich.segment import Segment
from textual import getters
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.color import Color
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widget import Widget
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from mcp_tui.config.definitions import AskedInput
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.host import Host
from mcp_tui.tui.widgets.line_input import InOrder, LineInput
from mcp_tui.view.keys import ANSWER, DIALOG, FIRST_KEYS, MENU, key_of
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, clip, safe, width, words

LOW_LINES: Final = 16
"""The height of a terminal in lines below which a dialog has no blank lines around its content."""

REACHED_SECONDS: Final = 0.2
"""The maximum number of seconds that a key waits until the keys before it have reached their field."""

Hint = tuple[LiteralString, str]
"""Keys, as :func:`hinted` takes them, and their label."""

Piece = SafeText | tuple[SafeText, str]
"""Text, alone or with a style in Textual's notation (``bold $warning``)."""


class ScreenBeneath(BackgroundScreen):
    """The screen beneath a dialog, unchanged: dimming it would write the whole screen again, which takes 45 kB."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:  # noqa: ARG003
        return segments


class Dialog(ModalScreen[ScreenResultType]):
    """One framed box in the middle of the screen; the screen beneath stays visible, and its clocks keep running, slowly.

    The ``title``, the widgets ``inside``, the ``buttons``, and :attr:`HINTS` are given if they never change;
    otherwise a subclass overrides :meth:`heading`, :meth:`buttons`, or :meth:`hints`. :meth:`tick` shows them at
    first and then every :attr:`TICK` seconds while no other screen covers this one, so a tick may dismiss.
    """

    app = getters.app(Host)
    VERTICAL_BREAKPOINTS = [(0, "-low"), (LOW_LINES, "-high")]
    BINDINGS = bindings(DIALOG)

    HINTS: ClassVar[Sequence[Hint]] = ()
    """The keys of the last line that have no button."""

    OF_SERVER: ClassVar[bool] = True
    """Whether the dialog is about the server on the screen, and names it if there are several."""

    TICK: ClassVar[float] = 0.0
    """Seconds between two calls of :meth:`tick`; 0 for none."""

    def __init__(self, *inside: Widget, title: SafeText = NOTHING, buttons: Sequence[KeyButton] = ()) -> None:
        super().__init__()
        self._declared = title, inside, buttons
        self._box = Vertical(id="dialog")
        self._key_line = place("keys")
        self.foot: tuple[KeyButton, ...] = ()
        self._title = NOTHING
        self._read_at: tuple[float, object] | None = None
        self._opened = 0.0
        self.at_once: Callable[[ScreenResultType | None], object] | None = None
        """Called with the result before the dialog is removed: a cancel does not wait for the screen."""
        self.line: Callable[[], int | None] = lambda: None
        """Returns the line of the screen below (or above) which the dialog is placed; ``None`` for the middle."""

    def compose(self) -> ComposeResult:
        with self._box:
            yield from self._declared[1]
            self.foot = tuple(self.buttons())
            with Horizontal(id="foot"):
                yield from self.foot
                yield self._key_line

    def render(self) -> RenderableType:
        beneath = super().render()
        if not isinstance(beneath, BackgroundScreen):
            return beneath
        return ScreenBeneath(beneath.screen, beneath.color)  # pyright: ignore[reportUnknownMemberType]

    @property
    def on_top(self) -> bool:
        """Whether no other screen covers this one; false as soon as it was dismissed."""
        return self.app.screen is self

    def heading(self) -> SafeText:
        """Returns the title in the frame."""
        return self._declared[0]

    def buttons(self) -> Sequence[KeyButton]:
        """Returns the buttons at the start of the last line; each shows its key, so :meth:`hints` need not."""
        return self._declared[2]

    def hints(self) -> Sequence[Hint | None]:
        """Returns the keys of the last line that have no button."""
        return self.HINTS

    def on_mount(self) -> None:
        self.set_class(self.app.ascii, "-ascii")
        self._opened = self.app.guard.now()
        if self.TICK:
            self.set_interval(self.TICK, self._on_tick)
        self.tick()

    def on_resize(self) -> None:
        # Only after the layout it is known how many keys fit into the last line.
        self.call_after_refresh(self._on_tick)

    def _on_tick(self) -> None:
        if self.is_mounted and self.on_top:
            self.tick()

    def tick(self) -> None:
        """Shows the changes: here of the title and the keys."""
        title = self.heading()
        if title != self._title:
            self._title = title
            self._box.border_title = Content(safe("{}{}", title, self.server_name))
        text = self.keys(self.hints())
        cells = sum(each.cells + 1 for each in self.foot)
        cells += sum(width(piece if isinstance(piece, str) else piece[0]) for piece in text)
        # Without enough room, the buttons become keys like the others, on as many lines as they need.
        space = self._box.content_size.width
        crowded = 0 < space < cells
        self.set_class(crowded and bool(self.foot), "-plain")
        if crowded:
            text = self.keys([*(each.hint for each in self.foot), *self.hints()], space)
        self.say(self._key_line, *text)
        line, height = self.line(), self._box.outer_size.height
        if line is not None and height:
            below, above = line + 1, line - height
            top = below if below + height <= self.size.height else above
            self.styles.align_vertical = "top" if top >= 0 else "middle"
            self._box.styles.offset = (0, max(0, top))

    def drop_buttons(self) -> None:
        """Hides the buttons when nothing can be answered any more."""
        for each in self.foot:
            each.display = False
        self.foot = ()

    # -- clocks ----------------------------------------------------------------------------------------------

    def read_at(self, now: float, shown: object = None) -> float:
        """Returns the time that clocks show at ``now``; it also advances when ``shown``, the text next to them, changes."""
        passed = {"live": 0.0, "slow": 1.0}.get(self.app.timers)
        before = self._read_at
        if before is None or before[1] != shown or (passed is not None and now - before[0] >= passed):
            self._read_at = before = now, shown
        return before[0]

    # -- keys ------------------------------------------------------------------------------------------------

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Closes the dialog with a result. A second key during that would otherwise close the screen below."""
        if not self.on_top:
            return AwaitComplete.nothing()
        if self.at_once is not None:
            self.at_once(result)
        return super().dismiss(result)

    async def typed_into(self, widget: Widget) -> None:
        """Waits until keys typed before this one have reached a widget."""
        if not widget.message_queue_size:
            return  # under load, each avoided turn of the loop counts
        reached = asyncio.Event()
        with suppress(TimeoutError):
            if widget.call_later(reached.set):
                async with asyncio.timeout(REACHED_SECONDS):
                    await reached.wait()

    def action_close(self) -> None:
        """Closes the dialog without an answer."""
        self.dismiss(None)

    def close_by_itself(self) -> None:
        """Closes without a key; ignores the keys typed just now, which were meant for this dialog."""
        self.app.guard.block(words("the dialog closed on its own"))
        self.dismiss(None)

    def meant(self) -> bool:
        """Whether a person could have read the dialog before a key that decides something; says so if not."""
        if self.app.guard.was_readable(self._opened):
            return True
        before, text = self._box.border_subtitle, "Just opened: press again."
        if str(before) != text:  # shown in the frame: a tick writes the last line again
            self._box.border_subtitle = Content.styled(text, "$warning")
            self.set_timer(2, partial(setattr, self._box, "border_subtitle", before or ""))
        return False

    def action_interrupt(self) -> None:
        """Copies the selected text, or else closes the dialog."""
        if not copied(self):
            self.action_close()

    def action_move(self, step: int) -> None:
        """Moves the focus among the buttons; from any other widget to the first one."""
        at = self.foot.index(self.focused) + step if self.focused in self.foot else 0
        self.set_focus(self.foot[at % len(self.foot)])

    # -- text ------------------------------------------------------------------------------------------------

    @property
    def server_name(self) -> SafeText:
        """The name of the server as the end of a title; empty while there is only one server."""
        return safe(" · {}", self.app.server_name) if self.app.server_name and self.OF_SERVER else NOTHING

    def fitted(self, start: SafeText, middle: SafeText, end: SafeText) -> SafeText:
        """Joins three texts in the width of the title; the middle is cut if needed."""
        space = min(self._box.size.width or 64, self.size.width) - 2 - width(self.server_name)
        return safe("{}{}{}", start, clip(middle, max(8, space - width(start) - width(end))), end)

    def say(self, place: Static, *pieces: Piece) -> None:
        """Updates a text, if it changed. Nothing of it is read as markup."""
        content, known = Content.assemble(*pieces), place.content
        # contents with equal text compare equal, regardless of their styles
        if not (isinstance(known, Content) and known.is_same(content)):
            place.display = bool(content)
            place.update(content)

    def keys(self, hints: Sequence[Hint | None], space: int = 1000) -> list[Piece]:
        """Returns keys with their labels, in lines of ``room`` cells."""
        pieces: list[Piece] = []
        left = space
        for key, does in filter(None, hints):
            shown = hinted(key)
            cells = width(shown) + len(does) + 3
            if pieces:
                pieces.append(words("  ") if cells <= left else words("\n"))
            left = space - cells if cells > left else left - cells
            pieces += [(shown, "$accent"), (safe(" {}", does), "$text-muted")]
        return pieces


def hinted(keys: LiteralString) -> SafeText:
    """Returns keys as a person reads them: separated by spaces, as ids or, for keys of Textual's own widgets, names.

    Two ids with ``…`` between them are the first and the last of a row.
    """
    shown = ("-".join(key_of(id_) if "." in id_ else id_ for id_ in each.split("…")) for each in keys.split())
    return clean(re.sub("(?<=[←→↑↓]) (?=[←→↑↓])", "", " ".join(shown)))


class KeyButton(InOrder, Button):
    """A one-line button that shows its ``key``, given by id, and runs the action of that key, or another ``action``."""

    def __init__(self, key: LiteralString, label: SafeText, id: str, action: str = "") -> None:
        self.hint = key, label
        self.cells = width(key_of(key)) + width(label) + 3
        shown = Content.assemble((key_of(key), "$accent"), " ", label)
        super().__init__(shown, id=id, compact=True, action=f"screen.{action or FIRST_KEYS[key].action}")


def copied(screen: Screen[Any]) -> bool:
    """Copies the selected text of a screen to the terminal's clipboard; returns false if none is selected."""
    text = screen.get_selected_text()
    if text:
        screen.app.copy_to_clipboard(text)  # pyright: ignore[reportUnknownMemberType] - of whatever result
        screen.clear_selection()
    return bool(text)


def place(id: str | None = None, *said: Piece) -> Static:
    """Returns a widget for :meth:`Dialog.say` to update; it takes no room while it is empty."""
    content = Content.assemble(*said)
    made = Static(content, markup=False, id=id)
    made.display = bool(content)
    return made


class ConfirmScreen(Dialog[bool]):
    """Dismisses with ``True`` for yes, by its key or its button; with ``False`` for no, and for any key that closes a
    dialog.

    No has the focus at first, so a stray enter does nothing.

    Args:
        title: the question.
        lines: the details, one per line; they scroll.
        interrupt: the answer of ctrl+c.
        lead: a warning above the lines that does not scroll.
        whole: yes works only after the last line was on the screen.
    """

    OF_SERVER = False

    BINDINGS = bindings(ANSWER)
    AUTO_FOCUS = "#no"

    def __init__(
        self,
        title: str,
        lines: Sequence[SafeText | Sequence[Piece]],
        *,
        yes: str,
        no: str,
        interrupt: bool = False,
        lead: SafeText | None = None,
        whole: bool = False,
    ) -> None:
        self._interrupt = interrupt
        self._unread = whole
        parts = (each if isinstance(each, str) else Content.assemble(*each) for each in lines)
        self.text = Static(Content("\n").join(parts), markup=False)
        self._scroll = VerticalScroll(self.text, can_focus=False)
        self._scroll.display = bool(lines)
        buttons = KeyButton("answer.yes", clean(yes), "yes"), KeyButton("answer.no", clean(no), "no")
        buttons[0].add_class("-yes")
        warning = place("lead", (lead or NOTHING, "$warning"))
        super().__init__(warning, self._scroll, title=clean(title), buttons=buttons)
        self.set_class(bool(lead), "-long")

    def on_mount(self) -> None:
        self.watch(self._scroll, "scroll_y", self._on_tick)

    def tick(self) -> None:
        shown, lines = self._scroll.size.height, self._scroll.virtual_size.height
        last = min(lines, round(self._scroll.scroll_y) + shown)
        if shown and last >= lines:
            self._unread = False
        cut = 0 < shown < lines
        self._box.border_subtitle = Content(safe("{:,} of {:,} lines", last, lines)) if cut else ""
        super().tick()

    def hints(self) -> Sequence[Hint]:
        return [("answer.up answer.down", "Scroll")] if self._scroll.max_scroll_y else []

    def action_answer(self, answer: bool) -> None:
        if answer and self._unread:
            self.say(self._key_line, (words("Scroll to the last line first."), "$warning"))
            self.set_timer(2, self.tick)
        elif not answer or self.meant():
            self.dismiss(answer)

    def action_close(self) -> None:
        self.dismiss(False)

    def action_interrupt(self) -> None:
        if not copied(self):
            self.dismiss(self._interrupt)

    def action_scroll(self, step: int) -> None:
        self._scroll.scroll_relative(y=3 * step, animate=False)


def consent_screen(name: str, consent_details: Sequence[tuple[str, str]]) -> ConfirmScreen:
    """Asks whether a server of a project's file may start.

    ``consent_details`` are the details that a person agrees to, from :func:`mcp_tui.config.consent.consent_details`;
    all are shown.
    """
    lines = [
        [(safe("{} ", f"{clean(word):<10}"), "$text-muted"), clean(text)] for word, text in consent_details
    ]
    return ConfirmScreen(
        safe("Start {}?", brief(name, 40)),
        lines,
        yes="Start",
        no="No",
        lead=words("A project file defines this server: whoever can change that file decides what runs."),
        whole=True,
    )


class MenuScreen(Dialog[str | None]):
    """Dismisses with the key of the choice, or ``None`` on esc. ``note`` is one line above the choices."""

    BINDINGS = bindings(MENU)
    HINTS = [("enter", "Choose"), ("app.back", "Back")]

    def __init__(
        self, title: SafeText, choices: Sequence[tuple[str, SafeText]], note: SafeText = NOTHING
    ) -> None:
        self.list = OptionList(
            *(Option(Content(text), id=key) for key, text in choices), markup=False, compact=True
        )
        self.list.display = bool(choices)
        super().__init__(place("note", note), self.list, title=title)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


class InputsScreen(Dialog[dict[str, str] | None]):
    """Asks for the inputs that a config file needs before its server can start; secrets are hidden.

    Dismisses with the answers by the ids of the inputs, or ``None`` on esc. The dialog does not store them. ``name``
    is the server's name; with ``does``, the label of enter, it is the whole title. ``typed`` are the initial values
    of the fields.
    """

    OF_SERVER = False

    def __init__(
        self,
        name: str,
        asked: Sequence[AskedInput],
        *,
        does: LiteralString = "",
        typed: Mapping[str, str] | None = None,
    ) -> None:
        self._done: Hint = ("enter", does or "Continue")
        self._fields: list[tuple[AskedInput, LineInput]] = []
        self._wrong = place("wrong")
        shown: list[Widget] = []
        for each in asked:
            choices = f" ({', '.join(each.options)})" if each.options else ""
            label = brief(f"{each.description or each.id}{choices}", 400)
            hidden = "required, hidden while you type" if each.secret else "required"
            value = (typed or {}).get(each.id, each.default or "")
            field = LineInput(value, hidden, password=each.secret, compact=True)
            field.entered = self._enter
            self._fields.append((each, field))
            shown += [Static(label, markup=False, classes="-asked"), field]
        title = brief(name, 40) if does else safe("Inputs for {}", brief(name, 40))
        super().__init__(VerticalScroll(*shown, can_focus=False), self._wrong, title=title)

    def hints(self) -> Sequence[Hint]:
        more: list[Hint] = [("tab", "Next")] if len(self._fields) > 1 else []
        return [self._done, *more, ("app.back", "Back")]

    def on_mount(self) -> None:
        self.set_focus(self._fields[0][1])

    def _enter(self) -> None:
        """Dismisses with the answers, or moves to the first field without a valid one."""
        for each, input_ in self._fields:
            if input_.value and (not each.options or input_.value in each.options):
                continue
            if input_.value:
                choices = ", ".join(map(clean, each.options))
                self.say(self._wrong, safe("{} is one of {}.", clean(each.id), choices))
            elif input_ is self.focused:
                self.say(self._wrong, safe("{} is empty.", brief(each.id, 60)))
            self.set_focus(input_)
            return
        self.dismiss(self.typed)

    @property
    def typed(self) -> dict[str, str]:
        """The values of the fields, by the ids of the inputs."""
        return {each.id: input_.value for each, input_ in self._fields}

    def on_input_changed(self) -> None:
        self.say(self._wrong, words(""))


def ask_texts(
    screen: Screen[Any],
    title: str,
    does: LiteralString,
    then: Callable[[dict[str, str]], None],
    **fields: tuple[str, str],
) -> None:
    """Asks for texts. ``fields`` maps the name of each to its label and first value; ``then`` gets the answers."""

    def answered(answers: dict[str, str] | None) -> None:
        if answers is not None:
            then(answers)

    asked = [AskedInput(name, description=text, default=value) for name, (text, value) in fields.items()]
    screen.app.push_screen(InputsScreen(title, asked, does=does), answered)  # pyright: ignore[reportUnknownMemberType]
