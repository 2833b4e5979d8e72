"""The rules of the probe: what each asks of a server, how strongly, and where the specification says so.

The words *MUST* and *SHOULD* are the specification's unless a clause is marked as *inferred*: then nothing says it in so
many words, and it is our reading of what a server owes. Whatever the level of a rule, a server that exits, loses its
session or leaves the next call unanswered fails it: no client can work with that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from mcp_tui.protocol.revisions import LATEST, LATEST_HANDSHAKE, Era, Revision


class Level(Enum):
    """How strongly a rule asks."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


@dataclass(frozen=True, slots=True)
class Clause:
    """A place in the specification. ``inferred``: it does not say so literally."""

    level: Level
    name: str
    inferred: bool = False

    def text(self, revision: str) -> str:
        """The clause as a report names it."""
        return f"{self.name} ({revision})" + (", inferred" if self.inferred else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule. ``handshake`` and ``modern`` are its clauses in each era, ``None`` where it has nothing to say there.

    ``over_http`` stands for ``modern`` where the transport is streamable HTTP.
    """

    id: str
    title: str
    handshake: Clause | None = None
    modern: Clause | None = None
    over_http: Clause | None = None

    def clause(self, revision: Revision, transport: str) -> Clause:
        """The clause that holds, or the other era's where the rule says nothing in this one."""
        if revision.modern and transport == "http" and self.over_http is not None:
            return self.over_http
        first, second = self.handshake, self.modern or self.over_http
        if revision.era is Era.MODERN:
            first, second = second, first
        found = first or second
        assert found is not None
        return found

    def fields(self) -> dict[str, object]:
        """The rule for programs: its clause in the era in which it has one, and what differs in 2026-07-28."""
        made: dict[str, object] = {"id": self.id, "title": self.title}
        newer = self.modern or self.over_http
        first = self.handshake or newer
        assert first is not None
        made.update(_fields(first, LATEST_HANDSHAKE if self.handshake else LATEST))
        made["modern"] = None if newer is None or first is newer else _fields(newer, LATEST)
        return made


def _fields(clause: Clause, revision: Revision) -> dict[str, object]:
    return {"level": clause.level.value, "clause": clause.text(revision.name), "inferred": clause.inferred}


_BEHAVIOR: Final = Clause(Level.SHOULD, "Cancellation, Behavior Requirements")
_NOTHING_MORE: Final = Clause(Level.MUST, "stdio, Cancellation")
_NOTHING_MORE_HTTP: Final = Clause(Level.MUST, "Streamable HTTP, Cancellation")
SURVIVES: Final = Clause(Level.MUST, "Cancellation", inferred=True)
"""A server outlives whatever it is told to stop. It fails every rule whose experiment it does not outlive."""
UNANSWERED: Final = Clause(Level.MUST, "Base protocol, Notifications")
"""A notification gets no response."""
_INVALID: Final = Clause(Level.SHOULD, "Cancellation, Error Handling")
_INVALID_HTTP: Final = Clause(Level.SHOULD, "Cancellation, Error Handling", inferred=True)

_FREED: Final = Clause(Level.SHOULD, "Cancellation, Behavior Requirements", inferred=True)
_ONCE: Final = Clause(Level.MUST, "Base protocol, Responses", inferred=True)
_LEFT: Final = Clause(Level.SHOULD, "Lifecycle, Shutdown", inferred=True)

_TABLE: Final = (
    Rule(
        id="P-01",
        title="a call that is cancelled mid-work gets no response",
        handshake=_BEHAVIOR,
        modern=_NOTHING_MORE,
        over_http=_NOTHING_MORE_HTTP,
    ),
    Rule(
        id="P-02",
        title="it reports no more progress",
        handshake=_BEHAVIOR,
        modern=_NOTHING_MORE,
        over_http=_NOTHING_MORE_HTTP,
    ),
    Rule(id="P-03", title="its work stops", handshake=_BEHAVIOR, modern=_BEHAVIOR),
    Rule(id="P-04", title="the next call works", handshake=SURVIVES, modern=SURVIVES),
    Rule(
        id="P-05",
        title="a call that is cancelled at once: nothing more comes for it",
        handshake=_BEHAVIOR,
        modern=_NOTHING_MORE,
        over_http=_NOTHING_MORE_HTTP,
    ),
    Rule(
        id="P-06",
        title="the next call works after a cancel at once",
        handshake=SURVIVES,
        modern=SURVIVES,
    ),
    Rule(
        id="P-07",
        title="a cancel at the moment of completion does no harm",
        handshake=Clause(Level.MUST, "Cancellation, Timing Considerations"),
        modern=Clause(Level.MUST, "Cancellation, Timing Considerations"),
    ),
    Rule(id="P-08", title="a second cancel of the same call is ignored", handshake=_INVALID, modern=_INVALID),
    Rule(id="P-09", title="a cancel after the response is ignored", handshake=_INVALID, modern=_INVALID),
    Rule(
        id="P-10",
        title="a cancel of an unknown id is ignored",
        handshake=_INVALID,
        modern=_INVALID,
        over_http=_INVALID_HTTP,
    ),
    Rule(
        id="P-11",
        title="malformed cancels are ignored",
        handshake=_INVALID,
        modern=_INVALID,
        over_http=_INVALID_HTTP,
    ),
    Rule(
        id="P-12",
        title="a reason that is not a string does no harm",
        handshake=_INVALID,
        modern=_INVALID,
    ),
    Rule(
        id="P-13",
        title='a cancel of "1" leaves the request 1 alone',
        handshake=Clause(Level.SHOULD, "Requests, ids", inferred=True),
        modern=Clause(Level.SHOULD, "Requests, ids", inferred=True),
    ),
    Rule(
        id="P-14",
        title="of two calls in flight the one that is not cancelled is unharmed",
        handshake=SURVIVES,
        modern=SURVIVES,
    ),
    Rule(
        id="P-15",
        title="a cancel of initialize is ignored",
        handshake=_INVALID,
    ),
    Rule(
        id="P-16",
        title="a call that times out ends like one that is cancelled",
        handshake=Clause(Level.SHOULD, "Lifecycle, Timeouts; Cancellation, Behavior Requirements"),
        modern=_NOTHING_MORE,
        over_http=_NOTHING_MORE_HTTP,
    ),
    Rule(
        id="P-17",
        title="a disconnect is not taken for a cancel",
        handshake=Clause(Level.SHOULD, "Transports, Sending Messages to the Server"),
    ),
    Rule(
        id="P-18",
        title="closing the response stream cancels the call",
        over_http=_NOTHING_MORE_HTTP,
    ),
    Rule(
        id="P-19",
        title="notifications/cancelled over HTTP has no effect",
        over_http=Clause(Level.SHOULD, "Streamable HTTP, Cancellation", inferred=True),
    ),
    Rule(
        id="P-20",
        title="tasks/cancel ends a task",
        handshake=Clause(Level.MUST, "Tasks, Task Cancellation"),
        modern=Clause(Level.SHOULD, "Tasks extension, Task Cancellation"),
    ),
    Rule(
        id="P-21",
        title="the server exits when its stdin is closed, a request in flight or not",
        handshake=Clause(Level.SHOULD, "Lifecycle, Shutdown", inferred=True),
        modern=Clause(Level.SHOULD, "stdio, Shutdown"),
    ),
    Rule(
        id="P-22",
        title="no request is answered twice",
        handshake=_ONCE,
        modern=_ONCE,
    ),
    Rule(
        id="P-23", title="a call with the id 0 is cancelled like any other", handshake=_FREED, modern=_FREED
    ),
    Rule(
        id="P-24",
        title="the response stream of a cancelled call ends",
        handshake=Clause(Level.SHOULD, "Cancellation, Behavior Requirements", inferred=True),
    ),
    Rule(
        id="P-25",
        title="the POST of a cancel is accepted while the tool works",
        handshake=Clause(Level.SHOULD, "Streamable HTTP, Sending Messages to the Server", inferred=True),
    ),
    Rule(
        id="P-26",
        title="a second cancel brings no second response",
        handshake=_ONCE,
        modern=_ONCE,
    ),
    Rule(
        id="P-27",
        title="a call and its cancel in one write: nothing more comes for it",
        handshake=_BEHAVIOR,
        modern=_NOTHING_MORE,
    ),
    Rule(
        id="P-28",
        title="DELETE of the session with a call in flight harms no other session",
        handshake=SURVIVES,
    ),
    Rule(id="P-29", title="the server exits when its client is killed", handshake=_LEFT, modern=_LEFT),
    Rule(
        id="P-30",
        title="the server survives an unread stderr",
        handshake=Clause(Level.SHOULD, "Transports, stdio", inferred=True),
        modern=Clause(Level.SHOULD, "stdio, stderr", inferred=True),
    ),
    Rule(
        id="P-31",
        title="the server exits when its wrapper is killed and its stdin closed",
        handshake=_LEFT,
        modern=_LEFT,
    ),
    Rule(
        id="P-32",
        title="stdout carries nothing but messages",
        handshake=Clause(Level.MUST, "Transports, stdio"),
        modern=Clause(Level.MUST, "stdio, Messages"),
    ),
)

RULES: Final[dict[str, Rule]] = {rule.id: rule for rule in _TABLE}
"""Every rule by its id, in the order of a report. An id, once given, never means another rule."""
