"""The delivery of spans, metrics, and logs to a collector: addresses, exporters, and the count of losses.

The exporters are those of the official OpenTelemetry SDK, and read its variables themselves, except for what they read
differently from the specification.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit, urlunsplit

import requests
from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from mcp_tui.journal.masks import mask_url
from mcp_tui.transport.network_errors import network_cause
from mcp_tui.transport.unreachable import readable

CLOSE_SECONDS: Final = 0.3
"""The most seconds to wait until the last spans, metrics, and logs are sent."""

BRIEF_SECONDS: Final = 0.05
"""The same for a collector that hung at the end of the last session: a tap over HTTP has many sessions, and they end in one
thread.
"""

BY_VARIABLES: Final = "env"
"""The word in place of the URL of a collector that leaves it to the standard variables."""

DEFAULT_URL: Final = "http://localhost:4318"

_hung: set[str] = set()
"""The URLs of collectors that hung at the end of the last session."""
_PATHS: Final = ("/v1/traces", "/v1/metrics", "/v1/logs")
_E = TypeVar("_E", OTLPSpanExporter, OTLPMetricExporter, OTLPLogExporter)


class Signal:
    """The spans, metrics, or logs of a session, and their delivery to a collector; ``base`` as in :func:`endpoint`.

    ``made`` counts what was passed to the SDK, and ``sent`` what the collector accepted. ``stop`` is set by the owner of
    the SDK's provider, and waits for the last delivery.
    """

    def __init__(self, name: str, noun: str, base: str, news: Callable[[str], object]) -> None:
        self.name = name
        self.noun = noun
        self._url, shown = endpoint(name, base, news)
        self.shown = mask_url(shown)
        self.session = _Session(name)
        self.made = self.sent = 0
        self.fails = False
        self.stop: Callable[[], object] = lambda: None
        self.abandon: Callable[[], object] = lambda: None
        self.closing = False
        self._news = news

    def exporter(self, kind: type[_E]) -> _E:
        """Returns an exporter of the SDK whose results are counted."""
        made: Any = kind(endpoint=self._url, session=self.session, timeout=_timeout(self.name, self._news))
        export = made.export

        def counted(batch: Any, *rest: Any, **named: Any) -> Any:
            result = export(batch, *rest, **named)
            self._count(result.name == "SUCCESS", len(batch) if hasattr(batch, "__len__") else 0)
            return result

        made.export = counted
        self.abandon = made.shutdown
        return made

    def _count(self, is_sent: bool, items: int) -> None:
        rejected, self.session.rejected = self.session.rejected, 0
        self.sent += max(0, items - rejected) if is_sent else 0
        fails = not is_sent or bool(rejected)
        if fails and not (self.fails or self.closing):  # losses() reports the rest
            self._news(
                f"OpenTelemetry data does not reach {self.shown}: {self.why or 'it cannot be encoded'}"
            )
        self.fails = fails

    @property
    def why(self) -> str:
        """The reason of the last failure."""
        return self.session.why


def close(signals: Iterable[Signal]) -> None:
    """Sends the rest of all signals; waits for at most :data:`CLOSE_SECONDS` in all."""
    signals, now = [*signals], monotonic()
    for each in signals:
        each.closing = True
        each.session.over.clear()

        def shut(signal: Signal = each) -> None:
            signal.stop()
            signal.session.finished = True
            signal.session.over.set()

        # In a thread, because the SDK may wait for half a minute.
        threading.Thread(target=shut, daemon=True).start()
    hung: set[str] = set()
    for each in signals:
        until = now + (BRIEF_SECONDS if each.shown in _hung else CLOSE_SECONDS)
        if not each.session.over.wait(max(0.0, until - monotonic())):
            hung.add(each.shown)
        each.abandon()  # ends the wait between two attempts; a second call has no effect
    _hung.difference_update(each.shown for each in signals)
    _hung.update(hung)


def losses(signals: Iterable[Signal]) -> Iterator[str]:
    """Yields sentences about what did not arrive, one for each collector and reason."""
    lost: dict[tuple[str, str], list[str]] = {}
    for each in signals:
        count = each.made - each.sent
        is_metrics = each.name == "metrics"
        if not (each.fails or not each.session.finished if is_metrics else count):
            continue
        text = "the last metrics" if is_metrics else f"{count:,} {each.noun}{'s'[: count > 1]}"
        why = each.why or (
            "they were dropped" if each.session.finished else f"no answer in {CLOSE_SECONDS:g} s"
        )
        lost.setdefault((each.shown, why), []).append(text)
    for (shown, why), texts in lost.items():
        yield f"{', '.join(texts)} did not reach {shown}: {why}"


def wanted(names: Iterable[str], news: Callable[[str], object]) -> Iterator[str]:
    """Yields the signals that the standard variables do not switch off; reports variables that are ignored."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        news("no spans, metrics, or logs are sent, because OTEL_SDK_DISABLED is set")
        return
    if os.environ.get("OTEL_CONFIG_FILE"):
        news("OTEL_CONFIG_FILE is ignored: only the other variables of OpenTelemetry are supported")
    unsupported: dict[str, None] = {}
    for name in names:
        chosen = os.environ.get(variable := f"OTEL_{name.upper()}_EXPORTER", "").strip()
        if chosen == "none":
            news(f"no {name} are sent, because {variable}=none")
            continue
        if chosen not in {"", "otlp"}:
            news(f"{variable}={chosen} is not supported: {name} are sent by OTLP")
        for variable in (f"OTEL_EXPORTER_OTLP_{name.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
            if protocol := os.environ.get(variable, "").strip():
                if protocol != "http/protobuf":
                    unsupported[f"{variable}={protocol}"] = None
                break
        yield name
    for each in unsupported:
        news(f"{each} is not supported: http/protobuf is used instead")


def endpoint(name: str, base: str, news: Callable[[str], object]) -> tuple[str, str]:
    """Returns the URL for a signal: that of its own variable, or else a path below the URL of the collector.

    Returns also the URL for reports, which may be that of the collector. ``base`` is :data:`BY_VARIABLES` or the URL of a
    collector, also with the path of one signal.

    Raises:
        ValueError: a variable has no URL.
    """
    variable = f"OTEL_EXPORTER_OTLP_{name.upper()}_ENDPOINT"
    own = os.environ.get(variable, "").strip()
    if own and base != BY_VARIABLES:
        news(f"{variable} overrides --otlp for {name}")
    if base == BY_VARIABLES:
        variable = variable if own else "OTEL_EXPORTER_OTLP_ENDPOINT"
        base = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip() or DEFAULT_URL
    url = urlsplit(own or base)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"{variable} is not a URL such as {DEFAULT_URL}")
    if own:
        return own, own
    path = url.path.rstrip("/")
    for each in _PATHS:
        path = path.removesuffix(each)
    return urlunsplit(url._replace(path=f"{path}/v1/{name}")), base


def _timeout(name: str, news: Callable[[str], object]) -> float | None:
    """Returns the seconds of a variable in milliseconds, which the SDK would take for seconds; ``None`` if not set."""
    for variable in (f"OTEL_EXPORTER_OTLP_{name.upper()}_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"):
        if text := os.environ.get(variable, "").strip():
            if text.isascii() and text.isdigit() and int(text):
                return int(text) / 1000
            news(f"{variable} is ignored: it is not a number of milliseconds")
            return 10.0
    return None


class SdkWarnings(logging.Handler):
    """Reports the SDK's warnings while it is set up; later ones are about deliveries, which :class:`Signal` reports.

    Without a handler, they would be written to the terminal.
    """

    def __init__(self, news: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._news: Callable[[str], object] | None = news
        log = logging.getLogger("opentelemetry")
        log.handlers[:], log.propagate = [self], False

    def emit(self, record: logging.LogRecord) -> None:
        """Reports a warning."""
        if self._news is None:
            return
        if record.name == "opentelemetry.util.re":  # its text has the header, which may be a password
            self._news("a header in OTEL_EXPORTER_OTLP_HEADERS is ignored: it is not NAME=VALUE, URL encoded")
        else:
            self._news(f"OpenTelemetry: {record.getMessage()}")

    def finish(self) -> None:
        """Ignores all later warnings."""
        self._news = None


class _Session(requests.Session):
    """An HTTP session that stores the reason of the last failure in ``why``. A redirect is a failure.

    ``over`` is set when everything is sent, or after two failed connections, because the SDK retries once and then pauses.
    ``rejected`` counts what the collector did not accept of a request that it answered with a success.
    """

    def __init__(self, signal: str) -> None:
        super().__init__()
        self.over = threading.Event()
        self.finished = False
        self.rejected = 0
        self.why = ""
        self._lost = False
        self._signal = signal

    def send(self, request: requests.PreparedRequest, **settings: Any) -> requests.Response:
        """Sends a request; see :meth:`requests.Session.send`."""
        try:
            response = super().send(request, **{**settings, "allow_redirects": False})
        except (OSError, ValueError) as error:
            self.why = (
                "no answer in time"
                if isinstance(error, requests.Timeout)
                else network_cause(error).partition(". ")[0]  # without the advice, which is about MCP servers
                # The text of another error may have the URL, and so a password.
                or (readable(str(error)) if type(error) is OSError else f"failed ({type(error).__name__})")
            )
            if self._lost:
                self.over.set()
            self._lost = True
            raise
        self.why, self._lost = "", False
        if response.status_code >= 300:
            self.why = f"HTTP {response.status_code} {response.reason}".strip()
            self.over.set()
        else:
            self._look_for_rejections(response.content)
        if 300 <= response.status_code < 400:  # the SDK would count it as a success
            raise requests.RequestException(self.why)
        return response

    def _look_for_rejections(self, body: bytes) -> None:
        try:
            match self._signal:
                case "traces":
                    partial = ExportTraceServiceResponse.FromString(body).partial_success
                    self.rejected = partial.rejected_spans
                case "logs":
                    partial = ExportLogsServiceResponse.FromString(body).partial_success
                    self.rejected = partial.rejected_log_records
                case _:
                    partial = ExportMetricsServiceResponse.FromString(body).partial_success
                    self.rejected = partial.rejected_data_points
        except DecodeError:  # not an answer in protobuf, such as an empty JSON object
            return
        if self.rejected:
            self.why = f"the collector rejected them: {partial.error_message[:200]}".rstrip(": ")
