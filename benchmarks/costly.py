"""Costly situations, each once: ``python -m benchmarks.costly [NAME …]``, NAME as in the rows that it prints.

Prints a row for each with what came of it. ``SILENCE`` says how many seconds a silent call takes (3600). The figures that
the docs have are in ``docs/explanation/promises.md``.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

from mcp_tui.client import Client, ClientSettings, HttpTarget, StdioTarget
from mcp_tui.client.client_settings import Limits, Target

MCP_TUI: Final = str(Path(sys.executable).with_name("mcp-tui"))
SILENCE: Final = float(os.environ.get("SILENCE", "3600"))
UNLIMITED: Final = ClientSettings(limits=Limits(timeout=None, max_timeout=None))
IN_FLIGHT: Final = 1000
LARGE_BYTES: Final = 100 * 1_000_000
SESSIONS: Final = 10_000
DAY_CALLS: Final = 86_400
DAY_ROUND: Final = 100
"""Calls of the day that are in flight together."""

SERVER: Final = '''
import json, os, sys, threading, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
cancels = 0
def answer(message):
    """The response to a message; None if it has none."""
    global cancels
    id, method = message.get("id"), message.get("method")
    if method == "notifications/cancelled":
        cancels += 1
    if id is None:
        return None
    result = {}
    if method == "initialize":
        about = {"serverInfo": {"name": "s", "version": "1"}, "capabilities": {"tools": {}}}
        result = {"protocolVersion": "2025-11-25", **about}
    elif method == "tools/list":
        result = {"tools": []}
    elif method == "tools/call":
        name, given = message["params"]["name"], message["params"].get("arguments", {})
        if name == "never":
            if "--http" in sys.argv:
                time.sleep(86_400)
            return None
        if name == "sleep":
            time.sleep(given["seconds"])
        text = {"large": lambda: "x" * given["bytes"], "cancels": lambda: str(cancels)}.get(name, lambda: "hello")()
        result = {"content": [{"type": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": id, "result": result}
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = answer(message)
        body = b"" if reply is None else json.dumps(reply).encode()
        self.send_response(202 if reply is None else 200)
        self.send_header("Content-Type", "application/json")
        if message.get("method") == "initialize":
            self.send_header("Mcp-Session-Id", uuid.uuid4().hex)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
    def do_GET(self):
        self.send_error(405)
    do_DELETE = do_GET
    def log_message(self, *_):
        pass
if "--http" in sys.argv:
    ThreadingHTTPServer.request_queue_size = 4096
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
lock = threading.Lock()
def respond(message):
    reply = answer(message)
    if reply is not None:
        data = json.dumps(reply).encode() + b"\\n"
        with lock:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
for line in sys.stdin.buffer:
    message = json.loads(line)
    sleeps = message.get("params", {}).get("name") == "sleep"
    threading.Thread(target=respond, args=(message,), daemon=True).start() if sleeps else respond(message)
'''
STDIO: Final = (sys.executable, "-S", "-c", SERVER)


@contextmanager
def http_server(*tap: str) -> Generator[tuple[str, list[int]]]:
    """Runs the server over HTTP, behind a tap with these options if there are any; yields its URL, and the processes."""
    with ExitStack() as stack:

        def run(command: list[str]) -> tuple[int, int]:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            assert process.stdout is not None
            return int(re.findall(rb"(\d+)(?:/\S*)?\s*$", process.stdout.readline())[0]), process.pid

        port, pid = run([sys.executable, "-c", SERVER, "--http"])
        pids = [pid]
        if tap:
            port, pid = run([MCP_TUI, "tap", "--http", "0", *tap, f"http://127.0.0.1:{port}/mcp"])
            pids.append(pid)
        yield f"http://127.0.0.1:{port}/mcp", pids


def megabytes(pid: int, what: str = "VmHWM") -> float:
    """Returns the maximum memory of a process, or its present one (``VmRSS``), in MB."""
    return int(re.findall(rf"{what}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1000


def children(pid: int) -> list[int]:
    """Returns the processes below a process."""
    found = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found + [below for each in found for below in children(each)]


INFO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}


def message(id: int, method: str, params: Mapping[str, object]) -> bytes:
    """Returns a request as a line."""
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


async def called(client: Client, tool: str, **arguments: float) -> str:
    """Calls a tool; returns the text of its answer."""
    answer = await client.request("tools/call", {"name": tool, "arguments": arguments})
    assert answer is not None
    return str(answer.result["content"][0]["text"])


async def with_client(target: Target, work: Callable[[Client], Awaitable[str]]) -> str:
    """Runs some work with a connected client."""
    client = Client(target, UNLIMITED)
    await client.connect()
    try:
        return await work(client)
    finally:
        await client.close()


def places() -> dict[str, Callable[[], Any]]:
    """Returns the ways to the server by name, each with a context that yields a target."""

    @contextmanager
    def stdio(*before: str) -> Generator[Target]:
        yield StdioTarget(command=(*before, *STDIO))

    @contextmanager
    def http(*tap: str) -> Generator[Target]:
        with http_server(*tap) as (url, _):
            yield HttpTarget(url=url)

    return {
        "stdio": stdio,
        "stdio through a tap": lambda: stdio(MCP_TUI, "tap", "--"),
        "HTTP": http,
        "HTTP through a tap": lambda: http("--name", "costly"),
    }


def in_flight(target: Target) -> str:
    """A thousand calls in flight, all cancelled at once."""

    async def work(client: Client) -> str:
        before = megabytes(os.getpid(), "VmRSS")
        began = time.monotonic()
        ids = [client.call_tool("never", {}) for _ in range(IN_FLIGHT)]
        while any((row := client.requests.get(each)) is None or row.sent_at is None for each in ids):
            await asyncio.sleep(0.01)
        sent = time.monotonic()
        memory = megabytes(os.getpid(), "VmRSS") - before
        for each in ids:
            client.cancel(each, reason="all of them")
        await asyncio.gather(*(client.wait(each) for each in ids))
        ended, got = time.monotonic(), "0"
        while got != str(IN_FLIGHT) and time.monotonic() < ended + 60:
            got = await called(client, "cancels")
        done = time.monotonic()
        after = f"{got} cancels at the server {done - sent:.2f} s after the key"
        return f"sent in {sent - began:.2f} s, {memory:.0f} MB; {after}"

    return asyncio.run(with_client(target, work))


def large(target: Target) -> str:
    """An answer of 100 MB."""

    async def work(client: Client) -> str:
        began = time.monotonic()
        size = len(await called(client, "large", bytes=LARGE_BYTES))
        taken = time.monotonic() - began
        return f"{size:,} bytes in {taken:.2f} s, client at most {megabytes(os.getpid()):.0f} MB"

    return asyncio.run(with_client(target, work))


def silence(target: Target) -> str:
    """A call of an hour without a byte."""

    async def work(client: Client) -> str:
        began = time.monotonic()
        text = await called(client, "sleep", seconds=SILENCE)
        return f"answered {text!r} after {time.monotonic() - began:.0f} s"

    return asyncio.run(with_client(target, work))


def sessions() -> str:
    """Ten thousand sessions over HTTP through one tap, each with one call."""
    with http_server("--name", "costly") as (url, pids):
        host, _, path = url.removeprefix("http://").partition("/")
        kind = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        link = HTTPConnection(host)
        began = time.monotonic()
        for number in range(SESSIONS):
            named: dict[str, str] = {}
            for id, method, params in ((0, "initialize", INFO), (number + 1, "tools/call", {"name": "echo"})):
                body = message(id, method, params)
                link.request("POST", f"/{path}", body, kind | named)
                answer = link.getresponse()
                assert b"result" in answer.read()
                named = {"Mcp-Session-Id": answer.getheader("Mcp-Session-Id") or ""}
        taken = time.monotonic() - began
        tap = [pids[-1], *children(pids[-1])]
        memory = sum(megabytes(each, "VmRSS") for each in tap)
        began = time.monotonic()
        subprocess.run([MCP_TUI, "ps", "--flat"], capture_output=True, check=False)
        ps = time.monotonic() - began
    began = time.monotonic()
    subprocess.run([MCP_TUI, "log", "--sums"], capture_output=True, check=False)
    log = time.monotonic() - began
    return f"{taken:.0f} s, tap and recorder {memory:.0f} MB; ps {ps:.1f} s, log --sums {log:.1f} s"


def day() -> str:
    """A day of a call each second, recorded through a tap, then answered from the recording."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder, "day.jsonl")

        def timed(*command: str) -> float:
            """Makes the calls with a client that does not end what a tap leaves running: its recorder."""
            began = time.monotonic()
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                for first in range(0, DAY_CALLS, DAY_ROUND):
                    asked = [
                        message(id, "tools/call", {"name": "echo"}) for id in range(first, first + DAY_ROUND)
                    ]
                    process.stdin.writelines(
                        [*([message(-1, "initialize", INFO)] if not first else []), *asked]
                    )
                    process.stdin.flush()
                    for _ in range(DAY_ROUND + (not first)):
                        process.stdout.readline()
                process.stdin.close()
            return time.monotonic() - began

        made = timed(MCP_TUI, "tap", "--record", str(path), "--", *STDIO)
        began, size = time.monotonic(), -1
        while size < (size := path.stat().st_size):  # the recorder is behind the traffic
            time.sleep(3)
        behind = time.monotonic() - began - 3
        mocked = timed(MCP_TUI, "mock", "--speed", "max", str(path))
        began = time.monotonic()
        subprocess.run(
            [MCP_TUI, "check", "--fail-on", "state:lost", str(path)], capture_output=True, check=True
        )
        checked = time.monotonic() - began
    recorded = f"recorded in {made:.0f} s and written {behind:.0f} s later ({size / 1e6:.0f} MB)"
    return f"{recorded}, mocked in {mocked:.0f} s, checked in {checked:.1f} s"


SITUATIONS: Final = {"in flight": in_flight, "large": large, "silence": silence}
ONCE: Final = {"sessions": sessions, "day": day}


def main() -> None:
    """Prints a row for each situation, and way to the server."""
    chosen = sys.argv[1:] or [*ONCE, *(f"{name}, {way}" for name in SITUATIONS for way in places())]
    for each in chosen:
        # Each in a process of its own, so that its memory is its own.
        command = [
            sys.executable,
            "-c",
            "import sys\nfrom benchmarks.costly import row\nrow(sys.argv[1])",
            each,
        ]
        subprocess.run(command, check=False)


def row(named: str) -> None:
    """Prints one row."""
    name, _, way = named.partition(", ")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        kinds = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")
        os.environ.update(dict.fromkeys(kinds, folder))
        if name in ONCE:
            found = ONCE[name]()
        else:
            with places()[way]() as target:
                found = SITUATIONS[name](target)
        print(f"| {named} | {found} |", flush=True)


if __name__ == "__main__":
    main()
