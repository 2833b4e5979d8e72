"""TOML with lines to point at: the standard library's reader tells where it stumbles, but not where a key stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_tui.config.files import ConfigError, at

if TYPE_CHECKING:
    from mcp_tui.protocol.messages import Json

_WHERE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")

_STATEMENT: Final = 400
"""Lines that one statement may take and still be found."""


def parse(text: str, path: Path) -> dict[str, Json]:
    """The table that the text of ``path`` holds.

    Raises:
        ConfigError: it is no TOML; the sentence names line and column.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _WHERE.search(str(error))
        said = _WHERE.sub("", str(error))
        line, column = (int(found[1]), int(found[2])) if found and found[1] else (text.count("\n") + 1, None)
        said = f"{said[:1].lower()}{said[1:]}"
        raise ConfigError(f"{at(path, line, column)}: not valid TOML ({said})") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML ({error})") from None


def lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of each table and each key, by its path, in a text that :func:`parse` accepts."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for line, header, statement in _statements(text):
        if header:
            table = max(_paths(statement, ()), key=len)
            found.setdefault(table, line)
        else:
            for path in _paths(statement, table):
                found.setdefault(path, line)
    return found


def _paths(value: Json, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    from mcp_tui.protocol.messages import as_list, as_object

    if len(as_list(value)) == 1:
        value = as_list(value)[0]
    if isinstance(value, dict):
        for key, below in as_object(value).items():
            yield (*above, key)
            yield from _paths(below, (*above, key))


def _statements(text: str) -> Iterator[tuple[int, bool, dict[str, Json]]]:
    """Each statement by itself: the line that it begins in, whether it is the header of a table, what it says."""
    rows = text.splitlines()
    number = 0
    while number < len(rows):
        begin, chunk = number, rows[number]
        number += 1
        if not chunk.strip() or chunk.lstrip().startswith("#"):
            continue
        read = _read(chunk)
        while read is None and number < min(len(rows), begin + _STATEMENT):
            chunk += "\n" + rows[number]
            number += 1
            read = _read(chunk)
        if read is None:
            return
        yield begin + 1, chunk.lstrip().startswith("["), read


def _read(chunk: str) -> dict[str, Json] | None:
    try:
        return tomllib.loads(chunk)
    except (ValueError, RecursionError):
        return None
