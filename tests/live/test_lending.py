"""``call --session``: a request on the connection of a running session, from another process."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_tui.client.client import Client
from mcp_tui.live.lending import lend
from mcp_tui.live.serving import Doorkeeper
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.requests import Request
from tests.cli.running import MCP_TUI, Ran, run
from tests.control import Control
from tests.waiting import HANG, until


@asynccontextmanager
async def _lent(control: Control, kind: str = "workbench") -> AsyncGenerator[Client]:
    """A client that lends its connection as the workbench does."""
    client = Client(control.demo())
    door = Doorkeeper(client, kind, lends=lend)
    await client.connect()
    yield client
    door.close()
    await client.close()


async def _run(*words: str) -> Ran:
    return await asyncio.to_thread(run, *words, "--session", "demo")


def _calls(client: Client) -> list[Request]:
    return [row for row in client.book.order if not row.internal]


async def test_a_call_has_its_row_there_and_its_answer_here(control: Control):
    async with _lent(control) as client:
        ran = await _run("call", "echo", "text=hi", "--json")
        (row,) = _calls(client)
    assert [each["event"] for each in ran.events] == ["connected", "sent", "outcome"]
    outcome = ran.outcome
    assert (ran.status, outcome["id"], outcome["state"]) == (0, row.id, "completed")
    assert outcome["result"]["content"][0]["text"] == "hi"


async def test_a_cancel_there_ends_the_call_here(control: Control):
    async with _lent(control) as client, asyncio.TaskGroup() as tasks:
        calling = tasks.create_task(_run("call", "count", "seconds=9", "steps=2", "--linger", "0"))
        await control.came("waiting", tool="count", step=1)
        control.step("count")
        await until(lambda: _calls(client)[0].progress == 1)
        client.cancel(_calls(client)[0].id, Cause.USER, "enough")
        ran = await calling
    assert ran.status == 7
    assert "progress 1 of 2" in ran.err
    assert "cancel requested by user: enough" in ran.err


async def test_a_timeout_and_a_caller_that_is_killed_cancel_the_call_there(control: Control):
    async with _lent(control) as client:
        ran = await _run("call", "count", "seconds=9", "--timeout", "0.2", "--linger", "0")
        assert ran.status == 6
        words = [*MCP_TUI, "call", "count", "seconds=9", "--session", "demo"]
        with subprocess.Popen(words) as process:
            await until(lambda: len(_calls(client)) == 2)
            process.kill()
            process.wait(HANG)
        await until(lambda: not _calls(client)[1].open)
        assert [each.cause for each in _calls(client)] == [Cause.TIMEOUT, Cause.PARENT]


@pytest.mark.parametrize(
    ("kind", "words", "said"),
    [
        ("tap", (), "its connection belongs to its client"),
        ("call", (), "it is a command"),
        ("workbench", ("--cwd", "."), "--cwd does not go with --session"),
        ("workbench", ("--no-journal",), "--no-journal does not go with --session"),
        ("workbench", ("http://127.0.0.1:9/mcp",), "A URL does not go with --session"),
    ],
)
async def test_what_cannot_be_lent_is_refused_in_a_sentence(
    kind: str, words: tuple[str, ...], said: str, control: Control
):
    async with _lent(control, kind) as client:
        ran = await _run("call", "echo", "text=hi", *words)
        assert not _calls(client)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
