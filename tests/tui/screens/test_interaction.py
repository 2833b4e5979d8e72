"""What a server sends to be asked, on every screen that asks: shown, never obeyed."""

from __future__ import annotations

import asyncio
import time
import webbrowser
from typing import Any

import pytest

from mcp_tui.client.interactions import Inquiry, Refusal
from mcp_tui.config.settings import SamplingSettings, Settings
from mcp_tui.tui.screens.interaction import FormScreen, InteractionScreen, LinkScreen, Prompted, screen_for
from mcp_tui.tui.sources.questions import Question
from mcp_tui.view.text import words
from tests.tui.hostile import PACKED, assert_harmless
from tests.tui.screens.host import UNANSWERED, Host, look, showing

SIZES = pytest.mark.parametrize("size", [(80, 24), (40, 12)])


SAMPLING = Settings(sampling=SamplingSettings(mode="ask"))


def asked(
    method: str, params: dict[str, Any], *, server: str = "s", settings: Settings = SAMPLING
) -> InteractionScreen:
    over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    inquiry = Inquiry(method=method, params=params, server=server, at=time.monotonic(), over=over)
    question = Question(inquiry)
    question.about = words("6 tools/call x")
    return screen_for(question, settings)


def form(message: Any, schema: Any = None, **more: Any) -> InteractionScreen:
    return asked("elicitation/create", {"message": message, "requestedSchema": schema or {}}, **more)


def every(payload: str) -> list[InteractionScreen]:
    elicit, sample = "elicitation/create", "sampling/createMessage"
    message = {"role": payload, "content": {"type": "text", "text": payload}}
    return [
        asked(elicit, {"message": payload, "requestedSchema": {}}, server=payload),
        asked(elicit, {"message": payload, "mode": "url", "url": f"https://a.example/{payload}"}),
        asked(sample, {"systemPrompt": payload, "messages": [message], payload: payload}, server=payload),
        asked("roots/list", {payload: payload}, server=payload),
    ]


async def test_hostile_text_is_shown_and_not_obeyed() -> None:
    async with showing() as (app, pilot):
        for payload in ("".join(PACKED[:3]), PACKED[3]):
            for screen in every(payload):
                await app.open(screen)
                await look(pilot, screen)
                assert_harmless(app.shown.replace("\n", ""))
                await pilot.click("#dialog")
                assert app.answer is UNANSWERED
                assert app.is_running


BROKEN: list[dict[str, Any]] = [
    {},
    {"message": 5, "requestedSchema": 7},
    {"message": None, "requestedSchema": {"type": "array"}},
    {"message": {"a": 1}, "requestedSchema": {"properties": []}},
    {"mode": "url", "url": 5},
    {"mode": "url"},
    {"mode": "url", "url": "javascript:alert(1)"},
]


async def test_a_question_that_breaks_the_rules_can_be_declined() -> None:
    async with showing() as (app, pilot):
        for params in BROKEN:
            await app.open(asked("elicitation/create", params))
            await pilot.press("ctrl+d")
            assert app.answer == {"action": "decline"}
        for method, why in (
            ("sampling/createMessage", "User rejected sampling request"),
            ("roots/list", "User declined to share roots"),
        ):
            await app.open(asked(method, {}))
            await pilot.press("ctrl+d")
            assert app.answer == Refusal(why)


async def test_roots_are_what_stands_on_the_screen() -> None:
    async with showing(asked("roots/list", {}, settings=Settings(roots=["/srv/a", "file:///srv/b"]))) as (
        app,
        pilot,
    ):
        assert "asks for your roots" in app.shown
        assert "file:///srv/a" in app.shown
        await pilot.press("ctrl+s")  # a folder that is not there is told before it is sent
        assert app.answer is UNANSWERED
        assert "No such folder: file:///srv/a." in app.shown
        await pilot.press("ctrl+s")
        assert app.answer == {
            "roots": [{"uri": "file:///srv/a", "name": "a"}, {"uri": "file:///srv/b", "name": "b"}]
        }


async def test_a_url_that_does_not_open_offers_no_key_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[str] = []
    monkeypatch.setattr(webbrowser, "open", visited.append)
    screen = asked("elicitation/create", {"message": "m", "mode": "url", "url": "file:///etc/passwd"})
    async with showing(screen) as (app, pilot):
        assert isinstance(screen, LinkScreen)
        await look(pilot, screen)
        assert "Only http and https URLs can be opened." in app.shown
        assert "o Open" not in app.shown
        await pilot.press("o", "enter")
        assert visited == []
        assert app.answer is None  # enter is on Later


@SIZES
async def test_a_long_message_leaves_the_keys_in_sight(size: tuple[int, int]) -> None:
    screen = form(
        "\n".join(f"line {n} " for n in range(1, 500)),
        {"type": "object", "properties": {"a": {"type": "string"}}},
    )
    assert isinstance(screen, FormScreen)
    app = Host(screen)
    async with app.run_test(size=size) as pilot:
        await look(pilot, screen)
        assert "^s Send" in app.shown
        assert "pgdn Scroll" in app.shown
        assert "line 1 " in app.shown
        await pilot.press("pagedown")
        await pilot.pause()
        assert "line 1 " not in app.shown
        await pilot.press("x", "ctrl+s")
        assert app.answer == {"action": "accept", "content": {"a": "x"}}


async def test_values_of_a_sampling_request_wrap_in_their_own_column() -> None:
    message = {"role": "user", "content": {"type": "text", "text": "first\n" + "word " * 40}}
    screen = asked("sampling/createMessage", {"systemPrompt": "be brief " * 20, "messages": [message]})
    app = Host(screen)
    async with app.run_test(size=(80, 40)) as pilot:
        for width in (80, 60):
            await pilot.resize_terminal(width, 40)
            await look(pilot, screen)
            left = screen.query_one(Prompted).region.x
            values = [line[left:] for line in app.shown.splitlines() if "word" in line or "brief" in line]
            assert len(values) > 6
            assert {line[:17].strip() for line in values} == {"", "system prompt"}
            assert all(line[16] == " " != line[17] for line in values)


async def test_messages_of_any_shape_are_shown() -> None:
    text, odd = {"type": "text", "text": "hello"}, {"type": "video", "of": "a cat"}
    messages = [
        {"role": "assistant", "content": [text, odd]},
        {"role": "user"},
        "nonsense",
        {"role": 7, "content": 3},
    ]
    screen = asked(
        "sampling/createMessage", {"messages": messages, "modelPreferences": {"costPriority": 0.5}}
    )
    app = Host(screen)
    async with app.run_test(size=(80, 40)) as pilot:
        await look(pilot, screen)
        for said in ("assistant        hello", '"of": "a cat"', "cost priority    0.5"):
            assert said in app.shown


async def test_a_form_without_fields_says_how_to_accept() -> None:
    async with showing() as (app, pilot):
        await app.open(form("Go on?", {"type": "object", "properties": {}}))
        await pilot.pause()
        assert "There is nothing to fill in. ^s accepts." in app.shown
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.answer == {"action": "accept", "content": {}}


async def test_a_form_that_asks_for_a_password_warns_and_hides_it() -> None:
    schema = {"type": "object", "properties": {"word": {"type": "string", "title": "Password"}}}
    async with showing() as (app, pilot):
        await app.open(form("Sign in", schema))
        await pilot.press(*"hunter2")
        await pilot.pause()
        assert "asks for a secret: word" in " ".join(app.shown.split())
        assert "hunter" not in app.shown
        assert "•••••••" in app.shown
        await pilot.press("ctrl+a", "ctrl+c", "ctrl+t", "ctrl+a", "ctrl+c", "ctrl+y")
        await pilot.pause()
        assert '"word": •••••••••' in app.shown
        assert "hunter" not in app.shown + app.clipboard
        assert "redacted" in app.clipboard
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.answer == {"action": "accept", "content": {"word": "hunter2"}}
