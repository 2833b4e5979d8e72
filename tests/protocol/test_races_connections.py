"""Signals, streams and connections, C-30 to C-45 by the numbers of the protocol reference, as playbooks.

Not decided by the ledger, and so tested where they are:

- C-35 and C-39, whether a broken stream is resumed: the HTTP transport. The ledger is not told of a stream that will be;
- C-33, a session that is gone, and C-42, the one stream of 2024-11-05: both reach it as a closed connection;
- C-38 and C-41, starting a server or a request again, C-44, the order of quitting, and C-45, what a ping that timed out
  says of the connection: the client. (Here: that what is lost is lost, and that a ping can be cancelled.)
"""

from __future__ import annotations

from copy import deepcopy

import pytest

from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Cause, Signal
from tests.cases import cases
from tests.protocol.playbook import (
    HANDSHAKEN,
    MODERN_HTTP,
    ON_HTTP,
    Step,
    Wire,
    after,
    at,
    notifying,
    on_http,
    play,
)

legacy_http = cases("wire", [each for each in ON_HTTP if each in HANDSHAKEN])


# -- what becomes of a signal ----------------------------------------------------------------------------------


@legacy_http
def test_c30_202_to_a_request(wire: Wire) -> None:
    play(
        wire.in_flight(),
        at(1).refused(1, "HTTP 202 to a request", status=202),
        "Failed 1 message='HTTP 202 to a request' origin=client rule=http",
    )
    play(
        wire.cancelled(),
        at(3).refused(1, "HTTP 202 to a request", status=202),
        "Unwatched 1 detail='HTTP 202 to a request'",
        "Settled 1 detail='HTTP 202 to a request'",
    )


@legacy_http
def test_c31_an_accepted_cancel_is_told_once_and_says_nothing_of_the_request(wire: Wire) -> None:
    play(
        wire.cancelling(),
        at(2).signalled(1, answered=True),
        "-> resolve 1 with nothing",
        "CancelSignalled 1 signal=notification reason_delivered=True answered=True",
        at(2.1).signal_accepted(1),
        "CancelAccepted 1",
        at(2.2).signal_accepted(1),
        at(2.2).look(
            1, "cancel_requested elapsed=2 cause=user reason=no signal=notification reason delivered"
        ),
        at(4).tick(),
        "Settled 1",
    )


@legacy_http
def test_c32_a_cancel_that_is_refused_is_no_cancel(wire: Wire) -> None:
    play(
        wire.cancelling(),
        at(2).signalled(1, answered=True),
        "-> resolve 1 with nothing",
        "CancelSignalled 1 signal=notification reason_delivered=True answered=True",
        at(2.1).signal_failed(1, "HTTP 503", refused=True),
        "Undelivered 1 detail='HTTP 503' refused=True",
        at(2.1).deadline(None),
        at(60).look(
            1,
            "cancel_requested elapsed=2 cause=user reason=no signal=notification undelivered='HTTP 503'"
            " reason delivered",
        ),
        at(61).result(1),
        "Late 1 kind=result after=59",
        "Settled 1 detail='answered late'",
    )


@legacy_http
def test_c32_a_cancel_whose_writing_fails_is_not_delivered(wire: Wire) -> None:
    play(
        wire.cancelling(),
        at(2).leaving(1),
        "-> resolve 1 with nothing",
        at(2.1).signal_failed(1, "connection reset"),
        "Undelivered 1 detail='connection reset'",
        at(60).look(1, "cancel_requested elapsed=2 cause=user reason=no undelivered='connection reset'"),
    )


@legacy_http
@pytest.mark.parametrize(
    "script",
    [
        [at(12).signal_accepted(1), "CancelAccepted 1"],
        [
            at(5).signal_failed(1, "HTTP 500", refused=True),
            "Undelivered 1 detail='HTTP 500' refused=True",
            at(5).deadline(62),
        ],
        [
            at(9).stream_ended(1),
            "Unwatched 1 detail='the stream ended without a response'",
            at(9).deadline(None),
        ],
        [at(40).result(1, stream=1), "Late 1 kind=result after=38", at(41).stream_ended(1)],
    ],
    ids=["accepted", "refused", "stream ended", "result"],
)
def test_c31_c32_c37_c40_what_comes_behind_the_grace_is_told_of_the_settled_request(
    wire: Wire, script: list[Step | str]
) -> None:
    signalled = after(wire.cancelling(), at(2).signalled(1, answered=True))
    play(signalled, at(4).tick(), "Settled 1", *script)


# -- streams and connections -----------------------------------------------------------------------------------


@on_http
def test_c34_c38_a_stream_that_drops_loses_its_request(wire: Wire) -> None:
    more = "" if wire == MODERN_HTTP else "; the server may still be running it"
    play(
        wire.in_flight("tools/call", "tools/call"),
        at(3).stream_ended(1, "connection reset"),
        f"Lost 1 detail='connection reset{more}'",
        at(4).cancel(1),
        "= ALREADY_DONE",
        at(4).look(1, f"lost elapsed=3 error='connection reset{more}'"),
        at(4).look(2, "in_flight elapsed=4"),
        at(5).result(1),
        "Late 1 kind=result after=2",
        at(5).result(1),
        "Duplicate 1 kind=result",
    )


@legacy_http
def test_c40_a_stream_that_ends_after_the_cancel_settles_it(wire: Wire) -> None:
    play(
        wire.cancelled(),
        at(2.3).stream_ended(1),
        "Unwatched 1 detail='the stream ended without a response'",
        "Settled 1 detail='the stream ended without a response'",
        at(9).deadline(None),
    )


def test_c38_in_2026_07_28_the_end_of_the_stream_is_the_cancel() -> None:
    play(
        MODERN_HTTP.cancelling(),
        at(2.1).stream_ended(1),
        "-> recall 1",
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1 detail='the stream ended without a response'",
    )


@legacy_http
def test_c37_a_stream_that_the_server_leaves_open_is_closed_after_a_minute(wire: Wire) -> None:
    play(
        wire.cancelled(),
        at(4).tick(),
        "Settled 1",
        at(5).progress(1, 1),
        "Late 1 kind=progress after=3 progress=1",
        at(5).deadline(62),
        at(62).tick(),
        "-> release 1",
        "Unwatched 1 detail='mcp-tui closed its stream after 60 s'",
        at(62).deadline(None),
    )


@legacy_http
def test_c44_the_stream_of_a_cancelled_request_is_no_matter_while_we_leave(wire: Wire) -> None:
    play(
        wire.cancelled(),
        at(3).stop_watching(),
        "Unwatched 1 final=True",
        at(4).tick(),
        "Settled 1",
        at(5).closed("disconnected", expected=True),
        "Disconnected detail=disconnected expected=True",
        at(5).deadline(None),
    )


@notifying
def test_c32_a_cancel_that_was_never_written_is_not_sent_before_and_after_the_end(wire: Wire) -> None:
    ledger = wire.in_flight("tools/call")
    at(2).cancel(1, "no").run(ledger)
    told = "not sent: the connection was closed before it could be written"
    for end in (at(3).stop_watching(), at(5).closed("closed", expected=True)):
        end.run(ledger)
        row = ledger.row(1)
        assert (evidence.outcome(row, 9.0).value, evidence.summary_words(row, 9.0)) == ("not_sent", told)


@notifying
def test_c44_a_connection_that_we_end_says_nothing_of_a_cancelled_request(wire: Wire) -> None:
    play(
        wire.cancelled(),
        at(3).closed("closed", expected=True),
        "Unwatched 1 final=True",
        "Settled 1",
        "Disconnected detail=closed expected=True after=1 ids=(1,)",
    )


@notifying
def test_c33_c41_c42_a_connection_that_closes_leaves_nothing_in_flight(wire: Wire) -> None:
    # nginx 1.22.1 cuts a silent event stream of HTTP+SSE after 60 s, and the tool works on (docs/findings-proxies.md).
    more = "; the server may still be running it" if wire.transport == "sse" else ""
    play(
        wire.in_flight("tools/call", "tools/call", "tools/call", "tools/call"),
        at(1).completes(1),
        at(2).cancels(2, "no"),
        '-> signal 2 notification {"requestId":2,"reason":"no"}',
        at(2).signalled(2),
        "-> resolve 2 with nothing",
        "CancelSignalled 2 signal=notification reason_delivered=True",
        at(3).cancels(3, "no"),
        '-> signal 3 notification {"requestId":3,"reason":"no"}',
        at(3).calls(5, "tools/call"),
        at(3.5).closed("server exited with code 3"),
        "Unwatched 2 detail='server exited with code 3' disconnected=True",
        "-> recall 3",
        "CancelSignalled 3 signal=none reason_delivered=False",
        "Settled 2 detail='server exited with code 3'",
        "Settled 3 detail='server exited with code 3'",
        f"Lost 4 detail='server exited with code 3{more}'",
        "Lost 5 detail='server exited with code 3'",
        "Disconnected detail='server exited with code 3' after=0.5 ids=(2, 3, 4, 5)",
        at(3.5).deadline(None),
        at(4).closed("again"),
        "Disconnected detail=again",
    )


@notifying
def test_c41_a_stdout_that_closed_is_the_end_of_watching(wire: Wire) -> None:
    ledger = play(
        wire.cancelled(),
        at(3).receiving_ended("server closed its stdout"),
        "Unwatched 1 detail='server closed its stdout' disconnected=True",
        at(4).tick(),
        "Settled 1",
    )
    left = play(deepcopy(ledger), at(9).stop_watching()).row(1)
    assert evidence.as_json(left, 9.0)["watched"] == 1
    assert "server closed its stdout (1.0 s after the cancel)" in evidence.summary_words(left, 9.0)
    exited = play(
        ledger,
        at(5).closed("server exited with code 4"),
        "Unwatched 1 detail='server exited with code 4' disconnected=True",
        "Disconnected detail='server exited with code 4' after=3 ids=(1,)",
    ).row(1)
    assert evidence.as_json(exited, 9.0)["watched"] == 1
    words = evidence.summary_words(exited, 9.0)
    assert "server exited with code 4 (3.0 s after the cancel)" in words
    assert "stdout" not in words


def test_c43_a_batch_of_late_and_live_responses() -> None:
    ledger = Wire("stdio", "2025-03-26").in_flight("tools/call", "tools/call")
    ledger.cancel(1, Cause.USER, "", at=2)
    ledger.signalled(1, Signal.NOTIFICATION, at=2)
    ledger.take()
    play(
        ledger,
        at(2.5).batch({"id": 1, "result": {}}, {"id": 2, "result": {}}, {"method": "notifications/x"}),
        "Late 1 kind=result after=0.5",
        "Settled 1 detail='answered late'",
        "Completed 2",
        "Notified method=notifications/x",
    )
