"""The guard of ``tap --once``: which call is sent to the server, which waits, and which gets an answer that was given up.

It does no input or output. It is given messages, ends of connections, and the time, and returns what has to be done, so a
model-based test can try every order of them. The code that forwards bytes asks it before it sends a call, and reports the
outcome of each call.

A *repeat* is a call that is equal to an earlier one, its *first* call, and may do the same work again. What happens to it:

1. The first was answered, and its client did not get the answer: the repeat gets it.
2. The first can still be answered: the repeat waits, and gets the answer as well. Several wait together.
3. The outcome is unknown: the first was cancelled and is silent, its connection or server ended, or a tap was killed. The
   repeat gets an error that says so.
4. The server did not take the first: the repeat is sent.

An answer settles a call if it reached the client of the call or of a repeat. A server's error reply to a cancel does not:
many servers let the tool run. It is harmless to deliver the same answer twice, but not to send a call twice.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from math import inf
from time import localtime, strftime
from typing import Any, Final, NamedTuple

from mcp_tui.config.once_policy import OncePolicy
from mcp_tui.protocol import messages
from mcp_tui.protocol.json_values import as_object
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.repeats import PARALLEL_SECONDS, WINDOW_SECONDS, SafeTools, identity
from mcp_tui.protocol.revisions import META_CLIENT_INFO

SILENT_SECONDS: Final = 2.0
"""Seconds after a cancel, or after the newest progress since then, in which an answer may still come."""

CROSSING_SECONDS: Final = 1.0
"""Seconds after an answer in which a cancel shows that the client had given the call up before the answer."""

PENDING_SECONDS: Final = 0.1
"""Seconds that the tap needs to read what a client had sent before an answer passed."""

ANSWER_BYTES: Final = 1_000_000
"""The maximum size of a withheld answer, in bytes."""

KEPT_BYTES: Final = 32_000_000
"""The maximum size of all withheld answers, in bytes. The oldest are dropped first."""

CALLS: Final = 10_000
"""The maximum number of remembered calls."""

REFUSED: Final = 100
"""The number of newest refused repeats that a person can let through."""

MANY: Final = 8
"""The maximum number of tool names that are searched for in a line; with more, the guard reads each line."""

REPEAT_OF: Final = "mcp-tui/repeat-of"
"""The member of a result's ``_meta`` that names the first call, and how many seconds ago it was sent."""

NOT_SENT: Final = "mcp-tui/not-sent"
"""The member of a result's ``_meta`` that marks the result for a refused repeat."""

Json = Any
LogLine = dict[str, Json]


@dataclass(eq=False, slots=True)
class Call:
    """A call of a guarded tool. ``scope`` is where its answer goes, ``session`` the session in which its id is unique."""

    key: tuple[str, bytes]
    tool: str
    id: Json
    sent_at: float
    scope: Any = 0
    session: str = ""
    token: Json = None
    modern: bool = False
    number: int = 0
    """The number of the call in the guard's log; 0 if the log does not have it."""
    first: Call | None = None
    """The call whose answer this one waits for; this one was not sent."""
    waiting: list[Call] = field(default_factory=list["Call"])
    given_up_at: float | None = None
    cancelled_at: float | None = None
    """When a cancel was sent to the server."""
    received_at: float = 0.0
    """When its newest progress arrived after the cancel."""
    unknown: str = ""
    """Why the outcome is unknown; empty if it may still become known."""
    answer: dict[str, Json] | None = None
    size: int = 0
    answered_at: float | None = None
    state: Json = None
    """The ``requestState`` of a call that waits for input of its client."""

    def log_line(self, wall: float) -> LogLine:
        """Returns the line of the log for a call that is sent."""
        client, key = self.key
        return {"call": self.number, "key": key.hex(), "client": client, "tool": self.tool, "id": self.id,
                "at": wall + self.sent_at}  # fmt: skip

    def may_answer(self, at: float) -> bool:
        """Whether an answer can still arrive."""
        silent_since = None if self.cancelled_at is None else max(self.cancelled_at, self.received_at)
        return not self.unknown and (silent_since is None or at - silent_since < SILENT_SECONDS)


class Sent(NamedTuple):
    """The call is to be sent to the server."""

    call: Call


class Given(NamedTuple):
    """A message for the client of a call. ``last``: it is the answer. ``how`` says which kind of message it is."""

    call: Call
    message: dict[str, Json]
    last: bool
    how: str
    of: Call | None


class Outlook(NamedTuple):
    """Which calls can be sent before they are read, because they cannot be repeats."""

    free_until: float
    """The time until which no call can be a repeat."""
    tools: frozenset[str]
    """The tools whose calls can be repeats after that time."""
    is_awaited: bool
    """Whether a repeat waits for an answer."""
    is_open: bool
    """Whether an answer to a guarded call may arrive."""

    @property
    def names(self) -> tuple[bytes, ...]:
        """The names of the tools, as in JSON. If there are too many, or JSON has several forms of one, the empty name stands
        for all: every line contains it.
        """
        names = tuple(json.dumps(each).encode()[1:-1] for each in self.tools)
        return (b"",) if len(names) > MANY or any(b"\\" in each or b"/" in each for each in names) else names


Action = Sent | Given


class OnceGuard:
    """Decides about the calls of one tap.

    ``policy`` says which tools it guards. ``log`` writes a line of the guard's log
    before it returns; digests in it are made with the ``secret``. ``wall`` is the Unix time at which the clock of all other
    times was 0.
    """

    def __init__(
        self,
        policy: OncePolicy | None = None,
        *,
        log: Callable[[LogLine], object] = lambda _: None,
        wall: float = 0.0,
        secret: bytes = b"",
    ) -> None:
        self.policy = policy or OncePolicy.given("")
        self.server = ""
        """The name of the server."""
        self.wants_server = False
        """Whether the policy needs the name of the server, which only the server can give."""
        self._log = log
        self._wall = wall
        self._secret = secret
        self.safe = SafeTools()
        self._by_id: dict[tuple[bool, Json], list[Call]] = {}
        """The unsettled and the waiting calls of this tap, by the type and the value of their ids."""
        self._calls: dict[tuple[str, bytes], list[Call]] = {}
        """The calls that can be the first of a repeat, the oldest first. Waiting calls are listed in their first call."""
        self._delivered: deque[tuple[float, Call]] = deque()
        """Calls whose answers have just passed."""
        self._crossings: list[tuple[float, Call]] = []
        """Those of them that passed while input of their client was unread: an equal call in it was sent before that."""
        self._refused: deque[Call] = deque(maxlen=REFUSED)
        self._allowed: set[tuple[str, bytes]] = set()
        self._kept = 0
        self._number = 0
        self._forgotten: dict[bytes, float] = {}
        self._others: dict[str, dict[Json, Call]] = {}
        """The unsettled calls of other taps that run."""
        self._awaiting: list[Call] = []
        """Calls that wait for input of their clients."""

    # -- what a client sends -----------------------------------------------------------------------------------

    def guards(self, tool: str) -> bool:
        """Whether the policy guards calls of a tool."""
        return self.policy.guards(self.server, tool, is_safe=tool in self.safe)

    def guarded(self, call: Call | None) -> Call | None:
        """Returns a call if it is guarded."""
        return call if call is not None and self.guards(call.tool) else None

    def read(
        self,
        message: dict[str, Json],
        client: str,
        at: float,
        *,
        scope: Any = 0,
        session: str = "",
        modern: bool = False,
    ) -> Call | None:
        """Returns the call in a request, guarded or not; ``None`` for any other request."""
        params = as_object(message.get("params"))
        tool, id_ = params.get("name"), message.get("id")
        if (
            message.get("method") != "tools/call"
            or not isinstance(tool, str)
            or not messages.is_request_id(id_)
        ):
            return None
        key = identity(
            "tools/call", {name: value for name, value in params.items() if name not in _OF_ROUNDS}
        )
        if key is None:
            return None
        key = blake2b(key, key=self._secret, digest_size=16).digest()
        call = Call((client, key), tool, id_, at, scope, session, modern=modern)
        call.token = as_object(params.get("_meta")).get("progressToken")
        if any(name in params for name in _OF_ROUNDS):
            call.state = params.get("requestState", "")
        return call

    def called(self, call: Call, at: float) -> list[Action]:
        """Decides about a call that a client wants to send."""
        self._forget(at)
        if call.state is not None:
            return self._continued(call)
        key = call.key
        if key in self._allowed:
            self._allowed.discard(key)
            for each in [each for each in self._calls.get(key, ()) if not each.may_answer(at)]:
                self._settle(each, "allowed")
            return self._sent(call)
        self._crossings = [each for each in self._crossings if each[0] + PENDING_SECONDS > at]
        crossed = next((each for _, each in self._crossings if each.key == key), None)
        if crossed is not None and crossed.answer is not None:
            # The client sent this call before it read that answer.
            return [self._give(call, crossed, at)]
        firsts = [each for each in self._calls.get(key, ()) if self._is_first(each, at)]
        # Of several first calls the most useful one counts: one with an answer, then one that may still get it.
        answered = next((each for each in firsts if each.answer is not None), None)
        if answered is not None:
            given = self._give(call, answered, at)
            self._settle(answered, "given")
            return [given]
        open_ = next((each for each in firsts if each.may_answer(at)), None)
        if open_ is not None:
            call.first = open_
            open_.waiting.append(call)
            self._list(call)
            return []
        return [self._refuse(call, firsts[0], at)] if firsts else self._sent(call)

    def initialized(self, result: Json) -> None:
        """Reads the name of the server, if this is the result of ``initialize``."""
        if self.wants_server and (name := party(as_object(result).get("serverInfo"))):
            self.server, self.wants_server = name.partition(" ")[0], False

    def passed(self, call: Call, at: float) -> None:
        """Notes a call that was sent immediately, because it could not be a repeat (:meth:`outlook`)."""
        self._forget(at)
        if call.state is not None:
            self._continued(call)
        else:
            self._sent(call)

    def outlook(self) -> Outlook:
        """Returns which calls cannot be repeats."""
        every = [each for calls in self._calls.values() for each in calls]
        free = 0.0 if self._crossings or self._allowed else inf
        for each in every:
            is_running = each.given_up_at is None and not each.unknown and not each.waiting
            free = min(free, each.sent_at + PARALLEL_SECONDS if is_running else 0.0)
        return Outlook(
            free,
            frozenset(each.tool for each in every) | {each.tool for _, each in self._crossings},
            any(each.waiting for each in every),
            any(each.answer is None and each.number for each in every),
        )

    def _is_first(self, each: Call, at: float) -> bool:
        return each.given_up_at is not None or bool(each.unknown) or at - each.sent_at > PARALLEL_SECONDS

    def _sent(self, call: Call) -> list[Action]:
        self._number += 1
        call.number, call.first = self._number, None
        # Written before the call leaves, so that the next tap knows of the call even after a kill.
        self._log(call.log_line(self._wall))
        self._calls.setdefault(call.key, []).append(call)
        self._list(call)
        return [Sent(call)]

    def _continued(self, call: Call) -> list[Action]:
        """Sends a further round of a call that waited for its client (multi round-trip requests): it is the same call."""
        for each in self._awaiting:
            if (each.key, each.state) == (call.key, call.state):
                self._awaiting.remove(each)
                each.id, each.scope, each.session, each.token = call.id, call.scope, call.session, call.token
                each.state = None
                self._calls.setdefault(each.key, []).append(each)
                self._list(each)
                return [Sent(each)]
        call.state = None
        return self._sent(call)

    def find(self, id_: Json, *, scope: Any = None, session: str | None = None) -> Call | None:
        """Returns the newest call with an id that is not settled, of a scope or a session."""
        found = [
            each
            for each in (self._by_id.get(_typed(id_), ()) if messages.is_request_id(id_) else ())
            if (scope is None or each.scope == scope) and (session is None or each.session == session)
        ]
        return max(found, key=lambda each: each.sent_at, default=None)

    def _list(self, call: Call) -> None:
        self._unlist(call)
        self._by_id.setdefault(_typed(call.id), []).append(call)

    def _unlist(self, call: Call) -> None:
        key = _typed(call.id)
        listed = [each for each in self._by_id.pop(key, ()) if each is not call]
        if listed:
            self._by_id[key] = listed

    def gave_up(self, call: Call, at: float) -> None:
        """Notes that the client of a call can no longer get its answer."""
        first = call.first
        if first is not None:
            # This call was not sent, so it has no outcome of its own.
            first.waiting = [each for each in first.waiting if each is not call]
            self._unlist(call)
        elif call.given_up_at is None:
            call.given_up_at = at
            self._log({"gave_up": call.number})

    def cancels(self, call: Call, at: float) -> bool:
        """Notes that a client or a person cancelled a call; returns whether the cancel is sent to the server."""
        is_sent = call.first is None
        self.gave_up(call, at)
        if is_sent and call.cancelled_at is None and not call.unknown and call.answer is None:
            call.cancelled_at = call.received_at = at
        return is_sent

    def crossed(self, id_: Json, at: float, *, scope: Any = None, session: str | None = None) -> bool:
        """Notes a cancel of a call whose answer has just passed; returns whether there is such a call.

        The client had given the call up before it got the answer, so a repeat gets the answer.
        """
        for when, call in self._delivered:
            here = (scope is None or call.scope == scope) and (session is None or call.session == session)
            if here and at - when <= CROSSING_SECONDS and _same(call.id, id_) and call.answer is not None:
                self._delivered.remove((when, call))
                self._sent(call)
                call.given_up_at = at
                self._log({"late": call.number, "after": 0.0})
                self._keep(call)
                return True
        return False

    def allow(self, id_: Json, session: str | None = None) -> bool:
        """Lets the next call through that is equal to a refused one; returns whether that repeat was refused."""
        for each in reversed(self._refused):
            if _same(each.id, id_) and session in (None, each.session):
                self._allowed.add(each.key)
                return True
        return False

    # -- what became of a call ---------------------------------------------------------------------------------

    def answered(
        self,
        call: Call,
        message: dict[str, Json],
        size: int,
        at: float,
        *,
        delivered: bool,
        crossing: bool = False,
    ) -> list[Action]:
        """Takes the server's answer to a call.

        ``delivered``: the client gets it. ``crossing``: the client has sent something that is not read yet.
        """
        result = as_object(message.get("result"))
        if "result" not in message and call.cancelled_at is not None:
            # Servers answer a cancel with an error, and let the tool run.
            return self.lost(call, "the server answered its cancel with an error", at)
        if result.get("resultType") == "input_required" and call.given_up_at is None and delivered:
            return self._asks(call, result, at)
        call.answer, call.size, call.answered_at, call.unknown = message, size, at, ""
        waiting, call.waiting = call.waiting, []
        if waiting:
            given: list[Action] = [self._give(each, call, at) for each in waiting]
            self._settle(call, "given")
            return given
        if call.given_up_at is None and delivered:
            self._settle(call, "answered")
            call.answer = message if size <= ANSWER_BYTES else None
            if crossing and at - call.sent_at > PARALLEL_SECONDS:
                self._crossings.append((at, call))
            self._delivered.append((at, call))
            return []
        call.given_up_at = at if call.given_up_at is None else call.given_up_at
        self._log({"late": call.number, "after": round(at - call.sent_at, 3)})
        self._keep(call)
        return []

    def _asks(self, call: Call, result: dict[str, Json], at: float) -> list[Action]:
        waiting, call.waiting = call.waiting, []
        refused: list[Action] = [
            self._refuse(each, call, at, "it waits for input of its client") for each in waiting
        ]
        self._calls[call.key].remove(call)
        self._unlist(call)
        call.state = result.get("requestState", "")
        self._awaiting = [*self._awaiting[-REFUSED:], call]
        return refused

    def _keep(self, call: Call) -> None:
        """Keeps an answer unless it is too large, and drops the oldest ones if all answers together are too large."""
        if call.size > ANSWER_BYTES:
            call.answer, call.size = None, 0
            call.unknown = "its answer is too large for the guard (mcp-tui log names the recording)"
            return
        self._kept += call.size
        for calls in self._calls.values():
            for each in calls:
                if self._kept > KEPT_BYTES and each.answer is not None and each is not call:
                    self._kept -= each.size
                    each.answer, each.size, each.unknown = (
                        None,
                        0,
                        "its answer was dropped: too many others waited to be given",
                    )

    def progressed(self, call: Call, params: dict[str, Json], at: float) -> list[Action]:
        """Takes progress of a call, and passes it to the waiting calls under their own tokens."""
        call.received_at = at
        return [
            Given(each, messages.notification("notifications/progress", {**params, "progressToken": each.token}),
                  last=False, how="progress", of=call)
            for each in call.waiting
            if each.token is not None
        ]  # fmt: skip

    def lost(self, call: Call, why: str, at: float) -> list[Action]:
        """Notes that the outcome of a call is unknown, because no answer can arrive any more."""
        if call.first is not None:
            self.gave_up(call, at)
            return []
        if call.answer is not None:
            return []
        call.unknown, call.given_up_at = (
            call.unknown or why,
            at if call.given_up_at is None else call.given_up_at,
        )
        self._log({"unknown": call.number, "why": call.unknown})
        waiting, call.waiting = call.waiting, []
        return [self._refuse(each, call, at) for each in waiting]

    def refused_by_server(self, call: Call, at: float) -> list[Action]:
        """Notes that the server did not accept a call. Of the calls that wait for it, the first is sent."""
        self._settle(call, "not_taken")
        waiting, call.waiting = call.waiting, []
        if not waiting:
            return []
        first, *others = waiting
        first.sent_at, first.first = at, None
        actions = self.called(first, at)  # Another client may have given up a call in the meantime.
        for each in others:
            each.first = None
        match actions:
            case [Given(how="given", of=Call() as of)]:
                return [*actions, *(self._give(each, of, at) for each in others)]
            case [Given(of=Call() as of)]:
                return [*actions, *(self._refuse(each, of, at) for each in others)]
            case _:
                new = first.first or first
                new.waiting += others
                for each in others:
                    each.first = new
                return actions

    def ended(self, why: str, at: float, *, session: str | None = None) -> list[Action]:
        """Notes the end of the server, or of a session."""
        every = [each for calls in self._calls.values() for each in calls]
        return [
            action
            for each in every
            if session in (None, each.session) and each.answer is None and not each.unknown
            # A client that gave a call up may have ended the server itself: the cancel is what is known.
            for action in self.lost(each, why if each.cancelled_at is None else _SILENT, at)
        ]

    def tick(self, at: float) -> list[Action]:
        """Refuses the calls that wait for a call that has been silent since its cancel."""
        return [
            action
            for calls in [*self._calls.values()]
            for each in calls
            if each.waiting and each.answer is None and not each.may_answer(at)
            for action in self.lost(each, _SILENT, at)
        ]

    @property
    def due(self) -> float | None:
        """The time at which :meth:`tick` has something to do."""
        return min(
            (
                max(each.cancelled_at, each.received_at) + SILENT_SECONDS
                for calls in self._calls.values()
                for each in calls
                if each.waiting and each.cancelled_at is not None
            ),
            default=None,
        )

    @property
    def open(self) -> list[Call]:
        """The calls that were sent and may still be answered, even late."""
        return [
            each for calls in self._calls.values() for each in calls if each.answer is None and each.number
        ]

    @property
    def is_empty(self) -> bool:
        """Whether no call is left that another tap has to know."""
        return not self._calls and not self._forgotten

    @property
    def withheld_bytes(self) -> int:
        """The bytes of answers that are kept for a repeat."""
        return self._kept

    def just_delivered(self, at: float) -> list[Call]:
        """Returns the calls whose answers have just passed."""
        return [each for when, each in self._delivered if at - when <= CROSSING_SECONDS]

    # -- of other taps -----------------------------------------------------------------------------------------

    def remember(self, tap: str, lines: Iterable[LogLine], why: str, at: float) -> None:
        """Reads the new lines in the log of another tap with the same command.

        ``why`` is empty while that tap runs; then only the calls that its client gave up count. Once that tap has ended,
        ``why`` says why the outcome of each unsettled call is unknown.
        """
        calls = self._others.pop(tap, {})
        for line in lines:
            if "call" in line:
                key = line["client"], bytes.fromhex(line["key"])
                calls[line["call"]] = Call(key, line["tool"], line["id"], line["at"] - self._wall, (tap,))
            elif "settled" in line:
                if (settled := calls.pop(line["settled"], None)) is not None:
                    self._drop(settled)
            elif "forgot" in line:
                self._forgot(bytes.fromhex(line["forgot"]), line["at"] - self._wall)
            elif (found := calls.get(line.get("late", line.get("unknown", line.get("gave_up"))))) is not None:
                found.unknown = str(line.get("why") or found.unknown or _ELSEWHERE)
                if "late" in line:
                    found.unknown = f"its answer came after {line['after']:g} s, to another tap"
        for each in calls.values():
            if why and each.unknown in ("", _ELSEWHERE):
                each.unknown = why
            if each.unknown and each.given_up_at is None:
                each.given_up_at = at
                if each.sent_at > self._forgotten.get(each.key[1], -inf):
                    self._calls.setdefault(each.key, []).append(each)
        if not why:
            self._others[tap] = calls

    def _forgot(self, key: bytes, at: float) -> None:
        """Notes that the calls of other taps with a key are settled, if they were sent before a time or at it."""
        self._forgotten[key] = max(at, self._forgotten.get(key, -inf))
        if len(self._forgotten) > CALLS:
            del self._forgotten[next(iter(self._forgotten))]
        for each in [each for known, calls in self._calls.items() if known[1] == key for each in calls]:
            if not each.number and each.sent_at <= at:
                self._drop(each)

    def _drop(self, call: Call) -> bool:
        """Removes a call; returns whether it was there."""
        calls = self._calls.get(call.key, [])
        if call not in calls:
            return False
        calls.remove(call)
        if not calls:
            del self._calls[call.key]
        return True

    # -- answers -----------------------------------------------------------------------------------------------

    def _give(self, call: Call, first: Call, at: float) -> Given:
        assert first.answer is not None  # Each caller has checked that.
        message = {**first.answer, "id": call.id}
        if isinstance(result := message.get("result"), dict):
            about = {"id": first.id, "secondsAgo": round(at - first.sent_at, 3)}
            message["result"] = {
                **result,
                "_meta": {**as_object(as_object(result).get("_meta")), REPEAT_OF: about},
            }
        call.first, call.answer, call.size = None, first.answer, first.size
        self._unlist(call)
        if call.size <= ANSWER_BYTES:
            self._delivered.append((at, call))
        return Given(call, message, last=True, how="given", of=first)

    def _refuse(self, call: Call, first: Call, at: float, why: str = "") -> Given:
        why = why or first.unknown or _SILENT
        sent = strftime("%H:%M:%S", localtime(self._wall + first.sent_at))
        since = at if first.given_up_at is None else first.given_up_at
        until = strftime("%H:%M:%S", localtime(self._wall + since + WINDOW_SECONDS))
        text = (
            f"Not sent, because it may have been done already: the same call was sent at {sent}"
            f" ({at - first.sent_at:.0f} s ago, id {messages.shown(first.id)}), and its outcome is unknown: {why}."
            " Look whether its work was done before you do it in another way."
            f" A person can let this call through once: mcp-tui cancel --allow SESSION/{messages.shown(call.id)} (mcp-tui ps"
            f" lists sessions). Otherwise it is sent again from {until} on."
        )
        about: dict[str, Json] = {
            "repeatOf": first.id,
            "secondsAgo": round(at - first.sent_at, 3),
            "why": why,
        }
        call.first = None
        self._unlist(call)
        self._refused.append(call)
        result = messages.tool_error(text, {NOT_SENT: about}, modern=call.modern)
        return Given(call, messages.result(call.id, result), last=True, how="refused", of=first)

    def _settle(self, call: Call, how: str) -> None:
        """Forgets a call whose outcome is known."""
        if not self._drop(call):
            return
        self._unlist(call)
        self._kept -= call.size if call.answer is not None and call.given_up_at is not None else 0
        if call.number:
            self._log({"settled": call.number, "how": how})
        else:
            self._forgotten[call.key[1]] = call.sent_at
            self._log({"forgot": call.key[1].hex(), "at": self._wall + call.sent_at})

    def _forget(self, at: float) -> None:
        """Forgets the calls that are older than the window, and the oldest ones above the maximum."""
        while self._delivered and (
            at - self._delivered[0][0] > CROSSING_SECONDS or len(self._delivered) > REFUSED
        ):
            self._delivered.popleft()
        if len(self._calls) > CALLS:
            every = [each for calls in self._calls.values() for each in calls if not each.waiting]
            for each in sorted(every, key=lambda each: each.sent_at)[: CALLS // 10]:
                self._settle(each, "forgotten")
        for key in list(islice(self._calls, REFUSED if len(self._calls) < REFUSED else 8)):
            for each in [*self._calls[key]]:
                given_up_at = inf if each.given_up_at is None else each.given_up_at
                if at - given_up_at > WINDOW_SECONDS and not each.waiting:
                    self._settle(each, "forgotten")
            if key in self._calls:  # moved to the end, so that the next pass checks other keys
                self._calls[key] = self._calls.pop(key)


_OF_ROUNDS: Final = ("requestState", "inputResponses")

_ELSEWHERE: Final = "its client has left, and another tap waits for the answer"

_SILENT: Final = "it was cancelled, and no reply arrived"


def members(message: Json) -> list[Json]:
    """Returns the members of a batch, or a message alone."""
    return message if isinstance(message, list) else [message]  # pyright: ignore[reportUnknownVariableType]


def messages_in(data: bytes) -> Iterator[dict[str, Json]]:
    """Yields the messages in some lines; skips lines that are not messages."""
    for line in data.split(b"\n"):
        try:
            read: Json = json.loads(line)
        except (ValueError, RecursionError):
            continue
        yield from map(as_object, members(read))


def client_of(message: dict[str, Json], known: str) -> str:
    """Returns the client that a request names, else the ``known`` one."""
    return party(as_object(as_object(message.get("params")).get("_meta")).get(META_CLIENT_INFO)) or known


def _typed(id_: Json) -> tuple[bool, Json]:
    return isinstance(id_, str), id_


def _same(one: Json, other: Json) -> bool:
    return type(one) is type(other) and one == other
