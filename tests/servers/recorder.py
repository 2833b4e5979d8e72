"""What a transport tells its sink, as values: one class for each method of :class:`mcp_tui.transport.base.Sink`.

What it tells of a cancel has classes of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, cast

from mcp_tui.protocol.events import RequestId
from mcp_tui.transport.base import NO_ANSWER, Outgoing, RefusedResponse, Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    raw: bytes
    stream: RequestId | None = None
    status: int = 0
    outline: bytes | None = None
    at: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    raw: bytes
    outline: bytes | None = None
    at: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    head: bytes
    size: int
    stream: RequestId | None = None
    tail: bytes = b""
    at: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    message: Outgoing

    @property
    def id(self) -> RequestId | None:
        """The request that it is, or cancels."""
        return self.message.id if self.message.cancels is None else self.message.cancels


class Writing(_Told):
    pass


class Written(_Told):
    pass


class Accepted(_Told):
    pass


class SignalLeaving(_Told):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied(_Told):
    raw: bytes
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered(_Told):
    detail: str


class Signalled(_Told):
    pass


class SignalAccepted(_Told):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToldNotSent(_Told):
    detail: str
    refusal: RefusedResponse = NO_ANSWER


class NotSent(_ToldNotSent):
    pass


class SignalFailed(_ToldNotSent):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnded:
    id: RequestId
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StderrLine:
    text: str
    cut: bool = False
    at: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    what: str
    raw: bytes = b""
    stream: RequestId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessesEnded:
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivingEnded:
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    detail: str
    code: int | None = None
    expected: bool = False
    renewable: bool = False


Item = (
    Received
    | CutOff
    | TooLarge
    | Writing
    | Written
    | Accepted
    | SignalLeaving
    | Signalled
    | SignalAccepted
    | SignalFailed
    | StreamEnded
    | Replied
    | Unanswered
    | NotSent
    | StderrLine
    | Happened
    | Dropped
    | Degraded
    | ProcessesEnded
    | ReceivingEnded
    | Closed
)

KINDS: dict[str, type[Item]] = {
    "received": Received,
    "cut_off": CutOff,
    "too_large": TooLarge,
    "writing": Writing,
    "written": Written,
    "accepted": Accepted,
    "replied": Replied,
    "unanswered": Unanswered,
    "stream_ended": StreamEnded,
    "not_sent": NotSent,
    "stderr_line": StderrLine,
    "happened": Happened,
    "dropped": Dropped,
    "degraded": Degraded,
    "processes_ended": ProcessesEnded,
    "receiving_ended": ReceivingEnded,
    "closed": Closed,
}

CANCELS: dict[type[Item], type[Item]] = {
    Writing: SignalLeaving,
    Written: Signalled,
    Accepted: SignalAccepted,
    NotSent: SignalFailed,
}
"""The class for what is told of a cancel, by the class for any other message."""


class _Recorder:
    def __init__(self, note: Callable[[Item], None]) -> None:
        self._note = note

    def __getattr__(self, name: str) -> Callable[..., None]:
        kind: Any = KINDS["happened" if name == "secrets" else name]

        def call(**facts: Any) -> None:
            if name == "secrets":
                return
            message = facts.get("message")
            cancels = message is not None and message.cancels is not None
            made: Any = CANCELS.get(kind, kind) if cancels else kind
            self._note(made(**facts))

        return call


def recorder(note: Callable[[Item], None]) -> Sink:
    """A sink that passes on what it is told, as values."""
    return cast("Sink", _Recorder(note))


def report(sink: object, item: Item) -> None:
    """Call the method of a sink that a value stands for."""
    name = next(name for name, kind in KINDS.items() if type(item) in {kind, CANCELS.get(kind)})
    getattr(sink, name)(**{each.name: getattr(item, each.name) for each in fields(item)})
