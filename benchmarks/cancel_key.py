"""How soon a cancel reaches the server after its key: ``python -m benchmarks.cancel_key [TIMES [RATE …]]``.

In a real terminal, with TIMES requests in flight, while the server sends RATE notifications a second: from the byte of
enter in the prompt for a reason to the byte of the cancel at the server. Each request is cancelled, one after the other.
99 of 100 have to take at most 20 ms. The last line is JSON.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.screen import Load, Terminal, until

RATES = {0: 20, 100: 20, 10_000: 100, 50_000: 20}
"""Notifications a second, and how many presses."""

PROMPT = "Keep waiting"


def measured(times: int, rate: int) -> list[float]:
    """Milliseconds from each enter to its cancel, sorted."""
    pick = random.Random(1)
    pressed: list[float] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        heard = Path(folder, "cancels")
        terminal = Terminal(Load(finished=0, in_flight=times, notifications=rate), folder)
        try:
            time.sleep(1)
            for number in range(times):
                terminal.press(b"\x1b[B" if number else b"g")  # the next one; first the newest
                time.sleep(pick.uniform(0.05, 0.1))
                terminal.press(b"c")
                until(lambda: terminal.shows(PROMPT))
                time.sleep(pick.uniform(0.05, 0.2))
                pressed.append(terminal.press(b"\r"))
                until(lambda: heard.read_bytes().count(b"\n") == len(pressed))
                until(lambda: not terminal.shows(PROMPT))
        finally:
            terminal.end()
        at = [int(line) / 1e9 for line in heard.read_text().split()]
    return sorted((there - key) * 1000 for key, there in zip(pressed, at, strict=True))


def main() -> None:
    """Print the figures."""
    given = [int(word.replace(",", "")) for word in sys.argv[1:]]
    wanted = {rate: (given or [RATES[rate]])[0] for rate in given[1:] or RATES}
    figures: dict[str, float] = {}
    for rate, times in wanted.items():
        found = measured(times, rate)
        median, p99 = statistics.median(found), found[math.ceil(len(found) * 0.99) - 1]
        figures |= {f"{rate}_median": median, f"{rate}_p99": p99}
        print(
            f"enter to cancel, {rate:,} notifications/s: median {median:.1f} ms, p99 {p99:.1f} ms, worst "
            f"{found[-1]:.1f} ms of {times}",
            flush=True,
        )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
