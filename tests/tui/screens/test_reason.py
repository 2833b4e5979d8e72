from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual.events import Paste

from mcp_tui.client.client import DEFAULT_REASON
from mcp_tui.config.settings import Timers
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.requests import Request, Requests
from mcp_tui.protocol.revisions import REVISIONS, Cancellation, cancellation
from mcp_tui.tui.screens.cancel_dialogs import TYPED_CHARACTERS, ReasonScreen
from tests.tui.making import cancelled, completed, requests, started
from tests.tui.screens.host import UNANSWERED, Host, look, showing
from tests.tui.widgets.host import Clock

NOTIFIED = cancellation(REVISIONS["2025-11-25"], "stdio", "tools/call")


def only(told: Requests) -> Request:
    (row,) = told.order
    return row


def prompt(
    told: Requests,
    clock: Clock,
    *,
    way: Cancellation = NOTIFIED,
    recent: Sequence[str] = (),
) -> ReasonScreen:
    return ReasonScreen(only(told), way=way, now=clock, recent=recent)


@pytest.mark.parametrize(("timers", "after"), [("live", "1.9s"), ("slow", "1.0s"), ("off", "1.0s")])
async def test_its_clock_keeps_to_the_setting(timers: Timers, after: str):
    clock = Clock(1.0)
    told = requests(started())
    screen = prompt(told, clock)
    host = Host(screen, timers=timers)
    async with host.run_test() as pilot:
        await look(pilot, screen)
        clock.now = 1.9
        await look(pilot, screen)
        assert f"slow_sql  {after}" in host.shown
        clock.now = 2.5
        await look(pilot, screen)
        assert ("slow_sql  2.5s" in host.shown) is (timers != "off")
        told.apply(completed(at=2.7))
        clock.now = 3.0
        await look(pilot, screen)
        assert "slow_sql  2.7s" in host.shown, "what changes is always shown as it is"


async def test_enter_and_ctrl_c_cancel():
    async with showing() as (host, pilot):
        for keys, answer in (("wrong", "wrong"), ("", DEFAULT_REASON), ("   ", DEFAULT_REASON)):
            for last in ("enter", "ctrl+c"):
                await host.open(prompt(requests(started()), Clock()))
                await pilot.press(*("space" if key == " " else key for key in keys), last)
                await pilot.pause()
                assert host.answer == answer


async def test_recent_reasons_and_the_way_back_to_what_was_typed():
    async with showing(prompt(requests(started()), Clock(), recent=["newer", "older", "newer", " "])) as (
        host,
        pilot,
    ):
        await pilot.press("m", "y", "up")
        field = host.screen.query_one("#reason")
        seen = [getattr(field, "value", "")]
        for key in ("up", "up", "down", "down", "down"):
            await pilot.press(key)
            seen.append(getattr(field, "value", ""))
        assert seen == ["newer", "older", "older", "newer", "my", "my"]


async def test_a_reason_is_one_line_of_visible_text_within_its_length():
    async with showing(prompt(requests(started()), Clock())) as (host, pilot):
        host.screen.post_message(Paste("a\tb\x1b[2J\u202ec\x07\nsecond line"))
        await pilot.pause()
        await pilot.pause()
        host.screen.post_message(Paste("z" * TYPED_CHARACTERS))
        await pilot.pause()
        assert len(host._notifications) == 1, "nothing of it is lost in silence"  # pyright: ignore[reportPrivateUsage]
        host.screen.post_message(Paste("x" * (TYPED_CHARACTERS - len("a b␛[2Jc␇ second line") - 1) + "e"))
        await pilot.pause()
        await pilot.pause()
        assert "xxe" in host.shown, "the cursor is in sight"
        await pilot.press("y", "enter")
        await pilot.pause()
        assert host.answer.startswith("a b␛[2Jc␇ second line" + "xx")
        assert len(host.answer) == TYPED_CHARACTERS
        assert host.answer.isprintable()


SETTLED: list[tuple[list[ev.Event], str]] = [
    ([completed()], "Already finished – nothing to cancel"),
    ([completed(is_error=True)], "Already answered with a tool error – nothing to cancel"),
    (
        [ev.Failed(at=2.0, id=1, code=-32602, message="no b", origin=ev.Origin.SERVER)],
        "Already failed – nothing to cancel",
    ),
    ([ev.Lost(at=2.0, id=1, detail="server exit 137")], "Already lost – nothing to cancel"),
    (cancelled(), "Already cancelled"),
    (cancelled(cause=Cause.SHUTDOWN), "Already cancelled"),
    (cancelled(cause=Cause.TIMEOUT), "Already timed out and cancelled"),
    (cancelled(settled=""), "Already cancelled"),
]


async def test_what_settles_meanwhile_is_said_and_enter_only_closes():
    async with showing() as (host, pilot):
        for events, said in SETTLED:
            told = requests(started())
            screen = prompt(told, Clock(3.0))
            await host.open(screen)
            await pilot.press("x")
            for event in events:
                told.apply(event)
            await look(pilot, screen)
            assert said in host.shown
            assert "Reason" not in host.shown
            assert "enter Close" in host.shown
            await pilot.press("y", "enter")
            await pilot.pause()
            assert host.answer is None


async def test_enter_in_the_moment_of_the_answer_sends_nothing_and_says_why():
    told = requests(started())
    screen = prompt(told, Clock(3.0))
    async with showing(screen) as (host, pilot):
        await pilot.press("x")
        told.apply(completed())
        await screen.action_cancel()
        await pilot.pause()
        assert host.answer == UNANSWERED
        assert "Already finished" in host.shown
        await pilot.press("enter")
        await pilot.pause()
        assert host.answer is None


async def test_a_withdrawn_cancel_brings_the_field_back_with_what_was_typed():
    told = requests(started())
    screen = prompt(told, Clock(3.0))
    async with showing(screen) as (host, pilot):
        await pilot.press("o", "k")
        told.apply(ev.CancelRequested(at=2.0, id=1, cause=Cause.TIMEOUT, reason="timed out after 60 s"))
        await look(pilot, screen)
        told.apply(ev.CancelWithdrawn(at=2.0, id=1))
        await look(pilot, screen)
        await pilot.press("!", "enter")
        await pilot.pause()
        assert host.answer == "ok!"
