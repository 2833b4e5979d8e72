"""The races that a wire has to do with, over every transport in both eras: real pipes, real sockets, whole clients.

What a revision changes beside that is played against the ledger alone, in ``tests/protocol``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Signal
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.messages import ResponseFrame
from mcp_tui.protocol.requests import State
from tests.protocol.playbook import MODERN, MODERN_HTTP, Wire
from tests.races.playing import BRIEF, playing
from tests.races.server import Message

STDIO, HTTP, SSE = Wire("stdio", "2025-11-25"), Wire("http", "2025-11-25"), Wire("sse", "2024-11-05")
MODERN_STDIO = Wire("stdio", MODERN)

HANDSHAKEN = [STDIO, HTTP, SSE]
NOTIFYING = [*HANDSHAKEN, MODERN_STDIO]
EVERYWHERE = [*NOTIFYING, MODERN_HTTP]
ON_STDIO = [STDIO, MODERN_STDIO]
ON_HTTP = [HTTP, MODERN_HTTP]
LEGACY_HTTP = [HTTP]
POSTING = [HTTP, SSE]


def on(*wires: Wire) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("wire", wires, ids=str)


everywhere = on(*EVERYWHERE)
notifying = on(*NOTIFYING)
handshaken = on(*HANDSHAKEN)


# -- how a cancel leaves ---------------------------------------------------------------------------------------


@notifying
async def test_c01_c02_c31_a_cancel_in_flight_is_told_once_with_its_reason(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        other = await played.call("silent")
        row = await played.cancelled("silent")
        assert (row.signal, row.reason_delivered, row.undelivered) == (Signal.NOTIFICATION, True, "")
        assert row.state is State.CANCEL_REQUESTED
        assert other.state is State.IN_FLIGHT
    params = {"requestId": row.id, "reason": "wrong table"}
    assert [each["params"] for each in played.signals(row) if "params" in each] == [params]


@on(MODERN_HTTP)
async def test_c03_c04_a_cancel_in_flight_closes_the_stream_and_posts_nothing(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        other = await played.call("silent")
        row = await played.cancelled("silent")
        assert (row.signal, row.reason_delivered) == (Signal.STREAM_CLOSED, False)
        assert row.state is State.CANCELLED
        assert other.state is State.IN_FLIGHT
        assert played.signals(row) == [{"closed": row.id}]
        assert not played.signals(other)


@everywhere
async def test_c09_a_second_cancel_sends_nothing(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.cancelled("silent", "first")
        assert played.client.cancel(row.id, reason="second") is CancelOutcome.ALREADY_REQUESTED
        assert await played.answer(await played.call("prompt"))
        assert len(played.signals(row)) == 1
        assert row.reason == "first"


@everywhere
async def test_c11_a_cancel_behind_the_response_sends_nothing(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("prompt")
        assert await played.answer(row)
        assert played.client.cancel(row.id) is CancelOutcome.ALREADY_DONE
        assert await played.answer(await played.call("prompt"))
        assert not [each for each in played.hears() if each.get("method") == "notifications/cancelled"]
        assert row.state is State.COMPLETED


@on(*POSTING)
async def test_c32_a_cancel_that_is_refused_is_said_to_be_undelivered(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        assert played.web is not None
        played.web.refusing = True
        row = await played.call("silent")
        played.client.cancel(row.id)
        await played.until(lambda: row.undelivered)
        assert "503" in row.undelivered
        assert row.state is State.CANCEL_REQUESTED
        assert len(played.signals(row)) == 1


# -- what comes after it ---------------------------------------------------------------------------------------


@notifying
async def test_c10_a_result_behind_the_cancel_is_evidence_and_reaches_nobody(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.cancelled("late")
        await played.until(lambda: row.late)
        assert [evidence.kind for evidence in row.late] == [Kind.RESULT]
        assert (row.state, row.settled) == (State.CANCELLED, "answered late")
        assert await played.answer(row) is None


@on(MODERN_STDIO)
async def test_c13_a_result_soon_behind_the_cancel_may_have_crossed_it(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.cancelled("late")
        await played.until(lambda: row.late)
        assert row.late[0].after >= 0
        assert ("late-response" in played.rules()) is (row.late[0].after > 1.0)


@notifying
async def test_c12_an_error_behind_the_cancel_is_evidence_with_its_code(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.cancelled("late error")
        await played.until(lambda: row.late)
        (evidence,) = row.late
        assert (evidence.kind, evidence.code, evidence.summary) == (Kind.ERROR, -32800, "Request cancelled")
        assert row.state is State.CANCELLED
        assert await played.answer(row) is None


@notifying
async def test_c14_progress_behind_the_cancel_is_evidence_and_settles_nothing(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.cancelled("late progress")
        await played.until(lambda: row.late)
        assert [evidence.kind for evidence in row.late] == [Kind.PROGRESS]
        assert (row.state, row.progress) == (State.CANCEL_REQUESTED, None)


@notifying
async def test_c15_a_log_message_behind_the_cancel_is_kept_and_nobodys(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.cancelled("late log")
        await played.until(lambda: played.told(ev.Log))
        assert not row.late
        assert row.state is State.CANCEL_REQUESTED


@on(MODERN_STDIO)
async def test_c16_a_wish_for_input_behind_the_cancel_prompts_nobody(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.cancelled("late input")
        await played.until(lambda: row.late)
        assert [evidence.kind for evidence in row.late] == [Kind.INPUT_REQUIRED]
        assert await played.answer(await played.call("prompt"))
        assert [each.get("method") for each in played.hears()].count("tools/call") == 2
        assert row.state is State.CANCELLED


@everywhere
async def test_c18_a_timeout_is_told_as_a_cancel(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("silent", BRIEF)
        await played.until(lambda: played.signals(row))
        assert (row.cause, row.reason) == (Cause.TIMEOUT, "timed out after 0.05 s")
        (signal,) = played.signals(row)
        closed = {"closed": row.id}
        assert signal.get("params", closed) == (
            closed if wire == MODERN_HTTP else {"requestId": row.id, "reason": row.reason}
        )


@notifying
async def test_c19_a_result_behind_the_timeout_is_evidence(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("late", BRIEF)
        await played.until(lambda: row.late)
        assert (row.cause, row.late[0].kind) == (Cause.TIMEOUT, Kind.RESULT)
        assert await played.answer(row) is None


# -- whose a response is ---------------------------------------------------------------------------------------


@everywhere
async def test_c25_a_second_response_is_a_duplicate(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("twice")
        await played.until(lambda: row.duplicates)
        assert row.state is State.COMPLETED
        assert isinstance(await played.answer(row), ResponseFrame)


@on(*NOTIFYING)
async def test_c26_a_response_to_an_unknown_id_is_told_and_ends_nothing(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        other = await played.call("silent")
        row = await played.call("unknown")
        await played.until(lambda: played.told(ev.Unknown))
        assert [event.response_id for event in played.told(ev.Unknown) if isinstance(event, ev.Unknown)] == [
            4242
        ]
        assert await played.answer(row)
        assert (row.state, other.state) == (State.COMPLETED, State.IN_FLIGHT)


@everywhere
async def test_c27_an_id_that_came_back_as_a_text_is_correlated_and_flagged(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("text")
        assert await played.answer(row)
        assert row.state is State.COMPLETED
        assert played.rules() & {"response-id-type", "mismatched-id"}


@everywhere
async def test_c28_an_error_without_an_id_ends_the_only_request(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("nameless")
        await played.until(lambda: not row.open)
        assert (row.state, row.code, row.error) == (State.FAILED, -32700, "Parse error")


@on(*ON_HTTP)
async def test_c29_somebody_elses_answer_on_its_own_stream_fails_a_request(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("wrong")
        await played.until(lambda: not row.open)
        assert (row.state, row.rule) == (State.FAILED, "mismatched-id")
        assert await played.answer(await played.call("prompt"))


@on(*ON_HTTP)
async def test_c30_202_to_a_request_fails_it(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("accepted")
        await played.until(lambda: not row.open)
        assert (row.state, row.rule) == (State.FAILED, "http")
        assert "202" in row.error


# -- streams and connections -----------------------------------------------------------------------------------


@on(*ON_HTTP)
async def test_c34_c38_a_stream_that_ends_loses_its_request_alone(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        other = await played.call("silent")
        row = await played.call("ends")
        await played.until(lambda: not row.open)
        assert row.state is State.LOST
        assert row.error
        assert other.state is State.IN_FLIGHT
        assert not played.signals(row)
        assert [each.get("id") for each in played.hears()].count(row.id) == 1


@on(*LEGACY_HTTP)
async def test_c40_a_stream_that_ends_behind_the_cancel_settles_it(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.cancelled("late end")
        await played.until(lambda: row.settled)
        assert row.state is State.CANCELLED
        assert not row.late


@on(*ON_STDIO)
async def test_c41_a_server_that_exits_leaves_nothing_in_flight(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        cancelling = await played.cancelled("silent")
        other = await played.call("silent")
        row = await played.call("ends")
        await played.until(lambda: not played.client.connected)
        assert (row.state, other.state, cancelling.state) == (State.LOST, State.LOST, State.CANCELLED)
        assert row.error == other.error
        assert all("server exited (code 3)" in text for text in (row.error, cancelling.settled))


@on(Wire("sse", "2024-11-05"))
async def test_c42_a_stream_that_ends_leaves_nothing_in_flight(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        cancelling = await played.cancelled("silent")
        row = await played.call("ends")
        await played.until(lambda: not played.client.connected)
        assert (row.state, cancelling.state) == (State.LOST, State.CANCELLED)
        assert row.error == cancelling.settled


@on(Wire("stdio", "2025-03-26"), Wire("http", "2025-03-26"))
async def test_c43_a_batch_of_late_and_live_responses_is_taken_apart(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        gone = await played.cancelled("silent")
        row = await played.call("batch")
        assert isinstance(await played.answer(row), ResponseFrame)
        await played.until(lambda: gone.late)
        assert [evidence.kind for evidence in gone.late] == [Kind.RESULT]
        assert (row.state, gone.state) == (State.COMPLETED, State.CANCELLED)
        assert "batch" not in played.rules()


@everywhere
async def test_c44_quitting_tells_of_each_request_in_flight_once(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        rows = [await played.call("silent") for _ in range(3)]
        await played.until(lambda: len([each for each in played.hears() if each.get("id")]) >= len(rows) + 1)
        await played.client.close()
        await played.until(lambda: all(played.signals(row) for row in rows))
        assert [len(played.signals(row)) for row in rows] == [1, 1, 1]
        assert {(row.state, row.cause) for row in rows} == {(State.CANCELLED, Cause.SHUTDOWN)}


@handshaken
async def test_c45_a_ping_that_times_out_is_cancelled(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = played.book_row(played.client.call("ping", limits=BRIEF))
        await played.until(lambda: played.signals(row))
        assert row.cause is Cause.TIMEOUT
        assert played.client.connected


# -- the server's own cancels and requests ---------------------------------------------------------------------


@handshaken
async def test_c52_a_cancel_of_the_servers_with_an_id_of_ours_is_not_about_ours(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("misdirects")
        assert isinstance(await played.answer(row), ResponseFrame)
        assert (row.state, row.cause) == (State.COMPLETED, None)
        assert "server-cancelled" not in played.rules()


@on(MODERN_STDIO, MODERN_HTTP)
async def test_c57_in_2026_07_28_it_breaks_a_rule_besides(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("misdirects")
        assert isinstance(await played.answer(row), ResponseFrame)
        assert row.state is State.COMPLETED
        assert "server-cancelled" in played.rules()


@handshaken
async def test_c55_a_ping_of_the_servers_is_answered_at_once_under_its_own_id(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("asks")
        assert isinstance(await played.answer(row), ResponseFrame)
        pong: Message = {"jsonrpc": "2.0", "id": row.id, "result": {}}
        await played.until(lambda: pong in played.hears())


@on(MODERN_STDIO, MODERN_HTTP)
async def test_c70_in_2026_07_28_it_is_never_answered(wire: Wire, tmp_path: Path):
    async with playing(wire, tmp_path) as played:
        row = await played.call("asks")
        assert isinstance(await played.answer(row), ResponseFrame)
        assert await played.answer(await played.call("prompt"))
        assert "server-request" in played.rules()
        assert all("method" in each or "closed" in each for each in played.hears())
