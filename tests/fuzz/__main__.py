"""``python -m tests.fuzz [--inputs N] [--seed S] [--target NAME]``: random inputs to all that reads what others wrote.

Each input is made from a sound one of its kind: cut, doubled, spliced, and with odd pieces put in. It has its own seed, so
it is made again alone: a failure prints the command for that, and the least input that was found to fail the same way.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.fuzz.inputs import mutated, mutated_json
from tests.fuzz.targets import Target, targets

SHORTENING = 5.0
"""Seconds in which a failing input is made shorter."""


def made(target: Target, seed: int) -> bytes:
    """The input of a seed."""
    rng = random.Random(seed)
    return (mutated_json if target.as_json else mutated)(rng, rng.choice(target.sound))


def failure(target: Target, data: bytes) -> str:
    """What went wrong with an input: the error and where it was raised; empty for nothing."""
    try:
        target.check(data)
    except target.refuses:
        return ""
    except Exception as error:  # noqa: BLE001 - whatever it is, it was found
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
    return ""


def shorter(target: Target, data: bytes, wrong: str) -> bytes:
    """Leave out what the failure does not need."""
    end = time.monotonic() + SHORTENING
    part = 0 if target.as_json else len(data) // 2
    while part and time.monotonic() < end:
        for start in range(0, len(data), part):
            fewer = data[:start] + data[start + part :]
            if failure(target, fewer) == wrong:
                data = fewer
                break
        else:
            part //= 2
    return data


def main() -> int:
    """Return 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--inputs", type=int, default=100_000, help="in all, over all targets")
    parser.add_argument("--seed", type=int, help="the first of them; fresh ones without it")
    parser.add_argument("--target", help="this one alone")
    options = parser.parse_args()
    first: int = random.SystemRandom().randrange(1 << 40) if options.seed is None else options.seed
    found = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        chosen = [each for each in targets(Path(folder)) if options.target in (None, each.name)]
        whole = sum(each.share for each in chosen)
        for target in chosen:
            count = max(1, options.inputs * target.share // whole)
            began = time.monotonic()
            for seed in range(first, first + count):
                data = made(target, seed)
                wrong = failure(target, data)
                if wrong:
                    found += 1
                    print(
                        f"\n{target.name}: {wrong}\ninput: {data!r}\nleast: {shorter(target, data, wrong)!r}"
                    )
                    print(f"again: python -m tests.fuzz --target {target.name} --seed {seed} --inputs 1")
                    break
            else:
                passed = time.monotonic() - began
                print(f"{target.name:10} {count:8,} inputs from seed {first}, {passed:.1f} s", flush=True)
    return min(1, found)


if __name__ == "__main__":
    sys.exit(main())
