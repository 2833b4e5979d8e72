"""The process of a client: one running program with all its taps, whatever the number of its servers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

STARTERS: Final = frozenset({"npx", "npm", "uv", "uvx"})
"""Programs that start the program of a package, and wait for it."""

SHELLS: Final = frozenset({"sh", "ash", "bash", "dash", "zsh", "fish"})


class ClientProcess(NamedTuple):
    """A process. ``started`` is when, in seconds since the machine did: a later process may have the same ``pid``.

    Values are 0 and empty where they are not known.
    """

    pid: int = 0
    started: float = 0.0
    folder: str = ""


def client_process(pid: int) -> ClientProcess:
    """Returns the process of the client that started process ``pid`` or one of its children.

    That is ``pid`` itself, unless this only waits for what it starts: a shell with ``-c``, ``npx``, ``uvx``.
    """
    while (above := _parent_of_wrapper(pid)) > 1:
        pid = above
    started = 0.0
    with suppress(OSError, ValueError, IndexError):
        started = int(_stat(pid)[19]) / os.sysconf("SC_CLK_TCK")
    return ClientProcess(pid, started, folder_of(pid))


def folder_of(pid: int) -> str:
    """Returns the folder in which a process works, or else that of this one; empty if it is not known."""
    for path in (f"/proc/{pid}/cwd", "."):
        with suppress(OSError):
            return os.path.realpath(path, strict=True)
    return ""


def _parent_of_wrapper(pid: int) -> int:
    """Returns the parent of a process that only waits for what it starts; 0 for another process."""
    with suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - pathlib is a costly import
            words = file.read().decode(errors="replace").replace("\0", " ").split()
        program = words[0].lstrip("-").rpartition("/")[2]
        if program in STARTERS or (program in SHELLS and words[1].startswith("-") and "c" in words[1]):
            return parent_of(pid)
    return 0


def parent_of(pid: int) -> int:
    """Returns the parent of a process; 0 if it is not known: only Linux says it."""
    with suppress(OSError, ValueError, IndexError):
        return int(_stat(pid)[1])
    return 0


def _stat(pid: int) -> list[str]:
    """Returns what Linux says of a process, from its state on."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib is a costly import
        return file.read().rpartition(b")")[2].decode().split()


def named_so(clients: Iterable[str], wanted: str) -> set[str]:
    """Returns the clients that a person means: those with this name, with or without a version, or else that begin so."""
    folded, known = wanted.casefold(), set(clients) - {""}
    exact = {each for each in known if folded in (each.casefold(), each.rpartition(" ")[0].casefold())}
    return exact or {each for each in known if each.casefold().startswith(folded)}
