"""Many sessions on one machine: ``python -m benchmarks.fleet [SESSIONS]``, 1,000 without a number, each with ten open calls.

Printed as JSON is how many seconds ``mcp-tui ps``, ``ps --json``, and a scrape of ``mcp-tui metrics`` take, with size and
processor time. The sessions are those of taps, with sockets, ledgers, and counts of their own, in a few processes: so many
real taps would measure the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import Any, Final
from urllib.request import urlopen

from mcp_tui.journal.client_process import ClientProcess
from mcp_tui.journal.store import Store
from mcp_tui.live.control import Summary
from mcp_tui.live.serving import ControlSocket, summary
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.ledger import OWN_ID, Ledger
from mcp_tui.protocol.observing import Observer, Onlooker

SESSIONS: Final = 1000
CALLS: Final = 10
PROCESSES: Final = 8
CLIENTS: Final = 50
"""So many clients with so many servers: each has its share of the sessions."""

SERVERS: Final = 20
ROUNDS: Final = 5


class Session(Onlooker):
    """A session of a tap: calls that were answered, and calls in flight."""

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        self.ledger = Ledger(self, transport="stdio", observes=True, own_id=OWN_ID)
        self.observer = Observer(self.ledger)
        self.store = Store()
        self.number = number
        self.socket = ControlSocket(
            loop,
            self.ledger,
            summary=self._summary,
            cancel=lambda id, reason: self.ledger.cancel(id, Cause.USER, reason, at=time.monotonic()),
        )
        self._client(
            id=0,
            method="initialize",
            params={
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": f"agent {number % CLIENTS}", "version": "1"},
            },
        )
        info = {"name": f"server {number % SERVERS}", "version": "1"}
        self._server(id=0, result={"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info})
        for id_ in range(1, 2 * CALLS + 1):
            arguments = {"path": f"/home/user/{id_}"}
            tool = {"name": f"tool {id_ % CALLS}", "arguments": arguments, "_meta": {"progressToken": id_}}
            self._client(id=id_, method="tools/call", params=tool)
            if id_ <= CALLS:
                self._server(id=id_, result={"content": [{"type": "text", "text": "done"}]})
            else:
                told = {"progressToken": id_, "progress": 3, "total": 10, "message": "reading files"}
                self._server(method="notifications/progress", params=told)

    def event(self, event: Any) -> None:
        """Takes an event of the ledger."""
        self.socket.event(event)

    def _client(self, **message: Any) -> None:
        self.observer.sent(_frame(message), at=time.monotonic())

    def _server(self, **message: Any) -> None:
        self.observer.received(_frame(message), at=time.monotonic())

    def _summary(self) -> Summary:
        return summary(
            self.ledger,
            self.store,
            time.monotonic(),
            kind="tap",
            client=self.observer.client,
            server=self.observer.server,
            process=ClientProcess(
                os.getpid(),
                started=1.0 + self.number % CLIENTS,
                folder=f"/home/user/{self.number % CLIENTS}",
            ),
        )


def _frame(message: dict[str, Any]) -> messages.Frame:
    frame = messages.parse(json.dumps({"jsonrpc": "2.0", **message}).encode())
    assert not isinstance(frame, messages.Batch)
    return frame


async def _serve(first: int, count: int) -> None:
    loop = asyncio.get_running_loop()
    sessions = [Session(loop, first + number) for number in range(count)]
    print(len(sessions), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def _processor() -> float:
    """Returns the processor time of commands that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(count: int = SESSIONS) -> dict[str, float]:
    """Returns the figures: seconds, the best of several, and bytes."""
    found: dict[str, float] = {}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        os.environ |= {"XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder, "HOME": folder}
        share = -(-count // PROCESSES)
        for first in range(0, count, share):
            words = [sys.executable, "-m", "benchmarks.fleet", str(first), str(min(share, count - first))]
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            assert process.stdout is not None
            process.stdout.readline()
        command = [sys.executable, "-m", "mcp_tui"]
        for name, words in {
            "ps": ["ps"],
            "ps_json": ["ps", "--json"],
            "ps_flat": ["ps", "--flat"],
        }.items():
            times, printed, before = list[float](), b"", _processor()
            for _ in range(ROUNDS):
                began = time.monotonic()
                done = subprocess.run([*command, *words], capture_output=True, check=False)
                times.append(time.monotonic() - began)
                assert not done.returncode, done.stderr
                printed = done.stdout
            found |= {
                name: min(times),
                f"{name}_bytes": len(printed),
                f"{name}_cpu": (_processor() - before) / ROUNDS,
            }
        exporter = subprocess.Popen(
            [*command, "metrics", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
        )
        stack.enter_context(exporter)
        stack.callback(exporter.terminate)
        assert exporter.stdout is not None
        url, times, body = exporter.stdout.readline().strip(), list[float](), b""
        for _ in range(ROUNDS):
            began = time.monotonic()
            body = urlopen(url).read()
            times.append(time.monotonic() - began)
        in_flight = sum(
            float(line.rpartition(b" ")[2])
            for line in body.splitlines()
            if line.startswith(b"mcp_tui_requests_in")
        )
        assert in_flight == count * CALLS, in_flight
        found |= {
            "metrics": min(times),
            "metrics_bytes": len(body),
            "series": body.count(b"\nmcp_"),
        }
    return found


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(_serve(*map(int, sys.argv[1:3])))
    else:
        print(json.dumps(measure(*map(int, sys.argv[1:]))))
