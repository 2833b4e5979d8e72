"""The tools of an experiment: its calls, its cancels, and its findings."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, NoReturn

from mcp_tui.probe import judging
from mcp_tui.probe.connection import CANCEL_METHOD, PROBE_REASON, Arrival, ProbeConnection, Trace
from mcp_tui.probe.judging import ControlRun, LateResponse, Observation
from mcp_tui.probe.report import EvidenceItem, Finding, Verdict
from mcp_tui.probe.rules import RULES, Strength
from mcp_tui.probe.tools import Choice
from mcp_tui.protocol.events import RequestId, Stderr
from mcp_tui.protocol.evidence import TRANSIT
from mcp_tui.protocol.messages import shown

MID: Final = 0.4
"""Share of its work after which a call is cancelled."""


TOO_QUICK: Final = 0.3
"""Seconds below which a call cannot be cancelled in the middle of its work."""

NEEDS_TOOL: Final = "needs a slow tool; none found"
"""The reason why an experiment is not run without one."""

HARM: Final = "calls of this tool harm each other, cancelled or not"
"""The reason why an experiment with several calls in flight shows nothing."""

LISTENED_SECONDS: Final = 0.35
"""Seconds to listen on: for those in which a message may be in transit, and some more."""


class Judged(Exception):
    """Ends an experiment early because its rule is judged already."""


class Trial:
    """One experiment at work on one connection: its calls, what it was ``told`` so far, and its ``findings``."""

    def __init__(self, connection: ProbeConnection) -> None:
        self.server = connection.server
        self.connection = connection
        self.told: list[EvidenceItem] = []
        self.findings: list[Finding] = []

    async def make(self, experiment: Callable[[Trial], Awaitable[None]]) -> list[Finding]:
        """Runs an experiment; returns its findings."""
        with contextlib.suppress(Judged):
            await experiment(self)
        return self.findings

    @property
    def choice(self) -> Choice:
        """The slow tool; only for experiments that need one."""
        assert self.server.choice is not None
        return self.server.choice

    @property
    def control(self) -> ControlRun:
        """Its uncancelled run."""
        return self.server.control

    @property
    def mid(self) -> float:
        """Seconds after which a call is cancelled mid-work."""
        control = self.control
        # Without an end, the length is the time for which the tool was watched: this share of it is one second at most.
        share = MID if control.duration is not None else min(MID, 1.0 / max(control.watched, 1.0))
        return judging.middle(control, share)

    def end(self, since: float = 0.0) -> float:
        """Seconds from a call to the moment after which nothing more of it is expected."""
        control = self.control
        quiet = judging.quiet(control) + LISTENED_SECONDS
        if control.duration is None:
            return since + max(3.0, quiet)
        return max(control.length + max(0.5, 0.1 * control.length), since + quiet)

    # -- what is found ---------------------------------------------------------------------------------------------

    def level(self, rule: str) -> Strength:
        """Returns the level of a rule for this server."""
        return RULES[rule].clause(self.server.revision, self.server.transport).level

    def tell(self, what: str, at: float | None = None, frame: str = "") -> None:
        """Notes an observation as evidence for all findings from here on."""
        self.told.append(EvidenceItem(what, at, frame))

    def found(self, rule: str, verdict: Verdict, sentence: str, *more: EvidenceItem) -> None:
        """Judges a rule, with the evidence noted so far and ``more``."""
        self.findings.append(Finding(rule, verdict, sentence, (*self.told, *more)))

    def passed(self, rule: str, sentence: str, *more: EvidenceItem) -> None:
        """Notes that the server follows a rule."""
        self.found(rule, Verdict.PASS, sentence, *more)

    def warned(self, rule: str, sentence: str, *more: EvidenceItem) -> None:
        """Notes that the server does not follow a SHOULD."""
        self.found(rule, Verdict.WARNING, sentence, *more)

    def failed(self, rule: str, sentence: str, *more: EvidenceItem) -> None:
        """Notes that the server breaks a MUST."""
        self.found(rule, Verdict.FAIL, sentence, *more)

    def unseen(self, rule: str, sentence: str, *more: EvidenceItem) -> None:
        """Notes that the experiment does not show whether the server follows a rule."""
        self.found(rule, Verdict.NOT_OBSERVABLE, sentence, *more)

    def give_up(self, rule: str, why: str) -> NoReturn:
        """Ends the experiment, which cannot show whether the server follows a rule.

        Raises:
            Judged: always.
        """
        self.unseen(rule, why)
        raise Judged

    # -- calls -----------------------------------------------------------------------------------------------------

    async def begin(self, *, id: RequestId | None = None) -> Trace:
        """Calls the tool and waits until the call is written."""
        trace = self.connection.call(self.choice.name, self.choice.arguments, id=id)
        await trace.leaves()
        return trace

    async def halfway(self) -> tuple[Trace, float]:
        """Calls the tool and waits for the middle of its work; returns the call and that time, its time of cancel."""
        trace = await self.begin()
        await self.connection.quiet(trace.sent_at + self.mid)
        trace.cancel_at = self.connection.now()
        return trace, trace.cancel_at

    async def cancel(self, trace: Trace, after: float, reason: str = PROBE_REASON) -> Trace | None:
        """Cancels a call ``after`` seconds from its writing, and waits until the server has read the cancel.

        Returns a request sent behind the cancel, whose answer shows that the cancel was read.
        """
        connection = self.connection
        await connection.quiet(trace.sent_at + after)
        at = connection.cancel(trace, reason)
        if connection.server.modern_http:
            return None  # there is nothing to be seen on a stream that is closed
        if connection.server.transport == "http":  # two POSTs overtake each other
            await connection.until(lambda: CANCEL_METHOD in connection.accepted_at, at + TRANSIT)
        behind = connection.echo()
        await behind.answered(at + TRANSIT)
        return behind

    async def cancelled_call(
        self, after: float, reason: str = PROBE_REASON, *, id: RequestId | None = None
    ) -> tuple[Trace, Observation]:
        """Calls the tool, cancels it ``after`` seconds later, and watches it until nothing more is expected."""
        trace = await self.begin(id=id)
        behind = await self.cancel(trace, after, reason)
        return trace, await self.watched(trace, trace.sent_at + self.end(after), behind)

    def was_quicker(self, trace: Trace) -> bool:
        """Takes a call that had its result before the cancel for the uncancelled run: that one may have been cold."""
        ended_at = trace.responses[0].at if trace.responses else trace.cancel_at
        heard, took = trace.responses[:1], ended_at - trace.sent_at
        if ended_at >= trace.cancel_at or heard[0].kind != "result" or heard[0].is_error or took < TOO_QUICK:
            return False
        self.server.control = replace(self.control, duration=took, signs=trace.signs(ended_at))
        return True

    async def harm_each_other(self, count: int) -> bool:
        """Calls the tool several times at once; returns whether one of them fails, although none is cancelled."""
        connection = self.server.connect("calls side by side")
        try:
            await connection.open()
            calls = [connection.call(self.choice.name, self.choice.arguments) for _ in range(count)]
            until = connection.now() + count * self.control.length + self.server.patience
            heard = [await each.answered(until) for each in calls]
        finally:
            await connection.close()
        return any(each is None or each.fails for each in heard)

    async def survives(self, rule: str) -> None:
        """Makes the next call.

        Raises:
            Judged: the server does not answer it, so ``rule`` is broken, and judged so.
        """
        found = await self.next_call(rule)
        if found.verdict is Verdict.FAIL:
            self.told += found.evidence
            self.findings.append(replace(found, evidence=tuple(self.told)))
            raise Judged

    async def next_call(self, rule: str, what: str = "the next call", *, tool: bool = False) -> Finding:
        """Judges whether the server still answers and, with ``tool``, whether the tool works again."""
        connection, server, patience = self.connection, self.server, self.server.patience
        told: list[EvidenceItem] = []
        requests = [connection.ask]
        if tool and server.busy and self.control.duration is not None:
            arguments = self.choice.arguments if server.brief is None else server.brief
            requests.append(lambda: connection.call(self.choice.name, arguments))
        for request in requests:
            trace = request()
            heard = await trace.answered(connection.now() + patience)
            why = trace.waited() if heard is None else ""
            if heard is None:
                told = self._last_words(trace)
            elif heard.kind == "error" and trace.method == "tools/call":
                why = f"error {heard.code}"
                told.append(EvidenceItem(f"tools/call: {heard.words}", None, heard.frame))
            else:
                text = f"{trace.method} answered after {heard.at - trace.sent_at:.2f} s"
                told.append(EvidenceItem(text, None, heard.frame))
            if why:
                return judging.unanswered(rule, what, why, self.control, told)
            patience += self.control.length
        return Finding(rule, Verdict.PASS, f"{what} was answered", tuple(told))

    def _last_words(self, trace: Trace) -> list[EvidenceItem]:
        """Returns evidence of the reason why a request got no answer."""
        connection = trace.connection
        evidence = [EvidenceItem(f"{trace.method}: {trace.waited()}")]
        cancelled = [each for each in connection.traces.values() if each.cancel_at < math.inf]
        if connection.lost and cancelled:
            last = cancelled[-1]
            lag = connection.ended_at - last.cancel_at
            text = f"{connection.lost}, {lag:+.3f} s from the cancel"
            evidence = [EvidenceItem(text, connection.ended_at - last.sent_at)]
        said = [event.line for event in connection.store.log if isinstance(event, Stderr)]
        return evidence + [EvidenceItem(f"stderr: {line}") for line in said[-2:] if line.strip()]

    # -- what was seen ---------------------------------------------------------------------------------------------

    async def watched(self, trace: Trace, until: float, behind: Trace | None = None) -> Observation:
        """Listens until a given time, and then until the call is quiet; returns what was seen of it."""
        connection = self.connection
        await connection.quiet(until)
        more = judging.unrest(self.seen(trace, behind), self.control)
        if more and not connection.lost:
            await connection.quiet(connection.now() + min(more, self.control.length) + 0.01)
        return self.seen(trace, behind)

    def seen(self, trace: Trace, behind: Trace | None = None) -> Observation:
        """Returns the observation of a cancelled call; ``behind`` is the request sent behind its cancel."""
        sent, connection = trace.sent_at, trace.connection
        cancel_at, now = trace.cancel_at, connection.now()
        early = [each for each in trace.responses if each.at < cancel_at]
        late = [each for each in trace.responses if each.at >= cancel_at]
        foreign = trace.foreign_progress()
        progress = sorted([*trace.progress(), *foreign], key=lambda each: each.at)
        after = [each for each in progress if each.at > cancel_at]
        read = behind.responses[0].at - sent if behind is not None and behind.responses else None
        how = "cancelled by closing its stream" if trace.closed_stream else "cancelled by notification"
        quotes = [EvidenceItem(how, max(0.0, cancel_at - sent))]  # in one write they share a moment
        if read is not None:
            quotes.append(EvidenceItem("a request sent behind the cancel was answered", read))
        quotes += [trace.evidence(each) for each in (after if len(after) <= 2 else (after[0], after[-1]))]
        quotes += [trace.evidence(each) for each in early[:1]]
        before = connection.lost if connection.ended_at < cancel_at else ""
        if not trace.responses and trace.ended_at is not None and trace.ended_at < cancel_at:
            before = before or trace.failure
        answers = (
            LateResponse(each.words, each.at - sent, each.kind == "result", trace.evidence(each))
            for each in late
        )
        return Observation(
            cancel=cancel_at - sent,
            read=read,
            answers=tuple(answers),
            early=early[0].words if early else before,
            quotes=tuple(quotes),
            closed_stream=trace.closed_stream,
            signs=trace.signs(now),
            lost=connection.lost,
            foreign=foreign_token(foreign),
            watched=now - sent,
        )


def foreign_token(progress: Sequence[Arrival]) -> str:
    """Returns the first token that nobody gave, in quotes; empty for none."""
    return next((shown(each.of) for each in progress), "")
