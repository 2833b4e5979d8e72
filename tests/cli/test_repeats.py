"""A repeated call as commands tell it."""

from __future__ import annotations

import csv
import json

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Signal
from tests.cli.keeping import ONE, keep, report

WORDS = "repeats 2, whose result came at +2.0 s and was never delivered"


def kept() -> None:
    limits = ev.Limits(timeout=None, max_timeout=1.0)
    keep(
        ONE,
        ev.Connected(at=100.0, transport="stdio", revision="2025-11-25", server="mail 1", client="agent 1"),
        ev.Called(at=101.0, id=2, method="tools/call", name="send", limits=limits),
        ev.Sent(at=101.0, id=2),
        ev.CancelRequested(at=102.0, id=2, cause=Cause.MAX_TIMEOUT, reason="timed out after 1 s"),
        ev.CancelSignalled(at=102.0, id=2, signal=Signal.NOTIFICATION, reason_delivered=True),
        ev.Late(at=104.0, id=2, kind=Kind.RESULT, after=2.0),
        ev.Settled(at=104.0, id=2),
        ev.Called(at=105.0, id=3, method="tools/call", name="send", limits=limits),
        ev.Repeat(at=105.0, id=3, repeat_of=2, first_outcome="late_result", first_after=2.0),
        ev.Sent(at=105.0, id=3),
        ev.Completed(at=106.0, id=3),
        ev.Called(at=107.0, id=4, method="tools/call", name="repeat_a_text"),
        ev.Sent(at=107.0, id=4),
        ev.Completed(at=107.0, id=4),
        purpose="tap",
    )


def test_log_counts_repeats_of_one_moment(capfd: pytest.CaptureFixture[str]) -> None:
    """A batch has several, with the same words."""
    calls = [ev.Called(at=105.0, id=id_, method="tools/call", name="send") for id_ in (2, 3, 4)]
    repeats = [ev.Repeat(at=105.0, id=id_, repeat_of=2, first_outcome="running") for id_ in (3, 4)]
    keep(ONE, *calls, *repeats, purpose="tap")
    assert [each["id"] for each in json.loads(report(capfd, "log", "--json").out)] == [3, 4]


def test_log_sums_and_export_name_a_repeat(capfd: pytest.CaptureFixture[str]) -> None:
    kept()
    assert f"send  client    {WORDS}; both were answered" in report(capfd, "log").out
    first, repeat = json.loads(report(capfd, "log", "--json").out)
    assert (first["id"], first["repeat_of"], first["first_outcome"]) == (2, None, None)
    assert (repeat["id"], repeat["repeat_of"], repeat["first_outcome"]) == (3, 2, "late_result")
    assert (repeat["ran_twice"], repeat["violation"]) == (True, None)
    assert "late result 1 (worst 2.0 s), repeat 1 (both answered 1)" in report(capfd, "log", "--sums").out
    sums = json.loads(report(capfd, "log", "--sums", "--json").out)
    assert [(each["repeats"], each["ran_twice"], each["total"]) for each in sums] == [(1, 1, 1), (0, 0, 0)]
    rows = list(csv.DictReader(report(capfd, "export", ONE, "--format", "csv").out.splitlines()))
    assert [(each["repeat_of"], each["first_outcome"]) for each in rows] == [
        ("", ""),
        ("2", "late_result"),
        ("", ""),
    ]
    assert WORDS in report(capfd, "export", ONE, "--format", "markdown").out
    assert WORDS in report(capfd, "export", ONE, "--id", "3", "--format", "issue").out
    spans = report(capfd, "export", ONE, "--format", "otlp").out
    first, repeat, _ = json.loads(spans)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [each["spanId"] for each in repeat["links"]] == [first["spanId"]]
    assert {"key": "mcp_tui.repeat_of", "value": {"stringValue": "2"}} in repeat["attributes"]


def test_check_fails_on_a_repeat_and_not_on_the_word(capfd: pytest.CaptureFixture[str]) -> None:
    kept()
    found = report(capfd, "check", ONE, "--fail-on", "repeat")
    assert found.status == 9
    assert WORDS in found.out
    assert report(capfd, "check", ONE, "--fail-on", "repeat id:4").status == 0
    assert report(capfd, "check", ONE, "--expect", '"repeat" id:4').status == 0
    (assertion,) = json.loads(report(capfd, "check", ONE, "--fail-on", "repeat", "--json").out)["assertions"]
    assert [(each["id"], each["repeat_of"]) for each in assertion["rows"]] == [(3, 2)]
