"""The badges of rows. A badge follows from the state of a request, the cause of its cancel, and the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_tui.protocol.evidence import (
    FOREVER,
    LATE_OUTCOMES,
    TIMEOUTS,
    Outcome,
    is_disconnected,
    late_answer,
    outcomes,
)
from mcp_tui.protocol.states import Cause, State
from mcp_tui.protocol.values import frozen
from mcp_tui.view.text import SafeText, brief, clean, words

if TYPE_CHECKING:
    from mcp_tui.protocol.requests import Request
    from mcp_tui.protocol.server_requests import ServerRequest


@frozen
class Badge:
    """A word, a glyph, and the name of a style; each of the three is enough to recognise the badge."""

    word: SafeText
    glyph: SafeText
    style: str


QUEUED: Final = Badge(words("queued"), words("◌"), "queued")
IN_FLIGHT: Final = Badge(words("in flight"), words("▸"), "in-flight")
OVERDUE: Final = Badge(words("in flight"), words("▸"), "overdue")
AWAITING_INPUT: Final = Badge(words("waiting"), words("▸"), "awaiting-input")
TASK: Final = Badge(words("task"), words("▸"), "in-flight")
CANCEL_REQUESTED: Final = Badge(words("cancelling"), words("◔"), "cancel-requested")
CANCELLED: Final = Badge(words("cancelled"), words("⊘"), "cancelled")
LATE: Final = Badge(words("late"), words("↯"), "late")
GOING_ON: Final = Badge(words("progressing"), words("↻"), "overdue")
QUIET: Final = Badge(words("quiet"), words("⇣"), "late")
GOING_ON_LOST: Final = Badge(words("prog. lost"), words("∅"), "overdue")
CUT_OFF: Final = Badge(words("conn. lost"), words("∅"), "overdue")
TIMED_OUT: Final = Badge(words("timed out"), words("◷"), "timed-out")
COMPLETED: Final = Badge(words("completed"), words("✓"), "completed")
TOOL_ERROR: Final = Badge(words("tool error"), words("✗"), "failed")
FAILED: Final = Badge(words("failed"), words("✗"), "failed")
LOST: Final = Badge(words("lost"), words("∅"), "lost")

_OUTCOME_BADGES: Final = {
    **dict.fromkeys(LATE_OUTCOMES, LATE),
    Outcome.STILL_PROGRESSING: GOING_ON,
    Outcome.PROGRESS_THEN_QUIET: QUIET,
    Outcome.DISCONNECTED: CUT_OFF,
}
"""The badges of outcomes that show a cancel was not obeyed, or may not have been."""

BADGES: Final = tuple(each for each in tuple(globals().values()) if isinstance(each, Badge))
"""All badges, in the order above."""

ROUND: Final = Badge(words("round"), words("→"), "in-flight")
"""A further round of a request; it has the style of the request."""

CAUSES: Final = {
    Cause.USER: words("you"),
    Cause.TIMEOUT: words("timeout"),
    Cause.MAX_TIMEOUT: words("max timeout"),
    Cause.SHUTDOWN: words("quit"),
    Cause.PARENT: words("parent"),
    Cause.CLIENT: words("client"),
}
"""The causes of a cancel in words."""


def badge(row: Request, now: float = FOREVER) -> Badge:
    """Returns the badge of a row at ``now``, in monotonic seconds; by default after its last event."""
    match row.state:
        case State.QUEUED:
            return QUEUED
        case State.IN_FLIGHT:
            return IN_FLIGHT if row.overdue_until is None else OVERDUE
        case State.AWAITING_INPUT:
            return AWAITING_INPUT
        case State.TASK:
            return TASK
        case State.CANCEL_REQUESTED | State.CANCELLED:
            if found := _outcome_badges(row, now):
                # The end of the connection must not hide that the request kept running.
                return GOING_ON_LOST if found[0] is GOING_ON and is_disconnected(row) else found[0]
            if row.cause in TIMEOUTS:
                return TIMED_OUT
            return CANCEL_REQUESTED if row.state is State.CANCEL_REQUESTED else CANCELLED
        case State.COMPLETED:
            return TOOL_ERROR if row.is_error else COMPLETED
        case State.FAILED:
            return FAILED
        case State.LOST:
            return LOST if late_answer(row) is None else LATE


def badges(row: Request, now: float = FOREVER) -> list[Badge]:
    """Returns every badge that fits a row: the one that the row shows first, then those of all its outcomes."""
    hidden = _outcome_badges(row, now) if row.state in {State.CANCEL_REQUESTED, State.CANCELLED} else []
    return [badge(row, now), *hidden]


def _outcome_badges(row: Request, now: float) -> list[Badge]:
    """Returns the badges of the outcomes in :data:`_OUTCOME_BADGES`, the worst first."""
    if not (row.late or is_disconnected(row)):
        return []
    found = (each for each in outcomes(row, now) if late_answer(row) or each not in LATE_OUTCOMES)
    return [_OUTCOME_BADGES[each] for each in found if each in _OUTCOME_BADGES]


# -- requests from the server ----------------------------------------------------------------------------------

FROM_SERVER: Final = words("◂")
"""The glyph of messages from the server."""


SERVER_BADGES: Final = {
    name: Badge(name, FROM_SERVER, style)
    for name, style in (
        (words("asks"), "awaiting-input"),
        (words("withdrawn"), "cancelled"),
        (words("lost"), "lost"),
        (words("refused"), "failed"),
        (words("answered"), "completed"),
    )
}
"""The badges of the server's requests, by their words."""


def server_request_badge(server_request: ServerRequest) -> Badge:
    """Returns the badge of a request from the server; ``asks`` while the request waits for an answer."""
    word = "asks"
    if server_request.ended_at is not None:
        word = server_request.outcome.partition(" ")[0]
        if word not in {"withdrawn", "lost"}:
            word = "answered" if server_request.code is None else "refused"
    return SERVER_BADGES[clean(word)]


def outcome_of(server_request: ServerRequest) -> SafeText:
    """Returns the outcome of a request from the server."""
    waits = server_request.ended_at is None
    return words("waits for an answer") if waits else brief(server_request.outcome, 80)
