from __future__ import annotations

from collections.abc import Sized

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.core import BROKEN, REPORTED_VIOLATIONS
from mcp_tui.protocol.responses import EVENT_TEXT_CHARACTERS
from tests.protocol.playbook import Wire, after, at, play
from tests.protocol.recorded import Action, RecordedLedger

WIRE = Wire("stdio", "2025-11-25")


def sent(ledger: RecordedLedger) -> list[Action]:
    return [item for item in ledger.take() if isinstance(item, Action) and item.name == "send"]


def violations(ledger: RecordedLedger) -> list[ev.Violation]:
    return [item for item in ledger.take() if isinstance(item, ev.Violation)]


# -- what is sent ----------------------------------------------------------------------------------------------


def test_a_request_carries_its_id_as_progress_token() -> None:
    ledger = WIRE.ledger()
    # Never 0: @modelcontextprotocol/sdk 1.32.2 (npm) ignores a cancel of the request 0
    # (findings/typescript-sdk-never-cancels-request-0.sh).
    assert ledger.call("tools/call", {"name": "add", "arguments": {"a": 1}}, at=0) == 1
    (send,) = sent(ledger)
    assert send == Action(
        name="send",
        id=1,
        method="tools/call",
        message={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "add", "arguments": {"a": 1}, "_meta": {"progressToken": 1}},
        },
    )


def test_a_token_that_a_caller_brought_is_never_given_to_another_request() -> None:
    ledger = WIRE.ledger()
    ledger.call("tools/call", {"_meta": {"progressToken": 2}}, at=0)
    ledger.call("tools/call", at=0)
    assert [send.message["params"]["_meta"]["progressToken"] for send in sent(ledger)] == [2, "mcp-tui-2"]
    for id_ in (1, 2):
        ledger.writing(id_)
        ledger.written(id_, at=0)
    ledger.take()
    play(
        ledger,
        at(1).progress(2, 5),
        "Progress 1 progress=5",
        at(1).progress("mcp-tui-2", 6),
        "Progress 2 progress=6",
        at(1).progress(1, 7),
        "Violation rule=unknown-progress-token detail='progress under the unknown token 1'",
    )


# -- what cannot be attributed ---------------------------------------------------------------------------------


# -- bounds ----------------------------------------------------------------------------------------------------


def test_what_events_carry_of_the_servers_texts_is_bounded() -> None:
    ledger = WIRE.in_flight("tools/call", "tools/call")
    long = "x" * 10**6
    for step in (
        at(1).notification(long),
        at(1).request(long, long),
        at(1).notification("notifications/message", {"level": long, "logger": long, "data": [long]}),
        at(1).progress(1, 1, message=long),
        at(1).progress(long, 1),
        at(1).result(long),
        at(1).result(1, {"content": [{"type": "text", "text": long}]}),
        at(1).error(2, 1, long),
        at(1).raw(long.encode()),
    ):
        step.run(ledger)
    events = [item for item in ledger.take() if isinstance(item, ev.Event)]
    assert len(events) == 10
    for event in events:
        for name in type(event).__dataclass_fields__:
            value = getattr(event, name)
            # the id of a request must be given back as it came
            assert name == "request_id" or not isinstance(value, str) or len(value) <= EVENT_TEXT_CHARACTERS


def test_a_violation_that_goes_on_is_told_ever_more_rarely() -> None:
    ledger = WIRE.in_flight("tools/call", "tools/call")
    for _ in range(5000):
        at(1).progress(1, 1).run(ledger)
    at(1).progress(2, 1).run(ledger)
    at(1).progress(2, 1).run(ledger)
    told = violations(ledger)
    assert [violation.count for violation in told if violation.id == 1] == [
        *range(1, REPORTED_VIOLATIONS + 1),
        100,
        1000,
    ]
    assert [violation.count for violation in told if violation.id == 2] == [1]


def test_of_many_broken_rules_those_broken_last_are_counted() -> None:
    ledger = WIRE.ledger()
    for id_ in range(2 * BROKEN):
        ledger.violation("malformed-result", "", 0.0, 0, id_)
        ledger.violation("malformed", "", 0.0, 0)
    assert len(ledger._violations) == BROKEN  # pyright: ignore[reportPrivateUsage]
    assert [violation.count for violation in violations(ledger) if violation.id is None][-1] == 1000


def test_what_the_ledger_keeps_of_requests_that_are_over_is_their_rows() -> None:
    ledger = WIRE.ledger()
    for _ in range(2000):
        id_ = ledger.call("tools/call", at=0)
        ledger.writing(id_)
        ledger.written(id_, at=0)
        after(ledger, at(1).result(id_))
    parts = [ledger, ledger.tasks, ledger.rounds, ledger.inbound, ledger.responses]
    deferred = {
        name: len(value) for part in parts for name, value in vars(part).items() if isinstance(value, Sized)
    }
    assert len(ledger.requests.order) == 2000
    assert set(deferred.values()) == {0}
    assert ledger.deadlines.next() is None


# -- taking ----------------------------------------------------------------------------------------------------


def test_an_error_in_an_action_names_it_and_what_waits_behind_it() -> None:
    ledger = RecordedLedger()

    def broken(event: ev.Event) -> None:
        raise OSError("disk full")

    ledger.do(broken, ev.Note(at=0.0, text="secret"))
    ledger.do(ledger.port.unqueue, 7)
    with pytest.raises(OSError, match="disk full") as raised:
        ledger.perform()
    assert raised.value.__notes__ == ["in broken Note; then: unqueue 7"]
    ledger.perform()  # what waited is carried out
