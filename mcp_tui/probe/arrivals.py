"""Messages received on a connection of the probe."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import Final

from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, NotificationFrame, ResponseFrame, as_object
from mcp_tui.protocol.values import frozen

EXCERPT_CHARACTERS: Final = 240
"""The most characters of a message that evidence quotes."""

DROPPED_RESULT_BYTES: Final = 16_384
"""The size in bytes of a message from which its result is not kept."""

ANSWERS: Final = ("result", "error", "malformed", "oversize")
"""The kinds of arrivals that are responses."""


@frozen
class Arrival:
    """A received message.

    ``at`` is in monotonic seconds. ``kind`` is one of :data:`ANSWERS`, ``progress``, ``log``, ``noise``, or ``other``. A
    ``malformed`` arrival is a response that cannot be read; an ``oversize`` one exceeds the maximum size. ``frame`` is
    the start of the message.

    ``stream`` is the id of the request whose stream carried the message; ``None`` for any other channel. ``of`` is the id
    in a response or, without an id, ``stream``; for progress it is the token as received. ``type`` is the ``resultType``
    of a result that is not complete (2026-07-28). ``error_text`` is the text of an error, or of a result with ``isError``.
    """

    at: float
    kind: str
    frame: str
    of: Json = None
    stream: RequestId | None = None
    code: int | None = None
    is_error: bool = False
    type: str = ""
    error_text: str = ""
    result: dict[str, Json] = field(default_factory=dict[str, Json])
    """The result, unless it is large."""
    is_filled: bool = False
    """Whether a result has any content."""

    @property
    def words(self) -> str:
        """A short name of the arrival: ``result``, ``error -32800``, ``tool error``, ``malformed response``."""
        match self.kind:
            case "error":
                return "malformed error" if self.code is None else f"error {self.code}"
            case "malformed" | "oversize":
                return f"{self.kind} response"
            case _:
                return "tool error" if self.is_error else self.kind

    @property
    def fails(self) -> bool:
        """Whether the arrival is anything but a result without ``isError``."""
        return self.kind != "result" or self.is_error

    @property
    def quoted(self) -> str:
        """The short name with the text of an error: ``error -32602: "No such page"``."""
        return f'{self.words}: "{self.error_text}"' if self.error_text else self.words


def arrival(frame: messages.Frame, at: float, raw: bytes, stream: RequestId | None) -> Arrival:
    """Returns the arrival for a frame; ``raw`` is the message that contains the frame, alone or in a batch."""
    text = messages.bytes_text(raw[: 4 * EXCERPT_CHARACTERS])[:EXCERPT_CHARACTERS]
    match frame:
        case ResponseFrame(id=id):
            of = stream if id is None or id is messages.MISSING else id
            if of is not None and not messages.is_request_id(of) and messages.integer_id(of) is None:
                return Arrival(at, "other", text)  # an id of a type that no request can have
            fields = as_object(frame.result)
            type_, is_error = fields.get("resultType", "complete"), fields.get("isError") is True
            return Arrival(
                at,
                "result" if frame.error is None else "error",
                text,
                of,
                stream,
                code=None if frame.error is None else frame.error.code,
                is_error=is_error,
                type=str(type_) if type_ != "complete" else "task" if "task" in fields else "",
                error_text=messages.summary(frame) if frame.error is not None or is_error else "",
                result=fields if len(raw) < DROPPED_RESULT_BYTES else {},
                is_filled=any(fields.get(name) for name in ("content", "structuredContent")),
            )
        case messages.MalformedFrame(answers=True, id=id):
            return Arrival(at, "malformed", text, stream if id is messages.MISSING else id, stream)
        case NotificationFrame(method="notifications/progress"):
            token = as_object(frame.params).get("progressToken")
            return Arrival(at, "progress", text, token, stream)
        case NotificationFrame(method="notifications/message"):
            return Arrival(at, "log", text)
        case messages.PollutionFrame():
            return Arrival(at, "noise", text, stream=stream)
        case _:
            return Arrival(at, "other", text)


@frozen
class Discarded:
    """Received data that no client reads, described by ``what``. ``stream`` is as for :class:`Arrival`."""

    at: float
    what: str
    stream: RequestId | None = None


def _kind(raw: bytes, at: float) -> str:
    frame = messages.parse(raw)
    return "other" if isinstance(frame, messages.Batch) else arrival(frame, at, raw, None).kind


def discarded(what: str, raw: bytes, at: float, stream: RequestId | None) -> Discarded:
    """Returns a record of discarded data; its description has the kind of message in the data."""
    kind = _kind(raw, at) if raw else "other"
    kinds = {"progress": f"progress in {what}", "log": f"a log message in {what}"}
    kinds |= dict.fromkeys(ANSWERS, f"a response in {what}")
    return Discarded(at, kinds.get(kind, what), stream)


def named(name: Json, known: Collection[RequestId]) -> RequestId | None:
    """Returns the ``known`` id that an id or a token names, or ``None``; ``4``, ``"4"``, and ``4.0`` all name 4."""
    if messages.is_request_id(name) and name in known:
        return name
    number = messages.integer_id(name)
    return number if number is not None and number in known else None
