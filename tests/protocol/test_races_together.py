"""Races between two things that take more than one message each, as playbooks: what the state machine of exchanges found."""

from __future__ import annotations

import json

from mcp_tui.protocol.messages import Json
from tests.protocol.playbook import MODERN, Wire, at, play

HANDLE: Json = {"resultType": "task", "taskId": "T", "status": "working"}
ELICIT = "elicitation/create"


def test_c43_each_response_of_a_batch_reaches_its_own_request_whosever_stream_it_is() -> None:
    first: Json = {"jsonrpc": "2.0", "id": 1, "result": {}}
    second: Json = {"jsonrpc": "2.0", "id": 2, "result": {}}
    play(
        Wire("http", "2025-03-26").in_flight("tools/call", "tools/call"),
        at(1).raw(json.dumps([first, second]).encode(), stream=2),
        "Violation 1 rule=foreign-stream detail='the response to 1 came on the stream of 2'",
        "Completed 1",
        "Completed 2",
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
        at(2.1).sent(2),
        "CancelSignalled 1 signal=tasks_cancel reason_delivered=False answered=True",
        at(4.1).tick(),
        "Settled 1",
    )
