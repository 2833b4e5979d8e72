"""The races of the server's requests, of subscriptions and of input rounds, C-50 to C-70, as playbooks.

Not decided by the ledger, and so tested where they are: what a person sees while answering (C-50, C-51), which refusal
fits (C-63), and subscribing again (C-60): the client and the screens. Input rounds and tasks have files of their own.
"""

from __future__ import annotations

from mcp_tui.protocol.events import Limits
from mcp_tui.protocol.messages import Json
from tests.cases import cases
from tests.protocol.playbook import MODERN, MODERN_HTTP, Wire, after, at, handshaken, modern, play
from tests.protocol.recorded import RecordedLedger

ELICIT = "elicitation/create"


CANCELLED_WHILE_ASKED = (
    "CancelRequested 1 cause=user reason=no",
    "-> prompt_over 1 the request it belongs to was cancelled",
    '-> signal 1 notification {"requestId":1,"reason":"no"}',
)


def _asked(wire: Wire, *, limits: Limits | None = None) -> RecordedLedger:
    """Request 1 of ours is in flight and the server waits for an answer to its own request 1."""
    ledger = wire.in_flight(limits=limits)
    ledger.agree(prompts=frozenset({ELICIT}))
    return after(ledger, at(1).request(1, ELICIT))


@handshaken
def test_c50_a_withdrawn_request_is_never_answered(wire: Wire) -> None:
    play(
        _asked(wire),
        at(2).withdraws(1, "form closed"),
        "ServerRequestWithdrawn request_id=1 reason='form closed'",
        "-> prompt_over 1 withdrawn by the server: form closed",
        "Resumed 1",
        at(3).answer(1, {"action": "accept"}),
        "= nobody waits for it",
        at(4).look(1, "in_flight elapsed=4"),
    )


@handshaken
@cases("action", ["accept", "cancel"])
def test_c51_c63_an_answer_that_left_is_not_taken_back(wire: Wire, action: str) -> None:
    play(
        _asked(wire),
        at(2).answer(1, {"action": action}),
        f'-> reply 1 {{"result":{{"action":"{action}"}}}}',
        "ServerRequestAnswered request_id=1",
        "Resumed 1",
        at(2).withdraws(1),
        "Notified method=notifications/cancelled about='1: sent; withdrawn meanwhile'",
        at(2).answer(1, {"action": "accept"}),
        "= nobody waits for it",
    )


@handshaken
def test_c52_c54_c55_a_cancel_for_nothing_that_waits_and_least_of_all_for_ours(wire: Wire) -> None:
    play(
        wire.in_flight(),
        at(1).withdraws(1, "yours, not mine"),
        "Notified method=notifications/cancelled",
        "Violation 1 rule=server-cancelled detail='the server cancelled 1, which is a request of this client'",
        "CancelledByServer 1",
        at(1).look(1, "in_flight elapsed=1"),
        at(2).request(1, "ping"),
        "ServerRequestReceived request_id=1 method=ping",
        '-> reply 1 {"result":{}}',
        "ServerRequestAnswered request_id=1",
        at(2).withdraws(1),
        "Notified method=notifications/cancelled",
        at(3).completes(1),
    )


@handshaken
@cases(
    "params",
    [None, [], "x", {}, {"requestId": {}}, {"requestId": True}, {"requestId": None}, {"requestId": 1.0}],
)
def test_c53_a_malformed_cancel_is_ignored(wire: Wire, params: object) -> None:
    play(
        _asked(wire),
        at(2).message({"method": "notifications/cancelled", "params": params}),
        "Notified method=notifications/cancelled",
        at(3).answer(1, {}),
        '-> reply 1 {"result":{}}',
        "ServerRequestAnswered request_id=1",
        "Resumed 1",
    )


@modern
def test_c56_c58_the_server_ends_a_subscription_in_either_order(wire: Wire) -> None:
    play(
        wire.in_flight("subscriptions/listen", "subscriptions/listen"),
        at(1).withdraws(1),
        "Notified method=notifications/cancelled",
        "Completed 1",
        at(1).result(1),
        at(2).completes(2),
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
        f"Violation 1 rule=server-cancelled detail='{said} 1'",
        "CancelledByServer 1",
        at(1).withdraws([1]),
        "Notified method=notifications/cancelled",
        f"Violation rule=server-cancelled detail='{said} an array'",
        at(1).look(1, "in_flight elapsed=1"),
    )


def test_c59_the_client_ends_a_subscription_and_its_result_is_normal() -> None:
    play(
        Wire("stdio", MODERN).in_flight("subscriptions/listen"),
        at(2).cancels(1),
        '-> signal 1 notification {"requestId":1}',
        at(2).signalled(1),
        "-> resolve 1 with nothing",
        "CancelSignalled 1 signal=notification reason_delivered=False",
        at(3.5).result(1),
        "Late 1 kind=result after=1.5",
        "Settled 1 detail='answered late'",
    )


def test_c60_the_end_of_its_stream_loses_a_subscription() -> None:
    play(
        MODERN_HTTP.in_flight("subscriptions/listen"),
        at(2).stream_ended(1),
        "Lost 1 detail='the stream ended without a response'",
    )


@modern
def test_c61_a_subscription_that_is_never_acknowledged_is_told_and_goes_on(wire: Wire) -> None:
    ledger = wire.ledger()
    ledger.call(
        "subscriptions/listen", {"notifications": {}}, limits=Limits(timeout=None, max_timeout=None), at=0.0
    )
    after(ledger, at(0).wrote(1))
    play(
        ledger,
        at(0).deadline(10),
        at(10).tick(),
        "Violation 1 rule=not-acknowledged detail='the subscription is not acknowledged after 10 s'",
        at(1e6).tick(),
        at(1e6).look(1, "in_flight elapsed=1000000"),
    )


@modern
def test_c61_what_comes_on_a_subscription_and_its_acknowledgement_first(wire: Wire) -> None:
    mine: Json = {"io.modelcontextprotocol/subscriptionId": 1}
    acknowledged, changed = "notifications/subscriptions/acknowledged", "notifications/resources/updated"
    play(
        wire.in_flight("subscriptions/listen"),
        at(1).notification(changed, {"_meta": mine, "uri": "a:b"}),
        f"Violation 1 rule=subscription detail='{changed} before the acknowledgement'",
        f"Delivered 1 method={changed} about=a:b",
        f"Notified method={changed} about=a:b",
        at(2).notification(acknowledged, {"_meta": mine, "notifications": {"toolsListChanged": True}}),
        "Acknowledged 1 filter='{\"toolsListChanged\":true}'",
        f"Notified method={acknowledged}",
        at(3).notification(changed, {"_meta": mine, "uri": "a:b"}),
        f"Delivered 1 method={changed} about=a:b",
        f"Notified method={changed} about=a:b",
        at(4).notification(changed, {"_meta": {"io.modelcontextprotocol/subscriptionId": 9}}),
        f"Violation rule=subscription detail='{changed} for the subscription 9, which does not exist'",
        f"Notified method={changed}",
    )


@handshaken
def test_c62_the_parent_call_is_cancelled_while_its_prompt_is_open(wire: Wire) -> None:
    play(
        _asked(wire),
        at(2).cancel(1, "no"),
        *CANCELLED_WHILE_ASKED,
        at(2).answer(1, {"action": "accept"}),
        "= nobody waits for it",
        at(2).leaves(1),
        '-> reply 1 {"result":{"action":"cancel"}}',
        "ServerRequestAnswered request_id=1 how=cancel",
    )


@handshaken
def test_c62_an_answer_that_crosses_the_cancel_pays_what_is_owed(wire: Wire) -> None:
    play(
        _asked(wire),
        at(2).cancel(1, "no"),
        *CANCELLED_WHILE_ASKED,
        at(2).result(1),
        "-> recall 1",
        "CancelWithdrawn 1",
        "Completed 1",
        "-> nobody is told yet",
        '-> reply 1 {"result":{"action":"cancel"}}',
        "ServerRequestAnswered request_id=1 how=cancel",
        "-> resolve 1 with a result",
    )


@handshaken
def test_c68_a_person_who_thinks_stops_the_clocks(wire: Wire) -> None:
    play(
        _asked(wire, limits=Limits(timeout=10, max_timeout=30)),
        at(4).deadline(None),
        at(400).tick(),
        at(497).answer(1, {}),
        '-> reply 1 {"result":{}}',
        "ServerRequestAnswered request_id=1",
        "Resumed 1",
        at(497).deadline(506),
        at(505).progress(1, 1),
        "Progress 1 progress=1",
        at(514).progress(1, 2),
        "Progress 1 progress=2",
        at(514).deadline(524),
        at(523).progress(1, 3),
        "Progress 1 progress=3",
        at(523).deadline(526),
        at(526).tick(),
        "CancelRequested 1 cause=max_timeout reason='timed out after 30 s (maximum)'",
        '-> signal 1 notification {"requestId":1,"reason":"timed out after 30 s (maximum)"}',
        at(526).look(
            1,
            "cancel_requested elapsed=526 cause=max_timeout reason='timed out after 30 s (maximum)' progress=3",
        ),
    )


@handshaken
@cases("method", ["sampling/createMessage", "roots/list", ELICIT, "no/such"])
def test_c69_a_capability_that_was_not_declared(wire: Wire, method: str) -> None:
    error = f'{{"error":{{"code":-32601,"message":"{method} is not supported by this client"}}}}'
    play(
        wire.ledger(),
        at(1).request(7, method),
        f"ServerRequestReceived request_id=7 method={method}",
        f"-> reply 7 {error}",
        "ServerRequestAnswered request_id=7 code=-32601",
    )


@handshaken
@cases(("mode", "words"), [("video", "'video'"), ({}, "an object"), (None, "null")])
def test_c69_a_mode_that_was_not_declared_whatever_it_is(wire: Wire, mode: Json, words: str) -> None:
    ledger, text = wire.ledger(), f"elicitation mode {words} was not declared"
    ledger.agree(prompts=frozenset({ELICIT}))
    play(
        ledger,
        at(1).request(7, ELICIT, {"mode": mode}),
        f"ServerRequestReceived request_id=7 method={ELICIT}",
        f"Violation rule=undeclared-capability detail={text!r}",
        f'-> reply 7 {{"error":{{"code":-32602,"message":"{text}"}}}}',
        "ServerRequestAnswered request_id=7 code=-32602",
    )


@modern
def test_c70_a_request_of_the_servers_is_never_answered(wire: Wire) -> None:
    play(
        wire.ledger(),
        at(1).request(1, "ping"),
        'Violation rule=server-request detail="ping as a request of the server\'s, never answered"',
    )
