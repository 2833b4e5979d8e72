from __future__ import annotations

from collections.abc import Callable

from mcp_tui import clock
from mcp_tui.view.durations import elapsed, lag, limit, moment, size, up
from tests.cases import cases


@cases(
    ("in_words", "value", "shown"),
    [
        (elapsed, -1.0, "0.0s"),
        (elapsed, 0.09, "0.0s"),
        (elapsed, 59.99, "59.9s"),
        (elapsed, 60.0, "1:00"),
        (elapsed, 125.9, "2:05"),
        (elapsed, 3599.9, "59:59"),
        (elapsed, 90000.0, "25:00:00"),
        (limit, None, "none"),
        (limit, 60.0, "60s"),
        (limit, 90.0, "90s"),
        (limit, 120.0, "2m"),
        (limit, 610.0, "610s"),
        (limit, 3600.0, "1h"),
        (limit, 2.5, "2.5s"),
        (limit, 0.25, "0.25s"),
        (lag, -0.1, "+0 ms"),
        (lag, 0.0314, "+31 ms"),
        (lag, 0.9996, "+1.0 s"),
        (lag, 59.96, "+60.0 s"),
        (lag, 125.0, "+2 min"),
        (size, 0, "0 B"),
        (size, 999, "999 B"),
        (size, 1849, "1.8 kB"),
        (size, 999_949, "999.9 kB"),
        (size, 999_960, "1.0 MB"),
        (size, 5 * 10**12, "5000.0 GB"),
        (up, 849.5, "00:14:09"),
    ],
)
def test_durations_and_sizes(in_words: Callable[[float | None], str], value: float | None, shown: str):
    assert in_words(value) == shown


def test_moment_is_local_time_of_the_recording():
    assert moment(12.5, 1_700_000_000.0) == clock.local_time(1_700_000_012.5)
    assert moment(1e300, 0.0) == "--:--:--.---"
