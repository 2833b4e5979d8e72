"""The tools whose config files define servers: the places, keys, dialect, and form of entries of each tool.

The files of a tool are in its own order of precedence: of two servers with one name, the first counts.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from mcp_tui.config import templates
from mcp_tui.config.templates import Dialect
from mcp_tui.protocol.json_values import Json
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.values import frozen


@frozen
class Form:
    """The names of the members of an entry.

    If ``inner`` is not empty, the members are in the object with this name instead of in the entry. If ``args`` equals
    ``command``, one list has the whole command line.
    """

    command: str = "command"
    args: str = "args"
    env: str = "env"
    cwd: str = "cwd"
    urls: tuple[str, ...] = ("httpUrl", "serverUrl", "url")
    inner: str = ""

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members."""
        return self.command, self.args, self.env, self.cwd, *self.urls, self.inner

    @property
    def is_list(self) -> bool:
        """Whether one list has the whole command line."""
        return self.args == self.command


PLAIN: Final = Form()
ARRAY: Final = Form(args="command", env="environment")
NESTED: Final = Form(inner="transport")
PROGRAM_IN_OBJECT: Final = Form(command="path", inner="command")
"""An older form of Zed."""

SECONDS: Final = 1.0
MILLISECONDS: Final = 0.001

Limits = tuple[tuple[str, float], ...]
"""Members with a time limit of the tool, each with its unit in seconds; the first that is present counts."""

_SERVER_TABLES: Final = ("mcpServers", "servers")
_TIMEOUT_MS: Final[Limits] = (("timeout", MILLISECONDS),)
_TIMEOUT_S: Final[Limits] = (("timeout", SECONDS),)
_LOCAL: Final[Mapping[str, Json]] = {"type": "local", "enabled": True}


@frozen
class Source:
    """A tool with config files.

    ``files`` has their places in the tool's order of precedence. ``./`` stands for the working directory and each folder
    above it; such a file belongs to a project. ``{VARIABLE:default}`` is the path in an environment variable. ``{config}``,
    ``{xdg}``, and ``{system}`` are folders of the platform. ``part|path`` is one part of a file.

    ``keys`` has the members that contain servers, the tool's own first; a dot separates nested members. ``switches`` has the
    members that disable an entry. ``ignores`` has members that work in other tools, or look as if they did, but not in this
    one. ``calls`` and ``starts`` have the members with the tool's time limits for a call and for a start, and ``bounds`` the
    seconds to which the tool clamps them. ``extra`` has the members that a new entry for a command needs besides it.
    """

    id: str
    title: str
    dialect: Dialect
    files: tuple[str, ...] = ()
    keys: tuple[str, ...] = _SERVER_TABLES
    form: Form = PLAIN
    switches: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    calls: Limits = ()
    starts: Limits = ()
    bounds: tuple[float, float] = (0.0, math.inf)
    extra: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def members(self) -> tuple[str, ...]:
        """The members that the tool ignores, those with its time limits, and those of a new entry."""
        return *self.ignores, *self.extra, *(name for name, _ in (*self.calls, *self.starts))


_EDITORS: Final = tuple(f"{{config}}/{name}/User" for name in ("Code", "Code - Insiders", "VSCodium"))
_CLINE_FILE: Final = "settings/cline_mcp_settings.json"
_CLAUDE_FILE: Final = "{CLAUDE_CONFIG_DIR:~}/.claude.json"

CLAUDE_CODE: Final = Source(
    "claude-code", "Claude Code", templates.braces, (f"local|{_CLAUDE_FILE}", "./.mcp.json", f"user|{_CLAUDE_FILE}"),
    ignores=("cwd", "disabled", "enabled"), calls=_TIMEOUT_MS, extra={"type": "stdio"},
)  # fmt: skip
VSCODE: Final = Source(
    "vscode", "VS Code", templates.editor,
    ("./.vscode/mcp.json", *(f"{each}/{name}.json" for name in ("mcp", "settings") for each in _EDITORS)),
    ("servers", "mcpServers", "mcp.servers"), ignores=("disabled", "enabled"), extra={"type": "stdio"},
)  # fmt: skip
COPILOT: Final = Source(
    "copilot", "GitHub Copilot", templates.shell,
    ("./.github/mcp.json", "{COPILOT_HOME:~/.copilot}/mcp-config.json"), calls=_TIMEOUT_MS,
    ignores=("disabled", "enabled"), extra={"type": "local", "tools": ["*"]},
)  # fmt: skip
ZED: Final = Source(
    "zed", "Zed", templates.literal, ("./.zed/settings.json", "{xdg}/zed/settings.json"), ("context_servers",),
    switches=("enabled",), extra={"source": "custom"},
)  # fmt: skip
GEMINI: Final = Source(
    "gemini", "Gemini CLI", templates.shell,
    (
        "{GEMINI_CLI_SYSTEM_SETTINGS_PATH:{system}/settings.json}", "./.gemini/settings.json",
        "~/.gemini/settings.json",
    ),
    ignores=("disabled", "enabled"), calls=_TIMEOUT_MS, starts=_TIMEOUT_MS,
)  # fmt: skip
QWEN: Final = Source(
    "qwen", "Qwen Code", templates.shell, ("./.qwen/settings.json", "~/.qwen/settings.json"),
    ignores=("disabled", "enabled"), calls=_TIMEOUT_MS, starts=(("discoveryTimeoutMs", MILLISECONDS), *_TIMEOUT_MS),
)  # fmt: skip
CODEX: Final = Source(
    "codex", "Codex", templates.literal, ("./.codex/config.toml", "{CODEX_HOME:~/.codex}/config.toml"),
    ("mcp_servers",), switches=("enabled",), ignores=("disabled", "timeout", "tool_timeout_ms", "headers"),
    calls=(("tool_timeout_sec", SECONDS),),
    starts=(("startup_timeout_sec", SECONDS), ("startup_timeout_ms", MILLISECONDS)),
)  # fmt: skip
CLINE: Final = Source(
    "cline", "Cline", templates.env_only,
    (
        *(f"{each}/globalStorage/saoudrizwan.claude-dev/{_CLINE_FILE}" for each in _EDITORS),
        f"~/.cline/data/{_CLINE_FILE}", "~/Documents/Cline/MCP/cline_mcp_settings.json",
    ),
    switches=("disabled",), calls=_TIMEOUT_S, bounds=(1.0, 3600.0),
)  # fmt: skip
OPENCODE: Final = Source(
    "opencode", "opencode", templates.opencode,
    ("./opencode.jsonc", "./opencode.json", "{xdg}/opencode/opencode.jsonc", "{xdg}/opencode/opencode.json"),
    ("mcp",), form=ARRAY, switches=("enabled",), calls=_TIMEOUT_MS, starts=_TIMEOUT_MS, extra=_LOCAL,
)  # fmt: skip
KILO: Final = Source(
    "kilo", "Kilo", templates.opencode, ("./kilo.jsonc", "{xdg}/kilo/kilo.jsonc", "{xdg}/kilo/kilo.json"),
    ("mcp",), form=ARRAY, switches=("enabled",), calls=_TIMEOUT_MS, starts=_TIMEOUT_MS, extra=_LOCAL,
)  # fmt: skip
CRUSH: Final = Source(
    "crush", "Crush", templates.crush,
    (
        "./.crushrc", "./crushrc", "./.crush.json", "./crush.json", "{xdg}/crush/crushrc", "{xdg}/crush/crush.json",
    ),
    ("mcp",), switches=("disabled",), starts=_TIMEOUT_S, extra={"type": "stdio"},
)  # fmt: skip
KIMI: Final = Source(
    "kimi", "Kimi Code", templates.literal, ("./.kimi-code/mcp.json", "{KIMI_CODE_HOME:~/.kimi-code}/mcp.json"),
    switches=("enabled",), calls=(("toolTimeoutMs", MILLISECONDS),), starts=(("startupTimeoutMs", MILLISECONDS),),
)  # fmt: skip
MCPORTER: Final = Source(
    "mcporter", "mcporter", templates.braces,
    (
        "./config/mcporter.json",
        *(f"{each}/mcporter.json{c}" for each in ("{xdg}/mcporter", "~/.mcporter") for c in ("", "c")),
    ),
    form=Form(urls=("url", "baseUrl")), ignores=("disabled", "enabled", "cwd"),
)  # fmt: skip
"""mcporter starts a server in the folder of its config file."""
GOOSE: Final = Source(
    "goose", "goose", templates.literal, ("{xdg}/goose/config.yaml",), ("extensions",),
    form=Form(command="cmd", env="envs", urls=("uri",)), switches=("enabled",), calls=_TIMEOUT_S,
    extra={"type": "stdio", "description": "", "enabled": True, "timeout": 300},
)  # fmt: skip
CONTINUE: Final = Source(
    "continue", "Continue", templates.secrets, ("~/.continue/config.yaml",), ("mcpServers",),
    starts=(("connectionTimeout", MILLISECONDS),),
)  # fmt: skip
REGISTRY: Final = Source("registry", "server.json", templates.literal, ("server.json",), ())
"""A ``server.json`` is only read in the working directory, not in the folders above."""

CLIENTS: Final = (
    CLAUDE_CODE,
    Source(
        "claude-desktop", "Claude Desktop", templates.literal, ("{config}/Claude/claude_desktop_config.json",),
        ignores=("disabled", "enabled"),
    ),
    Source(
        "cursor", "Cursor", templates.editor, ("./.cursor/mcp.json", "~/.cursor/mcp.json"),
        switches=("disabled", "enabled"),
    ),
    VSCODE,
    COPILOT,
    Source(
        "windsurf", "Windsurf", templates.env_only, ("~/.codeium/windsurf/mcp_config.json",), switches=("disabled",)
    ),
    ZED,
    GEMINI,
    QWEN,
    CODEX,
    CLINE,
    Source(
        "roo", "Roo Code", templates.env_only,
        (
            "./.roo/mcp.json",
            *(f"{each}/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json" for each in _EDITORS),
        ),
        switches=("disabled",), calls=_TIMEOUT_S,
    ),
    OPENCODE,
    KILO,
    CRUSH,
    KIMI,
    Source(
        "kiro", "Kiro", templates.braces, ("./.kiro/settings/mcp.json", "~/.kiro/settings/mcp.json"),
        switches=("disabled",),
    ),
    Source(
        "amazon-q", "Amazon Q", templates.env_only, ("./.amazonq/mcp.json", "~/.aws/amazonq/mcp.json"),
        switches=("disabled",), calls=_TIMEOUT_MS,
    ),
    Source("lm-studio", "LM Studio", templates.literal, ("~/.lmstudio/mcp.json",)),
    Source(
        "warp", "Warp", templates.braces, ("./.warp/.mcp.json", "~/.warp/.mcp.json"),
        form=Form(cwd="working_directory"),
    ),
    GOOSE,
    CONTINUE,
    MCPORTER,
    Source(
        "inspector", "Inspector", templates.literal, ("{MCP_CATALOG_PATH:~/.mcp-inspector/mcp.json}",),
        ignores=("disabled", "enabled"), calls=(("requestTimeout", MILLISECONDS),),
        starts=(("connectionTimeout", MILLISECONDS),),
    ),
    Source("llm", "llm-tools-mcp", templates.literal, ("{LLM_TOOLS_MCP_CONFIG_DIR:~/.llm-tools-mcp}/mcp.json",)),
    REGISTRY,
)  # fmt: skip
"""The tools whose files are read."""

PLAIN_FILE: Final = Source(
    "file", "config file", templates.either,
    keys=("mcpServers", "servers", "context_servers", "mcp_servers", "mcp.servers", "mcp", "extensions"),
    switches=("disabled", "enabled"),
)  # fmt: skip
"""The source of files that belong to no known tool."""

_VARIABLE: Final = late(r"\{([A-Z_]+):([^{}]*)\}")

_SEARCHED_FOLDERS: Final = 64
"""The most folders that are searched for files of a project: the working directory and those above it."""


@frozen
class Surroundings:
    """The machine on which files are searched: environment, home, working directory, and ``sys.platform``."""

    env: Mapping[str, str]
    home: Path
    cwd: Path
    platform: str

    @staticmethod
    def now() -> Surroundings:
        """Returns the surroundings of this process."""
        try:
            home = Path.home()
        except RuntimeError:  # neither HOME nor an entry for the user
            home = Path(os.sep)
        try:
            cwd = Path.cwd()
        except OSError:  # the working directory was removed
            cwd = home
        return Surroundings(os.environ, home, cwd, sys.platform)

    def short(self, path: str) -> str:
        """Returns a path relative to the working directory, or to ``~``, if it is in one of them."""
        for folder, instead in ((self.cwd, ""), (self.home, "~/")):
            prefix = f"{folder}/"
            if len(prefix) > 2 and path.startswith(prefix):
                return instead + path.removeprefix(prefix)
        return path

    @property
    def config(self) -> Path:
        """The folder for settings on this platform."""
        return self.home / "Library" / "Application Support" if self.platform == "darwin" else self.xdg

    @property
    def xdg(self) -> Path:
        """``$XDG_CONFIG_HOME``, on every platform."""
        return Path(self.env.get("XDG_CONFIG_HOME") or self.home / ".config")

    def named(self, variable: str, otherwise: Path) -> Path:
        """Returns the path in an environment variable, or ``otherwise`` if it is not set."""
        value = self.env.get(variable)
        return Path(value).expanduser() if value else otherwise

    def own_files(self, source: Source) -> list[Place]:
        """Returns the user's own files of a tool, existing or not, in the tool's order of precedence."""
        written = [each.rpartition("|") for each in source.files if "{system}" not in each]
        user = [(part, text) for part, _, text in written if part != "local" and not text.startswith("./")]
        return [Place(source, self.expanded(text), part=part) for part, text in user]

    def expanded(self, text: str) -> Path:
        """Returns the path for an entry of :attr:`Source.files` on this machine."""
        mac = self.platform == "darwin"
        system = "/Library/Application Support/GeminiCli" if mac else "/etc/gemini-cli"
        for name, path in {"config": self.config, "xdg": self.xdg, "system": system}.items():
            text = text.replace(f"{{{name}}}", str(path))
        text = _VARIABLE.sub(lambda found: str(self.named(found[1], Path(found[2]))), text)
        return self.home / text[2:] if text.startswith("~/") else Path(text)


@frozen
class Place:
    """A file that may define servers.

    ``folder`` is that of the project; ``None`` for a file of the user or the system. ``part`` selects a part of Claude
    Code's file: ``local`` for the working directory, ``user`` for the rest; empty means the whole file.
    """

    source: Source
    path: Path
    folder: Path | None = None
    part: str = ""


def places(around: Surroundings) -> list[Place]:
    """Returns every file that may define servers, existing or not, in each tool's order of precedence."""
    found: list[Place] = []
    for source in CLIENTS:
        for written in source.files:
            part, _, text = written.rpartition("|")
            if text.startswith("./"):
                folders = (around.cwd, *around.cwd.parents)[:_SEARCHED_FOLDERS]
                found += (Place(source, folder / text, folder) for folder in folders)
            elif source is REGISTRY:
                found.append(Place(source, around.cwd / text, around.cwd))
            else:
                found.append(Place(source, around.expanded(text), part=part))
    # In the home folder, a project's file may also be the user's own file, which needs no consent.
    own = {place.path for place in found if place.folder is None}
    real = around.home.resolve()  # The working directory has no links in it, but HOME may be one.
    own |= {real / path.relative_to(around.home) for path in own if path.is_relative_to(around.home)}
    return [place for place in found if place.folder is None or place.path not in own]


_COMMON: Final = {
    "mcp.json", "settings.json", "config.toml", "config.yaml", "server.json", ".mcp.json",
}  # fmt: skip
"""File names that several tools use."""


def place_of(path: Path, around: Surroundings) -> Place:
    """Returns the place of a file that the user named: a known one, or one recognised by its name and folder."""
    path = around.cwd / path
    known = places(around)
    for place in known:
        if place.path == path or _same(place.path, path):
            return Place(place.source, path, place.folder)
    for place in known:
        name = place.path.relative_to(place.folder).as_posix() if place.folder else place.path.name
        if name not in _COMMON and path.as_posix().endswith(f"/{name}"):
            return Place(place.source, path)
    return Place(CODEX if path.suffix == ".toml" else PLAIN_FILE, path)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
