"""The server picker: running sessions, recent servers, the servers of every config file, and a field for a URL or
command.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from mcp_tui.client.client_settings import HttpTarget, StdioTarget, Target
from mcp_tui.config import consent
from mcp_tui.config.consent import Availability, availability, problem
from mcp_tui.config.definitions import Definition
from mcp_tui.config.files import ConfigError
from mcp_tui.config.saved import Recent, load_recent
from mcp_tui.config.servers import discover
from mcp_tui.config.sources import Surroundings
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.live.running import Running, Unknown, sessions
from mcp_tui.protocol.values import fact
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.dialog import Dialog, Hint, InputsScreen, consent_screen, copied, place
from mcp_tui.tui.widgets.line_input import LineInput
from mcp_tui.view.keys import CHOOSE, PICKER
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, clip, fit, safe, width, words

_PROGRAM: Final = words("mcp-tui")


@fact
class ServerChoice:
    """A server to choose: a ``definition``, a typed ``line`` with its ``folder``, or a running ``session``.

    ``said`` is a remark.
    """

    group: SafeText = _PROGRAM
    name: SafeText
    said: SafeText = NOTHING
    availability: Availability = Availability.USABLE
    definition: Definition | None = None
    line: str = ""
    folder: Path | None = None
    session: Running | None = None

    @property
    def usable(self) -> bool:
        """Whether the choice can lead to a server."""
        return self.availability is not Availability.PROBLEM


ServerChoices = tuple[Sequence[ServerChoice], Sequence[SafeText]]
"""All choices, and a sentence for each file that cannot be read."""

DEMO_CHOICE = ServerChoice(
    name=words("demo"), said=words("the demo server that ships with mcp-tui"), line="demo"
)


def gather(config: Path | None = None) -> ServerChoices:
    """Asks the running sessions, and reads the config files and the recent servers, or only ``config``.

    It starts nothing. Long files take long.
    """
    found = discover(config=config)
    made = {(each.file, each.name, each.line): _choice(each) for each in found.servers if not each.shadowed}
    latest: list[ServerChoice] = []
    for recent in load_recent() if config is None else ():
        if recent.line:
            latest.append(_recent(recent))
            continue
        if recent.server == "demo":
            latest.append(DEMO_CHOICE)
        latest += [made.pop(key) for key in list(made) if key[1] == recent.server]
    others = [*made.values(), *([] if DEMO_CHOICE in latest or config else [DEMO_CHOICE])]
    running, unknown = sessions()
    choices = [
        *map(_running, running),
        *map(_unknown, unknown),
        *(replace(each, group=words("Recent")) for each in latest),
        *others,
    ]
    return choices, [brief(each, 400) for each in found.problems]


def _running(session: Running) -> ServerChoice:
    summary = session.summary
    kept = bool(summary.recording)
    who = brief(f"{summary.client_name} ({summary.where})" if summary.where else summary.client_name, 100)
    said = safe("{}: {}, {:,} in flight", brief(summary.server, 60), who, len(summary.requests))
    return ServerChoice(
        group=words("Running sessions"),
        name=brief(session.name, 20),
        said=said if kept else words("keeps no recording, so there is nothing to show"),
        availability=Availability.USABLE if kept else Availability.PROBLEM,
        session=session,
    )


def _unknown(session: Unknown) -> ServerChoice:
    return ServerChoice(
        group=words("Running sessions"),
        name=brief(session.name, 20),
        said=brief(session.why.removesuffix("."), 400),
        availability=Availability.PROBLEM,
    )


def _recent(recent: Recent) -> ServerChoice:
    """Returns the choice for an earlier typed line, with its folder if that is another one."""
    folder = Path(recent.folder) if recent.folder else None
    if folder is None or folder == Path.cwd():
        return ServerChoice(name=brief(recent.line, 400), line=recent.line)
    shown = Surroundings.now().short(f"{folder}/").removesuffix("/")
    name = safe("{}  (in {})", brief(recent.line, 400), shown)
    return ServerChoice(name=name, line=recent.line, folder=folder)


def _choice(definition: Definition) -> ServerChoice:
    state, said = availability(definition)
    shown = said if state is Availability.PROBLEM else definition.summary
    return ServerChoice(
        group=clean(f"{definition.tool}  {definition.around.short(str(definition.file))}"),
        name=brief(definition.name, 80),
        said=brief(shown, 400),
        availability=state,
        definition=definition,
    )


def matching(choices: Sequence[ServerChoice], text: str) -> Sequence[ServerChoice]:
    """Returns the choices with ``text`` in their names, in any case; if there are none, those with it in their remarks."""
    needle = text.strip().lower()
    named = [each for each in choices if needle in each.name.lower()]
    return named or [each for each in choices if needle in each.said.lower()]


_URL_BEGINNING = re.compile(r"https?://[^/\s]", re.IGNORECASE)

PICKER_NAME_CELLS = 28
"""The maximum width of a name in cells."""


def read_target(text: str) -> Target:
    """Parses a line into a server: a URL, ``demo``, or a command, split like a shell does.

    Raises:
        ValueError: the line is empty, or a quotation mark is open; the text is one sentence.
    """
    text = text.strip()
    if text.lower() == "demo":
        return StdioTarget(command=(sys.executable, "-P", "-m", "mcp_tui.demo"), name="demo")
    if _URL_BEGINNING.match(text):
        if len(text.split()) > 1:
            raise ValueError("A URL takes no further words")
        return HttpTarget(url=text)
    try:
        command = tuple(shlex.split(text))
    except ValueError:
        raise ValueError("Missing closing quote") from None
    if not command:
        raise ValueError("Type a URL, a command, or demo")
    return StdioTarget(command=command)


def is_line(text: str) -> bool:
    """Whether a text is a URL or a command, and not the start of a server's name."""
    return bool(_URL_BEGINNING.match(text.strip())) or len(text.split()) > 1


class PickerScreen(Dialog[Target | None]):
    """Dismisses with the target, or ``None`` on quitting, and on esc if there is something to go ``back`` to.

    Typed text filters the list, unless it is a URL or a command. ``text`` is the initial text.
    """

    BINDINGS = bindings(PICKER, CHOOSE)
    OF_SERVER = False

    def __init__(self, *, back: bool = False, text: str = "") -> None:
        self._back = back
        self._all: Sequence[ServerChoice] = ()
        self._problems: Sequence[SafeText] = ()
        self._rows: list[ServerChoice | None] = []
        self._cells = self._inner = 0
        self._marked: int | None = None
        self._cleared = ""
        self._typed: dict[str, dict[str, str]] = {}
        self._line = LineInput(
            text, placeholder="a URL, a command, or the name of a server", id="target", compact=True
        )
        self._list = OptionList(id="servers", markup=False, compact=True)
        self._list.can_focus = False
        self._about = place("said")
        question = Static("Which server?", markup=False, id="question")
        super().__init__(question, self._line, self._list, self._about, title=words("mcp-tui"))

    @property
    def unsent(self) -> str:
        """The typed text, even after esc cleared it: the next picker starts with it."""
        return self._line.value or self._cleared

    def hints(self) -> Sequence[Hint | None]:
        back = "Clear" if self._line.value else "Back" if self._back else ""
        return [
            ("enter", "Connect"),
            ("choose.up choose.down", "Choose"),
            ("app.back", back) if back else None,
            ("app.quit", "Quit"),
        ]

    def on_mount(self) -> None:
        self._say(words("Reading the config files …"))
        self.run_worker(self._fill)
        first = self.app.preferences.first
        if first is not None and not self._back:
            self.run_worker(partial(self._choose, first))

    async def _fill(self) -> None:
        """Reads the files in a thread: some tools keep megabytes of history in theirs."""
        self._all, self._problems = await asyncio.to_thread(gather, self.app.preferences.config)
        self._grow()
        self._show(self._line.value)

    def _grow(self) -> None:
        """Sizes the dialog for all servers, regardless of the filter."""
        self._cells = min(
            PICKER_NAME_CELLS, max((width(each.name) for each in self._all if each.said), default=0)
        )
        cells = (
            self._cells + width(each.said) + 20 if each.said else width(each.name) + 2 for each in self._all
        )
        wide = max(cells, default=0)
        self._inner = max(20, min(104, max(62, wide), self.size.width - 8))
        self._box.styles.width = self._inner + 8
        height = len({each.group for each in self._all}) + len(self._all)
        self._list.styles.height = max(1, min(height, self.size.height - 10)) + 2

    # -- the list --------------------------------------------------------------------------------------------

    def _show(self, text: str) -> None:
        """Lists the matches and chooses the best."""
        shown = self._all if is_line(text) else matching(self._all, text)
        self._marked = None
        self._rows = []
        self._list.clear_options()
        for group in dict.fromkeys(each.group for each in shown):
            title = Content.styled(clip(group, self._inner), "$primary")
            members = [each for each in shown if each.group == group]
            self._list.add_options([Option(title, disabled=True), *map(Option, map(self._option, members))])
            self._rows += [None, *members]
        self._list.highlighted = None if is_line(text) else self._best(text.strip().lower())
        self._mark()

    def _best(self, wanted: str) -> int | None:
        """Returns the line to choose first: a usable server with this name, or one that begins with it."""
        order = [
            (not each.usable, each.name.lower() != wanted, not each.name.lower().startswith(wanted), index)
            for index, each in enumerate(self._rows)
            if each is not None
        ]
        return min(order)[-1] if order else None

    def _mark(self) -> None:
        """Marks the chosen line, not only by its colour, and says what enter would do."""
        at = self._list.highlighted
        for index in (self._marked, at):
            each = None if index is None or index >= len(self._rows) else self._rows[index]
            if index is not None and each is not None:
                self._list.replace_option_prompt_at_index(index, self._option(each, chosen=index == at))
        self._marked = at
        if at == 1:  # the title above it cannot be chosen, and would otherwise stay off the screen
            self._list.scroll_home(animate=False)
        self._describe()

    on_option_list_option_highlighted = _mark

    def _option(self, each: ServerChoice, *, chosen: bool = False) -> Content:
        """Returns the line of a choice: its name, its availability, and its remark."""
        cells, inner = self._cells, self._inner
        cursor = "› " if chosen else "  "
        if not each.said:
            return Content(safe("{}{}", cursor, clip(each.name, inner - 2)))
        name = fit(clip(each.name, cells), cells)
        mark = NOTHING if each.availability is Availability.USABLE else safe("{}  ", each.availability.value)
        rest = clip(each.said, max(4, inner - cells - 4 - len(mark)))
        dim = "$text-muted" if each.usable else "$text-muted dim"
        return Content.assemble(
            (safe("{}{}  ", cursor, name), "" if each.usable else dim),
            (mark, "$warning" if each.availability is Availability.CONSENT else dim),
            (rest, dim),
        )

    @property
    def _chosen(self) -> ServerChoice | None:
        at = self._list.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def _describe(self) -> None:
        """Says what enter would do."""
        text, chosen = self._line.value, self._chosen
        if not self._all:
            return
        if chosen is not None and chosen.session is not None and chosen.usable and not is_line(text):
            self._say(words("enter attaches to the running session, which continues when you leave it"))
        elif is_line(text) or (chosen is None and text.strip()):
            line = brief(text.strip(), 300)
            self._say(safe("enter connects to {}" if _URL_BEGINNING.match(line) else "enter starts {}", line))
        elif chosen is not None and not chosen.usable:
            self._say(safe("{}: {}.", chosen.name, chosen.said), wrong=True)
        elif self._problems:
            more = f" (and {len(self._problems) - 1} more)" if len(self._problems) > 1 else ""
            self._say(safe("{}{}.", self._problems[0], more), wrong=True)
        else:
            self._say(NOTHING)

    def _say(self, text: SafeText, *, wrong: bool = False) -> None:
        self.say(self._about, (text, "$error" if wrong else "$text-muted"))
        self._about.display = True  # also an empty line, so that the height of the frame stays the same

    # -- actions of a person ---------------------------------------------------------------------------------

    def on_resize(self) -> None:
        self._grow()
        if self._all:
            self._show(self._line.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._show(event.value)
        self.tick()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Opens the clicked server."""
        if self._chosen is not None:
            self._go(self._chosen)

    def action_choose(self, step: str) -> None:
        getattr(self._list, f"action_{step}")()

    def action_close(self) -> None:
        """Clears the typed text; without one, goes back."""
        if self._line.value:
            self._line.value, self._cleared = "", self._line.value
        elif self._back:
            self.dismiss(None)

    def action_interrupt(self) -> None:
        """Copies the selected text on ctrl+c; else goes back, or quits."""
        if self._back:
            super().action_interrupt()
        elif not copied(self):
            self.app.call_later(self.app.run_action, "quit")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        chosen = None if is_line(event.value) else self._chosen
        self._go(chosen or ServerChoice(name=NOTHING, line=event.value))

    def _open_running(self, session: Running) -> None:
        """Opens a running session over the current screen; or says why its recording cannot be read."""
        # This loads all panes, which the first screen must not wait for.
        from mcp_tui.tui.screens.attach import AttachScreen

        try:
            self.app.push_screen(AttachScreen(session, Recording(session.summary.recording)))
        except RecordingError as error:
            self.notify(brief(str(error), 400), severity="error", markup=False)

    def _go(self, chosen: ServerChoice) -> None:
        if chosen.session is not None:
            if chosen.usable:
                self._open_running(chosen.session)
            return
        if chosen.definition is not None:
            self.run_worker(partial(self._choose, chosen.definition), exclusive=True)
            return
        try:
            made = read_target(chosen.line)
            if isinstance(made, StdioTarget) and chosen.folder is not None:
                made = replace(made, cwd=chosen.folder)
            self.dismiss(made)
        except ValueError as error:
            self._say(safe("{}.", error), wrong=True)

    async def _choose(self, definition: Definition) -> None:
        """Asks for consent and inputs, then opens the server; or says why it cannot be opened."""
        try:
            await self._prepare(definition)
        except Exception as error:  # noqa: BLE001 - whatever cannot be used says so in one sentence
            self._say(safe("{}.", brief(str(error), 400).removesuffix(".")), wrong=True)

    async def _prepare(self, definition: Definition) -> None:
        wrong = problem(definition)
        if wrong:
            self._say(safe("{}: {}.", brief(definition.name, 60), brief(wrong, 400)), wrong=True)
            return
        if consent.is_needed(definition):
            screen = consent_screen(definition.name, consent.consent_details(definition))
            if not await self.app.push_screen_wait(screen):
                return
            try:
                consent.give(definition)
            except ConfigError as error:  # it starts now, and its consent is checked again
                self.app.notify(brief(str(error), 300), severity="warning", markup=False)
        answers: dict[str, str] | None = {}
        if asked := definition.questions:
            inputs = InputsScreen(definition.name, asked, typed=self._typed.get(definition.name))
            answers = await self.app.push_screen_wait(inputs)
            if answers is None:
                self._typed[definition.name] = inputs.typed
                return
        self.dismiss((self.app.preferences.complete or Definition.target)(definition, answers))
