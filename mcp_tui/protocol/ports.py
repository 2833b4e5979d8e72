"""The two interfaces of a ledger: to its client, and to its own parts."""

from __future__ import annotations

from typing import Protocol

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.messages import Batch, Frame, Json, ResponseFrame
from mcp_tui.protocol.requests import Request


class LedgerPort(Protocol):
    """The actions of a ledger, called in the order of its decisions.

    :class:`~mcp_tui.client.client.Client` implements them, with :class:`~mcp_tui.client.interactions.Interactions`
    for the questions. For a ledger that observes another client they do nothing
    (:class:`~mcp_tui.protocol.observing.Onlooker`), except where a tap acts
    (:class:`~mcp_tui.tap.observed_session.ObservedSession`).
    """

    def event(self, event: ev.Event) -> None:
        """Stores an event and passes it to listeners."""

    def send(self, id: RequestId, method: str, message: dict[str, Json]) -> None:
        """Writes a request of ours."""

    def signal(self, id: RequestId, signal: Signal, message: dict[str, Json] | None) -> None:
        """Sends a cancel ahead of everything queued. ``message`` is set if the signal is a notification."""

    def unqueue(self, id: RequestId) -> None:
        """Takes back a request of which no byte was written (C-06: then the server never receives it)."""

    def recall(self, id: RequestId) -> None:
        """Takes back a signal that has not begun to leave."""

    def release(self, id: RequestId) -> None:
        """Closes the stream that a finished request still keeps open.

        C-37: a server of the handshake era may leave the stream of a cancelled request open for ever.
        """

    def reply(self, message: dict[str, Json]) -> None:
        """Answers a request of the server."""

    def prompt(
        self, request_id: RequestId, method: str, params: dict[str, Json], parent: RequestId | None
    ) -> None:
        """Asks a person or a rule to answer a server request. ``parent`` is the request of ours that it belongs to."""

    def prompt_over(self, request_id: RequestId, why: str) -> None:
        """Closes a prompt that no longer needs an answer; ``why`` is shown."""

    def gather(
        self, id: RequestId, requests: dict[str, dict[str, Json]], *, wait: float = 0.0, task: bool = False
    ) -> None:
        """Gathers the input that the server needs before a request can continue.

        ``requests`` maps the server's keys to its questions, each with ``method`` and ``params``. It is empty if the
        server only wants a retry after ``wait`` seconds. ``task``: each answer is sent by ``tasks/update``.
        """

    def gather_over(self, id: RequestId, why: str, keys: frozenset[str] | None = None) -> None:
        """Stops gathering input: for the withdrawn ``keys``, or for all if ``None``."""

    def relist(self, id: RequestId) -> None:
        """Lists the tools again and then sends the deferred round of ``id``: the server requires other headers."""

    def resolve(self, id: RequestId, frame: ResponseFrame | None) -> None:
        """Resolves the callers that wait for ``id``; ``frame`` is the response, if it counts.

        A cancelled request is resolved when its signal begins to leave, and once more when it settles.
        """


class Decisions(Protocol):
    """The decisions that the parts of a ledger leave to it.

    :class:`~mcp_tui.protocol.ledger.Ledger` alone implements them, and documents each. Ledger and parts are one
    component; this class only allows one file to be read at a time.
    """

    # A request is sent.
    def errand(self, row: Request, method: str, params: Json, limits: ev.Limits, at: float) -> RequestId: ...
    def send_round(
        self, row: Request, params: Json, why: str, at: float, *, deferred: bool = False
    ) -> None: ...
    def dispatch(self, row: Request, params: Json) -> None: ...
    def reached(self, row: Request, at: float) -> bool: ...
    def being_written(self, row: Request) -> bool: ...

    # The request ends.
    def over(self, row: Request, event: ev.RequestEvent, frame: ResponseFrame | None = None) -> None: ...
    def complete(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> None: ...
    def fail(self, row: Request, text: str, rule: str, at: float, *, size: int = 0, seq: int = 0) -> None: ...
    def settle(self, row: Request, detail: str, at: float) -> None: ...
    def settle_unsignalled(self, row: Request, detail: str, at: float) -> None: ...

    # Its cancel is sent.
    def recall(self, row: Request, at: float, *, for_good: bool = False) -> bool: ...
    def signal_written(
        self, row: Request, signal: Signal, at: float, seq: int, *, answered: bool
    ) -> None: ...
    def signal_failed(self, id: RequestId, detail: str, *, at: float, refused: bool = False) -> None: ...
    def watched(self) -> list[Request]: ...
    def last_signal(self) -> Request | None: ...

    # One part calls another.
    def send_owed(self, id: RequestId, at: float) -> None: ...
    def receive(
        self, frame: Frame | Batch, *, at: float, seq: int = 0, stream: RequestId | None = None
    ) -> None: ...
