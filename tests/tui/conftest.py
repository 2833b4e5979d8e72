"""Terminals for tests that need real ones."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncGenerator, Callable, Generator
from types import CodeType
from typing import Any

import pexpect
import pytest
import textual._callback
import textual.app
import textual.pilot
from textual._compositor import Compositor
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

from mcp_tui.tui.key_guard import KeyGuard
from tests.tui import idle
from tests.tui.terminal import Terminal


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every key come after a pause, as of a person who reads; the guard has tests with a clock of their own."""
    seconds = itertools.count(1.0)
    monkeypatch.setattr(KeyGuard.__init__, "__defaults__", (lambda: next(seconds),))


@pytest.fixture(scope="session")
def parsed() -> dict[Any, Any]:
    """Style sheets that were parsed before."""
    return {}


@pytest.fixture(scope="session")
def counted() -> dict[CodeType, int]:
    """Parameters of functions that were called before."""
    return {}


@pytest.fixture(autouse=True)
def _time_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, parsed: dict[Any, Any], counted: dict[CodeType, int]
) -> None:
    """A key has had its effect when the app has nothing left to do, not when some milliseconds are over."""
    run_test: Any = vars(App)["run_test"]

    @contextlib.asynccontextmanager
    async def remembered(self: App[Any], **given: Any) -> AsyncGenerator[Any]:
        idle.apps.add(self)
        try:
            async with run_test(self, **given) as pilot:
                yield pilot
        finally:
            idle.apps.discard(self)

    monkeypatch.setattr(App, "run_test", remembered)
    monkeypatch.setattr(textual.app, "wait_for_idle", idle.idle)
    monkeypatch.setattr(textual.pilot, "wait_for_idle", idle.idle)
    monkeypatch.setattr(Stylesheet, "_parse_rules", idle.parsed_once(parsed))
    monkeypatch.setattr(textual._callback, "_count_parameters", idle.counted_once(counted))
    monkeypatch.setattr(
        RuleSet, "__hash__", object.__hash__
    )  # the same without Python, of 300 rules for each widget


@pytest.fixture
def terminals() -> Generator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_(*words: str, **given: Any) -> Terminal:
        opened.append(Terminal(*words, **given))
        return opened[-1]

    yield open_
    for terminal in opened:
        with contextlib.suppress(OSError, pexpect.ExceptionPexpect):
            terminal.process.close(force=True)


@pytest.fixture
def painted() -> None:
    """For tests of what happens while frames are drawn."""


@pytest.fixture(autouse=True)
def _nothing_is_painted_for_nobody(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal Textual draws every frame and throws it away, which took half of the time of these tests.

    What a test looks at is drawn when it looks: ``text()`` and ``inside()`` render what is on the screen. A test that
    needs every frame asks for ``painted``.
    """
    if "painted" in request.fixturenames:
        return

    def render_update(self: Compositor, **_: object) -> None:
        self._dirty_regions.clear()  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(Compositor, "render_update", render_update)
