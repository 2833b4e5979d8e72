"""``python -m tests.soak [--seconds N] [--seed S]``: ten requests a second, in a headless client and in a workbench at once.

Calls are answered at once, late, or never, make progress, time out, and are cancelled at random; the server exits now and
then and is started again. At the end the rows are held against the server's own log and against the journal, and memory and
descriptors against the first ten minutes. From ten minutes on the session is made old first, so that all that is bounded is
full, and what grows then is what stays of each request. The limit is 100 bytes; ``docs/explanation/promises.md`` says
what it takes.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import ClientSettings, StdioTarget
from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import TERMINAL, Request, State
from mcp_tui.protocol.states import Limits
from mcp_tui.view.server_bar import Link
from tests.tui.driving import driving
from tests.waiting import until

RATE = 10
LONG = 600
OLD = 105_000
"""Requests after which everything that is bounded is full."""

PER_REQUEST = 100
"""Bytes that may stay of a request."""

NOISE = 4_000_000
"""Bytes by which resident memory goes up and down by itself."""

YOUNG = 40_000_000
"""Bytes that a session which is not old yet may grow by."""

SETTLED = 2.0
"""Seconds before the end of a connection from which on nobody can know what the server still read."""


class Soak:
    """One client under load."""

    def __init__(self, client: Client, seed: int, seconds: float) -> None:
        self.client = client
        self.random = random.Random(seed)
        self.seconds = seconds
        self.ends: list[float] = []
        self.samples: list[tuple[float, int, int]] = []
        """Seconds since the start, bytes of memory, descriptors."""

    def arguments(self) -> dict[str, Json]:
        """How the next call is answered."""
        how = self.random.choices(("now", "later", "never"), (6, 3, 1))[0]
        return {
            "how": how,
            "after": self.random.uniform(0.0, 3.0),
            "progress": self.random.choice((0, 0, 1, 5)),
        }

    def call(self) -> None:
        """One call, and in two of five a cancel, before or after its answer."""
        timeout = self.random.choice((0.3, 1.0, 5.0))
        id_ = self.client.call_tool(
            "soak", self.arguments(), limits=Limits(timeout=timeout, max_timeout=10.0)
        )
        if self.random.random() < 0.4:
            loop = asyncio.get_running_loop()
            loop.call_later(self.random.expovariate(2.0), lambda: self.client.cancel(id_))

    async def age(self) -> None:
        """Fill all that is bounded."""
        arguments: dict[str, Json] = {"how": "now"}
        while len(self.client.requests.order) < OLD:
            await asyncio.gather(
                *(self.client.wait(self.client.call_tool("soak", arguments)) for _ in range(200))
            )

    async def run(
        self, connect: Callable[[], Awaitable[object]], press: Callable[[], Awaitable[object]]
    ) -> None:
        """Call at the rate until the time is over, and start the server again when it has exited."""
        if self.seconds >= LONG:
            await self.age()
        loop = asyncio.get_running_loop()
        start = due = loop.time()
        restart = start + min(60.0, self.seconds / 6)
        sample = start
        while (now := loop.time()) < start + self.seconds:
            if now >= restart:
                self.client.call_tool("soak", {"how": "exit"})
                await until(lambda: not self.client.connected)
                self.ends.append(self.client.now())
                await connect()
                restart = loop.time() + self.random.uniform(0.5, 1.5) * min(60.0, self.seconds / 6)
                due = loop.time()
            self.call()
            if now >= sample:
                await press()
                gc.collect()
                self.samples.append((now - start, resident(), len([*Path("/proc/self/fd").iterdir()])))
                sample = now + max(1.0, self.seconds / 240)
            due += 1 / RATE
            await asyncio.sleep(max(0.0, due - loop.time()))
        await until(lambda: all(row.state in TERMINAL for row in self.client.requests.unfinished.values()))
        self.ends.append(self.client.now())

    def judge(self, log: Path, journal: Path) -> list[str]:
        """What is wrong, one sentence each."""
        wrong = [*self.rows(log), *self.journal(journal)]
        settled = [each for each in self.samples if each[0] >= self.seconds / 6]
        spent, grown = settled[-1][0] - settled[0][0], settled[-1][1] - settled[0][1]
        may = YOUNG if self.seconds < LONG else NOISE + PER_REQUEST * RATE * spent
        middle = len(settled) // 2
        descriptors = [min(each[2] for each in half) for half in (settled[:middle], settled[middle:])]
        states = Counter(row.state.value for row in self.client.requests.order)
        print(
            f"{sum(states.values()):,} requests: {', '.join(f'{n:,} {state}' for state, n in states.items())}"
        )
        memory = f"memory {settled[0][1] / 1e6:.1f} to {settled[-1][1] / 1e6:.1f} MB in {spent:.0f} s"
        print(f"{memory}, descriptors {descriptors}, {len(self.ends)} connections")
        if grown > may:
            wrong.append(f"memory grew by {grown / 1e6:.1f} MB in {spent:.0f} s")
        if descriptors[0] != descriptors[1]:
            wrong.append(f"descriptors: {descriptors[0]}, later {descriptors[1]}")
        return wrong

    def rows(self, log: Path) -> list[str]:
        """Rows against the server's own log."""
        said: dict[str, set[int]] = {"called": set(), "answered": set(), "cancelled": set()}
        for line in log.read_text().splitlines():
            what, _, id_ = line.partition(" ")
            said[what].add(int(id_))
        wrong: list[str] = []
        known: set[object] = set()
        for row in self.client.requests.order:
            if row.method != "tools/call":
                continue
            known.add(row.id)
            if row.state is State.COMPLETED and row.id not in said["answered"]:
                wrong.append(f"{row.id} is completed, and the server never answered it")
            if row.id in said["answered"] and not (
                row.state is State.COMPLETED or row.late or self.unsure(row)
            ):
                wrong.append(f"{row.id} was answered, and is {row.state.value} with nothing late")
            told = row.signalled_at is not None
            if row.id in said["cancelled"] and not told:
                wrong.append(f"the server read a cancel of {row.id}, which no row tells of")
            if told and row.id not in said["cancelled"] and not self.unsure(row):
                wrong.append(f"the cancel of {row.id} is told, and never reached the server")
            if row.state not in TERMINAL:
                wrong.append(f"{row.id} never ended: {row.state.value}")
        if said["called"] - known:
            wrong.append(f"calls without a row: {sorted(said['called'] - known)[:5]}")
        return wrong

    def unsure(self, row: Request) -> bool:
        """Whether the connection ended so soon after this that what the server did last is not to be known."""
        last = max(at for at in (row.sent_at, row.signalled_at, row.ended_at, 0.0) if at is not None)
        return any(-SETTLED <= end - last <= SETTLED + 3.0 for end in self.ends)

    def journal(self, path: Path) -> list[str]:
        """Rows against those that the journal folds into."""
        self.client.store.flush()
        recording = Recording.read(path)
        requests = RecordedRequests.whole(recording)
        wrong = [f"the journal has {recording.damaged} damaged lines"] if recording.damaged else []
        for row in self.client.requests.order:
            kept = requests.get(row.id)
            if kept is None or (kept.state, kept.cause, len(kept.late)) != (
                row.state,
                row.cause,
                len(row.late),
            ):
                wrong.append(f"{row.id} is {row.state.value}, and in the journal {kept and kept.state.value}")
        recording.close()
        return wrong


def resident() -> int:
    """Bytes of memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def headless(
    target: StdioTarget, settings: ClientSettings, seed: int, seconds: float, journal: Path
) -> Soak:
    """A client alone."""
    loop = asyncio.get_running_loop()
    client = Client(target, settings, store=Store(Writer(journal), soon=loop.call_soon))
    await client.connect()
    soak = Soak(client, seed, seconds)

    async def nothing() -> None:
        pass

    await soak.run(client.connect, nothing)
    await client.close()
    return soak


async def workbench(
    target: StdioTarget, settings: ClientSettings, seed: int, seconds: float, journal: Path
) -> Soak:
    """The same below a screen on which panes are opened, and rows selected."""
    async with driving(target, size=(140, 40), settings=settings, record=journal, link=None) as driven:
        await driven.until(lambda: driven.session.link is Link.CONNECTED)
        soak = Soak(driven.session.client, seed, seconds)

        async def again() -> None:
            await driven.session.connect()

        async def press() -> None:
            await driven.press(soak.random.choice("1234567jkGg"))

        await soak.run(again, press)
    return soak


async def ran(name: str, seconds: float, seed: int, folder: Path) -> Soak:
    """One of the two, its server's ``log`` and its ``journal.jsonl`` in ``folder``."""
    (folder / "log").touch()
    command = (sys.executable, str(Path(__file__).with_name("server.py")), str(folder / "log"))
    settings = ClientSettings(protocol="2025-11-25", grace=2.0)
    run = {"headless": headless, "workbench": workbench}[name]
    return await run(
        StdioTarget(command=command, name="soak"), settings, seed, seconds, folder / "journal.jsonl"
    )


def part(name: str, seconds: float, seed: int) -> int:
    """Run and judge one of the two; 1 when something is wrong."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        soak = asyncio.run(ran(name, seconds, seed, folder))
        wrong = soak.judge(folder / "log", folder / "journal.jsonl")
    for sentence in wrong[:20]:
        print(sentence)
    print(f"{name}, seed {seed}, {seconds:.0f} s: {len(wrong) or 'nothing'} wrong", flush=True)
    return min(1, len(wrong))


def main() -> int:
    """Return 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--part", choices=("headless", "workbench"), help="this one alone, in this process")
    options = parser.parse_args()
    if options.part:
        return part(options.part, options.seconds, options.seed)
    words = ["--seconds", str(options.seconds), "--seed", str(options.seed)]
    running = [
        subprocess.Popen([sys.executable, "-m", "tests.soak", *words, "--part", name])
        for name in ("headless", "workbench")
    ]
    return max(each.wait() for each in running)


if __name__ == "__main__":
    sys.exit(main())
