from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from textual.app import App
from textual.widgets import Button, Input, OptionList, TextArea

from mcp_tui.config.settings import Settings
from mcp_tui.tui.keymap import editing, keymap
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.dialog import ConfirmScreen
from mcp_tui.view import keys
from mcp_tui.view.keys import BUTTONS, LIST
from mcp_tui.view.text import words
from tests.cases import cases
from tests.tui.driving import driving
from tests.tui.screens.host import UNANSWERED, Host
from tests.tui.snapshots.scenes import at_noon, staged


def test_keys_that_are_free_are_taken_by_any_of_their_names():
    chosen, problems = keymap(
        {"request.cancel": "x", "app.help": "f1,?", "view.zoom": "ctrl+shift+left", "request.new": "ä"}
    )
    assert problems == []
    assert chosen["request.cancel"] == "x"
    assert chosen["app.help"] == "f1,question_mark"


@cases(
    ("id_", "keys", "problem"),
    [
        ("request.cancel", "controll+x", "unknown key 'controll+x'"),
        ("request.cancel", "x,", "a key is missing"),
        ("request.cancel", "", "a key is missing"),
        ("request.cancel", "ctrl+m", "ctrl+m is the same key as enter in a terminal"),
        ("request.cancel", "enter", "enter already means Detail (requests.activate)"),
        ("request.cancel", "n", "n already means New (request.new)"),
        ("request.cancel", "k", "k already means Up (requests.up)"),
        ("request.cancel", "f1", "f1 already means Keys (app.keys)"),
        ("request.cancel", "tab", "tab goes from pane to pane and from field to field"),
        ("request.cancel", "ctrl+X", "ctrl+X is the same key as ctrl+x in a terminal"),
        ("request.cancel", "shift+d", "write D for shift+d"),
        ("request.cancel", "ctrl+[", "ctrl+[ is the same key as escape in a terminal"),
        ("reason.cancel", "x", "x is typed into the field there"),
        ("question.decline", "d", "d is typed into the field there"),
        ("form.json", "ctrl+k", "ctrl+k is for editing in the field there"),
        ("answer.yes", "enter", "enter belongs to the list or the buttons there"),
        ("answer.yes", "n", "n already means No (answer.no)"),
        ("lines.down", "n", "n already means New (request.new)"),
        ("replay.play", "f", "f already means Find (replay.find)"),
        ("request.mark", "space", "space already means Play (replay.play)"),
        ("result.copy", "escape", "esc already means Back (app.back)"),
        ("app.back", "q", "q is typed into the field there"),
    ],
)
def test_a_key_that_cannot_be_used_keeps_its_default_and_says_why(id_: str, keys: str, problem: str):
    assert keymap({id_: keys}) == ({}, [f"{id_} = {keys!r}: {problem}"])


def test_of_two_wishes_for_one_key_the_second_is_refused():
    chosen, problems = keymap({"request.new": "x", "request.cancel": "x"})
    assert chosen == {"request.new": "x"}
    assert problems == ["request.cancel = 'x': x already means New (request.new)"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"replay.play": "c"},  # which acts, and so does nothing on a recording
        {"app.back": "escape,D"},
        {"app.palette": "colon"},
        {"answer.yes": "j"},
        {"detail.next": "c"},  # only while a text is looked for
        {"form.null": "f4"},
        {"view.zoom": "alt+z"},
    ],
    ids=str,
)
def test_what_works_at_another_time_is_in_no_ones_way(wanted: dict[str, str]):
    assert keymap(wanted) == (wanted, [])


def test_it_is_said_where_in_which_file_a_problem_stands():
    said = "unknown action request.cancle; did you mean request.cancel?"
    assert keymap({"request.cancle": "x"}) == ({}, [said])
    told = keymap({"request.cancle": "x"}, {"keys.request.cancle": "/c/config.toml:7"})
    assert told == ({}, [f"/c/config.toml:7: {said}"])


def test_the_keys_of_textuals_fields_lists_and_buttons_are_known():
    used = {name for each in (Input, TextArea) for name in each._merged_bindings.key_to_bindings}  # type: ignore[union-attr]
    assert used == editing()
    assert set(OptionList._merged_bindings.key_to_bindings) - LIST == {"ctrl+pageup", "ctrl+pagedown"}  # type: ignore[union-attr]
    assert set(Button._merged_bindings.key_to_bindings) == BUTTONS  # type: ignore[union-attr]


@pytest.fixture
def remapped() -> Iterator[Callable[[App[Any], dict[str, str]], None]]:
    """Gives an app other keys."""

    def remap(app: App[Any], wanted: dict[str, str]) -> None:
        chosen, problems = keymap(wanted)
        assert problems == []
        app.set_keymap(chosen)
        keys.use(chosen)

    yield remap
    keys.use({})


Remap = Callable[[App[Any], dict[str, str]], None]


async def test_a_dialog_has_other_keys_and_its_hints_and_buttons_name_them(remapped: Remap):
    wanted = {"answer.yes": "j", "answer.no": "k", "app.back": "f9"}
    keys.use(wanted)
    host = Host(ConfirmScreen("Sure?", [words("one")], yes="do it", no="stay"))
    remapped(host, wanted)
    async with host.run_test() as pilot:
        await pilot.pause()
        assert "j do it   k stay" in host.shown
        assert host.shown.count("stay") == 1, "keys and buttons do not repeat each other"
        await pilot.press("y", "n", "escape")
        assert host.answer is UNANSWERED
        await pilot.press("j")
        assert host.answer is True


async def test_where_text_is_typed_a_character_on_a_key_of_the_app_is_text_and_f1_opens_the_help(
    remapped: Remap,
):
    with at_noon():
        async with staged((120, 36)) as stage:
            await stage.back()
            remapped(stage.app, {"app.palette": ":", "server.next": "N", "request.new": "x"})
            await stage.press("/", *"name:Nx")
            await stage.press("f1")
            assert type(stage.app.screen).__name__ == "HelpScreen"
            await stage.press("f1")
            assert stage.bench.filtering.input.value == "name:Nx"
            await stage.press("escape", ":")
            assert type(stage.app.screen).__name__ == "PaletteScreen"


async def test_finding_goes_before_the_key_that_is_on_it_around_the_pane(remapped: Remap):
    with at_noon():
        async with staged((80, 24)) as stage:
            await stage.back()
            remapped(stage.app, {"request.cancel": "n", "request.new": "c"})
            await stage.press("1", "/", "e", "enter", "n")
            assert stage.app.screen is stage.bench
            await stage.press("escape", "n")
            assert type(stage.app.screen).__name__ == "ReasonScreen"


async def test_in_the_workbench_the_new_key_works_the_old_one_does_not_and_the_screen_says_so():
    wished = Preferences(settings=Settings(keys={"request.new": "x", "request.agin": "r"}, timers="off"))
    try:
        async with driving(size=(120, 36), preferences=wished) as driven:
            told = driven.app._notifications  # pyright: ignore[reportPrivateUsage]
            await driven.until(lambda: any("did you mean request.again?" in each.message for each in told))
            assert "x New" in driven.line("/ Filter")
            await driven.press("n")
            assert driven.top is driven.bench
            await driven.press("x")
            assert driven.top is not driven.bench
            await driven.press("escape", "question_mark", "pagedown")
            assert "x  call a tool" in driven.text()
            assert driven.bench.table.timers == "off"
    finally:
        keys.use({})
