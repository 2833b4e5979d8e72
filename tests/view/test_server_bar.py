from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Kind, Limits
from mcp_tui.protocol.requests import Requests
from mcp_tui.tui.sources.live_session import Counters
from mcp_tui.view.server_bar import Counts, Link, OtherServers, ServerFacts, server_bar
from mcp_tui.view.text import SafeText, width, words
from tests.tui.making import called, cancelled, completed, late, started

FACTS = ServerFacts(
    link=Link.CONNECTED,
    name=words("everything 2026.1"),
    transport=words("stdio"),
    pid=4711,
    revision=words("2025-11-25"),
    up=849.0,
    counts=Counts(3, 1, 1),
    limits=Limits(timeout=60.0, max_timeout=600.0),
)


def shown(facts: ServerFacts, cells: int) -> str:
    line = SafeText("".join(text for text, _ in server_bar(facts, cells)))
    assert width(line) == cells
    return line


def test_wide():
    assert shown(FACTS, 140) == (
        " ✓ everything 2026.1   stdio pid 4711   2025-11-25   up 00:14:09"
        "        ▸ 3 in flight   ◔ 1 cancelling   ↯ 1 late   timeout 60s / max 10m   "
    )


def test_the_counts_are_never_pushed_out():
    long = ServerFacts(
        link=Link.CONNECTED, name=SafeText("漢字" * 200), transport=words("http"), counts=Counts(12345, 2, 3)
    )
    assert shown(long, 80).endswith("▸ 12,345 in flight  ◔ 2 cancelling  ↯ 3 late  ")
    assert shown(long, 80).startswith(" ✓ 漢字")


def test_counts_of_nothing_go_before_the_reason_of_a_loss_is_cut():
    lost = replace(FACTS, link=Link.LOST, detail=words("Server exited with code 137."), counts=Counts(lost=1))
    assert "Server exited with code 137." in shown(lost, 80)
    assert shown(lost, 80).endswith("  ∅ 1 lost  ")
    assert " 0 " not in shown(lost, 120)


def test_counts_are_the_same_event_by_event_and_over_all_rows():
    going = [late(Kind.PROGRESS, each, at=2 + each, id=9) for each in (0.5, 1.0, 1.5)]
    story = [
        called(1),
        *started(2),
        *[*started(3), *cancelled(id=3)],
        *[*started(4), *cancelled(id=4), late(id=4)],
        *[*started(5), *cancelled(id=5, settled=""), late(Kind.ERROR, id=5)],
        *[*started(6), *cancelled(id=6, settled=""), late(Kind.PROGRESS, id=6)],
        *[*started(7), completed(id=7)],
        *[*started(8), ev.Lost(at=1.0, id=8, detail="x")],
        *[*started(9), *cancelled(id=9, settled=""), *going],
        *[*started(10), *cancelled(id=10, settled="it exited")],
        ev.Unwatched(at=3.0, id=10, detail="it exited", disconnected=True),
        *[called(11, method="subscriptions/listen", internal=True), ev.Sent(at=0.0, id=11)],
        *[called(15, method="subscriptions/listen"), ev.Sent(at=0.0, id=15), *cancelled(id=15)],
        *[called(12, internal=True), ev.Sent(at=0.0, id=12), *cancelled(id=12), late(id=12)],
        *[*started(13), *cancelled(id=13), ev.CancelWithdrawn(at=2.1, id=13)],
        *[*started(14), *cancelled(id=14, settled=""), late(Kind.PROGRESS, id=14), late(id=14, at=2.6)],
    ]
    made = Requests()
    fed = Counters(made)
    for event in sorted(story, key=lambda event: event.at):
        made.apply(event)
        fed.note(event)
        assert fed.counts(event.at) == Counters(made).counts(event.at)
    assert fed.counts(3.6) == Counts(in_flight=3, requested=4, late=3, progressing=1, lost=2)
    assert fed.counts(9.0).progressing == 0


@pytest.mark.parametrize(("progressing", "lost"), [(0, 0), (2, 0), (0, 3), (2, 3)])
def test_what_went_wrong_is_counted_only_where_it_did(progressing: int, lost: int):
    line = shown(replace(FACTS, counts=Counts(3, 1, 1, progressing=progressing, lost=lost)), 160)
    assert ("↻ 2 progressing" in line) == bool(progressing)
    assert ("∅ 3 lost" in line) == bool(lost)


# -- several servers -------------------------------------------------------------------------------------------

WANTS = ((words("? a server with a long name asks"), "warning"), (words("↯ web 2 late"), "late"))


@pytest.mark.parametrize("cells", [60, 80, 120, 140, 200])
def test_the_place_among_others_and_what_they_want_leave_room_for_the_counts(cells: int):
    facts = replace(FACTS, around=OtherServers(2, 3, words("demo 2"), WANTS))
    line = shown(facts, cells)
    assert "▸ 3 in flight" in line
    if cells >= 80:
        assert line.startswith(" 2 of 3 ✓ demo 2")
        assert "? a server" in line
    assert ("↯ web 2 late" in line) == (cells >= 120)
    assert "everything" not in line
