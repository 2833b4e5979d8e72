"""``python -m tests.monkey [--seconds N] [--seed N] [--steps N]``: runs with fresh seeds until stopped, or with one seed."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import sys
import time
import traceback
from collections.abc import Iterable

from tests.monkey.run import both
from tests.monkey.steps import SIZES, Step, steps

TRIES = 12
"""Rounds in which a failure is made shorter."""

SHORTENING = 120.0
"""Seconds in which that begins another run."""


def attempt(seed: int, size: tuple[int, int], planned: Iterable[Step]) -> tuple[str, list[Step]]:
    """Run; the first line of what went wrong, empty for nothing, and the steps that led there."""
    done: list[Step] = []
    try:
        judge = asyncio.run(both(seed, size, planned, done))
    except Exception as error:  # noqa: BLE001 - whatever it is, it was found
        traceback.print_exception(error, limit=-8)
        return f"{type(error).__name__}: {error}".splitlines()[0], done
    screens = ", ".join(f"{top} {count}" for top, count in judge.tops.most_common())
    print(
        f"seed {seed} {size[0]}x{size[1]}: nothing found, {judge.calls} requests; steps on {screens}",
        flush=True,
    )
    return "", done


def shorter(seed: int, size: tuple[int, int], failing: list[Step], wrong: str) -> list[Step]:
    """Leave out what the failure does not need, as far as a few runs find it."""
    part = len(failing) // 2
    end = time.monotonic() + SHORTENING
    for _ in range(TRIES):
        if part < 1:
            break
        for start in range(0, len(failing) - part, part):
            if time.monotonic() > end:
                return failing
            fewer = failing[:start] + failing[start + part :]
            again, done = attempt(seed, size, fewer)
            if again.partition(":")[0] == wrong.partition(":")[0]:
                failing = done
                break
        else:
            part //= 2
    return failing


def main() -> int:
    """Return 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.monkey")
    parser.add_argument("--seconds", type=float, help="end after so many; without it only when stopped")
    parser.add_argument("--seed", type=int, help="run this one, at each size")
    parser.add_argument("--steps", type=int, default=100, help="steps of a run")
    parser.add_argument("--size", type=int, choices=range(len(SIZES)), help="only this size, the least first")
    options = parser.parse_args()
    end = time.monotonic() + (options.seconds or float("inf"))
    sizes = SIZES if options.size is None else SIZES[options.size : options.size + 1]
    for number in itertools.count():
        if time.monotonic() > end or (options.seed is not None and number == len(sizes)):
            return 0
        seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
        size = sizes[number % len(sizes)]
        print(f"seed {seed} {size[0]}x{size[1]} begins", flush=True)
        planned = itertools.islice(steps(seed), options.steps)
        wrong, done = attempt(seed, size, itertools.takewhile(lambda _: time.monotonic() < end, planned))
        if wrong:
            print(f"\nseed {seed}, size {size[0]}x{size[1]}: {wrong}\nafter:", *done, sep="\n  ")
            fewer = shorter(seed, size, done, wrong)
            print(f"\n{wrong}\nseed {seed}, size {size[0]}x{size[1]}, at least:", *fewer, sep="\n  ")
            print(f"\nagain: python -m tests.monkey --seed {seed} --steps {options.steps}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
