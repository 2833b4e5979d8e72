"""What the parts of one schedule share: its random numbers, its timers, its dialogue, and whoever watches."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.simulation.loop import VirtualLoop

if TYPE_CHECKING:
    from tests.simulation.plan import Plan
    from tests.simulation.servers import Server
    from tests.simulation.watch import Watch
    from tests.simulation.web import Web

TICK: Final = 1e-5
"""Seconds between two things on one way: timers for the same moment have no order."""


class Broken(AssertionError):
    """An invariant does not hold. The number is the one it has in the list of invariants."""


@dataclass
class World:
    """One schedule being played. ``server`` is the one that runs now: a server that exited is followed by a new one."""

    plan: Plan
    loop: VirtualLoop
    rng: random.Random
    said: list[tuple[float, str, object]] = field(default_factory=list[tuple[float, str, object]])
    timers: list[asyncio.TimerHandle] = field(default_factory=list[asyncio.TimerHandle])
    watch: Watch = field(init=False)
    server: Server = field(init=False)
    web: Web | None = None

    def later(self, delay: float, then: Callable[..., None], *arguments: object) -> asyncio.TimerHandle:
        """Has something happen outside the client, ``delay`` seconds from now."""
        return self.at(self.loop.now + delay, then, *arguments)

    def at(self, when: float, then: Callable[..., None], *arguments: object) -> asyncio.TimerHandle:
        timer = self.loop.call_at(when, then, *arguments)
        self.timers.append(timer)
        return timer

    def latency(self) -> float:
        """How long something is on its way: mostly short, now and then long enough to cross anything."""
        rng = self.rng
        return rng.expovariate(1 / self.plan.latency) if rng.random() < 0.9 else rng.uniform(0.2, 1.5)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def say(self, who: str, what: object) -> None:
        """Puts a line into the dialogue; it is made into text only where somebody reads it."""
        self.said.append((self.loop.now, who, what))

    def dialogue(self) -> str:
        lines: list[str] = []
        for at, who, what in self.said:
            text = what.decode("utf-8", "replace") if isinstance(what, bytes) else str(what)
            lines.append(f"{at:10.4f}  {who:<9} {text.rstrip()[:400]}")
        return "\n".join(lines)


class _Stage:
    world: World | None = None


def enter(world: World) -> None:
    """Makes a world the one in which processes and connections come about."""
    _Stage.world = world


def here() -> World:
    """The world of the schedule that is being played."""
    assert _Stage.world is not None
    return _Stage.world
