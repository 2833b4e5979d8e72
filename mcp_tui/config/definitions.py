"""Definitions of servers in config files, in the same form for every tool, and the targets that they describe.

A definition that cannot be used has a reason, so that lists can show it. Variables are replaced only when the definition is
used; a missing value is an error, never an empty or a literal text. This module starts no server.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Final

from mcp_tui.client.client_settings import HttpTarget, StdioTarget, Target
from mcp_tui.config import sources
from mcp_tui.config.files import ConfigError, at, read_text
from mcp_tui.config.sources import PLAIN_FILE, Form, Limits, Source, Surroundings
from mcp_tui.config.tap_words import split
from mcp_tui.config.templates import ConfigVariable, Dialect, Template, VariableKind
from mcp_tui.config.yaml import Way
from mcp_tui.journal.masks import mask_command, mask_url
from mcp_tui.protocol.framing import header_fault
from mcp_tui.protocol.messages import Json, as_list, as_object
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.values import fact, frozen
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.launching import OWN_NAMES, find_program

_TRANSPORT_WORDS: Final = {
    "": "",
    "remote": "",
    "local": "stdio",
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}
"""mcp-tui's name for each name that a tool gives a transport, in lower case with hyphens."""

_ENTRY_MEMBERS: Final = (
    "name", "description", "title", "type", "transport", "transportType", "disabled", "enabled", "gallery", "version",
)  # fmt: skip
"""Members of an entry that do not describe how to reach the server."""


class Unset(ConfigError):
    """A variable has no value."""


@frozen
class AskedInput:
    """A value that a config file asks for. ``options`` has the choices; empty means any text."""

    id: str
    description: str = ""
    default: str | None = None
    secret: bool = False
    options: tuple[str, ...] = ()

    @classmethod
    def read(cls, id_: str, members: dict[str, Json]) -> AskedInput:
        """Reads the description of an input, from an editor's file or from a ``server.json`` with keys in ``snake_case``."""
        default = members.get("default")
        options = as_list(members.get("options") or members.get("choices"))
        return cls(
            id_,
            description=str(members.get("description") or ""),
            default=None if default is None else str(default),
            secret=members.get("password") is True or members.get("is_secret") is True,
            options=tuple(str(as_object(each).get("value", each)) for each in options),
        )

    @property
    def variable(self) -> str:
        """The environment variable that may contain the value: ``MCP_TUI_INPUT_API_KEY`` for ``api-key``."""
        return "MCP_TUI_INPUT_" + re.sub(r"\W", "_", self.id, flags=re.ASCII).upper()


@fact
class ServerLaunch:
    """The way to reach a server: either a ``command`` or a ``url``; the other is empty.

    ``transport`` is ``stdio``, ``auto``, ``http``, or ``sse``. ``env_file`` is a file with more variables for the server.
    Names in ``optional`` are left out of ``env`` if their variables have no value. ``client_cert`` and ``client_key`` are
    the files of a TLS client certificate.
    """

    command: Template = ()
    args: tuple[Template, ...] = ()
    env: Mapping[str, Template] = field(default_factory=dict[str, Template])
    cwd: Template = ()
    env_file: Template = ()
    url: Template = ()
    headers: Mapping[str, Template] = field(default_factory=dict[str, Template])
    transport: str = "stdio"
    client_cert: Template = ()
    client_key: Template = ()
    inputs: tuple[AskedInput, ...] = ()
    optional: frozenset[str] = frozenset()

    def names(self, kind: VariableKind) -> list[str]:
        """Returns the names of all variables of a kind in the texts, each once."""
        env, headers = self.env.values(), self.headers.values()
        paths = (self.cwd, self.env_file, self.client_cert, self.client_key)
        texts = (self.command, *self.args, *env, *paths, self.url, *headers)
        parts = (part for text in texts for part in text)
        found = (part.name for part in parts if isinstance(part, ConfigVariable) and part.kind is kind)
        return list(dict.fromkeys(found))


@fact
class Definition:
    """One server as one file defines it.

    ``project`` means that the file belongs to a project, so its servers start only after consent. ``around`` describes the
    machine on which the file was found. ``folder`` is the folder in which the server starts, an editor's workspace folder.
    ``fields`` is the definition as the file has it, and ``unread`` has its members that mcp-tui does not know. ``again`` is
    the line of an earlier definition with this name in the same file, which this one replaces. ``way`` is the path to the
    definition in the file.

    ``launch`` is the server's own command or URL. ``tap`` has the words before it if the file starts the server through a
    tap of mcp-tui. If ``launch`` is ``None``, ``problem`` is the reason, without a full stop. ``shadowed`` is the place
    of a definition with the same tool and name that takes precedence over this one.
    """

    name: str
    source: Source
    file: Path
    line: int | None
    around: Surroundings = field(repr=False, compare=False)
    folder: Path | None = None
    project: bool = False
    fields: dict[str, Json] = field(default_factory=dict[str, Json])
    again: int | None = None
    launch: ServerLaunch | None = None
    problem: str = ""
    disabled: bool = False
    unread: tuple[str, ...] = ()
    shadowed: str = ""
    way: Way = ()
    tap: tuple[Template, ...] = ()

    @property
    def tapped(self) -> bool:
        """Whether the file starts the server through a tap of mcp-tui."""
        return bool(self.tap)

    @property
    def serves(self) -> bool:
        """Whether the server is ``mcp-tui serve``, with or without a tap."""
        launch = self.launch
        return launch is not None and _own_words(_texts((launch.command, *launch.args)), "serve") > 0

    @property
    def own_program(self) -> tuple[Template, ...]:
        """The program that starts mcp-tui, as a tap or as the server; empty if the file does not start it."""
        return self.tap[:1] or ((self.launch.command,) if self.serves and self.launch else ())

    @property
    def place(self) -> str:
        """The place of the definition: ``file:line``."""
        return at(self.file, self.line)

    @property
    def scope(self) -> str:
        """``user``, ``project``, or ``local`` (for one project, but defined in the user's own file)."""
        return "project" if self.project else "local" if self.way[:1] == ("projects",) else "user"

    @property
    def tool(self) -> str:
        """The title of the tool, and the scope if it is ``local``."""
        return f"{self.source.title}{', local' * (self.scope == 'local')}"

    @property
    def ignored(self) -> list[str]:
        """The members of the entry that its tool ignores, although other tools obey them."""
        return [name for name in self.source.ignores if name in self.fields]

    @property
    def call_limit(self) -> float | None:
        """The tool's time limit for a call in this entry, in seconds; ``None`` without one."""
        return self._limit(self.source.calls)

    @property
    def start_limit(self) -> float | None:
        """The tool's time limit for a start in this entry, in seconds; ``None`` without one."""
        return self._limit(self.source.starts)

    def _limit(self, members: Limits) -> float | None:
        for name, unit in members:
            value = self.fields.get(name)
            # With 0, the Inspector has the default limit of its SDK.
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
                least, most = self.source.bounds
                return min(max(value * unit, least), most)
        return None

    @property
    def inputs(self) -> tuple[AskedInput, ...]:
        """The values that the definition asks for."""
        return () if self.launch is None else self.launch.inputs

    # -- texts for the user ---------------------------------------------------------------------------------

    @property
    def command_words(self) -> list[str]:
        """The command line of a stdio server, with the names of variables and masked secrets; empty for a URL."""
        launch = self.launch
        if launch is None or launch.transport != "stdio":
            return []
        return mask_command(self.shown(each) for each in (launch.command, *launch.args))

    @property
    def url(self) -> str:
        """The URL of an HTTP server, with the names of variables and masked secrets; empty for a command."""
        launch = self.launch
        return "" if launch is None or launch.transport == "stdio" else mask_url(self.shown(launch.url))

    @property
    def summary(self) -> str:
        """The command line or the URL, in one line."""
        return " ".join(self.command_words) or self.url

    def shown(self, template: Template) -> str:
        """Returns a text in which only folders have their values, because other variables may be secret."""

        def text_of(variable: ConfigVariable) -> str:
            place = self._value(variable, {}) if variable.kind is VariableKind.PLACE else ""
            return place or variable.written

        return "".join(part if isinstance(part, str) else text_of(part) for part in template)

    # -- the target ------------------------------------------------------------------------------------------

    @property
    def questions(self) -> list[AskedInput]:
        """The inputs that the user must give: those without a default and without an environment variable."""
        return [each for each in self.inputs if each.default is None and each.variable not in self.around.env]

    @property
    def env_path(self) -> Path | None:
        """The file with more variables; ``None`` if there is none, or if a variable in its name has no value."""
        launch = self.launch
        if launch is None or not launch.env_file:
            return None
        try:
            return self._within(self.filled(launch.env_file))
        except Unset:
            return None

    def target(self, answers: Mapping[str, str] | None = None) -> Target:
        """Returns the server to connect to.

        Raises:
            ConfigError: the definition cannot be used. The text is one sentence with the place and the reason.
        """
        try:
            made = self._target(answers or {})
        except ConfigError as error:
            raise ConfigError(f"Cannot use server {self.name!r} ({self.place}): {error}.") from None
        if self.project and isinstance(made, StdioTarget):
            # The user approved one program file. A start or restart with another file must fail.
            return replace(made, approved=real_program(made))
        return made

    def find_problem(self, *, reads_env_file: bool = True) -> str:
        """Returns why the definition cannot be used, without a full stop; empty if it can be used once its inputs are given.

        ``reads_env_file`` says whether the file of variables may be read.
        """
        try:
            made = self._target({each.id: "" for each in self.inputs}, reads_env_file=reads_env_file)
        except ConfigError as error:
            return str(error)
        if isinstance(made, StdioTarget) and made.cwd is not None and not made.cwd.is_dir():
            return f"directory not found: {made.cwd}"
        return ""

    def launched(self) -> StdioTarget | None:
        """Returns the process that would start, with each input as ``${input:ID}``; ``None`` for a URL.

        Raises:
            ConfigError: the definition cannot be used. The text is the reason, without a full stop.
        """
        if self.launch is None or self.launch.transport != "stdio":
            return None
        made = self._target({each.id: f"${{input:{each.id}}}" for each in self.inputs})
        return made if isinstance(made, StdioTarget) else None

    def _target(self, answers: Mapping[str, str], *, reads_env_file: bool = True) -> Target:
        launch = self.launch
        if launch is None:
            raise ConfigError(self.problem)

        def made(template: Template) -> str:
            return self.filled(template, answers)

        if launch.transport != "stdio":
            headers = {name: made(value) for name, value in launch.headers.items()}
            for name, value in headers.items():
                if fault := header_fault(name, value):
                    raise ConfigError(fault)
            url = made(launch.url)
            if not url.lower().startswith(("http://", "https://")):
                scheme, found, _ = self.shown(launch.url).partition("://")
                plain = "url does not start with http:// or https://"
                raise ConfigError(f"unsupported URL scheme {scheme}://" if found else plain)
            certificate = launch.client_cert, launch.client_key
            cert, key = (str(self._within(made(path))) if path else "" for path in certificate)
            kind = launch.transport
            return HttpTarget(
                url=url, headers=headers, transport=kind, client_cert=cert, client_key=key, name=self.name
            )
        env: dict[str, str] = {}
        if launch.env_file:
            path = self._within(made(launch.env_file))
            env |= read_env(path) if reads_env_file else {}
        for name, value in launch.env.items():
            if not name or "=" in name or "\0" in name:
                raise ConfigError(f"{name!r} in env is not a valid variable name")
            try:
                env[name] = made(value)
            except Unset:
                if name not in launch.optional:
                    raise
        command = made(launch.command)
        if not command:
            raise ConfigError("empty command")
        cwd = self._within(made(launch.cwd)) if launch.cwd else self.folder
        words = (command, *map(made, launch.args))
        return StdioTarget(command=words, env=env, cwd=cwd, name=self.name)

    def _within(self, path: str) -> Path:
        """Returns a path from the config file; a relative one starts at the project's folder."""
        return (self.folder or Path()) / Path(path).expanduser()

    def filled(self, template: Template, answers: Mapping[str, str] = MappingProxyType({})) -> str:
        """Returns a text with its variables replaced by their values in the environment, or in ``answers``.

        Raises:
            ConfigError: a variable has no value.
        """
        return "".join(part if isinstance(part, str) else self._value(part, answers) for part in template)

    def _value(self, variable: ConfigVariable, answers: Mapping[str, str]) -> str:
        """Returns the value of a variable. An empty value counts, unless the variable has a default.

        Raises:
            Unset: the variable has no value.
        """
        env, name = self.around.env, variable.name
        match variable.kind:
            case VariableKind.ENV:
                found = env.get(name)
                if variable.default is not None:
                    found = found or variable.default
                missing = f"environment variable {name} is not set"
            case VariableKind.INPUT:
                asked = next((each for each in self.inputs if each.id == name), AskedInput(name))
                found = answers.get(name, env.get(asked.variable, asked.default))
                missing = f"{name!r} is not set (or set {asked.variable})"
            case VariableKind.PLACE:
                folder = self.folder or self.around.cwd
                places = {"home": str(self.around.home), "folder": str(folder), "folder name": folder.name}
                found, missing = places.get(name, os.sep), ""
            case VariableKind.FOREIGN:
                found = None
                missing = f"only {self.source.title} knows {variable.written}: write its value in its place"
        if found is None:
            raise Unset(missing)
        return found


def real_program(target: StdioTarget) -> str:
    """Returns the file of the program that would start, without symbolic links; if it is not found, the error."""
    try:
        return os.path.realpath(find_program(target))
    except TransportError as error:
        return str(error)


# -- reading a definition -------------------------------------------------------------------------------------------------


class DefinitionReader:
    """Reads the members of one definition, and remembers which ones were read."""

    def __init__(self, fields: dict[str, Json], dialect: Dialect) -> None:
        self.fields = fields
        self.seen = {*_ENTRY_MEMBERS}
        self._dialect = dialect

    def get(self, name: str) -> Json:
        """Returns a member of any type; ``None`` if it is missing."""
        self.seen.add(name)
        return self.fields.get(name)

    def text(self, name: str) -> Template:
        """Returns a member that is a text; empty if it is missing."""
        value = self._of(name, str, "a string")
        return () if value is None else self._template(value, name)

    def words(self, name: str) -> tuple[Template, ...]:
        """Returns a member that is a list of texts or numbers; empty if it is missing."""
        return tuple(self._template(each, name) for each in as_list(self._of(name, list, "a list")))

    def table(self, name: str) -> dict[str, Template]:
        """Returns a member that is an object of texts, without members that are ``null``."""
        members = as_object(self._of(name, dict, "an object")).items()
        return {key: self._template(each, f"{name} {key}") for key, each in members if each is not None}

    def _of(self, name: str, kind: type[object], what: str) -> Json:
        value = self.get(name)
        if value is not None and not isinstance(value, kind):
            raise ConfigError(f"{name} is not {what}")
        return value

    def _template(self, value: Json, name: str) -> Template:
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (int, float)):
            value = str(value)
        if not isinstance(value, str):
            raise ConfigError(f"{name} is not a string")
        if "\0" in value:
            raise ConfigError(f"{name} contains a NUL character")
        return self._dialect(value)


def read(made: Definition, inputs: tuple[AskedInput, ...] = ()) -> Definition:
    """Returns a definition with the launch that its ``fields`` describe, or with the reason why there is none."""
    form = form_of(made.source, made.fields)
    reader = DefinitionReader(made.fields, made.source.dialect)
    try:
        reader.fields = _plain(made.fields, form, made.source)
        launch = _launch(reader, made.source)
    except ConfigError as error:
        return replace(made, problem=str(error))
    words = (launch.command, *launch.args)
    # The launch is the command behind a tap, so that installing a tap does not void a consent.
    start = behind_tap(_texts(words))
    if start:
        launch = replace(launch, command=words[start], args=words[start + 1 :])
    asked = launch.names(VariableKind.INPUT)
    launch = replace(launch, inputs=tuple(each for each in inputs if each.id in asked))
    known = {*reader.seen, *made.source.members, *form.members}
    unread = tuple(name for name in made.fields if name not in known)
    return replace(made, tap=words[:start], launch=launch, unread=unread)


def form_of(source: Source, fields: dict[str, Json]) -> Form:
    """Returns the form of an entry: that of its tool, or another form that the tool also accepts."""
    if isinstance(fields.get("command"), dict):
        return sources.PROGRAM_IN_OBJECT
    if source in (sources.CLINE, PLAIN_FILE) and isinstance(fields.get("transport"), dict):
        return sources.NESTED
    is_list = source is PLAIN_FILE and isinstance(fields.get("command"), list)
    return sources.ARRAY if is_list else source.form


def _plain(fields: dict[str, Json], form: Form, source: Source) -> dict[str, Json]:
    """Returns an entry with the member names of :data:`PLAIN`, without members that its tool ignores."""
    found = {**fields, **as_object(fields.get(form.inner))}
    for name, own in (("command", form.command), ("env", form.env), ("cwd", form.cwd)):
        found[name] = found.get(own)
    if form.is_list and found["command"] is not None:
        words = as_list(found["command"])
        if not words:
            raise ConfigError("command is not a list of words")
        found |= {"command": words[0], "args": words[1:]}
    url = next((found[name] for name in form.urls if found.get(name)), None)
    return {name: value for name, value in {**found, "url": url}.items() if name not in source.ignores}


_RUNNERS: Final = frozenset({"uvx", "uv", "pipx"})
"""Programs that download and run another program."""


def behind_tap(words: list[str]) -> int:
    """Returns the index of the server's own command in the command line of a tap; 0 for any other command line."""
    start = 0
    while (options := start + _own_words(words[start:], "tap")) > start:
        command = options + split(words[options:])[0]
        if command >= len(words):
            break
        start = command
    return start


def _texts(words: Iterable[Template]) -> list[str]:
    """Returns words without their variables."""
    return ["".join(part for part in each if isinstance(part, str)) for each in words]


def _own_words(words: list[str], command: str) -> int:
    """Returns the number of words up to and including a subcommand of mcp-tui; 0 if the words do not start it."""
    runs = [PurePath(each).name for each in words[:1]]
    for index in range(len(words) - 1):
        fits = index == 0 or runs[0] in _RUNNERS or words[index - 1] == "-m"
        is_ours = PurePath(words[index]).name.partition("@")[0] in OWN_NAMES
        if fits and is_ours and words[index + 1] == command:
            return index + 2
        if words[index] == "--":
            break
    return 0


def _launch(reader: DefinitionReader, source: Source) -> ServerLaunch:
    kind = _kind(reader)
    url = reader.text("url")
    if reader.get("command") is not None and kind in ("stdio", ""):
        return _process(reader, source)
    if url:
        if kind == "stdio":
            raise ConfigError("type is stdio, but there is a url and no command")
        if source in (sources.GEMINI, sources.QWEN) and not kind:
            # These tools have a member for each transport: url means HTTP+SSE, and httpUrl streamable HTTP.
            kind = "http" if "httpUrl" in reader.fields else "sse"
        if source is sources.CLINE and not kind:
            kind = "sse"
        return ServerLaunch(
            url=url,
            headers=_headers(reader, source),
            transport=kind or "auto",
            client_cert=reader.text("clientCert") or reader.text("client_cert"),
            client_key=reader.text("clientKey") or reader.text("client_key"),
        )
    fields = reader.fields
    if fields.get("source") == "extension" or "settings" in fields:
        raise ConfigError(f"started by a {source.title} extension; no file says how")
    raise ConfigError("no command and no url")


def _kind(reader: DefinitionReader) -> str:
    """Returns the transport that an entry names: ``stdio``, ``http``, ``sse``, or an empty text."""
    kind = reader.get("type") or reader.get("transportType") or reader.get("transport") or ""
    kind = as_object(kind).get("type", "") if isinstance(kind, dict) else kind
    word = str(kind).lower().replace("_", "-")
    if word not in _TRANSPORT_WORDS:
        raise ConfigError(f"unknown transport {word!r}")
    return _TRANSPORT_WORDS[word]


def _process(reader: DefinitionReader, source: Source) -> ServerLaunch:
    env = reader.table("env")
    optional: frozenset[str] = frozenset()
    if source in (sources.CODEX, sources.GOOSE):
        # These variables are optional, because goose may also store their values in a keyring.
        named = reader.words("env_vars" if source is sources.CODEX else "env_keys")
        optional = frozenset(str(part) for word in named for part in word)
        env = {name: (_variable(name),) for name in optional} | env
    return ServerLaunch(
        command=reader.text("command"),
        args=reader.words("args"),
        env=env,
        cwd=reader.text("cwd"),
        env_file=reader.text("envFile"),
        optional=optional,
    )


def _headers(reader: DefinitionReader, source: Source) -> dict[str, Template]:
    headers = reader.table("http_headers" if source is sources.CODEX else "headers")
    if source is sources.CODEX:
        for name, word in reader.table("env_http_headers").items():
            headers[name] = tuple(_variable(str(part)) for part in word)
    token = reader.get("bearer_token_env_var" if source is sources.CODEX else "bearerTokenEnvVar")
    if isinstance(token, str) and source in (sources.CODEX, sources.KIMI):
        headers["Authorization"] = ("Bearer ", _variable(token))
    return headers


def _variable(name: str) -> ConfigVariable:
    """Returns the environment variable that a member of an entry names."""
    return ConfigVariable(VariableKind.ENV, name, f"${name}")


# -- files of variables ------------------------------------------------------------------------------------------

MAX_ENV_BYTES: Final = 256 * 1024

_ENV_NAME: Final = late(r"\s*(?:export\s+)?([A-Za-z_][\w.\-]*)\s*=\s*")
_ENV_QUOTED: Final = late(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:(?<=\s)#.*)?""")
_ENV_COMMENT: Final = late(r"(?<=\s)#")
_ENV_ESCAPE: Final = late(r"\\(.)")
_ENV_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}


def read_env(path: Path) -> dict[str, str]:
    """Returns the variables of a file. Values may be quoted; variables in values are not expanded.

    Raises:
        ConfigError: the file cannot be read, or a line is not ``NAME=value``.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(path, MAX_ENV_BYTES).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name = _ENV_NAME.match(line)
        if name is None:
            raise ConfigError(f"{at(path, number)}: not NAME=value")
        quoted = _ENV_QUOTED.fullmatch(line, name.end())
        if quoted is None:
            comment = _ENV_COMMENT.search(line, name.end())
            value = line[name.end() : comment.start() if comment else None].rstrip()
        elif quoted[2] is None:
            value = quoted[1]
        else:
            value = _ENV_ESCAPE.sub(lambda each: _ENV_ESCAPES.get(each[1], each[1]), quoted[2])
        found[name[1]] = value
    return found
