"""Which tools the guard of ``tap --once`` guards, by the command line or the settings.

Every start of a tap loads this module, so it imports little. It ignores invalid settings; ``mcp-tui config`` reports them.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

VARIABLE = "MCP_TUI_TAP_ONCE"
FILE_BYTES = 256 * 1024


class OncePolicy:
    """The policy of one tap. ``table`` is ``[tap]`` of the settings."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._general: bool | list[str] | None = table.get("once")
        self._servers = _tables(table.get("servers"))

    @classmethod
    def given(cls, tools: str) -> OncePolicy:
        """Returns the policy of the option ``--once``, with the names of tools."""
        return cls({"once": tools.split(",") if tools.strip(",") else True})

    @classmethod
    def in_settings(cls) -> OncePolicy | None:
        """Returns the policy in the settings file and the environment; ``None`` if it guards nothing."""
        said = os.environ.get(VARIABLE, "").lower()
        try:
            with open(_file(), "rb") as file:  # noqa: PTH123 - pathlib is a costly import
                text = file.read(FILE_BYTES)
        except OSError:
            text = b""
        table: dict[str, Any] = {}
        if b"once" in text:
            # Loaded only if the settings mention it.
            from tomllib import loads

            try:
                table = _tables(loads(text.decode())).get("tap", {})
            except ValueError:  # not TOML, or not text
                table = {}
        if said:
            table = {**table, "once": said in ("on", "yes", "true", "1")}
        policy = cls(table)
        return policy if policy.guards_any else None

    @property
    def guards_any(self) -> bool:
        """Whether any tool may be guarded."""
        tables = [{"once": self._general}, *self._servers.values()]
        tables += [tool for each in self._servers.values() for tool in _tables(each.get("tools")).values()]
        return any(isinstance(each.get("once"), bool | list) and each["once"] for each in tables)

    @property
    def needs_server(self) -> bool:
        """Whether the policy depends on the name of the server."""
        return bool(self._servers)

    def tools(self, server: str) -> bool | list[str]:
        """Returns the guarded tools of a server: their names, or ``True`` for all that are not safe to repeat."""
        own: bool | list[str] | None = self._servers.get(server, {}).get("once")
        found = own if isinstance(own, bool | list) else self._general
        return found if isinstance(found, bool | list) else False

    def of_tools(self, server: str) -> dict[str, bool]:
        """Returns the settings of single tools of a server, by their names."""
        tools = _tables(self._servers.get(server, {}).get("tools"))
        return {name: each["once"] for name, each in tools.items() if isinstance(each.get("once"), bool)}

    def guards(self, server: str, tool: str, *, is_safe: bool) -> bool:
        """Whether calls of a tool are guarded. ``is_safe``: its annotations say that it is safe to repeat."""
        of_tool = self.of_tools(server).get(tool)
        found = self.tools(server) if of_tool is None else of_tool and [tool]
        return tool in found if isinstance(found, list) else found and not is_safe


def _tables(value: Any) -> dict[str, dict[str, Any]]:
    """Returns the members of a table that are tables."""
    found: dict[str, Any] = value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    return {name: each for name, each in found.items() if isinstance(each, dict)}


def _file() -> str:
    """Returns the file of the settings: that of :func:`mcp_tui.config.files.settings_file`."""
    if named := os.environ.get("MCP_TUI_CONFIG"):
        return os.path.expanduser(named)  # noqa: PTH111
    if sys.platform == "linux":
        folder = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")  # noqa: PTH111
        return f"{folder}/mcp-tui/config.toml"
    # Imported only here, because it is slow to load.
    from mcp_tui.config import files

    return str(files.settings_file())
