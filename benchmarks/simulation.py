"""How long ten thousand simulated sessions take: ``python -m benchmarks.simulation``.

They are those of ``tests/simulation``, over as many processes as there are cores. They have to take less than a minute.
"""

from __future__ import annotations

import os
import sys
import time

from tests.simulation.many import many

SCHEDULES = 10_000
ENOUGH = 60.0


def main() -> int:
    """Play them and print the time."""
    began = time.perf_counter()
    tally = many(1, SCHEDULES)
    taken = time.perf_counter() - began
    verdict = "ok" if taken < ENOUGH else "TOO SLOW"
    print(
        f"{tally['played']:,} schedules ({tally['events']:,} events, {tally['signals']:,} cancels) in {taken:.1f} s"
        f" on {os.cpu_count()} cores; at most {ENOUGH:.0f} s: {verdict}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
