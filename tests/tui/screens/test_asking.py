"""What a server asks, from its question on the screen to the answer that it hears, in both eras."""

from __future__ import annotations

import json
import sys
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config.settings import DEFAULTS, SamplingSettings, Settings
from mcp_tui.protocol.requests import State
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.interaction import (
    FormScreen,
    InteractionScreen,
    LinkScreen,
    SamplingScreen,
)
from mcp_tui.tui.widgets.bars import KeyBar
from mcp_tui.view.text import SafeText
from tests.client.connected import received
from tests.tui.driving import Driven, driving

SERVER = Path(__file__).parents[2] / "servers" / "asking_server.py"
OLD, NEW = "2025-11-25", "2026-07-28"

eras = pytest.mark.parametrize("revision", [pytest.param(OLD, marks=pytest.mark.slow), NEW])
"""What differs between them is tested without a screen, in ``client/test_interactions.py``."""


SAMPLING = Settings(sampling=SamplingSettings(mode="ask"))


@asynccontextmanager
async def asking(
    revision: str,
    heard: Path,
    *,
    settings: Settings = DEFAULTS,
    size: tuple[int, int] = (80, 24),
    ascii_only: bool = False,
) -> AsyncGenerator[Driven]:
    """The workbench on the server that asks; ``heard`` gets what the server hears."""
    target = StdioTarget(command=(sys.executable, "-S", str(SERVER), revision), env={"HEARD": str(heard)})
    preferences = Preferences(settings=settings)
    async with driving(
        target, link=None, size=size, ascii_only=ascii_only, preferences=preferences
    ) as driven:
        await driven.until(lambda: driven.app.session and "tools" in driven.session.catalogue.entries)
        yield driven


async def opened(driven: Driven, screen: type[InteractionScreen]) -> None:
    await driven.until(lambda: isinstance(driven.top, screen) and driven.top.is_mounted)


def answers(revision: str, heard: Path) -> list[Any]:
    """What the server got for its questions: results and errors, or input responses."""
    said = received(heard)
    if revision == OLD:
        return [each.get("result", each.get("error")) for each in said if "method" not in each]
    given = [each["params"].get("inputResponses") for each in said if each["method"] == "tools/call"]
    return [value for responses in given if responses for value in responses.values()]


def methods(heard: Path) -> list[str]:
    return [each["method"] for each in received(heard) if "method" in each]


# -- a form ----------------------------------------------------------------------------------------------------


@eras
async def test_c68_a_form_is_put_aside_while_the_clocks_stand_opened_again_and_sent(
    revision: str, tmp_path: Path
) -> None:
    async with asking(revision, tmp_path / "heard") as driven:
        id_ = driven.call("ask")
        await opened(driven, FormScreen)
        shown = driven.text()
        assert "asking asks for input" in shown
        assert f"for {id_} tools/call ask" in shown
        assert "Really ␛[31mdelete␛[0m?" in shown
        await driven.press("tab")
        await driven.type("old")
        await driven.press("escape")
        assert driven.top is driven.bench
        assert "Postponed – press a to answer" in driven.text()
        await driven.until(lambda: "? 1 to answer" in driven.inside("server"))
        line = driven.line(" ask ")
        assert driven.row(id_).paused_at is not None
        assert "wait" in line
        assert ("waiting" in line) is (revision == NEW)
        assert driven.row(id_).deadlines() == (None, None)
        assert answers(revision, tmp_path / "heard") == []
        assert driven.row(id_).open
        await driven.press("a")
        await opened(driven, FormScreen)
        await driven.press("ctrl+s")
        await driven.until(lambda: driven.row(id_).state is State.COMPLETED)
        sent = {"action": "accept", "content": {"sure": True, "why": "old"}}
        assert answers(revision, tmp_path / "heard") == [sent]


@eras
async def test_no_and_no_decision_are_two_answers(
    revision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    show_message = KeyBar.show_message

    def heard(bar: KeyBar, text: SafeText, tone: str = "warning", **more: Any) -> None:
        told.append(text)
        show_message(bar, text, tone, **more)

    monkeypatch.setattr(KeyBar, "show_message", heard)
    async with asking(revision, tmp_path / "heard") as driven:
        for key in ("ctrl+x", "ctrl+d"):
            id_ = driven.call("ask")
            await opened(driven, FormScreen)
            await driven.press(key)
            assert driven.top is driven.bench
            if key == "ctrl+x":
                assert told == [f"Question dismissed; request {id_} still running (c cancels)"]
            await driven.until(lambda id_=id_: driven.row(id_).state is State.COMPLETED)
            await driven.until(lambda: "still running" not in driven.text())
        given = answers(revision, tmp_path / "heard")
        assert given == [{"action": "cancel"}, {"action": "decline"}]
        assert "notifications/cancelled" not in methods(tmp_path / "heard")


@eras
async def test_several_questions_come_one_after_the_other_and_are_counted(
    revision: str, tmp_path: Path
) -> None:
    async with asking(revision, tmp_path / "heard", settings=SAMPLING) as driven:
        id_ = driven.call("both")
        await opened(driven, InteractionScreen)
        await driven.until(lambda: "· 1 more" in driven.text())
        first, asked = driven.top, driven.session.questions[0]
        await driven.press("escape")  # the other opens by itself, and behind it this one waits
        await driven.until(lambda: driven.session.questions[-1] is asked)
        await driven.until(lambda: isinstance(driven.top, InteractionScreen) and driven.top is not first)
        assert {type(first), type(driven.top)} == {FormScreen, SamplingScreen}
        assert "· 1 more" in driven.text()
        await answered(driven)
        await driven.press("a")
        await driven.until(lambda: isinstance(driven.top, type(first)))
        assert "more" not in driven.text()
        await answered(driven)
        await driven.until(lambda: driven.row(id_).state is State.COMPLETED)
        given = answers(revision, tmp_path / "heard")
        assert len(given) == 2
        assert {"type": "text", "text": "short"} in [each.get("content") for each in given]


async def answered(driven: Driven) -> None:
    """Answer the question on top, in the place of a model if it is for one."""
    if isinstance(driven.top, SamplingScreen):
        await driven.type("short")
    await driven.press("ctrl+s")


async def test_c50_a_question_that_is_taken_back_closes_for_answers_and_keeps_the_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(OLD, tmp_path / "heard") as driven:
        id_ = driven.call("withdraw")
        await opened(driven, FormScreen)
        await driven.press("tab")
        await driven.type("mine")
        driven.session.client.call("ping")
        await driven.until(
            lambda: "Withdrawn by the server: changed my mind. No answer was sent." in driven.text()
        )
        assert "^y Copy answer" in driven.text()
        assert "^d Decline" not in driven.text()
        assert isinstance(driven.top, FormScreen)
        waited, now = driven.top.heading(), driven.top.now()
        monkeypatch.setattr(driven.top, "now", lambda: now + 60)
        assert driven.top.heading() == waited  # its clock stands
        await driven.press("ctrl+s", "ctrl+d", "ctrl+x")
        assert isinstance(driven.top, FormScreen)
        await driven.press("ctrl+y")
        assert json.loads(driven.app.clipboard)["why"] == "mine"
        await driven.press("escape")
        assert driven.top is driven.bench
        await driven.until(lambda: driven.row(id_).state is State.COMPLETED)
        assert answers(OLD, tmp_path / "heard") == []


# -- the request that waits ------------------------------------------------------------------------------------


@eras
@pytest.mark.parametrize("tool", ["ask", "nosy"], ids=["call", "task"])
async def test_c62_c65_c68_c87_a_question_stops_the_clock_and_ends_with_the_cancel_of_its_request(
    tool: str, revision: str, tmp_path: Path
) -> None:
    async with asking(revision, tmp_path / "heard") as driven:
        id_ = driven.call(tool)
        await opened(driven, FormScreen)
        await driven.press("escape")
        line = driven.line(f" {tool} ")
        assert ("task" in line) is (tool == "nosy")
        assert "paused" in line
        await driven.press("a")
        await opened(driven, FormScreen)
        driven.session.client.cancel(id_, reason="no more")
        await driven.until(lambda: "was cancelled. No answer was sent." in driven.text())
        await driven.press("ctrl+s", "escape")
        assert driven.top is driven.bench
        given = [{"action": "cancel"}] if revision == OLD else []
        await driven.until(lambda: answers(revision, tmp_path / "heard") == given)
        await driven.until(lambda: tool == "ask" or driven.row(id_).state is State.CANCELLED)
        await driven.press("C", "3")
        assert ("abandoned: nothing" in driven.inside("cancellations")) is (tool == "ask" and revision == NEW)
        await driven.session.client.request("tools/list")
        assert answers(revision, tmp_path / "heard") == given
        said = methods(tmp_path / "heard")
        assert said.count("notifications/cancelled") == (tool == "ask" and revision == OLD)
        assert said.count("tasks/cancel") == (tool == "nosy")
        assert "tasks/update" not in said


async def test_quitting_under_a_question_ends_the_app(tmp_path: Path) -> None:
    async with asking(NEW, tmp_path / "heard") as driven:
        driven.call("ask")
        await opened(driven, FormScreen)
        await driven.press("ctrl+q", "ctrl+q")
        await driven.until(lambda: driven.left)


# -- a URL -----------------------------------------------------------------------------------------------------


@eras
async def test_a_url_is_opened_by_its_key_and_by_nothing_else(
    revision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited: list[str] = []

    def visit(url: str) -> bool:
        visited.append(url)
        return True

    monkeypatch.setattr(webbrowser, "get", lambda: SimpleNamespace(name="firefox", open=visit))
    async with asking(revision, tmp_path / "heard") as driven:
        id_ = driven.call("link")
        await opened(driven, LinkScreen)
        assert "https://example.com/in?a=1" in driven.text()
        await driven.press("y")
        assert driven.app.clipboard == "https://example.com/in?a=1"
        await driven.press("escape", "a")
        await opened(driven, LinkScreen)
        assert visited == []
        await driven.press("o")
        await driven.until(lambda: driven.row(id_).state is State.COMPLETED)
        assert visited == ["https://example.com/in?a=1"]
        assert answers(revision, tmp_path / "heard") == [{"action": "accept"}]


async def test_urls_that_an_error_names_are_asked_for_and_the_call_is_sent_again(tmp_path: Path) -> None:
    async with asking(OLD, tmp_path / "heard") as driven:
        first = driven.session.call("tools/call", {"name": "locked", "arguments": {"a": 1}})
        await opened(driven, LinkScreen)
        assert driven.row(first).state is State.FAILED
        assert f"for {first} tools/call locked" in driven.text()
        assert "https://example.com/1" in driven.text()
        await driven.press("ctrl+s")
        await driven.until(lambda: "https://example.com/2" in driven.text())
        assert methods(tmp_path / "heard").count("tools/call") == 1
        await driven.press("ctrl+s")
        await driven.until(lambda: driven.session.requests.order[-1].state is State.COMPLETED)
        last = driven.session.requests.order[-1]
        assert last.id != first
        sent = [
            each["params"]["arguments"]
            for each in received(tmp_path / "heard")
            if each.get("method") == "tools/call"
        ]
        assert sent == [{"a": 1}, {"a": 1}]
        driven.session.call("tools/call", {"name": "locked", "arguments": {}})
        await opened(driven, LinkScreen)
        await driven.press("ctrl+d")
        await driven.until(lambda: driven.top is driven.bench)
        assert not driven.session.questions
        assert methods(tmp_path / "heard").count("tools/call") == 3


@pytest.mark.parametrize("browser", ["firefox", "w3m"])
async def test_where_no_browser_starts_nothing_is_accepted(
    browser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def visit(url: str) -> bool:
        pytest.fail(f"{browser} would take the terminal over for {url}")

    def fail(_: str) -> bool:
        return False

    made = SimpleNamespace(name=browser, open=fail if browser == "firefox" else visit)
    monkeypatch.setattr(webbrowser, "get", lambda: made)
    async with asking(NEW, tmp_path / "heard") as driven:
        id_ = driven.call("link")
        await opened(driven, LinkScreen)
        await driven.press("o")
        await driven.until(lambda: "No browser found" in driven.text())
        assert driven.row(id_).open
        await driven.press("ctrl+x")
        await driven.until(lambda: driven.row(id_).state is State.COMPLETED)
        assert answers(NEW, tmp_path / "heard") == [{"action": "cancel"}]


# -- sampling and roots ----------------------------------------------------------------------------------------


async def test_a_command_drafts_and_a_person_sends(tmp_path: Path) -> None:
    code = "import json,sys; print(json.load(sys.stdin)['systemPrompt'].upper())"
    sampling = SamplingSettings(mode="command", command=[sys.executable, "-S", "-c", code])
    async with asking(NEW, tmp_path / "heard", settings=Settings(sampling=sampling)) as driven:
        id_ = driven.call("both")
        await opened(driven, FormScreen)
        await driven.press("ctrl+s")
        await opened(driven, SamplingScreen)
        await driven.until(lambda: "BE BRIEF" in driven.text())
        assert "Review it before sending" in driven.text()
        assert answers(NEW, tmp_path / "heard") == []
        await driven.type("> ")
        await driven.press("ctrl+s")
        await driven.until(lambda: driven.row(id_).state is State.COMPLETED)
        texts = [each["content"]["text"] for each in answers(NEW, tmp_path / "heard") if "role" in each]
        assert len(texts) == 1
        assert "BE BRIEF" in texts[0]
        assert "> " in texts[0]
