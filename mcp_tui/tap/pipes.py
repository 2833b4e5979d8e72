"""Pipes of a tap: what reads, writes, and waits for them.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal

READ_BYTES = 1 << 16
"""Bytes read at a time: what a pipe holds. For more, each read takes new memory from the system, which costs more."""
PIPE_BYTES = 1 << 20
"""Bytes that our own pipes hold, where the system permits it."""


def warn(text: str) -> None:
    """Says something on stderr in one line; nobody may be reading it."""
    try:
        os.write(2, f"mcp-tui tap: {text}\n".encode(errors="backslashreplace"))
    except OSError:
        return


def ready(event: int, *numbers: int, seconds: float | None = None) -> set[int]:
    """Waits until a descriptor can be read or written, for ``seconds`` at most; returns those that can."""
    # select takes no numbers from 1,024, and a client may have left us as many.
    poll = select.poll()
    for number in numbers:
        poll.register(number, event)
    return {number for number, _ in poll.poll(None if seconds is None else seconds * 1000)}


def is_closed(number: int) -> bool:
    """Whether the other end of a pipe or socket is."""
    poll = select.poll()
    poll.register(number, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


PF_EXITING = 4
"""A flag of Linux in ``/proc/PID/stat``."""


def is_running(pid: int) -> bool:
    """Whether a process has not begun to exit, as far as can be seen: its pipes close a moment before it has exited."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - pathlib is a costly import
            fields = file.read().rpartition(b")")[2].split()
        return fields[0] not in (b"Z", b"X") and not int(fields[6]) & PF_EXITING
    except ProcessLookupError:
        return False
    except OSError:  # without /proc, or another user's
        return True


def write(sink: int, data: bytes | memoryview) -> None:
    """Writes all bytes, waiting for a reader that takes its time.

    Raises:
        OSError: nobody reads any more.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(sink, view) :]
        except BlockingIOError:  # another process that shares it made it non-blocking
            ready(select.POLLOUT, sink)


def read(source: int) -> bytes:
    """Reads what is there, or waits for it; nothing at the end."""
    while True:
        try:
            return os.read(source, READ_BYTES)
        except BlockingIOError:
            ready(select.POLLIN, source)
        except OSError:
            return b""


def end(number: int) -> None:
    """Closes a descriptor in a way that keeps its number taken: nothing else must get it."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, number)
        os.close(nothing)
    except OSError:
        return


def widen(pipe: int) -> None:
    """Makes a pipe hold more, so that a flood changes between processes less often."""
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (AttributeError, OSError):  # not on Linux, or more than a user may have
        return


def outlive_client() -> None:
    """Makes this process one that writes to its end: its client neither waits for it nor ends it."""
    os.setsid()
    for number in range(3):  # the client waits for the ends of its streams
        end(number)
    # What ends all processes of a client at once, as a shutdown does, leaves time to write.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
