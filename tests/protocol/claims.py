"""What may be said of a cancelled request, worked out a second time from its events alone.

Nothing here is taken from :mod:`mcp_tui.protocol.evidence`: :func:`check` reads its words as a person does, and asks of
each claim which event shows it, and of each event whether it was told.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Kind, Signal
from mcp_tui.protocol.requests import Request

LISTEN = "subscriptions/listen"

WORST = [
    *(
        "still_progressing",
        "late_result",
        "late_input_required",
        "late_task",
        "late_malformed",
        "late_oversize",
    ),
    *("disconnected", "late_error", "progress_then_quiet", "refused", "failed", "task_cancelled"),
    *("no_reply", "stream_closed", "not_watched", "not_sent", "withdrawn", "watching"),
]
"""The outcomes, the worst first."""

SPECIAL = {
    "malformed": "malformed message",
    "oversize": "message, too large",
    "input_required": "input request",
}
NAMES = {kind: SPECIAL.get(kind.value, kind.value) for kind in Kind if kind is not Kind.PROGRESS}

CONFIRMED = "server confirmed: task cancelled"
"""What the evidence says by itself, and the event that settles the request says, too."""


@dataclass
class Facts:
    """What the events of one request show."""

    cancelled_at: float | None = None
    signal: Signal | None = None
    written_at: float | None = None
    signalled_at: float | None = None
    reason: bool = False
    owed: bool = False
    accepted: bool = False
    unanswered: ev.CancelUnanswered | None = None
    refused: bool = False
    failed: bool = False
    trouble: str = ""
    over: bool = False
    progress: list[float] = field(default_factory=list[float])
    late: list[ev.Late] = field(default_factory=list[ev.Late])
    unwatched_at: float | None = None
    lost_at: float | None = None
    lost: str = ""
    details: set[str] = field(default_factory=set[str])
    task: str = ""
    status: str = ""
    rejected: ev.Rejected | None = None
    dropped: ev.Dropped | None = None
    cancelled_by_server_at: float | None = None

    @property
    def answers(self) -> list[ev.Late]:
        """What came after the cancel and is no progress, nor the handle that the cancel itself waited for."""
        return [
            each
            for each in self.late
            if each.kind is not Kind.PROGRESS and not (each.kind is Kind.TASK and self.task)
        ]

    @property
    def counted_from(self) -> float:
        """Times after the cancel count from its writing."""
        return (self.cancelled_at or 0.0) if self.signalled_at is None else self.signalled_at

    @property
    def confirmed(self) -> bool:
        return self.status == "cancelled" or CONFIRMED in self.details

    @property
    def late_progress(self) -> list[float]:
        return [each.at for each in self.late if each.kind is Kind.PROGRESS]

    def end(self, until: float) -> float:
        """The end of watching: without one, at least a minute after all that was seen, so that words stand still."""
        if self.unwatched_at is not None:
            return min(until, self.unwatched_at)
        heard = max((each.at for each in self.late), default=self.cancelled_at or 0.0)
        return min(until, max(heard, self.signalled_at or 0.0) + max(60.0, quiet_after(self.progress) + 1.0))

    @property
    def deaf(self) -> bool:
        """Whether the watching was over before the signal was written."""
        end, written = self.unwatched_at, self.written_at
        return end is not None and written is not None and end <= written

    def watched(self, until: float) -> float:
        """Seconds for which somebody listened."""
        if self.written_at is None or self.failed or self.signal is Signal.STREAM_CLOSED:
            return 0.0
        return max(0.0, self.end(until) - self.written_at)

    def continues(self, until: float) -> bool:
        """A message later than 0.3 s after the signal and after an answer, and no quiet up to the end of watching.

        Without a signal, that was when it was clear that there is none.
        """
        return self.went_on and self.end(until) - self.progress[-1] <= quiet_after(self.progress)

    def fell_quiet(self, until: float) -> bool:
        """The same, and then quiet, of one that was told to stop and that nothing else explains."""
        told = self.confirmed or self.failed or self.written_at is None
        return self.went_on and not self.continues(until) and not told

    @property
    def went_on(self) -> bool:
        last = self.late_progress[-1:]
        if not last or self.signalled_at is None or last[0] - self.signalled_at <= 0.3:
            return False
        return not self.explained

    @property
    def explained(self) -> bool:
        """Whether an answer came behind the last progress."""
        return bool(self.answers) and self.late_progress[-1:] <= [self.answers[-1].at]


def quiet_after(times: Sequence[float]) -> float:
    """Twice the longest gap of progress that came at these times, and half a second at least, in seconds."""
    return max(0.5, *(2 * (b - a) for a, b in itertools.pairwise(times))) if len(times) > 1 else 0.5


def gather(events: Sequence[ev.Event]) -> Facts:  # noqa: C901 - one case an event
    """What the events of one request show, each taken for no more than it is."""
    facts = Facts()
    for event in events:
        match event:
            case ev.CancelRequested():
                facts.cancelled_at = event.at
            case ev.CancelWithdrawn():
                facts.cancelled_at = None
            case ev.CancelSignalled(signal=Signal.NONE):
                facts.signal, facts.signalled_at = Signal.NONE, event.at
            case ev.CancelSignalled():
                facts.signal, facts.written_at, facts.signalled_at = event.signal, event.at, event.at
                facts.reason, facts.owed = event.reason_delivered, event.answered
            case ev.CancelAccepted():
                facts.accepted = True
            case ev.CancelUnanswered():
                facts.unanswered = event
            case ev.Undelivered():
                facts.refused, facts.failed, facts.trouble = event.refused, not event.refused, event.detail
            case ev.Progress():
                facts.progress.append(event.at)
            case ev.Late(after_end=True):
                pass  # nobody listened
            case ev.Dropped():
                facts.dropped = event
            case ev.CancelledByServer() if (
                facts.cancelled_by_server_at is None
            ):  # a repeated one says nothing new
                facts.cancelled_by_server_at = event.at
            case ev.Rejected():
                facts.rejected = facts.rejected or event
            case ev.Late():
                facts.late.append(event)
                if facts.lost_at is None:  # its own stream had ended, and it was heard of by another
                    facts.unwatched_at = None
                facts.progress += [event.at] if event.kind is Kind.PROGRESS else []
            case ev.Unwatched():
                facts.unwatched_at = event.at if facts.unwatched_at is None else facts.unwatched_at
                facts.details.add(event.detail)
                if event.disconnected:
                    # "closed its stdout but is still running" happened when its stdout was closed; an exit is another thing.
                    if facts.lost_at is None or not event.detail.startswith(facts.lost):
                        facts.lost_at = event.at
                    facts.lost = event.detail
            case ev.Settled():
                facts.over = True
                facts.details.add(event.detail)
            case ev.TaskCreated():
                facts.task, facts.status = event.task_id, event.status
            case ev.TaskStatus():
                facts.status = event.status
            case _:
                pass
    return facts


# -- reading the words -----------------------------------------------------------------------------------------


def seconds(text: str) -> tuple[float, float]:
    """A time in words, and by how much it may be off for having been rounded."""
    number, unit = text.split()
    unit_seconds = {"ms": 0.001, "s": 1.0, "min": 60.0}[unit]
    step = 10.0 ** -len(number.partition(".")[2])
    return float(number) * unit_seconds, step * unit_seconds * 0.51


def same(text: str, expected: float) -> bool:
    value, off = seconds(text)
    return abs(value - expected) <= off


TIME = r"(\d[\d.]* (?:ms|s|min))"


def check(row: Request, events: Sequence[ev.Event], until: float) -> None:
    """Holds every word about a cancelled row against its events.

    Raises:
        AssertionError: something is said that no event shows, or is not said although one does.
    """
    facts = gather(events)
    said = evidence.delivery_words(row, until), evidence.aftermath_words(row, until)
    try:
        for words in (*said, evidence.short_words(row, until), evidence.summary_words(row, until)):
            assert "stopped" not in _ours(words, facts), "nobody saw that it stopped"
        if facts.cancelled_at is None:
            assert evidence.outcomes(row, until) == (evidence.Outcome.WITHDRAWN,)
            assert said[1] == ""
            return
        _delivery(said[0], facts, until)
        if row.method != LISTEN:
            _aftermath(said[1], facts, until)
            _outcomes([each.value for each in evidence.outcomes(row, until)], facts, until)
        assert evidence.outcome(row, until) is evidence.outcomes(row, until)[0]
        _json(evidence.as_json(row, until), facts, until)
    except AssertionError as error:
        raise AssertionError(f"{error}\n  said {said}, until {until}\n  of {events}") from error


def _ours(words: str, facts: Facts) -> str:
    for detail in sorted((*facts.details, facts.trouble, facts.lost), key=len, reverse=True):
        words = words.replace(detail, "…") if detail not in ("", CONFIRMED) else words
    return words


def _delivery(words: str, facts: Facts, until: float) -> None:
    written = facts.written_at is not None
    closed = facts.signal is Signal.STREAM_CLOSED
    assert words.startswith("not delivered: ") is facts.failed
    assert words.startswith("sent, refused: ") is facts.refused
    if facts.failed or facts.refused:
        assert words.endswith(f": {facts.trouble}")
        return
    assert words.startswith("not sent") is (not written)
    assert (words == "stream closed") is closed
    assert words.startswith("sent, accepted") is facts.accepted
    assert words.startswith("sent") is (written and not closed)
    waits = re.fullmatch(f"sent, not confirmed for {TIME}", words)
    silent = facts.unanswered if not facts.accepted else None
    assert bool(waits) is (written and facts.owed and not facts.accepted and silent is None)
    if silent is not None:
        ended = re.fullmatch(f"sent, no status: {re.escape(silent.detail)} after {TIME}", words)
        assert ended, words
        assert same(ended[1], max(0.0, silent.at - (facts.written_at or 0.0)))
        return
    if waits:
        assert same(waits[1], max(0.0, facts.end(until) - (facts.written_at or 0.0)))
    elif written and not closed and not facts.accepted:
        assert words == "sent"


def _aftermath(words: str, facts: Facts, until: float) -> None:
    told = set(_ours(words, facts).split("; ")) - {""}
    assert all(_claim(clause, facts, until) for clause in told), f"unfounded: {words!r}"
    progress, answers = facts.late_progress, facts.answers
    assert any("progress" in each for each in told) is bool(progress), "its progress"
    assert any(each.startswith("still progressing") for each in told) is facts.continues(until), "goes on"
    ignored = [each for each in told if each.endswith(", ignored")]
    assert len(ignored) == len(answers), "its answers"
    ends = (facts.lost_at is not None) + (facts.rejected is not None)
    assert sum(each.endswith(("after the cancel", "after the cancel)")) for each in told) == ends, "the end"
    if facts.confirmed and not answers:
        assert CONFIRMED in told, "its confirmation"


def _claim(clause: str, facts: Facts, until: float) -> bool:
    """Whether the events show what a clause says."""
    end = facts.end(until)
    times = [each.after for each in facts.late if each.kind is Kind.PROGRESS]
    heard = f"task last reported as {facts.status}" if facts.status else "no reply"
    if found := re.fullmatch(f"{heard} \\(watched {TIME}\\)", clause):
        nothing = not facts.late and facts.lost_at is None and not facts.confirmed
        listened = facts.written_at is not None and facts.signal is not Signal.STREAM_CLOSED
        return (
            nothing
            and listened
            and not facts.deaf
            and not facts.failed
            and same(found[1], facts.watched(until))
        )
    if found := re.fullmatch(f"still progressing: ([\\d,]+) messages?, last at \\+{TIME} of {TIME}", clause):
        counted = int(found[1].replace(",", "")) == len(times)
        return (
            counted
            and facts.continues(until)
            and same(found[2], times[-1])
            and same(found[3], end - facts.counted_from)
        )
    if found := re.fullmatch(
        f"([\\d,]+) progress messages?, last at \\+{TIME}(?:, then quiet for {TIME})?", clause
    ):
        counted = int(found[1].replace(",", "")) == len(times)
        silence = end - max(facts.late_progress[-1], facts.signalled_at or 0.0)
        quiet = found[3] is None or (not facts.explained and same(found[3], silence))
        return counted and same(found[2], times[-1]) and quiet
    if found := re.fullmatch(f"late (.+?)( -?\\d+)?(?: \\(.+\\))? at \\+{TIME}, ignored", clause):
        code = None if found[2] is None else int(found[2])
        return any(
            (NAMES[each.kind], each.code) == (found[1], code) and same(found[3], each.after)
            for each in facts.answers
        )
    if found := re.fullmatch(f"late (.+?)( -?\\d+)? between \\+{TIME} and \\+{TIME}, ignored", clause):
        return any(
            NAMES[each.kind] == found[1] and same(found[3], each.after) and same(found[4], each.most or 0.0)
            for each in facts.answers
        )
    if found := re.fullmatch(f"half of an answer \\(([\\d,]+) bytes\\) came at \\+{TIME}, ignored", clause):
        return any(
            each.partial and f"{each.size:,}" == found[1] and same(found[2], each.after)
            for each in facts.answers
        )
    if found := re.fullmatch(f"the server sent a cancel of its own {TIME} (before|later)", clause):
        sign = -1 if found[2] == "before" else 1
        at = facts.cancelled_by_server_at
        return at is not None and same(found[1], sign * (at - facts.counted_from))
    if clause.endswith(" came, which no client reads"):
        return facts.dropped is not None and clause.startswith(facts.dropped.detail)
    if found := re.fullmatch(f"task (finished|failed) anyway( -?\\d+)? at \\+{TIME}, ignored", clause):
        kind = Kind.RESULT if found[1] == "finished" else Kind.ERROR
        return bool(facts.task) and any(
            each.kind is kind and same(found[3], each.after) for each in facts.answers
        )
    without_name = r"the server rejected a message without naming it(?: \((-?\d+)\))?"
    if found := re.fullmatch(f"{without_name}, {TIME} after the cancel", clause):
        code = None if found[1] is None else int(found[1])
        return (
            facts.rejected is not None
            and facts.rejected.code == code
            and same(found[2], facts.rejected.after)
        )
    if found := re.fullmatch(f"(.+) \\({TIME} after the cancel\\)", clause):
        return facts.lost_at is not None and same(found[2], max(0.0, facts.lost_at - facts.counted_from))
    if clause.startswith("became task "):
        return clause == f"became task {facts.task}" and any(each.kind is Kind.TASK for each in facts.late)
    return {
        "nothing more can be seen": (facts.signal is Signal.STREAM_CLOSED or facts.deaf) and not facts.late,
        CONFIRMED: facts.confirmed,
        "…": True,
    }.get(clause, False)


def _outcomes(named: list[str], facts: Facts, until: float) -> None:
    assert len(named) == len(set(named)), "an outcome is told twice"
    expected = {
        "task_cancelled": facts.confirmed,
        "still_progressing": facts.continues(until),
        "progress_then_quiet": facts.fell_quiet(until),
        "disconnected": facts.lost_at is not None,
        "refused": facts.refused,
        "failed": facts.failed,
    }
    for name, true in expected.items():
        assert (name in named) is true, f"{name} of {named}"
    late = [each for each in named if each.startswith("late_")]
    handle = bool(facts.task) and any(each.kind is Kind.TASK for each in facts.late)
    assert (
        late in ([], ["late_task"])
        if handle and not facts.answers
        else set(late) == {f"late_{each.kind.value}" for each in facts.answers} or facts.dropped is not None
    ), f"{late} is late"
    assert named == sorted(named, key=WORST.index), "not the worst first"
    nothing = not (any(expected.values()) or late)
    silent = {"watching", "not_sent", "stream_closed", "not_watched", "no_reply"}
    assert bool(silent & set(named)) is nothing, f"{named} of nothing"
    if not nothing:
        return
    if not facts.over:
        assert named == ["watching"]
    elif facts.written_at is None:
        assert named == ["not_sent"]
    else:
        heard = "not_watched" if facts.deaf else "no_reply"
        assert named == ["stream_closed" if facts.signal is Signal.STREAM_CLOSED else heard]


def _json(made: dict[str, Any], facts: Facts, until: float) -> None:
    written = facts.written_at is not None
    assert made["signal"] == (facts.signal.value if written and facts.signal else "none"), made
    reports = {
        "failed": facts.failed,
        "refused": facts.refused,
        "accepted": facts.accepted,
        "written": written,
    }
    assert made["delivery"] == next((name for name, true in reports.items() if true), "none"), made
    assert made["reason_delivered"] is facts.reason, made
    assert abs(made["watched"] - facts.watched(until)) < 1e-5, made
    waits = made["delivery"] == "written" and facts.owed and facts.unanswered is None
    assert (made["unconfirmed"] is not None) is waits, made
    assert (made["disconnected"] is not None) is (facts.lost_at is not None), made
    progress = [each for each in made["late"] if each["kind"] == "progress"]
    assert [each["count"] for each in progress] == [len(facts.late_progress)] * len(progress)
    assert bool(progress) is bool(facts.late_progress)
    others = [each["kind"] for each in made["late"] if each["kind"] != "progress"]
    assert others == [each.kind.value for each in facts.late if each.kind is not Kind.PROGRESS]
