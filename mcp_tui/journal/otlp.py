"""Sends the spans of a session to a collector, by the official OpenTelemetry SDK (extra ``otlp``).

The SDK sends in a separate thread, and drops spans if its queue is full. So the session never waits for a collector. The
SDK's environment variables apply: resource, sampler, limits, batches, headers, certificates, compression, and timeout.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    NoOpTracer,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from mcp_tui import __version__
from mcp_tui.journal import spans
from mcp_tui.journal.masks import mask_url
from mcp_tui.journal.records import Header
from mcp_tui.journal.redaction import Redactor
from mcp_tui.journal.writer import Record

QUEUED_SPANS: Final = 16_384
"""The most spans that may wait to be sent, unless ``OTEL_BSP_MAX_QUEUE_SIZE`` is set."""

CLOSE_SECONDS: Final = 0.5
"""The most seconds to wait until the last spans are sent."""

RECORDS_IN_A_TURN: Final = 250
"""The number of records after which other work may run."""

_SPAN_KINDS: Final = {"client": SpanKind.CLIENT, "server": SpanKind.SERVER, "internal": SpanKind.INTERNAL}
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


class SpanSender:
    """Sends the spans of a session to ``url``, the URL of a collector or of its traces.

    ``news`` has sentences for the user about spans that do not arrive.

    Raises:
        ValueError: an environment variable of the SDK has an invalid value.
    """

    def __init__(self, url: str, header: Header, redactor: Redactor) -> None:
        self.news: deque[str] = deque()
        self._shown = mask_url(url)
        self._spans = spans.SpanMaker(header, late_seconds=spans.LATE_SECONDS, redact=redactor.text)
        self._ids = _GivenIds()
        # Without a handler, the log of the SDK would be written to the terminal.
        log = logging.getLogger("opentelemetry")
        log.handlers[:], log.propagate = [logging.NullHandler()], False
        resource = Resource.create(spans.resource_of(header)).merge(OTELResourceDetector().detect())
        provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        self._tracer = provider.get_tracer("mcp-tui", __version__)
        self._session = _Session()
        exporter = OTLPSpanExporter(endpoint=_traces(url), session=self._session)
        self._exporter = _Counting(exporter, self._failed)
        space = None if "OTEL_BSP_MAX_QUEUE_SIZE" in os.environ else QUEUED_SPANS
        self._processor = BatchSpanProcessor(self._exporter, space)
        provider.add_span_processor(self._processor)
        self._made = 0
        self._closing = False
        if isinstance(self._tracer, NoOpTracer):
            self.news.append("no spans are sent, because OTEL_SDK_DISABLED is set")
        for name in _PROTOCOLS:
            if (protocol := os.environ.get(name, "")) not in {"", "http/protobuf"}:
                self.news.append(f"{name}={protocol} is not supported: spans are sent by http/protobuf")

    def write(self, wanted: Iterable[Record]) -> Iterator[None]:
        """Sends the spans that the records complete; yields from time to time."""
        for number, record in enumerate(wanted, 1):
            self._send(self._spans.take(record))
            if number % RECORDS_IN_A_TURN == 0:
                yield

    def close(self) -> None:
        """Sends the last spans; waits for at most :data:`CLOSE_SECONDS`."""
        self._send(self._spans.rest())
        self._session.over.clear()
        self._closing = True
        # In a thread, because the SDK may wait for half a minute.
        threading.Thread(target=self._shut, daemon=True).start()
        in_time = self._session.over.wait(CLOSE_SECONDS)
        self._exporter.shutdown()  # ends the wait between two attempts; a second call has no effect
        lost = self._made - self._exporter.sent
        if lost:
            why = self._session.why or (
                "they were dropped" if in_time else f"no answer in {CLOSE_SECONDS:g} s"
            )
            self.news.append(f"{lost:,} span{'s'[: lost > 1]} did not reach {self._shown}: {why}")

    def _shut(self) -> None:
        self._processor.shutdown()
        self._session.over.set()

    def _failed(self) -> None:
        if not self._closing:  # close() reports the number of lost spans
            why = self._session.why or "they could not be encoded"
            self.news.append(f"spans do not reach {self._shown}: {why}")

    def _send(self, made: Iterable[spans.TraceSpan]) -> None:
        for span in made:
            self._ids.given = span.context
            parent = (
                set_span_in_context(NonRecordingSpan(_context(span.parent, is_remote=True)))
                if span.parent
                else None
            )
            sent = self._tracer.start_span(
                span.name,
                parent,
                kind=_SPAN_KINDS[span.kind],
                attributes=span.attributes,
                links=[Link(_context(each)) for each in span.links],
                start_time=spans.nanoseconds(span.began),
            )
            if not sent.is_recording():  # disabled, or not in the sample
                continue
            self._made += 1
            for each in span.events:
                sent.add_event(each.name, each.attributes, spans.nanoseconds(each.at))
            if span.error:
                sent.set_status(Status(StatusCode.ERROR, span.error))
            sent.end(spans.nanoseconds(span.ended))


class _GivenIds(IdGenerator):
    """Returns the ids in ``given`` for the next span, so that ids are the same each time a session is exported."""

    given = spans.SpanContext("1", "1")

    def generate_span_id(self) -> int:
        return int(self.given.span, 16)

    def generate_trace_id(self) -> int:
        return int(self.given.trace, 16)


class _Session(requests.Session):
    """An HTTP session that stores the reason of the last failure in ``why``. A redirect is a failure.

    ``over`` is set when all spans are sent, or after two failed connections, because the SDK retries once and then pauses.
    """

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()
        self.why = ""
        self._lost = False

    def send(self, request: requests.PreparedRequest, **settings: Any) -> requests.Response:
        """Sends a request; see :meth:`requests.Session.send`."""
        try:
            response = super().send(request, **{**settings, "allow_redirects": False})
        except (OSError, ValueError) as error:
            from mcp_tui.transport.http_errors import cause  # imports httpx, which takes time to load

            text = "no answer in time" if isinstance(error, requests.Timeout) else cause(error)
            self.why = text.partition(". ")[0]  # without the advice, which is about MCP servers
            if self._lost:
                self.over.set()
            self._lost = True
            raise
        self.why, self._lost = "", False
        if response.status_code >= 300:
            self.why = f"HTTP {response.status_code} {response.reason}".strip()
            self.over.set()
        if 300 <= response.status_code < 400:  # the SDK would count it as a success
            raise requests.RequestException(self.why)
        return response


class _Counting(SpanExporter):
    """An exporter that counts the spans sent, and calls ``failed`` for a failure that follows no other failure."""

    def __init__(self, exporter: SpanExporter, failed: Callable[[], None]) -> None:
        self.sent = 0
        self._exporter = exporter
        self._failed = failed
        self._fails = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Sends spans; returns the result."""
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.sent += len(spans)
        elif not self._fails:
            self._failed()
        self._fails = result is not SpanExportResult.SUCCESS
        return result

    def shutdown(self) -> None:
        """Stops sending, including retries."""
        self._exporter.shutdown()


def _traces(url: str) -> str:
    """Returns the URL for traces of a collector."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith("/v1/traces") else f"{path}/v1/traces"))


def _context(ids: spans.SpanContext, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(int(ids.trace, 16), int(ids.span, 16), is_remote, TraceFlags(TraceFlags.SAMPLED))
