"""Streamable HTTP, both eras (transports, 2025-03-26 to 2025-11-25; streamable HTTP, 2026-07-28).

Every message is an exchange of its own, on a connection of its own: nothing waits for anything else. A cancel is a
POST that overtakes whatever is on its way, or the closing of the request's own connection, headers or not.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.transport import addresses
from mcp_tui.transport.base import MAX_MESSAGE, Outgoing, Sink, TokenSource, spawn
from mcp_tui.transport.http_client import HttpClient, left_out
from mcp_tui.transport.http_errors import EXPECTED
from mcp_tui.transport.http_posts import Cancel, Exchange, Sending, Unanswered
from mcp_tui.transport.http_streams import HttpSession, Listening

INITIALIZED: Final = "notifications/initialized"

LISTENS: Final = 0.5
"""Seconds that ``notifications/initialized`` waits for the server's own stream: what a server asks there before, is lost."""

FAREWELL: Final = 1.0
"""Seconds that each step of :meth:`HttpTransport.close` may take; there are four."""


class HttpTransport:
    """A way to one server over streamable HTTP.

    ``headers`` go on every request; one that the protocol sets itself is left out. ``max_message`` is in bytes,
    ``connect_timeout`` in seconds; there is no other time limit, those are the client's. ``insecure`` checks no
    certificates. ``tokens`` has the access token of each request.
    """

    kind = "http"
    pid: int | None = None

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        max_message: int = MAX_MESSAGE,
        insecure: bool = False,
        connect_timeout: float = 10.0,
        tokens: TokenSource | None = None,
    ) -> None:
        self._url = url
        self._headers = headers
        self._cap = max_message
        self._insecure = insecure
        self._connect_timeout = connect_timeout
        self._tokens = tokens
        self._session: HttpSession | None = None
        self._exchanges: dict[RequestId, Sending] = {}
        self._cancels: dict[RequestId, Cancel] = {}
        self._notices: set[Unanswered] = set()
        self._listening: Listening | None = None
        self._initialized = False
        self._closing = False
        self.keeps_session = False
        """Whether :meth:`close` leaves the session to the server, without its DELETE."""

    # -- open and close --------------------------------------------------------------------------------------------

    async def open(self, sink: Sink) -> None:
        """Check the address; nothing is sent before the first message.

        Raises:
            TransportError: the URL, a header or the environment's proxy cannot be used.
        """
        address = addresses.parse(self._url)
        client = HttpClient(
            address,
            self._headers,
            insecure=self._insecure,
            connect_timeout=self._connect_timeout,
            tokens=self._tokens,
        )
        client.open()

        self._session = HttpSession(
            http=client, sink=sink, cap=self._cap, accepted=self._accepted, lost=self._lost
        )
        for name in left_out(self._headers):
            text = f"the header {addresses.readable(name, 60)} is ignored: the protocol sets it"
            self._session.sink.happened(text=text)
        if client.proxy:
            self._session.sink.happened(text=f"through the proxy {client.proxy}")
        if address.secure and self._insecure:
            self._session.sink.happened(text="server certificate NOT verified (--insecure)")

    def _accepted(self, session: HttpSession, method: str) -> None:
        if method == INITIALIZED and not self._initialized:
            self._initialized = True
            self._listen()
            if self._listening is not None:
                spawn(
                    self._accept_once_heard(session, self._listening), name="wait for the server's own stream"
                )
                return
        session.sink.accepted(method=method)

    async def _accept_once_heard(self, session: HttpSession, listening: Listening) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LISTENS):
                await listening.answered.wait()
        session.sink.accepted(method=INITIALIZED)

    async def close(self) -> None:
        """Let go: what is on its way out leaves, the session is deleted, every connection is closed."""
        session = self._session
        if session is None or self._closing:
            return
        self._closing = True
        if not session.over:
            await _within(_left([*self._cancels.values(), *self._notices]))
        tasks = self._drop()
        if tasks:
            await asyncio.wait(tasks, timeout=FAREWELL)
        if not session.over and session.id is not None and not self.keeps_session:
            await _within(self.end_session())
        await _within(session.http.close())
        session.close("closed", expected=True)

    @property
    def has_session(self) -> bool:
        """Whether the server gave a session id."""
        return self._session is not None and self._session.id is not None

    async def end_session(self) -> int | None:
        """DELETE the session, which a server may refuse (transports, "Session Management"), and stay open.

        Returns the HTTP status, ``None`` where there is no session or no answer.
        """
        session = self._session
        if session is None or session.id is None:
            return None
        with contextlib.suppress(*EXPECTED):
            async with session.http.request("DELETE", session.headers(), urgent=True) as response:
                return response.status_code
        return None

    async def terminate(self) -> None:
        """As :meth:`close`: there is no process to end."""
        await self.close()

    def _lost(self) -> None:
        self._drop()
        if self._session is not None:
            spawn(self._session.http.close(), name="close the connections")

    def _drop(self) -> list[asyncio.Task[None]]:
        """Close every exchange but the one that asks for it; the tasks that are ending."""
        current = asyncio.current_task()
        sendings = [*self._exchanges.values(), *self._cancels.values(), *self._notices]
        closing = [sending for sending in sendings if sending.task is not current]
        for sending in closing:
            sending.close()
        tasks = [sending.task for sending in closing]
        if self._listening is not None:
            self._listening.task.cancel()
            tasks.append(self._listening.task)
            self._listening = None
        return tasks

    # -- messages --------------------------------------------------------------------------------------------------

    def negotiated(self, revision: str, *, modern: bool) -> None:
        """The revision that holds from now on. Before 2026-07-28 the server's own stream is opened, once it took
        ``notifications/initialized``; from then on there is neither a session nor such a stream.
        """
        session = self._session
        if session is None:
            return
        session.revision, session.modern = revision, modern
        if modern:
            session.id = None
        self._listen()

    def _listen(self) -> None:
        session = self._session
        ready = session is not None and session.modern is False and self._initialized and not self._closing
        if session is not None and ready and not session.over and self._listening is None:
            self._listening = Listening(session)

    def send(self, message: Outgoing) -> None:
        """POST a message at once, on its own. After :meth:`Sink.closed` nothing leaves."""
        session = self._session
        if session is None or session.over or self._closing:
            return
        if message.id is None:
            notice = Unanswered(session, message)
            self._notices.add(notice)
            notice.task.add_done_callback(lambda _: self._notices.discard(notice))
        else:
            _keep(self._exchanges, message.id, self._exchange(session, message, message.id))

    def _exchange(self, session: HttpSession, message: Outgoing, id: RequestId) -> Sending:
        return Exchange(session, message, id)

    def unqueue(self, id: RequestId) -> bool:
        """Take back a request whose connection is still being made."""
        exchange = self._exchanges.get(id)
        if exchange is None or exchange.begun:
            return False
        exchange.close()
        return True

    def signal(self, id: RequestId, signal: Signal, message: Outgoing | None) -> None:
        """Let a cancel leave: a POST of its own, or the end of the request's own connection, there and then."""
        session = self._session
        if session is None or session.over or self._closing:
            return
        exchange = self._exchanges.get(id)
        if signal is Signal.NOTIFICATION and message is not None:
            if exchange is not None:
                exchange.settle()
            _keep(self._cancels, id, Cancel(session, message, id, exchange))
        elif signal is not Signal.STREAM_CLOSED:
            session.sink.signal_failed(id=id, detail=f"no {signal.value} over HTTP")
        elif exchange is None or exchange.task.done():
            session.sink.signal_failed(id=id, detail="its stream had ended before")
        else:
            session.sink.signal_leaving(id=id)
            exchange.close()
            session.sink.signalled(id=id, signal=signal)

    def recall(self, id: RequestId) -> bool:
        """Withdraw a notification of which no byte was written; a stream is closed at once, for good."""
        cancel = self._cancels.get(id)
        return cancel is not None and cancel.recall()

    def release(self, id: RequestId) -> None:
        """Close the stream of a request if the server keeps it open (C-37), and resume it no more."""
        exchange = self._exchanges.get(id)
        if exchange is not None:
            exchange.close()


_S = TypeVar("_S", bound=Sending)


def _keep(table: dict[RequestId, _S], id: RequestId, sending: _S) -> None:
    table[id] = sending
    sending.task.add_done_callback(lambda _: table.pop(id, None))


async def _left(sendings: list[Unanswered]) -> None:
    for sending in sendings:
        await sending.flushed()


async def _within(farewell: Coroutine[Any, Any, object]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL):
            await farewell
