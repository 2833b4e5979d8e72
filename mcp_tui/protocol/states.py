"""The enums and limits of requests: state, cause, signal, kind, origin.

This module imports no other part of the protocol but the value classes, so that settings and the command line start
fast. :data:`mcp_tui.protocol.transitions.TRANSITIONS` says which event may follow in which state.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from mcp_tui.protocol.values import fact

RequestId = int | str
"""The id of a JSON-RPC request: an integer or a string, never null (basic, every revision)."""

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

    # Enum hashes the name on each call, but each member is one object, and every event looks up tables of states.
    __hash__ = object.__hash__


OPEN: Final = frozenset({State.QUEUED, State.IN_FLIGHT, State.AWAITING_INPUT, State.TASK})
"""The states of a request that still waits for its answer."""

RUNNING: Final = frozenset({State.IN_FLIGHT, State.TASK})
"""The states in which the server works on a request and its clocks run."""

TERMINAL: Final = frozenset({State.CANCELLED, State.COMPLETED, State.FAILED, State.LOST})
"""The states that never change again."""


class Cause(Enum):
    """The cause of a cancel."""

    USER = "user"
    TIMEOUT = "timeout"
    MAX_TIMEOUT = "max_timeout"
    SHUTDOWN = "shutdown"
    PARENT = "parent"
    CLIENT = "client"
    """The client that a tap observes."""


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
    """A response above the cap for one message. Nothing else is known of it."""


KIND_WORDS: Final = {
    Kind.RESULT: "result",
    Kind.ERROR: "error",
    Kind.MALFORMED: "malformed message",
    Kind.OVERSIZE: "message, too large",
    Kind.INPUT_REQUIRED: "input request",
    Kind.TASK: "task",
}


class Origin(Enum):
    """The side that reports a failure. Only the server's failures have a JSON-RPC code."""

    SERVER = "server"
    CLIENT = "client"


@fact
class Limits:
    """The timeouts of a request, in seconds; ``None`` means no limit.

    Progress that increases restarts ``timeout``, if it has the token of the request. Nothing restarts ``max_timeout``
    (timeouts, 2025-03-26 and later), which also limits the time until the request is written. ``ask`` is the time
    between the timeout and the cancel in which a person is asked; 0 cancels at once.
    """

    timeout: float | None = 60.0
    max_timeout: float | None = 600.0
    ask: float = 0.0


LISTEN: Final = "subscriptions/listen"
"""The method that opens a subscription (2026-07-28)."""

PROBING: Final = "server/discover"
"""The method by which a client asks a server for its protocol versions (2026-07-28)."""

UNTOKENED: Final = frozenset({"initialize", "ping"})
"""The methods whose requests carry no progress token."""

DEFAULT_LIMITS: Final = Limits()

GRACE: Final = 2.0
"""Seconds for which a row stays *cancel requested* after its signal was written: MCP has no acknowledgement."""

TRANSIT: Final = 0.3
"""Seconds after the signal was written in which the server may have sent a message without knowing of the cancel."""
