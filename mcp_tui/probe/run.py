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
from mcp_tui.client.errors import TransportError
from mcp_tui.client.settings import ClientSettings, HttpTarget, Target
from mcp_tui.journal.store import Store
from mcp_tui.probe import oddities
from mcp_tui.probe.control import controlled
from mcp_tui.probe.line import Line
from mcp_tui.probe.plan import EXPERIMENTS, Experiment, over_new_http
from mcp_tui.probe.report import Calls, Evidence, Finding, Report, Verdict
from mcp_tui.probe.setup import Heartbeat, Setup
from mcp_tui.probe.tools import Choice, Wish, candidates, task_choice, wished
from mcp_tui.transport.base import spawn

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
        wish: Wish | None = None,
        heartbeat: Path | None = None,
        store: Callable[[str], Store],
        tell: Tell,
        patience: float = 60.0,
    ) -> None:
        self.target = target
        self.settings = settings
        self.wish = wish or Wish()
        self.patience = patience
        self.setup = Setup(Heartbeat(heartbeat))
        self._store = store
        self._tell = tell
        self._began = time.monotonic()
        self._findings: dict[str, Finding] = {}
        self._notes: list[str] = []
        self._no_tool = self._lost = ""
        self._open: set[Line] = set()
        self._spare: list[Line] = []
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

    def _line(self, name: str) -> Line:
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
        line = Line(target, settings, self._store(name))
        line.client.mirrors.update(setup.mirrors)
        self._open.add(line)
        return line

    async def _close(self, line: Line) -> None:
        """Close a line: over stdio in the background, since a server may take its time to exit."""
        self._open.discard(line)
        if line.transport == "stdio":
            self._closings.append(spawn(line.close(), name="end a server"))
        else:
            await line.close()

    async def _let_go(self, line: Line, *, harmed: bool) -> None:
        """Close a line, or keep it for the next experiment where the server is slow to start and is still well."""
        slow = self.setup.connecting > SLOW_START and line.transport == "stdio"
        if slow and not harmed and line.ended is None and line.client.connected:
            line.refusals.clear()
            self._spare.append(line)
        else:
            await self._close(line)

    async def _farewell(self, *, interrupted: bool = False) -> None:
        lines, self._open = self._open, set()
        self._spare.clear()
        await asyncio.gather(
            *(line.close(interrupted=interrupted) for line in lines), *self._closings, return_exceptions=True
        )

    def _budget(self) -> float:
        control = self.setup.control
        return TIMES * (1.0 if control is None else control.length) + GRACE

    # -- the tool --------------------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        """Connect, choose the tool, and run it once uncancelled."""
        setup = self.setup
        self._tell(Doing("connecting"))
        line = self._line("control")
        await line.open()
        setup.connecting = time.monotonic() - self._began
        setup.info, setup.transport = line.client.info, line.transport
        if offers(line.client, "tools"):
            try:
                setup.tools = await every(line.client, "tools")
            except ListFailed as error:
                self._notes.append(f"the tools could not be listed: {error}")
        setup.mirrors = dict(line.client.mirrors)
        wanted = [wished(self.wish, setup.tools)] if self.wish.tool else candidates(setup.tools)[:CANDIDATES]
        if self.wish.tool and wanted[0].destructive:
            self._notes.append(
                f"{self.wish.tool} is marked as destructive and was called because it was named"
            )
            self._tell(Doing(self._notes[-1]))
        tried: list[str] = []
        for choice in wanted:
            if line.ended is not None:
                await self._close(line)
                line = self._line("control")
                await line.open()
            why = await self._try(line, choice)
            if not why:
                break
            tried.append(f"{choice.name} {why}")
        setup.task = task_choice(setup.tools, setup.choice, self.wish)
        if setup.control is None:
            self._no_tool = self._without(tried)
            self._tell(Doing(self._no_tool))
        await self._after(line)
        if setup.connecting > SLOW_START and line.transport == "stdio":
            self._notes.append(
                f"the server takes {setup.connecting:.1f} s to start, so connections were used again"
            )
        await self._let_go(line, harmed=False)

    async def _try(self, line: Line, choice: Choice) -> str:
        """Run a tool uncancelled; why it is no use, or nothing."""
        setup, asked = self.setup, bool(self.wish.tool)
        reasons = f" (chosen by {', '.join(choice.why)})" if choice.why else ""
        self._tell(Doing(f"control run of {choice.name} {choice.shown()}{reasons}"))
        control, why = await controlled(
            line, setup, choice, self.patience if asked else FOUND_LIMIT, asked=asked
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

    async def _after(self, line: Line) -> None:
        """P-09, on the line of the control run; and whether the tool can be called briefly."""
        setup = self.setup
        if setup.modern_http:
            why = "over HTTP in 2026-07-28 the stream that would be closed has ended"
            self._found(Finding("P-09", Verdict.NOT_APPLICABLE, why))
        elif line.ended is not None:
            self._found(Finding("P-09", Verdict.NOT_OBSERVABLE, line.ended.detail))
        elif setup.control is not None and setup.control.lost:
            why = f"the tool ends the connection without any cancel: {setup.control.lost}"
            self._found(Finding("P-09", Verdict.NOT_OBSERVABLE, why))
        else:
            done = next((each for each in setup.traces if each.line is line and each.responses), None)
            if done is None:
                done = line.ask()
                await done.answered(line.now() + setup.patience)
            self._found(await oddities.after_completion(line, setup, done))
        choice = setup.choice
        if choice is not None and choice.brief is not None and line.ended is None:
            trace = setup.calling(line, choice.name, choice.brief)
            heard = await trace.answered(line.now() + setup.patience)
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
        line = self._spare.pop() if used else self._line(experiment.name)
        harmed = True
        try:
            if experiment.opened and not used:
                await line.open()
            elif not used and self.setup.transport != "stdio":
                await self._reach()
            findings = await experiment.run(line, self.setup)
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
            await self._let_go(line, harmed=harmed)
        return ""

    async def _reach(self) -> None:
        """See that the server is still there: over HTTP nobody starts it again, and its silence would be no answer."""
        line = self._line("is the server still there")
        try:
            await line.open()
        finally:
            await self._let_go(line, harmed=True)

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
