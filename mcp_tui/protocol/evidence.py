"""The words and JSON about a cancelled request: whether its cancel was sent, and what arrived after it.

Rows, details, the cancellation log, ``log``, sums, exports, replay, JSON, and the probe all use them. Every result
depends only on the row of the request, which is made from events, and on ``until``, the end of watching: now, or the
end of a recording. Nothing is claimed that no event shows. In particular, no event shows that a server stopped its
work.

Words are one line that may contain a server's text unchanged, so callers must clean it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.protocol.states import KIND_WORDS, LISTEN, PROBING, TRANSIT, Cause, Kind, Signal, State
from mcp_tui.protocol.units import after_words, rejected_words, size, span

if TYPE_CHECKING:
    from mcp_tui.protocol.events import CancelRequested
    from mcp_tui.protocol.requests import Evidence, Request


class Delivery(Enum):
    """The delivery of a cancel signal."""

    NONE = "none"
    """Nothing was written."""
    WRITTEN = "written"
    ACCEPTED = "accepted"
    """The server answered the signal with a success."""
    REFUSED = "refused"
    """The server answered the signal with an error."""
    FAILED = "failed"
    """The write itself failed."""


class Outcome(Enum):
    """The observed outcomes of a cancel, the worst first. ``--outcome``, filters, CSV, and JSON use their values."""

    STILL_PROGRESSING = "still_progressing"
    """Progress continued until the end of watching."""
    LATE_RESULT = "late_result"
    LATE_INPUT_REQUIRED = "late_input_required"
    LATE_TASK = "late_task"
    LATE_MALFORMED = "late_malformed"
    LATE_OVERSIZE = "late_oversize"
    DISCONNECTED = "disconnected"
    """The connection ended soon after the cancel."""
    LATE_ERROR = "late_error"
    PROGRESS_THEN_QUIET = "progress_then_quiet"
    """Progress continued after the cancel, and then stopped for clearly longer than any gap before."""
    REFUSED = "refused"
    FAILED = "failed"
    TASK_CANCELLED = "task_cancelled"
    """The server confirmed it."""
    NO_REPLY = "no_reply"
    STREAM_CLOSED = "stream_closed"
    """Closing the stream was the cancel, so nothing more can be seen."""
    NOT_WATCHED = "not_watched"
    """No message could be received after the signal."""
    NOT_SENT = "not_sent"
    WITHDRAWN = "withdrawn"
    """The reply arrived before the cancel was sent, so it counts."""
    WATCHING = "watching"
    """The cancel is on its way, or was just sent."""


LATE_BY_KIND: Final = {kind: Outcome(f"late_{kind.value}") for kind in Kind if kind is not Kind.PROGRESS}

WORST_FIRST: Final = {each: rank for rank, each in enumerate(Outcome)}

LATE_OUTCOMES: Final = frozenset(LATE_BY_KIND.values())

OUTCOME_WORDS: Final = {
    **{each: each.value.replace("_", " ") for each in Outcome},
    **{LATE_BY_KIND[kind]: f"late {name}" for kind, name in KIND_WORDS.items()},
    Outcome.DISCONNECTED: "connection lost",
    Outcome.FAILED: "not delivered",
    Outcome.WITHDRAWN: "reply came first",
}
"""Outcomes in words, as sums and filters show them."""

CONFIRMED: Final = "server confirmed: task cancelled"
"""The detail of a task that the server reported as cancelled, regardless of later reports."""

NO_TASK_ID: Final = "the server sent no task id, so the task cannot be cancelled and may still be running"
STILL_RUNNING: Final = "; the server may still be running it"

CLOSED_FIRST: Final = "the connection was closed before it could be written"
"""The detail of a cancel that was still unsent at the end of the session."""

RECORDING_ENDS: Final = "the recording ends here"
"""The detail of a cancel that is still open at the end of a recording, because the client was killed."""

UNSUBSCRIBED: Final = "unsubscribed"
"""The aftermath of a subscription that this client ended (C-59: a result after that is normal)."""


# -- facts -----------------------------------------------------------------------------------------------------


def cancel_of(row: Request) -> CancelRequested | None:
    """Returns the cancel of a row, including a withdrawn one; ``None`` if there was none."""
    # Imported late: the first screen of the workbench needs no events.
    from mcp_tui.protocol.events import CancelRequested

    if row.cancel_at is not None and row.cause is not None:
        return CancelRequested(at=row.cancel_at, id=row.id, cause=row.cause, reason=row.reason)
    found = (event for event in reversed(row.history) if isinstance(event, CancelRequested))
    return next(found, None)


TIMEOUTS: Final = (Cause.TIMEOUT, Cause.MAX_TIMEOUT)
"""The causes that a person sees as the state *timed out*, so that their reason would only repeat it."""


def ended(row: Request) -> str:
    """Returns the state for JSON. A cancelled row, settled or open, is ``timed_out`` or ``cancelled``, by its cause."""
    if row.cause is None:
        return row.state.value
    return "timed_out" if row.cause in TIMEOUTS else "cancelled"


def is_refused_probe(row: Request) -> bool:
    """Whether a server refused the question for its protocol versions: it is an older one, and nothing failed."""
    return row.method == PROBING and row.state is State.FAILED


def error_type(row: Request) -> str:
    """Returns the kind of a failure as OpenTelemetry's ``error.type``; empty if a request did not fail."""
    if row.cause is not None:
        return "timeout" if row.cause in TIMEOUTS else "cancelled"
    if row.error and not is_refused_probe(row):
        return row.rule or ("" if row.code is None else str(row.code)) or row.state.value
    return "tool_error" if row.is_error else ""


def failure(row: Request) -> str:
    """Returns the reason of a failure in the server's words with the code: ``database is down (error -32603)``."""
    has_code = row.code is None or str(row.code) in row.error  # several SDKs repeat the code in the message
    return (row.error or "the server does not say why") + ("" if has_code else f" (error {row.code})")


def is_answered(row: Request) -> bool:
    """Whether the server answered a request, in time or late."""
    return row.answered_after is not None or late_answer(row) is not None


def late_answer(row: Request) -> Evidence | None:
    """Returns the worst response that arrived after the request was cancelled or lost: a late error never hides a late
    result.
    """
    return min(late_answers(row), key=lambda each: WORST_FIRST[LATE_BY_KIND[each.kind]], default=None)


def late_answers(row: Request) -> list[Evidence]:
    """Returns the responses that arrived after a request was cancelled or lost, in order.

    A task handle does not count, because the cancel waits for it (C-17, C-80: a late handle is cancelled as a task).
    The result of a subscription does not count, because it only ends it (C-59: the client unsubscribed).
    """
    found: list[Evidence] = []
    for evidence in row.late:
        handle = evidence.kind is Kind.TASK and bool(row.task_id)
        over = evidence.kind is Kind.RESULT and row.method == LISTEN
        if not (evidence.kind is Kind.PROGRESS or handle or over):
            found.append(evidence)
    return found


def _became_task(row: Request) -> bool:
    """Whether a task handle arrived late."""
    return any(each.kind is Kind.TASK for each in row.late)


def late_progress(row: Request) -> Evidence | None:
    """Returns the progress that arrived after a request was cancelled or lost."""
    return next((each for each in row.late if each.kind is Kind.PROGRESS), None)


def delivery(row: Request) -> Delivery:
    """Returns the delivery of a cancelled request's signal."""
    if row.undelivered:
        return Delivery.REFUSED if row.refused else Delivery.FAILED
    if row.signal is None or row.signal is Signal.NONE:
        return Delivery.NONE
    return Delivery.WRITTEN if row.accepted_at is None else Delivery.ACCEPTED


LEAST_QUIET_SECONDS: Final = 0.5
"""The minimum number of seconds without progress that counts as quiet."""

WORDING_SETTLES_SECONDS: Final = 60.0
"""The minimum number of seconds after the last event in which the words about a cancelled request depend on the time."""

FOREVER: Final = float("inf")
"""The ``until`` of a view without a clock: nothing changes with time any more."""


def watched_until(row: Request, until: float) -> float:
    """Returns the time at which watching a cancelled request ended, at most ``until`` (monotonic seconds).

    Without an event that ends it, watching ends some time after the last event, so that the words stop changing.
    """
    return min(until, _wording_settles_at(row) if row.unwatched_at is None else row.unwatched_at)


def wording_may_change(row: Request, now: float) -> bool:
    """Whether the words about a cancelled request still depend on the time."""
    if row.signalled_at is None or row.unwatched_at is not None or row.signal is Signal.STREAM_CLOSED:
        return False
    changing = late_answer(row) is None or late_progress(row) is not None
    return changing and not row.open and now < _wording_settles_at(row)


def _wording_settles_at(row: Request) -> float:
    """Returns the time from which the words about a cancelled request no longer depend on the time."""
    asked = row.signalled_at or row.cancel_at or row.ended_at or 0.0
    newest = max((asked, *(each.last_at for each in row.late)))
    return newest + max(WORDING_SETTLES_SECONDS, quiet_after(row.longest_gap) + 1.0)


def quiet_after(longest_gap: float) -> float:
    """Returns the number of seconds without progress that counts as quiet, from the longest gap between two messages."""
    return max(LEAST_QUIET_SECONDS, 2 * longest_gap)


def watched(row: Request, until: float) -> float:
    """Returns the seconds for which the client listened after the signal; 0 without a signal and for a closed stream."""
    unobservable = row.signal in (None, Signal.NONE, Signal.STREAM_CLOSED)
    if unobservable or row.signalled_at is None:
        return 0.0
    return max(0.0, watched_until(row, until) - row.signalled_at)


def unconfirmed(row: Request, until: float) -> float | None:
    """Returns the seconds since a signal was written whose HTTP status may still arrive, or ``None``."""
    if (
        not row.answer_owed
        or row.unanswered
        or row.signalled_at is None
        or delivery(row) is not Delivery.WRITTEN
    ):
        return None
    return max(0.0, watched_until(row, until) - row.signalled_at)


def is_still_progressing(row: Request, until: float) -> bool:
    """Whether progress continued until the end of watching: before it is quiet, nobody can know that it ended."""
    return _kept_progressing(row) and _silence(row, until) <= quiet_after(row.longest_gap)


def is_quiet(row: Request, until: float) -> bool:
    """Whether progress continued after the cancel and then stopped for an unknown reason."""
    explained = is_confirmed(row) or delivery(row) is Delivery.NONE
    return _kept_progressing(row) and _silence(row, until) > quiet_after(row.longest_gap) and not explained


def _kept_progressing(row: Request) -> bool:
    """Whether progress arrived that cannot have crossed the cancel, and no answer explains its end."""
    if row.cancel_at is None or row.signalled_at is None or row.progress_at is None:
        return False
    # Progress within this time may have been on its way, so it does not show that the tool kept running.
    return row.progress_at - row.signalled_at > TRANSIT and not _ended_by_answer(row)


def _ended_by_answer(row: Request) -> bool:
    """Whether a late answer arrived, and no progress after it."""
    answers, progress = late_answers(row), late_progress(row)
    return bool(answers) and (progress is None or progress.last_at <= answers[-1].last_at)


def _silence(row: Request, until: float) -> float:
    """Returns the seconds without progress until the end of watching, counted from the signal at the earliest."""
    return watched_until(row, until) - max(row.progress_at or 0.0, row.signalled_at or 0.0)


def _was_never_watched(row: Request) -> bool:
    """Whether watching ended before the signal was written, so that later messages were not received."""
    return row.unwatched_at is not None and row.unwatched_at <= (row.signalled_at or 0.0)


def is_confirmed(row: Request) -> bool:
    """Whether the server confirmed that the task of a cancelled request is cancelled."""
    return row.task_status == "cancelled" or row.settled == CONFIRMED


def is_disconnected(row: Request) -> bool:
    """Whether the connection ended soon after the cancel, and this client did not end it."""
    return row.cancel_at is not None and row.disconnected_at is not None


def unsubscribed(row: Request) -> bool:
    """Whether this client ended a subscription and nothing else happened."""
    over = row.method == LISTEN and row.state is State.CANCELLED and row.sent_at is not None
    return over and not row.undelivered and late_answer(row) is None


def outcomes(row: Request, until: float) -> tuple[Outcome, ...]:
    """Returns all outcomes of a row's cancel, the worst first."""
    if row.cancel_at is None:
        return (Outcome.WITHDRAWN,)
    found: set[Outcome] = set()
    answers = late_answers(row)
    if answers:
        found |= {LATE_BY_KIND[each.kind] for each in answers}
    elif _became_task(row) and not (is_confirmed(row) or _is_watching(row)):
        found.add(Outcome.LATE_TASK)
    if is_confirmed(row):
        found.add(Outcome.TASK_CANCELLED)
    if is_still_progressing(row, until):
        found.add(Outcome.STILL_PROGRESSING)
    elif is_quiet(row, until):
        found.add(Outcome.PROGRESS_THEN_QUIET)
    if is_dropped(row):
        found.add(Outcome.LATE_MALFORMED)
    if is_disconnected(row):
        found.add(Outcome.DISCONNECTED)
    if row.undelivered:
        found.add(Outcome.REFUSED if row.refused else Outcome.FAILED)
    return tuple(each for each in Outcome if each in found) if found else (_outcome_without_message(row),)


def outcome(row: Request, until: float) -> Outcome:
    """Returns the worst outcome of a row's cancel."""
    return outcomes(row, until)[0]


def _is_watching(row: Request) -> bool:
    """Whether the grace has not ended and messages may still arrive."""
    return row.state is State.CANCEL_REQUESTED and not row.watching_over


def _outcome_without_message(row: Request) -> Outcome:
    if _is_watching(row):
        return Outcome.WATCHING
    if row.signal is None or row.signal is Signal.NONE:
        return Outcome.NOT_SENT
    if row.signal is Signal.STREAM_CLOSED:
        return Outcome.STREAM_CLOSED
    return Outcome.NOT_WATCHED if _was_never_watched(row) else Outcome.NO_REPLY


# -- in words --------------------------------------------------------------------------------------------------


def delivery_words(row: Request, until: float) -> str:
    """Returns the words that say whether the cancel was sent, and whether the server received it."""
    if row.cancel_at is None:
        return "withdrawn"
    match delivery(row):
        case Delivery.FAILED:
            return f"not delivered: {row.undelivered}"
        case Delivery.REFUSED:
            return f"sent, refused: {row.undelivered}"
        case Delivery.ACCEPTED:
            return "sent, accepted by a server without sessions" if row.sessionless else "sent, accepted"
        case Delivery.WRITTEN:
            waits = unconfirmed(row, until)
            if row.signal is Signal.STREAM_CLOSED:
                return "stream closed"
            if row.unanswered:
                lag = (row.unanswered_at or 0.0) - (row.signalled_at or 0.0)
                return f"sent, no status: {row.unanswered} after {span(max(0.0, lag))}"
            return "sent" if waits is None else f"sent, not confirmed for {span(waits)}"
        case Delivery.NONE:
            return _not_sent(row)


def _not_sent(row: Request) -> str:
    if row.state is State.CANCEL_REQUESTED and row.watching_over:
        return f"not sent: {NO_TASK_ID if row.as_task and not row.task_id else CLOSED_FIRST}"
    if row.state is State.CANCEL_REQUESTED:
        if row.as_task and not row.task_id:
            return "not sent yet: waiting for the task's id"
        return f"not sent yet: {row.delayed}" if row.delayed else "not sent yet"
    if row.sent_at is None:
        return "not sent: cancelled before it was sent"
    if row.cancel_at is not None and row.sent_at > row.cancel_at and row.state is State.CANCELLED:
        return "not sent: the request was written after all"
    return f"not sent: {row.settled}" if row.settled else "not sent: it has no cancel signal"


def aftermath_words(row: Request, until: float) -> str:
    """Returns the words for all messages after the cancel; empty if none could arrive."""
    return "; ".join(_aftermath(row, until))


def _aftermath(row: Request, until: float) -> Iterator[str]:
    if row.cancel_at is None:
        return
    if unsubscribed(row):
        yield UNSUBSCRIBED
        return
    yield from _answers(row)
    progress = late_progress(row)
    if progress is not None:
        # Silence may be reported only if the client listened to the end.
        listened = not (_was_never_watched(row) or is_disconnected(row) or delivery(row) is Delivery.NONE)
        yield _progress(row, progress, until, quiet=listened and not _ended_by_answer(row))
    if is_disconnected(row):
        yield disconnected_words(row)
    if not row.late and not is_disconnected(row) and not is_confirmed(row):
        yield from _nothing(row, until)
    if row.rejection is not None:
        yield rejected_words(row.rejection.code, row.rejection.after)
    if late_answers(row):
        return  # The answer explains the end.
    explained = (
        is_confirmed(row) or delivery(row) is Delivery.NONE or row.settled in (row.unwatched, row.undelivered)
    )
    if row.settled and not explained:
        yield row.settled
    if row.unwatched and row.unwatched != row.disconnected:
        yield row.unwatched


def _answers(row: Request) -> Iterator[str]:
    if row.cancelled_by_server_at is not None:
        yield _cancelled_by_server(row, row.cancelled_by_server_at)
    answers = late_answers(row)
    for each in answers:
        yield f"{late_words(each, task=bool(row.task_id))}, ignored"
    if answers:
        return
    if is_confirmed(row):
        yield CONFIRMED
    elif row.task_id and _became_task(row):
        yield f"became task {row.task_id}"


def _cancelled_by_server(row: Request, at: float) -> str:
    after = at - (row.signalled_at or row.cancel_at or at)
    when = f"{span(-after)} before" if after < 0 else f"{span(after)} later"
    return f"the server sent a cancel of its own {when}"


def is_dropped(row: Request) -> bool:
    """Whether unreadable bytes arrived after the cancel, so that "no reply" would be false."""
    since = row.cancel_at if row.signalled_at is None else row.signalled_at
    return row.dropped_at is not None and since is not None and row.dropped_at >= since


def _nothing(row: Request, until: float) -> Iterator[str]:
    sent = delivery(row)
    if sent is Delivery.NONE or (_is_watching(row) and sent is not Delivery.REFUSED):
        return
    if is_dropped(row):
        yield f"{row.dropped} came, which no client reads"
    elif row.signal is Signal.STREAM_CLOSED or _was_never_watched(row):
        yield "nothing more can be seen"
    elif sent is not Delivery.FAILED:
        yield f"{_unanswered(row)} (watched {span(watched(row, until))})"


def _unanswered(row: Request) -> str:
    """Returns the words for a request without a response. A task has answered polls, so its last status is given."""
    return f"task last reported as {row.task_status}" if row.task_status else "no reply"


def _progress(row: Request, progress: Evidence, until: float, *, quiet: bool) -> str:
    last = after_words(progress.last_after, progress.most)
    if is_still_progressing(row, until):
        whole = span(watched_until(row, until) - (row.signalled_at or 0.0))
        count = "1 message" if progress.count == 1 else f"{progress.count:,} messages"
        return f"still progressing: {count}, last {last} of {whole}"
    count = "1 progress message" if progress.count == 1 else f"{progress.count:,} progress messages"
    text = f"{count}, last {last}"
    return f"{text}, then quiet for {span(_silence(row, until))}" if quiet else text


def late_words(evidence: Evidence, *, task: bool = False) -> str:
    """Returns a late response in words: ``late error -32800 at +31 ms``.

    ``task``: the request had become a task, which may finish after its cancel (C-88).
    """
    if task and evidence.kind in (Kind.RESULT, Kind.ERROR):
        name = "task finished anyway" if evidence.kind is Kind.RESULT else "task failed anyway"
    else:
        name = f"late {KIND_WORDS[evidence.kind]}"
    code = "" if evidence.code is None else f" {evidence.code}"
    bytes_ = f" ({size(evidence.size)})" if evidence.kind is Kind.OVERSIZE else ""
    if evidence.partial:
        name = f"half of an answer ({evidence.size:,} bytes) came"
    return f"{name}{code}{bytes_} {after_words(evidence.after, evidence.most)}"


def disconnected_words(row: Request) -> str:
    """Returns the words that say how the connection ended, and how long after the cancel."""
    return f"{row.disconnected or 'the connection ended'} ({span(_disconnected_after(row))} after the cancel)"


def _disconnected_after(row: Request) -> float:
    """Returns the seconds from the writing of the cancel to the end of the connection."""
    return max(0.0, (row.disconnected_at or 0.0) - (row.signalled_at or row.cancel_at or 0.0))


def short_words(row: Request, until: float) -> str:
    """Returns the words for the worst outcome of a cancelled request, for a narrow row."""
    if row.cancel_at is None:
        return ""
    if unsubscribed(row):
        return UNSUBSCRIBED
    answer, progress = late_answer(row), late_progress(row)
    worst_outcome = outcome(row, until)
    match worst_outcome:
        case Outcome.STILL_PROGRESSING if progress is not None:
            return f"still progressing ×{progress.count:,}"
        case Outcome.DISCONNECTED:
            return disconnected_words(row)
        case _ if answer is not None:
            return late_words(answer, task=bool(row.task_id))
        case Outcome.WATCHING:
            return f"cancel {delivery_words(row, until).partition(':')[0]}"
        case Outcome.REFUSED | Outcome.FAILED | Outcome.NOT_SENT | Outcome.STREAM_CLOSED:
            return delivery_words(row, until)
        case Outcome.TASK_CANCELLED:
            return CONFIRMED
        case _ if progress is not None:
            return _progress(row, progress, until, quiet=False)
        case Outcome.NO_REPLY:
            reply = _unanswered(row)
            return reply if row.task_status else f"{reply} in {span(watched(row, until))}"
        case _:
            return OUTCOME_WORDS[worst_outcome]


def summary_words(row: Request, until: float) -> str:
    """Returns delivery and aftermath in one line: ``sent; late result at +1.5 s, ignored``."""
    return "; ".join(filter(None, (delivery_words(row, until), aftermath_words(row, until))))


# -- as JSON ---------------------------------------------------------------------------------------------------


def late_json(each: Evidence) -> dict[str, Any]:
    """Returns one item of ``late``. Times are seconds since the cancel was written; ``most`` is the upper bound, if any."""
    made: dict[str, Any] = {"kind": each.kind.value, "after": round(each.after, 6)}
    if each.code is not None:
        made["code"] = each.code
    if each.kind is Kind.PROGRESS:
        made |= {"count": each.count, "last": round(each.last_after, 6)}
    if each.most is not None:
        made["most"] = round(each.most, 6)
    if each.partial:
        made["partial"] = True
    if each.kind is Kind.OVERSIZE or each.partial:
        made["bytes"] = each.size
    return made


def as_json(row: Request, until: float) -> dict[str, Any]:
    """Returns the members about the cancel in the JSON of a request, null without a cancel. Times are in seconds."""
    values = [each.value for each in outcomes(row, until)] if cancel_of(row) is not None else []
    fields: dict[str, Any] = {"outcome": values[0] if values else None, "outcomes": values}
    fields["repeat_of"] = None if row.repeat is None else row.repeat.repeat_of
    fields["first_outcome"] = None if row.repeat is None else row.repeat.first_outcome
    if row.cancel_at is None:
        nothing = ("signal", "delivery", "unconfirmed", "watched", "disconnected", "rejection")
        fields |= dict.fromkeys(nothing)
        return fields | {"reason_delivered": False, "late": list(map(late_json, row.late))}
    waits = unconfirmed(row, until)
    lost: dict[str, Any] | None = None
    if is_disconnected(row):
        lost = {"detail": row.disconnected, "after": round(_disconnected_after(row), 6)}
    no = row.rejection
    return fields | {
        "signal": Signal.NONE.value if row.signal is None else row.signal.value,
        "reason_delivered": row.reason_delivered,
        "delivery": delivery(row).value,
        "unconfirmed": None if waits is None else round(waits, 6),
        "watched": round(watched(row, until), 6),
        "disconnected": lost,
        "rejection": None if no is None else {"code": no.code, "after": round(no.after, 6)},
        "late": [late_json(each) for each in row.late],
    }


def worst(row: Request) -> float | None:
    """Returns the time of the last message in seconds after the cancel; ``None`` if no message arrived."""
    return max((each.last_after for each in row.late), default=None)


def lag(row: Request, outcome: Outcome) -> float | None:
    """Returns the seconds from the cancel to the last message of an outcome; ``None`` for an outcome without a time."""
    progress = late_progress(row)
    if outcome in (Outcome.STILL_PROGRESSING, Outcome.PROGRESS_THEN_QUIET) and progress is not None:
        return progress.last_after
    return next((each.after for each in late_answers(row) if LATE_BY_KIND[each.kind] is outcome), None)


def waits_to_cancel(row: Request) -> bool:
    """Returns whether the cancel of a request has been waiting too long to be written."""
    is_unwritten = row.delayed.startswith("not written")  # other texts say why the cancel is never written
    return is_unwritten and row.state is State.CANCEL_REQUESTED and row.signal is None


def cancellation_json(row: Request, until: float) -> dict[str, Any]:
    """Returns the members of ``log --json`` for a cancelled request; times are in seconds."""
    asked, sent, lag = cancel_of(row), row.sent_at, worst(row)
    assert asked is not None  # it was cancelled
    return {
        "id": row.id,
        "method": row.method,
        "name": row.name or None,
        "tool": row.name if row.method == "tools/call" else None,
        "state": ended(row),
        "cause": asked.cause.value,
        "reason": asked.reason,
        **as_json(row, until),
        "elapsed": None if sent is None or sent > asked.at else round(asked.at - sent, 6),
        "worst": None if lag is None else round(lag, 6),
        "details": summary_words(row, until) or None,
    }
