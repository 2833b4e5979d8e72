"""Spans to a collector: ``python -m benchmarks.spans [CALLS [TAPS]]``; 20,000 calls through 4 taps with ``--otlp``.

Printed as JSON: calls a second; how many megabytes of spans that makes in a second, and how many arrive; the size of a span
on the way, and of a call in its recording; and what was lost: answers, recorded frames, and spans.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

CALLS: Final = 20_000
TAPS: Final = 4
QUIET: Final = 3.0
"""Seconds without news after which recorders and spans are over."""

OPEN: Final = 50
"""Calls in flight in each tap."""

SERVER: Final = """
import os, sys
for line in sys.stdin.buffer:
    id = line[line.index(b'"id":') + 5:line.index(b',', line.index(b'"id":'))]
    os.write(1, b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}\\n' % id)
"""


class Collector(ThreadingHTTPServer):
    """Keeps what it gets, and when."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taker)
        self.bodies: list[bytes] = []
        self.times: list[float] = []


class Taker(BaseHTTPRequestHandler):
    """Takes the body of a request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Keeps it; it is read at the end."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/v1/traces") and isinstance(self.server, Collector):
            self.server.bodies.append(body)
            self.server.times.append(time.monotonic())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Is quiet."""


def _client(process: subprocess.Popen[bytes], calls: int, answered: list[int]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    free = threading.Semaphore(OPEN)

    def read() -> None:
        assert process.stdout is not None
        for _ in range(calls):
            if not process.stdout.readline():
                return
            answered.append(1)
            free.release()

    reader = threading.Thread(target=read)
    reader.start()
    for id_ in range(1, calls + 1):
        free.acquire()
        arguments = {"path": f"/home/user/project/file-{id_}.py", "limit": 200}
        params = {"name": f"tool-{id_ % 10}", "arguments": arguments}
        call = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
        process.stdin.write(json.dumps(call, separators=(",", ":")).encode() + b"\n")
        process.stdin.flush()
    reader.join()
    process.stdin.close()
    process.wait()


def _recorded(folder: str) -> list[bytes]:
    recordings = Path(folder).glob("mcp-tui/journal/*.jsonl")
    return [line for each in recordings for line in each.read_bytes().splitlines()]


def measure(calls: int = CALLS, taps: int = TAPS) -> dict[str, float]:
    """Returns the figures."""
    with tempfile.TemporaryDirectory() as folder, Collector() as collector:
        threading.Thread(target=collector.serve_forever).start()
        env = os.environ | {"XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder, "HOME": folder}
        url = f"http://127.0.0.1:{collector.server_port}"
        command = [sys.executable, "-m", "mcp_tui", "tap", "--otlp", url, "--", sys.executable, "-c", SERVER]
        answered: list[int] = []
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        processes = [subprocess.Popen(command, env=env, **pipes) for _ in range(taps)]
        clients = [
            threading.Thread(target=_client, args=(each, calls // taps, answered)) for each in processes
        ]
        began = time.monotonic()
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        took = time.monotonic() - began
        wanted = calls // taps * taps
        # The recorders are behind their taps, and end by themselves.
        lines, before = _recorded(folder), -1
        while before != len(lines) + len(collector.bodies):
            before = len(lines) + len(collector.bodies)
            time.sleep(QUIET)
            lines = _recorded(folder)
        frames = sum(b'"frame"' in line[:60] for line in lines)
        collector.shutdown()
        requests = [ExportTraceServiceRequest.FromString(each) for each in collector.bodies]
        spans = sum(
            len(scope.spans)
            for each in requests
            for resource in each.resource_spans
            for scope in resource.scope_spans
        )
        size = sum(map(len, collector.bodies))
        seconds = max(collector.times, default=began) - began
        return {
            "calls": wanted / took,
            "made": wanted / took * size / (spans or 1) / 1e6,
            "arrived": size / seconds / 1e6 if seconds else 0.0,
            "span_bytes": size / (spans or 1),
            "gzip_bytes": sum(len(gzip.compress(each)) for each in collector.bodies) / (spans or 1),
            "call_bytes": sum(map(len, lines)) / wanted,
            "answers_lost": wanted - len(answered),
            "frames_lost": 2 * wanted - frames,
            "spans_lost": wanted - spans,
        }


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
