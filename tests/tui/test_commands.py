"""The palette with very much in it: what is asked for by its name is found, stands first, and is what is done."""

from __future__ import annotations

import pytest
from textual import events

from mcp_tui.tui.commands import MATCHED_ENTRIES, Commands, best
from mcp_tui.tui.host import Offer
from mcp_tui.tui.screens.call_form import CallScreen
from mcp_tui.tui.screens.cancel_dialogs import ReasonScreen
from mcp_tui.view.text import clean
from tests.cases import cases
from tests.tui.driving import Driven, driving
from tests.tui.playing import TARGET
from tests.tui.snapshots.scenes import Stage, at_noon, staged

MANY = 10_000


def call_many(stage: Stage) -> list[int]:
    """Ten thousand requests in flight; their ids."""
    ids = [
        stage.session.call("tools/call", {"name": "slow_sql", "arguments": {"statement": str(number)}})
        for number in range(MANY)
    ]
    assert len(stage.session.running) == MANY
    return [id_ for id_ in ids if isinstance(id_, int)]


def offers(*said: str) -> list[Offer]:
    """Commands, each told as name and note."""
    pairs = (each.partition(" – ") for each in said)
    return [Offer(clean(name), clean(note), str) for name, _, note in pairs]


@cases(
    ("typed", "meant"),
    [
        ("cancel 212", "Cancel 212 tools/call slow"),
        ("kill 212", "Cancel 212 tools/call slow"),
        ("abort", "Cancel"),
        ("stop", "Cancel"),
        ("histo", "Open a recording…"),
        ("exit", "Quit"),
        ("json", "Copy both"),
        ("dark", "Theme: mcp-tui-dark"),
        ("ZOO", "Zoom"),
        ("own", "Own requests"),
        ("nothing like it", None),
    ],
)
def test_a_word_finds_the_command_that_it_means(typed: str, meant: str | None):
    known = offers(
        "Cancel 2120 tools/call slow",
        "Cancel 212 tools/call slow",
        "Cancel – cancel the selected request",
        "Copy both – as JSON",
        "Own requests – down below",
        "Open a recording…",
        "Theme: mcp-tui-dark",
        "Quit",
        "Zoom",
    )
    assert next((each.name for each in best(known, typed, ())), None) == meant


def test_what_applies_now_comes_first_then_what_was_run_last():
    known = [*offers("New", "Zoom", "Sort"), Offer(clean("Again"), clean(""), str, now=False)]
    names = [each.name for each in best(known, "", ("Again", "Sort"))]
    assert names == ["Sort", "New", "Zoom", "Again"]


def packet(driven: Driven, keys: str) -> None:
    """Send keys at once: nothing happens between two of them."""
    for key in keys.split():
        event = events.Key(key, None)
        event.set_sender(driven.app)
        driven.app.post_message(event)


@pytest.mark.slow
async def test_keys_in_one_packet_open_and_close_the_palette_as_often_as_they_say():
    async with driving() as driven:
        for keys in ("ctrl+p f1 ctrl+p", "ctrl+p pagedown enter escape", "f1 ctrl+p f1", "v ctrl+p f1 v"):
            packet(driven, keys)
            await driven.pilot.pause()
            await driven.until(lambda: driven.top.is_mounted)
            while driven.top is not driven.bench:
                await driven.press("escape")


@pytest.mark.slow
async def test_what_was_run_from_the_palette_comes_first_the_next_time():
    async with driving() as driven:
        await choose(driven, "wire", "every message")
        await driven.until(lambda: driven.bench.pane == "wire")
        await driven.press("ctrl+p")
        await driven.until(lambda: "›Wire" in driven.text())


async def choose(stage: Driven, query: str, found: str) -> None:
    """Take the first thing that the palette finds."""
    await stage.press("ctrl+p")
    await stage.type(query)
    await stage.until(lambda: found in stage.text())
    await stage.press("enter")


@pytest.mark.slow
@pytest.mark.sends_anything  # the far end is a script; ten thousand requests take their time
async def test_what_is_named_is_found_among_ten_thousand_requests_and_a_thousand_tools():
    with at_noon():
        async with staged((80, 24), told=False) as stage:
            ids = call_many(stage)
            tools = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(1000)]
            last = {"name": "zebra", "inputSchema": {"type": "object"}}
            stage.session.catalogue.put("tools", [*tools, last])
            for wanted in (ids[0], ids[206], ids[-1]):
                await choose(stage, f"cancel {wanted}", f"Cancel {wanted} tools/call slow_sql")
                await stage.until(lambda: isinstance(stage.app.screen, ReasonScreen))
                assert isinstance(stage.app.screen, ReasonScreen)
                assert stage.app.screen.row.id == wanted
                await stage.press("escape")
            await choose(stage, "call zebra", "Call zebra")
            await stage.until(lambda: isinstance(stage.app.screen, CallScreen))
            assert "Call zebra" in stage.text()
            await stage.press("escape")
            for query in ("c", "cancel 212", "slow"):
                found = Commands(stage.app, stage.bench).find(query)
                assert 0 < len(found) < 3 * MATCHED_ENTRIES
            first = stage.app.screen
            stage.app.open(TARGET)
            await stage.until(lambda: stage.app.screen is not first)
            await choose(stage, f"cancel {ids[212]}", f"Cancel {ids[212]} tools/call slow_sql at")
            await stage.until(lambda: isinstance(stage.app.screen, ReasonScreen))
            assert stage.app.servers.current is stage.app.servers.all[0]
