"""The demo server's question and its task in the workbench, by keys, over both transports in both eras."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_tui.client.settings import ClientSettings, HttpTarget, StdioTarget
from mcp_tui.protocol.requests import Request, State
from mcp_tui.tui.screens.call import CallScreen
from mcp_tui.tui.screens.interaction import FormScreen
from tests.cli.running import demo_over_http, logged
from tests.tui.driving import Driven, driving

pytestmark = pytest.mark.slow  # tasks are polled in real time

OLD, NEW = "2025-11-25", "2026-07-28"
SIZE = 110, 60

eras = pytest.mark.parametrize("revision", [OLD, NEW])
wires = pytest.mark.parametrize("transport", ["stdio", "http"])


@asynccontextmanager
async def demo(transport: str, revision: str, log: Path) -> AsyncGenerator[Driven]:
    settings = ClientSettings(protocol=revision)
    if transport == "http":
        async with (
            demo_over_http(log) as url,
            driving(HttpTarget(url=url), settings=settings, size=SIZE) as driven,
        ):
            yield driven
        return
    target = StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo", "--log", str(log)))
    async with driving(target, settings=settings, size=SIZE) as driven:
        yield driven


async def begin(driven: Driven, name: str, *, palette: bool = False, fields: tuple[str, ...] = ()) -> Request:
    """Call a tool by keys, from its list or as a task by the palette."""
    before = len(driven.session.client.book.order)
    if palette:
        await driven.press("ctrl+p")
        await driven.type(f"Call as a task {name}")
        await driven.until(lambda: driven.text().count(f"Call as a task {name}") > 1)
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.top, CallScreen))
    else:
        await driven.press("n")
        await driven.type(name)
        await driven.press("enter")
    await driven.until(lambda: f"Call {name}" in driven.text())
    for number, text in enumerate(fields):
        await driven.press(*(["tab"] if number else []), "ctrl+o")
        await driven.type(text)
    await driven.press("ctrl+s")
    order = driven.session.client.book.order
    await driven.until(lambda: any(not row.internal for row in order[before:]))
    return next(row for row in order[before:] if not row.internal)


async def see(driven: Driven, row: Request, *needles: str) -> None:
    """Wait until the request is over and its detail says all of these."""
    await driven.until(lambda: not row.open)
    await driven.press("1", "z")
    for needle in needles:
        await driven.until(lambda needle=needle: needle in driven.inside("detail"))


@eras
@wires
async def test_the_form_is_filled_in_and_told(transport: str, revision: str, tmp_path: Path) -> None:
    async with demo(transport, revision, tmp_path / "log") as driven:
        row = await begin(driven, "ask")
        await driven.until(lambda: isinstance(driven.top, FormScreen) and driven.top.is_mounted)
        assert "A table for tonight: for whom, and where?" in driven.text()
        await driven.type("Ada")
        await driven.press("tab")
        await driven.type("gar")
        await driven.press("tab", "space", "ctrl+s")
        await see(driven, row, "You accepted", "garden", "true")


@eras
@pytest.mark.parametrize(("key", "told"), [("ctrl+d", "You declined."), ("ctrl+x", "without an answer")])
async def test_a_no_is_told_too(revision: str, key: str, told: str, tmp_path: Path) -> None:
    async with demo("stdio", revision, tmp_path / "log") as driven:
        row = await begin(driven, "ask")
        await driven.until(lambda: isinstance(driven.top, FormScreen) and driven.top.is_mounted)
        await driven.press(key)
        await see(driven, row, told)


@wires
async def test_a_cancel_of_the_call_has_the_server_take_its_question_back(
    transport: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with demo(transport, OLD, log) as driven:
        row = await begin(driven, "ask")
        await driven.until(lambda: isinstance(driven.top, FormScreen) and driven.top.is_mounted)
        await driven.press("escape", "C")
        await driven.until(lambda: row.state in (State.CANCEL_REQUESTED, State.CANCELLED))
        await driven.until(lambda: any(line.get("kind") == "cancelled" for line in logged(log)))
        await driven.press("4", "z")
        # what is owed for the question leaves behind the cancel: before that came, or not at all
        said = ("takes back 1: the call of ask was cancelled", "sent; withdrawn meanwhile")
        await driven.until(lambda: any(each in driven.inside("log") for each in said))
        assert not driven.session.questions.waiting


@eras
@wires
async def test_a_task_says_what_it_is_at_and_ends(transport: str, revision: str, tmp_path: Path) -> None:
    async with demo(transport, revision, tmp_path / "log") as driven:
        row = await begin(driven, "research", palette=revision == OLD, fields=("moons", "1"))
        await driven.until(lambda: row.state is State.TASK)
        assert "▸ task" in driven.inside("requests")
        await see(driven, row, "Of four sources on moons three agree")
        assert row.state is State.COMPLETED


@eras
@wires
async def test_a_task_is_cancelled(transport: str, revision: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with demo(transport, revision, log) as driven:
        row = await begin(driven, "research", palette=revision == OLD, fields=("moons", "60"))
        await driven.until(lambda: row.state is State.TASK)
        await driven.press("C")
        await see(driven, row, "tasks/cancel", "the server says that the task is cancelled")
        assert row.state is State.CANCELLED
        (seen,) = [line for line in logged(log) if line["event"] == "cancelled"]
        assert seen["how"] == "tasks_cancel"


@eras
async def test_a_task_that_is_kept_for_less_time_than_it_takes_expires(revision: str, tmp_path: Path) -> None:
    async with demo("stdio", revision, tmp_path / "log") as driven:
        row = await begin(driven, "research", palette=revision == OLD, fields=("moons", "60", "1"))
        await see(driven, row, "expired")
        assert row.state is State.FAILED
