"""The connection of a running client, shared with another process, and the client of that process.

The other process sends requests and their cancels. It receives the answers, and every event of its requests, so that it
folds the same rows. Both may be of different versions of mcp-tui: the session's first line has its
:data:`~mcp_tui.live.control.VERSION`, and members that a version does not know are ignored.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from mcp_tui.client.client import Client
from mcp_tui.client.client_port import Listener, notify
from mcp_tui.client.client_settings import ClientSettings, HttpTarget, Target
from mcp_tui.client.connection import Mirrors, ServerInfo
from mcp_tui.journal.records import UnknownEvent, decode_event, encode_event
from mcp_tui.journal.store import Store
from mcp_tui.live.control import REASON_CHARACTERS, SHARE, VERSION, Problem
from mcp_tui.live.running import Running
from mcp_tui.live.serving import LINE_BYTES, write_line
from mcp_tui.live.sockets import ANSWER_SECONDS, reachable
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.messages import Json, ResponseFrame, as_object, as_text
from mcp_tui.protocol.requests import Request, Requests, State
from mcp_tui.protocol.revisions import REVISIONS
from mcp_tui.transport.base import NO_ANSWER, RefusedResponse, TransportError, spawn

UNREAD_BYTES: Final = 64 * 1024 * 1024
"""Bytes that may wait for the other process; if it reads no more, its connection is closed."""

OF_THE_CONNECTION: Final = (ev.Log, ev.Stderr, ev.Disconnected)
"""Events about no request that the other process gets, as a command with a connection of its own would be."""

# -- to the session --------------------------------------------------------------------------------------------


class MakeCall(NamedTuple):
    """Asks the session for a request; the answer is a :class:`CallMade`."""

    method: str
    params: Json
    limits: ev.Limits
    internal: bool

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        times: dict[str, Json] = {"timeout": self.limits.timeout, "max_timeout": self.limits.max_timeout}
        return {"call": {"method": self.method, "params": self.params, "internal": self.internal, **times}}


class CancelCall(NamedTuple):
    """Asks the session to cancel a request; all that are in flight for the process if ``id`` is ``None``."""

    id: RequestId | None
    cause: Cause
    reason: str
    leave: bool

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"cancel": self.reason, "of": self.id, "cause": self.cause.value, "leave": self.leave}


def read_wish(line: bytes) -> MakeCall | CancelCall:
    """Returns what the process asks for.

    Raises:
        ValueError: this version does not know it, or it cannot be read.
    """
    members = as_object(messages.read_json(line))
    if "cancel" in members:
        reason, leave = as_text(members["cancel"])[:REASON_CHARACTERS], members.get("leave") is True
        return CancelCall(_id(members.get("of")), Cause(members.get("cause")), reason, leave)
    call = as_object(members.get("call"))
    if not (method := as_text(call.get("method"))):
        raise ValueError("it is of a version that asks for something else")
    timeout, max_timeout = (messages.number(call.get(name)) for name in ("timeout", "max_timeout"))
    limits = ev.Limits(timeout=timeout, max_timeout=max_timeout)
    return MakeCall(method, call.get("params"), limits, call.get("internal") is True)


# -- from the session ------------------------------------------------------------------------------------------


class Shared(NamedTuple):
    """The first message: the connection, and the capabilities of its server."""

    connected: ev.Connected
    capabilities: dict[str, Json]

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        event: Json = encode_event(self.connected)
        return {"version": VERSION, "lent": event, "capabilities": self.capabilities}


class NotShared(NamedTuple):
    """The first message if no connection is shared. ``why`` is a sentence without its full stop."""

    why: str

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"refused": self.why}


class Happened(NamedTuple):
    """An event of the process's requests, or of the connection."""

    event: ev.Event

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"told": encode_event(self.event)}


class CallMade(NamedTuple):
    """The id of the oldest :class:`MakeCall` that has none yet."""

    id: RequestId

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"id": self.id}


class CallOver(NamedTuple):
    """The outcome of a request is final.

    ``response`` is ``None`` if none counts, ``status`` the HTTP status of a refusal, or 0. ``id`` is ``None`` from the first
    version, which made one request at a time: it is the newest.
    """

    id: RequestId | None
    response: dict[str, Json] | None
    status: int

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"of": self.id, "answer": self.response, "status": self.status}


def read_opening(line: bytes) -> Shared | NotShared | Problem:
    """Returns the first message of a session."""
    try:
        members = as_object(messages.read_json(line))
        version = members.get("version", 0)
        if type(version) is int and version > VERSION:
            return Problem.OTHER_VERSION
        if "lent" not in members:
            return NotShared(as_text(members.get("refused")) or "It has ended")
        event = decode_event(as_object(members["lent"]))
        if isinstance(event, ev.Connected) and event.revision in REVISIONS:
            return Shared(event, as_object(members.get("capabilities")))
    except (ValueError, UnknownEvent):
        pass
    return Problem.NOT_UNDERSTOOD


def read_message(line: bytes) -> Happened | CallMade | CallOver | None:
    """Returns a later message of a session; ``None`` if this version does not know it.

    Raises:
        UnknownEvent: it is an event that this version does not know.
        ValueError: it cannot be read.
    """
    members = as_object(messages.read_json(line))
    if "told" in members:
        return Happened(decode_event(as_object(members["told"])))
    if messages.is_request_id(id_ := members.get("id")):
        return CallMade(id_)
    if "answer" not in members:
        return None
    response = None if members["answer"] is None else as_object(members["answer"])
    status = members.get("status")
    of = _id(members.get("of", None if response is None else response.get("id")))
    return CallOver(of, response, status if isinstance(status, int) else 0)


def _id(value: Json) -> RequestId | None:
    if value is not None and not messages.is_request_id(value):
        raise ValueError("not the id of a request")
    return value


# -- the side of the session -----------------------------------------------------------------------------------


async def share(client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Lets another process call on the connection of a client. What is in flight when it hangs up is cancelled."""
    info = client.info
    if info is None:
        write_line(writer, NotShared("It is not connected to its server").line())
        return
    server = " ".join(filter(None, (info.name, info.version)))
    connected = ev.Connected(
        at=client.now(), transport=info.transport, revision=info.revision.name, server=server, pid=info.pid
    )
    write_line(writer, Shared(connected, info.capabilities).line())
    other = _OtherProcess(client, writer)
    stop = client.listen(other.on_event)
    try:
        while line := await reader.readline():
            other.carry_out(read_wish(line))
    finally:
        stop()
        other.carry_out(CancelCall(None, Cause.PARENT, "the command that called it has ended", leave=True))


class _OtherProcess:
    """A process that shares the connection, and its requests."""

    def __init__(self, client: Client, writer: asyncio.StreamWriter) -> None:
        self._client = client
        self._writer = writer
        self._ids: set[RequestId] = set()
        self._early: list[ev.Event] | None = None
        """Events while a call is being made, whose id is not known yet; ``None`` at other times."""

    def on_event(self, event: ev.Event) -> None:
        """Sends an event that concerns the other process."""
        if self._early is not None:
            self._early.append(event)
        elif isinstance(event, OF_THE_CONNECTION) or (
            isinstance(event, ev.RequestEvent | ev.Violation) and event.id in self._ids
        ):
            self._send(Happened(event))

    def carry_out(self, wish: MakeCall | CancelCall) -> None:
        """Makes or cancels a request for the other process."""
        if isinstance(wish, MakeCall):
            self._call(wish)
            return
        for id_ in self._ids:
            if self._client.ledger.row(id_).open and wish.id in (None, id_):
                self._client.cancel(id_, wish.cause, wish.reason, leave=wish.leave)

    def _call(self, wish: MakeCall) -> None:
        # The events are emitted within the call, before its id is known.
        self._early = []
        id_ = self._client.call(wish.method, wish.params, limits=wish.limits, internal=wish.internal)
        self._ids.add(id_)
        early, self._early = self._early, None
        for event in early:
            self.on_event(event)
        self._send(CallMade(id_))
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
        self._send(CallOver(id_, answer, status))

    def _send(self, made: Happened | CallMade | CallOver) -> None:
        if self._writer.transport.get_write_buffer_size() > UNREAD_BYTES:
            self._writer.transport.abort()
        elif not self._writer.is_closing():
            write_line(self._writer, made.line())


# -- the side of the other process ----------------------------------------------------------------------------------


class SharedClient:
    """The client of a command on the connection of a running session: a :class:`~mcp_tui.client.client_port.Requester`.

    It decides nothing: it folds the events that come from there.
    """

    now = staticmethod(time.monotonic)

    def __init__(self, session: Running, settings: ClientSettings) -> None:
        # The command must not report a process or URL of its own: the session has the connection to the server.
        self.target: Target = HttpTarget(url="", name=session.summary.server)
        self.settings = settings
        self.store = Store()
        self.requests = Requests()
        self.refusals: dict[RequestId, RefusedResponse] = {}
        self.mirrors: dict[str, Mirrors] = {}
        self.task_support: dict[str, str] = {}
        self.info: ServerInfo | None = None
        self._session = session
        self._writer: asyncio.StreamWriter | None = None
        self._listeners: list[Listener] = []
        self._begun: deque[asyncio.Future[RequestId]] = deque()
        """Requests whose ids are still to come, in their order."""
        self._answers: dict[RequestId, asyncio.Future[ResponseFrame | None]] = {}
        self._over = ""
        """Why no more messages are received from the session, as the rest of a sentence about it."""

    # -- the connection ----------------------------------------------------------------------------------------

    async def connect(self) -> ServerInfo:
        """Connects to the session.

        Raises:
            TransportError: it shares no connection, or has ended.
        """
        session_title = f"Session {self._session.name}"
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                with reachable(self._session.path) as address:
                    reader, self._writer = await asyncio.open_unix_connection(address, limit=LINE_BYTES)
                write_line(self._writer, {**SHARE})
                line = await reader.readline()
        except (OSError, ValueError):  # TimeoutError is an OSError.
            raise TransportError(f"{session_title} does not answer. It may have ended.") from None
        if not line:
            raise TransportError(f"{session_title} does not answer. It may have ended.")
        match read_opening(line):
            case Shared(event, capabilities):
                pass
            case NotShared(why):
                raise TransportError(f"{session_title} does not share its connection. {why}.")
            case Problem.OTHER_VERSION:
                what = "is of another version of mcp-tui. Leave out --session, or restart it."
                raise TransportError(f"{session_title} {what}")
            case _:
                what = "gave an answer that was not understood. It may be of another version of mcp-tui."
                raise TransportError(f"{session_title} {what}")
        self.info = ServerInfo(
            transport=event.transport,
            revision=REVISIONS[event.revision],
            name=event.server,
            capabilities=capabilities,
            pid=event.pid,
        )
        self._take(event)
        spawn(self._read(reader), name="read the messages of a session")
        return self.info

    async def close(self) -> None:
        """Hangs up; the session cancels what is in flight, and keeps watching it."""
        self.stop_watching(self.now())
        if self._writer is not None:
            self._writer.close()

    # -- requests ----------------------------------------------------------------------------------------------

    async def begin(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, internal: bool = False
    ) -> Request:
        """Makes the session send a request; returns its row.

        Raises:
            TransportError: the session has ended.
        """
        if self._over:
            raise TransportError(f"Session {self._session.name} {self._over}.")
        id_: asyncio.Future[RequestId] = asyncio.get_running_loop().create_future()
        self._begun.append(id_)
        self._ask(MakeCall(method, params, limits or self.settings.limits, internal))
        # Shielded: the caller may be cancelled, and the future must stay in its place for the ids that follow.
        return self._row(await asyncio.shield(id_))

    async def wait(self, id: RequestId) -> ResponseFrame | None:
        """Waits until the outcome of a request is final; returns the response if it counts."""
        # Shielded: a future that is cancelled together with its caller could not be set any more.
        return await asyncio.shield(self._answer(id))

    def cancel(
        self, id: RequestId, cause: Cause = Cause.USER, reason: str = "", *, leave: bool = False
    ) -> CancelOutcome:
        """Makes the session cancel a request."""
        row = self.requests.get(id)
        if row is None or not row.open:
            requested = row is not None and row.state in (State.CANCEL_REQUESTED, State.CANCELLED)
            return CancelOutcome.ALREADY_REQUESTED if requested else CancelOutcome.ALREADY_DONE
        self._ask(CancelCall(id, cause, reason, leave))
        return CancelOutcome.REQUESTED

    async def handle_what_is_due(self, row: Request) -> None:
        """Does nothing: the session handles its limits itself."""

    def stop_watching(self, at: float) -> None:
        """Ends the watching of the requests here; the session keeps watching them."""
        for row in self.requests.order:
            if row.state is State.CANCEL_REQUESTED:
                self._take(ev.Settled(at=at, id=row.id))
            if row.cancel_at is not None and row.unwatched_at is None:
                self._take(ev.Unwatched(at=at, id=row.id, final=True))
        self._over = self._over or "is not listened to any more"

    # -- events ------------------------------------------------------------------------------------------------

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls ``listener`` with every event as it happens; returns a function that ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def report(self, event: ev.Event) -> None:
        """Stores an event and passes it to listeners."""
        self.store.event(event)
        notify(tuple(self._listeners), event)

    def _take(self, event: ev.Event) -> None:
        self.requests.apply(event)
        self.report(event)

    def _row(self, id_: RequestId) -> Request:
        row = self.requests.get(id_)
        if row is None:
            raise ValueError("a request that was not reported")
        return row

    def _answer(self, id_: RequestId) -> asyncio.Future[ResponseFrame | None]:
        if id_ not in self._answers:
            self._answers[id_] = asyncio.get_running_loop().create_future()
            if self._over:
                self._answers[id_].set_result(None)
        return self._answers[id_]

    # -- lines -------------------------------------------------------------------------------------------------

    def _ask(self, wish: MakeCall | CancelCall) -> None:
        if self._writer is not None and not self._writer.is_closing():
            write_line(self._writer, wish.line())

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError, ValueError):  # A broken connection counts as a closed one.
            while line := await reader.readline():
                if not self._over:
                    self._receive(line)
        if not self._over:
            self._end("has ended")

    def _receive(self, line: bytes) -> None:
        try:
            self._take_message(read_message(line))
        except UnknownEvent:
            pass  # A later version has more events.
        except Exception:  # noqa: BLE001 - whatever it is, nobody knows what becomes of the requests
            self._end("sent what is not understood, and may be of another version of mcp-tui")
            if self._writer is not None:
                self._writer.close()  # The session then cancels the requests.

    def _take_message(self, message: Happened | CallMade | CallOver | None) -> None:
        match message:
            case Happened(event):
                self._take(event)
            case CallMade(id_):
                row = self._row(id_)
                self._begun.popleft().set_result(row.id)
            case CallOver(id_, response, status):
                row = self._row(self.requests.order[-1].id if id_ is None else id_)
                if status:
                    self.refusals[row.id] = RefusedResponse(status)
                encoded = b"" if response is None else messages.encode(response)
                self._answer(row.id).set_result(messages.response_in(encoded, row.id) if encoded else None)
            case None:
                pass

    def lost(self, detail: str, *, expected: bool = False) -> None:
        """Marks the requests in flight as lost."""
        at = self.now()
        ids = tuple(row.id for row in self.requests.order if row.open)
        for id_ in ids:
            self._take(ev.Lost(at=at, id=id_, detail=detail))
        self._take(ev.Disconnected(at=at, detail=detail, expected=expected, after=None, ids=ids))

    def _end(self, why: str) -> None:
        """Marks all requests as lost, because the session has ended, or cannot be understood."""
        self._over = why
        self.lost(f"the session {why}")
        while self._begun:
            begun = self._begun.popleft()
            begun.set_exception(TransportError(f"Session {self._session.name} {why}."))
            begun.exception()  # Marks the error as read, because no caller may be waiting.
        for answer in self._answers.values():
            if not answer.done():
                answer.set_result(None)
