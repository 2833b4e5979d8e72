"""Sends the spans, metrics, and logs of a session to a collector, by the official OpenTelemetry SDK (extra ``otlp``).

The SDK sends in separate threads, and drops spans and log records if their queue is full. So the session never waits for a
collector. The SDK's environment variables apply: resource, sampler, limits, batches, intervals, headers, certificates,
compression, and timeout.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any, Final

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import (
    Counter,
    Histogram,
    MeterProvider,
    ObservableGauge,
    ObservableUpDownCounter,
)
from opentelemetry.sdk.metrics.export import CardinalityLimits, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from mcp_tui import __version__
from mcp_tui.journal import metric_names as names
from mcp_tui.journal import otlp_delivery as delivery
from mcp_tui.journal import spans
from mcp_tui.journal.records import Header
from mcp_tui.journal.redaction import Redactor
from mcp_tui.journal.writer import Record
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import LISTEN, Cause, Kind, State, TypedId

QUEUED_SPANS: Final = 16_384
"""The most spans that may wait to be sent, unless ``OTEL_BSP_MAX_QUEUE_SIZE`` is set."""

SERIES: Final = 500
"""The most series of a metric. Whoever names a tool may be hostile; the SDK adds up further series in one."""

VIOLATIONS: Final = 1000
"""The most violations of a session that are sent; a hostile server may cause millions."""

REPORTS: Final = 20
"""The most reports for the user in a session."""

RECORDS_IN_A_TURN: Final = 250
"""The number of records after which other work may run."""

_SPAN_KINDS: Final = {"client": SpanKind.CLIENT, "server": SpanKind.SERVER, "internal": SpanKind.INTERNAL}
_HARMLESS: Final = frozenset(
    {evidence.Outcome.NO_REPLY, evidence.Outcome.STREAM_CLOSED, evidence.Outcome.TASK_CANCELLED}
)
"""The outcomes of a cancel whose log record is no warning."""


class OtlpSender:
    """Sends the spans, metrics, and logs of a session to ``url``; see :func:`mcp_tui.journal.otlp_delivery.endpoint`.

    ``news`` has sentences for the user about what is ignored, and about what does not arrive.

    Raises:
        ValueError: an environment variable of the SDK has an invalid value.
    """

    def __init__(self, url: str, header: Header, redactor: Redactor) -> None:
        self.news: deque[str] = deque()
        self._reported: set[str] = set()
        self._redact = redactor.text
        self._spans = spans.SpanMaker(header, late_seconds=spans.LATE_SECONDS, redact=redactor.text)
        warnings = delivery.SdkWarnings(self._report)
        wanted = [*delivery.wanted(("traces", "metrics", "logs"), self._report)]
        signals = {
            name: delivery.Signal(name, noun, url, self._report)
            for name, noun in (("traces", "span"), ("metrics", "metric"), ("logs", "log record"))
            if name in wanted
        }
        self._signals = [*signals.values()]
        resource = resource_of(header)
        self._traces = _Traces(signals["traces"], resource) if "traces" in signals else None
        self._metrics = _Metrics(signals["metrics"], resource, self._spans) if "metrics" in signals else None
        self._logs = _Logs(signals["logs"], resource) if "logs" in signals else None
        warnings.finish()
        self._violations = 0
        self._connected_at: float | None = None
        self._at = header.mono

    def write(self, wanted: Iterable[Record]) -> Iterator[None]:
        """Sends what the records complete; yields from time to time."""
        for number, record in enumerate(wanted, 1):
            if self._signals:
                self._take(record)
            if number % RECORDS_IN_A_TURN == 0:
                yield

    def close(self) -> None:
        """Sends the rest; waits for at most :data:`~mcp_tui.journal.otlp_delivery.CLOSE_SECONDS`."""
        self._send(self._spans.rest())
        self._session_ended("")
        delivery.close(self._signals)
        if self._violations > VIOLATIONS:
            self._report(
                f"{self._violations - VIOLATIONS:,} violations were not sent: only the first {VIOLATIONS:,} are"
            )
        self.news.extend(delivery.losses(self._signals))

    def _report(self, text: str) -> None:
        """Reports something once. A collector may give many reasons, so the number of reports is limited."""
        if text not in self._reported and len(self._reported) < REPORTS:
            self._reported.add(text)
            self.news.append(text)

    def _take(self, record: Record) -> None:
        self._send(self._spans.take(record))
        if not isinstance(record, ev.Event):
            return
        self._at = record.at
        match record:
            case ev.Called() if self._metrics is not None:
                self._metrics.begin(record)
            case ev.Connected():
                self._session_ended("")
                self._connected_at = record.at
            case ev.Disconnected():
                self._session_ended("" if record.expected else "disconnected")
            case ev.Violation():
                self._violations += 1
                if self._logs is not None and self._violations <= VIOLATIONS:
                    self._violation(self._logs, record)
            case _:
                pass

    def _session_ended(self, error: str) -> None:
        if self._connected_at is not None and self._metrics is not None:
            self._metrics.record(names.SESSION_DURATION, self._at - self._connected_at, {names.ERROR: error})
        self._connected_at = None

    def _send(self, made: Iterable[spans.TraceSpan]) -> None:
        for span in made:
            context = Context() if self._traces is None else self._traces.send(span)
            if self._metrics is not None:
                self._metrics.take(span, context)
            row = span.row
            if (
                self._logs is not None
                and row is not None
                and span.late is None
                and _is_cancel(row, self._spans)
            ):
                self._logs.emit("mcp_tui.cancel", *self._story(row, span), context)

    def _story(self, row: Request, span: spans.TraceSpan) -> tuple[float, str, dict[str, Any], bool]:
        """Returns the time, text, and attributes of the log record of a cancel, and whether it is a warning."""
        took = "" if row.ended_at is None else f" after {max(0.0, span.ended - span.began):.3f} s"
        cause = "" if row.cause is None else row.cause.value.replace("_", " ")
        why = cause if row.cause in evidence.TIMEOUTS else f"by {cause}: {row.reason}".rstrip(": ")
        until = row.unwatched_at or self._at
        ended = evidence.ended(row).replace("_", " ")
        text = f"{span.name}: {ended}{took} ({why}); {evidence.summary_words(row, until)}"
        warns = evidence.outcome(row, until) not in _HARMLESS
        return span.ended, self._redact(text), dict(span.attributes), warns

    def _violation(self, logs: _Logs, event: ev.Violation) -> None:
        ids = None if event.id is None else self._spans.context_of(event.id)
        logs.emit(
            "mcp_tui.violation",
            self._spans.wall(event.at),
            self._redact(f"The {event.by.value} broke the rule {event.rule}: {event.detail}"),
            {
                **self._spans.session,
                "mcp_tui.violation.rule": event.rule,
                "mcp_tui.violation.by": event.by.value,
                **({} if event.id is None else {"jsonrpc.request.id": self._redact(str(event.id))}),
            },
            True,
            Context() if ids is None else set_span_in_context(NonRecordingSpan(_context(ids))),
        )


class _Traces:
    """Sends spans."""

    def __init__(self, signal: delivery.Signal, resource: Resource) -> None:
        self._signal = signal
        self._ids = _GivenIds()
        provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        self._tracer = provider.get_tracer("mcp-tui", __version__)
        space = None if "OTEL_BSP_MAX_QUEUE_SIZE" in os.environ else QUEUED_SPANS
        provider.add_span_processor(BatchSpanProcessor(signal.exporter(OTLPSpanExporter), space))
        signal.stop = provider.shutdown

    def send(self, span: spans.TraceSpan) -> Context:
        """Sends a span; returns its context for metrics and logs about the same request."""
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
        if sent.is_recording():  # it is in the sample
            self._signal.made += 1
            for each in span.events:
                sent.add_event(each.name, each.attributes, spans.nanoseconds(each.at))
            if span.error:
                sent.set_status(Status(StatusCode.ERROR, span.error))
            sent.end(spans.nanoseconds(span.ended))
        return set_span_in_context(sent)


class _Metrics:
    """Records the metrics of :mod:`~mcp_tui.journal.metric_names`."""

    def __init__(self, signal: delivery.Signal, resource: Resource, made: spans.SpanMaker) -> None:
        self._spans = made
        self._redact = made.redact
        self._waiting: dict[TypedId, dict[str, str]] = {}
        """The attributes of requests without a span yet, because only one thread may use the redactor."""
        kinds = (Histogram, Counter, ObservableGauge, ObservableUpDownCounter)
        limits: CardinalityLimits = dict.fromkeys(kinds, SERIES)
        reader = PeriodicExportingMetricReader(signal.exporter(OTLPMetricExporter), cardinality_limits=limits)
        provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        signal.stop = provider.shutdown
        meter = provider.get_meter("mcp-tui", __version__)
        self._record: dict[str, Callable[..., None]] = {}
        observed = {names.IN_FLIGHT: self._in_flight, names.OLDEST: self._oldest}
        for each in names.METRICS:
            about = (each.unit, each.description)
            match each.kind:
                case "histogram":
                    made_one = meter.create_histogram(
                        each.name, *about, explicit_bucket_boundaries_advisory=each.buckets
                    )
                    self._record[each.name] = made_one.record
                case "counter":
                    self._record[each.name] = meter.create_counter(each.name, *about).add
                case "gauge":
                    meter.create_observable_gauge(each.name, [observed[each]], *about)
                case "updowncounter":
                    meter.create_observable_up_down_counter(each.name, [observed[each]], *about)

    def record(
        self, metric: names.Metric, value: float, more: dict[str, str], context: Context | None = None
    ) -> None:
        """Records a value with the attributes of the session and ``more``, except for empty ones."""
        about = {name: text for name, text in more.items() if text}
        self._record[metric.name](value, {**self._spans.session, **about}, context)

    def take(self, span: spans.TraceSpan, context: Context) -> None:
        """Records the metrics of the request of a span."""
        row, late = span.row, span.late
        error = str(span.attributes.get(names.ERROR, ""))
        if row is None:
            if span.events:  # it ended before the session did
                code = str(span.attributes.get(names.STATUS, ""))
                about = {
                    names.METHOD: span.name[: names.LONGEST_VALUE],
                    names.ERROR: error,
                    names.STATUS: code,
                }
                self.record(names.SERVER_DURATION, span.ended - span.began, about, context)
            return
        request = self._waiting.pop((type(row.id), row.id), None) or self._about(row.method, row.name)
        if late is not None:
            if isinstance(late, ev.Late) and late.kind not in (Kind.PROGRESS, Kind.TASK):
                self.record(names.LATE, late.after, {**request, names.KIND: late.kind.value}, context)
            return
        if row.ended_at is not None and row.sent_at is not None:
            failure = names.failure_attributes(error, row.code)
            self.record(names.CLIENT_DURATION, span.ended - span.began, {**request, **failure}, context)
        if row.state is State.COMPLETED and row.code is None:
            self.record(names.RESULT_SIZE, row.response_size, request, context)
        for each in evidence.late_answers(row):
            self.record(names.LATE, each.after, {**request, names.KIND: each.kind.value}, context)
        if row.repeat is not None:
            self.record(names.REPEATS, 1, {**request, names.FIRST_OUTCOME: row.repeat.first_outcome}, context)
        if row.cause is not None and _is_cancel(row, self._spans):
            outcome = str(span.attributes["mcp_tui.cancel.outcome"])
            about = {**request, names.CAUSE: row.cause.value, names.OUTCOME: outcome}
            self.record(names.CANCELS, 1, about, context)

    def begin(self, call: ev.Called) -> None:
        """Notes the attributes of a request for :meth:`_open`."""
        self._waiting[type(call.id), call.id] = self._about(call.method, call.name)

    def _about(self, method: str, name: str) -> dict[str, str]:
        return names.request_attributes(self._redact(method), self._redact(name))

    def _in_flight(self, options: CallbackOptions) -> Iterator[Observation]:
        """Yields the number of requests in flight. The SDK calls this in a thread of its own."""
        for about, ages in self._open().items():
            yield Observation(len(ages), dict(about))

    def _oldest(self, options: CallbackOptions) -> Iterator[Observation]:
        for about, ages in self._open().items():
            yield Observation(max(ages), dict(about))

    def _open(self) -> dict[tuple[tuple[str, str | int], ...], list[float]]:
        """Returns the ages of the requests in flight in seconds, by their attributes."""
        session, now = self._spans.session, monotonic()
        found: dict[tuple[tuple[str, str | int], ...], list[float]] = {}
        for row in self._spans.open_requests():
            key = tuple({**session, **self._waiting.get((type(row.id), row.id), {})}.items())
            began = row.called_at if row.sent_at is None else row.sent_at
            found.setdefault(key, []).append(max(0.0, now - began))
        return found


class _Logs:
    """Sends log records."""

    def __init__(self, signal: delivery.Signal, resource: Resource) -> None:
        self._signal = signal
        provider = LoggerProvider(resource, shutdown_on_exit=False)
        provider.add_log_record_processor(BatchLogRecordProcessor(signal.exporter(OTLPLogExporter)))
        signal.stop = provider.shutdown
        self._logger = provider.get_logger("mcp-tui", __version__)

    def emit(
        self, name: str, at: float, text: str, attributes: dict[str, Any], warns: bool, context: Context
    ) -> None:
        """Sends a log record; ``at`` is in seconds since the epoch."""
        self._signal.made += 1
        self._logger.emit(
            LogRecord(
                timestamp=spans.nanoseconds(at),
                context=context,
                severity_text="WARN" if warns else "INFO",
                severity_number=SeverityNumber.WARN if warns else SeverityNumber.INFO,
                body=text,
                attributes=attributes,
                event_name=name,
            )
        )


class _GivenIds(IdGenerator):
    """Returns the ids in ``given`` for the next span, so that ids are the same each time a session is exported."""

    given = spans.SpanContext("1", "1")

    def generate_span_id(self) -> int:
        return int(self.given.span, 16)

    def generate_trace_id(self) -> int:
        return int(self.given.trace, 16)


def resource_of(header: Header) -> Resource:
    """Returns the resource: what tells sessions, processes, and hosts apart, and what the standard variables add."""
    known: dict[str, str | int | float | bool] = {
        **spans.resource_of(header),
        "host.name": socket.gethostname(),
        "process.pid": os.getpid(),
        **({"mcp_tui.client.pid": header.client_pid} if header.client_pid else {}),
    }
    return Resource.create(known).merge(OTELResourceDetector().detect())


def _is_cancel(row: Request, made: spans.SpanMaker) -> bool:
    """Whether a request was cancelled by a person, a limit, or a client: not by mcp-tui's own housekeeping."""
    is_own = made.is_internal(row) or row.method == LISTEN or row.cause is Cause.SHUTDOWN
    return row.cause is not None and row.cancel_at is not None and not is_own


def _context(ids: spans.SpanContext, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(int(ids.trace, 16), int(ids.span, 16), is_remote, TraceFlags(ids.sampled))
