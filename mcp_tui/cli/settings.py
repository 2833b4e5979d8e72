"""The settings as commands use them: loaded once, told of where they are wrong."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from mcp_tui.cli.status import Exit, Failure
from mcp_tui.config import folders
from mcp_tui.config.reading import Loaded, load
from mcp_tui.config.settings import Settings


@cache
def loaded() -> Loaded:
    """What the file and the environment say."""
    return load()


def in_force(*, told: bool = True) -> Settings:
    """The settings. What is unknown in them is said on stderr, unless somebody else tells it.

    Raises:
        Failure: a value cannot be.
    """
    from mcp_tui.tui.view.text import clean

    found = loaded()
    for wrong in found.wrong:
        more = f" (and {len(found.wrong) - 1} more: see mcp-tui config)" if len(found.wrong) > 1 else ""
        raise Failure(clean(f"{wrong}{more}"), Exit.USAGE)
    for problem in found.problems if told else ():
        print(clean(f"mcp-tui: {problem}"), file=sys.stderr)
    return found.settings


def saved_folder(found: Loaded) -> Path:
    """The folder of saved calls."""
    named = found.settings.saved_calls
    return Path(named).expanduser() if named else folders.saved_folder()
