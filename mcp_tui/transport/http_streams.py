"""Streams of a streamable HTTP connection: what all of them share, how events are read, how a stream is taken up again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Final

import httpx

from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Batch, MalformedFrame, ResponseFrame
from mcp_tui.protocol.revisions import REVISIONS
from mcp_tui.transport.addresses import Address, readable
from mcp_tui.transport.base import NO_ANSWER, SILENCE, Challenge, Refusal, Sink, Turn, spawn
from mcp_tui.transport.http_bodies import HEAD, EventStream, OversizedBody, ServerEvent, read_head
from mcp_tui.transport.http_client import TOKEN, HttpClient
from mcp_tui.transport.http_errors import EXPECTED, cause, foreign_encoding, media_type, refusal, said

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

INCOMPLETE: Final = "an incomplete event without its final empty line"

SESSION_OVER: Final = "the server ended the session (HTTP 404)"

RETRY: Final = 1.0
"""Seconds before a stream is taken up again, where the server did not say."""
LONGEST_RETRY: Final = 30.0
"""Seconds to which that grows while it fails."""
ATTEMPTS: Final = 6
"""Failures in a row after which a stream is given up."""
PATIENCE: Final = 5.0
"""Seconds for the body of a response that is none: it is only shown."""

_REPLAYED: Final = 1024
_LONGEST_ID: Final = 8192
_SMALL: Final = 64 * 1024


class Refused(Exception):
    """A response that carries no answer (``said``), or none at all. The text is a sentence for a person."""

    def __init__(self, detail: str, said: Refusal = NO_ANSWER) -> None:
        super().__init__(detail)
        self.said = said


def _declined(_name: str, _data: bytes) -> bool:
    return False


@dataclass(eq=False)
class HttpSession:
    """What the exchanges of one connection share: the transport itself, as they see it.

    ``modern`` is ``None`` until the revision is negotiated. ``session_id`` is the ``Mcp-Session-Id``. ``endpoint`` is where
    messages are posted, if not to the address itself. ``mute`` says that the server answered the first GET with 404: then
    a 404 to another one says nothing about the session. ``over``: nothing leaves, and nothing is told.
    """

    http: HttpClient
    cap: int
    sink: Sink = SILENCE
    turn: Turn = field(default_factory=Turn)
    revision: str = ""
    modern: bool | None = None
    session_id: str | None = None
    endpoint: Address | None = None
    mute: bool = False
    over: bool = True

    def accepted(self, method: str) -> None:
        """The server took a message."""
        self.sink.accepted(method=method)

    def drop(self) -> list[asyncio.Task[None]]:
        """Close every exchange but the one that asks for it; the tasks that are ending."""
        return []

    def end(self, detail: str, *, expected: bool = False, renewable: bool = False) -> None:
        """Tell that the connection is gone, and nothing after it."""
        sink, self.sink, self.over = self.sink, SILENCE, True
        sink.closed(detail=detail, expected=expected, renewable=renewable)

    def lose(self, detail: str, *, renewable: bool = False) -> None:
        """The server knows this session no more: nothing further can come of anything."""
        self.end(detail, renewable=renewable)
        self.drop()
        spawn(self.http.close(), name="close the connections")

    def received(self, raw: bytes) -> None:
        """A message came on a stream that belongs to no request."""
        self.sink.received(raw=raw)

    def skipped(self, error: OversizedBody, stream: RequestId | None = None) -> None:
        """A message above the cap was left out of such a stream, or of the own ``stream`` of a request."""
        self.sink.too_large(head=error.head, size=error.size, stream=stream, tail=error.tail)

    def ended_by(self, error: Refused) -> bool:
        """Whether a refused GET says that the session is gone: 404 to a request that carried its id."""
        return error.said.status == 404 and self.session_id is not None and not self.mute

    async def renewed(self, challenge: Challenge | None) -> bool:
        """Whether there is another token now for what was refused with 401, without asking anybody."""
        tokens = self.http.tokens
        if challenge is None or challenge.status != 401 or tokens is None:
            return False
        return await tokens.renew(challenge)

    @property
    def resumes(self) -> bool:
        """Whether a broken stream may be taken up again by ``Last-Event-ID`` (2025-03-26 to 2025-11-25)."""
        known = REVISIONS.get(self.revision)
        return self.modern is False and (known is None or known.resumes)

    def adopt(self, id: str | None) -> None:
        """Take the session id of a successful ``initialize`` (transports, "Session Management")."""
        if id is None or self.modern:
            return
        if id and all("!" <= character <= "~" for character in id):
            self.session_id = id
        else:
            self.sink.happened(text=f"the server's session id {readable(id, 40)!r} is invalid and ignored")

    def headers(self) -> dict[str, str]:
        """Headers of a request that carries no message: GET and DELETE."""
        made = {} if self.session_id is None else {"Mcp-Session-Id": self.session_id}
        known = REVISIONS.get(self.revision)
        if self.revision and (known is None or known.version_header):
            made["MCP-Protocol-Version"] = self.revision
        return made


@dataclass(slots=True)
class Cursor:
    """Where a stream stands: its last event id (Latin-1), and how many seconds the server wants us to stay away.

    ``heard`` says whether anything came since the stream was last opened.
    """

    last_id: str = ""
    retry: float = RETRY
    heard: bool = False
    _seen: dict[str, int] = field(default_factory=dict[str, int])
    _replay: dict[str, int] = field(default_factory=dict[str, int])

    def reopened(self) -> None:
        """From here on the server may send events again that were here already."""
        self._replay = dict(list((self._replay | self._seen).items())[-_REPLAYED:])
        self._seen = {}
        self.heard = False

    def move(self, event: ServerEvent) -> None:
        """Take in the id and the waiting time of an event."""
        self.heard = True
        if 0 < len(event.id) <= _LONGEST_ID:
            self.last_id = event.id
        if event.retry is not None:
            self.retry = event.retry

    def is_replay(self, event: ServerEvent) -> bool:
        """Whether a resumed stream repeats what came before it broke: the same id and the same bytes."""
        if not event.id:
            return False
        mark = hash(event.data)
        if self._replay.get(event.id) == mark:
            return True
        self._seen[event.id] = mark
        if len(self._seen) > _REPLAYED:
            del self._seen[next(iter(self._seen))]
        return False


async def read_events(
    response: httpx.Response,
    session: HttpSession,
    cursor: Cursor | None,
    message: Callable[[bytes], None],
    *,
    other: Callable[[str, bytes], bool] = _declined,
    skipped: Callable[[OversizedBody], None] | None = None,
) -> str:
    """Read an event stream until the server ends it; what it held that is no message, in words, or nothing.

    Without a ``cursor`` the ids of events mean nothing (streamable HTTP, 2026-07-28). ``message`` takes the data of each
    message. ``other`` is offered the events of other names and says whether it took one. An event above the cap ends the
    stream, unless it is told ``skipped``, and left out.

    Raises:
        OversizedBody: an event is above the cap.
        Exception: what broke the connection.
    """
    stream = EventStream(response.aiter_raw(), session.cap, session.turn, skipped)
    ignored = ""
    async with contextlib.aclosing(stream.events()) as events:
        async for event in events:
            if cursor is not None:
                cursor.move(event)
            if event.data:
                if event.name == "message":
                    if cursor is not None and cursor.is_replay(event):
                        text = f"the server sent event {readable(event.id, 40)!r} again: dropped"
                        session.sink.happened(text=text)
                    else:
                        message(event.data)
                elif not other(event.name, event.data) and not ignored:
                    ignored = f"events named {readable(event.name, 40)!r}"
                    session.sink.happened(text=f"ignored {ignored}")
            await session.turn.breathe()
    if stream.partial:
        session.sink.happened(text="a stream ended within an event, which was dropped")
        return INCOMPLETE
    return ignored


@contextlib.asynccontextmanager
async def opened(session: HttpSession, last_id: str = "") -> AsyncGenerator[httpx.Response]:
    """A stream opened by GET, behind the last event that came.

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
    """The refusal that a response amounts to, with the start of its body."""
    if body is None:
        body = await read_head(response.aiter_raw(), HEAD, PATIENCE)
    detail = refusal(response.status_code, response.headers, session.http.address.shown, body)
    words = said(body, response.headers) if response.status_code >= 400 else ""
    if words:
        detail = f"{detail} (it says: {words})"
    challenge = None
    if response.status_code in (401, 403):
        header = ", ".join(response.headers.get_list("www-authenticate"))
        challenge = Challenge(response.status_code, header, response.extensions[TOKEN])
    return Refused(detail, Refusal(response.status_code, body[:HEAD], challenge))


def check_encoding(response: httpx.Response) -> None:
    """Raises :class:`Refused` for a response that is compressed although nobody asked for it."""
    if encoding := foreign_encoding(response.headers):
        text = f"the server compressed its answer ({encoding}) although only identity is accepted"
        raise Refused(text, Refusal(response.status_code))


def answers(raw: bytes) -> bool:
    """Whether a message is, or holds, a response. Large ones are judged by their first kilobyte."""
    head = raw if len(raw) <= _SMALL else raw[:1024]
    if b'"result"' not in head and b'"error"' not in head:
        return False
    if len(raw) > _SMALL:
        return b'"method"' not in head
    frame = messages.parse(raw)
    return isinstance(frame, (ResponseFrame, Batch)) or (
        isinstance(frame, MalformedFrame) and frame.method is None and frame.answers
    )


def succeeded(raw: bytes) -> bool:
    """Whether a message is a response with a result."""
    frame = messages.parse(raw)
    return isinstance(frame, ResponseFrame) and frame.error is None


async def listen(session: HttpSession, answered: asyncio.Event) -> None:
    """Keep the stream that belongs to no request open for the whole session: GET (2025-03-26 to 2025-11-25).

    It is optional; a server without one answers 405, and some 404 or 400 (transports, "Listening for Messages"). Once it
    was open, a 404 is the end of the session. ``answered`` is set once it is known whether there is one.
    """
    cursor = Cursor()
    failures = silent = 0
    told = was_open = False
    while True:
        is_open, detail = False, "closed by the server"
        cursor.reopened()
        try:
            async with opened(session, cursor.last_id) as response:
                is_open = was_open = True
                answered.set()
                if not told:
                    session.sink.happened(text="listening to the server's notification stream")
                await read_events(response, session, cursor, session.received, skipped=session.skipped)
        except Refused as error:
            detail, status = str(error), error.said.status
            if was_open and session.ended_by(error):
                session.lose(SESSION_OVER, renewable=True)
                return
            if await session.renewed(error.said.challenge):
                detail = "a new token was needed"
            elif status < 500:
                session.mute = status == 404
                if status not in (400, 404, 405):
                    session.sink.happened(text=f"no notification stream: {error}")
                return
        except EXPECTED as error:
            detail = cause(error)
        finally:
            answered.set()
        failures = 0 if is_open else failures + 1
        silent = 0 if cursor.heard else silent + 1
        if failures == ATTEMPTS:
            session.sink.happened(text=f"gave up the server's notification stream: {detail}")
            return
        delay = pause(cursor.retry, silent)
        if not told:
            told = True
            text = f"the server's notification stream ended ({detail}), reopening in {delay:g} s"
            session.sink.happened(text=text)
        await asyncio.sleep(delay)


def pause(retry: float, failures: int) -> float:
    """Seconds to wait before the next attempt: what the server said, doubled with each failure after the first."""
    return min(retry * 2 ** max(0, failures - 1), max(LONGEST_RETRY, retry))
