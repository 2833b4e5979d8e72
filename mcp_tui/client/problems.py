"""What is wrong with a value by its schema, in sentences, each with its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from mcp_tui.protocol.messages import Json

if TYPE_CHECKING:
    import jsonschema_rs

PROBLEMS: Final = 50
"""Problems of one value that are told."""

SENTENCE: Final = 300
"""Characters of a sentence that says what is wrong with a value: values of any length stand in it."""

Path = tuple[str | int, ...]
"""Where in a value: names of members and numbers of items."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a value. ``text`` is one sentence without a place. Hostile: values and schemas stand in it.

    ``advisory`` is what breaks a ``format``, which a schema only tells and does not demand (JSON Schema 2020-12, 7.2).
    """

    path: Path
    text: str
    advisory: bool = False

    def __str__(self) -> str:
        place = ".".join(str(part) for part in self.path)
        return f"{place}: {self.text}" if place else self.text


def told(validator: jsonschema_rs.Validator, value: Json) -> list[Problem]:
    """What a validator finds wrong with a value, the first :data:`PROBLEMS`, each once."""
    found: dict[tuple[Path, str], Problem] = {}
    for error in validator.iter_errors(value):
        for each in _problems(error):
            found.setdefault((each.path, each.text), each)
        if len(found) >= PROBLEMS:
            break
    return list(found.values())[:PROBLEMS]


def _problems(error: jsonschema_rs.ValidationError, depth: int = 0) -> Iterable[Problem]:
    path: Path = tuple(error.instance_path)
    kind = error.kind
    match kind.name:
        case "required":
            yield Problem((*path, str(getattr(kind, "property", ""))), "is required")
        case "additionalProperties" | "unevaluatedProperties":
            for name in cast("list[str]", getattr(kind, "unexpected", [])):
                yield Problem((*path, name), "is no argument that the schema knows")
        case "anyOf" | "oneOf" if depth < 4:
            branches = cast("list[list[jsonschema_rs.ValidationError]]", getattr(kind, "context", []))
            meant = [each for each in branches if not _other_type(each, len(path))]
            if len(meant) == 1:
                for each in meant[0]:
                    yield from _problems(each, depth + 1)
            else:
                yield Problem(path, _sentence(error.message))
        case _:
            yield Problem(path, _sentence(error.message))


def _other_type(errors: list[jsonschema_rs.ValidationError], depth: int) -> bool:
    """Whether an alternative failed because it is of another type, or another constant, altogether."""
    return any(
        each.kind.name in ("type", "const", "enum") and len(each.instance_path) <= depth for each in errors
    )


def _sentence(text: str) -> str:
    return text if len(text) <= SENTENCE else f"{text[: SENTENCE - 1]}…"
