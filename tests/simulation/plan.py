"""A schedule: everything that a seed decides beforehand. What the network does to each message is drawn while it plays."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final

from mcp_tui.protocol.events import Limits

TOOLS: Final = (
    "prompt",
    "slow",
    "slow",
    "deaf",
    "deaf",
    "protests",
    "chatty",
    "chatty",
    "restless",
    "restless",
    "silent",
    "silent",
    "twice",
    "wrong_id",
    "string_id",
    "asks",
    "asks",
    "misdirects",
    "malformed",
    "input",
    "questions",
    "elicits",
    "elicits",
    "elicits",
    "elicits",
    "task",
    "task",
)
"""How a call is answered; :mod:`tests.simulation.servers` has the meanings."""

HANDSHAKE: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = "2026-07-28"

REASONS: Final = ("", "too slow", "wrong table", "Grüße ☕")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that the person or the world does at a time. ``which`` counts requests from the newest."""

    at: float
    what: str
    which: int = 0
    tool: str = ""
    seconds: float | None = 0.0
    limits: Limits | None = None
    reason: str = ""

    def __str__(self) -> str:
        named = [f"{each}={value}" for each, value in (("tool", self.tool), ("reason", self.reason)) if value]
        return " ".join([self.what, f"#{self.which}", f"{self.seconds}", *named])


@dataclass
class Plan:
    """A schedule. Shares are probabilities for each message or exchange, times are seconds."""

    seed: int
    kind: str = "stdio"
    revision: str = MODERN
    both: bool = False
    protocol: str = "auto"
    latency: float = 0.02
    grace: float = 2.0
    ignores_eof: bool = False
    ignores_term: bool = False
    mute: str = ""
    refuse: float = 0.0
    cut: float = 0.0
    loss: float = 0.0
    status: float = 0.0
    as_json: float = 0.3
    event_ids: bool = False
    replays: bool = False
    listens: bool = False
    session: bool = False
    slow_posts: float = 0.0
    recorded: bool = False
    impatient: bool = False
    steps: list[Step] = field(default_factory=list[Step])

    @property
    def modern(self) -> bool:
        return self.revision == MODERN

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.kind} {self.revision}{' and older' if self.both else ''}"


def plan(seed: int) -> Plan:
    """The schedule of a seed."""
    rng = random.Random(seed)
    kind = rng.choices(("stdio", "http", "sse"), (4, 5, 1))[0]
    modern = kind != "sse" and rng.random() < 0.5
    revision = MODERN if modern else rng.choice(HANDSHAKE)
    troubled = rng.random() < 0.5
    made = Plan(
        seed,
        kind=kind,
        revision="2024-11-05" if kind == "sse" else revision,
        both=modern and rng.random() < 0.2,
        protocol=rng.choice((revision, "auto", "auto")) if kind != "sse" else "auto",
        latency=rng.choice((0.001, 0.02, 0.1)),
        grace=rng.choice((2.0, 2.0, 0.5, 0.0)),
        ignores_eof=rng.random() < 0.1,
        ignores_term=rng.random() < 0.1,
        mute=rng.choices(("", "server/discover", "initialize"), (12, 2, 2))[0],
        as_json=rng.choice((0.0, 0.3, 1.0)),
        event_ids=rng.random() < 0.6,
        replays=rng.random() < 0.3,
        listens=rng.random() < 0.5,
        session=rng.random() < 0.6,
        recorded=seed % 25 == 0,
        impatient=rng.random() < 0.04,
    )
    if made.impatient and rng.random() < 0.7:
        made.mute, made.protocol = "initialize", rng.choice(("auto", "2025-06-18"))
        made.revision = "2024-11-05" if kind == "sse" else "2025-06-18"
    if troubled:
        made.refuse = rng.choice((0.0, 0.03, 0.1))
        made.cut = rng.choice((0.0, 0.05, 0.3))
        made.loss = rng.choice((0.0, 0.03, 0.1))
        made.status = rng.choice((0.0, 0.0, 0.05))
        made.slow_posts = rng.choice((0.0, 0.3, 1.0))
    made.steps = _steps(rng, made, troubled=troubled)
    return made


def _steps(rng: random.Random, made: Plan, *, troubled: bool) -> list[Step]:
    steps: list[Step] = []
    now = 0.0
    for _ in range(rng.randint(6, 22)):
        now += rng.choice((0.0, 0.0, 0.001, rng.expovariate(8), rng.expovariate(1.5)))
        chance = rng.random()
        if chance < 0.5:
            tool = rng.choice(TOOLS)
            seconds = rng.choice((0.0, 0.01, rng.expovariate(2), rng.uniform(0, 8)))
            steps.append(Step(now, "call", tool=tool, seconds=seconds, limits=_limits(rng)))
        elif chance < 0.82:
            steps.append(Step(now, "cancel", rng.randrange(5), reason=rng.choice(REASONS)))
        elif chance < 0.86:
            steps.append(Step(now, "extend", rng.randrange(4), seconds=rng.choice((None, 0.5, 5.0))))
        elif chance < 0.90:
            steps.append(Step(now, "pause", rng.randrange(4)))
            steps.append(Step(now + rng.expovariate(0.7), "resume", rng.randrange(4)))
        elif made.kind == "stdio":
            steps += _pipe_trouble(rng, now, troubled=troubled)
        elif troubled:
            steps.append(Step(now, rng.choice(("cut", "forget", "cut", "reconnect"))))
    return sorted(steps, key=lambda step: step.at)


def _pipe_trouble(rng: random.Random, now: float, *, troubled: bool) -> list[Step]:
    if rng.random() < 0.6:
        until = now + rng.choice((0.05, rng.expovariate(0.5), 1000.0))
        return [Step(now, "block"), Step(until, "unblock")]
    if not troubled:
        return []
    again = [Step(now + rng.uniform(1, 6), "reconnect")]
    return [Step(now, "exit", which=rng.choice((0, 1, 137))), *again]


def _limits(rng: random.Random) -> Limits:
    return Limits(
        timeout=rng.choice((None, 0.3, 1.0, 3.0, 60.0)),
        max_timeout=rng.choice((0.5, 2.0, 6.0, 30.0)),
        ask=rng.choice((0.0, 0.0, 0.7)),
    )
