"""The rows of requests, made from events in one place.

:data:`~mcp_tui.protocol.transitions.TRANSITIONS` says which event each state permits. Any other event is a bug in
mcp-tui and changes nothing. "Timed out" and "late, ignored" are not states: :func:`mcp_tui.view.badges.badge` derives
them from the state, the cause, and the evidence.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, SupportsIndex

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import REPEATING
from mcp_tui.protocol.packing import KEEP, PACKED_ROWS, PackedRows, Places, by_name, values_of
from mcp_tui.protocol.server_requests import NONE, LiveServerRequests
from mcp_tui.protocol.states import LISTEN, OPEN, RUNNING, TERMINAL, TRANSIT, State
from mcp_tui.protocol.transitions import (
    ASPECTS,
    CALLED,
    CODES,
    COUNTED,
    EFFECTS,
    KINDS,
    LATE_PROGRESS,
    STALLED,
    TRANSITIONS,
    IllegalTransition,
    RequestIndex,
    aspect_of,
    counts,
)


@dataclass(slots=True)
class Evidence:
    """A message that arrived ``after`` seconds after a cancel. All progress messages are one piece of evidence with a
    ``count``.

    ``last_after`` is the time of the last message in seconds after the cancel, and ``last_at`` the same in monotonic
    seconds. ``most`` is the upper bound of ``last_after`` if only bounds are known. ``progress`` is the last value
    that was a number. ``partial``: only the first ``size`` bytes of an answer arrived.
    """

    kind: ev.Kind
    after: float
    code: int | None = None
    summary: str = ""
    count: int = 1
    last_after: float = 0.0
    seq: int = 0
    size: int = 0
    progress: float | None = None
    last_at: float = 0.0
    most: float | None = None
    partial: bool = False


@dataclass(init=False)
class Request:
    """One of our requests and everything that happened to it. Only :class:`Requests` changes it.

    The class has no slots, because few fields of a row are ever set: the others are the defaults of the class. That
    makes a row in a third of the time and half the memory.

    Times are monotonic seconds. ``version`` grows with every event, so that views know when to redraw. ``round_ids``
    are the ids of the second and later rounds. ``round_sent_at`` is the time at which the last round was written; it
    is ``None`` before that, and between two rounds, when ``round_answered`` is true.
    """

    id: ev.RequestId
    method: str
    name: str
    internal: bool
    limits: ev.Limits
    called_at: float
    state: State = State.QUEUED
    version: int = 0
    request_seq: int = 0
    response_seq: int = 0
    response_size: int = 0
    summary: str = ""
    # clocks
    sent_at: float | None = None
    received_at: float | None = None
    queued_at: float = 0.0
    idle_from: float | None = None
    idle_until: float | None = None
    ended_at: float | None = None
    paused_at: float | None = None
    paused: float = 0.0
    overdue_until: float | None = None
    # progress
    progress: float | None = None
    total: float | None = None
    message: str | None = None
    progress_count: int = 0
    progress_at: float | None = None
    longest_gap: float = 0.0
    # more than one message
    parent: ev.RequestId | None = None
    repeat: ev.Repeat | None = None
    guard: ev.Guarded | None = None
    round_ids: tuple[ev.RequestId, ...] = ()
    round_sent_at: float | None = None
    round_answered: bool = False
    rounds: int = 0
    asks: str = ""
    as_task: bool = False
    task_id: str = ""
    task_core: bool = False
    task_at: float = 0.0
    task_status: str = ""
    task_message: str = ""
    task_ttl: float | None = None
    task_poll: float | None = None
    acknowledged: bool = False
    delivered: int = 0
    # how it ended
    is_error: bool = False
    code: int | None = None
    error: str = ""
    origin: ev.Origin | None = None
    rule: str | None = None
    # the cancel
    cause: ev.Cause | None = None
    reason: str = ""
    cancel_at: float | None = None
    signal: ev.Signal | None = None
    signalled_at: float | None = None
    reason_delivered: bool = False
    answer_owed: bool = False
    accepted_at: float | None = None
    cancel_answer: str = ""
    sessionless: bool = False
    unanswered_at: float | None = None
    unanswered: str = ""
    delayed: str = ""
    undelivered: str = ""
    refused: bool = False
    unwatched_at: float | None = None
    unwatched: str = ""
    watching_over: bool = False
    rejection: ev.Rejected | None = None
    cancelled_by_server_at: float | None = None
    dropped: str = ""
    dropped_at: float | None = None
    disconnected_at: float | None = None
    disconnected: str = ""
    settled: str = ""
    settled_at: float | None = None
    late: tuple[Evidence, ...] = ()
    duplicates: int = 0
    history: list[ev.RequestEvent] = field(default_factory=list[ev.RequestEvent])
    place = 0
    """The index of the row in its :class:`Requests`. It depends on other rows, so it is not packed."""

    def __init__(
        self,
        id: ev.RequestId,
        method: str,
        name: str,
        internal: bool,
        limits: ev.Limits,
        called_at: float,
    ) -> None:
        self.id, self.method, self.name = id, method, name
        self.internal, self.limits, self.called_at = internal, limits, called_at
        self.history = []

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> str | tuple[Any, ...]:
        """Pickles and copies the row as its events if the history has all of them, which takes a quarter of the time."""
        if self.version == len(self.history) - 1:
            return _refolded, tuple(map(values_of, self.history))
        return super().__reduce_ex__(protocol)

    @property
    def open(self) -> bool:
        """Whether the request still waits for its response."""
        return self.state in OPEN

    @property
    def listening(self) -> bool:
        """Whether this is an internal subscription, which does not count as a request in flight."""
        return self.internal and self.method == LISTEN

    @property
    def withheld_by_guard(self) -> bool:
        """Whether the guard of a tap did not send the request to the server."""
        return self.guard is not None and self.guard.how in ("waits", "given", "refused")

    @property
    def cancel_is_internal(self) -> bool:
        """Whether the cancel is internal to this client, so that logs, sums, and counters leave it out by default."""
        return self.internal or self.method == LISTEN or self.cause is ev.Cause.SHUTDOWN

    @property
    def wire_id(self) -> ev.RequestId:
        """The id of the last round on the wire."""
        return self.round_ids[-1] if self.round_ids else self.id

    @property
    def label(self) -> str:
        """Method and name: ``tools/call slow_sql``."""
        return f"{self.method} {self.name}" if self.name else self.method

    def elapsed(self, now: float) -> float:
        """Returns the seconds from writing the request to its outcome or ``now``; 0 before it was written."""
        if self.sent_at is None:
            return 0.0
        return max(0.0, (now if self.ended_at is None else self.ended_at) - self.sent_at)

    @property
    def answered_after(self) -> float | None:
        """The seconds from writing the request to the server's answer; ``None`` if no answer arrived in time."""
        answered = self.state is State.COMPLETED or (
            self.state is State.FAILED and self.origin is ev.Origin.SERVER
        )
        return self.elapsed(0.0) if answered and self.sent_at is not None else None

    @property
    def timeout_reason(self) -> str:
        """The reason of a cancel by the timeout."""
        waited = self.limits.timeout or 0.0
        if self.idle_until is not None and self.idle_from is not None:
            waited = self.idle_until - self.idle_from
        return f"timed out after {round(waited, 3):g} s"

    def deadlines(self) -> tuple[float | None, float | None]:
        """Returns the times of the timeout and the max timeout (monotonic seconds), each ``None`` if it does not run."""
        if self.paused_at is not None or self.state not in RUNNING:
            return None, None
        return self.clocks()

    def clocks(self) -> tuple[float | None, float | None]:
        """Returns :meth:`deadlines` as if a paused request had not been paused."""
        if self.sent_at is None:
            return None, None
        idle = self.idle_until
        if idle is None and self.limits.timeout is not None and self.idle_from is not None:
            idle = self.idle_from + self.limits.timeout
        maximum = (
            None if self.limits.max_timeout is None else self.sent_at + self.paused + self.limits.max_timeout
        )
        return idle, maximum


HISTORY: Final = 128
"""The minimum number of events that a row keeps for its details.

Above twice that number, the oldest events that a server can repeat endlessly (progress, duplicates) are dropped. The
journal has them all.
"""


def _shortened(history: list[ev.RequestEvent]) -> list[ev.RequestEvent]:
    """Returns a history without its oldest repeating events."""
    surplus = len(history) - HISTORY
    kept: list[ev.RequestEvent] = []
    for old in history:
        if surplus and (
            type(old) in REPEATING or (isinstance(old, ev.Late) and old.kind is ev.Kind.PROGRESS)
        ):
            surplus -= 1
        else:
            kept.append(old)
    return kept


def called(event: ev.Called) -> Request:
    """Makes the row of a request that was just called."""
    row = Request(event.id, event.method, event.name, event.internal, event.limits, event.at)
    row.queued_at = event.at
    # Unset fields cost no memory in a row, so defaults are not assigned.
    if event.seq:
        row.request_seq = event.seq
    if event.parent is not None:
        row.parent = event.parent
    if event.as_task:
        row.as_task = True
    row.history.append(event)
    return row


def _refolded(*events: tuple[Any, ...]) -> Request:
    """Makes a row again from its packed events."""
    first, *others = (by_name(*event) for event in events)
    row = called(first)
    for event in others:
        evolve(row, event)
    return row


def evolve(row: Request, event: ev.RequestEvent) -> None:
    """Applies one event to one row in place.

    Raises:
        IllegalTransition: the state of the row does not permit the event; the row is unchanged.
    """
    kind, allowed = type(event), TRANSITIONS[row.state]
    if kind not in allowed:
        raise IllegalTransition(f"{kind.__name__} in state {row.state.value} (request {row.id!r})")
    (_FREQUENT.get(kind) or _apply)(row, event)
    after = allowed[kind]
    if after is not None:
        row.state = after
    row.version += 1
    history = row.history
    history.append(event)
    if len(history) >= 2 * HISTORY:
        row.history = _shortened(history)


def _apply(row: Request, event: ev.RequestEvent) -> None:  # noqa: C901 - one case an event, the frequent ones first
    match event:
        case ev.Progress():
            _progressed(row, event)
        case ev.Late():
            _gather(row, event)
        case ev.Failed():
            _end(row, event.at)
            row.code, row.error, row.origin, row.rule = event.code, event.message, event.origin, event.rule
            row.response_seq, row.response_size = event.seq, event.size
        case ev.Lost():
            _end(row, event.at)
            row.error = event.detail
        case ev.CancelRequested():
            _end(row, event.at)
            row.cause, row.reason, row.cancel_at = event.cause, event.reason, event.at
        case ev.CancelSignalled():
            row.signal, row.reason_delivered = event.signal, event.reason_delivered
            row.signalled_at, row.answer_owed, row.delayed = event.at, event.answered, ""
        case ev.CancelAccepted():
            row.accepted_at, row.cancel_answer, row.sessionless = event.at, event.detail, event.sessionless
        case ev.CancelUnanswered():
            row.unanswered_at, row.unanswered = event.at, event.detail
        case ev.CancelDelayed():
            row.delayed = event.detail
        case ev.CancelWithdrawn():
            row.cause, row.reason, row.cancel_at, row.ended_at = None, "", None, None
            row.delayed = ""
        case ev.Undelivered():
            row.undelivered, row.refused = event.detail, event.refused
        case ev.Unwatched():
            _unwatched(row, event)
        case ev.CancelledByServer():
            if row.cancelled_by_server_at is None:
                row.cancelled_by_server_at = event.at
        case ev.Dropped():
            row.dropped, row.dropped_at = event.detail, event.at
        case ev.Rejected():
            # Only the first error after the signal can plausibly reject it.
            row.rejection = row.rejection or event
        case ev.Repeat():
            row.repeat = event
        case ev.Guarded():
            row.guard = event
        case ev.Settled():
            row.settled, row.settled_at = event.detail, event.at
        case ev.Duplicate():
            row.duplicates += 1
        case ev.Overdue():
            row.overdue_until = event.until
        case ev.Extended():
            row.limits, row.idle_until, row.overdue_until = event.limits, event.idle_until, None
        case ev.Paused():
            row.paused_at = event.at
        case ev.Resumed():
            _resume(row, event.at)
        case ev.Delivered():
            row.delivered += 1
            row.received_at = event.at
        case ev.InputRequired():
            row.rounds, row.asks, row.round_sent_at, row.round_answered = event.round, event.asks, None, True
            if event.asks and row.paused_at is None:  # a retry without questions needs nobody's time
                row.paused_at = event.at
            row.received_at, row.overdue_until = event.at, None
        case ev.Round():
            row.round_ids += (event.wire_id,)
            row.round_sent_at, row.round_answered, row.queued_at = None, False, event.at
            # Each round has a progress token of its own, and its values start again.
            row.progress = row.total = row.message = None
        case ev.TaskCreated() | ev.TaskStatus():
            _task(row, event)
        case ev.Polled():
            _polled(row, event.at)
        case ev.Acknowledged():
            row.acknowledged = True
            row.received_at = event.at
        case _:  # a second Called
            raise IllegalTransition(type(event).__name__)


def _unwatched(row: Request, event: ev.Unwatched) -> None:
    if row.unwatched_at is None:
        row.unwatched_at, row.unwatched = event.at, event.detail
    elif row.unwatched == row.disconnected:
        row.unwatched = event.detail  # the end of stdout is known already; this tells how the server ended
    row.watching_over |= event.final
    if event.disconnected:
        # "closed its stdout but is still running" extends "closed its stdout", whose time stays.
        if row.disconnected_at is None or not event.detail.startswith(row.disconnected):
            row.disconnected_at = event.at
        row.disconnected = event.detail


def _task(row: Request, event: ev.TaskCreated | ev.TaskStatus) -> None:
    if isinstance(event, ev.TaskCreated):
        row.task_id, row.task_core, row.task_at = event.task_id, event.core, event.at
    row.task_status, row.task_message = event.status, event.message
    if row.task_core and event.status != "cancelled":
        row.cancel_answer = ""  # the answer to the cancel said "cancelled", and the status disagrees
    row.task_ttl, row.task_poll = event.ttl, event.poll
    _polled(row, event.at)


def _sent(row: Request, event: ev.Sent) -> None:
    if row.sent_at is None:
        row.sent_at = event.at
    else:
        _resume(row, event.at)  # between two rounds a person answered
        row.idle_until = None
    row.round_sent_at = row.idle_from = row.received_at = event.at
    row.request_seq = event.seq or row.request_seq


def _completed(row: Request, event: ev.Completed) -> None:
    _end(row, event.at)
    row.is_error, row.summary = event.is_error, event.summary
    row.response_seq, row.response_size = event.seq, event.size


_FREQUENT: Final[dict[type[ev.RequestEvent], Callable[[Request, Any], None]]] = {
    ev.Sent: _sent,
    ev.Completed: _completed,
}
"""The handlers of frequent events; :func:`_apply` handles all others."""


def _polled(row: Request, at: float) -> None:
    # Every answer to a poll shows that the server is alive, even without news.
    _rearm(row, at)
    row.received_at = at


def _rearm(row: Request, at: float) -> None:
    # For a paused clock, the time of the pause is the present; _resume adds the pause to it.
    row.idle_from = at if row.paused_at is None else row.paused_at
    row.idle_until = row.overdue_until = None


def _end(row: Request, at: float) -> None:
    row.ended_at = at
    row.overdue_until = row.paused_at = None


def _progressed(row: Request, event: ev.Progress) -> None:
    row.progress, row.total, row.message = event.progress, event.total, event.message
    _counted(row, event.at)
    if event.rearmed:
        _rearm(row, event.at)


def _counted(row: Request, at: float) -> None:
    """Counts a progress notification that arrived in time or late."""
    row.longest_gap = longest_gap(row, at)
    row.progress_count += 1
    row.received_at = row.progress_at = at


def add_count(row: Request, kind: type[ev.Event], count: int) -> None:
    """Counts events of a kind without applying them; in a recording these are the middle ones of a long run."""
    row.version += count
    if kind is ev.Progress:
        row.progress_count += count
        row.progress_at = None  # the skipped messages make the next gap unknown
    elif kind is ev.Delivered:
        row.delivered += count
    elif kind is ev.Duplicate:
        row.duplicates += count
    elif kind is ev.Late:
        row.progress_count += count
        row.progress_at = None
        for each in row.late:
            if each.kind is ev.Kind.PROGRESS:
                each.count += count


def longest_gap(row: Request, at: float) -> float:
    """Returns the longest interval between two progress notifications in seconds, including the one that arrives at
    ``at``.
    """
    return row.longest_gap if row.progress_at is None else max(row.longest_gap, at - row.progress_at)


def _gather(row: Request, event: ev.Late) -> None:
    if event.after_end:
        return  # the reported outcome was final
    if row.disconnected_at is None:  # Its own stream had ended, but another one brought a message.
        row.unwatched_at, row.unwatched = None, ""
    if event.kind is ev.Kind.PROGRESS:
        _counted(row, event.at)
        row.longest_gap = max(row.longest_gap, event.longest)
        for evidence in row.late:
            if evidence.kind is ev.Kind.PROGRESS:
                evidence.count += 1
                evidence.last_after, evidence.last_at, evidence.most = event.after, event.at, event.most
                if event.progress is not None:
                    evidence.progress = event.progress
                return
    new = Evidence(
        kind=event.kind,
        after=event.after,
        code=event.code,
        summary=event.summary,
        last_after=event.after,
        seq=event.seq,
        size=event.size,
        progress=event.progress,
        last_at=event.at,
        most=event.most,
        partial=event.partial,
    )
    row.late += (new,)


def _resume(row: Request, at: float) -> None:
    if row.paused_at is None:
        return
    pause = at - row.paused_at
    row.paused_at = None
    row.paused += pause
    if row.idle_from is not None:
        row.idle_from += pause
    if row.idle_until is not None:
        row.idle_until += pause
    if row.overdue_until is not None:
        row.overdue_until += pause


def evolve_run(
    row: Request, code: int, effect: int, numbers: Sequence[int], apply: Callable[[Request, int], None]
) -> None:
    """Applies the events with these numbers, all of one class and effect, and only counts most of them if that is enough.

    ``apply`` applies the event with a number by :func:`evolve`. The history of a row grows to twice ``HISTORY``
    events and is then cut to ``HISTORY``. So skipping a multiple of ``HISTORY`` events does not change it, if twice
    as many follow.
    """
    at = 0
    while at < len(numbers) and not (at and _is_counted(row, effect)):
        apply(row, numbers[at])
        at += 1
    skipped = max(0, len(numbers) - at - 2 * HISTORY) // HISTORY * HISTORY
    if skipped:
        add_count(row, KINDS[code], skipped)
    for number in numbers[at + skipped :]:
        apply(row, number)


def _is_counted(row: Request, effect: int) -> bool:
    """Whether a further event with this effect is only counted. The first late progress is not: it may have been in
    transit.
    """
    if effect != LATE_PROGRESS:
        return effect in {COUNTED, STALLED}
    signalled, last = row.signalled_at, row.progress_at
    return signalled is None or (last is not None and last - signalled > TRANSIT)


_NO_DOUBT: Final = frozenset({ev.Sent, ev.Progress, ev.Repeat, ev.Completed})
"""The commonest events after which no outcome is unknown that was known before."""

REMEMBERED_CHANGES: Final = 10_000
"""The number of newest events whose changed rows are remembered."""


class Requests:
    """All requests of a session, oldest first, made from events: ours, and the server's in ``server_requests``.

    Live and replayed sessions have one each. ``version`` grows by one with every event, ``doubts`` with every event
    after which the outcome of a request may be unknown. ``unfinished`` has the
    requests that are not over yet, oldest first, so that no caller has to scan all rows for them. A finished request
    is packed when ``keep`` newer ones exist; ``order`` and :meth:`get` still find it. ``internal`` and ``cancelled``
    are those of :class:`~mcp_tui.protocol.transitions.RequestIndex`. ``logged_at`` has the times of the log messages,
    which belong to no request.
    """

    sortable = 20_000
    """The number of rows that can be sorted without blocking the screen."""

    def __init__(self, *, keep: int = KEEP) -> None:
        self.order: PackedRows[Request] = PackedRows(lambda row: row.state in TERMINAL)
        self.unfinished: dict[tuple[type, ev.RequestId], Request] = {}
        self._server_requests = LiveServerRequests(keep=keep)
        self.server_requests = self._server_requests.all
        self.index = RequestIndex()
        self.internal = self.index.internal
        self.cancelled = self.index.cancelled
        self.logged_at = array("d")
        self.version = self.doubts = 0
        self._effects = [0] * EFFECTS
        self._keep = keep
        self._places = Places()
        self._changes: deque[ev.RequestId | None] = deque(maxlen=REMEMBERED_CHANGES)

    def get(self, id: ev.RequestId) -> Request | None:
        """Returns the row of an id, by type and value: ``1``, ``"1"`` and ``True`` are three ids."""
        row = self.unfinished.get((type(id), id))
        if row is None and (place := self._places.find(id)) is not None:
            row = self.order[place]
        return row

    def place(self, id: ev.RequestId) -> int | None:
        """Returns the place in :attr:`order` of an id's row."""
        return self._places.find(id)

    def row(self, place: int) -> Request:
        """Returns the row at a place of :attr:`order`."""
        return self.order[place]

    def is_over(self, place: int) -> bool:
        """Whether the row at a place is over; does not unpack the row."""
        return self.index.over[place] != NONE

    def counts(self) -> tuple[int, int, int]:
        """Returns the numbers of requests in flight, with cancel requested, and answered late, without internal
        subscriptions.
        """
        listening = sum(self.index.state(place) in OPEN for place in self.index.listening)
        return counts(self._effects.__getitem__, listening)

    def parent(self, place: int) -> int | None:
        """Returns the place of the parent of the row at a place."""
        parent = self.order[place].parent
        return None if parent is None else self.place(parent)

    def changed_since(self, version: int) -> set[int] | None:
        """Returns the places of the rows that changed since a version; ``None`` if the version is too old."""
        count = self.version - version
        if not 0 <= count <= len(self._changes):
            return None
        places = map(
            self._places.find, {id for id in islice(reversed(self._changes), count) if id is not None}
        )
        return {place for place in places if place is not None}

    def apply(self, event: ev.Event) -> Request | None:
        """Applies one event and returns its row, if it has one.

        Raises:
            IllegalTransition: as :func:`evolve`, and for a second :class:`~events.Called` with one id.
        """
        if not isinstance(event, ev.RequestEvent):
            self._apply_elsewhere(event)
            return None
        id_, kind = event.id, type(event)
        key = (type(id_), id_)
        if isinstance(event, ev.Called):
            if not self._places.append(id_):
                raise IllegalTransition(f"id {id_!r} was issued before")
            row = self.unfinished[key] = called(event)
            row.place = self.index.call(aspect_of(event))
            self._effects[CALLED] += 1
            self.order.append(row)
            if self.order.recent >= self._keep + PACKED_ROWS:
                self.order.pack_oldest()
        else:
            row = self.unfinished.get(key) or self._finished(id_)
            evolve(row, event)
            aspect = aspect_of(event) if kind in ASPECTS else 0
            self._effects[self.index.apply(row.place, CODES[kind], aspect, self.version)] += 1
            if row.state in TERMINAL:
                self.unfinished.pop(key, None)
            if kind not in _NO_DOUBT:
                self.doubts += 1
        self.version += 1
        self._changes.append(id_)
        return row

    def _apply_elsewhere(self, event: ev.Event) -> None:
        """Applies an event that belongs to none of our requests."""
        if isinstance(event, ev.Log):
            self.logged_at.append(event.at)
            return
        parent = event.parent if isinstance(event, ev.ServerRequestReceived) else None
        place = None if parent is None else self.place(parent)
        if self._server_requests.apply(event, calls=len(self.order), parent=place):
            self.version += 1
            self._changes.append(None)

    def _finished(self, id: ev.RequestId) -> Request:
        """Returns the row of a finished request, so that an event can be applied to it."""
        place = self._places.find(id)
        if place is None:
            raise IllegalTransition(f"no request {id!r}")
        row = self.order.loose(place)
        row.place = place
        return row


def fold(events: list[ev.Event]) -> Requests:
    """Makes requests from a list of events."""
    requests = Requests()
    for event in events:
        requests.apply(event)
    return requests
