"""The races of input-required rounds and of corrected headers, C-64 to C-67, as playbooks."""

from __future__ import annotations

import json

from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.tasks import ROUND_CAP
from tests.cases import cases
from tests.protocol.playbook import MODERN, MODERN_HTTP, Wire, after, at, modern, play
from tests.protocol.recorded import RecordedLedger

ASK: dict[str, Json] = {"method": "elicitation/create", "params": {"message": "sure?"}}
WANTED: dict[str, Json] = {
    "resultType": "input_required",
    "inputRequests": {"sure": ASK},
    "requestState": 'opaque "é" \u0000',
}
GIVEN: dict[str, Json] = {"sure": {"action": "accept", "content": {"yes": True}}}


def _waiting(wire: Wire) -> RecordedLedger:
    """Request 1 was answered by a wish for input at second 1."""
    return after(wire.in_flight(), at(1).result(1, WANTED))


def _second_leg(wire: Wire) -> RecordedLedger:
    """The same, and its input left at second 5 under the id 2."""
    return after(_waiting(wire), at(5).supply(1, GIVEN), at(5).wrote(2))


@modern
@cases("given", ['{"action":"accept","content":{"yes":true}}', '{"action":"cancel"}'])
def test_c64_input_is_gathered_and_goes_out_under_a_new_id_with_the_state_as_it_came(
    wire: Wire, given: str
) -> None:
    sent = f'{{"inputResponses":{{"sure":{given}}},"requestState":"opaque \\"\\u00e9\\" \\u0000"}}'
    play(
        wire.in_flight(),
        at(1).result(1, WANTED),
        "InputRequired 1 round=1 asks=elicitation/create",
        "-> gather 1 sure",
        at(1).deadline(None),
        at(200).tick(),
        at(300).look(1, "awaiting_input elapsed=300"),
        at(300).supply(1, {"sure": json.loads(given)}),
        "Round 1 wire_id=2 number=2 why='input given'",
        f"-> send 2 tools/call {sent}",
        at(300).wrote(2),
        "Sent 1",
        at(300).deadline(360),
        at(301).result(2, {"resultType": "complete"}),
        "Completed 1",
        at(302).supply(1, GIVEN),
        "= nobody waits for it",
    )


@modern
def test_c65_a_call_that_is_given_up_between_two_legs_sends_nothing(wire: Wire) -> None:
    play(
        _waiting(wire),
        at(2).cancel(1, "too nosy"),
        "-> gather_over 1 the request was cancelled",
        "CancelRequested 1 cause=user reason='too nosy'",
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1 detail='abandoned: nothing to cancel'",
        "= ABANDONED",
        at(3).supply(1, GIVEN),
        "= nobody waits for it",
        at(4).result(1, {}),
        "Duplicate 1 kind=result",
    )


def test_c66_a_cancel_of_the_second_leg_names_its_new_id() -> None:
    play(
        _second_leg(Wire("stdio", MODERN)),
        at(6).cancels(1, "no"),
        '-> signal 2 notification {"requestId":2,"reason":"no"}',
        at(6).signalled(2),
        "-> resolve 1 with nothing",
        "CancelSignalled 1 signal=notification reason_delivered=True",
        at(6.5).result(2, {}),
        "Late 1 kind=result after=0.5",
        "Settled 1 detail='answered late'",
    )
    play(
        _second_leg(MODERN_HTTP),
        at(6).cancels(1, "no"),
        "-> signal 2 stream_closed",
    )


@modern
def test_c67_rounds_without_end_are_stopped(wire: Wire) -> None:
    ledger = wire.in_flight()
    for round_ in range(1, ROUND_CAP + 1):
        at(round_).result(round_, {"resultType": "input_required", "requestState": "s"}).run(ledger)
        at(round_).supply(1).run(ledger)
        after(ledger, at(round_).wrote(round_ + 1))
    play(
        ledger,
        at(20).result(ROUND_CAP + 1, {"resultType": "input_required", "requestState": "s"}),
        f"InputRequired 1 round={ROUND_CAP + 1}",
        f"Failed 1 message='stopped after {ROUND_CAP} rounds of input' origin=client rule=rounds",
        at(21).supply(1),
        "= nobody waits for it",
    )


@modern
def test_c68_the_maximum_counts_the_legs_and_not_the_person(wire: Wire) -> None:
    ledger = _second_leg(wire)  # one second of the server's, four of a person's
    play(
        ledger,
        at(6).progress(2, 1),
        "Progress 1 progress=1",
        at(60).progress(2, 2),
        "Progress 1 progress=2",
        at(110).progress(2, 3),
        "Progress 1 progress=3",
    )
    row = ledger.requests.get(1)
    assert row is not None
    assert row.deadlines() == (170, 604)


@modern
@cases(
    ("method", "result", "said"),
    [
        ("tools/list", WANTED, "input may not be asked for by an answer to tools/list"),
        (
            "tools/call",
            {"resultType": "input_required"},
            "input is required, but neither inputRequests nor requestState says which",
        ),
        (
            "tools/call",
            {"resultType": "input_required", "inputRequests": [1]},
            "input is required with inputRequests an array and requestState null",
        ),
        (
            "tools/call",
            {"resultType": "input_required", "requestState": 7},
            "input is required with inputRequests null and requestState 7",
        ),
    ],
)
def test_input_that_cannot_be_asked_for_like_this_fails_the_request(
    wire: Wire, method: str, result: Json, said: str
) -> None:
    play(
        wire.in_flight(method),
        at(1).result(1, result),
        f"Violation 1 rule=input-required detail='{said}'",
        f"Failed 1 message='{said}' origin=client rule=result-type",
    )


# -- headers that the server wants otherwise (-32020) ------------------------------------------------------------


def test_a_call_with_the_wrong_headers_goes_out_again_once_behind_a_fresh_list_of_tools() -> None:
    play(
        MODERN_HTTP.in_flight(),
        at(1).error(1, -32020, "header mismatch"),
        "Round 1 wire_id=2 number=2 why='the server requires other headers'",
        "-> relist 1",
        at(1).stream_ended(1),
        at(2).resend(1),
        "-> send 2 tools/call",
        at(2).wrote(2),
        "Sent 1",
        at(3).error(2, -32020, "header mismatch"),
        "Failed 1 message='header mismatch' code=-32020",
    )


@modern
@cases(("sent", "shown"), [("1", "\"id '1' for 1\""), (1.0, "'id 1.0 for 1'")])
def test_an_answered_leg_is_not_answered_again_by_an_id_of_another_type(
    wire: Wire, sent: object, shown: str
) -> None:
    play(
        _second_leg(wire),
        at(6).result(sent),
        f"Violation 1 rule=response-id-type detail={shown}",
        "Duplicate 1 kind=result",
        at(7).result(2, {"resultType": "complete"}),
        "Completed 1",
    )


@modern
def test_progress_of_an_answered_leg_is_a_stray_and_moves_no_clock(wire: Wire) -> None:
    play(_second_leg(wire), *STRAY)


STRAY = (
    at(6).progress(1, 1),
    "Violation 1 rule=stray-progress detail='progress of 1 after the response'",
    at(6).deadline(65),
    at(7).progress(2, 1),
    "Progress 1 progress=1",
    at(7).deadline(67),
)
