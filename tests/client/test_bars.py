"""What cancelling may not cost: a cancel that hangs holds up nothing, and each of a thousand is told once.

These are about order and number; how long it takes is measured in ``benchmarks/cancel.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.client import Client, ClientSettings, HttpTarget
from mcp_tui.protocol.events import Cause, Limits, Signal
from mcp_tui.protocol.requests import State
from tests.client.connected import received, scripted
from tests.servers.http_scripted import Call, HttpScript, served

THOUSAND = 1000

HANDSHAKE = "2025-06-18"
MODERN = "2026-07-28"

UNLIMITED = Limits(timeout=None, max_timeout=None)


class Served:
    """An HTTP server of either era. It never answers a call."""

    def __init__(self, revision: str) -> None:
        self.cancelled: Counter[int] = Counter()
        self.dropped: Counter[int] = Counter()
        self._script = served(revision, self._work)

    async def __call__(self, call: Call) -> None:
        if call.rpc == "notifications/cancelled":
            self.cancelled[call.message["params"]["requestId"]] += 1
        await self._script(call)

    async def _work(self, call: Call) -> None:
        if call.rpc != "tools/call":
            await call.answer({"tools": []})
            return
        with contextlib.suppress(ConnectionError):
            await call.reader.read(1)  # it ends when the client closes the connection
        self.dropped[call.id] += 1


class Narrow(HttpScript):
    """A server with room for few connections that come at once: far less than the hundred of most."""

    async def __aenter__(self) -> HttpScript:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0, backlog=64)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"
        return self


def settings(revision: str) -> ClientSettings:
    return ClientSettings(protocol=revision, limits=UNLIMITED, grace=0.0)


PATIENCE = 240.0
"""Seconds after which a thousand of anything is taken for a hang: a thousand connections, both ends in one process."""


async def until(true: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.01)


async def silent_calls(client: Client, count: int) -> list[int]:
    """Calls that get no answer, once all of them are written."""
    ids = [int(client.call_tool("silent", {"number": number})) for number in range(count)]
    await until(lambda: all(row.state is State.IN_FLIGHT for row in client.requests.order[-count:]))
    return ids


@pytest.fixture
def many_files() -> None:
    """Both ends of two thousand connections are files of this process."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 5 * THOUSAND
    if hard not in (-1, resource.RLIM_INFINITY) and hard < wanted:
        pytest.skip(f"needs {wanted} open files, may have {hard}")
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
async def test_bar_5_each_of_a_thousand_is_told_once(revision: str):
    """Over HTTP: as many notifications, or as many closed streams and not one notification."""
    async with Narrow(heard := Served(revision)) as server:
        client = Client(HttpTarget(url=server.url), settings(revision))
        await client.connect()
        ids = await silent_calls(client, THOUSAND)
        for id_ in ids:
            client.cancel(id_, Cause.USER, "all of them")
        assert all(not row.open for row in client.requests.order)
        counted = heard.dropped if revision == MODERN else heard.cancelled
        await until(lambda: counted.total() >= THOUSAND)
        await until(lambda: all(row.signal is not None for row in client.requests.order[-THOUSAND:]))
        await client.close()
        assert counted == Counter(ids)
        assert counted is heard.cancelled or not heard.cancelled
        way = Signal.STREAM_CLOSED if revision == MODERN else Signal.NOTIFICATION
        assert {row.signal for row in client.requests.order if row.id in counted} == {way}


def told(heard: Path) -> list[Any]:
    """The parameters of the cancels that a scripted server heard."""
    lines = received(heard) if heard.exists() else []
    return [each["params"] for each in lines if each["method"] == "notifications/cancelled"]


@pytest.mark.parametrize(("revision", "mode"), [(HANDSHAKE, "never"), (MODERN, "modern")])
async def test_bar_5_each_of_a_thousand_is_told_once_over_stdio(revision: str, mode: str, tmp_path: Path):
    heard = tmp_path / "heard"
    client = Client(scripted(mode, heard), settings(revision))
    await client.connect()
    ids = await silent_calls(client, THOUSAND)
    for id_ in ids:
        client.cancel(id_, Cause.USER, "all of them")
    await until(lambda: len(told(heard)) >= THOUSAND)
    await client.close()
    assert Counter(each["requestId"] for each in told(heard)) == Counter(ids)
    assert {each["reason"] for each in told(heard)} == {"all of them"}
