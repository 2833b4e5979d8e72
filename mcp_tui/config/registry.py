"""Reads ``server.json`` files of the MCP Registry: the command of each package, and the URL of each remote.

Keys are in ``camelCase`` or ``snake_case``, and the description may be wrapped in ``{"server": …}``. Values that the user
must give become inputs, like those in an editor's file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from mcp_tui.config.definitions import AskedInput, Definition, ServerLaunch
from mcp_tui.config.files import ConfigError
from mcp_tui.config.templates import ConfigVariable, Template, VariableKind, dialect
from mcp_tui.journal.redaction import is_secret_name
from mcp_tui.protocol.messages import Json, as_list, as_object, objects_in

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_RUNNERS: Final = {"npm": ("npx", "@"), "pypi": ("uvx", "=="), "oci": ("docker", ":"), "nuget": ("dnx", "@")}
"""The command that starts each type of package, and the separator between the name and the version of the package."""


def unwrapped(whole: dict[str, Json]) -> dict[str, Json] | None:
    """Returns the description of a server, with keys in ``snake_case``; ``None`` if the file is not a ``server.json``."""
    inner = as_object(whole.get("server")) or whole
    found = as_object(_snake(inner))
    named = isinstance(found.get("name"), str)
    return found if named and ("packages" in found or "remotes" in found) else None


def _snake(value: Json) -> Json:
    if isinstance(value, dict):
        made: dict[str, Json] = {}
        for key, below in as_object(value).items():
            named = key == "variables"  # its keys are names
            inner = (
                {name: _snake(each) for name, each in as_object(below).items()} if named else _snake(below)
            )
            made[key if key.startswith("_") else _CAMEL.sub("_", key).lower()] = inner
        return made
    if isinstance(value, list):
        return [_snake(each) for each in as_list(value)]
    return value


def ways(server: dict[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yields the name and the description of each way to reach the server.

    The first way has the name of the server. The others have their type after it: ``name (npm)``.
    """
    name = str(server.get("name"))
    found = (*objects_in(server.get("packages")), *objects_in(server.get("remotes")))
    for number, way in enumerate(found, 1):
        word = way.get("registry_type") or way.get("type") or way.get("transport_type") or "other"
        also = f"{word} {number}" if number > 2 else word
        yield (name if number == 1 else f"{name} ({also})"), way


def read(made: Definition) -> Definition:
    """Returns a definition with the launch that its ``fields`` (one of the ways) describe, or with the reason for none."""
    inputs = _Inputs()
    try:
        launch = (_remote if "url" in made.fields else _package)(made.fields, inputs)
    except ConfigError as error:
        return replace(made, problem=str(error))
    return replace(made, launch=replace(launch, inputs=tuple(inputs.by_id.values())))


class _Inputs:
    """The inputs of one way to reach a server."""

    def __init__(self) -> None:
        self.by_id: dict[str, AskedInput] = {}

    def ask(self, id_: str, members: dict[str, Json]) -> ConfigVariable:
        """Adds an input; returns the variable for it."""
        self.by_id[id_] = AskedInput.read(id_, members)
        return ConfigVariable(VariableKind.INPUT, id_, f"{{{id_}}}")

    def value(self, members: dict[str, Json], id_: str) -> Template | None:
        """Returns the value of an argument, variable, or header; ``None`` if it is optional and has no value."""
        value = members.get("value")
        if isinstance(value, str):
            return self.parts(value, as_object(members.get("variables")))
        if members.get("is_required") is True or members.get("default") is not None:
            return (self.ask(id_, members),)
        return None

    def named(self, entries: Json) -> dict[str, Template]:
        """Returns variables or headers by name, without optional ones that have no value."""
        found: dict[str, Template] = {}
        for entry in objects_in(entries):
            name = str(entry.get("name") or "")
            value = self.value(entry, name)
            if name and value is not None:
                found[name] = value
        return found

    def parts(self, text: str, known: dict[str, Json]) -> Template:
        """Parses a text with ``{variables}``; unknown ones stay text."""

        def made(match: re.Match[str]) -> ConfigVariable | None:
            return self.ask(match[1], as_object(known[match[1]])) if match[1] in known else None

        return dialect(r"\{([A-Za-z_][\w\-]*)\}", made)(text)


def _remote(way: dict[str, Json], inputs: _Inputs) -> ServerLaunch:
    kind = str(way.get("type") or way.get("transport_type") or "")
    if kind not in ("streamable-http", "sse", "http"):
        raise ConfigError(f"unknown transport {kind!r}")
    url = inputs.parts(str(way["url"]), as_object(way.get("variables")))
    transport = "sse" if kind == "sse" else "http"
    return ServerLaunch(url=url, headers=inputs.named(way.get("headers")), transport=transport)


def _package(way: dict[str, Json], inputs: _Inputs) -> ServerLaunch:
    kind = str(way.get("registry_type") or way.get("registry_name") or "")
    identifier, version = str(way.get("identifier") or way.get("name") or ""), str(way.get("version") or "")
    if kind not in _RUNNERS:
        raise ConfigError(f"cannot start packages of type {kind!r}")
    over = str(as_object(way.get("transport")).get("type") or "stdio")
    if over != "stdio":
        raise ConfigError(f"the package uses {over}; start it yourself and use its URL")
    if not identifier:
        raise ConfigError("the package has no identifier")
    env = inputs.named(way.get("environment_variables"))
    before = list(_arguments(objects_in(way.get("runtime_arguments")), inputs))
    behind = list(_arguments(objects_in(way.get("package_arguments")), inputs))
    command, sign = _RUNNERS[kind]
    command = str(way.get("runtime_hint") or command)
    tagged = kind == "oci" and ":" in identifier.rpartition("/")[2]
    if version and not tagged and (kind != "pypi" or command == "uvx"):
        identifier += sign + version
    args: list[Template] = [*before, (identifier,), *behind]
    if kind == "oci":
        passed: list[Template] = [part for name in env for part in (("-e",), (name,))]
        args = [("run",), ("-i",), ("--rm",), *passed, *args]
    elif kind == "nuget":
        args = [*before, (identifier,), ("--yes",), *([("--",), *behind] if behind else [])]
    elif command == "npx" and ("-y",) not in before:
        args = [("-y",), *args]
    return ServerLaunch(command=(command,), args=tuple(args), env=env)


def _arguments(given: list[dict[str, Json]], inputs: _Inputs) -> Iterator[Template]:
    for number, argument in enumerate(given, 1):
        name = str(argument.get("name") or "")
        is_named = argument.get("type") == "named" and bool(name)
        if is_named and not _takes_value(argument):
            yield (name,)
            continue
        hint = str(argument.get("value_hint") or name.lstrip("-") or f"argument {number}")
        value = inputs.value(argument, hint)
        if value is None:
            continue
        if is_named:
            yield (name,)
        yield value


_VALUED: Final = ("default", "value_hint", "placeholder", "choices", "variables", "is_secret", "format")
"""The fields that only named arguments with a value have."""


def _takes_value(entry: dict[str, Json]) -> bool:
    """Whether a named argument takes a value; otherwise it is a flag."""
    if entry.get("value"):
        return True
    given = (entry.get(field) for field in _VALUED)
    valued = any(each not in (None, False, [], {}, "boolean") for each in given)
    return valued or is_secret_name(str(entry.get("name")))
