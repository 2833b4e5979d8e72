from __future__ import annotations

import dataclasses
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.journal.records import EVENTS, decode_event, encode_event, texts_of
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Kind
from mcp_tui.protocol.messages import encode
from tests.journal.making import event_classes, events


def through_json(event: ev.Event) -> ev.Event:
    return decode_event(json.loads(encode(encode_event(event))))


def test_no_field_has_a_name_that_a_record_needs() -> None:
    names = {field.name for kind in EVENTS.values() for field in dataclasses.fields(kind)}
    assert not names & {"record", "event", "mono"}


@settings(max_examples=100)
@given(data=st.data())
def test_every_event_survives_its_record(data: st.DataObject) -> None:
    event = data.draw(events(data.draw(st.sampled_from(event_classes()))))
    read = through_json(event)
    assert read == event
    for field in dataclasses.fields(event):  # 1 == 1.0 == True
        before, after = getattr(event, field.name), getattr(read, field.name)
        assert type(before) is type(after), field.name


def test_what_is_no_number_in_json_survives_all_the_same() -> None:
    event = ev.Progress(at=1.0, id=1, progress=math.inf, total=-math.inf)
    assert b"Infinity" in encode(encode_event(event))
    json.loads(encode(encode_event(event)), parse_constant=pytest.fail)
    assert through_json(event) == event
    unknown = through_json(ev.Progress(at=1.0, id=1, progress=math.nan))
    assert isinstance(unknown, ev.Progress)
    assert math.isnan(unknown.progress)


def test_free_text_is_known_and_the_words_of_the_protocol_are_none() -> None:
    called = ev.Called(at=1.0, id="x", method="tools/call")
    assert texts_of(called) == ("name",)
    progress = ev.Progress(at=1.0, id=1, progress=1.0)
    assert texts_of(progress) == ("message",)
    unknown = ev.Unknown(at=1.0, response_id="x", kind=Kind.RESULT)
    assert texts_of(unknown) == ("message",)
