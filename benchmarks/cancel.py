"""What cancelling costs: ``python -m benchmarks.cancel``.

1. One cancel whose POST the server holds back for four seconds: how soon the next call begins to reach the server, beside
   one without such a cancel. It has to begin within 50 ms.
2. A thousand requests in flight over stdio, all cancelled: how long that holds the loop at most, and how long it takes until
   the server has read the last of the signals, beside a bare pipe that carries the same bytes.

On a machine that does other things trust the ratios.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable

from mcp_tui.client import Client, ClientSettings, HttpTarget, StdioTarget
from mcp_tui.client.client import DEFAULT_REASON
from mcp_tui.protocol.events import Cause, Limits
from mcp_tui.protocol.requests import State

ROUNDS = 5
THOUSAND = 1000
REVISION = "2025-06-18"
SETTINGS = ClientSettings(protocol=REVISION, limits=Limits(timeout=None, max_timeout=None))

HANDSHAKE = {"protocolVersion": REVISION, "capabilities": {}, "serverInfo": {"name": "bench", "version": "1"}}

STDIO = """
import json, sys, time
result = json.loads(sys.argv[1])
cancels = 0
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    elif message["method"] == "notifications/cancelled":
        cancels += 1
        if cancels == int(sys.argv[2]):
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/all"}), flush=True)
"""


class Server:
    """An HTTP server that answers at once, but for the tool ``silent`` and, after four seconds, cancels."""

    def __init__(self) -> None:
        self.arrived: dict[str, float] = {}
        self.cancelled = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self._exchange(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        at = time.perf_counter()
        _, _, length = head.partition(b"content-length: ")
        body = await reader.readexactly(int(length.split(b"\r\n")[0] or 0)) if length else b"{}"
        message = json.loads(body)
        method, name = message.get("method"), message.get("params", {}).get("name", "")
        answer, status = b"", b"202 Accepted"
        if not head.startswith(b"post"):
            status = b"405 No"
        elif method == "notifications/cancelled":
            self.cancelled.set()
            await asyncio.sleep(4.0)
        elif name == "silent":
            await reader.read(1)
            raise ConnectionError
        elif "id" in message:
            self.arrived[name] = at
            result: dict[str, object] = {"content": []}
            if method == "initialize":
                result = dict(HANDSHAKE)
            answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            status = b"200 OK"
        writer.write(
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (status, len(answer), answer)
        )
        await writer.drain()


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    while not true():
        await asyncio.sleep(0.001)


async def next_call(*, hanging: bool) -> float:
    """Seconds from a call to its arrival at the server."""
    server = Server()
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    client = Client(HttpTarget(url=f"http://127.0.0.1:{port}/mcp"), SETTINGS)
    await client.connect()
    if hanging:
        slow = client.call_tool("silent", {})
        await until(lambda: client.requests.order[-1].state is State.IN_FLIGHT)
        client.cancel(slow)
        await server.cancelled.wait()
    began = time.perf_counter()
    await client.wait(client.call_tool("next", {}))
    taken = server.arrived["next"] - began
    await client.close()
    listening.close()
    return taken


async def longest_turn(over: asyncio.Event) -> float:
    """Seconds of the longest turn of the loop until ``over`` is set."""
    longest, last = 0.0, time.perf_counter()
    while not over.is_set():
        await asyncio.sleep(0)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest


async def thousand() -> tuple[float, float]:
    """Seconds that a thousand cancels hold the loop at most, and until the server has read them all."""
    command = (sys.executable, "-S", "-c", STDIO, json.dumps(HANDSHAKE), str(THOUSAND))
    client = Client(StdioTarget(command=command), SETTINGS)
    await client.connect()
    ids = [client.call_tool("silent", {}) for _ in range(THOUSAND)]
    await until(lambda: client.requests.order[-1].state is State.IN_FLIGHT)
    heard = asyncio.Event()
    client.listen(lambda event: heard.set() if getattr(event, "method", "") == "notifications/all" else None)
    began = time.perf_counter()
    held, _ = await asyncio.gather(longest_turn(heard), client.cancel_all(Cause.USER, DEFAULT_REASON, ids))
    whole = time.perf_counter() - began
    await client.close()
    return held, whole


async def bare() -> float:
    """Seconds for the same thousand lines through a pipe, and a line back."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-c", STDIO, json.dumps(HANDSHAKE), str(THOUSAND),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n')
    await process.stdout.readline()
    reason = "User requested cancellation"
    began = time.perf_counter()
    for id_ in range(THOUSAND):
        params = {"requestId": id_, "reason": reason}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
    await process.stdout.readline()
    taken = time.perf_counter() - began
    process.stdin.close()
    await process.wait()
    return taken


async def main() -> None:
    """Measure in alternation and print the medians."""
    hanging, free, held, whole, floor = (list[float]() for _ in range(5))
    for _ in range(ROUNDS):
        free.append(await next_call(hanging=False))
        hanging.append(await next_call(hanging=True))
        one, all_ = await thousand()
        held.append(one)
        whole.append(all_)
        floor.append(await bare())
    ms = {
        name: statistics.median(times) * 1000
        for name, times in (
            ("free", free),
            ("hanging", hanging),
            ("held", held),
            ("whole", whole),
            ("floor", floor),
        )
    }
    verdict = "ok" if ms["hanging"] < 50 else "TOO SLOW"
    print(
        f"next call reaches the server after {ms['free']:.1f} ms, behind a hanging cancel after {ms['hanging']:.1f} ms"
        f" (worst {max(hanging) * 1000:.1f}; at most 50): {verdict}"
    )
    print(
        f"{THOUSAND} cancels over stdio: the loop is held for at most {ms['held']:.1f} ms, the server has all after"
        f" {ms['whole']:.1f} ms; a bare pipe {ms['floor']:.1f} ms, ratio {ms['whole'] / ms['floor']:.1f}"
    )


if __name__ == "__main__":
    asyncio.run(main())
