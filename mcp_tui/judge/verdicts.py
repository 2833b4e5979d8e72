"""The verdicts on a client, from the observations of its runs.

No verdict rests on silence. That a client gave a call up is known only from its cancel, from a line of its output, or from
its next call on the same connection. Without any of these, nothing is judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from mcp_tui.judge.client_rules import BREAKS, CLIENT_RULES
from mcp_tui.judge.harm import LOST_ANSWER, Sign, harm, next_call, open_call, settled
from mcp_tui.judge.observed_run import (
    CONNECTION_END_SECONDS,
    REACHED_SHARE,
    SIGNALS,
    ObservedCall,
    ObservedQuestion,
    ObservedRun,
    control_name,
)
from mcp_tui.judge.sent_again import judged
from mcp_tui.judge.timelines import (
    answered_before,
    client_ended,
    crashed,
    ended,
    ends,
    given_up_after,
    harmed_timeline,
    lag,
    not_called,
    timeline,
    way,
    went_on_before,
)
from mcp_tui.probe.report import BAD, EvidenceItem, Finding, Verdict
from mcp_tui.probe.rules import Strength
from mcp_tui.protocol.events import Signal, Violation
from mcp_tui.protocol.messages import shown
from mcp_tui.protocol.responses import CROSSING_SECONDS
from mcp_tui.protocol.revisions import LATEST_HANDSHAKE, REVISIONS, Revision

Runs = Mapping[str, ObservedRun]
"""The runs that were made, by their names."""

MADE_FOR_PROGRAMS: Final = re.compile(
    r"\w(?:Error|Exception)\b|-32\d{3}|traceback|^\s*[\[{<]|^\W*(?:undefined|null|none|nan|true|false|\d+)?\W*$",
    re.IGNORECASE,
)
"""The form of a cancel's reason that was written for a program."""

CANCEL_SECONDS: Final = 3.0
"""Seconds in which a client has to cancel after its output says that it gave up."""

UNHURRIED_SECONDS: Final = 1.0
"""Seconds from which on a client counts as slow to answer a question."""

LATE_SHARE: Final = 1.25
"""The share of its maximum after which a client gave a call up late. A busy machine may add :data:`CANCEL_SECONDS`."""

TIE_SECONDS: Final = 0.1
"""Seconds within which the end of stdin and a signal count as simultaneous: they take different ways to a process."""

NEXT_SECONDS: Final = 5.0
"""The minimum of the next call's limit, in seconds."""

FEW: Final = 10
"""The minimum number of calls to judge the rule about ids."""


def judge(runs: Runs, revision: Revision, transport: str) -> dict[str, Finding]:
    """Returns the finding on each rule for which a run was made."""
    found = {rule: Judging(rule, runs, revision, transport).finding() for rule in CLIENT_RULES}
    return {rule: finding for rule, finding in found.items() if finding is not None}


class Judging:
    """The verdict on one client by one ``rule``."""

    def __init__(self, rule: str, runs: Runs, revision: Revision, transport: str) -> None:
        self.rule = rule
        self.runs = runs
        self.revision = revision
        self.transport = transport

    def finding(self) -> Finding | None:
        """Returns the finding on the rule; ``None`` if no run was made for it."""
        return {
            "K-01": lambda: self._of_call("limit", self._gives_up),
            "K-02": lambda: self._of_call("stop", self._stopped),
            "K-03": lambda: self._signals("every cancel was the right one"),
            "K-04": lambda: self._signals("every cancel named a request in progress, once"),
            "K-05": self._initialize,
            "K-06": lambda: self._violated() or self._of_call("task", self._task),
            "K-07": self._late_result,
            "K-08": self._late_progress,
            "K-09": self._crossing,
            "K-10": lambda: self._of_call("question", self._question),
            "K-11": lambda: self._of_call("unknown-cancel", self._unknown_cancel),
            "K-12": self._ids,
            "K-13": lambda: self._of_call("progress", self._progress),
            "K-14": self._exit,
            "K-15": self._left,
            "K-16": self._interrupted,
            "K-17": self._reason,
            "K-18": lambda: judged(self.runs, self.transport),
        }[self.rule]()

    def _of_call(self, name: str, judge: Callable[[ObservedRun, ObservedCall], Finding]) -> Finding | None:
        """Judges the run ``name`` by its call; returns ``None`` if it was not made."""
        observed = self.runs.get(name)
        if observed is None:
            return None
        call = observed.call
        return self._unseen(not_called(observed)) if call is None else judge(observed, call)

    # -- findings ------------------------------------------------------------------------------------------------

    def _found(self, verdict: Verdict, sentence: str, *evidence: EvidenceItem) -> Finding:
        return Finding(self.rule, verdict, sentence, evidence)

    def _passed(self, sentence: str, *evidence: EvidenceItem) -> Finding:
        return self._found(Verdict.PASS, sentence, *evidence)

    def _broken(self, sentence: str, *evidence: EvidenceItem) -> Finding:
        level = CLIENT_RULES[self.rule].clause(self.revision, self.transport).level
        return self._found(Verdict.FAIL if level is Strength.MUST else Verdict.WARNING, sentence, *evidence)

    def _unseen(self, sentence: str, *evidence: EvidenceItem) -> Finding:
        return self._found(Verdict.NOT_OBSERVABLE, sentence, *evidence)

    def _inapplicable(self, sentence: str) -> Finding:
        return self._found(Verdict.NOT_APPLICABLE, sentence)

    def _violated(self, runs: Runs | None = None) -> Finding | None:
        """Returns the finding that the rule is broken by violations that a tap sees; ``None`` without any."""
        told: list[EvidenceItem] = []
        for name, observed in (self.runs if runs is None else runs).items():
            since = observed.call.at if observed.call is not None else observed.began
            told += [
                EvidenceItem(f"{name}: {each.detail}", each.at - since)
                for each in observed.violations()
                if BREAKS.get(each.rule) == self.rule and not self._is_harm(name, each)
            ]
        return self._broken(told[0].what.partition(": ")[2], *told[:5]) if told else None

    def _is_harm(self, name: str, violation: Violation) -> bool:
        """Whether a client broke a rule because it never had the answer of a call, which is judged as harm."""
        observed = self.runs[name]
        calls = (each for each in (open_call(observed), next_call(observed)) if each is not None)
        lost = violation.rule == "cancel-over" and any(violation.id == each.id for each in calls)
        return lost and any(each.kind == LOST_ANSWER for each in self._harmed(name))

    # -- what a client gave up -----------------------------------------------------------------------------------

    def _gives_up(self, observed: ObservedRun, call: ObservedCall) -> Finding:
        """Judges whether a call that the client gave up was cancelled."""
        is_signalled = observed.experiment in SIGNALS
        told = list(timeline(observed, call))
        late = call.answered_at is not None and (call.cancelled_at or 0.0) > call.answered_at
        # The end of a client closes its streams as well, so a closed stream is a cancel only where it goes on after it.
        if call.cancelled_at is not None and not observed.cancels(call) and not is_signalled:
            return self._unseen("its stream was closed, and it made no next call: it may have ended", *told)
        if call.cancelled_at is not None and not late:
            after = f"{lag(call)} after the call"
            if is_signalled and observed.exit is not None and observed.acted_at is not None:
                after = f"after {max(0.0, call.cancelled_at - observed.acted_at):.2f} s"
            return self._passed(f"cancelled {after} {way(call)}", *told)
        sign, disconnected = observed.sign(call), observed.disconnected_at(call)
        if sign is None and disconnected is not None and answered_before(observed, call, disconnected):
            disconnected = None  # The client waited for the answer.
        # Ending the server ends its work, too: that is neither a cancel nor a forgotten call.
        # Only a client that continued, or waited, had time for a cancel.
        stayed = sign is not None and disconnected is not None and disconnected - sign[0] >= CANCEL_SECONDS
        had_time = disconnected is None or stayed or went_on_before(observed, call, disconnected)
        if sign is not None and had_time:
            sent = "its cancel after the answer" if late else "no cancel"
            return self._broken(f"{sign[1]}, and sent {sent}", *told)
        if disconnected is not None:
            what = "session" if observed.transport == "http" else "server"
            why = f"it ends the {what}, {disconnected - call.at:.2f} s after the call, and sends no cancel"
            return self._unseen(f"{why}: neither the one nor the other" if sign else why, *told)
        waited = (observed.ended_at or call.answered_at or call.at) - call.at
        text = f"no sign that the client gave up: no cancel, output, or next call in {waited:.0f} s"
        return self._unseen(f"{text}{ended(observed)}", *told)

    def _stopped(self, stop: ObservedRun, call: ObservedCall) -> Finding:
        found = self._gives_up(stop, call)
        # A client that cannot stop a call reaches its limit in this run as well, which is no stop.
        # The limit may include the time before the call, so that it seems shorter here.
        after = given_up_after(stop, call)
        limit = min(filter(None, (limit_of(self.runs), stop.timeout)), default=0.0)
        if found.verdict is Verdict.PASS and call.cancelled_at is not None:
            after = call.cancelled_at - call.at
        if after is not None and limit and after >= REACHED_SHARE * limit:
            what = "cancelled the call" if found.verdict is Verdict.PASS else "gave the call up"
            text = f"it {what} after {after:.2f} s, as at its limit: a stop was not seen"
            return self._unseen(text, *found.evidence)
        return found

    def _signals(self, sentence: str) -> Finding | None:
        if (broken := self._violated()) is not None or not self.runs:
            return broken
        cancelled = [
            (name, call)
            for name, observed in self.runs.items()
            for call in observed.calls
            if call.signal is not None and observed.cancels(call)
        ]
        if not cancelled:
            return self._unseen("it sent no cancel")
        if self.rule == "K-04":
            if needless := self._needless():
                return self._broken("it cancelled calls that had been answered", *needless[:5])
            closes = any(call.signal is Signal.STREAM_CLOSED for _, call in cancelled)
            cancelled = [each for each in cancelled if each[1].signal is Signal.NOTIFICATION]
            if not cancelled and closes:
                return self._inapplicable("it cancels by closing streams, which names no request")
        if not cancelled:
            return self._unseen("it sent no cancel that names a request")
        told = (
            EvidenceItem(f"{name}: cancelled {way(call)}", (call.cancelled_at or 0) - call.at)
            for name, call in cancelled
        )
        return self._passed(f"{sentence} ({len(cancelled)} seen)", *told)

    def _needless(self) -> list[EvidenceItem]:
        """Returns the cancels of calls that had their answer long before a limit: nothing else can be their reason.

        A tap assumes that a cancel soon after an answer crossed it. Here the client had no reason to give a call up.
        """
        return [
            EvidenceItem(f"{name}: {call.tool} was cancelled after its answer", call.cancelled_at - call.at)
            for name, observed in self.runs.items()
            for call in (*observed.calls, *observed.nexts)
            if call.signal is Signal.NOTIFICATION
            and call.answered_at is not None
            and call.cancelled_at is not None
            and call.answered_at < call.cancelled_at
            and call.cancelled_at - call.at
            < REACHED_SHARE * min(observed.timeout or NEXT_SECONDS, NEXT_SECONDS)
        ]

    def _initialize(self) -> Finding | None:
        if (broken := self._violated()) is not None:
            return broken
        observed = self.runs.get("initialize")
        if observed is None:
            return None
        # Nothing else was in progress, so the cancel of an unknown id was meant for initialize.
        stray = next((each for each in observed.violations() if each.rule == "cancel-unknown"), None)
        if stray is not None and observed.initialize_at is not None:
            at = EvidenceItem(stray.detail, stray.at - observed.initialize_at)
            return self._broken(f"{stray.detail}, while nothing but initialize was in progress", at)
        if observed.initialize_at is None:
            if observed.requests:
                return self._inapplicable("it speaks 2026-07-28 alone, which has no initialize")
            return self._unseen(not_called(observed))
        line, left = observed.gave_up, observed.abandoned_at
        marks = [] if line is None else [(line.at, line.words)]
        # The client started earlier servers only to find out their protocol version.
        over = [each.over_at for each in observed.servers[-1:]]
        over = [at for at in over if at and not (observed.stopped and at >= observed.stopped_at)]
        ended_at = None if observed.stopped else observed.ended_at
        marks += [(at, "it gave up") for at in (*over, left, ended_at) if at]
        if not marks:
            return self._unseen("no sign that the client gave up: it waited for the handshake to the end")
        gave_up, after = min(marks), min(marks)[0] - observed.began
        told = [EvidenceItem("it sent initialize", observed.initialize_at - observed.began)]
        if observed.servers:
            told.insert(0, EvidenceItem("it started the server", observed.servers[-1].began - observed.began))
        told.append(EvidenceItem(gave_up[1], after))
        if line is None and (crashed(observed) or after < REACHED_SHARE * observed.timeout):
            return self._unseen(f"it was not seen to reach its limit{ended(observed)}", *told)
        # What a client sent just before it closed the connection may be lost with that.
        if observed.transport == "http" and left is not None and left - gave_up[0] < CONNECTION_END_SECONDS:
            told.append(EvidenceItem("it closed its connection", left - observed.began))
            text = "it closed its connection as it gave up: a cancel may have been lost with that"
            return self._unseen(text, *told)
        return self._passed(f"it gave up {after:.1f} s after its start, and did not cancel initialize", *told)

    def _task(self, observed: ObservedRun, call: ObservedCall) -> Finding:
        if not call.is_task:
            return self._inapplicable("it asks for no task")
        if call.signal is Signal.TASKS_CANCEL:
            told = timeline(observed, call)
            return self._passed("the task was cancelled by tasks/cancel", *told)
        if observed.strays:
            text = f"it cancelled {observed.strays[0]}, which is not a task of the server"
            return self._broken(text, *timeline(observed, call))
        return self._unseen("it did not cancel the task", *timeline(observed, call))

    # -- what may do harm ----------------------------------------------------------------------------------------

    def _control(self, name: str) -> ObservedRun | None:
        """Returns the control run of a run: the same calls, with nothing that arrives late."""
        return self.runs.get(control_name(name))

    def _harmed(self, name: str) -> list[Sign]:
        """Returns the harm that was seen in a run."""
        observed = self.runs[name]
        return harm(observed, self._control(name))

    def _harmless(self, name: str, what: str) -> Finding | None:
        """Judges whether the judge's action did no harm."""
        return self._of_call(name, lambda observed, call: self._no_harm(name, what, observed, call))

    def _no_harm(self, name: str, what: str, observed: ObservedRun, call: ObservedCall) -> Finding:
        if observed.acted_at is None:
            closed = call.closed_at is not None or call.signal is Signal.STREAM_CLOSED
            kept = "no call was given up while its connection stayed"
            why = "it closed the stream of its call" if closed else kept
            return self._unseen(f"{why}: {what} could not come", *timeline(observed, call))
        found, worked = self._harmed(name), settled(observed, self._control(name))
        # A line of output about it is harm for K-07, but not for K-09 if the client continues to work.
        if self.rule == "K-09" and worked:
            found = [each for each in found if not each.kind.startswith("line ")]
        told = harmed_timeline(observed, call, what, found)
        if found:
            return self._broken(found[0].words, *told)
        if worked:
            return self._passed(f"nothing surfaced after {what}: {worked}", *told)
        made = "its next call, and nothing shows what came of that" if observed.went_on else "no next call"
        return self._unseen(f"nothing surfaced after {what}, but it made {made}", *told)

    def _late_result(self) -> Finding | None:
        limit = self._harmless("limit", "a result after the client gave up")
        return worst([limit, self._harmless("stop", "an error after the client gave up")])

    def _late_progress(self) -> Finding | None:
        observed = self.runs.get("late-progress")
        if observed is not None and observed.call is not None and not observed.call.reports:
            return self._inapplicable("its call asks for no progress")
        return self._harmless("late-progress", "progress after the client gave up")

    def _crossing(self) -> Finding | None:
        alone = self.runs.get("crossing, cancel first")
        if alone is not None and alone.call is not None and alone.call.cancelled_at is None:
            return self._unseen("it sent no cancel, so none crossed an answer")
        first = self._harmless("crossing, cancel first", "a result at the moment of the cancel")
        observed = self.runs.get("crossing, answer first")
        if observed is None or observed.acted_at is None or observed.call is None:
            return first
        # Without a cancel the answer was in time. Then it is no harm if the client makes no next call.
        found = [
            each
            for each in self._harmed("crossing, answer first")
            if not each.kind.startswith("line ")
            and (observed.call.cancelled_at is not None or each.kind != "no next call")
        ]
        if found:
            told = harmed_timeline(observed, observed.call, "a result just before the limit", found)
            return self._broken(found[0].words, *told)
        return first

    def _question(self, observed: ObservedRun, call: ObservedCall) -> Finding:
        if self._era(observed).modern:
            return self._inapplicable("a server of 2026-07-28 asks in its results, and takes nothing back")
        if not observed.asks:
            return self._inapplicable("it declares nothing that a server could ask for")
        return self._taken_back(observed, call)

    def _taken_back(self, observed: ObservedRun, call: ObservedCall) -> Finding:
        """Judges the client's answers to the questions that were taken back, which are all but the first one."""
        first, *others = observed.questions or [ObservedQuestion("", call.at)]
        if first.answered_at is None or not others:
            return self._unseen("it did not answer a question that was not taken back")
        took = first.answered_at - first.asked_at
        marks = [(first.answered_at, "it answered the first question")]
        for name, each in zip(("second", "third"), others, strict=False):
            if each.taken_back_at is not None:
                marks.append((each.taken_back_at, f"the {name} question was taken back"))
            if each.answered_at is not None:
                marks.append((each.answered_at, f"it answered the {name} question"))
        told = [EvidenceItem(what, at - call.at) for at, what in sorted(marks)]
        crossed = ""
        for name, each in zip(("second", "third"), others, strict=False):
            if each.answered_at is None or each.taken_back_at is None:
                continue
            if each.answered_at < each.taken_back_at:
                continue
            late, quick = each.answered_at - each.taken_back_at, each.answered_at - each.asked_at < took / 4
            text = f"it answered {late:.2f} s after the {name} question was taken back"
            if each.is_error and not first.is_error:
                return self._broken(f"{text}, with an error", *told)
            # An immediate answer of a client that is slow otherwise is a reaction to the withdrawal.
            if late > CROSSING_SECONDS or (quick and took >= UNHURRIED_SECONDS):
                return self._broken(text, *told)
            crossed = f"its answer crossed the cancel ({late:.2f} s after it)"
        if (found := self._harmed("question")) and observed.acted_at is not None:
            told = harmed_timeline(observed, call, "the second question was taken back", found)
            return self._broken(found[0].words, *told)
        # A slow client gets as long as its first answer took; otherwise its silence shows nothing.
        if observed.watched < took:
            text = "its call was over before it had the time in which it answered the first one"
            return self._unseen(text, *told)
        worked = settled(observed, self._control("question"))
        if crossed or not worked:
            text = crossed or "no question was answered, but it made no next call that shows that it works on"
            return self._unseen(text, *told)
        text = f"no question was answered that was taken back (watched {observed.watched:.1f} s): {worked}"
        return self._passed(text, *told)

    def _unknown_cancel(self, observed: ObservedRun, call: ObservedCall) -> Finding:
        if observed.acted_at is None:
            return self._unseen(not_called(observed))
        found = self._harmed("unknown-cancel")
        told = harmed_timeline(observed, call, "unknown ids were cancelled, and the call was answered", found)
        if found:
            return self._broken(found[0].words, *told)
        if worked := settled(observed, self._control("unknown-cancel")):
            return self._passed(f"it went on: {worked}", *told)
        return self._unseen("it made no next call that shows that it works on", *told)

    # -- ids and limits ------------------------------------------------------------------------------------------

    def _ids(self) -> Finding | None:
        # Over HTTP 2026-07-28 has no sessions: nothing tells two clients of one program apart, which both count ids from 1.
        sure = {name: each for name, each in self.runs.items() if not self._is_sessionless(each)}
        if (broken := self._violated(sure)) is not None:
            return broken
        if (broken := self._violated()) is not None:
            text = f"{broken.sentence}, perhaps by another client of the program"
            return self._unseen(text, *broken.evidence)
        if "ids" not in self.runs:
            return None
        calls, every = len(self.runs["ids"].nexts), sum(each.requests for each in self.runs.values())
        if calls < FEW:
            return self._unseen(f"it made {calls} calls where {FEW} are needed")
        told = (EvidenceItem(f"{name}: {each.requests} requests") for name, each in self.runs.items())
        text = f"{every} requests in {len(self.runs)} runs, none with an id or a token in use"
        return self._passed(text, *told)

    def _progress(self, observed: ObservedRun, call: ObservedCall) -> Finding:
        limit = limit_of(self.runs)
        if not call.reports:
            return self._inapplicable("its call asks for no progress")
        if not limit:
            return self._unseen("its limit without progress was not seen")
        after = given_up_after(observed, call)
        disconnected = min(filter(None, (observed.disconnected_at(call), call.closed_at)), default=None)
        if after is None and disconnected is not None and disconnected - call.at <= observed.watched:
            after = disconnected - call.at
        # The call may have been seen late, so that the limit looked shorter than the one that the client was given.
        limit = max(limit, observed.timeout)
        if after is not None and after < 1.5 * limit:
            # Progress that arrived too late resets nothing, which is no fault of the client.
            if observed.held_up > REACHED_SHARE * limit:
                return self._unseen(f"progress was held up for {observed.held_up:.1f} s: the machine is busy")
            return self._inapplicable(f"progress does not reset its limit: it gave up after {after:.1f} s")
        if after is not None and observed.maximum and after > LATE_SHARE * observed.maximum + CANCEL_SECONDS:
            text = f"it gave up after {after:.1f} s, though its maximum is {observed.maximum:g} s"
            return self._broken(text, *timeline(observed, call))
        if after is not None:
            text = f"progress reset its limit of {limit:.1f} s, and it gave up after {after:.1f} s"
            return self._passed(text, *timeline(observed, call))
        text = f"it waited for {observed.watched:.1f} s while progress came, and no maximum ended that"
        if observed.maximum:
            return self._broken(f"{text}, though its maximum is {observed.maximum:g} s")
        return self._unseen(f"{text} (--max-timeout S says which one it has)")

    # -- what is left --------------------------------------------------------------------------------------------

    def _exit(self) -> Finding | None:
        observed = self.runs.get("exit")
        if observed is None:
            return None
        if not observed.requests:
            return self._unseen(not_called(observed))
        if observed.stopped:
            return self._unseen("it did not exit on its own")
        if observed.exit:
            return self._unseen(f"no normal exit: it{ended(observed).removeprefix(', and')}")
        if self.transport == "http":
            return self._session(observed)
        told = tuple(ends(observed))
        if any(each.left for each in observed.servers):
            text = "it ended and left its server behind, which ignores the end of its stdin"
            return self._broken(text, *told)
        for each in observed.servers:
            closed, first = each.stdin_closed_at, min((at for at, _ in each.signals), default=each.ended_at)
            # The specification's order: stdin closed, then SIGTERM, then SIGKILL. A signal that was sent just after the
            # closing may arrive before it.
            if closed is None or (first is not None and first < closed - TIE_SECONDS):
                return self._broken("its server was ended before its stdin was closed", *told)
        signalled = "SIGTERM, then " if observed.servers[0].signals else ""
        return self._passed(f"the server was ended: stdin closed, then {signalled}killed", *told)

    def _session(self, observed: ObservedRun) -> Finding:
        """Judges over HTTP whether the client deleted each session that it opened."""
        if not observed.sessions and self._era(observed).modern:
            return self._inapplicable("2026-07-28 has no sessions")
        if not observed.sessions:
            return self._unseen(f"it opened no session{ended(observed)}")
        marks = [(observed.ended_at or observed.began, client_ended(observed))]
        for number, each in enumerate(observed.sessions, 1):
            marks.append((each.began, f"session {number} was used"))
            if each.deleted_at is not None:
                marks.append((each.deleted_at, f"session {number} was deleted"))
        told = [EvidenceItem(what, at - observed.began) for at, what in sorted(marks)]
        if left := sum(each.deleted_at is None for each in observed.sessions):
            of = f" ({left} of {len(observed.sessions)})" if len(observed.sessions) > 1 else ""
            return self._broken(f"it ended and did not delete its session{of}", *told)
        return self._passed("it deleted its session", *told)

    def _era(self, observed: ObservedRun) -> Revision:
        """Returns the protocol version of a run."""
        return REVISIONS.get(observed.revision, self.revision)

    def _is_sessionless(self, observed: ObservedRun) -> bool:
        """Returns whether the requests of a run name no session."""
        return self.transport == "http" and self._era(observed).modern

    def _left(self) -> Finding | None:
        if self.transport == "http" and not self.runs.keys().isdisjoint(SIGNALS):
            return self._inapplicable("over HTTP it starts no server")
        left: list[str] = []
        ended: list[str] = []
        why: list[str] = []
        told: list[EvidenceItem] = []
        for name, number in SIGNALS.items():
            observed = self.runs.get(name)
            if observed is None:
                continue
            if observed.call is None:
                why.append(not_called(observed))
            elif observed.stopped:
                why.append(f"it did not end at {number}")
            else:
                (left if any(each.left for each in observed.servers) else ended).append(number)
                # A client may have ended a first server before it got the signal.
                told += [
                    EvidenceItem(f"{'before ' * ((each.at or 0) < 0)}{number}: {each.what}", each.at)
                    for each in ends(observed)
                ]
        if left:
            text = "a server that ignores the end of its stdin, and SIGTERM"
            return self._broken(f"left behind at {', '.join(left)}: {text}", *told)
        if ended:
            also = f" ({'; '.join(why)})" if why else ""
            return self._passed(f"nothing was left at {', '.join(ended)}{also}", *told)
        return self._unseen(why[0]) if why else None

    def _interrupted(self) -> Finding | None:
        """Judges each signal separately: a cancel at one says nothing about the other."""
        judged = {name: self._of_call(name, self._gives_up) for name in ("sigint", "sigterm")}
        found = {name: finding for name, finding in judged.items() if finding is not None}
        cancels = [SIGNALS[name] for name, each in found.items() if each.verdict is Verdict.PASS]
        for name, finding in found.items():
            observed = self.runs[name]
            # It handled the signal and ended on its own, so it had time for the cancel that it sends at the other signal.
            handled = observed.exit is not None and observed.exit >= 0 and not observed.stopped
            ends_server = observed.call is not None and observed.disconnected_at(observed.call) is not None
            if cancels and handled and ends_server and finding.verdict is Verdict.NOT_OBSERVABLE:
                what = "session" if observed.transport == "http" else "server"
                text = f"it ended the {what} and sent no cancel, which it sends at {cancels[0]}"
                found[name] = self._broken(text, *finding.evidence)
        if not found:
            return None
        broken = worst([each for each in found.values() if each.verdict in BAD])
        # An interrupt is SIGINT. SIGTERM decides only if the client was not judged by SIGINT.
        shown = broken or next(iter(found.values()))
        text = "; ".join(f"{SIGNALS[name]}: {each.sentence}" for name, each in found.items())
        told = [
            EvidenceItem(f"{SIGNALS[name]}: {item.what}", item.at)
            for name, each in found.items()
            for item in each.evidence
        ]
        return self._found(shown.verdict, text, *told)

    def _reason(self) -> Finding | None:
        cancelled = [
            call
            for observed in self.runs.values()
            for call in observed.calls
            if call.cancelled_at is not None and call.signal is Signal.NOTIFICATION
        ]
        if not self.runs:
            return None
        if not cancelled:
            return self._unseen("no cancel was seen that can carry a reason")
        reasons = [call.reason for call in cancelled]
        told = [
            EvidenceItem(f"a cancel with {shown(call.reason)}", (call.cancelled_at or 0) - call.at)
            for call in cancelled
            if call.reason is not None
        ]
        odd = next((each for each in reasons if each is not None and not isinstance(each, str)), None)
        if odd is not None:
            return self._broken(f"the reason is not text: {shown(odd)}", *told)
        texts = list(dict.fromkeys(str(each) for each in reasons if each))
        raw = next((each for each in texts if MADE_FOR_PROGRAMS.search(each)), None)
        if raw is not None:
            return self._broken(f"the reason is an error for programs: {shown(raw)}", *told)
        if not texts:
            return self._unseen("its cancels give no reason")
        return self._passed(", ".join(map(shown, texts[:3])), *told)


def limit_of(runs: Runs) -> float:
    """Returns the seconds after which the client gives a call up by itself; 0 if that was not seen."""
    observed = runs.get("limit")
    after = None if observed is None or observed.call is None else given_up_after(observed, observed.call)
    return after or 0.0


def worst(found: list[Finding | None]) -> Finding | None:
    """Returns the finding that says most: what is broken, then what passed, then what was not seen."""
    order = (Verdict.FAIL, Verdict.WARNING, Verdict.PASS, Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE)
    made = (each for each in found if each is not None)
    return min(made, key=lambda each: order.index(each.verdict), default=None)


def revision_of(runs: Runs) -> Revision:
    """Returns the protocol version that the client speaks, by the newest that was seen."""
    spoken = {observed.revision for observed in runs.values()}
    known = [each for name, each in REVISIONS.items() if name in spoken]
    return max(known, key=lambda each: each.name, default=LATEST_HANDSHAKE)
