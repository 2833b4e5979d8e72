"""Messages that leave by POST over streamable HTTP: notifications, responses to the server, cancels.

Each is an exchange of its own. What requests need beyond that is in :mod:`mcp_tui.transport.http_exchange`.
"""

from __future__ import annotations

import asyncio
import contextlib

import httpx

from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.transport.base import Challenge, Outgoing, spawn
from mcp_tui.transport.http_bodies import HEAD, read_head
from mcp_tui.transport.http_errors import EXPECTED, media_type
from mcp_tui.transport.http_streams import (
    EVENTS,
    JSON,
    PATIENCE,
    SESSION_OVER,
    HttpSession,
    Refused,
    challenge_of,
    refused,
)


class Sending:
    """A message on its way by POST. ``begun`` says whether a byte of it was written, ``left`` whether all were.

    One that is ``urgent`` waits for no connection of a request.
    """

    urgent = False

    def __init__(self, session: HttpSession, message: Outgoing) -> None:
        self.begun = False
        self.left = False
        self._session = session
        self._message = message
        self._closed = False
        self._decided = asyncio.Event()
        self._sent_with = None if message.method == "initialize" else session.id
        self.task = spawn(self._run(), name=f"POST {message.method}")

    async def flushed(self) -> bool:
        """Wait until the operating system has the last byte; false where the exchange ended before."""
        await self._decided.wait()
        return self.left

    def close(self) -> None:
        """End the exchange where it stands and tell nothing more. Its connection is closed, and never used again."""
        if not self._closed and not self.task.done():
            self._closed = True
            self._decided.set()
            self.task.cancel()

    def settle(self) -> None:
        """The message is cancelled: start nothing new for it, and leave what is open."""

    async def _run(self) -> None:
        try:
            await self._exchange()
        finally:
            self._decided.set()

    async def _exchange(self) -> None:
        raise NotImplementedError

    def _post(self) -> contextlib.AbstractAsyncContextManager[httpx.Response]:
        session = {} if self._sent_with is None else {"Mcp-Session-Id": self._sent_with}
        accept = {"Accept": f"{JSON}, {EVENTS}", "Content-Type": JSON}
        return self._session.http.request(
            "POST",
            {**self._message.headers, **session, **accept},
            self._message.raw,
            to=self._session.endpoint,
            urgent=self.urgent,
            starts=self._starts,
            flushed=self._flushed,
        )

    def _starts(self) -> None:
        if self._closed:  # the cancellation was lost while the connection was made
            raise asyncio.CancelledError
        self.begun = True
        if self._message.id is not None:
            self._session.sink.writing(id=self._message.id)

    def _flushed(self) -> None:
        self.left = True
        self._decided.set()
        self._written()

    def _written(self) -> None:
        message = self._message
        self._session.sink.written(raw=message.raw, method=message.method, id=message.id)

    def _failed(
        self, detail: str, status: int = 0, body: bytes = b"", challenge: Challenge | None = None
    ) -> None:
        message = self._message
        self._session.sink.not_sent(
            method=message.method,
            detail=detail,
            id=message.id,
            status=status,
            body=body,
            challenge=challenge,
        )

    def _session_is_over(self, status: int) -> bool:
        """404 to a message of a session: the server no longer knows it (transports, "Session Management")."""
        return status == 404 and self._sent_with is not None


class Unanswered(Sending):
    """A message whose POST brings no response: 202 is all that comes of it."""

    async def _exchange(self) -> None:
        try:
            async with self._post() as response:
                challenge = challenge_of(response)
                if challenge is None or self._session.http.tokens is None:
                    await self._judge(response)
                    return
                error = await refused(self._session, response)
            if not await self._session.renewed(challenge):
                self._refused(error)
                return
            async with self._post() as response:
                await self._judge(response)
        except EXPECTED as error:
            self._failed(self._session.http.cannot(error))

    async def _judge(self, response: httpx.Response) -> None:
        if response.is_success:
            media = media_type(response.headers)
            if media == JSON:
                head = b""
                with contextlib.suppress(*EXPECTED):
                    head = await read_head(response.aiter_raw(), HEAD, PATIENCE)
                refusal = _error_in(head)
                if refusal:
                    self._failed(refusal, response.status_code, head)
                    return
            self._accepted()
            if media not in (EVENTS, JSON):
                with contextlib.suppress(*EXPECTED):  # a body read to its end keeps the connection
                    await read_head(response.aiter_raw(), HEAD, PATIENCE)
            return
        self._refused(await refused(self._session, response))

    def _refused(self, error: Refused) -> None:
        over = self._session_is_over(error.status)
        self._failed(SESSION_OVER if over else str(error), error.status, error.body, error.challenge)
        if over:
            self._session.lose(SESSION_OVER, renewable=True)

    def _accepted(self) -> None:
        self._session.accepted(self._session, self._message.method)


def _error_in(body: bytes) -> str:
    """The JSON-RPC error that a body is, in words; some servers refuse a notification by one, with 200."""
    frame = messages.parse(body)
    if not isinstance(frame, messages.ResponseFrame) or frame.error is None:
        return ""
    return f"error {frame.error.code} {frame.error.message[:200]}".rstrip()


class Notice(Unanswered):
    """A notification, or a response to a request of the server's."""

    urgent = True


class Cancel(Unanswered):
    """The signal for a request until 2025-11-25: its notification, POSTed on its own.

    It waits for one thing: that the body of the request itself has left (C-05). Until its own first byte is written
    it can be recalled.
    """

    urgent = True

    def __init__(
        self, session: HttpSession, message: Outgoing, id: RequestId, request: Sending | None
    ) -> None:
        self._id = id
        self._request = request
        super().__init__(session, message)

    async def _exchange(self) -> None:
        if self._request is not None and not await self._request.flushed():
            self._failed("the request was not sent")
            return
        self._session.turn.urgent.add(self)
        try:
            await super()._exchange()
        finally:
            self._session.turn.urgent.discard(self)

    def recall(self) -> bool:
        """Take it back; false when it has begun to leave."""
        if self.begun:
            return False
        self.close()
        return True

    def _starts(self) -> None:
        super()._starts()
        self._session.sink.signal_leaving(id=self._id)

    def _flushed(self) -> None:
        if not self.left:
            super()._flushed()

    def _written(self) -> None:
        self._session.turn.urgent.discard(self)
        raw = self._message.raw
        self._session.sink.signalled(id=self._id, signal=Signal.NOTIFICATION, raw=raw, answered=True)

    def _accepted(self) -> None:
        self._flushed()
        self._session.sink.signal_accepted(id=self._id)

    def _failed(
        self, detail: str, status: int = 0, body: bytes = b"", challenge: Challenge | None = None
    ) -> None:
        if status:
            self._flushed()
            short = detail if 200 <= status < 300 else f"HTTP {status}"
            self._session.sink.signal_failed(id=self._id, detail=short, refused=True)
        elif self.left:
            text = f"no answer came to the cancel of {self._id!r}: {detail}"
            self._session.sink.happened(text=text)
        else:
            self._session.sink.signal_failed(id=self._id, detail=detail, raw=self._message.raw)
