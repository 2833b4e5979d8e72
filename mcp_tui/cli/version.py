"""``--version``: the version; for a build that is not a release, also the commit and the Python version."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

from mcp_tui import __version__


def text() -> str:
    """Returns ``mcp-tui 0.1.0``; for a build that is not a release, with its commit and the Python version."""
    package = Path(__file__).parents[1]
    built = package / "COMMIT"
    commit = built.read_text(encoding="utf-8").strip() if built.exists() else commit_of(package.parent)
    more = f" (commit {commit}, Python {platform.python_version()})" if commit else ""
    return f"mcp-tui {__version__}{more}"


def commit_of(checkout: Path) -> str:
    """Returns the ``git describe`` of a checkout; empty for a release, or without a checkout."""
    if not (checkout / ".git").exists():
        return ""
    command = ("git", "describe", "--tags", "--match=v*", "--always", "--dirty", "--abbrev=12")
    try:
        found = subprocess.check_output(
            command, cwd=checkout, stderr=subprocess.DEVNULL, text=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return "" if found.strip() == f"v{__version__}" else found.strip()
