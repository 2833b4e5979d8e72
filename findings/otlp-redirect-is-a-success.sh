#!/usr/bin/env bash
# Package:  opentelemetry-exporter-otlp-proto-http 1.45.2 (Python). Source: PyPI;
#   https://github.com/open-telemetry/opentelemetry-python
# Behaviour: a collector whose answer is a redirect to a page, as a login in front of it gives, is a success: no error, no log.
# Why a good guess is wrong: the redirect of a POST is followed by a GET without the spans, so one expects a failure: nothing took
#   them. Traces are lost without a word while everything looks well.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    opentelemetry-exporter-otlp-proto-http==1.45.2 opentelemetry-sdk==1.45.2
cat >"$folder/export.py" <<'EXPORT'
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(302)
        self.send_header("Location", "/login")
        self.end_headers()

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>Sign in</h1>")

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
print("seen:", watched.result.name, "from a collector that redirected the spans to a page")
sys.exit(watched.result.name != "SUCCESS")
EXPORT
"$folder/venv/bin/python" -c 'from importlib.metadata import version; print("exporter", version("opentelemetry-exporter-otlp-proto-http"))'
"$folder/venv/bin/python" "$folder/export.py"
