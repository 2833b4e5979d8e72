"""The tools of an experiment: its calls, its cancels, and its findings."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, NoReturn

from mcp_tui.probe import judging
from mcp_tui.probe.arrivals import EXCERPT_CHARACTERS, Arrival
from mcp_tui.probe.judging import Answer, ControlRun, LateResponse, Observation
from mcp_tui.probe.raw_connection import CANCEL_METHOD, PROBE_REASON, ProbeConnection, Trace
from mcp_tui.probe.report import EvidenceItem, Finding, Verdict
from mcp_tui.probe.rules import RULES, Strength
from mcp_tui.probe.tool_choice import Choice
from mcp_tui.protocol.events import RequestId, Stderr
from mcp_tui.protocol.messages import Json, as_list, shown
from mcp_tui.protocol.states import TRANSIT
from mcp_tui.transport.base import TransportError

MID: Final = 0.4
"""Share of its work after which a call is cancelled."""


TOO_QUICK: Final = 0.3
"""Seconds below which a call cannot be cancelled in the middle of its work."""

HARM: Final = "calls of this tool fare so without any cancel, too"
"""The reason why the harm of a call that nobody cancelled shows nothing."""

NO_END: Final = "the tool did not end on its own"
"""The reason why nothing shows that a call was left alone."""

BUSY: Final = "the machine is busy"
"""How a finding begins that another attempt may better."""

ENDED: Final = "the call ended before the cancel"
"""The reason why an experiment shows nothing about a cancel."""

REACTION_SECONDS: Final = 0.25
"""Seconds in which a wrong reaction to a notification should show."""

CALLED_AGAIN: Final = ("", "P-04", "P-06", "P-07", "P-14", "P-28")
"""The rules that are about the next call, so that the tool is called however long it takes."""

COMPARED_SECONDS: Final = 3.0
"""Seconds that a call to compare with is given to be answered, beyond its time."""

LISTENED_SECONDS: Final = 0.35
"""Seconds to listen on: for those in which a message may be in transit, and some more."""


class Judged(Exception):
    """Ends an experiment early because its rule is judged already."""


class Trial:
    """One experiment at work on one connection: its calls, what it was ``told`` so far, and its ``findings``."""

    def __init__(self, connection: ProbeConnection) -> None:
        self.server = connection.server
        self.connection = connection
        self.evidence: list[EvidenceItem] = []
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

    def note(self, what: str, at: float | None = None, frame: str = "") -> None:
        """Notes an observation as evidence for all findings from here on."""
        self.evidence.append(EvidenceItem(what, at, frame))

    def found(self, rule: str, verdict: Verdict, sentence: str, *more: EvidenceItem) -> None:
        """Judges a rule, with the evidence noted so far and ``more``."""
        self.findings.append(Finding(rule, verdict, sentence, (*self.evidence, *more)))

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

    async def halfway(self, rule: str) -> tuple[Trace, float]:
        """Calls the tool and waits for the middle of its work; returns the call and that time, its time of cancel.

        Raises:
            Judged: the call had ended before, so ``rule`` cannot be judged.
        """
        trace = await self.begin()
        await self.connection.quiet(trace.sent_at + self.mid)
        self.in_flight(rule, trace)
        trace.cancel_at = self.connection.now()
        return trace, trace.cancel_at

    def in_flight(self, rule: str, *traces: Trace) -> None:
        """Checks that calls are in flight, and would be for a while: that one is cut short must be seen.

        Raises:
            Judged: one of them has ended, or is about to, so ``rule`` cannot be judged.
        """
        latest = 0.0 if self.control.answer is None else judging.early_until(self.control.answer)
        for trace in traces:
            if trace.over():
                ended = trace.responses[0].quoted if trace.responses else trace.trouble()
                self.give_up(rule, f"{ENDED} ({ended})")
            elapsed = self.connection.now() - trace.sent_at
            if self.mid < latest < elapsed:
                self.give_up(rule, f"{BUSY}: after {elapsed:.2f} s the call was about to end on its own")

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
        response, took = trace.responses[:1], ended_at - trace.sent_at
        if (
            ended_at >= trace.cancel_at
            or response[0].kind != "result"
            or response[0].is_error
            or took < TOO_QUICK
        ):
            return False
        signs, answer = trace.signs(ended_at), trace.answer()
        self.server.control = replace(self.control, duration=took, signs=signs, answer=answer)
        return True

    async def reaction(self, observation: Observation) -> Observation:
        """Returns what was seen of a call, with the cause of a result that came with its cancel, if that can be told.

        Where an uncancelled call takes far longer, now as before, the cancel caused it.
        """
        usual, answers = self.control.answer, observation.answers
        if usual is None or not judging.crossing(observation):
            return observation
        steps = sum(each <= answers[0].at for each in observation.times(judging.PROGRESS))
        answer = replace(usual, took=answers[0].at, steps=steps)
        if not judging.harm(answer, usual) or await self._is_usual(answer, 1):
            return observation
        return replace(observation, is_reaction=True)

    # -- comparing with calls that nobody cancels --------------------------------------------------------------------

    async def spared(self, rule: str, trace: Trace, count: int = 1, usual: Answer | None = None) -> str:
        """Waits for the answer of a call that nobody cancelled, one of ``count`` in flight; returns what is amiss with it.

        That is empty if it was answered as the uncancelled run was, or as ``usual``, the answer of the short form.

        Raises:
            Judged: such calls fare as badly when none is cancelled, so ``rule`` cannot be judged.
        """
        is_short, usual, now = usual is not None, usual or self.control.answer, trace.connection.now()
        assert usual is not None  # of a tool that never answers, no answer is awaited
        # A server that works on one thing at a time needs the time of all.
        await trace.answered(max(now, trace.sent_at + count * self.control.length) + self.server.patience)
        self.evidence += [trace.evidence(each) for each in trace.responses[:1]]
        answer = trace.answer()
        how = judging.amiss(answer, usual, trace.waited())
        arguments = self.server.brief if is_short else self.choice.arguments
        if not how or await self._takes_as_long_now(answer, usual, arguments or {}):
            return ""
        if not trace.connection.lost and await self._is_usual(answer, 0 if is_short else count):
            self.give_up(rule, HARM)
        return how

    async def untouched(self, rule: str, trace: Trace) -> str:
        """Waits for the end of a call on which a cancel must have no effect; returns in words what that did to it.

        A tool that never answers is watched for a while: that it answers is an effect, too.

        Raises:
            Judged: uncancelled calls fare so as well.
        """
        if self.control.answer is not None:
            return await self.spared(rule, trace)
        await trace.answered(trace.sent_at + self.end(self.mid))
        self.evidence += [trace.evidence(each) for each in trace.responses[:1]]
        return f"was answered with {trace.responses[0].quoted}" if trace.responses else ""

    async def are_usual(self, traces: Sequence[Trace], count: int) -> bool:
        """Returns whether each of these calls fares as calls do where none is cancelled, ``count`` side by side."""
        return all([await self._is_usual(each.answer(), count) for each in traces])

    async def _is_usual(self, answer: Answer | None, count: int) -> bool:
        """Returns whether a call fares as badly where none is cancelled: one of ``count`` side by side.

        With 0 it is the second of two in a row. Where even the first fails on a new connection, nothing works any more, and
        that is not usual.
        """
        control, memo, name = self.control, self.server.uncancelled, f"{count or 'two in a row'}"
        if name not in memo:
            memo[name] = await self._uncancelled(count)
        first, *others = memo[name]
        if first is None or (control.answer is not None and first.fails and not control.answer.fails):
            return False
        return any(each is None or (answer is not None and not judging.harm(answer, each)) for each in others)

    async def _takes_as_long_now(
        self, answer: Answer | None, usual: Answer, arguments: dict[str, Json]
    ) -> bool:
        """Returns whether a call whose length alone is unusual takes as long where none is cancelled, alone or beside one.

        How fast a machine is changes, and a cancelled call that works on takes its share of it, which is for P-03 to say.
        """
        if answer is None or not judging.differs_in_time(answer, usual):
            return False
        try:
            lone, long, beside = await self._answers(
                "how long a call takes now", [[arguments], [self.choice.arguments, arguments]]
            )
        except TransportError:
            return False
        like_it = (lone, beside, long) if arguments == self.choice.arguments else (lone, beside)
        return any(each is not None and not judging.harm(answer, each) for each in like_it)

    async def _uncancelled(self, count: int) -> list[Answer | None]:
        """Returns the answers of a lone call, and behind it those of the calls to compare with."""
        choice, server = self.choice, self.server
        try:
            if not count:
                again = choice.arguments if server.briefly is None else server.brief
                return await self._answers("two calls in a row", [[choice.arguments], [again]])
            found = await self._answers("calls side by side", [[choice.arguments] * count])
            if count == 1 or all(each is not None and not each.fails for each in found):
                return [found[0], *found]
            return [*await self._answers("a lone call", [[choice.arguments]]), *found]
        except TransportError:
            return [None]

    async def _answers(
        self, name: str, calls: Sequence[Sequence[dict[str, Json] | None]]
    ) -> list[Answer | None]:
        """Calls the tool on a connection of its own, each group when the one before was answered; returns the answers."""
        connection, found = self.server.connect(name), list[Answer | None]()
        try:
            await connection.open()
            for group in calls:
                traces = [connection.call(self.choice.name, each or {}) for each in group]
                until = connection.now() + len(group) * self.control.length + COMPARED_SECONDS
                for trace in traces:
                    await trace.answered(until)
                    found.append(trace.answer())
        finally:
            await connection.close()
        return found

    async def survives(self, rule: str) -> str:
        """Makes the next call; returns the words for its success.

        Raises:
            Judged: it is not answered as before, so ``rule`` is broken, and judged so, or cannot be judged.
        """
        found = await self.next_call(rule)
        if found.verdict is Verdict.PASS:
            return found.sentence
        self.evidence += found.evidence
        self.findings.append(replace(found, evidence=tuple(self.evidence)))
        raise Judged

    async def next_call(self, rule: str, what: str = "the next call", *, compares: bool = True) -> Finding:
        """Judges whether the server answers ``tools/list`` and a call of the tool as it did before any cancel.

        A tool that has no short form is not called for rules that are not about the next call, if the time is short.
        ``compares``: a failure is compared with calls of the tool without any cancel.
        """
        connection, server, control = self.connection, self.server, self.control
        listing = connection.ask()
        response = await listing.answered(connection.now() + server.patience)
        told = self._answered(listing)
        if response is None:
            how = f"was not answered: {listing.waited()}"
            return judging.harmed(rule, what, how, control, self._last_words(listing))
        if how := self._unlisted(response):
            return judging.harmed(rule, "tools/list", how, control, told)
        usual = server.briefly or control.answer
        if usual is None or not server.busy or not (server.has_time or rule in CALLED_AGAIN):
            return Finding(rule, Verdict.PASS, "tools/list was answered", told)
        arguments = self.choice.arguments if server.briefly is None else server.brief
        trace = connection.call(self.choice.name, arguments or {})
        await trace.answered(connection.now() + server.patience + usual.took)
        answer = trace.answer()
        told += self._answered(trace)
        how = judging.amiss(answer, usual, trace.waited())
        if not how or await self._takes_as_long_now(answer, usual, arguments or {}):
            return Finding(rule, Verdict.PASS, f"{what} was answered", told)
        if compares and not connection.lost and await self._is_usual(answer, 0):
            text = f"{what} {how}; so does the second of two calls without any cancel"
            return Finding(rule, Verdict.NOT_OBSERVABLE, text, told)
        return judging.harmed(rule, what, how, control, (*told, *self._last_words(trace)))

    def _unlisted(self, response: Arrival) -> str:
        """Returns what is wrong with the answer to ``tools/list``, compared with that before any cancel."""
        if response.fails:
            return f"was answered with {response.quoted}" if self.server.lists else ""
        # That of a long answer is not kept, but a list without tools is short.
        short = len(response.frame) < EXCERPT_CHARACTERS
        listed = as_list(response.result.get("tools"))
        return "names no tools any more" if short and not listed and self.server.tools else ""

    def _last_words(self, trace: Trace) -> tuple[EvidenceItem, ...]:
        """Returns evidence of the reason why a request got no answer; none if it got one."""
        connection = trace.connection
        if trace.responses:
            return ()
        evidence = [EvidenceItem(f"{trace.method}: {trace.waited()}")]
        cancelled = [each for each in connection.traces.values() if each.cancel_at < math.inf]
        if connection.lost and cancelled:
            last = cancelled[-1]
            lag = connection.ended_at - last.cancel_at
            text = f"{connection.lost}, {lag:+.3f} s from the cancel"
            evidence = [EvidenceItem(text, connection.ended_at - last.sent_at)]
        said = [event.line for event in connection.store.log if isinstance(event, Stderr)]
        return (*evidence, *(EvidenceItem(f"stderr: {line}") for line in said[-2:] if line.strip()))

    def _answered(self, trace: Trace) -> tuple[EvidenceItem, ...]:
        words = "{} was answered with {} after {:.2f} s"
        return tuple(
            EvidenceItem(words.format(trace.method, each.words, each.at - trace.sent_at), None, each.frame)
            for each in trace.responses[:1]
        )

    # -- what was seen ---------------------------------------------------------------------------------------------

    async def watched(self, trace: Trace, until: float, behind: Trace | None = None) -> Observation:
        """Listens until a given time, and then until the call is quiet; returns what was seen of it."""
        connection = self.connection
        await connection.quiet(until)
        more = judging.unrest(self.observation(trace, behind), self.control)
        if more and not connection.lost:
            await connection.quiet(connection.now() + min(more, self.control.length) + 0.01)
        return self.observation(trace, behind)

    def observation(self, trace: Trace, behind: Trace | None = None) -> Observation:
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
        is_unread = behind is not None and read is None and self.control.echoes
        if read is not None:
            quotes.append(EvidenceItem("a ping sent behind the cancel was answered, so it was read", read))
        elif is_unread:
            text = "a ping sent behind the cancel was not answered: nothing shows that it was read"
            quotes.append(EvidenceItem(text, now - sent))
        quotes += [trace.evidence(each) for each in (after if len(after) <= 2 else (after[0], after[-1]))]
        quotes += [trace.evidence(each) for each in early[:1]]
        before = connection.lost if connection.ended_at < cancel_at else ""
        if not trace.responses and trace.ended_at is not None and trace.ended_at < cancel_at:
            before = before or trace.failure
        answers = [
            LateResponse(each.words, each.at - sent, each.kind == "result", trace.evidence(each))
            for each in late
        ]
        # What every cancel brings is told of the ordinary one alone (P-01).
        for each in connection.nameless(cancel_at)[self.server.nameless :]:
            words = f"{each.words} without an id"
            told = EvidenceItem(
                f"{words}, {each.at - cancel_at:+.3f} s from the cancel", each.at - sent, each.frame
            )
            answers.append(LateResponse(words, each.at - sent, is_result=False, evidence=told))
        return Observation(
            cancel=cancel_at - sent,
            read=read,
            is_unread=is_unread,
            answers=tuple(answers),
            early=early[0].words if early else before,
            quotes=tuple(quotes),
            closed_stream=trace.closed_stream,
            signs=trace.signs(now),
            lost=connection.lost,
            foreign=foreign_token(foreign),
            unread=trace.unread(),
            watched=now - sent,
        )


def foreign_token(progress: Sequence[Arrival]) -> str:
    """Returns the first token that nobody gave, in quotes; empty for none."""
    return next((shown(each.of) for each in progress), "")
