"""The transport port.

A transport carries frames and knows how a cancel leaves; it decides nothing. It is told what to do by plain,
non-blocking calls and tells what happened by calling a :class:`Sink`. Nothing here waits for the person or the
screen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping
from dataclasses import field
from typing import Any, Final, Protocol

from mcp_tui.protocol.revisions import Revision
from mcp_tui.protocol.states import RequestId, Signal
from mcp_tui.protocol.values import fact, frozen

MAX_MESSAGE: Final = 128 * 1024 * 1024
"""Bytes of one message, unless something else is asked for."""


class TransportError(Exception):
    """The server cannot be reached. The text says in whole sentences what happened and what to do."""

    def __init__(self, text: str) -> None:
        super().__init__(sentence(text))


def within(text: str) -> str:
    """Returns a sentence as it follows a colon: with a small letter first, where that is part of a plain word."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def sentence(text: str) -> str:
    """Returns ``text`` with a capital, where its first word is one, and with a full stop."""
    first = text.partition(" ")[0]
    capital = text[:1].upper() + text[1:] if first.isalpha() else text
    return capital if capital.endswith((".", "?", "!", "…")) else f"{capital}."


class EndpointError(TransportError):
    """HTTP+SSE: there is an event stream, and messages must not go where it wants them."""


class Unauthorized(TransportError):
    """The server wants authorization (HTTP 401 or 403); ``challenge`` is its answer, where there is one.

    ``declined``: a person did not sign in, or there is none to ask.
    """

    def __init__(self, text: str, challenge: Challenge | None = None, *, declined: bool = False) -> None:
        super().__init__(text)
        self.challenge = challenge
        self.declined = declined


@frozen
class RequestToken:
    """The access token that one request carries, the DPoP nonce of its proof, and the headers that hold both.

    All of it is empty where there is none.
    """

    access: str = field(default="", repr=False)
    nonce: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@frozen
class Challenge:
    """The answer of a server that refuses a request: HTTP 401 or 403, and its ``WWW-Authenticate`` header.

    ``sent`` is the access token that the refused request carried.
    """

    status: int
    header: str
    sent: RequestToken = RequestToken()


@frozen
class Refusal:
    """What HTTP said to a message that it did not take; nothing where it said nothing.

    ``status`` is 0 for a 404 that says that the session is gone: then a request was lost with it. ``body`` is the start of
    what came with it (64 kB at most). ``challenge`` is set for 401 and 403.
    """

    status: int = 0
    body: bytes = b""
    challenge: Challenge | None = None


NO_ANSWER: Final = Refusal()
"""HTTP said nothing: the message did not get there, or went over stdio."""


class TokenSource(Protocol):
    """Who has the access token of a server behind a URL."""

    def for_request(self, method: str, url: str) -> RequestToken:
        """The access token of one request, which is about to be sent."""
        ...

    def answered(self, sent: RequestToken, status: int, nonce: str) -> None:
        """The server answered a request with this token; ``nonce`` is its ``DPoP-Nonce`` header, or empty."""

    async def renew(self, challenge: Challenge) -> bool:
        """Get another token without asking anybody; false where that is not possible. Never raises."""
        ...


# -- what a transport is told ----------------------------------------------------------------------------------


@fact
class Outgoing:
    """One message to write. ``raw`` is its JSON without a line end.

    ``id`` is set for requests of ours only. ``headers`` are for HTTP alone: ``MCP-Protocol-Version``, ``Mcp-Method``,
    ``Mcp-Name`` and the like are put there by the client, which knows the revision.
    """

    raw: bytes
    method: str
    id: RequestId | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


# -- what a transport tells ------------------------------------------------------------------------------------


class Sink(Protocol):
    """Whoever is told what happens on a connection. Every call comes in order, from the event loop's thread."""

    def received(
        self, *, raw: bytes, stream: RequestId | None = None, status: int = 0, unfinished: bool = False
    ) -> None:
        """A whole message came (one stdio line, one SSE event's data, one JSON body). It may not be JSON.

        ``stream`` is the id of our request whose own stream carried it (HTTP), else ``None``. ``status`` is the HTTP
        status of the response that held it, 0 on stdio and on SSE streams. ``unfinished``: the pipe ended where the
        end of its line should have been, so it may be only the start of a message.
        """

    def too_large(
        self, *, head: bytes, size: int, stream: RequestId | None = None, tail: bytes = b""
    ) -> None:
        """A message above the cap was dropped. ``head`` is its first 64 kB at most; ``size`` the bytes counted.

        ``tail`` is its last 512 bytes at most, where it was read to its end and they are not in the head.
        """

    def writing(self, *, id: RequestId) -> None:
        """The first byte of a request is about to be handed to the operating system: it cannot be taken back."""

    def written(self, *, message: Outgoing) -> None:
        """The last byte of a message was handed over."""

    def accepted(self, *, method: str) -> None:
        """The server took a notification or a response over HTTP (2xx). Never on stdio, where writing is all there is."""

    def signal_leaving(self, *, id: RequestId) -> None:
        """The signal for ``id`` begins to leave: it cannot be recalled."""

    def signalled(
        self, *, id: RequestId, signal: Signal, raw: bytes | None = None, answered: bool = False
    ) -> None:
        """The signal was written to the pipe, POSTed whole, or the stream was closed. ``raw`` is the frame, if one.

        ``answered``: an HTTP status is to come, which :meth:`signal_accepted` or :meth:`signal_failed` reports.
        """

    def signal_accepted(self, *, id: RequestId) -> None:
        """The signal's POST was answered with 2xx."""

    def signal_failed(
        self, *, id: RequestId, detail: str, raw: bytes | None = None, refused: bool = False
    ) -> None:
        """The signal could not be written, or the server ``refused`` it; ``detail`` says why (``HTTP 503``)."""

    def stream_ended(self, *, id: RequestId, detail: str = "") -> None:
        """The HTTP exchange of one request is over, and is not resumed: nothing more can come on its own stream.

        ``detail`` is empty for a clean end, else what broke it.
        """

    def not_sent(self, *, message: Outgoing, detail: str, refusal: Refusal) -> None:
        """A message could not be written or was refused before any answer (``detail``, one sentence)."""

    def stderr_line(self, *, text: str) -> None:
        """The server wrote a line to stderr; undecodable bytes are replaced, its end is left out."""

    def happened(self, *, text: str) -> None:
        """A fact about the connection worth a line in the log: started, session id, redirected, resumed."""

    def unheard(self, *, detail: str) -> None:
        """Nothing more can be heard from the server; how the connection ends is told by :meth:`closed`."""

    def closed(
        self, *, detail: str, code: int | None = None, expected: bool = False, renewable: bool = False
    ) -> None:
        """The connection is gone for good; nothing more comes after this.

        ``detail`` is for a person: ``server exited (code 3)``, ``session expired``. ``code`` is the process's exit
        code, negative for a signal, ``None`` where there is none. ``expected`` is true after :meth:`Transport.close`.
        ``renewable`` says that the server is there and only its session is gone, so that a new one is to be opened
        (transports, 2025-03-26 to 2025-11-25, "Session Management").
        """


class Silence(Sink):
    """Hears nothing; what derives from it hears what it has a method for.

    Told before a transport is open and after its connection is gone.
    """


SILENCE: Final[Sink] = Silence()


class Transport(Protocol):
    """A way to one server. All methods but ``open`` and ``close`` return at once and never raise."""

    kind: str
    """``stdio``, ``http`` or ``sse``."""

    pid: int | None
    """The server's process id on stdio, else ``None``."""

    async def open(self, sink: Sink) -> None:
        """Start the process or prepare the HTTP client.

        Raises:
            TransportError: the executable is missing, the address refuses, TLS fails.
        """

    def send(self, message: Outgoing) -> None:
        """Queue a message behind those already queued."""

    def unqueue(self, id: RequestId) -> None:
        """Take a queued request back, unless its writing has begun."""

    def signal(self, id: RequestId, signal: Signal, message: Outgoing | None) -> None:
        """Let a cancel leave ahead of everything queued: ``message`` for a notification, else close the stream of ``id``."""

    def recall(self, id: RequestId) -> None:
        """Withdraw a signal, unless it has begun to leave."""

    def release(self, id: RequestId) -> None:
        """Close what is still open for a request that is over for us (its own stream, after the grace)."""

    def negotiated(self, revision: Revision) -> None:
        """Speaks a revision from now on (HTTP: session and the GET stream depend on it)."""

    async def close(self) -> None:
        """End the connection in at most five seconds; calls :meth:`Sink.closed` if that was not called before."""

    async def terminate(self) -> None:
        """The same without patience: a process that was started gets no time to end by itself."""


BUDGET: Final = 0.004
"""Seconds in one turn of the event loop that all streams of one connection may take together."""


class Turn:
    """The time of the event loop that the streams of one connection share, so that a flood starves nothing else.

    While anything is ``urgent`` they get one message each: a POST takes a dozen turns until it has left.
    """

    def __init__(self) -> None:
        self.urgent: set[object] = set()
        self._until: float | None = None

    async def breathe(self) -> None:
        """Wait for the loop's next turn if this one's share is spent."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + BUDGET
            asyncio.get_running_loop().call_soon(self._over)
        elif now >= self._until or self.urgent:
            await asyncio.sleep(0)

    def _over(self) -> None:
        self._until = None


_running: set[asyncio.Task[Any]] = set()


def spawn(coroutine: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
    """Run a coroutine of a transport in the background.

    The task is kept until it ends, and an exception that it did not catch itself reaches the loop's exception hook.
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
