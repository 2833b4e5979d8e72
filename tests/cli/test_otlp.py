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
from mcp_tui.journal.journal_files import journal_folder
from tests.cli.running import run
from tests.tap.test_tap import Client, tap
from tests.waiting import HANG, wait


class Collector(http.server.ThreadingHTTPServer):
    """A collector that keeps the spans, and answers with a status; 0 is never."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taker)
        self.spans: list[Span] = []
        self.paths: set[str] = set()
        self.resource: dict[str, str] = {}
        self.status = 200
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Taker(http.server.BaseHTTPRequestHandler):
    """Takes in the spans of a request."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        assert isinstance(self.server, Collector)
        self.server.paths.add(self.path)
        if not self.server.status:
            self.server.over.wait(HANG)
            return
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            told = resource.resource.attributes
            self.server.resource |= {each.key: each.value.string_value for each in told}
            for scope in resource.scope_spans:
                self.server.spans.extend(scope.spans)
        self.send_response(self.server.status)
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
        server.over.set()
        server.shutdown()
        thread.join()


def test_a_call_sends_its_spans(collector: Collector):
    ran = run("call", "fail", "--demo", "--otlp", collector.url)
    assert ran.status == Exit.SERVER_ERROR, ran
    named = {span.name: span for span in collector.spans}
    assert [event.name for event in named["tools/call fail"].events] == ["sent", "failed"]
    assert named["tools/call fail"].status.code == 2


@pytest.mark.parametrize(
    ("path", "asked"), [("/otlp/?key=1", "/otlp/v1/traces?key=1"), ("/x/v1/traces", None)]
)
def test_the_path_of_traces_is_added_and_the_standard_variables_hold(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, path: str, asked: str | None
):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "nightly")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=b,service.version=7")
    ran = run("call", "echo", "text=hi", "--demo", "--otlp", collector.url + path)
    told = {name: collector.resource[name] for name in ("service.name", "team", "service.version")}
    assert told == {"service.name": "nightly", "team": "b", "service.version": "7"}, ran
    assert collector.paths == {asked or path}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OTEL_SDK_DISABLED", "true", "because OTEL_SDK_DISABLED is set"),
        ("OTEL_TRACES_SAMPLER", "always_off", ""),
        ("OTEL_BSP_SCHEDULE_DELAY", "-1", "no spans are sent: schedule_delay_millis must be positive"),
    ],
)
def test_a_variable_that_sends_nothing_leaves_the_call_alone(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
):
    monkeypatch.setenv(name, value)
    ran = run("call", "echo", "text=hi", "--demo", "--otlp", collector.url)
    assert (ran.status, ran.out, collector.paths) == (0, "hi\n", set())
    assert said in ran.err
    assert "did not reach" not in ran.err


def test_a_tapped_call_is_a_child_of_the_clients_span(collector: Collector):
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    client = Client(tap("--otlp", collector.url))
    client.write(id="x", method="ping", params={"_meta": {"traceparent": f"00-{trace}-{parent}-01"}})
    assert client.read()["id"] == "x"
    client.process.communicate()
    wait(lambda: bool(collector.spans))
    (span,) = collector.spans
    assert (span.trace_id.hex(), span.parent_span_id.hex(), span.name) == (trace, parent, "ping")


@pytest.mark.parametrize(
    ("status", "why"),
    [(None, "connection refused"), (0, "no answer in 0.5 s"), (302, "HTTP 302 Found"), (429, "HTTP 429")],
)
def test_spans_that_do_not_arrive_are_counted_with_the_reason_and_no_password(
    collector: Collector, status: int | None, why: str
):
    collector.status = status or 0
    if status is None:
        with Collector() as gone:
            collector.url = gone.url
    url = collector.url.replace("//", "//ann:CANARYPW0123456@")
    ran = run("call", "echo", "text=hi", "--demo", "--otlp", url)
    assert (ran.status, ran.out) == (0, "hi\n")
    assert f"3 spans did not reach http://ann:‹redacted›@{url.partition('@')[2]}: {why}" in ran.err
    kept = "".join(each.read_text() for each in journal_folder().glob("*.jsonl"))
    assert f"3 spans did not reach http://ann:‹redacted›@{url.partition('@')[2]}: {why}" in kept
    assert "CANARYPW" not in ran.err + kept
    assert "CANARYPW" not in run("call", "echo", "--demo", "--otlp", url.replace("http:", "ftp:")).err


def test_without_the_sdk_the_way_out_is_named():
    hide = "import sys; sys.modules['opentelemetry.exporter'] = None\n"
    words = ["call", "echo", "--demo", "--otlp", "http://h"]
    code = f"{hide}from mcp_tui.cli import main\nsys.exit(main({words}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, "install mcp-tui-client[otlp]" in ran.stderr) == (Exit.USAGE, True), ran
