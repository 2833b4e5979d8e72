"""How long ten thousand simulated sessions take: ``python -m benchmarks.simulation``.

They are those of ``tests/simulation``, over as many processes as there are cores. They have to take less than a minute.
"""

from __future__ import annotations

import sys
import time

from tests.simulation.many import cores, many

SCHEDULES = 10_000
ENOUGH = 60.0


def main() -> int:
    """Play them and print the time."""
    began = time.perf_counter()
    tally = many(1, SCHEDULES)
    taken = time.perf_counter() - began
    if tally.broken or tally.played != SCHEDULES:
        print(tally.broken or f"only {tally.played} were played", file=sys.stderr)
        return 1
    verdict = "ok" if taken < ENOUGH else "TOO SLOW"
    each = tally.seconds * 1000 / tally.played
    print(
        f"{tally.played:,} schedules ({tally.events:,} events, {tally.signals:,} cancels) in {taken:.1f} s"
        f" on {cores()} cores, {each:.1f} ms of a processor each; at most {ENOUGH:.0f} s: {verdict}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
