"""Events as flat JSON objects and back, generic over the dataclasses of :mod:`mcp_tui.protocol.events`.

The object of an event has ``record`` (``event``), ``event`` (the class in snake case), ``mono`` (its ``at``) and
every other field under its own name, defaults too, so that a default may change later: enums by their value, limits
as an object. ``Infinity``, ``-Infinity`` and ``NaN`` are written as strings, because JSON has no such numbers.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from enum import Enum
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Any, Final, NamedTuple, cast, get_args, get_origin, get_type_hints

from pydantic_core import PydanticSerializationError, to_json

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import DESCRIPTIONS, name_of
from mcp_tui.protocol.messages import Json


class UnknownEvent(LookupError):
    """The record names an event that this version does not have."""


EVENTS: Final[dict[str, type[ev.Event]]] = {name_of(kind): kind for kind in DESCRIPTIONS}
"""Every class of events, by its name in a record."""

STRUCTURAL: Final = frozenset({"method", "rule", "transport", "revision", "id_type"})
"""Text fields whose words are the protocol's or ours, so that nothing in them is ever redacted."""


class _Field(NamedTuple):
    name: str
    key: str
    read: Callable[[Json], Any]
    required: bool
    write: Callable[[Any], Json] | None
    is_text: bool


class _Plan(NamedTuple):
    event: str
    fields: tuple[_Field, ...]
    special: tuple[_Field, ...]
    texts: tuple[str, ...]


@cache
def _plan(kind: type[Any]) -> _Plan:
    hints = get_type_hints(kind)
    fields: list[_Field] = []
    # the number of the frame comes last: readers of long recordings look at the beginnings of lines
    for field in sorted(dataclasses.fields(kind), key=lambda field: field.name == "seq"):
        hint = hints[field.name]
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        members = _members(hint)
        fields.append(
            _Field(
                name=field.name,
                key="mono" if field.name == "at" else field.name,
                read=_reader(members),
                required=required,
                write=_writer(members),
                is_text=str in members and int not in members and field.name not in STRUCTURAL,
            )
        )
    fixed = tuple(fields)
    return _Plan(
        event=name_of(kind),
        fields=fixed,
        special=tuple(field for field in fixed if field.write),
        texts=tuple(field.key for field in fixed if field.is_text),
    )


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) is UnionType else (hint,)


# -- encode ----------------------------------------------------------------------------------------------------


def encode_event(event: ev.Event) -> dict[str, Json]:
    """The record of an event: only dicts, strings, numbers, booleans and ``None``."""
    plan = _plan(type(event))
    record: dict[str, Json] = {"record": "event", "event": plan.event}
    for field in plan.fields:
        record[field.key] = getattr(event, field.name)
    for field in plan.special:
        if record[field.key] is not None and field.write is not None:
            record[field.key] = field.write(record[field.key])
    return record


def texts_of(event: ev.Event) -> tuple[str, ...]:
    """The keys in the event's record that hold free text: the server's words, or a person's."""
    return _plan(type(event)).texts


def _writer(members: tuple[Any, ...]) -> Callable[[Any], Json] | None:
    for member in members:
        if member is ev.Limits:
            return dataclasses.asdict
        if isinstance(member, type) and issubclass(member, Enum):
            return attrgetter("value")
    return None


def dump(record: dict[str, Json]) -> bytes:
    """A record as one line of JSON without its end. Lone surrogates are escaped."""
    try:
        return to_json(record, inf_nan_mode="strings")
    except PydanticSerializationError:
        return json.dumps(record, separators=(",", ":")).encode()


def dump_text(text: str) -> bytes:
    """A text as the inside of a JSON string."""
    return to_json(text)[1:-1]


# -- decode ----------------------------------------------------------------------------------------------------


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
    return cast("ev.Event", _build(kind, record))


def _build(kind: type[Any], record: dict[str, Json]) -> Any:
    values: dict[str, Any] = {}
    for field in _plan(kind).fields:
        if field.key in record:
            values[field.name] = field.read(record[field.key])
        elif field.required:
            raise ValueError(f"{kind.__name__} without {field.key}")
    return kind(**values)


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
        return lambda value: _object(ev.Limits, value)
    if get_origin(member) is tuple:
        each = _reader(_members(get_args(member)[0]))
        return lambda value: tuple(map(each, _array(value)))
    if issubclass(member, Enum):
        return member

    def read(value: Json) -> Any:
        if type(value) is not member:
            raise ValueError(f"{value!r:.80} is not {member.__name__}")
        return value

    return read


def _array(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r:.80} is not an array")  # noqa: TRY004
    return cast("list[Json]", value)


def _object(kind: type[Any], value: Json) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r:.80} is not an object")  # noqa: TRY004 - one error for all that is damaged
    return _build(kind, cast("dict[str, Json]", value))


_NOT_FINITE: Final = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}


def _float(value: Json) -> float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r:.80} is not a number")  # noqa: TRY004
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a number without a float") from None
