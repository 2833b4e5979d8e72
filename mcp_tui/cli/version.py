"""``--version``: the version, and where it is no release also the commit and the Python."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

from mcp_tui import __version__


def text() -> str:
    """``mcp-tui 0.1.0``; where this is no release, also what runs exactly."""
    package = Path(__file__).parents[1]
    built = package / "COMMIT"
    commit = built.read_text(encoding="utf-8").strip() if built.exists() else commit_of(package.parent)
    return f"mcp-tui {__version__}" + (
        f" (commit {commit}, Python {platform.python_version()})" if commit else ""
    )


def commit_of(checkout: Path) -> str:
    """The commit of a checkout as ``git describe`` words it; empty for a release, or where there is no checkout."""
    if not (checkout / ".git").exists():
        return ""
    command = ("git", "describe", "--tags", "--match=v*", "--always", "--dirty", "--abbrev=12")
    try:
        found = subprocess.run(
            command, cwd=checkout, capture_output=True, text=True, timeout=5, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return "" if found.strip() == f"v{__version__}" else found.strip()
