"""Events: immutable facts about what happened.

A ledger and a transport make events, and :func:`mcp_tui.protocol.requests.evolve` applies them to requests. The live
screen, headless output, recordings, and replay are made from events alone. So an event has only values that can be
written to a file. Payloads stay in the frame with the number ``seq``.

``at`` is a monotonic time in seconds. ``id`` is the id of one of *our* requests. The id of a server request is called
``request_id``, because both sides choose ids independently (cancellation, every revision: same direction only).
``seq`` is the number of the journalled frame that caused the event, or 0.
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
    """A request was made and is not sent yet.

    ``name`` is the tool, the resource's URI, the prompt, or empty. ``internal`` marks a request that the client makes
    for itself (handshake, lists for the catalogue). ``parent`` is the request for which it does so, such as the task
    that is polled. ``as_task``: a task of 2025-11-25 was requested.
    """

    method: str
    name: str = ""
    limits: Limits = DEFAULT_LIMITS
    internal: bool = False
    parent: RequestId | None = None
    as_task: bool = False


@fact
class Repeat(RequestEvent):
    """The call repeats another one: it has the same tool and arguments, and its client does not know the outcome of the
    other.

    ``repeat_of`` is the other call, in the recording ``session`` if that is not this one. ``first_outcome`` is its
    outcome as known then: an outcome of its cancel, ``running``, or ``lost``. Its answer, if any, arrived
    ``first_after`` seconds after its end.
    """

    repeat_of: RequestId
    first_outcome: str
    first_after: float | None = None
    session: str = ""


@fact
class Guarded(RequestEvent):
    """The guard of a tap (``tap --once``) did not send a repeat, or passed an answer on; ``other`` is the other call.

    ``how`` is ``waits`` (for the answer to the other call), ``given`` (that answer), ``refused``, ``passed_on`` (the
    answer of this call, the first one), or ``sent`` (a call that is now guarded).
    """

    how: str
    other: RequestId | None = None


@fact
class Sent(RequestEvent):
    """The last byte of the request was passed to the operating system; its clocks start here."""


@fact
class Progress(RequestEvent):
    """Progress with the token of the request. ``rearmed``: it restarted the timeout."""

    progress: float
    total: float | None = None
    message: str | None = None
    rearmed: bool = True


@fact
class Completed(RequestEvent):
    """The result arrived in time. ``is_error`` is the tool's own verdict; ``size`` is the size of the frame in bytes."""

    size: int = 0
    is_error: bool = False
    summary: str = ""


@fact
class Failed(RequestEvent):
    """The request failed: by an error of the server with a ``code``, or by this client with a ``rule`` instead.

    Rules of this client: ``malformed``, ``oversize``, ``http``, ``mismatched-id``, ``result-type``, ``unsupported``,
    ``closed``, ``rounds`` (the server asked for input too often), ``expired`` (the server no longer knows the task).
    """

    message: str
    code: int | None = None
    origin: Origin = Origin.SERVER
    rule: str | None = None
    size: int = 0


@fact
class CancelRequested(RequestEvent):
    """A person, a timeout, a quit, a parent, or an observed client cancelled the request. No signal was sent yet."""

    cause: Cause
    reason: str


@fact
class CancelSignalled(RequestEvent):
    """The signal was written: to the pipe, as a whole POST, or by closing the stream.

    ``answered``: the server owes the signal an answer, over HTTP a status, for ``tasks/cancel`` a response.
    """

    signal: Signal
    reason_delivered: bool
    answered: bool = False


@fact
class CancelAccepted(RequestEvent):
    """The server accepted the signal: it answered the POST with 2xx, or ``tasks/cancel`` with a result.

    ``detail`` is the detail with which a task settles after that. ``sessionless``: the server assigned no session, so
    a cancel in a separate POST cannot name a call of ours.
    """

    detail: str = ""
    sessionless: bool = False


@fact
class CancelUnanswered(RequestEvent):
    """The connection of the signal's POST ended without a status, so none can arrive any more."""

    detail: str


@fact
class CancelWithdrawn(RequestEvent):
    """The reply arrived while the signal was still queued: only a request in progress may be cancelled."""


@fact
class Undelivered(RequestEvent):
    """The signal could not be written or, if ``refused``, the server answered it with an error (C-32)."""

    detail: str
    refused: bool = False


@fact
class Settled(RequestEvent):
    """A cancelled request is over for this client. ``detail`` says why, unless the grace ended."""

    detail: str = ""


@fact
class CancelDelayed(RequestEvent):
    """The signal is not written yet: the server does not read (C-08), or its task has no id (C-80)."""

    detail: str


@fact
class Unwatched(RequestEvent):
    """No more messages of a cancelled request can arrive: its own stream or the connection ended (C-37).

    ``disconnected``: the connection ended soon after the cancel, and not by this client. ``final``: this client
    stopped listening, so a later message is not evidence.
    """

    detail: str = ""
    disconnected: bool = False
    final: bool = False


@fact
class Rejected(RequestEvent):
    """An error without an id arrived ``after`` seconds after a cancel, so it probably rejects the signal."""

    code: int | None
    after: float


@fact
class CancelledByServer(RequestEvent):
    """The server sent a cancel of this request, which only its sender may cancel (cancellation, every revision)."""


@fact
class Dropped(RequestEvent):
    """The stream of this request had data that no client reads; ``detail`` names it."""

    detail: str


@fact
class Lost(RequestEvent):
    """No answer can arrive any more: the server exited, or the stream ended."""

    detail: str


@fact
class Late(RequestEvent):
    """A message for a request arrived ``after`` seconds after its cancel was written, or after its loss.

    It is evidence, never a result. If only bounds of the time are known, ``after`` is the lower and ``most`` the
    upper one. For progress, ``longest`` is the longest interval so far in seconds, and ``progress`` the value,
    ``None`` if it was not a number. ``after_end``: this client had stopped listening, and the server sent the message
    only because it closed. ``partial``: only the first ``size`` bytes of an answer arrived.
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
    """The server sent a second response to a request (C-25)."""

    kind: Kind


@fact
class Overdue(RequestEvent):
    """The timeout passed, and a person is asked; at ``until`` the request is cancelled automatically."""

    until: float


@fact
class Extended(RequestEvent):
    """A request in flight got new limits. ``idle_until`` is the new time of its timeout, if there is one."""

    limits: Limits
    idle_until: float | None = None


@fact
class Paused(RequestEvent):
    """Both clocks stopped, because a person is being asked for the server (C-68)."""


@fact
class Resumed(RequestEvent):
    """Both clocks continue."""


# -- more than one message for one request ---------------------------------------------------------------------


@fact
class InputRequired(RequestEvent):
    """The server asks for input before it continues, which ends this round of the request (multi round-trip, 2026-07-28).

    ``round`` counts from 1. ``asks`` has the methods of the questions; it is empty if the server only wants a retry.
    """

    round: int
    asks: str = ""
    size: int = 0


@fact
class Round(RequestEvent):
    """The request is sent again with the id ``wire_id``, in the same row. ``why`` is the reason."""

    wire_id: RequestId
    number: int
    why: str = ""


@fact
class TaskCreated(RequestEvent):
    """The server made the request a task. ``ttl`` and ``poll`` are in seconds.

    ``core``: a task of 2025-11-25, not of the extension of 2026-07-28.
    """

    task_id: str
    status: str = ""
    message: str = ""
    ttl: float | None = None
    poll: float | None = None
    core: bool = False


@fact
class TaskStatus(RequestEvent):
    """The server reported a new status of the request's task."""

    status: str
    message: str = ""
    ttl: float | None = None
    poll: float | None = None


@fact
class Polled(RequestEvent):
    """The server reported an unchanged status of the request's task, so it is alive."""


@fact
class Acknowledged(RequestEvent):
    """The server acknowledged a subscription; ``filter`` is the agreed filter as JSON."""

    filter: str = ""


@fact
class Delivered(RequestEvent):
    """A subscription delivered a notification; ``about`` is its resource, if any."""

    method: str
    about: str = ""


# -- the server's requests and notifications -------------------------------------------------------------------


@fact
class ServerRequestReceived(Event):
    """The server sent a request. ``parent`` is the request of ours that it belongs to, if known."""

    request_id: RequestId
    method: str
    parent: RequestId | None = None


@fact
class ServerRequestAnswered(Event):
    """A server request was answered: ``code`` is ``None`` for a result. ``how`` is an elicitation's action, or the
    reason.
    """

    request_id: RequestId
    code: int | None = None
    how: str = ""


@fact
class ServerRequestWithdrawn(Event):
    """The server cancelled its own request, so no answer is sent (C-50)."""

    request_id: RequestId
    reason: str = ""


@fact
class Log(Event):
    """The server sent ``notifications/message``. ``data`` is its text, or its JSON as text, shortened."""

    level: str
    data: str
    logger: str = ""


@fact
class Notified(Event):
    """The server sent another notification; ``about`` is its resource, if any."""

    method: str
    about: str = ""


# -- the connection, and messages that belong to no request ----------------------------------------------------


@fact
class Unknown(Event):
    """A response to none of our requests arrived (C-26). ``response_id`` is its id, or ``None``.

    A long string is cut, and a huge number is described in words. ``id_type`` is the JSON type of the id, or
    ``missing``. If the response may reject a cancel, ``cancelled`` is the request whose cancel was written last,
    ``after`` seconds before.
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
    """The server, or the client that a tap observes, broke a rule of the protocol; ``by`` says which.

    ``id`` is the client's request, if any. ``count`` is how often the side has broken this rule for this request so
    far; frequent violations are not all reported.

    The ledger reports these rules for servers: ``batch``, ``cancel-body``, ``dropped``, ``duplicate-member``,
    ``duplicate-request-id``, ``foreign-stream``, ``input-required``, ``late-response``, ``malformed``,
    ``malformed-progress``, ``malformed-response``, ``malformed-result``, ``mismatched-id``, ``not-acknowledged``,
    ``progress-not-increasing``, ``progress-token-type``, ``response-before-request``, ``response-id-type``,
    ``server-cancelled``, ``server-request``, ``stray-progress``, ``subscription``, ``task-after-cancel``,
    ``task-mismatch``, ``task-status``, ``undeclared-capability``, ``unknown-progress-token``. Of a client:
    ``cancel-direction``, ``cancel-initialize``, ``cancel-kind``, ``cancel-of-a-stream``, ``cancel-of-a-task``,
    ``cancel-over``, ``cancel-repeated``, ``cancel-unknown``, ``answer-repeated``, ``answer-unknown``,
    ``answer-withdrawn``, ``batch``, ``initialize-revision``, ``malformed``, ``progress-token-reused``,
    ``request-id-reused``.
    """

    rule: str
    detail: str
    id: RequestId | None = None
    count: int = 1
    by: Origin = Origin.SERVER


@fact
class Pollution(Event):
    """The server wrote a line to stdout that is not JSON-RPC."""

    line: str


@fact
class Oversize(Event):
    """A message above the cap was dropped. ``bytes`` is its whole size, if known."""

    bytes: int
    id: RequestId | None = None


@fact
class Stderr(Event):
    """The server wrote a line to its stderr."""

    line: str


@fact
class Note(Event):
    """The client did or noticed something about the connection (start, probe, fallback, exit); ``text`` says it in words."""

    text: str


@fact
class Suspended(Event):
    """The process was suspended for ``seconds``: stopped, without processor time, or with a blocked event loop.

    A message that was read right after that may have arrived at any time during it.
    """

    seconds: float


@fact
class Degraded(Event):
    """The connection is open, but lacks an ability until a person reconnects; ``detail`` says which."""

    detail: str


@fact
class ProcessesEnded(Event):
    """Processes that the server had started were still running after it, and were ended."""

    count: int


@fact
class Connected(Event):
    """The connection is ready. ``server`` is the name and version that the server gives.

    ``client`` is the same for the client that a tap observes; empty for mcp-tui itself.
    """

    transport: str
    revision: str
    server: str
    pid: int | None = None
    client: str = ""


@fact
class Disconnected(Event):
    """The connection ended. Every request in flight was reported as lost before this event.

    ``expected``: this client ended it. ``after`` is the time since the last cancel in seconds, if any. ``ids`` are
    the requests that were in flight, or cancelled without an answer.
    """

    detail: str
    expected: bool = False
    after: float | None = None
    ids: tuple[RequestId, ...] = ()
