"""The settings of mcp-tui, as plain values with their defaults, and the reader of their TOML file. Times are in seconds.

``example.toml``, next to this module, explains each setting, and parses to exactly these defaults.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, field, fields
from operator import attrgetter, eq
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, cast

from mcp_tui.config import files, once_policy
from mcp_tui.config.files import ConfigError, at, closest, read_text
from mcp_tui.protocol.states import Limits
from mcp_tui.protocol.values import fact, frozen

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from mcp_tui.protocol.messages import Json


class NumberBounds:
    """Bounds of a number (``ge``, ``gt``, ``le``) as an annotation that pydantic reads.

    pydantic's own constraints would be imported at every start, even without a file to check.
    """

    def __init__(self, **bounds: float) -> None:
        self._bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, schema: Callable[[Any], dict[str, Any]]) -> Any:
        return {**schema(source), **self._bounds}


class LoopbackOnly:
    """An annotation that makes pydantic reject a redirect URI that is not on this machine."""

    def __get_pydantic_core_schema__(self, source: Any, schema: Callable[[Any], dict[str, Any]]) -> Any:
        check = {"type": "no-info", "function": self._check}
        return {"type": "function-after", "function": check, "schema": schema(source)}

    @staticmethod
    def _check(uri: str) -> str:
        from mcp_tui.client.auth.sign_in import LOCAL, is_local  # loads an HTTP library

        if uri and not is_local(uri):
            raise ValueError(LOCAL)
        return uri


Seconds = Annotated[float, NumberBounds(ge=0, le=1e8)]
"""A limit in seconds; 0 means no limit."""

OnTimeout = Literal["ask", "cancel"]
Timers = Literal["live", "slow", "off"]
Notify = Literal["auto", "off", "bell", "osc9", "osc777"]
LogLevel = Literal["off", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _first(otherwise: float, *overrides: float | None) -> float:
    return next((each for each in overrides if each is not None), otherwise)


class SettingsTable:
    """A table of the settings file. Unknown keys and values of another type are errors; names have dashes, like options."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid", "strict": True, "alias_generator": _dashed}


@fact
class RequestLimits(SettingsTable):
    """``[limits]``: progress resets ``timeout``, nothing resets ``max_timeout``; ``max_message`` is in megabytes."""

    timeout: Seconds = 60.0
    max_timeout: Seconds = 600.0
    connect_timeout: Seconds = 30.0
    max_message: Annotated[float, NumberBounds(gt=0, le=1e5)] = 128.0
    on_timeout: OnTimeout = "ask"


@fact
class Overrides(SettingsTable):
    """The settings that one tool overrides; ``None`` for those that it does not."""

    timeout: Seconds | None = None
    max_timeout: Seconds | None = None
    on_timeout: OnTimeout | None = None


@fact
class ServerOverrides(Overrides):
    """The settings that one server, or single tools of it, override."""

    tools: dict[str, Overrides] = field(default_factory=dict[str, Overrides])


@fact
class TapOverrides(SettingsTable):
    """The limits of a tap, and its guard, that differ for one tool; ``None`` for others."""

    timeout: Seconds | None = None
    max_timeout: Seconds | None = None
    once: bool | None = None


@fact
class TapServerOverrides(SettingsTable):
    """The limits of a tap, and its guard, that differ for one server, and for single tools of it."""

    timeout: Seconds | None = None
    max_timeout: Seconds | None = None
    once: bool | list[str] | None = None
    tools: dict[str, TapOverrides] = field(default_factory=dict[str, TapOverrides])


@fact
class TapSettings(SettingsTable):
    """``[tap]``: the limits of every tap; 0 means none. They are read when a tap starts.

    ``once`` is ``--once``: true, or the names of tools (:mod:`mcp_tui.config.once_policy`).
    """

    timeout: Seconds = 0.0
    max_timeout: Seconds = 0.0
    once: bool | list[str] = False
    servers: dict[str, TapServerOverrides] = field(default_factory=dict[str, TapServerOverrides])

    def limits_of(
        self, server: str, tool: str = "", timeout: float | None = None, max_timeout: float | None = None
    ) -> Limits:
        """Returns the limits for a tool: the arguments, else the tool's, the server's, or the general limits."""
        of_server = self.servers.get(server) or TapServerOverrides()
        of_tool = of_server.tools.get(tool) or TapOverrides()
        found = _first(self.timeout, timeout, of_tool.timeout, of_server.timeout)
        most = _first(self.max_timeout, max_timeout, of_tool.max_timeout, of_server.max_timeout)
        return Limits(timeout=found or None, max_timeout=most or None)


@fact
class JournalSettings(SettingsTable):
    """``[journal]``: whether sessions are recorded, and for how many days and megabytes in all; 0 means no limit."""

    keep: bool = True
    days: Annotated[int, NumberBounds(ge=0, le=36_500)] = 30
    size: Annotated[int, NumberBounds(ge=0, le=10_000_000)] = 2000


@fact
class SamplingSettings(SettingsTable):
    """``[sampling]``: how to answer a server that asks for a completion. ``command`` is run without a shell."""

    mode: Literal["off", "ask", "command"] = "off"
    command: list[str] = field(default_factory=list[str])


@fact
class AuthSettings(SettingsTable):
    """``[auth]``: where sign-ins are stored, the URL of a client ID metadata document, and the redirect URI."""

    storage: Literal["auto", "keyring", "file"] = "auto"
    client_url: str = ""
    redirect_uri: Annotated[str, LoopbackOnly()] = ""


@fact
class Settings(SettingsTable):
    """All settings."""

    theme: str = "auto"
    timers: Timers = "live"
    ascii: bool | Literal["auto"] = "auto"
    notify: Notify = "auto"
    title: bool = True
    log_level: LogLevel = "info"
    trace: bool = False
    live: bool = True
    saved_calls: str = ""
    roots: list[str] = field(default_factory=list[str])
    limits: RequestLimits = field(default_factory=RequestLimits)
    journal: JournalSettings = field(default_factory=JournalSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    tap: TapSettings = field(default_factory=TapSettings)
    servers: dict[str, ServerOverrides] = field(default_factory=dict[str, ServerOverrides])
    via: dict[str, str] = field(default_factory=dict[str, str])
    keys: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def reachable(self) -> bool:
        """Whether the user's other processes may see a session and act on it; this requires a journal."""
        return self.live and self.journal.keep

    @property
    def saved_folder(self) -> Path:
        """The folder of saved calls."""
        return Path(self.saved_calls).expanduser() if self.saved_calls else files.config_folder() / "saved"

    def limits_of(self, server: str, tool: str = "") -> tuple[float, float, OnTimeout]:
        """Returns timeout, max timeout, and policy for a tool: the tool's, else the server's, else the general settings."""
        general, of_server = self.limits, self.servers.get(server) or ServerOverrides()
        of_tool = of_server.tools.get(tool) or Overrides()
        timeout = _first(general.timeout, of_tool.timeout, of_server.timeout)
        longest = _first(general.max_timeout, of_tool.max_timeout, of_server.max_timeout)
        return timeout, longest, of_tool.on_timeout or of_server.on_timeout or general.on_timeout


DEFAULTS: Final = Settings()


@frozen
class Knob:
    """A setting that an environment variable overrides, and sometimes an option. ``key`` is the dotted key in the file."""

    key: str
    variable: str
    option: str = ""

    @property
    def default(self) -> object:
        """The value if neither file, variable, nor option sets it."""
        return attrgetter(self.key.replace("-", "_"))(DEFAULTS)


KNOBS: Final = (
    Knob("theme", "MCP_TUI_THEME"),
    Knob("timers", "MCP_TUI_TIMERS"),
    Knob("ascii", "MCP_TUI_ASCII"),
    Knob("notify", "MCP_TUI_NOTIFY"),
    Knob("title", "MCP_TUI_TITLE"),
    Knob("log-level", "MCP_TUI_LOG_LEVEL"),
    Knob("trace", "MCP_TUI_TRACE"),
    Knob("live", "MCP_TUI_LIVE"),
    Knob("saved-calls", "MCP_TUI_SAVED_CALLS"),
    Knob("limits.timeout", "MCP_TUI_TIMEOUT", "--timeout"),
    Knob("limits.max-timeout", "MCP_TUI_MAX_TIMEOUT", "--max-timeout"),
    Knob("limits.connect-timeout", "MCP_TUI_CONNECT_TIMEOUT", "--connect-timeout"),
    Knob("limits.max-message", "MCP_TUI_MAX_MESSAGE", "--max-message"),
    Knob("limits.on-timeout", "MCP_TUI_ON_TIMEOUT"),
    Knob("tap.timeout", "MCP_TUI_TAP_TIMEOUT"),
    Knob("tap.max-timeout", "MCP_TUI_TAP_MAX_TIMEOUT"),
    Knob("tap.once", once_policy.VARIABLE),
    Knob("journal.keep", "MCP_TUI_JOURNAL", "--no-journal"),
    Knob("journal.days", "MCP_TUI_JOURNAL_DAYS"),
    Knob("journal.size", "MCP_TUI_JOURNAL_SIZE"),
    Knob("sampling.mode", "MCP_TUI_SAMPLING"),
    Knob("auth.storage", "MCP_TUI_AUTH_STORAGE"),
    Knob("auth.client-url", "MCP_TUI_AUTH_CLIENT_URL"),
    Knob("auth.redirect-uri", "MCP_TUI_AUTH_REDIRECT_URI"),
)


Keys = tuple[str, ...]
"""The path to a value: the keys of nested tables."""

SETTINGS_FILE_BYTES: Final = 256 * 1024
_PLACES: Final = {
    _dashed(each.name): f"{table}{_dashed(each.name)}"
    for table, of in (
        ("tap.servers.NAME.", TapServerOverrides),
        ("tap.", TapSettings),
        ("auth.", AuthSettings),
        ("sampling.", SamplingSettings),
        ("journal.", JournalSettings),
        ("servers.NAME.", ServerOverrides),
        ("limits.", RequestLimits),
        ("", Settings),
    )
    for each in fields(of)
}
"""The dotted keys of settings by their names."""
_RENAMED: Final = {
    "idle": "timeout",
    "maximum": "max-timeout",
    "connect": "connect-timeout",
    "message": "max-message",
}
"""The names of limits by other words that users may try, but that are not similar in spelling."""
_UNKNOWN_NAME_ERRORS: Final = ("unexpected_keyword_argument", "extra_forbidden")
"""The types of pydantic errors about unknown keys."""

_TOML_KINDS: Final = {
    "an object": "a table",
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a string",
}
"""The TOML words for the types in pydantic's messages."""

_WORDS: Final = {
    **dict.fromkeys(("on", "yes", "true", "1"), True),
    **dict.fromkeys(("off", "no", "false", "0"), False),
}


@frozen
class Loaded:
    """Settings, and the origin of each.

    ``origins`` has ``file:line`` or the name of a variable for each dotted key; a setting without an origin is a default.
    ``problems`` has warnings about ignored keys. ``wrong`` has errors about invalid values: ``settings`` has defaults
    instead, and the caller must stop.
    """

    settings: Settings
    file: Path
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


def load(env: Mapping[str, str] | None = None, file: Path | None = None) -> Loaded:
    """Returns the settings of ``file`` (by default :func:`files.settings_file`) and the environment. Never raises."""
    env = os.environ if env is None else env
    file = file or files.settings_file()
    wrong: list[str] = []
    table: dict[str, Json] = {}
    origins: dict[str, str] = {}
    if os.path.lexists(file):
        from mcp_tui.config.documents import parse_toml, toml_lines  # only imported if the file exists

        try:
            text = read_text(file, SETTINGS_FILE_BYTES)
            table = parse_toml(text, file)
            for name in ("keys", "via"):  # ids of keys and names of hosts have dots, and may be quoted or not
                if isinstance(table.get(name), dict):
                    table[name] = joined(table[name])
            origins = {".".join(_spelled(path)): at(file, line) for path, line in toml_lines(text).items()}
        except ConfigError as error:
            wrong.append(str(error))
    elif env.get("MCP_TUI_CONFIG"):
        wrong.append(f"{file}: file not found (set by MCP_TUI_CONFIG)")
    for knob in KNOBS:
        override = env.get(knob.variable)
        section, _, name = knob.key.rpartition(".")
        inner = table.setdefault(section, {}) if override and section else table
        if override and isinstance(inner, dict):  # a section that is not a table is reported below
            inner[name] = _value(override, knob.default)
            origins[knob.key] = knob.variable
    # Without a file and variables there is nothing to check, so pydantic, which takes long to load, is not imported.
    if not table:
        return Loaded(DEFAULTS, file, wrong=tuple(wrong))
    values = {_spelled(keys): value for keys, value in _values(table)}
    settings, problems, more = _checked(values, origins, file)
    return Loaded(settings, file, origins, problems, (*wrong, *more))


def _spelled(keys: Keys) -> Keys:
    """Returns the path of a setting with dashes in place of ``_``, except in names of servers, tools, hosts, and keys."""
    named = {"servers": {1, 3}, "tap": {2, 4}, "keys": {*range(1, len(keys))}, "via": {1}}
    places = named.get(keys[0], ())
    return tuple(key if place in places else _dashed(key) for place, key in enumerate(keys))


def every_value(settings: Settings) -> dict[str, Json]:
    """Returns the value of each setting by its dotted key in the file."""
    return {".".join(_spelled(path)): value for path, value in _values(asdict(settings)) if value != {}}


def joined(table: dict[str, Json]) -> dict[str, Json]:
    """Returns the values in nested tables by their dotted keys."""
    return {".".join(path): value for path, value in _values(table) if value != {}}


def _values(table: dict[str, Json]) -> Iterator[tuple[Keys, Json]]:
    """Yields the path and the value of each value in nested tables; an empty table is a value."""
    for key, value in table.items():
        if value and isinstance(value, dict):
            inner = cast("dict[str, Json]", value)
            yield from (((key, *keys), each) for keys, each in _values(inner))
        else:
            yield (key,), value


def _value(text: str, default: object) -> Json:
    """Returns the value in the text of a variable, in the type of the setting if possible."""
    if default == "auto" or isinstance(default, bool):
        return _WORDS.get(text.lower(), text)
    if not isinstance(default, str):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


def _checked(
    values: dict[Keys, Json], origins: Mapping[str, str], file: Path
) -> tuple[Settings, tuple[str, ...], tuple[str, ...]]:
    """Returns the settings without invalid entries, then the errors for unknown keys and those for invalid values.

    Errors are in the order of the file.
    """
    # pydantic takes long to load, and many users have no settings.
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(Settings)
    order = {key: place for place, key in enumerate(origins)}
    unknown: dict[Keys, str] = {}
    wrong: dict[Keys, str] = {}
    table: dict[str, Json] = {}
    # Each value is checked alone: every setting has a default, so an invalid value does not affect the others.
    for keys in sorted(values, key=lambda keys: order.get(".".join(keys), -1)):
        alone: dict[str, Json] = {}
        _put(alone, keys, values[keys])
        try:
            # As JSON, because only in this mode does strict validation convert a table to a dataclass.
            adapter.validate_json(json.dumps(alone, default=str))
        except ValidationError as error:
            part = error.errors(include_url=False)[0]
            about = keys[: sum(map(eq, keys, part["loc"]))]  # pydantic adds the members of unions to the path
            kind = unknown if part["type"] in _UNKNOWN_NAME_ERRORS else wrong
            kind[about] = f"{origins.get('.'.join(about), file)}: {_sentence(about, part)}"
        else:
            _put(table, keys, values[keys])
    made = adapter.validate_json(json.dumps(table, default=str))
    return made, tuple(unknown.values()), tuple(wrong.values())


def _put(table: dict[str, Json], keys: Keys, value: Json) -> None:
    *above, last = keys
    for key in above:
        table = table.setdefault(key, {})
    table[last] = value


def _sentence(keys: Keys, part: ErrorDetails) -> str:
    key = ".".join(keys)
    if part["type"] in _UNKNOWN_NAME_ERRORS:
        close = _RENAMED.get(keys[-1]) or closest(keys[-1], _PLACES)
        if close == keys[-1] or len(keys) == 1:  # the name exists, but in another table
            close = _PLACES.get(close, close)
        return f"unknown setting {key!r}" + (f"; did you mean {close!r}?" if close else "")
    text = part["msg"].removeprefix("Input should be ").removeprefix("a valid ").removeprefix("Value error, ")
    kind = "true, false or 'auto'" if key == "ascii" else _TOML_KINDS.get(text, text)
    value = part["input"]
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    short = isinstance(value, (str, int, float)) and len(text) < 60
    return f"{key} must be {kind}, not {text if short else 'the given value'}"
