"""The observations of one run of a client, which the verdicts rest on. They are filled in during the run."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.json_values import as_object
from mcp_tui.protocol.repeats import identity
from mcp_tui.protocol.values import frozen

SIDE_BY_SIDE_SECONDS = 0.25
"""Seconds after a call within which another call is parallel to it, and does not show that it was given up."""

REACHED_SHARE = 0.75
"""The share of a limit after which a client may have reached it, because a call is read later than it was made."""

CONNECTION_END_SECONDS = 1.0
"""Seconds around the end of a connection in which the order of the client's actions is unknown."""

SIGNALS = {"sigint": "SIGINT", "sigterm": "SIGTERM", "sigkill": "SIGKILL"}
"""The experiments in which the client gets a signal, and the names of the signals."""


PERSON = "person"
"""The name of the stream of a person's answers."""


def signal_name(number: int) -> str:
    """Returns the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def control_name(name: str) -> str:
    """Returns the name of the control run of a run."""
    return f"{name}, control"


MODEL_IDS = {"callid", "toolcallid", "tooluseid"}
"""The names by which agents tell the id that a model gave its call: ``claudecode/toolUseId``, ``callId``."""


def call_key(params: dict[str, Any]) -> str:
    """Returns what is the same for equal calls."""
    found = identity("tools/call", params)
    return "" if found is None else found.hex()


def model_id(params: dict[str, Any]) -> str:
    """Returns the id that a model gave its call, if the client tells it in ``_meta``."""
    for name, value in as_object(params.get("_meta")).items():
        # Agents spell the name in several ways, so only its letters count.
        if re.sub("[^a-z]", "", name.rpartition("/")[2].lower()) in MODEL_IDS and isinstance(value, str):
            return value
    return ""


@frozen
class OutputLine:
    """A line that the client wrote to ``stream``, ``stdout`` or ``stderr``; or what a person said of it."""

    at: float
    stream: str
    text: str

    @property
    def words(self) -> str:
        """The line in words, as an action of the client."""
        return self.text if self.stream == PERSON else f'it printed "{self.text}"'


@dataclass(slots=True, eq=False)
class ObservedCall:
    """A call of a tool. ``connection`` is the number of the connection that it came on.

    ``at`` is when it was read and ``since`` a time at which it was not there yet; the same of its cancel.
    ``reports``: it has a progress token. ``answered_at`` is when the judge answered it, or told of progress instead.
    ``closed_at`` is when the client closed the stream of a call that was not answered, over HTTP. ``lost_at`` is from when
    on the client cannot get the answer, whoever ended that. ``key`` is the same for equal calls, and ``model_id`` is the
    id that a model gave its call, where the client tells it.
    """

    tool: str
    at: float
    connection: int = 0
    id: RequestId = 0
    reports: bool = False
    is_task: bool = False
    since: float | None = None
    cancelled_at: float | None = None
    cancelled_since: float | None = None
    signal: Signal | None = None
    reason: object = None
    answered_at: float | None = None
    closed_at: float | None = None
    lost_at: float | None = None
    key: str = ""
    model_id: str = ""


@dataclass(slots=True, eq=False)
class ObservedQuestion:
    """A question of the judge's to the client. ``is_error``: it was answered with an error."""

    id: RequestId
    asked_at: float
    taken_back_at: float | None = None
    answered_at: float | None = None
    is_error: bool = False


@dataclass(slots=True, eq=False)
class ObservedHttpSession:
    """One session over HTTP that the client opened, with the number of its connection."""

    connection: int
    began: float
    deleted_at: float | None = None


@dataclass(slots=True, eq=False)
class ObservedServer:
    """One process that the client started as its server. ``signals`` are times and numbers.

    ``left``: it still ran when nobody waited for its end any more, and the judge ended it.
    """

    pid: int = 0
    began: float = 0.0
    stdin_closed_at: float | None = None
    signals: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    ended_at: float | None = None
    left: bool = False

    @property
    def over_at(self) -> float | None:
        """When the client ended the process; ``None`` if it did not."""
        times = [each for each in (self.stdin_closed_at, self.ended_at) if each is not None]
        return min([*times, *(at for at, _ in self.signals)], default=None)


@dataclass(slots=True, kw_only=True, eq=False)
class ObservedRun:
    """One run. Times are monotonic seconds; ``experiment`` is the name of what was to happen.

    ``timeout`` and ``maximum`` are the limits that the client is to set, ``limit`` is the one that it was seen to have.
    ``calls`` are those of tools that the judge answers when it likes, ``nexts`` those of the tool that is to be called next.
    ``acted_at`` is when the judge did what the experiment is about (a late result, a signal to the client).
    ``stopped``: the judge had to end the client, at ``stopped_at``. ``questions`` are those of the judge, in order.
    ``held_up`` is the longest time between two
    messages of progress. ``initialize_at`` is when a handshake came that is not answered, and ``abandoned_at`` when the
    client closed the connection on which it waits for that. ``strays`` are the names of tasks
    that it cancelled and that the server never named. ``tools`` are the names of all tools that were called, in order.
    ``next_shown``: a person saw the answer of the next call.
    """

    experiment: str
    transport: str = "stdio"
    timeout: float = 0.0
    limit: float = 0.0
    maximum: float = 0.0
    client: str = ""
    revision: str = ""
    events: list[ev.Event] = field(default_factory=list[ev.Event])
    servers: list[ObservedServer] = field(default_factory=list[ObservedServer])
    calls: list[ObservedCall] = field(default_factory=list[ObservedCall])
    nexts: list[ObservedCall] = field(default_factory=list[ObservedCall])
    tool: str = ""
    requests: int = 0
    initialize_at: float | None = None
    abandoned_at: float | None = None
    sessions: list[ObservedHttpSession] = field(default_factory=list[ObservedHttpSession])
    tools: list[str] = field(default_factory=list[str])
    lines: list[OutputLine] = field(default_factory=list[OutputLine])
    gave_up: OutputLine | None = None
    output: int = 0
    began: float = 0.0
    exit: int | None = None
    ended_at: float | None = None
    stopped: bool = False
    stopped_at: float = 0.0
    acted_at: float | None = None
    questions: list[ObservedQuestion] = field(default_factory=list[ObservedQuestion])
    watched: float = 0.0
    held_up: float = 0.0
    next_shown: bool = False
    strays: list[str] = field(default_factory=list[str])
    asks: str = ""

    @property
    def call(self) -> ObservedCall | None:
        """The call that the experiment is about: the first of its tool."""
        return next((each for each in self.calls if each.tool == self.tool), None)

    def equal(self, first: ObservedCall) -> list[ObservedCall]:
        """Returns the calls that are equal to one, and came after it."""
        equal = (each for each in self.calls if each.key == first.key and each is not first)
        return [each for each in equal if each.at >= first.at]

    def violations(self) -> Iterator[ev.Violation]:
        """Yields the violations of the client."""
        for event in self.events:
            if isinstance(event, ev.Violation) and event.by is ev.Origin.CLIENT:
                yield event

    def disconnected_at(self, call: ObservedCall) -> float | None:
        """Returns when the client ended the connection of a call: its server, or over HTTP its session."""
        if self.transport == "http":
            found = (each.deleted_at for each in self.sessions if each.connection == call.connection)
            return next(found, None)
        return self.servers[call.connection].over_at if call.connection < len(self.servers) else None

    def sign(self, call: ObservedCall) -> tuple[float, str] | None:
        """Returns when and how the client was seen to have given a call up: by a line of its output, or by the next call."""
        # A client continues after an answer, so only what it does before the answer is a sign.
        until = call.answered_at if call.answered_at is not None else float("inf")
        # After a signal no parallel calls are made.
        signalled = self.acted_at if self.experiment in SIGNALS else None
        since = call.at + SIDE_BY_SIDE_SECONDS if signalled is None else signalled
        found = [
            (each.at, f"it made its next call, {each.tool}")
            for each in self.nexts
            if each.connection == call.connection and since < each.at <= until
        ]
        if self.gave_up is not None and call.at <= self.gave_up.at <= until:
            found.append((self.gave_up.at, self.gave_up.words))
        # Over stdio the end of the client is the end of its server, which is told as that. Over HTTP nothing else shows it.
        ends = self.transport == "http" and self.experiment in SIGNALS and not self.stopped
        if ends and self.ended_at is not None and self.ended_at <= until:
            found.append((self.ended_at, "it ended"))
        return min(found, default=None)

    def gives_up(self, call: ObservedCall) -> bool:
        """Whether the client cancelled a call, or was seen to have given it up."""
        return call.cancelled_at is not None or self.sign(call) is not None

    def cancels(self, call: ObservedCall) -> bool:
        """Whether the client was seen to cancel a call. Its end closes its streams, too: it has to go on behind that."""
        at = call.cancelled_at
        if at is None or call.signal is not Signal.STREAM_CLOSED:
            return at is not None
        later = any(each.at >= at for each in (*self.nexts, *filter(None, [self.gave_up])))
        # A next call may be read before the close that preceded it; its answer reached a client that still ran.
        later |= any(each.cancelled_at is None and (each.answered_at or 0) >= at for each in self.nexts)
        return later or self.ended_at is None or self.ended_at - at >= CONNECTION_END_SECONDS

    @property
    def went_on(self) -> bool:
        """Whether the client made its next call after the judge acted."""
        since = self.acted_at
        return since is not None and any((each.answered_at or 0) >= since for each in self.nexts)
