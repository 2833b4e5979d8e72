from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from mcp_tui import clock
from tests.cases import cases

MOMENT = 1795259071.8804  # 2026-11-21 11:04:31.880 UTC


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not hasattr(time, "tzset"):
        pytest.skip("the zone of a process cannot be set here")
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_the_wall_clock_is_the_system_s():
    before = time.time()  # noqa: TID251 - what the module is checked against
    assert before <= clock.wall() <= time.time()  # noqa: TID251


@pytest.mark.usefixtures("berlin")
def test_local_times_are_those_of_the_zone():
    assert clock.local_time(MOMENT) == "12:04:31.880"
    assert clock.local_stamp(MOMENT) == "2026-11-21 12:04:31"


@pytest.mark.usefixtures("berlin")
def test_a_summer_moment_is_told_in_summer_time_even_in_winter():
    assert clock.local_time(MOMENT - 150 * 86400) == "13:04:31.880"


@cases("epoch", [float("nan"), float("inf"), 1e300, -1e300])
@cases("tell", [clock.local_time, clock.local_stamp, clock.utc_stamp])
def test_a_moment_that_no_calendar_has_is_empty(tell: Callable[[float], str], epoch: float):
    assert tell(epoch) == ""
