"""Events of every class and sessions of every kind, for property tests."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import FrameHead
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause, Limits, RequestId, Signal
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import REVISIONS
from tests.protocol.recorded import Action, RecordedLedger

TEXT = st.text(st.characters(), max_size=30)
FLOATS = st.floats(allow_nan=False)


def event_classes() -> list[type[ev.Event]]:
    """Every class that stands for a fact: a new one is here without being named."""
    bases = (ev.Event, ev.RequestEvent)
    found = (each for each in vars(ev).values() if isinstance(each, type) and issubclass(each, ev.Event))
    return [each for each in found if each not in bases]


def plain(kind: type[ev.Event]) -> ev.Event:
    """One event of a class."""
    values: dict[Any, Any] = {str: "text", int: 1, float: 1.5, bool: True, ev.Limits: Limits()}
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        member = get_args(hint)[0] if get_origin(hint) is UnionType else hint
        plain = (1, "a") if get_origin(hint) is tuple else None
        fields[name] = plain or (values[member] if member in values else next(iter(member)))
    return kind(**fields)


def events(kind: type[Any]) -> SearchStrategy[Any]:
    """Events of a class with anything in any field."""
    return st.builds(kind, **{name: _values(hint) for name, hint in get_type_hints(kind).items()})


def _values(hint: Any) -> SearchStrategy[Any]:
    if get_origin(hint) is UnionType:
        members = get_args(hint)
        floats = [member for member in members if member is not float]
        finite = [st.floats(allow_nan=False, allow_infinity=str not in members)] if float in members else []
        return st.one_of(*map(_values, floats), *finite)
    known: dict[Any, SearchStrategy[Any]] = {
        str: TEXT,
        int: st.integers(-(10**30), 10**30),
        float: FLOATS,
        bool: st.booleans(),
        NoneType: st.none(),
    }
    if hint in known:
        return known[hint]
    if get_origin(hint) is tuple:
        return st.lists(_values(get_args(hint)[0]), max_size=3).map(tuple)
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    return events(hint)


# -- sessions --------------------------------------------------------------------------------------------------

OFTEN = ("call", "written", "result", "progress", "cancel", "signalled", "tick")
SELDOM = (
    "error", "failed", "extend", "pause", "resume", "log", "asks", "garbage", "stranger", "stream", "refused", "closed",
)  # fmt: skip

STEPS = st.tuples(
    st.sampled_from((*OFTEN, *OFTEN, *OFTEN, *SELDOM)), st.integers(1, 5), st.floats(0, 20), TEXT
)
"""What happens, to which request, how many seconds later, and a text for it."""


class Session:
    """A ledger whose events and frames go into a store, as the client has it."""

    def __init__(self, store: Store, transport: str, revision: str) -> None:
        self.store = store
        self.ledger = RecordedLedger(transport=transport)
        self.ledger.agree(revision=REVISIONS[revision])
        self.told: list[ev.Event] = []
        self.now = 100.0
        self._queued: dict[RequestId, Action] = {}
        self._signals: dict[RequestId, Action] = {}
        self._progress = 0

    def step(self, what: str, number: int, later: float, text: str) -> None:  # noqa: C901 - one case a step
        """Let one thing happen."""
        self.now += later
        ledger, now = self.ledger, self.now
        match what:
            case "call":
                limits = Limits(timeout=5.0, max_timeout=float(10 * number), ask=float(number % 3))
                ledger.call("tools/call", {"name": text}, limits=limits, internal=number == 5, at=now)
            case "written":
                self._written()
            case "result":
                content = [{"type": "text", "text": text}]
                self._in({"id": number, "result": {"content": content, "isError": number == 2}})
            case "error":
                self._in({"id": str(number), "error": {"code": -number, "message": text}})
            case "progress":
                self._progress += 1
                params = {"progressToken": number, "progress": self._progress, "message": text}
                self._in({"method": "notifications/progress", "params": params})
            case "cancel":
                ledger.cancel(number, Cause.USER, text, at=now)
            case "signalled":
                self._signalled()
            case "failed":
                if (
                    self._signals.pop(number, None) is not None
                ):  # what was written is never called undelivered
                    ledger.signal_failed(number, text or "reset", at=now)
            case "tick":
                ledger.tick(now)
            case "extend":
                ledger.clocks.extend(number, None if number == 4 else later, at=now)
            case "pause" | "resume":
                row = ledger.requests.get(number)
                if row is not None:
                    ledger.clocks.pause(row, now, paused=what == "pause")
            case "log":
                self._in({"method": "notifications/message", "params": {"level": "info", "data": text}})
            case "asks":
                self._in({"id": number, "method": "ping"})
            case "garbage":
                self._raw(text.encode("utf-8", "replace") + b"\xff")
            case "stranger":
                self._in({"id": 999 + number, "result": {}})
            case "stream":
                ledger.stream_ended(number, text, at=now)
            case "refused":
                ledger.refused(number, text, at=now, status=503 if number % 2 else 0)
            case _:
                if number == 1:
                    ledger.closed(text, at=now)
        self._drain()

    def _written(self) -> None:
        for id_, send in tuple(self._queued.items())[:1]:
            del self._queued[id_]
            self.ledger.writing(id_)
            raw = messages.encode(send.message)
            seq = self.store.frame("out", raw, at=self.now, method=send.method, id=id_)
            self.ledger.written(id_, at=self.now, seq=seq)

    def _signalled(self) -> None:
        for id_, signal in tuple(self._signals.items())[:1]:
            del self._signals[id_]
            seq = 0
            if signal.message is not None:
                raw = messages.encode(signal.message)
                seq = self.store.frame("out", raw, at=self.now, method="notifications/cancelled")
            self.ledger.signalled(id_, signal.signal or Signal.NONE, at=self.now, seq=seq)

    def _in(self, message: dict[str, Any]) -> None:
        self._raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def _raw(self, raw: bytes) -> None:
        seq = self.store.frame("in", raw, at=self.now)
        self.ledger.receive(messages.parse(raw), at=self.now, seq=seq)

    def _drain(self) -> None:
        for item in self.ledger.take():
            if isinstance(item, ev.Event):
                self.told.append(item)
                self.store.event(item)
            else:
                self._carry_out(item)

    def _carry_out(self, action: Action) -> None:
        match action.name:
            case "send":
                self._queued[action.id] = action
            case "unqueue":
                self._queued.pop(action.id, None)
            case "signal":
                self._signals[action.id] = action
            case _:
                pass


# -- files -----------------------------------------------------------------------------------------------------


def write(path: Path, *records: ev.Event | bytes, **options: Any) -> Path:
    """Writes events, and messages of a server, with a writer of these options."""
    store = Store(Writer(path, **options), memory=0)
    for record in records:
        if isinstance(record, bytes):
            store.frame("in", record, at=1.0)
        else:
            store.event(record)
    store.close()
    return path


def heads(recording: Recording) -> list[FrameHead]:
    """What is known of each frame of a recording."""
    heads = map(recording.head, range(recording.frame_count))
    return [head for head in heads if head is not None]


def rows(recording: Recording) -> list[Request]:
    """The requests of a recording, as they were at its end."""
    return list(RecordedRequests.whole(recording).order)


def recorded_session(
    path: Path, transport: str, revision: str, steps: list[tuple[str, int, float, str]]
) -> Session:
    """The session of these steps, its journal at ``path`` closed."""
    session = Session(Store(Writer(path)), transport, revision)
    for step in steps:
        session.step(*step)
    session.store.close()
    return session
