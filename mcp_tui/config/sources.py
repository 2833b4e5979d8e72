"""The tools whose config files define servers: the places, keys, and dialect of each.

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


_SERVER_TABLES: Final = ("mcpServers", "servers")

CLAUDE_DESKTOP: Final = Source("claude-desktop", "Claude Desktop", _SERVER_TABLES, templates.literal)
CLAUDE_CODE: Final = Source("claude-code", "Claude Code", _SERVER_TABLES, templates.braces)
CURSOR: Final = Source("cursor", "Cursor", _SERVER_TABLES, templates.editor)
VSCODE: Final = Source("vscode", "VS Code", ("servers", "mcpServers"), templates.editor)
COPILOT: Final = Source("copilot", "GitHub Copilot", _SERVER_TABLES, templates.shell)
WINDSURF: Final = Source("windsurf", "Windsurf", _SERVER_TABLES, templates.env_only)
ZED: Final = Source("zed", "Zed", ("context_servers",), templates.literal)
GEMINI: Final = Source("gemini", "Gemini CLI", _SERVER_TABLES, templates.shell)
CODEX: Final = Source("codex", "Codex", ("mcp_servers",), templates.literal)
CLINE: Final = Source("cline", "Cline", _SERVER_TABLES, templates.env_only)
INSPECTOR: Final = Source("inspector", "Inspector", _SERVER_TABLES, templates.literal)
REGISTRY: Final = Source("registry", "server.json", (), templates.literal)
PLAIN_FILE: Final = Source(
    "file", "config file", ("mcpServers", "servers", "context_servers", "mcp_servers"), templates.either
)
"""A file of no known tool."""

_SEARCHED_FOLDERS: Final = 64
"""Folders, the working directory and those above, that are searched for files of a project."""


@frozen
class Surroundings:
    """The machine on which files are looked for: environment, home, working directory, and ``sys.platform``."""

    env: Mapping[str, str]
    home: Path
    cwd: Path
    platform: str

    @staticmethod
    def now() -> Surroundings:
        """Returns those of this process."""
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
        """Returns a path as a person would write it here."""
        for folder, instead in ((self.cwd, ""), (self.home, "~/")):
            prefix = f"{folder}/"
            if len(prefix) > 2 and path.startswith(prefix):
                return instead + path.removeprefix(prefix)
        return path

    @property
    def config(self) -> Path:
        """The folder for the settings of programs on this platform."""
        return self.home / "Library" / "Application Support" if self.platform == "darwin" else self.xdg

    @property
    def xdg(self) -> Path:
        """``$XDG_CONFIG_HOME``, on every platform."""
        return Path(self.env.get("XDG_CONFIG_HOME") or self.home / ".config")

    def named(self, variable: str, otherwise: Path) -> Path:
        """Returns the path in an environment variable, or another."""
        value = self.env.get(variable)
        return Path(value).expanduser() if value else otherwise


@frozen
class Place:
    """A file that may define servers. ``folder`` is the project's, ``None`` for a file of the person's own or the system's.

    ``part`` is the part of Claude Code's own file: ``local`` for the working directory, ``user`` for the rest; empty for
    all of a file.
    """

    source: Source
    path: Path
    folder: Path | None = None
    part: str = ""


def places(around: Surroundings) -> list[Place]:
    """Returns every place where servers are looked for, whether there is a file or not, in each tool's own precedence."""
    home, config, env = around.home, around.config, around.env
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"
    editors = [config / editor / "User" for editor in ("Code", "Code - Insiders", "VSCodium")]
    gemini = Path(
        "/Library/Application Support/GeminiCli" if around.platform == "darwin" else "/etc/gemini-cli"
    )
    cline = Path("settings", "cline_mcp_settings.json")
    found = [
        Place(CLAUDE_CODE, claude, part="local"),
        *_in_project(around, CLAUDE_CODE, ".mcp.json"),
        Place(CLAUDE_CODE, claude, part="user"),
        Place(CLAUDE_DESKTOP, config / "Claude" / "claude_desktop_config.json"),
        *_in_project(around, CURSOR, ".cursor/mcp.json"),
        Place(CURSOR, home / ".cursor" / "mcp.json"),
        *_in_project(around, VSCODE, ".vscode/mcp.json"),
        *(Place(VSCODE, editor / "mcp.json") for editor in editors),
        Place(COPILOT, around.named("COPILOT_HOME", home / ".copilot") / "mcp-config.json"),
        Place(WINDSURF, home / ".codeium" / "windsurf" / "mcp_config.json"),
        *_in_project(around, ZED, ".zed/settings.json"),
        Place(ZED, around.xdg / "zed" / "settings.json"),
        Place(GEMINI, around.named("GEMINI_CLI_SYSTEM_SETTINGS_PATH", gemini / "settings.json")),
        *_in_project(around, GEMINI, ".gemini/settings.json"),
        Place(GEMINI, home / ".gemini" / "settings.json"),
        *_in_project(around, CODEX, ".codex/config.toml"),
        Place(CODEX, around.named("CODEX_HOME", home / ".codex") / "config.toml"),
        *(Place(CLINE, editor / "globalStorage" / "saoudrizwan.claude-dev" / cline) for editor in editors),
        Place(CLINE, home / ".cline" / "data" / cline),
        Place(CLINE, home / "Documents" / "Cline" / "MCP" / cline.name),
        Place(INSPECTOR, around.named("MCP_CATALOG_PATH", home / ".mcp-inspector" / "mcp.json")),
        # it describes the project in the working directory, not those above
        Place(REGISTRY, around.cwd / "server.json", around.cwd),
    ]
    # In the home folder, a project's file may be the person's own at the same time: that needs no consent.
    own = {place.path for place in found if place.folder is None}
    return [place for place in found if place.folder is None or place.path not in own]


def _in_project(around: Surroundings, source: Source, name: str) -> Iterator[Place]:
    for folder in (around.cwd, *around.cwd.parents)[:_SEARCHED_FOLDERS]:
        yield Place(source, folder / name, folder)


_COMMON: Final = {"mcp.json", "settings.json", "config.toml", "server.json"}
"""Names that tell nothing about the tool."""


def place_of(path: Path, around: Surroundings) -> Place:
    """Returns the place of a file that was named: a known one, else one guessed by its name and folder."""
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
