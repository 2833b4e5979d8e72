"""From a definition to a target: its variables filled from the environment, its inputs from answers.

Whoever has not all values learns which one is missing; nothing is left empty or literal in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mcp_tui.client.settings import HttpTarget, StdioTarget, Target
from mcp_tui.config.definitions import Definition, Input, ServerLaunch
from mcp_tui.config.files import ConfigError, at, read_text
from mcp_tui.config.sources import Surroundings
from mcp_tui.config.templates import (
    ConfigVariable,
    Template,
    Unset,
    Values,
    VariableKind,
    fill,
    input_name,
    places,
    variables,
)
from mcp_tui.protocol.framing import is_header


def values(definition: Definition, around: Surroundings, answers: Mapping[str, str] | None = None) -> Values:
    """What the variables of a definition are filled with."""
    folder = definition.folder or around.cwd
    asked = () if definition.launch is None else definition.launch.inputs
    defaults = {each.id: each.default for each in asked if each.default is not None}
    return Values(around.env, places(around.home, folder), answers or {}, defaults)


def target(
    definition: Definition, answers: Mapping[str, str] | None = None, around: Surroundings | None = None
) -> Target:
    """The server that a definition means.

    Raises:
        ConfigError: it cannot be used, and why; one sentence that begins with its place.
    """
    around = around or Surroundings.now()
    said = f"Cannot use server {definition.name!r} ({definition.place})"
    launch = definition.launch
    if launch is None:
        raise ConfigError(f"{said}: {definition.problem}.")
    try:
        return _target(definition, launch, values(definition, around, answers))
    except Unset as unset:
        raise ConfigError(f"{said}: {_missing(definition, unset.variable)}.") from None
    except ConfigError as error:
        raise ConfigError(f"{said}: {error}.") from None


def problem(
    definition: Definition, around: Surroundings | None = None, *, reads_env_file: bool = True
) -> str:
    """As :func:`consent.problem`; ``reads_env_file`` says whether the file of variables may be read."""
    if definition.launch is None:
        return definition.problem
    around = around or Surroundings.now()
    given = values(definition, around, {each.id: "" for each in definition.launch.inputs})
    try:
        made = _target(definition, definition.launch, given, reads_env_file=reads_env_file)
    except Unset as unset:
        return _missing(definition, unset.variable)
    except ConfigError as error:
        return str(error)
    if isinstance(made, StdioTarget) and made.cwd is not None and not made.cwd.is_dir():
        return f"directory not found: {made.cwd}"
    return ""


def questions(definition: Definition, around: Surroundings | None = None) -> list[Input]:
    """The inputs that a person has to give: those with no default, and no ``MCP_TUI_INPUT_…`` in the environment."""
    around = around or Surroundings.now()
    asked = () if definition.launch is None else definition.launch.inputs
    return [each for each in asked if each.default is None and input_name(each.id) not in around.env]


def reads(definition: Definition) -> list[str]:
    """The variables of our environment whose values a definition takes, by name."""
    launch = definition.launch
    found = () if launch is None else variables(launch.templates())
    return [each.name for each in found if each.kind is VariableKind.ENV]


def env_path(definition: Definition, around: Surroundings) -> Path | None:
    """The file with more variables that a definition names; ``None`` for none, or where its name has no value yet."""
    launch = definition.launch
    if launch is None or not launch.env_file:
        return None
    try:
        return _within(definition, fill(launch.env_file, values(definition, around)))
    except Unset:
        return None


def _missing(definition: Definition, variable: ConfigVariable) -> str:
    match variable.kind:
        case VariableKind.INPUT:
            name = input_name(variable.name)
            return f"{variable.name!r} is not set (or set {name})"
        case VariableKind.FOREIGN:
            return f"{variable.written} is known only to {definition.source.title}"
        case _:
            return f"environment variable {variable.name} is not set"


def _target(
    definition: Definition, launch: ServerLaunch, given: Values, *, reads_env_file: bool = True
) -> Target:
    if launch.transport != "stdio":
        headers = {name: fill(value, given) for name, value in launch.headers.items()}
        for name, value in headers.items():
            if not is_header(name, value):
                raise ConfigError(f"the value of header {name} contains characters that HTTP forbids")
        url = fill(launch.url, given)
        if not url.lower().startswith(("http://", "https://")):
            raise ConfigError("url does not start with http:// or https://")
        return HttpTarget(url=url, headers=headers, transport=launch.transport, name=definition.name)
    env: dict[str, str] = {}
    if launch.env_file:
        path = _within(definition, fill(launch.env_file, given))
        env |= read_env(path) if reads_env_file else {}
    for name, value in launch.env.items():
        try:
            env[name] = fill(value, given)
        except Unset:
            if name not in launch.optional:
                raise
    command = fill(launch.command, given)
    if not command:
        raise ConfigError("empty command")
    cwd = _within(definition, fill(launch.cwd, given)) if launch.cwd else definition.folder
    words = (command, *(fill(each, given) for each in launch.args))
    return StdioTarget(command=words, env=env, cwd=cwd, name=definition.name)


def _within(definition: Definition, path: str) -> Path:
    """A path as the file means it: from the project's folder on."""
    return (
        Path(path).expanduser() if definition.folder is None else definition.folder / Path(path).expanduser()
    )


def shown(definition: Definition, template: Template, around: Surroundings | None = None) -> str:
    """A text of a definition for a person's eyes: every variable by its name, but for places."""
    from mcp_tui.config.templates import show

    return show(template, values(definition, around or Surroundings.now()))


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
            raise ConfigError(f"{at(path, number)}: not NAME=value")
        if match["double"] is not None:
            value = _ESCAPE.sub(lambda each: _ESCAPES.get(each[1], each[1]), match["double"])
        else:
            value = match["single"] if match["single"] is not None else match["bare"]
        found[match["name"]] = value
    return found
