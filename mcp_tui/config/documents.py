"""Parses config files (TOML, YAML, and JSON with comments and trailing commas), and finds the lines of their members.

Comments in JSON are replaced by blanks of the same length, so that reported lines and columns are those of the file. The
standard library's TOML parser reports the positions of errors, but not those of keys; this module finds the latter.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_tui.config.files import ConfigError, at, read_text
from mcp_tui.config.yaml import Member, Way, parse_yaml
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.values import frozen

if TYPE_CHECKING:
    from mcp_tui.protocol.messages import Json


class Language(Enum):
    """The language of a config file."""

    JSON = "JSON"
    TOML = "TOML"
    YAML = "YAML"


LANGUAGES: Final = {".toml": Language.TOML, ".yaml": Language.YAML, ".yml": Language.YAML}
"""The language of each file name suffix; any other file is JSON."""


@frozen
class Document:
    """A parsed file: its text, and its value; ``None`` for an empty file.

    The text of a JSON file is without comments. ``places`` has the positions of all members and items of a YAML file.
    """

    text: str
    whole: Json
    language: Language
    places: Mapping[Way, Member] = field(default_factory=dict[Way, Member])

    @classmethod
    def read(cls, path: Path) -> Document:
        """Reads and parses a file.

        Raises:
            ConfigError: the file cannot be read, or is not valid in its language.
        """
        return cls.parse(read_text(path), path)

    @classmethod
    def parse(cls, text: str, path: Path) -> Document:
        """Parses the text of a file.

        Raises:
            ConfigError: the text is not valid in its language.
        """
        language = LANGUAGES.get(path.suffix, Language.JSON)
        if language is Language.TOML:
            return cls(text, parse_toml(text, path), language)
        if language is Language.YAML:
            whole, places = parse_yaml(text, path)
            return cls(text, whole, language, places)
        if is_script(path):
            raise ConfigError(f"{path}: a shell script, which only Crush can run")
        return cls(*parse_json(text, path), language)

    def member(self, *path: str | int) -> Member | None:
        """Returns the positions of the member at ``path``, the last of several with one name; ``None`` without one."""
        if self.language is not Language.JSON:
            return self.all_members().get(path)
        where = 0
        found: Member | None = None
        for step in path:
            inside = {key: (start, value) for key, start, value in _members(self.text, where)}
            if step not in inside:
                return None
            start, where = inside[str(step)]
            found = Member(start, where, _DECODER.raw_decode(self.text, where)[1])
        return found

    def all_members(self) -> Mapping[Way, Member]:
        """Returns the positions of all members and items of a TOML or YAML file, by their paths."""
        if self.language is Language.TOML:
            return cast("dict[Way, Member]", toml_members(self.text))
        return self.places

    def items(self, *path: str | int) -> list[tuple[int, int]]:
        """Returns the start and end of each item in the list at ``path``, which must contain only texts and numbers."""
        if self.language is Language.YAML:
            inside = (each for way, each in self.places.items() if way[:-1] == path)
            return [(each.value, each.end) for each in inside]
        where = self.member(*path)
        if where is None:
            return []
        tokens = _TOML_TOKEN.finditer(self.text, where.value + 1, where.end - 1)
        return [each.span() for each in tokens if each.lastgroup in ("text", "bare")]

    def lines(self, *path: str | int) -> dict[str | int, int]:
        """Returns the line of each member of the object or table at ``path``; in YAML also the lines of list items."""
        if self.language is Language.JSON:
            return dict(member_places(self.text, *path))
        breaks = [found.start() for found in re.finditer("\n", self.text)]
        found = self.all_members().items()
        return {key[-1]: bisect_left(breaks, each.key) + 1 for key, each in found if key[:-1] == path}

    def repeated(self, *path: str | int) -> dict[str | int, int]:
        """Returns the line of each member of the object at ``path`` that a later member with the same name replaces.

        The result is empty for TOML and YAML, which do not permit duplicate names.
        """
        first: dict[str | int, int] = {}
        again: dict[str | int, int] = {}
        for key, line in member_places(self.text, *path) if self.language is Language.JSON else ():
            if key in first:
                again[key] = first[key]
            first.setdefault(key, line)
        return again


def is_script(path: Path) -> bool:
    """Returns whether a config file is a shell script, by its name."""
    return path.name in ("crushrc", ".crushrc")


def parse_toml(text: str, path: Path) -> dict[str, Json]:
    """Returns the table in ``text``, the content of ``path``.

    Raises:
        ConfigError: the text is not TOML. The error names line and column.
    """
    return _parse(tomllib.loads, text, path, "TOML")


def parse_json(text: str, path: Path) -> tuple[str, Json]:
    """Returns ``text``, the content of ``path``, without comments, and its value; ``None`` for an empty text.

    Raises:
        ConfigError: the text is not JSON. The error names line and column.
    """
    # Most files are plain JSON, and some have megabytes of it.
    with suppress(ValueError, RecursionError):
        return text, json.loads(text, strict=False)
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
        line, column, reason = error.lineno, error.colno, error.msg.removesuffix(" starting at")
    except tomllib.TOMLDecodeError as error:
        found = _WHERE.search(str(error))
        reason = _WHERE.sub("", str(error))
        line, column = (int(found[1]), int(found[2])) if found and found[1] else (text.count("\n") + 1, None)
    except ValueError as error:
        reason = str(error)
    raise ConfigError(f"{at(path, line, column)}: not valid {form} ({reason[:1].lower()}{reason[1:]})")


# -- JSON --------------------------------------------------------------------------------------------------------

# The patterns match an unclosed string or comment up to its end, because a search from each of its characters would take
# quadratic time. Unclosed text is not replaced.
_TEXT_OR_COMMENT: Final = late(r'"(?:[^"\\\n]|\\.)*+"?|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
_COMMA: Final = late(r'"(?:[^"\\\n]|\\.)*+"?|(?<!,),(?=\s*[}\]])', re.DOTALL)
_BEFORE_KEY: Final = late(r'\s*[{,]\s*(?=")')
_COLONS: Final = late(r"\s*:\s*")
_NO_BREAK: Final = late(r"[^\n]")
_DECODER: Final = json.JSONDecoder(strict=False)


def plain(text: str) -> str:
    """Returns ``text`` with blanks in place of comments and trailing commas."""
    text = _TEXT_OR_COMMENT.sub(_without_comment, text)
    return _COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)


def _without_comment(found: re.Match[str]) -> str:
    text = found[0]
    is_open = text.startswith("/*") and (len(text) < len("/**/") or not text.endswith("*/"))
    return text if is_open or text.startswith('"') else _NO_BREAK.sub(" ", text)


def member_places(text: str, *path: str | int) -> Iterator[tuple[str, int]]:
    """Yields the name and the line of each member of the object at ``path``, in JSON without comments."""
    where = 0
    for step in path:
        inside = {key: value for key, _, value in _members(text, where)}
        if step not in inside:
            return
        where = inside[str(step)]
    line, counted = 1, 0
    for key, start, _ in _members(text, where):
        line += text.count("\n", counted, start)
        counted = start
        yield key, line


def _members(text: str, where: int) -> Iterator[tuple[str, int, int]]:
    """Yields the key of each member of the object at ``where``, and the positions of the key and of its value.

    The JSON decoder skips the values, which is faster than a tokenizer in Python.
    """
    while found := _BEFORE_KEY.match(text, where):
        key, end = _DECODER.raw_decode(text, found.end())
        colon = _COLONS.match(text, end)
        value = end if colon is None else colon.end()
        yield key, found.end(), value
        _, where = _DECODER.raw_decode(text, value)


# -- TOML --------------------------------------------------------------------------------------------------------

_WHERE: Final = late(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")

_TOML_TOKEN: Final = late(
    r"""[ \t\r]+ | \#[^\n]* | (?P<line>\n) | (?P<mark>[][{},=])
    | (?P<text> \"{3}(?:[^\\]|\\.)*?"{3,5} | '{3}.*?'{3,5} | "(?:[^"\\\n]|\\.)*" | '[^'\n]*')
    | (?P<bare>[^]\s[{},="'\#]+)""",
    re.VERBOSE | re.DOTALL,
)


def toml_lines(text: str) -> dict[tuple[str, ...], int]:
    """Returns the line of each table and each key, by its path, in a text that :func:`parse_toml` accepts."""
    breaks = [found.start() for found in re.finditer("\n", text)]
    return {path: bisect_left(breaks, each.key) + 1 for path, each in toml_members(text).items()}


def toml_members(text: str) -> dict[tuple[str, ...], Member]:
    """Returns the positions of each table and each key, by its path, in a text that :func:`parse_toml` accepts.

    The position of a table with a header is that of the header. For an array of tables, the first table counts.
    """
    found: dict[tuple[str, ...], Member] = {}
    tokens = [each for each in _TOML_TOKEN.finditer(text) if each.lastgroup]

    def is_at(at: int, *marks: str) -> bool:
        return at < len(tokens) and tokens[at][0] in marks

    def read(at: int, table: tuple[str, ...]) -> int:
        """Adds one key with its value to ``found``; returns the number of the next token."""
        start = tokens[at].start()
        while not is_at(at, "="):
            at += 1
        path = max(_paths(tomllib.loads(f"{text[start : tokens[at].start()]} = 0")), key=len)
        value = at = at + 1
        if is_at(at, "{"):
            at += 1
            while not is_at(at, "}"):
                at = at + 1 if is_at(at, ",", "\n") else read(at, (*table, *path))
            at += 1
        else:
            depth = 0
            while at < len(tokens) and (depth or not is_at(at, "\n", ",", "}")):
                depth += is_at(at, "[", "{") - is_at(at, "]", "}")
                at += 1
        for length in range(1, len(path) + 1):
            member = Member(start, tokens[value].start(), tokens[at - 1].end())
            found.setdefault((*table, *path[:length]), member)
        return at

    at, table = 0, ()
    while at < len(tokens):
        if is_at(at, "\n"):
            at += 1
        elif is_at(at, "["):
            start = tokens[at].start()
            while at < len(tokens) and not is_at(at, "\n"):
                at += 1
            table = max(_paths(tomllib.loads(text[start : tokens[at - 1].end()])), key=len)
            found.setdefault(table, Member(start, start, start))
        else:
            at = read(at, table)
    return found


def _paths(value: Any) -> Iterator[tuple[str, ...]]:
    if isinstance(value, list):  # an array of tables: [[name]]
        value = next(iter(cast("list[Any]", value)), None)
    if isinstance(value, dict):
        for key, below in cast("dict[str, Any]", value).items():
            yield (key,)
            yield from ((key, *path) for path in _paths(below))
