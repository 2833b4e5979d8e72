"""What the panes show: a session that goes on, or a recording at one of its moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mcp_tui.client.settings import Target
from mcp_tui.journal.frames import FrameHead
from mcp_tui.journal.redaction import Redactor
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.catalogue import Catalogue
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.index import Rows
from mcp_tui.tui.view.lines import ItemSource
from mcp_tui.tui.view.server import Link, ServerFacts
from mcp_tui.tui.view.text import SafeText
from mcp_tui.tui.view.timeline import Spans


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

    def redactor(self) -> Redactor:
        """What takes out of a text what the journal would."""
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
