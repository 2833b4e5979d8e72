"""Spans: what becomes of the records of a session in a trace."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_tui.journal import workers
from mcp_tui.journal.recorded_spans import spans_of
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import FrameHead, Header, decode_event, raw_of, read_head, read_record
from mcp_tui.journal.spans import LATE_SECONDS, SpanMaker, TraceSpan, otlp_lines, otlp_span
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Record, Writer
from mcp_tui.protocol import events as ev
from tests.cli.keeping import called, cancelled, connected, late
from tests.journal.making import OFTEN, SELDOM, Session

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def made(
    *records: Record | list[ev.Event], purpose: str = "", late_seconds: float = float("inf")
) -> list[TraceSpan]:
    maker = SpanMaker(Header(id="s", wall=1000.0, mono=100.0, purpose=purpose), late_seconds=late_seconds)

    def found() -> Iterator[TraceSpan]:
        for each in records:
            for record in each if isinstance(each, list) else [each]:
                yield from maker.take(record)
        yield from maker.rest()

    return [*found()]


def frame(seq: int, id: int, context: str, *, method: str = "tools/call", out: bool = True) -> Record:
    params = {"name": "slow_sql", "_meta": {"traceparent": context}}
    raw = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()
    return FrameHead(seq, 100.0, "out" if out else "in", method, id, len(raw)), raw


def happened(span: TraceSpan) -> list[tuple[str, float]]:
    return [(each.name, each.at) for each in span.events]


def test_a_late_answer_is_in_the_span_of_its_request():
    cancel = [*cancelled(1), ev.Settled(at=104.0, id=1), late(1, 30.0)]
    open_, answered, cancelled_span = sorted(
        made(connected(), called(1), cancel, called(2), ev.Completed(at=103.0, id=2), called(3, at=105.0)),
        key=lambda span: -int(span.row.id if span.row else 0),
    )
    assert happened(cancelled_span) == [
        ("sent", 1000.0),
        ("cancel_requested", 1002.0),
        ("cancel_signalled", 1002.0),
        ("settled", 1004.0),
        ("late", 1032.0),
    ]
    kinds = [each.attributes.get("mcp_tui.kind") for each in cancelled_span.events]
    assert (kinds[-1], cancelled_span.events[1].attributes["mcp_tui.cause"]) == ("result", "user")
    told = cancelled_span.attributes
    assert (cancelled_span.name, cancelled_span.began, cancelled_span.ended) == (
        "tools/call slow_sql",
        1000.0,
        1002.0,
    )
    assert (told["mcp_tui.cancel.reason"], told["mcp_tui.cancel.outcome"]) == ("wrong table", "late_result")
    # not an internal error, as sentry-sdk 2.75.0 (PyPI) calls it, nor nothing, as fastmcp 4.2.3 (PyPI) has it
    assert (told["error.type"], told["mcp.protocol.version"]) == ("cancelled", "2025-11-25")
    assert (answered.ended, answered.error, answered.attributes["mcp_tui.state"]) == (1003.0, "", "completed")
    assert (open_.ended, open_.attributes["mcp_tui.state"]) == (1032.0, "in_flight")
    assert len({span.context.trace for span in (open_, answered, cancelled_span)}) == 3


def test_what_comes_after_a_span_was_sent_is_linked_to_it():
    cancel = [*cancelled(1), ev.Settled(at=104.0, id=1)]
    first, after, _ = made(
        called(1), cancel, called(2, at=103.0 + LATE_SECONDS), late(1, 90.0), late_seconds=LATE_SECONDS
    )
    assert happened(first)[-1] == ("settled", 1004.0)
    assert (after.parent, after.links, happened(after)) == (
        first.context,
        (first.context,),
        [("late", 1092.0)],
    )


def test_the_span_of_a_tapped_call_is_a_child_of_the_clients():
    (span,) = made(frame(1, 1, f"00-{TRACE}-{SPAN}-01"), called(1, 1), purpose="tap")
    assert span.parent is not None
    assert (span.parent.trace, span.parent.span, span.context.trace) == (TRACE, SPAN, TRACE)
    assert span.context.span != SPAN


def test_the_span_of_an_own_call_is_the_one_that_the_call_carried():
    (span,) = made(frame(1, 1, f"00-{TRACE}-{SPAN}-01"), called(1, 1))
    assert (span.context.trace, span.context.span, span.parent) == (TRACE, SPAN, None)


def test_a_trace_context_that_is_none_is_ignored():
    for wrong in (
        f"00-{'0' * 32}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}",
        "<b>",
        f"00-{TRACE.upper()}-x-01",
    ):
        (span,) = made(frame(1, 1, wrong), called(1, 1), purpose="tap")
        assert (span.parent, span.context.trace == TRACE) == (None, False), wrong


def test_rounds_tasks_and_requests_of_the_server_are_joined():
    other = "b7ad6b7169203331"
    spans = made(
        frame(1, 1, f"00-{TRACE}-{SPAN}-01"),
        called(1, 1),
        ev.InputRequired(at=101.0, id=1, round=1, asks="elicitation/create"),
        frame(2, 9, f"00-{TRACE}-{other}-01"),
        ev.Round(at=102.0, id=1, wire_id=9, number=2),
        ev.Sent(at=102.0, id=1, seq=2),
        ev.TaskCreated(at=103.0, id=1, task_id="T"),
        [
            ev.Called(at=104.0, id=2, method="tasks/get", name="T", internal=True, parent=1),
            ev.Sent(at=104.0, id=2),
        ],
        ev.Completed(at=104.5, id=2),
        ev.ServerRequestReceived(at=104.6, request_id="q", method="sampling/createMessage", parent=1),
        ev.ServerRequestAnswered(at=104.8, request_id="q", code=-1),
        ev.Completed(at=105.0, id=1),
    )
    poll, asked, call = spans
    assert [each.span for each in call.links] == [other]
    assert (poll.parent, poll.links, poll.context.trace) == (call.context, (call.context,), TRACE)
    assert (asked.kind, asked.parent, asked.error, asked.ended) == ("server", call.context, "refused", 1004.8)


def test_what_mcp_tui_asks_for_itself_is_marked_and_no_error_and_a_refused_probe_is_none():
    refused = ev.Failed(at=100.1, id=1, message="Method not found", code=-32601)
    # Clients of 2026-07-28 too (Claude Code 2.1.332, mcp 2.3.0, @modelcontextprotocol/client 2.4.0) ask old servers for
    # their versions first: the refusal is the answer, behind a tap as for mcp-tui itself.
    for method, purpose, told in (
        ("server/discover", "", ("", None, True)),
        ("tools/list", "", ("", None, True)),
        ("server/discover", "tap", ("", None, None)),
        ("tools/list", "tap", ("Method not found", "-32601", None)),
    ):
        own: list[ev.Event] = [
            ev.Called(at=100.0, id=1, method=method, internal=True),
            ev.Sent(at=100.0, id=1),
        ]
        (span,) = made(own, refused, purpose=purpose)
        said = span.attributes
        assert (span.error, said.get("error.type"), said.get("mcp_tui.internal")) == told
        assert said["rpc.response.status_code"] == "-32601"
    (call,) = made(called(2), ev.Failed(at=100.1, id=2, message="no", code=-1))
    assert (call.error, "mcp_tui.internal" in call.attributes) == ("no", False)


def test_lines_have_hexadecimal_ids_and_times_as_text():
    header = Header(id="s", wall=1000.0, mono=100.0)
    spans = made(called(1), ev.Failed(at=101.25, id=1, message="it failed", code=-32603)) * 501
    lines = [json.loads(line) for line in otlp_lines(map(otlp_span, spans), header)]
    assert len(lines) == 2
    found = lines[0]["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert (len(found["traceId"]), len(found["spanId"]), found["kind"]) == (32, 16, 3)
    assert (found["startTimeUnixNano"], found["endTimeUnixNano"]) == ("1000000000000", "1001250000000")
    assert found["status"] == {"code": 2, "message": "it failed"}
    assert {"key": "error.type", "value": {"stringValue": "-32603"}} in found["attributes"]


def test_who_ended_the_connection_is_the_error_of_a_lost_request():
    lost = [
        ev.Lost(at=103.0, id=1, detail="the connection ended"),
        ev.Lost(at=103.0, id=2, detail="the connection ended"),
    ]

    def errors(*over: ev.Event) -> list[object]:
        return [
            each.attributes["error.type"] for each in made(connected(), called(1), called(2), [*lost, *over])
        ]

    assert errors(ev.Disconnected(at=103.0, detail="", expected=True)) == ["client_ended", "client_ended"]
    assert errors(ev.Disconnected(at=103.0, detail="")) == errors() == ["lost", "lost"]


@pytest.mark.parametrize("purpose", ["", "tap"])
def test_the_spans_of_a_recording_are_those_of_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, purpose: str
) -> None:
    monkeypatch.setattr(workers, "PLACES", 10)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    header = Header(id="abc", wall=1000.0, mono=100.0, purpose=purpose, target="http://127.0.0.1:8000/mcp")
    session = Session(Store(Writer(path := tmp_path / "session.jsonl", header=header)), "http", "2026-07-28")
    store, draw = session.store, random.Random(5)
    for number in range(1, 900):
        if number % 300 == 0:
            store.event(ev.Disconnected(at=session.now, detail="", expected=number == 300))
            store.event(
                ev.Connected(at=session.now, transport="http", revision="2025-11-25", server=f"{number}")
            )
        if number % 9 == 0:
            _family(store, draw, f"{number},", session.now)
        session.step(draw.choice((*OFTEN, "call", *SELDOM)), draw.randint(1, 90), draw.random() / 10, "why")
    session.ledger.closed("gone", at=session.now)
    session.step("log", 1, 0.0, "")
    store.close()
    recording, maker = Recording.read(path), SpanMaker(header)

    def told() -> Iterator[TraceSpan]:
        for record in filter(None, map(read_record, path.read_bytes().splitlines())):
            if record["record"] == "event":
                yield from maker.take(decode_event(record))
            elif head := read_head(record):
                yield from maker.take((head, raw_of(record) or b""))
        yield from maker.rest()

    assert [*spans_of(recording)] == [*map(otlp_span, told())]
    assert len(recording.table.first) > 200
    place = recording.table.rows[recording.table.cancels[0]]
    (alone,) = (each for each in spans_of(recording, [place]))
    assert alone in {*spans_of(recording)}


def _family(store: Store, draw: random.Random, name: str, at: float) -> None:
    """Has a request that becomes a task, with a poll, a request from the server, and a repeat; each may have a context."""

    def message(id: str, method: str, *, out: bool = True) -> int:
        context = f"00-{draw.getrandbits(128):032x}-{draw.getrandbits(64):016x}-01"
        meta = {"_meta": {"traceparent": context}} if draw.random() < 0.6 else {}
        raw = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": meta}).encode()
        return store.frame("out" if out else "in", raw, at=at, method=method, id=id)

    task, poll, again = (f"{name}{each}" for each in ("task", "poll", "again"))
    for event in (
        ev.Called(at=at, id=task, method="tools/call", name="slow"),
        ev.Sent(at=at, id=task, seq=message(task, "tools/call")),
        ev.TaskCreated(at=at, id=task, task_id=name),
        ev.Called(at=at, id=poll, method="tasks/get", name=name, parent=task, internal=True),
        ev.Sent(at=at, id=poll, seq=message(poll, "tasks/get")),
        ev.ServerRequestReceived(
            at=at, request_id=name, method="ping", parent=task, seq=message(name, "ping", out=False)
        ),
        ev.Completed(at=at, id=poll),
        ev.Called(at=at, id=again, method="tools/call", name="slow"),
        ev.Repeat(at=at, id=again, repeat_of=task, first_outcome="running"),
        ev.Sent(at=at, id=again, seq=message(again, "tools/call")),
        *([ev.ServerRequestAnswered(at=at, request_id=name)] * (draw.random() < 0.5)),
        *([ev.Completed(at=at, id=again), ev.Failed(at=at, id=task, message="no")] * (draw.random() < 0.8)),
    ):
        store.event(event)
