from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Kind, Limits
from mcp_tui.tui.view.server import Around, Counts, Link, ServerFacts, bar, count
from mcp_tui.tui.view.text import SafeText, width, words
from tests.tui.making import book, called, cancelled, completed, late, started

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
    line = SafeText("".join(text for text, _ in bar(facts, cells)))
    assert width(line) == cells
    return line


def test_wide():
    assert shown(FACTS, 140) == (
        " ✓ everything 2026.1   stdio pid 4711   2025-11-25   up 00:14:09"
        "           ▸ 3 in flight   ◔ 1 requested   ↯ 1 late   limit 60s / max 10m   "
    )


def test_the_counts_are_never_pushed_out():
    long = ServerFacts(
        link=Link.CONNECTED, name=SafeText("漢字" * 200), transport=words("http"), counts=Counts(12345, 2, 3)
    )
    assert shown(long, 80).endswith("▸ 12,345 in flight  ◔ 2 requested  ↯ 3 late  ")
    assert shown(long, 80).startswith(" ✓ 漢字")


def test_counts_of_a_book():
    made = book(
        called(1),
        started(2),
        [*started(3), *cancelled(id=3)],
        [*started(4), *cancelled(id=4), late(id=4)],
        [*started(5), *cancelled(id=5, settled=""), late(Kind.ERROR, id=5)],
        [*started(6), *cancelled(id=6, settled=""), late(Kind.PROGRESS, id=6)],
        [*started(7), completed(id=7)],
        [*started(8), ev.Lost(at=1.0, id=8, detail="x")],
    )
    assert count(made.order) == Counts(in_flight=2, requested=2, late=2)


# -- several servers -------------------------------------------------------------------------------------------

WANTS = ((words("? a server with a long name asks"), "warning"), (words("↯ web 2 late"), "late"))


@pytest.mark.parametrize("cells", [60, 80, 120, 140, 200])
def test_the_place_among_others_and_what_they_want_leave_room_for_the_counts(cells: int):
    facts = replace(FACTS, around=Around(2, 3, words("demo 2"), WANTS))
    line = shown(facts, cells)
    assert "▸ 3 in flight" in line
    if cells >= 80:
        assert line.startswith(" 2 of 3 ✓ demo 2")
        assert "? a server" in line
    assert ("↯ web 2 late" in line) == (cells >= 120)
    assert "everything" not in line
