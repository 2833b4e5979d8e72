"""Whose a response is, C-25 to C-29 by the numbers of the protocol reference, as playbooks."""

from __future__ import annotations

import pytest

from mcp_tui.protocol.events import Cause, Signal
from mcp_tui.protocol.messages import shown
from tests.cases import cases
from tests.protocol.playbook import ON_STDIO, Wire, after, at, everywhere, notifying, on_http, play

on_stdio = cases("wire", ON_STDIO)


# -- whose a response is ---------------------------------------------------------------------------------------


@everywhere
def test_c25_duplicate_response(wire: Wire) -> None:
    play(
        wire.in_flight("tools/call", "tools/call"),
        at(1).completes(1),
        at(2).result(1),
        "Duplicate 1 kind=result",
        at(2).error(1),
        "Duplicate 1 kind=error",
        at(3).error(2),
        "Failed 2 message=no code=-32603",
        at(4).result(2),
        "Duplicate 2 kind=result",
        at(5).look(1, "completed elapsed=1 duplicates=2"),
    )


@everywhere
def test_c26_response_with_an_unknown_id(wire: Wire) -> None:
    play(
        wire.in_flight(),
        at(1).result(99),
        "Unknown response_id=99 kind=result id_type=integer",
        at(1).error("abc"),
        "Unknown response_id=abc kind=error id_type=string code=-32603 message=no",
        at(1).result(2.5),
        "Unknown response_id=2.5 kind=result id_type=number",
        at(1).result([1]),
        "Unknown response_id=None kind=result id_type=array",
        at(1).result(None),
        "Unknown response_id=None kind=result id_type=null",
        at(1).look(1, "in_flight elapsed=1"),
    )


@everywhere
@cases(("sent", "shown"), [("1", "'1'"), (1.0, "1.0")])
def test_c27_an_id_of_another_type_is_correlated_and_flagged(wire: Wire, sent: object, shown: str) -> None:
    play(
        wire.in_flight(),
        at(1).result(sent),
        f'Violation 1 rule=response-id-type detail="id {shown} for 1"'
        if "'" in shown
        else f"Violation 1 rule=response-id-type detail='id {shown} for 1'",
        "Completed 1",
    )


@everywhere
@cases("sent", [True, "01", " 1", "+1", "1.0", "１", 1.5, -1])
def test_c27_where_another_id_could_be_meant_nothing_is_applied(wire: Wire, sent: object) -> None:
    ledger = play(wire.in_flight(), at(1).look(1, "in_flight elapsed=1"))
    at(1).result(sent).run(ledger)
    assert [type(out).__name__ for out in ledger.take()] == ["Unknown"]
    assert ledger.requests.order[0].open


# -- whose progress is -----------------------------------------------------------------------------------------


@everywhere
@cases(("sent", "shown"), [("1", "\"the progress token '1'\""), (1.0, "'the progress token 1.0'")])
def test_a_token_of_another_type_is_progress_of_its_request_and_flagged(
    wire: Wire, sent: object, shown: str
) -> None:
    flag = f"Violation 1 rule=progress-token-type detail={shown[:-1]} for 1{shown[-1]}"
    play(
        wire.in_flight(),
        at(50).progress(sent, 1),
        flag,
        "Progress 1 progress=1",
        at(50).deadline(110),  # the idle timeout runs anew
    )
    if wire.signal is not Signal.STREAM_CLOSED:
        play(
            wire.cancelled(),
            at(3).progress(sent, 1),
            flag,
            "Late 1 kind=progress after=1 progress=1",
        )


def test_a_token_of_another_type_names_the_request_to_which_the_caller_gave_it() -> None:
    ledger = ON_STDIO[0].ledger()
    ledger.call("tools/call", {"_meta": {"progressToken": 7}}, at=0)
    play(
        after(ledger, at(0).wrote(1)),
        at(1).progress("7", 1),
        "Violation 1 rule=progress-token-type detail=\"the progress token '7' for 1\"",
        "Progress 1 progress=1",
    )


@notifying
def test_progress_under_an_unknown_token_names_the_only_call_that_is_open_or_watched(wire: Wire) -> None:
    rule = "rule=unknown-progress-token"
    play(
        wire.in_flight("tools/call", "ping"),
        at(1).progress("x", 1),
        f"Violation 1 {rule} detail=\"progress under the unknown token 'x', while only 1 was open\"",
        at(1).progress(True, 1),
        f"Violation 1 {rule} detail='progress under the unknown token true, while only 1 was open' count=2",
        at(1).notification("notifications/progress"),
        f"Violation 1 {rule} detail='progress without a token, while only 1 was open' count=3",
        at(1).deadline(60),  # it may be anybody's, so it sets no clock back
    )
    play(
        wire.cancelled(),
        at(2.4).progress("x", 1),
        f"Violation 1 {rule} detail=\"progress under the unknown token 'x', while only 1 was watched\"",
        at(2.5).result(1),
        "Late 1 kind=result after=0.5",
        "Settled 1 detail='answered late'",
        at(7).progress("x", 2),
        f"Violation {rule} detail=\"progress under the unknown token 'x'\"",
    )
    play(
        wire.in_flight("tools/call", "tools/call"),
        at(1).progress("x", 1),
        f"Violation {rule} detail=\"progress under the unknown token 'x'\"",
    )


@on_http
def test_progress_under_an_unknown_token_on_the_stream_of_a_call_names_that_call(wire: Wire) -> None:
    play(
        wire.in_flight("tools/call", "tools/call"),
        at(1).progress("x", 1, stream=2),
        "Violation 2 rule=unknown-progress-token detail=\"progress under the unknown token 'x', on the stream of 2\"",
    )


# -- a response without an id ----------------------------------------------------------------------------------


@on_stdio
@pytest.mark.parametrize(("named", "type_"), [({"id": None}, "null"), ({}, "missing")], ids=["null", "none"])
def test_c28_error_without_id_on_a_shared_stream_belongs_to_the_connection(
    wire: Wire, named: dict[str, None], type_: str
) -> None:
    play(
        wire.in_flight("tools/call"),
        at(1).message({"error": {"code": -32700, "message": "Parse error"}, **named}),
        f"Unknown response_id=None kind=error id_type={type_} code=-32700 message='Parse error'",
        at(2).completes(1),
    )


@notifying
def test_c28_right_after_a_cancel_it_rejects_a_message_and_the_late_result_is_the_first(wire: Wire) -> None:
    play(
        wire.cancelled(),
        at(2.001).error(None, -32600),
        "Rejected 1 code=-32600 after=0.001",
        "Unknown response_id=None kind=error id_type=null code=-32600 message=no cancelled=1 after=0.001",
        at(2.5).result(1),
        "Late 1 kind=result after=0.5",
        *wire.settles(" detail='answered late'"),
        at(9).error(None),
        "Unknown response_id=None kind=error id_type=null code=-32603 message=no",
    )


@on_stdio
@cases("method", ["initialize", "server/discover"])
def test_c28_what_opens_the_connection_alone_is_answered_by_it(wire: Wire, method: str) -> None:
    play(
        Wire(wire.transport, None).in_flight(method),
        at(1).error(None, -32700, "Parse error"),
        "Failed 1 message='Parse error' code=-32700",
        at(2).error(None, -32700),
        "Unknown response_id=None kind=error id_type=null code=-32700 message=no",
    )


@on_stdio
def test_c28_not_beside_another_request(wire: Wire) -> None:
    play(
        wire.in_flight("server/discover", "tools/call"),
        at(1).error(None),
        "Unknown response_id=None kind=error id_type=null code=-32603 message=no",
    )


@on_stdio
def test_c28_nor_behind_a_cancel_that_was_sent(wire: Wire) -> None:
    ledger = wire.cancelled()
    ledger.tick(4.0)
    ledger.call("server/discover", at=4.0)
    after(ledger, at(4).wrote(2))
    play(
        ledger,
        at(4.0).error(None, -32600),
        "Rejected 1 code=-32600 after=2",
        "Unknown response_id=None kind=error id_type=null code=-32600 message=no cancelled=1 after=2",
        at(5).look(2, "in_flight elapsed=1"),
    )


@on_http
def test_c28_over_http_it_belongs_to_its_post(wire: Wire) -> None:
    play(
        wire.in_flight("tools/call", "tools/call"),
        at(1).error(None, -32600, "Bad Request", stream=2),
        "Failed 2 message='Bad Request' code=-32600",
    )


@on_http
@cases(("sent", "shown"), [(9999, "9999"), (2, "2"), (None, "null"), (True, "true")])
def test_c29_a_foreign_id_on_its_own_stream_fails_the_request(wire: Wire, sent: object, shown: str) -> None:
    play(
        wire.in_flight("tools/call", "tools/call"),
        at(1).result(sent, stream=1),
        f"Violation 1 rule=mismatched-id detail='id {shown} on the stream of 1'",
        f"Failed 1 message='the response has the id {shown} on the stream of 1' origin=client rule=mismatched-id",
        *wire.releases(1),
        at(1).look(2, "in_flight elapsed=1"),
    )


@on_http
def test_c29_other_text_on_its_stream_is_a_violation_and_the_request_goes_on(wire: Wire) -> None:
    play(
        wire.in_flight(),
        at(1).raw(b"ping", stream=1),
        "Violation 1 rule=malformed detail=\"no JSON-RPC message: 'ping'\"",
        at(1).raw(b"{}", stream=1),
        "Violation 1 rule=malformed detail=\"no JSON-RPC message: '{}'\" count=2",
        at(1).raw(b'{"jsonrpc":"2.0"}', stream=1),
        "Violation 1 rule=malformed detail='neither a method, a result nor an error' count=3",
        at(2).completes(1, stream=1),
        at(3).raw(b"ping", stream=1),
        "Pollution line=ping",
    )


@everywhere
def test_a_response_to_a_request_that_was_never_sent_is_none(wire: Wire) -> None:
    ledger = wire.ledger()
    ledger.call("tools/call", at=0)
    ledger.call("tools/call", at=0)
    ledger.cancel(2, Cause.USER, "", at=0)
    ledger.take()
    unsent = "detail='a response to {}, which was not sent'"
    play(
        ledger,
        at(1).result(1),
        f"Violation 1 rule=response-before-request {unsent.format(1)}",
        at(1).error(2),
        f"Violation 2 rule=response-before-request {unsent.format(2)}",
        at(1).raw(b'{"jsonrpc":"2.0","id":1,"result":'),
        "Violation 1 rule=malformed-response detail='EOF while parsing a value at line 1 column 33'",
        f"Violation 1 rule=response-before-request {unsent.format(1)} count=2",
        at(1).progress(2, 1),
        "Violation 2 rule=stray-progress detail='progress of 2, which was not sent'",
        at(1).sent(1),
        at(2).completes(1),
        at(2).progress(1, 1),
        "Violation 1 rule=stray-progress detail='progress of 1 after the response'",
    )


@everywhere
def test_what_is_heard_before_the_writing_was_reported_tells_that_it_is_written(wire: Wire) -> None:
    ledger = wire.ledger()
    for id_ in (1, 2):
        ledger.call("tools/call", at=0)
        ledger.writing(id_)
    ledger.take()
    play(
        ledger,
        at(1).progress(1, None),
        "Sent 1",
        "Violation 1 rule=malformed-progress detail='progress null'",
        at(1).deadline(61),
        at(1).progress(1, 1),
        "Progress 1 progress=1",
        at(1).result(2),
        "Sent 2",
        "Completed 2",
        at(1).written(1),
        at(1).written(2),
        at(4).look(1, "in_flight elapsed=3 progress=1"),
    )


# -- too large -------------------------------------------------------------------------------------------------


@everywhere
def test_a_message_above_the_cap_ends_the_request_whose_id_is_in_its_head(wire: Wire) -> None:
    said = "the answer of 200,000,000 bytes is above the cap for one message (--max-message)"
    play(
        wire.in_flight("tools/call", "tools/call"),
        at(1).too_large(b'{"jsonrpc":"2.0","id":2,"result":{"content":[{"id":1}', 200_000_000),
        "Oversize 2 bytes=200000000",
        f"Failed 2 message='{said}' origin=client rule=oversize",
        *wire.releases(2),
        at(2).too_large(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1', 200_000_000),
        "Oversize bytes=200000000",
        at(2).too_large(b"no JSON at all", 200_000_000),
        "Oversize bytes=200000000",
    )


@everywhere
def test_one_after_the_cancel_is_evidence(wire: Wire) -> None:
    said = "the answer of 5,000 bytes is above the cap for one message (--max-message)"
    play(
        wire.cancelled(),
        at(2.5).too_large(b'{"id":1,"result":', 5000),
        "Oversize 1 bytes=5000",
        f"Late 1 kind=oversize after=0.5 summary='{said}'",
        *wire.settles(" detail='answered late'"),
        at(3).too_large(b'{"id":1,"result":', 5000),
        "Oversize 1 bytes=5000",
        "Duplicate 1 kind=oversize",
    )


@everywhere
@cases("verdict", ["true", "false", 1, 0, {}, []])
def test_a_result_whose_verdict_is_no_boolean_is_told_and_no_success(wire: Wire, verdict: object) -> None:
    play(
        wire.in_flight("tools/call"),
        at(1).result(1, {"isError": verdict}),
        f"Violation 1 rule=malformed-result detail={f'isError is {shown(verdict)}, which is not a boolean'!r}",
        "Completed 1 is_error=True",
    )


def test_a_member_that_stands_twice_is_told_and_the_answer_counts() -> None:
    play(
        Wire("stdio", "2025-11-25").in_flight(),
        at(1).raw(b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}'),
        "Violation rule=duplicate-member detail=\"duplicate member 'a' in one object; the last one counts\"",
        "Completed 1",
    )
