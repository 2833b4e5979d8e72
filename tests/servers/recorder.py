"""What a transport tells its sink, as values: one class for each method of :class:`mcp_tui.transport.base.Sink`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, cast

from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.transport.base import NO_ANSWER, Outgoing, Refusal, Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    raw: bytes
    stream: RequestId | None = None
    status: int = 0
    unfinished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    head: bytes
    size: int
    stream: RequestId | None = None
    tail: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    id: RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    message: Outgoing

    @property
    def id(self) -> RequestId | None:
        return self.message.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalLeaving:
    id: RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class Signalled:
    id: RequestId
    signal: Signal
    raw: bytes | None = None
    answered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalAccepted:
    id: RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalFailed:
    id: RequestId
    detail: str
    raw: bytes | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnded:
    id: RequestId
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    message: Outgoing
    detail: str
    refusal: Refusal = NO_ANSWER

    @property
    def id(self) -> RequestId | None:
        return self.message.id


@dataclass(frozen=True, slots=True, kw_only=True)
class StderrLine:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheard:
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    detail: str
    code: int | None = None
    expected: bool = False
    renewable: bool = False


Item = (
    Received
    | TooLarge
    | Writing
    | Written
    | Accepted
    | SignalLeaving
    | Signalled
    | SignalAccepted
    | SignalFailed
    | StreamEnded
    | NotSent
    | StderrLine
    | Happened
    | Unheard
    | Closed
)

KINDS: dict[str, type[Item]] = {
    "received": Received,
    "too_large": TooLarge,
    "writing": Writing,
    "written": Written,
    "accepted": Accepted,
    "signal_leaving": SignalLeaving,
    "signalled": Signalled,
    "signal_accepted": SignalAccepted,
    "signal_failed": SignalFailed,
    "stream_ended": StreamEnded,
    "not_sent": NotSent,
    "stderr_line": StderrLine,
    "happened": Happened,
    "unheard": Unheard,
    "closed": Closed,
}


class _Recorder:
    def __init__(self, note: Callable[[Item], None]) -> None:
        self._note = note

    def __getattr__(self, name: str) -> Callable[..., None]:
        kind: Any = KINDS[name]

        def call(**facts: object) -> None:
            self._note(kind(**facts))

        return call


def recorder(note: Callable[[Item], None]) -> Sink:
    """A sink that passes on what it is told, as values."""
    return cast("Sink", _Recorder(note))


def tell(sink: object, item: Item) -> None:
    """Call the method of a sink that a value stands for."""
    name = next(name for name, kind in KINDS.items() if kind is type(item))
    getattr(sink, name)(**{each.name: getattr(item, each.name) for each in fields(item)})
