"""Many schedules, over as many processes as there are cores."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.simulation.run import Failed, play

CHUNK = 100


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of a range of seeds: how many were played, the first that broke, and how much they were about.

    ``seconds`` are those of the processor, of all processes together.
    """

    played: int = 0
    broken: str = ""
    signals: int = 0
    events: int = 0
    seconds: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.played + other.played,
            self.broken or other.broken,
            self.signals + other.signals,
            self.events + other.events,
            self.seconds + other.seconds,
        )


def _some(first: int) -> Tally:
    """A chunk of seeds. Garbage is collected once after it, not in between."""
    began, tally = time.process_time(), Tally()
    gc.disable()
    gc.freeze()
    try:
        for seed in range(first, first + CHUNK):
            world = play(seed)
            tally += Tally(1, "", world.watch.signals.total(), world.watch.client.book.version)
    except Failed as error:
        tally += Tally(1, str(error))
    finally:
        gc.collect()
        gc.unfreeze()
        gc.enable()
    return tally + Tally(seconds=time.process_time() - began)


def many(first: int, count: int) -> Tally:
    """Plays ``count`` schedules (a multiple of 100) from a seed on; they end with the first that breaks."""
    total = Tally()
    for tally in _tallies(range(first, first + count, CHUNK)):
        total += tally
        if total.broken:
            break
    return total


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _tallies(chunks: range) -> Iterator[Tally]:
    processes = min(cores(), len(chunks) // 5)
    if processes < 2:
        yield from map(_some, chunks)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(_some, chunks)
