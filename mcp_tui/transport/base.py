"""The transport port.

A transport carries messages and knows how a cancel leaves; it decides nothing. It is called by plain, non-blocking methods
and reports to a :class:`Sink`. Nothing here waits for the person or the screen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import field
from math import inf
from typing import Any, ClassVar, Final, Protocol

from mcp_tui.protocol.framing import Oversized
from mcp_tui.protocol.large_messages import LARGE_BYTES, PIECE_BYTES, MessageOutline
from mcp_tui.protocol.revisions import Revision
from mcp_tui.protocol.states import RequestId
from mcp_tui.protocol.values import fact, frozen
from mcp_tui.transport.unreachable import TransportError

DEAF: Final = "No more notifications can arrive until you reconnect"
"""The end of the sentence about a stream of notifications that is gone for good."""

NEW_SESSION: Final = "Reconnect to open a new one"
"""What to do about a session that seems to be gone."""

MAX_MESSAGE: Final = 128 * 1024 * 1024
"""Default cap of one message, in bytes."""


class EndpointError(TransportError):
    """An endpoint of HTTP+SSE to which no message may be sent."""


class Unauthorized(TransportError):
    """A refusal because the server requires authorization; ``challenge`` is its HTTP 401 or 403, if there is one.

    ``declined``: a person did not sign in, or there is no one to ask.
    """

    def __init__(self, text: str, challenge: Challenge | None = None, *, declined: bool = False) -> None:
        super().__init__(text)
        self.challenge = challenge
        self.declined = declined


@frozen
class RequestToken:
    """The access token that one request carries, the DPoP nonce of its proof, and the headers that hold both; or nothing.

    ``scopes`` are those that it has and those that its sign-in asked for in vain.
    """

    access: str = field(default="", repr=False)
    nonce: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    scopes: tuple[str, ...] = ()


@frozen
class Challenge:
    """The answer of a server that refuses a request: HTTP 401 or 403, and its ``WWW-Authenticate`` header.

    ``sent`` is the access token that the refused request carried.
    """

    status: int
    header: str
    sent: RequestToken = RequestToken()


@frozen
class RefusedResponse:
    """The HTTP response that refused a message.

    ``status`` is 0 for a 404 that ends the session: then a request was lost with it. ``body`` has 64 kB at most.
    ``challenge`` is set for 401 and 403. ``sse``: it is the event stream of HTTP+SSE, the transport of 2024-11-05.
    ``stopping``: the connection was refused while a stream of the server is open, so the server is stopping.
    """

    status: int = 0
    body: bytes = b""
    challenge: Challenge | None = None
    sse: bool = False
    stopping: bool = False


NO_ANSWER: Final = RefusedResponse()
"""No HTTP response: the message was not delivered, or went over stdio."""


class TokenSource(Protocol):
    """The source of access tokens for a server behind a URL.

    :class:`~mcp_tui.client.auth.authorization.Authorization` implements it.
    """

    def for_request(self, method: str, url: str) -> RequestToken:
        """Returns the access token for a request that is about to be sent."""
        ...

    def answered(self, sent: RequestToken, status: int, nonce: str) -> None:
        """Takes in the response to a request with this token; ``nonce`` is its ``DPoP-Nonce`` header, or empty."""

    def connected(self, ip: str) -> None:
        """Takes in the IP address of a connection to the server that no proxy makes."""

    async def renew(self, challenge: Challenge) -> bool:
        """Gets another token without asking a person; returns whether it did. Never raises."""
        ...


@fact
class Outgoing:
    """One message to write. ``raw`` is its JSON without a line end.

    ``id`` is set for requests of ours only, and ``cancels`` for cancels: the id of the request. ``headers`` are for HTTP
    alone: ``MCP-Protocol-Version``, ``Mcp-Method``, ``Mcp-Name``, and the like are added by the client, which knows the
    revision.
    """

    raw: bytes
    method: str
    id: RequestId | None = None
    cancels: RequestId | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


@fact
class Unfinished:
    """The beginning of a message, and when its last bytes were read. ``stream`` is as for :meth:`Sink.received`."""

    read_at: float
    begun: bytes
    stream: RequestId | None = None


class Sink(Protocol):
    """The receiver of a transport's reports. Calls come in order, from the event loop's thread.

    In a session that is :class:`~mcp_tui.client.client.Client`.
    """

    def received(
        self,
        *,
        raw: bytes,
        stream: RequestId | None = None,
        status: int = 0,
        outline: bytes | None = None,
        at: float | None = None,
    ) -> None:
        """Reports a whole message (one stdio line, one SSE event's data, one JSON body). It may not be JSON.

        ``stream`` is the id of our request whose own stream carried it (HTTP), else ``None``. ``status`` is the HTTP
        status of the response that held it, 0 on stdio and on SSE streams. ``outline`` is that of a large message, if it is
        made. ``at`` is the time at which it was read, in monotonic seconds; without it, now.
        """

    def cut_off(self, *, raw: bytes, outline: bytes | None, at: float | None = None) -> None:
        """Reports what came before a pipe ended within a line: it may be only the start of a message."""

    def too_large(
        self, message: Oversized, *, stream: RequestId | None = None, at: float | None = None
    ) -> None:
        """Reports a message that was dropped, as it is above the cap."""

    def writing(self, *, message: Outgoing) -> None:
        """Reports that the first byte of a message is about to leave: it cannot be taken back."""

    def written(self, *, message: Outgoing) -> None:
        """Reports that the operating system has the last byte of a message."""

    def accepted(self, *, message: Outgoing) -> None:
        """Reports that the server accepted a message over HTTP (2xx) to which no answer is due. Never called on stdio."""

    def replied(self, *, message: Outgoing, raw: bytes, status: int) -> None:
        """Reports a message in the 2xx answer to a cancel, where none is due; an empty one for a body without any."""

    def unanswered(self, *, message: Outgoing, detail: str) -> None:
        """Reports that a cancel was written, and that its connection ended without a status."""

    def stream_ended(self, *, id: RequestId, detail: str = "") -> None:
        """Reports that the HTTP exchange of a request is over and is not resumed; ``detail`` says what broke it, if so."""

    def not_sent(self, *, message: Outgoing, detail: str, refusal: RefusedResponse) -> None:
        """Reports that a message could not be written or was refused (``detail``, one sentence)."""

    def stderr_line(self, *, text: str, cut: bool = False, at: float | None = None) -> None:
        """Reports a line of stderr, without its end; undecodable bytes are replaced.

        ``cut``: it has no end, because the server was ended.
        """

    def happened(self, *, text: str) -> None:
        """Reports a fact about the connection for the log: started, resumed, an ignored header."""

    def dropped(self, *, what: str, raw: bytes = b"", stream: RequestId | None = None) -> None:
        """Reports something that the server sent and that no client reads, so that its silence shows nothing.

        ``what`` names it: a message in an event of another name, half an event, a body in an encoding that was not accepted.
        ``raw`` is that message. ``stream`` is as for :meth:`received`.
        """

    def degraded(self, *, detail: str) -> None:
        """Reports what the connection, which stays, cannot do any more until a person reconnects."""

    def processes_ended(self, *, count: int) -> None:
        """Reports processes that the server had started, and that still ran at its end: they were ended."""

    def secrets(self, *, values: Iterable[str]) -> None:
        """Reports values that must be masked wherever they are shown or written."""

    def receiving_ended(self, *, detail: str) -> None:
        """Reports that nothing more can be heard from the server; :meth:`closed` follows."""

    def closed(
        self, *, detail: str, code: int | None = None, expected: bool = False, renewable: bool = False
    ) -> None:
        """Reports that the connection is gone; nothing more is reported after this, except :meth:`processes_ended`.

        ``detail`` is for a person. ``code`` is the process's exit code, negative for a signal, ``None`` if there is none.
        ``expected`` is true after :meth:`Transport.close`. ``renewable``: only the session is gone, so a new one is to be
        opened (transports, 2025-03-26 to 2025-11-25, "Session Management").
        """


class Silence(Sink):
    """A sink that ignores everything: before a transport is open, and after its connection is gone."""


SILENCE: Final[Sink] = Silence()


class Transport(Protocol):
    """A way to one server. All methods but the coroutines return at once and never raise.

    Those that do little here are as stdio wants them: no request has a stream of its own there, and what is sent is read
    in order. :class:`~mcp_tui.transport.stdio.StdioTransport` and :class:`~mcp_tui.transport.http.HttpTransport` implement
    it; a cancel on a pipe leaves by :meth:`~mcp_tui.transport.stdio.LineWriter.signal`.
    """

    kind: str
    """``stdio``, ``http`` or ``sse``."""

    pid: int | None
    """The server's process id on stdio, else ``None``."""

    async def open(self, sink: Sink) -> None:
        """Starts the process or prepares the HTTP client.

        Raises:
            TransportError: the executable is missing, the address refuses, TLS fails.
        """

    def send(self, message: Outgoing) -> None:
        """Queues a message behind those already queued."""

    def signal(self, message: Outgoing) -> None:
        """Sends a cancel ahead of everything queued."""

    def withdraw(self, id: RequestId) -> None:
        """Takes back a request, or its cancel, of which no byte has begun to leave."""

    def release(self, id: RequestId) -> bool:
        """Closes the own stream of a request, as its cancel or because it is over for us; false if there is none."""
        return False

    def unhandled_since(self) -> float | None:
        """Returns the time at which the oldest bytes were read that are not handled yet (monotonic seconds).

        ``None`` if all are.
        """
        return None

    def unfinished(self) -> list[Unfinished]:
        """Returns the messages of which only a beginning has come."""
        return []

    def negotiated(self, revision: Revision) -> None:
        """Speaks a revision from now on (HTTP: session and the GET stream depend on it)."""

    async def initialized(self, message: Outgoing) -> None:
        """Sends ``notifications/initialized`` and waits until the server may ask.

        Over HTTP it waits until the message was accepted or refused, and then for the server's own stream.

        Raises:
            Unauthorized: the server refused it with 401 or 403.
            TransportError: it refused it with another status, so there is no session.
        """
        self.send(message)

    async def close(self) -> None:
        """Ends the connection in at most five seconds; calls :meth:`Sink.closed` if that was not called before."""

    async def terminate(self) -> None:
        """Ends the connection at once: a process gets no time to end by itself."""


TURN_SECONDS: Final = 0.004
"""Seconds in one turn of the event loop that all streams of one connection may take together."""


KEY_PRIORITY_SECONDS: Final = 0.01
"""Seconds after a key in which streams and the journal give way to it."""


class Turn:
    """The time of the event loop that the streams of one connection share, so that a flood starves nothing else.

    While anything is ``urgent`` they get one message each: a POST takes a dozen turns until it has left. So they do for
    :data:`KEY_PRIORITY_SECONDS` seconds after a person pressed a key, which takes as many turns until it acts; the driver of
    the terminal renews it in each of them.
    """

    pressed: ClassVar[float] = -inf
    """When a person last pressed a key, in monotonic seconds: all connections share the event loop."""

    def __init__(self) -> None:
        self.urgent: set[object] = set()
        self._until: float | None = None

    def is_spent(self) -> bool:
        """Whether this one's share is spent, so that a stream has to wait for the loop's next turn."""
        now = time.monotonic()
        # The first stream of a turn starts the clock for all; the call that it leaves behind ends it in the next turn.
        if self._until is None:
            self._until = now + TURN_SECONDS
            asyncio.get_running_loop().call_soon(self._over)
            return False
        return now >= self._until or bool(self.urgent) or now - Turn.pressed < KEY_PRIORITY_SECONDS

    async def breathe(self) -> None:
        """Gives way if this turn's share is spent."""
        if self.is_spent():
            await self.give_way()

    @staticmethod
    async def give_way() -> None:
        """Waits for a turn of the loop behind the timers that came due in this one."""
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # the next turn begins with whoever waited once, and has the timers behind it

    def _over(self) -> None:
        self._until = None


async def outlined(raw: bytes, turn: Turn) -> bytes | None:
    """Returns the outline of a message if that is large, made in several turns of the loop."""
    if len(raw) <= LARGE_BYTES:
        return None
    outline = MessageOutline()
    for at in range(0, len(raw), PIECE_BYTES):
        outline.feed(raw[at : at + PIECE_BYTES])
        await turn.breathe()
    return outline.close()


def call_behind_keys(call: Callable[[], object]) -> None:
    """Calls in the loop's next turn; if a key was just pressed, when it had its time."""
    loop = asyncio.get_running_loop()

    def due() -> None:
        left = Turn.pressed + KEY_PRIORITY_SECONDS - time.monotonic()
        if left > 0:
            loop.call_later(left, due)
        else:
            call()

    loop.call_soon(due)


# The event loop holds tasks weakly: one that nobody keeps may be collected in the middle of its work.
_running: set[asyncio.Task[Any]] = set()


def spawn(coroutine: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
    """Runs a coroutine in the background.

    The task is kept until it ends, and an exception that it did not catch itself reaches the loop's exception handler.
    """
    task = asyncio.get_running_loop().create_task(coroutine, name=name)
    _running.add(task)
    task.add_done_callback(_finished)
    return task


def _finished(task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if task.cancelled():
        return
    error = task.exception()
    if error is not None:
        task.get_loop().call_exception_handler(
            {"message": f"{task.get_name()} failed", "exception": error, "task": task}
        )
