"""The terminal as it was, however the workbench ends.

Textual puts the terminal back when the app ends in order. Signals are turned into such an end; where that does not come
about in time, or something ends the process beside it, what is here puts it back without Textual.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import termios
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, Final

SEQUENCE: Final = (
    "\x1b[?2026l"  # end of a synchronised frame
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?2004l\x1b[?1004l\x1b[?2048l"  # pastes, focus, sizes
    "\x1b[?7h"  # line wrap
    "\x1b[<u"  # keyboard protocol
    "\x1b[?1049l"  # the other screen
    "\x1b[?25h\x1b[0m"  # cursor, colours
)
"""What takes back every mode that the workbench sets; none of it hurts a terminal in which it is not set."""

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

PATIENCE: Final = 8.0
"""Seconds that an end in order may take after a signal: two for cancels to leave, five for the server to go."""


class Terminal:
    """The terminal's state before the workbench; :meth:`put_back` makes it so again, once."""

    def __init__(self) -> None:
        self._attributes: list[Any] | None = None
        self._fd = -1
        self._back = False
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._fd = sys.__stdin__.fileno()  # type: ignore[union-attr]
            if os.isatty(self._fd):  # for textual-serve it is a pipe
                self._attributes = termios.tcgetattr(self._fd)

    def put_back(self) -> None:
        """Write :data:`SEQUENCE` past all buffers and set the line discipline to what it was."""
        if not self._back:
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.write(sys.__stderr__.fileno(), SEQUENCE.encode())  # type: ignore[union-attr]
            self.done()

    def done(self) -> None:
        """Textual has put it back: set the line discipline alone."""
        self._back = True
        if self._attributes is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(self._fd, termios.TCSANOW, self._attributes)

    @property
    def gone(self) -> bool:
        """Whether the terminal was closed under us."""
        try:
            return self._attributes is not None and not termios.tcgetattr(self._fd)
        except (OSError, termios.error):
            return True


@contextlib.contextmanager
def restoring(leave: Callable[[int], bool]) -> Generator[Terminal, None, None]:
    """Put the terminal back at the end of the block, however that comes.

    At a signal ``leave(128 + number)`` is called, in the main thread between two steps of Python: it begins an orderly
    end and says whether there is one to wait for. A second signal, or an end that takes longer than :data:`PATIENCE`,
    leaves at once; a server that is left behind is ended by its guard.
    """
    terminal = Terminal()
    atexit.register(terminal.put_back)
    asked: list[int] = []

    def at_once(status: int) -> None:
        terminal.put_back()
        os._exit(status)

    def on_signal(number: int, _frame: FrameType | None) -> None:
        status = 128 + number
        if asked:
            at_once(status)
        asked.append(number)
        if terminal.gone:
            # Nobody reads any more, and a write would block or fail: let it go into nothing.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        last = threading.Timer(PATIENCE, at_once, (status,))
        last.daemon = True
        last.start()
        if not leave(status):
            raise SystemExit(status)

    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    try:
        yield terminal
    finally:
        for number, old in before.items():
            signal.signal(number, old)
        terminal.put_back()
        atexit.unregister(terminal.put_back)
