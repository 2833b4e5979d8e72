"""What a ledger wants done: effects, carried out by the client in the order in which they came.

Events say what became true; effects say what must happen outside. A ledger yields both in one list.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.messages import Json, ResponseFrame


class CancelOutcome(Enum):
    """What a wish to cancel came to."""

    REQUESTED = "requested"
    ALREADY_DONE = "already done"
    ALREADY_REQUESTED = "already requested"
    REFUSED = "refused"
    HELD = "held"
    UNSENT = "cancelled before it was sent"
    ABANDONED = "given up: nothing to cancel"
    LEFT = "waited for no more: it cannot be cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Write a request of ours. ``name`` is what ``Mcp-Name`` says of it, empty where it has none."""

    id: RequestId
    method: str
    name: str
    message: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendSignal:
    """Let a cancel leave, ahead of everything queued. ``message`` is set for a notification."""

    id: RequestId
    signal: Signal
    message: dict[str, Json] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unqueue:
    """Take back a request of which no byte was written (C-06)."""

    id: RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Take back a signal that has not begun to leave."""

    id: RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Close what the transport still holds open for a request that is over (C-37), and resume it no more."""

    id: RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Answer a request of the server's."""

    request_id: RequestId
    message: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Have a person, or a rule, answer a request of the server's. ``parent`` is the request of ours it belongs to."""

    request_id: RequestId
    method: str
    params: dict[str, Json]
    parent: RequestId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOver:
    """A prompt needs no answer any more; ``why`` says so to the person who was about to give one."""

    request_id: RequestId
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather:
    """Gather the input that the server asks for before a request of ours can go on.

    ``requests`` maps the server's keys to its questions, each with ``method`` and ``params``; empty where only a retry is
    wanted, after ``wait`` seconds. ``task``: the answers go out by ``tasks/update``, and may come one by one.
    """

    id: RequestId
    requests: dict[str, dict[str, Json]]
    round: int = 1
    wait: float = 0.0
    task: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherOver:
    """The input for a request is not needed any more. ``keys`` are those withdrawn, all where it is ``None``."""

    id: RequestId
    why: str
    keys: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relist:
    """List the tools again, and then send the waiting round of ``id``: the server saw other headers than it wants."""

    id: RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """Whoever waits for ``id`` may stop: its outcome cannot change any more. ``frame`` is the response, if it counts.

    A cancelled request is resolved when its signal begins to leave, and once more when it settles.
    """

    id: RequestId
    frame: ResponseFrame | None = None


Effect = (
    Send
    | SendSignal
    | Unqueue
    | Recall
    | Release
    | Reply
    | Prompt
    | PromptOver
    | Gather
    | GatherOver
    | Relist
    | Resolve
)
