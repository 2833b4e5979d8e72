"""Servers from config files that hold ``mcpServers`` (or VS Code's ``servers``), by name.

Only files of the user's are searched without being named: a project's file could start anything. ``${VAR}`` and
``${VAR:-default}`` are expanded as Claude Code does, in its own files and in one that is named; elsewhere nothing is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from mcp_tui.client.settings import HttpTarget, StdioTarget, Target

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


class ConfigError(Exception):
    """A config file cannot be used, or holds no such server. The text is one sentence with the file's name."""


def user_files() -> Iterator[Path]:
    """The files of the user's own that are searched, those that exist."""
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    for path in (
        home / ".claude.json",
        config / "Claude" / "claude_desktop_config.json",
        home / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json",
        home / ".cursor" / "mcp.json",
        home / ".codeium" / "windsurf" / "mcp_config.json",
        home / ".mcp-inspector" / "mcp.json",
    ):
        if path.is_file():
            yield path


def find(name: str, config: Path | None = None) -> Target:
    """The server called ``name``, from ``config`` or, without one, from :func:`user_files`.

    Raises:
        ConfigError: the file cannot be read, there is no such server, or it names neither a command nor a URL.
    """
    files = [config] if config is not None else list(user_files())
    names: list[str] = []
    for path in files:
        servers = read(path)
        if name in servers:
            return _target(
                name, servers[name], path, expand=config is not None or path.name == ".claude.json"
            )
        names.extend(servers)
    where = str(config) if config is not None else "the config files found (name one with --config FILE)"
    known = f"; it has {', '.join(sorted(names))}" if names else ""
    message = f"no server {name!r} in {where}{known}"
    raise ConfigError(message)


def read(path: Path) -> dict[str, Any]:
    """The servers of one file, by name, as it gives them; comments and trailing commas are tolerated.

    Raises:
        ConfigError: the file cannot be read or is no JSON object.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: {error.strerror if isinstance(error, OSError) else 'it is not UTF-8'}"
        raise ConfigError(message) from None
    text = _COMMENT.sub(lambda found: found.group(1) or " ", text)
    text = _COMMA.sub(lambda found: found.group(1) or "", text)
    try:
        whole = json.loads(text)
    except ValueError as error:
        message = f"{path}: no JSON: {error}"
        raise ConfigError(message) from None
    fields = _object(whole)
    return _object(fields.get("mcpServers")) or _object(fields.get("servers"))


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _target(name: str, server: Any, path: Path, *, expand: bool) -> Target:
    fields = _object(_expanded(server) if expand else server)
    url = fields.get("url") or fields.get("serverUrl")
    if isinstance(url, str):
        kind = fields.get("type")
        headers = {key: str(value) for key, value in _object(fields.get("headers")).items()}
        return HttpTarget(url=url, headers=headers, transport="sse" if kind == "sse" else "auto", name=name)
    command: Any = fields.get("command")
    arguments: Any = fields.get("args") or []
    if not isinstance(command, str) or not isinstance(arguments, list):
        message = f"{path}: the server {name!r} names neither a command nor a url"
        raise ConfigError(message)
    cwd = fields.get("cwd")
    return StdioTarget(
        command=(command, *(str(each) for each in cast("list[Any]", arguments))),
        env={key: str(value) for key, value in _object(fields.get("env")).items()},
        cwd=Path(cwd) if isinstance(cwd, str) else None,
        name=name,
    )


def _expanded(value: Any) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(
            lambda found: os.environ.get(found[1], found[2] if found[2] is not None else found[0]), value
        )
    if isinstance(value, list):
        return [_expanded(each) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _expanded(each) for key, each in cast("dict[str, Any]", value).items()}
    return value
