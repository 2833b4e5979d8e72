"""Spans: the requests of a session as traces, by OpenTelemetry's conventions for MCP.

Each request, from the client or the server, is a span, with its progress, cancel, and so on as span events. A request with a
trace context (``traceparent`` in ``_meta``, SEP-414) belongs to that trace. In a session of a tap, the context is that of
the client's own span, so the tap's span is a child of it. In a session of mcp-tui, the context is that of mcp-tui's span,
so that spans of the server become its children.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cache, lru_cache
from itertools import islice
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from mcp_tui import __version__
from mcp_tui.journal import metric_names
from mcp_tui.journal.records import Header
from mcp_tui.journal.writer import Record
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence, messages
from mcp_tui.protocol.descriptions import name_of
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import as_object, as_text
from mcp_tui.protocol.requests import TERMINAL, Request, Requests
from mcp_tui.protocol.states import TypedId
from mcp_tui.protocol.transitions import IllegalTransition
from mcp_tui.protocol.values import frozen

Attributes = Mapping[str, str | int | float | bool]

LATE_SECONDS: Final = 60.0
"""The seconds for which the span of a cancelled request waits for a late answer, if spans are sent during the session."""

CONTEXT_BYTES: Final = 1_000_000
"""The most bytes of a request in which a trace context is searched."""

WAITING_CONTEXTS: Final = 1000
"""The most trace contexts that wait for the event of their request."""

REMEMBERED_SPANS: Final = 10_000
"""The number of newest requests to whose spans later spans may be linked."""

SPANS_IN_A_LINE: Final = 500

_TRACEPARENT: Final = re.compile(
    "(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2}).*"
)
_NAME_ATTRIBUTES: Final = {
    "tools/call": "gen_ai.tool.name",
    "prompts/get": "gen_ai.prompt.name",
    "resources/read": "mcp.resource.uri",
    "resources/subscribe": "mcp.resource.uri",
    "resources/unsubscribe": "mcp.resource.uri",
}
"""The attribute for the name of a request, by method."""
_UNTOLD: Final = {"at", "id", "seq", "method", "name", "parent", "limits"}
"""Fields of an event that are not attributes of a span event."""


@cache
def _told(kind: type[ev.Event]) -> tuple[tuple[str, str], ...]:
    """Returns the fields of a class of events that are attributes of a span event, and the names of these attributes."""
    return tuple((name, f"mcp_tui.{name}") for name in kind.__dataclass_fields__ if name not in _UNTOLD)


@frozen
class SpanContext:
    """The ids of a trace and of a span in it, in hexadecimal digits. ``sampled``: whoever began the trace keeps it."""

    trace: str
    span: str
    sampled: bool = True


@frozen
class SpanEvent:
    """An event of a span; ``at`` is in seconds since the epoch."""

    name: str
    at: float
    attributes: Attributes


@frozen
class TraceSpan:
    """The span of a request; times are in seconds since the epoch. ``error`` is empty if the request did not fail.

    ``row`` is the request; ``None`` for a request from the server. ``late`` is a message that arrived after the span of the
    request was made.
    """

    name: str
    context: SpanContext
    parent: SpanContext | None
    kind: Literal["client", "server", "internal"]
    began: float
    ended: float
    attributes: Attributes
    row: Request | None = None
    late: ev.Late | ev.Duplicate | None = None
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanContext, ...] = ()
    error: str = ""


class SpanMaker:
    """Makes spans from the records of one session, in order.

    The span of a cancelled request is complete after its late answer, when the answer is no longer awaited, or
    ``late_seconds`` after its end. A later message is a separate span. ``redact`` removes secrets from a text.
    """

    def __init__(
        self,
        header: Header,
        *,
        late_seconds: float = math.inf,
        redact: Callable[[str], str] = lambda text: text,
    ) -> None:
        self._header = header
        self._late_seconds = late_seconds
        self.redact = redact
        self._requests = Requests()
        self.session: dict[str, str | int] = {**_address(header.target)}
        """The attributes of the session, as far as they are known."""
        self._at = header.mono
        self._contexts: OrderedDict[int, SpanContext] = OrderedDict()
        """The trace contexts of requests, by the numbers of their frames."""
        self._carried: dict[TypedId, list[SpanContext]] = {}
        """The trace contexts of the rounds of each open request."""
        self._known: OrderedDict[TypedId, SpanContext] = OrderedDict()
        self._tasks: OrderedDict[str, SpanContext] = OrderedDict()
        self._cancelled: dict[TypedId, Request] = {}
        """Cancelled requests that may be answered late, in order of their ends."""
        self._asked: dict[TypedId, ev.ServerRequestReceived] = {}
        self._lost: list[Request] = []
        """Lost requests, until the next event says who ended the connection."""

    def take(self, record: Record) -> Iterator[TraceSpan]:
        """Handles a record; yields the spans that it completes."""
        if not isinstance(record, ev.Event):
            head, raw = record
            self._at = max(self._at, head.at)
            if (found := context_in(raw)) is not None:
                _remember(self._contexts, head.seq, found, WAITING_CONTEXTS)
            return
        self._at = max(self._at, record.at)
        if self._lost and not isinstance(record, ev.Lost):
            yield from self._made_lost(record)
        match record:
            case ev.Connected():
                about = metric_names.session_attributes(
                    transport=record.transport,
                    revision=record.revision,
                    server=self.redact(record.server),
                    client=self.redact(record.client),
                )
                self.session = {**_address(self._header.target), **about}
            case ev.ServerRequestReceived():
                self._asked[_key(record.request_id)] = record
            case ev.ServerRequestAnswered() | ev.ServerRequestWithdrawn():
                if (asked := self._asked.pop(_key(record.request_id), None)) is not None:
                    yield self._asked_span(asked, record)
            case ev.RequestEvent():
                yield from self._request(record)
            case _:
                return
        while (
            self._cancelled
            and self._at - (next(iter(self._cancelled.values())).ended_at or 0.0) > self._late_seconds
        ):
            yield self._made(self._cancelled.pop(next(iter(self._cancelled))))

    def open_requests(self) -> list[Request]:
        """Returns the requests that wait for their response."""
        return [row for row in [*self._requests.unfinished.values()] if row.open and not row.listening]

    def is_internal(self, row: Request) -> bool:
        """Whether a request is internal to mcp-tui; in a session of a tap, the client made all requests."""
        return row.internal and self._header.purpose != "tap"

    def context_of(self, id_: RequestId) -> SpanContext | None:
        """Returns the ids of the span of a request, if they are known."""
        return self._known.get(_key(id_))

    def _task_context(self, task: str) -> SpanContext | None:
        """Returns the ids of the span of the request that created a task, if they are known."""
        return self._tasks.get(task)

    def rest(self) -> Iterator[TraceSpan]:
        """Yields the spans of requests that are still open at the end of the session."""
        yield from self._made_lost()
        for row in [*self._cancelled.values(), *self._requests.unfinished.values()]:
            yield self._made(row)
        for asked in self._asked.values():
            yield self._asked_span(asked, None)
        self._cancelled, self._asked = {}, {}
        self._requests.unfinished.clear()

    def _request(self, event: ev.RequestEvent) -> Iterator[TraceSpan]:
        key = _key(event.id)
        was_open = key in self._requests.unfinished
        try:
            row = self._requests.apply(event)
        except IllegalTransition:  # a damaged recording
            return
        assert row is not None  # it is the event of a request
        if isinstance(event, ev.Sent) and (carried := self._contexts.pop(event.seq, None)) is not None:
            self._carried.setdefault(key, []).append(carried)
        if isinstance(event, ev.Called | ev.Sent):
            _remember(self._known, key, self._context(row), REMEMBERED_SPANS)
        elif isinstance(event, ev.TaskCreated):
            _remember(self._tasks, event.task_id, self._context_of(row), REMEMBERED_SPANS)
        if key in self._cancelled:
            if evidence.late_answer(row) is not None or row.unwatched_at is not None:
                yield self._made(self._cancelled.pop(key))
        elif not was_open and isinstance(event, ev.Late | ev.Duplicate):
            yield self._late(row, event)
        elif was_open and row.state in TERMINAL:
            if row.cause is None and isinstance(event, ev.Lost):
                self._lost.append(row)
            elif row.cause is None or evidence.late_answer(row) is not None or row.unwatched_at is not None:
                yield self._made(row)
            else:
                self._cancelled[key] = row

    def _context_of(self, row: Request) -> SpanContext:
        """Returns the final ids of the span of a request."""
        return self._known.get(_key(row.id)) or self._context(row)

    def _context(self, row: Request) -> SpanContext:
        """Returns the ids of the span of a request, from its trace context and parent so far."""
        key = _key(row.id)
        carried = self._carried.get(key)
        if carried and self._header.purpose != "tap":
            return carried[0]
        parent = self._parent(row)
        trace = parent.trace if parent is not None else self._digits(key, "trace", 32)
        return SpanContext(trace, self._digits(key, "span", 16), parent is None or parent.sampled)

    def _parent(self, row: Request) -> SpanContext | None:
        carried = self._carried.get(_key(row.id))
        if carried:
            return carried[0] if self._header.purpose == "tap" else None
        return None if row.parent is None else self.context_of(row.parent)

    def _digits(self, key: TypedId, what: str, count: int) -> str:
        """Returns hexadecimal digits that are the same each time the session is exported."""
        text = f"{self._header.id} {what} {key[0].__name__} {key[1]}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:count]

    def _made_lost(self, over: ev.Event | None = None) -> Iterator[TraceSpan]:
        lost, self._lost = self._lost, []
        by_client = isinstance(over, ev.Disconnected) and over.expected
        for row in lost:
            yield self._made(row, metric_names.CLIENT_ENDED if by_client else "")

    def _made(self, row: Request, failure: str = "") -> TraceSpan:
        """Returns the span of a request; ``failure`` is the kind of its failure, if the request does not know that."""
        key = _key(row.id)
        context, parent = self._context_of(row), self._parent(row)
        began = row.called_at if row.sent_at is None else row.sent_at
        # Internal requests of mcp-tui may be refused without being an error, such as one in another protocol version.
        error, kind = ("", "") if self.is_internal(row) else _failure(row)
        attributes = {
            **self._about(row),
            "mcp_tui.state": evidence.ended(row),
            "mcp_tui.progress.count": row.progress_count,
            "mcp_tui.response.size": row.response_size,
        }
        if row.name and (name := _NAME_ATTRIBUTES.get(row.method)) is not None:
            attributes[name] = self.redact(row.name)
        if row.method == "tools/call":
            attributes["gen_ai.operation.name"] = "execute_tool"
        if kind:
            attributes["error.type"] = failure or kind
        if row.code is not None:
            attributes["rpc.response.status_code"] = str(row.code)
        if row.cause is not None:
            attributes |= {
                "mcp_tui.cancel.cause": row.cause.value,
                "mcp_tui.cancel.reason": self.redact(row.reason),
                "mcp_tui.cancel.signal": "" if row.signal is None else row.signal.value,
                "mcp_tui.cancel.outcome": evidence.outcome(row, self._at).value,
            }
        links = [*self._carried.pop(key, [])[1:]]
        if row.repeat is not None:
            attributes |= {
                "mcp_tui.repeat_of": str(row.repeat.repeat_of),
                "mcp_tui.first_outcome": row.repeat.first_outcome,
            }
            first = None if row.repeat.session else self.context_of(row.repeat.repeat_of)
            links += [] if first is None else [first]
        if row.method.startswith("tasks/") and (task := self._task_context(row.name)) is not None:
            links.append(task)
        return TraceSpan(
            name=self.redact(
                f"{row.method} {row.name}"
                if _NAME_ATTRIBUTES.get(row.method, "").startswith("gen")
                else row.method
            ),
            context=context,
            parent=parent,
            kind="client",
            began=self.wall(began),
            ended=self.wall(max(began, self._at if row.ended_at is None else row.ended_at)),
            attributes=attributes,
            row=row,
            events=tuple(map(self._happened, row.history[1:])),
            links=tuple(links),
            error=self.redact(error),
        )

    def _late(self, row: Request, event: ev.Late | ev.Duplicate) -> TraceSpan:
        """Returns a span for a message that arrived after the end of the span of its request."""
        about = self._context_of(row)
        return TraceSpan(
            name=f"{self.redact(row.method)} {name_of(type(event))}",
            context=SpanContext(about.trace, self._digits(_key(row.id), f"late {event.at}", 16)),
            parent=about,
            kind="internal",
            began=self.wall(event.at),
            ended=self.wall(event.at),
            attributes=self._about(row),
            row=row,
            late=event,
            events=(self._happened(event),),
            links=(about,),
        )

    def _asked_span(self, asked: ev.ServerRequestReceived, over: ev.Event | None) -> TraceSpan:
        """Returns the span of a request from the server; ``over`` is the event that ended it, or ``None`` at the end."""
        carried = self._contexts.pop(asked.seq, None)
        parent = carried or (None if asked.parent is None else self.context_of(asked.parent))
        key = (ev.ServerRequestReceived, asked.request_id)
        trace = self._digits(key, f"trace {asked.at}", 32) if parent is None else parent.trace
        refused = isinstance(over, ev.ServerRequestAnswered) and over.code is not None
        attributes = {
            **self._session(),
            "mcp.method.name": self.redact(asked.method),
            "jsonrpc.request.id": self.redact(str(asked.request_id)),
        }
        if isinstance(over, ev.ServerRequestAnswered) and over.code is not None:
            attributes["error.type"] = attributes["rpc.response.status_code"] = str(over.code)
        return TraceSpan(
            name=self.redact(asked.method),
            context=SpanContext(trace, self._digits(key, f"span {asked.at}", 16)),
            parent=parent,
            kind="server",
            began=self.wall(asked.at),
            ended=self.wall(self._at if over is None else over.at),
            attributes=attributes,
            events=() if over is None else (self._happened(over),),
            error="refused" if refused else "",
        )

    def _about(self, row: Request) -> dict[str, Any]:
        return {
            **self._session(),
            "mcp.method.name": self.redact(row.method),
            "jsonrpc.request.id": str(row.id),
            **({"mcp_tui.internal": True} if self.is_internal(row) else {}),
        }

    def _session(self) -> dict[str, Any]:
        return {**self.session, "mcp_tui.session": self._header.id}

    def _happened(self, event: ev.Event) -> SpanEvent:
        attributes: dict[str, str | int | float] = {}
        for name, attribute in _told(type(event)):
            value = getattr(event, name)
            if isinstance(value, int | float):
                attributes[attribute] = value
                continue
            value = value.value if isinstance(value, Enum) else value
            if isinstance(value, str) and value:
                attributes[attribute] = self.redact(value)
        return SpanEvent(name_of(type(event)), self.wall(event.at), attributes)

    def wall(self, at: float) -> float:
        """Converts monotonic seconds to seconds since the epoch."""
        return self._header.wall + (at - self._header.mono)


def otlp_lines(spans: Iterable[str], header: Header) -> Iterator[str]:
    """Yields lines of OTLP in JSON, each with several of the spans (OpenTelemetry Protocol File Exporter)."""
    resource = f'{{"attributes": {_otlp_attributes(resource_of(header))}}}'
    scope = json.dumps({"name": "mcp-tui", "version": __version__})
    source = iter(spans)
    while some := ", ".join(islice(source, SPANS_IN_A_LINE)):
        scoped = f'[{{"scope": {scope}, "spans": [{some}]}}]'
        yield f'{{"resourceSpans": [{{"resource": {resource}, "scopeSpans": {scoped}}}]}}\n'


def resource_of(header: Header) -> Attributes:
    """Returns the attributes of the resource that made the spans."""
    return {"service.name": "mcp-tui", "service.version": __version__, "service.instance.id": header.id}


def nanoseconds(at: float) -> int:
    """Converts seconds to nanoseconds, rounded to microseconds, the precision of a float for times since the epoch."""
    return round(at * 1e6) * 1000


def otlp_span(span: TraceSpan) -> str:
    """Returns a span as JSON. The text is made directly, because a long recording has millions of events."""
    kinds = {"internal": 1, "server": 2, "client": 3}
    status = f'{{"code": 2, "message": {_quoted(span.error)}}}' if span.error else "{}"
    made = [
        f'{{"traceId": "{span.context.trace}"',
        f'"spanId": "{span.context.span}"',
        f'"name": {_quoted(span.name)}',
        f'"kind": {kinds[span.kind]}',
        f'"startTimeUnixNano": "{nanoseconds(span.began)}"',
        f'"endTimeUnixNano": "{nanoseconds(span.ended)}"',
        f'"attributes": {_otlp_attributes(span.attributes)}',
        f'"status": {status}',
    ]
    if span.parent is not None:
        made.append(f'"parentSpanId": "{span.parent.span}"')
    if span.events:
        made.append(f'"events": [{", ".join(map(_otlp_event, span.events))}]')
    if span.links:
        links = (f'{{"traceId": "{each.trace}", "spanId": "{each.span}"}}' for each in span.links)
        made.append(f'"links": [{", ".join(links)}]')
    return ", ".join(made) + "}"


def _otlp_event(event: SpanEvent) -> str:
    head = f'{{"timeUnixNano": "{nanoseconds(event.at)}", "name": "{event.name}"'
    return f'{head}, "attributes": {_otlp_attributes(event.attributes)}}}'


def _otlp_attributes(attributes: Attributes) -> str:
    return f"[{', '.join(map(_otlp_attribute, attributes, attributes.values()))}]"


@lru_cache(maxsize=4096, typed=True)
def _otlp_attribute(name: str, value: str | float) -> str:
    match value:
        case bool():
            of, text = "bool", "true" if value else "false"
        case int() if abs(value) < 1 << 63:  # OTLP has integers of 64 bits
            of, text = "int", f'"{value}"'
        case float() if math.isfinite(value):
            of, text = "double", repr(value)
        case float():
            of, text = "double", f'"{value}"'
        case _:
            of, text = "string", _quoted(str(value))
    return f'{{"key": {_quoted(name)}, "value": {{"{of}Value": {text}}}}}'


def _failure(row: Request) -> tuple[str, str]:
    """Returns why a request failed, and the kind of the failure; both are empty if it did not fail."""
    kind = evidence.error_type(row)
    words = {"timeout": row.reason, "cancelled": "", "tool_error": "the tool reports an error"}
    return words.get(kind, row.error) if kind else "", kind


def _address(target: str) -> dict[str, str | int]:
    """Returns the host and port of a server over HTTP; nothing for a command."""
    with suppress(ValueError):
        url = urlsplit(target)
        if url.scheme in ("http", "https") and url.hostname:
            return {
                "server.address": url.hostname,
                "server.port": url.port or (443, 80)[url.scheme == "http"],
            }
    return {}


def context_in(raw: bytes) -> SpanContext | None:
    """Returns the trace context that a message has; ``None`` without one, or if the message is very long."""
    if b'"traceparent"' not in raw or len(raw) > CONTEXT_BYTES:
        return None
    frame = messages.parse(raw)
    if not isinstance(frame, messages.RequestFrame):
        return None
    found = _TRACEPARENT.fullmatch(
        as_text(as_object(as_object(frame.params).get("_meta")).get("traceparent"))
    )
    return None if found is None else SpanContext(found[1], found[2], bool(int(found[3], 16) & 1))


def _remember(known: OrderedDict[Any, SpanContext], key: object, context: SpanContext, most: int) -> None:
    known[key] = context
    if len(known) > most:
        known.popitem(last=False)  # of a plain dict, this takes time for each entry that was removed before


def _key(id_: RequestId) -> TypedId:
    return type(id_), id_
