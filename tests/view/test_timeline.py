from __future__ import annotations

import math
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.store import Frames
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.requests import Request, Requests
from mcp_tui.view.lines import Segments
from mcp_tui.view.text import words
from mcp_tui.view.timeline import (
    RecordedSpans,
    RequestSpans,
    Spans,
    TimeWindow,
    axis,
    bar,
    ended,
    latencies,
    latency_line,
    rate,
    sparkline,
)
from tests.journal.making import write
from tests.tui.making import called, cancelled, completed, late, progress, requests, row, started

TEN = TimeWindow.ending(9.999, 10.0, 20)
"""Ten seconds from 0, two cells a second."""


def text(pieces: Segments) -> str:
    return "".join(piece for piece, _ in pieces)


def drawn(shown: Request, now: float = 10.0) -> str:
    found = text(bar(shown, TEN, now))
    assert len(found) == 20
    return found


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (row(started(at=1.0)), "  ━━━━━━━━━━━━━━━━━▸"),
        (row(called(at=1.0)), "  ·················◌"),
        (
            row(called(at=0.0), ev.Sent(at=2.0, id=1), completed(at=4.0)),
            "····━━━━✓ 4.0s      ".replace("4.0s", "2.0s"),
        ),
        (row(started(at=1.0), progress(1, at=3.0), progress(2, at=4.0)), "  ━━━━┿━┿━━━━━━━━━━▸"),
        (row(started(at=-5.0), completed(at=2.0)), "━━━━✓ 7.0s          "),
        (row(started(at=1.0), completed(at=1.0)), "  ✓ 0.0s            "),
        (row(started(at=1.0), completed(at=2.0, is_error=True)), "  ━━✗ 1.0s          "),
        (row(started(at=1.0), ev.Lost(at=3.0, id=1, detail="gone")), "  ━━━━∅ 2.0s        "),
    ],
)
def test_a_bar_goes_from_the_call_to_the_outcome_or_to_now(shown: Request, said: str):
    assert drawn(shown, 9.9) == said


def test_a_cancel_stands_at_its_instant_and_the_late_reply_behind_it_with_its_lag():
    shown = row(started(at=0.0), progress(1, at=1.0), cancelled(at=2.0, settled=""), late(after=2.5, at=4.5))
    assert drawn(shown) == "━━┿━⊘····↯ +2.5 s   "
    waiting = row(started(at=0.0), cancelled(at=2.0))
    assert drawn(waiting, 4.0) == "━━━━◔····           "
    silent = row(started(at=0.0), cancelled(at=2.0, settled=""))
    assert drawn(silent) == "━━━━⊘····           "
    timeout = row(started(at=0.0), cancelled(at=2.0, cause=Cause.TIMEOUT, settled=""))
    assert drawn(timeout)[4] == "◷"


def test_the_axis_has_times_and_says_where_now_is():
    said = text(axis(TimeWindow.ending(29.9, 30.0, 60), origin=0.0, now=29.9))
    assert len(said) == 60
    assert said.rstrip().endswith("now")
    assert said.count("│") == 3
    past = text(axis(TimeWindow.ending(29.9, 30.0, 60), origin=0.0, now=99.0))
    assert "now" not in past


def test_a_sparkline_grows_by_eighths_and_is_blank_for_none():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7, 8], 8) == " ▁▂▃▄▅▆▇█"
    assert sparkline([0, 1, 1_000], 1_000) == " ▁█"
    assert [rate(*each) for each in ((0, 1.0), (5, 10.0), (824, 2.0))] == ["0/s", "0.5/s", "412/s"]


def test_percentiles_are_times_that_were_seen_of_what_was_answered():
    told = [[*started(id, at=0.0), completed(id=id, at=float(id))] for id in range(1, 21)]
    other = [*started(30, at=0.0, name="crawl"), completed(id=30, at=0.25)]
    given_up = [*started(31, at=0.0), *cancelled(id=31, at=500.0)]
    found = latencies(requests(*told, other, given_up).order)
    assert [(each.label, each.answers, each.p50, each.p95) for each in found] == [
        ("tools/call slow_sql", 20, 10.0, 19.0),
        ("tools/call crawl", 1, 0.25, 0.25),
    ]
    line = text(latency_line(found, 80, first=words("tools/call crawl")))
    assert line == " p50/p95  tools/call crawl 250ms/250ms ×1  tools/call slow_sql 10.0s/19.0s ×20"
    assert text(latency_line(found, 60, first=words(""))) == " p50/p95  tools/call slow_sql 10.0s/19.0s ×20"
    assert "no responses yet" in text(latency_line([], 60, first=words("")))


def ids(found: Iterable[Request]) -> list[object]:
    return [row.id for row in found]


def spans(of: Requests, frames: Frames | None = None) -> RequestSpans:
    made = RequestSpans(of, frames or Frames(), origin=0.0)
    made.update()
    return made


def test_only_what_was_under_way_is_found_the_newest_first():
    made = spans(
        requests(
            *(started(1, at=0.0), completed(id=1, at=2.0)),
            *(started(2, at=3.0), completed(id=2, at=9.0)),
            started(3, at=4.0),
            started(4, at=20.0),
        )
    )
    assert ids(made.during(3.5, 10.0)) == [3, 2]
    assert ids(made.during(2.0, 3.0)) == [2, 1]
    assert ids(made.during(9.5, 30.0)) == [4, 3]
    assert made.first() == 0.0


def test_a_request_lasts_to_what_came_late():
    told = requests(started(1), cancelled(id=1, settled=""), late(id=1, after=5.0))
    assert ended(told.order[0]) == pytest.approx(7.0)
    assert ids(spans(told).during(6.0, 8.0)) == [1]


def test_what_ends_or_is_answered_late_after_a_look_is_found_where_it_is_now():
    told = requests(started(1), started(2))
    made = spans(told)
    assert not made.update()
    assert ids(made.during(50.0, 60.0)) == [2, 1]
    told.apply(completed(id=2, at=3.0))
    for event in cancelled(id=1, at=3.0, settled=""):
        told.apply(event)
    assert made.update()
    assert ids(made.during(50.0, 60.0)) == []
    told.apply(late(id=1, after=52.0))
    made.update()
    assert ids(made.during(50.0, 60.0)) == [1]


def test_a_recording_tells_the_same_at_its_end_and_less_before(tmp_path: Path):
    # five hundred requests of all lengths
    chance = random.Random(4)
    told: list[ev.Event] = []
    for number in range(1, 501):
        begin = number * 0.1
        told += started(number, at=begin)
        if number % 20 == 0:
            told += cancelled(id=number, at=begin + 1.0, settled="")
        elif number % 20 < 19:
            told.append(completed(id=number, at=begin + chance.random() * 3))
    told.sort(key=lambda event: event.at)
    moment = RecordedRequests(Recording.read(write(tmp_path / "recorded.jsonl", *told)))
    recorded: Spans = RecordedSpans(moment, origin=0.0)
    moment.seek(len(told))
    live = spans(requests(told))
    for begin in range(0, 60, 7):
        assert set(ids(live.during(begin, begin + 2))) <= set(ids(recorded.during(begin, begin + 2.001)))
        assert all(each.called_at <= begin + 2.001 for each in recorded.during(begin, begin + 2))
    assert recorded.first() == pytest.approx(live.first())
    moment.seek(10)
    assert recorded.update()
    assert set(ids(recorded.during(-math.inf, math.inf))) == {
        event.id for event in told[:10] if isinstance(event, ev.Called)
    }
