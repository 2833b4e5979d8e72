"""The vocabulary of requests: states, causes, signals, kinds of evidence, limits.

It imports nothing, so that settings and command lines can use it without loading the rest of the protocol. Which event
may follow in which state is in :data:`mcp_tui.protocol.transitions.TRANSITIONS`.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from mcp_tui.protocol.values import fact

RequestId = int | str
"""A valid id of a JSON-RPC request: an integer or a string, never null (basic, every revision)."""

TypedId = tuple[type, RequestId]
"""The type and the value of an id: ``1`` and ``"1"`` are two ids."""


LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages, the least severe first (RFC 5424; logging, every revision)."""


class State(Enum):
    """The state of one of our requests."""

    QUEUED = "queued"
    IN_FLIGHT = "in_flight"
    AWAITING_INPUT = "awaiting_input"
    TASK = "task"
    CANCEL_REQUESTED = "cancel_requested"
    CANCELLED = "cancelled"
    COMPLETED = "completed"
    FAILED = "failed"
    LOST = "lost"

    __hash__ = object.__hash__  # each is one object, and tables of states are looked into for every event


OPEN: Final = frozenset({State.QUEUED, State.IN_FLIGHT, State.AWAITING_INPUT, State.TASK})
"""States in which an answer is still waited for."""

RUNNING: Final = frozenset({State.IN_FLIGHT, State.TASK})
"""States in which the server is at work on a request, and its clocks run."""

TERMINAL: Final = frozenset({State.CANCELLED, State.COMPLETED, State.FAILED, State.LOST})
"""States that never change again."""


class Cause(Enum):
    """The cause of a cancel."""

    USER = "user"
    TIMEOUT = "timeout"
    MAX_TIMEOUT = "max_timeout"
    SHUTDOWN = "shutdown"
    PARENT = "parent"
    CLIENT = "client"
    """The client that a tap listens to."""


class Signal(Enum):
    """The signal of a cancel, prescribed by the revision and the transport."""

    NOTIFICATION = "notification"
    STREAM_CLOSED = "stream_closed"
    TASKS_CANCEL = "tasks_cancel"
    NONE = "none"


class Kind(Enum):
    """The kind of a late, duplicate, or unknown message."""

    RESULT = "result"
    ERROR = "error"
    PROGRESS = "progress"
    INPUT_REQUIRED = "input_required"
    TASK = "task"
    MALFORMED = "malformed"
    """A response that cannot be read as a result or an error."""
    OVERSIZE = "oversize"
    """A response above the cap for one message, of which nothing else is known."""


KIND_WORDS: Final = {
    Kind.RESULT: "result",
    Kind.ERROR: "error",
    Kind.MALFORMED: "malformed message",
    Kind.OVERSIZE: "message, too large",
    Kind.INPUT_REQUIRED: "input request",
    Kind.TASK: "task",
}


class Origin(Enum):
    """The side that reports a failure. A local failure never has a JSON-RPC code."""

    SERVER = "server"
    CLIENT = "client"


@fact
class Limits:
    """The two clocks of a request, in seconds; ``None`` means no limit.

    ``timeout`` is re-armed by increasing progress of the request's own token; ``max_timeout`` never is
    (timeouts, 2025-03-26 and later), and it bounds the wait for being written as well.
    ``ask`` is the countdown between the idle limit and the cancel while a person is being asked; 0 cancels at once.
    """

    timeout: float | None = 60.0
    max_timeout: float | None = 600.0
    ask: float = 0.0


LISTEN: Final = "subscriptions/listen"
"""The request that a subscription is (2026-07-28)."""

UNTOKENED: Final = frozenset({"initialize", "ping"})
"""Requests that carry no progress token."""

DEFAULT_LIMITS: Final = Limits()

GRACE: Final = 2.0
"""Seconds that a cancelled row stays *cancel requested* after its notification left: no acknowledgement exists."""

TRANSIT: Final = 0.3
"""Seconds after the signal's writing within which a message may have crossed it on its way."""
