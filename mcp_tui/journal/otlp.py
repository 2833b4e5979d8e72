"""Sending the spans of a session to a collector, by the official OpenTelemetry SDK (extra ``otlp``).

The SDK sends from a thread of its own and drops spans rather than wait, so the session never stands still for a collector.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from mcp_tui import __version__
from mcp_tui.journal import spans
from mcp_tui.journal.records import Header
from mcp_tui.journal.redaction import Redactor
from mcp_tui.journal.writer import Record

QUEUED_SPANS: Final = 16_384
"""Spans that may wait to be sent."""

CLOSE_SECONDS: Final = 2.0
"""Seconds that the last spans may take to be sent."""

RECORDS_IN_A_TURN: Final = 250
"""Records after which the event loop gets its turn."""

_SPAN_KINDS: Final = {"client": SpanKind.CLIENT, "server": SpanKind.SERVER, "internal": SpanKind.INTERNAL}


class SpanSender:
    """Sends the spans of the session that ``header`` begins to ``url``, which is that of the collector, or of its traces.

    Headers, certificates, and the time limit are taken from the SDK's environment variables. ``news`` are sentences for
    the user: that spans do not arrive.
    """

    def __init__(self, url: str, header: Header, redactor: Redactor) -> None:
        self.news: deque[str] = deque()
        self._url = url
        self._spans = spans.SpanMaker(header, hold=spans.HOLD_SECONDS, redact=redactor.text)
        self._resource = Resource(spans.resource_of(header))
        self._scope = InstrumentationScope("mcp-tui", __version__)
        self._exporter = _Counting(OTLPSpanExporter(endpoint=_traces(url)), self._failed)
        self._processor = BatchSpanProcessor(self._exporter, max_queue_size=QUEUED_SPANS)
        self._made = 0

    def write(self, wanted: Iterable[Record]) -> Iterator[None]:
        """Takes in records, in order."""
        for number, record in enumerate(wanted, 1):
            self._send(self._spans.take(record))
            if number % RECORDS_IN_A_TURN == 0:
                yield

    def close(self) -> None:
        """Sends the last spans, and waits for that at most :data:`CLOSE_SECONDS`."""
        self._send(self._spans.rest())
        # a thread, because the SDK waits for half a minute
        closing = threading.Thread(target=self._processor.shutdown, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
        lost = self._made - self._exporter.sent
        if lost:
            self.news.append(f"{lost:,} span{'s'[: lost > 1]} did not reach {self._url}")

    def _send(self, made: Iterable[spans.TraceSpan]) -> None:
        for span in made:
            self._made += 1
            self._processor.on_end(self._readable(span))

    def _failed(self, why: str) -> None:
        self.news.append(
            f"spans do not reach {self._url}: {why}" if why else f"spans do not reach {self._url}"
        )

    def _readable(self, span: spans.TraceSpan) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.context),
            parent=None if span.parent is None else _context(span.parent, is_remote=True),
            resource=self._resource,
            attributes=span.attributes,
            events=[Event(each.name, each.attributes, spans.nanoseconds(each.at)) for each in span.events],
            links=[Link(_context(each)) for each in span.links],
            kind=_SPAN_KINDS[span.kind],
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
            start_time=spans.nanoseconds(span.began),
            end_time=spans.nanoseconds(span.ended),
            instrumentation_scope=self._scope,
        )


class _Counting(SpanExporter):
    """Counts the spans that were sent, and reports the first failure, and the first after a success."""

    def __init__(self, exporter: SpanExporter, failed: Callable[[str], None]) -> None:
        self.sent = 0
        self._exporter = exporter
        self._failed = failed
        self._fails = False
        self._said = _LastWords()
        # what the SDK logs would be written over the screen
        log = logging.getLogger("opentelemetry")
        log.handlers[:], log.propagate = [self._said], False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Sends spans; returns whether that succeeded."""
        self._said.text = ""
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.sent += len(spans)
        elif not self._fails:
            self._failed(self._said.text)
        self._fails = result is not SpanExportResult.SUCCESS
        return result

    def shutdown(self) -> None:
        """Ends the sending, also of what is tried again."""
        self._exporter.shutdown()


class _LastWords(logging.Handler):
    """Keeps what was logged last."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()[:300]


def _traces(url: str) -> str:
    """Returns the URL of a collector's traces: of a URL without a path, that of the specification."""
    base = url.rstrip("/")
    return f"{base}/v1/traces" if base.count("/") < 3 else url


def _context(ids: spans.SpanContext, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(int(ids.trace, 16), int(ids.span, 16), is_remote, TraceFlags(TraceFlags.SAMPLED))
