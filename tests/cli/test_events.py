"""The events of ``--json``: the table of the docs, its schema and what the client tells are one list."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from mcp_tui.cli.printer import outcome, summary
from mcp_tui.cli.result_text import text_of
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import DESCRIPTIONS, as_json
from mcp_tui.protocol.events import Cause, Kind, Signal
from mcp_tui.protocol.requests import fold
from tests.cli.running import event_schema, events_schema, run, scripted
from tests.journal.making import plain

DOCS = Path(__file__).parents[2] / "docs"
TOLD = {kind: told for kind, told in DESCRIPTIONS.items() if told.event}


def table() -> dict[str, list[str]]:
    """The members of each event, as the docs list them; ``?`` behind those that may be missing."""
    page = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE)
    return {event: re.findall(r"`(\w+)`(\??)", members) for event, members in rows}


def test_the_table_the_schema_and_the_descriptions_have_the_same_events():
    named = {told.event for told in TOLD.values()} | {"outcome"}
    assert set(table()) == named
    assert {each["$ref"].rpartition("/")[2] for each in events_schema()["oneOf"]} == named


def test_the_table_and_the_schema_have_the_same_members():
    for event, members in table().items():
        schema = events_schema()["$defs"][event]
        own = [name for name in schema["properties"] if name not in ("event", "t")]
        assert sorted(name for name, _ in members) == sorted(own), event
        needed = {name for name, mark in members if not mark}
        assert needed == {*schema["required"]} - {"event", "t"}, event


@pytest.mark.parametrize("kind", TOLD, ids=lambda kind: kind.__name__)
def test_every_event_is_as_the_schema_says(kind: type[ev.Event]):
    event = plain(kind)
    made = as_json(event)
    assert made is not None
    if kind is ev.Sent:
        made["method"] = "tools/call"
    if kind is ev.Unknown:
        made["id_type"] = "string"
    event_schema(made["event"]).validate({"t": 0.0, **made})


def test_an_outcome_is_as_the_schema_says_whatever_came():
    said: list[ev.Event] = [
        ev.Called(at=0.0, id=1, method="tools/call"),
        ev.Sent(at=0.0, id=1),
        ev.CancelRequested(at=1.0, id=1, cause=Cause.USER, reason="no"),
        ev.CancelSignalled(at=1.0, id=1, signal=Signal.NOTIFICATION, reason_delivered=True, answered=True),
        *(ev.Late(at=2.0, id=1, kind=kind, after=1.0, code=3, size=9) for kind in Kind),
        ev.Settled(at=2.5, id=1),
        ev.Unwatched(at=3.0, id=1, detail="gone", disconnected=True),
    ]
    for count in range(2, len(said) + 1):
        (row,) = fold(said[:count]).order
        made = outcome(row, 4.0)
        if row.open:
            made["state"] = "lost"
        event_schema("outcome").validate({"t": 4.0, **made})


def test_a_cancel_that_nobody_watched_is_named_in_the_summary():
    said: list[ev.Event] = [
        ev.Called(at=0.0, id=1, method="ping"),
        ev.Sent(at=0.0, id=1),
        ev.CancelRequested(at=1.0, id=1, cause=Cause.TIMEOUT, reason="no"),
        ev.CancelSignalled(at=1.0, id=1, signal=Signal.NOTIFICATION, reason_delivered=True),
    ]
    (row,) = fold(said).order
    assert summary(row, 1.0) == "timed out after 1.000 s: cancel sent"


def test_structured_content_alone_is_printed() -> None:
    assert json.loads(text_of({"content": [], "structuredContent": {"sum": 3}}))["structuredContent"] == {
        "sum": 3
    }
    assert text_of({"content": []}) == ""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_processes_that_the_server_left_running_are_told_behind_the_outcome(options: tuple[str, ...]):
    ran = run("call", "odd", "--no-journal", *options, *scripted("starts"))
    said = "mcp-tui: 2 processes of the server were still running and were ended."
    assert (ran.status, ran.err.splitlines()[-1]) == (0, said)
    assert not options or ran.outcome["state"] == "completed"
