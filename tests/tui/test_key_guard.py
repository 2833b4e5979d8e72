"""Keys that were not meant: what is typed a moment too late sends nothing and writes nothing."""

from __future__ import annotations

import random
import string
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.protocol.requests import State
from mcp_tui.tui.key_guard import READ_SECONDS, KeyGuard
from mcp_tui.tui.screens.call_form import CallScreen
from mcp_tui.tui.screens.cancel_dialogs import CancelPrompt
from mcp_tui.tui.screens.dialog import ConfirmScreen
from mcp_tui.tui.screens.probe_screen import ProbeScreen
from mcp_tui.view.server_bar import Link
from mcp_tui.view.text import words
from tests.slow import slow
from tests.tui.driving import Driven, driving
from tests.tui.test_opening import SILENT
from tests.tui.widgets.host import Clock

DELIBERATE = ("tools/call", "resources/read", "prompts/get")
"""Methods that only a person's key sends."""

HANDSHAKE = ("server/discover", "initialize", "notifications/initialized")
"""Methods that connecting sends, whatever is typed."""

DEAF = "import sys; file = open(sys.argv[1], 'w')\nfor line in sys.stdin: print(line, file=file, flush=True)"
"""A server that writes down what it hears, and answers nothing."""

LETTERS = string.ascii_letters
TYPED = 0.05
"""Seconds between two letters of a burst."""


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


# -- the guard alone -----------------------------------------------------------------------------------------


def test_what_is_typed_after_a_refusal_is_swallowed_until_a_pause(clock: Clock):
    guard = KeyGuard(clock)
    assert not guard.swallows(text=True)
    guard.block(words("refused"))
    for _ in range(40):
        clock.now += READ_SECONDS - 0.01
        assert guard.swallows(text=True)
    assert not guard.swallows(text=False), "esc, ctrl+c and arrows still work"
    guard.release()
    assert not guard.swallows(text=True), "a click ends it"
    guard.block(words("refused"))
    clock.now += READ_SECONDS
    assert not guard.swallows(text=True), "and so does a pause"


def test_a_target_that_changed_by_itself_is_acted_on_only_after_a_pause(clock: Clock):
    guard = KeyGuard(clock)
    guard.watch("one")
    clock.now += 10
    guard.swallows(text=True)
    assert guard.steady
    clock.now += 1
    guard.watch("one", ended=True)
    for _ in range(30):
        clock.now += TYPED
        guard.swallows(text=True)
        assert not guard.steady, "the burst began before it could be seen"
    clock.now += READ_SECONDS
    guard.swallows(text=True)
    assert guard.steady


@pytest.mark.parametrize("text", [True, False])
def test_a_target_that_a_key_moved_to_is_acted_on_at_once(clock: Clock, text: bool):
    guard = KeyGuard(clock)
    guard.watch("one")
    clock.now += 10
    guard.swallows(text=text)
    guard.watch("two")
    clock.now += TYPED
    guard.swallows(text=True)
    assert guard.steady


def test_moving_by_a_letter_hides_no_change_but_an_arrow_shows_that_it_was_seen(clock: Clock):
    guard = KeyGuard(clock)
    guard.watch("one")
    clock.now += 10
    guard.watch("one", ended=True)
    guard.swallows(text=True)
    guard.watch("two")
    assert not guard.steady
    guard.swallows(text=False)
    guard.watch("three")
    assert guard.steady


def test_what_cancels_is_aimed_at_what_was_under_the_cursor_when_the_burst_began(clock: Clock):
    guard = KeyGuard(clock)
    guard.watch("seen")
    guard.swallows("x", text=True)
    clock.now += TYPED
    guard.watch("came by itself")
    guard.swallows("C", text=True)
    assert guard.aimed == "seen"
    guard.moved("chosen by a key")
    assert guard.aimed == "chosen by a key"
    clock.now += READ_SECONDS
    guard.watch("there for a while")
    guard.swallows("C", text=True)
    assert guard.aimed == "there for a while"


def test_a_key_that_was_refused_may_be_pressed_again_at_once(clock: Clock):
    guard = KeyGuard(clock)
    guard.block(words("refused"), ("C",))
    assert guard.swallows("r", text=True)
    assert not guard.swallows("C", text=True, cancels=True)


def test_what_a_key_opened_in_the_middle_of_a_burst_gets_nothing_of_the_rest(clock: Clock):
    guard = KeyGuard(clock)
    guard.block(words("refused"), ("c",))
    clock.now += READ_SECONDS - 0.01
    assert not guard.swallows("c", text=True, cancels=True)
    for letter in "accept":
        clock.now += READ_SECONDS - 0.01
        assert guard.swallows(letter, text=True)


def test_a_key_that_cancels_works_when_pressed_twice_in_a_row(clock: Clock):
    guard = KeyGuard(clock)
    guard.block(words("the dialog closed on its own"))
    assert guard.swallows("C", text=True, cancels=True)
    assert guard.swallows("r", text=True)
    assert guard.swallows("r", text=True), "others wait for a pause"
    assert guard.swallows("C", text=True, cancels=True)
    assert not guard.swallows("C", text=True, cancels=True)


# -- the workbench -------------------------------------------------------------------------------------------


@asynccontextmanager
async def guarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock, **given: object
) -> AsyncGenerator[Driven]:
    """The workbench with a clock of the test's own, in an empty folder, with a journal."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    async with driving(record=tmp_path / "journal.jsonl", **given) as driven:  # type: ignore[arg-type]
        driven.app.guard.now = clock
        clock.now += 10
        yield driven


async def finished(driven: Driven, clock: Clock) -> None:
    """A row has just finished."""
    await driven.in_flight("silent")
    id_ = driven.call("add", a=1, b=2)
    clock.now += 5
    await driven.until(lambda: driven.row(id_).state is State.COMPLETED)
    driven.bench.look()


async def closed(driven: Driven, clock: Clock) -> None:
    """A dialog has just closed by itself."""
    await finished(driven, clock)
    clock.now += 5
    dialog = ConfirmScreen("Sure?", [words("of what")], yes="yes", no="no")
    await driven.app.push_screen(dialog)
    dialog.close_by_itself()


async def lost(driven: Driven, clock: Clock) -> None:
    """The server has just gone."""
    await finished(driven, clock)
    clock.now += 5
    driven.call("crash")
    await driven.until(lambda: driven.session.link is Link.LOST)


async def refused(driven: Driven, clock: Clock) -> None:
    """A key has just been refused."""
    await finished(driven, clock)
    clock.now += 5
    await driven.press("a")
    await driven.until(lambda: "No question pending" in driven.text())


async def withdrawn(driven: Driven, clock: Clock) -> None:
    """The prompt for a reason has just nothing to cancel any more."""
    row = await driven.in_flight("racer", milliseconds=300)
    clock.now += 5
    await driven.press("c")
    await driven.until(lambda: row.state is State.COMPLETED)


async def connecting(driven: Driven, clock: Clock) -> None:
    """The server has not answered yet."""
    await driven.until(lambda: driven.session.link is Link.CONNECTING)


def heard(log: Path) -> list[str]:
    """What the server itself says it was asked for by a person."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [line for line in lines if any(name in line for name in DELIBERATE)]


@pytest.mark.parametrize("moment", [finished, withdrawn, *slow(connecting, closed, lost, refused)])
async def test_twenty_letters_typed_too_late_send_and_write_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clock: Clock,
    moment: Callable[[Driven, Clock], Awaitable[None]],
):
    chosen = random.Random(moment.__name__)
    log = tmp_path / "server.log"
    given: dict[str, object] = {
        "target": StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo", "--log", str(log)))
    }
    if moment is connecting:
        given = {
            "target": StdioTarget(command=(sys.executable, "-c", DEAF, str(log))),
            "link": Link.CONNECTING,
        }
    async with guarded(tmp_path, monkeypatch, clock, **given) as driven:
        await moment(driven, clock)
        store = driven.session.client.store

        def sent() -> list[tuple[str | None, object]]:
            heads = (head for head in store.frames if head.direction == "out")
            return [(head.method, head.id) for head in heads if head.method not in HANDSHAKE]

        before = sent()
        # what acts on the world comes first, in any order
        for letter in chosen.sample("rwC", 3) + chosen.choices(LETTERS, k=20):
            await driven.pilot.press(letter)
            clock.now += TYPED
        await driven.pilot.pause()
        assert sent() == before
        assert not list(Path.cwd().iterdir())
    assert len(heard(log)) == sum(method in DELIBERATE for method, _ in before)


async def test_cancel_now_hits_the_row_that_was_seen_though_the_cursor_was_moved_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
):
    async with guarded(tmp_path, monkeypatch, clock) as driven:
        seen, other = await driven.in_flight("silent"), await driven.in_flight("silent")
        driven.bench.table.select(seen.id)
        clock.now += 5
        driven.bench.look()
        await driven.press("i")
        driven.bench.table.select(other.id)  # as a busy table does
        await driven.press("C")
        await driven.until(lambda: seen.cancel_at is not None)
        assert other.cancel_at is None
        assert "the row you were on" in driven.inside("keys")


async def test_cancel_now_on_a_row_that_came_by_itself_works_when_pressed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
):
    async with guarded(tmp_path, monkeypatch, clock) as driven:
        row = await driven.in_flight("silent")
        clock.now += 5
        await driven.press("i")
        clock.now += READ_SECONDS / 2
        driven.app.guard.aim(None)  # nothing was under the cursor until now
        await driven.press("C")
        await driven.until(lambda: "changed just now. Press C again" in driven.text())
        assert row.cancel_at is None
        await driven.press("C")
        await driven.until(lambda: row.cancel_at is not None)


async def test_the_signal_leaves_before_the_prompt_for_the_reason_is_taken_down():
    async with driving() as driven:
        row = await driven.in_flight("silent")
        await driven.press("c", *"slow")
        prompt, pushed = driven.top, len(driven.app.screen_stack)
        left: list[bool] = []
        monkey = driven.app.pop_screen

        def pop() -> object:
            left.append(row.cancel_at is not None)
            return monkey()

        driven.app.pop_screen = pop  # type: ignore[method-assign, assignment]
        await driven.press("enter")
        await driven.until(lambda: driven.top is not prompt)
        assert (left, row.reason, pushed) == ([True], "slow", 3)


async def test_esc_in_the_filter_of_a_zoomed_pane_clears_the_filter_and_then_the_zoom():
    async with driving() as driven:
        await driven.press("z", "slash", *"zzz")
        assert driven.bench.maximized is not None
        await driven.press("escape")
        assert driven.bench.maximized is not None
        assert not driven.bench.filtering.input.has_focus
        await driven.press("escape")
        assert driven.bench.maximized is None


async def test_a_question_is_not_answered_by_a_letter_of_the_burst_that_opened_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
):
    async with guarded(tmp_path, monkeypatch, clock) as driven:
        row = await driven.in_flight("silent")
        clock.now += 5
        await driven.press("space", "C")
        clock.now += TYPED
        await driven.press("y", "right", "enter")
        assert isinstance(driven.top, ConfirmScreen)
        assert "Just opened: press again." in driven.text()
        assert row.cancel_at is None
        clock.now += READ_SECONDS
        await driven.press("y")
        await driven.until(lambda: row.cancel_at is not None)


async def test_text_that_was_typed_for_something_else_starts_no_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
):
    async with guarded(tmp_path, monkeypatch, clock) as driven:
        clock.now += 5
        await driven.press(*"Print", "enter")
        await driven.until(lambda: "Text was typed here: press again." in driven.text())
        probe = driven.top
        assert isinstance(probe, ProbeScreen)
        assert not probe.running
        await driven.press("escape")
        clock.now += 5
        await driven.press("P", "enter")
        assert isinstance(driven.top, ProbeScreen)
        assert driven.top.running


async def test_swallowed_keys_are_told_and_a_pause_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
):
    async with guarded(tmp_path, monkeypatch, clock) as driven:
        await refused(driven, clock)
        await driven.press("w")
        await driven.until(lambda: "Keys ignored: pause for a second · " in driven.text())
        clock.now += READ_SECONDS
        await driven.press("w")
        assert [path.suffix for path in Path.cwd().iterdir()] == [".json"]


@pytest.mark.parametrize("keys", ["c", "X", "CC"])
async def test_what_cancels_still_works_right_after_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock, keys: str
):
    async with guarded(tmp_path, monkeypatch, clock) as driven:
        row = await driven.in_flight("silent")
        clock.now += 5
        driven.bench.look()
        await driven.press("a")
        await driven.until(lambda: "No question pending" in driven.text())
        await driven.press("w", *keys)
        if keys != "CC":
            assert isinstance(driven.top, CancelPrompt)
            await driven.press(*"all", "enter")
            assert isinstance(driven.top, CancelPrompt), "the rest of the burst was not meant for it"
            clock.now += READ_SECONDS
            await driven.press("enter")
        await driven.until(lambda: row.cancel_at is not None)
        assert "all" not in (row.reason or "")


async def test_a_name_typed_before_the_connection_stands_filters_the_list_that_fills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
):
    async with guarded(tmp_path, monkeypatch, clock, target=SILENT, link=Link.CONNECTING) as driven:
        await driven.press("n", *"slow", "enter")
        assert isinstance(driven.top, CallScreen)
        assert not [row for row in driven.session.client.requests.order if not row.internal]
        driven.session.catalogue.put(
            "tools", [{"name": "slow_sql", "inputSchema": {}}, {"name": "echo", "inputSchema": {}}]
        )
        await driven.until(lambda: "slow_sql" in driven.text())
        assert "echo" not in driven.text()


async def test_repeat_sends_what_is_not_written_yet_and_not_more_than_four_times_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
):
    async with guarded(tmp_path, monkeypatch, clock) as driven:
        first = driven.call("silent")
        clock.now += 5
        for _ in range(50):
            await driven.pilot.press("r")
            clock.now += 0.02
        called = [row for row in driven.session.client.requests.order if row.name == "silent"]
        assert len(called) == 1 + 4
        assert "Not repeated: faster than 4 a second. R repeats n times." in driven.text()
        assert "no longer available" not in driven.text()
        assert driven.row(first).name == called[-1].name
