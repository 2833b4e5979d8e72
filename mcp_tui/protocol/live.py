"""Everything that is kept of ONE open request beside its row, and dropped with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request


@dataclass(slots=True, eq=False)
class Live:
    """One open request: its row, and what is needed only until it is over."""

    row: Request
    params: dict[str, Json] | None = None
    """What it was called with, where it may have to be sent again."""

    held: bool = False
    """A round of it waits for fresh headers, or for a token."""

    request_state: str | None = None
    """The server's ``requestState``, to be sent back as it came."""

    gathers: bool = False
    """Its last answer asked for input, so the next round has to bring ``inputResponses``."""

    questions: dict[str, bool] = field(default_factory=dict[str, bool])
    """What its task asks, by the server's keys, and whether a person is still being asked."""

    fetch: RequestId | None = None
    """The ``tasks/result`` that waits for the result of its task."""

    acknowledged: str = ""
    """What the answer to ``tasks/cancel`` promised."""

    @property
    def asks_person(self) -> bool:
        """Whether a person is being asked what its task asks."""
        return self.row.task_status == "input_required" and any(self.questions.values())
