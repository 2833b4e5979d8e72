"""``call --session``: a request on the connection of a running session, from another process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final, cast

import pytest

from mcp_tui.client.catalogue import ListFailed, every
from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import ClientSettings, StdioTarget
from mcp_tui.journal.records import encode_event
from mcp_tui.live.control import Summary
from mcp_tui.live.running import Running
from mcp_tui.live.serving import ClientControlSocket
from mcp_tui.live.shared_connection import SharedClient, share
from mcp_tui.live.sockets import ask, sockets
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request, State
from mcp_tui.transport.base import TransportError
from tests.cli.running import MCP_TUI, Ran, run
from tests.control import Control
from tests.live.odd_answers import answering
from tests.waiting import HANG, until


@asynccontextmanager
async def _sharing(control: Control, kind: str = "workbench") -> AsyncGenerator[Client]:
    """A client that shares its connection as the workbench does."""
    client = Client(control.demo())
    control_socket = ClientControlSocket(client, kind, share=share)
    await client.connect()
    yield client
    control_socket.close()
    await client.close()


async def _run(*words: str) -> Ran:
    return await asyncio.to_thread(run, *words, "--session", "demo")


def _calls(client: Client) -> list[Request]:
    return [row for row in client.requests.order if not row.internal]


async def test_a_call_has_its_row_there_and_its_answer_here(control: Control):
    async with _sharing(control) as client:
        ran = await _run("call", "echo", "text=hi", "--json")
        (row,) = _calls(client)
    assert [each["event"] for each in ran.events] == ["connected", "sent", "outcome"]
    outcome = ran.outcome
    assert (ran.status, outcome["id"], outcome["state"]) == (0, row.id, "completed")
    assert outcome["result"]["content"][0]["text"] == "hi"


async def test_a_cancel_there_ends_the_call_here(control: Control):
    async with _sharing(control) as client, asyncio.TaskGroup() as tasks:
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
    async with _sharing(control) as client:
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
async def test_what_cannot_be_shared_is_refused_in_a_sentence(
    kind: str, words: tuple[str, ...], said: str, control: Control
):
    async with _sharing(control, kind) as client:
        ran = await _run("call", "echo", "text=hi", *words)
        assert not _calls(client)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


def _line(told: object) -> bytes:
    return messages.encode(cast("Json", told)) + b"\n"


def _told(event: ev.Event) -> bytes:
    return _line({"told": encode_event(event)})


CONNECTED: Final = encode_event(ev.Connected(at=1.0, transport="stdio", revision="2025-11-25", server="s"))
SHARED: Final = _line({"version": 1, "lent": CONNECTED, "capabilities": {}})
CALLED: Final = _told(
    ev.Called(at=1.0, id=5, method="tools/call", name="x", limits=ev.Limits(), internal=False)
)
ID: Final = _line({"id": 5})
DONE: Final = _told(ev.Sent(at=1.0, id=5)) + _told(ev.Completed(at=1.5, id=5))
ANSWER: Final = _line({"of": 5, "answer": {"jsonrpc": "2.0", "id": 5, "result": {}}, "status": 0})

REFUSED: Final[dict[str, bytes]] = {
    "does not answer": b"",
    "of another version": _line({"version": 2, "lent": CONNECTED}),
    "does not share its connection": _line({"version": 1}),
    "not understood": b"junk\n",
    "was not understood": _line({"lent": []}),
    "answer that was not understood": _line({"lent": {"event": "novel"}}),
    "that was not understood": _line({"lent": {**CONNECTED, "revision": "2099-01-01"}}),
}
"""The first line of a session, by what is said of it."""

BROKEN: Final = [
    b"",
    b"junk\n",
    ID,
    ANSWER,
    CALLED + CALLED + ID,
    CALLED + ID + ID,
    _told(ev.Sent(at=1.0, id=5)),
    _line({"told": {"event": "called"}}),
    CALLED + ID + _line({"answer": None, "status": 0}),
    CALLED + ID + _line({"of": [5], "answer": None, "status": 0}),
    CALLED + ID + _line({"of": 6, "answer": None, "status": 0}),
    b"[" * 100_000 + b"\n",
]
"""What a session says after it: nobody knows what becomes of the request."""


@asynccontextmanager
async def _shared(name: str) -> AsyncGenerator[SharedClient]:
    summary = Summary("workbench", "", "", 1, "", ())
    client = SharedClient(Running(name, sockets()[name], summary), ClientSettings())
    try:
        await client.connect()
        yield client
    finally:
        await client.close()


async def _called(name: str) -> Request | None:
    """Calls on the connection of a session; returns the row if it was answered."""
    async with _shared(name) as client:
        row = await client.begin("tools/call", {"name": "x"}, limits=ev.Limits())
        frame = await client.wait(row.id)
        return None if frame is None else client.requests.order[0]


REFUSING: Final = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"error": {"code": -32603, "message": "the database is down"}}
    if asked["method"] == "initialize":
        known = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}}}
        answer = {"result": {**known, "serverInfo": {"name": "s", "version": "1"}}}
    elif asked["method"] == "prompts/list":
        page = int(asked.get("params", {}).get("cursor", 0))
        answer = {"result": {"prompts": [{"name": f"p{page}"}], **({"nextCursor": "1"} if not page else {})}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


async def test_lists_there_have_all_pages_or_the_words_of_the_server():
    client = Client(StdioTarget(command=(sys.executable, "-c", REFUSING)))
    control_socket = ClientControlSocket(client, "workbench", share=share)
    await client.connect()
    (name,) = sockets()
    async with _shared(name) as other, asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(every(other, "prompts")) for _ in range(2)]
        with pytest.raises(ListFailed, match="the database is down"):
            await every(other, "tools")
        assert [[each["name"] for each in await list_] for list_ in both] == [["p0", "p1"]] * 2
    assert {row.internal for row in client.requests.order} == {True}
    control_socket.close()
    await client.close()


async def test_nothing_waits_for_a_session_that_has_ended():
    # It ends before it is asked, while it lists, and while it is asked again.
    with answering({"before": SHARED, "while": SHARED + CALLED + ID}) as names:
        async with _shared(names["before"]) as client:
            for _ in range(2):
                with pytest.raises(TransportError, match="has ended"):
                    await every(client, "tools")
                with pytest.raises(TransportError, match="has ended"):
                    await client.begin("ping")
        async with _shared(names["while"]) as client:
            with pytest.raises((ListFailed, TransportError), match="has ended"):
                await every(client, "tools")


async def test_an_answer_of_another_form_on_a_shared_connection_is_reported():
    with answering(REFUSED) as names:
        for said, name in names.items():
            with pytest.raises(TransportError, match=said):
                await _called(name)
    with answering({f"{at}": SHARED + said for at, said in enumerate(BROKEN)}) as names:
        for what, name in names.items():
            with suppress(TransportError):
                assert await _called(name) is None, what
    news = _told(ev.Note(at=1.0, text="x")) + _line({"told": {"event": "novel"}})
    old = _line(
        {"answer": {"jsonrpc": "2.0", "id": 5, "result": {}}, "status": 0}
    )  # before answers had a version
    whole = {"": SHARED + news + CALLED + ID + DONE + ANSWER, "old": SHARED + CALLED + ID + DONE + old}
    with answering(whole) as names:
        for name in names.values():
            row = await _called(name)
            assert row is not None
            assert row.state is State.COMPLETED


async def test_a_command_of_before_learns_that_the_session_is_of_a_later_version(control: Control):
    async with _sharing(control):
        answers = await asyncio.to_thread(ask, sockets(), {"ask": "lend"}, HANG)
    said = [messages.as_object(messages.read_json(each.line))["refused"] for each in answers.values()]
    assert said == ["It is of a later version of mcp-tui"]
