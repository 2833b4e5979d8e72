"""Everything that server-everything offers, reached from the workbench: keys in, answers on the screen."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config.settings import SamplingSettings, Settings
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import State
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.call_form import CallScreen
from mcp_tui.tui.screens.interaction import (
    FormScreen,
    InteractionScreen,
    LinkScreen,
    RootsScreen,
    SamplingScreen,
)
from tests.real.registry import SERVERS_BY_NAME
from tests.tui.driving import Driven, driving

EVERYTHING = SERVERS_BY_NAME["everything"]

pytestmark = [
    pytest.mark.npm,
    pytest.mark.real,
    pytest.mark.skipif(bool(EVERYTHING.missing()), reason=EVERYTHING.missing() or ""),
    pytest.mark.timeout(600),
]

ROOT = "/usr"

TOOLS: dict[str, tuple[tuple[str | None, ...], str]] = {
    "echo": (("hello there",), "Echo: hello there"),
    "get-annotated-message": (("success", None), "Operation completed successfully"),
    "get-env": ((), '"PATH"'),
    "get-resource-links": (("2",), "demo://resource/dynamic/"),
    "get-resource-reference": (("Blob", "2"), "demo://resource/dynamic/blob/2"),
    "get-structured-content": (("Chicago",), "temperature"),
    "get-sum": (("2", "3"), "The sum of 2 and 3 is 5."),
    "get-tiny-image": ((), "image/png"),
    "gzip-file-as-resource": (("x.gz", "data:text/plain,hello", None), "x.gz"),
    "trigger-long-running-operation": (("0.5", "2"), "Duration: 0.5 seconds, Steps: 2"),
    "get-roots-list": ((), ROOT),
}
"""Tools that ask nobody; what is typed into each of their fields, ``None`` for nothing; and what the screen shows then."""


@asynccontextmanager
async def everything() -> AsyncGenerator[Driven]:
    """The workbench on server-everything, sampling switched on and its question for roots answered."""
    target = StdioTarget(command=EVERYTHING.stdio, env={"PATH": os.environ["PATH"]})
    settings = Settings(sampling=SamplingSettings(mode="ask"), roots=[ROOT])
    async with driving(target, size=(99, 80), preferences=Preferences(settings=settings)) as driven:
        await driven.until(lambda: "Press a to answer" in driven.text())
        await driven.press("a")
        await opened(driven, RootsScreen, f"file://{ROOT}")
        await driven.press("ctrl+s")
        await driven.until(lambda: driven.top is driven.bench and not driven.session.questions)
        yield driven


async def opened(driven: Driven, screen: type[InteractionScreen], shown: str = "") -> None:
    """Wait until a question is open, and what it asks is on the screen."""
    await driven.until(
        lambda: isinstance(driven.top, screen) and driven.top.is_mounted and shown in driven.text()
    )


async def sent(driven: Driven, before: int) -> RequestId:
    """The request that was just sent: the first that the person made since there were ``before`` rows."""

    def made() -> list[RequestId]:
        return [row.id for row in driven.session.client.requests.order[before:] if not row.internal]

    await driven.until(made)
    return made()[0]


def rows(driven: Driven) -> int:
    return len(driven.session.client.requests.order)


async def fill(driven: Driven, *fields: str | None) -> None:
    """Type into the fields of a form, one after the other, over what stands there; a space makes a field true."""
    for number, text in enumerate(fields):
        if number:
            await driven.press("tab")
        if text is not None:
            await driven.press("ctrl+o")
            await driven.press("space") if text == " " else await driven.type(text)


async def call(driven: Driven, name: str, *fields: str | None) -> RequestId:
    """Find a tool by typing, fill in its form, and send it."""
    before = rows(driven)
    await driven.press("n")
    await driven.until(lambda: isinstance(driven.top, CallScreen))
    await driven.type(name)
    await driven.until(lambda: " of 17" in driven.text())
    if fields:
        await driven.press("enter")
        await driven.until(lambda: f"Call {name}" in driven.text())
        await fill(driven, *fields)
    await driven.press("ctrl+s")
    id_ = await sent(driven, before)
    assert driven.row(id_).name == name
    return id_


async def pick(driven: Driven, name: str) -> None:
    """Go to an entry of the catalogue by the arrows, and press enter there."""
    await driven.press("2", "home")
    for _ in range(60):
        if any("›" in line and name in line for line in driven.inside("catalogue").splitlines()):
            break
        await driven.press("down")
    else:
        raise AssertionError(f"the cursor never comes to {name}:\n{driven.inside('catalogue')}")
    await driven.press("enter")


async def chosen(driven: Driven, name: str, *fields: str | None) -> RequestId:
    """What is sent for an entry of the catalogue, its form filled in where it has one."""
    before = rows(driven)
    await pick(driven, name)
    if fields:
        await driven.until(lambda: isinstance(driven.top, CallScreen))
        await fill(driven, *fields)
        await driven.press("ctrl+s")
    return await sent(driven, before)


def row_of(driven: Driven, id_: RequestId) -> str:
    """The line of a request in the table."""
    return next((line for line in driven.inside("requests").splitlines() if f" {id_} " in line), "")


async def see(driven: Driven, id_: RequestId, word: str, *needles: str) -> None:
    """Wait until the request's row says ``word``, and its detail all of these."""
    await driven.until(lambda: not driven.row(id_).open)
    await driven.press("1")
    await driven.until(
        lambda: any(f" {id_} " in line and word in line for line in driven.inside("requests").splitlines())
    )
    for needle in needles:
        await driven.until(lambda needle=needle: needle in driven.inside("detail"))


async def palette(driven: Driven, command: str) -> RequestId:
    """Find a command by its name, and give it."""
    before = rows(driven)
    await driven.press("ctrl+p")
    await driven.type(command)
    await driven.until(lambda: driven.text().count(command) > 1)  # where it is typed, and where it is found
    await driven.press("enter")
    return await sent(driven, before)


async def test_every_tool_that_asks_nobody_is_called_and_its_answer_shown() -> None:
    async with everything() as driven:
        for name, (fields, needle) in TOOLS.items():
            await see(driven, await call(driven, name, *fields), "completed", needle)


async def test_every_resource_is_read_and_a_template_filled_in() -> None:
    async with everything() as driven:
        entries = driven.session.catalogue.entries["resources"]
        for entry in entries:
            id_ = await chosen(driven, entry.name)
            await see(driven, id_, "completed", "Everything Server")
            assert str(entry.raw["uri"])[:16] in row_of(driven, id_)
        by_name = await palette(driven, f"Read {entries[-1].name}")
        await see(driven, by_name, "completed", "Everything Server")
        await see(driven, await chosen(driven, "Dynamic Text", "7"), "completed", "Resource 7")
        blob = await chosen(driven, "Dynamic Blob", "3")
        await see(driven, blob, "completed", "demo://resource/dynamic/blob/3")


async def test_every_prompt_is_got_and_an_argument_completed() -> None:
    async with everything() as driven:
        await see(driven, await chosen(driven, "simple-prompt"), "completed", "This is a simple prompt")
        await see(driven, await chosen(driven, "args-prompt", "Oslo"), "completed", "Oslo")
        before = rows(driven)
        await pick(driven, "completable-prompt")
        await driven.until(lambda: isinstance(driven.top, CallScreen))
        await driven.type("Eng")
        await driven.until(lambda: "Engineering" in driven.text())
        await driven.press("down", "enter")
        await driven.type("A")
        await driven.until(lambda: "Alice" in driven.text())
        await driven.press("down", "tab", "ctrl+s")
        await driven.until(lambda: driven.top is driven.bench)
        id_ = next(
            row.id for row in driven.session.client.requests.order[before:] if row.method == "prompts/get"
        )
        await see(driven, id_, "completed", "Alice", "Engineering")
        resource = await chosen(driven, "resource-prompt", "Text", "1")
        await see(driven, resource, "completed", "Resource 1: This is")


# The JSON schema of 2025-11-25 has whole numbers alone in an answer, and this server's form the default 3.14, as schema.ts
# permits.
@pytest.mark.sends_anything
async def test_a_form_a_url_and_a_sampling_request_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[str] = []

    def visit(url: str) -> bool:
        visited.append(url)
        return True

    monkeypatch.setattr(webbrowser, "get", lambda: SimpleNamespace(name="firefox", open=visit))
    async with everything() as driven:
        id_ = await call(driven, "trigger-elicitation-request")
        await opened(driven, FormScreen, f"for {id_} ")
        await driven.type("Ada")
        await driven.press("ctrl+s")
        await see(driven, id_, "completed", "User provided the requested information", "Ada")
        id_ = await call(driven, "trigger-elicitation-request")
        await opened(driven, FormScreen)
        await driven.press("ctrl+d")
        await see(driven, id_, "completed", "User declined")

        id_ = await call(driven, "trigger-url-elicitation", "https://example.com/sign-in")
        await opened(driven, LinkScreen, "https://example.com/sign-in")
        assert visited == []
        await driven.press("o")
        await see(driven, id_, "completed", "accept")
        assert visited == ["https://example.com/sign-in"]

        id_ = await call(driven, "trigger-sampling-request", "What is the answer?")
        await opened(driven, SamplingScreen, "What is the")
        await driven.type("forty-two")
        await driven.press("ctrl+s")
        await see(driven, id_, "completed", "forty-two")


async def test_a_resource_is_subscribed_to_and_its_update_seen() -> None:
    async with everything() as driven:
        uri = str(driven.session.catalogue.entries["resources"][0].raw["uri"])
        await see(driven, await palette(driven, f"Subscribe to {uri}"), "completed")
        await see(driven, await call(driven, "toggle-subscriber-updates"), "completed", "updates")
        await driven.press("4")
        await driven.until(lambda: "resources/updated" in driven.inside("log"))
        assert uri[:24] in driven.inside("log")
        await see(driven, await palette(driven, f"Unsubscribe from {uri}"), "completed")


async def test_a_task_runs_to_its_end_and_another_is_cancelled() -> None:
    async with everything() as driven:
        id_ = await call(driven, "simulate-research-query", "tides")
        await driven.until(lambda: driven.row(id_).state is State.TASK)
        await driven.until(lambda: "task" in row_of(driven, id_))
        await see(driven, id_, "completed", "tides")

        id_ = await call(driven, "simulate-research-query", "moons")
        await driven.until(lambda: driven.row(id_).state is State.TASK)
        await driven.press("C")
        await driven.until(lambda: driven.row(id_).state is State.CANCELLED)
        await see(driven, id_, "cancelled", "tasks/cancel")


async def test_a_task_that_asks_is_answered() -> None:
    async with everything() as driven:
        id_ = await call(driven, "simulate-research-query", "python", " ")
        await opened(driven, FormScreen, f"for {id_} ")
        await driven.type("snake")
        await driven.press("ctrl+s")
        await see(driven, id_, "completed", "python")
