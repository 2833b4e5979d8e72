"""The races of the server's requests, of subscriptions and of input rounds, C-50 to C-70, as playbooks.

Not decided by the ledger, and so tested where they are: what a person sees while answering (C-50, C-51), which refusal
fits (C-63, and the elicitation modes of C-69), and subscribing again (C-60, C-61): the client.

This client offers no input rounds (C-64 to C-67), so ``input_required`` ends a request as unsupported: nothing is left to
cancel, and nothing goes round.
"""

from __future__ import annotations

import pytest

from mcp_tui.protocol.events import Limits
from mcp_tui.protocol.ledger import Ledger
from tests.protocol.playbook import HANDSHAKEN, MODERN, MODERN_HTTP, Wire, at, play

handshaken = pytest.mark.parametrize("wire", HANDSHAKEN, ids=str)
modern = pytest.mark.parametrize("wire", [Wire("stdio", MODERN), MODERN_HTTP], ids=str)

ELICIT = "elicitation/create"


def _asked(wire: Wire, *, limits: Limits | None = None) -> Ledger:
    """Request 1 of ours is in flight and the server waits for an answer to its own request 1."""
    ledger = wire.in_flight(limits=limits)
    ledger.inbound.prompts = frozenset({ELICIT})
    at(1).request(1, ELICIT).run(ledger)
    ledger.take()
    return ledger


@handshaken
def test_c50_a_withdrawn_request_is_never_answered(wire: Wire) -> None:
    play(
        _asked(wire),
        at(2).withdraws(1, "form closed"),
        "Withdrawn request_id=1 reason='form closed'",
        at(3).answer(1, {"action": "accept"}),
        "= nobody waits for it",
        at(4).look(1),
        "= in_flight elapsed=4",
    )


@handshaken
def test_c51_an_answer_that_left_is_not_taken_back(wire: Wire) -> None:
    play(
        _asked(wire),
        at(2).answer(1, {"action": "accept"}),
        '-> Reply 1 {"result":{"action":"accept"}}',
        "Answered request_id=1",
        at(2).withdraws(1),
        "Notified method=notifications/cancelled",
        at(2).answer(1, {"action": "accept"}),
        "= nobody waits for it",
    )


@handshaken
def test_c52_the_servers_ids_are_not_ours(wire: Wire) -> None:
    play(
        wire.in_flight(),
        at(1).withdraws(1, "yours, not mine"),
        "Notified method=notifications/cancelled",
        at(1).look(1),
        "= in_flight elapsed=1",
        at(2).request(1, "ping"),
        "Asked request_id=1 method=ping",
        '-> Reply 1 {"result":{}}',
        "Answered request_id=1",
        at(3).result(1),
        "Completed 1",
        "-> Resolve 1 with a result",
    )


@handshaken
@pytest.mark.parametrize(
    "params",
    [None, [], "x", {}, {"requestId": {}}, {"requestId": True}, {"requestId": None}, {"requestId": 1.0}],
)
def test_c53_a_malformed_cancel_is_ignored(wire: Wire, params: object) -> None:
    play(
        _asked(wire),
        at(2).message({"method": "notifications/cancelled", "params": params}),
        "Notified method=notifications/cancelled",
        at(3).answer(1, {}),
        '-> Reply 1 {"result":{}}',
        "Answered request_id=1",
    )


@handshaken
def test_c54_c55_a_cancel_for_nothing_that_waits(wire: Wire) -> None:
    play(
        wire.ledger(),
        at(1).request("p", "ping"),
        "Asked request_id=p method=ping",
        "-> Reply 'p' {\"result\":{}}",
        "Answered request_id=p",
        at(2).withdraws("p"),
        "Notified method=notifications/cancelled",
        at(2).withdraws("never"),
        "Notified method=notifications/cancelled",
    )


@modern
def test_c56_c58_the_server_ends_a_subscription_in_either_order(wire: Wire) -> None:
    play(
        wire.in_flight("subscriptions/listen", "subscriptions/listen"),
        at(1).withdraws(1),
        "Notified method=notifications/cancelled",
        "Completed 1",
        "-> Resolve 1 with a result",
        at(1).result(1),
        at(2).result(2),
        "Completed 2",
        "-> Resolve 2 with a result",
        at(2).withdraws(2),
        "Notified method=notifications/cancelled",
    )


@modern
def test_c57_it_may_cancel_nothing_else(wire: Wire) -> None:
    said = "the server may cancel nothing but a subscription, not"
    play(
        wire.in_flight(),
        at(1).withdraws(1),
        "Notified method=notifications/cancelled",
        f"Violation rule=server-cancelled detail='{said} 1'",
        at(1).withdraws([1]),
        "Notified method=notifications/cancelled",
        f"Violation rule=server-cancelled detail='{said} an array' count=2",
        at(1).look(1),
        "= in_flight elapsed=1",
    )


def test_c59_the_client_ends_a_subscription_and_its_result_is_normal() -> None:
    play(
        Wire("stdio", MODERN).in_flight("subscriptions/listen"),
        at(2).cancel(1),
        "CancelRequested 1 cause=user reason=''",
        '-> SendSignal 1 notification {"requestId":1}',
        "= REQUESTED",
        at(2).signalled(1),
        "-> Resolve 1 with nothing",
        "CancelSignalled 1 signal=notification reason_delivered=False",
        at(3.5).result(1),
        "Late 1 kind=result after=1.5",
        "Settled 1 detail='answered late'",
        "-> Resolve 1 with nothing",
    )
    play(
        MODERN_HTTP.in_flight("subscriptions/listen"),
        at(2).cancel(1),
        "CancelRequested 1 cause=user reason=''",
        "-> SendSignal 1 stream_closed",
        "= REQUESTED",
    )


def test_c60_the_end_of_its_stream_loses_a_subscription() -> None:
    play(
        MODERN_HTTP.in_flight("subscriptions/listen"),
        at(2).stream_ended(1),
        "Lost 1 detail='the stream ended without a response'",
        "-> Resolve 1 with nothing",
    )


def test_c61_a_subscription_has_no_timeout_of_its_own_where_none_is_given() -> None:
    play(
        MODERN_HTTP.in_flight("subscriptions/listen", limits=Limits(idle=None, maximum=None)),
        at(0).deadline(),
        "= None",
        at(1e6).tick(),
    )


@handshaken
def test_c62_the_parent_call_is_cancelled_while_its_prompt_is_open(wire: Wire) -> None:
    play(
        _asked(wire),
        at(2).cancel(1, "no"),
        "CancelRequested 1 cause=user reason=no",
        '-> SendSignal 1 notification {"requestId":1,"reason":"no"}',
        "= REQUESTED",
        at(2).answer(1, {"action": "cancel"}),
        '-> Reply 1 {"result":{"action":"cancel"}}',
        "Answered request_id=1",
    )


@handshaken
def test_c62_unless_the_server_withdraws_it_first(wire: Wire) -> None:
    ledger = _asked(wire)
    play(
        ledger,
        at(2).withdraws(1),
        "Withdrawn request_id=1",
        at(2).cancel(1, "no"),
        "CancelRequested 1 cause=user reason=no",
        '-> SendSignal 1 notification {"requestId":1,"reason":"no"}',
        "= REQUESTED",
        at(2).answer(1, code=-1),
        "= nobody waits for it",
    )


@handshaken
def test_c63_the_prompt_alone_is_cancelled(wire: Wire) -> None:
    play(
        _asked(wire),
        at(2).answer(1, {"action": "cancel"}),
        '-> Reply 1 {"result":{"action":"cancel"}}',
        "Answered request_id=1",
        at(2).look(1),
        "= in_flight elapsed=2",
    )


@modern
def test_c65_c67_input_required_ends_the_request(wire: Wire) -> None:
    play(
        wire.in_flight(),
        at(1).result(1, {"resultType": "input_required", "requestState": "s"}),
        "Failed 1 message='the server asks for input, which this client did not offer'"
        " origin=client rule=unsupported",
        "-> Resolve 1 with nothing",
        at(2).cancel(1),
        "= ALREADY_DONE",
    )


@modern
@pytest.mark.parametrize(
    ("type_", "shown"), [("partial", "\"a result of the unknown type 'partial'\""), (7, None), (None, None)]
)
def test_an_unknown_type_of_result_is_invalid(wire: Wire, type_: object, shown: str | None) -> None:
    said = shown or f"'a result of the unknown type {type_}'"
    play(
        wire.in_flight(),
        at(1).result(1, {"resultType": type_}),
        f"Failed 1 message={said} origin=client rule=result-type",
        "-> Resolve 1 with nothing",
    )


@modern
def test_a_task_that_was_not_asked_for_is_unsupported_and_complete_is_complete(wire: Wire) -> None:
    play(
        wire.in_flight("tools/call", "tools/call"),
        at(1).result(1, {"resultType": "task"}),
        "Failed 1 message='the server made a task of it, which this client did not offer'"
        " origin=client rule=unsupported",
        "-> Resolve 1 with nothing",
        at(1).result(2, {"resultType": "complete", "isError": True}),
        "Completed 2 is_error=True",
        "-> Resolve 2 with a result",
    )


@handshaken
def test_before_2026_07_28_a_result_type_means_nothing(wire: Wire) -> None:
    play(
        wire.in_flight(),
        at(1).result(1, {"resultType": "input_required"}),
        "Completed 1",
        "-> Resolve 1 with a result",
    )


@handshaken
def test_c68_a_person_who_thinks_stops_the_clocks(wire: Wire) -> None:
    play(
        _asked(wire, limits=Limits(idle=10, maximum=30)),
        at(4).pause(1),
        "Paused 1",
        at(4).deadline(),
        "= None",
        at(400).tick(),
        at(500).resume(1),
        "Resumed 1",
        at(500).deadline(),
        "= 506",
        at(505).progress(1, 1),
        "Progress 1 progress=1",
        at(514).progress(1, 2),
        "Progress 1 progress=2",
        at(514).deadline(),
        "= 524",
        at(523).progress(1, 3),
        "Progress 1 progress=3",
        at(523).deadline(),
        "= 526",
        at(526).tick(),
        "CancelRequested 1 cause=max_timeout reason='timed out after 30 s (maximum)'",
        '-> SendSignal 1 notification {"requestId":1,"reason":"timed out after 30 s (maximum)"}',
        at(526).look(1),
        "= cancel_requested elapsed=526 cause=max_timeout reason='timed out after 30 s (maximum)' progress=3",
    )


@handshaken
@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list", ELICIT, "no/such"])
def test_c69_a_capability_that_was_not_declared(wire: Wire, method: str) -> None:
    error = f'{{"error":{{"code":-32601,"message":"{method} is not supported by this client"}}}}'
    play(
        wire.ledger(),
        at(1).request(7, method),
        f"Asked request_id=7 method={method}",
        f"-> Reply 7 {error}",
        "Answered request_id=7 code=-32601",
    )


@handshaken
def test_an_id_that_is_in_use_is_refused_and_the_first_is_kept(wire: Wire) -> None:
    detail = f"id 1 is in use for {ELICIT}"
    play(
        _asked(wire),
        at(2).request(1, ELICIT),
        f"Asked request_id=1 method={ELICIT}",
        f"Violation rule=duplicate-request-id detail='{detail}'",
        f'-> Reply 1 {{"error":{{"code":-32600,"message":"{detail}"}}}}',
        "Answered request_id=1 code=-32600",
        at(2).request("1", ELICIT),
        f"Asked request_id=1 method={ELICIT}",
        at(3).answer(1, {}),
        '-> Reply 1 {"result":{}}',
        "Answered request_id=1",
        at(3).answer("1", code=-32602),
        '-> Reply \'1\' {"error":{"code":-32602,"message":""}}',
        "Answered request_id=1 code=-32602",
    )


@modern
def test_c70_a_request_of_the_servers_is_never_answered(wire: Wire) -> None:
    play(
        wire.ledger(),
        at(1).request(1, "ping"),
        'Violation rule=server-request detail="ping as a request of the server\'s, never answered"',
    )


def test_c70_before_the_revision_is_settled_it_is() -> None:
    play(
        Wire("stdio", None).ledger(),
        at(1).request(1, "ping"),
        "Asked request_id=1 method=ping",
        '-> Reply 1 {"result":{}}',
        "Answered request_id=1",
    )


@handshaken
def test_a_closed_connection_forgets_what_the_server_asked(wire: Wire) -> None:
    ledger = _asked(wire)
    ledger.closed("gone", at=2)
    ledger.take()
    play(ledger, at(3).answer(1, {}), "= nobody waits for it")
