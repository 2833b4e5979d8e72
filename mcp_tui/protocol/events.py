"""Events: immutable facts about what happened.

A ledger and a transport produce events; :func:`mcp_tui.protocol.requests.evolve` folds them into requests.
The live screen, headless output, recordings and replay are all made of these and of nothing else, so an
event holds only what can be written to a file: payloads stay in the frame whose number is ``seq``.

``at`` is a monotonic time in seconds. ``id`` is the id of one of *our* requests; ids of the server's requests
are called ``request_id``, because the two spaces overlap (cancellation, every revision: same direction only).
``seq`` is the number of the journalled frame that the fact came from, or 0 where there was none.
"""

from __future__ import annotations

from mcp_tui.protocol.states import DEFAULT_LIMITS, Cause, Kind, Limits, Origin, RequestId, Signal
from mcp_tui.protocol.values import fact


@fact
class Event:
    """A fact and its time."""

    at: float
    seq: int = 0


@fact
class RequestEvent(Event):
    """A fact about one of our requests."""

    id: RequestId


# -- the life of one of our requests ---------------------------------------------------------------------------


@fact
class Called(RequestEvent):
    """A request was made and waits to be written.

    ``name`` is the tool, the resource's URI, the prompt or empty. ``own`` marks requests that the client
    makes for itself (handshake, lists for the catalogue), ``parent`` the request for whose sake it does so (a task's
    polls). ``as_task`` says that a task of 2025-11-25 was asked for.
    """

    method: str
    name: str = ""
    limits: Limits = DEFAULT_LIMITS
    internal: bool = False
    parent: RequestId | None = None
    as_task: bool = False


@fact
class Repeat(RequestEvent):
    """The call has the tool and the arguments of another one whose outcome its client does not know.

    That is ``repeat_of``, in the recording ``session`` if that is another one. ``first_outcome`` is what was known of it
    then: an outcome of its cancel, ``running``, or ``lost``; its answer, if any, came ``first_after`` seconds after its end.
    """

    repeat_of: RequestId
    first_outcome: str
    first_after: float | None = None
    session: str = ""


@fact
class Guarded(RequestEvent):
    """The guard of a tap (``tap --once``) did not send a repeat, or gave the answer to a call to another one: ``other``.

    ``how`` is ``waits`` (for the answer to the other one), ``given`` (that answer), ``refused``, or, of the first call,
    ``passed_on``. ``sent`` is a call that it guards.
    """

    how: str
    other: RequestId | None = None


@fact
class Sent(RequestEvent):
    """The last byte of the request was handed to the operating system; its clocks run from here."""


@fact
class Progress(RequestEvent):
    """Progress of the request's own token. ``rearmed`` says whether the idle clock was set back by it."""

    progress: float
    total: float | None = None
    message: str | None = None
    rearmed: bool = True


@fact
class Completed(RequestEvent):
    """The result arrived in time. ``is_error`` is the tool's own verdict; ``size`` is the frame's, in bytes."""

    size: int = 0
    is_error: bool = False
    summary: str = ""


@fact
class Failed(RequestEvent):
    """The request ended in an error: the server's, with its ``code``, or ours, with a ``rule`` in its stead.

    Rules of ours: ``malformed``, ``oversize``, ``http``, ``mismatched-id``, ``result-type``, ``unsupported``, ``closed``,
    ``rounds`` (input was asked for again and again), ``expired`` (the server no longer knows the task).
    """

    message: str
    code: int | None = None
    origin: Origin = Origin.SERVER
    rule: str | None = None
    size: int = 0


@fact
class CancelRequested(RequestEvent):
    """A person or a limit cancelled the request. No signal was sent yet."""

    cause: Cause
    reason: str


@fact
class CancelSignalled(RequestEvent):
    """The signal was written: into the pipe, as a whole POST, or by closing the stream.

    ``answered`` says that the server owes the signal an answer: HTTP a status, ``tasks/cancel`` a response.
    """

    signal: Signal
    reason_delivered: bool
    answered: bool = False


@fact
class CancelAccepted(RequestEvent):
    """The server took the signal: its POST was answered with 2xx, or ``tasks/cancel`` with a result.

    ``detail`` is what a task settles with after it. ``sessionless``: the server gave no session, so a cancel that comes by
    a POST of its own cannot name a call of ours.
    """

    detail: str = ""
    sessionless: bool = False


@fact
class CancelUnanswered(RequestEvent):
    """The connection of the signal's POST ended without a status, so none can come any more."""

    detail: str


@fact
class CancelWithdrawn(RequestEvent):
    """The reply came while the signal was still queued: only a request in progress may be cancelled."""


@fact
class Undelivered(RequestEvent):
    """The signal could not be written, or, where it was ``refused``, the server answered it with an error (C-32)."""

    detail: str
    refused: bool = False


@fact
class Settled(RequestEvent):
    """A cancelled request is over for us. ``detail`` tells how when it was not the grace that passed."""

    detail: str = ""


@fact
class CancelDelayed(RequestEvent):
    """The signal was not written by now, and may be yet: the server does not read (C-08), or its task has no id (C-80)."""

    detail: str


@fact
class Unwatched(RequestEvent):
    """Nothing more can be heard of a cancelled request: its own stream ended or was closed (C-37), or the connection.

    ``disconnected`` says that it was the connection, soon after the cancel, and that this client did not end it. ``final``
    says that this client listens no more: what comes after that is no evidence.
    """

    detail: str = ""
    disconnected: bool = False
    final: bool = False


@fact
class Rejected(RequestEvent):
    """An error that names no request came soon after the cancel, ``after`` seconds: it most likely rejects its signal."""

    code: int | None
    after: float


@fact
class CancelledByServer(RequestEvent):
    """The server sent a cancel of this request, which only its sender may cancel (cancellation, every revision)."""


@fact
class Dropped(RequestEvent):
    """The stream of this request had something that no client reads; ``detail`` names it."""

    detail: str


@fact
class Lost(RequestEvent):
    """No answer can come any more: the server exited or the stream dropped."""

    detail: str


@fact
class Late(RequestEvent):
    """Something for a request arrived ``after`` seconds after its cancel was written, or after its loss.

    It is evidence, never a result. Where the time can only be bounded, ``after`` is the least and ``most`` the most.
    Of progress, ``longest`` is the longest interval so far in seconds, and ``progress`` the value, ``None`` if that is no
    number. ``after_end`` says that this client listened no more and only its closing made the server send it. ``partial``:
    it is the beginning of an answer, of ``size`` bytes, whose rest did not come.
    """

    kind: Kind
    after: float
    longest: float = 0.0
    after_end: bool = False
    code: int | None = None
    summary: str = ""
    size: int = 0
    progress: float | None = None
    most: float | None = None
    partial: bool = False


@fact
class Duplicate(RequestEvent):
    """A second response to a request that had one (C-25)."""

    kind: Kind


@fact
class Overdue(RequestEvent):
    """The idle limit passed and a person is asked; at ``until`` it is cancelled automatically."""

    until: float


@fact
class Extended(RequestEvent):
    """New limits for a request in flight. ``idle_until`` is when the idle limit falls due now, if there is one."""

    limits: Limits
    idle_until: float | None = None


@fact
class Paused(RequestEvent):
    """Both clocks stopped: a person is being asked on the server's behalf (C-68)."""


@fact
class Resumed(RequestEvent):
    """Both clocks run again."""


# -- more than one message for one request ---------------------------------------------------------------------


@fact
class InputRequired(RequestEvent):
    """The server asks for input before it goes on: this round of the request is over (multi round-trip, 2026-07-28).

    ``round`` counts from 1; ``asks`` are the methods of what is asked for, none where the server wants a retry alone.
    """

    round: int
    asks: str = ""
    size: int = 0


@fact
class Round(RequestEvent):
    """The request goes out once more, under the id ``wire_id``; it stays the same row. ``why`` says what for."""

    wire_id: RequestId
    number: int
    why: str = ""


@fact
class TaskCreated(RequestEvent):
    """The server made a task of the request. ``ttl`` and ``poll`` are in seconds.

    ``core`` tells the tasks of 2025-11-25 from those of the extension of 2026-07-28.
    """

    task_id: str
    status: str = ""
    message: str = ""
    ttl: float | None = None
    poll: float | None = None
    core: bool = False


@fact
class TaskStatus(RequestEvent):
    """The server said something new about the request's task."""

    status: str
    message: str = ""
    ttl: float | None = None
    poll: float | None = None


@fact
class Polled(RequestEvent):
    """The server said of the request's task what it had said before: it is alive."""


@fact
class Acknowledged(RequestEvent):
    """The server acknowledged a subscription; ``filter`` is what it agreed to tell, as JSON."""

    filter: str = ""


@fact
class Delivered(RequestEvent):
    """A notification came on a subscription; ``about`` is the resource it is about, where there is one."""

    method: str
    about: str = ""


# -- the server's requests and notifications -------------------------------------------------------------------


@fact
class ServerRequestReceived(Event):
    """The server sent a request of its own. ``parent`` is the request of ours that it belongs to, where that is known."""

    request_id: RequestId
    method: str
    parent: RequestId | None = None


@fact
class ServerRequestAnswered(Event):
    """We answered the server's request: ``code`` is ``None`` for a result. ``how`` is an elicitation's action, or why."""

    request_id: RequestId
    code: int | None = None
    how: str = ""


@fact
class ServerRequestWithdrawn(Event):
    """The server cancelled its own request; no answer leaves (C-50)."""

    request_id: RequestId
    reason: str = ""


@fact
class Log(Event):
    """A ``notifications/message``. ``data`` is its text, or its JSON as text, shortened."""

    level: str
    data: str
    logger: str = ""


@fact
class Notified(Event):
    """Any other notification of the server; ``about`` is the resource it is about, where there is one."""

    method: str
    about: str = ""


# -- what fits nowhere else, and is shown all the same ---------------------------------------------------------


@fact
class Unknown(Event):
    """A response to no request of ours (C-26). ``response_id`` is as it came, ``None`` where it had none.

    A text of many characters is cut, and a number of many digits told in words. ``id_type`` is the JSON type of the id,
    ``missing`` where there was none. ``cancelled`` is the request of ours whose cancel was written last, ``after``
    seconds before, where that may be what the server rejects: it did not name it.
    """

    response_id: RequestId | float | bool | None
    kind: Kind
    id_type: str = ""
    code: int | None = None
    message: str = ""
    cancelled: RequestId | None = None
    after: float | None = None


@fact
class Violation(Event):
    """A side broke a rule of the protocol: the server, or the client that a tap listens to.

    ``id`` names the client's request where there is one, ``by`` the side that broke the rule. ``count`` says how often it
    broke this rule for this request by now: of many, not each is told.

    Rules that the ledger tells: ``batch``, ``dropped``, ``duplicate-request-id``, ``foreign-stream``, ``input-required``,
    ``late-response``, ``malformed``, ``malformed-progress``, ``malformed-response``, ``mismatched-id``,
    ``not-acknowledged``, ``progress-not-increasing``, ``progress-token-type``, ``response-before-request``,
    ``response-id-type``, ``server-cancelled``, ``server-request``, ``stray-progress``, ``subscription``,
    ``task-after-cancel``, ``task-mismatch``, ``task-status``, ``undeclared-capability``, ``unknown-progress-token``.
    Of a client: ``cancel-direction``, ``cancel-initialize``, ``cancel-kind``, ``cancel-of-a-stream``, ``cancel-of-a-task``,
    ``cancel-over``, ``cancel-repeated``, ``cancel-unknown``, ``answer-repeated``, ``answer-unknown``,
    ``answer-withdrawn``, ``batch``, ``malformed``, ``progress-token-reused``, ``request-id-reused``.
    """

    rule: str
    detail: str
    id: RequestId | None = None
    count: int = 1
    by: Origin = Origin.SERVER


@fact
class Pollution(Event):
    """A line on stdout that is not JSON."""

    line: str


@fact
class Oversize(Event):
    """A message above the cap was dropped. ``bytes`` is its whole size where that is known."""

    bytes: int
    id: RequestId | None = None


@fact
class Stderr(Event):
    """A line that the server wrote to its stderr."""

    line: str


@fact
class Note(Event):
    """Something the client did or noticed about the connection, in words (spawn, probe, fallback, exit)."""

    text: str


@fact
class Suspended(Event):
    """The process was suspended for ``seconds``: stopped, starved of the processor, or with its event loop blocked.

    Messages that were read right after it may have come at any time in it.
    """

    seconds: float


@fact
class Degraded(Event):
    """The connection is there, and cannot do something any more until a person reconnects, which ``detail`` says."""

    detail: str


@fact
class ProcessesEnded(Event):
    """Processes that the server had started still ran when it ended, or was ended: they were ended too."""

    count: int


@fact
class Connected(Event):
    """The connection is ready. ``server`` is name and version as the server gives them.

    ``client`` is the same of the client that a tap listens to; empty for mcp-tui itself.
    """

    transport: str
    revision: str
    server: str
    pid: int | None = None
    client: str = ""


@fact
class Disconnected(Event):
    """The connection is gone; everything in flight was lost before this.

    ``expected`` is true where this client ended it. ``after`` is the time since the last cancel in seconds, where there
    was one, and ``ids`` are the requests that were in flight, or cancelled and not answered.
    """

    detail: str
    expected: bool = False
    after: float | None = None
    ids: tuple[RequestId, ...] = ()
