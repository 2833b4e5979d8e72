"""The rows at a moment are those that the one fold gives for the events up to it."""

from __future__ import annotations

import copy
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.journal.moment import Moment
from mcp_tui.journal.replay import Replay
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind
from mcp_tui.protocol.requests import Book, Request, State, fold
from mcp_tui.tui.view.server import count
from tests.journal.making import STEPS, Session


def written(path: Path, events: list[ev.Event]) -> Replay:
    """A recording of these events, read to its end."""
    store = Store(Writer(path))
    for event in events:
        store.event(event)
    store.close()
    replay = Replay(path)
    for _ in replay.scan():
        pass
    return replay


def agree(moment: Moment, book: Book) -> None:
    """What views ask of a book is the same of both."""
    assert list(moment.order) == book.order
    assert len(moment.order) == len(book.order)
    for row in book.order:
        assert moment.get(row.id) == row
    counted = count(book.order)
    assert moment.counts() == (counted.in_flight, counted.requested, counted.late)
    over = [row.state in {State.COMPLETED, State.CANCELLED, State.FAILED, State.LOST} for row in book.order]
    assert [moment.is_over(number) for number in range(len(book.order))] == over


@pytest.mark.parametrize(("transport", "revision"), [("stdio", "2025-11-25"), ("http", "2026-07-28")])
@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, max_size=40), seed=st.integers(0, 100))
def test_at_every_position_forwards_backwards_and_at_random(
    transport: str, revision: str, steps: list[tuple[str, int, float, str]], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        session = Session(Store(Writer(path)), transport, revision)
        for step in steps:
            session.step(*step)
        session.store.close()
        replay = Replay(path)
        for _ in replay.scan():
            pass
        events = list(session.told)
        positions = list(range(len(events) + 1))
        ways = [*positions, *positions[::-1], *random.Random(seed).choices(positions, k=20)]
        books = [fold(events[:position]) for position in positions]
        moment = Moment(replay)
        for position in ways:
            version, moved = moment.version, moment.position != position
            assert moment.seek(position) is moved
            assert (moment.version != version) is moved
            agree(moment, books[position])
            assert moment.server_requests == books[position].server_requests
        assert moment.unreadable == 0


def storm(kind: str, count: int, *, id: int = 1) -> list[ev.Event]:
    """Many events of a kind for one request, between what comes once."""
    called = [ev.Called(at=0.0, id=id, method="tools/call", name="storm"), ev.Sent(at=0.1, id=id)]
    cancelled = [
        ev.CancelRequested(at=0.2, id=id, cause=Cause.USER, reason="enough"),
        ev.CancelSignalled(at=0.3, id=id, signal=ev.Signal.NOTIFICATION, reason_delivered=True),
    ]
    numbers = range(count)
    match kind:
        case "progress":
            many: list[ev.Event] = [
                ev.Progress(at=1.0 + each, id=id, progress=each, message=f"{each}") for each in numbers
            ]
            return [*called, *many]
        case "stalled":
            many = [ev.Progress(at=1.0 + each, id=id, progress=1.0, rearmed=False) for each in numbers]
            return [*called, ev.Progress(at=0.5, id=id, progress=1.0), *many]
        case "mixed":
            many = [
                ev.Progress(at=1.0 + each, id=id, progress=each, rearmed=each % 3 == 0) for each in numbers
            ]
            return [*called, *many]
        case "duplicate":
            many = [ev.Duplicate(at=1.0 + each, id=id, kind=Kind.RESULT) for each in numbers]
            return [*called, ev.Completed(at=0.5, id=id), *many]
        case "delivered":
            return [*called, *(ev.Delivered(at=1.0 + each, id=id, method="x") for each in numbers)]
        case _:
            late = [ev.Late(at=1.0 + each, id=id, kind=Kind.PROGRESS, after=each) for each in numbers]
            return [*called, *cancelled, *late, ev.Late(at=9e9, id=id, kind=Kind.RESULT, after=9e9)]


KINDS = ("progress", "stalled", "mixed", "duplicate", "delivered", "late")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 127, 128, 255, 256, 257, 384, 385, 511, 513, 1000, 3333])
def test_a_storm_is_folded_as_if_no_event_of_it_were_left_out(tmp_path: Path, kind: str, count: int) -> None:
    events = storm(kind, count)
    replay = written(tmp_path / "a.jsonl", events)
    assert replay.columns.misfits == 0
    moment = Moment(replay)
    for position in (len(events), len(events) // 2, len(events) - 1, 3, len(events)):
        moment.seek(position)
        assert moment.order[0] == fold(events[:position]).order[0], position


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(strides=st.lists(st.integers(-700, 1300), min_size=1, max_size=8))
def test_a_storm_is_folded_the_same_whatever_the_way_to_its_position(kind: str, strides: list[int]) -> None:
    events = storm(kind, 2500)
    with tempfile.TemporaryDirectory() as folder:
        moment = Moment(written(Path(folder, "a.jsonl"), events))
        position = 0
        for stride in strides:
            position = max(1, min(len(events), position + stride))
            moment.seek(position)
            assert moment.order[0] == fold(events[:position]).order[0]


def test_a_storm_is_not_read_event_by_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = written(tmp_path / "a.jsonl", storm("progress", 5000))
    read: list[int] = []
    event = replay.event

    def noted(number: int) -> ev.Event | None:
        read.append(number)
        return event(number)

    monkeypatch.setattr(replay, "event", noted)
    moment = Moment(replay)
    moment.seek(len(replay.columns))
    assert moment.order[0].progress_count == 5000
    assert len(read) < 400


def test_more_requests_than_are_kept_folded_are_all_there(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    for number in range(1, 3001):
        events += [ev.Called(at=number, id=number, method="ping"), ev.Sent(at=number, id=number)]
    moment = Moment(written(tmp_path / "a.jsonl", events))
    moment.seek(len(events))
    assert [row.id for row in moment.order] == list(range(1, 3001))
    first: Request = moment.order[0]
    assert first.state is State.IN_FLIGHT
    assert [row.id for row in moment.order[-2:]] == [2999, 3000]
    with pytest.raises(IndexError):
        moment.order[3000]


def test_a_row_that_was_looked_at_goes_on_from_there(tmp_path: Path) -> None:
    events = storm("progress", 10)
    moment = Moment(written(tmp_path / "a.jsonl", events))
    moment.seek(4)
    before = copy.deepcopy(moment.order[0])
    moment.seek(8)
    assert moment.order[0].progress_count == before.progress_count + 4
    moment.seek(4)
    assert moment.order[0] == before
