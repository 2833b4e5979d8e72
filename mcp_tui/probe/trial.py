"""The methods that experiments use: calls, cancels, observations, and findings."""

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
"""The share of its work after which a call is cancelled."""


TOO_QUICK: Final = 0.3
"""The seconds below which a call is too short to be cancelled in the middle of its work."""

HARM: Final = "calls of this tool fare so without any cancel, too"
"""The reason why harm to an uncancelled call shows nothing."""

NO_END: Final = "the tool did not end on its own"
"""The reason why nothing shows that a call was unharmed."""

BUSY: Final = "the machine is busy"
"""The start of a finding that causes another attempt."""

ENDED: Final = "the call ended before the cancel"
"""The reason why an experiment shows nothing about a cancel."""

REACTION_SECONDS: Final = 0.25
"""The seconds in which a wrong reaction to a notification should arrive."""

CALLED_AGAIN: Final = ("", "P-04", "P-06", "P-07", "P-14", "P-28")
"""The rules about the next call, for which the tool is called even if it takes long."""

COMPARED_SECONDS: Final = 3.0
"""The seconds to wait for the answer of a comparison call, in addition to its usual time."""

LISTENED_SECONDS: Final = 0.35
"""The seconds to keep listening: slightly longer than a message may be in transit."""


class Judged(Exception):
    """Ends an experiment early, because its rule has been judged."""


class Trial:
    """One experiment on one connection: its calls, the ``evidence`` so far, and its ``findings``."""

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
        """The slow tool. Only experiments that need one may ask for it."""
        assert self.server.choice is not None
        return self.server.choice

    @property
    def control(self) -> ControlRun:
        """The uncancelled run of the tool."""
        return self.server.control

    @property
    def short(self) -> dict[str, Json]:
        """The arguments of a short call of the tool, or the usual ones if it has no short form."""
        return self.choice.arguments if self.server.brief is None else self.server.brief

    @property
    def short_answer(self) -> Answer | None:
        """The answer to :attr:`short`; ``None`` if the tool never answers."""
        return self.server.briefly or self.control.answer

    @property
    def mid(self) -> float:
        """The seconds after which a call is cancelled mid-work."""
        control = self.control
        # If the run did not end, its length is the time for which it was watched; then the cancel is sent after at most 1 s.
        share = MID if control.duration is not None else min(MID, 1.0 / max(control.watched, 1.0))
        return judging.middle(control, share)

    def end(self, since: float = 0.0) -> float:
        """Returns the seconds after a call at which no more message of it is expected.

        ``since`` is the time of the cancel, in seconds after the call.
        """
        control = self.control
        quiet = judging.quiet(control) + LISTENED_SECONDS
        if control.duration is None:
            return since + max(3.0, quiet)
        return max(control.length + max(0.5, 0.1 * control.length), since + quiet)

    # -- findings ---------------------------------------------------------------------------------------------

    def level(self, rule: str) -> Strength:
        """Returns the level of a rule for this server."""
        return RULES[rule].clause(self.server.revision, self.server.transport).level

    def note(self, what: str, at: float | None = None, frame: str = "") -> None:
        """Adds an observation to the evidence of all later findings."""
        self.evidence.append(EvidenceItem(what, at, frame))

    def found(self, rule: str, verdict: Verdict, sentence: str, *more: EvidenceItem) -> None:
        """Adds a finding, with the evidence so far and ``more``."""
        self.findings.append(Finding(rule, verdict, sentence, (*self.evidence, *more)))

    def passed(self, rule: str, sentence: str, *more: EvidenceItem) -> None:
        """Adds the finding that the server follows a rule."""
        self.found(rule, Verdict.PASS, sentence, *more)

    def warned(self, rule: str, sentence: str, *more: EvidenceItem) -> None:
        """Adds the finding that the server does not follow a SHOULD."""
        self.found(rule, Verdict.WARNING, sentence, *more)

    def failed(self, rule: str, sentence: str, *more: EvidenceItem) -> None:
        """Adds the finding that the server breaks a MUST."""
        self.found(rule, Verdict.FAIL, sentence, *more)

    def unseen(self, rule: str, sentence: str, *more: EvidenceItem) -> None:
        """Adds the finding that a rule is not observable."""
        self.found(rule, Verdict.NOT_OBSERVABLE, sentence, *more)

    def harmed(self, rule: str, what: str, how: str) -> None:
        """Adds the finding that a call failed that must work; ``how`` is the rest of the sentence about the call."""
        self.findings.append(judging.harmed(rule, what, how, self.control, self.evidence))

    def give_up(self, rule: str, why: str) -> NoReturn:
        """Ends the experiment with the finding that a rule is not observable.

        Raises:
            Judged: always.
        """
        self.unseen(rule, why)
        raise Judged

    # -- calls -----------------------------------------------------------------------------------------------------

    async def begin(self, *, id: RequestId | None = None) -> Trace:
        """Calls the tool, and waits until the call is written."""
        trace = self.connection.call(self.choice.name, self.choice.arguments, id=id)
        await trace.leaves()
        return trace

    async def halfway(self, rule: str) -> tuple[Trace, float]:
        """Calls the tool, and waits until the middle of its work; returns the call and that time, as its time of cancel.

        Raises:
            Judged: the call has ended, or is about to, so ``rule`` cannot be judged.
        """
        trace = await self.begin()
        await self.connection.quiet(trace.sent_at + self.mid)
        self.in_flight(rule, trace)
        trace.cancel_at = self.connection.now()
        return trace, trace.cancel_at

    def in_flight(self, rule: str, *traces: Trace) -> None:
        """Checks that calls are in flight, and not about to end, so that an effect of the cancel is observable.

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
        """Cancels a call ``after`` seconds after it was written, and waits until the server has read the cancel.

        Returns a request sent after the cancel, whose answer shows that the cancel was read; ``None`` over HTTP in
        2026-07-28.
        """
        connection = self.connection
        await connection.quiet(trace.sent_at + after)
        at = connection.cancel(trace, reason)
        if connection.server.modern_http:
            return None  # nothing can be observed on a closed stream
        if connection.server.transport == "http":  # the next POST must not overtake the cancel
            await connection.until(lambda: CANCEL_METHOD in connection.accepted_at, at + TRANSIT)
        behind = connection.echo()
        await behind.answered(at + TRANSIT)
        return behind

    async def cancelled_call(
        self, after: float, reason: str = PROBE_REASON, *, id: RequestId | None = None
    ) -> tuple[Trace, Observation]:
        """Calls the tool, cancels the call ``after`` seconds later, and watches it until no more message is expected."""
        trace = await self.begin(id=id)
        behind = await self.cancel(trace, after, reason)
        return trace, await self.watched(trace, trace.sent_at + self.end(after), behind)

    def was_quicker(self, trace: Trace) -> bool:
        """Returns whether a call had its result before the cancel, and then uses it as the uncancelled run.

        The first run may have been slower than later ones.
        """
        response = next(iter(trace.responses), None)
        if response is None or response.fails or response.at >= trace.cancel_at:
            return False
        took, signs = response.at - trace.sent_at, trace.signs(response.at)
        if took >= TOO_QUICK:
            self.server.control = replace(self.control, duration=took, signs=signs, answer=trace.answer())
        return took >= TOO_QUICK

    async def reaction(self, observation: Observation) -> Observation:
        """Returns an observation, in which a result that arrived with the cancel may be marked as its effect.

        The cancel caused the result if uncancelled calls take much longer, both before and now.
        """
        usual, answers = self.control.answer, observation.answers
        if usual is None or not judging.crossing(observation):
            return observation
        steps = sum(each <= answers[0].at for each in observation.times(judging.PROGRESS))
        answer = replace(usual, took=answers[0].at, steps=steps)
        if not judging.harm(answer, usual) or await self._is_usual(answer, 1):
            return observation
        return replace(observation, is_reaction=True)

    # -- comparisons with uncancelled calls --------------------------------------------------------------------

    async def spared(self, rule: str, trace: Trace, count: int = 1, usual: Answer | None = None) -> str:
        """Waits for the answer of an uncancelled call, one of ``count`` in flight; returns the fault in the answer as a
        text.

        The text is empty if the answer is like that of the uncancelled run, or like ``usual``, the answer of the short form.

        Raises:
            Judged: without any cancel such calls have the same fault, so ``rule`` cannot be judged.
        """
        is_short, usual, now = usual is not None, usual or self.control.answer, trace.connection.now()
        assert usual is not None  # the caller does not wait for a tool that never answers
        # A server that handles one call at a time needs the time of all calls.
        await trace.answered(max(now, trace.sent_at + count * self.control.length) + self.server.patience)
        self.evidence += [trace.evidence(each) for each in trace.responses[:1]]
        answer = trace.answer()
        how = judging.amiss(answer, usual, trace.waited())
        if not how or await self._is_slow_now(
            answer, usual, self.short if is_short else self.choice.arguments
        ):
            return ""
        if not trace.connection.lost and await self._is_usual(answer, 0 if is_short else count):
            self.give_up(rule, HARM)
        return how

    async def untouched(self, rule: str, trace: Trace) -> str:
        """Waits for the end of a call on which a cancel must have no effect; returns the effect as a text, empty for none.

        A tool that never answers is watched for a while; an answer is then an effect too.

        Raises:
            Judged: uncancelled calls have the same fault.
        """
        if self.control.answer is not None:
            return await self.spared(rule, trace)
        await trace.answered(trace.sent_at + self.end(self.mid))
        self.evidence += [trace.evidence(each) for each in trace.responses[:1]]
        return f"was answered with {trace.responses[0].quoted}" if trace.responses else ""

    async def are_usual(self, traces: Sequence[Trace], count: int) -> bool:
        """Returns whether the answer of each call is usual for ``count`` parallel calls without any cancel."""
        return all([await self._is_usual(each.answer(), count) for each in traces])

    async def _is_usual(self, answer: Answer | None, count: int) -> bool:
        """Returns whether an answer is usual without any cancel, for one of ``count`` parallel calls.

        With a ``count`` of 0 it is compared with the second of two consecutive calls. If even the first call on a new
        connection fails, the server no longer works at all, and the answer is not usual.
        """
        control, memo, name = self.control, self.server.uncancelled, f"{count or 'two in a row'}"
        if name not in memo:
            memo[name] = await self._uncancelled(count)
        first, *others = memo[name]
        if first is None or (control.answer is not None and first.fails and not control.answer.fails):
            return False
        return any(each is None or (answer is not None and not judging.harm(answer, each)) for each in others)

    async def _is_slow_now(self, answer: Answer | None, usual: Answer, arguments: dict[str, Json]) -> bool:
        """Returns whether only the length of a call is unusual, and calls without any cancel take as long now.

        The speed of the machine changes, and a cancelled call that keeps working slows others down, which P-03 judges.
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
        """Returns the answer of a single call, followed by the answers of the comparison calls."""
        choice = self.choice
        try:
            if not count:
                return await self._answers("two calls in a row", [[choice.arguments], [self.short]])
            found = await self._answers("calls side by side", [[choice.arguments] * count])
            if count == 1 or all(each is not None and not each.fails for each in found):
                return [found[0], *found]
            return [*await self._answers("a lone call", [[choice.arguments]]), *found]
        except TransportError:
            return [None]

    async def _answers(self, name: str, calls: list[list[dict[str, Json]]]) -> list[Answer | None]:
        """Calls the tool on a new connection, one group of parallel calls after the other; returns the answers."""
        connection, found = self.server.connect(name), list[Answer | None]()
        try:
            await connection.open()
            for group in calls:
                traces = [connection.call(self.choice.name, each) for each in group]
                until = connection.now() + len(group) * self.control.length + COMPARED_SECONDS
                for trace in traces:
                    await trace.answered(until)
                    found.append(trace.answer())
        finally:
            await connection.close()
        return found

    async def survives(self, rule: str) -> str:
        """Makes the next call; returns a text about its success.

        Raises:
            Judged: the call failed, so ``rule`` is broken or cannot be judged; the finding is added.
        """
        found = await self.next_call(rule)
        if found.verdict is Verdict.PASS:
            return found.sentence
        self.evidence += found.evidence
        self.findings.append(replace(found, evidence=tuple(self.evidence)))
        raise Judged

    async def next_call(self, rule: str, what: str = "the next call", *, compares: bool = True) -> Finding:
        """Judges whether the server answers ``tools/list`` and a call of the tool as it did before any cancel.

        If time is short, a tool without a short form is only called for rules about the next call. ``compares`` says
        whether a failure is compared with calls without any cancel.
        """
        connection, server, control = self.connection, self.server, self.control
        listing = connection.ask()
        response = await listing.answered(connection.now() + server.patience)
        evidence = self._answered(listing)
        if response is None:
            how = f"was not answered: {listing.waited()}"
            return judging.harmed(rule, what, how, control, self._last_words(listing))
        if how := self._unlisted(response):
            return judging.harmed(rule, "tools/list", how, control, evidence)
        usual = self.short_answer
        if usual is None or not server.busy or not (server.has_time or rule in CALLED_AGAIN):
            return Finding(rule, Verdict.PASS, "tools/list was answered", evidence)
        trace = connection.call(self.choice.name, self.short)
        await trace.answered(connection.now() + server.patience + usual.took)
        answer = trace.answer()
        evidence += self._answered(trace)
        how = judging.amiss(answer, usual, trace.waited())
        if not how or await self._is_slow_now(answer, usual, self.short):
            return Finding(rule, Verdict.PASS, f"{what} was answered", evidence)
        if compares and not connection.lost and await self._is_usual(answer, 0):
            text = f"{what} {how}; so does the second of two calls without any cancel"
            return Finding(rule, Verdict.NOT_OBSERVABLE, text, evidence)
        return judging.harmed(rule, what, how, control, (*evidence, *self._last_words(trace)))

    def _unlisted(self, response: Arrival) -> str:
        """Returns the fault in the answer to ``tools/list``, compared with that before any cancel; empty for none."""
        if response.fails:
            return f"was answered with {response.quoted}" if self.server.lists else ""
        # The results of long answers are not kept, but a list without tools is short.
        short = len(response.frame) < EXCERPT_CHARACTERS
        listed = as_list(response.result.get("tools"))
        return "names no tools any more" if short and not listed and self.server.tools else ""

    def _last_words(self, trace: Trace) -> tuple[EvidenceItem, ...]:
        """Returns evidence of the reason why a request got no answer; none if it was answered."""
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
        lines = [event.line for event in connection.store.log if isinstance(event, Stderr)]
        return (*evidence, *(EvidenceItem(f"stderr: {line}") for line in lines[-2:] if line.strip()))

    def _answered(self, trace: Trace) -> tuple[EvidenceItem, ...]:
        words = "{} was answered with {} after {:.2f} s"
        return tuple(
            EvidenceItem(words.format(trace.method, each.words, each.at - trace.sent_at), None, each.frame)
            for each in trace.responses[:1]
        )

    # -- observations ---------------------------------------------------------------------------------------------

    async def watched(self, trace: Trace, until: float, behind: Trace | None = None) -> Observation:
        """Listens until a given time, and then until the call is quiet; returns the observation."""
        connection = self.connection
        await connection.quiet(until)
        more = judging.unrest(self.observation(trace, behind), self.control)
        if more and not connection.lost:
            await connection.quiet(connection.now() + min(more, self.control.length) + 0.01)
        return self.observation(trace, behind)

    def observation(self, trace: Trace, behind: Trace | None = None) -> Observation:
        """Returns the observation of a cancelled call so far; ``behind`` is the request sent after the cancel."""
        sent, connection = trace.sent_at, trace.connection
        cancel_at, now = trace.cancel_at, connection.now()
        early = [each for each in trace.responses if each.at < cancel_at]
        foreign = trace.foreign_progress()
        progress = sorted([*trace.progress(), *foreign], key=lambda each: each.at)
        after = [each for each in progress if each.at > cancel_at]
        read = behind.responses[0].at - sent if behind is not None and behind.responses else None
        how = "cancelled by closing its stream" if trace.closed_stream else "cancelled by notification"
        quotes = [EvidenceItem(how, max(0.0, cancel_at - sent))]  # in one write, both have the same time
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
            for each in trace.responses
            if each.at >= cancel_at
        ]
        # Responses without an id after every cancel are only reported for the ordinary cancel (P-01).
        for each in connection.nameless(cancel_at)[self.server.nameless :]:
            words, at = f"{each.words} without an id", each.at - sent
            text = f"{words}, {each.at - cancel_at:+.3f} s from the cancel"
            answers.append(LateResponse(words, at, False, EvidenceItem(text, at, each.frame)))
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
    """Returns the token of the first message, as text; empty without a message."""
    return next((shown(each.of) for each in progress), "")
