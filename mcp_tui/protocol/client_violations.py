"""Violations and repeated calls of the client behind a tap, as lines of the cancellation log. They do not count as
cancels.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from mcp_tui.protocol.descriptions import CLAUSES
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import Cause, RequestId
from mcp_tui.protocol.values import fact

VIOLATION: Final = "violation"
"""The name under which broken rules are counted among the outcomes."""


REPEAT: Final = "repeat"
"""The name under which repeated calls are counted among the outcomes. A repeat breaks no rule."""


@fact
class ClientViolation:
    """A rule that a client broke, or a call that it repeated.

    ``id``, ``method``, and ``name`` belong to the request in question, if any. ``at`` is a monotonic time in seconds.
    ``count`` is how often the client has broken the rule for this request so far. For a repeat, ``repeat_of`` is the
    first call, ``first_outcome`` its outcome as known then, and ``ran_twice`` says that both calls were answered.
    """

    at: float
    rule: str
    detail: str
    id: RequestId | None = None
    method: str = ""
    name: str = ""
    count: int = 1
    repeat_of: RequestId | None = None
    first_outcome: str | None = None
    ran_twice: bool = False

    @property
    def is_repeat(self) -> bool:
        """Whether this is a repeated call."""
        return self.rule == REPEAT

    @property
    def cause(self) -> Cause:
        """The client, always."""
        return Cause.CLIENT

    @property
    def reason(self) -> str:
        """Empty: a violation has no reason."""
        return ""

    @property
    def clause(self) -> str:
        """The level of the rule and its clause in the specification; empty if the specification has none."""
        return CLAUSES.get(self.rule, "")

    @property
    def words(self) -> str:
        """The violation, or the repeat, in words."""
        if self.is_repeat:
            return f"{self.detail}{'; both were answered' if self.ran_twice else ''}"
        more = f"; it broke this rule {self.count:,} times" if self.count > 1 else ""
        return f"violation by the client: {self.detail}{f' ({self.clause})' if self.clause else ''}{more}"

    def as_json(self) -> dict[str, Any]:
        """Returns its members in ``log --json``."""
        if self.is_repeat:
            more: dict[str, Any] = {"repeat_of": self.repeat_of, "first_outcome": self.first_outcome}
            more |= {"violation": None, "ran_twice": self.ran_twice}
        else:
            more = {"violation": self.rule, "clause": self.clause or None, "count": self.count}
        return {
            "id": self.id,
            "method": self.method or None,
            "name": self.name or None,
            "cause": self.cause.value,
            **more,
            "details": self.detail,
        }


Cancelled: TypeAlias = Request | ClientViolation
"""A line of the cancellation log: a cancelled request, or a violation or repeat of the client behind a tap."""
