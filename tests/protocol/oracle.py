"""What a ledger ought to say, told by a second, slower way: an oracle for the state machine.

It knows what really happened to the bytes of each request and of each signal, counts the seconds that each clock has left
instead of the moments at which it runs out, and tells for each thing that happens the events that must follow, as pairs
of name and id. It shares no code with the ledger but the enumerations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from mcp_tui.protocol.events import Cause, Kind, Limits, Signal
from mcp_tui.protocol.requests import State

Said = list[tuple[str, int]]


class Bytes(Enum):
    """How far a request or a signal has come."""

    NONE = "there is none"
    QUEUED = "queued"
    PARTLY = "partly written"
    GONE = "written"


@dataclass
class Clock:
    """Seconds that are left; ``None`` where there is no limit."""

    left: float | None

    def run(self, seconds: float) -> None:
        if self.left is not None:
            self.left -= seconds

    @property
    def over(self) -> bool:
        return self.left is not None and self.left <= 0

    def add(self, seconds: float) -> None:
        if self.left is not None:
            self.left = max(self.left, 0.0) + seconds


@dataclass
class Call:
    """The truth about one request."""

    id: int
    method: str
    limits: Limits
    request: Bytes = Bytes.QUEUED
    signal: Bytes = Bytes.NONE
    sent_at: float | None = None
    ended_at: float | None = None
    cancelled: bool = False
    cause: Cause | None = None
    confirmed: bool = False
    over: State | None = None
    late: dict[Kind, int] = field(default_factory=dict[Kind, int])
    duplicates: int = 0
    highest: float | None = None
    paused: bool = False
    unsent: Clock = field(default_factory=lambda: Clock(None))
    idle: Clock = field(default_factory=lambda: Clock(None))
    maximum: Clock = field(default_factory=lambda: Clock(None))
    asking: Clock | None = None
    leaving: Clock = field(default_factory=lambda: Clock(None))
    grace: Clock = field(default_factory=lambda: Clock(None))

    @property
    def state(self) -> State:
        if self.over is not None:
            return self.over
        if self.cancelled:
            return State.CANCEL_REQUESTED
        return State.QUEUED if self.sent_at is None else State.IN_FLIGHT

    @property
    def waits(self) -> bool:
        return self.over is None and not self.cancelled

    @property
    def answered(self) -> bool:
        return self.over in (State.COMPLETED, State.FAILED) or any(k is not Kind.PROGRESS for k in self.late)

    def elapsed(self, now: float) -> float:
        if self.sent_at is None:
            return 0.0
        return max(0.0, (now if self.ended_at is None else self.ended_at) - self.sent_at)


class Oracle:
    """The truth about all requests of a connection whose cancels leave by ``way``."""

    def __init__(self, way: Signal, grace: float) -> None:
        self.way = way
        self.grace = grace
        self.now = 0.0
        self.calls: dict[int, Call] = {}

    def way_of(self, call: Call) -> Signal:
        return Signal.NONE if call.method == "initialize" else self.way

    # -- the time --------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        for call in self.calls.values():
            if call.state is State.QUEUED:
                call.unsent.run(seconds)
            elif call.state is State.IN_FLIGHT and not call.paused:
                for clock in (call.idle, call.maximum, call.asking):
                    if clock is not None:
                        clock.run(seconds)
            elif call.state is State.CANCEL_REQUESTED:
                call.leaving.run(seconds)
                call.grace.run(seconds)

    def tick(self) -> Said:
        return [said for call in self.calls.values() for said in self._tick(call)]

    def _tick(self, call: Call) -> Said:
        if call.state is State.QUEUED and call.unsent.over:
            return self.cancel(call, Cause.MAX_TIMEOUT)
        if call.state is State.IN_FLIGHT and not call.paused:
            if call.maximum.over:
                return self.cancel(call, Cause.MAX_TIMEOUT)
            if call.asking is not None:
                return self.cancel(call, Cause.TIMEOUT) if call.asking.over else []
            if call.idle.over and call.limits.ask > 0:
                call.asking = Clock(call.limits.ask)
                return [("Overdue", call.id)]
            return self.cancel(call, Cause.TIMEOUT) if call.idle.over else []
        if call.state is State.CANCEL_REQUESTED and call.grace.over:
            return self._settle(call)
        if call.state is State.CANCEL_REQUESTED and call.leaving.over:
            call.leaving = Clock(None)
            return [("Undelivered", call.id)]
        return []

    # -- intents ---------------------------------------------------------------------------------------------

    def call(self, id_: int, method: str, limits: Limits) -> Said:
        self.calls[id_] = Call(id_, method, limits, unsent=Clock(limits.max_timeout))
        return [("Called", id_)]

    def cancel(self, call: Call, cause: Cause) -> Said:
        if not call.waits or (call.method == "initialize" and cause is Cause.USER):
            return []
        call.cancelled, call.cause, call.ended_at = True, cause, self.now
        call.paused, call.asking = False, None
        said: Said = [("CancelRequested", call.id)]
        if call.request is Bytes.QUEUED or self.way_of(call) is Signal.NONE:
            return [*said, ("CancelSignalled", call.id), *self._settle(call)]
        call.signal = Bytes.QUEUED
        call.leaving = Clock(max(self.grace, 2.0))
        return said

    def extend(self, call: Call, seconds: float | None) -> Said:
        if call.state is not State.IN_FLIGHT:
            return []
        call.asking = None
        if seconds is None:
            call.limits = Limits(timeout=None, max_timeout=None, ask=call.limits.ask)
            call.idle, call.maximum = Clock(None), Clock(None)
        elif call.idle.left is None:
            call.maximum.add(seconds)
        else:
            call.idle.add(seconds)
            if call.maximum.left is not None:
                call.maximum.left = max(call.maximum.left, call.idle.left)
        return [("Extended", call.id)]

    def pause(self, call: Call, *, paused: bool) -> Said:
        if call.state is not State.IN_FLIGHT or call.paused is paused:
            return []
        call.paused = paused
        return [("Paused" if paused else "Resumed", call.id)]

    # -- the transport ---------------------------------------------------------------------------------------

    def writing(self, call: Call) -> bool:
        """Its first byte leaves. True if a signal must follow, because it was taken back too late."""
        call.request = Bytes.PARTLY
        follows = call.over is State.CANCELLED and self.way_of(call) is not Signal.NONE
        if follows:
            call.signal = Bytes.QUEUED
        return follows

    def written(self, call: Call) -> Said:
        call.request = Bytes.GONE
        return self._sent(call)

    def _sent(self, call: Call) -> Said:
        known = call.sent_at is not None or call.over not in (None, State.CANCELLED)
        if call.request in (Bytes.NONE, Bytes.QUEUED) or known:
            return []
        call.sent_at = self.now
        call.idle, call.maximum = Clock(call.limits.timeout), Clock(call.limits.max_timeout)
        return [("Sent", call.id)]

    def signalled(self, call: Call) -> Said:
        call.signal = Bytes.GONE
        if not call.cancelled or call.confirmed:
            return []
        call.confirmed = True
        said: Said = [("CancelSignalled", call.id)]
        call.leaving = Clock(None)
        if call.over is None and (self.way is Signal.STREAM_CLOSED or self.grace <= 0):
            return [*said, *self._settle(call)]
        call.grace = Clock(self.grace)
        return said

    def signal_failed(self, call: Call) -> Said:
        call.leaving = Clock(None)
        return [("Undelivered", call.id)] if call.cancelled else []

    def _recall(self, call: Call) -> Said:
        if call.signal is not Bytes.QUEUED:
            return []
        call.signal = Bytes.NONE
        return [("Undelivered", call.id)]

    def stream_ended(self, call: Call) -> Said:
        if call.state is State.CANCEL_REQUESTED:
            told = self._recall(call) if self.way is Signal.STREAM_CLOSED else []
            return [*told, *self._settle(call)]
        return self._end(call, State.LOST)

    def refused(self, call: Call, status: int) -> Said:
        if call.state is State.CANCEL_REQUESTED:
            return [*self._recall(call), *self._settle(call)]
        return self._end(call, State.FAILED if status else State.LOST)

    def closed(self) -> Said:
        said: Said = []
        for call in self.calls.values():
            said += self._recall(call)
            said += (
                self._settle(call) if call.state is State.CANCEL_REQUESTED else self._end(call, State.LOST)
            )
        return said

    # -- the server ------------------------------------------------------------------------------------------

    def response(self, call: Call, kind: Kind, *, readable: bool = True) -> Said:
        if call.request is Bytes.QUEUED:
            return []
        said = self._sent(call)
        if call.state is State.CANCEL_REQUESTED and call.signal is Bytes.QUEUED:
            call.signal, call.cancelled, call.cause, call.ended_at = Bytes.NONE, False, None, None
            said.append(("CancelWithdrawn", call.id))
        else:
            said += self._recall(call)
        if call.waits:
            ends = State.COMPLETED if readable and kind is Kind.RESULT else State.FAILED
            return said + self._end(call, ends)
        if call.answered:
            call.duplicates += 1
            return [*said, ("Duplicate", call.id)]
        call.late[kind] = 1
        said.append(("Late", call.id))
        return said + (self._settle(call) if call.over is None else [])

    def progress(self, call: Call, value: object) -> Said:
        if call.request is Bytes.QUEUED:
            return []
        said = self._sent(call)
        if call.waits:
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or (call.highest is not None and float(str(value)) <= call.highest):
                return said
            call.highest = float(str(value))
            call.idle, call.asking = Clock(call.limits.timeout), None
            return [*said, ("Progress", call.id)]
        if call.over in (State.COMPLETED, State.FAILED):
            return said
        call.late[Kind.PROGRESS] = call.late.get(Kind.PROGRESS, 0) + 1
        return [*said, ("Late", call.id)]

    # -- the end ---------------------------------------------------------------------------------------------

    def _settle(self, call: Call) -> Said:
        call.over = State.CANCELLED
        return [("Settled", call.id)]

    def _end(self, call: Call, state: State) -> Said:
        if call.over is not None:
            return []
        call.over, call.ended_at = state, self.now
        return [(state.name.capitalize(), call.id)]
