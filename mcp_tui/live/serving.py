"""The door of a client of ours, which answers in the event loop of the client, beside everything else there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from mcp_tui import __version__
from mcp_tui.client.client import DEFAULT_REASON, is_leaving
from mcp_tui.client.session_store import shown
from mcp_tui.live.doors import ANSWER_SECONDS, NOT_UNDERSTOOD, REASON_CHARACTERS, Door
from mcp_tui.live.summary import named, not_cancelled, summary
from mcp_tui.protocol.events import Cause, Connected, Event
from mcp_tui.protocol.messages import Json, as_object, as_text, encode, read_json
from mcp_tui.protocol.requests import TERMINAL
from mcp_tui.transport.base import spawn

if TYPE_CHECKING:
    import socket

    from mcp_tui.client.client import Client

LINE_BYTES: Final = 256 * 1024 * 1024
"""Bytes of a line at most: the arguments of a call, or its result."""


class Doorkeeper:
    """The door of a ``client`` in a session of a ``kind``: if it ``may``, it opens with the first connection.

    A session goes on without a door if there can be none.

    ``lends`` is called with a visitor who wants to call on the client's connection; without it none may.
    """

    def __init__(
        self,
        client: Client,
        kind: str,
        *,
        may: bool = True,
        lends: Callable[[Client, asyncio.StreamReader, asyncio.StreamWriter], Any] | None = None,
    ) -> None:
        self._client = client
        self._kind = kind
        self._may = may
        self._lends = lends
        self._door: Door | None = None
        self._loop = asyncio.get_running_loop()
        client.listen(self._open)

    def _open(self, event: Event) -> None:
        if self._may and self._door is None and isinstance(event, Connected):
            self._may = False
            with suppress(OSError):
                door = self._door = Door(os.urandom(6).hex())
                self._loop.add_reader(door.socket, self._let_in, door)

    def close(self) -> None:
        """Closes the door for good."""
        self._may = False
        if self._door is not None:
            # The workbench closes its doors when its loop is over.
            if not self._loop.is_closed():
                self._loop.remove_reader(self._door.socket)
            self._door.close()

    def _let_in(self, door: Door) -> None:
        visitor = door.accept()
        if visitor is not None:
            spawn(self._serve(visitor), name="a visitor at the door")

    async def _serve(self, visitor: socket.socket) -> None:
        """Answers a visitor. Whatever goes wrong there is no matter of the session's."""
        reader, writer = await asyncio.open_unix_connection(sock=visitor, limit=LINE_BYTES)
        with suppress(Exception):
            async with asyncio.timeout(ANSWER_SECONDS):
                asked = as_object(read_json(await reader.readline()))
            if asked.get("ask") == "lend" and self._lends is not None:
                await self._lends(self._client, reader, writer)
            else:
                tell(writer, await self._answer(asked))
                async with asyncio.timeout(ANSWER_SECONDS):
                    await writer.drain()
        writer.close()

    async def _answer(self, asked: dict[str, Json]) -> dict[str, Json]:
        match asked.get("ask"):
            case "list":
                return self._summary()
            case "cancel":
                return await self._cancel(asked.get("id"), as_text(asked.get("reason"))[:REASON_CHARACTERS])
            case _:
                return {**NOT_UNDERSTOOD}

    def _summary(self) -> dict[str, Json]:
        client, info = self._client, self._client.info
        server = client.target.name or ("" if info is None else info.name) or shown(client.target)
        ours = f"mcp-tui {__version__}"
        return summary(client.ledger, client.store, client.now(), kind=self._kind, client=ours, server=server)

    async def _cancel(self, id_: Json, reason: str) -> dict[str, Json]:
        """Cancels a request as the person at the session would, and answers once the signal has left."""
        client = self._client
        row = named(client.ledger, id_)
        if row is None:
            return {"unknown": id_}
        if not row.open:
            return {"over": row.state.value}
        outcome = client.cancel(row.id, Cause.USER, reason or DEFAULT_REASON)
        if told := not_cancelled(row, outcome):
            return told
        with suppress(TimeoutError):
            # Less than the visitor waits, so that it hears at least what is not known.
            async with asyncio.timeout(0.8 * ANSWER_SECONDS):
                await heard(client, lambda: not is_leaving(row))
        if row.signal is None and row.state not in TERMINAL:
            return {"unsent": row.undelivered or row.delayed or "the signal has not left yet"}
        return {"signal": "none" if row.signal is None else row.signal.value}


async def heard(client: Client, done: Callable[[], bool]) -> None:
    """Waits until something is so, which the events of a client bring about."""
    changed = asyncio.Event()
    stop = client.listen(lambda _: changed.set())
    try:
        while not done():
            changed.clear()
            await changed.wait()
    finally:
        stop()


def tell(writer: asyncio.StreamWriter, made: Json) -> None:
    """Writes a line to a visitor."""
    writer.write(encode(made) + b"\n")
