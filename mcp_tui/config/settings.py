"""The settings of mcp-tui, as plain values with their defaults. Times in seconds.

Read from one TOML file (:mod:`mcp_tui.config.reading`); what each is for stands in ``example.toml`` beside this module,
which parses to exactly these defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal


class Within:
    """The bounds of a number, ``ge``, ``gt`` or ``le``, in the way that pydantic asks any annotation for them.

    Its own constraints would have to be loaded at every start, also where no file is there to be checked.
    """

    def __init__(self, **bounds: float) -> None:
        self._bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, schema: Callable[[Any], dict[str, Any]]) -> Any:
        return {**schema(source), **self._bounds}


Seconds = Annotated[float, Within(ge=0, le=1e8)]
"""From 0 up; 0 means none."""

OnTimeout = Literal["ask", "cancel"]
Level = Literal["off", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

_STRICT: Final = {"extra": "forbid", "strict": True}


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    """``[limits]``: ``idle`` is re-armed by progress, ``maximum`` by nothing; ``message`` is in megabytes."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    idle: Seconds = 60.0
    maximum: Seconds = 600.0
    connect: Seconds = 30.0
    message: Annotated[float, Within(gt=0, le=1e5)] = 128.0
    on_timeout: OnTimeout = "ask"


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """What differs for one tool; ``None`` for what does not."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    idle: Seconds | None = None
    maximum: Seconds | None = None
    on_timeout: OnTimeout | None = None


@dataclass(frozen=True, kw_only=True)
class ServerOverrides(Overrides):
    """What differs for one server, and for single tools of it."""

    tools: dict[str, Overrides] = field(default_factory=dict[str, Overrides])


@dataclass(frozen=True, kw_only=True)
class JournalSettings:
    """``[journal]``: whether it is kept, for how long, and how many megabytes of all journals together; 0 means no end."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    keep: bool = True
    days: Annotated[int, Within(ge=0, le=36_500)] = 30
    size: Annotated[int, Within(ge=0, le=10_000_000)] = 2000


@dataclass(frozen=True, kw_only=True)
class SamplingSettings:
    """``[sampling]``: what happens when a server asks for a completion. ``command`` is run without a shell."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    mode: Literal["off", "ask", "command"] = "off"
    command: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be set."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    theme: str = "mcp-tui-dark"
    timers: Literal["live", "slow", "off"] = "live"
    ascii: bool | Literal["auto"] = "auto"
    log_level: Level = "info"
    trace: bool = False
    saved_calls: str = ""
    roots: list[str] = field(default_factory=list[str])
    limits: RequestLimits = field(default_factory=RequestLimits)
    servers: dict[str, ServerOverrides] = field(default_factory=dict[str, ServerOverrides])
    journal: JournalSettings = field(default_factory=JournalSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    keys: dict[str, str] = field(default_factory=dict[str, str])

    def limits_of(self, server: str, tool: str = "") -> tuple[float, float, OnTimeout]:
        """Idle limit, maximum and policy for a tool of a server: the tool's own, else the server's, else those of all."""
        general = self.limits
        idle, maximum, policy = general.idle, general.maximum, general.on_timeout
        of_server = self.servers.get(server)
        for each in (of_server, of_server.tools.get(tool) if of_server else None):
            if each is not None:
                idle = idle if each.idle is None else each.idle
                maximum = maximum if each.maximum is None else each.maximum
                policy = each.on_timeout or policy
        return idle, maximum, policy


DEFAULTS: Final = Settings()


@dataclass(frozen=True, slots=True)
class Knob:
    """A single value: its key in the file, the environment variable and the option that go before the file."""

    key: str
    variable: str = ""
    option: str = ""


KNOBS: Final = (
    Knob("theme", "MCP_TUI_THEME"),
    Knob("timers", "MCP_TUI_TIMERS"),
    Knob("ascii", "MCP_TUI_ASCII"),
    Knob("log_level", "MCP_TUI_LOG_LEVEL"),
    Knob("trace", "MCP_TUI_TRACE"),
    Knob("saved_calls", "MCP_TUI_SAVED_CALLS"),
    Knob("roots"),
    Knob("limits.idle", "MCP_TUI_TIMEOUT", "--timeout"),
    Knob("limits.maximum", "MCP_TUI_MAX_TIMEOUT", "--max-timeout"),
    Knob("limits.connect", "MCP_TUI_CONNECT_TIMEOUT", "--connect-timeout"),
    Knob("limits.message", "MCP_TUI_MAX_MESSAGE", "--max-message"),
    Knob("limits.on_timeout", "MCP_TUI_ON_TIMEOUT"),
    Knob("journal.keep", "MCP_TUI_JOURNAL", "--no-journal"),
    Knob("journal.days", "MCP_TUI_JOURNAL_DAYS"),
    Knob("journal.size", "MCP_TUI_JOURNAL_SIZE"),
    Knob("sampling.mode", "MCP_TUI_SAMPLING"),
    Knob("sampling.command"),
)


def value_of(settings: Settings, key: str) -> object:
    """The value under a dotted key."""
    value: object = settings
    for step in key.split("."):
        value = getattr(value, step)
    return value
