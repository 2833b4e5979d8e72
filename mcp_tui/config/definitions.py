"""What one server's definition in a config file says, in one form for every tool; its variables are not filled yet.

A definition that cannot be used is kept with the reason, so that a list shows it. Nothing here starts or asks anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from mcp_tui.config.files import at
from mcp_tui.config.sources import CODEX, GEMINI, Source, Surroundings
from mcp_tui.config.templates import ConfigVariable, Dialect, Template, VariableKind
from mcp_tui.protocol.framing import is_header
from mcp_tui.protocol.messages import Json, as_list, as_object
from mcp_tui.protocol.values import fact, frozen

_TYPES: Final = {
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
"""The words for the transports of a URL, in lower case, and ours."""


_ABOUT: Final = (
    "name", "description", "title", "type", "transport", "disabled", "enabled", "gallery", "version",
)  # fmt: skip
"""Members that say something about a server, but not how to reach it."""


@frozen
class Input:
    """A value that a file asks for. ``options`` are those to choose from, none for any text."""

    id: str
    description: str = ""
    default: str | None = None
    secret: bool = False
    options: tuple[str, ...] = ()


@fact
class ServerLaunch:
    """How a server is reached: a ``command``, or a ``url``; the other is empty.

    ``transport`` is ``stdio``, ``auto``, ``http`` or ``sse``. ``env_file`` is a file with more variables for the server;
    ``optional`` are names in ``env`` that are left out where their variables have no value.
    """

    command: Template = ()
    args: tuple[Template, ...] = ()
    env: Mapping[str, Template] = field(default_factory=dict[str, Template])
    cwd: Template = ()
    env_file: Template = ()
    url: Template = ()
    headers: Mapping[str, Template] = field(default_factory=dict[str, Template])
    transport: str = "stdio"
    inputs: tuple[Input, ...] = ()
    optional: frozenset[str] = frozenset()

    def names(self, kind: VariableKind) -> list[str]:
        """The names of the variables of a kind in all of its texts, each once."""
        env, headers = self.env.values(), self.headers.values()
        texts = (self.command, *self.args, *env, self.cwd, self.env_file, self.url, *headers)
        parts = (part for text in texts for part in text)
        found = (part.name for part in parts if isinstance(part, ConfigVariable) and part.kind is kind)
        return list(dict.fromkeys(found))


@fact
class Definition:
    """One server as one file defines it.

    ``project`` says that the file belongs to a project and not to the person: what it defines starts only after consent.
    ``around`` is where it was looked for, ``folder`` where the server starts, and what an editor calls its workspace.
    ``fields`` is the definition as it stands in the file, ``unread`` the names in it that mcp-tui makes nothing of.
    ``launch`` is ``None`` where ``problem``, a sentence without a full stop, says why. ``shadowed`` is the place of a
    definition of the same tool and name that counts before this one.
    """

    name: str
    source: Source
    file: Path
    line: int | None
    around: Surroundings = field(repr=False, compare=False)
    folder: Path | None = None
    project: bool = False
    fields: dict[str, Json] = field(default_factory=dict[str, Json])
    launch: ServerLaunch | None = None
    problem: str = ""
    disabled: bool = False
    unread: tuple[str, ...] = ()
    shadowed: str = ""

    @property
    def place(self) -> str:
        """``file:line``."""
        return at(self.file, self.line)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The values that it asks for."""
        return () if self.launch is None else self.launch.inputs


class Unusable(Exception):
    """A definition says nothing that can be used. The text is one sentence without the file."""


class DefinitionReader:
    """Reads one definition; remembers which of its members were looked at."""

    def __init__(self, fields: dict[str, Json], dialect: Dialect) -> None:
        self.fields = fields
        self.seen = {*_ABOUT}
        self._dialect = dialect

    def get(self, name: str) -> Json:
        """A member as it is; ``None`` where it is missing."""
        self.seen.add(name)
        return self.fields.get(name)

    def text(self, name: str) -> Template:
        """A text; nothing where it is missing or empty."""
        value = self._of(name, str, "a string")
        return () if value is None else self._template(value, name)

    def words(self, name: str) -> tuple[Template, ...]:
        """A list of texts; numbers are taken as they are written."""
        return tuple(self._template(each, name) for each in as_list(self._of(name, list, "a list")))

    def table(self, name: str) -> dict[str, Template]:
        """An object of texts; ``null`` leaves a member out."""
        members = as_object(self._of(name, dict, "an object")).items()
        return {key: self._template(each, f"{name} {key}") for key, each in members if each is not None}

    def _of(self, name: str, kind: type[object], what: str) -> Json:
        """A member of one type, or ``None`` where it is missing."""
        value = self.get(name)
        if value is not None and not isinstance(value, kind):
            raise Unusable(f"{name} is not {what}")
        return value

    def _template(self, value: Json, name: str) -> Template:
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (int, float)):
            value = str(value)
        if not isinstance(value, str):
            raise Unusable(f"{name} is not a string")
        if "\0" in value:
            raise Unusable(f"{name} contains a NUL character")
        return self._dialect(value)


def read(made: Definition, inputs: tuple[Input, ...] = ()) -> Definition:
    """A definition with all that its ``fields`` say: how the server is reached, or why not."""
    fields = made.fields
    reader = DefinitionReader(fields, made.source.dialect)
    try:
        launch = _launch(reader, made.source)
    except Unusable as error:
        return replace(made, problem=str(error))
    asked = launch.names(VariableKind.INPUT)
    return replace(
        made,
        launch=replace(launch, inputs=tuple(each for each in inputs if each.id in asked)),
        unread=tuple(name for name in fields if name not in reader.seen),
    )


def _launch(reader: DefinitionReader, source: Source) -> ServerLaunch:
    kind = _kind(reader)
    url = reader.text("httpUrl") or reader.text("serverUrl") or reader.text("url")
    command = reader.get("command")
    if isinstance(command, dict):  # Zed, before it took the fields side by side
        inner = DefinitionReader(as_object(command), source.dialect)
        return ServerLaunch(
            command=_given(inner.text("path")), args=inner.words("args"), env=inner.table("env")
        )
    if command is not None and kind in ("stdio", ""):
        return _process(reader, source)
    if url:
        if kind == "stdio":
            raise Unusable("type is stdio, but there is a url and no command")
        if source is GEMINI and not kind:
            kind = "http" if "httpUrl" in reader.fields else "sse"
        _check(url)
        return ServerLaunch(url=url, headers=_headers(reader, source), transport=kind or "auto")
    fields = reader.fields
    if fields.get("source") == "extension" or ("settings" in fields and "url" not in fields):
        raise Unusable(f"started by a {source.title} extension; no file says how")
    raise Unusable("no command and no url")


def _kind(reader: DefinitionReader) -> str:
    """The transport that it names: ``stdio``, ``http``, ``sse``, or nothing."""
    said = reader.get("type") or reader.get("transport") or ""
    said = as_object(said).get("type", "") if isinstance(said, dict) else said
    word = str(said).lower()
    if word in ("", "stdio", "local", "remote"):
        return "stdio" if word in ("stdio", "local") else ""
    if word not in _TYPES:
        raise Unusable(f"unknown transport {word!r}")
    return _TYPES[word]


def _process(reader: DefinitionReader, source: Source) -> ServerLaunch:
    env = reader.table("env")
    optional: frozenset[str] = frozenset()
    if source is CODEX:
        optional = frozenset(str(part) for word in reader.words("env_vars") for part in word)
        env = {name: (_variable(name),) for name in optional} | env
    for name in env:
        if not name or "=" in name or "\0" in name:
            raise Unusable(f"{name!r} in env is not a valid variable name")
    return ServerLaunch(
        command=_given(reader.text("command")),
        args=reader.words("args"),
        env=env,
        cwd=reader.text("cwd"),
        env_file=reader.text("envFile"),
        optional=optional,
    )


def _headers(reader: DefinitionReader, source: Source) -> dict[str, Template]:
    headers = reader.table("headers")
    if source is CODEX:
        headers |= reader.table("http_headers")
        for name, word in reader.table("env_http_headers").items():
            headers[name] = tuple(_variable(str(part)) for part in word)
        token = reader.get("bearer_token_env_var")
        if isinstance(token, str):
            headers["Authorization"] = ("Bearer ", _variable(token))
    for name in headers:
        if not is_header(name):
            raise Unusable(f"{name!r} in headers is not a valid header name")
    return headers


def _variable(name: str) -> ConfigVariable:
    """A variable that a file names without writing it as one: Codex has no dialect."""
    return ConfigVariable(VariableKind.ENV, name, f"${name}")


def _given(command: Template) -> Template:
    if not command:
        raise Unusable("empty command")
    return command


def _check(url: Template) -> None:
    first = url[0]
    if isinstance(first, str) and not re.match(r"https?://", first, re.IGNORECASE):
        scheme, found, _ = first.partition("://")
        plain = "url does not start with http:// or https://"
        raise Unusable(f"unsupported URL scheme {scheme}://" if found else plain)
