"""The state that the HTTP exchanges of one connection share, and its event streams: read, opened by GET, and opened again.

The server's own stream belongs to no request; that of a request is resumed if it breaks.
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
    REFUSED,
    cause,
    error_message,
    foreign_encoding,
    is_session_over,
    media_type,
    names_lost_session,
    refusal,
    session_over,
)
from mcp_tui.transport.unreachable import readable

NO_SESSION_ID: Final = "The server asks for a session id, but gave none with initialize"

INCOMPLETE: Final = "an incomplete event without its final empty line"

RETRY_SECONDS: Final = 1.0
"""Seconds before a stream is opened again, if the server did not say."""
SHORTEST_RETRY_SECONDS: Final = 0.5
"""Seconds at least, whatever the server says."""
LONGEST_RETRY_SECONDS: Final = 30.0
"""Seconds to which that grows while it brings nothing."""
ATTEMPTS: Final = 6
"""Attempts in a row that bring nothing, after which a stream is given up."""
STEADY_SECONDS: Final = 5.0
"""Seconds after which a stream that stayed open was not opened in vain, even if it was quiet."""

_EVENT_ID_CHARACTERS: Final = 8192
_REMEMBERED: Final = 1024
"""Events of a stream, the newest, that a resumed stream may repeat."""
_SMALL_BYTES: Final = 64 * 1024


class Deliver(Protocol):
    """Takes a message, the outline of a large one, and the time of its reading.

    It is a method of an exchange or of the transport.
    """

    def __call__(
        self, message: bytes | Oversized, /, *, outline: bytes | None = None, at: float | None = None
    ) -> None: ...


class Refused(Exception):
    """A response that carries no answer (``said``), or none at all. The text is a sentence for a person."""

    def __init__(self, detail: str, said: RefusedResponse = NO_ANSWER) -> None:
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
    streams: dict[EventStream, RequestId | None] = field(
        default_factory=dict[EventStream, "RequestId | None"]
    )
    """Those that are being read, each with the request that it belongs to."""

    @property
    def modern(self) -> bool:
        """Whether a revision without handshake and session is spoken; false until one is negotiated."""
        return self.revision is not None and self.revision.modern

    def unhandled_since(self) -> float | None:
        """Returns the time at which the oldest bytes were read that are not handled yet; ``None`` if all are."""
        oldest = (each.reader.unhandled.since for each in self.streams)
        return min((since for since in oldest if since is not None), default=None)

    def unfinished(self) -> list[Unfinished]:
        """Returns the messages of which only a beginning has come."""
        return [
            Unfinished(read_at=source.reader.unhandled.read_at, begun=begun, stream=stream)
            for source, stream in self.streams.items()
            if (begun := source.unfinished)
        ]

    @contextlib.asynccontextmanager
    async def reading(self, source: EventStream, stream: RequestId | None) -> AsyncGenerator[None]:
        """Counts a stream among those that are being read, and closes its reader."""
        self.streams[source] = stream
        try:
            async with source.reader:
                yield
        finally:
            del self.streams[source]

    def drop(self) -> list[asyncio.Task[None]]:
        """Closes every exchange but the one that calls this; returns the tasks that are ending."""
        return []

    def end(self, detail: str, *, expected: bool = False, renewable: bool = False) -> None:
        """Reports that the connection is gone, and nothing after it."""
        # Silent before it is said: whoever hears of the end may close or send again, and nothing may be reported after it.
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
        """Makes one exchange as :meth:`HttpClient.request` does, and follows one redirect that leaves it as it is.

        That is HTTP 307 or 308 to the same origin: method and body are the same, and no secret goes elsewhere. The redirect
        holds for this exchange alone.
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
            await read_head(response.aiter_raw())  # a body read to its end keeps the connection
            status = response.status_code
        self.sink.happened(text=f"HTTP {status}: sent the {method} again to {again.shown}")
        async with self.http.request(
            method, headers, body, to=again, urgent=urgent, starts=starts
        ) as response:
            self.sink.secrets(values=self.http.cookies.values())
            yield response

    def lose(self, detail: str, *, renewable: bool = False) -> None:
        """Ends the connection because the server no longer knows it."""
        # Ended first, so that the exchanges that are closed then report nothing any more.
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
        """Reports a message that came on the own stream of a request, or on one that belongs to none."""
        if isinstance(message, Oversized):
            self.sink.too_large(message, stream=stream, at=at)
        else:
            self.sink.received(raw=message, stream=stream, status=status, outline=outline, at=at)

    def deafen(self, detail: str) -> None:
        """Reports that the server's notifications cannot arrive any more."""
        self.sink.degraded(detail=f"{detail}. {DEAF}")

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
        # Visible ASCII alone (transports, "Session Management"): anything else could not be sent back in a header.
        if id and all("!" <= character <= "~" for character in id):
            self.session_id = id
        else:
            self.sink.happened(text=f"the server's session id {readable(id, 40)!r} is invalid and ignored")

    @property
    def listens(self) -> bool:
        """Whether a stream is open that belongs to no request."""
        return None in self.streams.values()

    def not_delivered(self, failure: Exception) -> Refused:
        """Returns what became of a message whose connection failed before anything of it had left."""
        stopping = cause(failure) == REFUSED and self.http.proxy is None and bool(self.streams)
        return Refused(self.http.failure_text(failure), RefusedResponse(stopping=stopping))

    def asks_for_session(self, said: RefusedResponse) -> bool:
        """Returns whether a refusal asks for a session id that the server never gave."""
        return self.session_id is None and not self.modern and names_lost_session(said)

    def headers(self) -> dict[str, str]:
        """Returns the headers of a request that carries no message: GET and DELETE."""
        made = {} if self.session_id is None else {"Mcp-Session-Id": self.session_id}
        if self.revision is not None and self.revision.version_header:
            made["MCP-Protocol-Version"] = self.revision.name
        return made


# -- streams ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Cursor:
    """The position in a stream: its last event id (Latin-1), and how often it was opened again in vain.

    It was in vain if it brought no message, and ended soon. A stream of a request may be polled, though (2025-11-25,
    "Sending Messages": the server closes it after an event with an id): a new id is enough if the server asks for a pause.
    """

    last_id: str = ""
    in_vain: int = 0
    polls: bool = False
    """Whether a new id shows that the server still works on it: the stream of a request."""

    _retry: float = RETRY_SECONDS
    _seen: dict[tuple[str, int], None] = field(default_factory=dict[tuple[str, int], None])
    _before: frozenset[tuple[str, int]] = frozenset()

    def reopen(self) -> None:
        """Notes that from here on the server may repeat events."""
        self.in_vain += 1
        self._before = frozenset(self._seen)

    def moves(self, event: ServerEvent) -> bool:
        """Takes in the id and the waiting time of an event; false if a resumed stream repeats it."""
        if event.retry is not None:
            self._retry = event.retry
        is_new = bool(event.id) and (event.id, hash(event.data)) not in self._before
        if event.data or (is_new and self.polls and self._retry >= SHORTEST_RETRY_SECONDS):
            self.in_vain = 0
        if not event.id or len(event.id) > _EVENT_ID_CHARACTERS:
            return True
        self.last_id = event.id
        # With its data: an event without an id has the last one before it, so an id alone may stand for several events.
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
        asked = max(SHORTEST_RETRY_SECONDS, self._retry)
        # Bounded: after a thousand attempts in vain, in which nothing failed, the power would be too large for a float.
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
    """Reads an event stream until the server ends it; returns in words what it held besides messages.

    ``stream`` is the id of the request whose own stream it is. Such a one, and any other that is ``own``, is read to the
    first event above the cap.
    Without a ``cursor`` the ids of events mean nothing (streamable HTTP, 2026-07-28). ``other`` is offered the events of
    other names and returns whether it used one.

    Raises:
        Exception: what broke the connection.
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
                    elif not ignored:  # to keep the connection alive, most likely
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
    """Opens a stream by GET, behind the last event that came; ``stream`` is the id of the request that it belongs to.

    Raises:
        Refused: there is no such stream.
        Exception: what broke the connection.
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
    """Returns the refusal that a response amounts to, with the start of its body."""
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
    # The page of a 403 may name the role or the plan that is missing, which nothing else does.
    words = error_message(body, response.headers, pages=status == 403) if status >= 400 else ""
    if words:
        detail = f"{detail} (it says: {words})"
    challenge = None
    if status in (401, 403):
        header = ", ".join(response.headers.get_list("www-authenticate"))
        challenge = Challenge(status, header, response.extensions[TOKEN])
    return Refused(detail, RefusedResponse(status, body[:LINE_HEAD_BYTES], challenge))


def check_encoding(session: HttpSession, response: httpx.Response, stream: RequestId | None) -> None:
    """Raises :class:`Refused` for a response that is compressed although only identity was accepted."""
    if encoding := foreign_encoding(response.headers):
        session.sink.dropped(what=f"a body in the encoding {encoding}", stream=stream)
        text = f"the server compressed its answer ({encoding}) although only identity is accepted"
        raise Refused(text, RefusedResponse(response.status_code))


def answers(raw: bytes) -> bool:
    """Returns whether a message is, or holds, a response. A large one is judged by its first kilobyte."""
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
    """Opens a stream behind the last event and reads it to its end.

    Returns how it ended (empty: cleanly), and the refusal that makes further attempts useless.
    """
    cursor.reopen()
    clock, opened_at = asyncio.get_running_loop().time, math.inf
    try:
        async with opened(session, cursor.last_id, stream) as response:
            began()
            opened_at = clock()
            await read_events(response, session, cursor, deliver, stream=stream)
    except Refused as error:
        status = error.said.status
        if session.session_id is not None and not session.mute and is_session_over(error.said):
            session.lose(session_over(status), renewable=True)
        # A server that restarts behind a gateway answers 5xx for a while; with another token the next attempt may succeed.
        return str(error), None if status >= 500 or await session.renewed(error.said.challenge) else error
    except EXPECTED as error:
        return cause(error), None
    finally:
        if clock() - opened_at >= STEADY_SECONDS:
            cursor.in_vain = 0
    return "", None


async def listen(session: HttpSession, answered: asyncio.Event) -> None:
    """Keeps the stream that belongs to no request open for the whole session: GET (2025-03-26 to 2025-11-25).

    It is optional; a server without one answers 405, and some 404 or 400 (transports, "Listening for Messages"). Once it
    was open, a 404 is the end of the session. ``answered`` is set once it is known whether there is one.
    """
    cursor = Cursor()
    was_open = told = False
    session.mute = True

    def began() -> None:
        nonlocal was_open
        was_open, session.mute = True, False
        answered.set()
        if not told:
            session.sink.happened(text="listening to the server's notification stream")

    while True:
        detail, refused = await read_on(session, cursor, session.deliver, began)
        answered.set()
        if refused is not None:
            # A server that answers otherwise knows this address, so that a 404 from now on is about the session.
            session.mute = session.mute and refused.said.status == 404
            if was_open:
                session.deafen(f"the server's notification stream cannot be opened again: {detail}")
            elif refused.said.status not in (400, 404, 405):
                session.sink.happened(text=f"no notification stream: {detail}")
            return
        if cursor.in_vain >= ATTEMPTS:
            why = detail or "closed by the server each time"
            session.deafen(f"gave up the server's notification stream after {ATTEMPTS} attempts: {why}")
            return
        if not told:
            told = True
            why = detail or "closed by the server"
            text = f"the server's notification stream ended ({why}), reopening in {cursor.pause:g} s"
            session.sink.happened(text=text)
        await asyncio.sleep(cursor.pause)
