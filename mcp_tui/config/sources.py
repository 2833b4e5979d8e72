"""The tools whose config files define servers: where each keeps them, under which key, in which dialect.

Within one tool the order of its files is its own precedence: of two servers with one name the first counts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from mcp_tui.config import templates
from mcp_tui.config.templates import Dialect
from mcp_tui.protocol.values import frozen


@frozen
class Source:
    """A tool with config files. ``keys`` are the members under which servers stand, the tool's own first."""

    id: str
    title: str
    keys: tuple[str, ...]
    dialect: Dialect


_MCP: Final = ("mcpServers", "servers")

CLAUDE_DESKTOP: Final = Source("claude-desktop", "Claude Desktop", _MCP, templates.literal)
CLAUDE_CODE: Final = Source("claude-code", "Claude Code", _MCP, templates.braces)
CURSOR: Final = Source("cursor", "Cursor", _MCP, templates.editor)
VSCODE: Final = Source("vscode", "VS Code", ("servers", "mcpServers"), templates.editor)
COPILOT: Final = Source("copilot", "GitHub Copilot", _MCP, templates.shell)
WINDSURF: Final = Source("windsurf", "Windsurf", _MCP, templates.env_only)
ZED: Final = Source("zed", "Zed", ("context_servers",), templates.literal)
GEMINI: Final = Source("gemini", "Gemini CLI", _MCP, templates.shell)
CODEX: Final = Source("codex", "Codex", ("mcp_servers",), templates.literal)
CLINE: Final = Source("cline", "Cline", _MCP, templates.env_only)
INSPECTOR: Final = Source("inspector", "Inspector", _MCP, templates.literal)
REGISTRY: Final = Source("registry", "server.json", (), templates.literal)
FILE: Final = Source(
    "file", "config file", ("mcpServers", "servers", "context_servers", "mcp_servers"), templates.either
)
"""A file that says of no tool to be its own."""

SOURCES: Final = (
    CLAUDE_CODE, CLAUDE_DESKTOP, CURSOR, VSCODE, COPILOT, WINDSURF, ZED, GEMINI, CODEX, CLINE, INSPECTOR, REGISTRY,
)  # fmt: skip

_PROJECT: Final = (
    (CLAUDE_CODE, ".mcp.json"),
    (CURSOR, ".cursor/mcp.json"),
    (VSCODE, ".vscode/mcp.json"),
    (ZED, ".zed/settings.json"),
    (GEMINI, ".gemini/settings.json"),
    (CODEX, ".codex/config.toml"),
    (REGISTRY, "server.json"),
)

_DEEPEST: Final = 64
"""Folders above the working folder in which files of a project are looked for."""


@frozen
class Surroundings:
    """Where files are looked for: environment, home, working folder, and ``sys.platform``."""

    env: Mapping[str, str]
    home: Path
    cwd: Path
    platform: str

    @staticmethod
    def now() -> Surroundings:
        """Those of this process."""
        try:
            home = Path.home()
        except RuntimeError:  # no HOME, and no such user
            home = Path(os.sep)
        try:
            cwd = Path.cwd()
        except OSError:  # it was removed below us
            cwd = home
        return Surroundings(os.environ, home, cwd, sys.platform)

    def short(self, path: str) -> str:
        """A path as a person would write it here."""
        for folder, instead in ((self.cwd, ""), (self.home, "~/")):
            prefix = f"{folder}/"
            if len(prefix) > 2 and path.startswith(prefix):
                return instead + path.removeprefix(prefix)
        return path

    @property
    def config(self) -> Path:
        """Where this platform keeps the settings of programs."""
        return self.home / "Library" / "Application Support" if self.platform == "darwin" else self.xdg

    @property
    def xdg(self) -> Path:
        """``$XDG_CONFIG_HOME``, on every platform."""
        return Path(self.env.get("XDG_CONFIG_HOME") or self.home / ".config")

    def named(self, variable: str, otherwise: Path) -> Path:
        """The path in an environment variable, or another."""
        value = self.env.get(variable)
        return Path(value).expanduser() if value else otherwise


@frozen
class Place:
    """A file that may define servers. ``folder`` is the project's, ``None`` for a file of the person's own or the system's.

    ``part`` is ``first`` for what counts before the files of a project. Of Claude Code's own file it is ``local``, what it
    says of the working folder alone, or ``user``, the rest; empty for all of a file.
    """

    source: Source
    path: Path
    folder: Path | None = None
    part: str = ""


def places(around: Surroundings) -> Iterator[Place]:
    """Every place in which servers are looked for, whether there is a file or not, in each tool's own precedence."""
    internal = list(_own(around))
    known = {place.path for place in internal}
    projects = [place for place in _projects(around) if place.path not in known]
    for source in SOURCES:
        here = [place for place in internal if place.source is source]
        before = [place for place in here if place.part in ("first", "local")]
        yield from before
        yield from (place for place in projects if place.source is source)
        yield from (place for place in here if place not in before)


def place_of(path: Path, around: Surroundings) -> Place:
    """The place that a file which is named on its own is at: a known one, else one guessed by its name and folder."""
    path = around.cwd / path
    for place in places(around):
        if place.path == path or _same(place.path, path):
            return Place(place.source, path, place.folder)
    for source, name in _PROJECT[:-1]:
        if path.as_posix().endswith(f"/{name}"):
            return Place(source, path)
    known = {place.path.name: place.source for place in _own(around) if place.path.name not in _COMMON}
    if path.suffix == ".toml":
        return Place(CODEX, path)
    return Place(known.get(path.name, FILE), path)


_COMMON: Final = {"mcp.json", "settings.json", "config.toml"}
"""Names that more than one tool gives to its file."""


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _own(around: Surroundings) -> Iterator[Place]:
    home, config, env = around.home, around.config, around.env
    code = Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else home
    yield from (Place(CLAUDE_CODE, code / ".claude.json", part=part) for part in ("local", "user"))
    yield Place(CLAUDE_DESKTOP, config / "Claude" / "claude_desktop_config.json")
    yield Place(CURSOR, home / ".cursor" / "mcp.json")
    editors = ("Code", "Code - Insiders", "VSCodium")
    yield from (Place(VSCODE, config / editor / "User" / "mcp.json") for editor in editors)
    yield Place(COPILOT, around.named("COPILOT_HOME", home / ".copilot") / "mcp-config.json")
    yield Place(WINDSURF, home / ".codeium" / "windsurf" / "mcp_config.json")
    yield Place(ZED, around.xdg / "zed" / "settings.json")
    yield Place(GEMINI, around.named("GEMINI_CLI_SYSTEM_SETTINGS_PATH", _gemini(around)), part="first")
    yield Place(GEMINI, home / ".gemini" / "settings.json")
    yield Place(CODEX, around.named("CODEX_HOME", home / ".codex") / "config.toml")
    inside = Path("User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")
    yield from (Place(CLINE, config / editor / inside) for editor in editors)
    yield Place(CLINE, home / ".cline" / "data" / "settings" / "cline_mcp_settings.json")
    yield Place(CLINE, home / "Documents" / "Cline" / "MCP" / "cline_mcp_settings.json")
    yield Place(INSPECTOR, around.named("MCP_CATALOG_PATH", home / ".mcp-inspector" / "mcp.json"))


def _gemini(around: Surroundings) -> Path:
    system = "/Library/Application Support/GeminiCli" if around.platform == "darwin" else "/etc/gemini-cli"
    return Path(system) / "settings.json"


def _projects(around: Surroundings) -> Iterator[Place]:
    folders = [around.cwd, *around.cwd.parents][:_DEEPEST]
    for folder in folders:
        for source, name in _PROJECT:
            # what a server.json describes is the project that one stands in
            if source is not REGISTRY or folder == around.cwd:
                yield Place(source, folder / name, folder)
