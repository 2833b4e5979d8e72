"""A whole run of the probe: find a slow tool, run it once uncancelled, make the experiments, judge.

Experiments that read the heartbeat run alone; the others run side by side over stdio, where each has a process of its own,
and one after the other over HTTP, where a server that one of them breaks would break the next one's verdict.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcp_tui.client.catalogue import ListFailed, every, offers
from mcp_tui.client.settings import ClientSettings, HttpTarget, Target
from mcp_tui.journal.store import Store
from mcp_tui.probe import improper_cancels
from mcp_tui.probe.connection import Arrival, ProbeConnection, Trace
from mcp_tui.probe.judging import Control
from mcp_tui.probe.plan import EXPERIMENTS, Experiment, over_new_http
from mcp_tui.probe.report import Calls, Evidence, Finding, Report, Verdict
from mcp_tui.probe.setup import REASON, Heartbeat, Setup
from mcp_tui.probe.tools import Choice, NamedTool, candidates, named_tool, task_choice
from mcp_tui.transport.base import TransportError, spawn

LANES: Final = 3
"""Experiments at a time over stdio."""

TIMES: Final = 10
GRACE: Final = 30.0
"""A run takes at most ten times the tool's duration and 30 s."""

FAREWELL: Final = 5.0
"""Seconds of that kept for the ending of servers."""

SLOW_START: Final = 1.0
"""Seconds of connecting from which on a line that an experiment left unharmed is used for the next one."""

CANDIDATES: Final = 3
"""Tools that are tried until one is slow enough."""

FOUND_LIMIT: Final = 8.0
"""Seconds that a tool which nobody asked for may take."""

WAY_OUT: Final = "name a tool that works for a second or more with --tool NAME ARG=VALUE"


@dataclass(frozen=True, slots=True)
class Doing:
    """What the probe does now, in words."""

    text: str


Tell = Callable[[Doing | Finding], None]


class Probe:
    """One run against one server.

    ``store`` makes the store of each connection, by the name of its experiment; ``tell`` is told what happens.
    ``patience`` is how long a tool that was asked for may take uncancelled, in seconds.
    """

    def __init__(
        self,
        target: Target,
        settings: ClientSettings,
        *,
        wish: NamedTool | None = None,
        heartbeat: Path | None = None,
        store: Callable[[str], Store],
        tell: Tell,
        patience: float = 60.0,
    ) -> None:
        self.target = target
        self.settings = settings
        self.wish = wish or NamedTool()
        self.patience = patience
        self.setup = Setup(Heartbeat(heartbeat))
        self._store = store
        self._tell = tell
        self._began = time.monotonic()
        self._findings: dict[str, Finding] = {}
        self._notes: list[str] = []
        self._no_tool = self._lost = ""
        self._open: set[ProbeConnection] = set()
        self._spare: list[ProbeConnection] = []
        """Lines to be used again; each of them answered after the last experiment on it."""
        self._closings: list[asyncio.Task[None]] = []

    # -- the run ---------------------------------------------------------------------------------------------

    async def run(self) -> Report:
        """Make every experiment that applies.

        Raises:
            TransportError: no session came about at all.
            Unsuitable: the tool that was asked for cannot be called.
        """
        self._began = time.monotonic()
        watching = spawn(self.setup.heartbeat.watch(), name="watch the heartbeat")
        try:
            await self._prepare()
            await self._experiments()
        except BaseException:
            await self._farewell(interrupted=True)
            raise
        finally:
            watching.cancel()
        self._tell(Doing("ending the servers"))
        await self._farewell()
        self._count_answers()
        return self._report()

    def _report(self) -> Report:
        setup = self.setup
        info, choice, control = setup.info, setup.choice, setup.control
        assert info is not None
        calls = [
            Calls(tool, dict(_parsed(arguments)), times) for (tool, arguments), times in setup.calls.items()
        ]
        return Report(
            server=f"{info.name} {info.version}".strip(),
            transport=setup.transport,
            revision=info.revision,
            tool=choice.name if choice is not None else "",
            arguments=choice.arguments if choice is not None else {},
            duration=control.duration if control is not None else None,
            seconds=time.monotonic() - self._began,
            calls=tuple(calls),
            findings=dict(self._findings),
            notes=tuple(self._notes),
            no_tool=self._no_tool,
            lost=self._lost,
        )

    def _found(self, finding: Finding) -> None:
        self._findings[finding.rule] = finding
        self._tell(finding)

    # -- lines -----------------------------------------------------------------------------------------------

    def _connection(self, name: str) -> ProbeConnection:
        setup = self.setup
        settings = self.settings
        if setup.info is not None:
            # a cancelled call is listened to for as long as the experiment lasts, its stream with it
            settings = replace(settings, protocol=setup.revision.name, grace=self._budget())
        # a tool must not turn into a task of its own accord: that is an experiment of its own
        settings = replace(settings, offers=replace(settings.offers, tasks=False))
        target = self.target
        if isinstance(target, HttpTarget) and setup.transport == "sse":
            target = replace(target, transport="sse")
        connection = ProbeConnection(target, settings, self._store(name))
        connection.client.mirrors.update(setup.mirrors)
        self._open.add(connection)
        return connection

    async def _close(self, connection: ProbeConnection) -> None:
        """Close a line: over stdio in the background, since a server may take its time to exit."""
        self._open.discard(connection)
        if connection.transport == "stdio":
            self._closings.append(spawn(connection.close(), name="end a server"))
        else:
            await connection.close()

    async def _let_go(self, connection: ProbeConnection, *, harmed: bool) -> None:
        """Close a line, or keep it for the next experiment where the server is slow to start and is still well."""
        slow = self.setup.connecting > SLOW_START and connection.transport == "stdio"
        if slow and not harmed and connection.ended is None and connection.client.connected:
            connection.refusals.clear()
            self._spare.append(connection)
        else:
            await self._close(connection)

    async def _farewell(self, *, interrupted: bool = False) -> None:
        lines, self._open = self._open, set()
        self._spare.clear()
        await asyncio.gather(
            *(connection.close(interrupted=interrupted) for connection in lines),
            *self._closings,
            return_exceptions=True,
        )

    def _budget(self) -> float:
        control = self.setup.control
        return TIMES * (1.0 if control is None else control.length) + GRACE

    # -- the tool --------------------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        """Connect, choose the tool, and run it once uncancelled."""
        setup = self.setup
        self._tell(Doing("connecting"))
        connection = self._connection("control")
        await connection.open()
        setup.connecting = time.monotonic() - self._began
        setup.info, setup.transport = connection.client.info, connection.transport
        if offers(connection.client, "tools"):
            try:
                setup.tools = await every(connection.client, "tools")
            except ListFailed as error:
                self._notes.append(f"the tools could not be listed: {error}")
        setup.mirrors = dict(connection.client.mirrors)
        wanted = (
            [named_tool(self.wish, setup.tools)] if self.wish.tool else candidates(setup.tools)[:CANDIDATES]
        )
        if self.wish.tool and wanted[0].destructive:
            self._notes.append(
                f"{self.wish.tool} is marked as destructive and was called because it was named"
            )
            self._tell(Doing(self._notes[-1]))
        tried: list[str] = []
        for choice in wanted:
            if connection.ended is not None:
                await self._close(connection)
                connection = self._connection("control")
                await connection.open()
            why = await self._try(connection, choice)
            if not why:
                break
            tried.append(f"{choice.name} {why}")
        setup.task = task_choice(setup.tools, setup.choice, self.wish)
        if setup.control is None:
            self._no_tool = self._without(tried)
            self._tell(Doing(self._no_tool))
        await self._after(connection)
        if setup.connecting > SLOW_START and connection.transport == "stdio":
            self._notes.append(
                f"the server takes {setup.connecting:.1f} s to start, so connections were used again"
            )
        await self._let_go(connection, harmed=False)

    async def _try(self, connection: ProbeConnection, choice: Choice) -> str:
        """Run a tool uncancelled; why it is no use, or nothing."""
        setup, asked = self.setup, bool(self.wish.tool)
        reasons = f" (chosen by {', '.join(choice.why)})" if choice.why else ""
        self._tell(Doing(f"control run of {choice.name} {choice.shown()}{reasons}"))
        control, why = await _control_run(
            connection, setup, choice, self.patience if asked else FOUND_LIMIT, asked=asked
        )
        if why:
            return why
        setup.choice, setup.control = choice, control
        if control.duration is None:
            self._notes.append(f"{choice.name} did not end by itself within {control.watched:.1f} s")
        if control.lost:
            self._notes.append(f"{choice.name} ends the connection without any cancel: {control.lost}")
        if control.blocks:
            self._notes.append(f"while {choice.name} works the server answers nothing else")
        return ""

    def _without(self, tried: list[str]) -> str:
        if tried:
            return f"{'; '.join(tried)}: {WAY_OUT}"
        if not self.setup.tools:
            return "the server offers no tools, so there is no call to cancel"
        return f"no tool of the server looks both slow and harmless: {WAY_OUT}"

    async def _after(self, connection: ProbeConnection) -> None:
        """P-09, on the line of the control run; and whether the tool can be called briefly."""
        setup = self.setup
        if setup.modern_http:
            why = "over HTTP in 2026-07-28 the stream that would be closed has ended"
            self._found(Finding("P-09", Verdict.NOT_APPLICABLE, why))
        elif connection.ended is not None:
            self._found(Finding("P-09", Verdict.NOT_OBSERVABLE, connection.ended.detail))
        elif setup.control is not None and setup.control.lost:
            why = f"the tool ends the connection without any cancel: {setup.control.lost}"
            self._found(Finding("P-09", Verdict.NOT_OBSERVABLE, why))
        else:
            done = next(
                (each for each in setup.traces if each.connection is connection and each.responses), None
            )
            if done is None:
                done = connection.ask()
                await done.answered(connection.now() + setup.patience)
            self._found(await improper_cancels.after_completion(connection, setup, done))
        choice = setup.choice
        if choice is not None and choice.brief is not None and connection.ended is None:
            trace = setup.calling(connection, choice.name, choice.brief)
            heard = await trace.answered(connection.now() + setup.patience)
            if heard is not None and heard.kind == "result" and not heard.is_error:
                setup.brief = choice.brief

    # -- the experiments -------------------------------------------------------------------------------------

    async def _experiments(self) -> None:
        due: list[Experiment] = []
        for experiment in EXPERIMENTS:
            why, idle = experiment.unless(self.setup), self._idle(experiment)
            for rule in experiment.rules:
                other = over_new_http(self.setup) if rule == "P-18" else ""
                if why or other:
                    self._found(Finding(rule, Verdict.NOT_APPLICABLE, why or other))
                elif idle:
                    self._found(Finding(rule, Verdict.NOT_OBSERVABLE, idle))
            if not why and not idle:
                due.append(experiment)
        lanes = LANES if self.setup.transport == "stdio" else 1
        left = self._began + self._budget() - FAREWELL - time.monotonic()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, left)):
                for experiment in due:
                    if experiment.alone:
                        await self._make(experiment)
                floor = asyncio.Semaphore(lanes)
                side = [experiment for experiment in due if not experiment.alone]
                missed = await asyncio.gather(*(self._take_turn(each, floor) for each in side))
                for experiment, reason in zip(side, missed, strict=True):
                    if reason and lanes > 1:  # it may be a server of which only one can run at a time
                        missed_again = await self._make(experiment)
                        self._miss(experiment, missed_again)
                    else:
                        self._miss(experiment, reason)
        for experiment in due:
            self._miss(experiment, "not run: the time for a run was over")

    def _idle(self, experiment: Experiment) -> str:
        """Why an experiment cannot be made with this tool, or nothing."""
        if experiment.tool and self.setup.choice is None:
            return "it takes a slow tool, and none was found"
        control = self.setup.control
        if experiment.spares and control is not None and control.lost:
            return f"the tool ends the connection without any cancel: {control.lost}"
        return ""

    def _miss(self, experiment: Experiment, why: str) -> None:
        for rule in experiment.rules:
            if why and rule not in self._findings:
                self._found(Finding(rule, Verdict.NOT_OBSERVABLE, why))

    async def _take_turn(self, experiment: Experiment, floor: asyncio.Semaphore) -> str:
        async with floor:
            return await self._make(experiment, again=True)

    async def _make(self, experiment: Experiment, *, again: bool = False) -> str:
        """Make one experiment; why it could not be made, or nothing. ``again``: it may be tried once more."""
        self._tell(Doing(experiment.name))
        used = experiment.opened and bool(self._spare)
        connection = self._spare.pop() if used else self._connection(experiment.name)
        harmed = True
        try:
            if experiment.opened and not used:
                await connection.open()
            elif not used and self.setup.transport != "stdio":
                await self._reach()
            findings = await experiment.run(connection, self.setup)
            harmed = not experiment.opened or any(found.verdict is Verdict.FAIL for found in findings)
            for finding in findings:
                self._found(finding)
        except TransportError as error:
            why = f"no connection: {error}"
            if not again:
                self._miss(experiment, why)
            if "P-01" in experiment.rules:
                self._lost = why
            return why
        finally:
            await self._let_go(connection, harmed=harmed)
        return ""

    async def _reach(self) -> None:
        """See that the server is still there: over HTTP nobody starts it again, and its silence would be no answer."""
        connection = self._connection("is the server still there")
        try:
            await connection.open()
        finally:
            await self._let_go(connection, harmed=True)

    def _count_answers(self) -> None:
        """P-22, over all requests of all experiments."""
        told: list[Evidence] = []
        for trace in self.setup.traces:
            answers = trace.responses
            if len(answers) > 1:
                first, *more = answers
                told.append(trace.evidence(first))
                told += [trace.evidence(each) for each in more[:2]]
        count = len(self.setup.traces)
        if told:
            twice = sum(len(trace.responses) > 1 for trace in self.setup.traces)
            text = f"{twice} of {count} requests were answered more than once"
            self._found(Finding("P-22", Verdict.FAIL, text, tuple(told[:6])))
        else:
            self._found(Finding("P-22", Verdict.PASS, f"none of {count} requests was"))


def _parsed(arguments: str) -> dict[str, object]:
    import json

    return json.loads(arguments)


# -- the control run: the tool at work, uncancelled ------------------------------------------------------------

TOO_QUICK: Final = 0.3
"""Seconds below which a call cannot be cancelled in the middle of its work."""

ASIDE: Final = 0.15
"""Seconds after which the server is asked for something else, to see whether it answers while the tool works."""

BLOCKED: Final = 0.5
"""Seconds that an answer must have waited for the tool to be taken as waiting for it."""


async def _control_run(
    connection: ProbeConnection, setup: Setup, choice: Choice, limit: float, *, asked: bool
) -> tuple[Control, str]:
    """Run a tool to its end, or for ``limit`` seconds; and why it is no use for a probe, or nothing.

    ``asked``: a person named it, so it may be odd.
    """
    trace = setup.calling(connection, choice.name, choice.arguments)
    await trace.written()
    sent = trace.sent_at
    await connection.until(trace.over, sent + ASIDE)
    aside = connection.ask() if not trace.over() else None
    heard = await trace.answered(sent + limit)
    ended_at = connection.now() if heard is None else heard.at
    if heard is None and connection.ended is None and trace.row.open:
        connection.client.cancel(trace.id, reason=REASON)
    await asyncio.sleep(0.05)  # an answer that waited for the tool comes now
    lost = "" if connection.ended is None else connection.ended.detail
    if not lost and heard is None and trace.row.cause is None:
        lost = trace.trouble()
    control = Control(
        duration=None if heard is None and not lost else ended_at - sent,
        watched=connection.now() - sent,
        progress=tuple(each.at - sent for each in trace.progress()),
        logs=tuple(each.at - sent for each in connection.heard if each.kind == "log" and each.at > sent),
        beats=tuple(beat - sent for beat in setup.heartbeat.beats if sent < beat <= ended_at),
        blocks=_blocks(aside, heard),
        lost=lost,
    )
    return control, _unfit(control, heard, asked=asked)


def _blocks(aside: Trace | None, heard: Arrival | None) -> bool:
    if aside is None or heard is None:
        return False
    answers = aside.responses
    return not answers or (answers[0].at >= heard.at - 0.05 and heard.at - aside.sent_at > BLOCKED)


def _unfit(control: Control, heard: Arrival | None, *, asked: bool) -> str:
    if control.lost:
        return "" if asked else f"ended the connection ({control.lost})"
    if heard is None:
        return "" if asked else f"did not end within {control.watched:.0f} s"
    if heard.type:
        return f"was answered with {heard.type.replace('_', ' ')[:40]}, which is no result yet"
    if heard.kind == "error":
        return f"was answered with error {heard.code}"
    if heard.is_error and (not asked or control.length < TOO_QUICK):
        return "answered that it failed"
    if control.length < TOO_QUICK:
        return f"took {control.length:.2f} s, too little to be cancelled in the middle of it"
    return ""
