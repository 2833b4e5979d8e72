"""Parses YAML, and finds the positions of its members and items."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

from mcp_tui.config.files import ConfigError, at
from mcp_tui.protocol.json_values import Json
from mcp_tui.protocol.values import frozen


@frozen
class Member:
    """The positions of a member of an object or table: the start of its key, and the start and end of its value."""

    key: int
    value: int
    end: int


Way = tuple[str | int, ...]
"""The path to a value: keys, and in lists numbers."""

_MOST_VALUES: Final = 100_000
"""The most values in a file, because with aliases a few lines can stand for millions of values."""


def parse_yaml(text: str, path: Path) -> tuple[Json, dict[Way, Member]]:
    """Returns the value in ``text``, the content of ``path``, and the positions of all its members and items.

    Raises:
        ConfigError: the text is not YAML, or has too many values. The error names line and column.
    """
    # ruamel.yaml is large, and few users have YAML files.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    library: Any = YAML(typ="safe", pure=True)
    library.composer.warn_double_anchors = False
    try:
        root = library.compose(text)
    except MarkedYAMLError as error:
        problem = cast("Any", error)
        mark = problem.problem_mark
        place = str(path) if mark is None else at(path, mark.line + 1, mark.column + 1)
        raise ConfigError(f"{place}: not valid YAML ({problem.problem or problem.context})") from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML ({str(error).splitlines()[0]})") from None
    found: dict[Way, Member] = {}
    try:
        return (None if root is None else _value(root, (), found)), found
    except (OverflowError, RecursionError):
        raise ConfigError(f"{path}: too many values, or nested too deeply") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not valid YAML ({error})") from None


def _value(node: Any, way: Way, found: dict[Way, Member]) -> Json:
    if len(found) > _MOST_VALUES:
        raise OverflowError
    start, end = node.start_mark.index, node.end_mark.index
    if way:
        found.setdefault(way, Member(start, start, end))
    if node.id == "mapping":
        made: dict[str, Json] = {}
        for key, value in cast("list[tuple[Any, Any]]", node.value):
            name = str(key.value)
            if key.id != "scalar" or name in made:
                raise ValueError(f"line {key.start_mark.line + 1}: key {name[:40]!r} twice, or not a text")
            inner = (*way, name)
            found[inner] = Member(key.start_mark.index, value.start_mark.index, value.end_mark.index)
            made[name] = _value(value, inner, found)
        return made
    if node.id == "sequence":
        items = cast("list[Any]", node.value)
        return [_value(each, (*way, number), found) for number, each in enumerate(items)]
    return _scalar(str(node.value), str(node.tag).rpartition(":")[2])


def _scalar(text: str, tag: str) -> Json:
    match tag:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text.replace("_", ""), 10 if text.lstrip("+-").isdecimal() else 0)
        case "float":
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
        case _:
            return text
