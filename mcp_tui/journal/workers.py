"""Work on the requests of a long recording, shared among processes: one for each processor core."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BufferedReader
from typing import Final, TypeVar

Made = TypeVar("Made")

PLACES: Final = 500
"""The number of requests that one piece of work is about."""

_MOST: Final = 8
"""The most processes: each of them takes memory."""


def in_parallel(count: int, work: Callable[[range], Made]) -> Iterator[Made]:
    """Yields what ``work`` returns for each range of the places from 0 to ``count``, in order.

    Another process may call it, so it must change nothing, and return what can be pickled.
    """
    pieces = [range(at, min(at + PLACES, count)) for at in range(0, count, PLACES)]
    workers = min(os.cpu_count() or 1, len(pieces) // 2, _MOST)
    files = [_start(pieces[number::workers], work) for number in range(workers)] if workers > 1 else []
    try:
        for number, piece in enumerate(pieces):
            made: Made
            try:
                made = pickle.load(files[number % workers][0])  # noqa: S301 - a process of ours wrote it
            except (EOFError, IndexError, ZeroDivisionError, pickle.UnpicklingError):
                made = work(piece)  # without workers, or one has failed: then the error is raised here
            yield made
    finally:
        for file, _ in files:
            file.close()
        for _, pid in files:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _start(pieces: Sequence[range], work: Callable[[range], object]) -> tuple[BufferedReader, int]:
    """Starts a process that does some pieces of work; returns a pipe with the results, and its process id."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return os.fdopen(ours, "rb"), pid
    # The process ends without any cleaning up, which is that of the other process.
    try:
        os.close(ours)
        with os.fdopen(theirs, "wb") as file:
            for piece in pieces:
                pickle.dump(work(piece), file, pickle.HIGHEST_PROTOCOL)
                file.flush()
    finally:
        os._exit(0)
