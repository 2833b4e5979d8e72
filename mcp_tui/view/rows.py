"""The texts of a request in a row, and the texts about the number of lines of a list."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, LiteralString

from mcp_tui.protocol import evidence, units
from mcp_tui.protocol.descriptions import guard_words, repeat_words
from mcp_tui.protocol.events import Cause, Origin
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.states import LISTEN
from mcp_tui.view import durations
from mcp_tui.view.keys import hint, key_of
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, clip, fit, join, safe, words

WARN_AT: Final = 0.8
"""The share of the nearest limit above which the elapsed time is shown as a warning."""

SILENCE_SECONDS: Final = 2.0
"""The seconds without a message about a request after which its row shows ``quiet``."""

BAR_CELLS: Final = 10
"""Cells of a progress bar."""

_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def request(row: Request) -> SafeText:
    """Returns method and name: ``tools/call slow_sql``."""
    return join((brief(row.method, 80), brief(row.name)), " ")


def repetitions(rows: Sequence[Request]) -> SafeText:
    """Returns a summary of repeated requests that have ended: ``5 × tools/call add: median 12 ms, worst 40 ms, …``."""
    from statistics import median  # imports `random`, which would slow the start of every command

    of = request(rows[0]) if len({(row.method, row.name) for row in rows}) == 1 else words("requests")
    times = [row.answered_after for row in rows if row.answered_after is not None]
    ends = Counter(evidence.ended(row) for row in rows)
    pieces = (
        clean(f"median {units.span(median(times))}, worst {units.span(max(times))}") if times else NOTHING,
        safe("{} failed", sum(row.is_error for row in rows) + ends["failed"] + ends["lost"]),
        safe("{} timed out", ends["timed_out"]) if ends["timed_out"] else NOTHING,
        safe("{} cancelled", ends["cancelled"]) if ends["cancelled"] else NOTHING,
        safe("{} late", sum(bool(row.late) for row in rows)),
    )
    return safe("{} × {}: {}", len(rows), of, join(pieces, ", "))


# -- clocks ----------------------------------------------------------------------------------------------------


def near_limit(row: Request, now: float) -> bool:
    """Returns whether a request has used :data:`WARN_AT` of its nearest limit, or has exceeded it."""
    if row.overdue_until is not None:
        return row.paused_at is None
    idle, maximum = row.deadlines()
    due = _used(row.idle_from, idle, now) >= WARN_AT
    return due or _used(row.sent_at, maximum, now) >= WARN_AT


def _used(start: float | None, end: float | None, now: float) -> float:
    if start is None or end is None:
        return 0.0
    return 1.0 if end <= start else (now - start) / (end - start)


def limit(row: Request, *, wide: bool = False) -> SafeText:
    """Returns the next limit: ``60s`` or ``max 10m``; for a finished request, the one that applied.

    With ``wide``, both running limits: ``60s · max 10m``.
    """
    if row.paused_at is not None:
        return words("paused")
    idle, maximum = row.deadlines()
    idle_span, maximum_span = row.limits.timeout, row.limits.max_timeout
    if idle is not None and row.idle_until is not None and row.idle_from is not None:
        idle_span = row.idle_until - row.idle_from
        idle_span = round(idle_span, 0 if idle_span >= 10 else 1)
    if idle is None and maximum is None:
        by_maximum = row.cause is Cause.MAX_TIMEOUT or idle_span is None
        by_maximum = by_maximum or (maximum_span is not None and maximum_span < (idle_span or math.inf))
    else:
        by_maximum = maximum is not None and (idle is None or maximum < idle)
    span = maximum_span if by_maximum else idle_span
    shown = durations.limit(span)
    if by_maximum and span is not None:
        shown = safe("max {}", shown)
    elif wide and idle is not None and maximum is not None:
        shown = safe("{} · max {}", shown, durations.limit(maximum_span))
    return shown


def silence(row: Request, now: float) -> SafeText:
    """Returns the time without a message about an open request: ``quiet 8s``; empty for the first seconds."""
    if (
        not row.open
        or row.received_at is None
        or row.paused_at is not None
        or now - row.received_at < SILENCE_SECONDS
    ):
        return NOTHING
    silent = now - row.received_at
    return safe("quiet {}s", int(silent)) if silent < 60 else safe("quiet {}", durations.elapsed(silent))


# -- information -----------------------------------------------------------------------------------------------


def info(row: Request, now: float, *, wide: bool = False) -> SafeText:
    """Returns the progress or the outcome of a request, after the request that it repeats and the decision of a guard."""
    text = _info(row, now, wide=wide)
    first = NOTHING if row.repeat is None else brief(repeat_words(row.repeat)) if wide else repeats(row)
    guard = brief(guard_words(row.guard)) if row.guard is not None and row.guard.how != "sent" else NOTHING
    return join((first, guard, text), " · ") if first or guard else text


def repeats(row: Request) -> SafeText:
    """Returns the id of the request that a request repeats: ``repeats 2``; empty if it repeats none."""
    return NOTHING if row.repeat is None else safe("repeats {}", brief(str(row.repeat.repeat_of), 40))


def _info(row: Request, now: float, *, wide: bool) -> SafeText:
    match row.state:
        case State.QUEUED:
            return words("waiting for a token") if row.paused_at is not None else progress(row, wide=wide)
        case State.TASK:
            return _task(row, wide=wide)
        case State.AWAITING_INPUT:
            return words("waiting for you") if row.asks else words("asked to try again")
        case State.IN_FLIGHT:
            return _in_flight(row, now, wide=wide)
        case State.CANCEL_REQUESTED | State.CANCELLED:
            return _cancelled(row, now, wide=wide)
        case State.COMPLETED:
            return _completed(row, wide=wide)
        case State.FAILED:
            return failure(row)
        case State.LOST:
            late = evidence.late_answer(row)
            return brief(row.error if late is None else evidence.late_words(late, task=bool(row.task_id)))


def _task(row: Request, *, wide: bool) -> SafeText:
    """Returns the progress of a task, or its status and message."""
    if row.paused_at is not None:
        return words("waiting for you")
    status = words("needs input") if row.task_status == "input_required" else brief(row.task_status)
    text = progress(row, wide=wide) or join((status, brief(row.task_message)), " ")
    return join((words("task"), text), " ") if wide else text


def _in_flight(row: Request, now: float, *, wide: bool) -> SafeText:
    if row.paused_at is not None:
        return words("paused: waiting for you") if wide else words("waits for you")
    if row.cancelled_by_server_at is not None:
        return words("cancelled by the server, still waiting") if wide else words("cancelled by the server")
    if row.delivered or row.acknowledged:
        return safe("listening, {:,} notifications", row.delivered)
    if row.overdue_until is not None:
        seconds_left = max(0, math.ceil(row.overdue_until - now))
        return safe("overdue, cancels in {}s", seconds_left) if wide else safe("overdue, {}s", seconds_left)
    if row.method == LISTEN:
        return words("not acknowledged yet") if wide else words("unacknowledged")
    silent = silence(row, now)
    if wide or not silent:
        return progress(row, silent, wide=wide) or silent
    # A narrow row has no room for the bar, the message, and the silence, so the bar and the message are left out.
    percent = _percent(row.progress, row.total)
    if percent is not None:
        return safe("{}% {}", percent, silent)
    return silent if row.progress is None else join((clip(number(row.progress), 5), silent), " ")


def progress(row: Request, silent: SafeText = NOTHING, *, wide: bool = False) -> SafeText:
    """Returns the progress of a request: a bar and percent if the total is known, otherwise the number.

    The silence and the message, if any, follow.
    """
    if row.progress is None:
        return NOTHING
    return _progress(row.progress, row.total, silent, row.message or "", wide)


@lru_cache(512)  # rows are drawn ten times a second, and progress changes less often
def _progress(done: float, total: float | None, silent: SafeText, message: str, wide: bool) -> SafeText:
    percent = _percent(done, total)
    if percent is None:
        return join((number(done), silent, brief(message)), " ")
    shown = safe("{}{:>3}%", bar(percent / 100), percent)
    return join((shown, silent, brief(message)), " ") if wide else shown


def _percent(done: float | None, total: float | None) -> int | None:
    if done is None or total is None or total <= 0 or not (math.isfinite(done) and math.isfinite(total)):
        return None
    # Rounded down, because a server at 99.7 % is not done.
    return int(100 * min(1.0, max(0.0, done / total)))


def bar(share: float, cells: int = BAR_CELLS) -> SafeText:
    """Returns a progress bar of ``cells`` cells, filled by ``share`` to the nearest lower eighth of a cell."""
    eighths = int(min(1.0, max(0.0, share)) * cells * 8)
    full, rest = divmod(eighths, 8)
    return clean(("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(cells, "░"))


def number(value: float) -> SafeText:
    """Returns a number from the server as text: ``17``, ``0.5``, ``1.2e+30``."""
    return clean(units.number(value))


def _cancelled(row: Request, now: float, *, wide: bool) -> SafeText:
    aftermath = brief(evidence.summary_words(row, now) if wide else evidence.short_words(row, now))
    internal = row.cause in evidence.TIMEOUTS or row.reason == evidence.UNSUBSCRIBED
    if not wide or row.state is State.CANCEL_REQUESTED or internal or len(evidence.outcomes(row, now)) > 1:
        return aftermath
    return join((aftermath, brief(row.reason)), " · ")


def _completed(row: Request, *, wide: bool) -> SafeText:
    if row.method == LISTEN:
        return words("closed by the server")
    again = safe("answered ×{}", row.duplicates + 1) if row.duplicates else NOTHING
    size = durations.size(row.response_size) if row.response_size else NOTHING
    text = first_line(row.summary) or size
    return join((again, text), " · ") if wide else again or text


def first_line(text: str) -> SafeText:
    """Returns the first line of a text that is not blank, with ``…`` if more lines follow; JSON becomes one line.

    If that line is long, or starts with Markdown, the first sentence of the text is returned.
    """
    lines = [each.strip() for each in text.strip().splitlines()]
    if text.lstrip()[:1] in ("{", "["):
        lines = [" ".join(lines)]
    elif lines and (lines[0].startswith("#") or "**" in lines[0] or len(lines[0]) > _LONG_LINE):
        line = next((each for each in lines if each and not each.startswith(_NO_SENTENCE)), lines[0])
        lines = [*_SENTENCE_END.split(_MARKDOWN_MARKS.sub("", line), maxsplit=1), *lines[1:]]
    return safe("{}{}", brief(lines[0]), " …" if any(lines[1:]) else "") if lines else NOTHING


_LONG_LINE: Final = 60
"""The most characters of a line that is shown whole; of a longer one, the first sentence is shown."""

_NO_SENTENCE: Final = ("#", "```", "~~~", "---", "|")
"""The starts of lines of Markdown that contain no sentence."""

_MARKDOWN_MARKS: Final = late(r"^(#{1,6}|>|[-*+])\s+|\*\*|`")
_SENTENCE_END: Final = late(r"(?<=\w\w\w[.!?])\s+(?=[^a-z])|(?<=[。！？])")


def failure(row: Request) -> SafeText:
    """Returns the error of a request: the server's code or the client's rule, and the message."""
    kind = row.rule if row.code is None else str(row.code)
    label = NOTHING if kind is None else brief(kind, 40)
    if row.origin is Origin.CLIENT and label:
        label = safe("{}:", label)
    again = safe("answered ×{}", row.duplicates + 1) if row.duplicates else NOTHING
    return join((again, label, brief(row.error)), " ")


def logged(row: Request, logged_at: Sequence[float], now: float) -> int:
    """Returns the number of log messages received while a request ran; a log message does not name its request."""
    if row.sent_at is None:
        return 0
    end = now if row.ended_at is None else row.ended_at
    return max(0, bisect_right(logged_at, end) - bisect_left(logged_at, row.sent_at))


def plural(count: int, what: LiteralString = "request") -> SafeText:
    """Returns ``1 request``, ``3 requests``."""
    return safe("{:,} {}{}", count, what, "" if count == 1 else "s")


def listed(rows: Iterable[Request]) -> list[SafeText]:
    """Returns the eight newest requests by id and name, and the number of other requests."""
    all_ = list(rows)
    lines = [safe("{}  {}", brief(str(row.id), 40), request(row)) for row in all_[-8:][::-1]]
    if len(all_) > 8:
        lines.append(safe("… and {:,} more", len(all_) - 8))
    return lines


def safe_name(text: str) -> str:
    """Returns a text as a part of a file name."""
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in text[:40])


# -- the number of lines --------------------------------------------------------------------------------------

_FIRST_STEPS: Final = (
    ("app.palette", words("Every command")),
    ("app.help", words("Keys, states, and counters")),
    ("request.saved", words("Saved calls")),
    ("server.menu", words("Reconnect or stop the server")),
)


def first_steps() -> SafeText:
    """Returns the text for a session without requests, with the first keys to use."""
    steps = [safe("{} {}", fit(key_of(key), 3), does) for key, does in _FIRST_STEPS]
    return join((hint("No requests yet. Press {request.new} to call a tool."), words(" "), *steps), "\n")


def empty_state(none: SafeText, *, wanted: SafeText, hidden: int, searching: bool = False) -> SafeText:
    """Returns the text of an empty list.

    Args:
        none: the text if there is no filter, or no line without the filter either.
        wanted: the filter as typed; empty for none.
        hidden: the number of lines that the filter hides.
        searching: whether the filter has not checked all lines yet.
    """
    if not wanted or not hidden:
        return none
    if searching:
        return words("Searching …")
    return safe("No match for '{}' ({:,} hidden)", wanted, hidden)


def counted(
    shown: int, total: int, what: LiteralString, *, internal: int = 0, key: SafeText = NOTHING
) -> SafeText:
    """Returns the number of lines shown, each a ``what``, and that of hidden internal ones, which ``key`` shows."""
    if internal:
        some = safe("{:,} of {:,}", shown, total) if shown != total else safe("{:,} shown", shown)
        return safe("{}, {:,} internal hidden ({} shows)", some, internal, key)
    return safe("{:,} of {}", shown, plural(total, what)) if shown != total else plural(shown, what)
