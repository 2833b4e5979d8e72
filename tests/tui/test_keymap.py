from __future__ import annotations

import pytest

from mcp_tui.client.client import Client
from mcp_tui.journal.store import Store
from mcp_tui.tui import bindings
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.keymap import keymap, shown
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.session import title
from tests.tui.driving import DEMO, Driven


def test_keys_that_are_free_are_taken_by_any_of_their_names():
    chosen, problems = keymap(
        {"request.cancel": "x", "app.help": "f1,?", "view.zoom": "ctrl+shift+left", "request.new": "ä"}
    )
    assert problems == []
    assert chosen["request.cancel"] == "x"
    assert chosen["app.help"] == "f1,question_mark"


def test_two_may_change_places():
    assert keymap({"request.cancel": "n", "request.new": "c"}) == (
        {"request.cancel": "n", "request.new": "c"},
        [],
    )


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"request.cancle": "x"}, "request.cancle is nothing that has a key; did you mean request.cancel?"),
        ({"request.cancel": "controll+x"}, "request.cancel = 'controll+x': there is no key 'controll+x'"),
        ({"request.cancel": "x,"}, "request.cancel = 'x,': a key is missing"),
        ({"request.cancel": ""}, "request.cancel = '': a key is missing"),
        ({"request.cancel": "ctrl+m"}, "request.cancel = 'ctrl+m': a terminal cannot tell ctrl+m from enter"),
        ({"request.cancel": "enter"}, "request.cancel = 'enter': enter moves in lists and fields"),
        ({"request.cancel": "n"}, "request.cancel = 'n': n already means New (request.new)"),
        (
            {"request.new": "x", "request.cancel": "x"},
            "request.cancel = 'x': x already means New (request.new)",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_had_is_told_and_keeps_its_own_key(wanted: dict[str, str], problem: str):
    chosen, problems = keymap(wanted)
    assert problems == [problem]
    assert "request.cancel" not in chosen


def test_a_clash_that_only_comes_of_another_that_was_refused_is_found_too():
    chosen, problems = keymap({"request.cancel": "n", "request.new": "enter"})
    assert chosen == {}
    assert len(problems) == 2


@pytest.mark.parametrize(
    ("names", "said"), [("ctrl+p", "^p"), ("f1,x", "f1"), ("question_mark", "?"), ("x", "x")]
)
def test_keys_are_shown_as_in_the_footer(names: str, said: str):
    assert shown(names) == said


async def test_in_the_workbench_the_new_key_works_the_old_one_does_not_and_the_screen_says_so():
    wished = Preferences(keys={"request.new": "x", "request.agin": "r"}, timers="off")
    app = WorkbenchApp(DEMO, lambda chosen: Client(chosen, None, store=Store()), preferences=wished)
    try:
        async with app.run_test(size=(120, 36), notifications=True) as pilot:
            driven = Driven(app, pilot)
            await driven.until(lambda: app.session is not None and "prompts" in app.session.catalogue.entries)
            told = app._notifications  # pyright: ignore[reportPrivateUsage]
            await driven.until(lambda: any("did you mean request.again?" in each.message for each in told))
            assert "x New" in driven.line("c Cancel")
            await driven.press("n")
            assert driven.top is driven.bench
            await driven.press("x")
            assert driven.top is not driven.bench
            assert driven.bench.table.timers == "off"
            assert title(DEMO) == "demo"
            await app.session.client.close() if app.session else None
    finally:
        bindings.remap({})
