"""One connection of the probe: the product's own client, and everything that came in with its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from mcp_tui.client import Client
from mcp_tui.client.settings import ClientSettings, Target
from mcp_tui.journal.store import Store
from mcp_tui.probe.report import Evidence
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Batch, Json, NotificationFrame, ResponseFrame, as_object
from mcp_tui.protocol.requests import Request

EXCERPT: Final = 240
"""Characters of a frame that evidence quotes."""

HEARD: Final = 5000
"""Arrivals that are kept: a server may send without end."""

UNLIMITED: Final = ev.Limits(timeout=None, max_timeout=None)
"""The clocks of an experiment are its own."""

CANCELLED: Final = "notifications/cancelled"


@dataclass(frozen=True, slots=True)
class Arrival:
    """Something that came in. ``kind``: ``result``, ``error``, ``progress``, ``log`` or ``other``.

    ``id`` is the response's as it came, ``token`` the progress token; ``stream`` the request whose own stream carried it.
    ``type`` is the ``resultType`` of a result that is not complete (2026-07-28).
    """

    at: float
    kind: str
    frame: str
    id: Any = messages.MISSING
    token: Any = None
    code: int | None = None
    is_error: bool = False
    type: str = ""
    stream: RequestId | None = None

    @property
    def words(self) -> str:
        """What it was, in words."""
        if self.kind == "error":
            return f"error {self.code}"
        return "tool error" if self.is_error else self.kind


@dataclass(frozen=True, slots=True)
class Ended:
    """How a connection ended. ``code`` is the process's exit code, negative for a signal."""

    at: float
    detail: str
    code: int | None = None


class ListeningClient(Client):
    """The client with a tap: what its transport tells is noted before it is taken in."""

    def __init__(
        self, target: Target, settings: ClientSettings, *, store: Store, connection: ProbeConnection
    ) -> None:
        super().__init__(target, settings, store=store)
        self._connection = connection

        self.listen(lambda _event: connection.news.set())

    def received(
        self, *, raw: bytes, stream: RequestId | None = None, status: int = 0, unfinished: bool = False
    ) -> None:
        """Note a message before it is taken in."""
        self._connection.note_message(raw, stream)
        super().received(raw=raw, stream=stream, status=status, unfinished=unfinished)
        self._connection.news.set()

    def stream_ended(
        self, *, id: RequestId, status: int = 0, detail: str = "", resumable: bool = False
    ) -> None:
        """Note when nothing more can come on a request's own stream."""
        if not resumable:
            self._connection.streams_ended[id] = self._connection.now()
        super().stream_ended(id=id, status=status, detail=detail, resumable=resumable)
        self._connection.news.set()

    def not_sent(
        self, *, method: str, detail: str, id: RequestId | None = None, status: int = 0, body: bytes = b""
    ) -> None:
        """Note a notification that was refused."""
        if id is None:
            self._connection.refusals.append(detail)
        super().not_sent(method=method, detail=detail, id=id, status=status, body=body)
        self._connection.news.set()

    def closed(
        self, *, detail: str, code: int | None = None, expected: bool = False, renewable: bool = False
    ) -> None:
        """Note how the connection ended."""
        self._connection.note_end(detail, code, expected=expected)
        super().closed(detail=detail, code=code, expected=expected, renewable=renewable)
        self._connection.news.set()


class ProbeConnection:
    """A connection to the server, for one experiment. ``heard`` is what came in, in order."""

    def __init__(self, target: Target, settings: ClientSettings, store: Store) -> None:
        self.heard: list[Arrival] = []
        self.ended: Ended | None = None
        """How it ended although nobody asked for it."""
        self.closed: Ended | None = None
        """How it ended."""
        self.refusals: list[str] = []
        """Why notifications were refused over HTTP."""
        self.streams_ended: dict[RequestId, float] = {}
        self.news = asyncio.Event()
        self.store = store
        self.client: Final = ListeningClient(target, settings, store=store, connection=self)
        self._closing = False

    async def open(self) -> None:
        """Connect.

        Raises:
            TransportError: no session came about.
        """
        await self.client.connect()

    async def close(self, *, interrupted: bool = False) -> None:
        """Cancel what is in flight and end the connection, with its server."""
        self._closing = True
        if interrupted:
            await self.client.cancel_all(ev.Cause.USER, "interrupted")
        await self.client.close()
        self.store.close()

    @property
    def transport(self) -> str:
        """``stdio``, ``http`` or ``sse``."""
        return self.client.ledger.negotiated.transport

    @property
    def modern_http(self) -> bool:
        """Whether a cancel is the closing of a stream."""
        revision = self.client.revision
        return revision is not None and revision.modern and self.transport == "http"

    def now(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    # -- what came in ----------------------------------------------------------------------------------------

    def note_end(self, detail: str, code: int | None, *, expected: bool) -> None:
        """Keep how the connection ended."""
        self.closed = Ended(self.now(), detail, code)
        if not expected and not self._closing:
            self.ended = self.closed

    def note_message(self, raw: bytes, stream: RequestId | None) -> None:
        """Keep a message, as many as :data:`HEARD`."""
        if len(self.heard) >= HEARD:
            return
        at, text = self.now(), raw[: 4 * EXCERPT].decode("utf-8", "replace")[:EXCERPT]
        parsed = messages.parse(raw)
        for frame in parsed.frames if isinstance(parsed, Batch) else (parsed,):
            made = Arrival(at, "other", text, stream=stream)
            if isinstance(frame, ResponseFrame):
                made = replace(made, id=frame.id, kind="result" if frame.error is None else "error")
                fields = as_object(frame.result)
                kind = fields.get("resultType", "complete")
                made = replace(
                    made,
                    code=None if frame.error is None else frame.error.code,
                    is_error=fields.get("isError") is True,
                    type=str(kind) if kind != "complete" else "task" if "task" in fields else "",
                )
            elif isinstance(frame, NotificationFrame) and frame.method == "notifications/progress":
                made = replace(made, kind="progress", token=as_object(frame.params).get("progressToken"))
            elif isinstance(frame, NotificationFrame) and frame.method == "notifications/message":
                made = replace(made, kind="log")
            self.heard.append(made)

    async def until(self, condition: Callable[[], bool], at: float) -> bool:
        """Wait until the condition holds, at most until the moment ``at``; whether it does."""
        while not condition():
            left = at - self.now()
            if left <= 0:
                return False
            self.news.clear()
            try:
                async with asyncio.timeout(left):
                    await self.news.wait()
            except TimeoutError:
                return condition()
        return True

    # -- what goes out ---------------------------------------------------------------------------------------

    def call(self, tool: str, arguments: dict[str, Json], *, limits: ev.Limits = UNLIMITED) -> Trace:
        """Call a tool."""
        return self._trace(self.client.call_tool(tool, arguments, limits=limits))

    def ask(self) -> Trace:
        """Send the request that asks whether the server is still there: a list of its tools, else a ping."""
        info, revision = self.client.info, self.client.revision
        method = "server/discover" if revision is not None and revision.modern else "ping"
        if info is not None and "tools" in info.capabilities:
            method = "tools/list"
        params: Json = None if method == "ping" else {}
        return self._trace(self.client.call(method, params, limits=UNLIMITED, internal=True))

    def _trace(self, id_: RequestId) -> Trace:
        row = self.client.book.get(id_)
        assert row is not None
        return Trace(self, row)

    def notify(self, params: Json) -> None:
        """Send a ``notifications/cancelled`` with any params at all, past the ledger."""
        self.client.notify(CANCELLED, params)

    def raw(self, id: str, method: str, params: dict[str, Json], meta: dict[str, Json] | None = None) -> None:
        """Send a request of which the client's ledger knows nothing; its response is in ``heard``."""
        client = self.client
        merged = {**client.ledger.negotiated.meta, **(meta or {})}
        message = messages.request(id, method, {**params, "_meta": merged} if merged else params)
        connection = client.connection
        if connection is not None:
            connection.transport.send(connection.outgoing(message, method, id, {}))

    def answers(self, id: RequestId) -> list[Arrival]:
        """The responses to an id; an id of the wrong type counts, for it can mean nothing else."""
        return [
            each
            for each in tuple(self.heard)
            if each.kind in ("result", "error")
            and (
                (messages.is_request_id(each.id) and str(each.id) == str(id))
                or (each.id in (None, messages.MISSING) and each.stream == id)
            )
        ]

    def nameless(self, since: float) -> list[Arrival]:
        """Responses without an id that came since a moment, on no request's own stream."""
        return [
            each
            for each in tuple(self.heard)
            if each.kind in ("result", "error")
            and (each.id is None or each.id is messages.MISSING)
            and each.stream is None
            and each.at >= since
        ]


class Trace:
    """One request of an experiment, and what can be told of it. Moments are monotonic seconds."""

    def __init__(self, connection: ProbeConnection, row: Request) -> None:
        self.connection = connection
        self.row = row

    @property
    def id(self) -> RequestId:
        return self.row.id

    @property
    def sent_at(self) -> float:
        """When it was written, or called where that never was reported."""
        return self.row.called_at if self.row.sent_at is None else self.row.sent_at

    @property
    def responses(self) -> list[Arrival]:
        return self.connection.answers(self.id)

    def progress(self) -> list[Arrival]:
        """Progress of this request's token."""
        return [
            each
            for each in tuple(self.connection.heard)
            if each.kind == "progress"
            and type(each.token) is type(self.id)
            and each.token in (self.id, f"mcp-tui-{self.id}")
        ]

    def over(self) -> bool:
        """Whether nothing more can come, or what was waited for came."""
        return bool(self.responses) or self.connection.ended is not None or self._failed()

    def _failed(self) -> bool:
        """Whether the exchange failed below the protocol (HTTP status, connection refused)."""
        row = self.row
        return not row.open and row.cause is None and not self.responses

    async def written(self, within: float = 10.0) -> bool:
        """Wait until it was written."""
        row = self.row
        await self.connection.until(
            lambda: row.sent_at is not None or not row.open or self.connection.ended is not None,
            self.connection.now() + within,
        )
        return row.sent_at is not None

    async def answered(self, until: float) -> Arrival | None:
        """Wait for its response; the first one."""
        await self.connection.until(self.over, until)
        return next(iter(self.responses), None)

    def trouble(self) -> str:
        """Why no response came, in words."""
        if self.connection.ended is not None:
            return self.connection.ended.detail
        if self._failed():
            return self.row.error or self.row.state.value
        return "no answer"

    def waited(self) -> str:
        """The same, and for how long nothing came."""
        words = self.trouble()
        return (
            words
            if words != "no answer"
            else f"no answer within {self.connection.now() - self.sent_at:.1f} s"
        )

    def evidence(self, heard: Arrival, *, cancel_at: float | None = None) -> Evidence:
        """An arrival as evidence of this request."""
        lag = "" if cancel_at is None else f", {heard.at - cancel_at:+.3f} s from the cancel"
        return Evidence(f"{heard.words}{lag}", heard.at - self.sent_at, heard.frame)
