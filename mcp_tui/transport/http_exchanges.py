"""The exchanges of one connection over HTTP: messages that leave by POST, and the streams that come back.

Each message is an exchange of its own. A request's brings its own stream back, which is read to its end and, if it breaks,
resumed. The server's own stream, by GET, belongs to no request.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Final

import httpx

from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import HEAD, Oversized
from mcp_tui.protocol.messages import NotificationFrame, RequestFrame, ResponseFrame
from mcp_tui.protocol.revisions import Revision
from mcp_tui.transport.addresses import Address, readable
from mcp_tui.transport.base import NO_ANSWER, SILENCE, Challenge, Outgoing, Refusal, Sink, Turn, spawn
from mcp_tui.transport.http_bodies import EventStream, ServerEvent, read_body, read_head
from mcp_tui.transport.http_client import TOKEN, HttpClient
from mcp_tui.transport.http_errors import (
    EXPECTED,
    cause,
    error_message,
    foreign_encoding,
    media_type,
    refusal,
)

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

INCOMPLETE: Final = "an incomplete event without its final empty line"
SESSION_OVER: Final = "the server ended the session (HTTP 404)"

RETRY: Final = 1.0
"""Seconds before a stream is opened again, if the server did not say."""
LONGEST_RETRY: Final = 30.0
"""Seconds to which that grows while it fails."""
ATTEMPTS: Final = 6
"""Failures in a row after which a stream is given up."""
ERROR_BODY: Final = 1 << 20
"""Bytes that are read of an error response in search of a JSON-RPC message."""
OVERTAKEN: Final = 0.1
"""Seconds that a cancel waits for the server to accept the request that it names."""

_LONGEST_ID: Final = 8192
_REMEMBERED: Final = 1024
"""Events of a stream, the newest, that a resumed stream may repeat."""
_SMALL: Final = 64 * 1024
_METHOD_NOT_FOUND: Final = -32601
_UNREADABLE: Final = (messages.PollutionFrame, messages.MalformedFrame)


class Refused(Exception):
    """A response that carries no answer (``said``), or none at all. The text is a sentence for a person."""

    def __init__(self, detail: str, said: Refusal = NO_ANSWER) -> None:
        super().__init__(detail)
        self.said = said


@dataclass(eq=False)
class HttpSession:
    """The part of the transport that its exchanges share.

    ``revision`` is ``None`` until it is negotiated. ``session_id`` is the ``Mcp-Session-Id``. ``endpoint`` is where messages
    are posted, if not to the address itself. ``mute``: the server did not open a stream of its own yet, or answered 404, so
    that 404 to a GET says nothing about the session. ``over``: nothing leaves, and nothing is reported.
    """

    http: HttpClient
    cap: int
    sink: Sink = SILENCE
    turn: Turn = field(default_factory=Turn)
    revision: Revision | None = None
    session_id: str | None = None
    endpoint: Address | None = None
    mute: bool = False
    over: bool = True

    @property
    def modern(self) -> bool:
        """Whether a revision without handshake and session is spoken; false until one is negotiated."""
        return self.revision is not None and self.revision.modern

    def drop(self) -> list[asyncio.Task[None]]:
        """Closes every exchange but the one that calls this; returns the tasks that are ending."""
        return []

    def end(self, detail: str, *, expected: bool = False, renewable: bool = False) -> None:
        """Reports that the connection is gone, and nothing after it."""
        sink, self.sink, self.over = self.sink, SILENCE, True
        sink.closed(detail=detail, expected=expected, renewable=renewable)

    def lose(self, detail: str, *, renewable: bool = False) -> None:
        """Ends the connection because the server no longer knows it."""
        self.end(detail, renewable=renewable)
        self.drop()
        spawn(self.http.close(), name="close the connections")

    def deliver(self, message: bytes | Oversized, stream: RequestId | None = None, status: int = 0) -> None:
        """Reports a message that came on the own stream of a request, or on one that belongs to none."""
        if isinstance(message, Oversized):
            self.sink.too_large(head=message.head, size=message.size, stream=stream, tail=message.tail)
        else:
            self.sink.received(raw=message, stream=stream, status=status)

    async def renewed(self, challenge: Challenge | None) -> bool:
        """Returns whether there is another token for what was refused with 401, without asking a person."""
        tokens = self.http.tokens
        if challenge is None or challenge.status != 401 or tokens is None:
            return False
        return await tokens.renew(challenge)

    def adopt(self, id: str) -> None:
        """Takes the session id of a successful ``initialize`` (transports, "Session Management")."""
        if self.modern:
            return
        if id and all("!" <= character <= "~" for character in id):
            self.session_id = id
        else:
            self.sink.happened(text=f"the server's session id {readable(id, 40)!r} is invalid and ignored")

    def headers(self) -> dict[str, str]:
        """Returns the headers of a request that carries no message: GET and DELETE."""
        made = {} if self.session_id is None else {"Mcp-Session-Id": self.session_id}
        if self.revision is not None and self.revision.version_header:
            made["MCP-Protocol-Version"] = self.revision.name
        return made


# -- streams ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Cursor:
    """The position in a stream: its last event id (Latin-1), and how often it was opened again since the last event."""

    last_id: str = ""
    in_vain: int = 0
    _retry: float = RETRY
    _seen: dict[tuple[str, int], None] = field(default_factory=dict[tuple[str, int], None])
    _before: frozenset[tuple[str, int]] = frozenset()

    def reopen(self) -> None:
        """Notes that from here on the server may repeat events."""
        self.in_vain += 1
        self._before = frozenset(self._seen)

    def moves(self, event: ServerEvent) -> bool:
        """Takes in the id and the waiting time of an event; false if a resumed stream repeats it."""
        self.in_vain = 0
        if event.retry is not None:
            self._retry = event.retry
        if not event.id or len(event.id) > _LONGEST_ID:
            return True
        self.last_id = event.id
        mark = event.id, hash(event.data)
        if event.data and mark in self._before:
            return False
        self._seen[mark] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return True

    @property
    def pause(self) -> float:
        """The seconds before the next attempt: the server's, doubled with each attempt in vain after the first."""
        doubled = self._retry * 2 ** min(max(0, self.in_vain - 1), 64)
        return min(doubled, max(LONGEST_RETRY, self._retry))


async def read_events(
    response: httpx.Response,
    session: HttpSession,
    cursor: Cursor | None,
    deliver: Callable[[bytes | Oversized], None],
    other: Callable[[ServerEvent], bool] | None = None,
    *,
    own: bool = False,
) -> str:
    """Reads an event stream until the server ends it; returns in words what it held besides messages.

    A request's ``own`` stream is read to the first event above the cap.
    Without a ``cursor`` the ids of events mean nothing (streamable HTTP, 2026-07-28). ``other`` is offered the events of
    other names and returns whether it used one.

    Raises:
        Exception: what broke the connection.
    """
    stream = EventStream(response.aiter_raw(), session.cap, session.turn, deliver, own=own)
    ignored = ""
    async with contextlib.aclosing(stream.events()) as events:
        async for event in events:
            if cursor is not None and not cursor.moves(event):
                session.sink.happened(text=f"the server sent event {readable(event.id, 40)!r} again: dropped")
            elif event.data and event.name == "message":
                deliver(event.data)
            elif event.data and not ignored and not (other and other(event)):
                ignored = f"events named {readable(event.name, 40)!r}"
                session.sink.happened(text=f"ignored {ignored}")
            await session.turn.breathe()
    if stream.cut:
        session.sink.happened(text="a stream ended within an event, which was dropped")
        return INCOMPLETE
    return ignored


@contextlib.asynccontextmanager
async def opened(session: HttpSession, last_id: str = "") -> AsyncGenerator[httpx.Response]:
    """Opens a stream by GET, behind the last event that came.

    Raises:
        Refused: there is no such stream.
        Exception: what broke the connection.
    """
    headers = session.headers() | {"Accept": EVENTS, "Cache-Control": "no-store"}
    if last_id:
        headers["Last-Event-ID"] = last_id
    async with session.http.request("GET", headers) as response:
        if response.status_code != 200 or media_type(response.headers) != EVENTS:
            raise await refused(session, response)
        check_encoding(response)
        yield response


async def refused(session: HttpSession, response: httpx.Response, body: bytes | None = None) -> Refused:
    """Returns the refusal that a response amounts to, with the start of its body."""
    if body is None:
        body = await read_head(response.aiter_raw())
    detail = refusal(response.status_code, response.headers, session.http.address.shown, body)
    words = error_message(body, response.headers) if response.status_code >= 400 else ""
    if words:
        detail = f"{detail} (it says: {words})"
    challenge = None
    if response.status_code in (401, 403):
        header = ", ".join(response.headers.get_list("www-authenticate"))
        challenge = Challenge(response.status_code, header, response.extensions[TOKEN])
    return Refused(detail, Refusal(response.status_code, body[:HEAD], challenge))


def check_encoding(response: httpx.Response) -> None:
    """Raises :class:`Refused` for a response that is compressed although only identity was accepted."""
    if encoding := foreign_encoding(response.headers):
        text = f"the server compressed its answer ({encoding}) although only identity is accepted"
        raise Refused(text, Refusal(response.status_code))


def answers(raw: bytes) -> bool:
    """Returns whether a message is, or holds, a response. A large one is judged by its first kilobyte."""
    head = raw if len(raw) <= _SMALL else raw[:1024]
    if b'"result"' not in head and b'"error"' not in head:
        return False
    if len(raw) > _SMALL:
        return b'"method"' not in head
    return not isinstance(messages.parse(raw), (RequestFrame, NotificationFrame))


async def read_on(
    session: HttpSession,
    cursor: Cursor,
    deliver: Callable[[bytes | Oversized], None],
    began: Callable[[], None],
    *,
    own: bool = False,
) -> tuple[str, Refused | None]:
    """Opens a stream behind the last event and reads it to its end.

    Returns how it ended (empty: cleanly), and the refusal that makes further attempts useless.
    """
    cursor.reopen()
    try:
        async with opened(session, cursor.last_id) as response:
            began()
            await read_events(response, session, cursor, deliver, own=own)
    except Refused as error:
        status = error.said.status
        if status == 404 and session.session_id is not None and not session.mute:
            session.lose(SESSION_OVER, renewable=True)
        return str(error), None if status >= 500 or await session.renewed(error.said.challenge) else error
    except EXPECTED as error:
        return cause(error), None
    return "", None


async def listen(session: HttpSession, answered: asyncio.Event) -> None:
    """Keeps the stream that belongs to no request open for the whole session: GET (2025-03-26 to 2025-11-25).

    It is optional; a server without one answers 405, and some 404 or 400 (transports, "Listening for Messages"). Once it
    was open, a 404 is the end of the session. ``answered`` is set once it is known whether there is one.
    """
    cursor, failures = Cursor(), 0
    is_open = told = False
    session.mute = True

    def began() -> None:
        nonlocal is_open
        is_open, session.mute = True, False
        answered.set()
        if not told:
            session.sink.happened(text="listening to the server's notification stream")

    while True:
        is_open = False
        detail, refused = await read_on(session, cursor, session.deliver, began)
        answered.set()
        if refused is not None:
            session.mute = session.mute and refused.said.status == 404
            if refused.said.status not in (400, 404, 405):
                session.sink.happened(text=f"no notification stream: {detail}")
            return
        failures = 0 if is_open else failures + 1
        if failures == ATTEMPTS:
            session.sink.happened(text=f"gave up the server's notification stream: {detail}")
            return
        if not told:
            told = True
            why = detail or "closed by the server"
            text = f"the server's notification stream ended ({why}), reopening in {cursor.pause:g} s"
            session.sink.happened(text=text)
        await asyncio.sleep(cursor.pause)


# -- messages --------------------------------------------------------------------------------------------------


class Sending:
    """A message on its way by POST. ``begun`` says whether a byte of it was written, ``left`` whether all were.

    ``received`` is set once the server accepted it, whose body may never end, or the exchange is over. ``refusal`` is set
    if the server refused it, or it was not delivered.
    An ``urgent`` one waits for no connection of a request: notifications and responses, which get 202 and nothing else.
    """

    urgent = True

    def __init__(self, session: HttpSession, message: Outgoing) -> None:
        self.begun = False
        self.left = False
        self.received = asyncio.Event()
        self.refusal: Refusal | None = None
        self._session = session
        self._message = message
        self._closed = False
        self._decided = asyncio.Event()
        self._sent_with = None if message.method == "initialize" else session.session_id
        self.task = spawn(self._exchange(), name=f"POST {message.method}")
        self.task.add_done_callback(lambda _: (self._decided.set(), self.received.set()))

    async def flushed(self) -> bool:
        """Waits until the operating system has the last byte; false if the exchange ended before."""
        await self._decided.wait()
        return self.left

    def close(self) -> None:
        """Ends the exchange at once and reports nothing more. Its connection is closed, and never used again."""
        if not self._closed and not self.task.done():
            self._closed = True
            self._decided.set()
            self.task.cancel()

    def settle(self) -> None:
        """Starts nothing new for the message, which is cancelled, and leaves open what is open."""

    async def _exchange(self) -> None:
        try:
            async with self._post() as response:
                error = await self._refusal(response)
            if error is not None and await self._session.renewed(error.said.challenge):
                async with self._post() as response:
                    error = await self._refusal(response)
        except EXPECTED as failure:
            self._failed(Refused(self._session.http.failure_text(failure)))
        else:
            if error is not None:
                self._refused(error)

    async def _refusal(self, response: httpx.Response) -> Refused | None:
        """Returns the refusal that a response is; ``None`` if it accepted the message, or refused it in JSON-RPC."""
        if not response.is_success:
            return await refused(self._session, response)
        media = media_type(response.headers)
        if media != JSON:
            self._accepted()
        # a body read to its end keeps the connection
        head = b"" if media == EVENTS else await read_head(response.aiter_raw())
        if media != JSON:
            return None
        frame = messages.parse(head)
        if isinstance(frame, ResponseFrame) and frame.error is not None:
            # some servers refuse a notification by one, with 200
            text = f"error {frame.error.code} {frame.error.message[:200]}".rstrip()
            self._failed(Refused(text, Refusal(response.status_code, head)))
            return None
        self._accepted()
        if isinstance(frame, ResponseFrame):
            self._session.deliver(head)  # no answer is due here, but it is one
        return None

    def _accepted(self) -> None:
        self.received.set()
        self._session.sink.accepted(message=self._message)

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
        self._session.sink.writing(message=self._message)

    def _flushed(self) -> None:
        self.left = True
        self._decided.set()
        self._session.sink.written(message=self._message)

    def _failed(self, error: Refused) -> None:
        self.refusal = error.said
        self._session.sink.not_sent(message=self._message, detail=str(error), refusal=error.said)

    def _session_is_over(self, status: int) -> bool:
        """Returns whether this is 404 to a message of a session: the server no longer knows it."""
        return status == 404 and self._sent_with is not None

    def _refused(self, error: Refused) -> None:
        over = self._session_is_over(error.said.status)
        if over:  # a request was lost with its session, and was not refused itself
            status = error.said.status if self._message.id is None else 0
            error = Refused(SESSION_OVER, Refusal(status, error.said.body))
        self._failed(error)
        if over:
            self._session.lose(SESSION_OVER, renewable=True)


class SharedExchange(Sending):
    """A request whose response comes on the one stream that all share (HTTP with SSE)."""

    urgent = False

    async def flushed(self) -> bool:
        """Waits until the server has it, for :data:`OVERTAKEN` seconds at most once the last byte has left.

        C-05: its cancel is a POST on another connection, and would name an unknown id if it were read first.
        """
        left = await super().flushed()
        if left:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OVERTAKEN):
                    await self.received.wait()
        return left

    def _accepted(self) -> None:
        """Reports nothing: its answer is still to come."""
        self.received.set()


class Cancel(Sending):
    """The signal for a request until 2025-11-25: its notification, POSTed on its own.

    C-05: it waits until the body of the request itself has left. Until its own first byte is written it can be recalled.
    """

    def __init__(self, session: HttpSession, message: Outgoing, request: Sending | None) -> None:
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

    def _flushed(self) -> None:
        self._session.turn.urgent.discard(self)
        if not self.left:
            super()._flushed()

    def _accepted(self) -> None:
        self._flushed()
        super()._accepted()

    def _failed(self, error: Refused) -> None:
        status = error.said.status
        if status:
            self._flushed()
        elif self.left:
            text = f"no answer came to the cancel of {self._message.cancels!r}: {error}"
            self._session.sink.happened(text=text)
            return
        short = status and not 200 <= status < 300
        super()._failed(Refused(f"HTTP {status}", error.said) if short else error)


class Exchange(Sending):
    """A request on its way and the stream of its own that answers it.

    It ends with one call of :meth:`Sink.not_sent` or :meth:`Sink.stream_ended`, unless :meth:`close` ended it: then nothing
    more is reported.
    """

    urgent = False

    def __init__(self, session: HttpSession, message: Outgoing, id: RequestId) -> None:
        self._id = id
        self._status = 0
        self._answered = False
        self._cursor = Cursor()
        self._waiting = False
        self._final = False
        self._besides = ""
        self._session_id: str | None = None
        """The session id that comes with ``initialize``, until that succeeds."""
        super().__init__(session, message)

    def settle(self) -> None:
        """C-36: a cancelled request is not resumed. A stream that is open goes on; one that waits to be resumed ends."""
        self._final = True
        if self._waiting:
            self.close()
            self._ended("its stream was closed and is not resumed")

    async def _exchange(self) -> None:
        detail = ""
        try:
            async with self._post() as response:
                self._status = response.status_code
                await self._answer(response)
        except Refused as error:
            self._refused(error)
            return
        except EXPECTED as error:
            detail = cause(error)
            if not self._status:
                self._broken(detail, self._session.http.failure_text(error))
                return
        except Exception as error:
            self._broken(cause(error), cause(error))
            raise
        await self._dropped(detail)

    def _broken(self, ended: str, not_sent: str) -> None:
        """Reports that no answer came: the request was written and may have had its effect, or it was not."""
        if self.left:
            self._ended(ended)
        else:
            self._failed(Refused(not_sent))

    async def _answer(self, response: httpx.Response) -> None:
        session, kind = self._session, media_type(response.headers)
        if self._status in (401, 403) or 300 <= self._status < 400:
            raise await refused(session, response)
        check_encoding(response)
        if self._status >= 400:
            await self._error(response)
        elif self._status != 200 or kind not in (JSON, EVENTS):
            raise await refused(session, response)
        else:
            if self._message.method == "initialize":
                self._session_id = response.headers.get("mcp-session-id")
            if kind == EVENTS:
                cursor = None if session.modern else self._cursor
                self._besides = await read_events(
                    response, session, cursor, self._deliver, self._other, own=True
                )
            else:
                announced = int(response.headers.get("content-length", "0"))
                raw = await read_body(response.aiter_raw(), session.cap, session.turn, announced)
                if isinstance(raw, bytes) and not raw.strip():
                    raise await refused(session, response, raw)
                self._deliver(raw, self._status)

    def _other(self, event: ServerEvent) -> bool:
        """Ends the exchange at an ``endpoint`` event before there is a session: no answer comes on this stream.

        Raises:
            Refused: always, then.
        """
        if event.name == "endpoint" and self._session.revision is None:
            text = "the server answered with the event stream of HTTP+SSE. Use --transport sse"
            raise Refused(text, Refusal(self._status, sse=True))
        return False

    async def _error(self, response: httpx.Response) -> None:
        """Delivers the JSON-RPC message of a status from 400 on: negotiation keys on it."""
        body = await read_head(response.aiter_raw(), min(self._session.cap, ERROR_BODY))
        frame = messages.parse(body)
        answer = frame if isinstance(frame, ResponseFrame) and frame.id == self._id else None
        method_missing = (
            answer is not None and answer.error is not None and answer.error.code == _METHOD_NOT_FOUND
        )
        if isinstance(frame, _UNREADABLE) or (self._session_is_over(self._status) and not method_missing):
            raise await refused(self._session, response, body)
        self._deliver(body, self._status)

    def _deliver(self, message: bytes | Oversized, status: int = 0) -> None:
        if self._closed:
            return
        if isinstance(message, Oversized):
            self._answered = True  # most likely, and not worth to be fetched twice
        else:
            self._answered = self._answered or answers(message)
            frame = None if self._session_id is None else messages.parse(message)
            if isinstance(frame, ResponseFrame) and frame.error is None and self._session_id is not None:
                self._session.adopt(self._session_id)
                self._session_id = None
        self._session.deliver(message, self._id, status)

    def _ended(self, detail: str) -> None:
        self._session.sink.stream_ended(id=self._id, detail=detail)

    async def _dropped(self, detail: str) -> None:
        """Ends the exchange after its response is over, cleanly or broken by ``detail``; resumes it if possible."""
        session, revision, cursor = self._session, self._session.revision, self._cursor
        resumes = revision is not None and revision.resumes
        while resumes and not self._answered and not self._final and cursor.last_id:
            why = detail or "closed by the server"
            session.sink.happened(
                text=f"the stream of request {self._id} ended before the response ({why}), resuming in {cursor.pause:g} s"
            )
            self._waiting = True
            await asyncio.sleep(cursor.pause)
            detail, refused = await read_on(session, cursor, self._deliver, self._resumed, own=True)
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
