"""The rules of the probe, with their levels and their clauses in the specification.

The words *MUST* and *SHOULD* are the specification's, unless a clause is marked as *inferred*, which means derived from the
specification. A server that exits, loses its session, or does not answer the next call fails a rule of any level, because
no client can work with such a server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from functools import partial
from typing import Final

from mcp_tui.protocol.revisions import LATEST, LATEST_HANDSHAKE, Revision
from mcp_tui.protocol.values import frozen


class Strength(Enum):
    """The strength of a rule."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


@frozen
class Clause:
    """A place in the specification. ``inferred`` means that the rule is derived from it, without literal words."""

    level: Strength
    name: str
    inferred: bool = False

    def text(self, revision: str) -> str:
        """Returns the clause as text for a report."""
        return f"{self.name} ({revision})" + (", inferred" if self.inferred else "")

    def fields(self, revision: Revision) -> dict[str, object]:
        """Returns the clause for JSON."""
        return {"level": self.level.value, "clause": self.text(revision.name), "inferred": self.inferred}


@dataclass(slots=True, kw_only=True, eq=False)
class ProbedServer:
    """The facts about a server that decide whether a rule applies.

    ``transport`` is ``stdio``, ``http``, or ``sse``. ``session`` says whether the server opened an HTTP session.
    ``no_tasks`` is the reason why there is no task to cancel; empty if there may be one.
    """

    transport: str
    revision: Revision
    session: bool = False
    no_tasks: str = ""

    @property
    def modern_http(self) -> bool:
        """Whether closing a stream is the cancel."""
        return self.revision.modern and self.transport == "http"


def _by_notification(server: ProbedServer) -> str:
    return "over HTTP in 2026-07-28 a cancel is not a notification" if server.modern_http else ""


def _handshake(server: ProbedServer) -> str:
    return "2026-07-28 has no initialize" if server.revision.modern else ""


def _over_old_http(server: ProbedServer) -> str:
    if server.transport != "http":
        return "only over streamable HTTP does a request have a stream of its own"
    return "from 2026-07-28 on a disconnect is the cancel" if server.revision.modern else ""


def _over_new_http(server: ProbedServer) -> str:
    return "" if server.modern_http else "only over HTTP in 2026-07-28"


def _after_the_answer(server: ProbedServer) -> str:
    return "over HTTP in 2026-07-28 the stream that would be closed has ended" if server.modern_http else ""


def _over_stdio(server: ProbedServer) -> str:
    return "" if server.transport == "stdio" else "only over stdio"


def _with_session(server: ProbedServer) -> str:
    return _over_old_http(server) or ("" if server.session else "the server opens no session")


def _delivered_once(server: ProbedServer) -> str:
    if server.transport != "http":
        return "only over streamable HTTP is a request delivered twice"
    other = "the same id may be that of another client"
    if server.revision.modern:
        return f"2026-07-28 has no session, so {other}"
    return "" if server.session else f"the server opens no session, so {other}"


def _posted(server: ProbedServer) -> str:
    return _by_notification(server) or ("over stdio nothing is POSTed" if server.transport == "stdio" else "")


@frozen
class Rule:
    """A rule.

    ``handshake`` is its clause until 2025-11-25, and ``modern`` from 2026-07-28 on; ``None`` if there is none. ``over_http``
    replaces ``modern`` over streamable HTTP. ``experiment`` is the name of the experiment that judges the rule
    (`experiments.py`); empty if the whole run does. ``unless`` returns the reason why the rule does not apply to a
    server; empty if it applies.
    """

    id: str
    experiment: str
    title: str
    handshake: Clause | None = None
    modern: Clause | None = None
    over_http: Clause | None = None
    _: KW_ONLY
    unless: Callable[[ProbedServer], str] = lambda _: ""

    def clause(self, revision: Revision, transport: str) -> Clause:
        """Returns the clause for a revision, or that of the other revisions if there is none."""
        if revision.modern and transport == "http" and self.over_http is not None:
            return self.over_http
        newer = self.modern or self.over_http
        found = newer or self.handshake if revision.modern else self.handshake or newer
        assert found is not None
        return found

    def of(self, revision: Revision) -> Revision:
        """Returns the revision of the specification that has the clause of :meth:`clause`."""
        if revision.modern:
            return LATEST_HANDSHAKE if self.modern is None and self.over_http is None else revision
        return LATEST if self.handshake is None else revision

    def fields(self) -> dict[str, object]:
        """Returns the rule for JSON: its first clause, and that of 2026-07-28 if it differs."""
        newer = self.modern or self.over_http
        modern = None if newer is None else newer.fields(LATEST)
        first = modern if self.handshake is None else self.handshake.fields(LATEST_HANDSHAKE)
        assert first is not None
        differs = self.handshake is not None and newer is not self.handshake
        return {"id": self.id, "title": self.title, **first, "modern": modern if differs else None}


_must: Final = partial(Clause, Strength.MUST)
_should: Final = partial(Clause, Strength.SHOULD)

SURVIVES: Final = _must("Cancellation", inferred=True)
"""A server must survive every cancel. It fails each rule in whose experiment it does not."""
UNANSWERED: Final = _must("Base protocol, Notifications")
"""A notification gets no response."""

_BEHAVIOR: Final = _should("Cancellation, Behavior Requirements")
_FREED: Final = _should("Cancellation, Behavior Requirements", inferred=True)
_INVALID: Final = _should("Cancellation, Error Handling")
_TIMING: Final = _must("Cancellation, Timing Considerations")
_ONCE: Final = _must("Base protocol, Responses", inferred=True)
_SHUTDOWN: Final = _should("Lifecycle, Shutdown", inferred=True)
_UNIQUE: Final = Clause(Strength.MAY, "Base protocol, Requests", inferred=True)
_OWN_IDS: Final = _should("Requests, ids", inferred=True)

# The clauses of a rule until 2025-11-25, in 2026-07-28, and, if there is a third one, over HTTP in 2026-07-28.
_NOTHING_MORE: Final = (_BEHAVIOR, _must("stdio, Cancellation"), _must("Streamable HTTP, Cancellation"))
_NEXT_WORKS: Final = (SURVIVES, SURVIVES)
_INVALID_IGNORED: Final = (_INVALID, _INVALID)
_IGNORED_OVER_HTTP: Final = (*_INVALID_IGNORED, _should("Cancellation, Error Handling", inferred=True))
_TIME_OUT: Final = _should("Lifecycle, Timeouts; Cancellation, Behavior Requirements")
_EXITS: Final = (_SHUTDOWN, _SHUTDOWN)

_RULE_TABLE: Final = (
    Rule("P-01", "cancelled mid-work", "a call that is cancelled mid-work gets no response", *_NOTHING_MORE),
    Rule("P-02", "cancelled mid-work", "a cancelled call sends no more progress", *_NOTHING_MORE),
    Rule("P-03", "cancelled mid-work", "a cancelled call stops working", _BEHAVIOR, _BEHAVIOR),
    Rule("P-04", "cancelled mid-work", "the next call works", *_NEXT_WORKS),
    Rule("P-05", "cancelled at once", "a call that is cancelled at once: nothing more comes for it", *_NOTHING_MORE),
    Rule("P-06", "cancelled at once", "the next call works after a cancel at once", *_NEXT_WORKS),
    Rule("P-07", "cancelled at completion", "a cancel at the moment of completion does no harm", _TIMING, _TIMING),
    Rule("P-08", "cancelled twice", "a second cancel of the same call is ignored", *_INVALID_IGNORED,
         unless=_by_notification),
    Rule("P-09", "", "a cancel after the response is ignored", *_INVALID_IGNORED, unless=_after_the_answer),
    Rule("P-10", "an unknown id cancelled", "a cancel of an unknown id is ignored", *_IGNORED_OVER_HTTP),
    Rule("P-11", "malformed cancels", "malformed cancels are ignored", *_IGNORED_OVER_HTTP),
    Rule("P-12", "odd reasons", "a reason that is not a string does no harm", *_INVALID_IGNORED, unless=_by_notification),
    Rule("P-13", "a string cancelled for a number", 'a cancel of "1" leaves the request 1 alone', _OWN_IDS, _OWN_IDS,
         unless=_by_notification),
    Rule("P-14", "two in flight, one cancelled", "of two calls in flight the one that is not cancelled is unharmed",
         *_NEXT_WORKS),
    Rule("P-15", "initialize cancelled", "a cancel of initialize is ignored", _INVALID, unless=_handshake),
    Rule("P-16", "timed out", "a call that times out ends like one that is cancelled", _TIME_OUT, *_NOTHING_MORE[1:]),
    Rule("P-17", "disconnected", "a disconnect does not cancel",
         _should("Transports, Sending Messages to the Server"), unless=_over_old_http),
    Rule("P-18", "cancelled mid-work", "closing the response stream cancels the call", over_http=_NOTHING_MORE[2],
         unless=_over_new_http),
    Rule("P-19", "notified over HTTP", "notifications/cancelled over HTTP has no effect",
         over_http=_should("Streamable HTTP, Cancellation", inferred=True), unless=_over_new_http),
    Rule("P-20", "a task cancelled", "tasks/cancel ends a task",
         _must("Tasks, Task Cancellation"), _should("Tasks extension, Task Cancellation"),
         unless=lambda server: server.no_tasks),
    Rule("P-21", "stdin closed", "the server exits when its stdin is closed, a request in flight or not",
         _SHUTDOWN, _should("stdio, Shutdown"), unless=_over_stdio),
    Rule("P-22", "", "no request is answered twice", _ONCE, _ONCE),
    Rule("P-23", "the id 0 cancelled", "a call with the id 0 is cancelled like any other", _FREED, _FREED,
         unless=_by_notification),
    Rule("P-24", "cancelled mid-work", "the response stream of a cancelled call ends", _FREED,
         unless=_over_old_http),
    Rule("P-25", "cancelled mid-work", "the POST of a cancel is accepted while the tool works",
         _should("Streamable HTTP, Sending Messages to the Server", inferred=True), unless=_posted),
    Rule("P-26", "cancelled twice", "a second cancel brings no second response", _ONCE, _ONCE,
         unless=_by_notification),
    Rule("P-27", "called and cancelled in one write", "a call and its cancel in one write: nothing more comes for it",
         *_NOTHING_MORE[:2], unless=_over_stdio),
    Rule("P-28", "DELETE with a call in flight", "DELETE of the session with a call in flight harms no other session",
         SURVIVES, unless=_with_session),
    Rule("P-29", "the client killed", "the server exits when its client is killed", *_EXITS, unless=_over_stdio),
    Rule("P-30", "stderr broken", "the server survives an unread stderr",
         _should("Transports, stdio", inferred=True), _should("stdio, stderr", inferred=True), unless=_over_stdio),
    Rule("P-31", "the wrapper killed", "the server exits when its wrapper is killed and its stdin closed", *_EXITS,
         unless=_over_stdio),
    Rule("P-32", "", "stdout carries nothing but messages", _must("Transports, stdio"), _must("stdio, Messages"),
         unless=_over_stdio),
    Rule("P-33", "called and cancelled in one write", "a call and its cancel in one write: the tool does not work",
         _BEHAVIOR, _BEHAVIOR, unless=_over_stdio),
    Rule("P-34", "delivered twice", "a request that is delivered twice in a session runs once", _UNIQUE,
         unless=_delivered_once),
)  # fmt: skip

CANCELLED_AS_USUAL: Final = {
    **dict.fromkeys(("P-06", "P-08", "P-11", "P-14", "P-16", "P-23"), ("P-04",)),
    "P-07": ("P-04", "P-09"),
    "P-12": ("P-04", "P-14"),
    "P-27": ("P-04", "P-06"),
}
"""The rules whose experiments also cancel a call correctly, each with the rules about surviving such a cancel."""

RULES: Final[dict[str, Rule]] = {rule.id: rule for rule in _RULE_TABLE}
"""Every rule by its id, in the order of a report. The id of a removed rule is never reused."""
