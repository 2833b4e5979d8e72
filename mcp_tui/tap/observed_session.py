"""One session of a foreign client, as the recorder observes it: a ledger, a store, and a control socket."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from mcp_tui.config.settings import TapSettings
from mcp_tui.journal.records import Direction
from mcp_tui.journal.store import Store
from mcp_tui.live.control import CancelAnswer, Summary
from mcp_tui.live.serving import ControlSocket, summary
from mcp_tui.live.sockets import ListeningSocket
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence, messages
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.framing import Oversized
from mcp_tui.protocol.ledger import OWN_ID, OWN_PREFIX, CancelOutcome, Ledger
from mcp_tui.protocol.messages import Batch, Frame, Json, MalformedFrame, RequestFrame, as_object
from mcp_tui.protocol.observing import Observer, Onlooker
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import Limits
from mcp_tui.tap import recorder_records
from mcp_tui.tap.checkpoint import Checkpoint
from mcp_tui.tap.recorder_loop import RecorderLoop

UNSEEN: Final = "the tap did not see whether it was answered"


def salvaged(message: Oversized) -> Frame:
    """Returns what can be read of a client's message that is too large to be recorded."""
    whole, text = bool(message.tail), f"{message.size:,} bytes, too large"
    frame = messages.salvage(message.head + message.tail, text, whole=whole)
    if isinstance(frame, MalformedFrame) and frame.method and messages.is_request_id(frame.id):
        return RequestFrame(id=frame.id, method=frame.method, params=None, size=message.size)
    return frame


class ObservedSession(Onlooker, ABC):
    """The ledger's port, and the answers of the control socket. The kind of tap decides how messages reach both sides."""

    number = 0
    """The number of the session among those of the tap."""

    def __init__(
        self,
        loop: RecorderLoop,
        transport: str,
        store: Store,
        name: str,
        begin: recorder_records.Begin,
        policy: TapSettings,
    ) -> None:
        self.loop = loop
        # An own request of the last recorder may still be answered.
        own_id = f"{OWN_PREFIX}again-{{}}" if "again" in begin else OWN_ID
        self.ledger = Ledger(self, transport=transport, observes=True, own_id=own_id)
        self.checkpoint = Checkpoint(self.ledger)
        self.observer = Observer(self.ledger)
        self.observer.limits_of = self._limits_of
        self._limits = (begin.get("timeout"), begin.get("max_timeout"))
        """The limits of the command line, in seconds; 0 is no limit."""
        self._policy = policy
        self.store = store
        self._name_session()
        self._given = begin.get("name", "")
        self._otherwise = name
        self._problems = 0
        self._continued: list[str] = []
        """The recordings of the last recorder."""
        self._socket: ControlSocket | None = None

    def _name_session(self) -> None:
        paths = [each.path for each in self.store.writers]
        self.ledger.session = paths[0].name.removesuffix(".jsonl") if paths else "another session"

    def report(self, then: str = " The traffic continues.") -> None:
        """Reports new problems of the journal on stderr."""
        for problem in self.store.problems[self._problems :]:
            self.loop.warn(f"{problem}.{then}")
        self._problems = len(self.store.problems)

    def end(self) -> None:
        """Closes the journal and the control socket."""
        self.store.close()
        self.report(then="")
        self.close_socket()

    def abandon(self) -> None:
        """Leaves everything to another process, which has it too."""
        self.store.abandon()
        if self._socket is not None:
            self._socket.abandon()

    def runs_out(self, read_until: float, now: float) -> bool:
        """Returns whether a limit of a request has expired: its timeout at ``read_until``, or its max timeout at ``now``."""
        clocks = [each.row.deadlines() for each in self.ledger.live.values()]
        return any((idle or now + 1) <= read_until or (most or now + 1) <= now for idle, most in clocks)

    def tick(self, now: float) -> None:
        """Handles the limits that have expired."""
        self.ledger.tick(now)
        self.ledger.perform()

    def frame(
        self,
        direction: Direction,
        raw: bytes,
        frame: Frame | Batch,
        *,
        at: float,
        stream: RequestId | None = None,
        own: bool = False,
    ) -> int:
        """Keeps a message; returns its number."""
        method, id_ = getattr(frame, "method", None) or "", messages.storable_id(getattr(frame, "id", None))
        return self.store.frame(direction, raw, at=at, stream=stream, method=method, id=id_, own=own)

    def unseen(self, at: float, wires: Collection[RequestId] | None = None) -> None:
        """Marks requests as lost whose answers may have been missed: all, or those with these ids."""
        for each in list(self.ledger.live.values()):
            if each.row.id in self.ledger.live and (wires is None or each.row.wire_id in wires):
                self.ledger.lose(each.row, UNSEEN, at)

    def line_ended(self, at: float) -> bytes:
        """Notes that the tap ends an incomplete line of the server for the client; returns the part that has passed."""
        del at
        return b""

    # -- the control socket ------------------------------------------------------------------------------------

    def open_socket(self, listening: ListeningSocket | None = None) -> None:
        """Opens the control socket, or uses one that is open. Does nothing if no socket can be opened."""
        with suppress(OSError):
            self._socket = ControlSocket(
                self.loop,
                self.ledger,
                summary=self._summary,
                cancel=self._cancel,
                certain=self.loop.certain,
                allow=self._allow,
                listening=listening,
            )

    def close_socket(self) -> None:
        """Closes the control socket permanently."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _summary(self) -> Summary:
        return summary(
            self.ledger,
            self.store,
            monotonic(),
            kind="tap",
            client=self.observer.client,
            server=self._given or self.observer.server or self._otherwise,
            process=self.loop.client,
        )

    def _limits_of(self, tool: str) -> Limits:
        name = self._given or self.observer.server.partition(" ")[0] or self._otherwise
        return self._policy.limits_of(name, tool, *self._limits)

    def _cancel(self, id: RequestId, reason: str) -> CancelOutcome:
        outcome = self.ledger.cancel(id, Cause.USER, reason, at=monotonic())
        self.ledger.perform()
        return outcome

    # -- the ledger's port -------------------------------------------------------------------------------------

    def event(self, event: ev.Event) -> None:
        """Stores an event. If the tap cancels a request, the client gets an answer."""
        self.store.event(event)
        self.checkpoint.event(event)
        self.loop.changed()
        match event:
            case ev.CancelRequested(id=id_, cause=cause, reason=reason) if cause is not Cause.CLIENT:
                row = self.ledger.row(id_)
                if not self.loop.restoring:
                    self._decide(row, event.at, cause, reason)
                continues, kept = self._continues(row, cause), self.store.is_written
                message = self.observer.answer_for(row, cause, reason, records=kept, continues=continues)
                if message is not None:
                    self.answer_client(row, message)
            case ev.Connected():
                if not self._given:
                    self.store.rename_for(self.observer.server)
                self._name_session()
            case _:
                pass
        if self._socket is not None:
            self._socket.event(event)

    def _allow(self, row: Request) -> CancelAnswer:
        """Has the guard let the next call through that is equal to a refused one."""
        if row.guard is None or row.guard.how != "refused":
            return CancelAnswer(refused="it was not refused by tap --once")
        # Without a pause, so that the relay has the order within a moment, usually before the next call.
        self.loop.order({"allow": self.observer.on_wire(row.wire_id), "named": self.guard_session})
        self.event(
            ev.Note(at=monotonic(), text=f"a person lets one call through that is equal to {row.id!r}")
        )
        return CancelAnswer(allowed=True)

    @property
    def guard_session(self) -> str:
        """The name of the session for the guard."""
        return ""

    # -- the guard of --once -----------------------------------------------------------------------------------

    @staticmethod
    def _continues(row: Request, cause: Cause | None) -> bool:
        """Whether a call is given up without a cancel: the server never had it, or a limit of the tap ends a guarded one."""
        return row.withheld_by_guard or (row.guard is not None and cause in evidence.TIMEOUTS)

    def by_guard(self, kind: bytes, at: float, data: bytes) -> None:
        """Notes what the guard decided about a call, or an answer that it gave."""
        if kind == recorder_records.GUARD:
            self._decided_by_guard(at, data)
        else:
            self._answered_by_guard(at, data)

    def _decided_by_guard(self, at: float, data: bytes) -> None:
        about: Any = messages.read_json(data)
        row = self.on_wire(about["id"], newest=True)
        if row is None:
            return
        here = about.get("here", True) and messages.is_request_id(about["of"])
        first = self.ledger.named(about["of"]) if here else None
        self.ledger.emit(ev.Guarded(at=at, id=row.id, how=about["how"], other=about["of"]))
        self.observer.guarded(row)
        if about["how"] == "given" and first is not None and first is not row:
            self.ledger.emit(ev.Guarded(at=at, id=first.id, how="passed_on", other=row.id))
        self.ledger.perform()
        self.checkpoint.add(row.id, recorder_records.GUARD, at, data)

    def _answered_by_guard(self, at: float, data: bytes) -> None:
        raw = data.rstrip(b"\n")
        frame = messages.parse(raw)
        seq = self.frame("in", raw, frame, at=at, own=True)
        self.checkpoint.begin()
        self.observer.received(frame, at=at, seq=seq, by_guard=True)
        self.ledger.perform()
        self.checkpoint.taken(recorder_records.GUARD_ANSWER, at, raw, frame)

    # -- a new recorder --------------------------------------------------------------------------------------

    def _decide(self, row: Request, at: float, cause: Cause, reason: str) -> None:
        """Has a decision recorded before anything of it is done: a new recorder has to know of it."""
        wire = self.observer.on_wire(row.wire_id)
        decision: list[Json] = [self.number, wire, at, cause.value, reason]
        self.loop.order({"decided": messages.encode(decision).decode()})

    def decided(self, at: float, data: bytes) -> None:
        """Notes a decision; what the last recorder decided is decided again."""
        decision: Any = messages.read_json(data)
        _, wire, cancelled_at, cause, reason = decision
        row = self.on_wire(wire, is_open=self.loop.restoring) or self.ledger.named(wire)
        if row is not None:
            if self.loop.restoring and row.open:
                self.ledger.cancel(row.id, Cause(cause), reason, at=cancelled_at)
                self.ledger.perform()
            self.checkpoint.add(row.id, recorder_records.DECISION, at, data)

    def on_wire(self, wire: object, *, is_open: bool = False, newest: bool = False) -> Request | None:
        """Returns the first, or newest, unfinished request with an id on the wire; not cancelled if ``is_open``."""
        rows = [live.row for live in self.ledger.live.values()]
        for row in reversed(rows) if newest else rows:
            id_ = self.observer.on_wire(row.wire_id)
            if (type(id_), id_) == (type(wire), wire) and (row.open or not is_open):
                return row
        return None

    def answered_by_tap(self, frame: Frame | Batch, at: float, data: bytes, number: int = 0) -> None:
        """Notes that the client got a message that the tap made."""
        if isinstance(frame, messages.ResponseFrame):
            if self.loop.restoring:
                self.loop.withdraw(self.number, frame.id)
            # A request whose cancel is not signalled is settled at once.
            row = self.on_wire(frame.id) or self.ledger.named(frame.id)
            if row is not None:
                self.checkpoint.add(row.id, recorder_records.OWN_TO_CLIENT, at, data, number)

    def has_said(self, mine: Frame | Batch, frame: Frame | Batch) -> None:
        """Notes that the last recorder has sent a message: a request of its own may be another one by its id."""
        if isinstance(mine, RequestFrame) and isinstance(frame, RequestFrame) and mine.id != frame.id:
            self.ledger.other_ids[frame.id] = mine.id

    def memory(self) -> dict[str, Json]:
        """Returns what a new recorder has to know of this one."""
        recordings = [str(each.path) for each in self.store.writers]
        secrets = {value for each in self.store.writers for value in each.redactor.known}
        return {"recordings": recordings, "secrets": sorted(secrets), "observer": self.observer.memory()}

    def remember(self, memory: dict[str, Json]) -> None:
        """Takes over from the last recorder."""
        self.store.learn(messages.texts_in(memory.get("secrets")))
        self.observer.remember(as_object(memory.get("observer")))
        self._continued = messages.texts_in(memory.get("recordings"))

    def continues(self, why: str) -> str:
        """Returns a sentence that says why this recorder continues in the place of another one."""
        files = f" It continues {' and '.join(self._continued)}." if self._continued else ""
        return f"{why}, and another one has started.{files}"

    @abstractmethod
    def answer_client(self, row: Request, message: dict[str, Json]) -> None:
        """Answers a client whose request the tap has ended, and withholds the server's own answer."""

    @abstractmethod
    def send(self, id: RequestId, method: str, message: dict[str, Json]) -> None:
        """Sends a request that the tap made; its answer does not reach the client."""

    def signal(self, id: RequestId, signal: Signal, message: dict[str, Json] | None) -> None:
        """Sends the cancel of a request that the tap ends, unless it goes on."""
        row = self.ledger.current(id)
        if row is not None and self._continues(row, row.cause):
            self.ledger.give_up(row, monotonic())
        elif message is None:
            self.release(id)
            self.ledger.signalled(id, signal, at=monotonic())
        else:
            params = {**as_object(message["params"]), "requestId": self.observer.on_wire(id)}
            self.notify(id, {**message, "params": params})

    @abstractmethod
    def notify(self, id: RequestId, message: dict[str, Json]) -> None:
        """Sends the notification that cancels a request."""
