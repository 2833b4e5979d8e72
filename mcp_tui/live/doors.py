"""The door of a running session, and how another process asks at it.

A door is a unix socket in a folder that only its user can enter. It takes one JSON line and answers with one: ``{"ask":
"list"}`` tells what is in flight, ``{"ask": "cancel", "id": "7", "reason": "…"}`` cancels a request.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from mcp_tui.journal.files import make_private
from mcp_tui.journal.state import state_folder
from mcp_tui.protocol.messages import as_object

QUESTION_BYTES: Final = 65536
"""Bytes of a question at most."""

ANSWER_SECONDS: Final = 5.0
"""Seconds that an answer may take."""

SUFFIX: Final = ".sock"


def folders() -> list[Path]:
    """Returns where doors may be, the best place first: below ``$XDG_RUNTIME_DIR``, else in the state folder.

    Many clients start their servers with a short environment, without the variables that say where these are. So the usual
    places count too, or a tap could not be found.
    """
    named = os.environ.get("XDG_RUNTIME_DIR")
    usual = Path(f"/run/user/{os.getuid()}")
    runtime = [Path(named)] if named else [usual] if usual.is_dir() else []
    state = [state_folder(), Path.home() / ".local" / "state" / "mcp-tui"]
    return list(dict.fromkeys([*(each / "mcp-tui" for each in runtime), *(each / "live" for each in state)]))


@contextmanager
def _reachable(path: Path) -> Generator[str]:
    """Yields an address of a socket, however long its path is: the system permits 108 bytes."""
    if len(os.fsencode(path)) < 100 or not sys.platform.startswith("linux"):
        yield str(path)
        return
    number = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{number}/{path.name}"
    finally:
        os.close(number)


class Door:
    """The door of this process, open until :meth:`close`. ``name`` is what others call the session.

    Raises:
        OSError: there can be none.
    """

    def __init__(self, id: str) -> None:
        known = doors()
        self.name = next(id[:length] for length in (4, 6, 8, len(id)) if id[:length] not in known)
        place = self._place()
        self._path = place / f"{self.name}{SUFFIX}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            with _reachable(self._path) as address:
                self.socket.bind(address)
        except OSError:
            self.socket.close()
            raise
        finally:
            os.umask(before)
        self.socket.listen(16)
        self.socket.setblocking(False)

    def _place(self) -> Path:
        for place in folders():
            with suppress(OSError):
                make_private(place)
                return place
        raise OSError("no folder for a door")

    def accept(self) -> socket.socket | None:
        """Lets one in, if it is our user."""
        try:
            visitor, _ = self.socket.accept()
        except OSError:
            return None
        visitor.setblocking(False)
        if _uid_of(visitor) in (None, os.getuid()):
            return visitor
        visitor.close()
        return None

    def close(self) -> None:
        """Closes the door."""
        self.socket.close()
        with suppress(OSError):
            self._path.unlink()


def _uid_of(visitor: socket.socket) -> int | None:
    """Returns the user at the other end; ``None`` if the system does not tell, where the folder alone protects."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    _, uid, _ = struct.unpack("3i", visitor.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return uid


def question(data: bytes) -> dict[str, Any] | None:
    """Returns what a visitor asks, once the line is complete; empty if it cannot be read."""
    if b"\n" not in data and len(data) < QUESTION_BYTES:
        return None
    with suppress(ValueError, RecursionError):
        return as_object(json.loads(data.partition(b"\n")[0]))
    return {}


def answer(visitor: socket.socket, told: dict[str, Any]) -> None:
    """Answers a visitor, who may be gone, and says goodbye."""
    with suppress(OSError):
        visitor.settimeout(1.0)
        visitor.sendall(json.dumps(told).encode() + b"\n")
    visitor.close()


def doors() -> dict[str, Path]:
    """Returns the doors of all sessions by their names, some of which may be dead."""
    found: dict[str, Path] = {}
    for place in folders():
        with suppress(OSError):
            for each in sorted(place.glob(f"*{SUFFIX}")):
                found.setdefault(each.stem, each)
    return found


def ask(path: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """Asks at a door, and returns the answer; ``None`` if its session is dead, or silent. A dead one's is cleared away."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link, _reachable(path) as address:
        link.settimeout(ANSWER_SECONDS)
        try:
            link.connect(address)
        except (ConnectionRefusedError, FileNotFoundError):
            with suppress(OSError):
                path.unlink()
            return None
        except OSError:
            return None
        data = b""
        with suppress(OSError, ValueError, RecursionError):
            link.sendall(json.dumps(wanted).encode() + b"\n")
            while piece := link.recv(65536):
                data += piece
            return as_object(json.loads(data)) or None
    return None
