"""A thousand requests in flight and ``X``: each is told once, and keys are answered while that goes on."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from textual import events

from mcp_tui.client.client import CANCEL_BATCH, DEFAULT_REASON, SHUTDOWN_REASON
from mcp_tui.client.client_settings import ClientSettings, StdioTarget, Target
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Limits
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.dialog import ConfirmScreen
from mcp_tui.view.server_bar import Link
from tests.client.connected import scripted
from tests.client.test_bars import THOUSAND, many_files, told
from tests.tui.driving import Driven, driving

__all__ = ["many_files"]

SETTINGS = ClientSettings(protocol="2025-11-25", limits=Limits(timeout=None, max_timeout=None))

EARLY = 4 * CANCEL_BATCH
"""After so many cancels keys are pressed: the most of the thousand are still in flight then."""


class Cancelling:
    """Counts the cancels of a thousand calls, presses keys among them, and notes after how many each was answered."""

    def __init__(self, driven: Driven) -> None:
        self.driven = driven
        self.requested = 0
        self.pressed_at: int | None = None
        self.answered: dict[str, int] = {}
        self.shown: set[int] = set()
        self._keys: dict[str, Callable[[], object]] = {}
        driven.session.client.listen(self._take)

    def press(self, key: str, answered: Callable[[], object]) -> None:
        """Press ``key`` once enough cancels are out; it is answered when ``answered`` is true."""
        self._keys[key] = answered

    def _take(self, event: ev.Event) -> None:
        if not isinstance(event, ev.CancelRequested):
            return
        self.requested += 1
        self.shown.add(self.driven.bench.bar.facts.counts.in_flight)
        if self.pressed_at is None:
            self._press()
            return
        for key, answered in self._keys.items():
            if key not in self.answered and answered():
                self.answered[key] = self.requested

    def _press(self) -> None:
        """The keys, once the question is off the screen."""
        if self.requested >= EARLY and self.driven.top is self.driven.bench:
            self.pressed_at = self.requested
            for key in self._keys:
                self.driven.app.post_message(events.Key(key, key if len(key) == 1 else None))

    @property
    def in_between(self) -> list[int]:
        """How many were in flight, as the screen said while they became fewer."""
        return sorted(count for count in self.shown if 0 < count < THOUSAND)


async def thousand(driven: Driven) -> list[int]:
    """A thousand calls in flight that get no answer."""
    await driven.until(lambda: driven.app.session is not None and driven.session.link is Link.CONNECTED)
    client = driven.session.client
    ids = [client.call_tool("silent", {"number": number}) for number in range(THOUSAND)]
    await driven.until(lambda: all(row.state is State.IN_FLIGHT for row in client.requests.order[-THOUSAND:]))
    return [int(id_) for id_ in ids]


async def confirmed(driven: Driven) -> None:
    """``X``, and the default reason."""
    await driven.press("X")
    assert "Cancel 1,000 requests" in driven.text()
    driven.app.simulate_key("enter")


@contextlib.asynccontextmanager
async def cancelling(target: Target) -> AsyncGenerator[tuple[Driven, Cancelling, list[int]]]:
    async with driving(target, settings=SETTINGS, link=None) as driven:
        ids = await thousand(driven)
        yield driven, Cancelling(driven), ids


@pytest.fixture
def heard(tmp_path: Path) -> Path:
    """Where the server writes what reached it, a line each."""
    return tmp_path / "heard"


@pytest.fixture
def server(heard: Path) -> StdioTarget:
    return scripted("never", heard)


async def test_x_tells_each_of_a_thousand_once_and_answers_keys_meanwhile(server: StdioTarget, heard: Path):
    async with cancelling(server) as (driven, seen, ids):
        bench = driven.bench
        selected = bench.table.selected
        seen.press("down", lambda: bench.table.selected is not selected)
        seen.press("3", lambda: bench.pane == "cancellations")
        await confirmed(driven)
        await driven.until(lambda: len(told(heard)) >= THOUSAND)
        assert set(seen.answered) == {"down", "3"}
        assert max(seen.answered.values()) < THOUSAND
        assert seen.in_between
        rows = driven.session.client.requests.order[-THOUSAND:]
        await driven.until(lambda: all(row.signal is not None for row in rows))
        assert {(row.cause, row.reason) for row in rows} == {(Cause.USER, DEFAULT_REASON)}
    assert Counter(each["requestId"] for each in told(heard)) == Counter(ids)


@pytest.mark.slow
async def test_quitting_while_x_goes_on_doubles_nothing_and_leaves_nothing_out(
    server: StdioTarget, heard: Path
):
    async with cancelling(server) as (driven, seen, ids):
        seen.press("ctrl+q", lambda: isinstance(driven.top, ConfirmScreen))
        seen.press("y", lambda: "leaving" in driven.inside("keys"))
        await confirmed(driven)
        await driven.until(lambda: driven.left)
        assert seen.answered["ctrl+q"] < THOUSAND
    reasons = Counter(each["reason"] for each in told(heard))
    assert Counter(each["requestId"] for each in told(heard)) == Counter(ids)
    assert set(reasons) <= {DEFAULT_REASON, SHUTDOWN_REASON}
