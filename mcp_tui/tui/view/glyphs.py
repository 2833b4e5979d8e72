"""The glyphs of the screen and their ASCII twins.

Everything is worded with the glyphs; where the terminal cannot show them (an encoding other than UTF-8,
``TERM=linux``), a filter of the app replaces them in each finished line. Every twin is one cell wide like
its glyph, so columns stay where they are.
"""

from __future__ import annotations

from typing import Final

_PAIRS: Final = (
    ("◌▸◔⊘↯↻◷✓✗∅", ".>~-!oT+x?"),  # states of a request
    ("◂▪", "<*"),  # what the server asks, and a mark
    ("›‹…·–×→←↓↑≤", "><~--x><v^<"),  # furniture
    ("█▉▊▋▌▍▎▏", "#####   "),  # progress bars: what is less than half a cell is no cell
    ("━┿┄▁▂▃▄▅▆▇─│", "=+..:-=+*%-|"),  # the timeline: bars, what came while they ran, and a sparkline
    ("".join(map(chr, range(0x2400, 0x2422))), "?" * 0x22),  # pictures of control characters
)

TWINS: Final = {glyph: twin for glyphs, twins in _PAIRS for glyph, twin in zip(glyphs, twins, strict=True)}
"""Each glyph and the ASCII character that stands in for it."""

TO_ASCII: Final = str.maketrans(TWINS)
"""The same, for :meth:`str.translate`."""
