"""The main job on the demo server: watch, cancel with a reason, see what came of it."""

from __future__ import annotations

import asyncio
import gc
import re
import warnings

import pytest

from mcp_tui.client.client_settings import ClientSettings, HttpTarget, StdioTarget, Target
from mcp_tui.protocol.events import Cause, Limits
from mcp_tui.protocol.requests import State
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.call_form import CallScreen
from mcp_tui.tui.screens.cancel_dialogs import ReasonScreen, TimeoutScreen
from mcp_tui.tui.screens.picker import read_target
from tests.control import Control
from tests.tui.driving import DEMO, Driven, driving
from tests.waiting import HANG


class TestCancelling:
    async def test_a_cancel_is_shown_at_once_and_its_late_result_with_the_lag(self, control: Control) -> None:
        async with driving(control.demo(), settings=ClientSettings(grace=HANG)) as driven:
            row = await driven.in_flight("stubborn")
            await driven.press("c")
            assert isinstance(driven.top, ReasonScreen)
            assert "sent to the server; logged" in driven.text()
            await driven.press(*"slow", "enter")
            await driven.until(lambda: "◔ cancel" in driven.inside("requests"))
            assert row.reason == "slow"
            control.release("stubborn")
            await driven.until(lambda: row.late)
            await driven.until(lambda: "↯ late" in driven.inside("requests"))
            # A busy machine knows only the bounds of its time.
            assert re.search(r"late result (at \+|bet)", driven.inside("requests"))
            await driven.press("3")
            log = driven.inside("cancellations")
            assert "slow" in log
            assert re.search(r"late result (at \+|bet)", log)
            await driven.press("1")
            shown = driven.inside("detail")
            assert "why     you: slow" in shown
            await driven.press("end")
            sections = {str(section.title) for section in driven.sections}
            assert "Late result, not used" in sections
            assert "Result" not in sections

    async def test_a_request_that_is_over_says_so_and_nothing_leaves(self) -> None:
        async with driving() as driven:
            id_ = driven.call("add", a=1, b=2)
            await driven.until(lambda: driven.row(id_).state is State.COMPLETED)
            frames = len(driven.session.client.store.frames)
            await driven.press("c")
            await driven.until(lambda: "Already finished – nothing to cancel" in driven.text())
            await driven.press(*"wrong", "enter")
            assert driven.top is driven.bench
            await driven.press("C")
            said = f"Request {id_} tools/call add already completed – nothing to cancel"
            await driven.until(lambda: said in driven.text())
            assert len(driven.session.client.store.frames) == frames

    async def test_a_request_that_settles_under_the_prompt_is_not_cancelled(self, control: Control) -> None:
        async with driving(control.demo()) as driven:
            row = await driven.in_flight("racer", milliseconds=1)
            await driven.press("c")
            await driven.type("too late")
            control.release("racer")
            await driven.until(lambda: row.state is State.COMPLETED)
            await driven.until(lambda: "Already finished – nothing to cancel" in driven.text())
            await driven.press("enter")
            assert driven.top is driven.bench
            assert row.cancel_at is None
            methods = [head.method for head in driven.session.client.store.frames]
            assert "notifications/cancelled" not in methods

    async def test_e_edits_the_arguments_of_a_call_and_sends_it_again(self) -> None:
        async with driving() as driven:
            id_ = driven.call("echo", text="hello")
            await driven.until(lambda: not driven.row(id_).open)
            await driven.press("e")
            assert isinstance(driven.top, CallScreen)
            assert "hello" in driven.text()
            await driven.press("end", "exclamation_mark", "ctrl+s")
            await driven.until(lambda: "hello!" in driven.inside("requests"))

    async def test_keys_in_a_hurry_open_one_prompt(self) -> None:
        async with driving() as driven:
            await driven.in_flight("silent")
            await asyncio.gather(driven.bench.action_cancel(), driven.bench.action_cancel())
            await driven.pilot.pause()
            assert len(driven.app.screen_stack) == 3


class TestLeaving:
    async def test_ctrl_c_cancels_a_request_in_flight_and_otherwise_quits(self) -> None:
        async with driving() as driven:
            row = await driven.in_flight("silent")
            await driven.press("ctrl+c")
            assert isinstance(driven.top, ReasonScreen)
            await driven.press("ctrl+c")
            assert row.state is State.CANCEL_REQUESTED
            await driven.press("ctrl+c")
            await driven.until(lambda: driven.left)


class TestTimeouts:
    async def test_a_timeout_asks_once_and_waiting_goes_on(self) -> None:
        async with driving(settings=ClientSettings(limits=Limits(timeout=0.4, max_timeout=60))) as driven:
            row = await driven.in_flight("silent")
            await driven.until(lambda: isinstance(driven.top, TimeoutScreen))
            await _press_when_heard(driven, "escape")
            assert driven.top is driven.bench
            driven.bench.look()
            await driven.pilot.pause()
            assert driven.top is driven.bench, "it is not asked again"
            assert "overdue" in driven.inside("requests")
            other = await driven.in_flight("silent")
            await driven.until(lambda: isinstance(driven.top, TimeoutScreen))
            await _press_when_heard(driven, "f3")
            await driven.until(lambda: driven.top is driven.bench)
            assert (row.state, other.state) == (State.IN_FLIGHT, State.IN_FLIGHT)
            assert other.limits.timeout is None

    async def test_a_tool_has_its_own_limits_and_may_be_cancelled_without_asking(self) -> None:
        def limits(target: Target, tool: str) -> Limits:
            return Limits(timeout=0.3 if (target.name, tool) == ("demo", "silent") else 60.0, ask=0.0)

        async with driving(size=(120, 36), preferences=Preferences(limits=limits)) as driven:
            silent, other = driven.call("silent"), driven.call("count", seconds=30)
            await driven.until(lambda: driven.row(silent).cause is Cause.TIMEOUT)
            assert driven.top is driven.bench
            assert driven.row(silent).limits.timeout == 0.3
            assert (driven.row(other).limits.timeout, driven.row(other).state) == (60.0, State.IN_FLIGHT)


async def _press_when_heard(driven: Driven, key: str) -> None:
    """A prompt that comes unasked is deaf at first."""
    await driven.until(lambda: not getattr(driven.top, "ignores_keys", False))
    await driven.press(key)


class TestCalling:
    async def test_the_answer_is_in_sight_at_80_by_24_without_another_key(self) -> None:
        async with driving(size=(80, 24)) as driven:
            id_ = driven.call("echo", text="hello there")
            await driven.until(lambda: not driven.row(id_).open)
            await driven.until(lambda: "hello there" in driven.inside("requests"))
            await driven.until(lambda: "hello there" in driven.inside("detail"))


class TestView:
    async def test_the_key_of_another_pane_leaves_the_zoom(self) -> None:
        async with driving() as driven:
            await driven.press("z", "6")
            assert driven.bench.maximized is None
            assert driven.bench.focused is driven.bench.timeline
            await driven.until(lambda: " Timeline " in driven.text())
            await driven.press("z", "6")
            assert driven.bench.maximized is None
            assert driven.bench.focused is driven.bench.table


class TestConnection:
    def test_a_line_is_a_url_a_command_or_demo(self) -> None:
        assert read_target("demo") == DEMO
        assert read_target(" https://a.example/mcp ") == HttpTarget(url="https://a.example/mcp")
        assert read_target("npx -y 'a b'") == StdioTarget(command=("npx", "-y", "a b"))
        with pytest.raises(ValueError, match="Missing closing quote"):
            read_target("npx 'a")


async def test_what_had_not_begun_when_the_app_ends_says_nothing_on_the_way_out() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        async with driving() as driven:
            bench = driven.bench
            driven.app.leave(0)
            bench.connection.stop()
            driven.app.workers.cancel_all()  # as the end of the app does
        gc.collect()
    assert not [each for each in told if "never awaited" in str(each.message)]
