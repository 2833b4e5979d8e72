"""From a definition to a target: its variables filled from the environment, its inputs from answers.

Whoever has not all values learns which one is missing; nothing is left empty or literal in its place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mcp_tui.client.settings import HttpTarget, StdioTarget, Target
from mcp_tui.config.definitions import Definition, Input
from mcp_tui.config.files import ConfigError, at, read_text
from mcp_tui.config.templates import ConfigVariable, Template, VariableKind
from mcp_tui.journal.masks import mask_command, mask_url
from mcp_tui.protocol.framing import is_header


class Unset(ConfigError):
    """A variable has no value."""


def target(definition: Definition, answers: Mapping[str, str] | None = None) -> Target:
    """The server that a definition means.

    Raises:
        ConfigError: it cannot be used, and why; one sentence that begins with its place.
    """
    try:
        return _target(definition, answers or {})
    except ConfigError as error:
        said = f"Cannot use server {definition.name!r} ({definition.place}): {error}."
        raise ConfigError(said) from None


def problem(definition: Definition, *, reads_env_file: bool = True) -> str:
    """As :func:`consent.problem`; ``reads_env_file`` says whether the file of variables may be read."""
    try:
        made = _target(definition, {each.id: "" for each in definition.inputs}, reads_env_file=reads_env_file)
    except ConfigError as error:
        return str(error)
    if isinstance(made, StdioTarget) and made.cwd is not None and not made.cwd.is_dir():
        return f"directory not found: {made.cwd}"
    return ""


def questions(definition: Definition) -> list[Input]:
    """The inputs that a person has to give: those with no default, and no ``MCP_TUI_INPUT_…`` in the environment."""
    env = definition.around.env
    return [each for each in definition.inputs if each.default is None and input_name(each.id) not in env]


def input_name(id_: str) -> str:
    """The environment variable that answers an input: ``MCP_TUI_INPUT_API_KEY`` for ``api-key``."""
    return "MCP_TUI_INPUT_" + re.sub(r"\W", "_", id_, flags=re.ASCII).upper()


def env_path(definition: Definition) -> Path | None:
    """The file with more variables that a definition names; ``None`` for none, or where its name has no value yet."""
    launch = definition.launch
    if launch is None or not launch.env_file:
        return None
    try:
        return _within(definition, fill(definition, launch.env_file))
    except Unset:
        return None


def _target(definition: Definition, answers: Mapping[str, str], *, reads_env_file: bool = True) -> Target:
    launch = definition.launch
    if launch is None:
        raise ConfigError(definition.problem)

    def made(template: Template) -> str:
        return fill(definition, template, answers)

    if launch.transport != "stdio":
        headers = {name: made(value) for name, value in launch.headers.items()}
        for name, value in headers.items():
            if not is_header(name, value):
                raise ConfigError(f"the value of header {name} contains characters that HTTP forbids")
        url = made(launch.url)
        if not url.lower().startswith(("http://", "https://")):
            raise ConfigError("url does not start with http:// or https://")
        return HttpTarget(url=url, headers=headers, transport=launch.transport, name=definition.name)
    env: dict[str, str] = {}
    if launch.env_file:
        path = _within(definition, made(launch.env_file))
        env |= read_env(path) if reads_env_file else {}
    for name, value in launch.env.items():
        try:
            env[name] = made(value)
        except Unset:
            if name not in launch.optional:
                raise
    command = made(launch.command)
    if not command:
        raise ConfigError("empty command")
    cwd = _within(definition, made(launch.cwd)) if launch.cwd else definition.folder
    words = (command, *map(made, launch.args))
    return StdioTarget(command=words, env=env, cwd=cwd, name=definition.name)


def _within(definition: Definition, path: str) -> Path:
    """A path as the file means it: from the project's folder on."""
    return (definition.folder or Path()) / Path(path).expanduser()


# -- variables ---------------------------------------------------------------------------------------------------


def fill(definition: Definition, template: Template, answers: Mapping[str, str] | None = None) -> str:
    """The text with the values in place of its variables.

    Raises:
        Unset: one has none, and which.
    """
    parts = (part if isinstance(part, str) else _value(definition, part, answers or {}) for part in template)
    return "".join(parts)


def shown(definition: Definition, template: Template) -> str:
    """The text for a person's eyes: only places are filled. The value of any other variable may be a secret."""

    def seen(variable: ConfigVariable) -> str:
        place = _value(definition, variable, {}) if variable.kind is VariableKind.PLACE else ""
        return place or variable.written

    return "".join(part if isinstance(part, str) else seen(part) for part in template)


def _value(definition: Definition, variable: ConfigVariable, answers: Mapping[str, str]) -> str:
    """The value of a variable. An empty one counts, but where a default is given for that too.

    Raises:
        Unset: it has none.
    """
    around, name = definition.around, variable.name
    match variable.kind:
        case VariableKind.ENV:
            found = around.env.get(name)
            if variable.default is not None:
                found = found or variable.default
            missing = f"environment variable {name} is not set"
        case VariableKind.INPUT:
            defaults = (each.default for each in definition.inputs if each.id == name)
            default = next(defaults, variable.default)
            found = answers.get(name, around.env.get(input_name(name), default))
            missing = f"{name!r} is not set (or set {input_name(name)})"
        case VariableKind.PLACE:
            folder = definition.folder or around.cwd
            places = {"home": str(around.home), "folder": str(folder), "folder name": folder.name}
            return places.get(name, os.sep)
        case VariableKind.FOREIGN:
            found, missing = None, f"{variable.written} is known only to {definition.source.title}"
    if found is None:
        raise Unset(missing)
    return found


# -- for a person's eyes -----------------------------------------------------------------------------------------


def command_words(definition: Definition) -> list[str]:
    """The command line of a server that is started, its variables by name and its secrets masked; empty for a URL."""
    launch = definition.launch
    if launch is None or launch.transport != "stdio":
        return []
    return mask_command(shown(definition, each) for each in (launch.command, *launch.args))


def url(definition: Definition) -> str:
    """The URL of a server that has one, likewise."""
    launch = definition.launch
    if launch is None or launch.transport == "stdio":
        return ""
    return mask_url(shown(definition, launch.url))


def what(definition: Definition) -> str:
    """A server's command line or URL, in one line."""
    return " ".join(command_words(definition)) or url(definition)


# -- files of variables ------------------------------------------------------------------------------------------

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
