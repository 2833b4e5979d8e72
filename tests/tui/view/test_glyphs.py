from __future__ import annotations

from mcp_tui.tui.view.rows import bar
from mcp_tui.tui.view.text import TO_ASCII, SafeText, clean, width


def test_every_twin_takes_the_place_of_its_glyph():
    for glyph, twin in TO_ASCII.items():
        assert twin.isascii()
        assert len(twin) == 1
        assert width(SafeText(chr(glyph))) == 1


def test_a_line_keeps_its_columns():
    line = SafeText(f"›◔ cancel requested  {bar(0.37)} 37% ×3 · wrong… {clean(chr(27))} {clean(chr(0x202E))}")
    twin = line.translate(TO_ASCII)
    assert twin.isascii()
    assert len(twin) == width(line)


def test_other_scripts_stay():
    assert SafeText("漢字 ✓").translate(TO_ASCII) == "漢字 +"
