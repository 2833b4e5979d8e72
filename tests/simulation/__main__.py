"""``python -m tests.simulation SEED``: one schedule, with its dialogue. ``FIRST-LAST``: many, and how long they took."""

from __future__ import annotations

import sys
import time

from tests.simulation.run import Failed, play


def main(arguments: list[str]) -> int:
    broken = 0
    for argument in arguments:
        first, _, last = argument.partition("-")
        if not last:
            world = play(int(first))
            print(world.plan)
            print(world.dialogue())
            continue
        began = time.monotonic()
        for seed in range(int(first), int(last) + 1):
            try:
                play(seed)
            except Failed as error:
                broken += 1
                print(f"{seed}: {error.why!r}")
        print(f"{int(last) + 1 - int(first)} played in {time.monotonic() - began:.1f} s, {broken} broken")
    return 1 if broken else 0


sys.exit(main(sys.argv[1:]))
