"""The servers of one app: which of them is on the screen, what each is called, and what those out of sight want."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Kind, RequestId
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.badges import LATE
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.server import GLYPHS, Around, Link, title
from mcp_tui.tui.view.text import SafeText, brief, clean, safe, words

NAME: Final = 32
"""Characters of what a server is called among others."""


class Server:
    """One session, which goes on whether it is seen or not.

    ``mode`` names the stack of screens that it has for itself in the app. ``shown`` says that it is the one on the screen;
    ``late`` counts what was answered too late since it was seen, and ``lost`` says that its connection ended since then.
    """

    def __init__(self, session: Session, mode: str) -> None:
        self.session = session
        self.mode = mode
        self.shown = self.lost = False
        self.late = 0
        self._overdue: dict[RequestId, bool] = {}
        self._ignore = session.client.listen(self._take)

    def _take(self, event: ev.Event) -> None:
        if self.shown:
            return
        match event:
            case ev.Late(kind=Kind.RESULT | Kind.ERROR | Kind.OVERSIZE):
                self.late += 1
            case ev.Overdue():
                self._overdue[event.id] = False
            case _:
                pass

    @property
    def running(self) -> list[Request]:
        """What a person asked of it and what is in flight."""
        return [row for row in self.session.running if not row.internal]

    @property
    def overdue(self) -> list[Request]:
        """Requests whose limit passed out of sight, and whose countdown goes on."""
        rows = [self.session.client.book.get(id_) for id_ in self._overdue]
        return [row for row in rows if row is not None and row.overdue_until is not None]

    def seen(self) -> None:
        """It is on the screen from here on."""
        self.shown, self.lost, self.late = True, False, 0
        self._overdue.clear()

    def close(self) -> None:
        """Hear no more of it."""
        self._ignore()

    def news(self) -> Iterator[SafeText]:
        """What happened out of sight that a person should be told, once."""
        for question in self.session.questions.waiting:
            if not question.shown:
                question.shown = True
                yield safe(
                    "{}: {}", question.wants, hint("{server.list} opens it, {question.answer} answers")
                )
        for row in self.overdue:
            if not self._overdue[row.id]:
                self._overdue[row.id] = True
                yield safe(
                    "{} {} is overdue and will be cancelled automatically: v goes there", row.id, request(row)
                )
        if self.session.broke and not self.lost:
            self.lost = True
            yield safe("lost: {}", self.session.fault)
        elif not self.session.broke:
            self.lost = False


class Servers:
    """All of them, in the order in which they were opened. ``current`` is the one on the screen."""

    def __init__(self) -> None:
        self.all: list[Server] = []
        self.current: Server | None = None
        self._opened = 0

    def add(self, session: Session) -> Server:
        """Another one."""
        self._opened += 1
        server = Server(session, f"server-{self._opened}")
        self.all.append(server)
        return server

    def remove(self, server: Server) -> Server | None:
        """Forget one; the server to be shown in its place, if there is any."""
        at = self.all.index(server)
        self.all.remove(server)
        server.close()
        if self.current is server:
            self.current = None
        return self.all[min(at, len(self.all) - 1)] if self.all else None

    def show(self, server: Server) -> None:
        """Have one on the screen in place of the other."""
        if self.current is not None:
            self.current.shown = False
        self.current = server
        server.seen()

    def next(self, step: int) -> Server | None:
        """The server so many places on in the list, which is a ring; ``None`` where there is no other."""
        if self.current is None or len(self.all) < 2:
            return None
        return self.all[(self.all.index(self.current) + step) % len(self.all)]

    def name(self, server: Server) -> SafeText:
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
            server.session.place(Around(at, count, whose, wants))

    def _wants(self) -> Iterator[tuple[SafeText, str]]:
        """What servers out of sight want, the most urgent first."""
        others = [each for each in self.all if not each.shown]
        for each in others:
            if each.session.questions.waiting:
                yield safe("? {} asks", self.name(each)), "warning"
        for each in others:
            if each.session.sign_in is not None and each.session.sign_in.waits:
                yield safe("! sign-in: {}", self.name(each)), "warning"
        for each in others:
            if each.overdue:
                yield safe("! {} overdue", self.name(each)), "warning"
        for each in others:
            if each.session.broke and each.session.link is Link.LOST:
                yield safe("{} {} lost", GLYPHS[Link.LOST][0], self.name(each)), "error"
        for each in others:
            if each.late:
                yield safe("{} {} {:,} late", LATE.glyph, self.name(each), each.late), LATE.style


def _called(server: Server) -> SafeText:
    target, info = server.session.client.target, server.session.client.info
    if target.name:
        return brief(target.name, NAME)
    return (brief(info.name, NAME) if info is not None else words("")) or brief(clean(title(target)), NAME)
