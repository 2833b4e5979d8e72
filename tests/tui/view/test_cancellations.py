from __future__ import annotations

import json
from collections.abc import Sequence

from mcp_tui import clock
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Kind, Signal
from mcp_tui.protocol.requests import Book
from mcp_tui.tui.view.cancellations import (
    CancellationLine,
    Cancellations,
    CancelSort,
    cancellation,
    cancellation_json,
    counted,
)
from tests.tui.making import LIMITS, book, called, cancelled, completed, late, row, started

ORIGIN = 1_700_000_000.0


def told(*events: ev.Event | Sequence[ev.Event]) -> CancellationLine:
    made = cancellation(row(*events), origin=ORIGIN)
    assert made is not None
    return made


def outcome(*events: ev.Event | Sequence[ev.Event]) -> tuple[str, str]:
    made = told(*events)
    return made.signal, made.aftermath


def test_a_line_says_when_what_why_and_how():
    made = told(started(212), cancelled(id=212, at=8.5))
    assert made.time == clock.local_time(ORIGIN + 8.5)
    assert (made.id, made.request, made.cause, made.reason) == ("212", "slow_sql", "user", "wrong table")
    assert (made.signal, made.aftermath, made.style) == ("notified", "", "cancel-requested")


def test_the_aftermath_is_updated_in_place():
    sent = [*started(), *cancelled()]
    end = ev.Settled(at=4.0, id=1)
    on = [late(Kind.PROGRESS, 0.1 * n) for n in range(1, 8)]
    assert outcome(started(), cancelled(signal=None)) == ("not sent yet", "")
    assert outcome(sent) == ("notified", "")
    assert outcome(sent, end) == ("notified", "no answer since")
    assert outcome(sent, on) == ("notified", "still progressing ×7")
    assert outcome(sent, end, on) == ("notified", "still progressing ×7")
    assert outcome(sent, late()) == ("notified", "late result +412ms")
    assert outcome(sent, end, late(Kind.ERROR, 0.031, code=-32800)) == ("notified", "late error -32800 +31ms")
    assert outcome(sent, on, late()) == ("notified", "late result +412ms, progress ×7")


def test_what_did_not_go_as_asked():
    undelivered = ev.Undelivered(at=2.1, id=1, detail="HTTP 503")
    assert outcome(started(), cancelled(signal=None), undelivered) == ("undelivered", "undelivered: HTTP 503")
    closed = cancelled(signal=Signal.STREAM_CLOSED, settled="")
    assert outcome(started(), closed) == ("stream closed", "")
    unsent = cancelled(signal=Signal.NONE, settled="cancelled before it was sent")
    assert outcome(called(), unsent) == ("not sent", "cancelled before it was sent")
    written = ev.Sent(at=2.5, id=1)
    assert outcome(called(), unsent, written) == ("not sent", "the request was written after all")
    gone = cancelled(settled="server exited (code 3)")
    assert outcome(started(), gone) == ("notified", "server exited (code 3)")
    withdrawn = [*cancelled(signal=None), ev.CancelWithdrawn(at=2.1, id=1)]
    assert outcome(started(), withdrawn) == ("withdrawn", "reply came first")
    assert outcome(started(), withdrawn, completed()) == ("withdrawn", "reply came first: completed")
    assert told(started(), withdrawn, completed()).reason == "wrong table"


def test_the_log_takes_in_events_as_they_come():
    made = Book()
    log = Cancellations(made, origin=ORIGIN)

    def tell(*events: ev.Event) -> None:
        for event in events:
            made.apply(event)
            log.note(event)

    tell(*started(1), *started(2), *started(3))
    assert len(log.numbers) == 0
    tell(*cancelled(id=2), *cancelled(id=1))
    assert [log.item(number).id for number in log.numbers] == [2, 1]
    assert log.line(0, 76).key == 2
    before = log.version
    tell(late(id=2))
    assert log.version > before
    assert "late result +412ms" in log.line(0, 76).text
    before = log.version
    tell(ev.Progress(at=3.0, id=3, progress=1), ev.Note(at=3.0, text="x"))
    assert log.version == before


def table(cells: int, *stories: list[ev.Event]) -> list[str]:
    """The lines of a log so wide."""
    log = Cancellations(book(*stories), origin=ORIGIN)
    return [log.line(number, cells).text for number in log.numbers]


def test_outcomes_are_counted_in_the_words_of_the_index():
    rows = book(
        [*started(1), *cancelled(id=1, settled="")],
        [*started(2), *cancelled(id=2, settled="")],
        [*started(3), *cancelled(id=3), late(id=3)],
        [*started(4), *cancelled(id=4), late(Kind.ERROR, id=4)],
        [*started(5), *cancelled(id=5), late(Kind.PROGRESS, id=5)],
        [*started(6), *cancelled(id=6, signal=None), ev.Undelivered(at=3.0, id=6, detail="x")],
        [*started(7), *cancelled(id=7, settled="the server exited")],
    ).order
    assert counted(rows) == (
        "2 silent · 1 late result · 1 late error · 1 still progressing · 1 undelivered · 1 lost"
    )
    assert counted([]) == ""


def test_orders_of_the_log():
    rows = book(
        [*started(1, name="b"), *cancelled(id=1, settled="")],
        [*started(2, name="a"), *cancelled(id=2, at=3.0), late(id=2, after=0.1)],
        [*started(3, name="c"), *cancelled(id=3, at=4.0), late(id=3, after=9.0)],
    ).order
    found = {sort: [row.id for row in sorted(rows, key=sort.place)] for sort in CancelSort}
    assert found == {
        CancelSort.NEWEST: [3, 2, 1],
        CancelSort.OUTCOME: [1, 2, 3],
        CancelSort.LAG: [3, 2, 1],
        CancelSort.NAME: [2, 1, 3],
    }
    assert CancelSort.NAME.next is CancelSort.NEWEST


def test_a_cancellation_as_json():
    made = row(started(), cancelled(), late(Kind.ERROR, code=-32800))
    found = json.loads(cancellation_json(made))
    assert found["outcome"] == "late_error"
    assert found["late"] == [{"kind": "error", "after": 0.412, "code": -32800}]
    assert (found["id"], found["reason"], found["elapsed"]) == (1, "wrong table", 2.0)


def test_a_cancelled_task_is_told_in_its_own_words():
    first = ev.Called(at=0.0, id=1, method="tools/call", name="slow_sql", limits=LIMITS, as_task=True)
    asked: list[ev.Event] = [first, ev.Sent(at=0.0, id=1)]
    made = [*asked, ev.TaskCreated(at=0.5, id=1, task_id="t-1", core=True)]
    assert outcome(asked, cancelled(signal=None)) == ("waits for its id", "")
    sent = cancelled(signal=Signal.TASKS_CANCEL)
    assert outcome(made, sent) == ("tasks/cancel sent", "")
    assert outcome(made, sent, late()) == ("tasks/cancel sent", "finished anyway +412ms")
