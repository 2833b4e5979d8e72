from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

from textual.pilot import Pilot

from mcp_tui.client.client import Client
from mcp_tui.config.settings import Timers
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.requests import Requests
from mcp_tui.tui.key_guard import READ_SECONDS
from mcp_tui.tui.screens.cancel_dialogs import TimeoutScreen
from tests.tui.hostile import PACKED, assert_harmless
from tests.tui.making import completed, progress, requests, started
from tests.tui.screens.host import UNANSWERED, Host, look
from tests.tui.widgets.host import Clock

ASKING = ev.Limits(timeout=60.0, max_timeout=600.0, ask=10.0)


def overdue(*ids: int, limits: ev.Limits = ASKING) -> list[ev.Event]:
    events: list[ev.Event] = []
    for id in ids:
        events += started(id, limits=limits, name=f"crawl{id}")
        events.append(ev.Overdue(at=60.0, id=id, until=70.0))
    return events


class Case:
    """A prompt half a second after it opened."""

    def __init__(self, told: Requests, *, timers: Timers = "live") -> None:
        self.told = told
        self.clock = Clock(60.0)
        self.chosen: list[tuple[object, ...]] = []

        def show_message(*what: object) -> None:
            self.chosen.append(what)

        client = SimpleNamespace(requests=told, now=self.clock, cancel=show_message, extend=show_message)
        self.screen = TimeoutScreen(cast("Client", client))
        self.host = Host(self.screen, timers=timers)
        self.host.guard.now = self.clock

    async def hearing(self, pilot: Any) -> None:
        await pilot.pause()
        self.clock.now += READ_SECONDS
        await look(pilot, self.screen)


@asynccontextmanager
async def heard(told: Requests, *, timers: Timers = "live") -> AsyncGenerator[tuple[Case, Pilot[int]]]:
    """A prompt that is not deaf any more."""
    case = Case(told, timers=timers)
    async with case.host.run_test(size=(80, 24)) as pilot:
        await case.hearing(pilot)
        yield case, pilot


async def test_the_countdown_and_what_it_is_about():
    async with heard(requests(overdue(1))) as (case, pilot):
        for said in ("Overdue: one request", "tools/call crawl1", "1:00", "timed out after 60 s"):
            assert said in case.host.shown
        assert "Cancels automatically in 10 s" in case.host.shown
        case.clock.now = 66.2
        await look(pilot, case.screen)
        assert "Cancels automatically in  4 s" in case.host.shown
        assert "f3 No limit  esc Hide" in case.host.shown


async def test_where_no_clock_runs_it_says_at_what_time_it_cancels():
    async with heard(requests(overdue(1), overdue(2)), timers="off") as (case, pilot):
        assert re.search(r"crawl1 .* at \d\d:\d\d:\d\d", case.host.shown)
        assert re.search(r"Cancels 1 automatically at \d\d:\d\d:\d\d +│", case.host.shown)
        before = case.host.shown
        case.clock.now = 66.2
        await look(pilot, case.screen)
        assert case.host.shown == before


async def test_a_choice_is_shown_and_the_prompt_waits_for_the_event():
    async with heard(requests(overdue(1))) as (case, pilot):
        await pilot.press("down", "right", "enter")
        await pilot.pause()
        assert case.chosen == [(1, 30.0)]
        assert case.host.answer == UNANSWERED
        case.told.apply(ev.Extended(at=61.0, id=1, limits=ASKING, idle_until=100.0))
        await look(pilot, case.screen)
        assert case.host.answer is None


async def test_letters_replace_the_reason_and_are_no_choice_there():
    async with heard(requests(overdue(1))) as (case, pilot):
        await pilot.press("plus", "w", "enter")
        await pilot.pause()
        assert case.chosen == [(1, Cause.TIMEOUT, "+w")]


async def test_keys_meant_for_what_was_there_before_do_nothing():
    case = Case(requests(overdue(1)))
    async with case.host.run_test() as pilot:
        await pilot.press("enter", "x", "w", "f2", "escape", "ctrl+c")
        await pilot.pause()
        assert case.chosen == []
        assert case.host.answer == UNANSWERED
        assert "timed out after 60 sx" not in case.host.shown
        assert "Just opened: press again." in case.host.shown


async def test_several_share_one_prompt_and_leave_it_one_by_one():
    async with heard(requests(overdue(1, 2, 3))) as (case, pilot):
        assert "Overdue: 3 requests" in case.host.shown
        case.told.apply(completed(at=61.0, id=2))
        case.told.apply(progress(1.0, at=61.0, id=3))
        await look(pilot, case.screen)
        assert "crawl1" in case.host.shown
        assert "crawl2" not in case.host.shown
        assert "crawl3" not in case.host.shown
        case.told.apply(ev.CancelRequested(at=70.0, id=1, cause=Cause.TIMEOUT, reason="timed out after 60 s"))
        await look(pilot, case.screen)
        assert case.chosen == []
        assert case.host.answer is None


async def test_one_that_joins_is_listed_and_one_unseen_is_not_chosen():
    async with heard(requests(overdue(1))) as (case, pilot):
        for event in overdue(2):
            case.told.apply(event)
        case.told.apply(completed(at=61.0, id=1))
        await case.screen.action_choose(
            "cancel_now"
        )  # before the next look: only 1 was on show, and it is over
        await pilot.pause()
        assert case.chosen == []
        assert "crawl2" in case.host.shown
        await pilot.press("enter")
        await pilot.pause()
        assert case.chosen == [(2, Cause.TIMEOUT, "timed out after 60 s")]


async def test_each_has_its_own_reason_until_one_is_written_for_all():
    told = requests(overdue(1), overdue(2, limits=ev.Limits(timeout=30.0, ask=10.0)))
    async with heard(told) as (case, pilot):
        assert "each after its own limit" in case.host.shown
        await pilot.press("enter")
        await pilot.pause()
        assert case.chosen == [
            (1, Cause.TIMEOUT, "timed out after 60 s"),
            (2, Cause.TIMEOUT, "timed out after 30 s"),
        ]
        case.chosen.clear()
        await pilot.press("x", "enter")
        await pilot.pause()
        assert case.chosen == [(1, Cause.TIMEOUT, "x"), (2, Cause.TIMEOUT, "x")]


async def test_hostile_names_are_shown_and_not_obeyed():
    host = Host(None)
    async with host.run_test(size=(80, 24)) as pilot:
        for text in PACKED:
            told = requests(started(name=text, limits=ASKING), ev.Overdue(at=60.0, id=1, until=70.0))
            case = Case(told)
            await host.open(case.screen)
            await case.hearing(pilot)
            assert "in 10 s" in host.shown
            assert_harmless(host.shown.replace("\n", ""))
