"""The experiments with a client: what it is to do, and what its server does meanwhile.

They decide by what happens, in which order, and not by short times: a late result leaves when the client has given its call
up and made its next one, and before that is answered.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from time import monotonic
from typing import Final

from mcp_tui.demo.demo_tools import QUESTIONS
from mcp_tui.demo.frames import Object
from mcp_tui.judge.client_trial import CLIENT_PATIENCE_SECONDS, NEXT, START_SECONDS, ClientTrial, WithheldCall
from mcp_tui.judge.observed_run import SIGNALS, ObservedQuestion, control_name
from mcp_tui.judge.sent_again import FAULTS, LATE, LIMIT, REPEAT, run_name
from mcp_tui.judge.verdicts import CANCEL_SECONDS
from mcp_tui.protocol.states import RequestId
from mcp_tui.protocol.values import frozen

MOMENT_SECONDS: Final = 1.0
"""Seconds that a client has to make its next call after a cancel."""

EARLY_SECONDS: Final = 0.01
"""Seconds by which an answer is sent before the client's limit, so that both cross."""

SIGNALLED_SECONDS: Final = 15.0
"""Seconds that a client has to end after a signal."""

HANDSHAKE_SECONDS: Final = 40.0
"""Seconds that a client has to give up an unanswered handshake: many have a limit of 30 s that nothing sets."""

PATIENT_SECONDS: Final = 30.0
"""The limit for experiments in which the client must not reach it, in seconds."""

FAULT_SECONDS: Final = 6.0
"""The same where the server brings a fault about, which some clients do not notice before their limit."""

MANY: Final = 20
"""The number of calls for the rule about ids."""

LONG_CALL: Final[Object] = {"seconds": 60}
LETTER: Final[Object] = {"to": "Ada", "seconds": 60}
ADDED: Final[Object] = {"a": 1, "b": 2}


@frozen
class ClientExperiment:
    """An experiment: its name, what the client is to do, and the tool that it is to call.

    ``key`` names one run where an experiment has several. ``after``: the one whose outcome it needs. ``least`` are the
    seconds that the client's limit must have. ``transport``: the one that it is for, empty for both. ``control`` is the same
    without what may do harm: it shows what the client does in any case. ``patience`` are the seconds to wait for the
    client's end.
    """

    name: str
    does: str
    run: Callable[[ClientTrial], Awaitable[None]]
    tool: str = "stubborn"
    arguments: Object | None = None
    key: str = ""
    after: str = ""
    least: float = 0.0
    transport: str = ""
    control: Callable[[ClientTrial], Awaitable[None]] | None = None
    patience: float = CLIENT_PATIENCE_SECONDS

    @property
    def run_name(self) -> str:
        """The name of the run."""
        return self.key or self.name

    async def make(self, trial: ClientTrial) -> None:
        """Makes the run, and waits for the client's end."""
        await self.run(trial)
        trial.gate.set()
        await trial.finish(self.patience)

    def as_control(self) -> ClientExperiment:
        """Returns the control run."""
        run = self.control or self.run
        return replace(self, run=run, key=control_name(self.run_name), after="", control=None)


async def _given_up(
    trial: ClientTrial, act: Callable[[WithheldCall], None] | None, *, at_once: bool = False
) -> None:
    """Waits until the client gives the call up, acts, and lets the client continue."""
    withheld = await trial.called()
    if withheld is None:
        return
    call, observed = withheld.observed, trial.observed
    # Nothing is decided by a time that a busy machine could miss: each step waits for what the client does.
    await trial.until(lambda: observed.gives_up(call) or trial.has_left(call))
    # Its output says that it gave up, and its cancel may be on the way: a late result now would cross the cancel.
    if call.cancelled_at is None and observed.sign(call) and not trial.has_left(call):
        await trial.until(lambda: call.cancelled_at is not None or trial.has_left(call), CANCEL_SECONDS)
    # The next call shows that the client has given this one up, so a message now cannot count as its answer.
    elif call.cancelled_at is not None and not at_once:
        await trial.until(lambda: observed.nexts or trial.has_left(call), MOMENT_SECONDS)
    if not observed.gives_up(call):
        withheld.answer()  # There was no sign that it gave up.
    elif not trial.has_left(call) and withheld.reachable:
        observed.acted_at = monotonic()
        if act is not None:
            act(withheld)
            call.answered_at = call.answered_at or observed.acted_at


async def late_result(trial: ClientTrial) -> None:
    """The server sends the result after the client gave up."""
    await _given_up(trial, WithheldCall.answer)


async def late_error(trial: ClientTrial) -> None:
    """The server sends an error after the client gave up."""
    await _given_up(trial, WithheldCall.refuse)


async def nothing_late(trial: ClientTrial) -> None:
    """The server sends nothing after the client gave up."""
    await _given_up(trial, None)


async def late_progress(trial: ClientTrial) -> None:
    """The server sends progress after the client gave up, and no result."""

    def act(withheld: WithheldCall) -> None:
        for step in (1, 2, 3):
            withheld.report(step)

    await _given_up(trial, act)


async def cancel_first(trial: ClientTrial) -> None:
    """The server sends the result at the moment at which the cancel arrives."""
    await _given_up(trial, WithheldCall.answer, at_once=True)


async def answer_first(trial: ClientTrial) -> None:
    """The server sends the result just before the client's limit, which an earlier run has shown."""
    withheld = await trial.called()
    if withheld is not None and trial.observed.limit:
        wait = withheld.observed.at + trial.observed.limit - EARLY_SECONDS - monotonic()
        await trial.until(lambda: withheld.observed.cancelled_at is not None or trial.is_over, max(0.0, wait))
        if withheld.reachable:
            trial.observed.acted_at = monotonic()
        withheld.answer()


async def initialize(trial: ClientTrial) -> None:
    """No handshake is answered."""
    trial.silent = True
    await trial.until(lambda: trial.observed.requests or trial.is_over, START_SECONDS)


async def task(trial: ClientTrial) -> None:
    """A call that runs as a task is cancelled."""
    withheld = await trial.called()
    if withheld is not None and withheld.observed.is_task:
        trial.observed.acted_at = monotonic()

        def gives_up() -> bool:
            return trial.observed.gives_up(withheld.observed) or trial.is_over or trial.broke_a_rule

        await trial.until(gives_up)


async def question(trial: ClientTrial) -> None:
    """The server asks a question, and withdraws two more: immediately, and while the client handles it."""
    await _question(trial, takes_back=True)


async def answered_question(trial: ClientTrial) -> None:
    """The server asks one question."""
    await _question(trial, takes_back=False)


async def _question(trial: ClientTrial, *, takes_back: bool) -> None:
    withheld, observed = await trial.called(), trial.observed
    if withheld is not None:
        call = withheld.call
        declared = (
            each for each in QUESTIONS if call.caller.declares(next(iter(QUESTIONS[each].capability)))
        )
        observed.asks = "" if call.caller.modern else next(declared, "")
        if observed.asks:
            question = QUESTIONS[observed.asks]
            frame: Object = {"method": question.method, "params": question.asked(call.caller)}
            await _ask(trial, withheld, frame, takes_back=takes_back)
        if withheld.reachable:
            withheld.answer()


async def _ask(trial: ClientTrial, withheld: WithheldCall, frame: Object, *, takes_back: bool) -> None:
    """Asks a question, and withdraws two more; in a control run only the first."""
    observed = trial.observed

    def over() -> bool:
        return trial.is_over or withheld.call.cancelled.is_set() or not withheld.reachable

    first = _pose(trial, withheld, frame)
    await trial.until(lambda: first.answered_at is not None or over())
    if first.answered_at is None:
        return
    if not takes_back:
        observed.acted_at = monotonic()
        return
    took = first.answered_at - first.asked_at
    # The cancel follows its request without a pause, so that the client may read it before it asks anybody.
    second = _pose(trial, withheld, frame)
    _take_back(withheld, second)
    observed.acted_at = second.taken_back_at
    await trial.until(lambda: second.answered_at is not None or over(), took / 4)
    if over():
        return
    third = _pose(trial, withheld, frame)
    await trial.until(lambda: third.answered_at is not None or over(), took / 2)
    _take_back(withheld, third)
    await trial.until(over, took + CANCEL_SECONDS)
    observed.watched = monotonic() - (third.taken_back_at or 0.0)


def _pose(trial: ClientTrial, withheld: WithheldCall, frame: Object) -> ObservedQuestion:
    id_, _ = withheld.call.pose(frame)
    asked = ObservedQuestion(id_, monotonic())
    trial.observed.questions.append(asked)
    return asked


def _take_back(withheld: WithheldCall, asked: ObservedQuestion) -> None:
    asked.taken_back_at = monotonic()
    reason = "the judge takes this question back"
    withheld.call.notify("cancelled", {"requestId": asked.id, "reason": reason}, "cancelled")


async def unknown_cancel(trial: ClientTrial) -> None:
    """The server cancels a request that does not exist; then it answers."""
    await _answered_call(trial, "an id of no request", 987_654_321)


async def answered_call(trial: ClientTrial) -> None:
    """The server answers."""
    await _answered_call(trial)


async def _answered_call(trial: ClientTrial, *unknown: RequestId) -> None:
    withheld = await trial.called()
    if withheld is not None and withheld.reachable:
        trial.observed.acted_at = monotonic()
        # The id of the client's own call names no request of the server's, and only those can be meant (same direction).
        # From 2026-07-28 on a server may cancel nothing of that kind.
        own = () if withheld.call.caller.modern else (withheld.call.id,)
        for nobody in (*unknown, *own) if unknown else ():
            withheld.call.notify("cancelled", {"requestId": nobody, "reason": "no such request"}, "cancelled")
        observed, call = trial.observed, withheld.observed
        # A client that applies the cancel to its own call continues before that is answered.

        def went_on() -> bool:
            return bool(observed.nexts) or call.cancelled_at is not None or trial.has_left(call)

        await trial.until(went_on, MOMENT_SECONDS)
        withheld.answer()


async def many(trial: ClientTrial) -> None:
    """The client makes many calls; the server answers each."""
    await trial.until(lambda: trial.observed.nexts or trial.is_over, START_SECONDS)


async def progress(trial: ClientTrial) -> None:
    """The server sends progress four times within each limit of the client, while the client waits."""
    withheld, observed = await trial.called(), trial.observed
    if withheld is not None and withheld.observed.reports:
        step, call = 0, withheld.observed
        limit = max(observed.limit, observed.timeout)
        end = call.at + (2 * observed.maximum + CANCEL_SECONDS if observed.maximum else 3 * limit)

        def over() -> bool:
            return observed.gives_up(call) or trial.has_left(call) or not withheld.reachable

        last = call.at
        while monotonic() < end and not over():
            step += 1
            observed.held_up, last = max(observed.held_up, monotonic() - last), monotonic()
            withheld.report(step)
            await trial.until(over, limit / 4)
        observed.watched = monotonic() - call.at
    if withheld is not None and withheld.reachable:
        withheld.answer()


async def normal_exit(trial: ClientTrial) -> None:
    """The client exits normally; its server ignores the end of its stdin, and every signal but SIGKILL."""
    trial.deaf = True
    await many(trial)


def _signal(number: signal.Signals) -> Callable[[ClientTrial], Awaitable[None]]:
    async def run(trial: ClientTrial) -> None:
        """The client gets a signal in a call; its server ignores the end of its stdin, and every signal but SIGKILL."""
        trial.deaf = True
        if await trial.called() is not None:
            trial.observed.acted_at = monotonic()
            trial.signal(number)

    return run


_GIVES_UP: Final = f"calls a slow tool with a limit, gives it up, and then calls {NEXT}"

CLIENT_EXPERIMENTS: Final = (
    ClientExperiment("limit", _GIVES_UP, late_result, arguments=LONG_CALL, control=nothing_late),
    ClientExperiment("stop", f"calls a slow tool, stops it soon, and then calls {NEXT}", late_error,
                     arguments=LONG_CALL, control=nothing_late),
    ClientExperiment("crossing", _GIVES_UP, cancel_first, arguments=LONG_CALL, key="crossing, cancel first",
                     control=nothing_late),
    ClientExperiment("crossing", _GIVES_UP, answer_first, arguments=LONG_CALL, key="crossing, answer first", after="limit",
                     control=nothing_late),
    ClientExperiment("late-progress", _GIVES_UP, late_progress, arguments=LONG_CALL, control=nothing_late),
    ClientExperiment("initialize", "connects, with a limit", initialize, tool=NEXT, arguments=ADDED,
                     patience=HANDSHAKE_SECONDS),
    ClientExperiment("task", f"calls a tool as a task, cancels it soon, and then calls {NEXT}", task, tool="research",
                     arguments=LONG_CALL, least=PATIENT_SECONDS),
    ClientExperiment("question", "calls a tool and answers each of its questions after a second or two", question,
                     tool="ask", least=PATIENT_SECONDS, control=answered_question),
    ClientExperiment("unknown-cancel", f"calls a tool, and then calls {NEXT}", unknown_cancel, arguments=LONG_CALL,
                     control=answered_call),
    ClientExperiment("ids", f"calls {NEXT} {MANY} times", many, tool=NEXT, arguments=ADDED),
    ClientExperiment("progress", "calls a slow tool with a limit that progress resets, and with a maximum", progress,
                     tool="count", arguments=LONG_CALL, after="limit"),
    ClientExperiment("exit", f"calls {NEXT} and exits on its own", normal_exit, tool=NEXT, arguments=ADDED),
    *(ClientExperiment(each.lower(), "calls a slow tool and waits", _signal(getattr(signal, each)), arguments=LONG_CALL,
                       least=PATIENT_SECONDS, patience=SIGNALLED_SECONDS)
      for each in SIGNALS.values()),
    *(ClientExperiment(REPEAT, f"calls a tool once, with a limit, and then calls {NEXT} if it can", run, tool="send",
                       arguments=LETTER, key=run_name(fault), transport=transport,
                       least=0.0 if fault in (LIMIT, LATE) else FAULT_SECONDS, patience=0.0)
      for fault, transport, run in FAULTS),
)  # fmt: skip
"""Every run, in order. An experiment of several runs has one name."""
