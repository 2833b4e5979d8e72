"""Parses config files: TOML, and JSON with comments and trailing commas. Finds the lines to point at.

Comments of JSON become blanks of the same length, so every line and column that is told is that of the file. The standard
library's reader of TOML tells where it stumbles, but not where a key stands.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_tui.config.files import ConfigError, at, read_text
from mcp_tui.protocol.patterns import possessive
from mcp_tui.protocol.values import frozen

if TYPE_CHECKING:
    from mcp_tui.protocol.messages import Json


@frozen
class Document:
    """A file that was read: its text, without comments if it is JSON, and its value; ``None`` for an empty file."""

    text: str
    whole: Json
    is_toml: bool

    @classmethod
    def read(cls, path: Path) -> Document:
        """Reads a file.

        Raises:
            ConfigError: it cannot be read, or is neither JSON nor TOML.
        """
        text = read_text(path)
        if path.suffix == ".toml":
            return cls(text, parse_toml(text, path), is_toml=True)
        return cls(*parse_json(text, path), is_toml=False)

    def lines(self, *path: str) -> dict[str, int]:
        """Returns the line of each member of the object or table at ``path``."""
        if not self.is_toml:
            return member_lines(self.text, *path)
        found = toml_lines(self.text).items()
        return {key[-1]: line for key, line in found if key[:-1] == path}

    def repeated(self, *path: str) -> dict[str, int]:
        """Returns the first line of each member of the object at ``path`` that a later one of its name replaces.

        TOML permits none.
        """
        if self.is_toml:
            return {}
        found = list(member_places(self.text, *path))
        return {key: line for number, (key, line) in enumerate(found) if key in dict(found[number + 1 :])}


def parse_toml(text: str, path: Path) -> dict[str, Json]:
    """Returns the table in the text of ``path``.

    Raises:
        ConfigError: it is no TOML; the sentence names line and column.
    """
    return _parse(tomllib.loads, text, path, "TOML")


def parse_json(text: str, path: Path) -> tuple[str, Json]:
    """Returns the text of ``path`` without comments, and its value; ``None`` for an empty one.

    Raises:
        ConfigError: it is not JSON; the sentence names line and column.
    """
    with suppress(ValueError, RecursionError):
        return text, json.loads(
            text, strict=False
        )  # most files are plain JSON, and some have megabytes of it
    bare = plain(text)
    return bare, _parse(_DECODER.decode, bare, path, "JSON") if bare.strip() else None


def _parse(read: Callable[[str], Any], text: str, path: Path, form: str) -> Any:
    line: int | None = None
    column: int | None = None
    try:
        return read(text)
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    except json.JSONDecodeError as error:
        line, column, said = error.lineno, error.colno, error.msg.removesuffix(" starting at")
    except tomllib.TOMLDecodeError as error:
        found = _WHERE.search(str(error))
        said = _WHERE.sub("", str(error))
        line, column = (int(found[1]), int(found[2])) if found and found[1] else (text.count("\n") + 1, None)
    except ValueError as error:
        said = str(error)
    raise ConfigError(f"{at(path, line, column)}: not valid {form} ({said[:1].lower()}{said[1:]})")


# -- JSON --------------------------------------------------------------------------------------------------------

_COMMENT: Final = possessive(r'"(?:[^"\\\n]|\\.)*+"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA: Final = possessive(r'"(?:[^"\\\n]|\\.)*+"|(?<!,),(?=\s*[}\]])', re.DOTALL)
_BEFORE_KEY: Final = re.compile(r'\s*[{,]\s*(?=")')
_COLON: Final = re.compile(r"\s*:\s*")
_NO_BREAK: Final = re.compile(r"[^\n]")
_DECODER: Final = json.JSONDecoder(strict=False)


def plain(text: str) -> str:
    """Returns ``text`` with blanks in place of comments and trailing commas."""
    text = _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else _NO_BREAK.sub(" ", found[0]), text)
    return _COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)


def member_lines(text: str, *path: str) -> dict[str, int]:
    """Returns the line of each member of the object at ``path``, in JSON without comments."""
    return dict(member_places(text, *path))


def member_places(text: str, *path: str) -> Iterator[tuple[str, int]]:
    """Yields the name and the line of each member of the object at ``path``, in JSON without comments.

    The decoder skips everything beside that path, at its own speed.
    """
    where = 0
    for step in path:
        inside = {key: value for key, _, value in _members(text, where)}
        if step not in inside:
            return
        where = inside[step]
    line, counted = 1, 0
    for key, start, _ in _members(text, where):
        line += text.count("\n", counted, start)
        counted = start
        yield key, line


def _members(text: str, where: int) -> Iterator[tuple[str, int, int]]:
    """Yields the key of each member of the object at ``where``, and the positions of the key and of its value."""
    while found := _BEFORE_KEY.match(text, where):
        key, end = _DECODER.raw_decode(text, found.end())
        colon = _COLON.match(text, end)
        value = end if colon is None else colon.end()
        yield key, found.end(), value
        _, where = _DECODER.raw_decode(text, value)


# -- TOML --------------------------------------------------------------------------------------------------------

_WHERE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")

_STATEMENT: Final = 400
"""Lines that one statement may take and still be found."""


def toml_lines(text: str) -> dict[tuple[str, ...], int]:
    """Returns the line of each table and each key, by its path, in a text that :func:`parse_toml` accepts."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    begin, statement = 1, ""
    for number, row in enumerate(text.splitlines(), 1):
        statement += f"{row}\n"
        try:
            paths = list(_paths(tomllib.loads(statement)))
        except (ValueError, RecursionError):
            if number - begin >= _STATEMENT:
                break
            continue  # it goes on in the next line
        if statement.lstrip().startswith("["):
            table, paths = max(paths, key=len), [()]
        for path in paths:
            found.setdefault((*table, *path), begin)
        begin, statement = number + 1, ""
    return found


def _paths(value: Any) -> Iterator[tuple[str, ...]]:
    if isinstance(value, list):  # of tables: [[name]]
        value = next(iter(cast("list[Any]", value)), None)
    if isinstance(value, dict):
        for key, below in cast("dict[str, Any]", value).items():
            yield (key,)
            yield from ((key, *path) for path in _paths(below))
