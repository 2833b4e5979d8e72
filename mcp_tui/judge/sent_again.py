"""The experiments and the verdict about a client that sends a call again on its own when the outcome is unknown.

The judge loses the answer of each call, up to :data:`MOST_LOST` of them, so that a client shows how often it sends one. An
equal call is the client's own only where nothing shows that its caller (a person, a model, a script) may have made it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from itertools import pairwise
from time import monotonic
from typing import Any, Final

from mcp_tui.judge.client_trial import CLIENT_PATIENCE_SECONDS, START_SECONDS, ClientTrial, WithheldCall
from mcp_tui.judge.observed_run import REACHED_SHARE, SIDE_BY_SIDE_SECONDS, ObservedCall, ObservedRun
from mcp_tui.judge.timelines import crashed, ended, not_called
from mcp_tui.probe.report import EvidenceItem, Finding, Verdict
from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.repeats import PARALLEL_SECONDS
from mcp_tui.protocol.revisions import LATEST
from mcp_tui.protocol.values import frozen

REPEAT_RULE: Final = "K-18"
REPEAT: Final = "repeat"
"""The name of the experiment, which has a run for each fault."""

MOST_LOST: Final = 5
"""The number of equal calls whose answer is lost; later ones are answered."""

GATEWAY: Final = (502, 503, 504)
"""The statuses of a gateway that does not know what the server behind it did."""

LIMIT: Final = "limit"
LATE: Final = "late answer"
GONE: Final = "session gone"
"""The fault after which the specification asks for a new session. The call was refused before it ran."""


# -- the experiments -------------------------------------------------------------------------------------------


async def unanswered(trial: ClientTrial) -> None:
    """Answers no call."""
    await _abandoned(trial, lambda _: None)


async def answered_late(trial: ClientTrial) -> None:
    """Answers each call after the client gave it up."""
    await _abandoned(trial, WithheldCall.answer)


async def lost(trial: ClientTrial) -> None:
    """Resets the connection of each call over HTTP; ends the server over stdio."""
    await _each(trial, WithheldCall.lose)


async def cut(trial: ClientTrial) -> None:
    """Ends the event stream of each call without an answer."""
    await _each(trial, WithheldCall.cut, streams=True)


def by_gateway(status: int) -> Callable[[ClientTrial], Awaitable[None]]:
    """Returns the experiment in which a gateway answers each call that was executed."""

    async def run(trial: ClientTrial) -> None:
        """Answers each call as a gateway does, after the server has executed it."""
        await _each(trial, lambda withheld: withheld.lose(status))

    return run


async def session_gone(trial: ClientTrial) -> None:
    """Refuses the first call with HTTP 404, because its session is gone; executes nothing."""
    trial.ends_session = True
    await _each(trial, WithheldCall.answer)


async def _each(trial: ClientTrial, lose: Callable[[WithheldCall], None], *, streams: bool = False) -> None:
    """Loses the answer of each call a moment after the call; equal calls within that moment are parallel to it."""
    trial.streams = streams
    # A third of the limit at most, so that the fault comes before the client gives up.
    seconds = min(PARALLEL_SECONDS, (trial.observed.timeout or 30.0) / 3)

    async def work(withheld: WithheldCall) -> None:
        call = withheld.observed
        await trial.until(lambda: call.cancelled_at is not None or trial.is_over, seconds)
        if call.cancelled_at is None and withheld.reachable:
            lose(withheld)
            call.lost_at = None if call.answered_at else monotonic()
        trial.gate.set()
        trial.news()

    await _calls(trial, work)


async def _abandoned(trial: ClientTrial, then: Callable[[WithheldCall], None]) -> None:
    """Leaves each call without an answer until the client has given it up."""

    async def work(withheld: WithheldCall) -> None:
        call, observed = withheld.observed, trial.observed

        def given_up() -> bool:
            again = any(each.at - call.at > PARALLEL_SECONDS for each in observed.equal(call))
            return again or observed.gives_up(call) or trial.is_over or not withheld.reachable

        if await trial.until(given_up):
            call.lost_at = monotonic()
            if withheld.reachable and not trial.is_over:
                then(withheld)
        else:
            withheld.answer()
        # Released only now, so that the client has read a late answer before its next call is answered.
        trial.gate.set()
        trial.news()

    await _calls(trial, work)


async def _calls(trial: ClientTrial, work: Callable[[WithheldCall], Coroutine[Any, Any, None]]) -> None:
    """Starts ``work`` for each call of the tool, until the client ends or nothing more happens."""
    observed = trial.observed
    patience = CLIENT_PATIENCE_SECONDS + observed.timeout
    await trial.until(lambda: observed.call or trial.is_over, START_SECONDS)

    def calls() -> list[WithheldCall]:
        return [each for each in trial.withheld if each.observed.tool == observed.tool]

    done = list[WithheldCall]()
    while await trial.until(lambda: trial.is_over or len(calls()) > len(done), patience):
        if trial.is_over:
            break
        done.append(calls()[len(done)])
        if len(done) > MOST_LOST:
            done[-1].answer()
        else:
            trial.spawn(work(done[-1]))


FAULTS: Final = (
    (LIMIT, "", unanswered),
    (LATE, "", answered_late),
    ("lost connection", "", lost),
    ("stream cut", "http", cut),
    *((f"HTTP {status}", "http", by_gateway(status)) for status in GATEWAY),
    (GONE, "http", session_gone),
)
"""The faults after which a client may send its call again, the transport that has each, and what the server does."""


def run_name(fault: str) -> str:
    """Returns the name of the run with a fault."""
    return f"{REPEAT}, {fault}"


# -- the verdict -----------------------------------------------------------------------------------------------


@frozen
class Repeats:
    """The calls that a client sent on its own in one run, the first call included.

    ``why`` is the reason if the run cannot show whether the client sends the call again. ``informs``: the run is reported
    and decides nothing, because the specification asks for the repeat, or the fault cannot happen to this client.
    ``has_sessions`` is false over HTTP in 2026-07-28.
    """

    fault: str
    calls: tuple[ObservedCall, ...] = ()
    why: str = ""
    informs: bool = False
    has_sessions: bool = True

    def in_words(self) -> str:
        """Returns the fault, and after a repeat the count of executions and the seconds between them."""
        if self.fault == GONE:
            return f"{GONE}: {'sent again' if len(self.calls) > 1 else 'not sent again'}"
        waits = " and ".join(f"{late.at - early.at:.1f}" for early, late in pairwise(self.calls))
        return f"{self.fault}: {len(self.calls)} executions, {waits} s apart" if waits else self.fault

    def evidence(self) -> list[EvidenceItem]:
        """Returns the evidence: each call with its time, session, and id."""
        first = self.calls[0]
        items = [EvidenceItem(f"{self.fault}: {first.tool} was called", 0.0)]
        if first.lost_at is not None:
            what = "given up" if self.fault in (LIMIT, LATE) else "refused" if self.fault == GONE else "lost"
            items.append(EvidenceItem(f"{self.fault}: the call was {what}", first.lost_at - first.at))
        for each in self.calls[1:]:
            how = " in the same session" if each.connection == first.connection else " in a new session"
            id_ = "the same id" if each.id == first.id else "another id"
            text = f"{self.fault}: called again{how * self.has_sessions} with {id_}"
            items.append(EvidenceItem(text, each.at - first.at))
        return sorted(items, key=lambda each: each.at or 0.0)


def judged(runs: Mapping[str, ObservedRun], transport: str) -> Finding | None:
    """Returns the finding, ``None`` if no run was made.

    The rule passes only if the client met each fault and sent the call again after none. A call after a lost session is
    reported, and is not a fault: the first did not run, and the specification asks for a new session.
    """
    wanted = {each: run_name(each) for each, only, _ in FAULTS if only in ("", transport)}
    if not any(name in runs for name in wanted.values()):
        return None
    seen = [repeats_of(fault, runs.get(name)) for fault, name in wanted.items()]
    told = tuple(item for each in seen if each.calls for item in each.evidence())
    decide = [each for each in seen if not each.informs]
    again = [each for each in decide if len(each.calls) > 1]
    unseen = [each for each in decide if each.why and each not in again]
    once = [each.in_words() for each in decide if each not in (*again, *unseen)]
    words = [each.in_words() for each in again]
    words += [f"not sent again after {', '.join(once)}"] if once and not again else []
    words += [each.in_words() for each in seen if each.informs and not each.why]
    if again:
        return Finding(REPEAT_RULE, Verdict.WARNING, f"it sends the call again: {'; '.join(words)}", told)
    if unseen:
        why = [f"{each.fault}: {each.why}" for each in unseen]
        return Finding(REPEAT_RULE, Verdict.NOT_OBSERVABLE, "; ".join([*why, *words]), told)
    return Finding(REPEAT_RULE, Verdict.PASS, "; ".join(words), told)


def repeats_of(fault: str, observed: ObservedRun | None) -> Repeats:
    """Returns which equal calls the client sent on its own after a fault."""
    if observed is None:
        return Repeats(fault, why="not run")
    first = observed.call
    if first is None:
        return Repeats(fault, why=not_called(observed))
    if first.lost_at is None:
        waited = "it was answered before it gave up" if first.answered_at else "the client ended before"
        why = "its call named no session" if fault == GONE else waited
        return Repeats(fault, why=why, informs=fault == GONE)
    sent, why = [first], ""
    for each in observed.equal(first):
        last = sent[-1]
        if not _is_over(last, each.at):
            continue  # parallel on purpose
        if last.lost_at is None or (why := _caller(observed, first, each)):
            break
        sent.append(each)
    if fault == LATE and len(sent) == 1 and not why and first.answered_at is None:
        # A stream that the client closed carries no late answer, so this client cannot meet the fault.
        closed = first.signal is Signal.STREAM_CLOSED or first.closed_at is not None
        return Repeats(fault, why="nothing could reach it any more", informs=closed)
    why = why or (_unwatched(fault, observed, first) if len(sent) == 1 else "")
    has_sessions = observed.transport != "http" or observed.revision != LATEST.name
    return Repeats(fault, tuple(sent), why, informs=fault == GONE, has_sessions=has_sessions)


def _unwatched(fault: str, observed: ObservedRun, call: ObservedCall) -> str:
    """Returns why a run without a second call proves nothing; empty if it proves that the client sends none."""
    if observed.stopped:
        return "it did not end, and nothing more came"
    if crashed(observed):
        return ended(observed).removeprefix(", and ")
    # Only its end shows that it gave up, so the end has to come at its limit.
    early = observed.ended_at is not None and observed.ended_at - call.at < REACHED_SHARE * observed.timeout
    if fault in (LIMIT, LATE) and early and call.cancelled_at is None and observed.sign(call) is None:
        return f"it ended before its limit{ended(observed)}"
    return ""


def _is_over(call: ObservedCall, at: float) -> bool:
    """Whether a call was over at a time, or was open for so long that an equal call repeats it."""
    ends = [each for each in (call.cancelled_at, call.lost_at, call.answered_at) if each is not None]
    # A client may give up silently, so an open call counts too. Calls closer together are parallel on purpose.
    return at - call.at > PARALLEL_SECONDS or min(ends, default=at + 1) <= at


def _caller(observed: ObservedRun, first: ObservedCall, again: ObservedCall) -> str:
    """Returns why the client's caller may have made a call after it learned the end of the first; empty if it did not."""
    line = observed.gave_up
    if line is not None and first.at <= line.at <= again.at + SIDE_BY_SIDE_SECONDS:
        return f"{line.words} before it called again, so its caller may have done that"
    if any(first.at + SIDE_BY_SIDE_SECONDS < each.at < again.at for each in observed.nexts):
        return "it made another call before it called again, so its caller may have done that"
    # A model gives each of its calls a new id, so a repeat by the client keeps the id.
    if first.model_id and again.model_id and first.model_id != again.model_id:
        return "the second call has another id of its model, which made it"
    return ""
