#!/usr/bin/env bash
# Package:  opentelemetry-exporter-otlp-proto-http 1.45.2 (Python). Source: PyPI;
#   https://github.com/open-telemetry/opentelemetry-python
# Behaviour: `OTEL_EXPORTER_OTLP_TIMEOUT=50` waits up to 50 seconds for a collector. One that answers after 0.5 s is a success.
# Why a good guess is wrong: the specification of the exporter's variables counts it in milliseconds (10000 is its default), so one
#   expects a failure after 0.05 s. Who copies 10000 from another language's program waits up to hours for a collector that hangs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    opentelemetry-exporter-otlp-proto-http==1.45.2 opentelemetry-sdk==1.45.2
cat >"$folder/export.py" <<'EXPORT'
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.5)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Watched(SpanExporter):
    def __init__(self, exporter):
        self.exporter = exporter
        self.result = None

    def export(self, spans):
        self.result = self.exporter.export(spans)
        return self.result


collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=collector.serve_forever, daemon=True).start()
watched = Watched(OTLPSpanExporter(endpoint=f"http://127.0.0.1:{collector.server_port}/v1/traces"))
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(watched))
with provider.get_tracer("finding").start_as_current_span("span"):
    pass
print("seen:", watched.result.name, "from a collector that took 0.5 s, with a limit of 50")
sys.exit(watched.result.name != "SUCCESS")
EXPORT
"$folder/venv/bin/python" -c 'from importlib.metadata import version; print("exporter", version("opentelemetry-exporter-otlp-proto-http"))'
OTEL_EXPORTER_OTLP_TIMEOUT=50 "$folder/venv/bin/python" "$folder/export.py"
