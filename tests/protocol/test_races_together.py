"""Races between two things that take more than one message each, as playbooks: what the state machine of exchanges found."""

from __future__ import annotations

import json

import pytest

from mcp_tui.protocol.messages import Json
from tests.protocol.playbook import HANDSHAKEN, MODERN, MODERN_HTTP, Wire, at, play
from tests.protocol.recorded import RecordedLedger

modern = pytest.mark.parametrize("wire", [Wire("stdio", MODERN), MODERN_HTTP], ids=str)
core = pytest.mark.parametrize("wire", [Wire("stdio", "2025-11-25"), Wire("http", "2025-11-25")], ids=str)

HANDLE: Json = {"resultType": "task", "taskId": "T", "status": "working"}
WANTED: Json = {"resultType": "input_required", "inputRequests": {"sure": {"method": "elicitation/create"}}}
LISTEN = "subscriptions/listen"
ELICIT = "elicitation/create"


def _asking(wire: Wire) -> RecordedLedger:
    """Request 1 is a task since second 1, whose question is put to a person since second 1.1; poll 2 was answered."""
    ledger = wire.in_flight()
    at(1).result(1, {**HANDLE, "status": "input_required"}).run(ledger)
    at(1).tick().run(ledger)
    at(1).wrote(2).run(ledger)
    question: Json = {"taskId": "T", "status": "input_required", "inputRequests": {"sure": {}}}
    at(1.1).result(2, question).run(ledger)
    ledger.take()
    return ledger


def test_c43_each_response_of_a_batch_reaches_its_own_request_whosever_stream_it_is() -> None:
    first: Json = {"jsonrpc": "2.0", "id": 1, "result": {}}
    second: Json = {"jsonrpc": "2.0", "id": 2, "result": {}}
    play(
        Wire("http", "2025-03-26").in_flight("tools/call", "tools/call"),
        at(1).raw(json.dumps([first, second]).encode(), stream=2),
        "Violation 1 rule=foreign-stream detail='the response to 1 came on the stream of 2'",
        "Completed 1",
        "-> resolve 1 with a result",
        "Completed 2",
        "-> resolve 2 with a result",
    )


@modern
def test_c16_input_that_is_asked_for_while_the_cancel_waits_to_leave_is_asked_of_nobody(wire: Wire) -> None:
    play(
        wire.cancelling(),
        at(2.1).result(1, WANTED),
        "-> recall 1",
        "Late 1 kind=input_required after=0.1",
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1 detail='abandoned: nothing to cancel'",
        "-> resolve 1 with nothing",
        at(3).result(1, {}),
        "Duplicate 1 kind=result",
    )


def test_c17_a_task_that_comes_about_while_the_cancel_waits_to_leave_is_cancelled_as_a_task() -> None:
    play(
        Wire("stdio", MODERN).cancelling(),
        at(2.1).result(1, HANDLE),
        "-> recall 1",
        "Late 1 kind=task after=0.1",
        "TaskCreated 1 task_id=T status=working",
        "Called 2 method=tasks/cancel name=T limits=30/60/0 internal=True parent=1",
        '-> send 2 tasks/cancel {"taskId":"T"}',
        at(2.1).wrote(2),
        "Sent 2",
        "CancelSignalled 1 signal=tasks_cancel reason_delivered=False",
        at(4.1).tick(),
        "Settled 1",
        "-> resolve 1 with nothing",
    )


def test_headers_that_the_server_wants_otherwise_send_nothing_again_that_was_cancelled() -> None:
    play(
        MODERN_HTTP.cancelling(),
        at(2.1).error(1, -32020),
        "-> recall 1",
        "CancelWithdrawn 1",
        "Failed 1 message=no code=-32020",
        "-> resolve 1 with an error",
    )


def test_c17_a_late_task_leaves_its_row_to_settle_in_time() -> None:
    wire = Wire("stdio", MODERN)
    play(
        wire.cancelled(),
        at(2.1).result(1, HANDLE),
        "Late 1 kind=task after=0.1",
        "TaskCreated 1 task_id=T status=working",
        "Called 2 method=tasks/cancel name=T limits=30/60/0 internal=True parent=1",
        '-> send 2 tasks/cancel {"taskId":"T"}',
        at(2.1).deadline(),
        "= 4",
        at(4).tick(),
        "Settled 1",
        "-> resolve 1 with nothing",
    )


@modern
def test_a_closed_connection_leaves_no_poll_behind_of_a_task_that_was_cancelled(wire: Wire) -> None:
    ledger = wire.in_flight()
    for step in (
        at(1).result(1, HANDLE),
        at(1).cancel(1, "no"),
        at(1).wrote(2),
        at(1.1).result(2),
        at(3).tick(),
    ):
        step.run(ledger)
    ledger.take()
    play(
        ledger,
        at(3.1).closed("server exited (code 1)"),
        "Lost 3 detail='server exited (code 1)'",
        "-> resolve 3 with nothing",
        at(3.1).deadline(),
        "= None",
        at(9).tick(),
    )


@modern
def test_questions_are_taken_back_when_the_task_is_known_no_more(wire: Wire) -> None:
    play(
        _asking(wire),
        at(2.1).tick(),
        "Called 3 method=tasks/get name=T limits=30/60/0 internal=True parent=1",
        '-> send 3 tasks/get {"taskId":"T"}',
        at(2.1).wrote(3),
        "Sent 3",
        at(2.2).error(3, -32602, "gone"),
        "Failed 3 message=gone code=-32602",
        "-> resolve 3 with an error",
        "Failed 1 message='the server knows the task no more: it may have expired' origin=client rule=expired",
        "-> gather_over 1 the task is over",
        "-> resolve 1 with nothing",
    )


@modern
def test_answers_that_went_out_for_a_task_that_is_over_ask_after_it_no_more(wire: Wire) -> None:
    ledger = _asking(wire)
    for step in (at(1.5).update(1, {"sure": {}}), at(1.5).wrote(3), at(1.6).stop_waiting(1)):
        step.run(ledger)
    ledger.take()
    play(
        ledger,
        at(1.7).result(3),
        "Completed 3",
        "-> resolve 3 with a result",
        at(1.7).deadline(),
        "= None",
    )


@core
def test_c62_where_no_task_id_comes_the_answer_that_is_owed_leaves_all_the_same(wire: Wire) -> None:
    ledger = wire.ledger()
    ledger.agree(prompts=frozenset({ELICIT}))
    ledger.call("tools/call", {"name": "slow", "task": {}}, at=0.0)
    for step in (at(0).wrote(1), at(1).request(7, ELICIT), at(2).cancel(1)):
        step.run(ledger)
    ledger.take()
    play(
        ledger,
        at(4).tick(),
        "Undelivered 1 detail='no task id came that a cancel could name; a task may be running'",
        '-> reply 7 {"result":{"action":"cancel"}}',
        "ServerRequestAnswered request_id=7 how=cancel",
    )


@pytest.mark.parametrize("wire", HANDSHAKEN, ids=str)
def test_c62_a_person_who_need_not_answer_is_told_so_once(wire: Wire) -> None:
    ledger = wire.in_flight()
    ledger.agree(prompts=frozenset({ELICIT}))
    for step in (at(1).request(7, ELICIT), at(2).cancel(1)):
        step.run(ledger)
    ledger.take()
    play(
        ledger,
        at(3).closed("server exited (code 1)"),
        "-> recall 1",
        "Undelivered 1 detail='server exited (code 1)'",
        "Settled 1 detail='server exited (code 1)'",
        "-> resolve 1 with nothing",
    )


def test_c61_a_subscription_that_ended_awaits_no_acknowledgement() -> None:
    wire = Wire("stdio", MODERN)
    play(
        wire.in_flight(LISTEN, LISTEN),
        at(1).result(1),
        "Completed 1",
        "-> resolve 1 with a result",
        at(1).error(2),
        "Failed 2 message=no code=-32603",
        "-> resolve 2 with an error",
        at(1).deadline(),
        "= None",
    )


@modern
def test_a_leg_that_is_on_its_way_is_not_given_up(wire: Wire) -> None:
    ledger = wire.in_flight()
    for step in (at(1).result(1, WANTED), at(2).supply(1, {}), at(2).give_up(1, "nobody can")):
        step.run(ledger)
    ledger.take()
    play(ledger, at(2).wrote(2), "Sent 1", at(3).result(2), "Completed 1", "-> resolve 1 with a result")
