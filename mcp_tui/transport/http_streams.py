"""The state that the HTTP exchanges of one connection share, and its event streams: reading, opening by GET, and resuming.

The server's own stream belongs to no request. The stream of a request is resumed if it breaks.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import httpx

from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import LINE_HEAD_BYTES, Oversized
from mcp_tui.protocol.messages import NotificationFrame, RequestFrame
from mcp_tui.protocol.revisions import Revision
from mcp_tui.transport.addresses import Address
from mcp_tui.transport.base import (
    DEAF,
    NO_ANSWER,
    SILENCE,
    Challenge,
    RefusedResponse,
    Sink,
    Turn,
    Unfinished,
    outlined,
    spawn,
)
from mcp_tui.transport.http_bodies import EVENT_STREAM_TYPE, EventStream, ServerEvent, read_head
from mcp_tui.transport.http_client import ADDRESS_EXTENSION, TOKEN, HttpClient, nothing
from mcp_tui.transport.http_errors import (
    EXPECTED,
    cause,
    error_message,
    foreign_encoding,
    is_gateway,
    is_session_over,
    media_type,
    names_lost_session,
    refusal,
    session_over,
)
from mcp_tui.transport.network_errors import REFUSED
from mcp_tui.transport.unreachable import readable

NO_SESSION_ID: Final = "The server asks for a session id, but gave none with initialize"

INCOMPLETE: Final = "an incomplete event without its final empty line"

RETRY_SECONDS: Final = 1.0
"""The seconds before a stream is opened again, unless the server sets another time."""
SHORTEST_RETRY_SECONDS: Final = 0.5
"""The least seconds before a stream is opened again, regardless of the server's time."""
LONGEST_RETRY_SECONDS: Final = 30.0
"""The most seconds to which that time grows while attempts are in vain."""
ATTEMPTS: Final = 6
"""The number of consecutive attempts without a message after which a stream is given up."""
STEADY_SECONDS: Final = 5.0
"""The seconds after which an open stream counts as a success, even without a message."""

_EVENT_ID_CHARACTERS: Final = 8192
_REMEMBERED: Final = 1024
"""The number of newest events of a stream that are remembered, because a resumed stream may repeat them."""
_SMALL_BYTES: Final = 64 * 1024


class Deliver(Protocol):
    """Handles a message, the outline of a large one, and the time at which it was read.

    Exchanges and the transport have such methods.
    """

    def __call__(
        self, message: bytes | Oversized, /, *, outline: bytes | None = None, at: float | None = None
    ) -> None: ...


class Refused(Exception):
    """A message got a response without an answer (``response``), or no response. The text is a sentence for the user."""

    def __init__(self, detail: str, response: RefusedResponse = NO_ANSWER) -> None:
        super().__init__(detail)
        self.response = response


@dataclass(eq=False)
class HttpSession:
    """The part of the transport that its exchanges share.

    ``cap`` is the maximum size of a message in bytes. ``revision`` is ``None`` until it is negotiated. ``session_id`` is the
    ``Mcp-Session-Id``. ``endpoint`` is the address for POSTs, if it is not that of the server. ``mute`` says whether
    every GET so far had a 404, so that a 404 does not mean that the session has ended. ``over`` says whether the
    connection has ended, so that no message is sent or reported.
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
    streams: dict[EventStream, RequestId | None] = field(
        default_factory=dict[EventStream, "RequestId | None"]
    )
    """The streams that are being read, each with the id of its request, or ``None``."""

    @property
    def modern(self) -> bool:
        """Whether the negotiated revision has no handshake and no session; false before negotiation."""
        return self.revision is not None and self.revision.modern

    def unhandled_since(self) -> float | None:
        """Returns the time at which the oldest unhandled bytes were read; ``None`` if all are handled."""
        oldest = (each.reader.unhandled.since for each in self.streams)
        return min((since for since in oldest if since is not None), default=None)

    def unfinished(self) -> list[Unfinished]:
        """Returns the messages of which only the start has arrived."""
        return [
            Unfinished(read_at=source.reader.unhandled.read_at, begun=begun, stream=stream)
            for source, stream in self.streams.items()
            if (begun := source.unfinished)
        ]

    @contextlib.asynccontextmanager
    async def reading(self, source: EventStream, stream: RequestId | None) -> AsyncGenerator[None]:
        """Adds a stream to :attr:`streams` while it is read, and closes its reader afterwards."""
        self.streams[source] = stream
        try:
            async with source.reader:
                yield
        finally:
            del self.streams[source]

    def drop(self) -> list[asyncio.Task[None]]:
        """Closes every exchange except the calling one; returns the tasks that are ending."""
        return []

    def end(self, detail: str, *, expected: bool = False, renewable: bool = False) -> None:
        """Reports that the connection has ended, and makes no later reports."""
        # The sink is replaced before the report, because its receiver may close or send, which must cause no further report.
        sink, self.sink, self.over = self.sink, SILENCE, True
        sink.closed(detail=detail, expected=expected, renewable=renewable)

    @contextlib.asynccontextmanager
    async def request(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        urgent: bool = False,
        starts: Callable[[], None] = nothing,
        flushed: Callable[[], None] = nothing,
    ) -> AsyncGenerator[httpx.Response]:
        """Makes one exchange, like :meth:`HttpClient.request`, and follows one redirect with HTTP 307 or 308 to the same
        origin.

        Such a redirect keeps method and body, and no secret is sent elsewhere. It only applies to this exchange.
        """
        to = self.endpoint if method == "POST" and self.endpoint is not None else self.http.address
        async with self.http.request(
            method, headers, body, to=to, urgent=urgent, starts=starts, flushed=flushed
        ) as response:
            self.sink.secrets(values=self.http.cookies.values())
            location = response.headers.get("location", "").strip()
            again = to.beside(location) if response.status_code in (307, 308) and location else None
            if again is None:
                yield response
                return
            await read_head(response.aiter_raw())  # reading the body to its end keeps the connection usable
            status = response.status_code
        self.sink.happened(text=f"HTTP {status}: sent the {method} again to {again.shown}")
        async with self.http.request(
            method, headers, body, to=again, urgent=urgent, starts=starts
        ) as response:
            self.sink.secrets(values=self.http.cookies.values())
            yield response

    def lose(self, detail: str, *, renewable: bool = False) -> None:
        """Ends the connection, because the server has ended its session."""
        # Ended first, so that the exchanges make no reports when they are closed.
        self.end(detail, renewable=renewable)
        self.drop()
        spawn(self.http.close(), name="close the connections")

    def deliver(
        self,
        message: bytes | Oversized,
        stream: RequestId | None = None,
        status: int = 0,
        outline: bytes | None = None,
        at: float | None = None,
    ) -> None:
        """Reports a message that arrived on the stream of a request, or on the server's own stream."""
        if isinstance(message, Oversized):
            self.sink.too_large(message, stream=stream, at=at)
        else:
            self.sink.received(raw=message, stream=stream, status=status, outline=outline, at=at)

    def deafen(self, detail: str) -> None:
        """Reports that notifications from the server can no longer arrive."""
        self.sink.degraded(detail=f"{detail}. {DEAF}")

    async def renewed(self, challenge: Challenge | None) -> bool:
        """Returns whether there is a new token, without asking the user, for a message that was refused with 401."""
        tokens = self.http.tokens
        if challenge is None or challenge.status != 401 or tokens is None:
            return False
        return await tokens.renew(challenge)

    def adopt(self, id: str) -> None:
        """Stores the session id of a successful ``initialize`` (transports, "Session Management")."""
        if self.modern:
            return
        # A session id must be visible ASCII (transports, "Session Management"); other text cannot be sent in a header.
        if id and all("!" <= character <= "~" for character in id):
            self.session_id = id
        else:
            self.sink.happened(text=f"the server's session id {readable(id, 40)!r} is invalid and ignored")

    @property
    def listens(self) -> bool:
        """Whether a stream is open that belongs to no request."""
        return None in self.streams.values()

    def not_delivered(self, failure: Exception) -> Refused:
        """Returns the refusal of a message whose connection failed before any byte was sent."""
        stopping = cause(failure) == REFUSED and self.http.proxy is None and bool(self.streams)
        return Refused(self.http.failure_text(failure), RefusedResponse(stopping=stopping))

    def asks_for_session(self, response: RefusedResponse) -> bool:
        """Returns whether a refusal asks for a session id, although the server gave none."""
        return self.session_id is None and not self.modern and names_lost_session(response)

    def headers(self) -> dict[str, str]:
        """Returns the headers of a request without a message: GET and DELETE."""
        made = {} if self.session_id is None else {"Mcp-Session-Id": self.session_id}
        if self.revision is not None and self.revision.version_header:
            made["MCP-Protocol-Version"] = self.revision.name
        return made


# -- streams ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Cursor:
    """The position in a stream: its last event id (Latin-1), and the number of consecutive attempts in vain.

    An attempt is in vain if the stream brought no message, and ended soon. The stream of a request may be polled
    (2025-11-25, "Sending Messages": the server closes it after an event with an id). Then a new id is also a success, if
    the server asks for a pause.
    """

    last_id: str = ""
    in_vain: int = 0
    polls: bool = False
    """Whether a new id shows that the server is still working, as in the stream of a request."""

    _retry: float = RETRY_SECONDS
    _seen: dict[tuple[str, int], None] = field(default_factory=dict[tuple[str, int], None])
    _before: frozenset[tuple[str, int]] = frozenset()

    def reopen(self) -> None:
        """Starts another attempt, in which the server may repeat events."""
        self.in_vain += 1
        self._before = frozenset(self._seen)

    def moves(self, event: ServerEvent) -> bool:
        """Handles the id and the retry time of an event; returns false if a resumed stream repeats the event."""
        if event.retry is not None:
            self._retry = event.retry
        is_new = bool(event.id) and (event.id, hash(event.data)) not in self._before
        if event.data or (is_new and self.polls and self._retry >= SHORTEST_RETRY_SECONDS):
            self.in_vain = 0
        if not event.id or len(event.id) > _EVENT_ID_CHARACTERS:
            return True
        self.last_id = event.id
        # The mark includes the data, because an event without an id has the id of an earlier event.
        mark = event.id, hash(event.data)
        if event.data and mark in self._before:
            return False
        self._seen[mark] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return True

    @property
    def pause(self) -> float:
        """The seconds before the next attempt: the server's time, doubled for each attempt in vain after the first."""
        asked = max(SHORTEST_RETRY_SECONDS, self._retry)
        # The exponent is limited, because after a thousand attempts in vain the power would be too large for a float.
        doubled = asked * 2 ** min(max(0, self.in_vain - 1), 64)
        return min(doubled, max(LONGEST_RETRY_SECONDS, asked))


async def read_events(
    response: httpx.Response,
    session: HttpSession,
    cursor: Cursor | None,
    deliver: Deliver,
    other: Callable[[ServerEvent], bool] | None = None,
    *,
    stream: RequestId | None = None,
    own: bool = False,
) -> str:
    """Reads an event stream until the server ends it; returns a text about its other content, if any.

    Args:
        response: the response with the stream.
        session: the session.
        cursor: the position in the stream; without it, ids of events are ignored (streamable HTTP, 2026-07-28).
        deliver: called with each message.
        other: called with each event of another name; returns whether it used the event.
        stream: the id of the request, if this is the stream of a request.
        own: whether reading stops at the first event above the maximum size, as in the stream of a request.

    Raises:
        Exception: the connection broke.
    """

    def drop(message: Oversized) -> None:
        deliver(message, at=source.at)

    own = own or stream is not None
    source = EventStream(response.aiter_raw(), session.cap, session.turn, drop, own=own)
    ignored = ""
    try:
        async with session.reading(source, stream), contextlib.aclosing(source.events()) as events:
            async for event in events:
                if cursor is not None and not cursor.moves(event):
                    text = f"the server sent event {readable(event.id, 40)!r} again: dropped"
                    session.sink.happened(text=text)
                elif event.data and event.name == "message":
                    deliver(event.data, outline=await outlined(event.data, session.turn), at=source.at)
                elif event.data and not (other and other(event)):
                    name = f"{readable(event.name, 40)!r}"
                    if not isinstance(messages.parse(event.data), messages.PollutionFrame):
                        session.sink.dropped(what=f"an event named {name}", raw=event.data, stream=stream)
                    elif not ignored:  # such events usually keep the connection alive
                        session.sink.happened(text=f"ignored events named {name}")
                    ignored = ignored or f"events named {name}"
                await session.turn.breathe()
    except EXPECTED:
        _report_half(session, source, stream)
        raise
    _report_half(session, source, stream)
    return INCOMPLETE if source.cut else ignored


def _report_half(session: HttpSession, source: EventStream, stream: RequestId | None) -> None:
    if source.half:
        session.sink.dropped(what=f"half an event ({source.half:,} bytes)", stream=stream)


@contextlib.asynccontextmanager
async def opened(
    session: HttpSession, last_id: str = "", stream: RequestId | None = None
) -> AsyncGenerator[httpx.Response]:
    """Opens a stream by GET, after the event ``last_id``; ``stream`` is the id of its request.

    Raises:
        Refused: there is no such stream.
        Exception: the connection broke.
    """
    headers = session.headers() | {"Accept": EVENT_STREAM_TYPE, "Cache-Control": "no-store"}
    if last_id:
        headers["Last-Event-ID"] = last_id
    async with session.request("GET", headers) as response:
        if response.status_code != 200 or media_type(response.headers) != EVENT_STREAM_TYPE:
            raise await refused(session, response)
        check_encoding(session, response, stream)
        yield response


async def refused(session: HttpSession, response: httpx.Response, body: bytes | None = None) -> Refused:
    """Returns the refusal for a response without an answer, with the start of its body."""
    if body is None:
        body = await read_head(response.aiter_raw())
    proxy, status = session.http.proxy, response.status_code
    if status == 407:
        detail = (
            "a proxy requires a user and a password (HTTP 407)" if proxy is None else proxy.wants_password
        )
    else:
        speaker = "the server" if proxy is None else proxy.speaker
        detail = refusal(
            status, response.headers, response.extensions[ADDRESS_EXTENSION], body, speaker=speaker
        )
    # Only the page of a 403 may name the missing role or plan.
    words = error_message(body, response.headers, pages=status == 403) if status >= 400 else ""
    if words:
        detail = f"{detail} (it says: {words})"
    challenge = None
    if status in (401, 403):
        header = ", ".join(response.headers.get_list("www-authenticate"))
        challenge = Challenge(status, header, response.extensions[TOKEN])
    gateway = is_gateway(status, response.headers)
    return Refused(detail, RefusedResponse(status, body[:LINE_HEAD_BYTES], challenge, gateway=gateway))


def check_encoding(session: HttpSession, response: httpx.Response, stream: RequestId | None) -> None:
    """Raises :class:`Refused` for a compressed response, because only ``identity`` was accepted."""
    if encoding := foreign_encoding(response.headers):
        session.sink.dropped(what=f"a body in the encoding {encoding}", stream=stream)
        text = f"the server compressed its answer ({encoding}) although only identity is accepted"
        raise Refused(text, RefusedResponse(response.status_code))


def answers(raw: bytes) -> bool:
    """Returns whether a message is a response or contains one. For a large message, only the first kilobyte is checked."""
    head = raw if len(raw) <= _SMALL_BYTES else raw[:1024]
    if b'"result"' not in head and b'"error"' not in head:
        return False
    if len(raw) > _SMALL_BYTES:
        return b'"method"' not in head
    return not isinstance(messages.parse(raw), (RequestFrame, NotificationFrame))


async def read_on(
    session: HttpSession,
    cursor: Cursor,
    deliver: Deliver,
    began: Callable[[], None],
    *,
    stream: RequestId | None = None,
) -> tuple[str, Refused | None]:
    """Opens a stream after the last event, and reads it to its end.

    Returns the reason of the end, empty for a normal end, and the refusal if further attempts are useless.
    """
    cursor.reopen()
    clock, opened_at = asyncio.get_running_loop().time, math.inf
    try:
        async with opened(session, cursor.last_id, stream) as response:
            began()
            opened_at = clock()
            await read_events(response, session, cursor, deliver, stream=stream)
    except Refused as error:
        status = error.response.status
        if session.session_id is not None and not session.mute and is_session_over(error.response):
            session.lose(session_over(status), renewable=True)
        # While a server restarts, a gateway answers with 5xx. With a new token, the next attempt may succeed.
        return str(error), None if status >= 500 or await session.renewed(error.response.challenge) else error
    except EXPECTED as error:
        return cause(error), None
    finally:
        if clock() - opened_at >= STEADY_SECONDS:
            cursor.in_vain = 0
    return "", None


async def listen(session: HttpSession, answered: asyncio.Event) -> None:
    """Keeps the server's own stream open for the whole session, by GET (2025-03-26 to 2025-11-25).

    The stream is optional. A server without one answers with 405, and some with 404 or 400 (transports, "Listening for
    Messages"). After the stream was open, a 404 means that the session has ended. ``answered`` is set when it is known
    whether there is a stream.
    """
    cursor = Cursor()
    was_open = is_reported = False
    session.mute = True

    def began() -> None:
        nonlocal was_open
        was_open, session.mute = True, False
        answered.set()
        if not is_reported:
            session.sink.happened(text="listening to the server's notification stream")

    while True:
        detail, refused = await read_on(session, cursor, session.deliver, began)
        answered.set()
        if refused is not None:
            # A server with another answer knows this address, so a later 404 is about the session.
            session.mute = session.mute and refused.response.status == 404
            if was_open:
                session.deafen(f"the server's notification stream cannot be opened again: {detail}")
            elif refused.response.status not in (400, 404, 405):
                session.sink.happened(text=f"no notification stream: {detail}")
            return
        if cursor.in_vain >= ATTEMPTS:
            why = detail or "closed by the server each time"
            session.deafen(f"gave up the server's notification stream after {ATTEMPTS} attempts: {why}")
            return
        if not is_reported:
            is_reported = True
            why = detail or "closed by the server"
            text = f"the server's notification stream ended ({why}), reopening in {cursor.pause:g} s"
            session.sink.happened(text=text)
        await asyncio.sleep(cursor.pause)
