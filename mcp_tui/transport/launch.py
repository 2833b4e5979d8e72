"""What a stdio server is started with: its program, its environment, its folder."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_tui.transport.base import TransportError

INHERITED: Final = (
    frozenset(
        {
            "APPDATA",
            "HOMEDRIVE",
            "HOMEPATH",
            "LOCALAPPDATA",
            "PATH",
            "PATHEXT",
            "PROCESSOR_ARCHITECTURE",
            "SYSTEMDRIVE",
            "SYSTEMROOT",
            "TEMP",
            "TMP",
            "USERNAME",
            "USERPROFILE",
        }
    )
    if sys.platform == "win32"
    else frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"})
)
"""Variables that a server gets from the client's environment, with those that begin with ``LC_``."""


def server_environment(
    own: Mapping[str, str], given: Mapping[str, str], *, whole: bool = False
) -> dict[str, str]:
    """The environment of a server: the short list from ``own`` (or the ``whole`` of it), then what was ``given``.

    A client's environment holds secrets that are no business of a server, hence the short list. ``NO_COLOR`` is
    set, because what a server prints is shown as plain text.
    """
    inherited = {
        name: value for name, value in own.items() if whole or name in INHERITED or name.startswith("LC_")
    }
    return inherited | {"NO_COLOR": "1"} | dict(given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A server that can be started. ``path`` is its program, absolute; ``command`` what the person wrote."""

    path: str
    command: tuple[str, ...]
    environment: dict[str, str]
    cwd: Path | None


def prepare(command: Sequence[str], environment: Mapping[str, str], cwd: Path | None) -> Launch:
    """Find the program of a command, in the ``PATH`` of the server's own environment.

    Raises:
        TransportError: there is no such program or folder, or it may not be run.
    """
    if not command or not command[0]:
        raise TransportError(
            "there is no command to start: write the server's program and its arguments behind --"
        )
    for text in (*command, *environment, *environment.values()):
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            raise TransportError(
                f"the server's command or its environment holds {text!r}, which is no text"
            ) from None
        if "\0" in text:
            raise TransportError("the server's command or its environment holds a NUL character: take it out")
    if bad := [name for name in environment if not name or "=" in name]:
        raise TransportError(f"{bad[0]!r} cannot be the name of an environment variable: write -e NAME=VALUE")
    if cwd is not None and not cwd.is_dir():
        what = "is not a folder" if cwd.exists() else "does not exist"
        raise TransportError(f"the server's folder {cwd} {what}: give another one")
    if cwd is not None and not os.access(cwd, os.X_OK):
        raise TransportError(f"the server's folder {cwd} may not be entered: check its permissions")
    return Launch(
        path=_program(command[0], environment.get("PATH", os.defpath), cwd or Path()),
        command=tuple(command),
        environment=dict(environment),
        cwd=cwd,
    )


def _program(name: str, search: str, cwd: Path) -> str:
    if os.path.dirname(name):  # noqa: PTH120 - "./x" and "x" differ here, and are one for pathlib
        path = (cwd / name).absolute()
        if found := shutil.which(str(path)):
            return found
        if path.is_dir():
            raise TransportError(f"{name} is a folder, not a program")
        if path.exists():
            raise TransportError(
                f"{name} is not executable: run chmod +x on it, or name the program that runs it"
            )
        raise TransportError(f"{name} does not exist: check the path of the server's program")
    if found := shutil.which(name, path=search):
        return str(Path(found).absolute())
    if found := shutil.which(name, os.F_OK, search):
        raise TransportError(
            f"{found} is not executable: run chmod +x on it, or name the program that runs it"
        )
    raise TransportError(f"{name} was not found in the server's PATH: install it, or write its whole path")


def refused(launch: Launch, error: int) -> TransportError:
    """Why the operating system would not run a program that was found."""
    name = shlex.quote(launch.command[0])
    match error:
        case errno.ENOENT:
            why = "the interpreter that its first line (#!) names does not exist: install it, or correct the line"
        case errno.ENOEXEC:
            why = "it is neither a program for this machine nor a script whose first line (#!) names its interpreter"
        case errno.EACCES:
            why = (
                "it, or the interpreter that its first line (#!) names, may not be run: check the permissions"
            )
        case errno.E2BIG:
            why = "its arguments and its environment are too long together: shorten them"
        case 0:
            why = f"the guard before it, which {sys.executable} runs, ended at once"
        case _:
            why = os.strerror(error)
    return TransportError(f"{name} could not be started: {why}")
