"""Pure functions that derive verdicts from the observation of a cancelled call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Final

from mcp_tui.probe.report import BAD, EvidenceItem, Finding, Verdict
from mcp_tui.probe.rules import SURVIVES, Strength
from mcp_tui.protocol.evidence import quiet_after
from mcp_tui.protocol.states import TRANSIT
from mcp_tui.protocol.values import fact, frozen

SOME: Final = 2
"""The number of signs that prove work after a cancel. A single sign may belong to the step in which the tool noticed it."""

END: Final = 0.85
"""The share of an uncancelled run after which work counts as finished."""

BEATS: Final = "the heartbeat"
PROGRESS: Final = "progress"
LOG: Final = "the log"
"""The names of the signs of work: changes of the heartbeat file, progress, and log messages."""

HEARTBEAT: Final = (
    "mcp-tui probe --heartbeat FILE shows whether the tool stops, if it writes to FILE while it works"
)
"""Advice for tools without a sign of work. It names its command, because other commands quote it."""

EARLY: Final = 0.75
EARLY_SECONDS: Final = 0.15
"""An answer is too early before this share of an uncancelled run, and at least this many seconds before its end."""

LATE: Final = 2.0
LATE_SECONDS: Final = 1.5
"""An answer is too late after this multiple of an uncancelled run plus this many seconds."""


@frozen
class Answer:
    """The answer of a call, for comparisons with similar calls.

    ``took`` is the seconds from the call to the answer. ``words`` describes the answer, and quotes an error. ``fails`` is
    true unless the answer is a result without ``isError``. ``type`` is the type of a result that is not complete.
    ``is_filled`` says whether the answer has content; ``steps`` counts its progress messages.
    """

    took: float
    words: str
    fails: bool = False
    type: str = ""
    is_filled: bool = True
    steps: int = 0

    def in_words(self) -> str:
        """Returns the answer with its time: ``result after 1.20 s``."""
        return f"{self.words} after {self.took:.2f} s"


def harm(answer: Answer, usual: Answer) -> str:
    """Returns the harm in an answer as a text; empty if there is none.

    ``usual`` is the answer of the same call without any cancel. An error, missing content, or a very different length is
    harm.
    """
    if answer.fails and not usual.fails:
        return answer.in_words()
    if answer.type != usual.type:
        return f"{answer.type or 'result'} after {answer.took:.2f} s"
    if usual.is_filled and not answer.is_filled and not answer.fails:
        return f"a result without content after {answer.took:.2f} s"
    early = answer.took < early_until(usual)
    # On a busy machine the lengths of calls differ. A call that reported every step was not cut short.
    is_whole = usual.steps > SOME and answer.steps >= usual.steps - 1
    if (early and not is_whole) or answer.took > LATE * usual.took + LATE_SECONDS:
        return answer.in_words()
    if usual.steps > SOME and 2 * answer.steps < usual.steps:
        return f"{answer.in_words()}, with {_messages(answer.steps)} instead of {usual.steps}"
    return ""


def early_until(usual: Answer) -> float:
    """Returns the seconds after a call before which its end is too early."""
    return min(EARLY * usual.took, usual.took - EARLY_SECONDS)


def differs_in_time(answer: Answer, usual: Answer) -> bool:
    """Returns whether the only harm in an answer is its length."""
    return bool(harm(answer, usual)) and not harm(replace(answer, took=usual.took), usual)


def amiss(answer: Answer | None, usual: Answer, waited: str) -> str:
    """Returns the fault in the answer of a call that was not cancelled, as the rest of a sentence; empty if there is none.

    ``waited`` is the reason if there is no answer.
    """
    if answer is None:
        return f"was not answered: {waited}"
    harmed = harm(answer, usual)
    return f"was answered with {harmed} (before any cancel: {usual.in_words()})" if harmed else ""


@frozen
class LateResponse:
    """A response that arrived after the cancel, ``at`` seconds after the call."""

    words: str
    at: float
    is_result: bool
    evidence: EvidenceItem


@fact
class WatchedCall:
    """The observation of a call for ``watched`` seconds; all times are seconds since the call was written.

    ``signs`` has the times of each observable sign of work, by its name. ``lost`` is the reason if the connection ended by
    itself. ``foreign`` is an unknown progress token that may belong to the call; empty for none. ``unread`` has times and
    descriptions of received data that no client reads.
    """

    foreign: str = ""
    unread: tuple[tuple[float, str], ...] = ()
    watched: float = 0.0
    signs: dict[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    lost: str = ""

    def times(self, sign: str) -> tuple[float, ...]:
        """Returns the times of a sign of work; none if it is not observable."""
        return self.signs.get(sign, ())


@fact
class ControlRun(WatchedCall):
    """The uncancelled run of the tool. ``duration`` is ``None`` if it did not end.

    ``answer`` is its answer, if any. ``blocks`` says whether the server answered no other request while the tool worked.
    ``echoes`` says whether the server answers the lightest request, which is sent after each cancel.
    """

    duration: float | None
    answer: Answer | None = None
    blocks: bool = False
    echoes: bool = True

    @property
    def length(self) -> float:
        """The duration in seconds or, if the run did not end, the seconds for which it was watched."""
        return self.watched if self.duration is None else self.duration


@fact
class Observation(WatchedCall):
    """The observation of a call that was cancelled ``cancel`` seconds after it was written."""

    cancel: float
    read: float | None = None
    """The time at which the server answered a request sent after the cancel, which shows that it had read the cancel."""
    is_unread: bool = False
    """Whether the server did not answer that request, so that nothing shows that it has read the cancel."""
    answers: tuple[LateResponse, ...] = ()
    early: str = ""
    """The answer, or the reason of the end, if the call ended before the cancel; then nothing was cancelled."""
    quotes: tuple[EvidenceItem, ...] = ()
    """Messages worth quoting, such as the last progress."""
    closed_stream: bool = False
    """Whether the cancel closed the call's stream, so that no later message of the call can arrive."""
    is_reaction: bool = False
    """Whether a result that arrived with the cancel is known to be its effect."""

    @property
    def due(self) -> float:
        """The time after which no message sent before the cancel can still be in transit."""
        return self.cancel + TRANSIT

    def unseen(self, rule: str, sentence: str) -> Finding:
        """Returns the finding that a rule is not observable here."""
        return Finding(rule, Verdict.NOT_OBSERVABLE, sentence, self.quotes)

    def late(self, sign: str) -> list[float]:
        """Returns the times of the signs that were sent after the cancel.

        These are signs after :attr:`due` or, if there are at least :data:`SOME`, all signs after the server had read the
        cancel.
        """
        read = _after(self.times(sign), self.due if self.read is None else min(self.read, self.due))
        return read if len(read) >= SOME else _after(self.times(sign), self.due)


def longest_gap(*runs: WatchedCall) -> float:
    """Returns the longest time between two signs of work, in seconds: of progress, or else of log messages."""
    return max(longest(run.times(PROGRESS) or run.times(LOG)) for run in runs)


def longest(moments: Sequence[float]) -> float:
    """Returns the longest time between two consecutive moments, in seconds."""
    return max((late - early for early, late in pairwise(moments)), default=0.0)


def quiet(control: ControlRun, *runs: WatchedCall) -> float:
    """Returns the seconds without a sign of work after which a call is quiet: clearly more than any observed gap."""
    return quiet_after(longest_gap(control, *runs))


def settling(control: ControlRun) -> float:
    """Returns the seconds after a cancel in which a sign of work may belong to the current step of the tool."""
    return max(1.25 * longest_gap(control), min(TRANSIT, 0.35 * control.length))


def middle(control: ControlRun, share: float) -> float:
    """Returns the time at which to cancel a call: at a ``share`` of its uncancelled run, or slightly earlier.

    The time is as far as possible from signs of work, because a sign that arrives with the cancel may have crossed it.
    """
    at = share * control.length
    signs = control.times(PROGRESS) or control.times(LOG)
    middles = ((early + late) / 2 for early, late in pairwise(signs))
    before = max((each for each in middles if each <= at), default=at)
    return max(at, before, key=lambda moment: min((abs(moment - sign) for sign in signs), default=0.0))


def _after(moments: Sequence[float], since: float) -> list[float]:
    return [moment for moment in moments if moment > since]


def _bad(level: Strength) -> Verdict:
    return Verdict.FAIL if level is Strength.MUST else Verdict.WARNING


def known(found: Finding, *runs: WatchedCall) -> Finding:
    """Returns a finding, or "not observable" if silence is not certain.

    Progress under an unknown token, or data that no client reads, may be about the call.
    """
    if found.verdict in BAD:
        return found
    foreign = next((run.foreign for run in runs if run.foreign), "")
    unread = next((what for run in runs for _, what in run.unread), "")
    if not foreign and not unread:
        return found
    text = f"progress under the unknown token {foreign}" if foreign else f"{unread}, which no client reads"
    return Finding(found.rule, Verdict.NOT_OBSERVABLE, text, found.evidence)


def _unseen(rule: str, observation: Observation, what: str) -> Finding | None:
    if observation.early:
        return observation.unseen(rule, f"the call ended before the cancel ({observation.early})")
    if observation.closed_stream:
        text = f"the cancel closed the stream that would carry {what}"
        return Finding(rule, Verdict.NOT_OBSERVABLE, text)
    return None


def response(rule: str, observation: Observation, control: ControlRun, level: Strength) -> Finding:
    """Judges that a cancelled call gets no response. If the tool never answers, silence shows nothing."""
    if (unseen := _unseen(rule, observation, "a response")) is not None:
        return unseen
    evidence = tuple(answer.evidence for answer in observation.answers)
    if not observation.answers:
        if observation.lost:
            return observation.unseen(rule, f"no response, but {observation.lost}")
        if control.duration is None:
            text = f"no response, but the uncancelled run got none within {control.watched:.1f} s either"
            return observation.unseen(rule, text)
        waited = f"no response within {observation.watched - observation.cancel:.1f} s"
        if observation.is_unread:
            text = f"{waited}, and none to a ping behind the cancel: the server has not read it"
            return observation.unseen(rule, text)
        return _with_unread(Finding(rule, Verdict.PASS, waited, observation.quotes), observation)
    first = observation.answers[0]
    if crossing(observation) and not observation.is_reaction:
        return Finding(rule, Verdict.NOT_OBSERVABLE, "the result may have crossed the cancel", evidence)
    named = first.words if first.words.startswith("error") else f"a {first.words}"
    text = f"{named} arrived {first.at - observation.cancel:.2f} s after the cancel{unread_by(observation, first.at)}"
    return Finding(rule, _bad(level), text, (*evidence, *observation.quotes))


def crossing(observation: Observation) -> bool:
    """Returns whether the only answer is a result that arrived with the cancel, so that both may have crossed."""
    return (
        len(observation.answers) == 1
        and observation.answers[0].is_result
        and observation.answers[0].at < observation.due
    )


def unread_by(observation: Observation, at: float) -> str:
    """Returns a clause if the server had not read the cancel at a time, because it had not answered a later ping."""
    read = math.inf if observation.is_unread else observation.read or 0.0
    return ", which the server had not read by then" if read > max(at, observation.due) else ""


def _with_unread(found: Finding, observation: Observation) -> Finding:
    """Returns a finding of silence, or "not observable" if data that no client reads arrived after the cancel."""
    after = tuple((at, what) for at, what in observation.unread if at > observation.cancel)
    return known(found, replace(observation, foreign="", unread=after))


def progress(rule: str, observation: Observation, control: ControlRun, level: Strength) -> Finding:
    """Judges that no progress message arrives after the cancel, except those in transit."""
    if (unseen := _unseen(rule, observation, "progress")) is not None:
        return unseen
    after = _after(observation.times(PROGRESS), observation.cancel)
    if late := observation.late(PROGRESS):
        text = f"{_messages(len(late))} arrived after the cancel, the last {late[-1] - observation.cancel:.2f} s after it"
        return Finding(rule, _bad(level), text, observation.quotes)
    if observation.lost:
        return Finding(rule, Verdict.NOT_OBSERVABLE, f"{observation.lost}")
    expected = len(_after(control.times(PROGRESS), observation.due))
    if not expected:
        few = "reports too little progress to tell" if control.times(PROGRESS) else "sends no progress"
        return known(Finding(rule, Verdict.NOT_OBSERVABLE, f"the tool {few}"), observation, control)
    if restless := _restless(rule, observation, control):
        return restless
    counted = f"{_messages(len(after))} in transit, then none" if after else "no progress after the cancel"
    text = f"{counted}; the uncancelled run sent {expected} more"
    return known(Finding(rule, Verdict.PASS, text, observation.quotes), observation, control)


def _messages(count: int) -> str:
    return "1 progress message" if count == 1 else f"{count} progress messages"


def unrest(observation: Observation, control: ControlRun) -> float:
    """Returns the seconds for which a call must still be watched before it counts as quiet; 0 if it is quiet."""
    signs = (*observation.times(PROGRESS), *observation.times(LOG))
    return max(0.0, max((*signs, observation.cancel)) + quiet(control, observation) - observation.watched)


def _restless(rule: str, observation: Observation, control: ControlRun) -> Finding | None:
    if not unrest(observation, control):
        return None
    text = f"not quiet within {observation.watched - observation.cancel:.1f} s, so work may go on"
    return observation.unseen(rule, text)


def ran_to_end(observation: Observation, control: ControlRun) -> str:
    """Returns a text about the sign that the tool worked to its end; empty if there is none."""
    result = next((each for each in observation.answers if each.is_result), None)
    if result is not None and result.at > observation.due and result.at >= END * control.length:
        return f"the result arrived {result.at - observation.cancel:.2f} s after the cancel"
    if control.lost and observation.lost and observation.watched >= END * control.length:
        return f"{observation.lost}, as it does uncancelled"
    since = observation.cancel + settling(control)
    for name, moments in observation.signs.items():
        expected = control.times(name)
        went_on = len(_after(moments, since)) >= SOME  # a single one may come from cleaning up
        if went_on and expected and moments[-1] >= END * expected[-1]:
            return f"{name} continued until {moments[-1] - observation.cancel:.2f} s after the cancel"
    return ""


def work(rule: str, observation: Observation, control: ControlRun) -> Finding:
    """Judges that the work stops, by the heartbeat, progress, log messages, or a result of the whole work."""
    if observation.early:
        text = f"the call ended before the cancel ({observation.early})"
        return Finding(rule, Verdict.NOT_OBSERVABLE, text)
    since = observation.cancel + settling(control)
    evidence = tuple(each.evidence for each in observation.answers if each.is_result) or observation.quotes
    went_on = (name for name, times in observation.signs.items() if len(_after(times, since)) >= SOME)
    going = next(went_on, "")
    ended = ran_to_end(observation, control) if observation.answers or observation.lost else ""
    # A heartbeat is more reliable than an answer.
    if ended and len(_after(control.times(BEATS), since)) < SOME:
        return Finding(rule, Verdict.WARNING, f"the tool worked to its end: {ended}", evidence)
    if going:
        lag = observation.times(going)[-1] - observation.cancel
        text = f"the tool kept working: {going} continued until {lag:.2f} s after the cancel"
        return Finding(rule, Verdict.WARNING, text, observation.quotes)
    if observation.lost:
        return Finding(rule, Verdict.NOT_OBSERVABLE, observation.lost)
    # Data that no client reads may hide messages, but not a heartbeat.
    found = _stopped(rule, observation, control, since)
    return known(found, replace(observation, unread=()), replace(control, unread=()))


def _stopped(rule: str, observation: Observation, control: ControlRun, since: float) -> Finding:
    """Judges whether a sign of work shows that the work stopped. Silence after a cancel alone shows nothing.

    Many SDKs send no message of a cancelled request, even if its tool keeps working. So messages show the end of the work
    only if some of them arrived after the server had read the cancel.
    """
    for name in observation.signs:
        expected, shown = control.times(name), observation.times(name)
        count = len(_after(expected, since))
        if count < SOME:
            continue
        # Work that was complete before the cancel did not stop because of it.
        if len(shown) >= END * len(expected):
            text = f"{name} came as often as in the uncancelled run, so the work may have been done"
            return observation.unseen(rule, text)
        late = observation.late(name)
        if name == BEATS:
            if not shown and any(each < observation.cancel for each in expected):
                text = "the heartbeat did not begin before the cancel, as it did in the uncancelled run"
                return observation.unseen(rule, text)
        elif observation.read is None or not late or late[-1] < observation.read:
            continue
        elif restless := _restless(rule, observation, control):
            return restless
        when = f"{late[-1] - observation.cancel:.2f} s after the cancel" if late else "at the cancel"
        text = f"{name} stopped {when} ({count} more without it)"
        found = Finding(rule, Verdict.PASS, text, observation.quotes)
        return found if name == BEATS else known(found, observation, control)
    if observation.answers:
        text = f"nothing shows whether the work continues after the {observation.answers[0].words}"
    else:
        text = "nothing about this request arrives after its cancel"
        text += ": the stream is closed" * observation.closed_stream
    return observation.unseen(rule, f"{text} ({HEARTBEAT})")


def harmed(
    rule: str, what: str, how: str, control: ControlRun, evidence: Sequence[EvidenceItem] = ()
) -> Finding:
    """Returns the finding for a call that failed, although it must work regardless of earlier cancels.

    ``what`` names the call, and ``how`` is the rest of the sentence.
    """
    text = f"{what} {how}"
    if control.lost:
        text += f" (the uncancelled run as well: {control.lost})"
    return Finding(rule, Verdict.FAIL, text, tuple(evidence), SURVIVES)


def nothing_more(rule: str, observation: Observation, control: ControlRun, level: Strength) -> Finding:
    """Judges that neither a response nor progress arrives: :func:`response` and :func:`progress` in one."""
    answered = response(rule, observation, control, level)
    if answered.verdict in BAD or observation.early or observation.closed_stream:
        return answered
    went_on = progress(rule, observation, control, level)
    return went_on if went_on.verdict in BAD else known(answered, observation, control)
