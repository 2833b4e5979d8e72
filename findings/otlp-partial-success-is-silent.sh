#!/usr/bin/env bash
# Package:  opentelemetry-exporter-otlp-proto-http 1.45.2 (Python). Source: PyPI;
#   https://github.com/open-telemetry/opentelemetry-python
# Behaviour: a collector that answers HTTP 200 with a partial success ("1 span rejected: no quota") is a success, and nothing is logged,
#   at any level.
# Why a good guess is wrong: the OTLP specification says that a client should warn of it, and this exporter warns of a 503 and of its
#   retries, and waits as Retry-After says. So one expects a line. Spans that a backend refuses one by one are missing there, while
#   the program that made them counts them as sent.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    "opentelemetry-exporter-otlp-proto-http==${OTLP_VERSION:-1.45.2}" "opentelemetry-sdk==${OTLP_VERSION:-1.45.2}"
cat >"$folder/export.py" <<'EXPORT'
import logging
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

refusal = service.ExportTracePartialSuccess(rejected_spans=1, error_message="no quota")
body = service.ExportTraceServiceResponse(partial_success=refusal).SerializeToString()
statuses = []
records = []


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(statuses.pop(0))
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Watched(SpanExporter):
    def export(self, spans):
        self.result = exporter.export(spans)
        return self.result


class Kept(logging.Handler):
    def emit(self, record):
        if record.name.startswith("opentelemetry"):
            records.append(record.getMessage())


logging.basicConfig(level=logging.DEBUG, handlers=[Kept()])
collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=collector.serve_forever, daemon=True).start()
exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{collector.server_port}/v1/traces")
watched = Watched()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(watched))
seen = []
for answers in ([200], [503, 200]):
    statuses[:] = answers
    records.clear()
    with provider.get_tracer("finding").start_as_current_span("span"):
        pass
    seen.append((watched.result.name, len(records)))
    print("answers", answers, "with a partial success:", watched.result.name, "- logged:", records)
sys.exit(not (seen[0] == ("SUCCESS", 0) and seen[1][0] == "SUCCESS" and seen[1][1] > 0))
EXPORT
"$folder/venv/bin/python" -c 'from importlib.metadata import version; print("exporter", version("opentelemetry-exporter-otlp-proto-http"))'
"$folder/venv/bin/python" "$folder/export.py"
