"""Messages that leave by POST over streamable HTTP: requests, notifications, responses to the server, cancels.

Each is an exchange of its own. A request's brings its own stream back, which is read to its end, and taken up again.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import httpx

from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.transport.base import Outgoing, Refusal, spawn
from mcp_tui.transport.http_bodies import HEAD, OversizedBody, read_body, read_head
from mcp_tui.transport.http_errors import EXPECTED, cause, media_type
from mcp_tui.transport.http_streams import (
    ATTEMPTS,
    EVENTS,
    JSON,
    PATIENCE,
    SESSION_OVER,
    Cursor,
    HttpSession,
    Refused,
    answers,
    check_encoding,
    opened,
    pause,
    read_events,
    refused,
    succeeded,
)

ERROR_BODY: Final = 1 << 20
"""Bytes that are read of an error response in search of a JSON-RPC message."""

_METHOD_NOT_FOUND: Final = -32601
_UNREADABLE: Final = (messages.PollutionFrame, messages.MalformedFrame)


class Sending:
    """A message on its way by POST. ``begun`` says whether a byte of it was written, ``left`` whether all were.

    One that is ``urgent`` waits for no connection of a request: whatever brings no response, such as a notification. 202 is
    all that comes of it.
    """

    urgent = True

    def __init__(self, session: HttpSession, message: Outgoing) -> None:
        self.begun = False
        self.left = False
        self._session = session
        self._message = message
        self._closed = False
        self._decided = asyncio.Event()
        self._sent_with = None if message.method == "initialize" else session.session_id
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
        try:
            async with self._post() as response:
                error = await self._refusal(response)
            if error is not None and await self._session.renewed(error.said.challenge):
                async with self._post() as response:
                    error = await self._refusal(response)
        except EXPECTED as failure:
            self._failed(Refused(self._session.http.cannot(failure)))
        else:
            if error is not None:
                self._refused(error)

    async def _refusal(self, response: httpx.Response) -> Refused | None:
        """The refusal that a response is; ``None`` where it took the message, or said so in JSON-RPC."""
        if not response.is_success:
            return await refused(self._session, response)
        media, head = media_type(response.headers), b""
        if media == JSON:
            with contextlib.suppress(*EXPECTED):
                head = await read_head(response.aiter_raw(), HEAD, PATIENCE)
        frame = messages.parse(head)
        if isinstance(frame, messages.ResponseFrame) and frame.error is not None:
            # some servers refuse a notification by one, with 200
            said = f"error {frame.error.code} {frame.error.message[:200]}".rstrip()
            self._failed(Refused(said, Refusal(response.status_code, head)))
            return None
        self._accepted()
        if isinstance(frame, messages.ResponseFrame):
            self._session.received(head)  # no answer is due here, but it is one
        if media not in (EVENTS, JSON):
            with contextlib.suppress(*EXPECTED):  # a body read to its end keeps the connection
                await read_head(response.aiter_raw(), HEAD, PATIENCE)
        return None

    def _accepted(self) -> None:
        self._session.accepted(self._message.method)

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
        self._session.sink.written(message=self._message)

    def _failed(self, error: Refused) -> None:
        self._session.sink.not_sent(message=self._message, detail=str(error), refusal=error.said)

    def _session_is_over(self, status: int) -> bool:
        """404 to a message of a session: the server no longer knows it (transports, "Session Management")."""
        return status == 404 and self._sent_with is not None

    def _refused(self, error: Refused) -> None:
        over = self._session_is_over(error.said.status)
        if over:  # a request was lost with its session, and was not refused itself
            status = error.said.status if self._message.id is None else 0
            error = Refused(SESSION_OVER, Refusal(status, error.said.body))
        self._failed(error)
        if over:
            self._session.lose(SESSION_OVER, renewable=True)


OVERTAKEN: Final = 0.1
"""Seconds that a cancel waits for the server to take the request that it names."""


class SharedExchange(Sending):
    """A request whose response comes on the one stream that all share (HTTP with SSE)."""

    urgent = False

    def __init__(self, session: HttpSession, message: Outgoing) -> None:
        self._taken = asyncio.Event()
        super().__init__(session, message)

    async def flushed(self) -> bool:
        """Wait until the server has it, for :data:`OVERTAKEN` seconds at most once the last byte has left.

        Its cancel is a POST on another connection, and would be about nothing if it were read first (C-05).
        """
        left = await super().flushed()
        if left:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OVERTAKEN):
                    await self._taken.wait()
        return left

    def _accepted(self) -> None:
        """The answer comes by the stream."""
        self._taken.set()

    def _failed(self, error: Refused) -> None:
        self._taken.set()
        super()._failed(error)


class Cancel(Sending):
    """The signal for a request until 2025-11-25: its notification, POSTed on its own.

    It waits for one thing: that the body of the request itself has left (C-05). Until its own first byte is written
    it can be recalled.
    """

    def __init__(
        self, session: HttpSession, message: Outgoing, id: RequestId, request: Sending | None
    ) -> None:
        self._id = id
        self._request = request
        super().__init__(session, message)

    async def _exchange(self) -> None:
        if self._request is not None and not await self._request.flushed():
            self._failed(Refused("the request was not sent"))
            return
        self._session.turn.urgent.add(self)
        try:
            await super()._exchange()
        finally:
            self._session.turn.urgent.discard(self)

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

    def _failed(self, error: Refused) -> None:
        if status := error.said.status:
            self._flushed()
            short = str(error) if 200 <= status < 300 else f"HTTP {status}"
            self._session.sink.signal_failed(id=self._id, detail=short, refused=True)
        elif self.left:
            text = f"no answer came to the cancel of {self._id!r}: {error}"
            self._session.sink.happened(text=text)
        else:
            self._session.sink.signal_failed(id=self._id, detail=str(error), raw=self._message.raw)


# -- requests --------------------------------------------------------------------------------------------------


class Exchange(Sending):
    """A request on its way and the stream of its own that answers it.

    It ends with one call of :meth:`Sink.not_sent`, or of :meth:`Sink.stream_ended` that is not resumable, unless
    :meth:`close` ended it: then nothing more is told.
    """

    urgent = False

    def __init__(self, session: HttpSession, message: Outgoing, id: RequestId) -> None:
        self._id = id
        self._status = 0
        self._answered = False
        self._cursor = Cursor()
        self._waiting = False
        self._final = False
        self._candidate: str | None = None
        self._besides = ""
        super().__init__(session, message)

    def settle(self) -> None:
        """Resume no more (C-36): a stream that is open goes on, one that waits to be taken up is let go."""
        self._final = True
        if self._waiting:
            self.close()
            self._ended("its stream was closed and is not resumed")

    # -- the way out -----------------------------------------------------------------------------------------------

    async def _exchange(self) -> None:
        try:
            async with self._post() as response:
                self._status = response.status_code
                await self._answer(response)
        except Refused as error:
            self._refused(error)
            return
        except OversizedBody as error:
            self._session.skipped(error, self._id)
            self._ended(str(error))
            return
        except EXPECTED as error:
            detail = cause(error)
            if not self._status:
                self._broken(detail, self._session.http.cannot(error))
                return
        except Exception as error:
            self._broken(cause(error), cause(error))
            raise
        else:
            detail = ""
        await self._dropped(detail)

    def _broken(self, ended: str, not_sent: str) -> None:
        """No answer came: the request was written and may have had its effect, or it was not."""
        if self.left:
            self._ended(ended)
        else:
            self._failed(Refused(not_sent))

    # -- the way back ----------------------------------------------------------------------------------------------

    async def _answer(self, response: httpx.Response) -> None:
        kind = media_type(response.headers)
        if self._status in (401, 403) or 300 <= self._status < 400:
            raise await refused(self._session, response)
        check_encoding(response)
        if self._status >= 400:
            await self._error(response)
        elif self._status != 200 or kind not in (JSON, EVENTS):
            raise await refused(self._session, response)
        else:
            if self._message.method == "initialize":
                self._candidate = response.headers.get("mcp-session-id")
            if kind == EVENTS:
                cursor = None if self._session.modern else self._cursor
                self._besides = await read_events(response, self._session, cursor, self._deliver)
            else:
                session = self._session
                raw = await read_body(response.aiter_raw(), session.cap, _length(response), session.turn)
                if not raw.strip():
                    raise await refused(session, response, raw)
                self._deliver(raw, self._status)

    async def _error(self, response: httpx.Response) -> None:
        """A status from 400 on: a JSON-RPC message goes to the client, whose negotiation keys on it."""
        limit = min(self._session.cap, ERROR_BODY)
        body = await read_head(response.aiter_raw(), limit, PATIENCE)
        frame = messages.parse(body)
        answer = frame if isinstance(frame, messages.ResponseFrame) and frame.id == self._id else None
        lives = answer is not None and answer.error is not None and answer.error.code == _METHOD_NOT_FOUND
        if isinstance(frame, _UNREADABLE) or (self._session_is_over(self._status) and not lives):
            raise await refused(self._session, response, body)
        self._deliver(body, self._status)

    def _deliver(self, raw: bytes, status: int = 0) -> None:
        if self._closed:
            return
        if self._candidate is not None and succeeded(raw):
            self._session.adopt(self._candidate)
            self._candidate = None
        self._answered = self._answered or answers(raw)
        self._session.sink.received(raw=raw, stream=self._id, status=status)

    # -- the end ---------------------------------------------------------------------------------------------------

    def _ended(self, detail: str, *, resumable: bool = False) -> None:
        self._session.sink.stream_ended(id=self._id, detail=detail, resumable=resumable)

    async def _dropped(self, detail: str) -> None:
        """The POST's response is over: cleanly, or broken by ``detail``. Take it up again where that is possible."""
        failures = 0
        session = self._session
        while session.resumes and not self._answered and not self._final and self._cursor.last_id != "":
            delay = pause(self._cursor.retry, failures)
            self._ended(detail, resumable=True)
            why = detail or "closed by the server"
            text = (
                f"the stream of request {self._id} ended before the response ({why}), resuming in {delay:g} s"
            )
            session.sink.happened(text=text)
            self._waiting = True
            await asyncio.sleep(delay)
            detail, gone = await self._resume()
            self._waiting = False
            failures = 0 if self._cursor.heard else failures + 1
            if gone or failures >= ATTEMPTS:
                self._final = True
                detail = f"could not be resumed: {detail or 'nothing came'}"
        if self._besides and not detail and not self._answered:
            detail = f"the stream ended without a response, with {self._besides} instead"
        self._ended(detail)

    async def _resume(self) -> tuple[str, bool]:
        """One GET behind the last event. How it ended (empty: cleanly), and whether to give up."""
        session = self._session
        self._cursor.reopened()
        try:
            async with opened(session, self._cursor.last_id) as response:
                self._waiting = False
                session.sink.happened(text=f"resumed the stream of request {self._id}")
                await read_events(response, session, self._cursor, self._deliver)
        except Refused as error:
            if session.ended_by(error):
                session.lose(SESSION_OVER, renewable=True)
            said = error.said
            return str(error), said.status < 500 and not await session.renewed(said.challenge)
        except OversizedBody as error:
            session.skipped(error, self._id)
            return str(error), True
        except EXPECTED as error:
            return cause(error), False
        return "", False


def _length(response: httpx.Response) -> int | None:
    text = response.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
