"""Asking after tasks: when the next poll is due, and until when it matters what becomes of one."""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol.events import Limits
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.rounds import Rounds

POLL: Final = 1.0
"""Seconds between two polls where the server names no interval."""

POLLS: Final = (0.1, 60.0)
"""The shortest and the longest interval, in seconds, whatever the server names."""

AFTER: Final = 10.0
"""Seconds after a cancel for which a task is still polled: it may finish anyway."""

POLL_LIMITS: Final = Limits(timeout=30.0, max_timeout=60.0)


class Polls(Rounds):
    """The part of a ledger that asks after tasks."""

    def _plan(self, row: Request, at: float, after: float | None = None) -> None:
        """Have a task asked after, if it matters still."""
        if not self._followed(row, at):
            self._unfollow(row)
            return
        if after is None:
            low, high = POLLS
            after = min(high, max(low, POLL if row.task_poll is None else row.task_poll))
            if row.state is not State.TASK and row.cancel_at is not None:
                # when it is let go of, unless something is heard before
                after = min(after, row.cancel_at + AFTER - at)
        self.deadlines.arm(_poll_key(row), at + after)

    def _poll(self, key: str, at: float) -> None:
        """The time for a poll has come."""
        row = self.book.get(int(key.removeprefix("poll:")))
        if row is None or not row.task_id:
            return
        if self._followed(row, at):
            self._ask(row, "tasks/get", POLL_LIMITS, at)
        else:
            self._unfollow(row)

    def _followed(self, row: Request, at: float) -> bool:
        """Whether it matters still what becomes of a task."""
        if row.state is State.TASK:
            return True
        if self._tasks.get(row.task_id) is not row:
            return False
        waits = row.state in (State.CANCEL_REQUESTED, State.CANCELLED) and row.task_status not in (
            "completed",
            "failed",
            "cancelled",
        )
        return waits and row.cancel_at is not None and at - row.cancel_at < AFTER

    def _unfollow(self, row: Request) -> None:
        """Let go of a task: nothing that the server says of it can change anything."""
        self.deadlines.arm(_poll_key(row), None)
        self._misses.pop(row.id, None)
        if self._tasks.get(row.task_id) is row:
            del self._tasks[row.task_id]

    def _tasks_gone(self) -> None:
        """The connection is gone, and nobody can be asked after a task."""
        for row in tuple(self._tasks.values()):
            self._unfollow(row)

    def _ask(self, row: Request, method: str, limits: Limits, at: float, more: Json = None) -> None:
        params: dict[str, Json] = {"taskId": row.task_id, **as_object(more)}
        id_ = self.call(method, params, limits=limits, internal=True, parent=row.id, at=at)
        self._errands[id_] = row


def _poll_key(row: Request) -> str:
    return f"poll:{row.id}"
