# pyright: basic, reportMissingImports=false
"""One measurement with one Python client, in a process of its own: ``python driver.py CLIENT SCENARIO FOLDER``.

CLIENT is ``ours``, ``journal`` (ours, with the journal on), ``mcp`` (run by an interpreter that has it), or ``floor``: a
pipe, JSON, and a dict of futures, and nothing else that a client needs. Prints figures as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

SERVER = str(Path(__file__).with_name("server.py"))
Figures = dict[str, float]


def resident(field: str = "VmRSS") -> int:
    """Bytes of memory now, or at most so far (``VmHWM``)."""
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


class Floor:
    """A hand-written client."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.number = 0

    async def open(self, command: list[str], folder: Path) -> None:
        """Start the server."""
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, limit=256 << 20
        )
        assert self.process.stdin is not None
        self.stdin = self.process.stdin
        self.reading = asyncio.create_task(self.read())
        await self.request("initialize", {"protocolVersion": "2025-11-25"})

    async def read(self) -> None:
        """Resolve futures."""
        assert self.process.stdout is not None
        rest: list[bytes] = []
        while data := await self.process.stdout.read(1 << 18):
            *lines, last = data.split(b"\n")
            if lines:
                lines[0] = b"".join((*rest, lines[0]))
                rest = []
            rest.append(last)
            for line in lines:
                message = json.loads(line)
                if "id" in message:
                    self.waiting.pop(message["id"]).set_result(message)

    def request(self, method: str, params: object) -> asyncio.Future[Any]:
        """Write a request."""
        self.number += 1
        future = self.waiting[self.number] = asyncio.get_running_loop().create_future()
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.stdin.write(json.dumps(message).encode() + b"\n")
        return future

    async def call(self, name: str, arguments: dict[str, Any]) -> None:
        """Call a tool and wait for it."""
        await self.request("tools/call", {"name": name, "arguments": arguments})

    def start(self, name: str) -> None:
        """Call a tool, and wait for nothing."""
        self.request("tools/call", {"name": name, "arguments": {}})

    async def close(self) -> None:
        """End the server."""
        self.process.kill()
        await self.process.wait()


class Ours:
    """The Python API of mcp-tui."""

    def __init__(self, *, journal: bool = False) -> None:
        self.journal = journal

    async def open(self, command: list[str] | str, folder: Path) -> None:
        """Connect: a command over stdio, a text is a URL."""
        from mcp_tui.client import Client, ClientSettings, HttpTarget, StdioTarget
        from mcp_tui.journal.store import Store
        from mcp_tui.journal.writer import Writer
        from mcp_tui.protocol.states import Limits

        loop = asyncio.get_running_loop()
        store = Store(Writer(folder / "journal.jsonl"), soon=loop.call_soon) if self.journal else None
        target = HttpTarget(url=command) if isinstance(command, str) else StdioTarget(command=tuple(command))
        settings = ClientSettings(protocol="2025-11-25", limits=Limits(timeout=None, max_timeout=None))
        self.client = Client(target, settings, store=store)
        await self.client.connect()

    async def call(self, name: str, arguments: dict[str, Any]) -> None:
        """Call a tool and wait for it."""
        await self.client.wait(self.client.call_tool(name, arguments))

    def start(self, name: str) -> None:
        """Call a tool, and wait for nothing."""
        self.client.call_tool(name, {})

    async def close(self) -> None:
        """End the connection."""
        await self.client.terminate()


class Mcp:
    """The official Python SDK."""

    def __init__(self) -> None:
        self.calls: set[asyncio.Task[Any]] = set()

    async def open(self, command: list[str] | str, folder: Path) -> None:
        """Connect: a command over stdio, a text is a URL."""
        from mcp import ClientSession, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        self.stack = AsyncExitStack()
        way: Any = (
            streamable_http_client(command)
            if isinstance(command, str)
            else stdio_client(StdioServerParameters(command=command[0], args=command[1:]))
        )
        read, write, *_ = await self.stack.enter_async_context(way)
        session: Any = ClientSession(read, write)
        self.session = await self.stack.enter_async_context(session)
        await self.session.initialize()

    async def call(self, name: str, arguments: dict[str, Any]) -> None:
        """Call a tool and wait for it."""
        await self.session.call_tool(name, arguments)

    def start(self, name: str) -> None:
        """Call a tool, and wait for nothing."""
        self.calls.add(asyncio.create_task(self.session.call_tool(name, {})))

    async def close(self) -> None:
        """End nothing in good order: the process ends."""


Peer = Floor | Ours | Mcp


async def many(peer: Peer, width: int, total: int) -> float:
    """Seconds for so many calls, ``width`` of them in flight at any time."""
    left = total

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await peer.call("echo", {})

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(width)))
    return time.perf_counter() - began


async def in_flight(peer: Peer, width: int) -> Figures:
    """Requests a second."""
    total = 10_000 + width
    return {"per_second": total / await many(peer, width, total)}


async def round_trip(peer: Peer, count: int) -> Figures:
    """Microseconds, one call at a time."""
    await many(peer, 1, 200)
    return {"us": await many(peer, 1, count) / count * 1e6}


async def memory(peer: Peer, count: int) -> Figures:
    """Bytes of a request in flight."""
    await many(peer, 10, 1000)
    gc.collect()
    before = resident()
    for _ in range(count):
        peer.start("silent")
    await peer.call("echo", {})  # all are written
    gc.collect()
    return {"bytes": (resident() - before) / count}


async def million(peer: Peer, *counts: int) -> Figures:
    """MB with a million finished requests; of more than one count by the line through the last two."""
    taken: list[int] = []
    done = 0
    for count in counts:
        await many(peer, 1000, count - done)
        gc.collect()
        done = count
        taken.append(resident())
    each = (taken[-1] - taken[-2]) / (counts[-1] - counts[-2]) if len(counts) > 1 else 0
    return {"mb": (taken[-1] + each * (1_000_000 - done)) / 1e6}


async def timeouts(peer: Peer) -> Figures:
    """Milliseconds by which the cancels of timeouts leave later than set: idle, and under 50,000 notifications a second."""
    from mcp_tui.protocol.states import Limits

    assert isinstance(peer, Ours)
    client, seconds = peer.client, 0.3
    figures: Figures = {}
    for name in ("idle", "flood"):
        if name == "flood":
            await peer.call("pour", {"rate": 50_000})
        ids: list[Any] = []
        for _ in range(100):
            ids.append(client.call_tool("silent", {}, limits=Limits(timeout=seconds, max_timeout=None)))
            await asyncio.sleep(0.01)
        await asyncio.gather(*map(client.wait, ids))
        rows = [client.ledger.row(id_) for id_ in ids]
        late = sorted(((row.signalled_at or 0) - (row.sent_at or 0) - seconds) * 1000 for row in rows)
        figures |= {f"{name}_median": late[50], f"{name}_p99": late[98]}
    return figures


async def longest_stall(over: asyncio.Event) -> float:
    """Milliseconds of the processor that one turn of the loop took at most: what other processes take is no stall."""
    longest, last = 0.0, time.thread_time()
    while not over.is_set():
        await asyncio.sleep(0.002)
        now = time.thread_time()
        longest, last = max(longest, now - last), now
    return longest * 1000


async def large(peer: Peer, kind: str) -> Figures:
    """Seconds, the longest stall in milliseconds, and MB at most, for an answer of 64 MB."""
    await many(peer, 1, 20)
    over = asyncio.Event()
    watched = asyncio.create_task(longest_stall(over))
    began = time.perf_counter()
    await peer.call("large", {"kind": kind})
    taken = time.perf_counter() - began
    await asyncio.sleep(0.5)  # the journal writes behind the answer
    over.set()
    return {"seconds": taken, "stall": await watched, "mb": resident("VmHWM") / 1e6}


async def http(peer: Peer, width: int) -> Figures:
    """Requests a second over streamable HTTP."""
    await many(peer, width, 100)
    return {"per_second": 500 / await many(peer, width, 500)}


SCENARIOS: dict[str, Callable[[Peer], Awaitable[Figures]]] = {
    "in_flight_1000": lambda peer: in_flight(peer, 1000),
    "in_flight_10000": lambda peer: in_flight(peer, 10_000),
    "round_trip_pinned": lambda peer: round_trip(peer, 2000),
    "memory": lambda peer: memory(peer, 5000),
    "million": lambda peer: million(peer, 1_000_000),
    # After 112,500 requests the list of messages is as long as it gets.
    "million_quick": lambda peer: million(peer, 130_000, 180_000),
    "timeouts": timeouts,
    "large_string": lambda peer: large(peer, "string"),
    "large_items": lambda peer: large(peer, "items"),
    "http_1": lambda peer: http(peer, 1),
    "http_20": lambda peer: http(peer, 20),
    "http_100": lambda peer: http(peer, 100),
}


async def main() -> None:
    """Connect, measure, print."""
    client, scenario, folder = sys.argv[1:4]
    peer: Peer = {"floor": Floor, "mcp": Mcp}.get(client, Ours)()
    if isinstance(peer, Ours):
        peer.journal = client == "journal"
    port, process = Path(folder, "port"), None
    command: Any = [sys.executable, "-S", SERVER, f"{folder}/cancels"]
    if scenario.startswith("http"):
        process = await asyncio.create_subprocess_exec(sys.executable, "-S", SERVER, "--http", str(port))
        while not (port.exists() and port.read_text()):
            await asyncio.sleep(0.01)
        command = f"http://127.0.0.1:{port.read_text()}/mcp"
    await peer.open(command, Path(folder))
    print(json.dumps(await SCENARIOS[scenario](peer)), flush=True)
    await peer.close()
    if process is not None:
        process.kill()
        await process.wait()
    os._exit(0)  # what is in flight needs no good end


if __name__ == "__main__":
    asyncio.run(main())
