"""Makes URLs in shown text links of the terminal (OSC 8), which opens them if a person asks.

The target of a link is its visible text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from mcp_tui.protocol.patterns import late
from mcp_tui.view.lines import Segments
from mcp_tui.view.text import is_broken

_LINKED_URL: Final = late(
    r"(?<![^\s\"'(<\[{|])https?://(?![a-z0-9.-]*xn--)[a-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][a-z0-9._~:/?#@!$&*+,;=%-]*)?",
    re.IGNORECASE | re.ASCII,
)
"""The pattern of a URL without a user name, without look-alike letters, and without control characters."""

_AFTER_LINK: Final = frozenset(" \"')>]}|│<`")
"""The characters that may follow a URL. With any other one, the text is not a complete URL, and no link."""

BROKEN_LINES: Final = 40
"""The number of lines before and after a line in which its first and its last word may continue."""


def linked(strip: Strip, number: int, line: Callable[[int], Segments]) -> Strip:
    """Returns the line with a number, with its URLs as links, also parts of a URL that is broken over lines.

    ``line`` returns the pieces of a line by its number.
    """
    text = strip.text.rstrip(" ")
    first = last = number
    while first and number - first < BROKEN_LINES and _continues(line(first - 1)):
        first -= 1
    while last - number < BROKEN_LINES and _continues(line(last)):
        last += 1
    around = ["".join(piece for piece, _ in line(at)) for at in range(first, last + 1) if at != number]
    if "://" not in text and not any("://" in each for each in around):
        return strip
    indent = len(text) - len(text.lstrip(" ")) if first < number else 0
    before = "".join(each.lstrip(" ") for each in around[: number - first])
    after = "".join(each.lstrip(" ") for each in around[number - first :])
    whole, own = before + text[indent:] + after, indent - len(before)
    pieces: list[Strip] = []
    done = 0
    for found in _LINKED_URL.finditer(whole):
        if found.end() < len(whole) and whole[found.end()] not in _AFTER_LINK:
            continue
        url = found[0].rstrip(".,;:!?")
        ends = (found.start() + own, found.start() + len(url) + own)
        start, end = (cell_len(text[: min(max(at, indent), len(text))]) for at in ends)
        if start < end:
            link = Segment.apply_style(strip.crop(start, end), post_style=_link(url))
            pieces += [strip.crop(done, start), Strip(link)]
            done = end
    return Strip.join([*pieces, strip.crop(done, strip.cell_length)]) if pieces else strip


def _continues(pieces: Segments) -> bool:
    return bool(pieces) and is_broken(pieces[-1][0])


@lru_cache(256)
def _link(url: str) -> Style:
    """Returns the style of a link. Its id depends only on the URL, so the parts of a broken URL are one link."""
    return Style(link=url)
