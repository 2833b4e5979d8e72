"""The process of a client. One process may run taps for several servers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

STARTERS: Final = frozenset({"npx", "npm", "uv", "uvx"})
"""Programs that start the program of a package, and wait for its end."""

SHELLS: Final = frozenset({"sh", "ash", "bash", "dash", "zsh", "fish"})


class ClientProcess(NamedTuple):
    """A process. ``started`` is in seconds since the boot, because a later process may have the same ``pid``.

    Unknown values are 0 or empty.
    """

    pid: int = 0
    started: float = 0.0
    folder: str = ""


def client_process(pid: int) -> ClientProcess:
    """Returns the client for the process ``pid``: that process itself or, if it is only a wrapper, the process above it.

    A wrapper only waits for the program that it starts: a shell with ``-c``, ``npx``, ``uvx``.
    """
    while (above := _parent_of_wrapper(pid)) > 1:
        pid = above
    started = 0.0
    with suppress(OSError, ValueError, IndexError):
        started = int(_stat(pid)[19]) / os.sysconf("SC_CLK_TCK")
    return ClientProcess(pid, started, folder_of(pid))


def folder_of(pid: int) -> str:
    """Returns the working directory of a process, or else that of this process; empty if both are unknown."""
    for path in (f"/proc/{pid}/cwd", "."):
        with suppress(OSError):
            return os.path.realpath(path, strict=True)
    return ""


def _parent_of_wrapper(pid: int) -> int:
    """Returns the parent of a wrapper process; 0 for any other process."""
    with suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - pathlib is a costly import
            words = file.read().decode(errors="replace").replace("\0", " ").split()
        program = words[0].lstrip("-").rpartition("/")[2]
        if program in STARTERS or (program in SHELLS and words[1].startswith("-") and "c" in words[1]):
            return parent_of(pid)
    return 0


def parent_of(pid: int) -> int:
    """Returns the parent of a process; 0 if it is unknown, as on systems other than Linux."""
    with suppress(OSError, ValueError, IndexError):
        return int(_stat(pid)[1])
    return 0


def _stat(pid: int) -> list[str]:
    """Returns the fields of ``/proc/PID/stat`` that follow the program name, the state first."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib is a costly import
        return file.read().rpartition(b")")[2].decode().split()


def named_so(clients: Iterable[str], wanted: str) -> set[str]:
    """Returns the clients with this name, with or without version, or else those whose names start with it."""
    folded, known = wanted.casefold(), set(clients) - {""}
    exact = {each for each in known if folded in (each.casefold(), each.rpartition(" ")[0].casefold())}
    return exact or {each for each in known if each.casefold().startswith(folded)}
