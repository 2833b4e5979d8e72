"""Where mcp-tui keeps things of its own: settings and what goes with them, and what it remembers."""

from __future__ import annotations

import os
from pathlib import Path


def config_folder() -> Path:
    """The folder of what a person writes: settings, themes, saved calls (``$XDG_CONFIG_HOME/mcp-tui``)."""
    from platformdirs import user_config_path

    return user_config_path("mcp-tui", appauthor=False)


def data_folder() -> Path:
    """The folder of what mcp-tui remembers: consents, recent servers (``$XDG_DATA_HOME/mcp-tui``)."""
    from platformdirs import user_data_path

    return user_data_path("mcp-tui", appauthor=False)


def settings_file() -> Path:
    """``$MCP_TUI_CONFIG``, or ``config.toml`` in :func:`config_folder`."""
    named = os.environ.get("MCP_TUI_CONFIG")
    return Path(named).expanduser() if named else config_folder() / "config.toml"


def themes_folder() -> Path:
    """The folder of the person's own themes."""
    return config_folder() / "themes"


def saved_folder() -> Path:
    """The folder of saved calls, unless the settings name another."""
    return config_folder() / "saved"


def consents_folder() -> Path:
    """The folder of the consents that were given, a file each."""
    return data_folder() / "consents"


def recent_file() -> Path:
    """The file with the servers that were opened last."""
    return data_folder() / "recent.json"
