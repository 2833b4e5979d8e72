"""The state that the ledger and its parts share: all requests, the open ones, and the queue of actions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Any, Final, ParamSpec

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.deadlines import Deadlines
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_object, shown
from mcp_tui.protocol.ports import LedgerPort
from mcp_tui.protocol.repeats import Repeats
from mcp_tui.protocol.requests import Request, Requests
from mcp_tui.protocol.revisions import Negotiated

P = ParamSpec("P")

Action = tuple[Callable[..., None], tuple[Any, ...], dict[str, Any]]
"""A method of the port and its arguments."""

BROKEN: Final = 4096
"""The maximum number of pairs of a rule and a request whose violations are counted; the oldest are dropped."""

NOBODY: Final = "no token"
"""The mark of an id that is not a progress token. It is compared by identity, because a client may choose any id."""

REPORTED_VIOLATIONS: Final = 10
"""The number of violations of one rule by one request that are all reported; then only the 100th, 1,000th, … is."""


@dataclass(slots=True, eq=False)
class Live:
    """One open request: its row, and the data that is dropped when it is over."""

    row: Request
    remembered: int = 0
    """The number of the call in :class:`Repeats`, if it has one."""

    params: dict[str, Json] | None = None
    """The parameters, if the request may have to be sent again."""

    deferred: bool = False
    """The next round waits for fresh headers or for a token."""

    request_state: str | None = None
    """The server's ``requestState``, which is sent back unchanged."""

    gathers: bool = False
    """The last response asked for input, so the next round must have ``inputResponses``."""

    questions: dict[str, bool] = field(default_factory=dict[str, bool])
    """The questions of its task by the server's keys, and whether a person is still being asked."""

    fetch: RequestId | None = None
    """The id of the open ``tasks/result`` for its task."""

    @property
    def asks_person(self) -> bool:
        """Whether a person is answering a question of the task."""
        return self.row.task_status == "input_required" and any(self.questions.values())


class Core:
    """The state of a ledger. ``grace`` is in seconds.

    ``observes``: the requests belong to another client, which sends, answers, and polls them itself
    (:mod:`~mcp_tui.protocol.observing`).
    """

    def __init__(self, port: LedgerPort, *, transport: str, grace: float, observes: bool) -> None:
        self.port = port
        self.observes = observes
        self.negotiated = Negotiated(transport=transport)
        self.grace = grace
        self.suspended_from = self.suspended_to = inf
        """The start and the end of the last suspension of this process. A message read at the end may have arrived at any
        time in it.
        """
        self.requests = Requests()
        self.repeats = Repeats()
        """The calls that may be repeated, including those of other sessions of the same client."""
        self.client = ""
        """The name and version of the observed client."""
        self.session = ""
        """The name by which other sessions of the same client refer to this one."""
        self.deadlines = Deadlines()
        self.live: dict[RequestId, Live] = {}
        self.tokens: dict[tuple[type, RequestId], RequestId] = {}
        """The ids of rounds by their progress tokens, if these differ; :data:`NOBODY` for an id that is not a token."""
        self.other_ids: dict[RequestId, RequestId] = {}
        """The ids of rows by the other ids that they have on the wire: those of second and later rounds."""
        self._violations: dict[tuple[str, RequestId | None, bool], int] = {}
        self._queue: deque[ev.Event | Action] = deque()
        self.performing = False
        """Whether :meth:`perform` is running. It also runs all that is queued meanwhile."""

    # -- events and actions ----------------------------------------------------------------------------------

    def emit(self, event: ev.Event) -> Request | None:
        """Applies an event to the requests and queues it for the port; returns its row, if it has one."""
        row = self.requests.apply(event)
        self._queue.append(event)
        return row

    def enter(
        self,
        id_: RequestId,
        method: str,
        params: Json,
        *,
        limits: ev.Limits,
        internal: bool,
        parent: RequestId | None,
        at: float,
        seq: int = 0,
    ) -> Live:
        """Adds a request as called, without sending it."""
        fields = as_object(params)
        row = self.emit(
            ev.Called(
                at=at,
                id=id_,
                method=method,
                name=name_of(method, fields),
                limits=limits,
                internal=internal,
                parent=parent,
                # In 2026-07-28 the server decides whether a request becomes a task.
                as_task="task" in fields and method == "tools/call" and not self.negotiated.modern,
                seq=seq,
            )
        )
        assert row is not None  # the event made it
        live = self.live[id_] = Live(row)
        live.remembered, repeat = self.repeats.called(
            self.requests, row, params, client=self.client, session=self.session, at=at
        )
        if repeat is not None:
            self.emit(repeat)
        return live

    def do(self, action: Callable[P, None], *args: P.args, **more: P.kwargs) -> None:
        """Queues an action of the port."""
        self._queue.append((action, args, more))

    def perform(self) -> None:
        """Runs the queue in order, including what is added meanwhile.

        A traceback does not show who queued an action. So an exception gets a note with the failed action and the
        next ones.
        """
        # A transport may report from within an action. The outer call handles that, so no decision interrupts
        # another.
        if self.performing or not self._queue:
            return
        self.performing = True
        queue, report = self._queue, self.port.event
        try:
            while queue:
                due = queue.popleft()
                try:
                    if not isinstance(due, tuple):
                        report(due)
                        continue
                    action, args, more = due
                    if more:
                        action(*args, **more)
                    else:  # the usual case, and unpacking an empty dict takes time
                        action(*args)
                except Exception as error:
                    waiting = ", ".join(map(_described, islice(queue, 10)))
                    error.add_note(f"in {_described(due)}; then: {waiting or 'nothing'}")
                    raise
        finally:
            self.performing = False

    def violation(
        self,
        rule: str,
        detail: str,
        at: float,
        seq: int,
        id_: RequestId | None = None,
        by: ev.Origin = ev.Origin.SERVER,
    ) -> None:
        """Reports that a side broke a rule; frequent violations are reported ever more rarely."""
        row = None if id_ is None else self.named(id_)
        # A violation after the cancel is evidence. It is counted separately, so that earlier ones never suppress it.
        key = rule, id_, row is not None and row.cancel_at is not None
        # Removed and added again, so that the oldest entry is always the first.
        count = self._violations[key] = self._violations.pop(key, 0) + 1
        if len(self._violations) > BROKEN:
            del self._violations[next(iter(self._violations))]
        if count <= REPORTED_VIOLATIONS or count == 10 ** (len(str(count)) - 1):
            self.emit(ev.Violation(at=at, rule=rule, detail=detail, id=id_, count=count, by=by, seq=seq))

    # -- finding a request -----------------------------------------------------------------------------------

    def named(self, id_: RequestId) -> Request | None:
        """Returns the request with an id; the id may belong to a later round."""
        if self.other_ids:  # rare: few requests have more than one round
            id_ = self.other_ids.get(id_, id_)
        live = self.live.get(id_)
        return self.requests.get(id_) if live is None else live.row

    def row(self, id_: RequestId) -> Request:
        """Returns the row of a known request."""
        row = self.requests.get(id_)
        assert row is not None  # the caller got the id from a row
        return row

    def current(self, wire_id: RequestId) -> Request | None:
        """Returns the request whose last round has this id; ``None`` for the id of an earlier round."""
        if not self.other_ids and (live := self.live.get(wire_id)) is not None:
            return live.row  # the usual case: the request is open and has one id
        row = self.named(wire_id)
        # An observed client may use the id of an open request again.
        if row is not None and row.wire_id != wire_id:
            row = self.live[wire_id].row if wire_id in self.live else None
        return row if row is None or row.wire_id == wire_id else None


def name_of(method: str, params: dict[str, Json]) -> str:
    """Returns the tool, prompt, URI, or task that a request names."""
    names = "taskId" if method.startswith("tasks/") else "uri" if method.startswith("resources/") else "name"
    value = params.get(names)
    return value if isinstance(value, str) else ""


def _described(due: ev.Event | Action) -> str:
    """Returns an action and its request or event, without message contents: ``signal 7``, ``event CancelRequested``."""
    action, args, _ = due if isinstance(due, tuple) else (LedgerPort.event, (due,), None)
    about = args[0] if args else None
    name = getattr(action, "__name__", "action")
    if isinstance(about, ev.Event):
        return f"{name} {type(about).__name__}"
    return f"{name} {shown(about)}" if messages.is_request_id(about) else name
