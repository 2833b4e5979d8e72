from __future__ import annotations

from collections.abc import Sequence

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Limits, Origin, Signal
from mcp_tui.view.rows import first_line
from tests.cases import cases
from tests.tui.making import called, cancelled, cells, completed, late, progress, row, started, warns


def info(*events: ev.Event | Sequence[ev.Event], now: float = 2.0, wide: bool = False) -> str:
    return cells(row(*events), now, wide=wide)["Result"]


# -- progress --------------------------------------------------------------------------------------------------


def test_a_total_draws_a_bar_and_per_cent():
    assert info(started(), progress(62, 100)) == "██████▏░░░ 62%"
    assert info(started(), progress(30, 100, "parsing"), wide=True) == "███░░░░░░░ 30% parsing"


@cases(
    ("done", "total", "shown"),
    [(99.9, 100.0, "99%"), (100.0, 100.0, "100%"), (150.0, 100.0, "100%"), (-5.0, 100.0, "0%")],
)
def test_per_cent_claims_no_more_than_is_done(done: float, total: float, shown: str):
    assert info(started(), progress(done, total)).strip().endswith(shown)


# -- clocks ----------------------------------------------------------------------------------------------------


def test_elapsed_runs_from_writing_and_freezes_at_the_end():
    assert cells(row(called()), 5.0)["Elapsed"] == ""
    assert cells(row(started(at=1.0)), 13.49)["Elapsed"] == "12.4s"
    assert cells(row(started(), completed(at=2.0)), 500.0)["Elapsed"] == "2.0s"
    assert cells(row(started(), cancelled(at=8.7)), 500.0)["Elapsed"] == "8.7s"


def test_progress_takes_the_warning_back_but_not_the_maximum_s():
    limits = Limits(timeout=10.0, max_timeout=20.0)
    made = row(started(limits=limits), progress(1, at=9.0))
    assert not warns(made, 12.0)
    assert warns(made, 16.0)


def test_overdue_warns_and_counts_down():
    made = row(started(), ev.Overdue(at=60.0, id=1, until=70.0))
    shown = cells(made, 62.5)
    assert warns(made, 62.5)
    assert shown["Result"] == "overdue, 8s"
    assert cells(made, 62.5, wide=True)["Result"] == "overdue, cancels in 8s"
    assert cells(made, 99.0, wide=True)["Result"] == "overdue, cancels in 0s"


def test_the_limit_column_names_the_nearest_clock():
    made = row(
        started(limits=Limits(timeout=60.0, max_timeout=600.0)), progress(1, at=300.0), progress(2, at=590.0)
    )
    assert cells(made, 301.0)["Timeout"] == "max 10m"
    assert cells(row(started()), 1.0)["Timeout"] == "60s"
    assert cells(row(started()), 1.0, wide=True)["Timeout"] == "60s · max 10m"
    assert cells(row(started(limits=Limits(timeout=None, max_timeout=600.0))), 1.0)["Timeout"] == "max 10m"
    assert cells(row(started(limits=Limits(timeout=None, max_timeout=None))), 1.0)["Timeout"] == "none"
    assert cells(row(started(limits=Limits(timeout=60.0, max_timeout=30.0))), 1.0)["Timeout"] == "max 30s"


def test_a_limit_that_was_extended_is_no_raw_number():
    made = row(started(limits=Limits(timeout=60.0, max_timeout=None)))
    made.idle_until = (made.idle_from or 0.0) + 37.2839102
    assert cells(made, 1.0)["Timeout"] == "37s"


def test_a_row_that_is_over_keeps_the_limit_that_mattered():
    assert cells(row(started(), completed()), 9.0)["Timeout"] == "60s"
    assert cells(row(started(), cancelled(cause=Cause.MAX_TIMEOUT)), 9.0)["Timeout"] == "max 10m"


def test_silence_is_told_where_there_is_room():
    assert cells(row(started()), 1.9)["Result"] == ""
    assert cells(row(started()), 8.9)["Result"] == "quiet 8s"
    assert cells(row(started()), 125.0)["Result"] == "quiet 2:05"
    wide = cells(row(started(), progress(1, 4, "orders", at=0.9)), 8.9, wide=True)
    assert (wide["Timeout"], wide["Result"]) == ("60s · max 10m", "██▌░░░░░░░ 25% quiet 8s orders")
    assert info(started(), progress(62, 100), now=9.5) == "62% quiet 8s"
    assert info(started(), progress(17, message="rows"), now=9.5) == "17 quiet 8s"
    assert info(started(), completed(), now=100.0) == "1.8 kB"


def test_a_pause_is_told():
    made = row(started(), ev.Paused(at=3.0, id=1))
    assert cells(made, 100.0)["Timeout"] == "paused"
    assert cells(made, 100.0)["Result"] == "waits for you"
    assert cells(made, 100.0, wide=True)["Result"] == "paused: waiting for you"
    assert not warns(made, 100.0)
    overdue = row(started(), ev.Overdue(at=60.0, id=1, until=70.0), ev.Paused(at=61.0, id=1))
    assert not warns(overdue, 65.0)


# -- what came of it -------------------------------------------------------------------------------------------


def test_a_cancelled_row_says_what_weighs_most_and_where_there_is_room_all_of_it():
    assert info(started(), cancelled(signal=None)) == "cancel not sent yet"
    assert info(started(), cancelled()) == "cancel sent"
    silent = cancelled(reason="wrong database", settled="")
    assert info(started(), silent, now=5.007) == "no reply in 3.0 s"
    assert info(started(), silent, now=5.007, wide=True) == "sent; no reply (watched 3.0 s) · wrong database"
    closed = cancelled(reason="", signal=Signal.STREAM_CLOSED, settled="")
    assert info(started(), closed) == "stream closed"
    assert info(started(), closed, wide=True) == "stream closed; nothing more can be seen"
    unsent = cancelled(reason="", signal=Signal.NONE, settled="cancelled before it was sent")
    assert info(called(), unsent) == "not sent: cancelled before it was sent"
    written = ev.Sent(at=2.5, id=1)
    assert info(called(), unsent, written) == "not sent: the request was written after all"
    assert info(started(), cancelled(), late()) == "late result at +412 ms"
    timed_out = cancelled(cause=Cause.TIMEOUT, reason="timed out after 60 s", settled="")
    assert info(started(), timed_out, now=3.007, wide=True) == "sent; no reply (watched 1.0 s)"


def test_progress_that_goes_on_is_said_until_it_stops():
    on = [late(Kind.PROGRESS, 0.5 * n, at=2 + 0.5 * n) for n in range(1, 13)]
    made = row(started(), cancelled(settled=""), on)
    going, quiet = cells(made, 9.0), cells(made, 9.1)
    assert (going["State"], going["Result"]) == ("progressing", "still progressing ×12")
    assert (quiet["State"], quiet["Result"]) == ("quiet", "12 progress messages, last at +6.0 s")
    assert info(started(), cancelled(settled=""), on, late(after=7.0, at=9.0)) == "late result at +7.0 s"


def test_a_connection_that_ended_soon_after_a_cancel_is_lost():
    ended = ev.Unwatched(at=3.1, id=1, detail="the server exited with code 4", disconnected=True)
    made = cells(row(started(), cancelled(settled="the server exited with code 4"), ended), 9.0)
    assert (made["State"], made["Result"]) == (
        "conn. lost",
        "the server exited with code 4 (1.1 s after the cancel)",
    )


def test_progress_that_went_on_until_the_connection_ended_is_in_the_state_too():
    on = [late(Kind.PROGRESS, 0.5 * n, at=2 + 0.5 * n) for n in range(1, 4)]
    ended = ev.Unwatched(at=3.6, id=1, detail="the server exited with code 4", disconnected=True)
    made = cells(row(started(), cancelled(), on, ended, ev.Settled(at=3.6, id=1)), 9.0)
    assert (made["State"], made["Result"]) == ("prog. lost", "still progressing ×3")


def test_outcomes():
    assert info(started(), completed()) == "1.8 kB"
    failed = ev.Failed(at=1.0, id=1, message="no b", code=-32602)
    assert info(started(), failed) == "-32602 no b"
    ours = ev.Failed(at=1.0, id=1, message="128 MB and more", origin=Origin.CLIENT, rule="oversize")
    assert info(started(), ours) == "oversize: 128 MB and more"
    assert info(started(), ev.Lost(at=1.0, id=1, detail="server exit 137")) == "server exit 137"
    summary = ev.Completed(at=1.0, id=1, size=1800, is_error=True, summary="no such table")
    assert info(started(), summary) == "no such table"
    assert info(started(), summary, wide=True) == "no such table"
    lines = ev.Completed(at=1.0, id=1, size=1800, summary="\n hello\r\n\nworld")
    assert info(started(), lines) == "hello …"
    json = ev.Completed(at=1.0, id=1, size=1800, summary='{\n  "a": 1,\n  "b": 2\n}\n')
    assert info(started(), json) == '{ "a": 1, "b": 2 }'
    assert info(started(), completed(), ev.Duplicate(at=3.0, id=1, kind=Kind.RESULT)) == "answered ×2"


# -- tasks -----------------------------------------------------------------------------------------------------


def task(*, core: bool = True, status: str = "working") -> list[ev.Event]:
    return [
        ev.Called(
            at=0.0,
            id=1,
            method="tools/call",
            name="slow_sql",
            limits=Limits(timeout=60.0, max_timeout=600.0),
            as_task=core,
        ),
        ev.Sent(at=0.0, id=1),
        ev.TaskCreated(at=0.5, id=1, task_id="t-1", status=status, core=core),
    ]


def test_a_task_says_where_the_server_says_it_stands():
    assert info(task()) == "working"
    said = ev.TaskStatus(at=1.0, id=1, status="working", message="reading sources")
    assert info(task(), said, wide=True) == "task working reading sources"
    asks = ev.TaskStatus(at=1.0, id=1, status="input_required", message="which one?")
    assert info(task(), asks) == "needs input which one?"
    assert info(task(), asks, ev.Paused(at=1.0, id=1)) == "waiting for you"


def test_c88_a_task_that_was_cancelled_may_finish_anyway():
    sent = cancelled(signal=Signal.TASKS_CANCEL)
    assert info(task(core=False), sent) == "cancel sent"
    assert info(task(core=False), sent, late()) == "task finished anyway at +412 ms"


def test_c82_a_task_whose_cancel_the_server_confirmed_is_cancelled():
    confirmed = ev.TaskStatus(at=2.2, id=1, status="cancelled")
    ended = cancelled(signal=Signal.TASKS_CANCEL, settled="server confirmed: task cancelled")
    shown = cells(row(task(), ended, confirmed), 9.0, wide=True)
    assert (shown["State"], shown["Result"]) == (
        "cancelled",
        "sent; server confirmed: task cancelled · wrong table",
    )


def test_c59_a_subscription_that_this_client_ended_is_unsubscribed_whatever_the_server_says_to_it():
    listening = [ev.Called(at=0.0, id=1, method="subscriptions/listen"), ev.Sent(at=0.0, id=1)]
    ended = cancelled(reason="unsubscribed")
    assert info(listening, ended) == "cancel sent"
    for answer in ([ev.Settled(at=4.0, id=1)], [late(), ev.Settled(at=2.4, id=1, detail="answered late")]):
        made = cells(row(listening, ended, *answer), 9.0, wide=True)
        assert (made["State"], made["Result"]) == ("cancelled", "sent; unsubscribed")
        assert cells(row(listening, ended, *answer), 9.0)["Result"] == "unsubscribed"
    made = cells(row(listening, cancelled(reason="too loud"), ev.Settled(at=4.0, id=1)), 9.0, wide=True)
    assert made["Result"] == "sent; unsubscribed · too loud"


def test_c56_a_subscription_that_the_server_ended_says_so():
    listening = [ev.Called(at=0.0, id=1, method="subscriptions/listen"), ev.Sent(at=0.0, id=1)]
    assert info(listening, ev.Completed(at=1.0, id=1, size=80)) == "closed by the server"


@cases(
    ("text", "shown"),
    [
        ("one\ntwo", "one …"),
        ("# Weather\n\nIt is **20 °C** in Bern. Rain later.", "It is 20 °C in Bern. …"),
        ("**Done.** All rows fit.", "Done. …"),
        ("# Only a title", "Only a title"),
        ("#!/bin/sh", "#!/bin/sh"),
        ('{"a":\n 1}', '{"a": 1}'),
        (
            "Order 1000 is paid. It was shipped on the first of May by the usual carrier.",
            "Order 1000 is paid. …",
        ),
        ("The e.g. of v1. 2 is no end of a sentence, and neither is one before a. Small letter", None),
        ("", ""),
    ],
)
def test_a_preview_is_the_first_line_or_sentence(text: str, shown: str | None):
    assert first_line(text) == (shown if shown is not None else text)
