"""The client in one session with a real server: does the next call work after a cancel, and if not, is it told why?"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from mcp_tui.client import Client
from mcp_tui.client.settings import ClientSettings, HttpTarget, StdioTarget
from mcp_tui.protocol.requests import State
from tests.real.observed import OBSERVED, RIGHT
from tests.real.probe import Case, Heartbeat
from tests.real.registry import ENVIRONMENT, SERVERS_BY_NAME, Server

pytestmark = pytest.mark.real

SECONDS = 0.8
STEPS = 8
CANCEL_AT = 2
ANSWERS_WITHIN = 20.0  # seconds; only to tell a hang from a slow machine
PAST_ITS_END = 0.5  # seconds after the work, in which a server breaks if it is going to

# A cancel that is obeyed, and those that the same server survives worst.
CASES = [
    case
    for case, seen in OBSERVED.items()
    if case.signal == RIGHT[case.transport, case.revision]
    and not case.flags
    and (case.tool in ("cooperative", "trigger-long-running-operation") or seen.server != "lives")
]


@contextlib.asynccontextmanager
async def connected(server: Server, case: Case) -> AsyncGenerator[Client]:
    settings = ClientSettings(protocol=case.revision)
    with contextlib.ExitStack() as stack:
        if case.transport == "stdio":
            target = StdioTarget(command=server.stdio, env={"PATH": ENVIRONMENT["PATH"]})
        else:
            target = HttpTarget(url=stack.enter_context(server.serve()))
        client = Client(target, settings)
        try:
            await client.connect()
            yield client
        finally:
            await client.close()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("case", [pytest.param(case, id=str(case)) for case in CASES])
async def test_the_next_call_in_the_session_of_a_cancelled_one(case: Case, tmp_path: Path):
    server = SERVERS_BY_NAME[case.server]
    if reason := server.missing():
        pytest.skip(reason)
    heartbeat = Heartbeat(tmp_path / "heartbeat")
    everything = case.server == "everything"
    async with connected(server, case) as client:
        id_ = client.call_tool(
            case.tool,
            {"duration": SECONDS, "steps": STEPS}
            if everything
            else {"seconds": SECONDS, "heartbeat": str(heartbeat.path)},
        )
        row = client.book.get(id_)
        assert row is not None
        async with asyncio.timeout(ANSWERS_WITHIN):
            while row.progress is None or row.progress < CANCEL_AT:
                await asyncio.sleep(0.01)
        client.cancel(id_, reason="enough")
        assert not row.open
        await asyncio.sleep(SECONDS + PAST_ITS_END)

        next_id = client.call_tool("echo", {"message" if everything else "text": "still there?"})
        following = client.book.get(next_id)
        assert following is not None
        async with asyncio.timeout(ANSWERS_WITHIN):
            frame = await client.wait(next_id)

        assert row.cause is not None
        assert row.signal is not None
        assert row.signal.value == case.signal
        match OBSERVED[case].server:
            case "lives":
                assert following.state is State.COMPLETED
                assert frame is not None
                assert "still there?" in str(frame.result)
                assert client.connected
            case "dies next":
                assert following.state is State.LOST
                assert "exited" in following.error
                assert not client.connected
            case "session lost":
                # the client has found it out by then and opened a new session, or this call finds it out
                assert following.state is State.COMPLETED or "404" in following.error
                async with asyncio.timeout(ANSWERS_WITHIN):
                    while not client.connected:
                        await asyncio.sleep(0.01)
                assert any("opening a new session" in getattr(it, "text", "") for it in client.store.log)
            case other:
                pytest.fail(f"nobody has seen a server that {other}")

        if OBSERVED[case].server != "lives":
            async with asyncio.timeout(ANSWERS_WITHIN):
                if not client.connected:  # connecting again is all it takes
                    await client.connect()
                again = await client.request(
                    "tools/call",
                    {"name": "echo", "arguments": {"message" if everything else "text": "and now?"}},
                )
            assert again is not None
            assert "and now?" in str(again.result)
