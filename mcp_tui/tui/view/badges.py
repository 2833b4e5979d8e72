"""What a row is called. States are few; "timed out" and "late, ignored" come of a state, a cause and the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp_tui.protocol.states import LISTEN, Cause, Kind, State
from mcp_tui.tui.view.glyphs import ascii_twin
from mcp_tui.tui.view.text import SafeText, brief, words

if TYPE_CHECKING:
    from mcp_tui.protocol.requests import Evidence, Request, ServerRequest


@dataclass(frozen=True, slots=True)
class Badge:
    """A word, a glyph with its ASCII twin, and the name of a style: each suffices alone."""

    word: SafeText
    glyph: SafeText
    ascii: SafeText
    style: str


def _badge(word: SafeText, glyph: SafeText, style: str) -> Badge:
    return Badge(word, glyph, ascii_twin(glyph), style)


QUEUED: Final = _badge(words("queued"), words("◌"), "queued")
IN_FLIGHT: Final = _badge(words("in flight"), words("▸"), "in-flight")
OVERDUE: Final = _badge(words("in flight"), words("▸"), "overdue")
AWAITING_INPUT: Final = _badge(words("awaiting input"), words("▸"), "awaiting-input")
TASK: Final = _badge(words("task"), words("▸"), "in-flight")
CANCEL_REQUESTED: Final = _badge(words("cancel requested"), words("◔"), "cancel-requested")
CANCELLED: Final = _badge(words("cancelled"), words("⊘"), "cancelled")
LATE: Final = _badge(words("late, ignored"), words("↯"), "late")
TIMED_OUT: Final = _badge(words("timed out"), words("◷"), "timed-out")
COMPLETED: Final = _badge(words("completed"), words("✓"), "completed")
TOOL_ERROR: Final = _badge(words("tool error"), words("✗"), "failed")
FAILED: Final = _badge(words("failed"), words("✗"), "failed")
LOST: Final = _badge(words("lost"), words("∅"), "lost")

BADGES: Final = (
    QUEUED,
    IN_FLIGHT,
    OVERDUE,
    AWAITING_INPUT,
    TASK,
    CANCEL_REQUESTED,
    CANCELLED,
    LATE,
    TIMED_OUT,
    COMPLETED,
    TOOL_ERROR,
    FAILED,
    LOST,
)
"""Every badge there is."""

STYLES: Final = tuple(dict.fromkeys(badge.style for badge in BADGES))
"""The names of styles that badges use; a widget has a component class for each."""

UNSUBSCRIBED: Final = words("unsubscribed")
"""What a subscription is that this client ended (C-59): the end that was wanted, whatever the server says to it."""

TIMEOUTS: Final = frozenset({Cause.TIMEOUT, Cause.MAX_TIMEOUT})


def badge(row: Request) -> Badge:
    """The badge of ``row``. It claims only what was seen: progress alone after a cancel is not yet a late answer."""
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
            if late_answer(row) is not None:
                return LATE
            if row.cause in TIMEOUTS:
                return TIMED_OUT
            return CANCEL_REQUESTED if row.state is State.CANCEL_REQUESTED else CANCELLED
        case State.COMPLETED:
            return TOOL_ERROR if row.is_error else COMPLETED
        case State.FAILED:
            return FAILED
        case State.LOST:
            return LOST if late_answer(row) is None else LATE


def late_answer(row: Request) -> Evidence | None:
    """The first answer that came after the request was given up, if one did; progress is none.

    Nor is the handle of a task: that is what its cancel waits for (C-17, C-80). Nor is the result of a subscription, which
    says that it is over (C-59).
    """
    for evidence in row.late:
        handle = evidence.kind is Kind.TASK and bool(row.task_id)
        ended = evidence.kind is Kind.RESULT and row.method == LISTEN
        if not (evidence.kind is Kind.PROGRESS or handle or ended):
            return evidence
    return None


def unsubscribed(row: Request) -> bool:
    """Whether this is a subscription that this client ended, and no more than that came of it."""
    over = row.method == LISTEN and row.state is State.CANCELLED and row.sent_at is not None
    return over and not row.undelivered and late_answer(row) is None


def late_progress(row: Request) -> Evidence | None:
    """The progress that went on after the request was given up, if it did."""
    for evidence in row.late:
        if evidence.kind is Kind.PROGRESS:
            return evidence
    return None


# -- requests of the server's ----------------------------------------------------------------------------------

FROM_SERVER: Final = words("◂")
"""What comes from the server to us."""


def server_request_badge(server_request: ServerRequest) -> Badge:
    """What became of a request of the server's; ``asks`` while it waits for an answer."""
    word, style = words("asks"), "awaiting-input"
    if server_request.ended_at is not None:
        match server_request.outcome.partition(" ")[0]:
            case "withdrawn":
                word, style = words("withdrawn"), "cancelled"
            case "lost":
                word, style = words("lost"), "lost"
            case _ if server_request.code is not None:
                word, style = words("refused"), "failed"
            case _:
                word, style = words("answered"), "completed"
    return Badge(word, FROM_SERVER, ascii_twin(FROM_SERVER), style)


def outcome_of(server_request: ServerRequest) -> SafeText:
    """What became of it, as it was told."""
    return (
        brief(server_request.outcome, 80)
        if server_request.ended_at is not None
        else words("waits for an answer")
    )
