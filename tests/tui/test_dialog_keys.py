"""Every key of every dialog, pressed. A binding without a check here is a failure."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import webbrowser
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Input, OptionList, TextArea

import mcp_tui.tui.screens
from mcp_tui.client.auth.sign_in import AuthorizationRequest
from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config.definitions import AskedInput
from mcp_tui.protocol import events as ev
from mcp_tui.tui.bindings import scopes_of
from mcp_tui.tui.host import Offer
from mcp_tui.tui.key_guard import READ_SECONDS
from mcp_tui.tui.screens.call_form import CallScreen
from mcp_tui.tui.screens.cancel_dialogs import MarkedScreen, TimeoutScreen
from mcp_tui.tui.screens.dialog import ConfirmScreen, InputsScreen, MenuScreen
from mcp_tui.tui.screens.help import HelpScreen
from mcp_tui.tui.screens.open_servers import ServersScreen
from mcp_tui.tui.screens.palette import PaletteScreen
from mcp_tui.tui.screens.picker import PickerScreen
from mcp_tui.tui.screens.probe_screen import ProbeScreen
from mcp_tui.tui.screens.recordings import HistoryScreen, RecordingsScreen
from mcp_tui.tui.screens.result import ResultScreen
from mcp_tui.tui.screens.session_screen import SessionScreen
from mcp_tui.tui.screens.sign_in_dialog import SignInScreen
from mcp_tui.tui.sources.live_session import Servers, Session
from mcp_tui.tui.sources.sign_in_steps import SignIn
from mcp_tui.tui.widgets.controls import Suggestions
from mcp_tui.tui.widgets.detail_pane import Pager
from mcp_tui.tui.widgets.form import Form
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.view.catalogue_entries import Entry
from mcp_tui.view.keys import FIELD, PAGE, Key, Scope
from mcp_tui.view.keys import FORM as FORM_KEYS
from mcp_tui.view.keys import PROBE as PROBE_KEYS
from mcp_tui.view.text import words
from tests.tui.making import requests, row, started
from tests.tui.playing import FORM, LINK, SAMPLING, TOOLS
from tests.tui.pressing import Check, press_all, press_and_see
from tests.tui.screens.host import UNANSWERED, Host
from tests.tui.screens.test_interaction import asked
from tests.tui.screens.test_reason import prompt
from tests.tui.screens.test_recordings import kept
from tests.tui.screens.test_timeout import overdue
from tests.tui.snapshots.scenes import REPORT, at_noon, staged
from tests.tui.widgets.host import Clock
from tests.waiting import until

RECENT = ["wrong table", "too slow"]
BACK = ("app.back", "app.interrupt")


class Dialog(Host):
    """One dialog over nothing. ``chosen`` is what it told by the way."""

    chosen: list[Any]
    pilot: Pilot[Any]

    def browser(self) -> SimpleNamespace:
        """A browser with a window of its own, which keeps where it was sent."""
        return SimpleNamespace(name="firefox", open=lambda url, *_: self.chosen.append(url) or True)  # type: ignore[func-returns-value]

    @property
    def over_now(self) -> bool:
        return self.answer != UNANSWERED or self._exit


def timeout() -> TimeoutScreen:
    clock = Clock(60.0)

    def show_message(_id: object, what: object, *_: object) -> None:
        cast("Dialog", screen.app).chosen.append(what)

    client = SimpleNamespace(
        requests=requests(overdue(1)), now=clock, cancel=show_message, extend=show_message
    )
    screen = TimeoutScreen(cast("Client", client))
    clock.now += READ_SECONDS
    return screen


def call() -> ModalScreen[Any]:
    tools = [Entry("tools", each) for each in TOOLS * 20]
    return CallScreen(tools, earlier=lambda _: [{"statement": "select 2"}])


def result() -> ModalScreen[Any]:
    content = [
        {"type": "text", "text": "one"},
        {"type": "text", "text": '{"rows": [1, 2]}'},
        {"type": "text", "text": "3"},
    ]
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": content}}).encode()
    return ResultScreen(raw, title=words("7 tools/call t"))


def picker() -> Screen[Any]:
    file = Path(os.environ["HOME"]) / ".cursor" / "mcp.json"
    file.parent.mkdir(exist_ok=True)
    some = {f"server-{number}": {"url": "http://127.0.0.1:9/mcp"} for number in range(60)}
    file.write_text(json.dumps({"mcpServers": some}))
    return PickerScreen()


def history() -> ModalScreen[Any]:
    path = Path("2026-11-21T101112-sql-12.jsonl").absolute()
    if not path.exists():
        kept(path, server="sql", cancelled=60)
    return HistoryScreen(Path().absolute())


def recordings() -> ModalScreen[Any]:
    for number in range(60):
        path = Path(f"2026-11-21T1011{number}-sql-12.jsonl").absolute()
        if not path.exists():
            kept(path, server="sql", cancelled=0)
    return RecordingsScreen(Path().absolute())


def palette() -> ModalScreen[Any]:
    return PaletteScreen(lambda text: [Offer(words("Zoom"), words("in"), lambda: None) for _ in range(60)])


def servers() -> ModalScreen[Any]:
    found = Servers()
    for number in range(9):
        session = Session(Client(StdioTarget(command=("x",), name=f"server {number}")))
        found.add(session)
    return ServersScreen(found)


def form() -> ModalScreen[Any]:
    properties = {
        "sure": {"type": "boolean"},
        "way": {"type": "string", "enum": ["gently", "quickly"]},
        "note": {"anyOf": [{"type": "string"}, {"enum": ["gentle"]}]},
        "more": {"type": ["string", "null"]},
    }
    tool = {"name": "t", "inputSchema": {"type": "object", "properties": properties, "required": ["sure"]}}
    return CallScreen([], preset=Entry("tools", tool))


def sign_in() -> ModalScreen[Any]:
    tokens = SimpleNamespace(listeners=[], browser=None, issued=0, signing_in=False)
    waiting = SignIn(cast("Any", tokens))
    waiting.agree()
    waiting.request = AuthorizationRequest(PAGE_URL, "http://127.0.0.1:1/callback", "state", "verifier")
    return SignInScreen(waiting, words("x"))


PAGE_URL = "https://as.example/authorize?state=1"

MADE: dict[str, Callable[[], Screen[Any]]] = {
    "CallScreen": call,
    "ConfirmScreen": lambda: ConfirmScreen("Sure?", [words("one")] * 60, yes="yes", no="no"),
    "FormScreen": lambda: asked("elicitation/create", {**FORM, "message": "word \n" * 200}),
    "HelpScreen": HelpScreen,
    "HistoryScreen": history,
    "InputsScreen": lambda: InputsScreen("x", [AskedInput(id="key", description="The key")]),
    "LinkScreen": lambda: asked("elicitation/create", {**LINK, "message": "word \n" * 200}),
    "MarkedScreen": lambda: MarkedScreen([row(started())], recent=RECENT),
    "MenuScreen": lambda: MenuScreen(words("Server"), [("stop", words("Stop"))], words("")),
    "PaletteScreen": palette,
    "PickerScreen": picker,
    "ReasonScreen": lambda: prompt(requests(started()), Clock(8.0), recent=RECENT),
    "RecordingsScreen": recordings,
    "ResultScreen": result,
    "RootsScreen": lambda: asked("roots/list", {}),
    "SamplingScreen": lambda: asked("sampling/createMessage", {**SAMPLING, "systemPrompt": "word \n" * 200}),
    "ServersScreen": servers,
    "SignInScreen": sign_in,
    "TimeoutScreen": timeout,
}


def answers(value: object, *first: str) -> Check[Dialog]:
    return Check(sees=lambda host: host.over_now and host.answer == value, first=first)


def changes(seen: Callable[[Dialog], object], *first: str) -> Check[Dialog]:
    return Check(changes=seen, first=first)


def focused(host: Dialog) -> object:
    return host.focused


def listed(host: Dialog) -> object:
    return host.screen.query_one(OptionList).highlighted


def marked(host: Dialog) -> object:
    selected = host.screen.query_one(LineList).selected
    return selected and selected.key


def typed(host: Dialog) -> object:
    return host.screen.query_one(Input).value


def scrolled(host: Dialog) -> object:
    return max(each.scroll_y for each in host.screen.query("VerticalScroll"))


def says(text: str, *first: str) -> Check[Dialog]:
    return Check(sees=lambda host: text in host.shown, first=first)


def chose(choice: object) -> Check[Dialog]:
    return Check(sees=lambda host: host.chosen == [choice])


def no_program(host: App[Any]) -> object:
    """It says that no other program can have this terminal, or that there is none."""
    return " program" in str([*host._notifications])  # pyright: ignore[reportPrivateUsage]


def button(host: Dialog) -> object:
    return isinstance(host.focused, Button) and host.focused.id


def does(do: str) -> Check[Dialog]:
    return Check(sees=lambda host: host.answer[0] == do)


def pending(host: Dialog) -> object:
    return host.screen.query_one("#target", Input).value


CHOOSE = {"up": ("down",), "down": (), "page-up": ("pagedown", "pagedown"), "page-down": ()}
"""Keys of a list below a field, and the keys before each."""

GOES: Check[Dialog] = Check(sees=lambda host: host.over_now)
QUITS: Check[Dialog] = Check(sees=lambda host: host._exit, spoils=True)  # pyright: ignore[reportPrivateUsage]

CHECKS: dict[str, Check[Dialog]] = {
    "app.back": answers(None),
    "app.interrupt": answers(None),
    **{f"choose.{way}": changes(listed, *first) for way, first in CHOOSE.items()},
    "call.arguments": Check(sees=lambda host: host.screen.query("Form")),
    "call.send": answers(("slow_sql", {"statement": "1", "limit": 100}), "enter", "1"),
    "call.earlier": says("select 2", "enter"),
    "call.editor": Check(sees=no_program, first=("enter",)),
    "form.json": says('"limit": 100', "enter"),
    "answer.yes": answers(True),
    "answer.no": answers(False),
    "answer.previous": changes(button),
    "answer.next": changes(button),
    "answer.up": changes(scrolled, "down", "down"),
    "answer.down": changes(scrolled),
    "help.close": answers(None),
    "view.pager": Check(sees=no_program),
    "question.send": Check(sees=lambda host: host.shown.count("required") > 1, first=("tab",)),
    "question.decline": answers({"action": "decline"}),
    "question.cancel": answers({"action": "cancel"}),
    "question.copy": Check(sees=lambda host: "confirm" in host.clipboard, first=("space",)),
    "question.back": changes(scrolled, "pagedown"),
    "question.on": changes(scrolled),
    "link.open": Check(
        sees=lambda host: host.answer == {"action": "accept"} and host.chosen == [LINK["url"]]
    ),
    "link.copy": Check(sees=lambda host: host.clipboard == LINK["url"]),
    "reason.cancel": answers("wrong table", "up"),
    "reason.earlier": changes(typed),
    "reason.later": changes(typed, "up"),
    "menu.close": answers(None),
    "result.next": says("2 of 4"),
    "result.previous": says("4 of 4"),
    "result.switch": says('{"rows": [1, 2]}', "tab"),
    "result.copy": Check(sees=lambda host: host.clipboard.startswith("one\n{")),
    "result.save": says("Save this part to"),
    "sign-in.open": Check(sees=lambda host: host.chosen == [PAGE_URL]),
    "sign-in.copy": Check(sees=lambda host: host.clipboard == PAGE_URL),
    "sign-in.decline": answers(None),
    "servers.close-list": answers(None),
    "servers.add": does("add"),
    "servers.close": does("close"),
    "servers.menu": does("menu"),
    **{f"servers.{number}": does("show") for number in range(1, 10)},
    "overdue.cancel": chose(ev.Cause.TIMEOUT),
    "overdue.wait": chose(30.0),
    "overdue.wait-on": chose(None),
    "overdue.next": changes(focused),
    "overdue.previous": changes(focused, "down", "right"),
    "overdue.reason": changes(focused, "down"),
}
"""What each key of a dialog does, by its id."""

ELSEWHERE: dict[tuple[str, str], Check[Dialog]] = {
    **{("ConfirmScreen", id_): answers(False) for id_ in BACK},
    **{("HistoryScreen", f"choose.{way}"): changes(marked, *first[:1]) for way, first in CHOOSE.items()},
    **{("PaletteScreen", f"choose.{way}"): changes(marked, *first[:1]) for way, first in CHOOSE.items()},
    **{("RecordingsScreen", f"choose.{way}"): changes(marked, *first[:1]) for way, first in CHOOSE.items()},
    ("LinkScreen", "question.send"): answers({"action": "accept"}),
    ("LinkScreen", "question.copy"): Check(sees=lambda host: host.clipboard == LINK["url"]),
    ("PickerScreen", "app.back"): changes(pending, "x"),
    ("PickerScreen", "app.interrupt"): QUITS,
    ("MarkedScreen", "app.interrupt"): answers("wrong table", "up"),
    ("ReasonScreen", "app.interrupt"): answers("wrong table", "up"),
    ("RootsScreen", "question.copy"): Check(sees=lambda host: "x" in host.clipboard, first=("x",)),
    ("RootsScreen", "question.decline"): GOES,
    ("RootsScreen", "question.send"): GOES,
    ("SamplingScreen", "question.copy"): Check(sees=lambda host: host.clipboard == "x", first=("x",)),
    ("SamplingScreen", "question.decline"): GOES,
    ("SamplingScreen", "question.send"): says("The answer is empty"),
    ("TimeoutScreen", "app.interrupt"): chose(ev.Cause.TIMEOUT),
}
"""What it does where it is another thing."""

IDLE = {
    *(("RootsScreen", id_) for id_ in ("question.cancel", "question.back", "question.on")),
    ("SamplingScreen", "question.cancel"),
}
"""Keys for which there is nothing to do there: no words to read on in, and no answer but yes and no."""

LETTERS = {("TimeoutScreen", key) for key in ("plus", "w", "left", "right")}
"""Keys that belong to the field for the reason while that has the focus."""


def dialogs() -> Iterator[type[Screen[Any]]]:
    """Every screen of ours that stands for itself, but for those whose keys are in ``test_keys.py``."""
    for module in pkgutil.iter_modules(mcp_tui.tui.screens.__path__):
        found = importlib.import_module(f"mcp_tui.tui.screens.{module.name}")
        for each in vars(found).values():
            if isinstance(each, type) and issubclass(each, Screen) and each.__module__ == found.__name__:
                screen = cast("type[Screen[Any]]", each)
                inner = screen.__subclasses__() or issubclass(screen, SessionScreen | ProbeScreen)
                if not inner and keys_of(screen):
                    yield screen


def keys_of(screen: type[Screen[Any]]) -> list[Key]:
    """The keys of a screen, of the nearest scope where two have one by the same id."""
    found: dict[str, Key] = {}
    for scope in scopes_of([object.__new__(screen)]):
        for key in scope.keys:
            found.setdefault(key.id, key)
    return list(found.values())


@asynccontextmanager
async def opened(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Dialog]:
    """An app with nothing open."""
    host = Dialog(None)
    host.chosen = []
    monkeypatch.setattr(webbrowser, "get", host.browser)
    async with host.run_test(size=(80, 24)) as pilot:
        host.pilot = pilot
        yield host


async def show(host: Dialog, made: Callable[[], Screen[Any]]) -> Pilot[Any]:
    """The dialog alone, as if it had never been open."""
    host.chosen.clear()
    host.copy_to_clipboard("")
    await host.open(made())
    for _ in range(3):
        await host.pilot.pause()
    if isinstance(host.screen, TimeoutScreen):
        host.screen.tick()
    if isinstance(host.screen, HistoryScreen | PaletteScreen | RecordingsScreen):
        await until(lambda: marked(host))
    if isinstance(host.screen, PickerScreen):
        await until(lambda: listed(host) is not None)
    return host.pilot


COMMON = {"ConfirmScreen", "ReasonScreen", "TimeoutScreen"}
"""The dialogs of a cancel, which are tried first."""


def test_every_dialog_is_made():
    assert {screen.__name__ for screen in dialogs()} <= MADE.keys(), "no test makes it: add it to MADE"


@pytest.mark.parametrize(
    "screen",
    [
        pytest.param(each, id=each.__name__, marks=[] if each.__name__ in COMMON else [pytest.mark.slow])
        for each in dialogs()
    ],
)
async def test_every_key_of_a_dialog_does_what_it_says(
    screen: type[Screen[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    name = screen.__name__

    def check_of(id_: str, key: str) -> Check[Dialog]:
        check = ELSEWHERE.get((name, id_)) or CHECKS[id_]
        return replace(check, first=(*check.first, "down")) if (name, key) in LETTERS else check

    keys = [key for key in keys_of(screen) if (name, key.id) not in IDLE]
    await press_all(keys, check_of, lambda: opened(monkeypatch), lambda host, _: show(host, MADE[name]))


# -- fields and pages ------------------------------------------------------------------------------------------


def suggestions(host: Dialog) -> object:
    return any(each.display for each in host.screen.query(Suggestions))


def texts(host: Dialog) -> object:
    return [each.text for each in host.screen.query(TextArea)]


def at(host: Dialog) -> object:
    return host.screen.query_one(Pager).at


def found(host: Dialog) -> object:
    return host.screen.query_one(Pager).finder.match


def lines(host: Dialog) -> object:
    return host.screen.query_one(Pager).virtual_size.height


FOUND: Check[Dialog] = changes(found)
"""Of a page in which a text was found."""
OF_PARTS: dict[str, Check[Dialog]] = {
    "form.json": says("{", "down"),
    "form.leave-out": Check(changes=texts, first=("tab", "tab", "x")),
    "form.null": Check(changes=lambda host: host.screen.query_one(Form).arguments(), first=("tab",) * 3),
    "field.take": changes(focused, "tab", "tab"),
    "field.next": changes(focused),
    "field.previous": changes(focused, "tab", "tab"),
    "field.close": changes(suggestions, "tab", "tab", "g"),
    "field.newline": changes(texts, "tab", "tab", "x"),
    "field.turn": Check(changes=lambda host: host.screen.query_one(Form).arguments()),
    **{f"page.{way}": changes(at, "tab", "end") for way in ("page-up", "top")},
    **{f"page.{way}": changes(at, "tab") for way in ("down", "page-down", "bottom")},
    "page.up": changes(at, "tab", "down"),
    "page.open": changes(lines, "tab"),
    "page.find": says("/▏"),
    "page.next": FOUND,
    "page.previous": FOUND,
}


@pytest.mark.slow
@pytest.mark.parametrize("scope", [FORM_KEYS, FIELD, PAGE], ids=lambda scope: scope.name)
async def test_every_key_of_a_field_or_a_page_does_what_it_says(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
):
    async def ready(host: Dialog, check: Check[Dialog]) -> Pilot[Any]:
        pilot = await show(host, result if scope is PAGE else form)
        if check is FOUND:
            await pilot.press("tab", "tab", "tab", "/", "t", "enter")
            await until(lambda: host.screen.query_one(Pager).finder.places)
        return pilot

    await press_all(scope.keys, lambda id_, _: OF_PARTS[id_], lambda: opened(monkeypatch), ready)


PROBE: dict[str, Callable[[Any], object]] = {
    "probe.start": lambda screen: screen._worker is not None,
    "probe.again": lambda screen: screen._worker is not None,
    "app.back": lambda screen: not screen.is_current,
    "app.interrupt": lambda screen: not screen.is_current,
    "app.help": lambda screen: isinstance(screen.app.screen, HelpScreen),
    "probe.copy": lambda screen: "No report yet" in screen.keys.said,
    "probe.save": lambda screen: "No report yet" in screen.keys.said,
    "probe.other": lambda screen: screen.evidence.has_focus,
}


@pytest.mark.sends_anything
async def test_every_key_of_the_probe_does_what_it_says():
    with at_noon():
        async with staged((80, 24), told=False) as stage:
            for key, id_ in [(name, each.id) for each in PROBE_KEYS.keys for name in each.names]:
                await stage.press("P")
                if id_ == "probe.again":
                    cast("ProbeScreen", stage.app.screen).findings |= REPORT.findings
                check: Check[Any] = Check(sees=PROBE[id_])
                await press_and_see(stage.pilot, key, check, stage.app.screen)
                while stage.app.screen is not stage.bench:
                    await stage.press("escape")
