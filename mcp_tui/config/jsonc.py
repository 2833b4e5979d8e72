"""JSON as people write it into config files: with comments and trailing commas, and lines to point at.

Comments become blanks of the same length, so every line and column that is told is that of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from mcp_tui.config.files import ConfigError, at
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.patterns import possessive

_COMMENT: Final = possessive(r'"(?:[^"\\\n]|\\.)*+"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA: Final = possessive(r'"(?:[^"\\\n]|\\.)*+"|(?<!,),(?=\s*[}\]])', re.DOTALL)
_SPACE: Final = re.compile(r"\s*")
_NO_BREAK: Final = re.compile(r"[^\n]")
_DECODER: Final = json.JSONDecoder(strict=False)


def plain(text: str) -> str:
    """``text`` with blanks in place of comments and trailing commas."""
    text = _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else _NO_BREAK.sub(" ", found[0]), text)
    return _COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)


def parse(text: str, path: Path) -> Json:
    """The value that the text of ``path`` holds; ``None`` for a file with nothing in it.

    Raises:
        ConfigError: it is no JSON; the sentence names line and column.
    """
    with suppress(ValueError, RecursionError):
        return json.loads(text, strict=False)  # most files are plain JSON, and some have megabytes of it
    bare = plain(text)
    if not bare.strip():
        return None
    try:
        return json.loads(bare, strict=False)
    except json.JSONDecodeError as error:
        said = f"{error.msg[:1].lower()}{error.msg[1:]}".removesuffix(" starting at")
        raise ConfigError(f"{at(path, error.lineno, error.colno)}: not valid JSON ({said})") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not valid JSON ({error})") from None


def member_lines(text: str, *path: str) -> dict[str, int]:
    """The line of each member of the object that ``path`` leads to, in a text that :func:`parse` accepts.

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
