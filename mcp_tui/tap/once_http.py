"""The guard of ``tap --once`` over HTTP. Most repeats arrive on another connection, in another session.

A call that can be no repeat (:meth:`OnceGuard.outlook`) is noted (:mod:`mcp_tui.tap.once_notes`) and sent before it is read,
and while no call waits for an answer, answers pass before they are read. What is unread is read together, a moment later or
before anything is decided. An exchange that ends without an answer is read at once.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import monotonic
from typing import Any, Final, Protocol

from mcp_tui.protocol import messages
from mcp_tui.protocol.json_values import as_object
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.repeats import PARALLEL_SECONDS
from mcp_tui.protocol.revisions import META_PROTOCOL_VERSION
from mcp_tui.tap import recorder_records
from mcp_tui.tap.event_pipe import EVENT_BYTES
from mcp_tui.tap.http_heads import as_head
from mcp_tui.tap.once import Action, Call, OnceGuard, Outlook, Sent, client_of, members, messages_in
from mcp_tui.tap.once_log import GuardLog
from mcp_tui.transport.http_bodies import EVENT_STREAM_TYPE, EventBlocks, fields_of
from mcp_tui.transport.http_errors import media_type

UNSURE: Final = (408, *range(500, 600))
"""Statuses that do not say whether the server has done the work."""


UNREAD_SECONDS: Final = 0.05
"""Seconds after which what has passed unread is read."""

_ANSWERING: Final = (b'"result"', b'"error"')

_NO_CALL: Final = (b"cancelled", b"initialize", b"tools/list", b"\\u00", b"\\/")
"""What a request may be if it has one of these; the last two are escapes that may hide a name."""


class GuardedExchange(Protocol):
    """An exchange, as the guard uses it. :class:`~mcp_tui.tap.http_tap.ProxiedExchange` describes each member."""

    number: int
    session: str
    client: str
    calls: list[Call]
    owed: int
    forwards: bool

    @property
    def listens(self) -> bool: ...
    def answer(self, message: bytes, *, last: bool, kind: bytes = ...) -> None: ...
    def settle(self) -> None: ...
    def release(self) -> None: ...


class GuardedTap(Protocol):
    """A tap, as the guard uses it. :class:`~mcp_tui.tap.http_tap.HttpTap` describes each member."""

    @property
    def exchanges(self) -> Mapping[int, GuardedExchange]: ...
    def record(self, kind: bytes, data: bytes = b"", number: int = 0) -> None: ...


class AnswerReader:
    """Finds the messages in a copy of a response, each as soon as it is complete."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._events = EventBlocks(EVENT_BYTES) if media_type(headers) == EVENT_STREAM_TYPE else None
        self._body = bytearray()
        encoding = headers.get("content-encoding", "identity").strip().lower()
        self._decoder: Any = zlib.decompressobj(47) if encoding in ("gzip", "x-gzip", "deflate") else None
        self._readable = self._decoder is not None or encoding in ("", "identity")

    def feed(self, data: bytes) -> Iterator[tuple[dict[str, Any], int]]:
        """Yields each message that these bytes complete, with its size."""
        if not self._readable:
            return
        try:
            data = data if self._decoder is None else self._decoder.decompress(data)
        except zlib.error:
            self._readable = False
            return
        if self._events is not None:
            for event in self._events.feed(data):
                if isinstance(event, bytes) and (said := fields_of(event)[1]):
                    yield from _read(said)
            return
        self._body += data
        # Done before the last bytes pass, because a client may continue as soon as it has them.
        if data.rstrip().endswith((b"}", b"]")) and (found := [*_read(bytes(self._body))]):
            self._body.clear()
            yield from found


def _read(data: bytes) -> Iterator[tuple[dict[str, Any], int]]:
    try:
        read: Any = json.loads(data)
    except (ValueError, RecursionError):
        return
    for each in members(read):
        if isinstance(each, dict):
            yield as_object(each), len(data)


class HttpGuard:
    """Delays requests and delivers answers for the exchanges of a tap over HTTP."""

    def __init__(self, tap: GuardedTap, guard: OnceGuard, log: GuardLog) -> None:
        self._tap = tap
        self._guard = guard
        self._log = log
        self._clients: dict[str, str] = {}
        """The clients of sessions."""
        self._last = ""
        self._lists: list[tuple[int, str, Any]] = []
        self.streams: dict[str, GuardedExchange] = {}
        """The streams over HTTP+SSE, by the targets to which the messages of their sessions go."""
        self._timer: asyncio.TimerHandle | None = None
        self._unread: list[Callable[[], None]] = []
        """The reading of what has passed unread, in order."""
        self._unread_since = 0.0
        self._answered: set[int] = set()
        """The exchanges in which an answer has passed."""
        self._outlook: Outlook | None = None
        """What may pass unread; ``None`` after a change."""
        self._noted = ""
        """The client that the notes name."""
        self._numbers: dict[int, int] = {}
        """The numbers of the noted calls, by those of their exchanges."""
        if log.notes is not None:
            log.notes.memory[1] = 1

    # -- passed before it is read ------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Reads what has passed unread, if something has."""
        if self._unread:
            self._catch_up()

    def _catch_up(self) -> None:
        """Reads what has passed unread, because something is about to be decided or to change."""
        unread, self._unread = self._unread, []
        if unread:
            with self._log.together():
                for read in unread:
                    read()
            self._numbers.clear()
            if self._log.notes is not None:
                self._log.notes.calls.clear()
                self._log.notes.answers.clear()
        self._outlook = None

    def _read_later(self, read: Callable[[], None], at: float) -> None:
        if not self._unread:
            self._unread_since = at
            asyncio.get_running_loop().call_later(UNREAD_SECONDS, self.catch_up)
        self._unread.append(read)

    def _look_out(self) -> Outlook:
        self._outlook = self._outlook or self._guard.outlook()
        return self._outlook

    def _sends(self, exchange: GuardedExchange, body: bytes) -> bool:
        """Whether a request is a call that may be sent before it is read; notes it, if so."""
        notes, at = self._log.notes, monotonic()
        if notes is None or b'"tools/call"' not in body or body[:1] != b"{" or self._log.has_news:
            return False
        if exchange.session in self.streams or any(each in body for each in _NO_CALL):
            return False
        client = self._clients.get(exchange.session, self._last)
        if client != self._noted:
            self._catch_up()  # The notes have one client.
            self._log.set_client(client)
            self._noted = client
        if self._unread and at - self._unread_since >= PARALLEL_SECONDS:
            return False  # An equal call may be a repeat by now.
        outlook, line = self._look_out(), body.replace(b"\n", b" ") + b"\n"
        if at >= outlook.free_until and any(each in body for each in outlook.names):
            return False
        if self._log.notes is None or not notes.calls.add(at, line):
            return False
        self._numbers[exchange.number] = -len(self._numbers) - 1
        self._read_later(partial(self._read, exchange, line, at), at)
        return True

    def _read(self, exchange: GuardedExchange, line: bytes, at: float) -> None:
        for message in messages_in(line):
            self._passes(exchange, message, at, has_passed=True)

    # -- requests ----------------------------------------------------------------------------------------------

    def asked(self, exchange: GuardedExchange, body: bytes) -> bytes:
        """Returns the part of a request that is sent to the server: its whole body, some messages, or nothing."""
        if self._sends(exchange, body):
            return body
        self._catch_up()
        try:
            message: Any = json.loads(body)
        except (ValueError, RecursionError):
            return body
        every = members(message)
        kept = [each for each in every if self._passes(exchange, as_object(each), monotonic())]
        if len(kept) == len(every):
            return body
        return messages.encode(kept) if kept else b""

    def _passes(
        self, exchange: GuardedExchange, message: dict[str, Any], at: float, *, has_passed: bool = False
    ) -> bool:
        params, session = as_object(message.get("params")), exchange.session
        meta = as_object(params.get("_meta"))
        match message.get("method"):
            case "initialize":
                exchange.client = self._last = party(params.get("clientInfo"))
                if session:
                    self._clients[session] = exchange.client
            case "tools/list":
                self._lists = [*self._lists[-100:], (exchange.number, session, message.get("id"))]
            case "notifications/cancelled":
                return self._cancels(params.get("requestId"), session, at)
            case "tools/call":
                client = client_of(message, self._clients.get(session, self._last))
                modern = META_PROTOCOL_VERSION in meta
                call = self._guard.read(
                    message,
                    client,
                    at,
                    scope=exchange.number,
                    session="" if modern else session,
                    modern=modern,
                )
                call = self._guard.guarded(call)
                if call is not None and has_passed:
                    exchange.calls.append(call)
                    self._guard.passed(call, at)
                    self._record(call, "sent", None)
                elif call is not None:
                    return self._called(exchange, call, at)
            case _:
                pass
        return True

    def _called(self, exchange: GuardedExchange, call: Call, at: float) -> bool:
        for tap, lines, why in self._log.others():
            self._guard.remember(tap, lines, why, at)
        exchange.calls.append(call)
        actions = self._guard.called(call, at)
        if any(isinstance(each, Sent) for each in actions):
            self._record(call, "sent", None)
            return True
        exchange.owed += 1
        if call.first is not None:
            self._record(call, "waits", call.first)
            self._set_timer()
        # Behind what holds the request.
        asyncio.get_running_loop().call_soon(self._do, actions)
        return False

    def _cancels(self, id_: Any, session: str, at: float) -> bool:
        self._catch_up()
        call = self._guard.find(id_, session=session)
        if call is None or not session:
            self._guard.crossed(id_, at, session=session)
            return True
        passes = self._guard.cancels(call, at)
        self._set_timer()
        return passes

    def cancelled_by_tap(self, body: str, session: str) -> bool:
        """Whether the tap sends a message of its own: not the cancel of a call that the server never got."""
        message: Any = json.loads(body)
        if message.get("method") != "notifications/cancelled":
            return True
        return self._cancels(as_object(message.get("params")).get("requestId"), session, monotonic())

    def ended_by_tap(self, id_: Any, exchange: int, session: str) -> None:
        """Notes that the tap has answered a call in the server's place."""
        self._catch_up()
        call = self._guard.find(id_, scope=exchange) or (
            self._guard.find(id_, session=session) if session else None
        )
        if call is not None:
            self._guard.gave_up(call, monotonic())

    def allow(self, id_: Any, session: str) -> None:
        """Lets the next call through that is equal to a refused one."""
        self._catch_up()
        self._guard.allow(id_, session)

    # -- responses ---------------------------------------------------------------------------------------------

    def began(self, exchange: GuardedExchange, headers: Mapping[str, str]) -> AnswerReader:
        """Notes the head of a response."""
        if exchange.client and (named := headers.get("mcp-session-id", "")):
            self._clients[named] = exchange.client
        return AnswerReader(headers)

    def passing(self, exchange: GuardedExchange, reader: AnswerReader, data: bytes) -> None:
        """Takes a part of a response before it passes to the client."""
        at, delivered = monotonic(), exchange.listens
        if delivered and any(each in data for each in _ANSWERING):
            self._answered.add(exchange.number)
        if self._look_out().is_awaited:
            self._catch_up()
            self._take(exchange, reader, data, at, delivered=delivered)
        else:
            self._read_later(partial(self._take, exchange, reader, data, at, delivered=delivered), at)

    def _take(
        self, exchange: GuardedExchange, reader: AnswerReader, data: bytes, at: float, *, delivered: bool
    ) -> None:
        for message, size in reader.feed(data):
            self._do(self._message(exchange, message, size, at, delivered=delivered))

    def _message(
        self, exchange: GuardedExchange, message: dict[str, Any], size: int, at: float, *, delivered: bool
    ) -> list[Action]:
        params, id_ = as_object(message.get("params")), message.get("id")
        if message.get("method") == "notifications/progress":
            token, of = params.get("progressToken"), exchange.session
            found = [
                each
                for each in self._guard.open
                if token is not None
                and each.token == token
                and (each in exchange.calls or each.session == of != "")
            ]
            return self._guard.progressed(found[-1], params, at) if found else []
        if "method" in message or "id" not in message:
            return []
        self._guard.initialized(message.get("result"))
        for listed in self._lists:
            if listed[2] == id_ and (listed[0] == exchange.number or listed[1] == exchange.session != ""):
                self._lists.remove(listed)
                self._guard.safe.listed(message.get("result"))
                return []
        session = exchange.session
        call = self._guard.find(id_, scope=exchange.number)
        call = call or (self._guard.find(id_, session=session) if session else None)
        if call is None or call.first is not None:
            return []
        return self._guard.answered(call, message, size, at, delivered=delivered)

    def over(self, exchange: GuardedExchange, status: int, why: str, *, connected: bool) -> None:
        """Notes the end of an exchange with the server; ``connected``: there was a connection."""
        at = monotonic()
        read = partial(self._ended, exchange, status, why, at, connected=connected)
        is_answered = exchange.number in self._answered and status == 200 and not why
        self._answered.discard(exchange.number)
        # Of a batch, only some calls may be answered.
        if is_answered and len(exchange.calls) <= 1 and not self._look_out().is_awaited:
            self._read_later(read, at)
            own = [each.number for each in exchange.calls if each.given_up_at is None]
            if number := self._numbers.get(exchange.number, sum(own)):
                # In the next turn, after the answer was passed to the client.
                asyncio.get_running_loop().call_soon(self._note_answer, number, self._unread)
        else:
            self._catch_up()
            read()

    def _note_answer(self, number: int, unread: list[Callable[[], None]]) -> None:
        notes, line = self._log.notes, b'{"settled":%d}\n' % number
        # Otherwise it was read in the meantime, and the number may be that of another call.
        if self._unread is unread and notes is not None and not notes.answers.add(0.0, line):
            self._catch_up()

    def _ended(self, exchange: GuardedExchange, status: int, why: str, at: float, *, connected: bool) -> None:
        if self.streams.get(exchange.session) is exchange:
            del self.streams[exchange.session]
            self._do(self._guard.ended("the event stream of its session ended", at, session=exchange.session))
            return
        sse = exchange.session in self.streams and 200 <= status < 300
        for call in exchange.calls:
            if call.first is not None:
                if exchange.session not in self.streams:  # otherwise the client waits for the stream
                    self._guard.gave_up(call, at)
            elif call.answer is None and not call.unknown and call in self._guard.open and not sse:
                if (status and not 200 <= status < 300 and status not in UNSURE) or not connected:
                    self._do(self._guard.refused_by_server(call, at))
                else:
                    what = f"the server answered HTTP {status}" if status in UNSURE else why
                    self._do(self._guard.lost(call, what or "its stream ended without an answer", at))

    def left(self, exchange: GuardedExchange) -> bool:
        """Notes that a client closed its connection; returns whether the server's is kept for the answer.

        Until 2025-11-25 a closed connection cancels nothing, so the answer may still arrive.
        """
        self._catch_up()
        open_ = [each for each in exchange.calls if each in self._guard.open and each.first is None]
        for each in open_ if not any(each.modern for each in open_) else ():
            self._guard.gave_up(each, monotonic())
        return bool(open_) and not any(each.modern for each in open_)

    # -- what is done ------------------------------------------------------------------------------------------

    def _do(self, actions: list[Action]) -> None:
        for each in actions:
            exchange = self._tap.exchanges.get(each.call.scope)
            if isinstance(each, Sent):
                self._record(each.call, "sent", None)
                if exchange is not None:
                    exchange.release()
                continue
            if each.last:
                self._record(each.call, each.how, each.of)
            stream = self.streams.get(each.call.session)
            raw = messages.encode(each.message)
            kind = recorder_records.GUARD_ANSWER if each.last else recorder_records.OWN_TO_CLIENT
            if stream is not None:
                stream.answer(raw, last=False, kind=kind)
            elif exchange is not None:
                exchange.owed -= each.last
                exchange.answer(
                    raw, last=each.last and not exchange.owed and not exchange.forwards, kind=kind
                )
                exchange.settle()

    def accept(self, exchange: GuardedExchange) -> None:
        """Accepts a delayed request over HTTP+SSE, whose answer is sent on the stream."""
        self._tap.record(recorder_records.RESPONSE, as_head(b"202", []), exchange.number)

    def _record(self, call: Call, how: str, of: Call | None) -> None:
        here = (
            of is not None and of.session == call.session and (bool(call.session) or of.scope == call.scope)
        )
        about = {"id": call.id, "how": how, "of": None if of is None else of.id, "here": here}
        stream = self.streams.get(call.session)
        number = call.scope if stream is None else stream.number
        if number in self._tap.exchanges:
            self._tap.record(recorder_records.GUARD, json.dumps(about).encode(), number)

    def _set_timer(self) -> None:
        due = self._guard.due
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, due - monotonic()) + 0.01, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._catch_up()
        self._do(self._guard.tick(monotonic()))
        self._set_timer()

    def close(self) -> None:
        """Ends the log."""
        self._catch_up()
        self._log.close(empty=self._guard.is_empty)
