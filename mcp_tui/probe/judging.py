"""From what was seen of a cancelled call to verdicts. Pure functions: what goes in can be made up by a test."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

from mcp_tui.probe.report import Evidence, Finding, Verdict
from mcp_tui.probe.rules import SURVIVES, Level

SETTLING: Final = 0.3
"""Seconds in which what arrives after a cancel may have been on its way when it left."""

CROSSING: Final = 0.1
"""The same for a result: one that comes so soon may have been finished anyway."""

SOME: Final = 2
"""Signs of life that make a proof: a single one may be the end of the step at which the cancel was noticed."""

HEARTBEAT: Final = "name a file that the tool writes to while it works with --heartbeat FILE"
"""The way out where nothing else shows whether work goes on."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that came after the cancel. ``after`` and ``at`` are seconds from the cancel and from the call."""

    words: str
    after: float
    at: float
    is_result: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The run that nobody cancelled. ``duration`` is ``None`` where it did not end; moments are seconds since the call.

    ``lost`` says how the server ended by itself while the tool worked, if it did.
    """

    duration: float | None
    watched: float
    progress: tuple[float, ...] = ()
    logs: tuple[float, ...] = ()
    beats: tuple[float, ...] = ()
    blocks: bool = False
    lost: str = ""

    @property
    def length(self) -> float:
        """The duration or, where there is none, for how long the run was watched."""
        return self.watched if self.duration is None else self.duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A call that was cancelled ``cancel`` seconds after it was written; all moments are seconds since the call."""

    cancel: float
    answers: tuple[Answer, ...] = ()
    progress: tuple[float, ...] = ()
    logs: tuple[float, ...] = ()
    beats: tuple[float, ...] = ()
    early: str = ""
    """What answered before the cancel: then nothing was cancelled."""
    lost: str = ""
    """How the server ended, if it did."""
    watched: float = 0.0
    quotes: tuple[Evidence, ...] = ()
    """Frames worth quoting: the last progress, say."""
    closed_stream: bool = False
    """Whether the cancel was the closing of the call's own stream: then no frame of it can arrive any more."""


@dataclass(frozen=True, slots=True)
class Next:
    """The call that came next."""

    works: bool
    words: str
    evidence: tuple[Evidence, ...] = field(default=())


def settling(control: Control) -> float:
    """Seconds after a cancel in which progress may have been on its way, or of the step that was being made."""
    signs = control.progress or control.logs
    gaps = [late - early for early, late in pairwise(signs)]
    beat = median(gaps) if gaps else 0.0
    return max(1.25 * beat, min(SETTLING, 0.35 * control.length))


def _after(moments: tuple[float, ...], since: float) -> list[float]:
    return [moment for moment in moments if moment > since]


def response(rule: str, seen: Observation, level: Level) -> Finding:
    """No response to a cancelled call."""
    bad = Verdict.FAIL if level is Level.MUST else Verdict.WARNING
    if seen.early:
        return Finding(
            rule, Verdict.NOT_OBSERVABLE, f"it was over before the cancel ({seen.early})", seen.quotes
        )
    if seen.closed_stream:
        return Finding(
            rule, Verdict.NOT_OBSERVABLE, "the cancel closed the stream on which a response would come"
        )
    told = tuple(answer.evidence for answer in seen.answers)
    if not seen.answers:
        if seen.lost:
            return Finding(rule, Verdict.NOT_OBSERVABLE, f"no response came, but {seen.lost}")
        return Finding(rule, Verdict.PASS, f"no response within {seen.watched - seen.cancel:.1f} s")
    first = seen.answers[0]
    if first.is_result and first.after < CROSSING:
        return Finding(rule, Verdict.NOT_OBSERVABLE, "a result that may have crossed the cancel", told)
    return Finding(
        rule, bad, f"it answered with {_named(first.words)}, {first.after:.2f} s after the cancel", told
    )


def _named(words: str) -> str:
    return words if words.startswith("error") else f"a {words}"


def progress(rule: str, seen: Observation, control: Control, level: Level) -> Finding:
    """No progress goes on after a cancel."""
    if seen.early:
        return Finding(rule, Verdict.NOT_OBSERVABLE, f"it was over before the cancel ({seen.early})")
    if seen.closed_stream:
        return Finding(
            rule, Verdict.NOT_OBSERVABLE, "the cancel closed the stream on which progress would come"
        )
    since = seen.cancel + settling(control)
    late = _after(seen.progress, since)
    if len(late) >= SOME:
        bad = Verdict.FAIL if level is Level.MUST else Verdict.WARNING
        text = f"{len(late)} × progress after the cancel, the last {late[-1] - seen.cancel:.2f} s later"
        return Finding(rule, bad, text, seen.quotes)
    if seen.lost:
        return Finding(rule, Verdict.NOT_OBSERVABLE, f"{seen.lost}")
    expected = len(_after(control.progress, since))
    if expected < SOME:
        none = "reports no progress" if not control.progress else "reports too little progress to tell"
        return Finding(rule, Verdict.NOT_OBSERVABLE, f"the tool {none}")
    text = f"no progress after the cancel, where the uncancelled run reported {expected} × more"
    return Finding(rule, Verdict.PASS, text, seen.quotes)


def work(rule: str, seen: Observation, control: Control) -> Finding:
    """The work itself stops: seen by the heartbeat, by progress, by log messages, or by a result of all of it."""
    if seen.early:
        return Finding(rule, Verdict.NOT_OBSERVABLE, f"it was over before the cancel ({seen.early})")
    since = seen.cancel + settling(control)
    result = next((each for each in seen.answers if each.is_result), None)
    if result is not None and result.after > CROSSING and result.at >= 0.85 * control.length:
        text = f"it worked on to its end: the result came {result.after:.2f} s after the cancel"
        return Finding(rule, Verdict.WARNING, text, (result.evidence,))
    if control.lost and seen.lost and seen.watched >= 0.85 * control.length:
        text = f"it worked on to its end: {seen.lost}, as it does uncancelled"
        return Finding(rule, Verdict.WARNING, text, seen.quotes)
    ways = (
        ("the heartbeat", seen.beats, control.beats),
        (
            "progress",
            () if seen.closed_stream else seen.progress,
            () if seen.closed_stream else control.progress,
        ),
        ("log messages", () if seen.closed_stream else seen.logs, () if seen.closed_stream else control.logs),
    )
    for name, moments, _ in ways:
        late = _after(moments, since)
        if len(late) >= SOME:
            text = f"it worked on: {name} went on until {late[-1] - seen.cancel:.2f} s after the cancel"
            return Finding(rule, Verdict.WARNING, text, seen.quotes)
    if seen.lost:
        return Finding(rule, Verdict.NOT_OBSERVABLE, seen.lost)
    for name, _, expected in ways:
        count = len(_after(expected, since))
        if count >= SOME:
            verb = "ceased" if name != "log messages" else "cease"
            text = f"{name} {verb} with the cancel; uncancelled there were {count} × more"
            return Finding(rule, Verdict.PASS, text, seen.quotes)
    shown = "the stream is closed" if seen.closed_stream else "no progress, no log messages"
    text = f"nothing shows whether the work goes on ({shown}): {HEARTBEAT}"
    return Finding(rule, Verdict.NOT_OBSERVABLE, text)


def following(rule: str, next_: Next, control: Control, *, what: str = "the next call") -> Finding:
    """The server is still there."""
    if next_.works:
        return Finding(rule, Verdict.PASS, f"{what} was answered", next_.evidence)
    text = f"{what} was not answered: {next_.words}"
    if control.lost:
        text += f" (the tool does so uncancelled as well: {control.lost})"
    return Finding(rule, Verdict.FAIL, text, next_.evidence, SURVIVES)


def nothing_more(rule: str, seen: Observation, control: Control, level: Level) -> Finding:
    """Neither a response nor progress: :func:`response` and :func:`progress` in one."""
    answered = response(rule, seen, level)
    if answered.verdict in (Verdict.FAIL, Verdict.WARNING) or seen.early or seen.closed_stream:
        return answered
    went_on = progress(rule, seen, control, level)
    return went_on if went_on.verdict in (Verdict.FAIL, Verdict.WARNING) else answered


def worse(first: Finding, second: Finding) -> Finding:
    """The one of two findings on a rule that weighs more."""
    order = (Verdict.FAIL, Verdict.WARNING, Verdict.NOT_OBSERVABLE, Verdict.PASS, Verdict.NOT_APPLICABLE)
    return min((first, second), key=lambda finding: order.index(finding.verdict))
