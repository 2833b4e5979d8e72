"""The table of how events are told."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import CLAUSES, DESCRIPTIONS, HERE, IN, OUT, about, as_json, describe
from tests.journal.making import event_classes, events, plain


def test_every_class_of_events_has_one_entry() -> None:
    assert list(DESCRIPTIONS) == event_classes()


@given(st.data())
def test_any_event_can_be_told(data: st.DataObject) -> None:
    event = data.draw(events(data.draw(st.sampled_from(event_classes()))))
    told = describe(event)
    assert told.arrow(event) in {IN, OUT, HERE}
    assert len(describe(event).words(event)) < 5000
    assert isinstance(told.tone(event), str)
    assert json.dumps(as_json(event))


CONTRACT = [
    ("connected", {"transport", "revision", "server"}),
    ("disconnected", {"detail", "after", "ids"}),
    ("degraded", {"detail"}),
    ("stood_still", {"seconds"}),
    ("repeat", {"id", "repeat_of", "first_outcome", "first_after", "session"}),
    ("sent", {"id"}),
    ("progress", {"id", "progress", "total", "message"}),
    ("log", {"level", "logger", "data"}),
    ("stderr", {"line"}),
    ("cancel_requested", {"id", "cause", "reason"}),
    ("cancel_signalled", {"id", "signal", "reason_delivered"}),
    ("cancel_accepted", {"id", "sessionless"}),
    ("cancel_unanswered", {"id", "detail"}),
    ("cancel_withdrawn", {"id"}),
    ("late", {"id", "kind", "after", "code", "most", "partial", "bytes"}),
    ("duplicate", {"id", "kind"}),
    ("unknown", {"response_id", "id_type", "kind", "code", "message", "cancelled", "after"}),
    ("settled", {"id", "detail"}),
    ("cancel_delayed", {"id", "detail"}),
    ("undelivered", {"id", "detail"}),
    ("oversize", {"id", "bytes"}),
    ("pollution", {"line"}),
    ("violation", {"id", "rule", "detail"}),
    ("task", {"id", "task_id", "status", "message"}),
    ("task", {"id", "status", "message"}),
    ("input_required", {"id", "round", "asks"}),
    ("round", {"id", "round", "wire_id"}),
    ("question", {"request_id", "method"}),
    ("answered", {"request_id", "code"}),
    ("withdrawn", {"request_id", "reason"}),
    ("acknowledged", {"id", "filter"}),
    ("delivered", {"id", "method", "uri"}),
]
"""What ``--json`` tells of each event. Scripts rely on it."""


def test_the_json_of_every_event_is_the_contract() -> None:
    made = [as_json(plain(kind)) for kind in event_classes()]
    told = [(each.pop("event"), set(each)) for each in made if each is not None]
    assert sorted((name, sorted(members)) for name, members in told) == sorted(
        (name, sorted(members)) for name, members in CONTRACT
    )


@pytest.mark.parametrize(
    ("event", "id"),
    [
        (ev.Sent(at=1.0, id="a"), "a"),
        (ev.Oversize(at=1.0, bytes=1, id=7), 7),
        (ev.Violation(at=1.0, rule="x", detail=""), None),
        (ev.Stderr(at=1.0, line="x"), None),
    ],
)
def test_an_event_says_which_request_it_is_about(event: ev.Event, id: ev.RequestId | None) -> None:
    assert about(event) == id


def test_each_rule_that_a_client_can_break_names_its_clause():
    listed = re.findall(r"``([\w-]+)``", (ev.Violation.__doc__ or "").partition("Of a client:")[2])
    assert sorted(listed) == sorted(CLAUSES)
    broken = ev.Violation(at=1.0, rule="cancel-unknown", detail="a cancel of 9", by=ev.Origin.CLIENT)
    clause = "MUST: Cancellation, Behavior Requirements"
    assert describe(broken).words(broken) == f"by the client: cancel-unknown: a cancel of 9 ({clause})"
    assert describe(broken).more(broken) == {"by": "client", "clause": clause}
