"""The connection of a running client, lent to another process that calls on it, and the client of that process.

Both sides send lines of JSON. The borrower asks for a list, a call, and its cancel; it is told every event of its call, so
that it folds the same rows, and the answer.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.client.catalogue import LISTS, ListFailed
from mcp_tui.client.client import Client
from mcp_tui.client.connection import ServerInfo
from mcp_tui.client.settings import ClientSettings, HttpTarget
from mcp_tui.journal.records import UnknownEvent, decode_event, encode_event
from mcp_tui.live.control import LEND, REASON_CHARACTERS, VERSION
from mcp_tui.live.doors import ANSWER_SECONDS, reachable
from mcp_tui.live.serving import LINE_BYTES, tell
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.messages import Json, ResponseFrame, as_list, as_object, as_text
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import REVISIONS
from mcp_tui.transport.base import NO_ANSWER, RefusedResponse, TransportError, spawn

if TYPE_CHECKING:
    from mcp_tui.live.running import Running

UNREAD_BYTES: Final = 64 * 1024 * 1024
"""Bytes that may wait for a borrower; one that reads no more is sent away."""

OF_THE_CONNECTION: Final = (ev.Log, ev.Stderr, ev.Disconnected)
"""Events about no request that a borrower is told, as a command with a connection of its own would be."""

_FAILED_LIST: Final = Request(
    id=0, method="", name="", limits=ev.DEFAULT_LIMITS, internal=True, called_at=0.0
)
_FAILED_LIST.error = "no list"


# -- the side of the session -----------------------------------------------------------------------------------


async def lend(client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Lets a visitor call on the connection of a client. What is in flight when it hangs up is cancelled."""
    info = client.info
    if info is None:
        tell(writer, {"refused": "It is not connected to its server"})
        return
    server = " ".join(filter(None, (info.name, info.version)))
    connected = ev.Connected(
        at=client.now(), transport=info.transport, revision=info.revision.name, server=server, pid=info.pid
    )
    tell(writer, {"version": VERSION, "lent": encode_event(connected), "capabilities": info.capabilities})
    borrower = _Borrower(client, writer)
    stop = client.listen(borrower.heard)
    try:
        while line := await reader.readline():
            borrower.ask(as_object(messages.read_json(line)))
    finally:
        stop()
        borrower.cancel(Cause.PARENT, "the command that called it has ended")


class _Borrower:
    """A visitor, and its requests."""

    def __init__(self, client: Client, writer: asyncio.StreamWriter) -> None:
        self._client = client
        self._writer = writer
        self._ids: set[RequestId] = set()
        self._early: list[ev.Event] | None = None
        """What happens while a call is made, whose id is not known yet."""

    def heard(self, event: ev.Event) -> None:
        """Tells an event that concerns the borrower."""
        if self._early is not None:
            self._early.append(event)
        elif isinstance(event, OF_THE_CONNECTION) or (
            isinstance(event, ev.RequestEvent | ev.Violation) and event.id in self._ids
        ):
            self._tell({"told": encode_event(event)})

    def ask(self, asked: dict[str, Json]) -> None:
        """Does what the borrower asks for."""
        if "call" in asked:
            self._call(as_object(asked["call"]))
        elif as_text(asked.get("list")) in LISTS:
            spawn(self._list(as_text(asked["list"])), name="list for another process")
        elif "cancel" in asked:
            self.cancel(
                Cause(asked["cause"]),
                as_text(asked["cancel"])[:REASON_CHARACTERS],
                leave=asked.get("leave") is True,
            )

    def cancel(self, cause: Cause, reason: str, *, leave: bool = True) -> None:
        """Cancels what is in flight for the borrower."""
        for id_ in self._ids:
            if self._client.ledger.row(id_).open:
                self._client.cancel(id_, cause, reason, leave=leave)

    def _call(self, wanted: dict[str, Json]) -> None:
        limits = ev.Limits(
            timeout=messages.number(wanted.get("timeout")),
            max_timeout=messages.number(wanted.get("max_timeout")),
        )
        # Its events come from within the call, before anybody knows its id.
        self._early = []
        id_ = self._client.call(as_text(wanted["method"]), wanted.get("params"), limits=limits)
        self._ids.add(id_)
        early, self._early = self._early, None
        for event in early:
            self.heard(event)
        self._tell({"id": id_})
        spawn(self._answer(id_), name="a call of another process")

    async def _answer(self, id_: RequestId) -> None:
        frame = await self._client.wait(id_)
        answer: dict[str, Json] | None = None
        if frame is not None:
            answer = {"jsonrpc": "2.0", "id": id_, "result": frame.result}
            if frame.error is not None:
                code = {} if frame.error.code is None else {"code": frame.error.code}
                error = {**code, "message": frame.error.message, "data": frame.error.data}
                answer = {"jsonrpc": "2.0", "id": id_, "error": error}
        status = self._client.refusals.get(id_, NO_ANSWER).status
        self._tell({"answer": answer, "status": status})

    async def _list(self, what: str) -> None:
        try:
            entries: Any = await self._client.every(what)
        except ListFailed:
            entries = None
        self._tell({"listed": entries})

    def _tell(self, made: dict[str, Json]) -> None:
        if self._writer.transport.get_write_buffer_size() > UNREAD_BYTES:
            self._writer.transport.abort()
        elif not self._writer.is_closing():
            tell(self._writer, made)


# -- the side of the borrower ----------------------------------------------------------------------------------


class BorrowedClient(Client):
    """A client without a connection of its own: it makes one request on that of a running session.

    Its ledger decides nothing; it folds the events that come from there.
    """

    def __init__(self, session: Running, settings: ClientSettings) -> None:
        # how the session reaches its server is its own matter: what a command says of a process would be false
        super().__init__(HttpTarget(url="", name=session.summary.server), settings)
        self._session = session
        self._info: ServerInfo | None = None
        self._writer: asyncio.StreamWriter | None = None
        loop = asyncio.get_running_loop()
        self._called: asyncio.Future[RequestId] = loop.create_future()
        self._answered: asyncio.Future[ResponseFrame | None] = loop.create_future()
        self._listed: asyncio.Future[Json] = loop.create_future()
        self._over = False

    @property
    def info(self) -> ServerInfo | None:
        return self._info

    async def connect(self) -> ServerInfo:
        whose = f"Session {self._session.name}"
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                with reachable(self._session.door) as address:
                    reader, self._writer = await asyncio.open_unix_connection(address, limit=LINE_BYTES)
                self._ask({**LEND})
                line = await reader.readline()
        except (OSError, ValueError):  # a timeout is the first
            raise TransportError(f"{whose} does not answer. It may have ended.") from None
        if not line:
            raise TransportError(f"{whose} does not answer. It may have ended.")
        event, capabilities = _lent(whose, line)
        self._info = ServerInfo(
            transport=event.transport,
            revision=REVISIONS[event.revision],
            name=event.server,
            capabilities=capabilities,
            pid=event.pid,
        )
        self._take(event)
        spawn(self._read(reader), name="read the messages of a session")
        return self._info

    async def begin(self, method: str, params: Json, limits: ev.Limits) -> RequestId:
        """Makes the request; returns its id.

        Raises:
            TransportError: the session has ended.
        """
        wanted = {"method": method, "params": params}
        self._ask({"call": {**wanted, "timeout": limits.timeout, "max_timeout": limits.max_timeout}})
        # Shielded: who waits may be cancelled, and a future that is cancelled with them could not be set any more.
        return await asyncio.shield(self._called)

    async def every(self, what: str) -> list[dict[str, Json]]:
        self._listed = asyncio.get_running_loop().create_future()
        self._ask({"list": what})
        entries = await self._listed
        if entries is None:
            raise ListFailed(_FAILED_LIST)
        return [as_object(each) for each in as_list(entries)]

    async def wait(self, id: RequestId) -> ResponseFrame | None:
        return await asyncio.shield(self._answered)  # for the same reason as in begin()

    def cancel(
        self, id: RequestId, cause: Cause = Cause.USER, reason: str = "", *, leave: bool = False
    ) -> CancelOutcome:
        row = self.book.get(id)
        if row is None or not row.open:
            requested = row is not None and row.state in (State.CANCEL_REQUESTED, State.CANCELLED)
            return CancelOutcome.ALREADY_REQUESTED if requested else CancelOutcome.ALREADY_DONE
        self._ask({"cancel": reason, "cause": cause.value, "leave": leave})
        return CancelOutcome.REQUESTED

    def stop_watching(self, at: float) -> None:
        """Ends the watching of the request here; the session goes on watching it."""
        for row in self.book.order:
            if row.state is State.CANCEL_REQUESTED:
                self._take(ev.Settled(at=at, id=row.id))
            if row.cancel_at is not None and row.unwatched_at is None:
                self._take(ev.Unwatched(at=at, id=row.id, final=True))
        self._over = True

    async def disconnect(self) -> None:
        self.stop_watching(self.now())
        if self._writer is not None:
            self._writer.close()

    def _ask(self, wanted: dict[str, Json]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            tell(self._writer, wanted)

    def _take(self, event: ev.Event) -> None:
        self.ledger.emit(event)
        self.drain()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError, ValueError):  # a connection that breaks ends like one that is closed
            while line := await reader.readline():
                if not self._over:
                    self._hear(line)
        if not self._over:
            self._gone("has ended")

    def _hear(self, line: bytes) -> None:
        try:
            self._heard(as_object(messages.read_json(line)))
        except UnknownEvent:
            pass  # a later version has more of them
        except Exception:  # noqa: BLE001 - whatever it is, nobody knows what becomes of the request
            self._gone("sent what is not understood, and may be of another version of mcp-tui")
            if self._writer is not None:
                self._writer.close()  # it cancels the request

    def _heard(self, told: dict[str, Json]) -> None:
        if "told" in told:
            self._take(decode_event(as_object(told["told"])))
        elif "listed" in told:
            self._listed.set_result(told["listed"])
        elif messages.is_request_id(id_ := told.get("id")):
            self._called.set_result(self.ledger.row(id_).id)
        elif "answer" in told:
            row = self.book.order[-1]
            if isinstance(status := told.get("status"), int) and status:
                self.refusals[row.id] = RefusedResponse(status)
            answer = told["answer"]
            frame = None if answer is None else messages.response_in(messages.encode(answer), row.id)
            self._answered.set_result(frame)

    def _gone(self, why: str) -> None:
        """Loses the request: the session has ended, or sent us away, or nobody knows what it says."""
        at, detail, self._over = self.now(), f"the session {why}", True
        for row in self.book.order:
            if row.open:
                self._take(ev.Lost(at=at, id=row.id, detail=detail))
        ids = tuple(row.id for row in self.book.order)
        self._take(ev.Disconnected(at=at, detail=detail, expected=False, after=None, ids=ids))
        ended = TransportError(f"Session {self._session.name} {why}.")
        for each in (self._called, self._listed):
            if not each.done():
                each.set_exception(ended)
                each.exception()  # nobody may be waiting
        if not self._answered.done():
            self._answered.set_result(None)


def _lent(whose: str, line: bytes) -> tuple[ev.Connected, dict[str, Json]]:
    """Returns the connection that a session lends, and what its server can do.

    Raises:
        TransportError: it lends none, or its answer is of another version, or not understood.
    """
    try:
        told = as_object(messages.read_json(line))
        version = told.get("version", 0)
        if type(version) is int and version > VERSION:
            raise TransportError(
                f"{whose} is of another version of mcp-tui. Leave out --session, or restart it."
            )
        if "lent" not in told:
            why = as_text(told.get("refused")) or "It has ended"
            raise TransportError(f"{whose} does not lend its connection. {why}.")
        event = decode_event(as_object(told["lent"]))
        if isinstance(event, ev.Connected) and event.revision in REVISIONS:
            return event, as_object(told.get("capabilities"))
    except (ValueError, UnknownEvent):
        pass
    text = "gave an answer that was not understood. It may be of another version of mcp-tui."
    raise TransportError(f"{whose} {text}")
