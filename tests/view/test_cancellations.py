from __future__ import annotations

from collections.abc import Sequence

from mcp_tui import clock
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.client_violations import ClientViolation
from mcp_tui.protocol.events import Kind
from mcp_tui.protocol.requests import Requests
from mcp_tui.view import list_filters
from mcp_tui.view.cancellations import (
    CANCELLATION_SORTS,
    CancellationLine,
    Cancellations,
    cancellation,
    counted,
)
from mcp_tui.view.columns import NEWEST, after
from tests.tui.making import called, cancelled, completed, late, requests, row, started

ORIGIN = 1_700_000_000.0


UNTIL = 5.0
"""Up to when it was watched: 3 s from the cancel."""


def told(*events: ev.Event | Sequence[ev.Event]) -> CancellationLine:
    made = cancellation(row(*events), origin=ORIGIN, until=UNTIL)
    assert made is not None
    return made


def test_a_line_says_when_what_why_and_how():
    made = told(started(212), cancelled(id=212, at=8.5))
    assert made.time == clock.local_time(ORIGIN + 8.5)
    assert (made.id, made.request, made.cause, made.reason) == ("212", "slow_sql", "you", "wrong table")
    assert (made.signal, made.aftermath, made.style) == ("sent", "", "cancel-requested")


def test_a_reply_that_came_first_is_named():
    withdrawn = [*cancelled(signal=None), ev.CancelWithdrawn(at=2.1, id=1)]
    assert told(started(), withdrawn).aftermath == "reply came first"
    made = told(started(), withdrawn, completed())
    assert (made.signal, made.aftermath) == ("withdrawn", "reply came first: completed")
    assert made.reason == "wrong table"


def test_the_log_takes_in_events_as_they_come():
    made = Requests()
    log = Cancellations(made, origin=ORIGIN, now=lambda: UNTIL)

    def tell(*events: ev.Event) -> None:
        for event in events:
            made.apply(event)

    tell(*started(1), *started(2), *started(3))
    assert len(log.numbers) == 0
    tell(*cancelled(id=2), *cancelled(id=1))
    assert [log.item(number).id for number in log.numbers] == [2, 1]
    assert log.line(0, 76).key == 2
    before = log.version
    tell(late(id=2))
    assert log.version > before
    assert "late result at +412 ms" in log.line(0, 76).text
    before = log.version
    tell(ev.Progress(at=3.0, id=3, progress=1), ev.Note(at=3.0, text="x"))
    assert log.version == before


def test_a_cancel_whose_record_is_damaged_says_so():
    made = requests(started(1), cancelled(id=1))
    made.order[0].cancel_at = None
    made.order[0].history.clear()
    log = Cancellations(made, origin=ORIGIN, now=lambda: UNTIL)
    assert log.line(0, 76).text == "This record of the recording is damaged"


def test_the_clients_own_cancels_are_not_in_the_log():
    made = Requests()
    log = Cancellations(made, origin=ORIGIN, now=lambda: UNTIL)
    listening = [ev.Called(at=0.0, id=3, method="subscriptions/listen"), ev.Sent(at=0.0, id=3)]
    own = [
        *[called(1, internal=True), ev.Sent(at=0.0, id=1), *cancelled(id=1)],
        *[*started(2), *cancelled(id=2, cause=ev.Cause.SHUTDOWN)],
        *[*listening, *cancelled(id=3)],
    ]
    for event in [*own, *started(4), *cancelled(id=4)]:
        made.apply(event)
    again = Cancellations(made, origin=ORIGIN, now=lambda: UNTIL)
    for each in (log, again):
        assert [each.item(number).id for number in each.numbers] == [4]


def test_a_silence_grows_as_long_as_somebody_listens():
    time = [3.0]
    log = Cancellations(requests(started(), cancelled(settled="")), origin=ORIGIN, now=lambda: time[0])
    assert "no reply (watched 993 ms)" in log.line(0, 120).text
    before = log.version
    time[0] = 8.0
    assert log.version > before
    assert "no reply (watched 6.0 s)" in log.line(0, 120).text
    before = log.version
    assert log.version == before


def test_outcomes_are_counted_in_the_words_of_the_evidence():
    on = [late(Kind.PROGRESS, 0.5 * each, at=2 + 0.5 * each, id=5) for each in range(1, 7)]
    rows = requests(
        [*started(1), *cancelled(id=1, settled="")],
        [*started(2), *cancelled(id=2, settled="")],
        [*started(3), *cancelled(id=3), late(id=3)],
        [*started(4), *cancelled(id=4), late(Kind.ERROR, id=4)],
        [*started(5), *cancelled(id=5), *on],
        [*started(6), *cancelled(id=6, signal=None), ev.Undelivered(at=3.0, id=6, detail="x")],
        [*started(7), *cancelled(id=7), ev.Unwatched(at=3.0, id=7, detail="it exited", disconnected=True)],
    ).order
    assert counted(rows, UNTIL) == (
        "2 no reply · 1 still progressing · 1 late result · 1 connection lost · 1 late error · 1 not delivered"
    )
    assert counted([], UNTIL) == ""


def test_orders_of_the_log():
    rows = requests(
        [*started(1, name="b"), *cancelled(id=1, settled="")],
        [*started(2, name="a"), *cancelled(id=2, at=3.0), late(id=2, after=0.1)],
        [*started(3, name="c"), *cancelled(id=3, at=4.0), late(id=3, after=9.0)],
    ).order
    found: dict[str, list[object]] = {}
    for sort in CANCELLATION_SORTS[1:]:
        place = sort.at(UNTIL)
        assert place is not None
        found[sort.value] = [row.id for row in sorted(rows, key=place)]
    assert found == {"outcome": [2, 3, 1], "lag": [3, 2, 1], "name": [2, 1, 3]}
    assert after(CANCELLATION_SORTS[-1], CANCELLATION_SORTS) is NEWEST


class Broken:
    """Two cancels, and a rule that the client broke before the second one."""

    cancel_events = (3, 8)
    violation_events = (5,)

    def violation(self, event: int, /) -> ClientViolation:
        return ClientViolation(at=float(event), rule="cancel-over", detail="a cancel of 9", id=9, name="add")


def test_what_the_client_broke_stands_between_the_cancels_and_counts_as_none():
    log = Cancellations(
        requests([*started(1), *cancelled(id=1), *started(2), *cancelled(id=2)]),
        origin=ORIGIN,
        now=lambda: UNTIL,
        broken=Broken(),
    )
    assert [log.item(number).id for number in log.numbers] == [1, 9, 2]
    assert "violation by the client: a cancel of 9" in "".join(text for text, _ in log.line(1, 200).segments)
    assert counted(map(log.item, log.numbers), UNTIL) == "2 watching · 1 violation by the client"
    for sort in CANCELLATION_SORTS[1:]:
        key = sort.at(UNTIL)
        assert key is not None
        sorted(map(log.item, log.numbers), key=key)
    assert [
        each for each in map(log.item, log.numbers) if list_filters.cancellations("late").matches(each)
    ] == []
    found = [
        each.id for each in map(log.item, log.numbers) if list_filters.cancellations("client").matches(each)
    ]
    assert found == [9]
