"""The tap over HTTP: a reverse proxy on loopback, between any client and a server behind a URL.

One event loop hands the bytes on as they arrive. The recorder (:mod:`mcp_tui.tap.http_recorder`) is a separate process and
gets a copy, which is queued before the bytes leave. Both sides of an exchange end together: when the client closes its
connection, that to the server is closed, and the other way round. So a cancel of 2026-07-28 passes like anything else.

Each request of the client has an exchange of its own with the server (:class:`ProxiedExchange`). To act, the recorder asks
for a pause, as over stdio: no answer passes until it has decided. Then it orders an answer in the server's place
(:meth:`ProxiedExchange.answer`), the end of an exchange (:meth:`ProxiedExchange.close`), or a message of the tap itself
(:meth:`HttpTap._post`).

The protocol between tap and recorder is in :mod:`mcp_tui.tap.recorder_records`.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

import h11

from mcp_tui.client.auth.authorization import Authorization
from mcp_tui.config.once_policy import OncePolicy
from mcp_tui.protocol.http_access import OWN_ACCESS, HttpAccess, joined_headers
from mcp_tui.tap import recorder_records
from mcp_tui.tap.compressed_pipe import WRAPPED, CompressedPipe
from mcp_tui.tap.event_pipe import EventPipe, as_event, with_data
from mcp_tui.tap.http_addresses import ServerAddresses
from mcp_tui.tap.http_heads import OF_CLIENT, Headers, as_head, end_to_end
from mcp_tui.tap.pipes import warn
from mcp_tui.tap.recorder_link import Queue, RecorderLink
from mcp_tui.tap.recorder_process import RecorderProcess
from mcp_tui.tap.relay import CLIENT_LOOK_SECONDS, PAUSE_SECONDS, SWITCH
from mcp_tui.tap.withheld_answers import WithheldAnswers
from mcp_tui.transport.base import Challenge, spawn
from mcp_tui.transport.h11_client import Body, H11Client, H11Connection, PlainResponse, plain_head
from mcp_tui.transport.http_bodies import EVENT_STREAM_TYPE, JSON_TYPE, fields_of
from mcp_tui.transport.http_client import nothing
from mcp_tui.transport.http_errors import EXPECTED, foreign_encoding, is_never_connected, media_type
from mcp_tui.transport.targets import HttpTarget

if TYPE_CHECKING:
    from mcp_tui.config.tap_words import TapOptions
    from mcp_tui.tap.once import Call
    from mcp_tui.tap.once_http import HttpGuard

ADDRESS: Final = "127.0.0.1"
"""The tap accepts connections only from this machine."""

HEAD_BYTES: Final = 64 * 1024
"""The maximum size of the request line and all headers, in bytes."""

WAITING_BYTES: Final = 1 << 20
"""Bytes from the client that may wait for the server before the tap stops reading."""

UPSTREAM_CONNECT_SECONDS: Final = 30.0

ASKED_BYTES: Final = 128 * 1024 * 1024
"""Bytes of a request up to which the guard looks at it; a longer one passes."""

REFUSED_SIGN_IN: Final = (401, 403)

_BARE: Final = h11.Response(status_code=200, headers=[("Content-Length", "0")])
"""A response with only what h11 has to know before it reads the next request."""

_REQUEST_EVENTS: Final = (h11.Request, h11.Data, h11.EndOfMessage)

AGAIN_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a request that can be sent again with a new token."""


def still_reads(peer: tuple[str, int], own: tuple[str, int]) -> bool:
    """Whether a process still has the other end of a connection on this machine, of which it has ended its own direction.

    Only Linux says so; elsewhere the end of one direction counts as the end of both.
    """
    try:
        lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    numbers = [(int.from_bytes(socket.inet_aton(host), sys.byteorder), port) for host, port in (peer, own)]
    ends = [f"{host:08X}:{port:04X}" for host, port in numbers]
    return any(fields[1:3] == ends and fields[9] != "0" for fields in map(str.split, lines))


class ClientConnection(asyncio.Protocol):
    """A connection from the client, whose requests are answered one by one."""

    def __init__(self, tap: HttpTap) -> None:
        self.tap = tap
        self.number = next(tap.numbers)
        self.exchange: ProxiedExchange | None = None
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self._parts: list[bytes] = []
        self.is_corked = False
        """Whether the sender calls :meth:`flush` itself."""
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = False
        """Whether the client has ended its direction of the connection."""
        self._is_head = self.is_as_read = self._is_paced = False
        self._early = 0
        """Bytes received while the last request is unanswered."""

    # -- what asyncio reports ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.tap.connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self.exchange is not None and self.exchange.is_complete:
            self._early += len(data)
            self.pace(paused=self._early > WAITING_BYTES)
        self._http.receive_data(data)
        self._proceed()

    @property
    def _is_asked(self) -> bool:
        """Whether a request is complete."""
        return self._http.their_state in (h11.DONE, h11.MUST_CLOSE)

    def eof_received(self) -> bool:
        """Keeps a connection that the client closed in one direction, because it may still wait for the response."""
        self._ended = True
        if not self._is_asked:
            return False
        self._look(0.01)
        return self.exchange is not None

    def _look(self, pause: float) -> None:
        if self.exchange is None:
            return
        if still_reads(*(self.transport.get_extra_info(name) for name in ("peername", "sockname"))):
            asyncio.get_running_loop().call_later(pause, self._look, min(3 * pause, CLIENT_LOOK_SECONDS))
        else:
            self.transport.close()
            self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.tap.connections.discard(self)
        self._writable.set()
        if self.tap.guard is not None:
            self.tap.guard.catch_up()  # The recorder must know before this which calls are guarded.
        # Recorded before the exchange ends because of it, or the server would seem to have ended it.
        self.tap.record(recorder_records.CLIENT_LEFT, number=self.number)
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.left()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def pace(self, *, paused: bool) -> None:
        """Stops reading from the client, or continues."""
        if paused is not self._is_paced and not self.transport.is_closing():
            self._is_paced = paused
            (self.transport.pause_reading if paused else self.transport.resume_reading)()

    # -- the request -------------------------------------------------------------------------------------------

    def _proceed(self) -> None:
        try:
            # By type, because isinstance() takes longer for the classes of h11.
            event: Any
            while (kind := type(event := self._http.next_event())) in _REQUEST_EVENTS:
                if kind is h11.Request:
                    self._begin(event)
                elif self.exchange is None:
                    pass  # refused
                elif kind is h11.Data:
                    self.exchange.take(bytes(event.data))
                else:
                    self.exchange.complete()
                    self.exchange.start()
                    if not self._http.trailing_data[0]:
                        break
            if self.exchange is not None:
                self.exchange.start()
        except h11.RemoteProtocolError as error:
            broken, self.exchange = self.exchange, None
            if broken is not None and not broken.is_complete:
                broken.abandon()  # The rest of the request never comes.
            is_long = error.error_status_hint == 431
            if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                said = (
                    "The headers of the client's request are too long."
                    if is_long
                    else "This is not valid HTTP."
                )
                self.refuse(error.error_status_hint, said)
            self.close()
        if self._ended and not self._is_asked:
            self.flush()
            self.transport.close()
        elif self._ended:
            self._look(0.01)

    def _begin(self, head: h11.Request) -> None:
        headers = joined_headers(head.headers)
        self._is_head = head.method == b"HEAD"
        if why := self.tap.access.refusal(headers):
            self.tap.report_refusal(why)
            self.refuse(403, why)
        # A request with a full URL expects a proxy to any server, and this one has a token for one.
        elif not head.target.startswith(b"/") or b"#" in head.target:
            self.refuse(400, "The target of a request must be a path, with a query or without.")
        else:
            if self._http.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self.exchange = ProxiedExchange(self, head, headers)

    # -- the response ------------------------------------------------------------------------------------------

    def refuse(self, status: int, why: str) -> None:
        """Responds with an error as text, and closes the connection."""
        self.respond(
            status,
            [(b"Connection", b"close")],
            f"mcp-tui tap: {why}\n".encode(),
            b"text/plain; charset=utf-8",
        )

    def respond(self, status: int, headers: Headers, body: bytes, media: bytes) -> None:
        """Sends a complete response."""
        self.begin(status, [*headers, (b"Content-Type", media), (b"Content-Length", b"%d" % len(body))])
        self.send(b"" if self._is_head else body)
        self.end()

    def begin(self, status: int, headers: Headers, reason: bytes = b"", *, as_read: bool = False) -> None:
        """Sends the head of a response. With ``as_read``, h11 has read the headers, and they have the length of the body."""
        is_usual = self._http.their_state is h11.DONE and not (self._is_head or status in (204, 304))
        self.is_as_read = as_read and is_usual
        if self.is_as_read:
            # h11 has checked all of this when it was read.
            self._write(plain_head(b"HTTP/1.1 %d %b" % (status, reason), headers))
        else:
            self._send(h11.Response(status_code=status, headers=list(headers), reason=reason))

    def send(self, data: bytes) -> None:
        """Sends a part of the body."""
        if data and self.is_as_read:
            self._write([data])
        elif data:
            self._send(h11.Data(data=data))

    def end(self) -> None:
        """Ends the response; the next request may have arrived already."""
        self.exchange = None
        if self.is_as_read:
            self._http.send(_BARE)  # h11 only has to know that there was a response.
        self._send(h11.EndOfMessage())
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._early = 0
            self.pace(paused=False)
            if self._http.trailing_data[0] or self._ended:
                # In the next turn: a refusal comes from within _proceed, which must not run inside itself.
                asyncio.get_running_loop().call_soon(self._proceed)
        else:
            self.close()

    def close(self) -> None:
        """Closes the connection after the written bytes, even if the response is incomplete."""
        self.exchange = None
        self.flush()
        self.transport.close()

    @property
    def is_writable(self) -> bool:
        """Whether the client has read enough for more to be sent."""
        return self._writable.is_set()

    async def drain(self) -> None:
        """Waits until the client has read enough."""
        await self._writable.wait()

    def _send(self, event: h11.Event) -> None:
        self._write(self._http.send_with_data_passthrough(event) or ())

    def _write(self, parts: Iterable[bytes]) -> None:
        """Writes in the next turn of the loop, together with all else of this turn, unless it was flushed."""
        if not self._parts and not self.is_corked:
            asyncio.get_running_loop().call_soon(self.flush)
        self._parts += parts

    def flush(self) -> None:
        """Writes all events now."""
        parts, self._parts = self._parts, []
        if parts and not self.transport.is_closing():
            self.transport.write(b"".join(parts))


class ProxiedExchange:
    """One request of the client, and the response to it."""

    def __init__(self, connection: ClientConnection, head: h11.Request, headers: dict[str, str]) -> None:
        self.tap = tap = connection.tap
        self.number = next(tap.numbers)
        self.method = head.method.decode("latin-1")
        given = head.headers.raw_items()
        self.headers = end_to_end(given, OF_CLIENT)
        self._signed_in = tap.addresses.signs_in(self.method, head.target, headers)
        self.address = tap.addresses.of(head.target, signed_in=self._signed_in)
        named = headers.get("mcp-session-id", "")
        target = head.target.decode("latin-1")
        self.session = target if tap.guard is not None and target in tap.guard.streams else named
        """The id of the session, or its target over HTTP+SSE; empty if it is not known here."""
        self.client = ""
        """The name of the client, if the body has an ``initialize``."""
        self.calls: list[Call] = []
        """Its guarded calls."""
        self.owed = 0
        """The answers that the guard has to give."""
        self.forwards = False
        """Whether any of it is sent to the server."""
        self._status = 0
        self._connected = True
        self._answers = tap.withheld_in.get(named or head.target.decode("latin-1"))
        """The withheld answers of its session; a new request with the same id lets one pass."""
        self.withheld = self._answers if self.method == "GET" else None
        """The answers that are withheld from its response."""
        self._connection = connection
        self._opens_stream = self.method == "GET" and not named
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._passed: list[bytes] | None = [] if tap.renews and self._signed_in else None
        """The body so far, if it may have to be sent again; else ``None``."""
        self._size = 0
        self._changed: asyncio.Event | None = None
        """Set when there is more of the body, or a change of what the guard owes; ``None`` unless a task waits for that."""
        self.is_complete = False
        self._begun = False
        """Whether the head of the response was sent to the client."""
        self._pipe: EventPipe | CompressedPipe | None = None
        self._is_converted = self._is_answer = False
        """Whether the body goes into an event stream that the tap has begun; whether it is an answer for that."""
        self._answer: list[bytes] = []
        self._has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        tap.exchanges[self.number] = self
        self._put(
            recorder_records.REQUEST,
            as_head(b"%d %b %b" % (connection.number, head.method, head.target), given),
        )
        # The guard can read a body only when all of it has arrived.
        held = tap.guard is not None and self.method == "POST" and "content-encoding" not in headers
        self._is_looked_at = held and self._has_body
        self._is_started = False
        self._task: asyncio.Task[None] | None = None
        self._upstream: H11Connection | None = None
        """The connection to the server, while no task waits for it."""

    def _put(self, kind: bytes, data: bytes = b"") -> None:
        """Records something of the traffic."""
        queue = self.tap.queue
        queue.add(kind, monotonic(), data, self.number)
        if queue.asleep:
            queue.wake()

    # -- from the client ---------------------------------------------------------------------------------------

    @property
    def listens(self) -> bool:
        """Whether the client waits for the response, or for more of it."""
        return self._connection.exchange is self

    def take(self, data: bytes) -> None:
        """Takes a part of the request's body."""
        self._put(recorder_records.FROM_CLIENT, data)
        if self._answers:
            # If a message arrives in several pieces, the recorder lets its answer pass a little later.
            self._answers.renew(data)
        self._size += len(data)
        if self._passed is not None:
            self._passed.append(data)
            if self._size > AGAIN_BYTES:
                self._passed = None
        self._pieces.append(data)
        self._waiting += len(data)
        if self._waiting > (ASKED_BYTES if self._is_looked_at else WAITING_BYTES):
            self._connection.pace(paused=True)
        self.settle()

    def complete(self) -> None:
        """Notes the end of the request."""
        self._put(recorder_records.REQUEST_END)
        self.is_complete = True
        self.settle()

    # -- the guard of --once -----------------------------------------------------------------------------------

    async def _run_guarded(self) -> None:
        """Runs the exchange as the guard decides: with the whole body, with a part of it, or once the guard releases it."""
        guard = self.tap.guard
        assert guard is not None
        try:
            while not self.is_complete and self._waiting <= ASKED_BYTES:
                await self._change()
            self._is_looked_at = False
            whole = b"".join(self._pieces)
            body = guard.asked(self, whole) if self.is_complete else whole
            if not body and not self.owed:  # a cancel of what was never sent
                self._connection.respond(202, [], b"", b"text/plain")
                guard.accept(self)
            elif not body and self.session in guard.streams:
                self._connection.respond(202, [], b"Accepted", b"text/plain")
                guard.accept(self)
            else:
                await self._wait_behind_guard(whole, body)
        finally:
            if not self.forwards:
                guard.over(self, 0, "", connected=False)
                self._finish("")

    async def _wait_behind_guard(self, whole: bytes, body: bytes) -> None:
        if not body:
            while self.owed and not self.forwards:
                await self._change()
            if not self.forwards:
                return
            body = whole
        self.forwards = True
        if body != whole:
            self.headers = [
                (name, value) for name, value in self.headers if name.lower() != b"content-length"
            ]
            self.headers.append((b"Content-Length", b"%d" % len(body)))
            self.answer(b"", last=False)
        if body is not whole or self.is_complete:
            self._pieces, self._waiting = deque([body]), len(body)
        await self._run(self._exchanged())

    def release(self) -> None:
        """Sends the request after all, because the server did not accept the call that it waited for."""
        self.owed -= 1
        self.forwards = True
        self.settle()

    def settle(self) -> None:
        """Wakes the task that waits for a change."""
        if self._changed is not None:
            self._changed.set()

    async def _change(self) -> None:
        self._changed = asyncio.Event()
        await self._changed.wait()

    def _body(self) -> Body:
        if not self._has_body:
            return None
        if not self.is_complete:
            return self._parts()
        pieces, self._pieces, self._waiting = [*self._pieces], deque(), 0
        self._connection.pace(paused=False)
        return pieces

    async def _parts(self) -> AsyncGenerator[bytes]:
        while self._pieces or not self.is_complete:
            if not self._pieces:
                await self._change()
                continue
            piece = self._pieces.popleft()
            self._waiting -= len(piece)
            if self._waiting <= WAITING_BYTES:
                self._connection.pace(paused=False)
            yield piece

    # -- to the server, and back -------------------------------------------------------------------------------

    def start(self) -> None:
        """Sends the request, or its head if the body is not complete. Starts a task only if it has to wait."""
        if self._is_started:
            return
        self._is_started, client = True, self.tap.client
        is_at_once = self.is_complete and self.tap.guard is None
        if is_at_once and (upstream := client.idle()) is not None:
            try:
                self._token = client.send(
                    upstream,
                    self.method,
                    self.headers,
                    self._body(),
                    signed_in=self._signed_in,
                    to=self.address,
                    is_checked=True,
                )
            except EXPECTED as error:
                upstream.error = error
            self._upstream, upstream.notify = upstream, self._pass_available
            if upstream.error is not None:
                self._pass_available()
        else:
            self._spawn(self._run_guarded() if self._is_looked_at else self._run(self._exchanged()))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = self.tap.spawn(work, f"{self.method} {self.address.host}")

    async def _run(self, work: Awaitable[object]) -> None:
        """Runs the exchange with the server, or the rest of it."""
        client, why, guard = self.tap.client, "", self.tap.guard
        self.forwards = True
        try:
            await work
        except EXPECTED as error:
            why = client.failure_text(error)
            self._connected = not is_never_connected(error)
            if self.listens and not self._begun:
                self._connection.refuse(502, f"{why[:1].upper()}{why[1:]}.")
        finally:
            if guard is not None:
                guard.over(self, self._status, why, connected=self._connected)
            self._finish(why)

    def _finish(self, why: str) -> None:
        if self.listens:
            self._connection.close()
        del self.tap.exchanges[self.number]
        self._put(recorder_records.EXCHANGE_END, why.encode())

    async def _exchanged(self) -> None:
        if not await self._send(self._take, self._body()):
            await self._send(self._pass, b"".join(self._passed or ()))

    async def _send(self, take: Callable[[PlainResponse], Awaitable[bool]], body: Body) -> bool:
        send, to = self.tap.client.exchange, self.address
        return await send(self.method, self.headers, body, take, signed_in=self._signed_in, to=to)

    async def _take(self, response: PlainResponse) -> bool:
        """Passes the response, unless the request is to be sent again; returns whether it passed."""
        if self._passed is not None and await self.tap.renewed(response, self.headers):
            return False
        return await self._pass(response)

    def _pass_available(self) -> None:
        """Passes the part of the response that has arrived; starts a task for the rest as soon as it has to wait."""
        upstream, connection, client = self._upstream, self._connection, self.tap.client
        assert upstream is not None
        connection.is_corked = True
        try:
            while upstream.events and self._is_clear:
                event: Any = upstream.events[0]
                if type(event) is h11.Response:
                    if self._passed is not None and event.status_code in REFUSED_SIGN_IN:
                        break
                    self._begin(client.response(upstream.take(), upstream, self._token))
                elif type(upstream.take()) is h11.Data:
                    self._part(bytes(event.data))
                else:
                    if connection.is_as_read:
                        connection.flush()  # The client need not wait for what is left to do here.
                    self._end()
                    client.release(upstream)
                    self._finish("")
                    return
        except BaseException:
            upstream.abort()
            self._finish("")
            raise
        finally:
            connection.is_corked = False
            connection.flush()
        if upstream.events or upstream.error is not None:
            upstream.notify = nothing
            self._spawn(self._run(self._continued(upstream)))

    async def _continued(self, upstream: H11Connection) -> None:
        client = self.tap.client
        try:
            if self._status:
                await self._pass_rest(upstream)
            elif not await self._take(client.response(await upstream.event(), upstream, self._token)):
                upstream.abort()
                await self._send(self._pass, b"".join(self._passed or ()))
        except BaseException:
            upstream.abort()
            raise
        client.release(upstream)

    @property
    def _is_clear(self) -> bool:
        """Whether a part of the response can pass: there is no pause, and the client has read enough."""
        return self.tap.free.is_set() and (not self.listens or self._connection.is_writable)

    async def _wait(self) -> None:
        while not self._is_clear:
            await self.tap.free.wait()
            if self.listens:
                await self._connection.drain()

    async def _pass(self, response: PlainResponse) -> bool:
        await self._wait()
        self._begin(response)
        await self._pass_rest(response.body)
        return True

    async def _pass_rest(self, body: AsyncIterable[bytes]) -> None:
        async for data in body:
            await self._wait()
            self._part(data)
        await self._wait()
        while self.owed > 0 and self.listens:  # other members of a batch
            self._send_answer()
            await self._change()
        self._end()

    # These run only outside of a pause. So when the recorder decides, it has read all that the client has got.

    def _begin(self, response: PlainResponse) -> None:
        """Passes the head of the response."""
        headers = end_to_end(response.raw)
        names = response.headers
        # h11 writes Host first, wherever it was.
        as_read = len(headers) == len(response.raw) and "content-length" in names and "host" not in names
        if "location" in response.headers:
            named = partial(
                self.tap.addresses.through_tap,
                signed_in=self._signed_in and response.status in (307, 308),
            )
            headers = [(key, named(value) if key.lower() == b"location" else value) for key, value in headers]
            as_read = False
        self._put(recorder_records.RESPONSE, as_head(b"%d" % response.status, response.raw))
        self._status, guard = response.status, self.tap.guard
        self._reader = None if guard is None else guard.began(self, response.headers)
        encoding = foreign_encoding(response.headers)
        streams = media_type(response.headers) == EVENT_STREAM_TYPE and (not encoding or encoding in WRAPPED)
        self._is_converted = self._pipe is not None and (bool(encoding) or not streams)
        self._is_answer = self._is_converted and not encoding and media_type(response.headers) == JSON_TYPE
        # To a stream of a known length nothing can be added.
        if self._pipe is None and streams and "content-length" not in response.headers:
            pipe = EventPipe(lambda: self.withheld, self._named if self._opens_stream else None)
            self._pipe = CompressedPipe(pipe, encoding) if encoding else pipe
        if self.listens and not self._begun:
            self._begun = True
            self._connection.begin(response.status, headers, response.reason, as_read=as_read)

    def _part(self, data: bytes) -> None:
        """Passes a part of the body."""
        self._put(recorder_records.FROM_SERVER, data)
        if self.tap.guard is not None and self._reader is not None:
            self.tap.guard.passing(self, self._reader, data)
        if self.listens and not self._is_converted:
            self._connection.send(data if self._pipe is None else self._pipe.feed(data))
        elif self._is_answer:
            self._answer.append(data)

    def _end(self) -> None:
        """Ends the response."""
        if self.listens and self._pipe is not None:
            self._send_answer()
            self._connection.send(self._pipe.close())
        if self.listens:
            self._connection.end()

    def _send_answer(self) -> None:
        if self._answer and self._pipe:
            self._connection.send(self._pipe.feed(as_event(b"".join(self._answer))))
            self._answer.clear()

    def _named(self, event: bytes) -> bytes:
        """Returns the ``endpoint`` event of HTTP+SSE with the tap's address instead of the server's."""
        name, data, _ = fields_of(event)
        if name != b"endpoint":
            return event
        target = self.tap.addresses.through_tap(data, signed_in=self._signed_in)
        if self.tap.guard is not None:
            self.session = target.decode("latin-1")
            self.tap.guard.streams[self.session] = self
        return with_data(event, target)

    # -- what the tap does -------------------------------------------------------------------------------------

    def answer(self, message: bytes, *, last: bool, kind: bytes = recorder_records.OWN_TO_CLIENT) -> None:
        """Answers a request of the exchange, in the server's place.

        The ``last`` message ends the response. An empty message only begins it.
        """
        if not self.listens:
            return
        if message:
            self.tap.record(kind, message, self.number)
        connection = self._connection
        if not self._begun and last:
            connection.respond(200, [], message, JSON_TYPE.encode())
        elif self._begun and self._pipe is None:
            connection.close()  # The response has begun with another body, and cannot be replaced.
        else:
            if self._pipe is None:
                self._begun, self._pipe = True, EventPipe(lambda: self.withheld)
                connection.begin(200, [(b"Content-Type", EVENT_STREAM_TYPE.encode())])
            if not message:
                return
            said = self._pipe.say(message, last=last)
            if said is None:
                connection.close()
                return
            connection.send(said)
            if last:
                connection.send(self._pipe.close())
                connection.end()

    def left(self) -> None:
        """Closes the connection to the server, because the client has closed its own, unless the guard waits there."""
        if self.tap.guard is None or not self.tap.guard.left(self):
            self.close()

    def close(self) -> None:
        """Closes the connection to the server, in the next turn: an answer may still be given in this one."""
        asyncio.get_running_loop().call_soon(self.abandon)

    def abandon(self) -> None:
        """Ends the exchange before it is complete."""
        if self._task is not None:
            self._task.cancel()
        elif self.number in self.tap.exchanges:
            if self._upstream is not None:
                self._upstream.abort()
            self._finish("")


class HttpTap:
    """A running tap over HTTP. ``begin`` are its options for the recording, ``access`` decides which requests pass."""

    queue: Queue

    def __init__(
        self,
        target: HttpTarget,
        tokens: Authorization | None,
        begin: TapOptions,
        recorder: RecorderProcess,
        access: HttpAccess = OWN_ACCESS,
    ) -> None:
        self.addresses = ServerAddresses(target.url)
        self.access = access
        self.client = H11Client(target, connect_timeout=UPSTREAM_CONNECT_SECONDS, tokens=tokens)
        self.connections: set[ClientConnection] = set()
        self.exchanges: dict[int, ProxiedExchange] = {}
        self.numbers = count(1)
        """Numbers for connections and exchanges."""
        self.free = asyncio.Event()
        """Set unless the traffic is paused."""
        self.free.set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.renews = tokens is not None
        self._server: asyncio.Server | None = None
        self._tokens = tokens
        self._advised = False
        self._recorder = recorder
        self._refused = False
        self._begin: recorder_records.HttpBegin = {
            **begin,
            "url": target.url,
            "name": target.name,
            "at": monotonic(),
        }
        self._withheld: dict[int, WithheldAnswers] = {}
        """The withheld answers, by the number of the session."""
        self.withheld_in: dict[str, WithheldAnswers] = {}
        """The same by ``Mcp-Session-Id``, or the target of HTTP+SSE: for streams that are resumed, and new requests."""
        self._pause_limit: asyncio.TimerHandle | None = None
        self.guard: HttpGuard | None = None
        given = begin.get("once")
        policy = OncePolicy.in_settings() if given is None else OncePolicy.given(given)
        if policy is not None:
            # Only with that option, or setting.
            from mcp_tui.tap.once_http import HttpGuard
            from mcp_tui.tap.once_stdio import made

            self.guard = HttpGuard(self, *made(policy, [target.url, sorted(begin.items())], target.name))

    def report_refusal(self, why: str) -> None:
        """Writes once to stderr why a request was refused, because few clients show the body of a 403."""
        if not self._refused:
            self._refused = True
            warn(f"a request was refused. {why}")

    async def renewed(self, response: PlainResponse, headers: Headers) -> bool:
        """Returns whether a request was refused and can be sent again, because the stored sign-in gave a new token."""
        given = any(name.lower() == b"authorization" for name, _ in headers)
        if response.status not in REFUSED_SIGN_IN or self._tokens is None or given:
            return False
        said = response.headers.get("www-authenticate", "")
        renewed = await self._tokens.renew(Challenge(response.status, said, response.sent))
        if not renewed and response.status == 401 and not self._advised:
            self._advised = True
            warn("the server requires sign-in. Use mcp-tui login URL, or have the client send Authorization.")
        return renewed

    # -- orders of the recorder -----------------------------------------------------------------------------------

    def record(self, kind: bytes, data: bytes = b"", number: int = 0) -> None:
        """Queues a record, and wakes the thread that sends records."""
        self.queue.put(kind, data, number)
        if self.queue.asleep:
            self.queue.wake()

    def _obey(self, loop: asyncio.AbstractEventLoop) -> None:
        """Reads the recorder's orders in a thread, and carries them out in the event loop, until the recorder is stopped."""
        while (order := self._link.next()) is not None:
            with suppress(RuntimeError):  # The event loop has ended.
                loop.call_soon_threadsafe(self._carry_out, order)
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self.free.set)

    def _carry_out(self, order: recorder_records.Order) -> None:
        if "hold" in order:
            self.free.clear()
            if self.guard is not None:
                self.guard.catch_up()
            # Recorded after everything that has passed. Nothing passes until the recorder has decided.
            self.queue.put(recorder_records.PAUSED)
        if self._pause_limit is not None:
            self._pause_limit.cancel()
        if "go" in order:
            self.free.set()
        elif not self.free.is_set():
            # A recorder that has died must not pause the traffic for ever.
            self._pause_limit = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self.free.set)
        if "session" in order:
            self._withhold(order["session"], order)
        if "post" in order:
            self._post(order["post"], order)
        if self.guard is not None and "allow" in order:
            self.guard.allow(order["allow"], order.get("named", ""))
        if self.guard is not None and "tell" in order and "about" in order:
            self.guard.ended_by_tap(order["about"][1], order.get("exchange", 0), order.get("named", ""))
        exchange = self.exchanges.get(order.get("exchange", 0))
        if exchange is not None and "close" in order:
            exchange.close()
        elif exchange is not None and "tell" in order:
            exchange.answer(order["tell"].encode(), last=order.get("last", False))

    def _withhold(self, session: int, order: recorder_records.Order) -> None:
        """Withholds the answer to a request of a session, in the exchanges of that session."""
        kept = self._withheld.setdefault(session, WithheldAnswers())
        for number in order.get("of", ()):
            if number in self.exchanges:
                self.exchanges[number].withheld = kept
        if "keep" in order:
            kept.add(order["keep"], order.get("token"))
            if named := order.get("named"):
                self.withheld_in[named] = kept
        elif "pass" in order:
            kept.discard(order["pass"])
        elif "over" in order:
            del self._withheld[session]
            self.withheld_in = {name: each for name, each in self.withheld_in.items() if each is not kept}

    def _post(self, number: int, order: recorder_records.Order) -> None:
        """Sends a message that the tap made."""
        headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in order.get("headers", ())
        ]
        target, body = order.get("target", "").encode("latin-1"), order.get("body", "")
        given = {name.lower(): value.decode("latin-1") for name, value in headers}
        named = given.get(b"mcp-session-id", "")
        session = (
            order.get("target", "") if self.guard and order.get("target", "") in self.guard.streams else named
        )
        if self.guard is not None and not self.guard.cancelled_by_tap(body, session):
            return
        signed_in = self.addresses.is_endpoint(target)

        async def take(response: PlainResponse) -> None:
            self.record(recorder_records.RESPONSE, as_head(b"%d" % response.status, response.raw), number)
            async for data in response.body:
                self.record(recorder_records.FROM_SERVER, data, number)

        async def post() -> None:
            why = ""
            try:
                await self.client.exchange(
                    "POST",
                    headers,
                    body.encode(),
                    take,
                    signed_in=signed_in,
                    to=self.addresses.of(target, signed_in=signed_in),
                    # A cancel waits for no request that is still connecting.
                    urgent=True,
                    flushed=lambda: self.record(
                        recorder_records.SENT, json.dumps([order.get("about"), body]).encode(), number
                    ),
                )
            except EXPECTED as error:
                why = self.client.failure_text(error)
            self.record(recorder_records.EXCHANGE_END, why.encode(), number)

        self.spawn(post(), "POST of the tap")

    def _learn(self, secrets: Iterable[str]) -> None:
        self.queue.put(recorder_records.SECRETS, json.dumps(list(secrets)).encode())

    # -- start and end -----------------------------------------------------------------------------------------

    async def open(self, port: int) -> str:
        """Listens on a port (0: any free one); returns the URL for the client.

        Raises:
            OSError: the port cannot be listened at.
            TransportError: the environment's proxy cannot be used.
        """
        self.client.open()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: ClientConnection(self), ADDRESS, port, start_serving=False
        )
        own = f"http://{ADDRESS}:{self._server.sockets[0].getsockname()[1]}"
        self._feed(loop)
        if self._tokens is not None:
            await self._tokens.load()
            self._tokens.share_secrets(self._learn)
        # Last: the first request is recorded as well, and has the token that is stored.
        await self._server.start_serving()
        return own + self.addresses.path.decode("ascii")

    def _feed(self, loop: asyncio.AbstractEventLoop) -> None:
        sys.setswitchinterval(SWITCH)
        self._link = RecorderLink(self._recorder)
        self.queue = self._link.queue
        self._feeding = Thread(target=self._link.feed, args=(self._begin,), daemon=True)
        self._obeying = Thread(target=self._obey, args=(loop,), daemon=True)
        self._feeding.start()
        self._obeying.start()

    async def close(self) -> None:
        """Closes all connections, after everything received was queued for the recorder."""
        if self._server is not None:
            self._server.close()
        self.queue.put(recorder_records.EXIT)
        for connection in list(self.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # A task that is cancelled before it begins would not end its exchange.
        for exchange in [*self.exchanges.values()]:
            exchange.abandon()
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks)
        if self.guard is not None:
            self.guard.close()
        await self.client.close()

    def finish(self) -> None:
        """Waits for the recorder to end, after :meth:`close`."""
        self._link.finish(self._feeding)
        self._obeying.join(PAUSE_SECONDS)

    async def run(self, port: int) -> int:
        """Serves until a signal; returns the exit status.

        Raises:
            OSError: the port cannot be listened at.
            TransportError: the environment's proxy cannot be used.
        """
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, over.set)
        warn(f"the URL for the client is {await self.open(port)}")
        await over.wait()
        await self.close()
        return 0

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Runs an exchange in the background."""
        task = spawn(work, name=name)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task


def serve(
    target: HttpTarget,
    port: int,
    tokens: Authorization | None,
    begin: TapOptions,
    recorder: RecorderProcess,
    access: HttpAccess,
) -> int:
    """Runs a tap over HTTP; returns the exit status.

    Raises:
        OSError: the port cannot be listened at.
        TransportError: the URL, or the environment's proxy, cannot be used.
    """
    tap = HttpTap(target, tokens, begin, recorder, access)
    status = asyncio.run(tap.run(port))
    tap.finish()
    return status
