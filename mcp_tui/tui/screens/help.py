"""What every key does, of the pane or dialog that a person is in first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual.app import ComposeResult

from mcp_tui.tui.bindings import bindings, helped
from mcp_tui.tui.keys.dialogs import HELP
from mcp_tui.tui.keys.key import Scope
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.screens.dialog import Dialog
from mcp_tui.tui.view.badges import BADGES, GOING_ON, Badge
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.server import COUNTERS
from mcp_tui.tui.view.text import SafeText, fit, safe, width, words
from mcp_tui.tui.widgets.canvas import in_ascii
from mcp_tui.tui.widgets.detail import Detail

SESSION: Final = frozenset({"workbench", "recording"})
"""Scopes whose screens have a table of requests, by their names."""

KEYS = 14
"""Cells for keys, at most."""


_MEANINGS: Final = {
    "queued": words("waits to be written"),
    "in-flight": words("sent, no answer yet"),
    "overdue": words("past its timeout; you are asked what to do"),
    "awaiting-input": words("the server asks something"),
    "cancel-requested": words("a cancel was sent, nothing came of it yet"),
    "cancelled": words("cancelled, no answer came"),
    "late": words("an answer came after the cancel; it was not used"),
    "timed-out": words("cancelled because its timeout ran out"),
    "completed": words("answered"),
    "failed": words("answered with an error"),
    "lost": words("the connection ended before an answer"),
}
"""What states mean, by the styles of their badges."""

_GOING_ON: Final = words("cancelled, and the server still reports progress")


def legend(*, ascii_only: bool = False) -> tuple[Section, Section]:
    """Every glyph and word of a state and the clocks of the table, and the counts of the bar."""

    def badged(badge: Badge, name: SafeText, meaning: SafeText) -> Line:
        glyph = badge.ascii if ascii_only else badge.glyph
        return line((safe(" {} {}", glyph, fit(name, 17)), badge.style), meaning)

    lines = [
        badged(each, each.word, _GOING_ON if each is GOING_ON else _MEANINGS.get(each.style, words("")))
        for each in dict.fromkeys(BADGES)
    ]
    for name, said in (
        (words("12.4s!"), words("elapsed time, near or past its limit")),
        (words("60s"), words("timeout: progress starts it again")),
        (words("max 10m"), words("max timeout: nothing extends it")),
        (words("[+3]"), words("3 related messages are folded")),
    ):
        lines.append(line((safe("   {}", fit(name, 17)), "accent"), said))
    counters = (badged(each.badge, safe("3 {}", each.word), each.meaning) for each in COUNTERS)
    return (
        Section(words("What the table shows"), tuple(lines)),
        Section(words("What the bar at the top counts"), tuple(counters)),
    )


class HelpScreen(Dialog[None]):
    """The keys of scopes, the nearest first, in a frame of their own."""

    DEFAULT_CSS = """
    HelpScreen {
        background: $background 60%;
        &.-ascii > Detail { border: ascii $primary; }
        & > Detail { width: 80; max-width: 96%; height: 92%; background: $surface; }
    }
    """

    SCOPES = (HELP,)
    BINDINGS = bindings(*SCOPES)

    def __init__(self, scopes: Sequence[Scope] = ()) -> None:
        super().__init__()
        self._scopes = scopes

    def compose(self) -> ComposeResult:
        yield Detail()

    def on_mount(self) -> None:
        told = helped(self._scopes)
        cells = min(KEYS, max((width(key) for each in told for key, _ in each.lines), default=0))
        of_session = any(each.name in SESSION for each in self._scopes)
        shown = [*legend(ascii_only=in_ascii(self))] if of_session else []
        for each in told:
            lines = (
                line((safe("{}  ", fit(key, cells, right=True)), "accent"), said) for key, said in each.lines
            )
            shown.append(Section(each.title, tuple(lines)))
        pane = self.query_one(Detail)
        pane.hint = hint("{app.back} closes · {detail.find} finds")
        pane.show(words("Keys"), shown)
        pane.focus()

    def on_resize(self) -> None:
        self.query_one(Detail).refresh()

    def on_detail_opened(self) -> None:
        self.dismiss(None)
