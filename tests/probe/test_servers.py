"""A server that obeys passes every rule; one that breaks exactly one rule falls by exactly that one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from mcp_tui.probe.experiments import EXPERIMENTS, Experiment
from mcp_tui.probe.report import Report, Verdict
from mcp_tui.probe.rules import RULES, Strength
from mcp_tui.protocol.revisions import LATEST_HANDSHAKE
from tests.probe.probing import (
    Runs,
    fallen,
    probing,
    scripted,
    serving,
    side_by_side,
    unseen,
)

pytestmark = [
    pytest.mark.sends_anything,
    pytest.mark.slow,
    pytest.mark.clock("a server is judged by tenths of a second"),
    pytest.mark.timeout(1200),
]

FAIL = "fail"
STDIO, HTTP = "stdio", "http"
OLD, NEW = "2025-11-25", "2026-07-28"


class Server(NamedTuple):
    """A server of ``probe_server.py`` to be probed."""

    mode: str
    transport: str
    revision: str
    whole: bool = True
    """Whether by all experiments, or by an ordinary cancel and that of its rule."""

    @property
    def name(self) -> str:
        return f"{self.mode} {self.transport} {self.revision}"

    @property
    def experiments(self) -> list[Experiment]:
        if self.whole or not RULES[self.rule].experiment:
            return list(EXPERIMENTS)
        return [
            each for each in EXPERIMENTS if each.name in ("cancelled mid-work", RULES[self.rule].experiment)
        ]

    @property
    def rule(self) -> str:
        """The rule that it breaks, empty for none."""
        rule = self.mode.partition(":")[0]
        return rule if rule in RULES else ""

    @property
    def closes(self) -> bool:
        """Whether a cancel closes the stream of its call."""
        return self.transport == HTTP and self.revision == NEW

    @property
    def seconds(self) -> float:
        """Seconds of a call: a halted machine hides most from a short one, and where no rule is broken all must be seen."""
        # It makes a cancel at once one in the midst of a short call.
        return 1.4 if self.rule in ("", "P-05", "P-06") else 1.2

    def is_observed(self, report: Report) -> bool:
        """Whether the report judges what this server is there for."""
        if self.rule:
            return report.findings[self.rule].verdict is not Verdict.NOT_OBSERVABLE
        return self.mode not in ("good", "cold") or unseen(report) <= (CLOSED if self.closes else set())


NO_HURRY: Final = 900.0
"""Seconds for a run: a busy machine takes longer, and skips nothing."""

SOUND: Final = ("good", "cold", "exclusive", "tasks", "cleans")
"""Servers that break no rule."""

KINDS: Final[dict[str, str]] = {
    # until 2025-11-25 nothing more should come, from 2026-07-28 on nothing more must come
    "P-01": "error result late null text-id malformed",
    "P-02": "progress one resume",
    "P-03": "silent longer child",
    "P-04": "exit dead iserror error early empty late list unlisted",
    "P-05": "error result ignored progress",
    "P-06": "exit dead iserror error early late",
    "P-07": "before dead iserror error",
    "P-08": "null exit iserror dead",
    "P-09": "null again iserror hit-early",
    "P-10": "null exit iserror hit-early hit-stop",
    "P-11": "null array dies truth-early half-iserror refused iserror",
    "P-12": "null number-refused number-hit null-iserror",
    "P-13": "hit-stop hit-iserror hit-early",
    "P-14": "hit-stop hit-iserror hit-error hit-early hit-mute older",
    "P-15": "never refused null iserror",
    "P-16": "error progress null result iserror",
    "P-17": "stops slows iserror",
    "P-18": "ignored silent child",
    "P-19": "hit-stop hit-iserror hit-early",
    "P-20": "refused other acknowledged twice works-on iserror",
    "P-21": "idle busy child",
    "P-22": "list later text-id ping",
    "P-23": "ignored error silent iserror",
    "P-24": "open pings lingers",
    "P-25": "hangs refused error",
    "P-26": "two later text-id",
    "P-27": "ignored error result iserror",
    "P-28": "exit hit-early iserror dead",
    "P-29": "idle busy child",
    "P-30": "exit iserror dead",
    "P-31": "idle busy child",
    "P-32": "start cancel json end",
    "P-33": "silent longer child",  # silent: @modelcontextprotocol/server 2.4.0 (npm)
    "P-34": "each override in-flight answered quiet handed",
}
"""The kinds of faults that break a rule, of which some break it without an error on the wire."""

OVER_HTTP: Final = ("P-17", "P-18", "P-19", "P-24", "P-25", "P-28", "P-34")
IN_2026: Final = ("P-18", "P-19")

BOTH_WAYS: Final = (
    ("good", HTTP, OLD),
    ("joins", HTTP, OLD),
    ("good", HTTP, NEW),
    ("good", STDIO, NEW),
    ("tasks", STDIO, NEW),
    ("P-01:error", STDIO, NEW),
    ("P-01:null", HTTP, OLD),
    ("P-02:progress", STDIO, NEW),
    ("P-04:iserror", HTTP, OLD),
    ("P-04:dead", HTTP, NEW),
    ("P-05:ignored", STDIO, NEW),
    ("P-06:iserror", HTTP, OLD),
    ("P-07:error", HTTP, OLD),
    ("P-10:hit-early", HTTP, OLD),
    ("P-13:hit-early", HTTP, OLD),
    ("P-14:hit-iserror", HTTP, OLD),
    ("P-14:hit-early", HTTP, NEW),
    ("P-14:hit-early", STDIO, NEW),
    ("P-16:error", STDIO, NEW),
    ("P-20:acknowledged", STDIO, NEW),
    ("P-27:ignored", STDIO, NEW),
    ("P-33:silent", STDIO, NEW),
)
"""Servers that speak otherwise as well: a few, since the judging is the same."""

MUST: Final = {
    rule.id for rule in RULES.values() if rule.clause(LATEST_HANDSHAKE, "stdio").level is Strength.MUST
}
"""The rules whose breach is one of a MUST in either revision."""


def servers() -> list[Server]:
    """Each server with its transport and revision. All experiments judge one of each rule, and those of none."""
    made = [Server(mode, STDIO, OLD) for mode in (*SOUND, "dies", "one-at-a-time")]
    for rule, kinds in KINDS.items():
        transport, revision = HTTP if rule in OVER_HTTP else STDIO, NEW if rule in IN_2026 else OLD
        made += [
            Server(f"{rule}:{kind}", transport, revision, whole=not number)
            for number, kind in enumerate(kinds.split())
        ]
    return made + [Server(*each, whole=":" not in each[0]) for each in BOTH_WAYS]


SERVERS: Final = servers()

FELL: Final = {
    # one that exits at any cancel does not survive the ordinary one
    "dies": {"P-04"},
    "one-at-a-time": {"P-01", "P-02", "P-03", "P-05", "P-16", "P-27"},
    # progress that goes on (P-02) is work that goes on (P-03)
    "P-02:progress": {"P-02", "P-03"},
    "P-02:resume": {"P-02", "P-03"},
}
"""The rules that servers break that break several."""

BY_CHANCE: Final = {"P-01": {"P-05"}, "P-02": {"P-05"}}
"""Where a cancel at once may reach the server in the middle of its work."""


CLOSED: Final = {"P-01", "P-02", "P-05", "P-16"}
"""The rules of which nothing is observable where the stream of a cancelled call is closed."""


class Probes:
    """The runs of the servers, a few at a time."""

    def __init__(self, runs: Runs, stack: ExitStack, folder: Path):
        self._runs, self._stack, self._folder = runs, stack, folder

    def begin(self, server: Server, seconds: float) -> str:
        """Begins a run with a call of some seconds, and returns its name."""
        name = f"{server.name} {seconds:g} s"
        heartbeat = self._folder / name.replace(" ", "-")
        flags = ("--heartbeat", str(heartbeat), *(("--modern",) if server.revision == NEW else ()))
        over_http = server.transport == HTTP
        target = (
            self._stack.enter_context(serving(server.mode, *flags))
            if over_http
            else scripted(server.mode, *flags)
        )
        run = probing(
            target,
            "slow_work",
            ("seconds", str(seconds)),
            revision=server.revision,
            heartbeat=heartbeat,
            experiments=server.experiments,
            limit=NO_HURRY,
        )
        self._runs.begin(name, run)
        return name

    def report(self, server: Server) -> Report:
        """The report; a machine so busy that the fault could not be seen probes again with longer calls."""
        report = self._runs[f"{server.name} {server.seconds:g} s"]
        for seconds in (4.0, 12.0):
            if server.is_observed(report):
                break
            report = self._runs[self.begin(server, seconds)]
        return report


@pytest.fixture(scope="module")
def probes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Probes]:
    """The runs that are asked for."""
    chosen = [
        item.callspec.params.get("server")
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec")
    ]
    with ExitStack() as stack:
        probes = Probes(stack.enter_context(side_by_side()), stack, tmp_path_factory.mktemp("probe"))
        for server in SERVERS:
            if server in chosen:
                probes.begin(server, server.seconds)
        yield probes


@pytest.mark.clock("the probe cancels when half of a call's time, or all of it, is over")
@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_exactly_the_rule_that_a_server_breaks_falls(server: Server, probes: Probes):
    mode, transport, revision, whole = server
    report = probes.report(server)
    chance = BY_CHANCE.get(server.rule, set[str]())
    expected = FELL.get(mode, {server.rule} if server.rule else set[str]())
    fell = fallen(report)
    told = {rule: report.findings[rule] for rule in expected ^ set(fell)}
    assert set(fell) - chance == expected - chance, told
    if server.rule in MUST and mode not in ("P-20:works-on", "P-20:acknowledged"):
        assert fell[server.rule] == FAIL, told
    assert not whole or set(report.findings) == set(RULES)
    assert report.info.transport == transport
    assert report.info.revision.name == revision
    assert report.duration is not None
    assert bool(report.violations) is mode.endswith("text-id")
    if mode in ("good", "cold"):
        assert unseen(report) == (CLOSED if server.closes else set[str]())
        assert report.stops()[0] == "yes"


def test_each_rule_is_broken_in_three_ways_at_least():
    assert set(KINDS) == set(RULES)
    assert all(len(kinds.split()) >= 3 for kinds in KINDS.values())
