"""Pure functions that turn the observation of a cancelled call into verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise
from typing import Final

from mcp_tui.probe.report import BAD, EvidenceItem, Finding, Verdict
from mcp_tui.probe.rules import SURVIVES, Strength
from mcp_tui.protocol.evidence import TRANSIT, quiet_after
from mcp_tui.protocol.values import fact, frozen

SOME: Final = 2
"""Number of signs of work that prove it: a single one may belong to the step in which the cancel was noticed."""

END: Final = 0.85
"""Share of an uncancelled run after which work counts as finished."""

BEATS: Final = "the heartbeat"
PROGRESS: Final = "progress"
LOG: Final = "the log"
"""Names of the signs of work: what changes the heartbeat file, progress, and log messages."""

HEARTBEAT: Final = (
    "mcp-tui probe --heartbeat FILE shows whether the tool stops, if it writes to FILE while it works"
)
"""Advice for tools that show no sign of work."""


@frozen
class LateResponse:
    """A response that arrived after the cancel, ``at`` seconds after the call."""

    words: str
    at: float
    is_result: bool
    evidence: EvidenceItem


@fact
class WatchedCall:
    """The observation of a call for ``watched`` seconds; all times are seconds since its writing.

    ``signs`` are the times of each sign of work that could be seen, by its name. ``lost`` is the reason if the server ended
    by itself. ``foreign`` is the token of progress that may be about the call, but that nobody gave; empty for none.
    """

    foreign: str = ""
    watched: float = 0.0
    signs: dict[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    lost: str = ""

    def times(self, sign: str) -> tuple[float, ...]:
        """Returns the times of a sign of work, none if it could not be seen."""
        return self.signs.get(sign, ())


@fact
class ControlRun(WatchedCall):
    """The uncancelled run. ``duration`` is ``None`` if it did not end."""

    duration: float | None
    blocks: bool = False

    @property
    def length(self) -> float:
        """The duration, or the seconds that the run was watched if it did not end."""
        return self.watched if self.duration is None else self.duration


@fact
class Observation(WatchedCall):
    """A call that was cancelled ``cancel`` seconds after it was written."""

    cancel: float
    read: float | None = None
    """Time at which the server had read the cancel, because it answered a request sent behind it."""
    answers: tuple[LateResponse, ...] = ()
    early: str = ""
    """Reason of an end before the cancel; nothing was cancelled then."""
    quotes: tuple[EvidenceItem, ...] = ()
    """Messages worth quoting, such as the last progress."""
    closed_stream: bool = False
    """True if the cancel closed the call's own stream: no message of it can arrive then."""

    @property
    def due(self) -> float:
        """The time from which no message of the call is in transit any more."""
        return self.cancel + TRANSIT

    def late(self, sign: str) -> list[float]:
        """Returns the times of the signs that were not in transit.

        Those are also the second and later ones that came when the server was known to have read the cancel.
        """
        read = _after(self.times(sign), self.due if self.read is None else min(self.read, self.due))
        return read if len(read) >= SOME else _after(self.times(sign), self.due)


def longest_gap(*runs: WatchedCall) -> float:
    """Returns the longest time between two signs of work, in seconds, of the sign that shows most of it."""
    signs = [run.times(PROGRESS) or run.times(LOG) for run in runs]
    return max((late - early for times in signs for early, late in pairwise(times)), default=0.0)


def quiet(control: ControlRun, *runs: WatchedCall) -> float:
    """Returns the seconds without a sign of work from which a call is quiet: clearly longer than any that was seen."""
    return quiet_after(longest_gap(control, *runs))


def settling(control: ControlRun) -> float:
    """Returns the seconds after a cancel in which a sign of work may belong to the step under way."""
    return max(1.25 * longest_gap(control), min(TRANSIT, 0.35 * control.length))


def middle(control: ControlRun, share: float) -> float:
    """Returns the time at which to cancel a call, at a ``share`` of its uncancelled run or a little before.

    It is as far as possible from the signs of work around it: one that comes with the cancel may have crossed it.
    """
    at = share * control.length
    signs = control.times(PROGRESS) or control.times(LOG)
    before = max(
        (middle for early, late in pairwise(signs) if (middle := (early + late) / 2) <= at), default=at
    )
    return max(at, before, key=lambda moment: min((abs(moment - sign) for sign in signs), default=0.0))


def _after(moments: Sequence[float], since: float) -> list[float]:
    return [moment for moment in moments if moment > since]


def _bad(level: Strength) -> Verdict:
    return Verdict.FAIL if level is Strength.MUST else Verdict.WARNING


def known(found: Finding, *runs: WatchedCall) -> Finding:
    """Returns a finding, but none of silence where progress came under a token that nobody gave: somebody may work."""
    foreign = next((run.foreign for run in runs if run.foreign), "")
    if not foreign or found.verdict in BAD:
        return found
    text = f"progress under the unknown token {foreign}"
    return Finding(found.rule, Verdict.NOT_OBSERVABLE, text, found.evidence)


def _unseen(rule: str, seen: Observation, what: str) -> Finding | None:
    if seen.early:
        text = f"the call ended before the cancel ({seen.early})"
        return Finding(rule, Verdict.NOT_OBSERVABLE, text, seen.quotes)
    if seen.closed_stream:
        text = f"the cancel closed the stream that would carry {what}"
        return Finding(rule, Verdict.NOT_OBSERVABLE, text)
    return None


def response(rule: str, seen: Observation, control: ControlRun, level: Strength) -> Finding:
    """Judges that a cancelled call gets no response. Of a tool that never answers, silence shows nothing."""
    if (unseen := _unseen(rule, seen, "a response")) is not None:
        return unseen
    told = tuple(answer.evidence for answer in seen.answers)
    if not seen.answers:
        if seen.lost:
            return Finding(rule, Verdict.NOT_OBSERVABLE, f"no response, but {seen.lost}", seen.quotes)
        if control.duration is None:
            text = f"no response, but the uncancelled run got none within {control.watched:.1f} s either"
            return Finding(rule, Verdict.NOT_OBSERVABLE, text, seen.quotes)
        text = f"no response within {seen.watched - seen.cancel:.1f} s"
        return Finding(rule, Verdict.PASS, text, seen.quotes)
    first = seen.answers[0]
    if first.is_result and len(told) == 1 and first.at < seen.due:
        return Finding(rule, Verdict.NOT_OBSERVABLE, "the result may have crossed the cancel", told)
    named = first.words if first.words.startswith("error") else f"a {first.words}"
    return Finding(
        rule, _bad(level), f"{named} arrived {first.at - seen.cancel:.2f} s after the cancel", told
    )


def progress(rule: str, seen: Observation, control: ControlRun, level: Strength) -> Finding:
    """Judges that no progress message is sent after the cancel, except those in transit."""
    if (unseen := _unseen(rule, seen, "progress")) is not None:
        return unseen
    after = _after(seen.times(PROGRESS), seen.cancel)
    if late := seen.late(PROGRESS):
        text = f"{_messages(len(late))} arrived after the cancel, the last {late[-1] - seen.cancel:.2f} s after it"
        return Finding(rule, _bad(level), text, seen.quotes)
    if seen.lost:
        return Finding(rule, Verdict.NOT_OBSERVABLE, f"{seen.lost}")
    expected = len(_after(control.times(PROGRESS), seen.due))
    if not expected:
        few = "reports too little progress to tell" if control.times(PROGRESS) else "sends no progress"
        return known(Finding(rule, Verdict.NOT_OBSERVABLE, f"the tool {few}"), seen, control)
    if restless := _restless(rule, seen, control):
        return restless
    came = f"{_messages(len(after))} in transit, then none" if after else "no progress after the cancel"
    text = f"{came}; the uncancelled run sent {expected} more"
    return known(Finding(rule, Verdict.PASS, text, seen.quotes), seen, control)


def _messages(count: int) -> str:
    return "1 progress message" if count == 1 else f"{count} progress messages"


def unrest(seen: Observation, control: ControlRun) -> float:
    """Returns the seconds for which a call has to be watched on before it can be called quiet; 0 if it is."""
    signs = (*seen.times(PROGRESS), *seen.times(LOG))
    return max(0.0, max((*signs, seen.cancel)) + quiet(control, seen) - seen.watched)


def _restless(rule: str, seen: Observation, control: ControlRun) -> Finding | None:
    if not unrest(seen, control):
        return None
    text = f"not quiet within {seen.watched - seen.cancel:.1f} s, so work may go on"
    return Finding(rule, Verdict.NOT_OBSERVABLE, text, seen.quotes)


def ran_to_end(seen: Observation, control: ControlRun) -> str:
    """Returns the sign that the work went on to its end, or an empty string."""
    result = next((each for each in seen.answers if each.is_result), None)
    if result is not None and result.at > seen.due and result.at >= END * control.length:
        return f"the result arrived {result.at - seen.cancel:.2f} s after the cancel"
    if control.lost and seen.lost and seen.watched >= END * control.length:
        return f"{seen.lost}, as it does uncancelled"
    since = seen.cancel + settling(control)
    for name, moments in seen.signs.items():
        expected = control.times(name)
        went_on = len(_after(moments, since)) >= SOME  # a single one may be the last of a tool that cleans up
        if went_on and expected and moments[-1] >= END * expected[-1]:
            return f"{name} continued until {moments[-1] - seen.cancel:.2f} s after the cancel"
    return ""


def work(rule: str, seen: Observation, control: ControlRun) -> Finding:
    """Judges that the work stops, by the heartbeat, progress, log messages, or a result of the whole work."""
    if seen.early:
        return Finding(rule, Verdict.NOT_OBSERVABLE, f"the call ended before the cancel ({seen.early})")
    since = seen.cancel + settling(control)
    told = tuple(each.evidence for each in seen.answers if each.is_result) or seen.quotes
    going = next((name for name in seen.signs if len(_after(seen.times(name), since)) >= SOME), "")
    ended = ran_to_end(seen, control) if seen.answers or seen.lost else ""
    if ended and going != BEATS:  # the heartbeat alone says more than the answer
        return Finding(rule, Verdict.WARNING, f"the tool worked to its end: {ended}", told)
    if going:
        lag = seen.times(going)[-1] - seen.cancel
        text = f"the tool kept working: {going} continued until {lag:.2f} s after the cancel"
        return Finding(rule, Verdict.WARNING, text, seen.quotes)
    if seen.lost:
        return Finding(rule, Verdict.NOT_OBSERVABLE, seen.lost)
    for name in seen.signs:
        count, shown = len(_after(control.times(name), since)), len(seen.times(name))
        # Work that was done before the cancel did not stop at it, although nothing comes any more.
        if count >= SOME and shown >= END * len(control.times(name)):
            text = f"{name} came as often as in the uncancelled run, so the work may have been done"
            return Finding(rule, Verdict.NOT_OBSERVABLE, text, seen.quotes)
        if count >= SOME:
            late = _after(seen.times(name), seen.due)
            when = f"{late[-1] - seen.cancel:.2f} s after the cancel" if late else "at the cancel"
            text = f"{name} stopped {when} ({count} more without it)"
            restless = None if name == BEATS else _restless(rule, seen, control)
            return known(restless or Finding(rule, Verdict.PASS, text, seen.quotes), seen, control)
    shown = "the stream is closed" if seen.closed_stream else "no progress, no log messages"
    text = f"nothing shows whether the work goes on ({shown}): {HEARTBEAT}"
    return known(Finding(rule, Verdict.NOT_OBSERVABLE, text), seen, control)


def unanswered(
    rule: str, what: str, why: str, control: ControlRun, evidence: Sequence[EvidenceItem] = ()
) -> Finding:
    """Returns the finding for a call that must be answered whatever was cancelled before it, and was not."""
    text = f"{what} was not answered: {why}"
    if control.lost:
        text += f" (the uncancelled run as well: {control.lost})"
    return Finding(rule, Verdict.FAIL, text, tuple(evidence), SURVIVES)


def nothing_more(rule: str, seen: Observation, control: ControlRun, level: Strength) -> Finding:
    """Judges that neither a response nor progress comes: :func:`response` and :func:`progress` in one."""
    answered = response(rule, seen, control, level)
    if answered.verdict in BAD or seen.early or seen.closed_stream:
        return answered
    went_on = progress(rule, seen, control, level)
    return went_on if went_on.verdict in BAD else known(answered, seen, control)
