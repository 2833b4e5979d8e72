"""The control socket of a running session, and how another process connects to it.

It is a unix socket in a folder that only its user can enter. It takes one line and answers with one; those of
:mod:`mcp_tui.live.control`.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import struct
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple, cast

from mcp_tui.journal.state_folder import state_folder

QUESTION_BYTES: Final = 65536
"""The maximum size of a request, in bytes."""

ANSWER_SECONDS: Final = 5.0
"""Seconds that an answer may take."""

LIST_SECONDS: Final = 2.0
"""Seconds that sessions have for their answers to ``list`` once all were asked. Most need less than 0.1 s."""

STOPPED_SECONDS: Final = 0.25
"""Seconds for sessions whose process is stopped: a suspended workbench must not delay the others for long."""

ANSWER_BYTES: Final = 16 * 1024 * 1024
"""The maximum size of an answer, in bytes."""

HANG_UPS: Final = 3
"""How often a session may close the connection without an answer before that counts as its answer."""

SUFFIX: Final = ".sock"

ENDS: Final = ".ends"
"""The suffix of the socket of a process that wants to know what a session reports when it ends."""

END_BYTES: Final = 1 << 20
"""The maximum size of such a report, in bytes."""

WAITING_ENDS: Final = 4096
"""The number of reports that may wait in such a socket; the system may permit fewer."""


def folders() -> list[Path]:
    """Returns where sockets may be, the best place first: below ``$XDG_RUNTIME_DIR``, else in the state folder.

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


class ListeningSocket:
    """The socket at which this process listens until :meth:`close`. ``name`` is what others call the session.

    With the suffix :data:`ENDS` it is none of a session: sessions report there how they ended.

    Raises:
        OSError: there can be none.
    """

    def __init__(self, id: str, suffix: str = SUFFIX) -> None:
        known = sockets(suffix)
        # If this process replaces one that was killed, it takes over the socket's name.
        self.name = next(
            id[:length]
            for length in (4, 6, 8, len(id))
            if id[:length] not in known or is_dead(known[id[:length]])
        )
        place = self._place()
        self._path = place / f"{self.name}{suffix}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        unready = place / f".{id}"
        try:
            with reachable(unready) as address:
                self.socket.bind(address)
                os.chmod(address, 0o600)  # noqa: PTH101 - before that, the folder keeps others out
            self.socket.listen(WAITING_ENDS)
            # Moved last: a socket that does not listen yet would be removed as one of a dead session.
            unready.replace(self._path)
        except OSError:
            self.socket.close()
            raise
        self.socket.setblocking(False)

    def _place(self) -> Path:
        # This import is slow, and clients of a socket do not need it.
        from mcp_tui.journal.journal_files import make_private

        for place in folders():
            with suppress(OSError):
                make_private(place)
                return place
        raise OSError("no directory for the socket")

    def accept(self) -> socket.socket | None:
        """Accepts a connection of our user; returns ``None`` for any other."""
        return accepted(self.socket)

    def close(self) -> None:
        """Removes the socket."""
        with suppress(OSError):
            self._path.unlink()
        self.socket.close()


def accepted(listener: socket.socket) -> socket.socket | None:
    """Accepts a connection of our user, which does not block; returns ``None`` for any other, and if there is none."""
    try:
        link, _ = listener.accept()
    except OSError:
        return None
    link.setblocking(False)
    if _peer(link)[1] in (None, os.getuid()):
        return link
    link.close()
    return None


def _peer(link: socket.socket) -> tuple[int | None, int | None]:
    """Returns process and user at the other end; ``None`` if the system does not tell, where the folder alone protects.

    It tells no process of another container.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None, None
    pid, uid, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return pid or None, uid


def question(data: bytes | bytearray) -> bytes | None:
    """Returns the line of a request, once it is complete."""
    line, end, _ = bytes(data).partition(b"\n")
    return line if end or len(data) >= QUESTION_BYTES else None


def answer(link: socket.socket, told: dict[str, Any]) -> None:
    """Answers and closes a connection, which may be closed already. Does not wait for a slow reader."""
    data = _line(told)
    with suppress(OSError):
        if (sent := link.send(data)) < len(data):
            from threading import Thread  # Imported only for large answers to slow readers.

            Thread(target=_answer_rest, args=(link, data[sent:]), daemon=True).start()
            return
    link.close()


def _answer_rest(link: socket.socket, data: bytes) -> None:
    with link, suppress(OSError):
        link.settimeout(ANSWER_SECONDS)
        link.sendall(data)


def sockets(suffix: str = SUFFIX) -> dict[str, Path]:
    """Returns the sockets of all sessions by their names, some of which may be dead."""
    found: dict[str, Path] = {}
    for place in folders():
        with suppress(OSError):
            # A socket of another user is ignored.
            for each in sorted(place.glob(f"*{suffix}")) if place.stat().st_uid == os.getuid() else ():
                found.setdefault(each.stem, each)
    return found


def find(start: str) -> tuple[str, Path] | None:
    """Returns the name and the socket of the session whose name begins so; ``None`` for none.

    Raises:
        LookupError: there are several; the text is one sentence.
    """
    known = sockets()
    found = [name for name in known if name.startswith(start)]
    if len(found) > 1 and start not in known:
        raise LookupError(f"{len(found)} running sessions start with {start!r}. Give more of the name.")
    name = start if start in known else next(iter(found), None)
    return None if name is None else (name, known[name])


def connect(path: Path, patience: float) -> socket.socket | None:
    """Connects to a socket; returns ``None`` if its session is dead, and removes the socket.

    Raises:
        OSError: it accepts no connection now, or none of ours.
    """
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(patience)
    found: os.stat_result | None = None
    try:
        found = path.stat()
        with reachable(path) as address:
            link.connect(address)
    except OSError as error:
        link.close()
        # Only these two errors show that no process listens; a stopped or busy session has not ended.
        if not isinstance(error, (ConnectionRefusedError, FileNotFoundError)):
            raise
        with suppress(OSError):
            # A new recorder takes over the name of the one that was killed.
            if found is not None and path.stat().st_ino == found.st_ino:
                path.unlink()
        return None
    return link


def report_end(line: Callable[[], dict[str, Any]]) -> None:
    """Sends the last line of a session to each process that wants it (:data:`ENDS`). Waits for none."""
    for path in sockets(ENDS).values():
        with suppress(OSError):
            link = connect(path, 0.0)
            if link is not None:
                with link:
                    link.send(_line(line()))


def reported_ends(listener: socket.socket) -> Iterator[bytes]:
    """Yields the lines that sessions reported, and does not wait for more."""
    while (link := accepted(listener)) is not None:
        with link, suppress(OSError):
            yield link.recv(END_BYTES).partition(b"\n")[0]


def is_dead(path: Path) -> bool:
    """Whether a socket is that of a dead session, which is removed."""
    try:
        link = connect(path, 0.0)
    except OSError:
        return False
    if link is not None:
        link.close()
    return link is None


class Answer(NamedTuple):
    """The answer of a control socket: a line, if it is ``whole``, else the part that arrived in time.

    ``pid`` is that of the session, if the system knows it, and ``state`` that of this process: ``T`` if it is stopped, as by
    ctrl+z, ``X`` or ``Z`` if it has ended.
    """

    line: bytes
    whole: bool
    pid: int | None = None
    state: str = ""


class _Asked(NamedTuple):
    """A connection to a session, and the bytes received. ``again`` counts how often it was closed without an answer."""

    name: str
    path: Path
    pid: int | None
    data: bytearray
    again: int


def ask(known: Mapping[str, Path], wanted: dict[str, Any], seconds: float) -> dict[str, Answer]:
    """Asks sessions, all at once; returns the answers by their names. Sessions that have ended are left out.

    Those that say nothing have so many ``seconds`` after all were asked, and less if they are stopped.
    """
    answers: dict[str, Answer] = {}
    line = _line(wanted)
    with selectors.DefaultSelector() as waiting:
        for name, path in known.items():
            _ask_one(waiting, _Asked(name, path, None, bytearray(), 0), line, answers)
        began = monotonic()
        while waiting.get_map():
            spent = monotonic() - began
            until = STOPPED_SECONDS if spent < STOPPED_SECONDS else seconds
            ready = waiting.select(max(0.0, until - spent))
            for key, _ in ready:
                link: Any = key.fileobj
                asked: _Asked = key.data
                if _receive(link, asked, answers):
                    waiting.unregister(link)
                    link.close()
                    if asked.name not in answers:
                        _ask_one(waiting, asked._replace(again=asked.again + 1), line, answers)
            # Read before the clock is checked: bytes that arrived while this process had no processor are in time.
            pids = [key.data.pid for key in waiting.get_map().values()]
            stopped = spent >= STOPPED_SECONDS and all(_state(pid) == "T" for pid in pids)
            if not ready and (spent >= seconds or stopped):
                break
        for key in list(waiting.get_map().values()):
            link, asked = cast("socket.socket", key.fileobj), key.data
            answers[asked.name] = Answer(bytes(asked.data), False, asked.pid, _state(asked.pid))
            link.close()
    return answers


def _ask_one(waiting: selectors.BaseSelector, asked: _Asked, line: bytes, answers: dict[str, Answer]) -> None:
    # A session that ends removes its socket first; otherwise it was killed, and its answer is missing.
    was_there = asked.again and asked.path.exists()
    try:
        link = connect(asked.path, 0.0)
    except OSError:
        answers[asked.name] = Answer(b"", False, asked.pid, _state(asked.pid))
        return
    if link is None and was_there:
        answers[asked.name] = Answer(b"", False, asked.pid, "X")  # It may also be about to end.
    if link is not None:
        with suppress(OSError):  # The error shows on reading, if the connection was closed.
            link.send(line)
        waiting.register(link, selectors.EVENT_READ, asked._replace(pid=_peer(link)[0]))


def _receive(link: socket.socket, asked: _Asked, answers: dict[str, Answer]) -> bool:
    """Reads from a session; returns whether its answer is complete. Without one it is asked again."""
    piece = b""
    try:
        piece = link.recv(65536)
    except BlockingIOError:
        return False
    except OSError:
        pass  # A reset counts as a close.
    asked.data.extend(piece)
    if piece and b"\n" not in piece and len(asked.data) <= ANSWER_BYTES:
        return False
    # A session that closes without an answer has ended; the next connection shows that.
    if asked.data or asked.again >= HANG_UPS:
        answers[asked.name] = Answer(bytes(asked.data).partition(b"\n")[0], True, asked.pid)
    return True


def _state(pid: int | None) -> str:
    """Returns the state of a process, as in :class:`Answer`, where the system tells it by files."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0].upper()
    except OSError:
        return "X" if pid is not None and os.path.exists("/proc/self/stat") else ""  # noqa: PTH110


def _line(wanted: dict[str, Any]) -> bytes:
    return json.dumps(wanted).encode() + b"\n"
