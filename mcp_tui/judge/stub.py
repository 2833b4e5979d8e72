"""The process that a judged client starts as its server: it passes everything on to the judge, and decides nothing.

It is started by its path, not imported, with the path of the judge's socket. It ends when the judge closes that socket, and
by nothing else but SIGKILL: that its stdin was closed, or a signal came, it tells. So the judge decides whether the server
obeys, and nothing is left behind when the judge is gone.

To the judge: records of one byte that says what it is, two times, the number of bytes in four, and the bytes: ``b`` the
process id, ``o`` bytes from the client, ``c`` the end of those, ``s`` numbers of signals. The times are nanoseconds of the
monotonic clock in eight bytes each: when there was nothing to read yet, and when it was read. The judge may be busy, so it
does not stamp by itself. From the judge: bytes for the client.

Every import here is paid for at each start: keep them few.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from time import monotonic_ns

READ_BYTES = 65536
BEAT_SECONDS = 0.05
"""Seconds after which the process looks again, so that it knows since when something can have come."""
PASSED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def ignore(number: int, frame: object) -> None:
    """Lets a signal wake the loop, and nothing else."""


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
        self.report(b"b", b"%d" % os.getpid())
        while self.is_judged or self.pending:
            looked = monotonic_ns()
            ready, writable, _ = select.select(self.reading, [1] if self.pending else [], [], BEAT_SECONDS)
            if 0 in ready:
                self.read()
            else:
                self.since = looked
            if self.woken in ready:
                self.report(b"s", os.read(self.woken, READ_BYTES))
            if self.link.fileno() in ready:
                self.obey()
            if writable:
                self.write()

    def report(self, kind: bytes, data: bytes) -> None:
        """Tells the judge, while there is one."""
        if self.is_judged:
            times = self.since.to_bytes(8, "big") + monotonic_ns().to_bytes(8, "big")
            self.link.sendall(kind + times + len(data).to_bytes(4, "big") + data)

    def read(self) -> None:
        """Takes bytes of the client."""
        try:
            data = os.read(0, READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self.reading.remove(0)
        self.report(b"o" if data else b"c", data)

    def obey(self) -> None:
        """Takes bytes of the judge."""
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
    """Finds the judge, and works for it.

    Raises:
        OSError: there is no judge.
    """
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    # The loop learns of signals by a pipe: Python's select() goes on by itself after a handler that returns.
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in PASSED:
        signal.signal(number, ignore)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # A client that does not read must not keep the stub from telling the judge what the client does.
    os.set_blocking(1, False)
    Stub(link, woken).run()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except OSError:
        sys.exit(1)
