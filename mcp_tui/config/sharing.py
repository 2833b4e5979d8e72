"""Whether a config file belongs to the user alone, or is shared with others."""

from __future__ import annotations

import os
import subprocess
from enum import Enum
from pathlib import Path
from typing import Final

from mcp_tui.config.sources import REGISTRY, Surroundings, places

_GIT_SECONDS: Final = 10

_GIT: Final = ("git", "--no-optional-locks", "--literal-pathspecs", "-c", "core.fsmonitor=false", "ls-files")
"""A git command that writes nothing, and runs no program that the settings of the repository name."""

_GIT_VARIABLES: Final = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH")
"""Git variables that are passed on. Others could select another repository, or change the result."""


class Sharing(Enum):
    """Who shares a file. The value is the rest of a sentence about the file."""

    OWN = "is your own"
    PROJECT = "belongs to a project"
    MAYBE_TRACKED = "may be tracked by git"
    TRACKED = "is tracked by git"


def sharing(file: Path, around: Surroundings | None = None) -> Sharing:
    """Returns who shares a file. For a link, git is asked about its target, which would be written."""
    around = around or Surroundings.now()
    path = around.cwd / file
    if (tracked := _tracked(path.resolve())) is not Sharing.OWN:
        return tracked
    known = places(around)
    shared = [(each.path, each.folder) for each in known if each.folder and each.source is not REGISTRY]
    names = [path.relative_to(folder) for path, folder in shared]
    own = {place.path for place in known if place.folder is None}
    ends = tuple(f"/{name.as_posix()}" for name in names)
    return Sharing.PROJECT if path not in own and path.as_posix().endswith(ends) else Sharing.OWN


def _tracked(file: Path) -> Sharing:
    """Returns whether git tracks a file; ``OWN`` if it does not, or there is no repository."""
    if not any((folder / ".git").exists() for folder in file.parents):
        return Sharing.OWN
    env = {name: value for name, value in os.environ.items() if name[:4] != "GIT_" or name in _GIT_VARIABLES}
    env |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    try:
        status = subprocess.run(
            [*_GIT, "--error-unmatch", "--", file.name],
            cwd=file.parent,
            env=env,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_GIT_SECONDS,
        ).returncode
    except (OSError, subprocess.SubprocessError):
        return Sharing.MAYBE_TRACKED
    # With another status, git refused the repository of another user, or could not read it.
    return {0: Sharing.TRACKED, 1: Sharing.OWN}.get(status, Sharing.MAYBE_TRACKED)
