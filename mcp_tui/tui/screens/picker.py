"""The start without a server: those of every config file, the last ones first, and a field for another."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import cast

from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from mcp_tui.client.settings import HttpTarget, StdioTarget, Target
from mcp_tui.config import consent, filling
from mcp_tui.config.availability import Availability, problem
from mcp_tui.config.definitions import Definition
from mcp_tui.config.files import ConfigError
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.dialogs import CHOOSE, PICKER
from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.screens.dialog import copied, hinted
from mcp_tui.tui.view.glyphs import ascii_twin
from mcp_tui.tui.view.server_choices import ServerChoice, ServerChoices, gather
from mcp_tui.tui.view.text import SafeText, brief, clip, fit, safe, width, words

_URL = re.compile(r"https?://[^/\s]", re.IGNORECASE)

Complete = Callable[[Definition, Mapping[str, str]], Target]
"""Makes the target of a definition with the answers to what it asks for; raises an exception with one sentence."""

NAME = 28
"""Cells of a name, at most."""


def read_target(text: str) -> Target:
    """The server that a line means: a URL, ``demo``, or a command with its arguments as a shell would part them.

    Raises:
        ValueError: nothing is there, or a quotation mark is open; the text is one sentence.
    """
    text = text.strip()
    if text.lower() == "demo":
        return StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo"), name="demo")
    if _URL.match(text):
        if len(text.split()) > 1:
            raise ValueError("a URL stands alone")
        return HttpTarget(url=text)
    try:
        command = tuple(shlex.split(text))
    except ValueError:
        raise ValueError("a quotation mark is not closed") from None
    if not command:
        raise ValueError("type a URL, a command, or demo")
    return StdioTarget(command=command)


def is_line(text: str) -> bool:
    """Whether a text is a URL or a command, and not the beginning of a server's name."""
    return bool(_URL.match(text.strip())) or len(text.split()) > 1


class PickerScreen(Screen[Target | None]):
    """Dismisses the target, or ``None`` on quitting, and on esc where there is something to go ``back`` to.

    What is typed filters the list, unless it is a URL or a command. ``first`` is a server to begin with, which needs
    consent; ``complete`` makes targets of definitions; ``text`` is typed at first.
    """

    DEFAULT_CSS = """
    PickerScreen {
        align: center middle;
        & > Vertical {
            width: 110; max-width: 100%; height: 100%; max-height: 40;
            border: round $primary; padding: 0 1;
        }
        &.-ascii > Vertical { border: ascii $primary; }
        & Input { background: $background; background-tint: $foreground 6%; margin: 0 0 1 0; }
        & Input:focus { background-tint: $foreground 10%; }
        & OptionList, & OptionList:focus { height: 1fr; border: none; padding: 0; background: $background; }
        & OptionList > .option-list--option-highlighted {
            background: $block-cursor-background; color: $block-cursor-foreground; text-style: $block-cursor-text-style;
        }
        & Static { color: $text-muted; height: auto; }
        & #said { color: $text-muted; min-height: 1; max-height: 4; margin-top: 1; }
        & #said.-wrong { color: $error; }
    }
    """

    SCOPES = (PICKER, CHOOSE)
    BINDINGS = bindings(*SCOPES)

    AUTO_FOCUS = "#target"

    def __init__(
        self,
        *,
        first: Definition | None = None,
        complete: Complete | None = None,
        back: bool = False,
        text: str = "",
        gathered: Callable[[], ServerChoices] = gather,
    ) -> None:
        super().__init__()
        self._first = first
        self._back = back
        self._complete: Complete = complete or filling.target
        self._gather = gathered
        self._all = ServerChoices()
        self._rows: list[ServerChoice | None] = []
        self._cells = self._inner = 0
        self._marked: int | None = None
        self._read = False
        self._cleared = ""
        self._typed: dict[str, dict[str, str]] = {}
        self._line = Input(
            text, placeholder="a URL, a command, or the name of a server", id="target", compact=True
        )
        self._line.cursor_blink = False
        self._list = OptionList(id="servers", markup=False, compact=True)
        self._list.can_focus = False
        self._said = Static(id="said", markup=False)
        self._keys = Static(markup=False)

    @property
    def unsent(self) -> str:
        """What is typed, or was before it was taken away."""
        return self._line.value or self._cleared

    @property
    def host(self) -> App[object]:
        """The app."""
        return cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType] - Textual leaves its result open

    def compose(self) -> ComposeResult:
        box = Vertical()
        box.border_title = Content("mcp-tui")
        with box:
            yield Static(Content("Which server?"), markup=False)
            yield self._line
            yield self._list
            yield self._said
            yield self._keys

    def on_mount(self) -> None:
        self.set_class(bool(getattr(self.host, "ascii", False)), "-ascii")
        esc, quit_ = key_of("app.back"), key_of("app.quit")
        back = f"{esc} back" if self._back else f"{esc} clear"
        self._say(
            self._keys,
            safe("enter connect   {} choose   {}   {} quit", hinted("choose.up choose.down"), back, quit_),
        )
        self._say(self._said, words("Reading the config files …"))
        self.run_worker(self._fill(), exit_on_error=True)
        if self._first is not None:
            self.run_worker(self._choose(self._first), exit_on_error=True)

    async def _fill(self) -> None:
        """Read the files beside the screen: some tools keep megabytes of history in theirs."""
        self._all = await asyncio.to_thread(self._gather)
        self._read = True
        self._show(self._line.value)

    # -- the list --------------------------------------------------------------------------------------------

    def _show(self, text: str) -> None:
        """List what matches, the first of it chosen."""
        shown = self._all if is_line(text) else self._all.matching(text)
        inner = self._inner = max(20, min(110, self.size.width) - 6)
        rows = [each for group in shown.groups for each in group.choices]
        self._cells = min(NAME, max((width(each.name) for each in rows if each.said), default=0))
        self._marked = None
        options: list[Option] = []
        self._rows = []
        for group in shown.groups:
            options.append(
                Option(Content.styled(self._shown(clip(group.title, inner)), "$primary"), disabled=True)
            )
            self._rows.append(None)
            for each in group.choices:
                options.append(Option(self._option(each)))
                self._rows.append(each)
        self._list.clear_options()
        self._list.add_options(options)
        self._list.highlighted = None if is_line(text) else self._best(text.strip().lower())
        self._mark()
        self._tell()

    def _best(self, wanted: str) -> int | None:
        """The line to choose at first: one that can be used, called just so, or whose name begins so."""
        lines = [(index, each) for index, each in enumerate(self._rows) if each is not None]
        order = [
            (not each.usable, each.name.lower() != wanted, not each.name.lower().startswith(wanted), index)
            for index, each in lines
        ]
        return min(order)[-1] if order else None

    def _mark(self) -> None:
        """Point at the chosen line: its colours alone may not be seen."""
        at = self._list.highlighted
        for index in (self._marked, at):
            if index is not None and index < len(self._rows):
                each = self._rows[index]
                if each is not None:
                    self._list.replace_option_prompt_at_index(index, self._option(each, chosen=index == at))
        self._marked = at

    def _option(self, each: ServerChoice, *, chosen: bool = False) -> Content:
        """One line: the name, what stands against it, and what it is."""
        cells, inner = self._cells, self._inner
        cursor = "› " if chosen else "  "
        if not each.said:
            return Content(self._shown(safe("{}{}", cursor, clip(each.name, inner - 2))))
        name = fit(clip(each.name, cells), cells)
        mark = {
            Availability.CONSENT: "needs consent  ",
            Availability.ASKS: "asks  ",
            Availability.DISABLED: "disabled  ",
            Availability.PROBLEM: "problem  ",
        }.get(each.availability, "")
        rest = clip(each.said, max(4, inner - cells - 4 - len(mark)))
        dim = "$text-muted" if each.usable else "$text-muted dim"
        return Content.assemble(
            (self._shown(safe("{}{}  ", cursor, name)), "" if each.usable else dim),
            (mark, "$warning" if each.availability is Availability.CONSENT else dim),
            (self._shown(rest), dim),
        )

    @property
    def _chosen(self) -> ServerChoice | None:
        at = self._list.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def _tell(self) -> None:
        """Say what enter would do."""
        text, chosen = self._line.value, self._chosen
        if not self._read:
            return
        if is_line(text) or (chosen is None and text.strip()):
            said = brief(text.strip(), 300)
            self._say(
                self._said,
                (safe("enter connects to {}", said) if _URL.match(said) else safe("enter starts {}", said)),
            )
        elif chosen is None:
            self._say(self._said, words("No config file defines a server. Type a URL, a command, or demo."))
        elif not chosen.usable:
            self._say(self._said, safe("{}: {}.", chosen.name, chosen.said), wrong=True)
        elif problems := list(self._all.problems):
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            self._say(self._said, safe("{}{}.", problems[0], more), wrong=True)
        else:
            self._say(self._said, words(""))

    def _say(self, place: Static, text: SafeText, *, wrong: bool = False) -> None:
        place.set_class(wrong, "-wrong")
        place.update(Content(self._shown(text)))

    def _shown(self, text: SafeText) -> SafeText:
        return ascii_twin(text) if self.has_class("-ascii") else text

    # -- what a person does ----------------------------------------------------------------------------------

    def on_resize(self) -> None:
        if self._read:
            self._show(self._line.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._show(event.value)

    def on_option_list_option_highlighted(self) -> None:
        self._mark()
        self._tell()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        event.stop()
        self._go(self._rows[event.option_index])

    def action_choose(self, step: str) -> None:
        getattr(self._list, f"action_{step}")()

    def action_close(self) -> None:
        """Take away what was typed; where nothing is typed go back, or bring it back."""
        if self._back and not self._line.value:
            self.dismiss(None)
            return
        self._line.value, self._cleared = ("", self._line.value) if self._line.value else (self._cleared, "")
        self._line.cursor_position = len(self._line.value)

    async def action_interrupt(self) -> None:
        """ctrl+c: copy the selected text; else go back, or quit."""
        if copied(self):
            return
        if self._back:
            self.dismiss(None)
        else:
            await self.host.run_action("quit")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        chosen = self._chosen
        if chosen is not None and not is_line(event.value):
            self._go(chosen)
        else:
            self._open(event.value)

    def _go(self, chosen: ServerChoice | None) -> None:
        if chosen is None:
            return
        if chosen.definition is not None:
            self.run_worker(self._choose(chosen.definition), exclusive=True, exit_on_error=True)
        else:
            self._open(chosen.line)

    def _open(self, line: str) -> None:
        try:
            target = read_target(line)
        except ValueError as error:
            said = brief(str(error))
            self._say(self._said, safe("{}{}.", said[:1].upper(), said[1:]), wrong=True)
            return
        self.dismiss(target)

    async def _choose(self, definition: Definition) -> None:
        """Ask what has to be asked, then open the server."""
        from mcp_tui.tui.screens.confirm import consent_screen
        from mcp_tui.tui.screens.inputs import InputsScreen

        wrong = problem(definition)
        if wrong:
            self._say(self._said, safe("{}: {}.", brief(definition.name, 60), brief(wrong, 400)), wrong=True)
            return
        if consent.is_needed(definition):
            screen = consent_screen(definition.name, consent.account(definition))
            if not await self.host.push_screen_wait(screen):
                return
            try:
                consent.give(definition)
            except ConfigError as error:  # it starts now, and is asked again
                self.host.notify(brief(str(error), 300), severity="warning", markup=False)
        answers: dict[str, str] | None = {}
        asked = filling.questions(definition)
        if asked:
            inputs = InputsScreen(definition.name, asked, typed=self._typed.get(definition.name))
            answers = await self.host.push_screen_wait(inputs)
            if answers is None:
                self._typed[definition.name] = inputs.typed
                return
        try:
            target = self._complete(definition, answers)
        except Exception as error:  # noqa: BLE001 - whatever cannot be used says so in one sentence
            self._say(self._said, safe("{}.", brief(str(error), 400)), wrong=True)
            return
        self.dismiss(target)
