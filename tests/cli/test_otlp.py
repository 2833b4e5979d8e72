"""``--otlp``: spans arrive at a collector, read there by the official schema."""

from __future__ import annotations

import gzip
import http.server
import subprocess
import sys
import threading
from collections.abc import Generator

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from mcp_tui.cli.output import Exit
from tests.cli.running import run
from tests.tap.test_tap import Client, tap
from tests.waiting import wait


class Collector(http.server.ThreadingHTTPServer):
    """A collector that keeps the spans."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taker)
        self.spans: list[Span] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Taker(http.server.BaseHTTPRequestHandler):
    """Takes in the spans of a request."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        assert self.path == "/v1/traces"
        assert isinstance(self.server, Collector)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.server.spans.extend(scope.spans)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def collector() -> Generator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_call_sends_its_spans(collector: Collector):
    ran = run("call", "fail", "--demo", "--otlp", collector.url)
    assert ran.status == Exit.SERVER_ERROR, ran
    named = {span.name: span for span in collector.spans}
    assert [event.name for event in named["tools/call fail"].events] == ["sent", "failed"]
    assert named["tools/call fail"].status.code == 2


def test_a_tapped_call_is_a_child_of_the_clients_span(collector: Collector):
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    client = Client(tap("--otlp", collector.url))
    client.write(id="x", method="ping", params={"_meta": {"traceparent": f"00-{trace}-{parent}-01"}})
    assert client.read()["id"] == "x"
    client.process.communicate()
    wait(lambda: bool(collector.spans))
    (span,) = collector.spans
    assert (span.trace_id.hex(), span.parent_span_id.hex(), span.name) == (trace, parent, "ping")


def test_a_collector_that_is_not_there_is_named_at_the_end():
    with Collector() as server:
        url = server.url
    ran = run("call", "echo", "text=hi", "--demo", "--otlp", url)
    assert (ran.status, ran.out) == (0, "hi\n")
    assert f"did not reach {url}" in ran.err


def test_without_the_sdk_the_way_out_is_named():
    hide = "import sys; sys.modules['opentelemetry.exporter'] = None\n"
    words = ["call", "echo", "--demo", "--otlp", "http://h"]
    code = f"{hide}from mcp_tui.cli import main\nsys.exit(main({words}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, "install mcp-tui-client[otlp]" in ran.stderr) == (Exit.USAGE, True), ran
