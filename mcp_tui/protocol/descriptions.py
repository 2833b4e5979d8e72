"""The table that turns events into words and JSON, for the screen, headless commands, and exports.

A new event class needs one entry in :data:`DESCRIPTIONS`. Words are one line with the server's text unchanged, so
callers must clean it. Scripts rely on the JSON of ``--json``, so its members must not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import cache
from json import dumps
from typing import Any, Final, TypeVar

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.states import KIND_WORDS, Kind, Origin, RequestId, Signal
from mcp_tui.protocol.units import after_words, limit, number, rejected_words, size, span, unpainted

E = TypeVar("E", bound=ev.Event)

IN: Final = "←"
OUT: Final = "→"
HERE: Final = "!"
"""The direction of an event: from the server, to the server, or local."""

BRIEF_CHARACTERS: Final = 240
"""The maximum number of characters of a server's text inside a sentence."""

LINE_CHARACTERS: Final = 4000
"""The maximum number of characters of a line of the server's log or stderr."""


class Description:
    """The words, style, and JSON of one event class.

    ``words``, ``arrow``, ``tone``, and ``headless`` are constants or functions of the event. ``source`` is the column
    in the session's log; events without it appear only in a request's history or in the journal. ``tone`` is the name
    of a style. ``headless`` says whether headless commands print the event. ``repeats`` marks events that a server
    can cause endlessly, so a history drops the oldest. ``named_by_server`` has the fields with names or ids that the
    server chose, which may contain secrets.

    ``json`` is the name of the event and its members, each ``key`` or ``key=field``. A final ``?`` writes an empty
    value as null, and ``!`` leaves out ``None``. ``more`` returns further members.
    """

    def __init__(
        self,
        kind: type[E],
        words: Callable[[E], str] | str,
        arrow: Callable[[E], str] | str = HERE,
        tone: Callable[[E], str] | str = "",
        *,
        source: str = "",
        headless: Callable[[E], bool] | bool = False,
        repeats: bool = False,
        named_by_server: str = "",
        json: str = "",
        more: Callable[[E], dict[str, Json]] = lambda _: {},
    ) -> None:
        self.kind: Final = kind
        self.words, self.arrow, self.tone, self.headless = map(_made, (words, arrow, tone, headless))
        self.source: Final = source
        self.repeats: Final = repeats
        self.named_by_server: Final = tuple(named_by_server.split())
        self.event, *members = json.split() or [""]
        parsed = (re.fullmatch(r"(\w+)=?(\w*)([?!]?)", member) for member in members)
        self.members: Final = [(match[1], match[2] or match[1], match[3]) for match in parsed if match]
        self.more: Final[Callable[[Any], dict[str, Json]]] = more


def describe(event: ev.Event) -> Description:
    """Returns the entry of an event's class."""
    return DESCRIPTIONS[type(event)]


def as_json(event: ev.Event) -> dict[str, Any] | None:
    """Returns the event as ``--json`` prints it, without its time; ``None`` for an event that is not printed."""
    description = DESCRIPTIONS[type(event)]
    if not description.event:
        return None
    made: dict[str, Any] = {"event": description.event}
    for key, field, empty in description.members:
        value = getattr(event, field)
        if empty == "!" and value is None:
            continue
        if isinstance(value, Enum):
            value = value.value
        elif key == "after":
            value = round(value, 6)
        made[key] = (value or None) if empty == "?" else value
    return made | description.more(event)


def about(event: ev.Event) -> RequestId | None:
    """Returns the id of our request that an event belongs to, or ``None``."""
    return getattr(event, "id", None)


@cache
def name_of(kind: type[Any]) -> str:
    """Returns the name of an event class in recordings: ``cancel_requested``."""
    if kind is ev.Suspended:
        return "stood_still"  # existing recordings use the former name
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


# -- the table -------------------------------------------------------------------------------------------------


def _made(value: Any) -> Callable[[Any], Any]:
    return value if callable(value) else lambda _: value


def _cut(text: str, limit: int = BRIEF_CHARACTERS) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def _join(*parts: str, by: str = " ") -> str:
    return by.join(part for part in parts if part)


RESPONSE_NAMES: Final = {**KIND_WORDS, Kind.PROGRESS: "progress", Kind.OVERSIZE: "oversize response"}
"""The names of the kinds of responses."""

_SIGNALLED: Final = {
    Signal.NOTIFICATION: "cancel sent via notifications/cancelled",
    Signal.STREAM_CLOSED: "cancel sent by closing the stream",
    Signal.TASKS_CANCEL: "cancel sent via tasks/cancel",
    Signal.NONE: "nothing was sent to the server",
}

_LOUD: Final = {
    "emergency": "error",
    "alert": "error",
    "critical": "error",
    "error": "error",
    "warning": "warning",
}


def _progress(event: ev.Progress) -> str:
    total = "" if event.total is None else f" of {number(event.total)}"
    far = f"{number(event.progress)}{total}"
    message = "" if event.message == far else _cut(event.message or "")
    odd = "" if event.rearmed else "(progress did not increase)"
    return _join("progress", far, message, odd)


def _failed(event: ev.Failed) -> str:
    if event.origin is Origin.SERVER:
        return _join("error", str(event.code), _cut(event.message))
    return _join(_cut(event.rule or "failed"), _cut(event.message), by=": ")


def repeat_words(event: ev.Repeat) -> str:
    """Returns the words for a repeated call: ``repeats 2, whose result came at +2.0 s and was never delivered``."""
    of = f"repeats {_cut(str(event.repeat_of), 40)}" + (
        f" of {_cut(event.session, 80)}" if event.session else ""
    )
    if event.first_outcome in _STILL_RUNNING:
        return f"{of}, which was still running"
    if event.first_after is not None:
        kind = event.first_outcome.removeprefix("late_").replace("_", " ")
        return f"{of}, whose {_cut(kind)} came at +{event.first_after:.1f} s and was never delivered"
    return f"{of}, of which nothing more was seen"


_STILL_RUNNING: Final = ("running", "still_progressing")


def guard_words(event: ev.Guarded) -> str:
    """Returns the words for an action of the guard of a tap: ``not sent, got the answer to 2``."""
    return _GUARD_WORDS.get(event.how, "{}").format(_cut(str(event.other), 40))


_GUARD_WORDS: Final = {
    "sent": "guarded: an equal call is not sent while the outcome is unknown",
    "waits": "not sent, waits for the answer to {}",
    "given": "not sent, got the answer to {}",
    "refused": "not sent, because the outcome of {} is unknown",
    "passed_on": "its answer went to {}",
}


def _late(event: ev.Late) -> str:
    code = "" if event.code is None else str(event.code)
    bytes_ = size(event.size) if event.size else ""
    at = after_words(event.after, event.most)
    name = "half of an answer" if event.partial else f"late {RESPONSE_NAMES[event.kind]}"
    text = _join(name, code, bytes_, _cut(event.summary), at)
    return f"{text}, after the end of watching" if event.after_end else f"{text}, ignored"


def _late_json(event: ev.Late) -> dict[str, Json]:
    made: dict[str, Json] = {}
    if event.kind is Kind.OVERSIZE or event.partial:
        made["bytes"] = event.size
    if event.partial:
        made["partial"] = True
    if event.most is not None:
        made["most"] = round(event.most, 6)
    return made


def _cancel_requested(event: ev.CancelRequested) -> str:
    return _join(f"cancel requested by {event.cause.value.replace('_', ' ')}", _cut(event.reason), by=": ")


def _answered(event: ev.ServerRequestAnswered) -> str:
    how = "with a result" if event.code is None else f"with error {event.code}"
    return f"answered {_cut(str(event.request_id), 40)} {how}"


def _unknown(event: ev.Unknown) -> str:
    code = "" if event.code is None else f" ({event.code})"
    if event.cancelled is not None:
        return f"{rejected_words(event.code, event.after or 0.0)} of {event.cancelled}"
    name = "no id" if event.id_type == "missing" else f"the id {_cut(dumps(event.response_id), 80)}"
    return f"{RESPONSE_NAMES[event.kind]}{code} for no request of ours: {name}"


def _unknown_json(event: ev.Unknown) -> dict[str, Json]:
    made: dict[str, Json] = {}
    if event.code is not None:
        made |= {"code": event.code, "message": event.message}
    if event.cancelled is not None:
        made |= {"cancelled": event.cancelled, "after": round(event.after or 0.0, 6)}
    return made


def ended_words(count: int) -> str:
    """Returns the words for processes of the server that were still running after it and were ended."""
    what = (
        "process of the server was still running and was"
        if count == 1
        else "processes of the server were still running and were"
    )
    return f"{count:,} {what} ended"


def _disconnected(event: ev.Disconnected) -> str:
    after = "" if event.after is None or event.expected else f" ({span(event.after)} after the last cancel)"
    return f"disconnected: {_cut(event.detail, LINE_CHARACTERS)}{after}"


def _disconnected_json(event: ev.Disconnected) -> dict[str, Json]:
    after = None if event.after is None else round(event.after, 6)
    return {"after": after, "ids": list(event.ids)}


CLAUSES: Final = {
    "answer-repeated": "MUST: Base protocol, Responses; inferred",
    "answer-unknown": "MUST: Base protocol, Responses",
    "answer-withdrawn": "SHOULD NOT: Cancellation, Behavior Requirements",
    "batch": "MUST: Base protocol, Messages; inferred",
    "cancel-direction": "MUST: Cancellation, Behavior Requirements",
    "cancel-initialize": "MUST NOT: Cancellation, Behavior Requirements",
    "cancel-kind": "MUST: Cancellation, Cancellation Flow; inferred",
    "cancel-of-a-stream": "MUST: Streamable HTTP, Cancellation",
    "cancel-of-a-task": "MUST: Tasks, Task Cancellation",
    "cancel-over": "MUST: Cancellation, Behavior Requirements",
    "cancel-repeated": "MUST: Cancellation, Behavior Requirements; inferred",
    "cancel-unknown": "MUST: Cancellation, Behavior Requirements",
    "initialize-revision": "MUST: Base protocol, Per-request protocol fields; inferred",
    "malformed": "MUST: Base protocol, Messages",
    "progress-token-reused": "MUST: Progress, Progress Flow",
    "request-id-reused": "MUST NOT: Base protocol, Requests",
}
"""The level and the clause of each rule that a client can break."""


def _violation(event: ev.Violation) -> str:
    times = f"×{event.count}" if event.count > 1 else ""
    text = f"{_cut(event.rule)}: {_cut(event.detail, LINE_CHARACTERS)}"
    # Most violations are the server's, so only the client is named.
    if event.by is Origin.SERVER:
        return _join(text, times)
    return _join("by the client:", text, f"({CLAUSES[event.rule]})" if event.rule in CLAUSES else "", times)


def _violation_json(event: ev.Violation) -> dict[str, Json]:
    return {} if event.by is Origin.SERVER else {"by": "client", "clause": CLAUSES.get(event.rule)}


# fmt: off
_DESCRIPTION_TABLE: Final = (
    # -- the life of one of our requests
    Description(ev.Called, "queued", HERE, "queued"),
    Description(ev.Repeat, repeat_words, HERE, "warning", headless=True,
                json="repeat id repeat_of first_outcome first_after session?"),
    Description(ev.Guarded, guard_words, HERE),
    Description(ev.Sent, "sent", OUT, json="sent id"),
    Description(ev.Progress, _progress, IN, headless=True, repeats=True, json="progress id progress total message"),
    Description(ev.Completed, lambda e: _join("result", size(e.size) if e.size else ""), IN, "success"),
    Description(ev.Failed, _failed, lambda e: IN if e.origin is Origin.SERVER else HERE, "error"),
    Description(ev.CancelRequested, _cancel_requested, HERE, "warning", headless=True,
                json="cancel_requested id cause reason"),
    Description(ev.CancelSignalled, lambda e: _SIGNALLED[e.signal],
                lambda e: HERE if e.signal is Signal.NONE else OUT, "warning", headless=True,
                json="cancel_signalled id signal reason_delivered"),
    Description(ev.CancelAccepted, lambda e: f"cancel accepted{' by a server without sessions' * e.sessionless}",
                IN, "muted", headless=True, json="cancel_accepted id",
                more=lambda e: {"sessionless": True} if e.sessionless else {}),
    Description(ev.CancelUnanswered, lambda e: f"cancel sent, no status: {_cut(e.detail)}", HERE, "warning", headless=True,
                json="cancel_unanswered id detail"),
    Description(ev.CancelWithdrawn, "cancel withdrawn: the reply came first", headless=True,
                json="cancel_withdrawn id"),
    Description(ev.Undelivered,
                lambda e: f"cancel {'refused' if e.refused else 'not delivered'}: {_cut(e.detail)}",
                lambda e: IN if e.refused else HERE, "error", headless=True, repeats=True, json="undelivered id detail"),
    Description(ev.Settled, lambda e: _join("no longer watched", _cut(e.detail), by=": "), HERE, "muted",
                json="settled id detail?"),
    Description(ev.CancelDelayed, lambda e: f"cancel not sent yet: {_cut(e.detail)}", HERE, "warning", headless=True,
                repeats=True, json="cancel_delayed id detail"),
    Description(ev.Unwatched, lambda e: _join("its later messages cannot be seen", _cut(e.detail), by=": "), HERE, "muted"),
    Description(ev.Rejected, lambda e: rejected_words(e.code, e.after), IN, "warning", repeats=True),
    Description(ev.CancelledByServer, "cancelled by the server, which only its sender may do", IN, "warning", repeats=True),
    Description(ev.Dropped, lambda e: f"dropped: {_cut(e.detail)}", IN, "warning", repeats=True),
    Description(ev.Lost, lambda e: f"lost: {_cut(e.detail)}", HERE, "error"),
    Description(ev.Late, _late, IN, "late", headless=lambda e: e.kind is not Kind.PROGRESS,
                json="late id kind after code!",
                more=_late_json),
    Description(ev.Duplicate, lambda e: f"{RESPONSE_NAMES[e.kind]} again, ignored", IN, "warning", source="duplicate",
                headless=True, repeats=True, json="duplicate id kind"),
    Description(ev.Overdue, "overdue: you are asked", HERE, "warning", repeats=True),
    Description(ev.Extended, lambda e: f"limits now {limit(e.limits.timeout)}, max {limit(e.limits.max_timeout)}",
                repeats=True),
    Description(ev.Paused, "timers paused: waiting for you", HERE, "muted", repeats=True),
    Description(ev.Resumed, "clocks run again", HERE, "muted", repeats=True),
    # -- more than one message for one request
    Description(ev.InputRequired, lambda e: f"input required, round {e.round}: {_cut(e.asks) or 'to try again'}", IN,
                "awaiting-input", headless=True, json="input_required id round asks"),
    Description(ev.Round, lambda e: _join(f"round {e.number}, id {_cut(str(e.wire_id), 40)}", _cut(e.why), by=": "),
                headless=True, json="round id round=number wire_id"),
    Description(ev.TaskCreated, lambda e: _join("task", _cut(e.task_id, 80), _cut(e.status, 40)), IN, headless=True,
                json="task id task_id status message?"),
    Description(ev.TaskStatus, lambda e: _join("task is", _cut(e.status, 40).replace("_", " "), _cut(e.message)), IN,
                headless=True, repeats=True, json="task id status message?"),
    Description(ev.Polled, "task unchanged", IN, "muted", repeats=True),
    Description(ev.Acknowledged, lambda e: _join("subscription acknowledged", _cut(e.filter), by=": "), IN,
                "success", headless=True, json="acknowledged id filter"),
    Description(ev.Delivered, lambda e: _join("told:", _cut(e.method, 80), _cut(e.about)), IN, headless=True,
                repeats=True, json="delivered id method uri=about?"),
    # -- the server's requests and notifications
    Description(ev.ServerRequestReceived, lambda e: f"asks {_cut(e.method, 80)} ({_cut(str(e.request_id), 40)})", IN,
                source="server", headless=lambda e: e.method != "ping", named_by_server="method request_id",
                json="question request_id method"),
    Description(ev.ServerRequestAnswered, _answered, OUT, source="client", named_by_server="request_id",
                json="answered request_id code"),
    Description(ev.ServerRequestWithdrawn,
                lambda e: f"takes back {_cut(str(e.request_id), 40)}: {_cut(e.reason) or 'no reason'}", IN,
                source="server", headless=True, named_by_server="request_id", json="withdrawn request_id reason?"),
    Description(ev.Log, lambda e: _join(_cut(e.level, 20), _cut(e.logger, 60), _cut(unpainted(e.data), LINE_CHARACTERS)), IN,
                lambda e: _LOUD.get(e.level, ""), source="log", headless=True, json="log level logger? data"),
    Description(ev.Notified, lambda e: _join(_cut(e.method), _cut(e.about, LINE_CHARACTERS)), IN, source="server",
                named_by_server="method"),
    # -- the connection
    Description(ev.Unknown, _unknown, IN, "warning", source="unknown", headless=True, named_by_server="response_id",
                json="unknown response_id id_type kind", more=_unknown_json),
    Description(ev.Violation, _violation, lambda e: IN if e.by is Origin.SERVER else OUT, "warning", source="violation",
                headless=True, json="violation id rule detail", more=_violation_json),
    Description(ev.Pollution, lambda e: f"not JSON on stdout: {_cut(unpainted(e.line), LINE_CHARACTERS)}", IN, "warning",
                source="pollution", headless=True, json="pollution line"),
    Description(ev.Oversize, lambda e: f"a message of {size(e.bytes)} was dropped: above the cap", IN, "error",
                source="oversize", headless=True, json="oversize id bytes"),
    Description(ev.Stderr, lambda e: _cut(unpainted(e.line), LINE_CHARACTERS), IN, source="stderr", headless=True,
                json="stderr line"),
    Description(ev.Note, lambda e: _cut(e.text, LINE_CHARACTERS), source="client"),
    Description(ev.Suspended, lambda e: f"mcp-tui was suspended for {e.seconds:.1f} s", HERE, "warning", source="client",
                headless=True, json="stood_still seconds"),
    Description(ev.Degraded, lambda e: _cut(e.detail, LINE_CHARACTERS), HERE, "warning", source="client", headless=True,
                json="degraded detail"),
    Description(ev.ProcessesEnded, lambda e: ended_words(e.count), HERE, "warning", source="client"),
    Description(ev.Connected,
                lambda e: (f"connected: {_join(_cut(e.server), _cut(e.transport, 20), _cut(e.revision, 20), by=', ')}"
                           f"{' by ' * bool(e.client)}{_cut(e.client)}"),
                HERE, "success", source="client", json="connected transport revision server"),
    Description(ev.Disconnected, _disconnected, HERE,
                lambda e: "muted" if e.expected else "error", source="client", headless=True,
                json="disconnected detail", more=_disconnected_json),
)
# fmt: on

DESCRIPTIONS: Final[dict[type[ev.Event], Description]] = {each.kind: each for each in _DESCRIPTION_TABLE}
"""The description of each event class."""

REPEATING: Final = frozenset(kind for kind, each in DESCRIPTIONS.items() if each.repeats)
"""The event classes that a server can cause endlessly."""

WARNINGS: Final = (ev.Violation, ev.Pollution, ev.Duplicate, ev.Unknown, ev.Oversize)
"""The event classes that occur only if a side breaks a rule."""

LOGGED: Final = frozenset(kind for kind, each in DESCRIPTIONS.items() if each.source)
"""The event classes that are lines of the session's log."""
