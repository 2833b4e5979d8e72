"""JSON-RPC frames: parse, salvage, encode, and the rules of ids.

``parse`` never raises. What pydantic's parser refuses goes through a salvage pass that recovers only the id and the
method, so that a broken response ends its own request as *malformed* instead of leaving it to hang
(basic, every revision: a response carries the id of its request).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, TypeGuard, cast

from pydantic_core import from_json

from mcp_tui.protocol.events import RequestId

Json = Any
"""A JSON value as the parser gives it: dict, list, str, int, float, bool or None."""

MISSING: Final = object()
"""No id at all, as opposed to ``null``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFrame:
    """A request of the server's. ``id`` is a string or an integer; any other makes the frame malformed."""

    id: RequestId
    method: str
    params: Json
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationFrame:
    """A notification of the server's."""

    method: str
    params: Json
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcError:
    """The ``error`` of a response: ``code`` is 0 and ``message`` says so where the server sent something else."""

    code: int
    message: str
    data: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFrame:
    """A response: a ``result`` or an ``error``.

    ``id`` is as it came, of any JSON type; ``MISSING`` where there was none. ``defect`` says what is wrong with a
    response that can still be read (both result and error, say), else it is empty.
    """

    id: Any
    result: Json = None
    error: RpcError | None = None
    size: int = 0
    defect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MalformedFrame:
    """Bytes that are no valid frame. ``id`` and ``method`` are what could be salvaged (``MISSING``, ``None``)."""

    detail: str
    id: Any
    method: str | None
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PollutionFrame:
    """Bytes that are no JSON: something on stdout that is not the protocol. ``line`` is at most 2,000 characters."""

    line: str
    size: int


Frame = RequestFrame | NotificationFrame | ResponseFrame | MalformedFrame | PollutionFrame


@dataclass(frozen=True, slots=True)
class Batch:
    """The frames of a JSON-RPC array, in order (2025-03-26 only; elsewhere a violation)."""

    frames: tuple[Frame, ...]


def is_request_id(value: object) -> TypeGuard[RequestId]:
    """Whether a JSON value may be the id of a request: a string or an integer, and no boolean."""
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def as_object(value: Json) -> dict[str, Json]:
    """The value if it is a JSON object, else an empty one: what a server sends may be anything."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def number(value: Json) -> float | None:
    """The value as a float if it is a JSON number (no boolean, no NaN), else ``None``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def parse(raw: bytes) -> Frame | Batch:
    """The frame, or the batch of frames, that ``raw`` holds. Never raises."""
    try:
        value = from_json(raw, allow_inf_nan=True)
    except ValueError as error:
        return salvage(raw, str(error))
    if isinstance(value, list):
        items = cast("list[Json]", value)
        if not items:
            return MalformedFrame(detail="an empty batch", id=MISSING, method=None, size=len(raw))
        each = len(raw) // len(items)
        return Batch(tuple(_frame(item, each) for item in items))
    return _frame(value, len(raw))


def _frame(value: Json, size: int) -> Frame:
    if not isinstance(value, dict):
        if isinstance(value, (int, float, str, bool)) or value is None:
            return PollutionFrame(line=str(value)[:2000], size=size)
        return MalformedFrame(detail="no JSON-RPC object", id=MISSING, method=None, size=size)
    message = cast("dict[str, Json]", value)
    identity = message.get("id", MISSING)
    method = message.get("method")
    if isinstance(method, str):
        if identity is MISSING:
            return NotificationFrame(method=method, params=message.get("params"), size=size)
        if is_request_id(identity):
            return RequestFrame(id=identity, method=method, params=message.get("params"), size=size)
        return MalformedFrame(
            detail="a request whose id is no string or integer", id=MISSING, method=method, size=size
        )
    if "result" in message or "error" in message:
        return _response(message, identity, size)
    detail = "neither a method, a result nor an error" if method is None else "a method that is no string"
    return MalformedFrame(detail=detail, id=identity, method=None, size=size)


def _response(message: dict[str, Json], identity: Any, size: int) -> ResponseFrame:
    defect = "" if message.get("jsonrpc") == "2.0" else 'jsonrpc is not "2.0"'
    error = message.get("error")
    if error is None and "result" in message:
        return ResponseFrame(id=identity, result=message["result"], size=size, defect=defect)
    if "result" in message:
        defect = "both a result and an error"
    if not isinstance(error, dict):
        broken = RpcError(code=0, message="an error that is no object", data=error)
        return ResponseFrame(id=identity, error=broken, size=size, defect="an error that is no object")
    fields = cast("dict[str, Json]", error)
    code, text = fields.get("code"), fields.get("message")
    if not isinstance(code, int) or isinstance(code, bool) or not isinstance(text, str):
        defect = defect or "an error without an integer code and a text message"
    return ResponseFrame(
        id=identity,
        error=RpcError(
            code=code if isinstance(code, int) else 0,
            message=text if isinstance(text, str) else "",
            data=fields.get("data"),
        ),
        size=size,
        defect=defect,
    )


# -- salvage ---------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_VALUE: Final = re.compile(rb'\s*:\s*(-?\d+(?![\d.eE])|"(?:[^"\\]|\\.)*")', re.DOTALL)
_SALVAGE_LIMIT: Final = 64 * 1024


def salvage(raw: bytes, reason: str) -> MalformedFrame | PollutionFrame:
    """What can be saved of bytes that no parser takes: the id and the method at the top level.

    Looks at the first and, for the id, at the last 64 kB. Bytes that do not begin like a JSON object or array are pollution.
    """
    size = len(raw)
    start = raw[:64].lstrip()
    if not start.startswith((b"{", b"[")):
        return PollutionFrame(line=raw[:2000].decode("utf-8", "replace"), size=size)
    found = _top_level(raw[:_SALVAGE_LIMIT])
    if "id" not in found and size <= _SALVAGE_LIMIT:
        found = _tail(raw) | found
    identity = found.get("id", MISSING)
    method = found.get("method")
    if not found and start.startswith(b"["):
        # log lines love brackets: "[info] listening" is no broken batch
        return PollutionFrame(line=raw[:2000].decode("utf-8", "replace"), size=size)
    return MalformedFrame(
        detail=reason[:200],
        id=identity if is_request_id(identity) else MISSING,
        method=method if isinstance(method, str) else None,
        size=size,
    )


def _top_level(head: bytes) -> dict[str, Any]:
    """``id`` and ``method`` of the outermost object, as far as ``head`` shows them."""
    found: dict[str, Any] = {}
    depth = 0
    for token in _TOKEN.finditer(head):
        text = token.group()
        if text in b"{[":
            depth += 1
        elif text in b"}]":
            depth -= 1
        elif depth == 1 and text in (b'"id"', b'"method"'):
            _take(found, text, head, token.end())
    return found


def _tail(raw: bytes) -> dict[str, Any]:
    """An id that stands last at the top level, behind a body that broke the scan from the front."""
    matched = re.search(
        rb',\s*"id"' + _VALUE.pattern + rb"\s*(?:,\s*\"jsonrpc\"\s*:\s*\"2.0\"\s*)?\}\s*$", raw[-512:]
    )
    found: dict[str, Any] = {}
    if matched:
        found["id"] = _scalar(matched.group(1))
    return found


def _take(found: dict[str, Any], name: bytes, head: bytes, end: int) -> None:
    value = _VALUE.match(head, end)
    if value:
        found.setdefault(name.decode()[1:-1], _scalar(value.group(1)))


def _scalar(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except ValueError:
        return None


# -- encode ----------------------------------------------------------------------------------------------------


def encode(message: dict[str, Json]) -> bytes:
    """A message as one line of UTF-8 without its end; lone surrogates are escaped, so any text can be sent."""
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode()


def request(id: RequestId, method: str, params: Json = None) -> dict[str, Json]:
    """A request; ``params`` is left out when ``None``."""
    message: dict[str, Json] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    return message


def notification(method: str, params: Json = None) -> dict[str, Json]:
    """A notification; ``params`` is left out when ``None``."""
    message: dict[str, Json] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def result(id: RequestId, value: Json) -> dict[str, Json]:
    """A response with a result."""
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id: RequestId, code: int, message: str) -> dict[str, Json]:
    """A response with an error."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
