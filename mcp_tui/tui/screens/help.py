"""The help: every key, those of the focused pane or dialog first, and a legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mcp_tui.tui.screens.reading import ReadingScreen
from mcp_tui.view import badges
from mcp_tui.view.badges import FROM_SERVER, Badge
from mcp_tui.view.detail import Section
from mcp_tui.view.keys import Scope, help_texts
from mcp_tui.view.lines import Line, line
from mcp_tui.view.server_bar import COUNTERS, LINK_GLYPHS
from mcp_tui.view.text import SafeText, clean, fit, safe, width, words

WITH_REQUESTS: Final = frozenset({"workbench", "recording"})
"""The scopes, by name, whose screens have a table of requests."""


_STATE_MEANINGS: Final = {
    badges.QUEUED: words("not sent yet"),
    badges.IN_FLIGHT: words("sent, no answer yet"),
    badges.OVERDUE: words("past its timeout; you are asked what to do"),
    badges.AWAITING_INPUT: words("the server asks something"),
    badges.TASK: words("runs as a task, no answer yet"),
    badges.CANCEL_REQUESTED: words("cancel sent, no reply yet"),
    badges.CANCELLED: words("cancelled, no answer received"),
    badges.LATE: words("answered after the cancel; the answer was ignored"),
    badges.GOING_ON: words("cancelled, and the server still reports progress"),
    badges.QUIET: words("cancelled; progress went on for a while and then ended"),
    badges.GOING_ON_LOST: words("cancelled, progressing until the connection ended"),
    badges.CUT_OFF: words("cancelled, and then the connection ended"),
    badges.TIMED_OUT: words("cancelled because its timeout ran out"),
    badges.COMPLETED: words("answered"),
    badges.TOOL_ERROR: words("answered; the tool says that it failed"),
    badges.FAILED: words("answered with an error"),
    badges.LOST: words("the connection ended before an answer"),
}
"""The meanings of the badges of the table."""


def legend() -> tuple[Section, Section]:
    """Returns a legend of the table, and one of the bar at the top."""

    def badged(badge: Badge, name: SafeText, meaning: SafeText) -> Line:
        return line((safe(" {} {}", badge.glyph, fit(name, 17)), badge.style), meaning)

    lines = [badged(each, each.word, meaning) for each, meaning in _STATE_MEANINGS.items()]
    for name, text in (
        (safe(" {} asks", FROM_SERVER), words("the server asked something, below its request")),
        (words(" ▪ marked"), words("cancel, repeat, and export apply to it")),
        (words("   12.4s!"), words("elapsed time, near or past its limit")),
        (words("   60s"), words("timeout: progress starts it again")),
        (words("   max 10m"), words("max timeout: nothing extends it")),
        (words("   [+3]"), words("3 related messages are folded")),
    ):
        lines.append(line((fit(name, 20), "accent"), text))
    counters = [badged(each.badge, safe("3 {}", each.word), words(each.meaning)) for each in COUNTERS]
    for link, (glyph, tone) in LINK_GLYPHS.items():
        name = safe(" {} {}", glyph, clean(link.value))
        counters.append(line((fit(name, 20), tone), words("before the server's name")))
    return (
        Section(words("What the table shows"), lines),
        Section(words("What the bar at the top shows"), counters),
    )


def key_sections(scopes: Sequence[Scope]) -> Iterator[Section]:
    """Yields the keys of scopes, after a legend if there is a table of requests."""
    texts = help_texts(scopes)
    cells = min(14, max((width(key) for _, keys in texts for key, _ in keys), default=0))
    if any(each.name in WITH_REQUESTS for each in scopes):
        yield from legend()
    for title, keys in texts:
        lines = (line((safe("{}  ", fit(key, cells, right=True)), "accent"), text) for key, text in keys)
        yield Section(title, tuple(lines))


class HelpScreen(ReadingScreen):
    """Shows the keys of scopes, the nearest first."""

    def __init__(self, scopes: Sequence[Scope] = ()) -> None:
        super().__init__(words("Keys"), [*key_sections(scopes)])
