"""What one recorder leaves to another: wherever a session is cut, the next one knows what the first one knew."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.tap import recorder_loop
from mcp_tui.tap.checkpoint import WHOLE_BYTES
from mcp_tui.tap.recorder_loop import RecorderLoop
from mcp_tui.tap.recorder_records import DECISION, FROM_SERVER, OWN_TO_CLIENT, begin, packed
from mcp_tui.tap.stdio_recorder import StdioRecorder

if TYPE_CHECKING:
    from mcp_tui.tap.recorder_records import StdioBegin

BLAMES: Final = (ev.Unknown, ev.Violation)
Record = tuple[bytes, float, bytes]
PARTS: Final = 3
"""Pieces in which the bytes of a message come."""


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def call(id: Any, name: str = "t", method: str = "tools/call", **params: Any) -> bytes:
    return line(id=id, method=method, params={"name": name, **params})


def result(id: Any, **members: Any) -> bytes:
    return line(id=id, result=members)


def progress(token: Any, value: float) -> bytes:
    return line(method="notifications/progress", params={"progressToken": token, "progress": value})


def opening(version: str, **capabilities: Any) -> list[tuple[bytes, bytes]]:
    client = {
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": {"name": "c", "version": "1"},
    }
    server: dict[str, Any] = {
        "protocolVersion": version,
        "capabilities": {"tasks": {"cancel": {}}},
        "serverInfo": {"name": "s"},
    }
    return [
        (b"o", line(id=0, method="initialize", params=client)),
        (b"i", result(0, **server)),
        (b"o", line(method="notifications/initialized")),
    ]


MODERN: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ELICIT: Final[dict[str, Any]] = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
TASK: Final = {"taskId": "a", "createdAt": "x", "lastUpdatedAt": "x", "ttl": None, "status": "working"}

SESSIONS: Final[dict[str, list[tuple[bytes, bytes]]]] = {
    "answers and progress": [
        *opening("2025-11-25"),
        (b"o", call(1) + call("1", _meta={"progressToken": "p"})),
        (b"i", progress("p", 1) + result(1, content=[]) + progress("p", 2)),
        (b"o", call(1)),
        (b"i", progress("p", 3) + result("1", content=[])),
    ],
    "a cancel of the client, and a late answer": [
        *opening("2025-06-18"),
        (b"o", call(1) + call(2)),
        (b"o", line(method="notifications/cancelled", params={"requestId": 1, "reason": "enough"})),
        (b"i", result(1, content=[])),
        (b"i", result(2, content=[])),
    ],
    "a question stops the clocks": [
        *opening("2025-06-18", elicitation={}),
        (b"o", call(1)),
        (b"i", line(id=1, method="elicitation/create", params=ELICIT)),
        (b"o", line(id=1, result={"action": "accept", "content": {}})),
        (b"i", line(id="q", method="elicitation/create", params=ELICIT)),
        (b"o", line(id="q", result={"action": "decline"})),
        (b"i", result(1, content=[])),
    ],
    "a task": [
        *opening("2025-11-25"),
        (b"o", call(1, task={"ttl": 60000})),
        (b"i", result(1, task=TASK)),
        (b"o", line(id=2, method="tasks/get", params={"taskId": "a"})),
        (b"i", result(2, **TASK)),
        (b"o", line(id=3, method="tasks/get", params={"taskId": "a"})),
        (b"i", result(3, **TASK | {"status": "completed"})),
        (b"o", line(id=4, method="tasks/result", params={"taskId": "a"})),
        (b"i", result(4, content=[])),
    ],
    "rounds": [
        (b"o", call(1, _meta=MODERN)),
        (
            b"i",
            result(
                1,
                resultType="input_required",
                inputRequests={"k": {"method": "roots/list"}},
                requestState="a",
            ),
        ),
        (b"o", call(2, _meta=MODERN, requestState="a", inputResponses={"k": {"roots": []}})),
        (
            b"i",
            result(
                2,
                resultType="input_required",
                inputRequests={"k": {"method": "roots/list"}},
                requestState="b",
            ),
        ),
        (b"o", call(3, _meta=MODERN, requestState="b", inputResponses={"k": {"roots": []}})),
        (b"i", result(3, resultType="complete", content=[])),
    ],
    "a batch": [
        *opening("2025-03-26"),
        (b"o", b"[" + call(1).strip() + b"," + call(2).strip() + b"]\n"),
        (b"i", b"[" + result(1, content=[]).strip() + b"]\n"),
        (b"i", result(2, content=[])),
    ],
    "much": [
        *opening("2025-11-25"),
        (b"o", call(1, arguments={"text": "x" * WHOLE_BYTES}, _meta={"progressToken": 7})),
        (b"i", progress(7, 1)),
        (b"i", result(1, content=[{"type": "text", "text": "y" * WHOLE_BYTES}])),
    ],
}


def pieces(session: list[tuple[bytes, bytes]]) -> list[Record]:
    """The records of a session, in which lines are cut anywhere."""
    found: list[Record] = []
    for kind, data in session:
        size = len(data) // PARTS + 1
        found += ((kind, 0.0, data[at : at + size]) for at in range(0, len(data), size))
    return [(kind, 100.0 + number, data) for number, (kind, _, data) in enumerate(found)]


def options() -> StdioBegin:
    """The options of a tap."""
    return {
        "at": 99.0,
        "folder": "",
        "command": ["s"],
        "path": "s",
        "pid": 1 << 30,
        "max_timeout": 500,
        "timeout": 300,
    }


@contextmanager
def recorder(*, again: bool = False) -> Generator[StdioRecorder]:
    """The recorder of a tap, without its relay."""
    records, orders = os.pipe(), os.pipe()
    os.set_blocking(orders[1], False)
    loop = RecorderLoop(records[0], orders[1], StdioRecorder)
    loop.restoring = again
    given = options()
    if again:
        given["again"] = 1
    recorder = StdioRecorder(loop, given, 99.0)
    try:
        yield recorder
    finally:
        recorder.end()
        for each in (*records, *orders):
            os.close(each)


def take(recorder: StdioRecorder, session: list[Record]) -> None:
    for kind, at, data in session:
        recorder.record(kind, at, 0, data)


def known(recorder: StdioRecorder) -> Any:
    """What the recorder knows of open requests, of their clocks, and of what the server asks."""
    rows = [each.row for each in recorder.ledger.live.values()]
    ids = [recorder.observer.on_wire(row.wire_id) for row in rows]
    return (
        [
            (id_, row.method, row.name, row.state, row.cause, row.deadlines(), row.task_id, row.progress)
            for id_, row in zip(ids, rows, strict=True)
        ],
        {*recorder.ledger.inbound.waiting},
        recorder.ledger.negotiated.revision,
        recorder.observer.client,
    )


def blamed(recorder: StdioRecorder, session: list[Record]) -> list[tuple[str, ...]]:
    """What is said against the server or the client while these records are taken."""
    seen: list[ev.Event] = []
    keep = recorder.store.event

    def event(event: ev.Event) -> None:
        seen.append(event)
        keep(event)

    recorder.store.event = event
    take(recorder, session)
    return [(type(each).__name__, getattr(each, "rule", "")) for each in seen if isinstance(each, BLAMES)]


@pytest.mark.parametrize("name", SESSIONS)
def test_wherever_a_session_is_cut_the_next_recorder_goes_on(name: str):
    session = pieces(SESSIONS[name])
    for cut in range(1, len(session) + 1):
        with recorder() as whole, recorder() as first, recorder(again=True) as second:
            take(whole, session[:cut])
            take(first, session[:cut])
            for each in first.needed():
                second.restore(*each)
            second.loop.restoring = False
            second.restored(session[cut - 1][1], "it ended")
            assert known(second) == known(whole), cut
            against = blamed(whole, session[cut:])
            assert [each for each in blamed(second, session[cut:]) if each not in against] == [], cut
            assert known(second) == known(whole), cut


def test_what_the_client_was_answered_is_known_to_every_later_recorder():
    # Before the handshake there is no revision, so no cancel is sent, and the request is settled at once.
    with recorder() as first, recorder(again=True) as second, recorder(again=True) as third:
        first.record(b"o", 100.0, 0, call("a"))
        first.tick(500.0)
        row = first.ledger.row("a")
        assert row.cause is not None
        assert not first.ledger.live
        decision = [0, "a", row.cancel_at, row.cause.value, row.reason]
        first.record(DECISION, 500.0, 0, json.dumps(decision).encode())
        first.record(OWN_TO_CLIENT, 500.0, 0, result("a", isError=True))
        for earlier, later in ((first, second), (second, third)):
            for each in earlier.needed():
                later.restore(*each)
            assert not later.runs_out(900.0, 900.0)
            assert not later.loop.withdraw(0, "a"), "the client would be answered again"


def test_a_turn_may_end_within_a_record_and_a_checkpoint_has_whole_ones(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(recorder_loop, "REPORT_SECONDS", 0.0)
    records, orders = os.pipe(), os.pipe()
    recorders: list[StdioRecorder] = []

    def begun(*given: Any) -> StdioRecorder:
        recorders.append(StdioRecorder(*given))
        return recorders[0]

    loop = RecorderLoop(records[0], orders[1], begun)
    loop.start()
    notes = b"".join(line(method="notifications/message", params={"data": each}) for each in range(400))
    os.write(records[1], begin(options()) + packed([(FROM_SERVER, 100.0, 0, notes)]))
    os.set_blocking(orders[0], False)
    given, turns = b"", 0
    while given.count(b'"taken"') < 2:  # the first is that of the beginning
        loop.step(0.0, 0.0)
        turns += 1
        with suppress(BlockingIOError):
            given += os.read(orders[0], 1 << 16)
    assert turns > 5, "the record was taken in one turn"
    assert loop.patience() != 0, "a checkpoint was made within a record"
    assert b'"taken":1,' in given
    loop.end()
    os.close(records[1])
    os.close(orders[0])
