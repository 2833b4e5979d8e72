"""What the workbench costs, at 140×40 and without a terminal, its journal on: ``python -m benchmarks.workbench SCENARIO``.

``aging [ROWS …]`` calls 50 times a second, with 400 finished requests and with each of ROWS (100,000 where none is given):
the share of a core, the longest turn of the event loop in processor time, and the memory. With ``--cancel`` each tenth
call of those that only make the session old is cancelled, and answered all the same. ``large``: the longest stall at an
answer of 64 MB that is shown. The last line is all figures as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from textual.pilot import Pilot

from benchmarks.driver import SERVER, Figures, longest_stall, resident
from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import ClientSettings, StdioTarget, Target
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.states import Limits
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.screens.workbench import Workbench

YOUNG = 400
RATE = 50
SECONDS = 5.0
AT_ONCE = 500


class Bench:
    """A workbench that is connected."""

    def __init__(self, app: WorkbenchApp, pilot: Pilot[int]) -> None:
        assert app.session is not None
        self.app, self.pilot, self.client = app, pilot, app.session.client

    async def call(self, name: str, **arguments: int | str) -> int:
        """Call a tool and wait for it; its id."""
        id_ = self.client.call_tool(name, {**arguments})
        await self.client.wait(id_)
        return cast("int", id_)

    async def age(self, rows: int, *, cancel: bool) -> None:
        """Call until so many requests are finished."""
        number = len(self.client.requests.order)
        while number < rows:
            ids = [self.client.call_tool("echo", {}) for _ in range(min(AT_ONCE, rows - number))]
            if cancel:
                await asyncio.sleep(0)  # let them be written
                for id_ in ids[::10]:
                    self.client.cancel(id_)
            number += len(ids)
            while len(self.client.requests.unfinished) > 4 * AT_ONCE:
                await asyncio.sleep(0.002)
            await asyncio.sleep(0)
        await asyncio.sleep(3.0 if cancel else 0.5)  # the grace of those that were cancelled last

    async def steady(self) -> tuple[float, float]:
        """The share of a core in percent, and the longest stall in milliseconds, with 50 calls a second."""
        await self._calls(1.0)  # what the app still does behind its first frame is not steady
        gc.collect()
        spent = time.process_time()
        await self._calls()
        taken = time.process_time() - spent
        over = asyncio.Event()  # afterwards, because watching takes some percent of a core itself
        watched = asyncio.create_task(longest_stall(over))
        await self._calls()
        over.set()
        return taken / SECONDS * 100, await watched

    async def _calls(self, seconds: float = SECONDS) -> None:
        """Call so many times a second."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        end = due + seconds
        while due < end:
            await asyncio.sleep(due - loop.time())
            self.client.call_tool("echo", {})
            due += 1 / RATE
        await asyncio.sleep(end - loop.time())


async def aging(bench: Bench) -> Figures:
    """Measure one session at one age after another."""
    ages = [int(each.replace(",", "")) for each in sys.argv[2:] if each[0] != "-"] or [100_000]
    found: Figures = {}
    print(f"{'finished':>10} {'one core':>9} {'stall':>9} {'memory':>9} {'a request':>10} {'ratio':>6}")
    base = young = 0.0
    for rows in [YOUNG, *ages]:
        await bench.age(rows, cancel="--cancel" in sys.argv)
        finished, used = len(bench.client.requests.order), resident() / 1e6
        taken, stall = await bench.steady()
        base, young = base or used, young or taken
        each = (used - base) * 1e6 / max(1, finished - YOUNG)
        found |= {"young_core": young, "core": taken, "stall": stall, "mb": used, "ratio": taken / young}
        found.setdefault("young_stall", stall)
        print(
            f"{finished:10,} {taken:8.1f}% {stall:6.0f} ms {used:6.0f} MB {each:8.0f} B {taken / young:6.2f}",
            flush=True,
        )
    return found


async def large(bench: Bench) -> Figures:
    """One answer of 64 MB, shown."""
    over = asyncio.Event()
    watched = asyncio.create_task(longest_stall(over))
    id_ = await bench.call("large", kind="string")
    cast("Workbench", bench.app.screen).table.select(id_)
    await bench.pilot.pause(1.0)
    over.set()
    return {"stall": await watched}


SCENARIOS: dict[str, Callable[[Bench], Awaitable[Figures]]] = {
    "aging": aging,
    "large": large,
}


@asynccontextmanager
async def workbench(folder: Path, **more: Any) -> AsyncGenerator[Bench]:
    """A workbench on the server, its journal on; ``more`` are settings of its client."""
    target = StdioTarget(command=(sys.executable, "-S", SERVER, f"{folder}/cancels"), name="bench")
    limits = Limits(timeout=None, max_timeout=None)
    settings = ClientSettings(protocol="2025-11-25", limits=limits, **more)

    def client(_: Target) -> Client:
        store = Store(Writer(folder / "journal.jsonl"), soon=asyncio.get_running_loop().call_soon)
        return Client(target, settings, store=store)

    app = WorkbenchApp(target, client)
    async with app.run_test(size=(140, 40)) as pilot:
        while app.session is None or "tools" not in app.session.catalogue.entries:
            await pilot.pause(0.05)
        bench = Bench(app, pilot)
        yield bench
        await bench.client.close()


async def main() -> None:
    """Open a workbench, measure, print."""
    with tempfile.TemporaryDirectory() as folder:
        async with workbench(Path(folder), log_level="") as bench:
            print(json.dumps(await SCENARIOS[sys.argv[1]](bench)), flush=True)


if __name__ == "__main__":
    gc.disable()  # as the command does: the app turns it on again behind its first frame
    asyncio.run(main())
