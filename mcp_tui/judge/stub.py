"""The process that a judged client starts as its server: it passes everything on to the judge, and decides nothing.

It is started by its path, with the path of the judge's socket. It ends when the judge closes that socket, and otherwise only
by SIGKILL: the end of its stdin, and signals, are records for the judge. So the judge decides whether the server obeys, and
nothing is left behind when the judge has ended.

The judge reads records by :func:`read_record`. It may be busy, so a record has its own times: when there was nothing to
read yet, and when it was read, in nanoseconds of the monotonic clock. The judge sends only bytes for the client.

Every import here is paid for at each start: keep them few.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import StreamReader

VERSION = 1
"""The version of the records. An updated mcp-tui may start this process for a judge that still runs."""

STARTED = b"b"
"""The process id, and the version."""
FROM_CLIENT = b"o"
"""Bytes from the client."""
INPUT_END = b"c"
"""The end of these bytes."""
SIGNALS = b"s"
"""Received signals, one byte each."""
HEAD_BYTES = 21
"""A kind, two times in eight bytes each, and the size of the data in four."""

READ_BYTES = 65536
BEAT_SECONDS = 0.05
"""Seconds after which the process checks again for input, which bounds the time at which that can have arrived."""
PASSED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def read_record(reader: StreamReader) -> tuple[bytes, bytes, float, float]:
    """Returns the kind and the data of a record, a time at which it was not there yet, and its time, in monotonic seconds.

    Raises:
        IncompleteReadError: the process has ended.
    """
    head = await reader.readexactly(HEAD_BYTES)
    since, at = (int.from_bytes(head[place : place + 8], "big") / 1e9 for place in (1, 9))
    return head[:1], await reader.readexactly(int.from_bytes(head[17:], "big")), since, at


def ignore(number: int, frame: object) -> None:
    """Does nothing: the signal only wakes the loop."""


class Stub:
    """The process, with its ``link`` to the judge and ``woken``, where the numbers of signals come."""

    def __init__(self, link: socket.socket, woken: int) -> None:
        self.link = link
        self.woken = woken
        self.reading = [0, woken, link.fileno()]
        self.pending = b""
        self.is_judged = True
        self.since = monotonic_ns()
        """The last time at which there was nothing to read from the client."""

    def run(self) -> None:
        """Passes bytes until the judge closes its end."""
        self.report(STARTED, b"%d %d" % (os.getpid(), VERSION))
        while self.is_judged or self.pending:
            looked = monotonic_ns()
            ready, writable, _ = select.select(self.reading, [1] if self.pending else [], [], BEAT_SECONDS)
            if 0 in ready:
                self.read()
            else:
                self.since = looked
            if self.woken in ready:
                self.report(SIGNALS, os.read(self.woken, READ_BYTES))
            if self.link.fileno() in ready:
                self.obey()
            if writable:
                self.write()

    def report(self, kind: bytes, data: bytes) -> None:
        """Sends a record to the judge, if it still listens."""
        if self.is_judged:
            times = self.since.to_bytes(8, "big") + monotonic_ns().to_bytes(8, "big")
            self.link.sendall(kind + times + len(data).to_bytes(4, "big") + data)

    def read(self) -> None:
        """Reads bytes from the client."""
        try:
            data = os.read(0, READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self.reading.remove(0)
        self.report(FROM_CLIENT if data else INPUT_END, data)

    def obey(self) -> None:
        """Reads bytes from the judge."""
        data = self.link.recv(READ_BYTES)
        if not data:
            self.is_judged = False
            self.reading.remove(self.link.fileno())
        self.pending += data

    def write(self) -> None:
        """Writes to the client."""
        try:
            self.pending = self.pending[os.write(1, self.pending) :]
        except BlockingIOError:
            pass
        except OSError:
            self.pending = b""


def main(path: str) -> None:
    """Connects to the judge, and passes bytes until it hangs up.

    Raises:
        OSError: no judge listens.
    """
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    # The loop learns of signals by a pipe: Python repeats select() after a handler that returns.
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in PASSED:
        signal.signal(number, ignore)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # A client that does not read must not delay the records about it.
    os.set_blocking(1, False)
    Stub(link, woken).run()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except OSError:
        sys.exit(1)
