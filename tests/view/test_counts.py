"""Every count of the panes and the bar, and every statement of emptiness, against the journal itself."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import EVENTS
from mcp_tui.protocol.descriptions import LOGGED
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Requests
from mcp_tui.tui.sources.live_session import Counters
from mcp_tui.tui.sources.recorded import RecordedScene
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.view import list_filters
from mcp_tui.view.badges import CUT_OFF, GOING_ON, GOING_ON_LOST, LOST, badge
from mcp_tui.view.cancellations import Cancellations
from mcp_tui.view.cancellations import counted as outcomes_counted
from mcp_tui.view.lines import FilteredLines
from mcp_tui.view.rows import counted, empty_state
from mcp_tui.view.server_bar import Counts
from mcp_tui.view.text import clean, words
from mcp_tui.view.wire import log_lines, wire_lines
from tests.journal.making import STEPS, recorded_session


def test_a_count_and_an_empty_list_say_what_is_hidden():
    key = words("o")
    assert [counted(1, 1, "request"), counted(1, 2_000, "request")] == ["1 request", "1 of 2,000 requests"]
    assert counted(2, 2, "request", internal=5, key=key) == "2 shown, 5 internal hidden (o shows)"
    assert counted(1, 2, "request", internal=5, key=key) == "1 of 2, 5 internal hidden (o shows)"
    empty = [
        empty_state(words("None."), wanted=clean(text), hidden=n) for text, n in (("x", 7), ("", 7), ("x", 0))
    ]
    assert empty == ["No match for 'x' (7 hidden)", "None.", "None."]


CLOSED: list[tuple[str, int, float, str]] = [
    *[("call", 1, 0.0, "a"), ("written", 1, 0.0, "")] * 3,
    *[("cancel", 1, 0.0, "b"), ("cancel", 2, 0.0, "b"), ("signalled", 1, 0.0, ""), ("signalled", 2, 0.0, "")],
    *[("result", 1, 1.0, "c"), ("closed", 1, 1.0, "d")],
]
"""The connection ends under a request, one that was cancelled, and one that was answered late."""


class Records:
    """A journal as its lines of JSON say it, with nothing folded."""

    def __init__(self, path: Path) -> None:
        self.frames: list[dict[str, Any]] = []
        self.events: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in path.read_bytes().splitlines():
            record = json.loads(line)
            if record["record"] == "frame":
                self.frames.append(record)
            elif record["record"] == "event":
                self.events[record["event"]].append(record)
        self.internal = {each["id"] for each in self.events["called"] if each["internal"]}

    def ids(self, *names: str, **members: object) -> set[RequestId]:
        """The requests that these happened to, with these members."""
        return {
            event["id"]
            for name in names
            for event in self.events[name]
            if all(event[member] == value for member, value in members.items())
        }

    def late(self) -> dict[RequestId, str]:
        """The kinds of the first late answers, by their requests."""
        answers = [each for each in self.events["late"] if each["kind"] != "progress"]
        return {each["id"]: each["kind"] for each in reversed(answers)}


@pytest.mark.parametrize(("transport", "revision"), [("stdio", "2025-11-25"), ("http", "2026-07-28")])
@settings(max_examples=20, deadline=None)
@given(steps=st.lists(STEPS, max_size=40))
@example(steps=CLOSED)
def test_the_panes_and_the_bar_count_what_the_lines_of_the_journal_say(
    transport: str, revision: str, steps: list[tuple[str, int, float, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        session = recorded_session(path, transport, revision, steps)
        told, scene = Records(path), RecordedScene(Recording.read(path))
        scene.seek(scene.events)
        live = Requests()
        log, counters = Cancellations(live, origin=0.0, now=lambda: session.now), Counters(live)
        for event in session.told:
            live.apply(event)
            counters.note(event)

        cancelled = told.ids("cancel_requested") - told.internal
        logged = sum(len(told.events[name]) for name, kind in EVENTS.items() if kind in LOGGED)
        out = sum(each["dir"] == "out" for each in told.frames)
        for sources, filter, total, wanted in (
            (
                (log, scene.cancellations),
                list_filters.cancellations,
                len(cancelled),
                ("id:1", int(1 in cancelled)),
            ),
            ((log_lines(session.store.log, origin=0.0), scene.log), list_filters.log, logged, _of_log(told)),
            (
                (wire_lines(session.store.frames, origin=0.0), scene.wire),
                list_filters.wire,
                len(told.frames),
                ("dir:out", out),
            ),
        ):
            for source in sources:
                _agree(FilteredLines(source), filter, total, dict([("", total), ("zzzz", 0), wanted]))

        late, withdrawn = told.late(), told.ids("cancel_withdrawn")
        lost = told.ids("lost") | (told.ids("unwatched", disconnected=True) & told.ids("cancel_requested"))
        assert _said(outcomes_counted(map(log.item, log.numbers), session.now)) == {
            "late result": sum(late.get(each) == "result" for each in cancelled),
            "late error": sum(late.get(each) == "error" for each in cancelled),
            "reply came first": len(cancelled & withdrawn),
            "connection lost": len(cancelled & told.ids("unwatched", disconnected=True)),
        }
        asked = told.ids("cancel_requested") - withdrawn
        going = {row.id for row in live.order if badge(row, session.now) is GOING_ON} - told.internal
        counts = Counts(
            in_flight=len(told.ids("called") - told.ids("completed", "failed", "lost") - asked),
            requested=len(asked - told.ids("settled", "lost")),
            late=len(late.keys() - told.internal),
            progressing=len(going),
            lost=len(lost - told.internal),
        )
        assert counters.counts(session.now) == counts
        assert scene.facts(scene.clock).counts == replace(
            counts, requested=0
        )  # in what ended, nobody watches
        shown = [badge(row, session.now) for row in live.order if not row.internal]
        # the badge shows the worst alone
        assert counts.lost >= sum(map(shown.count, (LOST, CUT_OFF, GOING_ON_LOST)))


def _of_log(told: Records) -> tuple[str, int]:
    return "source:log", len(told.events["log"])


def _said(counted: str) -> dict[str, int]:
    """The outcomes that a script of messages can be held to, with their numbers."""
    numbers = {
        name: int(number)
        for number, _, name in (each.partition(" ") for each in counted.split(" · "))
        if name
    }
    return {
        name: numbers.get(name, 0)
        for name in ("late result", "late error", "reply came first", "connection lost")
    }


def _agree(
    source: FilteredLines[Any], filter: Callable[[str], Any], total: int, passing: dict[str, int]
) -> None:
    """Every filter lets through as many lines as it should, and an empty list says how many there are."""
    lines = LineList(source, empty="None.")
    for typed, count in passing.items():
        source.filter(filter(typed).matches if typed else None)
        while source.waiting:
            source.update()
        lines.wanted = clean(typed)
        assert (len(source.numbers), lines.total) == (count, total), typed
        if not count:
            assert lines.nothing == (
                f"No match for '{typed}' ({total:,} hidden)" if typed and total else "None."
            )
