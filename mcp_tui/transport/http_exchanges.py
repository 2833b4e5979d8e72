"""The HTTP exchanges of one connection: messages that are POSTed, and the streams of their responses.

Each message is a separate exchange. The response to a request is a stream of its own, which is read to its end and, if it
breaks, resumed.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import httpx

from mcp_tui.protocol import messages
from mcp_tui.protocol.error_codes import METHOD_NOT_FOUND
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import LINE_HEAD_BYTES, Oversized
from mcp_tui.protocol.large_messages import MessageOutline
from mcp_tui.protocol.messages import ResponseFrame
from mcp_tui.transport.base import NEW_SESSION, Outgoing, RefusedResponse, spawn
from mcp_tui.transport.http_bodies import (
    EVENT_STREAM_TYPE,
    JSON_TYPE,
    SHOWN_BODY_SECONDS,
    ServerEvent,
    read_body,
    read_head,
)
from mcp_tui.transport.http_errors import (
    CLOSED,
    EXPECTED,
    cause,
    is_session_over,
    media_type,
    names_lost_session,
    session_over,
)
from mcp_tui.transport.http_streams import (
    ATTEMPTS,
    NO_SESSION_ID,
    Cursor,
    HttpSession,
    Refused,
    answers,
    check_encoding,
    read_events,
    read_on,
    refused,
)
from mcp_tui.transport.network_errors import RESET
from mcp_tui.transport.suspension import Limit

ERROR_BODY_BYTES: Final = 1 << 20
"""The most bytes of an error response that are read to find a JSON-RPC message."""
OVERTAKEN_SECONDS: Final = 0.1
"""The most seconds that a cancel waits until the server has accepted the cancelled request."""


# -- messages --------------------------------------------------------------------------------------------------


class Sending:
    """A message that is being POSTed.

    ``begun`` says whether a byte of it was written, ``left`` whether all bytes were. ``received`` is set when the server has
    accepted the message, even if the body of the response never ends, or when the exchange has ended. ``refusal`` is set
    if the server refused the message, or it was not delivered. An ``urgent`` message does not wait for connections of
    requests: notifications and responses, which only get a 202.
    """

    urgent = True

    def __init__(self, session: HttpSession, message: Outgoing) -> None:
        self.begun = False
        self.left = False
        self.received = asyncio.Event()
        self.refusal: Refused | None = None
        self._session = session
        self._message = message
        self._closed = False
        self._decided = asyncio.Event()
        # Stored now, because a 404 is about the session in which the message was sent. An initialize opens a session, and
        # has no session id (transports, "Session Management").
        self._sent_with = None if message.method == "initialize" else session.session_id
        self.task = spawn(self._exchange(), name=f"POST {message.method}")
        self.task.add_done_callback(lambda _: (self._decided.set(), self.received.set()))

    async def flushed(self) -> bool:
        """Waits until the last byte was written to the operating system; returns false if the exchange ended before."""
        await self._decided.wait()
        return self.left

    def close(self) -> None:
        """Ends the exchange at once, without further reports. Its connection is closed, and never used again."""
        if not self._closed and not self.task.done():
            self._closed = True
            self._decided.set()
            # C-04: the end of the task closes the socket, with or without a response (HttpClient.request).
            self.task.cancel()

    def settle(self) -> None:
        """Prevents new streams for the message, which is cancelled; an open stream stays open."""

    async def _exchange(self) -> None:
        error: Refused | None = None
        try:
            async with self._post() as response:
                error = await self._refusal(response)
            # Sent again with a new token, because a message that was refused with 401 had no effect (C-32).
            if error is not None and await self._session.renewed(error.response.challenge):
                async with self._post() as response:
                    error = await self._refusal(response)
        except EXPECTED as failure:
            if error is None:
                self._lost(failure)
        if error is not None:  # the refusal counts, even if the second attempt failed otherwise
            self._refused(error)

    async def _refusal(self, response: httpx.Response) -> Refused | None:
        """Returns the refusal in a response; ``None`` if the message was accepted, or refused by a JSON-RPC error."""
        if not response.is_success:
            return await refused(self._session, response)
        media = media_type(response.headers)
        # The headers alone count, because some servers leave the body of a 202 open, and the handshake or a cancel would
        # wait for it. JSON is read first, because it may be a refusal.
        if media != JSON_TYPE:
            self._accepted()
        # Reading the body to its end keeps the connection usable.
        head = b"" if media == EVENT_STREAM_TYPE else await read_head(response.aiter_raw())
        if media != JSON_TYPE:
            return None
        frame = messages.parse(head)
        if isinstance(frame, ResponseFrame) and frame.error is not None:
            # Some servers refuse a notification by a JSON-RPC error with status 200.
            text = f"error {frame.error.code} {frame.error.message[:200]}".rstrip()
            self._failed(Refused(text, RefusedResponse(response.status_code, head)))
            return None
        self._accepted()
        if isinstance(frame, ResponseFrame):
            self._session.deliver(head)  # an unexpected answer
        return None

    def _accepted(self) -> None:
        self.received.set()
        self._session.sink.accepted(message=self._message)

    def _post(self) -> contextlib.AbstractAsyncContextManager[httpx.Response]:
        session = {} if self._sent_with is None else {"Mcp-Session-Id": self._sent_with}
        accept = {"Accept": f"{JSON_TYPE}, {EVENT_STREAM_TYPE}", "Content-Type": JSON_TYPE}
        return self._session.request(
            "POST",
            {**self._message.headers, **session, **accept},
            self._message.raw,
            urgent=self.urgent,
            starts=self._starts,
            flushed=self._flushed,
        )

    def _starts(self) -> None:
        if self._closed:  # httpcore swallowed the cancellation while the connection was made
            raise asyncio.CancelledError
        self.begun = True
        self._session.sink.writing(message=self._message)

    def _flushed(self) -> None:
        self.left = True
        self._decided.set()
        self._session.sink.written(message=self._message)

    def _lost(self, failure: Exception) -> None:
        """Reports that the connection ended without a response."""
        self._failed(self._session.not_delivered(failure))

    def _failed(self, error: Refused) -> None:
        self.refusal = error
        self._session.sink.not_sent(message=self._message, detail=str(error), refusal=error.response)

    def _session_is_over(self, response: RefusedResponse) -> bool:
        """Returns whether a refusal says that the session of the message has ended."""
        return self._sent_with is not None and is_session_over(response, self._message.id)

    def _refused(self, error: Refused) -> None:
        response = error.response
        if not self._session_is_over(response):
            self._failed(error)
            self._doubt(response)
            return
        # The session has ended, so a request was lost, not refused.
        over = session_over(response.status)
        self._failed(
            Refused(over, RefusedResponse(response.status if self._message.id is None else 0, response.body))
        )
        # C-33: no message is sent again in the new session, where the old ids have no meaning.
        self._session.lose(over, renewable=True)

    def _doubt(self, response: RefusedResponse) -> None:
        """Reports that the session may be gone, if the text of the refusal suggests it."""
        session = self._session
        if self._sent_with is not None and names_lost_session(response):
            text = f"the session seems to be gone (HTTP {response.status}). {NEW_SESSION}"
            session.sink.degraded(detail=text)
        # In the handshake, the refusal itself is reported.
        elif self._message.id is not None and session.revision and session.asks_for_session(response):
            session.sink.degraded(detail=NO_SESSION_ID)


class SharedExchange(Sending):
    """A request whose response arrives on the stream that all messages share (HTTP with SSE)."""

    urgent = False

    async def flushed(self) -> bool:
        """Waits until the server has accepted the request, at most :data:`OVERTAKEN_SECONDS` seconds after its last byte.

        C-05: the cancel is a POST on another connection. If the server read it first, its id would be unknown.
        """
        left = await super().flushed()
        if left:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OVERTAKEN_SECONDS):
                    await self.received.wait()
        return left

    def _accepted(self) -> None:
        """Reports nothing, because the answer arrives later on the shared stream."""
        self.received.set()


class Cancel(Sending):
    """The cancel of a request until 2025-11-25: a notification, POSTed as a separate exchange.

    C-05: the cancel waits until the body of the request was sent. It can be withdrawn until its own first byte is written.
    """

    def __init__(self, session: HttpSession, message: Outgoing, request: Sending | None) -> None:
        self._request = request
        self._status = 0
        """The HTTP status, until the first message of the body is reported; then 0."""
        super().__init__(session, message)

    async def _exchange(self) -> None:
        if self._request is not None and not await self._request.flushed():
            self._failed(Refused("the request was not sent"))
            return
        # Until the last byte is sent, streams handle one message per turn, because a POST takes a dozen turns, which a flood
        # would fill.
        self._session.turn.urgent.add(self)
        try:
            await super()._exchange()
        finally:
            self._session.turn.urgent.discard(self)

    def _flushed(self) -> None:
        self._session.turn.urgent.discard(self)
        if not self.left:
            super()._flushed()

    async def _refusal(self, response: httpx.Response) -> Refused | None:
        """Reports the messages in a 2xx response: perhaps the answer of the cancelled request, or a refusal."""
        if not response.is_success:
            return await super()._refusal(response)
        # If the server answers before it has read the whole request, httpcore does not report the last byte. A status shows
        # that the cancel arrived.
        self._flushed()
        session, media, self._status = self._session, media_type(response.headers), response.status_code
        if media != JSON_TYPE:
            self._accepted()
        if media == EVENT_STREAM_TYPE:
            with contextlib.suppress(TimeoutError, *EXPECTED):
                async with Limit(SHOWN_BODY_SECONDS):
                    await read_events(response, session, None, self._reply, own=True)
            if self._status:
                self._reply(b"")
            return None
        raw = await read_head(response.aiter_raw(), session.cap + 1)
        if len(raw) > session.cap:
            self._reply(Oversized(head=raw[:LINE_HEAD_BYTES], size=len(raw)))
        elif raw.strip():
            self._reply(raw)
        if media == JSON_TYPE:
            self._accepted()
        return None

    def _reply(self, message: bytes | Oversized, **_facts: object) -> None:
        raw = b"" if isinstance(message, Oversized) else message
        self._session.sink.replied(message=self._message, raw=raw, status=self._status)
        self._status = 0
        if isinstance(message, Oversized):
            self._session.deliver(message)

    def _accepted(self) -> None:
        self._flushed()
        super()._accepted()

    def _lost(self, failure: Exception) -> None:
        if self.left:
            why = cause(failure)
            text = "the connection was closed" if why in (CLOSED, RESET) else why
            # C-32: the cancel was written, so "not delivered" would be wrong. No status can arrive any more.
            self._session.sink.unanswered(message=self._message, detail=text)
        else:
            super()._lost(failure)

    def _failed(self, error: Refused) -> None:
        status = error.response.status
        if status:
            self._flushed()
        short = status and not 200 <= status < 300
        super()._failed(Refused(f"HTTP {status}", error.response) if short else error)


class Exchange(Sending):
    """A request, and the HTTP stream of its own that answers it.

    The exchange ends with one call of :meth:`Sink.not_sent` or :meth:`Sink.stream_ended`, or without a report after
    :meth:`close`.
    """

    urgent = False

    def __init__(self, session: HttpSession, message: Outgoing, id: RequestId) -> None:
        self._id = id
        self._status = 0
        self._answered = False
        self._cursor = Cursor(polls=True)
        self._waiting = False
        self._final = False
        self._besides = ""
        self._session_id: str | None = None
        """The session id in the response to ``initialize``, until the request succeeds."""
        super().__init__(session, message)

    def settle(self) -> None:
        """C-36: the stream of a cancelled request is not resumed. An open stream continues; a waiting one ends."""
        self._final = True
        if self._waiting:
            # Closed first, so that the task itself makes no report about the stream.
            self.close()
            self._ended("its stream was closed and is not resumed")

    async def _exchange(self) -> None:
        detail = ""
        try:
            async with self._post() as response:
                self._status = response.status_code
                await self._answer(response)
        except Refused as error:
            if error.response.gateway and self.left and self._session.revision is not None:
                # The gateway's answer is not that of the server, which may still be working. In the handshake it counts
                # as a refusal.
                running = "; the server may still be running it" if self._session.modern else ""
                self._ended(f"{error}{running}")
            else:
                self._refused(error)
            return
        except EXPECTED as error:
            detail = cause(error)
            if not self._status:
                self._broken(detail, self._session.not_delivered(error))
                return
        # A defect of mcp-tui: it is raised, but reported first, so that the call does not wait for its timeout.
        except Exception as error:
            self._broken(cause(error), Refused(cause(error)))
            raise
        await self._dropped(detail)

    def _broken(self, ended: str, not_sent: Refused) -> None:
        """Reports that there is no answer: the request was sent and may have had an effect, or it was not sent."""
        if self.left:
            self._ended(ended)
        else:
            self._failed(not_sent)

    async def _answer(self, response: httpx.Response) -> None:
        session, kind = self._session, media_type(response.headers)
        # Unlike for a notification, the token is not renewed here, because the user may have to sign in, while the timers of
        # the request are paused.
        if self._status in (401, 403) or 300 <= self._status < 400:
            raise await refused(session, response)
        check_encoding(session, response, self._id)
        if self._status >= 400:
            await self._error(response)
        elif self._status != 200 or kind not in (JSON_TYPE, EVENT_STREAM_TYPE):
            raise await refused(session, response)
        else:
            if self._message.method == "initialize":
                self._session_id = response.headers.get("mcp-session-id")
            if kind == EVENT_STREAM_TYPE:
                # C-39: a stream of 2026-07-28 is never resumed, even if its events have ids.
                cursor = None if session.modern else self._cursor
                self._besides = await read_events(
                    response, session, cursor, self._deliver, self._other, stream=self._id
                )
            else:
                announced = int(response.headers.get("content-length", "0"))
                outline = MessageOutline()
                raw = await read_body(
                    response.aiter_raw(), session.cap, session.turn, announced, outline, self._cut
                )
                if isinstance(raw, bytes) and not raw.strip():
                    raise await refused(session, response, raw)
                self._deliver(raw, self._status, outline.close())

    def _cut(self, size: int) -> None:
        self._session.sink.dropped(what=f"half a body ({size:,} bytes)", stream=self._id)

    def _other(self, event: ServerEvent) -> bool:
        """Ends the exchange at an ``endpoint`` event before negotiation, because no answer arrives on such a stream.

        Raises:
            Refused: for such an event.
        """
        if event.name == "endpoint" and self._session.revision is None:
            text = "the server answered with the event stream of HTTP+SSE. Use --transport sse"
            raise Refused(text, RefusedResponse(self._status, sse=True))
        return False

    async def _error(self, response: httpx.Response) -> None:
        """Delivers the JSON-RPC message in an error response, on which negotiation depends."""
        body = await read_head(response.aiter_raw(), min(self._session.cap, ERROR_BODY_BYTES))
        frame = messages.parse(body)
        answer = frame if isinstance(frame, ResponseFrame) and frame.id == self._id else None
        # A server of 2026-07-28 also uses HTTP 404 for an unknown method, which does not end a session.
        method_missing = (
            answer is not None and answer.error is not None and answer.error.code == METHOD_NOT_FOUND
        )
        refusal = RefusedResponse(self._status, body)
        if isinstance(frame, messages.UNREADABLE) or (self._session_is_over(refusal) and not method_missing):
            raise await refused(self._session, response, body)
        self._deliver(body, self._status)
        self._doubt(refusal)

    def _deliver(
        self,
        message: bytes | Oversized,
        status: int = 0,
        outline: bytes | None = None,
        at: float | None = None,
    ) -> None:
        if self._closed:
            return
        if isinstance(message, Oversized):
            self._answered = True  # probably the answer, which is too large to resume for it
        else:
            self._answered = self._answered or answers(message)
            frame = None if self._session_id is None else messages.parse(message, outline)
            if isinstance(frame, ResponseFrame) and frame.error is None and self._session_id is not None:
                # Before the answer is delivered, because the client's next message must have the session id.
                self._session.adopt(self._session_id)
                self._session_id = None
        self._session.deliver(message, self._id, status, outline, at)

    def _ended(self, detail: str) -> None:
        self._session.sink.stream_ended(id=self._id, detail=detail)

    async def _dropped(self, detail: str) -> None:
        """Resumes the stream if possible, and ends the exchange. ``detail`` is the reason if the response broke."""
        session, revision, cursor = self._session, self._session.revision, self._cursor
        resumes = revision is not None and revision.resumes
        # C-34: without an event id, the stream cannot be resumed. The server may still be working, so that is no cancel.
        # C-38: the call is not sent again either, because it may have had effects.
        while resumes and not self._answered and not self._final and cursor.last_id:
            why = detail or "closed by the server"
            session.sink.happened(
                text=f"the stream of request {self._id} ended before the response ({why}), resuming in {cursor.pause:g} s"
            )
            self._waiting = True
            await asyncio.sleep(cursor.pause)
            # C-36: until the stream is open again, a cancel ends the exchange, because a replayed answer is not wanted.
            detail, refused = await read_on(session, cursor, self._deliver, self._resumed, stream=self._id)
            self._waiting = False
            if refused is not None or cursor.in_vain >= ATTEMPTS:
                self._final = True
                detail = f"could not be resumed: {detail or 'nothing came'}"
        if self._besides and not detail and not self._answered:
            detail = f"the stream ended without a response, with {self._besides} instead"
        self._ended(detail)

    def _resumed(self) -> None:
        self._waiting = False
        self._session.sink.happened(text=f"resumed the stream of request {self._id}")
