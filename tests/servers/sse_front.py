"""The HTTP+SSE transport of 2024-11-05 in front of a server on stdio: ``sse_front.py COMMAND…`` prints its URL.

Each ``GET /sse`` starts a server of its own: the first event names the endpoint, every line of the server is an event, and
what is posted to the endpoint is a line for the server. When the stream is closed the server ends.
"""

from __future__ import annotations

import contextlib
import http.server
import itertools
import subprocess
import sys
import threading

COMMAND = sys.argv[1:]
sessions: dict[str, subprocess.Popen[bytes]] = {}
numbers = itertools.count(1)


class Front(http.server.BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path != "/sse":
            self.send_error(404)
            return
        name = f"/messages/{next(numbers)}"
        process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        sessions[name] = process
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        gone = threading.Thread(target=self._until_gone, args=(process,), daemon=True)
        gone.start()
        try:
            self.wfile.write(f"event: endpoint\ndata: {name}\n\n".encode())
            assert process.stdout is not None
            for line in process.stdout:
                self.wfile.write(b"event: message\ndata: " + line.rstrip(b"\n") + b"\n\n")
        except OSError:
            pass
        finally:
            process.kill()
            process.wait()
            self.close_connection = True

    def _until_gone(self, process: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(OSError):
            self.connection.recv(1)
        process.kill()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        process = sessions.get(self.path)
        if process is None or process.stdin is None:
            self.send_error(404)
            return
        try:
            process.stdin.write(body + b"\n")
            process.stdin.flush()
        except OSError:
            self.send_error(410)
            return
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_DELETE(self) -> None:
        self.send_error(405)

    def log_message(self, format: str, *args: object) -> None:
        """Be silent."""


def main() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}/sse", flush=True)
    server.serve_forever()


main()
