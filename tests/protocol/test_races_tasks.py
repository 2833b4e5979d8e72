"""The races of tasks, C-17 and C-80 to C-90, as playbooks: the core of 2025-11-25 and the extension of 2026-07-28."""

from __future__ import annotations

from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Cause, Limits, Signal
from mcp_tui.protocol.messages import Json
from tests.cases import cases
from tests.protocol.playbook import MODERN, MODERN_HTTP, Wire, after, at, play
from tests.protocol.recorded import RecordedLedger

CORE = [Wire("stdio", "2025-11-25"), Wire("http", "2025-11-25")]
EXTENSION = [Wire("stdio", MODERN), MODERN_HTTP]

core = cases("wire", CORE)
extension = cases("wire", EXTENSION)
both = cases("wire", [*CORE, *EXTENSION])


CONFIRMED = (
    "TaskStatus 1 status=cancelled ttl=60 poll=0.5",
    "Settled 1 detail='server confirmed: task cancelled'",
)
"""What follows a poll that calls the task cancelled."""


def _modern(wire: Wire) -> bool:
    return wire.revision == MODERN


def _task(wire: Wire, status: str = "working", **more: Json) -> dict[str, Json]:
    times: dict[str, Json] = (
        {"ttlMs": 60000, "pollIntervalMs": 500} if _modern(wire) else {"ttl": 60000, "pollInterval": 500}
    )
    return {"taskId": "T", "status": status, **times, **more}


def _handle(wire: Wire, **more: Json) -> Json:
    task = _task(wire, **more)
    return {"resultType": "task", **task} if _modern(wire) else {"task": task}


def _called(wire: Wire) -> RecordedLedger:
    """A call that may become a task is in flight since second 0."""
    ledger = wire.ledger()
    params: dict[str, Json] = {"name": "slow"} if _modern(wire) else {"name": "slow", "task": {}}
    ledger.call("tools/call", params, at=0.0)
    return after(ledger, at(0).wrote(1))


def _running(wire: Wire, **more: Json) -> RecordedLedger:
    """It became one at second 1."""
    return after(_called(wire), at(1).result(1, _handle(wire, **more)))


def _polling(wire: Wire) -> RecordedLedger:
    """A poll, request 2, is on its way since second 1.5."""
    return after(_running(wire), at(1.5).tick(), at(1.5).wrote(2))


def _cancelled(wire: Wire) -> RecordedLedger:
    """Cancelled at second 2 by ``tasks/cancel``, request 2, which has left."""
    return after(_running(wire), at(1.4).cancel(1, "no"), at(1.4).wrote(2))


def _created(wire: Wire) -> str:
    core_ = "" if _modern(wire) else " core=True"
    return f"TaskCreated 1 task_id=T status=working ttl=60 poll=0.5{core_}"


def _errand(id: int, method: str) -> tuple[str, str]:
    called = f"Called {id} method={method} name=T limits=30/60/0 internal=True parent=1"
    return called, f'-> send {id} {method} {{"taskId":"T"}}'


def _polls(id: int) -> tuple[str, str]:
    return _errand(id, "tasks/get")


def _cancels(id: int) -> tuple[str, str]:
    return _errand(id, "tasks/cancel")


@both
def test_a_task_is_polled_at_the_servers_interval_stays_one_row_and_each_answer_re_arms_its_timeout(
    wire: Wire,
) -> None:
    play(
        _called(wire),
        at(1).result(1, _handle(wire)),
        _created(wire),
        at(1).deadline(1.5),
        at(1.5).tick(),
        *_polls(2),
        at(1.5).sent(2),
        at(30).completes(2, _task(wire)),
        "Polled 1",
        at(30).clocks(1, "idle 90 maximum 600"),
        at(30).deadline(30.5),
        at(30.5).tick(),
        *_polls(3),
        at(30.5).sent(3),
        at(31).completes(3, _task(wire, statusMessage="half")),
        "TaskStatus 1 status=working message=half ttl=60 poll=0.5",
        at(31).clocks(1, "idle 91 maximum 600"),
        at(31).look(1, "task elapsed=31"),
    )


@extension
def test_a_task_of_the_extension_ends_with_the_result_that_its_status_brings(wire: Wire) -> None:
    play(
        _polling(wire),
        at(2).completes(2, _task(wire, "completed", result={"isError": True})),
        "TaskStatus 1 status=completed ttl=60 poll=0.5",
        "Completed 1 is_error=True",
        at(2).deadline(None),
    )
    play(
        _polling(wire),
        at(2).completes(2, _task(wire, "completed", result={"isError": "no"})),
        "TaskStatus 1 status=completed ttl=60 poll=0.5",
        "Violation 1 rule=malformed-result detail=\"isError is 'no', which is not a boolean\"",
        "Completed 1 is_error=True",
    )
    play(
        _polling(wire),
        at(2).completes(2, _task(wire, "failed", error={"code": -32000, "message": "out of memory"})),
        "TaskStatus 1 status=failed ttl=60 poll=0.5",
        "Failed 1 message='out of memory' code=-32000",
        "-> resolve 1 with nothing",
    )


@core
def test_a_task_of_the_core_ends_with_the_result_that_is_fetched(wire: Wire) -> None:
    play(
        _polling(wire),
        at(2).completes(2, _task(wire, "completed")),
        "TaskStatus 1 status=completed ttl=60 poll=0.5",
        "Called 3 method=tasks/result name=T limits=None/None/0 internal=True parent=1",
        '-> send 3 tasks/result {"taskId":"T"}',
        at(2).sent(3),
        at(3).result(3, {"content": [{"type": "text", "text": "done"}]}),
        "Completed 3 summary=done",
        "Completed 1 summary=done",
    )


@both
def test_a_status_that_the_schema_does_not_know_leaves_the_task_as_it_was(wire: Wire) -> None:
    play(
        _polling(wire),
        at(2).completes(2, _task(wire, "bogus")),
        "Violation 1 rule=task-status detail=\"a task with the status 'bogus'\"",
        at(2).clocks(1, "idle 61 maximum 600"),
        at(2).look(1, "task elapsed=2"),
    )


@core
def test_c80_c82_a_cancel_before_the_task_id_waits_for_it_and_its_status_confirms_it(wire: Wire) -> None:
    play(
        _called(wire),
        at(0.5).cancels(1, "no"),
        "= AWAITS_TASK_ID",
        at(1).result(1, _handle(wire)),
        "Late 1 kind=task after=0.5",
        _created(wire),
        *_cancels(2),
        at(1).sent(2),
        "CancelSignalled 1 signal=tasks_cancel reason_delivered=False answered=True",
        at(1.2).completes(2, _task(wire, "cancelled")),
        "CancelAccepted 1 detail='server confirmed: task cancelled'",
        at(1.2).tick(),
        *_polls(3),
        at(1.2).sent(3),
        at(1.3).completes(3, _task(wire, "cancelled")),
        *CONFIRMED,
        at(1.3).deadline(None),
    )


@core
def test_an_answer_to_the_cancel_about_another_task_confirms_nothing(wire: Wire) -> None:
    play(
        _cancelled(wire),
        at(1.5).completes(2, {**_task(wire, "cancelled"), "taskId": "U"}),
        "Violation 1 rule=task-mismatch detail=\"an answer about the task 'U' instead of 'T'\"",
        at(1.5).tick(),
        *_polls(3),
        at(1.5).sent(3),
        at(1.6).completes(3, {**_task(wire, "cancelled"), "taskId": "U"}),
        "Violation 1 rule=task-mismatch detail=\"an answer about the task 'U' instead of 'T'\" count=2",
        at(2.1).tick(),
        *_polls(4),
        at(2.1).sent(4),
        at(2.2).completes(4, _task(wire)),
        at(3.4).tick(),
        *_polls(5),
        "Settled 1",
        at(3.4).look(1, "cancelled elapsed=1.4 cause=user reason=no signal=tasks_cancel"),
    )


@core
@cases("status", ["completed", "failed", "working"])
def test_an_answer_to_the_cancel_with_another_status_is_a_status_and_no_result(
    wire: Wire, status: str
) -> None:
    text = f"tasks/cancel was answered with the status {status!r}, not 'cancelled'"
    ledger = play(
        _cancelled(wire),
        at(1.5).completes(2, _task(wire, status)),
        "CancelAccepted 1",
        f'Violation 1 rule=task-status detail="{text}"',
        f"TaskStatus 1 status={status} ttl=60 poll=0.5",
        at(1.5).tick(),
        *_polls(3),
    )
    at(1.6).wrote(3).run(ledger)
    at(1.7).result(3, _task(wire, status)).run(ledger)
    at(3.4).tick().run(ledger)
    assert not ledger.row(1).late
    assert evidence.summary_words(ledger.row(1), 3.4).startswith(
        f"sent, accepted; task last reported as {status}"
    )


@core
def test_a_task_that_works_on_after_it_was_called_cancelled_is_not_confirmed(wire: Wire) -> None:
    stays = "a task that was cancelled must stay cancelled, and is 'working'"
    play(
        after(
            _cancelled(wire), at(1.5).result(2, _task(wire, "cancelled")), at(1.5).tick(), at(1.5).wrote(3)
        ),
        at(1.6).completes(3, _task(wire)),
        "TaskStatus 1 status=working ttl=60 poll=0.5",
        f'Violation 1 rule=task-after-cancel detail="{stays}"',
        at(3.4).tick(),
        *_polls(4),
        "Settled 1",
    )


@core
def test_a_task_that_was_called_cancelled_is_so_though_the_connection_was_closed_at_once(wire: Wire) -> None:
    ledger = after(
        _cancelled(wire), at(1.5).result(2, _task(wire, "cancelled")), at(2).closed("", expected=True)
    )
    assert evidence.summary_words(ledger.row(1), 9.0) == "sent, accepted; server confirmed: task cancelled"


@core
def test_a_task_that_was_called_cancelled_after_the_grace_must_stay_so_too(wire: Wire) -> None:
    stays = "a task that was cancelled must stay cancelled, and is 'working'"
    play(
        after(_cancelled(wire), at(3.5).tick(), at(3.6).result(2, _task(wire, "cancelled")), at(3.6).tick()),
        at(3.6).sent(3),
        at(3.7).completes(3, _task(wire)),
        "TaskStatus 1 status=working ttl=60 poll=0.5",
        f'Violation 1 rule=task-after-cancel detail="{stays}"',
    )


@core
def test_a_status_that_was_asked_for_before_the_answer_to_the_cancel_contradicts_nothing(wire: Wire) -> None:
    play(
        after(_polling(wire), at(1.6).cancel(1, "no"), at(1.6).wrote(3)),
        at(1.7).completes(3, _task(wire, "cancelled")),
        "CancelAccepted 1 detail='server confirmed: task cancelled'",
        at(1.8).completes(2, _task(wire)),
        at(1.8).tick(),
        *_polls(4),
        at(1.8).sent(4),
        at(1.9).completes(4, _task(wire, "cancelled")),
        *CONFIRMED,
    )


def test_c81_before_the_handle_the_extension_cancels_as_any_request_and_then_the_task() -> None:
    wire = Wire("stdio", MODERN)
    play(
        _called(wire),
        at(0.5).cancels(1, "no"),
        '-> signal 1 notification {"requestId":1,"reason":"no"}',
        at(0.5).leaves(1),
        at(0.9).result(1, _handle(wire)),
        "Late 1 kind=task after=0.4",
        _created(wire),
        *_cancels(2),
    )


def test_c17_a_handle_behind_a_cancel_that_has_settled_is_cancelled_all_the_same() -> None:
    wire = Wire("stdio", MODERN)
    play(
        after(_called(wire), at(0.5).cancel(1), at(0.5).signalled(1), at(2.5).tick()),
        at(3).result(1, _handle(wire)),
        "Late 1 kind=task after=2.5",
        "Violation 1 rule=late-response detail='task 2.500 s after the cancel: nothing further may be sent'",
        _created(wire),
        *_cancels(2),
    )


@extension
def test_c83_the_extension_acknowledges_and_promises_nothing(wire: Wire) -> None:
    play(
        _cancelled(wire),
        at(1.6).completes(2, {"resultType": "complete"}),
        "CancelAccepted 1 detail='cancel acknowledged – not guaranteed'",
        at(1.6).tick(),
        *_polls(3),
        at(1.6).sent(3),
        at(1.7).completes(3, _task(wire)),
        at(3.4).tick(),
        *_polls(4),
        "Settled 1 detail='cancel acknowledged – not guaranteed'",
        at(3.4).sent(4),
        at(3.5).completes(4, _task(wire, "cancelled")),
        "TaskStatus 1 status=cancelled ttl=60 poll=0.5",
        at(3.5).deadline(None),
    )


@both
@cases("cause", [Cause.SHUTDOWN, Cause.TIMEOUT])
def test_c83_the_cancel_of_a_task_is_not_cancelled_itself(wire: Wire, cause: Cause) -> None:
    play(
        _cancelled(wire),
        at(1.5).cancel(2, "no more", cause=cause),
        f"CancelRequested 2 cause={cause.value} reason='no more'",
        "CancelSignalled 2 signal=none reason_delivered=False",
        "Settled 2",
    )


@both
def test_c84_a_task_that_is_not_known_is_asked_for_once_more(wire: Wire) -> None:
    play(
        _cancelled(wire),
        at(1.6).error(2, -32602, "no such task"),
        "Failed 2 message='no such task' code=-32602",
        "Undelivered 1 detail='error -32602 no such task' refused=True",
        at(1.6).tick(),
        *_polls(3),
        at(1.6).sent(3),
        at(1.8).error(3, -32602, "no such task"),
        "Failed 3 message='no such task' code=-32602",
        "Settled 1 detail='the server no longer knows the task'",
    )


@core
def test_c85_a_server_that_cannot_cancel_tasks_is_not_asked_to(wire: Wire) -> None:
    ledger = _running(wire)
    ledger.agree(cancels_tasks=False)
    play(
        ledger,
        at(1.4).cancel(1, "no"),
        "= REFUSED",
        at(1.4).look(1, "task elapsed=1.4"),
    )


@core
@cases("cause", ["user", "timeout", "max_timeout", "shutdown"])
def test_c85_a_task_that_is_left_because_it_cannot_be_cancelled_keeps_the_cause(
    wire: Wire, cause: str
) -> None:
    ledger = _polling(wire)
    ledger.agree(cancels_tasks=False)
    play(
        ledger,
        at(1.6).cancel(1, "no", cause=Cause(cause), leave=True),
        f"CancelRequested 1 cause={cause} reason=no",
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1 detail='the server cannot cancel tasks: it keeps running'",
        "= LEFT",
        at(1.7).completes(2, _task(wire)),
        at(1.7).deadline(None),
        at(1.8).cancel(1, leave=True),
        "= ALREADY_REQUESTED",
    )


@both
def test_c86_to_stop_waiting_is_no_cancel(wire: Wire) -> None:
    play(
        _running(wire),
        at(1.4).stop_waiting(1),
        "CancelRequested 1 cause=user reason='stopped waiting'",
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1 detail='stopped waiting; the task keeps running'",
        at(1.4).deadline(None),
    )


@extension
def test_c87_the_questions_of_a_task_are_asked_once_and_those_that_vanish_are_withdrawn(wire: Wire) -> None:
    one: dict[str, Json] = {"a": {"method": "elicitation/create"}, "b": {"method": "elicitation/create"}}
    ledger = _polling(wire)
    play(
        ledger,
        at(2).completes(2, _task(wire, "input_required", inputRequests=one)),
        "TaskStatus 1 status=input_required ttl=60 poll=0.5",
        "-> gather 1 a, b for its task",
        "Paused 1",
        at(2.2).update(1, {"a": {"action": "accept"}}),
        "Called 3 method=tasks/update name=T limits=30/60/0 internal=True parent=1",
        '-> send 3 tasks/update {"taskId":"T","inputResponses":{"a":{"action":"accept"}}}',
        at(2.2).sent(3),
        at(2.3).completes(3, {"resultType": "complete"}),
        at(2.3).tick(),
        *_polls(4),
        at(2.3).sent(4),
        at(2.4).completes(4, _task(wire, "input_required", inputRequests={"a": one["a"]})),
        "Polled 1",
        "-> gather_over 1 b: withdrawn by the server",
        "Resumed 1",
    )


@extension
def test_c87_a_cancel_while_input_is_asked_for_closes_the_prompts_and_sends_no_answer(wire: Wire) -> None:
    ledger = _polling(wire)
    at(2).result(2, _task(wire, "input_required", inputRequests={"a": {"method": "elicitation/create"}})).run(
        ledger
    )
    ledger.take()
    play(
        ledger,
        at(2.1).cancel(1, "no"),
        "-> gather_over 1 the request was cancelled",
        "CancelRequested 1 cause=user reason=no",
        *_cancels(3),
        at(2.2).update(1, {"a": {"action": "accept"}}),
        "= nobody waits for it",
    )


@core
@cases("status", [0, 500])
def test_c84_a_cancel_that_http_refuses_or_that_never_leaves_is_undelivered(wire: Wire, status: int) -> None:
    left = [at(1.4).wrote(2)] if status else []
    play(
        after(_running(wire), at(1.4).cancel(1, "no"), *left),
        at(1.6).refused(2, "HTTP 500" if status else "connection refused", status=status),
        *(
            ["Failed 2 message='HTTP 500' origin=client rule=http", "Undelivered 1 detail='HTTP 500' refused=True"]
            if status
            else ["Lost 2 detail='connection refused'", "Undelivered 1 detail='connection refused'"]
        ),
    )  # fmt: skip


@core
def test_c86_what_the_errand_for_the_result_brings_after_the_cancel(wire: Wire) -> None:
    ledger = after(
        _polling(wire),
        at(2).result(2, _task(wire, "input_required")),
        at(2).wrote(3),
        at(2.1).cancel(1, "no"),
        at(2.1).wrote(4),
    )
    play(
        ledger,
        at(2.2).error(3, -32603, "the task was cancelled"),
        "Failed 3 message='the task was cancelled' code=-32603",
    )
    after(ledger, at(2.3).result(4, _task(wire, "cancelled")), at(2.3).tick(), at(2.3).wrote(5))
    at(2.4).result(5, _task(wire, "cancelled")).run(ledger)
    assert evidence.summary_words(ledger.row(1), 9.0) == "sent, accepted; server confirmed: task cancelled"


@core
def test_c88_the_result_of_a_task_that_was_confirmed_to_be_cancelled_is_late(wire: Wire) -> None:
    ledger = after(
        _polling(wire),
        at(2).result(2, _task(wire, "completed")),
        at(2).wrote(3),
        at(2.1).cancel(1, "no"),
        at(2.1).wrote(4),
        at(2.2).result(4, _task(wire, "cancelled")),
        at(2.2).tick(),
        at(2.2).wrote(5),
        at(2.3).result(5, _task(wire, "cancelled")),
    )
    play(
        ledger,
        at(3.1).completes(3, {"content": []}),
        "Late 1 kind=result after=1 summary='the task finished anyway'",
    )


@core
def test_a_task_that_the_server_cancelled_by_itself_was_confirmed_to_nobody(wire: Wire) -> None:
    ledger = _polling(wire)
    at(2).result(2, _task(wire, "cancelled")).run(ledger)
    assert ledger.row(1).error == "the server cancelled the task"


@core
def test_c80_the_end_of_the_connection_does_not_hide_that_a_task_may_be_running(wire: Wire) -> None:
    ledger = _called(wire)
    at(0.5).cancel(1, "no").run(ledger)
    at(0.9).closed("closed", expected=True).run(ledger)
    deferred = (
        "not sent: the server sent no task id, so the task cannot be cancelled and may still be running"
    )
    assert evidence.summary_words(ledger.row(1), 9.0) == deferred


@both
@cases("accepted", [False, True])
def test_c88_a_task_that_finishes_after_its_cancel(wire: Wire, accepted: bool) -> None:
    answer = [at(1.4).result(2, _task(wire))] if accepted else []
    late = ["Late 1 kind=result after=0.5 summary='the task finished anyway'"]
    play(
        after(_cancelled(wire), *answer, at(1.9).tick(), at(1.9).wrote(3)),
        at(1.9).completes(3, _task(wire, "completed", result={})),
        "TaskStatus 1 status=completed ttl=60 poll=0.5",
        *(late if _modern(wire) else []),  # in the core a status brings no result
        "Settled 1 detail='the task finished anyway'" if _modern(wire) else "Settled 1",
    )


@both
@cases(("when", "why"), [(2, "it may have expired"), (61.5, "it expired")])
def test_c89_a_task_that_the_server_knows_no_more(wire: Wire, when: float, why: str) -> None:
    ledger = _running(wire)
    ledger.clocks.extend(1, None, at=1.0)
    after(ledger, at(when - 0.1).tick(), at(when - 0.1).wrote(2))
    play(
        ledger,
        at(when).error(2, -32602, "unknown task"),
        "Failed 2 message='unknown task' code=-32602",
        f"Failed 1 message='the server no longer knows the task: {why}' origin=client rule=expired",
    )


@both
def test_c90_a_task_is_taken_up_again_by_its_id(wire: Wire) -> None:
    ledger = wire.ledger()
    ledger.call("tasks/get", {"taskId": "T"}, limits=Limits(), at=0.0)
    after(ledger, at(0).wrote(1))
    core_ = "" if _modern(wire) else " core=True"
    play(
        ledger,
        at(1).result(1, _task(wire)),
        f"TaskCreated 1 task_id=T status=working ttl=60 poll=0.5{core_}",
        at(1.5).tick(),
        *_polls(2),
    )


# -- a person is asked -----------------------------------------------------------------------------------------

ELICIT = "elicitation/create"
SURE: dict[str, Json] = {"sure": {"method": ELICIT}}


@extension
def test_c68_a_person_who_thinks_about_what_a_task_asks_stops_its_clocks(wire: Wire) -> None:
    ledger = wire.ledger()
    ledger.call("tools/call", {"name": "slow"}, limits=Limits(timeout=None, max_timeout=30), at=0.0)
    asks = at(2).result(2, _task(wire, "input_required", inputRequests=SURE))
    after(ledger, at(0).wrote(1), at(1).result(1, _handle(wire)), at(1.5).tick(), at(1.5).wrote(2), asks)
    play(
        ledger,
        at(2).clocks(1, "paused"),
        at(102).update(1, {"sure": {"action": "accept"}}),
        "Resumed 1",
        "Called 3 method=tasks/update name=T limits=30/60/0 internal=True parent=1",
        '-> send 3 tasks/update {"taskId":"T","inputResponses":{"sure":{"action":"accept"}}}',
        at(102).clocks(1, "maximum 130"),
    )


@core
def test_c68_a_question_that_names_a_task_stops_the_clocks_of_its_row_alone(wire: Wire) -> None:
    ledger = wire.ledger()
    ledger.agree(prompts=frozenset({ELICIT}))
    limits = Limits(timeout=None, max_timeout=30)
    calls: list[dict[str, Json]] = [{"name": "slow", "task": {}}, {"name": "other"}]
    for params in calls:
        ledger.call("tools/call", params, limits=limits, at=0.0)
    after(ledger, at(0).wrote(1), at(0).wrote(2), at(1).result(1, _handle(wire)))
    meta: Json = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "T"}}}
    play(
        ledger,
        at(1.2).request("e", ELICIT, meta),
        "ServerRequestReceived request_id=e method=elicitation/create parent=1",
        "-> prompt 'e' elicitation/create",
        "Paused 1",
        at(1.2).clocks(1, "paused"),
        at(1.2).clocks(2, "maximum 30"),
        at(21.2).answer("e", {"action": "accept"}),
        '-> reply \'e\' {"result":{"action":"accept"}}',
        "ServerRequestAnswered request_id=e",
        "Resumed 1",
        at(21.2).clocks(1, "maximum 50"),
    )


def test_c17_a_cancel_that_leaves_although_the_connection_was_lost_before_is_told() -> None:
    ledger = Wire("stdio", "2025-11-25").ledger()
    id_ = ledger.call("tools/call", {"name": "slow", "task": {}}, at=0)
    at(0).wrote(id_).run(ledger)
    at(1).cancel(id_, "no").run(ledger)
    at(2).closed("server exited").run(ledger)
    at(3).result(id_, {"task": {"taskId": "T", "status": "working"}}).run(ledger)
    row = ledger.row(id_)
    assert row.signal is Signal.NONE
    at(3).wrote(2).run(ledger)
    assert row.signal is Signal.TASKS_CANCEL
