"""Everything that server-everything offers, reached from the workbench: keys in, answers on the screen."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from mcp_tui.client.settings import StdioTarget
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import State
from mcp_tui.tui.consents import Consents
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.call import CallScreen
from mcp_tui.tui.screens.interaction import FormScreen, InteractionScreen, LinkScreen
from mcp_tui.tui.screens.reason import ReasonScreen
from mcp_tui.tui.screens.typed import RootsScreen, SamplingScreen
from mcp_tui.tui.view.badges import badge
from tests.real.registry import SERVERS_BY_NAME
from tests.tui.driving import Driven, driving

EVERYTHING = SERVERS_BY_NAME["everything"]

pytestmark = [
    pytest.mark.npm,
    pytest.mark.real,
    pytest.mark.skipif(bool(EVERYTHING.missing()), reason=EVERYTHING.missing() or ""),
    pytest.mark.timeout(180),
]

ROOT = "/srv/project"

TOOLS: dict[str, tuple[dict[str, Json], str]] = {
    "echo": ({"message": "hello there"}, "Echo: hello there"),
    "get-annotated-message": ({"messageType": "success"}, "Operation completed successfully"),
    "get-env": ({}, '"PATH"'),
    "get-resource-links": ({"count": 2}, "demo://resource/dynamic/"),
    "get-resource-reference": ({"resourceType": "Text", "resourceId": 1}, "demo://resource/dynamic/text/1"),
    "get-structured-content": ({"location": "Chicago"}, "temperature"),
    "get-sum": ({"a": 2, "b": 3}, "The sum of 2 and 3 is 5."),
    "get-tiny-image": ({}, "image/png"),
    "gzip-file-as-resource": ({"name": "x.gz", "data": "data:text/plain,hello"}, "x.gz"),
    "trigger-long-running-operation": ({"duration": 0.5, "steps": 2}, "Duration: 0.5 seconds, Steps: 2"),
    "get-roots-list": ({}, ROOT),
}
"""Tools that ask nobody, with arguments, and what then stands on the screen."""


@asynccontextmanager
async def everything() -> AsyncGenerator[Driven]:
    """The workbench on server-everything, sampling switched on and its question for roots answered."""
    target = StdioTarget(command=EVERYTHING.stdio, env={"PATH": os.environ["PATH"]})
    consents = Consents(sampling="ask", roots=(ROOT,))
    async with driving(target, size=(110, 80), preferences=Preferences(consents=consents)) as driven:
        await driven.until(lambda: "press a to answer" in driven.text())
        await driven.press("a")
        await opened(driven, RootsScreen)
        assert f"file://{ROOT}" in driven.text()
        await driven.press("ctrl+s")
        await driven.until(lambda: driven.top is driven.bench and not driven.session.questions.waiting)
        yield driven


async def opened(driven: Driven, screen: type[InteractionScreen]) -> None:
    await driven.until(lambda: isinstance(driven.top, screen) and driven.top.is_mounted)


def call(driven: Driven, name: str, arguments: dict[str, Json]) -> RequestId:
    """Call a tool as the form does."""
    driven.bench.call("tools/call", {"name": name, "arguments": arguments})
    return driven.session.client.book.order[-1].id


async def sent(driven: Driven) -> RequestId:
    """The request that was just sent from a form or the palette."""
    await driven.until(lambda: driven.top is driven.bench)
    return next(row.id for row in reversed(driven.session.client.book.order) if not row.own)


def row_of(driven: Driven, id_: RequestId) -> str:
    """The line of a request in the table."""
    return next((line for line in driven.inside("requests").splitlines() if f" {id_} " in line), "")


async def see(driven: Driven, id_: RequestId, word: str, *needles: str) -> None:
    """Wait until the request's row says ``word``, and its detail all of these."""
    await driven.until(lambda: not driven.row(id_).open)
    driven.bench.go_to(id_)
    driven.bench.show_pane("detail")
    await driven.until(
        lambda: any(f" {id_} " in line and word in line for line in driven.inside("requests").splitlines())
    )
    for needle in needles:
        await driven.until(lambda needle=needle: needle in driven.inside("detail"))


async def palette(driven: Driven, command: str) -> None:
    await driven.press("ctrl+p")
    await driven.type(command)
    await driven.until(lambda: command in driven.text().partition("\n")[2])
    await driven.pilot.pause(0.5)
    await driven.press("enter")
    await driven.until(lambda: driven.top is driven.bench)


async def test_every_list_stands_in_the_catalogue() -> None:
    async with everything() as driven:
        await driven.press("2")
        shown = driven.inside("catalogue")
        for title in ("Tools 17", "Resources 7", "Templates 2", "Prompts 4"):
            assert title in shown
        for kind in driven.session.catalogue.entries.values():
            for entry in kind:
                assert entry.name[:20] in shown


async def test_every_tool_that_asks_nobody_is_called_and_its_answer_shown() -> None:
    async with everything() as driven:
        await driven.press("n")
        await driven.until(lambda: isinstance(driven.top, CallScreen))
        await driven.type("echo")
        await driven.press("enter")
        await driven.type("by hand")
        await driven.press("ctrl+s")
        await see(driven, await sent(driven), "completed", "Echo: by hand")
        for name, (arguments, needle) in TOOLS.items():
            await see(driven, call(driven, name, arguments), "completed", needle)


async def test_its_tiny_image_is_drawn() -> None:
    async with everything() as driven:
        await see(driven, call(driven, "get-tiny-image", {}), "completed", "20 × 20 pixels", "▀")


async def test_the_long_operation_shows_its_progress_and_is_cancelled() -> None:
    async with everything() as driven:
        id_ = driven.call("trigger-long-running-operation", duration=20, steps=40)
        await driven.until(lambda: driven.row(id_).progress_count >= 2)
        await driven.until(lambda: "%" in row_of(driven, id_))
        await driven.press("c")
        assert isinstance(driven.top, ReasonScreen)
        await driven.type("seen enough")
        await driven.press("enter")
        await driven.until(lambda: driven.row(id_).cancel_at is not None)
        assert badge(driven.row(id_)).word in row_of(driven, id_)
        await driven.press("3")
        await driven.until(lambda: "seen enough" in driven.inside("cancellations"))
        line = next(each for each in driven.inside("cancellations").splitlines() if "seen enough" in each)
        assert "user" in line


async def test_every_resource_is_read_and_a_template_filled_in() -> None:
    async with everything() as driven:
        for entry in driven.session.catalogue.entries["resources"]:
            await driven.bench.call_entry(entry)
            id_ = await sent(driven)
            await see(driven, id_, "completed", str(entry.raw["uri"]))
        text = driven.session.catalogue.entries["templates"][0]
        await driven.bench.call_entry(text)
        await driven.until(lambda: isinstance(driven.top, CallScreen))
        await driven.type("7")
        await driven.until(lambda: "demo://resource/dynamic/text/7" in driven.text())
        await driven.press("ctrl+s")
        id_ = await sent(driven)
        await see(driven, id_, "completed", "Resource 7")


async def test_every_prompt_is_got_and_an_argument_completed() -> None:
    async with everything() as driven:
        simple, plain, completable, resource = driven.session.catalogue.entries["prompts"]
        await driven.bench.call_entry(simple)
        await see(driven, await sent(driven), "completed", "This is a simple prompt")
        await driven.bench.call_entry(plain)
        await driven.until(lambda: isinstance(driven.top, CallScreen))
        await driven.type("Oslo")
        await driven.press("ctrl+s")
        await see(driven, await sent(driven), "completed", "Oslo")
        await driven.bench.call_entry(completable)
        await driven.until(lambda: isinstance(driven.top, CallScreen))
        await driven.type("Eng")
        await driven.until(lambda: "Engineering" in driven.text())
        await driven.press("down", "enter")
        await driven.type("A")
        await driven.until(lambda: "Alice" in driven.text())
        await driven.press("down", "tab", "ctrl+s")
        await see(driven, await sent(driven), "completed", "Alice", "Engineering")
        await driven.bench.call_entry(resource)
        await driven.until(lambda: isinstance(driven.top, CallScreen))
        await driven.type("Text")
        await driven.press("tab")
        await driven.type("1")
        await driven.press("ctrl+s")
        await see(driven, await sent(driven), "completed", "Resource 1: This is")


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
        id_ = driven.call("trigger-elicitation-request")
        await opened(driven, FormScreen)
        assert f"for {id_} " in driven.text()
        await driven.type("Ada")
        await driven.press("ctrl+s")
        await see(driven, id_, "completed", "User provided the requested information", "Ada")
        id_ = driven.call("trigger-elicitation-request")
        await opened(driven, FormScreen)
        await driven.press("ctrl+d")
        await see(driven, id_, "completed", "User declined")

        id_ = driven.call("trigger-url-elicitation", url="https://example.com/sign-in")
        await opened(driven, LinkScreen)
        assert "https://example.com/sign-in" in driven.text()
        assert visited == []
        await driven.press("o")
        await see(driven, id_, "completed", "accept")
        assert visited == ["https://example.com/sign-in"]

        id_ = driven.call("trigger-sampling-request", prompt="What is the answer?")
        await opened(driven, SamplingScreen)
        assert "What is the answer?" in driven.text()
        await driven.type("forty-two")
        await driven.press("ctrl+s")
        await see(driven, id_, "completed", "forty-two")


async def test_a_resource_is_subscribed_to_and_its_update_seen() -> None:
    async with everything() as driven:
        uri = str(driven.session.catalogue.entries["resources"][0].raw["uri"])
        await palette(driven, f"Subscribe to {uri}")
        await driven.until(lambda: "subscribed to" in driven.text())
        await see(driven, await sent(driven), "completed")
        await see(driven, driven.call("toggle-subscriber-updates"), "completed", "updates")
        await driven.press("4")
        await driven.until(lambda: "resources/updated" in driven.inside("log"))
        assert any(uri in line for line in driven.inside("log").splitlines() if "updated" in line)
        await palette(driven, f"Unsubscribe from {uri}")
        await see(driven, await sent(driven), "completed")


async def test_the_log_level_is_set_and_a_log_line_seen() -> None:
    async with everything() as driven:
        await palette(driven, "Log level: debug")
        await see(driven, await sent(driven), "completed")
        await see(driven, driven.call("toggle-simulated-logging"), "completed", "logging")
        await driven.press("4")
        await driven.until(lambda: "-level message" in driven.inside("log"))


async def test_a_task_runs_to_its_end_and_another_is_cancelled() -> None:
    async with everything() as driven:
        id_ = driven.call("simulate-research-query", topic="tides")
        await driven.until(lambda: driven.row(id_).state is State.TASK)
        await driven.until(lambda: "task" in row_of(driven, id_))
        await see(driven, id_, "completed", "tides")

        id_ = driven.call("simulate-research-query", topic="moons")
        await driven.until(lambda: driven.row(id_).state is State.TASK)
        await driven.press("C")
        await driven.until(lambda: driven.row(id_).state is State.CANCELLED)
        await see(driven, id_, "cancelled", "tasks/cancel")


async def test_a_task_that_asks_is_answered() -> None:
    async with everything() as driven:
        id_ = driven.call("simulate-research-query", topic="python", ambiguous=True)
        await opened(driven, FormScreen)
        assert f"for {id_} " in driven.text()
        await driven.type("snake")
        await driven.press("ctrl+s")
        await see(driven, id_, "completed", "python")
