"""Many schedules, over as many processes as there are cores."""

from __future__ import annotations

import gc
import multiprocessing
from collections import Counter

from tests.simulation.run import play

CHUNK = 100


def some(first: int) -> Counter[str]:
    """A chunk of seeds: how many were played, and how much they were about. Garbage is collected once before the next."""
    tally: Counter[str] = Counter()
    gc.collect()
    gc.disable()
    for seed in range(first, first + CHUNK):
        watch = play(seed).watch
        tally += Counter(played=1, signals=watch.signals.total(), events=watch.client.requests.version)
    return tally


def many(first: int, count: int) -> Counter[str]:
    """Plays ``count`` schedules (a multiple of 100) from a seed on.

    Raises:
        AssertionError: one of them broke an invariant; the text has its seed.
    """
    with multiprocessing.get_context("spawn").Pool() as pool:
        return sum(pool.imap_unordered(some, range(first, first + count, CHUNK)), Counter[str]())
