"""Standard output and standard error of a command that has a clock to keep.

They are written by a thread: a reader that takes its time (a pager, a full pipe, a slow terminal) holds up no cancel, no
timeout, no signal, and falsifies no measurement.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import groupby
from operator import itemgetter
from typing import Final

BACKLOG: Final = 64 * 1024 * 1024
"""Characters that may wait to be read; with more, the command waits as well."""

LAST_WORDS: Final = 1.0
"""Seconds in which what is left is to be read once a signal has come."""

_Piece = tuple[bool, str]
"""Whether it is for stderr, and the text."""


class Streams:
    """Writes in the order in which it is told to. To be made in a running loop.

    ``closed`` is called in the loop, once, when stdout cannot be written any more; what comes then for it is dropped.
    """

    def __init__(self, closed: Callable[[], None]) -> None:
        self._closed = closed
        self._loop = asyncio.get_running_loop()
        self._hurry: asyncio.Future[None] = self._loop.create_future()
        self._news = threading.Condition()
        self._pieces: list[_Piece] = []
        self._marks: list[Future[None]] = []
        self._size = 0
        self._broken = False
        self._thread: threading.Thread | None = None

    def out(self, text: str) -> None:
        """Write to stdout, soon."""
        self._put((False, text))

    def err(self, text: str) -> None:
        """Write to stderr, soon. That nobody reads it is no reason to stop."""
        self._put((True, text))

    def hurry(self) -> None:
        """A signal came: wait for a reader no longer than it takes to read what is left."""
        if not self._hurry.done():
            self._hurry.set_result(None)

    async def drained(self) -> bool:
        """Wait until all is written; false where nobody read it although there was reason to :meth:`hurry`."""
        if self._thread is None:
            return True
        done = asyncio.wrap_future(self._mark())
        await asyncio.wait([done, self._hurry], return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            await asyncio.wait([done], timeout=LAST_WORDS)
        return done.done()

    def flush(self, patience: float) -> None:
        """Block until all is written, at most so many seconds: for the last moment of a process."""
        if self._thread is not None:
            with contextlib.suppress(TimeoutError):
                self._mark().result(patience)

    def _mark(self) -> Future[None]:
        """Done as soon as all that was put before it is written."""
        mark = Future[None]()
        with self._news:
            self._marks.append(mark)
            self._news.notify_all()
        return mark

    def _put(self, piece: _Piece) -> None:
        with self._news:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="streams", daemon=True)
                self._thread.start()
            self._news.wait_for(lambda: self._size < BACKLOG)
            self._pieces.append(piece)
            self._size += len(piece[1])
            self._news.notify_all()

    # -- the thread ------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._pieces or self._marks)
                pieces, self._pieces = self._pieces, []
                marks, self._marks = self._marks, []
            for is_err, some in groupby(pieces, key=itemgetter(0)):
                text = "".join(piece for _, piece in some)
                if is_err:
                    _write_err(text)
                elif not self._broken:
                    self._write_out(text)
            with self._news:
                self._size -= sum(len(text) for _, text in pieces)
                self._news.notify_all()
            for mark in marks:
                mark.set_result(None)

    def _write_out(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except (OSError, ValueError) as error:
            self._broken = True
            if not isinstance(error, (BrokenPipeError, ValueError)):
                _write_err(f"mcp-tui: Cannot write to stdout: {error.strerror}.\n")
            with contextlib.suppress(RuntimeError):  # the loop is closed: the command was cut short
                self._loop.call_soon_threadsafe(self._closed)


def _write_err(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
