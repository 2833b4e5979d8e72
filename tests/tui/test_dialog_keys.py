"""Every key of every dialog, pressed. A binding without a check here is a failure."""

from __future__ import annotations

import importlib
import json
import pkgutil
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Input, OptionList

import mcp_tui.tui.screens
from mcp_tui.client.client import Client
from mcp_tui.client.settings import StdioTarget
from mcp_tui.config.definitions import Input as Asked
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.revisions import REVISIONS, cancellation
from mcp_tui.tui.bindings import bindings, replay_bindings
from mcp_tui.tui.screens.call import CallScreen
from mcp_tui.tui.screens.confirm import ConfirmScreen
from mcp_tui.tui.screens.consent import ConsentScreen
from mcp_tui.tui.screens.help import HelpScreen
from mcp_tui.tui.screens.history import HistoryScreen
from mcp_tui.tui.screens.inputs import InputsScreen
from mcp_tui.tui.screens.marked import MarkedScreen
from mcp_tui.tui.screens.menu import MenuScreen
from mcp_tui.tui.screens.picker import PickerScreen
from mcp_tui.tui.screens.reason import ReasonScreen
from mcp_tui.tui.screens.recordings import RecordingsScreen
from mcp_tui.tui.screens.result import ResultScreen
from mcp_tui.tui.screens.servers import Chosen, ServersScreen
from mcp_tui.tui.screens.timeout import DEAF, Choice, TimeoutScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.servers import Servers
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.choices import Choice as Server
from mcp_tui.tui.view.choices import Choices, Group
from mcp_tui.tui.view.text import SafeText, words
from mcp_tui.tui.widgets.line_list import LineList
from tests.tui.making import book, row, started
from tests.tui.playing import FORM, LINK, TOOLS
from tests.tui.pressing import Check, bound, press_and_see
from tests.tui.screens.host import UNANSWERED, Host
from tests.tui.screens.test_interaction import asked
from tests.tui.screens.test_recordings import kept
from tests.tui.snapshots.scenes import at_noon, staged
from tests.tui.widgets.host import Clock

WAY = cancellation(REVISIONS["2025-11-25"], "stdio", "tools/call")
RECENT = ["wrong table", "too slow"]
LIMITS = ev.Limits(idle=60.0, maximum=600.0, ask=10.0)


class Dialog(Host):
    """One dialog over nothing. ``chosen`` is what it told by the way."""

    chosen: list[Any]
    clock: Clock

    def browser(self) -> SimpleNamespace:
        """A browser with a window of its own, which keeps where it was sent."""
        return SimpleNamespace(name="firefox", open=lambda url, *_: self.chosen.append(url) or True)  # type: ignore[func-returns-value]

    @property
    def over_now(self) -> bool:
        return self.answer != UNANSWERED or self._exit


def reason() -> ModalScreen[Any]:
    return ReasonScreen(row(started()), way=WAY, now=Clock(8.0), recent=RECENT)


def timeout() -> TimeoutScreen:
    clock = Clock(60.0)
    screen = TimeoutScreen(
        book(started(limits=LIMITS), ev.Overdue(at=60.0, id=1, until=70.0)),
        now=clock,
        on_choice=lambda choice, ids, said: screen.app.chosen.append((choice, ids, said)),  # type: ignore[attr-defined]
    )
    clock.now += DEAF
    return screen


def call() -> ModalScreen[Any]:
    return CallScreen(TOOLS * 20, earlier=lambda _: [{"statement": "select 2"}])


def consent() -> ModalScreen[Any]:
    return ConsentScreen("indexer", [("command", f"line {number}") for number in range(60)])


def result() -> ModalScreen[Any]:
    content = [
        {"type": "text", "text": "one"},
        {"type": "text", "text": '{"rows": [1, 2]}'},
        {"type": "text", "text": "3"},
    ]
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": content}}).encode()
    return ResultScreen(raw, title=words("7 tools/call t"))


def picker() -> Screen[Any]:
    some = tuple(
        Server(name=SafeText(f"server-{number}"), said=words("x"), line="demo") for number in range(60)
    )
    return PickerScreen(gathered=lambda: Choices((Group(words("Recent"), some),)))


def history() -> ModalScreen[Any]:
    kept(Path("2026-11-21T101112-sql-12.jsonl").absolute(), server="sql", cancelled=60)
    return HistoryScreen(Path().absolute())


def servers() -> ModalScreen[Any]:
    found = Servers()
    for number in range(9):
        session = Session(Client(StdioTarget(command=("x",), name=f"server {number}")))
        found.add(session, Workbench(session))
    return ServersScreen(found)


MADE: dict[str, Callable[[], Screen[Any]]] = {
    "CallScreen": call,
    "Listing": call,
    "ConfirmScreen": lambda: ConfirmScreen("Sure?", [words("one")], yes="yes", no="no"),
    "ConsentScreen": consent,
    "HelpScreen": HelpScreen,
    "HistoryScreen": history,
    "InputsScreen": lambda: InputsScreen("x", [Asked(id="key", description="The key")]),
    "InteractionScreen": lambda: asked("elicitation/create", {**FORM, "message": "word \n" * 200}),
    "LinkScreen": lambda: asked("elicitation/create", LINK),
    "MarkedScreen": lambda: MarkedScreen([row(started())], recent=RECENT),
    "MenuScreen": lambda: MenuScreen(words("Server"), [("stop", words("Stop"))], words("")),
    "PickerScreen": picker,
    "ReasonScreen": reason,
    "RecordingsScreen": lambda: RecordingsScreen(Path()),
    "ResultScreen": result,
    "ServersScreen": servers,
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


def chose(choice: Choice) -> Check[Dialog]:
    return Check(sees=lambda host: [each[0] for each in host.chosen] == [choice])


def button(host: Dialog) -> object:
    return isinstance(host.focused, Button) and host.focused.id


def does(do: str) -> Check[Dialog]:
    return Check(sees=lambda host: isinstance(host.answer, Chosen) and host.answer.do.value == do)


CHECKS: dict[str, Check[Dialog]] = {
    "CallScreen back": answers(None),
    "CallScreen send": answers(("slow_sql", {"statement": "1", "limit": 100}), "enter", "1"),
    "CallScreen json": says('"limit": 100', "enter"),
    "CallScreen recall": says("select 2", "enter"),
    "Listing move('cursor_up')": changes(listed, "down"),
    "Listing move('cursor_down')": changes(listed),
    "Listing move('page_up')": changes(listed, "pagedown"),
    "Listing move('page_down')": changes(listed),
    "ConfirmScreen answer(True)": answers(True),
    "ConfirmScreen answer(False)": answers(False),
    "ConfirmScreen move(-1)": changes(button),
    "ConfirmScreen move(1)": changes(button),
    "ConsentScreen answer(True)": answers(True),
    "ConsentScreen answer(False)": answers(False),
    "ConsentScreen move(-1)": changes(button),
    "ConsentScreen move(1)": changes(button),
    "ConsentScreen scroll(-1)": changes(scrolled, "down", "down"),
    "ConsentScreen scroll(1)": changes(scrolled),
    "HelpScreen close": answers(None),
    "HistoryScreen app.quit": Check(sees=lambda host: host._exit),  # pyright: ignore[reportPrivateUsage]
    "HistoryScreen back": answers(None),
    "HistoryScreen lines('cursor_up')": changes(marked, "down"),
    "HistoryScreen lines('cursor_down')": changes(marked),
    "HistoryScreen lines('page_up')": changes(marked, "pagedown"),
    "HistoryScreen lines('page_down')": changes(marked),
    "InputsScreen leave": answers(None),
    "InteractionScreen accept": Check(sees=lambda host: "          is required" in host.shown),
    "InteractionScreen decline": answers({"action": "decline"}),
    "InteractionScreen cancel_question": answers({"action": "cancel"}),
    "InteractionScreen copy_draft": Check(
        sees=lambda host: "confirm" in host.clipboard, first=("down", "enter")
    ),
    "InteractionScreen scroll_words(-1)": changes(scrolled, "pagedown"),
    "InteractionScreen scroll_words(1)": changes(scrolled),
    "InteractionScreen later": answers(None),
    "LinkScreen open": Check(
        sees=lambda host: host.answer == {"action": "accept"} and host.chosen == [LINK["url"]]
    ),
    "LinkScreen copy_draft": Check(sees=lambda host: host.clipboard == LINK["url"]),
    "MarkedScreen keep": answers(None),
    "MarkedScreen cancel": Check(sees=lambda host: host.answer == "wrong table", first=("up",)),
    "MarkedScreen recall(1)": changes(typed),
    "MarkedScreen recall(-1)": changes(typed, "up"),
    "MenuScreen close": answers(None),
    "PickerScreen app.quit": Check(sees=lambda host: host._exit),  # pyright: ignore[reportPrivateUsage]
    "PickerScreen move(-1)": changes(listed, "down"),
    "PickerScreen move(1)": changes(listed),
    "PickerScreen page(-1)": changes(listed, "pagedown", "pagedown"),
    "PickerScreen page(1)": changes(listed),
    "PickerScreen clear": changes(typed, "x"),
    "ReasonScreen keep": answers(None),
    "ReasonScreen cancel": answers("wrong table", "up"),
    "ReasonScreen recall(1)": changes(typed),
    "ReasonScreen recall(-1)": changes(typed, "up"),
    "RecordingsScreen close": answers(None),
    "ResultScreen back": answers(None),
    "ResultScreen part(1)": says('"rows"'),
    "ResultScreen part(-1)": says('"content"'),
    "ResultScreen switch": says('{"rows": [1, 2]}', "tab"),
    "ResultScreen copy": Check(sees=lambda host: host.clipboard == "one"),
    "ResultScreen save": says("Write this part to"),
    "ServersScreen close": answers(None),
    "ServersScreen choose('add')": does("add"),
    "ServersScreen choose('close')": does("close"),
    "ServersScreen choose('menu')": does("menu"),
    **{f"ServersScreen number({number})": does("show") for number in range(1, 10)},
    "TimeoutScreen hide": answers(None),
    "TimeoutScreen choose('cancel_now')": chose(Choice.CANCEL_NOW),
    "TimeoutScreen choose('wait_30')": chose(Choice.WAIT_30),
    "TimeoutScreen choose('wait_forever')": chose(Choice.WAIT_FOREVER),
    "TimeoutScreen move(1)": changes(focused),
    "TimeoutScreen move(-1)": changes(focused, "down", "right"),
    "TimeoutScreen edit": changes(focused, "down"),
}

LETTERS = {
    ("TimeoutScreen", "plus"),
    ("TimeoutScreen", "w"),
    ("TimeoutScreen", "left"),
    ("TimeoutScreen", "right"),
}
"""Keys that belong to the field for the reason while that has the focus."""


def dialogs() -> Iterator[type[Screen[Any]]]:
    """Every screen of ours, but for those whose keys are in ``test_keys.py``."""
    for module in pkgutil.iter_modules(mcp_tui.tui.screens.__path__):
        found = importlib.import_module(f"mcp_tui.tui.screens.{module.name}")
        for each in vars(found).values():
            ours = isinstance(each, type) and issubclass(each, Screen) and each.__module__ == found.__name__
            if ours and each.__dict__.get("BINDINGS"):
                yield each


KEYS = sorted(
    {
        (each.__name__, key, action)
        for each in dialogs()
        if each.BINDINGS not in (bindings(), replay_bindings()) and each.__name__ != "ProbeScreen"
        for key, action in bound(each.__dict__["BINDINGS"])
    }
)


@pytest.mark.parametrize(("name", "key", "action"), KEYS)
async def test_a_key_of_a_dialog_does_what_it_says(
    name: str, key: str, action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    about = f"{name} {action}"
    assert about in CHECKS, f"no test presses {key} of {name} ({action}): add one to CHECKS"
    monkeypatch.chdir(tmp_path)
    check = CHECKS[about]
    if (name, key) in LETTERS:
        check = Check(sees=check.sees, changes=check.changes, first=(*check.first, "down"))
    host = Dialog(MADE[name]())  # type: ignore[arg-type]
    host.chosen = []
    monkeypatch.setattr(webbrowser, "get", host.browser)
    async with host.run_test(size=(80, 24)) as pilot:
        for _ in range(3):
            await pilot.pause()
        if isinstance(host.screen, TimeoutScreen):
            host.screen.tick()
        while name == "HistoryScreen" and not marked(host):
            await pilot.pause(0.02)
        await press_and_see(pilot, key, check, host)


PROBE: dict[str, tuple[tuple[str, ...], Callable[[Any], object]]] = {
    "start": ((), lambda screen: screen._worker is not None),
    "again": ((), lambda screen: screen._worker is not None),
    "close": ((), lambda screen: not screen.is_current),
    "interrupt": ((), lambda screen: not screen.is_current),
    "copy": ((), lambda screen: "no report yet" in screen.keys.said),
    "save": ((), lambda screen: "no report yet" in screen.keys.said),
    "other_pane": ((), lambda screen: screen.evidence.has_focus),
}


@pytest.mark.sends_anything
async def test_every_key_of_the_probe_does_what_it_says():
    from mcp_tui.tui.screens.probe import ProbeScreen

    for key, action in bound(ProbeScreen.BINDINGS):
        assert action in PROBE, f"no test presses {key} of the probe ({action}): add one to PROBE"
        first, seen = PROBE[action]
        with at_noon():
            async with staged((80, 24), told=False) as stage:
                await stage.press("P")
                check: Check[Any] = Check(sees=seen, first=first)
                await press_and_see(stage.pilot, key, check, stage.app.screen)
                await stage.press("escape", "escape")
