"""What a tap costs: ``python -m benchmarks.tap [WAY …]``, WAY one of :data:`WAYS`; all that are there.

A server is called directly and through each way in turns, a call every 5 ms, so that a noisy machine is noisy for all.
Printed is what a way adds: to the median and the p99 of a call (µs; ``call`` is the whole time), to the time until the
server's first byte and to its exit after 100,000 notifications (ms); how many of those it passes on a second; and the
processor time of the recorder for each frame (µs). ``http`` is the median of a call over HTTP on one connection (µs).
``relay`` copies bytes between pipes, or between sockets, in Python and does nothing else; ``supergateway`` is a bridge from
HTTP to a server on stdio. On two cores a relay is the third process that wants one in a flood: what ``relay`` and ``socat``
reach is what can be reached.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from socket import create_server
from typing import Final

from benchmarks.rows import GOALS

ROUNDS: Final = int(os.environ.get("ROUNDS", "5"))
CALLS: Final = 200 * ROUNDS
HTTP_CALLS: Final = 300
EVERY: Final = 0.005
NOTES: Final = 100_000
BEFORE: Final = Path(__file__).parents[1] / ".real/before/bin/mcp-tui"
BRIDGE: Final = Path(__file__).parents[1] / ".real/peers/node_modules/supergateway/dist/index.js"

SERVER: Final = """
import json, os, sys, time
note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a line of a log"}}\\n'
for line in iter(sys.stdin.readline, ""):
    call = json.loads(line)
    if call["method"] == "flood":
        for _ in range(int(sys.argv[1])):
            os.write(1, note * 500)
    os.write(1, b'{"jsonrpc":"2.0","id":%d,"result":{}}\\n' % call["id"])
    if call["method"] == "flood":
        break
print(time.monotonic(), flush=True)
"""

RELAY: Final = """
import os, subprocess, sys, threading
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
def copy(source, sink):
    while data := os.read(source, 1 << 18):
        while data:
            data = data[os.write(sink, data):]
threading.Thread(target=copy, args=(0, server.stdin.fileno()), daemon=True).start()
copy(server.stdout.fileno(), 1)
os._exit(server.wait() % 256)
"""

HTTP_SERVER: Final = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"jsonrpc":"2.0","id":1,"result":{}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""

HTTP_RELAY: Final = """
import socket, sys, threading
def copy(source, sink):
    while data := source.recv(1 << 16):
        sink.sendall(data)
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
while True:
    client, _ = listening.accept()
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    for each in (client, server):
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=copy, args=(client, server), daemon=True).start()
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
"""


def opened(port: int) -> tuple[HTTPConnection, dict[str, str]]:
    """A session over HTTP: its connection, and the headers of its calls."""
    link = HTTPConnection("127.0.0.1", port)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    info = {"name": "bench", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    until = time.monotonic() + 20
    while True:
        with suppress(ConnectionRefusedError):
            link.connect()
            break
        assert time.monotonic() < until
        time.sleep(0.05)
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    link.request("POST", "/mcp", json.dumps(body), headers)
    answer = link.getresponse()
    answer.read()
    session = answer.getheader("Mcp-Session-Id")
    return link, headers | ({"Mcp-Session-Id": session} if session else {})


def http_latency(names: Iterable[str]) -> dict[str, list[float]]:
    """Microseconds of each call over HTTP, by way."""
    taken: dict[str, list[float]] = {}
    links: dict[str, tuple[HTTPConnection, dict[str, str]]] = {}
    with ExitStack() as stack:

        def run(command: list[str]) -> bytes:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            assert process.stdout is not None
            return process.stdout.readline()

        def port(command: list[str]) -> int:
            return int(re.findall(rb"(\d+)(?:/\S*)?\s*$", run(command))[0])

        def bridge() -> int:
            with create_server(("127.0.0.1", 0)) as free:
                number = free.getsockname()[1]
            server = shlex.join([sys.executable, "-S", "-c", SERVER, "0"])
            form = ["--stateful", "--outputTransport", "streamableHttp"]
            run(["node", str(BRIDGE), "--stdio", server, *form, "--port", str(number)])
            return number

        server = port([sys.executable, "-c", HTTP_SERVER])
        ways = {
            "none": lambda: server,
            "ours": lambda: port([*OURS, "--http", "0", f"http://127.0.0.1:{server}/mcp"]),
            "before": lambda: port(
                [
                    "env",
                    "-u",
                    "PYTHONPATH",
                    str(BEFORE),
                    *OURS[1:],
                    "--http",
                    "0",
                    f"http://127.0.0.1:{server}/mcp",
                ]
            ),
            "relay": lambda: port([sys.executable, "-c", HTTP_RELAY, str(server)]),
            "supergateway": bridge,
        }
        for name in names:
            if name in ways:
                links[name], taken[name] = opened(ways[name]()), []
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        for number in range(HTTP_CALLS):
            for name, (link, kind) in links.items():
                time.sleep(EVERY)
                began = time.perf_counter()
                link.request("POST", "/mcp", body, kind)
                assert b"result" in link.getresponse().read(), name
                if number:
                    taken[name].append((time.perf_counter() - began) * 1e6)
    return taken


WAYS: Final = ("ours", "once", "relay", "socat", "supergateway", "before")
OURS: Final = [str(Path(sys.executable).with_name("mcp-tui")), "tap"]


def ways() -> dict[str, list[str]]:
    """What stands in front of the server's command, by its name."""
    found = {
        "none": [],
        "ours": [*OURS, "--"],
        "once": [*OURS, "--once", "--"],
        "relay": [sys.executable, "-c", RELAY],
    }
    if shutil.which("socat"):
        found["socat"] = ["socat", "-"]
    return found


def command(way: list[str], code: str) -> list[str]:
    """The whole command line of a server behind a way."""
    server = [sys.executable, "-S", "-c", code, str(NOTES // 500)]
    if way[:1] != ["socat"]:
        return [*way, *server]
    script = Path(os.environ["MCP_TUI_STATE"], f"{len(code)}.sh")  # it splits words in a way of its own
    script.write_text(f"#!/bin/sh\nexec {shlex.join(server)}\n")
    script.chmod(0o700)
    return [*way, f"EXEC:{script}"]


class Peer:
    """A server that is running behind a way."""

    def __init__(self, way: list[str], code: str = SERVER) -> None:
        # A folder each: the taps of a user share a recorder, which goes on without them.
        self.home = tempfile.mkdtemp(dir=os.environ["MCP_TUI_STATE"])
        names = (
            "HOME",
            "MCP_TUI_STATE",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_RUNTIME_DIR",
            "XDG_STATE_HOME",
        )
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            command(way, code),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, **dict.fromkeys(names, self.home)},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.sink, self.source = self.process.stdin.fileno(), self.process.stdout.fileno()

    def call(self, number: int, method: str = "tools/call") -> float:
        """Call it, and wait for the answer; the seconds that took."""
        began = time.perf_counter()
        call = b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"name":"send","arguments":{"number":%d}}}\n'
        os.write(self.sink, call % (number, method.encode(), number))
        tail, end = b"", b'"id":%d,"result":{}}\n' % number
        while end not in tail:
            data = os.read(self.source, 1 << 18)
            assert data, "the server ended"
            tail = tail[-64:] + data
        self.rest = tail.partition(end)[2]
        return time.perf_counter() - began

    def ended(self) -> float:
        """Wait until the way has ended as well; the seconds since its server did."""
        while data := os.read(self.source, 1 << 18):
            self.rest += data
        self.process.wait()
        return time.monotonic() - float(self.rest)

    def recorders(self) -> list[str]:
        """The recorders of a tap, of which one may stand by; empty if there are none."""
        found = (each.name for each in Path("/proc").iterdir() if each.name.isdigit())
        return [
            each
            for each in found
            if b"mcp_tui.tap.recorder" in said(each, "cmdline")
            and self.home.encode() in said(each, "environ")
        ]

    def recorder(self) -> float:
        """Wait until the recorders of a tap are idle; the seconds of the processor that they took."""
        before, now = -1.0, 0.0
        while now > before:
            time.sleep(1)
            fields = [said(pid, "stat").rpartition(b")")[2].split() for pid in self.recorders()]
            before, now = (
                now,
                sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK"),
            )
        return now


def said(pid: str, what: str) -> bytes:
    """What the system says of a process; nothing once it is gone."""
    with suppress(OSError):
        return Path("/proc", pid, what).read_bytes()
    return b"()" + b" 0" * 13


def end(pids: list[str]) -> None:
    """End the recorders of a tap, if there are any: what they still have to do would slow the next way down."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@contextmanager
def open_peers(wanted: dict[str, list[str]]) -> Generator[dict[str, Peer]]:
    """Have a server behind each way."""
    with ExitStack() as stack:
        peers = {name: Peer(way) for name, way in wanted.items()}
        for each in peers.values():
            stack.callback(each.process.wait)
            stack.callback(each.process.kill)
        yield peers


def latency(wanted: dict[str, list[str]]) -> dict[str, list[float]]:
    """Microseconds of each call."""
    taken: dict[str, list[float]] = {name: [] for name in wanted}
    with open_peers(wanted) as peers:
        for each in peers.values():
            each.call(0)
        time.sleep(2)  # the recorder is loaded
        for number in range(1, CALLS + 1):
            for name, each in peers.items():
                time.sleep(EVERY)
                taken[name].append(each.call(number) * 1e6)
    return taken


def flood(wanted: dict[str, list[str]]) -> dict[str, list[tuple[float, float, float]]]:
    """Milliseconds to the first byte, seconds of a flood, and milliseconds of the exit behind it."""
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in wanted}
    for _ in range(ROUNDS):
        for name, way in wanted.items():
            first = Peer(way, "import os; os.write(1, b'x')")
            os.read(first.source, 1)
            begun = time.monotonic() - first.began
            recorders = first.recorders()
            first.process.wait()
            end(recorders)
            peer = Peer(way)
            peer.call(0)
            recorders = peer.recorders()
            seconds = peer.call(1, "flood")
            taken[name].append((begun * 1000, seconds, peer.ended() * 1000))
            end(recorders)
    return taken


def start() -> float:
    """Seconds that starting Python takes: the median of nine."""
    taken: list[float] = []
    for _ in range(9):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def measure(names: list[str]) -> dict[str, dict[str, float]]:
    """What each way adds to none."""
    names = ["none", *(each for each in names or WAYS if each != "none")]
    known = ways()
    wanted = {name: known[name] for name in names if name in known}
    called, flooded = latency(wanted), flood(wanted)
    needs = {"supergateway": BRIDGE, "before": BEFORE}
    http = http_latency(each for each in names if each not in needs or needs[each].exists())

    def p99(each: list[float]) -> float:
        return statistics.quantiles(each, n=100)[-1]

    found: dict[str, dict[str, float]] = {}
    first, seconds, ended = (
        {name: statistics.median(each[at] for each in taken) for name, taken in flooded.items()}
        for at in range(3)
    )
    for name in wanted:
        found[name] = {
            "median": statistics.median(called[name]) - statistics.median(called["none"]),
            "p99": p99(called[name]) - p99(called["none"]),
            "call": statistics.median(called[name]),
            "first": first[name] - first["none"],
            "per_second": NOTES / seconds[name],
            "exit": ended[name] - ended["none"],
        }
    for name, each in http.items():
        found.setdefault(name, {})["http"] = statistics.median(each) - statistics.median(http["none"])
    if "ours" in wanted and sys.platform == "linux":
        with open_peers({"ours": wanted["ours"]}) as peers:
            peer = peers["ours"]
            peer.call(0)
            time.sleep(3)  # the shared recorder has taken over
            before = peer.recorder()
            for number in range(1, 5001):
                peer.call(number)
            found["ours"]["cpu"] = (peer.recorder() - before) / 10_000 * 1e6
    found["none"] = {"per_second": found["none"]["per_second"]}  # it adds nothing to itself
    return found


def main() -> int:
    """Measure and print; the last line is JSON."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MCP_TUI_STATE"] = folder
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
        print(f"python -c pass takes {start() * 1000:.1f} ms here")
        found = measure(sys.argv[1:])
        for name, figures in found.items():
            print(name.ljust(8), "  ".join(f"{key} {value:,.2f}" for key, value in figures.items()))
        for goal in GOALS:
            if (own := goal.found({"tap": found})) is not None:
                print(
                    f"{goal.figure:10} {own:8.2f} {goal.goal:18} {'holds' if goal.holds(own) else 'MISSED'}"
                )
        time.sleep(1)  # for the last of the records
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
