"""One observed connection of a foreign client: its messages and the server's, reported to a ledger as by a tap."""

from __future__ import annotations

from time import monotonic

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import LineFramer, Oversized
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.observing import Observer, Onlooker
from mcp_tui.protocol.requests import Request

CLIENT_LINE_BYTES = 8_000_000
"""The maximum size of a line from the client, in bytes."""


class ObservedConnection(Onlooker):
    """The events of one connection, in order. ``number`` tells it from the others of a run."""

    def __init__(self, transport: str = "stdio", number: int = 0) -> None:
        self.number = number
        self.events: list[ev.Event] = []
        self.ledger = Ledger(self, transport=transport, observes=True)
        self.observer = Observer(self.ledger)
        self._lines = LineFramer(CLIENT_LINE_BYTES)

    def client_wrote(self, data: bytes, at: float | None = None) -> None:
        """Takes bytes of the client."""
        at = monotonic() if at is None else at
        for line in self._lines.feed(data):
            if isinstance(line, Oversized):
                self.event(ev.Oversize(at=at, bytes=line.size))
                continue
            self.observer.sent(messages.parse(line), at=at)
            self.ledger.perform()

    def client_left(self, id_: RequestId) -> None:
        """Takes the end of a request's own stream, over HTTP."""
        self.observer.left(self._named(id_), at=monotonic())
        self.ledger.perform()

    def stream_ended(self, id_: RequestId) -> None:
        """Takes the end of a request's own stream, over HTTP, that the server brought about."""
        self.ledger.stream_ended(self._named(id_), "the server ended the stream", at=monotonic())
        self.ledger.perform()

    def _named(self, id_: RequestId) -> RequestId:
        """Returns the name of the last request with an id, which a client may have used before."""
        row = self.ledger.named(id_)
        return id_ if row is None else row.wire_id

    def server_wrote(self, line: bytes, at: float | None = None) -> None:
        """Takes a message of the server."""
        self.observer.received(messages.parse(line), at=monotonic() if at is None else at)
        self.ledger.perform()

    def row(self, id_: RequestId) -> Request | None:
        """Returns the request with an id."""
        return self.ledger.named(id_)

    @property
    def revision(self) -> str:
        """The protocol version of the connection; empty if it is not known yet."""
        revision = self.ledger.negotiated.revision
        return "" if revision is None else revision.name

    # -- the ledger's port -------------------------------------------------------------------------------------

    def event(self, event: ev.Event) -> None:
        """Stores an event."""
        self.events.append(event)
