"""Restores the terminal, however the workbench ends.

Textual restores it when the app ends normally. Signals cause such an end. If that takes too long, or the process ends
in another way, this module restores the terminal without Textual.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, Final

SEQUENCE: Final = (
    "\x1b[?2026l"  # ends a synchronised frame
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?2004l\x1b[?1004l\x1b[?2048l"  # pastes, focus, sizes
    "\x1b[?7h"  # line wrap
    "\x1b[<u"  # keyboard protocol
    "\x1b[?1049l"  # the alternate screen
    "\x1b[?25h\x1b[0m"  # cursor, colours
)
"""Resets every mode that the workbench sets; harmless if a mode is not set."""

RESTORING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

ORDERLY_END_SECONDS: Final = 8.0
"""Seconds that a normal end may take after a signal, on a busy machine; usually it takes less than three."""


def reset() -> None:
    """Writes :data:`SEQUENCE` without buffers. Pending output for a terminal that does not read is discarded."""
    with contextlib.suppress(OSError, ValueError, AttributeError, termios.error):
        fd = sys.__stderr__.fileno()  # type: ignore[union-attr]
        if not _writable(fd):
            termios.tcflush(fd, termios.TCOFLUSH)
        if _writable(fd):
            os.write(fd, SEQUENCE.encode())


def _writable(fd: int) -> bool:
    return bool(select.select((), (fd,), (), 0)[1])


class Terminal:
    """The state of the terminal before the workbench; :meth:`put_back` restores it once."""

    def __init__(self) -> None:
        self._attributes: list[Any] | None = None
        self._fd = -1
        self._back = False
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._fd = sys.__stdin__.fileno()  # type: ignore[union-attr]
            if os.isatty(self._fd):  # with textual-serve it is a pipe
                self._attributes = termios.tcgetattr(self._fd)

    def put_back(self) -> None:
        """Resets the modes of the terminal, and restores the line discipline."""
        if not self._back:
            reset()
            self.done()

    def done(self) -> None:
        """Restores only the line discipline, after Textual has restored the rest."""
        self._back = True
        if self._attributes is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(self._fd, termios.TCSANOW, self._attributes)

    @property
    def closed(self) -> bool:
        """Whether the terminal was closed."""
        try:
            return self._attributes is not None and not termios.tcgetattr(self._fd)
        except (OSError, termios.error):
            return True


@contextlib.contextmanager
def restoring(leave: Callable[[int], bool]) -> Generator[Terminal, None, None]:
    """Restores the terminal at the end of the block, however it ends.

    A signal calls ``leave(128 + number)`` in the main thread: it starts a normal end, and returns whether one will
    follow. A second signal, or an end that takes longer than :data:`ORDERLY_END_SECONDS`, exits at once; the guard of
    a server that is left running ends it.
    """
    terminal = Terminal()
    asked: list[int] = []

    def at_once(status: int) -> None:
        terminal.put_back()
        os._exit(status)

    def on_signal(number: int, _frame: FrameType | None) -> None:
        status = 128 + number
        if asked:
            at_once(status)
        asked.append(number)
        if terminal.closed:
            # Nobody reads any more, and a write would block or fail.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        last = threading.Timer(ORDERLY_END_SECONDS, at_once, (status,))
        last.daemon = True
        last.start()
        if not leave(status):
            raise SystemExit(status)

    before = {number: signal.signal(number, on_signal) for number in RESTORING_SIGNALS}
    try:
        yield terminal
    finally:
        for number, old in before.items():
            signal.signal(number, old)
        terminal.put_back()
