from __future__ import annotations

import pytest

from mcp_tui import clock
from mcp_tui.tui.view import durations


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1.0, "0.0s"),
        (0.0, "0.0s"),
        (0.09, "0.0s"),
        (12.49, "12.4s"),
        (59.99, "59.9s"),
        (60.0, "1:00"),
        (125.9, "2:05"),
        (3599.9, "59:59"),
        (3723.0, "1:02:03"),
        (90000.0, "25:00:00"),
    ],
)
def test_elapsed_never_runs_ahead(seconds: float, shown: str):
    assert durations.elapsed(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "none"),
        (60.0, "60s"),
        (90.0, "90s"),
        (120.0, "2m"),
        (600.0, "10m"),
        (610.0, "610s"),
        (3600.0, "1h"),
        (2.5, "2.5s"),
        (0.25, "0.25s"),
        (12.75, "12.75s"),
        (1.0, "1s"),
    ],
)
def test_limit_is_shown_as_it_was_set(seconds: float | None, shown: str):
    assert durations.limit(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-0.1, "+0 ms"),
        (0.0314, "+31 ms"),
        (0.412, "+412 ms"),
        (0.9996, "+1.0 s"),
        (4.12, "+4.1 s"),
        (59.96, "+60.0 s"),
        (125.0, "+2 min"),
    ],
)
def test_lag(seconds: float, shown: str):
    assert durations.lag(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (98, "98 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1849, "1.8 kB"),
        (999_949, "999.9 kB"),
        (999_960, "1.0 MB"),
        (20_000_000, "20.0 MB"),
        (5 * 10**12, "5000.0 GB"),
    ],
)
def test_size(count: int, shown: str):
    assert durations.size(count) == shown


def test_quiet_offset_and_up():
    assert durations.quiet(8.9) == "8s"
    assert durations.quiet(125.0) == "2:05"
    assert durations.offset(2.104) == "+2.104"
    assert durations.offset(-0.012) == "-0.012"
    assert durations.up(849.5) == "00:14:09"


def test_moment_is_local_time_of_the_recording():
    assert durations.moment(12.5, 1_700_000_000.0) == clock.local_time(1_700_000_012.5)
    assert durations.moment(1e300, 0.0) == "--:--:--.---"
