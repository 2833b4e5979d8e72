"""``--otlp``: spans, metrics, and logs arrive at a collector, read there by the official schema."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from mcp_tui.cli.output import Exit
from mcp_tui.journal import metric_names as names
from mcp_tui.journal.journal_files import journal_folder
from tests.cli.running import run
from tests.collector import Collector
from tests.tap.test_tap import Client, tap
from tests.waiting import wait


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector.running() as server:
        yield server


def test_a_call_sends_spans_metrics_and_logs(collector: Collector):
    limits = ("--max-timeout", "0.2", "--linger", "1")
    ran = run("call", "grumpy", "seconds=60", "--demo", *limits, "--otlp", collector.url)
    assert ran.status == Exit.TIMED_OUT, ran
    span = {span.name: span for span in collector.spans}["tools/call grumpy"]
    (log,) = collector.logs
    assert log.event_name == "mcp_tui.cancel"
    assert log.body.string_value.startswith("tools/call grumpy: timed out after ")
    assert "s (max timeout); sent; late error -32800 at +" in log.body.string_value
    assert (log.trace_id, log.span_id) == (span.trace_id, span.span_id)
    (late,) = collector.points(names.LATE)
    assert (late.attributes[names.KIND], late.count) == ("error", 1)
    (cancel,) = collector.points(names.CANCELS)
    assert (cancel.attributes[names.CAUSE], cancel.attributes[names.OUTCOME]) == (
        "max_timeout",
        "late_error",
    )
    assert cancel.value == 1


def test_each_metric_has_the_name_kind_unit_and_attributes_of_its_definition(collector: Collector):
    run("call", "fail", "--demo", "--otlp", collector.url)
    calls = [each for each in collector.points(names.CLIENT_DURATION) if names.TOOL in each.attributes]
    (call,) = calls
    assert call.attributes | {names.REVISION: "", names.SERVER: ""} == {
        names.METHOD: "tools/call",
        names.TOOL: "fail",
        names.OPERATION: "execute_tool",
        names.ERROR: "-32602",
        names.STATUS: "-32602",
        names.TRANSPORT: "pipe",
        names.REVISION: "",
        names.SERVER: "",
    }
    span = {span.name: span for span in collector.spans}["tools/call fail"]
    assert [each.span_id for each in call.exemplars] == [span.span_id]
    assert {each.count for each in collector.points(names.SESSION_DURATION)} == {1}
    kinds = {"histogram": "histogram", "counter": "sum", "updowncounter": "sum", "gauge": "gauge"}
    for metric in names.METRICS:
        found: Metric | None = collector.metrics.get(metric.name)
        if found is None:
            continue
        assert (found.unit, found.description) == (metric.unit, metric.description)
        assert found.WhichOneof("data") == kinds[metric.kind]
        for point in collector.points(metric):
            assert point.attributes.keys() <= {*names.SESSION, *metric.attributes}
            assert point.bounds == metric.buckets
    assert {names.CLIENT_DURATION.name, names.SESSION_DURATION.name} <= collector.metrics.keys()


def test_requests_in_flight_are_counted_while_they_run(collector: Collector, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "50")
    client = Client(tap("--otlp", collector.url))
    client.connect()
    client.call("slow", "silent")
    wait(lambda: any(point.value for point in collector.points(names.OLDEST)))
    (flying,) = collector.points(names.IN_FLIGHT)
    assert (flying.value, flying.attributes[names.TOOL]) == (1, "silent")
    assert flying.attributes[names.CLIENT] == "other 3"
    client.write(method="notifications/cancelled", params={"requestId": "slow"})
    wait(lambda: not collector.points(names.IN_FLIGHT))
    client.process.communicate()
    wait(lambda: bool(collector.points(names.CANCELS)))
    (cancel,) = collector.points(names.CANCELS)
    assert cancel.attributes[names.CAUSE] == "client"


@pytest.mark.parametrize(
    ("path", "asked"), [("/otlp/?key=1", "/otlp/v1/{}?key=1"), ("/x/v1/traces", "/x/v1/{}"), ("", "/v1/{}")]
)
def test_paths_are_added_and_the_standard_variables_reach_everything(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, path: str, asked: str
):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "nightly")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=b,service.version=7,k8s.pod.name=p")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=CANARYHEADER01")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    ran = run(
        "call", "silent", "--demo", "--max-timeout", "0.1", "--linger", "0.1", "--otlp", collector.url + path
    )
    assert {asked.format(name) for name in ("traces", "metrics", "logs")} == collector.paths, ran
    assert len(collector.resources) == 3
    for attributes in collector.resources.values():
        assert attributes["service.name"] == "nightly"
        assert (attributes["team"], attributes["k8s.pod.name"], attributes["service.version"]) == (
            "b",
            "p",
            "7",
        )
        assert {"host.name", "process.pid", "service.instance.id"} <= attributes.keys()
    assert collector.headers["x-key"] == "CANARYHEADER01"
    assert collector.headers["content-encoding"] == "gzip"
    assert "CANARY" not in ran.err


def test_endpoints_of_single_signals_override_the_collector(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
):
    with Collector.running() as other:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{other.url}/api/otlp")
        ran = run("call", "echo", "text=hi", "--demo", "--otlp", collector.url)
        assert (other.paths, collector.paths) == ({"/api/otlp"}, {"/v1/traces"})
        assert "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT overrides --otlp for metrics" in ran.err
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", other.url)
        collector.paths.clear()
        ran = run("call", "echo", "text=hi", "--demo", "--otlp", "env")
        assert (other.paths, collector.paths) == ({"/api/otlp", "/v1/traces"}, set())
        assert "OTEL" not in ran.err
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:CANARY")
        ran = run("call", "echo", "text=hi", "--demo", "--otlp", "env")
        assert "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL such as http://localhost:4318" in ran.err
        assert (ran.status, "CANARY" in ran.err) == (0, False)


@pytest.mark.parametrize(
    ("name", "value", "arrives", "said"),
    [
        ("OTEL_SDK_DISABLED", "true", "", "because OTEL_SDK_DISABLED is set"),
        ("OTEL_TRACES_SAMPLER", "always_off", "metrics", ""),
        ("OTEL_TRACES_SAMPLER", "bogus", "traces metrics", "Couldn't recognize sampler bogus"),
        (
            "OTEL_TRACES_EXPORTER",
            "none",
            "metrics",
            "no traces are sent, because OTEL_TRACES_EXPORTER=none",
        ),
        (
            "OTEL_METRICS_EXPORTER",
            "console",
            "traces metrics",
            "console is not supported: metrics are sent by OTLP",
        ),
        (
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            "grpc",
            "traces metrics",
            "PROTOCOL=grpc is not supported: http/protobuf",
        ),
        ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/json", "traces metrics", "http/json is not supported"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "traces metrics", "OTEL_EXPORTER_OTLP_TIMEOUT is ignored"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "CANARY", "traces metrics", "OTEL_EXPORTER_OTLP_HEADERS is ignored"),
        ("OTEL_CONFIG_FILE", "/x", "traces metrics", "OTEL_CONFIG_FILE is ignored"),
        ("OTEL_BSP_SCHEDULE_DELAY", "-1", "", "schedule_delay_millis must be positive"),
    ],
)
def test_what_a_variable_switches_off_or_what_is_ignored_is_reported_once(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, name: str, value: str, arrives: str, said: str
):
    monkeypatch.setenv(name, value)
    ran = run("call", "echo", "text=hi", "--demo", "--otlp", collector.url)
    assert (ran.status, ran.out) == (0, "hi\n")
    assert collector.paths == {f"/v1/{each}" for each in arrives.split()}
    assert ran.err.count(said) == 1 or not said
    assert "did not reach" not in ran.err
    assert "CANARY" not in ran.err


def test_a_violation_is_a_log_record(collector: Collector):
    code = """
import json
while True:
    asked = json.loads(input())
    if "id" in asked:
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "odd", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": str(asked["id"]), "result": result}), flush=True)"""
    client = Client(tap("--otlp", collector.url, code=code))
    client.write(id=7, method="ping")
    client.read()
    client.process.communicate()
    wait(lambda: bool(collector.logs))
    (log,) = collector.logs
    assert (log.event_name, log.severity_text) == ("mcp_tui.violation", "WARN")
    assert log.body.string_value.startswith("The server broke the rule response-id-type: ")


def test_a_tapped_call_is_a_child_of_the_clients_span(collector: Collector):
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    client = Client(tap("--otlp", collector.url))
    client.write(id="x", method="ping", params={"_meta": {"traceparent": f"00-{trace}-{parent}-01"}})
    assert client.read()["id"] == "x"
    # The client does not keep this trace, so its spans are not sent; its durations are.
    client.write(id="y", method="ping", params={"_meta": {"traceparent": f"00-{trace[::-1]}-{parent}-00"}})
    assert client.read()["id"] == "y"
    client.process.communicate()
    wait(lambda: len(collector.paths) == 2)
    assert [each.count for each in collector.points(names.CLIENT_DURATION)] == [2]
    wait(lambda: bool(collector.spans))
    (span,) = collector.spans
    assert (span.trace_id.hex(), span.parent_span_id.hex(), span.name) == (trace, parent, "ping")


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (None, "connection refused"),
        (0, "no answer in 0.3 s"),
        # A success for opentelemetry-exporter-otlp-proto-http 1.45.2 itself (findings/otlp-redirect-is-a-success.sh).
        (302, "HTTP 302 Found"),
        (429, "HTTP 429"),
    ],
)
def test_losses_are_counted_with_the_reason_and_no_password(
    collector: Collector, status: int | None, why: str
):
    collector.status = status or 0
    if status is None:
        with Collector.running() as gone:
            collector.url = gone.url
    url = collector.url.replace("//", "//ann:CANARYPW0123456@")
    ran = run("call", "echo", "text=hi", "--demo", "--otlp", url)
    assert (ran.status, ran.out) == (0, "hi\n")
    shown = f"3 spans, the last metrics did not reach http://ann:‹redacted›@{url.partition('@')[2]}: {why}"
    assert shown in ran.err
    kept = "".join(each.read_text() for each in journal_folder().glob("*.jsonl"))
    assert shown in kept
    assert "CANARYPW" not in ran.err + kept
    assert "CANARYPW" not in run("call", "echo", "--demo", "--otlp", url.replace("http:", "ftp:")).err


@pytest.mark.parametrize("how", ["hangs", "refuses", "answers 429", "vanishes"])
def test_a_bad_collector_costs_a_tap_no_traffic_and_its_losses_are_reported(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, how: str
):
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    collector.status = {"hangs": 0, "answers 429": 429}.get(how, 200)
    collector.retry_after = "3600"
    if how == "refuses":
        collector.leave()
    client = Client(tap("--otlp", collector.url))
    client.connect()
    if how != "refuses":
        wait(lambda: bool(collector.paths))
    if how == "vanishes":
        collector.leave()
    for number in range(1, 100):
        client.call(number, "add", a=1, b=number)
        assert client.read()["id"] == number
    client.process.communicate()
    assert client.process.returncode == 0
    # The tap ends without waiting for long, so that only the journal always has the report.
    lost = re.compile(rf"\d spans?, the last metrics did not reach {re.escape(collector.url)}: ")
    wait(lambda: any(lost.search(each.read_text()) for each in journal_folder().glob("*.jsonl")))


def test_a_timeout_is_in_milliseconds(collector: Collector, monkeypatch: pytest.MonkeyPatch):
    # In seconds for opentelemetry-exporter-otlp-proto-http 1.45.2 itself (findings/otlp-timeout-is-taken-in-seconds.sh).
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "50")
    collector.status = 0
    ran = run("call", "echo", "text=hi", "--demo", "--otlp", collector.url)
    assert f"did not reach {collector.url}: no answer in time" in ran.err


def test_what_a_collector_rejects_is_counted(collector: Collector):
    # A success for opentelemetry-exporter-otlp-proto-http 1.45.2 itself (findings/otlp-partial-success-is-silent.sh).
    collector.rejects = 2
    ran = run("call", "echo", "text=hi", "--demo", "--otlp", collector.url)
    assert f"2 spans did not reach {collector.url}: the collector rejected them: too old" in ran.err


def test_without_the_sdk_the_way_out_is_named():
    hide = "import sys; sys.modules['opentelemetry.exporter'] = None\n"
    words = ["call", "echo", "--demo", "--otlp", "http://h"]
    code = f"{hide}from mcp_tui.cli import main\nsys.exit(main({words}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, "install mcp-tui-client[otlp]" in ran.stderr) == (Exit.USAGE, True), ran
