"""A whole run of the judge: the client's command once for each experiment, and the report.

The first experiment runs alone, because it shows the client's limit; the others run side by side.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from time import monotonic
from typing import ClassVar, Final

from mcp_tui import __version__
from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.client.connection import ServerInfo
from mcp_tui.client.session_store import shown
from mcp_tui.clock import utc_stamp, wall
from mcp_tui.judge import timelines, verdicts
from mcp_tui.judge.client_experiments import CLIENT_EXPERIMENTS, ClientExperiment
from mcp_tui.judge.client_rules import CLIENT_RULES
from mcp_tui.judge.client_trial import ClientTrial
from mcp_tui.judge.harm import signs
from mcp_tui.judge.observed_run import ObservedRun, control_name, signal_name
from mcp_tui.judge.sent_again import REPEAT
from mcp_tui.probe.report import TIME_OVER, CalledTool, Finding, Report, Verdict
from mcp_tui.probe.rules import Rule
from mcp_tui.protocol.messages import Json
from mcp_tui.transport.base import spawn

CLIENTS_AT_A_TIME: Final = 3
"""The number of runs at a time."""

LIMIT_SECONDS: Final = 2.0
"""The default of the limit that the client has to set, in seconds."""

_LONG_NAMES: Final = {"server": "SERVER_COMMAND", "url": "SERVER_URL"}
"""The names of environment variables (``MCP_TIMEOUT``) that are not simply those of placeholders (``{timeout}``)."""

UNABLE: Final = 77
"""The exit status by which a command reports that it does not support an experiment."""


SOCKET_PATH_BYTES: Final = 100
"""The maximum length of a socket's path, in bytes."""


class Unstartable(Exception):
    """The client's command cannot be started. The text says which, and why."""


@dataclass(slots=True, kw_only=True)
class ClientReport(Report):
    """The report on a client: ``info`` is the client's name, its transport, and the protocol version that it speaks."""

    party: ClassVar = "client"
    asked: ClassVar = "cancel what it gives up"
    label: ClassVar = "MCP client cancellation"
    table: dict[str, Rule] = field(default_factory=lambda: CLIENT_RULES)  # pyright: ignore[reportIncompatibleVariableOverride]

    def stops(self) -> tuple[str, str]:
        """Whether the client cancels what it gives up, and the reason."""
        if self.lost:
            return "not observable", self.lost
        found = [finding for rule in ("K-01", "K-02") if (finding := self.findings.get(rule)) is not None]
        for verdict, answer in ((Verdict.WARNING, "no"), (Verdict.PASS, "yes")):
            for finding in found:
                if finding.verdict is verdict:
                    return answer, finding.sentence
        return "not observable", found[0].sentence if found else "the experiment was not run"

    def in_short(self, answer: str) -> str:
        """The answer in a few words."""
        return {"yes": "cancels", "no": "sends no cancel"}.get(answer, answer)


@dataclass(eq=False)
class Judge:
    """One run against one client. ``command`` is its command line; ``gave_up`` what it writes when it gives a call up.

    ``limit`` and ``maximum`` are the limits that it is to set, 0 where the client says of none; ``time`` is the number of
    seconds for everything. ``chosen`` are the names of the experiments. ``on_progress`` gets steps and findings.
    """

    command: Sequence[str]
    _: KW_ONLY
    on_progress: Callable[[str | Finding], None] = lambda _: None
    chosen: Collection[str] = ()
    gave_up: re.Pattern[str] | None = None
    limit: float = LIMIT_SECONDS
    maximum: float = 0.0
    speaks: str = ""
    transport: str = "stdio"
    time: float = 900.0
    runs: dict[str, ObservedRun] = field(default_factory=dict[str, ObservedRun])
    took: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    """Seconds of each experiment, as far as a client was started for it."""

    async def run(self) -> ClientReport:
        """Makes all runs, and judges them.

        Raises:
            Unstartable: the command cannot be started.
        """
        if shutil.which(self.command[0]) is None:
            raise Unstartable(f"Cannot start {self.command[0]!r}: program not found")
        began, date = monotonic(), utc_stamp(wall())
        possible = (each for each in CLIENT_EXPERIMENTS if each.transport in ("", self.transport))
        wanted = [each for each in possible if not self.chosen or each.name in self.chosen]
        # Some experiments are timed by the client's limit, so the run that shows it is made first.
        needed = {each.after for each in wanted if each.after}
        first = [each for each in CLIENT_EXPERIMENTS if each.name in needed]
        not_run: list[ClientExperiment] = []
        lanes = asyncio.Semaphore(CLIENTS_AT_A_TIME)

        async def make(experiment: ClientExperiment) -> None:
            async with lanes:
                left = began + self.time - monotonic()
                try:
                    async with asyncio.timeout(max(0.0, left)):
                        await self._make(experiment)
                except TimeoutError:
                    not_run.append(experiment)

        for each in first:
            await make(each)
        async with asyncio.TaskGroup() as group:
            for each in wanted:
                if each not in first:
                    group.create_task(make(each))
        # Harm is what a control run without the judge's action does not show.
        suspicious = [each for each in wanted if each.control and signs(self.runs.get(each.run_name))]
        async with asyncio.TaskGroup() as group:
            for each in suspicious:
                group.create_task(make(each.as_control()))
        names = [name for each in CLIENT_EXPERIMENTS for name in (each.run_name, control_name(each.run_name))]
        ordered = {name: self.runs[name] for name in names if name in self.runs}
        return self._report(ordered, not_run, date, monotonic() - began)

    # -- one run -------------------------------------------------------------------------------------------------

    async def _make(self, experiment: ClientExperiment) -> None:
        self.on_progress(f"{experiment.run_name}: the client {experiment.does}")
        began = monotonic()
        folder = _folder()
        observed = self._observed(experiment)
        given = experiment.arguments or {}
        trial = ClientTrial(observed, folder, speaks=self.speaks, gave_up=self.gave_up, arguments=given)
        try:
            await trial.open()
            words, environment = self._words(experiment, trial)
            try:
                await trial.start(words, environment)
            except OSError as error:
                raise Unstartable(f"Cannot start {words[0]!r}: {error.strerror}") from None
            await experiment.make(trial)
        finally:
            # Also after a time limit or an interrupt, so that no process of the client is left.
            await asyncio.shield(spawn(_end(trial), name="end a client"))
            self.took[experiment.name] += monotonic() - began
        self.runs[experiment.run_name] = observed

    def _observed(self, experiment: ClientExperiment) -> ObservedRun:
        return ObservedRun(
            experiment=experiment.run_name,
            transport=self.transport,
            timeout=self.limit,
            limit=verdicts.limit_of(self.runs),
            maximum=self.maximum,
            tool=experiment.tool,
        )

    def _words(self, experiment: ClientExperiment, trial: ClientTrial) -> tuple[list[str], dict[str, str]]:
        """Returns the client's command line for a run, and its environment."""
        server = [] if trial.url else trial.server
        config = trial.folder / "mcp.json"
        entry = {"type": "http", "url": trial.url}
        if server:
            entry = {"command": server[0], "args": server[1:]}
        config.write_text(json.dumps({"mcpServers": {"judge": entry}}))
        limit = max(self.limit, experiment.least)
        maximum = self.maximum and max(self.maximum, experiment.least)
        values = {
            "server": shlex.join(server),
            "url": trial.url,
            "config": str(config),
            "experiment": experiment.name,
            "tool": experiment.tool,
            "arguments": json.dumps(experiment.arguments or {}),
            "timeout": f"{limit:g}",
            "max_timeout": f"{maximum:g}" if maximum else "",
        }
        words: list[str] = []
        for word in self.command:
            if word == "{server}":
                words += server
                continue
            for name, value in values.items():
                word = word.replace(f"{{{name}}}", value)
            words.append(word)
        told = {f"MCP_{_LONG_NAMES.get(name, name.upper())}": value for name, value in values.items()}
        # The client's output is read immediately.
        told["PYTHONUNBUFFERED"] = "1"
        return words, {**os.environ, **told}

    # -- the report ----------------------------------------------------------------------------------------------

    def _report(
        self, runs: dict[str, ObservedRun], not_run: Sequence[ClientExperiment], date: str, seconds: float
    ) -> ClientReport:
        revision = verdicts.revision_of(runs)
        said = next((each.client for each in runs.values() if each.client), "")
        named = re.fullmatch(r"(.+) (v?\d\S*)", said)
        name, version = (named[1], named[2]) if named else (said, "")
        report = ClientReport(
            info=ServerInfo(transport=self.transport, revision=revision, name=name, version=version),
            probe=__version__,
            date=date,
            command=shown(StdioTarget(command=tuple(self.command))),
            seconds=seconds,
            took=self.took,
        )
        able = {key: each for key, each in runs.items() if each.exit != UNABLE}
        report.findings = verdicts.judge(able, revision, self.transport)
        for rule, finding in _unable(runs).items():
            # A rule can be broken in every run, so it may be judged although the command cannot do its own experiment.
            if rule not in report.findings or report.findings[rule].verdict is Verdict.NOT_OBSERVABLE:
                report.findings[rule] = finding
        late = {each.name for each in not_run}
        rules = [rule for rule, each in CLIENT_RULES.items() if each.experiment in late]
        report.not_run = [rule for rule in rules if rule not in report.findings]
        for rule in report.not_run:
            report.findings[rule] = Finding(rule, Verdict.NOT_OBSERVABLE, TIME_OVER)
        if runs and not any(each.requests for each in runs.values()):
            report.lost = timelines.not_called(next(iter(runs.values())))
        report.calls = _calls(runs)
        report.notes = list(_notes(runs))
        for rule in CLIENT_RULES:
            if rule in report.findings:
                self.on_progress(report.findings[rule])
        return report


def _unable(runs: dict[str, ObservedRun]) -> dict[str, Finding]:
    """Returns the findings on rules whose experiment the command cannot do."""
    unable = {name for name, each in runs.items() if each.exit == UNABLE}
    names = {each.name for each in CLIENT_EXPERIMENTS if each.run_name in unable}
    text = f"the command cannot do this (exit status {UNABLE})"
    return {
        rule: Finding(rule, Verdict.NOT_OBSERVABLE, text)
        for rule, each in CLIENT_RULES.items()
        if each.experiment in names
    }


def _folder() -> Path:
    """Returns a new folder for one run, whose path is short enough for a socket in it."""
    made = Path(tempfile.mkdtemp(prefix="mcp-tui-"))
    # The path of a Unix socket has 104 bytes on macOS and 108 on Linux, and the folder for temporary files may be deep.
    if len(os.fsencode(made)) < SOCKET_PATH_BYTES - len("/judge"):
        return made
    made.rmdir()
    return Path(tempfile.mkdtemp(prefix="mcp-tui-", dir="/tmp"))


async def _end(trial: ClientTrial) -> None:
    await trial.close()
    shutil.rmtree(trial.folder, ignore_errors=True)


def _calls(runs: dict[str, ObservedRun]) -> tuple[CalledTool, ...]:
    """Returns which tools the client called, and how often."""
    counts = Counter(each.tool for observed in runs.values() for each in (*observed.calls, *observed.nexts))
    none: dict[str, Json] = {}
    return tuple(CalledTool(tool, none, times) for tool, times in counts.items())


def _notes(runs: dict[str, ObservedRun]) -> list[str]:
    """Returns further observations of the client, as sentences."""
    notes: list[str] = []
    hung = [name for name, observed in runs.items() if observed.stopped]
    if hung:
        notes.append(f"The client did not exit on its own and was killed: {', '.join(hung)}")
    died = {name: each.exit or 0 for name, each in runs.items() if timelines.crashed(each)}
    notes += [f"The client was ended by {signal_name(-code)}: {name}" for name, code in died.items()]
    most = max((observed.output for observed in runs.values()), default=0)
    if most > 1_000_000:
        notes.append(f"The client wrote {most / 1e6:,.1f} MB in one run; only the last lines were read")
    # a person restarts them, and after a fault of its server a client may have to
    usual = [observed for observed in runs.values() if not observed.experiment.startswith(REPEAT)]
    servers = max((len(each.servers) for each in usual if each.exit is not None), default=0)
    if servers > 1:
        notes.append(f"The client started its server {servers} times in one run")
    sessions = max((len(each.sessions) for each in usual), default=0)
    if sessions > 1:
        notes.append(f"The client opened {sessions} sessions in one run")
    eras = sorted({observed.revision for observed in runs.values() if observed.revision})
    if len(eras) > 1:
        notes.append(f"The client spoke {', '.join(eras)}")
    broken = Counter(each.rule for observed in runs.values() for each in observed.violations())
    text = "The client sent what its protocol version does not have"
    return notes + [
        f"{text} ({each}, {broken[each]} times)" for each in ("malformed", "batch") if broken[each]
    ]
