from __future__ import annotations

import math
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.store import Frames, Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Book, Request
from mcp_tui.tui.view.timeline import BookSpans, RecordedSpans, Spans, ended
from tests.tui.making import book, cancelled, completed, late, started


def ids(found: Iterable[Request]) -> list[object]:
    return [row.id for row in found]


def spans(of: Book, frames: Frames | None = None) -> BookSpans:
    made = BookSpans(of, frames or Frames(), origin=0.0)
    made.update()
    return made


def test_only_what_was_under_way_is_found_the_newest_first():
    made = spans(
        book(
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
    told = book(started(1), cancelled(id=1, settled=""), late(id=1, after=5.0))
    assert ended(told.order[0]) == pytest.approx(7.0)
    assert ids(spans(told).during(6.0, 8.0)) == [1]


def test_what_ends_or_is_answered_late_after_a_look_is_found_where_it_is_now():
    told = book(started(1), started(2))
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


def _many(seed: int) -> list[ev.Event]:
    """Five hundred requests of all lengths, their events in the order of their times."""
    chance = random.Random(seed)
    told: list[ev.Event] = []
    for number in range(1, 501):
        begin = number * 0.1
        told += started(number, at=begin)
        match chance.random():
            case each if each < 0.9:
                told.append(completed(id=number, at=begin + chance.random() * 3))
            case each if each < 0.95:
                told += cancelled(id=number, at=begin + 1.0, settled="")
            case _:
                pass
    return sorted(told, key=lambda event: event.at)


def test_a_recording_tells_the_same_at_its_end_and_less_before(tmp_path: Path):
    path = tmp_path / "recorded.jsonl"
    store = Store(Writer(path))
    told = _many(4)
    for event in told:
        store.event(event)
    store.close()
    replay = Recording(path)
    for _ in replay.scan():
        pass
    moment = RecordedBook(replay)
    recorded: Spans = RecordedSpans(moment, origin=0.0)
    moment.seek(len(told))
    whole = Book()
    for event in told:
        whole.apply(event)
    live = spans(whole)
    for begin in range(0, 60, 7):
        assert set(ids(live.during(begin, begin + 2))) <= set(ids(recorded.during(begin, begin + 2.001)))
        for row in recorded.during(begin, begin + 2):
            assert row.called_at <= begin + 2.001
    assert recorded.first() == pytest.approx(live.first())
    moment.seek(10)
    assert recorded.update()
    assert set(ids(recorded.during(-math.inf, math.inf))) == {
        event.id for event in told[:10] if isinstance(event, ev.Called)
    }
