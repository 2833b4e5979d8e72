"""The start of a tap's recorder, which runs :mod:`mcp_tui.tap.recorder_main`.

It starts right behind the server, because a limit must hold from the first line on. All taps over stdio of a user
share one process (:mod:`mcp_tui.tap.shared_recorder`), which the first of them starts: most of a recorder is its program.
Where that cannot be, a tap has a recorder of its own.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os
import sys

PROGRAM = "import sys; sys.path[:] = {path!r}; from mcp_tui.tap.recorder_main import run; run()"
"""The program of a recorder, which imports from ``path``."""

NAME = "mcp_tui.tap.recorder"
"""The name by which a recorder is found in a list of processes."""

SHARED = "shared"
"""The kind of a recorder for many taps."""

CONNECT_SECONDS = 0.5
"""Seconds that a shared recorder may take to let a tap in."""

DECIDING = (b"HOME", b"LANG", b"TMPDIR", b"TZ")
"""Variables that say where and how a recorder writes, besides those that begin so:"""
DECIDING_STARTS = (b"LC_", b"MCP_TUI_", b"XDG_")


class RecorderProcess:
    """A recorder that is starting, or one that runs, and our ends of the pipes to and from it.

    ``kind`` is ``stdio`` or ``http``. ``session`` is the id of a session over stdio, with which a new recorder may go on.
    ``shared`` asks for the one that many taps share; whether it is one is in the attribute. The pipe to it does not block.
    """

    shared = False

    def __init__(self, kind: str, session: str = "", *, shared: bool = False) -> None:
        self.kind = kind
        self.session = session or os.urandom(6).hex()
        self.pid = 0
        """Its process; 0 while a shared one has not said it."""
        (its_records, self.records), (self.orders, its_orders) = os.pipe(), os.pipe()
        self.shared = shared and self._share(its_records, its_orders)
        if not self.shared:
            self.pid = start((its_records, its_orders), kind, self.session)
        os.close(its_records)
        os.close(its_orders)
        os.set_blocking(self.records, False)

    def _share(self, its_records: int, its_orders: int) -> bool:
        """Gives the pipes to the shared recorder, which is started if there is none; returns whether that could be done."""
        # Modules in C: those in Python would take longer than all else.
        import fcntl
        from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

        deciding = {name: value for name, value in os.environb.items() if is_deciding(name)}
        try:
            folder, name = shared_place(deciding)
            number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return False
        path = address = f"{folder}/{name}"
        if len(os.fsencode(path)) > 100:  # the system permits 108 bytes
            address = f"/proc/self/fd/{number}/{name}"
        link = socket(AF_UNIX, SOCK_STREAM)
        link.settimeout(CONNECT_SECONDS)
        try:
            # One at a time: two that start at once must not start a recorder each.
            fcntl.flock(number, fcntl.LOCK_EX)
            try:
                link.connect(address)
            except (ConnectionRefusedError, FileNotFoundError):
                listener = socket(AF_UNIX, SOCK_STREAM)
                if os.path.lexists(path):
                    os.unlink(path)  # noqa: PTH108 - pathlib is a costly import
                listener.bind(address)
                listener.listen(512)
                self.pid = start((listener.fileno(),), SHARED, path, deciding)
                listener.close()
                link.connect(address)
            # What is secret in the environment of the server is not recorded, and the recorder has another environment.
            hello = repr((self.session, os.getpid(), dict(os.environb))).encode() + b"\n"
            pipes = b"".join(each.to_bytes(4, sys.byteorder) for each in (its_records, its_orders))
            sent = link.sendmsg([hello], [(SOL_SOCKET, SCM_RIGHTS, pipes)])
            # Not where nothing is left: the recorder has the pipes then and may have closed its end, and the error would
            # start a second recorder at the same pipes.
            if sent < len(hello):
                link.sendall(hello[sent:])
        except OSError:
            return False
        finally:
            os.close(number)
            link.close()
        return True


def start(
    kept: tuple[int, ...], kind: str, session: str, environment: dict[bytes, bytes] | None = None
) -> int:
    """Starts a recorder with these descriptors, and no other ones; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        # The recorder inherits no other pipe: the guard ends the server once that of its requests is closed, and the
        # client waits for the ends of its streams.
        at = 0
        for number in sorted(kept):
            os.closerange(at, number)
            os.set_inheritable(number, True)
            at = number + 1
        os.closerange(at, 1 << 16)
        for _ in range(3):
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if sys.platform == "linux":
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # without interrupting others
        # Isolated (-I -S): variables that decide how Python starts are meant for the server, and
        # the folder in which a client starts its servers may be anybody's.
        path, own = import_path()
        words = ["-I", "-S", "-c", PROGRAM.format(path=[*path, *(own,)[own in path :]])]
        words += [NAME, *map(str, kept), kind, session]
        os.execve(
            sys.executable, [sys.executable, *words], os.environb if environment is None else environment
        )
    finally:
        os._exit(1)


def is_deciding(name: bytes) -> bool:
    """Whether a variable says where or how a recorder writes."""
    return name in DECIDING or name.startswith(DECIDING_STARTS)


def shared_place(deciding: dict[bytes, bytes]) -> tuple[str, str]:
    """Returns the folder of the socket of the shared recorder, and the name there.

    That is another one for each version of mcp-tui, and for each set of variables that decide where it writes.

    Raises:
        OSError: there can be none, or the folder is not our user's alone.
    """
    from binascii import crc32

    from mcp_tui import __version__

    folder = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    if not (os.environ.get("XDG_RUNTIME_DIR") or os.path.isdir(folder)):  # noqa: PTH112 - pathlib is a costly import
        folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    folder += "/mcp-tui"
    if any(value[:1] not in (b"/", b"~") for name, value in deciding.items() if name.startswith(b"MCP_TUI_")):
        raise OSError("a relative path means another folder in each tap")
    os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
    status = os.stat(folder)  # noqa: PTH116
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise OSError("the folder is not our user's alone")
    path, own = import_path()
    known = repr((__version__, sys.executable, PROGRAM, own, path, sorted(deciding.items()))).encode()
    return folder, f".recorder-{crc32(known):08x}{crc32(known[::-1]):08x}"


def import_path() -> tuple[list[str], str]:
    """Returns the folders of modules, and the one with this package, which may be none of them.

    Neither that of the program, or of the client, is among them, nor those of a PYTHONPATH, which is the server's.
    """
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    foreign = () if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [each for each in sys.path[not sys.flags.safe_path :] if each not in foreign], own
