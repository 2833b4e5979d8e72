from __future__ import annotations

import unicodedata

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind
from mcp_tui.view.badges import BADGES, badge
from mcp_tui.view.rows import bar
from mcp_tui.view.text import TO_ASCII, SafeText, clean, width
from tests.cases import cases
from tests.tui.making import called, cancelled, completed, late, row, started

END = ev.Settled(at=4.0, id=1)
PROGRESS = late(Kind.PROGRESS, 0.1, at=2.1)
STORIES: list[tuple[str, str, list[ev.Event]]] = [
    ("queued", "◌", [called()]),
    ("waiting", "▸", [*started(), ev.InputRequired(at=1.0, id=1, round=1, asks="roots/list")]),
    ("task", "▸", [*started(), ev.TaskCreated(at=0.5, id=1, task_id="t-1", status="working", core=True)]),
    ("in flight", "▸", started()),
    ("in flight", "▸", [*started(), ev.Overdue(at=60.0, id=1, until=70.0)]),
    ("cancelling", "◔", [*started(), *cancelled(signal=None)]),
    ("cancelling", "◔", [*started(), *cancelled()]),
    ("cancelling", "◔", [*started(), *cancelled(), PROGRESS]),
    ("cancelled", "⊘", [*started(), *cancelled(settled="")]),
    ("cancelled", "⊘", [*started(), *cancelled(cause=Cause.SHUTDOWN, settled="")]),
    ("cancelled", "⊘", [*started(), *cancelled(), PROGRESS, END]),
    ("timed out", "◷", [*started(), *cancelled(cause=Cause.TIMEOUT)]),
    ("timed out", "◷", [*started(), *cancelled(cause=Cause.MAX_TIMEOUT, settled="")]),
    ("late", "↯", [*started(), *cancelled(), late()]),
    ("late", "↯", [*started(), *cancelled(settled=""), late(Kind.ERROR)]),
    ("late", "↯", [*started(), *cancelled(cause=Cause.TIMEOUT, settled=""), PROGRESS, late()]),
    ("late", "↯", [*started(), *cancelled(), late(Kind.INPUT_REQUIRED)]),
    ("late", "↯", [*started(), *cancelled(), late(Kind.TASK)]),
    ("in flight", "▸", [*started(), *cancelled(signal=None), ev.CancelWithdrawn(at=2.1, id=1)]),
    ("completed", "✓", [*started(), completed()]),
    ("tool error", "✗", [*started(), completed(is_error=True)]),
    ("failed", "✗", [*started(), ev.Failed(at=1.0, id=1, message="no b", code=-32602)]),
    ("lost", "∅", [*started(), ev.Lost(at=1.0, id=1, detail="server exited with code 137")]),
    ("late", "↯", [*started(), ev.Lost(at=1.0, id=1, detail="stream dropped"), late()]),
]


@cases(("word", "glyph", "events"), STORIES)
def test_a_story_and_its_badge(word: str, glyph: str, events: list[ev.Event]):
    shown = badge(row(events))
    assert (shown.word, shown.glyph) == (word, glyph)


def test_glyphs_are_one_neutral_cell_with_an_ascii_twin():
    for shown in BADGES:
        assert len(shown.glyph) == 1 == width(shown.glyph)
        assert unicodedata.east_asian_width(shown.glyph) == "N"
        twin = shown.glyph.translate(TO_ASCII)
        assert len(twin) == 1
        assert twin.isascii()


def test_every_twin_takes_the_place_of_its_glyph():
    for glyph, twin in TO_ASCII.items():
        assert twin.isascii()
        assert len(twin) == 1
        assert width(SafeText(chr(glyph))) == 1


def test_a_line_keeps_its_columns():
    line = SafeText(f"›◔ cancelling  {bar(0.37)} 37% ×3 · wrong… {clean(chr(27))} {clean(chr(0x202E))}")
    twin = line.translate(TO_ASCII)
    assert twin.isascii()
    assert len(twin) == width(line)


def test_other_scripts_stay():
    assert SafeText("漢字 ✓").translate(TO_ASCII) == "漢字 +"
