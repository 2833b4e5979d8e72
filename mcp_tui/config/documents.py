"""Config files as people write them: TOML, and JSON with comments and trailing commas; and the lines in them to point at.

Comments of JSON become blanks of the same length, so every line and column that is told is that of the file. The standard
library's reader of TOML tells where it stumbles, but not where a key stands.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.config.files import ConfigError, at, read_text
from mcp_tui.protocol.patterns import possessive
from mcp_tui.protocol.values import frozen

if TYPE_CHECKING:
    from mcp_tui.protocol.messages import Json


@frozen
class Document:
    """A file that was read: its text, and what it means; ``None`` for nothing."""

    text: str
    whole: Json
    is_toml: bool

    @classmethod
    def read(cls, path: Path) -> Document:
        """Read a file.

        Raises:
            ConfigError: it cannot be read, or is neither JSON nor TOML.
        """
        text = read_text(path)
        is_toml = path.suffix == ".toml"
        return cls(text, parse_toml(text, path) if is_toml else parse_json(text, path), is_toml)

    def lines(self, *path: str) -> dict[str, int]:
        """The line of each member of the object or table that ``path`` leads to."""
        if not self.is_toml:
            return member_lines(self.text, *path)
        found = toml_lines(self.text).items()
        return {key[-1]: line for key, line in found if key[:-1] == path}


def parse_toml(text: str, path: Path) -> dict[str, Json]:
    """The table that the text of ``path`` holds.

    Raises:
        ConfigError: it is no TOML; the sentence names line and column.
    """
    return _parse(tomllib.loads, text, path, "TOML")


def parse_json(text: str, path: Path) -> Json:
    """The value that the text of ``path`` holds; ``None`` for a file with nothing in it.

    Raises:
        ConfigError: it is no JSON; the sentence names line and column.
    """
    with suppress(ValueError, RecursionError):
        return json.loads(text, strict=False)  # most files are plain JSON, and some have megabytes of it
    bare = plain(text)
    return _parse(_DECODER.decode, bare, path, "JSON") if bare.strip() else None


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
_SPACE: Final = re.compile(r"\s*")
_NO_BREAK: Final = re.compile(r"[^\n]")
_DECODER: Final = json.JSONDecoder(strict=False)


def plain(text: str) -> str:
    """``text`` with blanks in place of comments and trailing commas."""
    text = _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else _NO_BREAK.sub(" ", found[0]), text)
    return _COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)


def member_lines(text: str, *path: str) -> dict[str, int]:
    """The line of each member of the object that ``path`` leads to, in a text that :func:`parse_json` accepts.

    Only what lies on the way is looked at: what lies beside it is skipped at the decoder's speed.
    """
    try:
        return _member_lines(text, path)
    except ValueError:
        return _member_lines(plain(text), path)


def _member_lines(bare: str, path: Sequence[str]) -> dict[str, int]:
    where = _after_space(bare, 0)
    for step in path:
        inside = {key: value for key, _, value in _members(bare, where)}
        if step not in inside:
            return {}
        where = inside[step]
    found: dict[str, int] = {}
    line, counted = 1, 0
    for key, start, _ in _members(bare, where):
        line += bare.count("\n", counted, start)
        counted = start
        found[key] = line
    return found


def _members(bare: str, where: int) -> Iterator[tuple[str, int, int]]:
    """The members of the object that begins at ``where``: the key, where it begins, and where its value does."""
    if bare[where : where + 1] != "{":
        if bare[where : where + 1] == "/":
            raise ValueError("a comment")
        return
    where = _after_space(bare, where + 1)
    while bare[where : where + 1] == '"':
        key, end = _DECODER.raw_decode(bare, where)
        value = _after_space(bare, _after_space(bare, end) + 1)
        yield str(key), where, value
        _, end = _DECODER.raw_decode(bare, value)
        where = _after_space(bare, end)
        if bare[where : where + 1] == ",":
            where = _after_space(bare, where + 1)
    if bare[where : where + 1] != "}":
        raise ValueError("a comment")


def _after_space(bare: str, where: int) -> int:
    found = _SPACE.match(bare, where)
    return where if found is None else found.end()


# -- TOML --------------------------------------------------------------------------------------------------------

_WHERE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")

_STATEMENT: Final = 400
"""Lines that one statement may take and still be found."""


def toml_lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of each table and each key, by its path, in a text that :func:`parse_toml` accepts."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for line, header, statement in _statements(text):
        if header:
            table = max(_toml_paths(statement, ()), key=len)
            found.setdefault(table, line)
        else:
            for path in _toml_paths(statement, table):
                found.setdefault(path, line)
    return found


def _toml_paths(value: Json, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    # what this loads, a start without settings has no use for
    from mcp_tui.protocol.messages import as_list, as_object

    if len(as_list(value)) == 1:
        value = as_list(value)[0]
    if isinstance(value, dict):
        for key, below in as_object(value).items():
            yield (*above, key)
            yield from _toml_paths(below, (*above, key))


def _statements(text: str) -> Iterator[tuple[int, bool, dict[str, Json]]]:
    """Each statement by itself: the line that it begins in, whether it is the header of a table, what it says."""
    begin, chunk = 1, ""
    for number, row in enumerate(text.splitlines(), 1):
        chunk += f"{row}\n"
        try:
            read = tomllib.loads(chunk)
        except (ValueError, RecursionError):
            if number - begin >= _STATEMENT:
                return
            continue  # it goes on in the next line
        if read:
            yield begin, chunk.lstrip().startswith("["), read
        begin, chunk = number + 1, ""
