"""A whole run of the probe: finds a slow tool, runs it once uncancelled, runs the experiments, and judges.

Experiments that read the heartbeat run alone. The others run in parallel over stdio, where each has a separate process. Over
HTTP they run one after the other, because a server broken by one experiment would affect another. HTTP sessions are deleted
last, because some servers exit after a DELETE.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_tui import __version__
from mcp_tui.client import Client
from mcp_tui.client.catalogue import ListFailed, every, offers
from mcp_tui.client.client_settings import ClientSettings, HttpTarget, Target
from mcp_tui.client.session_store import shown
from mcp_tui.clock import utc_stamp, wall
from mcp_tui.journal.store import Store
from mcp_tui.probe import tool_choice
from mcp_tui.probe.arrivals import EXCERPT_CHARACTERS, Arrival
from mcp_tui.probe.experiments import EXPERIMENTS, Experiment
from mcp_tui.probe.improper import after_completion
from mcp_tui.probe.judging import BEATS, PROGRESS, ControlRun, longest
from mcp_tui.probe.raw_connection import (
    HEARTBEAT_SECONDS,
    ProbeConnection,
    ServerUnderTest,
    Trace,
    Unprepared,
    violations,
    watch,
)
from mcp_tui.probe.report import (
    BAD,
    TIME_OVER,
    CalledTool,
    EvidenceItem,
    Finding,
    PassedOver,
    Report,
    Verdict,
)
from mcp_tui.probe.rules import CANCELLED_AS_USUAL, RULES, SURVIVES
from mcp_tui.probe.trial import BUSY, TOO_QUICK, Trial, foreign_token
from mcp_tui.protocol.events import Pollution
from mcp_tui.transport.base import TransportError, spawn
from mcp_tui.transport.suspension import LATE_SECONDS

if TYPE_CHECKING:
    from mcp_tui.client.auth.authorization import Authorization

LANES: Final = 3
"""The number of experiments that run at the same time over stdio."""

RUN_DURATIONS: Final = 10
RUN_GRACE_SECONDS: Final = 30.0
"""A run takes at most ten times the tool's duration and 30 s."""

CLOSING_SECONDS: Final = 5.0
"""The seconds of a run that are reserved for closing connections."""

CANDIDATES: Final = 3
"""The most tools that are tried, each once, until one reports progress."""

FOUND_TOOL_SECONDS: Final = 8.0
"""The most seconds that a tool may take if the probe chose it."""

LAG_LOOK_SECONDS: Final = 0.05
"""The seconds between two checks of the clock."""

SUSPENSION_SECONDS: Final = 0.5
"""The seconds of suspension from which an experiment is repeated regardless of its findings."""

PASSED_OVER: Final = 3
"""The most tools that a report explains if none was used."""

WAY_OUT: Final = "name a tool that works for a second or more: mcp-tui probe --tool NAME ARG=VALUE"


OnProgress = Callable[[str | Finding], None]
"""A callback for each step of the probe, as text, and for each finding."""


@dataclass(eq=False)
class Probe:
    """One run against one server.

    Attributes:
        target: the server.
        settings: the settings of the client.
        store: makes the store of a connection; takes the name of its experiment.
        on_progress: receives steps and findings.
        wish: the tool that the user named.
        before: tools to call first on each connection.
        heartbeat: a file that the tool writes to while it works.
        patience: the most seconds that a named tool may take uncancelled.
        limit: the most seconds of the run; 0 means ten times the tool's duration plus 30 s.
        experiments: the experiments to run.
        reuse: whether experiments reuse unharmed connections even if the server starts quickly.
        tokens: the sign-in to the server.
    """

    target: Target
    settings: ClientSettings
    _: KW_ONLY
    store: Callable[[str], Store]
    on_progress: OnProgress
    wish: tool_choice.NamedTool = field(default_factory=tool_choice.NamedTool)
    before: Sequence[tool_choice.NamedTool] = ()
    heartbeat: Path | None = None
    patience: float = 60.0
    limit: float = 0.0
    experiments: Sequence[Experiment] = EXPERIMENTS
    reuse: bool = False
    tokens: Authorization | None = None

    def __post_init__(self) -> None:
        # Without the task capability, no call becomes a task, which would disturb all experiments but that with a task.
        self.settings = replace(self.settings, offers=replace(self.settings.offers, tasks=False))
        self.server: ServerUnderTest
        self.report: Report
        self._beats: list[float] = []
        self._lags: list[tuple[float, float]] = []
        """The times at which this process was suspended or too slow, and for how many seconds."""
        self._began = time.monotonic()
        self._made: list[ProbeConnection] = []
        self._open: set[ProbeConnection] = set()
        self._spare: list[ProbeConnection] = []
        """Connections to reuse. Each was unharmed by its last experiment."""
        self._closings: list[asyncio.Task[None]] = []

    # -- the run ---------------------------------------------------------------------------------------------------

    async def run(self) -> Report:
        """Runs every experiment that applies.

        Raises:
            TransportError: the server cannot be reached.
            Unsuitable: a named tool cannot be called; :class:`ListUnreadable` if the tools are unknown.
            Unprepared: a tool to call first failed.
        """
        self._began = time.monotonic()
        watching = [spawn(self._watch_lags(), name="watch the time")]
        if self.heartbeat is not None:
            watching.append(spawn(watch(self.heartbeat, self._beats), name="watch the heartbeat"))
        try:
            await self._prepare()
            await self._experiments()
            self.on_progress("ending the servers")
        except BaseException:
            for connection in self._open:
                connection.cancel_all("interrupted")
            raise
        finally:
            for each in watching:
                each.cancel()
            await self._close_all()
        self._explain()
        self._count_answers()
        self._judge_stdout()
        self.report.violations = violations(self._made)
        self.report.notes += self.report.violations
        self.report.calls = tuple(
            CalledTool(tool, json.loads(arguments), times)
            for (tool, arguments), times in self.server.calls.items()
        )
        self.report.seconds = time.monotonic() - self._began
        return self.report

    async def _watch_lags(self) -> None:
        """Stores the times at which this process was suspended or starved of CPU, because the server may have been too."""
        while True:
            due = time.monotonic() + LAG_LOOK_SECONDS
            await asyncio.sleep(LAG_LOOK_SECONDS)
            if (late := time.monotonic() - due) >= LATE_SECONDS:
                self._lags.append((due, late))

    def _found(self, *findings: Finding) -> None:
        for finding in findings:
            self.report.findings[finding.rule] = finding
            self.on_progress(finding)

    # -- connections -----------------------------------------------------------------------------------------------

    def _connection(self, name: str) -> ProbeConnection:
        connection = ProbeConnection(self.server, self.store(name))
        self._made.append(connection)
        self._open.add(connection)
        return connection

    async def _release(self, connection: ProbeConnection, *, harmed: bool) -> None:
        """Closes a connection, or keeps an unharmed one for the next experiment if the server starts slowly.

        Over stdio the connection is closed in the background, because a server may take long to exit. Over HTTP it stays
        open until the end of the run.
        """
        server = self.server
        if server.transport == "http":
            return
        if (server.slow_to_start or self.reuse) and not harmed and not connection.lost:
            connection.refusals.clear()
            self._spare.append(connection)
            return
        self._open.discard(connection)
        self._closings.append(spawn(connection.close(), name="end a server"))

    async def _close_all(self) -> None:
        for connection in self._open:
            if self.server.transport == "http":
                connection.transport.continues_session = False  # pyright: ignore[reportAttributeAccessIssue] - HTTP's alone
        closings = (connection.close() for connection in self._open)
        await asyncio.gather(*closings, *self._closings, return_exceptions=True)

    # -- the tool --------------------------------------------------------------------------------------------------

    async def _negotiate(self) -> None:
        """Connects once like any client, to learn the revision, the transport, and the tools."""
        self.on_progress("connecting")
        date = utc_stamp(wall())
        client = Client(self.target, self.settings, store=self.store("connect"), tokens=self.tokens)
        tools, lists, unlisted = list[dict[str, Any]](), False, ""
        try:
            info = await client.connect()
            connecting = time.monotonic() - self._began
            if offers(client, "tools"):
                try:
                    tools, lists = await every(client, "tools"), True
                except ListFailed as error:
                    unlisted = str(error)
            transport = client.transport
            # Closing must not delete the session: P-28 sends the DELETE last, because some servers exit after it.
            if transport is not None and info.transport == "http":
                transport.continues_session = True  # pyright: ignore[reportAttributeAccessIssue] - HTTP's alone
        finally:
            await client.close()
            client.store.close()
        noise = [each for each in client.store.log if isinstance(each, Pollution)]
        self.server = ServerUnderTest(
            client=client,
            transport=info.transport,
            revision=info.revision,
            beats=self._beats,
            connect=self._connection,
            tools=tools,
            lists=lists,
            unlisted=unlisted,
            noise=[Arrival(each.at, "noise", each.line[:EXCERPT_CHARACTERS]) for each in noise],
            connecting=connecting,
        )
        self.report = Report(
            info=info,
            probe=__version__,
            date=date,
            command=shown(self.target),
            findings=self.server.findings,
            unlisted=bool(unlisted),
        )

    async def _prepare(self) -> None:
        """Connects, chooses the tool, and runs it once uncancelled, in a separate session."""
        await self._negotiate()
        server = self.server
        if server.unlisted and (named := [each.tool for each in (*self.before, self.wish) if each.tool]):
            raise tool_choice.ListUnreadable(
                f"{server.unlisted}; whether there is a tool {named[0]!r} is not known"
            )
        server.before = tuple(tool_choice.preparing_tool(each, server.tools) for each in self.before)
        wanted = tool_choice.candidates(server.tools, self.wish)
        for choice in (*server.before, *wanted):
            if choice.destructive:
                text = f"{choice.name} is marked as destructive; it was called because you named it"
                self.report.notes.append(text)
                self.on_progress(text)
        connection = await self._choose(wanted)
        server.task = tool_choice.task_choice(server.tools, server.choice, self.wish)
        server.no_tasks = tool_choice.no_tasks(self.report.info, server.task, server.unlisted)
        await self._try_briefly(connection)
        if self._applies("P-09"):
            self._found(*await Trial(connection).make(after_completion))
        if server.slow_to_start:
            await self._run_warm(connection)
            text = f"The server takes {server.connecting:.1f} s to start, so connections were reused"
            self.report.notes.append(text)
        await self._release(connection, harmed=False)

    async def _choose(self, wanted: list[tool_choice.Choice]) -> ProbeConnection:
        """Tries candidates once each, and chooses the first that reports progress, else the first that is slow enough."""
        server, report, asked = self.server, self.report, bool(self.wish.tool)
        useful: list[tuple[tool_choice.Choice, ControlRun]] = []
        useless: list[PassedOver] = []
        connection = self._connection("control")
        await connection.open()
        server.session = getattr(connection.transport, "session_id", None) is not None
        for choice in wanted[:CANDIDATES]:
            if connection.lost or useful:
                await self._release(connection, harmed=True)
                connection = self._connection("control")
                await connection.open()
            reasons = f" (chosen by {', '.join(choice.why)})" if choice.why else ""
            self.on_progress(f"control run of {choice.name} {choice.shown()}{reasons}")
            limit = min(self.patience if asked else FOUND_TOOL_SECONDS, max(1.0, self._left(0.0)))
            began = time.monotonic()
            control, response = await _control_run(connection, choice, limit)
            if response is not None and not response.fails and any(at >= began for at, _ in self._lags):
                self.on_progress(f"control run of {choice.name}, again: mcp-tui was suspended")
                control, response = await _control_run(connection, choice, limit)
            why = _useless_because(control, response, asked=asked)
            if why:
                failed = response is not None and (response.is_error or response.kind == "error")
                command = self._command(choice.name, choice.pairs(), prepared=failed)
                useless.append(PassedOver(choice.name, why, command))
                continue
            if response is not None and response.is_error:
                report.notes.append(f"{choice.name} {_failed(response)}")
            useful.append((choice, control))
            # Without progress of the tool, P-02 cannot be judged, so a tool with progress is preferred.
            if asked or len(control.times(PROGRESS)) > 1:
                break
        if not useful:
            report.no_tool = self._no_tool_reason(useless)
            server.useless = f"{useless[0].tool} {useless[0].why}" if asked and useless else ""
            report.passed_over = self._passed_over(useless)
            self.on_progress(report.no_tool)
            return connection
        choice, control = max(useful, key=lambda each: len(each[1].times(PROGRESS)) > 1)
        server.choice, server.control = choice, control
        report.tool, report.arguments, report.duration = choice.name, choice.arguments, control.duration
        if control.duration is None:
            report.notes.append(f"{choice.name} did not end on its own within {control.watched:.1f} s")
        if control.lost:
            report.notes.append(f"{choice.name} ends the connection without any cancel: {control.lost}")
        if control.blocks:
            report.notes.append(f"While {choice.name} works, the server answers nothing else")
        others = [each.name for each in wanted if each.name != choice.name]
        if others:
            names = ", ".join(others[:5])
            report.notes.append(f"Other candidates: {names} (mcp-tui probe --tool NAME chooses)")
        return connection

    def _passed_over(self, useless: list[PassedOver]) -> tuple[PassedOver, ...]:
        """Returns the best candidates: the tried ones first, then others."""
        tried = {each.tool for each in useless}
        others = (
            PassedOver(each.name, each.why_not or "it was not tried", self._command(each.name, each.usage))
            for each in tool_choice.rated(self.server.tools)
            if each.name not in tried
        )
        return (*useless, *others)[:PASSED_OVER]

    def _command(self, tool: str, usage: Sequence[tuple[str, str]], *, prepared: bool = False) -> str:
        """Returns the command that probes with a tool. ``prepared`` adds a placeholder for a tool to call first."""
        words = ["mcp-tui probe"]
        if prepared:
            words.append("--before TOOL NAME=VALUE…")
        pairs = (f"{name}={value}" for name, value in usage)
        words.append(shlex.join(("--tool", tool, *pairs)))
        over_http = isinstance(self.target, HttpTarget)
        words.append(shlex.quote(self.report.command) if over_http else f"-- {self.report.command}")
        return " ".join(words)

    def _no_tool_reason(self, useless: list[PassedOver]) -> str:
        if useless:
            return f"{'; '.join(f'{each.tool} {each.why}' for each in useless)}: {WAY_OUT}"
        if self.server.unlisted:
            return self.server.unlisted
        if not self.server.tools:
            return "the server offers no tools, so no call can be cancelled"
        return f"no tool of the server looks both slow and harmless: {WAY_OUT}"

    async def _run_warm(self, connection: ProbeConnection) -> None:
        """Runs the tool uncancelled once more, because the first call on a connection may be slower than the later ones."""
        server = self.server
        if server.choice is not None and server.control.duration is not None and not connection.lost:
            limit = min(self.patience, max(1.0, self._left(0.0)))
            control, response = await _control_run(connection, server.choice, limit)
            if response is not None and not response.fails and control.length >= TOO_QUICK:
                server.control = control

    async def _try_briefly(self, connection: ProbeConnection) -> None:
        """Tries the arguments that make the tool short, and stores them with the answer if the call works."""
        choice, until = self.server.choice, connection.now() + self.server.patience
        if choice is not None and choice.brief is not None and not connection.lost:
            trace = connection.call(choice.name, choice.brief)
            await trace.answered(until)
            answer = trace.answer()
            if answer is not None and not answer.fails and not answer.type:
                self.server.brief, self.server.briefly = choice.brief, answer

    # -- the experiments -------------------------------------------------------------------------------------------

    async def _experiments(self) -> None:
        due: list[Experiment] = []
        for experiment in self.experiments:
            rules = [rule for rule in experiment.rules if self._applies(rule)]
            obstacle = self._obstacle(experiment)
            self._mark_unseen(experiment, obstacle)
            if rules and not obstacle:
                due.append(experiment)
        lanes = LANES if self.server.transport == "stdio" else 1
        budget = RUN_DURATIONS * (self.server.control.length or 1.0) + RUN_GRACE_SECONDS
        # The run must not exceed its time. Rules that it cuts off are reported as not run; the exit status is 6 if a MUST is
        # among them.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, self._left(budget))):
                for alone, group in groupby(due, self._runs_alone):
                    await self._run_side_by_side(list(group), 1 if alone else lanes)
        for experiment in due:
            rules = [rule for rule in experiment.rules if rule not in self.server.findings]
            self.report.not_run += rules
            self._mark_unseen(experiment, TIME_OVER)

    def _runs_alone(self, experiment: Experiment) -> bool:
        """Returns whether an experiment runs alone, for example because the heartbeat file is that of all calls."""
        return experiment.alone or (experiment.beats and self.heartbeat is not None)

    def _left(self, budget: float) -> float:
        """Returns the seconds left of the limit of the run, or else of ``budget``; a budget of 0 is unlimited."""
        budget = self.limit or budget or math.inf
        return self._began + budget - min(CLOSING_SECONDS, budget / 4) - time.monotonic()

    async def _run_side_by_side(self, experiments: list[Experiment], lanes: int) -> None:
        """Runs experiments, ``lanes`` at a time."""
        free = asyncio.Semaphore(lanes)

        async def make(experiment: Experiment) -> str:
            async with free:
                return await self._make(experiment)

        missed = await asyncio.gather(*(make(each) for each in experiments))
        for experiment, reason in zip(experiments, missed, strict=True):
            if reason and lanes > 1:  # perhaps only one process of the server can run at a time
                reason = await self._make(experiment)
            self._mark_unseen(experiment, reason)

    def _applies(self, rule: str) -> bool:
        """Returns whether a rule applies to this server; otherwise adds the finding "not applicable"."""
        if absent := RULES[rule].unless(self.server):
            self._found(Finding(rule, Verdict.NOT_APPLICABLE, absent))
        return not absent

    def _obstacle(self, experiment: Experiment) -> str:
        """Returns the reason why an experiment cannot be run with this tool; empty if it can."""
        if experiment.tool and self.server.choice is None:
            return self.server.needs_tool
        lost = self.server.control.lost
        if experiment.tool and experiment.spares and lost:
            return f"the tool ends the connection without any cancel: {lost}"
        return ""

    def _mark_unseen(self, experiment: Experiment, why: str) -> None:
        for rule in experiment.rules:
            if why and rule not in self.server.findings:
                self._found(Finding(rule, Verdict.NOT_OBSERVABLE, why))

    async def _make(self, experiment: Experiment) -> str:
        """Runs one experiment, and repeats it if this process was too slow; returns the reason if it could not be run."""
        self.on_progress(experiment.name)
        began = time.monotonic()
        why, findings = await self._attempt(experiment)
        late = max((late for at, late in self._lags if at >= began), default=0.0)
        busy = any(found.sentence.startswith(BUSY) for found in findings)
        if busy or late >= SUSPENSION_SECONDS or (late and any(found.verdict in BAD for found in findings)):
            why_again = f"mcp-tui was suspended for {late:.1f} s" if late else BUSY
            self.on_progress(f"{experiment.name}, again: {why_again}")
            again = await self._attempt(experiment)
            # The first attempt may have changed the server so that the second one is impossible.
            why, findings = (why, findings) if again[0] else again
        self.report.took[experiment.name] = time.monotonic() - began
        self._found(*findings)
        return why

    async def _attempt(self, experiment: Experiment) -> tuple[str, list[Finding]]:
        """Runs one experiment once; returns the reason if it could not be run, and the findings."""
        opened = experiment.opened
        used = opened and not experiment.fresh and bool(self._spare)
        connection = self._spare.pop() if used else self._connection(experiment.name)
        harmed = True
        try:
            if used:
                await connection.prepare()
            elif opened:
                await connection.open()
            if doubt := await self._doubt(experiment, connection) or await self._restless(experiment):
                return doubt, []
            findings = await Trial(connection).make(experiment.run)
            harmed = not opened or any(found.verdict is Verdict.FAIL for found in findings)
            if any(found.verdict is Verdict.FAIL and found.clause is SURVIVES for found in findings):
                self.server.doubt = experiment.name
            absent = Verdict.NOT_APPLICABLE
            return "", [each for each in findings if self.server.verdict(each.rule) is not absent]
        except TransportError as error:
            why = str(error) if isinstance(error, Unprepared) else f"no connection: {error}"
            if "P-01" in experiment.rules:
                self.report.lost = why
            return why, []
        finally:
            await self._release(connection, harmed=harmed)

    async def _restless(self, experiment: Experiment) -> str:
        """Waits until the heartbeat is quiet; returns a reason if the work of an earlier call keeps it going."""
        beats, pause = self._beats, 1.5 * longest(self.server.control.times(BEATS))
        if not beats or not experiment.beats:
            return ""
        until = time.monotonic() + 2 * self.server.control.length
        while time.monotonic() < beats[-1] + pause:
            if time.monotonic() > until:
                return "the heartbeat continues, although no call is in flight"
            await asyncio.sleep(HEARTBEAT_SECONDS)
        return ""

    async def _doubt(self, experiment: Experiment, connection: ProbeConnection) -> str:
        """Calls the tool if a call of an earlier experiment failed; returns the reason if this call fails too.

        The effect of one experiment may affect the next: over HTTP, and behind a bridge or a daemon.
        """
        server = self.server
        if not server.doubt:
            return ""
        if not experiment.opened:
            connection = self._connection("a call before any cancel")
            await connection.open()
        # The small ids are reserved for the experiment. A reused connection may have had such a call before.
        first, connection.next_id = connection.next_id, connection.next_opening_id
        found = await Trial(connection).next_call("", "a call before any cancel")
        connection.next_opening_id, connection.next_id = connection.next_id, first
        if found.verdict is Verdict.FAIL:
            return f"{found.sentence}, since the experiment {server.doubt!r}"
        server.doubt = ""
        return ""

    # -- over all experiments --------------------------------------------------------------------------------------

    def _explain(self) -> None:
        """Turns findings into "not observable" if the fault of another rule explains them: one fault breaks one rule."""
        found = self.server.findings
        verdicts = {rule: finding.verdict for rule, finding in found.items()}
        # P-27 also cancels at once, like P-05. One cancel of P-11 is valid, with other calls in flight, like that of P-14.
        for rule, cause, besides in (("P-27", "P-05", "P-01"), ("P-11", "P-14", "")):
            if verdicts.get(rule) in BAD and verdicts.get(cause) in BAD and verdicts.get(besides) not in BAD:
                self._blame(cause, found[rule])
        for rule, causes in CANCELLED_AS_USUAL.items():
            finding = found.get(rule)
            if finding is None or finding.verdict is not Verdict.FAIL or finding.clause is not SURVIVES:
                continue
            cause = next((each for each in causes if each in found and found[each].clause is SURVIVES), "")
            if cause:
                self._blame(cause, finding)

    def _blame(self, rule: str, finding: Finding) -> None:
        text = f"the fault of {rule}: {finding.sentence}"
        self._found(replace(finding, verdict=Verdict.NOT_OBSERVABLE, sentence=text, clause=None))

    def _count_answers(self) -> None:
        """Judges P-22, over all requests."""
        traces = self.server.traces
        twice = [trace for trace in traces if len(trace.responses) > 1]
        if (again := self.server.again) is not None and twice == [again]:
            twice = []  # P-09 already reports this
        elif again is not None:
            text = "this server answers other requests twice, too (P-22)"
            found = self.server.findings["P-09"]
            self._found(replace(found, verdict=Verdict.NOT_OBSERVABLE, sentence=text))
        evidence = [trace.evidence(each) for trace in twice for each in trace.responses[:3]]
        if twice:
            text = f"{len(twice)} of {len(traces)} requests were answered more than once"
            self._found(Finding("P-22", Verdict.FAIL, text, tuple(evidence[:6])))
        else:
            methods = Counter(trace.method for trace in traces)
            counted = (EvidenceItem(f"{count} of {method}") for method, count in methods.items())
            self._found(Finding("P-22", Verdict.PASS, f"none of {len(traces)} requests was", tuple(counted)))

    def _judge_stdout(self) -> None:
        """Judges P-32, over all connections, also by what a server writes while it ends."""
        if not self._applies("P-32"):
            return
        arrivals = chain(self.server.noise, *(each.arrivals for each in self._made))
        if noise := [each for each in arrivals if each.kind == "noise"]:
            evidence = tuple(EvidenceItem("a line on stdout", None, each.frame) for each in noise[:3])
            one = "1 line on stdout was not a message"
            sentence = one if len(noise) == 1 else f"{len(noise)} lines on stdout were not messages"
            self._found(Finding("P-32", Verdict.FAIL, sentence, evidence))
        else:
            read = EvidenceItem(f"stdout was read on {len(self._made)} connections")
            self._found(Finding("P-32", Verdict.PASS, "every line on stdout was a message", (read,)))


# -- the control run: the tool, uncancelled ------------------------------------------------------------

ASIDE_SECONDS: Final = 0.15
"""The seconds after which another request checks whether the server answers while the tool works."""

BLOCKED_SECONDS: Final = 0.5
"""The seconds from which an answer counts as delayed by the tool."""


async def _control_run(
    connection: ProbeConnection, choice: tool_choice.Choice, limit: float
) -> tuple[ControlRun, Arrival | None]:
    """Runs a tool to its end, or for ``limit`` seconds; returns the run and its answer."""
    trace = connection.call(choice.name, choice.arguments)
    await trace.leaves()
    sent = trace.sent_at
    await connection.until(trace.over, sent + ASIDE_SECONDS)
    aside = connection.echo() if not trace.over() else None
    response = await trace.answered(sent + limit)
    ended_at = connection.now() if response is None else response.at
    if response is None and not connection.lost:
        connection.cancel(trace)
    await asyncio.sleep(0.05)  # an answer that waited for the end of the tool may arrive now
    lost = connection.lost or ("" if response is not None else trace.trouble())
    control = ControlRun(
        duration=None if response is None and not lost else ended_at - sent,
        answer=trace.answer(),
        echoes=aside is None or bool(aside.responses),
        watched=connection.now() - sent,
        signs=trace.signs(ended_at),
        blocks=_blocks(aside, response),
        lost=lost,
        foreign=foreign_token(trace.foreign_progress()),
        unread=trace.unread(),
    )
    return control, response


def _failed(response: Arrival) -> str:
    quoted = f': "{response.error_text}"' if response.error_text else ""
    return f"answered that it failed{quoted}" if response.is_error else f"was answered with {response.quoted}"


def _blocks(aside: Trace | None, response: Arrival | None) -> bool:
    if aside is None or response is None:
        return False
    if not aside.responses:
        return True
    waited = response.at - aside.sent_at > BLOCKED_SECONDS
    return waited and aside.responses[0].at >= response.at - 0.05


def _useless_because(control: ControlRun, response: Arrival | None, *, asked: bool) -> str:
    """Returns why a tool is useless for the probe; empty if it is usable. ``asked`` says whether the user named it."""
    if control.lost:
        return "" if asked else f"ended the connection ({control.lost})"
    if response is None:
        return "" if asked else f"did not end within {control.watched:.0f} s"
    if response.type:
        return f"was answered with {response.type.replace('_', ' ')[:40]}, which is not a result yet"
    if response.kind == "error":
        return _failed(response)
    if response.is_error and (not asked or control.length < TOO_QUICK):
        return _failed(response)
    if control.length < TOO_QUICK:
        return f"took {control.length:.2f} s, too short to be cancelled mid-work"
    return ""
