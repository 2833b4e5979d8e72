r"""The records of a recording: the JSON Lines format of journals, and of recordings to send to others.

The first line is a header. Each other line is a frame or an event, in chronological order::

    {"record":"session","v":1,"id":"5be1f20c9a44","wall":1795230900.5,"mono":8123.25,"app":"0.1.0","target":"npx -y …"}
    {"record":"frame","seq":1,"mono":8123.31,"dir":"out","method":"tools/call","id":1,"raw":"{\"jsonrpc\":…"}
    {"record":"event","event":"sent","mono":8123.31,"id":1,"seq":1}

``mono`` is in monotonic seconds; the wall time of a record is ``wall + (mono - mono of the header)``. ``raw`` is the text
of a frame; if its bytes are not UTF-8, ``raw_b64`` has them in Base64. If secrets were removed, ``size`` is the original
size. ``stream``, ``method``, and ``id`` are omitted if a frame has none. ``own`` is true for a message that a tap wrote.

The record of an event has ``event`` (the class in snake case), ``mono`` (its ``at``), and every other field by name. Fields
with default values are included, so that a default may change later. An enum is written as its value, limits as an object.
``Infinity``, ``-Infinity``, and ``NaN`` are written as strings, because JSON has no such numbers.
"""

from __future__ import annotations

import binascii
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from pydantic_core import SchemaValidator, from_json

from mcp_tui import __version__, clock
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.descriptions import DESCRIPTIONS, name_of
from mcp_tui.protocol.errors import McpError
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import BOM
from mcp_tui.protocol.messages import Json, is_request_id, number
from mcp_tui.protocol.values import fact

Decoded = TypeVar("Decoded")

JOURNAL_FORMAT: Final = 1
"""The version of the format that this module reads and writes."""


class RecordingError(McpError):
    """A file cannot be read or written as a recording. The text is one sentence for the user."""


@fact
class Header:
    """The header of a recording. ``wall`` and ``mono`` are the same moment on both clocks, in seconds.

    ``target`` is the server's command line or URL; the writer redacts it. ``purpose`` is ``workbench``, ``tap``, or
    ``probe``, whose cancels are experiments. ``after`` is the latest wall time of another session in the folder of
    journals, 0 without any. ``client_pid`` is the process id of a foreign client, and ``client_started`` its start in
    seconds since the boot; 0 if unknown.
    """

    id: str = ""
    wall: float = 0.0
    mono: float = 0.0
    app: str = ""
    target: str = ""
    purpose: str = ""
    after: float = 0.0
    client_pid: int = 0
    client_started: float = 0.0

    @classmethod
    def now(
        cls, target: str = "", purpose: str = "", began: float | None = None, after: float = 0.0
    ) -> Header:
        """Returns the header of a session that starts now, or started at the monotonic time ``began``."""
        mono = time.monotonic()
        since = 0.0 if began is None else mono - began
        return cls(
            id=os.urandom(6).hex(),
            wall=clock.wall() - since,
            mono=mono - since,
            app=__version__,
            target=target,
            purpose=purpose,
            after=after,
        )

    @classmethod
    def of(cls, record: dict[str, Json], path: Path) -> Header | None:
        """Reads a header from its record; returns ``None`` if it is damaged.

        Raises:
            RecordingError: the recording has another version of the format.
        """
        version = record.get("v")
        if not isinstance(version, int):
            return None
        if version != JOURNAL_FORMAT:
            text = f"{path} is a recording of format {version}; mcp-tui {__version__} reads format {JOURNAL_FORMAT}."
            raise RecordingError(text)
        values = {each.name: record.get(each.name, each.default) for each in fields(cls)}
        if any(type(values[each.name]) is not type(each.default) for each in fields(cls)):
            return None
        return cls(**values)

    def line(self) -> bytes:
        """Returns the record of the header, with its line end."""
        return messages.encode({"record": "session", "v": JOURNAL_FORMAT, **asdict(self)}) + b"\n"


def why(error: OSError) -> str:
    """Returns the operating system's message for an error, for use within a sentence."""
    message = error.strerror or str(error)
    return message[:1].lower() + message[1:]


PEEK_BYTES: Final = 4096
"""The first bytes of a file, within which at least one record must start."""


def parse_json(raw: bytes) -> Json:
    """Parses JSON, with or without a BOM; returns ``None`` if it is not JSON. Lone surrogates are allowed."""
    raw = raw.removeprefix(BOM)
    try:
        return from_json(raw)
    except ValueError:
        try:  # the faster parser does not accept lone surrogates
            return json.loads(raw.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return None


def read_record(line: bytes) -> dict[str, Json] | None:
    """Parses a line; returns ``None`` if it is not a JSON object."""
    value = parse_json(line)
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


# -- frames ----------------------------------------------------------------------------------------------------

Direction = Literal["in", "out"]
"""``in`` is from the server, ``out`` is to the server."""


class FrameHead(NamedTuple):
    """A frame without its payload.

    ``seq`` is the number of the frame, from 1. ``at`` is in monotonic seconds. ``size`` is the size on the wire, in bytes.
    ``method`` is empty and ``id`` is ``None`` if the frame has none. ``stream`` is the id of the client's request whose HTTP
    stream carried the frame. ``own`` says whether a tap wrote the frame, instead of the client or server behind it.
    """

    seq: int
    at: float
    direction: Direction
    method: str = ""
    id: RequestId | float | None = None
    size: int = 0
    stream: RequestId | None = None
    own: bool = False


def read_head(record: dict[str, Json]) -> FrameHead | None:
    """Reads the head of a frame from its record; returns ``None`` if the record is damaged."""
    raw = raw_of(record)
    seq, at, direction = record.get("seq"), number(record.get("mono")), record.get("dir")
    method, id_, stream = record.get("method", ""), record.get("id"), record.get("stream")
    if (
        raw is None
        or type(seq) is not int
        or not 0 < seq < 1 << 32
        or at is None
        or direction not in ("in", "out")
        or not isinstance(method, str)
        or not (stream is None or is_request_id(stream))
    ):
        return None
    size = record.get("size")
    return FrameHead(
        seq=seq,
        at=at,
        direction="in" if direction == "in" else "out",
        method=method,
        id=id_ if isinstance(id_, (int, float, str)) else None,
        size=size if type(size) is int and 0 <= size < 1 << 63 else len(raw),
        stream=stream,
        own=record.get("own") is True,
    )


def raw_of(record: dict[str, Json]) -> bytes | None:
    """Returns the bytes of a frame from its record; ``None`` if the record is damaged or not a frame."""
    raw, encoded = record.get("raw"), record.get("raw_b64")
    try:
        if isinstance(raw, str):
            return raw.encode()
        return binascii.a2b_base64(encoded, strict_mode=True) if isinstance(encoded, str) else None
    except ValueError:
        return None


# -- events ----------------------------------------------------------------------------------------------------

EVENTS: Final[dict[str, type[ev.Event]]] = {name_of(kind): kind for kind in DESCRIPTIONS}
"""The classes of events by their names in a record."""

STRUCTURAL: Final = frozenset({"method", "rule", "transport", "revision", "id_type"})
"""Text fields with values of mcp-tui or the protocol, which are never redacted."""


class UnknownEvent(LookupError):
    """A record has an event that this version does not know."""


class _Plan(NamedTuple):
    """The form of the record of a class of events.

    ``keys`` has the keys of the record, ``head`` the first two values, and ``values`` returns the others. ``fields`` has the
    name, key, and :func:`_reader` of each field, and ``texts`` the keys with free text.
    """

    keys: tuple[str, ...]
    head: tuple[str, str]
    values: attrgetter[tuple[Any, ...]]
    fields: tuple[tuple[str, str, frozenset[type], Callable[[Json], Any]], ...]
    texts: tuple[str, ...]


@cache
def _plan(kind: type[Any]) -> _Plan:
    hints = get_type_hints(kind)
    made: list[tuple[str, str, frozenset[type], Callable[[Json], Any]]] = []
    texts: list[str] = []
    # ``seq`` comes last, because readers of long recordings need the other fields at the start of the line.
    for field in sorted(fields(kind), key=lambda field: field.name == "seq"):
        hint = hints[field.name]
        key = "mono" if field.name == "at" else field.name
        made.append((field.name, key, *_reader(hint)))
        if hint in {str, str | None} and field.name not in STRUCTURAL:
            texts.append(key)
    return _Plan(
        keys=("record", "event", *(key for _, key, *_ in made)),
        head=("event", name_of(kind)),
        values=attrgetter(*(name for name, *_ in made)),
        fields=tuple(made),
        texts=tuple(texts),
    )


def encode_event(event: ev.Event) -> dict[str, Json]:
    """Returns the record of an event, for :func:`~mcp_tui.protocol.messages.encode`."""
    plan = _plan(type(event))
    return dict(zip(plan.keys, plan.head + plan.values(event), strict=True))


def texts_of(event: ev.Event) -> tuple[str, ...]:
    """Returns the keys with free text, from the server or the user, in the record of an event."""
    return _plan(type(event)).texts


def decode_event(record: dict[str, Json]) -> ev.Event:
    """Reads an event from its record. Unknown fields are ignored.

    Raises:
        UnknownEvent: the event is of a newer version.
        ValueError: a field is missing or has the wrong type.
    """
    name = record.get("event")
    kind = EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UnknownEvent(name)
    return _build(kind, record)


def _build(kind: type[Decoded], record: dict[str, Json]) -> Decoded:
    values: dict[str, Any] = {}
    for name, key, plain, convert in _plan(kind).fields:
        if key in record:
            value = record[key]
            values[name] = value if type(value) in plain else convert(value)
    try:
        return kind(**values)
    except TypeError as error:  # a field is missing
        raise ValueError(*error.args) from None


_PLAIN_TYPES: Final = frozenset({str, int, bool, NoneType})
"""The types of fields that JSON values have."""


_TEXT: Final = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-cA-C][0-9a-fA-F]{3}))*"'
_INTEGER: Final = r"(?:0|-?[1-9][0-9]{0,17})"
_NUMBER: Final = r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,25})?(?:e-[0-9]{1,2})?"
_ID: Final = rf'(?:{_INTEGER}|"[ !#-\[\]-~]*")'


@cache
def _canonical() -> SchemaValidator:
    """Returns the grammar of lines as this version writes them, for the linear matcher of pydantic."""
    frame = (
        rf'frame","seq":[1-9][0-9]{{0,8}},"mono":{_NUMBER},"dir":"(?:in|out)"(?:,"method":{_TEXT})?(?:,"id":{_ID})?'
        rf'(?:,"stream":{_ID})?(?:,"own":true)?,"raw":{_TEXT}(?:,"size":[0-9]{{1,18}})?'
    )
    events = (
        f'event","event":"{name}"' + "".join(f',"{key}":{value}' for key, value in _grammar(kind))
        for name, kind in EVENTS.items()
    )
    lines = rf'^(?:\{{"record":"(?:{"|".join((frame, *events))})\}}\n)*$'
    return SchemaValidator({"type": "str", "pattern": lines, "regex_engine": "rust-regex", "strict": True})


def _grammar(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """Yields the keys of a class of events, and regular expressions of their values."""
    hints = get_type_hints(kind)
    return ((key, _written(hints[name])) for name, key, *_ in _plan(kind).fields)


def _written(hint: Any) -> str:
    """Returns a regular expression for JSON of a type, which is read without an error."""
    if isinstance(hint, UnionType):
        return f"(?:{'|'.join(map(_written, get_args(hint)))})"
    if get_origin(hint) is tuple:
        each = _written(get_args(hint)[0])
        return rf"\[(?:{each}(?:,{each})*)?\]"
    if hint is ev.Limits:
        members = ",".join(f'"{key}":{each}' for key, each in _grammar(hint))
        return rf"\{{{members}\}}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "(?:" + "|".join(f'"{each.value}"' for each in hint) + ")"
    return {str: _TEXT, int: _INTEGER, float: _NUMBER, bool: "(?:true|false)", NoneType: "null"}[hint]


def are_canonical(lines: bytes) -> bool:
    """Whether all lines are frames and events in the form in which this version writes them, so each can be read.

    This takes a seventh of the time of parsing them. Lines in another form may be readable as well.
    """
    try:
        _canonical().validate_python(lines.decode())
    except ValueError:
        return False
    return True


def _reader(hint: Any) -> tuple[frozenset[type], Callable[[Json], Any]]:
    """Returns the types of JSON that a field has as they are, and a function that converts other JSON.

    The function raises a ``ValueError`` for JSON of another type.
    """
    members: tuple[Any, ...] = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    plain = _PLAIN_TYPES.intersection(members)
    others = [member for member in members if member not in plain]
    return plain, _converter(others[0]) if others else partial(_typed, members[0])


def _converter(kind: Any) -> Callable[[Json], Any]:
    if kind is float:
        return _float
    if kind is ev.Limits:
        return lambda value: _build(ev.Limits, _typed(dict[str, Json], value))
    if get_origin(kind) is tuple:
        plain, convert = _reader(get_args(kind)[0])
        return lambda value: tuple(
            each if type(each) in plain else convert(each) for each in _typed(list[Json], value)
        )
    return kind  # an enum, made from its value


def _typed(kind: type[Decoded], value: Json) -> Decoded:
    if type(value) is not (get_origin(kind) or kind):
        raise ValueError(f"{value!r:.80} is not {kind.__name__}")
    return value


def _float(value: Json) -> float:
    if type(value) is float and value - value == 0:  # finite
        return value
    made = float(value) if value in ("Infinity", "-Infinity", "NaN") else number(value)
    if made is None:
        raise ValueError(f"{value!r:.80} is not a number")
    return made
