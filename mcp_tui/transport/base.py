"""The transport port.

A transport carries messages, and knows how a cancel is sent; it makes no decisions. The client calls plain, non-blocking
methods, and the transport reports to a :class:`Sink`. No code here waits for the user or the screen.
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
"""The end of the sentence about a stream of notifications that is lost."""

NEW_SESSION: Final = "Reconnect to open a new one"
"""The advice about a session that seems to be lost."""

MAX_MESSAGE: Final = 128 * 1024 * 1024
"""The default of the maximum size of a message, in bytes."""


class EndpointError(TransportError):
    """The server named an endpoint of HTTP+SSE to which no message may be sent."""


class Unauthorized(TransportError):
    """The server requires authorization. ``challenge`` is its HTTP 401 or 403, if there is one.

    ``declined`` says whether the user declined to sign in, or there is no user to ask.
    """

    def __init__(self, text: str, challenge: Challenge | None = None, *, declined: bool = False) -> None:
        super().__init__(text)
        self.challenge = challenge
        self.declined = declined


@frozen
class RequestToken:
    """The access token of one request, the DPoP nonce of its proof, and the headers for both; all empty without a token.

    ``scopes`` has the scopes of the token, and those that its sign-in requested without success.
    """

    access: str = field(default="", repr=False)
    nonce: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    scopes: tuple[str, ...] = ()


NO_TOKEN: Final = RequestToken()


@frozen
class Challenge:
    """The response that refused a request: HTTP 401 or 403, and its ``WWW-Authenticate`` header.

    ``sent`` is the access token of the refused request.
    """

    status: int
    header: str
    sent: RequestToken = NO_TOKEN


@frozen
class RefusedResponse:
    """The HTTP response that refused a message.

    ``status`` is 0 if there was no response, or if the request was lost because its session ended with a 404. ``body``
    has at most 64 kB. ``challenge`` is set for 401 and 403. ``sse`` says whether the response is the event stream of
    HTTP+SSE, the transport of 2024-11-05. ``stopping`` says whether the connection was refused while a stream of the
    server was open, which means that the server is stopping. ``gateway`` says whether a gateway wrote it, not the server.
    """

    status: int = 0
    body: bytes = b""
    challenge: Challenge | None = None
    sse: bool = False
    stopping: bool = False
    gateway: bool = False


NO_ANSWER: Final = RefusedResponse()
"""The value without an HTTP response: the message was not delivered, or the transport is stdio."""


class TokenSource(Protocol):
    """The source of access tokens for an HTTP server.

    :class:`~mcp_tui.client.auth.authorization.Authorization` implements it.
    """

    def for_request(self, method: str, url: object) -> RequestToken:
        """Returns the access token for a request that is about to be sent; ``url`` is a text, or becomes one."""
        ...

    def answered(self, sent: RequestToken, status: int, nonce: str) -> None:
        """Handles the response to a request with this token; ``nonce`` is its ``DPoP-Nonce`` header, or empty."""

    def connected(self, ip: str) -> None:
        """Handles the IP address of a connection to the server without a proxy."""

    async def renew(self, challenge: Challenge) -> bool:
        """Gets another token without asking the user; returns whether it succeeded. Never raises."""
        ...


@fact
class Outgoing:
    """One message to write. ``raw`` is its JSON without a line end.

    ``id`` is only set for requests from the client. ``cancels`` is only set for cancels, and is the id of the cancelled
    request. ``headers`` are only for HTTP: the client, which knows the revision, adds ``MCP-Protocol-Version``,
    ``Mcp-Method``, ``Mcp-Name``, and so on.
    """

    raw: bytes
    method: str
    id: RequestId | None = None
    cancels: RequestId | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


@fact
class Unfinished:
    """The start of a message, and the time at which its last bytes were read. ``stream`` is as for :meth:`Sink.received`."""

    read_at: float
    begun: bytes
    stream: RequestId | None = None


class Sink(Protocol):
    """The receiver of a transport's reports. Calls are in order, and in the thread of the event loop.

    In a session, the sink is :class:`~mcp_tui.client.client.Client`.
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
        """Reports a complete message: a stdio line, the data of an SSE event, or a JSON body. It may be invalid JSON.

        Args:
            raw: the message.
            stream: the id of the client's request whose HTTP stream carried the message, else ``None``.
            status: the HTTP status of the response with the message; 0 on stdio and on SSE streams.
            outline: the outline of a large message, if there is one.
            at: the time at which the message was read, in monotonic seconds; by default now.
        """

    def cut_off(self, *, raw: bytes, outline: bytes | None, at: float | None = None) -> None:
        """Reports the last data of a pipe that ended within a line, which may be only the start of a message."""

    def too_large(
        self, message: Oversized, *, stream: RequestId | None = None, at: float | None = None
    ) -> None:
        """Reports a message that was dropped because it exceeds the maximum size."""

    def writing(self, *, message: Outgoing) -> None:
        """Reports that the first byte of a message is about to be sent; the message can no longer be withdrawn."""

    def written(self, *, message: Outgoing) -> None:
        """Reports that the last byte of a message was written to the operating system."""

    def accepted(self, *, message: Outgoing) -> None:
        """Reports that the server accepted a message without an answer over HTTP (2xx). Never called on stdio."""

    def replied(self, *, message: Outgoing, raw: bytes, status: int) -> None:
        """Reports an unexpected message in the 2xx response to a cancel; empty for a body without a message."""

    def unanswered(self, *, message: Outgoing, detail: str) -> None:
        """Reports that a cancel was written, but that its connection ended without a status."""

    def stream_ended(self, *, id: RequestId, detail: str = "") -> None:
        """Reports that the HTTP exchange of a request has ended for good; ``detail`` is the reason if it broke."""

    def not_sent(self, *, message: Outgoing, detail: str, refusal: RefusedResponse) -> None:
        """Reports that a message could not be written or was refused; ``detail`` is the reason."""

    def stderr_line(self, *, text: str, cut: bool = False, at: float | None = None) -> None:
        """Reports a line of stderr, without its line end; undecodable bytes are replaced.

        ``cut`` says whether the line is incomplete, because the server was ended.
        """

    def happened(self, *, text: str) -> None:
        """Reports a fact about the connection for the log: started, resumed, an ignored header."""

    def dropped(self, *, what: str, raw: bytes = b"", stream: RequestId | None = None) -> None:
        """Reports data from the server that no client reads, so that a missing message shows nothing.

        ``what`` describes it: a message in an event with another name, half an event, or a body in an encoding that was not
        accepted. ``raw`` is the message, if any. ``stream`` is as for :meth:`received`.
        """

    def degraded(self, *, detail: str) -> None:
        """Reports a function that the connection has lost until the user reconnects; the connection itself stays."""

    def processes_ended(self, *, count: int) -> None:
        """Reports the number of processes of the server that still ran at its end, and were ended."""

    def secrets(self, *, values: Iterable[str]) -> None:
        """Reports values that must be masked in everything that is shown or written."""

    def receiving_ended(self, *, detail: str) -> None:
        """Reports that no more messages can arrive from the server; :meth:`closed` follows."""

    def closed(
        self, *, detail: str, code: int | None = None, expected: bool = False, renewable: bool = False
    ) -> None:
        """Reports that the connection has ended; after this, only :meth:`processes_ended` may be reported.

        Args:
            detail: the reason, for the user.
            code: the exit code of the process, negative for a signal; ``None`` without one.
            expected: whether :meth:`Transport.close` was called.
            renewable: whether only the session has ended, so that a new one must be opened (transports, 2025-03-26 to
                2025-11-25, "Session Management").
        """


class Silence(Sink):
    """A sink that ignores all reports, for the time before a transport is open and after its connection has ended."""


SILENCE: Final[Sink] = Silence()


class Transport(Protocol):
    """A connection to one server. All methods except the coroutines return at once, and never raise.

    The default methods here are those of stdio, where no request has a separate stream, and messages are read in order.
    :class:`~mcp_tui.transport.stdio.StdioTransport` and :class:`~mcp_tui.transport.http.HttpTransport` implement the
    protocol. On stdio, :meth:`~mcp_tui.transport.stdio.LineWriter.signal` sends a cancel.
    """

    kind: str
    """The kind of transport: ``stdio``, ``http``, or ``sse``."""

    pid: int | None
    """The process id of the server on stdio, else ``None``."""

    async def open(self, sink: Sink) -> None:
        """Starts the process, or prepares the HTTP client.

        Raises:
            TransportError: the program is missing, the connection is refused, or TLS fails.
        """

    def send(self, message: Outgoing) -> None:
        """Adds a message to the end of the queue."""

    def signal(self, message: Outgoing) -> None:
        """Sends a cancel before all queued messages."""

    def withdraw(self, id: RequestId) -> None:
        """Withdraws a request, or its cancel, of which no byte was sent."""

    def release(self, id: RequestId) -> bool:
        """Closes the stream of a request, as its cancel or because it has ended; returns whether there was a stream."""
        return False

    def unhandled_since(self) -> float | None:
        """Returns the time at which the oldest unhandled bytes were read, in monotonic seconds.

        Returns ``None`` if all bytes are handled.
        """
        return None

    def unfinished(self) -> list[Unfinished]:
        """Returns the messages of which only the start has arrived."""
        return []

    def negotiated(self, revision: Revision) -> None:
        """Sets the negotiated revision (over HTTP, the session and the GET stream depend on it)."""

    async def initialized(self, message: Outgoing) -> None:
        """Sends ``notifications/initialized``, and waits until requests from the server can arrive.

        Over HTTP, it waits until the message was accepted or refused, and then for the server's own stream.

        Raises:
            Unauthorized: the server refused the message with 401 or 403.
            TransportError: the server refused the message with another status, so there is no session.
        """
        self.send(message)

    async def close(self) -> None:
        """Ends the connection in at most five seconds; calls :meth:`Sink.closed` unless it was called before."""

    async def terminate(self) -> None:
        """Ends the connection at once, without giving a process time to exit."""


TURN_SECONDS: Final = 0.004
"""The most seconds in one turn of the event loop that all streams of one connection take together."""


KEY_PRIORITY_SECONDS: Final = 0.01
"""The seconds after a key press in which streams and the journal let other work run first."""


class Turn:
    """The share of the event loop that the streams of one connection have, so that a flood does not starve other work.

    While anything is ``urgent``, each stream handles only one message per turn, because a POST takes a dozen turns to be
    sent. The same holds for :data:`KEY_PRIORITY_SECONDS` seconds after a key press, which takes as many turns; the driver
    of the terminal updates ``pressed`` in each of them.
    """

    pressed: ClassVar[float] = -inf
    """The time of the last key press, in monotonic seconds. It is shared, because all connections use one event loop."""

    def __init__(self) -> None:
        self.urgent: set[object] = set()
        self._until: float | None = None

    def is_spent(self) -> bool:
        """Whether the share of this turn is used up, so that a stream must wait for the next turn."""
        now = time.monotonic()
        # The first stream in a turn starts the clock for all streams. The scheduled call resets it in the next turn.
        if self._until is None:
            self._until = now + TURN_SECONDS
            asyncio.get_running_loop().call_soon(self._over)
            return False
        return now >= self._until or bool(self.urgent) or now - Turn.pressed < KEY_PRIORITY_SECONDS

    async def breathe(self) -> None:
        """Waits for the next turn if the share of this turn is used up."""
        if self.is_spent():
            await self.give_way()

    @staticmethod
    async def give_way() -> None:
        """Waits for a turn of the loop after the timers that are due in this one."""
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # in the next turn, tasks that waited once run before the timers

    def _over(self) -> None:
        self._until = None


async def outlined(raw: bytes, turn: Turn) -> bytes | None:
    """Returns the outline of a large message, made in several turns of the loop; ``None`` for a small message."""
    if len(raw) <= LARGE_BYTES:
        return None
    outline = MessageOutline()
    for at in range(0, len(raw), PIECE_BYTES):
        outline.feed(raw[at : at + PIECE_BYTES])
        await turn.breathe()
    return outline.close()


def call_behind_keys(call: Callable[[], object]) -> None:
    """Schedules a call for the next turn of the loop, or for the time when a key that was just pressed has been handled."""
    loop = asyncio.get_running_loop()

    def due() -> None:
        remaining = Turn.pressed + KEY_PRIORITY_SECONDS - time.monotonic()
        if remaining > 0:
            loop.call_later(remaining, due)
        else:
            call()

    loop.call_soon(due)


# The event loop has only weak references to tasks, so a task without another reference may be garbage-collected.
_running: set[asyncio.Task[Any]] = set()


def spawn(coroutine: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
    """Runs a coroutine in the background.

    The task is referenced until it ends. The loop's exception handler receives an exception of the coroutine.
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
