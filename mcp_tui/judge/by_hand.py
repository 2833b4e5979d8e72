"""The judge's run with a program that a person uses: it says what to do step by step, and what it observed.

The experiments are those of a command. A person starts and ends the program, and their answer is what says that it gave a
call up. One server serves all steps, so that the program can stay connected. What was seen is kept after each step: an
interrupted run goes on where it was.
"""

from __future__ import annotations

import asyncio
import copy
import fcntl
import json
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from mcp_tui.clock import utc_stamp, wall
from mcp_tui.demo.calls import Call
from mcp_tui.demo.http_server import HttpServer
from mcp_tui.journal.journal_files import make_private
from mcp_tui.journal.state_folder import replace_file
from mcp_tui.judge import timelines, verdicts
from mcp_tui.judge.client_experiments import CLIENT_EXPERIMENTS, MANY, ClientExperiment
from mcp_tui.judge.client_rules import CLIENT_RULES
from mcp_tui.judge.client_run import ClientReport, Judge, Unstartable
from mcp_tui.judge.client_trial import (
    CLIENT_PATIENCE_SECONDS,
    LEFT_SECONDS,
    NEXT,
    START_SECONDS,
    ClientTrial,
    WithheldCall,
)
from mcp_tui.judge.harm import NEXT_FAILED
from mcp_tui.judge.observed_run import PERSON, SIGNALS, ObservedRun, OutputLine
from mcp_tui.judge.sent_again import REPEAT, REPEAT_RULE
from mcp_tui.live.sockets import reachable
from mcp_tui.probe.report import BAD, Finding, Verdict
from mcp_tui.protocol.events import Signal, Violation
from mcp_tui.protocol.messages import shown
from mcp_tui.transport.base import spawn

UNUSUAL: Final = ("task", "sigint")
"""Experiments that few programs with a window can do. They are made only if they are chosen."""

RESTARTING: Final = ("initialize", "exit", *SIGNALS)
"""Experiments after which the client has to be started again. They come last."""

STOPPED: Final = "it was stopped by a person"
GAVE_UP: Final = "it gave up, as a person saw"

_STOP_CALL: Final = "Stop that call in your client now. Then press Enter here."
_WAIT: Final = "Wait until your client gives up on its own. Then press Enter here (n: it does not)."
_THEN: Final = {
    "limit": _WAIT,
    "stop": _STOP_CALL,
    "crossing, cancel first": _STOP_CALL,
    "late-progress": _STOP_CALL,
    "task": _STOP_CALL,
    "progress": _WAIT,
    "question": "Answer the questions that your client shows. If it shows none, press Enter here.",
}
"""What a person has to do after the tool was called."""

_ASKED_ABOUT: Final = {"limit", "stop", "crossing, cancel first", "late-progress"}
"""Experiments after which a person is asked whether the program showed an error."""


class HandTrial(ClientTrial):
    """One server for all steps of a person. ``say`` shows a line; :meth:`said` takes one from them."""

    def __init__(self, folder: Path, *, speaks: str, say: Callable[[str], None]) -> None:
        super().__init__(ObservedRun(experiment=""), folder, speaks=speaks, arguments={})
        self.then = ""
        """What the person is asked to do after the next call."""
        self.skipped = False
        self._say = say
        self._declined = False
        self._open = asyncio.Event()
        """Set while calls belong to the current step."""
        self._expects: Callable[[str], None] | None = None
        self._signal = ""

    # -- the person ----------------------------------------------------------------------------------------------

    def said(self, line: str) -> None:
        """Takes a line from the person; ignores it if no question is open."""
        if line.strip().lower() == "s":
            self.skipped, self._expects = True, None
        elif self._expects is not None:
            expects, self._expects = self._expects, None
            expects(line.strip().lower())
        self.news()

    def do(self, text: str) -> None:
        """Shows what the person has to do."""
        self._say(f"→ {text}")

    async def _ask(self, text: str, until: Callable[[], object] = lambda: False) -> str | None:
        """Returns the person's answer; ``None`` if ``until`` becomes true before."""
        answers: list[str] = []
        self.do(text)
        self._expects = answers.append
        await self.until(lambda: answers or until() or self.is_over)
        self._expects = None
        return answers[0] if answers else None

    def _gives_up(self, answer: str) -> None:
        if answer.startswith("n"):
            self._declined = True
        else:
            text = STOPPED if _THEN.get(self.observed.experiment) == _STOP_CALL else GAVE_UP
            self.observed.gave_up = OutputLine(monotonic(), PERSON, text)

    def _asks_nothing(self, _: str) -> None:
        self._declined = True

    @property
    def is_over(self) -> bool:
        """Whether this step is over."""
        return self.skipped or self._declined or super().is_over

    async def until(self, test: Callable[[], object], seconds: float = CLIENT_PATIENCE_SECONDS) -> bool:
        # There is no time limit for a person.
        endless = seconds in (CLIENT_PATIENCE_SECONDS, START_SECONDS)
        return await super().until(test, float("inf") if endless else seconds)

    # -- one step ------------------------------------------------------------------------------------------------

    async def listen(self, port: int = 0) -> int:
        """Listens for clients, over HTTP at this port if it is free; returns the port."""
        if self.observed.transport == "http":
            self._listener = HttpServer(self.setting)
            self.spawn(self._look())
            try:
                self.url = await self._listener.open(port)
            except OSError:
                self.url = await self._listener.open(0)
            return int(self.url.rpartition(":")[2].partition("/")[0])
        with reachable(self.folder / "judge") as address:
            self._listener = await asyncio.start_unix_server(self._connected, address)
        return 0

    async def make(self, experiment: ClientExperiment, observed: ObservedRun) -> ObservedRun | None:
        """Makes one step; returns the observations, ``None`` if the person skipped it."""
        if experiment.name == "initialize":
            await self._end_servers()
        # The program stays connected from step to step, so connections last longer than the observations of one step.
        self.talks = [each for each in self.talks if each.observed.ended_at is None]
        for number, talk in enumerate(self.talks):
            talk.number = number
        observed.servers = [each.observed for each in self.talks]
        observed.sessions = [each for each in self.observed.sessions if each.deleted_at is None]
        for connection in self.connections:
            connection.events.clear()
        self.observed, self.withheld, self.arguments = observed, [], experiment.arguments or {}
        self.deaf = self.silent = self.skipped = self._declined = False
        self.gate, self._expects, self._signal = asyncio.Event(), None, ""
        observed.began = monotonic()
        if experiment.name == "initialize":
            self.do("Restart this server in your client, or your client itself. It gets no answer.")
        else:
            self.do(f"Ask your client: {_asked(experiment)}")
        self._open.set()
        await experiment.make(self)
        self._open.clear()
        for each in self.withheld:
            if each.reachable and each.observed.answered_at is None and each.observed.cancelled_at is None:
                each.answer()
        self.gather()
        # Later messages do not change these observations.
        return None if self.skipped else copy.deepcopy(self.observed)

    async def called(self) -> WithheldCall | None:
        """Waits for the call that the step is about, and says what to do then."""
        withheld = await super().called()
        if withheld is None or self.is_over:
            return withheld
        self._say(f"  {withheld.observed.tool} was called")
        step = self.observed.experiment
        fits = {"task": withheld.observed.is_task, "progress": withheld.observed.reports}
        if step in _THEN and fits.get(step, True):
            self._expects = self._asks_nothing if step == "question" else self._gives_up
            self.do(_THEN[step])
        return withheld

    def signal(self, number: signal.Signals) -> None:
        """Lets the person send a signal to the client."""
        self._signal = number.name

    async def finish(self, patience: float = CLIENT_PATIENCE_SECONDS) -> None:
        """Waits until a step ends."""
        observed = self.observed
        if observed.experiment == "question":
            self._expects = None
        await self.until(lambda: self._expects is None or self.is_over)
        if self.is_over:
            return
        if self.silent:
            await self._unanswered()
        elif self.deaf:
            await self._quit()
        elif observed.experiment == "ids":
            await self._ask("When it has made all calls, press Enter here.")
        elif observed.call is not None and (observed.acted_at or observed.experiment == "question"):
            await self._go_on()

    async def _go_on(self) -> None:
        observed = self.observed
        if observed.acted_at is not None and observed.experiment in _ASKED_ABOUT:
            what = "progress" if observed.experiment == "late-progress" else "answer"
            text = f"The {what} came late. Does your client show an error about that? y or n, then Enter."
            if (await self._ask(text) or "").startswith("y"):
                observed.lines.append(OutputLine(monotonic(), PERSON, "an error surfaced, as a person saw"))
        since = observed.acted_at
        ask = f"Ask your client: {_call(NEXT, {'a': 1, 'b': 2})} If it cannot, press Enter here."
        test = (lambda: observed.nexts) if since is None else (lambda: observed.went_on)
        if not test():
            await self._ask(ask, test)
        if observed.went_on:
            text = "The answer is 3. Press Enter here (n: your client shows no answer, or another one)."
            answer = await self._ask(text)
            if answer is not None and answer.startswith("n"):
                observed.lines.append(OutputLine(monotonic(), PERSON, NEXT_FAILED))
            observed.next_shown = answer is not None and not answer.startswith("n")

    async def _unanswered(self) -> None:
        """Waits until the client abandons a handshake that is not answered."""
        observed = self.observed
        ask = "Wait until your client gives up connecting. Then press Enter here (n: it does not)."
        answer = await self._ask(ask)
        if observed.initialize_at is None:
            self.skipped = True  # The person reports that it did not.
        elif answer is not None:
            observed.began = observed.initialize_at
            if not answer.startswith("n"):
                observed.gave_up = OutputLine(monotonic(), PERSON, GAVE_UP)
        await self._end_servers()

    async def _end_servers(self) -> None:
        """Ends the servers, so that the client has to start them again."""
        for talk in self.talks:
            talk.kill()
        await self.until(lambda: all(each.observed.ended_at is not None for each in self.talks), LEFT_SECONDS)

    async def _quit(self) -> None:
        """Waits for the client's end, and checks which of its servers still run."""
        how = "Quit your client now, as people do."
        if self._signal:
            how = f"Send {self._signal} to your client now (kill -{self._signal[3:]}, and its process id)."
        if await self._ask(f"{how} When it is gone, press Enter here.") is None:
            return
        self.observed.ended_at = monotonic()
        await self.until(lambda: all(each.observed.ended_at is not None for each in self.talks), LEFT_SECONDS)
        for talk in self.talks:
            talk.observed.left = talk.observed.ended_at is None
        await self._end_servers()
        for each in timelines.ends(self.observed):
            self._say(f"  {each.what}")

    # -- what the model does -------------------------------------------------------------------------------------

    async def _its_turn(self, call: Call) -> bool:
        """Waits until calls belong to a step again; returns whether this call is still open then."""
        await self._open.wait()
        return not (call.cancelled.is_set() or call.channel.disconnected.is_set())

    async def _withhold_call(self, call: Call, **given: Any) -> None:
        if not await self._its_turn(call):
            return
        if call.tool == self.observed.tool:
            await super()._withhold_call(call, **given)
        else:
            call.answer(f"Not now. {_call(self.observed.tool, self.arguments)}")

    async def _add(self, call: Call, **given: Any) -> None:
        total = given["a"] + given["b"]
        call.answer(f"{total:g}. {self.then}".strip(), {"sum": total})

    def _cancelled(self, id_: object, way: Signal | None, reason: object) -> None:
        open_ = [each.observed for each in self.withheld if each.observed.cancelled_at is None]
        super()._cancelled(id_, way, reason)
        for call in open_:
            if call.cancelled_at is not None:
                why = "" if call.reason is None else f": {shown(call.reason)}"
                self._say(f"  cancelled {timelines.way(call)} after {call.cancelled_at - call.at:.1f} s{why}")


def _call(tool: str, arguments: Any) -> str:
    return f"Call the tool {tool} with {json.dumps(arguments)}."


def _asked(experiment: ClientExperiment) -> str:
    """Returns the words that a person gives to the client."""
    if experiment.name == "ids":
        return f"Call the tool {experiment.tool} {MANY} times, one call after the other."
    return _call(experiment.tool, experiment.arguments or {})


@dataclass(slots=True)
class SavedRun:
    """An interrupted run: the observations, the violations of each run, the skipped runs, and the port."""

    runs: dict[str, ObservedRun] = field(default_factory=dict[str, ObservedRun])
    broken: dict[str, list[Violation]] = field(default_factory=dict[str, list[Violation]])
    skipped: list[str] = field(default_factory=list[str])
    port: int = 0
    date: str = ""

    @classmethod
    def read(cls, path: Path) -> SavedRun:
        """Returns the saved run; an empty one if it cannot be read."""
        try:
            kept = TypeAdapter(cls).validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return cls()
        for name, observed in kept.runs.items():
            observed.events = [*kept.broken.get(name, ())]
        return kept

    def write(self, path: Path) -> None:
        """Writes it to a file."""
        broken = {name: list(observed.violations()) for name, observed in self.runs.items()}
        runs = {name: replace(observed, events=[]) for name, observed in self.runs.items()}
        kept = replace(self, runs=runs, broken=broken)
        replace_file(path, TypeAdapter(SavedRun).dump_json(kept))


@dataclass(eq=False)
class HandJudge(Judge):
    """A run that a person makes. ``server`` is the command for the client's config, without the path of the socket.

    ``say`` shows a line, ``folder`` is where the run is kept, and ``restarts`` whether to begin anew.
    """

    say: Callable[[str], None]
    folder: Path
    server: Sequence[str]
    restarts: bool = False
    trial: HandTrial | None = None

    async def run(self) -> ClientReport:
        """Makes all steps that are left, and judges.

        Raises:
            Unstartable: another judge is at work, or the folder cannot be used.
        """
        try:
            make_private(self.folder)
            with (self.folder / "lock").open("w") as lock:
                # Two judges would listen at one path, and each would observe only a part of the client's messages.
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return await self._run()
        except BlockingIOError:
            raise Unstartable("Another judge is running. Stop it first.") from None
        except OSError as error:
            raise Unstartable(f"Cannot use {error.filename or self.folder}: {error.strerror}") from None

    @property
    def _path(self) -> Path:
        return self.folder / f"{self.transport}.json"

    def _wanted(self) -> list[ClientExperiment]:
        # A person is too slow for one of them.
        made = [each for each in CLIENT_EXPERIMENTS if each.run_name != "crossing, answer first"]
        chosen = self.chosen or {each.name for each in made} - {*UNUSUAL}
        wanted = [each for each in made if each.name in chosen and each.name != REPEAT]
        return sorted(wanted, key=lambda each: each.name in RESTARTING)

    async def _run(self) -> ClientReport:
        kept, began = SavedRun.read(self._path), monotonic()
        if self.restarts:
            kept = SavedRun(port=kept.port)
        kept.date = kept.date or utc_stamp(wall())
        self.runs = kept.runs
        trial = self.trial = HandTrial(self.folder, speaks=self.speaks, say=self.say)
        trial.observed.transport = self.transport
        wanted = self._wanted()
        try:
            kept.port = await trial.listen(kept.port)
            self._introduce(trial, wanted, kept)
            for number, experiment in enumerate(wanted, 1):
                if experiment.run_name in (*kept.runs, *kept.skipped):
                    continue
                following = wanted[number] if number < len(wanted) else None
                calls = following is not None and following.name not in RESTARTING
                trial.then = f"Next: {_asked(following)}" if following and calls else ""
                self.say("")
                self.say(f"Step {number} of {len(wanted)}: {experiment.run_name}")
                observed = await trial.make(experiment, self._observed(experiment))
                if observed is None:
                    kept.skipped.append(experiment.run_name)
                    self.say("  skipped")
                else:
                    self._take(experiment, observed)
                kept.write(self._path)
        finally:
            # Observations while closing go into a value that is not judged.
            trial.observed = ObservedRun(experiment="", transport=self.transport, stopped=True)
            await asyncio.shield(spawn(trial.close(), name="end a judge"))
        self.say("")
        self.on_progress = lambda _: None  # The report shows everything.
        chosen = {each.run_name: kept.runs[each.run_name] for each in wanted if each.run_name in kept.runs}
        report = self._report(chosen, [], kept.date, monotonic() - began)
        report.command = "by hand"
        for rule, each in CLIENT_RULES.items():
            if each.experiment in kept.skipped and rule not in report.findings:
                report.findings[rule] = Finding(rule, Verdict.NOT_OBSERVABLE, "not run: it was skipped")
        why = "not run by hand: a model may call a tool again, which is not the client's doing"
        report.findings[REPEAT_RULE] = Finding(REPEAT_RULE, Verdict.NOT_OBSERVABLE, why)
        # The port is kept after the run, because the program's config contains it.
        SavedRun(port=kept.port).write(self._path)
        return report

    def _introduce(self, trial: HandTrial, wanted: Sequence[ClientExperiment], kept: SavedRun) -> None:
        entry: dict[str, Any] = {"type": "http", "url": trial.url}
        if not trial.url:
            program, *words = self.server
            entry = {"command": program, "args": [*words, str(self.folder / "judge")]}
        self.say("Put this server into the config of your client, and restart the client:")
        self.say(json.dumps({"mcpServers": {"judge": entry}}, indent=2))
        how = "s and Enter skips a step. After ctrl+c, the same command resumes here."
        self.say(f"Steps: {len(wanted)}. {how}")
        if done := len(kept.runs) + len(kept.skipped):
            client = next((each.client for each in kept.runs.values() if each.client), "a client")
            self.say(f"Resuming with {client}. Steps done since {kept.date}: {done}. --restart starts over.")

    def _take(self, experiment: ClientExperiment, observed: ObservedRun) -> None:
        """Judges again with the new observations, and shows the changed verdicts."""
        other = next((each.client for each in self.runs.values() if each.client), observed.client)
        # Verdicts compare runs with each other, which is possible only for one client.
        if observed.client not in ("", other):
            text = f"The steps before were made with {other}, this one with {observed.client}"
            raise Unstartable(f"{text}. Continue with the first, or add --restart to start over.")
        before = self._judged()
        self.runs[experiment.run_name] = observed
        for rule, finding in self._judged().items():
            last = before.get(rule)
            changed = last is None or last.verdict is not finding.verdict
            tells = changed and finding.verdict in (*BAD, Verdict.PASS)
            if tells or CLIENT_RULES[rule].experiment == experiment.name:
                self.on_progress(finding)

    def _judged(self) -> dict[str, Finding]:
        return verdicts.judge(self.runs, verdicts.revision_of(self.runs), self.transport)
