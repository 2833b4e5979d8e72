"""JSON-RPC messages as frames: parses, salvages, and encodes them, and checks their ids.

:func:`parse` never raises. If pydantic's parser rejects a message, a salvage pass recovers only the id and the
method. So a broken response ends its own request as *malformed*, instead of leaving it without an end (basic, every
revision: a response carries the id of its request).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from dataclasses import field, replace
from typing import Any, Final, cast

from pydantic_core import from_json, to_json

from mcp_tui.protocol.framing import BOM, LINE_HEAD_BYTES, TAIL_BYTES
from mcp_tui.protocol.json_values import Json, as_list, as_object, as_text, is_request_id
from mcp_tui.protocol.large_messages import LARGE_BYTES, MessageOutline
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.pixels import pixels
from mcp_tui.protocol.states import RequestId
from mcp_tui.protocol.units import OUT_OF_RANGE
from mcp_tui.protocol.values import fact, frozen

MISSING: Final = object()
"""The mark of a message without an id, as opposed to the id ``null``."""


@fact
class MethodFrame:
    """A message that names a method. ``size`` is in bytes."""

    method: str
    params: Json
    size: int
    repeats: str = ""
    """The name of a member that an object of the message has twice."""
    defect: str = ""
    """The fault of a message that can still be read."""


@fact
class RequestFrame(MethodFrame):
    """A request. ``id`` is a string or an integer; with any other id the frame is malformed."""

    id: RequestId


@fact
class NotificationFrame(MethodFrame):
    """A notification."""


@fact
class RpcError:
    """The ``error`` of a response. If the server sent something else, ``code`` is ``None`` and ``message`` describes it."""

    code: int | None
    message: str
    data: Json = None


@fact
class ResponseFrame:
    """A response: a result or an ``error``.

    ``id`` is unchanged, of any JSON type, or ``MISSING``. ``defect`` describes a response that can be read but is
    wrong, such as one with both a result and an error.

    ``outline`` is the whole result, unless ``raw`` is set. ``raw`` has the bytes of a large message; then ``outline``
    lacks most of its long values, and :attr:`result` parses ``raw`` each time.
    """

    id: Any
    outline: Json = None
    error: RpcError | None = None
    size: int = 0
    defect: str = ""
    repeats: str = ""
    raw: bytes = field(default=b"", repr=False)

    @property
    def result(self) -> Json:
        """The whole result."""
        return as_object(read_json(self.raw))["result"] if self.raw else self.outline


@fact
class MalformedFrame:
    """Bytes that are not a valid frame. ``id`` and ``method`` are salvaged, or else ``MISSING`` and ``None``.

    ``answers`` says that the bytes have a result or an error.
    """

    detail: str
    id: Any
    method: str | None
    size: int
    answers: bool = False


@fact
class PollutionFrame:
    """Bytes that are not JSON-RPC. ``line`` has at most 2,000 characters."""

    line: str
    size: int


Frame = RequestFrame | NotificationFrame | ResponseFrame | MalformedFrame | PollutionFrame

UNREADABLE: Final = (MalformedFrame, PollutionFrame)
"""The frames that have no meaning in the protocol."""


@frozen
class Batch:
    """The frames of a JSON-RPC array, in order (2025-03-26 only; in other revisions a violation)."""

    frames: tuple[Frame, ...]


def integer_id(identity: Any) -> int | None:
    """Returns the integer that an id or a token stands for: 7 for ``"7"`` and ``7.0``; else ``None``."""
    if isinstance(identity, float) and identity.is_integer():
        return int(identity)
    if isinstance(identity, str) and len(identity) < 16 and identity.isascii() and identity.isdigit():
        number = int(identity)
        # "007" is another id than 7, so only the canonical form counts.
        return number if str(number) == identity else None
    return None


def objects_in(value: Json) -> list[dict[str, Json]]:
    """Returns the objects in a JSON array."""
    return [as_object(each) for each in as_list(value) if isinstance(each, dict)]


def texts_in(value: Json) -> list[str]:
    """Returns the strings in a JSON array."""
    return [each for each in as_list(value) if isinstance(each, str)]


def storable_id(identity: Any) -> RequestId | float | bool | None:
    """Returns an id of any JSON type, short enough to store and show; ``None`` for null and for a missing id.

    A long string is cut, and a huge number is described in words.
    """
    if identity is None:
        return None
    if type(identity) is int:
        return identity if identity.bit_length() <= _BITS else shown(identity)
    if isinstance(identity, str):
        return identity[:200]
    if isinstance(identity, float):
        return identity if math.isfinite(identity) else shown(identity)
    return identity if isinstance(identity, bool) else None


def json_type(value: Any) -> str:
    """Returns the JSON type of a value: ``missing``, ``null``, ``boolean``, ``integer``, ``number``, ``string``, …"""
    if value is MISSING:
        return "missing"
    return _JSON_TYPES.get(cast("type[object]", type(value)), "object")


_JSON_TYPES: Final[dict[type[object], str]] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
}


def number(value: Json) -> float | None:
    """Returns the value as a float if it is a finite JSON number, else ``None``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        made = float(value)
    except OverflowError:
        return None
    return made if math.isfinite(made) else None


_POLLUTION_CHARACTERS: Final = 2000

_NUMBER_DIGITS: Final = 4300
"""The number of digits of the longest integer that the parsers read."""

_READ_LEVELS: Final = 500
"""The maximum levels of nesting that are read: Python's recursion ends at 1,000."""

_BITS: Final = 256
"""The number of bits of the longest integer that is shown unchanged."""


def parse(raw: bytes, outline: bytes | None = None) -> Frame | Batch:
    """Parses a frame or a batch of frames. Never raises.

    Valid JSON that is not JSON-RPC, such as a structured log line on stdout, is pollution like any other text.
    ``outline`` is the outline of a large message, if it was made while the message arrived.
    """
    raw = raw.removeprefix(BOM)
    size = len(raw)
    if size > LARGE_BYTES and (large := _large(raw, outline)) is not None:
        return large
    try:
        value = read_json(raw)
    except ValueError as error:
        return salvage(raw, str(error))
    if isinstance(value, dict):
        frame = _frame(as_object(value), size) or _pollution(raw)
        repeated = repeated_member(raw, value)
        if repeated and isinstance(frame, (RequestFrame, NotificationFrame, ResponseFrame)):
            return replace(frame, repeats=repeated)
        return frame
    if not isinstance(value, list):
        return _pollution(raw)
    items = cast("list[Json]", value)
    # JSON-RPC 2.0, section 6: an empty array is an invalid request, so it answers nobody.
    if not items:
        return MalformedFrame(detail="an empty batch", id=MISSING, method=None, size=size)
    each = size // len(items)
    alien = MalformedFrame(detail="no JSON-RPC message in a batch", id=MISSING, method=None, size=each)
    nested = replace(alien, detail="a batch in a batch; its messages are read")
    frames: list[Frame] = []
    objects = False
    # A list of our own instead of recursion: the server chooses how deep the batches nest.
    waiting = items[::-1]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list) and item:
            frames.append(nested)
            waiting += reversed(cast("list[Json]", item))
            continue
        objects = objects or isinstance(item, dict)
        frames.append(_frame(as_object(item), each) or alien)
    return Batch(tuple(frames)) if objects else _pollution(raw)


def _large(raw: bytes, outline: bytes | None) -> ResponseFrame | None:
    """Returns the frame of a large message with a result, without parsing all of it; ``None`` if it must be parsed whole."""
    if outline is None:
        made = MessageOutline()
        made.feed(raw)
        outline = made.close()
    frame = _frame(as_object(from_json(outline)), len(raw)) if outline else None
    # An error, a request, and an id that is an object are rare in this size, and need all of their values.
    if not isinstance(frame, ResponseFrame) or frame.error is not None or isinstance(frame.id, (dict, list)):
        return None
    return replace(frame, raw=raw)


def read_json(raw: bytes | str) -> Json:
    r"""Parses a JSON text.

    The fast parser rejects three kinds of valid JSON. This function reads a lone surrogate (``"\ud83d"``, half an
    emoji) as the replacement character, a number of more than 4,300 digits as infinity, and up to 500 levels of
    nesting.

    Raises:
        ValueError: the text is not JSON, or is nested more than 500 levels deep.
    """
    try:
        return from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        # Text that is not JSON may be large, so only these three errors parse it again.
        if not any(
            reason in str(error) for reason in ("hex escape", "number out of range", "recursion limit")
        ):
            raise
        try:
            return _read_tolerantly(raw if isinstance(raw, str) else raw.decode())
        except (ValueError, RecursionError):
            raise error from None


def _read_tolerantly(text: str) -> Json:
    value = json.loads(text, parse_int=_integer, parse_constant=_refuse)
    # UTF-16 can encode a lone surrogate, and its decoder replaces each one by one character.
    utf_16 = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
    value = json.loads(utf_16.decode("utf-16", "replace"))
    level, levels = [value], 0
    while level := [
        each for holder in level if isinstance(holder, (dict, list)) for _, each in _entries(holder)
    ]:
        levels += 1
        if levels > _READ_LEVELS:
            raise ValueError(f"nested more than {_READ_LEVELS} levels deep")
    return value


def _entries(holder: dict[str, Json] | list[Json]) -> Iterable[tuple[Any, Json]]:
    return holder.items() if isinstance(holder, dict) else enumerate(holder)


def _integer(digits: str) -> float:
    # Python limits the digits, because the time to convert them grows with their square.
    return int(digits) if len(digits.lstrip("-")) <= _NUMBER_DIGITS else float(f"{digits[:2]}e999")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_OTHER_COLON: Final = late(rb'"\s+:|\\u00(?:22|3[aA])')
"""Forms of a colon or a quote that change the count below: encoding the parsed text again normalizes them."""

DUPLICATES_BYTES: Final = 1 << 16
"""The size in bytes up to which a message is searched for duplicate members."""


def repeated_member(raw: bytes, value: Json) -> str:
    """Returns the name of a member that an object of a JSON text has twice, else an empty string.

    ``value`` is the parsed text. No member is repeated if ``value`` is encoded as the same text, or with the same
    number of colons after quotes. Only if that shows nothing is the text parsed once more.
    """
    if len(raw) > DUPLICATES_BYTES or (again := encode(value)) == raw:
        return ""
    if raw.count(b'":') == again.count(b'":') and not _OTHER_COLON.search(raw):
        return ""
    found: list[str] = []

    def check(members: list[tuple[str, Json]]) -> None:
        if len(members) > len(dict(members)):
            found.append(Counter(name for name, _ in members).most_common(1)[0][0])

    with suppress(ValueError, RecursionError):
        json.loads(raw, object_pairs_hook=check)
    return found[0] if found else ""


def bytes_text(raw: bytes) -> str:
    r"""Returns bytes as text for a person; a byte that is not UTF-8 is shown as ``\xff``."""
    return raw.decode("utf-8", "backslashreplace")


def _pollution(raw: bytes) -> PollutionFrame:
    return PollutionFrame(
        line=bytes_text(raw[: 4 * _POLLUTION_CHARACTERS])[:_POLLUTION_CHARACTERS], size=len(raw)
    )


def response_in(raw: bytes, id: RequestId, outline: bytes | None = None) -> ResponseFrame | None:
    """Returns the response in a message: the message itself, or the response to ``id`` in a batch."""
    frame = parse(raw, outline)
    if isinstance(frame, Batch):
        answers = (each for each in frame.frames if isinstance(each, ResponseFrame))
        return next((each for each in answers if each.id == id), None)
    return frame if isinstance(frame, ResponseFrame) else None


def as_answer(frame: Frame | Batch) -> Frame | Batch:
    """Returns the frame that was the only answer to a request; an unreadable one becomes a malformed response."""
    match frame:
        case PollutionFrame(line=line, size=size):
            detail = f"no JSON-RPC message: {shown(line)}"
            return MalformedFrame(detail=detail, id=MISSING, method=None, size=size, answers=True)
        case MalformedFrame():
            return replace(frame, answers=True)
        case _:
            return frame


def _frame(message: dict[str, Json], size: int) -> Frame | None:
    """Returns the frame of a JSON object, or ``None`` if it is not JSON-RPC.

    Only a response may lack its ``jsonrpc`` member; that is a defect.
    """
    result = message.get("result")
    if isinstance(result, dict) and len(message) == 3 and message.get("jsonrpc") == "2.0" and "id" in message:
        # Nearly every response has just these members, so no other one can be wrong.
        return ResponseFrame(id=message["id"], outline=result, size=size)
    identity = message.get("id", MISSING)
    answers = "result" in message or "error" in message
    if "jsonrpc" not in message and not (answers and identity is not MISSING):
        return None
    method, defect = message.get("method"), ""
    if answers and method is not None:
        named = [name for name in ("method", "result", "error") if name in message]
        defect = f"a message with {' and '.join(named)}"
    # Some servers always write all members, with null for those without a value.
    answered = identity is not MISSING and (result is not None or message.get("error") is not None)
    if isinstance(method, str) and not answered:
        params = message.get("params")
        if identity is MISSING:
            return NotificationFrame(method=method, params=params, size=size, defect=defect)
        if is_request_id(identity):
            return RequestFrame(id=identity, method=method, params=params, size=size, defect=defect)
        return MalformedFrame(
            detail="a request whose id is not a string or integer", id=MISSING, method=method, size=size
        )
    if answers:
        response = _response(message, identity, size)
        return replace(response, defect=defect) if defect else response
    detail = "neither a method, a result nor an error" if method is None else "a method that is not a string"
    return MalformedFrame(detail=detail, id=identity, method=None, size=size)


def _response(message: dict[str, Json], identity: Any, size: int) -> ResponseFrame:
    defect = "" if message.get("jsonrpc") == "2.0" else 'jsonrpc is not "2.0"'
    error: Json = message.get("error")
    if error is None and "result" in message:
        result = message["result"]
        if isinstance(result, dict):
            return ResponseFrame(id=identity, outline=result, size=size, defect=defect)
        defect = "a result that is not an object"
        rpc_error = RpcError(code=None, message=defect, data=result)
    elif not isinstance(error, dict):
        defect = "an error that is not an object"
        rpc_error = RpcError(code=None, message=defect, data=error)
    else:
        fields = as_object(error)
        code, text = fields.get("code"), fields.get("message")
        if "result" in message:
            defect = "both a result and an error"
        elif type(code) is not int or not isinstance(text, str):
            defect = defect or "an error without an integer code and a string message"
        # type() and not isinstance(): true is an int in Python, and would become the code 1.
        code = code if type(code) is int else None
        rpc_error = RpcError(code=code, message=as_text(text), data=fields.get("data"))
    return ResponseFrame(id=identity, error=rpc_error, size=size, defect=defect)


# -- salvage ---------------------------------------------------------------------------------------------------

# The quantifiers are possessive, and an open string ends with the text, so hostile input takes linear time.
_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+'
_STRUCTURE_TOKEN: Final = late(_STRING + rb'(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_SCALAR: Final = rb"\s*+:\s*+(-?\d++(?=[\s,}\]])|-?\d{%d,}+|" % (_NUMBER_DIGITS + 1) + _STRING + rb'")'
_SCALAR_VALUE: Final = late(_SCALAR, re.DOTALL)
_MEMBER_COLON: Final = late(rb"\s*+:")
_LAST: Final = late(
    rb',\s*+"id"' + _SCALAR + rb'\s*+(?:,\s*+"jsonrpc"\s*+:\s*+"2\.0"\s*+)?\}\s*+\Z', re.DOTALL
)
_ENVELOPE_MEMBERS: Final = frozenset({b'"jsonrpc"', b'"id"', b'"method"', b'"result"', b'"error"'})


def salvage(raw: bytes, reason: str, *, whole: bool = True) -> MalformedFrame | PollutionFrame:
    """Salvages the id and the method at the top level of bytes that cannot be parsed.

    Searches the first 64 kB and, because many servers write the id last, the last 512 bytes, unless ``raw`` is not
    the ``whole`` message. Bytes without JSON-RPC members at the top level are pollution, because log lines may have
    braces.
    """
    start = raw[:LINE_HEAD_BYTES].lstrip()
    if not start.startswith((b"{", b"[")):
        return _pollution(raw)
    found = _top_level(start)
    if whole and "id" not in found:
        last = _LAST.search(raw[-TAIL_BYTES:])
        if last:
            found["id"] = _scalar(last.group(1))
    if not found and not (start.startswith(b"[") and b'"jsonrpc"' in start):
        return _pollution(raw)
    identity, method = found.get("id", MISSING), found.get("method")
    return MalformedFrame(
        detail=reason[:200],
        id=identity if is_request_id(identity) or isinstance(identity, float) else MISSING,
        method=method if isinstance(method, str) else None,
        size=len(raw),
        answers="result" in found or "error" in found,
    )


def _top_level(head: bytes) -> dict[str, Any]:
    """Returns the JSON-RPC members of the outermost object in ``head``; of duplicates the first one.

    Only the values of ``id`` and ``method`` are read; the others are ``None``.
    """
    found: dict[str, Any] = {}
    depth = 0
    for token in _STRUCTURE_TOKEN.finditer(head):
        text = token.group()
        if text in b"{[":
            depth += 1
        elif text in b"}]":
            depth -= 1
        # A result may hold an "id" of its own, so only the outermost level counts.
        elif depth == 1 and text in _ENVELOPE_MEMBERS:
            value = _SCALAR_VALUE.match(head, token.end())
            name = text[1:-1].decode()
            if value and name in ("id", "method"):
                found.setdefault(name, _scalar(value.group(1)))
            elif _MEMBER_COLON.match(head, token.end()):
                found.setdefault(name, None)
    return found


def _scalar(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except ValueError:
        return float(raw) if raw.lstrip(b"-").isdigit() else None


# -- encode ----------------------------------------------------------------------------------------------------

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_INDENTED: Final = json.JSONEncoder(ensure_ascii=False, indent=2, allow_nan=False)

_DECIMAL_BITS: Final = 14_000
"""The number of bits of the longest integer that Python writes in decimal."""


def encode(value: Json) -> bytes:
    """Returns a value as one line of JSON without a line end; lone surrogates are escaped.

    Enums are written as their values, dataclasses as objects, and infinity and NaN as strings.
    """
    try:
        return to_json(value, inf_nan_mode="strings")
    except ValueError:
        return json.dumps(_plain(value), separators=(",", ":")).encode()


def _plain(value: Json) -> Json:
    """Returns a value that :func:`json.dumps` accepts; pydantic refuses lone surrogates and deep nesting."""
    return _changed(
        value,
        lambda each: each if isinstance(each, str) else from_json(to_json(each, inf_nan_mode="strings")),
    )


def _changed(value: Json, change: Callable[[Json], Json]) -> Json:
    """Returns a value with each scalar changed, without recursion, because a value may be deeply nested."""
    whole: list[Json] = [value]
    waiting: list[Any] = [whole]
    while waiting:
        holder = waiting.pop()
        for key, each in _entries(holder):
            if isinstance(each, (dict, list)):
                # The caller's value must stay as it is, so each container is copied before its members change.
                holder[key] = copy(cast("Json", each))
                waiting.append(holder[key])
            else:
                holder[key] = change(each)
    return whole[0]


def text(value: Json, *, indented: bool = False) -> str:
    """Returns a value as JSON text, compact or ``indented``, passed through :func:`writable` if needed."""
    encoder = _INDENTED if indented else _ENCODER
    try:
        return encoder.encode(value)
    except ValueError:
        return encoder.encode(writable(value))


def writable(value: Json) -> Json:
    """Returns a value in which each number that Python cannot write, such as ``1e400``, is described in words."""
    return _changed(value, _writable)


def _writable(value: Json) -> Json:
    match value:
        case float() if not math.isfinite(value):
            return OUT_OF_RANGE
        case int() if value.bit_length() > _DECIMAL_BITS:
            return hex(value)
        case _:
            return value


def in_range(value: Json) -> bool:
    """Whether Python can write all numbers of a value."""
    try:
        _ENCODER.encode(value)
    except ValueError:
        return False
    return True


def shown(value: Any) -> str:
    """Returns a server's value for a sentence, shortened in constant time; ``null``, ``true``, and ``false`` as in JSON."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return repr(value[:80])
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, int) and value.bit_length() > _BITS:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, float) and math.isinf(value):
        return OUT_OF_RANGE
    return "none" if value is MISSING else repr(value)


def summary(frame: ResponseFrame) -> str:
    """Returns the start of a response's text: the error's message, or the first text of a tool, resource, or prompt.

    A Python traceback is shortened to its last line, which names the error. Several objects are counted: ``25
    objects``. A single image is described by its type and size: ``image/png 300 × 200``.
    """
    if frame.error is not None:
        return _error_line(frame.error.message)
    result = as_object(frame.outline)
    for name in ("content", "contents", "messages"):
        if name in result and (blocks := as_list(result[name])):
            found = [
                each["text"] if "text" in each else as_object(each.get("content")).get("text")
                for each in map(as_object, blocks)
            ]
            if not frame.raw and (counted := _counted(found)):
                return counted
            return _error_line(as_text(found[0])) or (
                _pictured(as_object(blocks[0])) if len(blocks) == 1 else ""
            )
    value = result.get("structuredContent")
    return "" if value is None or frame.raw else _counted([text(value)]) or text(value)[:200]


def _counted(texts: list[Json]) -> str:
    """Returns the number of JSON objects in the texts, one array or one object each; empty if anything else is in them."""
    start = as_text(texts[0]).lstrip()[:1]
    if start != "[" and (start != "{" or len(texts) == 1):
        return ""
    try:
        items = [read_json(as_text(each)) for each in texts]
    except ValueError:
        return ""
    if len(items) == 1:
        items = as_list(items[0])
    count = len(items) if all(isinstance(each, dict) for each in items) else 0
    return f"{count:,} object{'' if count == 1 else 's'}" if count else ""


def _error_line(text: str) -> str:
    start = text[:200]
    if "Traceback (most recent call last):" not in start:
        return start
    return text[-2000:].rstrip().rpartition("\n")[2].strip()[:200]


def _pictured(part: dict[str, Json]) -> str:
    """Returns the type and the size of the image in a block, a resource, or a message; empty for anything else."""
    block = as_object(part.get("content")) or part
    block = as_object(block.get("resource")) or block
    kind, data = as_text(block.get("mimeType"))[:80], as_text(block.get("data") or block.get("blob"))
    return f"{kind} {pixels(data)}".rstrip() if data and kind.startswith("image/") else ""


def request(id: RequestId, method: str, params: Json = None) -> dict[str, Json]:
    """Returns a request; ``params`` is omitted if ``None``."""
    message: dict[str, Json] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    return message


def notification(method: str, params: Json = None) -> dict[str, Json]:
    """Returns a notification; ``params`` is omitted if ``None``."""
    message: dict[str, Json] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def result(id: RequestId, value: Json) -> dict[str, Json]:
    """Returns a result response."""
    return {"jsonrpc": "2.0", "id": id, "result": value}


def tool_error(text: str, meta: dict[str, Json], *, modern: bool) -> dict[str, Json]:
    """Returns the result of a failed tool call, with a sentence for the model; ``modern`` adds the members of 2026-07-28."""
    complete: dict[str, Json] = {"resultType": "complete"} if modern else {}
    return {**complete, "content": [{"type": "text", "text": text}], "isError": True, "_meta": meta}


def error(id: RequestId, code: int, message: str, data: Json = None) -> dict[str, Json]:
    """Returns an error response; ``data`` is omitted if ``None``."""
    more = {} if data is None else {"data": data}
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}
