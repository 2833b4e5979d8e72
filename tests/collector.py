"""A collector of OpenTelemetry on loopback, which reads spans, metrics, and logs by the official schema."""

from __future__ import annotations

import gzip
import http.server
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Exemplar, Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from mcp_tui.journal import metric_names
from tests.waiting import HANG


@dataclass
class Point:
    """A data point of a metric; ``value`` is the sum of a histogram."""

    attributes: dict[str, Any]
    value: float
    count: int
    bounds: tuple[float, ...]
    exemplars: list[Exemplar]


class Collector(http.server.ThreadingHTTPServer):
    """A collector that keeps what arrives, and answers with ``status``; 0 is never. It rejects ``rejects`` spans."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taker)
        self.spans: list[Span] = []
        self.logs: list[LogRecord] = []
        self.metrics: dict[str, Metric] = {}
        """The metrics of the last request, by name."""
        self.paths: set[str] = set()
        self.headers: dict[str, str] = {}
        self.resources: dict[str, dict[str, Any]] = {}
        self.status = 200
        self.rejects = 0
        self.retry_after = ""
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"

    @classmethod
    @contextmanager
    def running(cls) -> Generator[Self]:
        """Runs a collector in a thread."""
        with cls() as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            yield server
            server.leave()
            thread.join()

    def leave(self) -> None:
        """Closes all connections, and refuses new ones."""
        self.over.set()
        self.shutdown()
        self.server_close()

    def points(self, metric: metric_names.Metric) -> list[Point]:
        """Returns the last data points of a metric."""
        found = self.metrics.get(metric.name)
        if found is None:
            return []
        if metric.kind == "histogram":
            return [
                Point(_values(p.attributes), p.sum, p.count, tuple(p.explicit_bounds), [*p.exemplars])
                for p in found.histogram.data_points
            ]
        points = found.gauge.data_points if metric.kind == "gauge" else found.sum.data_points
        return [Point(_values(p.attributes), p.as_double or p.as_int, 1, (), [*p.exemplars]) for p in points]

    def take(self, path: str, body: bytes) -> bytes:
        """Reads a request; returns the answer."""
        name = path.partition("?")[0].rpartition("/")[2]
        match name:
            case "traces":
                for spans in ExportTraceServiceRequest.FromString(body).resource_spans:
                    self.resources[name] = _values(spans.resource.attributes)
                    self.spans += [span for scope in spans.scope_spans for span in scope.spans]
                answer = ExportTraceServiceResponse()
                if self.rejects:
                    answer.partial_success.rejected_spans = self.rejects
                    answer.partial_success.error_message = "too old"
                return answer.SerializeToString()
            case "logs":
                for logs in ExportLogsServiceRequest.FromString(body).resource_logs:
                    self.resources[name] = _values(logs.resource.attributes)
                    self.logs += [log for scope in logs.scope_logs for log in scope.log_records]
            case _:
                for metrics in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    self.resources[name] = _values(metrics.resource.attributes)
                    self.metrics = {
                        each.name: each for scope in metrics.scope_metrics for each in scope.metrics
                    }
        return b""


class _Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        server = self.server
        assert isinstance(server, Collector)
        server.paths.add(self.path)
        server.headers = {name.lower(): value for name, value in self.headers.items()}
        if not server.status:
            server.over.wait(HANG)
            return
        answer = server.take(self.path, body)
        self.send_response(server.status)
        if server.retry_after:
            self.send_header("Retry-After", server.retry_after)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _values(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in attributes
    }
