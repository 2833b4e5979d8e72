"""The list of open servers with the state of each."""

from __future__ import annotations

from typing import Final

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.dialog import Dialog, Piece
from mcp_tui.tui.sources.live_session import Servers, Session
from mcp_tui.view import durations
from mcp_tui.view.badges import GOING_ON, LOST
from mcp_tui.view.keys import SERVERS
from mcp_tui.view.server_bar import COUNTERS, LINK_GLYPHS, Link, ServerFacts
from mcp_tui.view.text import SafeText, clean, clip, join, safe, words

KEYED_SERVERS: Final = 9
"""The number of servers that have their own key."""

_TONES: Final = {"success": "$success", "muted": "$text-muted", "error": "$error"}


_SHOWN_COUNTERS: Final = tuple(each for each in COUNTERS if each.badge not in {GOING_ON, LOST})
"""The counters in a server's third line."""

ServerPick = tuple[str, Session | None]
"""An action (``show``, ``add``, ``close``, or ``menu``) and its server, which is ``None`` for ``add``."""


class ServersScreen(Dialog[ServerPick | None]):
    """Dismisses with a :data:`ServerPick`, or ``None`` on esc. It updates while it is open."""

    BINDINGS = bindings(SERVERS)
    HINTS = [
        ("enter servers.1…servers.9", "Show"),
        ("servers.add", "Add"),
        ("servers.close", "Close"),
        ("servers.menu", "Connect or stop"),
        ("app.back", "Back"),
    ]
    OF_SERVER = False
    TICK = 0.5

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._list = OptionList(markup=False, compact=True)
        super().__init__(self._list)

    def heading(self) -> SafeText:
        count = len(self._servers.all)
        return words("1 server") if count == 1 else safe("{:,} servers", count)

    def on_mount(self) -> None:
        self._list.add_options(map(Option, self._lines()))
        current = self._servers.current
        self._list.highlighted = 0 if current is None else self._servers.all.index(current)

    def tick(self) -> None:
        """Updates the lines that changed; closes if a server was closed elsewhere."""
        lines = self._lines()
        if len(lines) != self._list.option_count:
            self.close_by_itself()
            return
        for at, (shown, now) in enumerate(zip(self._list.options, lines, strict=True)):
            if shown.prompt != now:
                self._list.replace_option_prompt_at_index(at, now)
        super().tick()

    def _lines(self) -> list[Content]:
        now = self.read_at(self._servers.all[0].now())
        cells = max(20, min(100, self.size.width) - 8)
        return [
            Content.assemble(*self._described(at, each, each.facts(now), cells))
            for at, each in enumerate(self._servers.all, 1)
        ]

    def _described(self, at: int, server: Session, facts: ServerFacts, cells: int) -> list[Piece]:
        """Returns the lines of one server."""
        (glyph, tone), counts = LINK_GLYPHS[facts.link], facts.counts
        counted = [safe("{:,} {}", each.of(counts), each.word) for each in _SHOWN_COUNTERS if each.of(counts)]
        third = clip(join(counted, "   ") or words("0 in flight"), cells - 4)
        name = self._servers.name(server)
        sentence = words("") if facts.name == name else clean(facts.name.removeprefix(f"{name} "))
        sentence = join((sentence, words("on the screen") if server.shown else words("")), "  ")
        second = clip(_connection_words(facts), cells - 4)
        return [
            (safe("{} ", at if at <= KEYED_SERVERS else " "), "$accent"),
            (safe("{} ", glyph), _TONES[tone]),
            (clip(name, cells - 4), "bold"),
            (clip(safe("  {}", sentence), max(4, cells - 4 - len(name))), "$text-muted"),
            words("\n    "),
            (second, "$error" if facts.link is Link.LOST else "$text-muted"),
            words("\n    "),
            (third, "$warning" if counts.asks or counts.late else "$text-muted"),
        ]

    # -- keys ------------------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.action_number(event.option_index + 1)

    def action_number(self, number: int) -> None:
        if number <= len(self._servers.all):
            self.dismiss(("show", self._servers.all[number - 1]))

    def action_choose(self, do: str) -> None:
        at = self._list.highlighted
        if do == "add":
            self.dismiss((do, None))
        elif at is not None and (do != "close" or self.meant()):
            self.dismiss((do, self._servers.all[at]))


def _connection_words(facts: ServerFacts) -> SafeText:
    """Returns the state of the connection: transport and uptime, progress, or why it is lost."""
    if facts.link is not Link.CONNECTED:
        return facts.detail or clean(facts.link.value)
    pid = words("") if facts.pid is None else safe("pid {}", facts.pid)
    up = words("") if facts.up is None else safe("up {}", durations.up(facts.up))
    return join((facts.transport, pid, facts.revision, up), "  ")
