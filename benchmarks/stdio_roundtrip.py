"""The stdio transport against a bare asyncio pipe, in the same run: ``python -m benchmarks.stdio_roundtrip``.

The server is ``cat``, so that nothing but the two clients is measured. The floor writes lines to a pipe and splits
what comes back; it frames, queues, reports and guards nothing. Figures are medians of alternating rounds: on a
machine that does other things trust the ratios.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, cast

from mcp_tui.protocol.events import Signal
from mcp_tui.transport.base import Outgoing, Silence, Sink
from mcp_tui.transport.stdio import StdioTransport

ROUNDS = 7
MB = 1 << 20

FLOOD = """
import os, sys, threading, time
def pour(rate):
    line = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"flood"}}\\n' * 10
    start, sent = time.monotonic(), 0
    while True:
        os.write(1, line)
        sent += 10
        if rate and (early := start + sent / rate - time.monotonic()) > 0:
            time.sleep(early)
threading.Thread(target=pour, args=(int(sys.argv[1]),), daemon=True).start()
for line in sys.stdin.buffer:
    os.write(1, b'{"heard":%d}\\n' % time.monotonic_ns())
"""


class Client(Protocol):
    """What is measured: ``got`` is called with every line that comes back."""

    got: Callable[[bytes], None]

    async def start(self, command: list[str]) -> None: ...
    def write(self, line: bytes) -> None: ...
    async def stop(self) -> None: ...


class Floor(asyncio.SubprocessProtocol):
    """A pipe, and lines split off what comes."""

    def __init__(self) -> None:
        self.got: Callable[[bytes], None] = lambda _line: None
        self._pieces: list[bytes] = []
        self._exited = asyncio.Event()

    async def start(self, command: list[str]) -> None:
        self._process, _ = await asyncio.get_running_loop().subprocess_exec(lambda: self, *command)
        pipe = self._process.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        self._stdin = pipe

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if b"\n" not in data:
            self._pieces.append(data)
            return
        *lines, rest = b"".join((*self._pieces, data)).split(b"\n")
        self._pieces = [rest]
        for line in lines:
            self.got(line)

    def process_exited(self) -> None:
        self._exited.set()

    def write(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")

    async def stop(self) -> None:
        self._process.close()
        await self._exited.wait()


class _Messages(Silence):
    """A sink for the messages alone."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def received(self, *, raw: bytes, **_facts: object) -> None:
        self._client.got(raw)


class Ours:
    """The stdio transport with its guard."""

    def __init__(self) -> None:
        self.got: Callable[[bytes], None] = lambda _line: None

    async def start(self, command: list[str]) -> None:
        self.transport = StdioTransport(command)
        await self.transport.open(cast("Sink", _Messages(self)))

    def write(self, line: bytes) -> None:
        self.transport.send(Outgoing(raw=line, method="benchmark"))

    async def stop(self) -> None:
        await self.transport.terminate()


async def start(client: Client) -> float:
    """Milliseconds from nothing to the first answer."""
    answered = asyncio.Event()
    client.got = lambda _line: answered.set()
    began = time.perf_counter()
    await client.start(["cat"])
    client.write(b"{}")
    await answered.wait()
    passed = time.perf_counter() - began
    await client.stop()
    return passed * 1000


def in_flight(width: int, total: int) -> Callable[[Client], Awaitable[float]]:
    """Microseconds a message, so many of them on their way at any time."""

    async def measure(client: Client) -> float:
        line = b'{"jsonrpc":"2.0","id":123456,"result":{"content":[{"type":"text","text":"echo"}]}}'
        sent = got = 0
        done = asyncio.Event()

        def again(_line: bytes) -> None:
            nonlocal sent, got
            got += 1
            if sent < total:
                sent += 1
                client.write(line)
            elif got == total:
                done.set()

        client.got = again
        await client.start(["cat"])
        began = time.perf_counter()
        for _ in range(width):
            sent += 1
            client.write(line)
        await done.wait()
        passed = time.perf_counter() - began
        await client.stop()
        return passed / total * 1e6

    return measure


def large(size: int) -> Callable[[Client], Awaitable[float]]:
    """Milliseconds for one line there and back."""

    async def measure(client: Client) -> float:
        done = asyncio.Event()
        client.got = lambda _line: done.set()
        await client.start(["cat"])
        began = time.perf_counter()
        client.write(b"x" * size)
        await done.wait()
        passed = time.perf_counter() - began
        await client.stop()
        return passed * 1000

    return measure


async def cancels(rate: int, count: int = 200) -> list[float]:
    """Milliseconds from the call of ``signal`` to the bytes at the server, under so many notifications a second."""
    client = Ours()
    heard: asyncio.Queue[int] = asyncio.Queue()
    client.got = lambda line: heard.put_nowait(int(line[9:-1])) if line.startswith(b'{"heard"') else None
    await client.start([sys.executable, "-S", "-c", FLOOD, str(rate)])
    taken: list[float] = []
    for number in range(count):
        await asyncio.sleep(0.005)
        message = Outgoing(raw=b'{"method":"notifications/cancelled"}', method="notifications/cancelled")
        began = time.monotonic_ns()
        client.transport.signal(number, Signal.NOTIFICATION, message)
        taken.append((await heard.get() - began) / 1e6)
    await client.stop()
    return sorted(taken[10:])


async def main() -> None:
    """Print a table of both, and the latency of a cancel."""
    measures: Mapping[str, Callable[[Client], Awaitable[float]]] = {
        "start to first answer, ms": start,
        "round trip, one at a time, µs": in_flight(1, 3000),
        "a message, 100 in flight, µs": in_flight(100, 50_000),
        "a message, 10,000 in flight, µs": in_flight(10_000, 50_000),
        "a line of 16 MB there and back, ms": large(16 * MB),
        "a line of 64 MB there and back, ms": large(64 * MB),
    }
    print(f"{'':38}{'floor':>10}{'ours':>10}{'ratio':>8}")
    for name, measure in measures.items():
        floors: list[float] = []
        ours: list[float] = []
        for _ in range(ROUNDS):
            floors.append(await measure(Floor()))
            ours.append(await measure(Ours()))
        floor, own = statistics.median(floors), statistics.median(ours)
        print(f"{name:38}{floor:10.1f}{own:10.1f}{own / floor:8.2f}", flush=True)
    print("\ncancel, from the call to the bytes at the server, ms: median, p95, p99")
    for rate in (1, 20_000, 50_000, 0):
        taken = await cancels(rate)
        name = f"{rate:,} notifications a second" if rate else "as many notifications as it takes"
        marks = [taken[int(len(taken) * part)] for part in (0.5, 0.95, 0.99)]
        print(f"{name:38}" + "".join(f"{mark:10.2f}" for mark in marks), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
