"""Old finished requests are packed: everything that is asked about requests is answered as if they were not."""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Signal
from mcp_tui.protocol.packing import LOOSE, PACKED_ROWS, Places
from mcp_tui.protocol.requests import TERMINAL, Requests
from mcp_tui.protocol.transitions import IllegalTransition

FEW = 10
"""Requests that are kept as they are."""

ROWS = 5 * PACKED_ROWS


def story(rows: int, seed: int) -> list[ev.Event]:
    """Requests that end in all ways, some of them long after they were called, and some answered late or twice."""
    rng, told = random.Random(seed), list[ev.Event]()
    later: list[tuple[int, ev.Event]] = []
    for id in range(1, rows + 1):
        at = float(id)
        told += [ev.Called(at=at, id=id, method="tools/call", name=f"tool {id}"), ev.Sent(at=at, id=id)]
        done = ev.Completed(at=at + 1, id=id, size=id, summary=f"said {id}")
        match rng.randrange(6):
            case 0:
                told += [
                    ev.CancelRequested(at=at, id=id, cause=Cause.USER, reason="wrong"),
                    ev.CancelSignalled(at=at, id=id, signal=Signal.NOTIFICATION, reason_delivered=True),
                    ev.Settled(at=at + 2, id=id, detail=""),
                ]
                late = ev.Late(at=at + 9, id=id, kind=Kind.RESULT, after=9.0)
                later.append((id + rng.randrange(1, rows), late))
            case 1:
                later.append((id + rng.randrange(1, rows), done))
            case 2:
                told.append(done)
                again = ev.Duplicate(at=at + 9, id=id, kind=Kind.RESULT)
                later.append((id + rng.randrange(1, rows), again))
            case _:
                told.append(done)
        told += [event for due, event in later if due == id]
        later = [each for each in later if each[0] > id]
    return told


@pytest.mark.parametrize("seed", range(3))
def test_packed_requests_equal_unpacked_ones(seed: int):
    packed, whole = Requests(keep=FEW), Requests()
    for event in story(ROWS, seed):
        row = packed.apply(event)
        assert row is not None
        assert row == whole.apply(event)
    assert packed.order.recent < len(packed.order) == len(whole.order) == ROWS
    assert list(packed.order) == list(whole.order)
    assert packed.order[3:9] == whole.order[3:9]
    assert list(packed.unfinished) == list(whole.unfinished)
    assert all(packed.get(row.id) == row for row in whole.order)
    assert all(packed.order[packed.place(row.id) or 0] == row for row in whole.order)


def test_an_id_that_was_packed_is_not_given_twice_and_no_other_is_found():
    requests = finished(ROWS)
    for id in (1, ROWS):
        with pytest.raises(IllegalTransition, match="issued before"):
            requests.apply(ev.Called(at=0, id=id, method="ping"))
    with pytest.raises(IllegalTransition, match="no request"):
        requests.apply(ev.Duplicate(at=0, id=ROWS + 1, kind=Kind.RESULT))
    assert [requests.get(id) for id in (0, -1, "1", ROWS + 1, 1 << 70)] == [None] * 5
    assert requests.get(True) is None


def test_who_holds_a_row_sees_what_happens_to_it_when_it_is_packed():
    requests = finished(1)
    deferred = requests.order[0]
    again = finished(ROWS, requests)
    assert again.order.recent < ROWS
    assert again.order[0] is deferred is again.get(1)
    again.apply(ev.Duplicate(at=9, id=1, kind=Kind.RESULT))
    assert deferred.duplicates == 1
    assert again.order[0] is deferred


def test_rows_that_much_happened_to_are_packed_again():
    rows = LOOSE + 4 * PACKED_ROWS
    requests = finished(rows)
    twice = LOOSE + PACKED_ROWS
    for id in range(1, twice + 1):
        requests.apply(ev.Duplicate(at=9, id=id, kind=Kind.RESULT))
    assert [row.duplicates for row in requests.order] == [1] * twice + [0] * (rows - twice)


def test_a_packed_request_takes_at_most_a_hundred_bytes():
    gc.collect()
    before = sys.getallocatedblocks()
    requests = finished(20 * PACKED_ROWS)
    gc.collect()
    blocks = sys.getallocatedblocks() - before
    rows = len(requests.order) - requests.order.recent
    recent = requests.order.recent + len(requests._changes)  # pyright: ignore[reportPrivateUsage]
    assert blocks < 200 * recent, "objects are left of what was packed"
    assert sum(map(len, requests.order._blocks)) / rows + 8 <= 100  # pyright: ignore[reportPrivateUsage]


def test_what_changed_since_a_version():
    requests = finished(3)
    version = requests.version
    assert requests.changed_since(version) == set()
    requests.apply(ev.Duplicate(at=9, id=2, kind=Kind.RESULT))
    requests.apply(ev.ServerRequestReceived(at=9, request_id=1, method="ping"))
    assert [requests.order[place].id for place in requests.changed_since(version) or ()] == [2]
    assert requests.changed_since(-1) is None
    assert requests.changed_since(requests.version + 1) is None


def test_places_of_ids_of_any_kind():
    places = Places()
    ids = ["a", 5, 3, "5", 7, 1 << 80, 8, 0]
    for id in ids:
        places.append(id)
    assert [places.find(id) for id in ids] == list(range(len(ids)))
    assert [places.find(id) for id in ("7", 6, "b", -1, 9)] == [None] * 5


def finished(rows: int, requests: Requests | None = None) -> Requests:
    """That many requests, all of them over."""
    requests = Requests(keep=FEW) if requests is None else requests
    for id in range(len(requests.order) + 1, rows + 1):
        requests.apply(ev.Called(at=id, id=id, method="tools/call", name="echo"))
        requests.apply(ev.Sent(at=id + 0.25, id=id, seq=2 * id))
        requests.apply(ev.Completed(at=id + 0.5, id=id, size=80, summary=f"said {id}", seq=2 * id + 1))
    assert all(row.state in TERMINAL for row in requests.order[-FEW:])
    return requests


def test_requests_that_outlive_their_packing_are_packed_when_they_end():
    def deferred() -> int:
        return sum(isinstance(each, ev.Called) for each in gc.get_objects())

    requests, many, before = Requests(keep=FEW), 3 * LOOSE, deferred()
    for id in range(1, many + 1):
        requests.apply(ev.Called(at=0.0, id=id, method="tools/call", name="slow"))
        requests.apply(ev.Sent(at=0.0, id=id))
        if id > LOOSE // 2:  # so many are always in flight, more than are kept as they are
            requests.apply(ev.Completed(at=1.0, id=id - LOOSE // 2, size=1))
    assert deferred() - before < 2 * LOOSE
    assert requests.get(1) == requests.order[0]


def asked(count: int, keep: int) -> Requests:
    """Many answered pings of the server's, and a request that waits from the beginning."""
    requests = Requests(keep=keep)
    requests.apply(ev.ServerRequestReceived(at=0.0, request_id="first", method="roots/list"))
    for number in range(count):
        at = number / 7
        requests.apply(ev.ServerRequestReceived(at=at, request_id=number, method="ping", seq=2 * number))
        requests.apply(ev.ServerRequestAnswered(at=at, request_id=number))
    return requests


def test_packed_requests_of_the_servers_are_as_they_were_and_one_that_waits_still_ends():
    packed, whole = asked(5 * PACKED_ROWS, FEW), asked(5 * PACKED_ROWS, ROWS * PACKED_ROWS)
    for requests in (packed, whole):
        requests.apply(ev.ServerRequestReceived(at=9.0, request_id=7, method="ping"))
        requests.apply(ev.Disconnected(at=9.5, detail="closed"))
    assert list(packed.server_requests) == list(whole.server_requests)
    assert [packed.server_requests[at].outcome for at in (0, 1, -1)] == ["lost", "answered", "lost"]


@pytest.mark.slow
def test_an_answered_ping_takes_at_most_a_hundred_bytes():
    def kept() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before, few = kept(), asked(10 * PACKED_ROWS, FEW)
        middle, many = kept(), asked(70 * PACKED_ROWS, FEW)
        assert ((kept() - middle) - (middle - before)) / (60 * PACKED_ROWS) <= 100
    finally:
        tracemalloc.stop()
    assert len(many.server_requests) - len(few.server_requests) == 60 * PACKED_ROWS
