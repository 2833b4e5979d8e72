"""Plays schedules."""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import ClientSettings, HttpTarget, Offers, StdioTarget, Target
from mcp_tui.client.interactions import Answer, Inquiry, Refusal
from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.requests import Request
from mcp_tui.transport import base, http, stdio
from mcp_tui.transport.base import TransportError
from tests.servers.recorder import KINDS, recorder
from tests.simulation import pipes, web
from tests.simulation.loop import Stuck, VirtualLoop, VirtualTime
from tests.simulation.pipes import Process
from tests.simulation.plan import Plan, Step, plan
from tests.simulation.watch import Watch
from tests.simulation.world import Broken, World, enter

QUIET: Final = 75.0
"""Seconds of silence after the last step: more than any limit with its grace."""

CLOSING: Final = 9.0
"""Seconds that a close may take: two for cancels to leave, five for the connection, and what a slow loop adds."""


STAND_INS: Final[tuple[tuple[ModuleType, str, object], ...]] = (
    (stdio, "start", pipes.start),
    (stdio, "prepare", pipes.prepare),
    (http, "HttpClient", web.SimulatedClient),
    (stdio, "time", VirtualTime),
    (base, "time", VirtualTime),
)
"""What is simulated: names in modules of the product, and what stands there while a schedule is played."""


class Failed(AssertionError):
    """A schedule broke an invariant. The text has its seed, what broke, and the whole dialogue."""

    def __init__(self, made: Plan, why: BaseException, dialogue: str) -> None:
        again = f"again: python -m tests.simulation {made.seed}"
        super().__init__(f"{made}\n{dialogue}\n{type(why).__name__}: {why}\n{again}")
        self.why = why
        self.seed = made.seed

    def __reduce__(self) -> tuple[type[AssertionError], tuple[str]]:
        return AssertionError, (str(self),)


def play(seed: int) -> World:
    """Plays the schedule of a seed; its world, with the dialogue.

    Raises:
        Failed: an invariant does not hold.
    """
    made = plan(seed)
    loop = VirtualLoop()
    world = World(made, loop, random.Random(seed + 1))
    enter(world)
    with contextlib.ExitStack() as stack:
        for module, name, stand_in in STAND_INS:
            stack.enter_context(patch.object(module, name, stand_in))
        file = None
        if made.recorded:
            file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "recording"
        session = _Session(world, file)
        try:
            loop.play(session.run())
            if session.watch.broken is not None:
                raise session.watch.broken
        except (Broken, Stuck, Exception) as error:
            raise Failed(made, error, world.dialogue()) from error
    return world


class _Session:
    """A person at a client: one schedule from the first step to the last check."""

    def __init__(self, world: World, file: Path | None) -> None:
        self.world = world
        self.plan = world.plan
        self.file = file
        self.store = Store()
        if file is not None:
            self.store = Store(Writer(file, header=Header(app="simulation")), soon=world.loop.call_soon)
        offers = Offers(elicitation=frozenset({"form"}), tasks=True)
        settings = ClientSettings(protocol=self.plan.protocol, grace=self.plan.grace, offers=offers)
        self.client = Client(
            _target(self.plan), settings, store=self.store, respond=self._respond, now=world.loop.time
        )
        self.watch = world.watch = Watch(world, self.client)
        heard = recorder(self.watch.receive)
        vars(self.client).update({name: getattr(heard, name) for name in KINDS})
        self.waiting: set[asyncio.Task[None]] = set()
        self.connecting: asyncio.Task[None] | None = None

    async def run(self) -> None:
        loop, watch = self.world.loop, self.watch
        if self.plan.impatient:
            await self._impatience()
        await self._connect()
        for step in self.plan.steps:
            delay = step.at - loop.now
            if delay > 0:
                await asyncio.sleep(delay)
            if watch.broken is not None:
                raise watch.broken
            self.world.say("person", step)
            await self._take(step)
        await asyncio.sleep(QUIET)
        watch.quiet()
        watch.shown()
        await self._close()

    async def _connect(self) -> None:
        self.world.say("person", "connect")
        start = self.world.loop.now
        try:
            await self.client.connect()
        except TransportError as error:
            self.world.say("client", f"cannot connect: {error}")
        for number, step in enumerate(self.plan.steps):  # steps count from the connection
            self.plan.steps[number] = replace(step, at=step.at + self.world.loop.now - start)

    async def _impatience(self) -> None:
        """Cancels the handshake, and close in the middle of it."""
        loop, rng = self.world.loop, self.world.rng
        task = self._spawn(self._connect())
        for _ in range(3):
            await asyncio.sleep(rng.choice((0.0, 0.01, 0.5, 2.0)))
            for row in self.client.requests.order:
                self.client.cancel(row.id)
        self.watch.closing = True
        await self.client.close()
        self.watch.closing = False
        await asyncio.wait([task])
        assert loop.now < 60.0

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.world.loop.create_task(coroutine)

    # -- steps -----------------------------------------------------------------------------------------------

    async def _take(self, step: Step) -> None:
        client, row = self.client, self._row(step.which)
        match step.what:
            case "call":
                id_ = client.call("tools/call", self._params(step), limits=step.limits)
                for _ in range(2 if self.world.chance(0.1) else 1):
                    task = self._spawn(self.watch.wait(id_))
                    self.waiting.add(task)
            case "cancel" if row is not None:
                client.cancel(row.id, Cause.USER, step.reason)
            case "extend" if row is not None:
                client.extend(row.id, step.seconds)
            case "pause" if row is not None:
                client.ledger.clocks.pause(row, client.now(), paused=True)
                client.extend(-1, None)
            case "resume":
                for each in client.requests.order:
                    client.ledger.clocks.pause(each, client.now(), paused=False)
                client.extend(-1, None)
            case "reconnect":
                await self._reconnect()
            case _:
                self._trouble(step)

    def _params(self, step: Step) -> dict[str, Any]:
        """What a tool is called with; as a task, where the revision wants that said."""
        revision = self.client.revision
        as_task = step.tool == "task" and revision is not None and revision.name == "2025-11-25"
        params: dict[str, Any] = {"name": step.tool, "arguments": {"seconds": step.seconds}}
        return {**params, "task": {}} if as_task else params

    async def _respond(self, inquiry: Inquiry) -> Answer:
        """Answers a question of the server's, or not before it needs no answer any more."""
        rng = self.world.rng
        delay = rng.choice((0.0, 0.1, rng.expovariate(1.0), 1000.0))
        await asyncio.wait({inquiry.over}, timeout=delay)
        return Refusal() if rng.random() < 0.2 else {"action": "accept", "content": {}}

    def _trouble(self, step: Step) -> None:
        world = self.world
        process: Process | None = world.server.process if self._served() else None
        match step.what:
            case "block" | "unblock" if process is not None:
                process.stdin.block(step.what == "block")
            case "exit" if process is not None:
                process.ends(step.which)
            case "cut" if world.web is not None:
                world.web.cut()
            case "forget" if world.web is not None and self.plan.session:
                world.web.forget()
            case _:
                pass

    def _served(self) -> bool:
        return "server" in vars(self.world)

    async def _reconnect(self) -> None:
        if self.client.transport is None:
            await self._connect()

    def _row(self, which: int) -> Request | None:
        rows = self.client.requests.order
        open_ = [row for row in rows if row.open]
        if which % 2 == 0 and open_:
            return open_[-1 - which // 2 % len(open_)]
        return rows[-1 - which % len(rows)] if rows else None

    # -- the end ---------------------------------------------------------------------------------------------

    async def _close(self) -> None:
        loop, watch = self.world.loop, self.watch
        self.world.say("person", "close")
        watch.closing = True
        began = loop.now
        await self.client.close()
        watch.expect(10, loop.now - began < CLOSING, "the close took {:.1f} s", loop.now - began)
        await asyncio.sleep(1.0)
        watch.over()
        self._nothing_left()
        self.store.close()
        if self.file is not None:
            self._replays(self.file)

    def _nothing_left(self) -> None:
        loop, watch = self.world.loop, self.watch
        tasks = [task.get_name() for task in loop.left()]
        watch.expect(10, not tasks, "tasks left behind: {}", tasks)
        theirs = {id(timer) for timer in self.world.timers}
        timers = [timer for timer in loop.timers() if id(timer) not in theirs]
        watch.expect(10, not timers, "timers left behind: {}", timers)
        watch.expect(10, not loop.failures, "exceptions: {}", loop.failures)

    def _replays(self, file: Path) -> None:
        recording = Recording.read(file)
        live, recorded = self.client.requests, RecordedRequests.whole(recording)
        same = list(recorded.order) == list(live.order) and recorded.counts() == live.counts()
        same = same and [*recorded.cancelled] == [*live.cancelled]
        whole = not (recording.skipped or recording.unknown or recording.table.misfits)
        self.watch.expect(6, same and whole, "the recording makes other rows")


def _target(made: Plan) -> Target:
    if made.kind == "stdio":
        return StdioTarget(command=("server",))
    return HttpTarget(url="http://127.0.0.1:1/mcp", transport=made.kind)
