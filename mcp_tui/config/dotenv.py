"""Files of ``NAME=value`` lines, as editors read them beside a server's definition."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mcp_tui.config.files import ConfigError, at, read_text

MAX_BYTES: Final = 256 * 1024

_LINE: Final = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_][\w.\-]*)\s*=\s*
    (?:'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<bare>.*?))\s*(?:(?<=\s)\#.*)?""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}


def read_env(path: Path) -> dict[str, str]:
    """The variables of a file. Values may stand in quotes; nothing in them is expanded.

    Raises:
        ConfigError: it cannot be read, or a line is no ``NAME=value``.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(path, MAX_BYTES).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ConfigError(f"{at(path, number)}: it is no NAME=value")
        if match["double"] is not None:
            value = _ESCAPE.sub(lambda each: _ESCAPES.get(each[1], each[1]), match["double"])
        else:
            value = match["single"] if match["single"] is not None else match["bare"]
        found[match["name"]] = value
    return found
