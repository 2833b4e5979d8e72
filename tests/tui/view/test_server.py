from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Kind, Limits
from mcp_tui.tui.view.server import Around, Counts, Link, ServerFacts, bar, count
from mcp_tui.tui.view.text import SafeText, clean, width, words
from tests.tui.hostile import PAYLOADS, assert_harmless
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


def test_narrow():
    assert (
        shown(FACTS, 80) == " ✓ everything 2026.1  stdio  2025-11-25 ▸ 3 in flight  ◔ 1 requested  ↯ 1 late  "
    )


def test_wide():
    assert shown(FACTS, 140) == (
        " ✓ everything 2026.1   stdio pid 4711   2025-11-25   up 00:14:09"
        "           ▸ 3 in flight   ◔ 1 requested   ↯ 1 late   limit 60s / max 10m   "
    )


def test_other_links():
    assert shown(ServerFacts(), 80).startswith(" ◌ no server  connecting")
    lost = ServerFacts(link=Link.LOST, name=words("x"), detail=words("server exited (code 137)"))
    assert shown(lost, 80).startswith(" ∅ x  server exited (code 137)")
    probing = ServerFacts(name=words("x"), detail=words("probing"))
    assert shown(probing, 80).startswith(" ◌ x  probing")


def test_the_counts_are_never_pushed_out():
    long = ServerFacts(
        link=Link.CONNECTED, name=SafeText("漢字" * 200), transport=words("http"), counts=Counts(12345, 2, 3)
    )
    assert shown(long, 80).endswith("▸ 12,345 in flight  ◔ 2 requested  ↯ 3 late  ")
    assert shown(long, 80).startswith(" ✓ 漢字")


@pytest.mark.parametrize("name", PAYLOADS)
def test_hostile_names_are_harmless(name: str):
    text = clean(PAYLOADS[name])
    facts = ServerFacts(name=text, transport=text, revision=text, detail=text)
    assert_harmless(shown(facts, 80))
    assert_harmless(shown(facts, 140))


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


def test_without_others_there_is_no_place():
    assert shown(replace(FACTS, around=Around()), 80) == shown(FACTS, 80)


@pytest.mark.parametrize("cells", [80, 100, 120, 140, 160])
def test_a_name_of_usual_length_stands_whole_and_so_does_what_stands_beside_it(cells: int):
    facts = replace(FACTS, name=words("atlas-mcp 2.4.0"), counts=Counts(5, 1, 1, asks=1))
    said = "".join(text for text, _ in bar(facts, cells))
    assert "atlas-mcp 2.4.0 " in said
    assert "…" not in said
