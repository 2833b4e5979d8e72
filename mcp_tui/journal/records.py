r"""The records of a recording: the one file format of journals and of what is sent to a colleague, JSON lines.

The first line is a header, every other a frame or an event, in the order in which they happened::

    {"record":"session","v":1,"id":"5be1f20c9a44","wall":1795230900.5,"mono":8123.25,"app":"0.1.0","target":"npx -y …"}
    {"record":"frame","seq":1,"mono":8123.31,"dir":"out","method":"tools/call","id":1,"raw":"{\"jsonrpc\":…"}
    {"record":"event","event":"sent","mono":8123.31,"id":1,"seq":1}

``mono`` is monotonic seconds; the wall time of a record is ``wall + (mono - mono of the header)``. ``raw`` is the text
of a frame as it came, without its secrets; then ``size`` says how many bytes it had. ``raw_b64`` stands in its stead
for bytes that are no UTF-8. ``stream``, ``method`` and ``id`` are left out where a frame has none.

The record of an event has ``event`` (the class in snake case), ``mono`` (its ``at``) and every other field under its own
name, defaults too, so that a default may change later: enums by their value, limits as an object. ``Infinity``,
``-Infinity`` and ``NaN`` are written as strings, because JSON has no such numbers.
"""

from __future__ import annotations

import binascii
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, fields
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import Any, Final, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from pydantic_core import from_json

from mcp_tui import __version__, clock
from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.descriptions import DESCRIPTIONS, name_of
from mcp_tui.protocol.messages import Json, is_request_id, number
from mcp_tui.protocol.values import fact

Value = TypeVar("Value")

VERSION: Final = 1
"""The version of the format that this module reads and writes."""


class RecordingError(Exception):
    """A file cannot be read or written as a recording. The text is one sentence for a person."""


class OtherFormat(RecordingError):
    """A file is a recording of another version of the format."""

    def __init__(self, path: Path, version: int) -> None:
        super().__init__(
            f"{path} is a recording of format {version}; mcp-tui {__version__} reads format {VERSION}."
        )
        self.version = version


@fact
class Header:
    """Where and when a session was recorded. ``wall`` and ``mono`` are one moment on both clocks, in seconds.

    ``target`` is the server's command line or URL; the writer redacts it.
    """

    id: str = ""
    wall: float = 0.0
    mono: float = 0.0
    app: str = ""
    target: str = ""
    purpose: str = ""
    """``workbench`` for a session of the workbench, ``probe`` where the probe made it, whose cancels are experiments."""

    @classmethod
    def now(cls, target: str = "", purpose: str = "") -> Header:
        """The header of a session that begins now."""
        return cls(
            id=os.urandom(6).hex(),
            wall=clock.wall(),
            mono=time.monotonic(),
            app=__version__,
            target=target,
            purpose=purpose,
        )

    @classmethod
    def of(cls, record: dict[str, Json], path: Path) -> Header | None:
        """The header that a record is; ``None`` where it is damaged.

        Raises:
            OtherFormat: it is one of another version of the format.
        """
        version = record.get("v")
        if not isinstance(version, int):
            return None
        if version != VERSION:
            raise OtherFormat(path, version)
        values = {each.name: record.get(each.name, each.default) for each in fields(cls)}
        if any(type(values[each.name]) is not type(each.default) for each in fields(cls)):
            return None
        return cls(**values)

    def line(self) -> bytes:
        """The header as a record, with its line end."""
        return messages.encode({"record": "session", "v": VERSION, **asdict(self)}) + b"\n"


def why(error: OSError) -> str:
    """What the operating system says of an error, to stand within a sentence."""
    said = error.strerror or str(error)
    return said[:1].lower() + said[1:]


PEEK: Final = 4096
"""Bytes at the beginning of a file in which one record at least must begin."""


def parse_json(raw: bytes) -> Json:
    """The value of a JSON text, which may have lone surrogates, escaped or in bytes; ``None`` where it is not JSON."""
    try:
        return from_json(raw)
    except ValueError:
        try:  # a lone surrogate, which the faster parser refuses
            return json.loads(raw.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return None


def read_record(line: bytes) -> dict[str, Json] | None:
    """The JSON object of a line; ``None`` where it is not one."""
    value = parse_json(line)
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


# -- frames ----------------------------------------------------------------------------------------------------


def raw_of(line: bytes) -> bytes | None:
    """The bytes of the frame whose record is ``line``; ``None`` where it is none, or damaged."""
    record = read_record(line)
    return None if record is None else _raw(record)


def read_head(record: dict[str, Json]) -> FrameHead | None:
    """The head of the frame that a record is about; ``None`` where it is damaged."""
    raw = _raw(record)
    seq, at, direction = record.get("seq"), number(record.get("mono")), record.get("dir")
    method, id_, stream = record.get("method", ""), record.get("id"), record.get("stream")
    if (
        raw is None
        or type(seq) is not int
        or not 0 < seq < 1 << 63
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
    )


def _raw(record: dict[str, Json]) -> bytes | None:
    raw, encoded = record.get("raw"), record.get("raw_b64")
    try:
        if isinstance(raw, str):
            return raw.encode()
        return binascii.a2b_base64(encoded, strict_mode=True) if isinstance(encoded, str) else None
    except ValueError:
        return None


# -- events ----------------------------------------------------------------------------------------------------

EVENTS: Final[dict[str, type[ev.Event]]] = {name_of(kind): kind for kind in DESCRIPTIONS}
"""Every class of events, by its name in a record."""

STRUCTURAL: Final = frozenset({"method", "rule", "transport", "revision", "id_type"})
"""Text fields whose words are the protocol's or ours, so that nothing in them is ever redacted."""


class UnknownEvent(LookupError):
    """The record names an event that this version does not have."""


class _Plan(NamedTuple):
    """How a class is written: the keys of its record and what stands under the first two, what reads the other values
    from an object; of each field its name, its key, and what reads its value; and the keys of its texts.
    """

    keys: tuple[str, ...]
    head: tuple[str, str]
    values: attrgetter[tuple[Any, ...]]
    fields: tuple[tuple[str, str, Callable[[Json], Any]], ...]
    texts: tuple[str, ...]


@cache
def _plan(kind: type[Any]) -> _Plan:
    hints = get_type_hints(kind)
    made: list[tuple[str, str, Callable[[Json], Any]]] = []
    texts: list[str] = []
    # the number of the frame comes last: readers of long recordings look at the beginnings of lines
    for field in sorted(fields(kind), key=lambda field: field.name == "seq"):
        members = _members(hints[field.name])
        key = "mono" if field.name == "at" else field.name
        made.append((field.name, key, _reader(members)))
        if str in members and int not in members and field.name not in STRUCTURAL:
            texts.append(key)
    return _Plan(
        keys=("record", "event", *(key for _, key, _ in made)),
        head=("event", name_of(kind)),
        values=attrgetter(*(name for name, _, _ in made)),
        fields=tuple(made),
        texts=tuple(texts),
    )


def encode_event(event: ev.Event) -> dict[str, Json]:
    """The record of an event, as :func:`~mcp_tui.protocol.messages.encode` takes it."""
    plan = _plan(type(event))
    return dict(zip(plan.keys, plan.head + plan.values(event), strict=True))


def texts_of(event: ev.Event) -> tuple[str, ...]:
    """The keys in the event's record that hold free text: the server's words, or a person's."""
    return _plan(type(event)).texts


def decode_event(record: dict[str, Json]) -> ev.Event:
    """The event of a record. Fields that this version does not know are left out.

    Raises:
        UnknownEvent: an event of a newer version.
        ValueError: a field is missing or has the wrong type.
    """
    name = record.get("event")
    kind = EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UnknownEvent(name)
    return _build(kind, record)


def _build(kind: type[Value], record: dict[str, Json]) -> Value:
    values = {name: read(record[key]) for name, key, read in _plan(kind).fields if key in record}
    try:
        return kind(**values)
    except TypeError as error:  # a field is missing
        raise ValueError(*error.args) from None


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) is UnionType else (hint,)


def _reader(members: tuple[Any, ...]) -> Callable[[Json], Any]:
    readers = tuple(_reader_of(member) for member in members)
    if len(readers) == 1:
        return readers[0]

    def read(value: Json) -> Any:
        for each in readers:
            try:
                return each(value)
            except ValueError:
                continue
        raise ValueError(f"{value!r:.80}")

    return read


def _reader_of(member: Any) -> Callable[[Json], Any]:
    if member is float:
        return _float
    if member is ev.Limits:
        return lambda value: _build(ev.Limits, _typed(dict[str, Json], value))
    if get_origin(member) is tuple:
        each = _reader(_members(get_args(member)[0]))
        return lambda value: tuple(map(each, _typed(list[Json], value)))
    return member if issubclass(member, Enum) else partial(_typed, member)


def _typed(kind: type[Value], value: Json) -> Value:
    if type(value) is not (get_origin(kind) or kind):
        raise ValueError(f"{value!r:.80} is not {kind.__name__}")
    return value


def _float(value: Json) -> float:
    made = float(value) if value in ("Infinity", "-Infinity", "NaN") else number(value)
    if made is None:
        raise ValueError(f"{value!r:.80} is not a number")
    return made
