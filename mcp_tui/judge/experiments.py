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

from mcp_tui.demo.frames import Object
from mcp_tui.demo.tools import QUESTIONS
from mcp_tui.judge.seen import SeenQuestion, control_name
from mcp_tui.judge.stage import NEXT, START_SECONDS, HeldCall, Stage
from mcp_tui.judge.verdicts import CANCEL_SECONDS
from mcp_tui.protocol.states import RequestId
from mcp_tui.protocol.values import frozen

MOMENT_SECONDS: Final = 1.0
"""Seconds that a client has to make its next call after a cancel."""

EARLY_SECONDS: Final = 0.01
"""Seconds by which an answer comes before the client's limit, where both are to cross."""

SIGNALLED_SECONDS: Final = 15.0
"""Seconds that a client has to end after a signal."""

MANY: Final = 20
"""Calls that are to be made for the rule about ids."""

LONG_CALL: Final[Object] = {"seconds": 60}
ADDED: Final[Object] = {"a": 1, "b": 2}


@frozen
class ClientExperiment:
    """An experiment: its name, what the client is to do, and the tool that it is to call.

    ``key`` names one run where an experiment has several. ``after``: the one whose outcome it needs. ``patient``: the client
    is not to reach its limit. ``control`` is the same without what may do harm: it shows what the client does in any case.
    """

    name: str
    does: str
    run: Callable[[Stage], Awaitable[None]]
    tool: str = "stubborn"
    arguments: Object | None = None
    key: str = ""
    after: str = ""
    patient: bool = False
    control: Callable[[Stage], Awaitable[None]] | None = None

    @property
    def run_name(self) -> str:
        """The name of the run."""
        return self.key or self.name

    def as_control(self) -> ClientExperiment:
        """Returns the control run."""
        run = self.control or self.run
        return replace(self, run=run, key=control_name(self.run_name), after="", control=None)


async def _given_up(stage: Stage, act: Callable[[HeldCall], None] | None, *, at_once: bool = False) -> None:
    """Waits until the call is given up, acts, and lets the client go on."""
    held = await stage.called()
    if held is None:
        stage.gate.set()
        await stage.finish()
        return
    call, seen = held.seen, stage.seen

    def gone() -> bool:
        return stage.is_over or seen.gone_at(call) is not None

    # Nothing is decided by a time that a busy machine could miss: each step waits for what the client does.
    await stage.until(lambda: call.cancelled_at is not None or seen.sign(call) or gone())
    # It said that it gave up, and its cancel may be on the way: a late result now would cross that.
    if call.cancelled_at is None and seen.sign(call) and not gone():
        await stage.until(lambda: call.cancelled_at is not None or gone(), CANCEL_SECONDS)
    # The next call shows that the client has let go of this one, so what comes now cannot be taken for its answer.
    elif call.cancelled_at is not None and not at_once:
        await stage.until(lambda: seen.nexts or gone(), MOMENT_SECONDS)
    if call.cancelled_at is None and seen.sign(call) is None:
        held.answer()  # nobody saw that it gave up
    elif not gone() and held.reachable:
        seen.acted_at = monotonic()
        if act is not None:
            act(held)
            call.answered_at = call.answered_at or seen.acted_at
    stage.gate.set()
    await stage.finish()


async def late_result(stage: Stage) -> None:
    """The result comes after the client gave up."""
    await _given_up(stage, HeldCall.answer)


async def late_error(stage: Stage) -> None:
    """An error comes after the client gave up."""
    await _given_up(stage, HeldCall.refuse)


async def nothing_late(stage: Stage) -> None:
    """Nothing comes after the client gave up."""
    await _given_up(stage, None)


async def late_progress(stage: Stage) -> None:
    """Progress comes after the client gave up, and no result."""

    def act(held: HeldCall) -> None:
        for step in (1, 2, 3):
            held.report(step)

    await _given_up(stage, act)


async def cancel_first(stage: Stage) -> None:
    """The result leaves at the moment in which the cancel comes."""
    await _given_up(stage, HeldCall.answer, at_once=True)


async def answer_first(stage: Stage) -> None:
    """The result leaves just before the client's limit, which an earlier run has shown."""
    held = await stage.called()
    if held is not None and stage.seen.limit:
        wait = held.seen.at + stage.seen.limit - EARLY_SECONDS - monotonic()
        await stage.until(lambda: held.seen.cancelled_at is not None or stage.is_over, max(0.0, wait))
        if held.reachable:
            stage.seen.acted_at = monotonic()
        held.answer()
    stage.gate.set()
    await stage.finish()


async def initialize(stage: Stage) -> None:
    """No handshake is answered."""
    stage.silent = True
    stage.gate.set()
    await stage.until(lambda: stage.seen.requests or stage.is_over, START_SECONDS)
    await stage.finish()


async def task(stage: Stage) -> None:
    """A call that runs as a task is cancelled."""
    held = await stage.called()
    if held is not None and held.seen.is_task:
        stage.seen.acted_at = monotonic()
        await stage.until(
            lambda: (
                held.seen.cancelled_at is not None
                or stage.seen.sign(held.seen)
                or stage.is_over
                or stage.broke_a_rule
            )
        )
    stage.gate.set()
    await stage.finish()


async def question(stage: Stage) -> None:
    """A question is asked and answered; two more are taken back, at once and while the client is at it."""
    await _question(stage, takes_back=True)


async def answered_question(stage: Stage) -> None:
    """A question is asked and answered, and no more."""
    await _question(stage, takes_back=False)


async def _question(stage: Stage, *, takes_back: bool) -> None:
    held, seen = await stage.called(), stage.seen
    if held is not None:
        call = held.call
        names = ("form", "sampling", "roots")
        kind = next(
            (each for each in names if call.caller.declares(next(iter(QUESTIONS[each].capability)))), ""
        )
        seen.asks = "" if call.caller.modern else kind
        if seen.asks:
            params = dict(QUESTIONS[kind].params)
            if call.caller.revision < "2025-11-25":
                params.pop("mode", None)
            frame: Object = {"method": QUESTIONS[kind].method, "params": params}
            await _ask(stage, held, frame, takes_back=takes_back)
        if held.reachable:
            held.answer()
    stage.gate.set()
    await stage.finish()


async def _ask(stage: Stage, held: HeldCall, frame: Object, *, takes_back: bool) -> None:
    """Asks, and takes two more questions back; in a control run the first question is all."""
    seen = stage.seen

    def over() -> bool:
        return stage.is_over or held.call.cancelled.is_set() or not held.reachable

    first = _pose(stage, held, frame)
    await stage.until(lambda: first.answered_at is not None or over())
    if first.answered_at is None:
        return
    if not takes_back:
        seen.acted_at = monotonic()
        return
    took = first.answered_at - first.asked_at
    # The cancel follows its request without a pause, so that the client may find it before it began to ask anybody.
    second = _pose(stage, held, frame)
    _take_back(held, second)
    seen.acted_at = second.taken_back_at
    await stage.until(lambda: second.answered_at is not None or over(), took / 4)
    if over():
        return
    third = _pose(stage, held, frame)
    await stage.until(lambda: third.answered_at is not None or over(), took / 2)
    _take_back(held, third)
    await stage.until(over, took + CANCEL_SECONDS)
    seen.watched = monotonic() - (third.taken_back_at or 0.0)


def _pose(stage: Stage, held: HeldCall, frame: Object) -> SeenQuestion:
    id_, _ = held.call.pose(frame)
    asked = SeenQuestion(id_, monotonic())
    stage.seen.questions.append(asked)
    return asked


def _take_back(held: HeldCall, asked: SeenQuestion) -> None:
    asked.taken_back_at = monotonic()
    reason = "the judge takes this question back"
    held.call.notify("cancelled", {"requestId": asked.id, "reason": reason}, "cancelled")


async def unknown_cancel(stage: Stage) -> None:
    """The server cancels what nobody asked; then it answers."""
    await _answered_call(stage, "an id of no request", 987_654_321)


async def answered_call(stage: Stage) -> None:
    """The server answers."""
    await _answered_call(stage)


async def _answered_call(stage: Stage, *unknown: RequestId) -> None:
    held = await stage.called()
    if held is not None and held.reachable:
        stage.seen.acted_at = monotonic()
        # The id of the client's own call names no request of the server's, and only those can be meant (same direction).
        # From 2026-07-28 on a server may cancel nothing of that kind.
        own = () if held.call.caller.modern else (held.call.id,)
        for nobody in (*unknown, *own) if unknown else ():
            held.call.notify("cancelled", {"requestId": nobody, "reason": "no such request"}, "cancelled")
        seen, call = stage.seen, held.seen
        # A client that takes the cancel for one of its call goes on before that is answered.
        await stage.until(
            lambda: (
                seen.nexts or call.cancelled_at is not None or stage.is_over or seen.gone_at(call) is not None
            ),
            MOMENT_SECONDS,
        )
        held.answer()
    stage.gate.set()
    await stage.finish()


async def many(stage: Stage) -> None:
    """Many calls are made; the server is as usual."""
    stage.gate.set()
    await stage.until(lambda: stage.seen.nexts or stage.is_over, START_SECONDS)
    await stage.finish()


async def progress(stage: Stage) -> None:
    """Progress comes four times in each limit of the client, for as long as the client waits."""
    held, seen = await stage.called(), stage.seen
    if held is not None and held.seen.reports:
        step, call = 0, held.seen
        limit = max(seen.limit, seen.timeout)
        end = call.at + (2 * seen.maximum + CANCEL_SECONDS if seen.maximum else 3 * limit)

        def over() -> bool:
            gave_up = call.cancelled_at is not None or seen.sign(call) is not None
            return gave_up or stage.is_over or seen.gone_at(call) is not None or not held.reachable

        last = call.at
        while monotonic() < end and not over():
            step += 1
            seen.held_up, last = max(seen.held_up, monotonic() - last), monotonic()
            held.report(step)
            await stage.until(over, limit / 4)
        seen.watched = monotonic() - call.at
    if held is not None and held.reachable:
        held.answer()
    stage.gate.set()
    await stage.finish()


async def normal_exit(stage: Stage) -> None:
    """The client ends by itself; its server ignores the end of its stdin, and every signal but SIGKILL."""
    stage.deaf = True
    await many(stage)


def _signal(number: signal.Signals) -> Callable[[Stage], Awaitable[None]]:
    async def run(stage: Stage) -> None:
        """The client gets a signal in a call; its server ignores the end of its stdin, and every signal but SIGKILL."""
        stage.deaf = True
        held = await stage.called()
        stage.gate.set()
        if held is not None:
            stage.seen.acted_at = monotonic()
            stage.signal(number)
        await stage.finish(SIGNALLED_SECONDS)

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
    ClientExperiment("initialize", "connects, with a limit", initialize, tool=NEXT, arguments=ADDED),
    ClientExperiment("task", f"calls a tool as a task, cancels it soon, and then calls {NEXT}", task, tool="research",
                     arguments=LONG_CALL, patient=True),
    ClientExperiment("question", "calls a tool and answers each of its questions after a second or two", question,
                     tool="ask", patient=True, control=answered_question),
    ClientExperiment("unknown-cancel", f"calls a tool, and then calls {NEXT}", unknown_cancel, arguments=LONG_CALL,
                     control=answered_call),
    ClientExperiment("ids", f"calls {NEXT} {MANY} times", many, tool=NEXT, arguments=ADDED),
    ClientExperiment("progress", "calls a slow tool with a limit that progress resets, and with a maximum", progress,
                     tool="count", arguments=LONG_CALL, after="limit"),
    ClientExperiment("exit", f"calls {NEXT} and ends by itself", normal_exit, tool=NEXT, arguments=ADDED),
    ClientExperiment("sigint", "calls a slow tool and waits", _signal(signal.SIGINT), arguments=LONG_CALL, patient=True),
    ClientExperiment("sigterm", "calls a slow tool and waits", _signal(signal.SIGTERM), arguments=LONG_CALL, patient=True),
    ClientExperiment("sigkill", "calls a slow tool and waits", _signal(signal.SIGKILL), arguments=LONG_CALL, patient=True),
)  # fmt: skip
"""Every run, in order. An experiment of several runs has one name."""
