"""What the panes show: a session that goes on, or a recording at one of its moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mcp_tui.client.settings import StdioTarget, Target
from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.keys.now import hint, key_of
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.catalogue import Catalogue
from mcp_tui.tui.view.connection import about, failure, progress
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.index import Rows
from mcp_tui.tui.view.lines import ItemSource
from mcp_tui.tui.view.server import Link, ServerFacts
from mcp_tui.tui.view.spans import BookSpans, Spans
from mcp_tui.tui.view.text import SafeText, safe, words


class Scene(Protocol):
    """Everything that is looked at, and nothing that acts. Times are monotonic seconds, a recording's or our own."""

    @property
    def book(self) -> Rows:
        """The requests."""
        ...

    @property
    def catalogue(self) -> Catalogue: ...
    @property
    def cancellations(self) -> ItemSource[Request]: ...
    @property
    def log(self) -> ItemSource[ev.Event]: ...
    @property
    def wire(self) -> ItemSource[FrameHead | None]: ...

    @property
    def spans(self) -> Spans:
        """The requests and messages by their time."""
        ...

    @property
    def link(self) -> Link:
        """How the connection stands."""
        ...

    @property
    def ticking(self) -> bool:
        """Whether what the server bar says changes with the time alone."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """What a person should be told once, in sentences; only ever added to."""
        ...

    @property
    def target(self) -> Target | None:
        """Where the server is, as far as that is known."""
        ...

    def now(self) -> float:
        """The moment that is shown."""
        ...

    def stamp(self) -> object:
        """Something that is equal to what it was as long as no pane has to be drawn anew."""
        ...

    def facts(self, now: float) -> ServerFacts:
        """What the server bar says."""
        ...

    def none(self) -> SafeText:
        """What stands in place of requests where there are none."""
        ...

    def about(self) -> list[Section]:
        """What the detail says while no request is selected."""
        ...

    def called(self) -> bool:
        """Whether a person has called anything."""
        ...

    def payload(self, seq: int) -> bytes | None:
        """The bytes of a frame, as far as they are kept."""
        ...

    def frame(self, seq: int) -> FrameHead | None:
        """What is known of a frame."""
        ...


class Live:
    """A session as a :class:`Scene`."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.catalogue = session.catalogue
        self.cancellations: ItemSource[Request] = session.cancellations
        self.log: ItemSource[ev.Event] = session.log
        self.wire: ItemSource[FrameHead | None] = session.wire
        store = session.client.store
        self.spans: Spans = BookSpans(session.client.book, store.frames, origin=session.wire.origin)
        self.now = session.client.now
        self.facts = session.facts
        self.payload = session.client.store.payload

    @property
    def book(self) -> Rows:
        return self.session.client.book

    @property
    def link(self) -> Link:
        return self.session.link

    @property
    def ticking(self) -> bool:
        return self.session.since is not None or self.session.link is Link.CONNECTING

    @property
    def problems(self) -> Sequence[str]:
        return self.session.client.store.problems

    @property
    def target(self) -> Target | None:
        return self.session.client.target

    def stamp(self) -> object:
        session, client = self.session, self.session.client
        versions = (session.version, session.catalogue.version, session.questions.version)
        return client.book.version, client.store.version, len(client.steps), session.slow, *versions

    def none(self) -> SafeText:
        match self.session.link:
            case Link.CONNECTING:
                doing = self.session.doing or words("…")
                return safe(
                    "Connecting to {}: {}. Press {} to stop.",
                    self.session.name,
                    doing,
                    key_of("request.cancel"),
                )
            case Link.CONNECTED:
                return hint("No requests yet. Press {request.new} to call a tool.")
            case Link.LOST:
                why = self.session.trouble
                end = "" if why.endswith((".", "?", "!", "…")) else "."
                return safe("Not connected: {}{} Press {} to connect again.", why, end, key_of("server.menu"))

    def about(self) -> list[Section]:
        session, client = self.session, self.session.client
        if client.info is not None:
            return about(client.info)
        if session.link is Link.CONNECTING:
            return progress(client.steps, client.stderr_tail, now=self.now())
        process = isinstance(client.target, StdioTarget)
        return failure(session.trouble, client.steps, client.stderr_tail, process=process)

    def called(self) -> bool:
        return any(not row.internal for row in self.session.client.book.order)

    def frame(self, seq: int) -> FrameHead | None:
        frames = self.session.client.store.frames
        index = frames.find(seq)
        return None if index is None else frames[index]
