"""URLs in what is read, as links of the terminal (OSC 8), which opens them if a person asks. The link is what is seen."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

_URL: Final = re.compile(
    r"(?<![^\s\"'(<\[{|])https?://(?!\S*xn--)[a-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][a-z0-9._~:/?#@!$&*+,;=%-]*)?",
    re.IGNORECASE | re.ASCII,
)
"""Without a user before the host, without letters that look like others, and without what a terminal obeys."""

_ENDS: Final = frozenset(" \"')>]}|│<`")
"""What may follow a URL. Anything else belongs to it, so that it is none of ours."""

EDGE: Final = 4
"""Cells at the end of a line where a URL may be cut: it may go on in the next line."""


def linked(strip: Strip, cells: int) -> Strip:
    """Returns a line of ``cells`` cells whose whole URLs are links."""
    text = strip.text.rstrip(" ")
    if "://" not in text:
        return strip
    pieces: list[Strip] = []
    done = 0
    for found in _URL.finditer(text):
        url = found[0].rstrip(".,;:!?")
        start, end = (cell_len(text[:at]) for at in (found.start(), found.start() + len(url)))
        whole = text[found.end()] in _ENDS if found.end() < len(text) else end <= cells - EDGE
        if whole:
            link = Segment.apply_style(strip.crop(start, end), post_style=_link(url))
            pieces += [strip.crop(done, start), Strip(link)]
            done = end
    return Strip.join([*pieces, strip.crop(done, strip.cell_length)]) if pieces else strip


@lru_cache(256)
def _link(url: str) -> Style:
    """Returns the style of a link: the same each time, as each has an id of its own."""
    return Style(link=url)
