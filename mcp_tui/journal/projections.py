"""The facts of each cancellation of a session, made of its requests: what the index, ``log`` and the exports are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.evidence import Outcome
from mcp_tui.protocol.requests import Request


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A request that was cancelled, and what came of it by ``until``, a moment on the monotonic clock in seconds."""

    row: Request
    request: ev.CancelRequested
    until: float

    @property
    def outcome(self) -> Outcome:
        """What came of it, in one word."""
        return evidence.outcome(self.row, self.until)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All that came of it, the weightiest first."""
        return evidence.outcomes(self.row, self.until)

    @property
    def worst(self) -> float | None:
        """The greatest lag, in seconds, of whatever came after the cancel; ``None`` where nothing did."""
        return max((each.last_after for each in self.row.late), default=None)

    @property
    def elapsed(self) -> float | None:
        """Seconds from the request's writing to the cancel; ``None`` where it was not written before."""
        sent = self.row.sent_at
        return None if sent is None or sent > self.request.at else self.request.at - sent

    def as_json(self) -> dict[str, Any]:
        """The members of ``log --json`` that are about the request; times in seconds."""
        row, worst, elapsed = self.row, self.worst, self.elapsed
        return {
            "id": row.id,
            "method": row.method,
            "name": row.name or None,
            "tool": row.name if row.method == "tools/call" else None,
            "state": evidence.ended(row),
            "outcome": self.outcome.value,
            "cause": self.request.cause.value,
            "reason": self.request.reason,
            **evidence.as_json(row, self.until),
            "elapsed": None if elapsed is None else round(elapsed, 6),
            "worst": None if worst is None else round(worst, 6),
            "details": evidence.summary_words(row, self.until) or None,
        }


def cancelled(row: Request, until: float) -> Cancelled | None:
    """The facts of a row's cancellation, or ``None`` where it was never cancelled."""
    request = evidence.cancel_of(row)
    return None if request is None else Cancelled(row, request, until)
