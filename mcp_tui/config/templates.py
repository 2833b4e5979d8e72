"""Texts with variables, in the dialect of each tool.

A text is parsed once, in the dialect of its tool. The result can be filled with values, or shown with the names of the
variables. A dollar sign without a meaning for the tool stays, because expanding it would change the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Final

from mcp_tui.protocol.values import frozen


class VariableKind(Enum):
    """The origin of the value of a variable."""

    ENV = "environment"
    INPUT = "input"
    PLACE = "place"
    FOREIGN = "foreign"
    """Only the tool itself knows the value."""


@frozen
class ConfigVariable:
    """A variable in a text. ``written`` is its notation in the file; ``default`` its value if it has no other."""

    kind: VariableKind
    name: str
    written: str
    default: str | None = None


Template = tuple[str | ConfigVariable, ...]
Dialect = Callable[[str], Template]


# -- the dialects ------------------------------------------------------------------------------------------------

_VARIABLE_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_PLACE_NAMES: Final = {
    "userHome": "home",
    "workspaceFolder": "folder",
    "workspaceRoot": "folder",
    "workspaceFolderBasename": "folder name",
    "pathSeparator": "separator",
    "/": "separator",
    "cwd": "folder",
}


def literal(text: str) -> Template:
    """Returns a text without variables: Claude Desktop, Zed, Codex, the Inspector."""
    return (text,) if text else ()


def dialect(pattern: str, made: Callable[[re.Match[str]], ConfigVariable | None]) -> Dialect:
    """Returns a dialect whose variables are the matches of ``pattern``; ``made`` returns ``None`` for plain text."""
    compiled = re.compile(pattern)

    def parts(text: str) -> Template:
        found: list[str | ConfigVariable] = []
        end = 0
        for match in compiled.finditer(text):
            variable = made(match)
            if variable is not None:
                found += (text[end : match.start()], variable)
                end = match.end()
        return tuple(part for part in (*found, text[end:]) if part != "")

    return parts


def _environment(match: re.Match[str]) -> ConfigVariable:
    groups = match.groupdict()
    name = groups.get("bare") or groups["name"]
    return ConfigVariable(VariableKind.ENV, name, match[0], groups.get("default"))


_BRACED: Final = rf"\$\{{(?P<name>{_VARIABLE_NAME})(?::-(?P<default>[^}}]*))?\}}"

braces: Final = dialect(_BRACED, _environment)
"""``${VAR}`` and ``${VAR:-default}``, but not ``$VAR``: Claude Code."""


shell: Final = dialect(rf"\$(?P<bare>{_VARIABLE_NAME})|{_BRACED}", _environment)
"""``$VAR``, ``${VAR}``, and ``${VAR:-default}``: Gemini CLI, GitHub Copilot."""


def _of_editor(match: re.Match[str]) -> ConfigVariable | None:
    text = match["text"]
    prefix, colon, name = text.partition(":")
    if colon:
        match prefix:
            case "env":
                return ConfigVariable(VariableKind.ENV, name, match[0])
            case "input":
                return ConfigVariable(VariableKind.INPUT, name, match[0])
            case "command" | "config" | "file":
                return ConfigVariable(VariableKind.FOREIGN, text, match[0])
            case _:
                return None
    return ConfigVariable(VariableKind.PLACE, _PLACE_NAMES[text], match[0]) if text in _PLACE_NAMES else None


opencode: Final = dialect(r"\{(?P<text>(?:env|file):[^{}]+)\}", _of_editor)
"""``{env:VAR}`` and ``{file:path}``: opencode, Kilo."""


def _of_tool(match: re.Match[str]) -> ConfigVariable:
    if match["text"] is None:
        return _environment(match)
    return ConfigVariable(VariableKind.FOREIGN, match["text"], match[0])


crush: Final = dialect(rf"(?P<text>\$\([^()]*\))|\$(?P<bare>{_VARIABLE_NAME})|{_BRACED}", _of_tool)
"""The variables of :data:`shell`, and ``$(command)``, which mcp-tui does not run: Crush."""

secrets: Final = dialect(r"\$\{\{(?P<text>[^{}]+)\}\}", _of_tool)
"""``${{ secrets.NAME }}``: Continue."""

editor: Final = dialect(r"\$\{(?P<text>[^{}]+)\}", _of_editor)
"""``${env:VAR}``, ``${input:id}``, ``${workspaceFolder}``, ``${userHome}``, and similar: VS Code, Cursor."""


env_only: Final = dialect(r"\$\{env:(?P<name>[^{}]+)\}", _environment)
"""Only ``${env:VAR}``: Windsurf, Cline."""


def _any(match: re.Match[str]) -> ConfigVariable | None:
    return _environment(match) if match["name"] else _of_editor(match)


_PLACE: Final = "|".join(re.escape(name) for name in _PLACE_NAMES)

either: Final = dialect(rf"\$\{{(?P<text>{_PLACE}|\w+:(?!-)[^{{}}]+)\}}|{_BRACED}", _any)
"""The variables of Claude Code and of editors, for a file that belongs to no known tool."""
