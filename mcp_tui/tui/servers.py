"""The servers of one app: which of them is on the screen, what each is called, and what those out of sight want."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_tui.tui.session import Session
from mcp_tui.tui.view.badges import LATE
from mcp_tui.tui.view.server import GLYPHS, Around, Link, title
from mcp_tui.tui.view.text import SafeText, brief, clean, safe, words

NAME: Final = 32
"""Characters of what a server is called among others."""


class Servers:
    """All of them, in the order in which they were opened. ``current`` is the one on the screen."""

    def __init__(self) -> None:
        self.all: list[Session] = []
        self.current: Session | None = None
        self._opened = 0

    def add(self, session: Session) -> None:
        """Another one."""
        self._opened += 1
        session.mode = f"server-{self._opened}"
        self.all.append(session)

    def remove(self, server: Session) -> Session | None:
        """Forget one; the server to be shown in its place, if there is any."""
        at = self.all.index(server)
        self.all.remove(server)
        if self.current is server:
            self.current = None
        return self.all[min(at, len(self.all) - 1)] if self.all else None

    def show(self, server: Session) -> None:
        """Have one on the screen in place of the other."""
        if self.current is not None:
            self.current.shown = False
        self.current = server
        server.seen()

    def next(self, step: int) -> Session | None:
        """The server so many places on in the list, which is a ring; ``None`` where there is no other."""
        if self.current is None or len(self.all) < 2:
            return None
        return self.all[(self.all.index(self.current) + step) % len(self.all)]

    def name(self, server: Session) -> SafeText:
        """What a server is called here: by its configuration, else by itself; numbered where two are alike."""
        called = _called(server)
        alike = [each for each in self.all if _called(each) == called]
        at = alike.index(server) if server in alike else 0
        return safe("{} {}", called, at + 1) if at else called

    def news(self) -> list[SafeText]:
        """What is to be told of servers out of sight, with their names."""
        return [
            safe("{} {}", self.name(each), said)
            for each in self.all
            if not each.shown
            for said in each.news()
        ]

    def refresh(self) -> None:
        """Tell every session its place among the others, and the one on the screen what the others want."""
        count = len(self.all)
        for at, server in enumerate(self.all, 1):
            whose = self.name(server) if count > 1 else words("")
            wants = tuple(self._wants()) if server.shown else ()
            server.place(Around(at, count, whose, wants))

    def _wants(self) -> Iterator[tuple[SafeText, str]]:
        """What servers out of sight want, the most urgent first."""
        others = [each for each in self.all if not each.shown]
        for each in others:
            if each.questions.waiting:
                yield safe("? {} asks", self.name(each)), "warning"
        for each in others:
            if each.sign_in is not None and each.sign_in.waits:
                yield safe("! sign-in: {}", self.name(each)), "warning"
        for each in others:
            if each.overdue:
                yield safe("! {} overdue", self.name(each)), "warning"
        for each in others:
            if each.broke and each.link is Link.LOST:
                yield safe("{} {} lost", GLYPHS[Link.LOST][0], self.name(each)), "error"
        for each in others:
            if each.late:
                yield safe("{} {} {:,} late", LATE.glyph, self.name(each), each.late), LATE.style


def _called(server: Session) -> SafeText:
    target, info = server.client.target, server.client.info
    if target.name:
        return brief(target.name, NAME)
    return (brief(info.name, NAME) if info is not None else words("")) or brief(clean(title(target)), NAME)
