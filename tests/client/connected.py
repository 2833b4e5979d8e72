"""Clients on scripted servers and on the demo server, and what they told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final, TypeVar

from mcp_tui.client import Client, ClientSettings, HttpTarget, StdioTarget
from mcp_tui.client.client_settings import Target
from mcp_tui.client.interactions import Respond
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request
from tests.servers.http_scripted import HttpScript, Script
from tests.waiting import HANG

SERVER: Final = Path(__file__).parents[1] / "servers" / "cli_server.py"
DEMO: Final = StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo"))

E = TypeVar("E", bound=ev.Event)


def scripted(mode: str, heard: Path | None = None) -> StdioTarget:
    """A server of ``cli_server.py``; it writes what came into the file ``heard``."""
    env = {} if heard is None else {"HEARD": str(heard)}
    return StdioTarget(command=(sys.executable, "-S", str(SERVER), mode), env=env)


def methods(heard: Path) -> list[str]:
    return [each["method"] for each in received(heard)]


def received(heard: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in heard.read_text().splitlines()]


class Told(list[ev.Event]):
    """The events of a client."""

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self if isinstance(event, kind)]

    def notes(self) -> str:
        return "\n".join(event.text for event in self.of(ev.Note))


def row(made: Client, id: ev.RequestId) -> Request:
    found = made.requests.get(id)
    assert found is not None
    return found


def client(
    target: Target, settings: ClientSettings | None = None, respond: Respond | None = None
) -> tuple[Client, Told]:
    made, told = Client(target, settings, respond=respond), Told()
    made.listen(told.append)
    return made, told


@contextlib.asynccontextmanager
async def serving(
    script: Script, settings: ClientSettings | None = None
) -> AsyncGenerator[tuple[HttpScript, Client, Told]]:
    """An HTTP server that follows a script, and a client that is connected to it."""
    async with HttpScript(script) as server, connected(HttpTarget(url=server.url), settings) as (made, told):
        yield server, made, told


@contextlib.asynccontextmanager
async def connected(
    target: Target, settings: ClientSettings | None = None, respond: Respond | None = None
) -> AsyncGenerator[tuple[Client, Told]]:
    """A client that is connected, and closed in the end; nothing in here may take longer than :data:`HANG`."""
    made, told = client(target, settings, respond)
    async with asyncio.timeout(HANG):
        try:
            await made.connect()
            yield made, told
        finally:
            await made.close()
