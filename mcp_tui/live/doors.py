"""The door of a running session, and how another process asks at it.

A door is a unix socket in a folder that only its user can enter. It takes one JSON line and answers with one: ``{"ask":
"list"}`` tells what is in flight, ``{"ask": "cancel", "id": "7", "reason": "…"}`` cancels a request.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import struct
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final, cast

from mcp_tui.journal.state_folder import state_folder

QUESTION_BYTES: Final = 65536
"""Bytes of a question at most."""

REASON_CHARACTERS: Final = 4096
"""Characters of a reason at most."""

NOT_UNDERSTOOD: Final = {"refused": "this session does not know how to do that"}

ANSWER_SECONDS: Final = 5.0
"""Seconds that an answer may take."""

ALL_ANSWERS_SECONDS: Final = 0.25
"""Seconds that all sessions have for their answers when all are asked: a silent one must not hold up the list."""

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
def reachable(path: Path) -> Generator[str]:
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
        unready = place / f".{id}"
        try:
            with reachable(unready) as address:
                self.socket.bind(address)
                os.chmod(address, 0o600)  # noqa: PTH101 - before that, the folder keeps others out
            self.socket.listen()
            unready.replace(
                self._path
            )  # a door that does not listen yet would be cleared away as a dead one's
        except OSError:
            self.socket.close()
            raise
        self.socket.setblocking(False)

    def _place(self) -> Path:
        from mcp_tui.journal.files import make_private  # three times what who asks at a door has to load

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
    return _read(data.partition(b"\n")[0]) or {}


def answer(visitor: socket.socket, told: dict[str, Any]) -> None:
    """Answers a visitor, who may be gone, and says goodbye."""
    with suppress(OSError):
        visitor.settimeout(1.0)
        visitor.sendall(_line(told))
    visitor.close()


def doors() -> dict[str, Path]:
    """Returns the doors of all sessions by their names, some of which may be dead."""
    found: dict[str, Path] = {}
    for place in folders():
        with suppress(OSError):
            # somebody else's is no session of ours, whatever it answers
            for each in sorted(place.glob(f"*{SUFFIX}")) if place.stat().st_uid == os.getuid() else ():
                found.setdefault(each.stem, each)
    return found


def find(start: str) -> tuple[str, Path] | None:
    """Returns the name and the door of the session whose name begins so; ``None`` for none.

    Raises:
        LookupError: there are several; the text is one sentence.
    """
    known = doors()
    found = [name for name in known if name.startswith(start)]
    if len(found) > 1 and start not in known:
        raise LookupError(f"{len(found)} running sessions start with {start!r}. Give more of the name.")
    name = start if start in known else next(iter(found), None)
    return None if name is None else (name, known[name])


def connect(path: Path, patience: float) -> socket.socket | None:
    """Connects to a door; ``None`` if its session is dead. A dead one's is cleared away.

    Raises:
        OSError: it does not let us in (now).
    """
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(patience)
    try:
        with reachable(path) as address:
            link.connect(address)
    except OSError as error:
        link.close()
        # Only these two say that nobody listens any more; a session that is stopped or busy has not ended.
        if not isinstance(error, (ConnectionRefusedError, FileNotFoundError)):
            raise
        with suppress(OSError):
            path.unlink()
        return None
    return link


def ask(path: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """Asks at a door, and returns the answer; ``None`` if its session is dead, or silent."""
    data = b""
    with suppress(OSError):
        link = connect(path, ANSWER_SECONDS)
        if link is None:
            return None
        with link:
            link.sendall(_line(wanted))
            while piece := link.recv(65536):
                data += piece
    return _read(data)


def ask_all(wanted: dict[str, Any]) -> dict[str, dict[str, Any] | None]:
    """Asks at every door at once; returns the answers by the names of the sessions, ``None`` for a silent one."""
    told: dict[str, dict[str, Any] | None] = {}
    until = monotonic() + ALL_ANSWERS_SECONDS
    with selectors.DefaultSelector() as waiting:
        for name, path in doors().items():
            try:
                link = connect(path, 0.0)
                if link is not None:
                    link.send(_line(wanted))
                    waiting.register(link, selectors.EVENT_READ, (name, bytearray()))
                    told[name] = None
            except OSError:
                told[name] = None
        while waiting.get_map() and (left := until - monotonic()) > 0:
            for key, _ in waiting.select(left):
                link: Any = key.fileobj
                name, data = key.data
                if _heard(link, name, data, told):
                    waiting.unregister(link)
                    link.close()
        for key in list(waiting.get_map().values()):
            silent: Any = key.fileobj
            silent.close()
    return told


def _heard(link: Any, name: str, data: bytearray, told: dict[str, dict[str, Any] | None]) -> bool:
    """Takes what a session answers; returns true once that is all. One that says nothing has just ended."""
    with suppress(OSError):
        if piece := link.recv(65536):
            data += piece
            return False
    told[name] = _read(data)
    if not data:
        del told[name]
    return True


def _line(wanted: dict[str, Any]) -> bytes:
    return json.dumps(wanted).encode() + b"\n"


def _read(data: bytes | bytearray) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        read = json.loads(data)
        return cast("dict[str, Any]", read) if isinstance(read, dict) and read else None
    return None
