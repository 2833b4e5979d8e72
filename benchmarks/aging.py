"""What a session costs when it is young and when it is old: ``python -m benchmarks.aging [ROWS …] [--cancel]``.

A workbench without a terminal, its journal on, calls a server 50 times a second. Measured are the processor time, the
longest time for which the event loop stood still, and the memory: with 400 finished requests, and with each of ROWS
(100,000 where none is given). The last column compares processor time with that of the young session in the same run.
With ``--cancel`` each tenth call of those that only make the session old is cancelled, and answered all the same.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import tempfile
import time
from pathlib import Path

from textual.pilot import Pilot

from mcp_tui.client.client import Client
from mcp_tui.client.settings import ClientSettings, StdioTarget
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.states import Limits
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.session import Session

YOUNG = 400
RATE = 50
SECONDS = 8.0
AT_ONCE = 500

SERVER = """
import json, sys
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {}
    if message["method"] == "initialize":
        info = {"name": "aging", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif message["method"] == "tools/list":
        result = {"tools": [TOOL]}
    elif message["method"] == "tools/call":
        said = "said %d" % message["params"]["arguments"]["number"]
        result = {"content": [{"type": "text", "text": said}]}
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


def memory() -> float:
    """Resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def age(client: Client, rows: int, *, cancel: bool) -> None:
    """Call until so many requests are finished."""
    number = len(client.book.order)
    while number < rows:
        ids = [
            client.call_tool("echo", {"number": number + each}) for each in range(min(AT_ONCE, rows - number))
        ]
        if cancel:
            await asyncio.sleep(0)  # let them be written
            for id_ in ids[::10]:
                client.cancel(id_)
        number += len(ids)
        while len(client.book.unfinished) > 4 * AT_ONCE:  # noqa: ASYNC110 - looked at as seldom as may be
            await asyncio.sleep(0.002)
        await asyncio.sleep(0)
    await asyncio.sleep(3.0)  # the grace of those that were cancelled last


async def measure(client: Client) -> tuple[float, float]:
    """The share of a core that calls at a steady rate take, and the longest stall in milliseconds."""
    gc.collect()
    longest = 0.0
    loop = asyncio.get_running_loop()
    end = loop.time() + SECONDS
    spent, due, last = time.process_time(), loop.time(), loop.time()
    while (now := loop.time()) < end:
        longest = max(longest, now - last - 0.005)
        last = now
        if now >= due:
            client.call_tool("echo", {"number": 0})
            due += 1 / RATE
        await asyncio.sleep(0.005)
    return (time.process_time() - spent) / SECONDS, longest * 1000


async def session(pilot: Pilot[int], app: WorkbenchApp) -> Session:
    """The session of the app, once it is connected."""
    while app.session is None or "tools" not in app.session.catalogue.entries:
        await pilot.pause(0.05)
    return app.session


async def main() -> None:
    """Measure one session at one age after another."""
    ages = [int(each.replace(",", "")) for each in sys.argv[1:] if not each.startswith("-")] or [100_000]
    settings = ClientSettings(limits=Limits(timeout=None, max_timeout=None))
    target = StdioTarget(command=(sys.executable, "-c", SERVER), name="aging")
    print(f"{'finished':>10} {'one core':>9} {'stall':>9} {'memory':>9} {'a request':>10} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:

        def client(chosen: object) -> Client:
            assert chosen is target
            loop = asyncio.get_running_loop()
            store = Store(Writer(Path(folder) / "journal.jsonl"), soon=loop.call_soon)
            return Client(target, settings, store=store)

        app = WorkbenchApp(target, client)
        async with app.run_test(size=(140, 40)) as pilot:
            opened = (await session(pilot, app)).client
            base = young = 0.0
            for rows in [YOUNG, *ages]:
                await age(opened, rows, cancel="--cancel" in sys.argv)
                finished, used = len(opened.book.order), memory()
                taken, stall = await measure(opened)
                base, young = base or used, young or taken
                each = (used - base) * 1e6 / max(1, finished - YOUNG)
                print(
                    f"{finished:10,} {taken:8.1%} {stall:6.0f} ms {used:6.0f} MB {each:8.0f} B {taken / young:6.2f}",
                    flush=True,
                )
            await opened.close()


if __name__ == "__main__":
    asyncio.run(main())
