"""Texts with variables in them, in the dialect of the tool whose file they stand in.

A text is taken apart once, by its own dialect; then it can be filled, or shown with the variables by their names. A dollar
that means nothing to the tool stays a dollar: expanding it would change what the file says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final


class VariableKind(Enum):
    """Where the value of a variable comes from."""

    ENV = "environment"
    INPUT = "input"
    PLACE = "place"
    FOREIGN = "foreign"
    """The tool would know it, and nothing else can."""


@dataclass(frozen=True, slots=True)
class ConfigVariable:
    """A variable as it stands in a text. ``default`` is what it is without a value, ``None`` for nothing."""

    kind: VariableKind
    name: str
    written: str
    default: str | None = None


Template = tuple[str | ConfigVariable, ...]
Dialect = Callable[[str], Template]


class Unset(Exception):
    """A variable has no value."""

    def __init__(self, variable: ConfigVariable) -> None:
        super().__init__(variable.name)
        self.variable = variable


@dataclass(frozen=True, slots=True)
class Values:
    """What variables are filled with. ``answers`` and ``defaults`` are for the inputs that a file asks for, by their ids."""

    env: Mapping[str, str]
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    answers: Mapping[str, str] = field(default_factory=dict[str, str])
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])

    def of(self, variable: ConfigVariable) -> str | None:
        """The value of a variable, or ``None``. An empty one counts, but where a default is given for that too."""
        match variable.kind:
            case VariableKind.ENV:
                found = self.env.get(variable.name)
                return (found or variable.default) if variable.default is not None else found
            case VariableKind.INPUT:
                found = self.answers.get(variable.name, self.env.get(input_name(variable.name)))
                return self.defaults.get(variable.name, variable.default) if found is None else found
            case VariableKind.PLACE:
                return self.places.get(variable.name)
            case VariableKind.FOREIGN:
                return None


def input_name(id_: str) -> str:
    """The environment variable that answers an input: ``MCP_TUI_INPUT_API_KEY`` for ``api-key``."""
    return "MCP_TUI_INPUT_" + re.sub(r"\W", "_", id_, flags=re.ASCII).upper()


def fill(template: Template, values: Values) -> str:
    """The text with the values in place of its variables.

    Raises:
        Unset: one has none.
    """
    parts: list[str] = []
    for part in template:
        if isinstance(part, ConfigVariable):
            value = values.of(part)
            if value is None:
                raise Unset(part)
            parts.append(value)
        else:
            parts.append(part)
    return "".join(parts)


def show(template: Template, values: Values) -> str:
    """The text with places filled, and every other variable as it is written: its value may be a secret."""
    return "".join(
        (values.of(part) or part.written if part.kind is VariableKind.PLACE else part.written)
        if isinstance(part, ConfigVariable)
        else part
        for part in template
    )


def variables(templates: Iterable[Template]) -> list[ConfigVariable]:
    """The variables of texts, each once, in order."""
    found = (part for template in templates for part in template if isinstance(part, ConfigVariable))
    return list(dict.fromkeys(found))


# -- the dialects ------------------------------------------------------------------------------------------------

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_PLACES: Final = {
    "userHome": "home",
    "workspaceFolder": "folder",
    "workspaceRoot": "folder",
    "workspaceFolderBasename": "folder name",
    "pathSeparator": "separator",
    "/": "separator",
    "cwd": "folder",
}


def literal(text: str) -> Template:
    """No variables at all: Claude Desktop, Zed, Codex, the Inspector."""
    return (text,)


def dialect(pattern: str, made: Callable[[re.Match[str]], ConfigVariable | None]) -> Dialect:
    """The dialect whose variables are the matches of ``pattern``; a match that is none stays what it is."""
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
    said = match.groupdict()
    return ConfigVariable(VariableKind.ENV, said.get("bare") or said["name"], match[0], said.get("default"))


_BRACED: Final = rf"\$\{{(?P<name>{_NAME})(?::-(?P<default>[^}}]*))?\}}"

braces: Final = dialect(_BRACED, _environment)
"""``${VAR}`` and ``${VAR:-default}``; a bare ``$VAR`` is no variable: Claude Code."""


shell: Final = dialect(rf"\$(?P<bare>{_NAME})|{_BRACED}", _environment)
"""``$VAR``, ``${VAR}`` and ``${VAR:-default}``: Gemini CLI, GitHub Copilot."""


def _of_editor(match: re.Match[str]) -> ConfigVariable | None:
    said = match["said"]
    prefix, colon, name = said.partition(":")
    if colon:
        match prefix:
            case "env":
                return ConfigVariable(VariableKind.ENV, name, match[0])
            case "input":
                return ConfigVariable(VariableKind.INPUT, name, match[0])
            case "command" | "config":
                return ConfigVariable(VariableKind.FOREIGN, said, match[0])
            case _:
                return None
    return ConfigVariable(VariableKind.PLACE, _PLACES[said], match[0]) if said in _PLACES else None


editor: Final = dialect(r"\$\{(?P<said>[^{}]+)\}", _of_editor)
"""``${env:VAR}``, ``${input:id}``, ``${workspaceFolder}``, ``${userHome}`` and the like: VS Code, Cursor."""


env_only: Final = dialect(r"\$\{env:(?P<name>[^{}]+)\}", _environment)
"""``${env:VAR}`` alone: Windsurf, Cline."""


def _any(match: re.Match[str]) -> ConfigVariable | None:
    return _environment(match) if match["name"] else _of_editor(match)


_PLACE: Final = "|".join(re.escape(name) for name in _PLACES)

either: Final = dialect(rf"\$\{{(?P<said>{_PLACE}|\w+:(?!-)[^{{}}]+)\}}|{_BRACED}", _any)
"""What Claude Code and the editors write, for a file that says of no tool to be its own."""


def places(home: Path, folder: Path) -> dict[str, str]:
    """The values of the places that an editor knows, for a folder that is open in it."""
    import os

    return {"home": str(home), "folder": str(folder), "folder name": folder.name, "separator": os.sep}
