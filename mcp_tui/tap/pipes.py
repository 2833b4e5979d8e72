"""Pipes of a tap: what reads, writes, and waits for them.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import fcntl
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

READ_BYTES = 1 << 16
"""Bytes read at a time, the capacity of a pipe. Larger reads allocate new memory each time, which is slower."""
PIPE_BYTES = 1 << 20
"""The capacity of the tap's pipes in bytes, if the system permits it."""


def warn(text: str) -> None:
    """Writes one line to stderr; ignores a closed pipe."""
    try:
        os.write(2, f"mcp-tui tap: {text}\n".encode(errors="backslashreplace"))
    except OSError:
        return


def cannot_start(error: OSError) -> NoReturn:
    """Ends the tap: too few open files or processes are allowed. A server that runs is ended by its guard."""
    warn(f"Cannot start the tap: {error.strerror}. Raise the limit (ulimit -n).")
    os._exit(127)


def ready(event: int, *numbers: int, seconds: float | None = None) -> set[int]:
    """Waits until a descriptor can be read or written, for ``seconds`` at most; returns those that can."""
    # select() fails for descriptors above 1,023, and the client may have left many open.
    poll = select.poll()
    for number in numbers:
        poll.register(number, event)
    return {number for number, _ in poll.poll(None if seconds is None else seconds * 1000)}


def is_closed(number: int) -> bool:
    """Whether the other end of a pipe or socket is closed."""
    poll = select.poll()
    poll.register(number, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


PF_EXITING = 4
"""A flag of Linux in ``/proc/PID/stat``."""


def is_running(pid: int) -> bool:
    """Whether a process has not begun to exit, as far as /proc shows: its pipes close shortly before it has exited."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - pathlib is a costly import
            fields = file.read().rpartition(b")")[2].split()
        return fields[0] not in (b"Z", b"X") and not int(fields[6]) & PF_EXITING
    except ProcessLookupError:
        return False
    except OSError:  # There is no /proc, or the process belongs to another user.
        return True


def write(sink: int, data: bytes | memoryview) -> None:
    """Writes all bytes, and waits for a slow reader.

    Raises:
        OSError: nobody reads any more.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(sink, view) :]
        except BlockingIOError:  # Another process that shares the pipe made it non-blocking.
            ready(select.POLLOUT, sink)


def read(source: int) -> bytes:
    """Reads the available bytes, or waits for some; returns no bytes at the end."""
    while True:
        try:
            return os.read(source, READ_BYTES)
        except BlockingIOError:
            ready(select.POLLIN, source)
        except OSError:
            return b""


def end(number: int) -> None:
    """Closes a pipe but keeps its descriptor in use, so that no other file gets the number."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, number)
        os.close(nothing)
    except OSError:
        return


def widen(pipe: int) -> None:
    """Enlarges a pipe, so that much data needs fewer switches between processes."""
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (AttributeError, OSError):  # Other systems than Linux cannot, and users have a limit.
        return


def outlive_client() -> None:
    """Detaches this process from the client, so that it can finish writing."""
    # Only at the end.
    import signal

    os.setsid()
    for number in range(3):  # The client waits until its streams are closed.
        end(number)
    # A signal to all processes of the client, as at a shutdown, must not stop the writing.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
