"""One connection of the probe: raw messages over mcp-tui's own transports, and all arrivals with their times.

The client negotiates revision and transport once, in :mod:`mcp_tui.probe.run`. After that, the probe writes every message
itself. So its ids start at 1, and no ledger refuses its malformed messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from mcp_tui.client import Client
from mcp_tui.client.connecting import CLIENT_INFO, make_transport
from mcp_tui.client.connection import Connection
from mcp_tui.journal.store import Store
from mcp_tui.probe.arrivals import ANSWERS, EXCERPT_CHARACTERS, Arrival, Discarded, arrival, discarded, named
from mcp_tui.probe.judging import BEATS, LOG, PROGRESS, Answer, ControlRun
from mcp_tui.probe.report import EvidenceItem, Finding, Verdict
from mcp_tui.probe.rules import ProbedServer
from mcp_tui.probe.tool_choice import Choice
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import Oversized
from mcp_tui.protocol.messages import Batch, Json, RequestFrame, ResponseFrame, as_object
from mcp_tui.transport import base
from mcp_tui.transport.suspension import Limit

MOST_ARRIVALS: Final = 5000
"""The most arrivals that are kept, apart from responses, which are always kept."""

PROBE_SLOW_START_SECONDS: Final = 1.0
"""The seconds of connecting above which a server counts as slow to start."""

REPEATED_SECONDS: Final = 4.0
"""The longest run, in seconds, of a tool without a short form that is called again after each cancel."""

HEARTBEAT_SECONDS: Final = 0.04
"""The seconds between two checks of the heartbeat file."""

# Calls must have the small ids, because only those can be hit by the malformed cancels (true, 2.5, 3.0).
HANDSHAKE_ID: Final = 100_000
"""The id of the handshake. Calls are numbered from 1."""

PREPARING: Final = 200_000
"""The first id of the calls that prepare a connection."""

OPENING: Final = 300_000
"""The first id of the calls that check whether a server still works."""

BEFORE: Final = "--before"

CANCEL_METHOD: Final = "notifications/cancelled"
PROBE_REASON: Final = "mcp-tui probe"


class Unprepared(base.TransportError):
    """A tool that must be called before the slow one failed. The text is a sentence with the tool's own error."""


async def watch(heartbeat: Path, beats: list[float]) -> None:
    """Adds the time to ``beats`` whenever the heartbeat file changes, which the tool writes to while it works."""
    before = _state(heartbeat)
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        now = _state(heartbeat)
        if now != before:
            beats.append(time.monotonic())
            before = now


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


@dataclass(slots=True, kw_only=True, eq=False)
class ServerUnderTest(ProbedServer):
    """The server under test and its tool, with the results so far.

    Attributes:
        client: the client that connected first, and negotiated.
        beats: the times of changes of the heartbeat file, in monotonic seconds.
        connect: makes another connection; takes a name for its journal.
        tools: the tools of the server.
        choice: the slow tool; ``None`` if none was found.
        before: the calls that prepare each connection.
        control: the uncancelled run of ``choice``; without a tool, a run of 0 s.
        task: the tool to run as a task.
        brief: arguments with which the slow tool ends at once.
        briefly: the answer to the call with these arguments.
        lists: whether ``tools/list`` was answered.
        unlisted: why ``tools/list`` failed.
        useless: why the tool that the user named cannot be used.
        connecting: the seconds that connecting took.
        nameless: the number of responses without an id after an ordinary cancel.
        doubt: the experiment after which a call failed. Until a call works again, each experiment starts with a call.
        again: the request that was answered a second time when it was cancelled after its answer.
        uncancelled: the answers of calls made for comparison, by the kind of comparison.
        findings: the findings by rule.
        noise: the lines on stdout that were not messages.
        traces: the requests on all connections.
        calls: the number of tool calls by tool and arguments as JSON.
    """

    client: Client
    beats: list[float]
    connect: Callable[[str], ProbeConnection]
    tools: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    choice: Choice | None = None
    before: tuple[Choice, ...] = ()
    control: ControlRun = field(default_factory=lambda: ControlRun(duration=None))
    task: Choice | None = None
    brief: dict[str, Json] | None = None
    briefly: Answer | None = None
    lists: bool = True
    unlisted: str = ""
    useless: str = ""
    connecting: float = 0.0
    nameless: int = 0
    doubt: str = ""
    again: Trace | None = None
    uncancelled: dict[str, list[Answer | None]] = field(default_factory=dict[str, list[Answer | None]])
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    noise: list[Arrival] = field(default_factory=list[Arrival])
    traces: list[Trace] = field(default_factory=list["Trace"])
    calls: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    @property
    def needs_tool(self) -> str:
        """The reason why an experiment is not run without a slow tool."""
        return f"needs a slow tool; {self.unlisted or self.useless or 'none found'}"

    def verdict(self, rule: str) -> Verdict | None:
        """Returns the verdict on a rule; ``None`` if it was not judged yet."""
        finding = self.findings.get(rule)
        return None if finding is None else finding.verdict

    @property
    def busy(self) -> bool:
        """Whether there is a slow tool that does not end the connection by itself."""
        return self.choice is not None and not self.control.lost

    @property
    def has_time(self) -> bool:
        """Whether each experiment may end with a call of the tool: it has a short form, or experiments run in parallel."""
        is_quick = self.transport == "stdio" and self.control.length <= REPEATED_SECONDS
        return is_quick or self.briefly is not None

    @property
    def slow_to_start(self) -> bool:
        """Whether the server starts so slowly that experiments reuse unharmed connections."""
        return self.connecting > PROBE_SLOW_START_SECONDS and self.transport == "stdio"

    @property
    def patience(self) -> float:
        """The seconds to wait for the answer to the next call; longer for a server that starts slowly."""
        return min(5.0 + self.control.length, 15.0) + self.connecting

    def hello(self) -> tuple[str, dict[str, Json]]:
        """Returns the method and the params of the first request."""
        if self.revision.modern:
            return "server/discover", {}
        name = self.revision.name
        return "initialize", {"protocolVersion": name, "capabilities": {}, "clientInfo": CLIENT_INFO}


class ProbeConnection(base.Silence):
    """A connection to the server for one experiment, and the sink of its transport. ``arrivals`` are in order."""

    def __init__(self, server: ServerUnderTest, store: Store) -> None:
        self.server = server
        self.store = store
        self.arrivals: list[Arrival] = []
        self._is_closing = False
        self.discarded: list[Discarded] = []
        self.lost = ""
        """The reason why the connection ended, unless the probe ended it."""
        self.ended_at = math.inf
        """The time of that end, in monotonic seconds."""
        self._refused: base.Outgoing | None = None
        self.refusals: list[str] = []
        """The reasons why notifications were refused or not delivered."""
        self.accepted_at: dict[str, float] = {}
        """The time at which the first POST of a notification was accepted, by its method."""
        self.traces: dict[RequestId, Trace] = {}
        self.transport: base.Transport = make_transport(server.client, server.transport)
        self._news = asyncio.Event()
        self.next_id = 1
        self.next_opening_id = OPENING
        self.prepared = 0
        """The number of calls that prepared the connection."""

    def now(self) -> float:
        """Returns monotonic seconds."""
        return time.monotonic()

    def refused(self, what: str = "") -> list[EvidenceItem]:
        """Returns evidence of the notifications that were refused or not delivered; ``what`` names them."""
        what = what or ("not delivered" if self.server.transport == "stdio" else "its POST")
        return [EvidenceItem(f"{what}: {each}") for each in self.refusals]

    # -- open and close --------------------------------------------------------------------------------------------

    async def start(self, transport: base.Transport | None = None) -> None:
        """Opens the transport, by default the client's own, and sends nothing.

        Raises:
            TransportError: the server cannot be started or reached.
        """
        self.transport = transport or self.transport
        # Closing must not delete the session: some servers exit after a DELETE, so sessions are deleted at the end of the
        # run.
        if self.server.transport == "http":
            self.transport.continues_session = True  # pyright: ignore[reportAttributeAccessIssue] - HTTP's alone
        await self.transport.open(self)

    async def open(self, transport: base.Transport | None = None) -> None:
        """Opens a transport, like :meth:`start`, and does the handshake.

        Raises:
            TransportError: the server cannot be reached, or does not answer.
        """
        await self.start(transport)
        opening = self.request(*self.server.hello(), id=HANDSHAKE_ID)
        response = await opening.answered(self.now() + self.server.client.settings.connect_timeout)
        if response is None or response.kind == "error":
            why = opening.waited() if response is None else f"{opening.method}: {response.words}"
            raise base.TransportError(why)
        await self.greeted()
        await self.prepare()
        kind, revision = self.server.transport, self.server.revision.name
        self.store.event(ev.Connected(at=self.now(), transport=kind, revision=revision, server=""))

    async def greeted(self) -> None:
        """Finishes the handshake after its answer; until 2025-11-25 with ``notifications/initialized``."""
        revision = self.server.revision
        self.transport.negotiated(revision)
        if not revision.modern:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(3.0):
                    await Connection(transport=self.transport, speaking=revision).initialized()

    async def prepare(self) -> None:
        """Calls the tools that must be called before the slow tool.

        Raises:
            Unprepared: one of them failed.
        """
        for number, choice in enumerate(self.server.before):
            trace = self.call(choice.name, choice.arguments, id=PREPARING + self.prepared + number)
            response = await trace.answered(self.now() + self.server.client.settings.connect_timeout)
            if response is None:
                raise Unprepared(f"{choice.name} ({BEFORE}) got no answer: {trace.waited()}")
            if response.kind == "error" or response.is_error:
                raise Unprepared(f"{choice.name} ({BEFORE}) failed: {response.quoted}")
        self.prepared += len(self.server.before)

    async def close(self) -> None:
        """Ends the connection and, over stdio, the server. Over HTTP the session is kept until the end of the run."""
        self._is_closing = True
        await self.transport.close()
        self.store.close()

    # -- received messages: the sink of the transport -----------------------------------------------------------------

    def cut_off(self, *, raw: bytes, outline: bytes | None, at: float | None = None) -> None:
        """Stores the start of a truncated message as a message that is not JSON, unless the probe ended the server."""
        if not self._is_closing:
            self.received(raw=raw, outline=outline, at=at)

    def received(
        self,
        *,
        raw: bytes,
        stream: RequestId | None = None,
        status: int = 0,
        outline: bytes | None = None,
        at: float | None = None,
    ) -> None:
        """Stores a message, and answers requests from the server."""
        at = self.now() if at is None else at
        parsed = messages.parse(raw, outline)
        # An HTTP body that is not a stream is the answer, even if it is unreadable.
        if stream is not None and status:
            parsed = messages.as_answer(parsed)
        for frame in parsed.frames if isinstance(parsed, Batch) else (parsed,):
            method, id = getattr(frame, "method", None), messages.storable_id(getattr(frame, "id", None))
            self.store.frame("in", raw, at=at, stream=stream, method=method or "", id=id)
            if isinstance(frame, RequestFrame):
                self._answer(frame)
            # Each message makes every waiting condition scan the arrivals, so their number is limited. The journal has all
            # messages.
            made = arrival(frame, at, raw, stream)
            if len(self.arrivals) < MOST_ARRIVALS or made.kind in ANSWERS:
                self.arrivals.append(made)
            if made.kind == "noise" and stream is not None:
                self.dropped(what="a message that is not JSON-RPC", stream=stream)
        self._news.set()

    def dropped(self, *, what: str, raw: bytes = b"", stream: RequestId | None = None) -> None:
        """Stores a record of data that no client reads."""
        if len(self.discarded) < MOST_ARRIVALS:
            self.discarded.append(discarded(what, raw, self.now(), stream))
        self._news.set()

    def too_large(
        self, message: Oversized, *, stream: RequestId | None = None, at: float | None = None
    ) -> None:
        """Stores a record of a message above the maximum size; as a response if its start or its end shows an id."""
        at = self.now() if at is None else at
        frame = messages.salvage(message.head + message.tail, "above the cap")
        self.dropped(what=f"a message of {message.size:,} bytes, above the cap", stream=stream)
        id = frame.id if isinstance(frame, messages.MalformedFrame) and frame.method is None else None
        id = stream if id is None or id is messages.MISSING else id
        if id is not None:
            begun = messages.bytes_text(message.head[:EXCERPT_CHARACTERS])
            self.arrivals.append(Arrival(at, "oversize", begun, id, stream))

    def _answer(self, frame: RequestFrame) -> None:
        answer = messages.error(frame.id, -32601, "the probe answers no questions")
        self._send(messages.result(frame.id, {}) if frame.method == "ping" else answer, "response")

    def written(self, *, message: base.Outgoing) -> None:
        """Writes a sent message to the journal, and stores the time of a request."""
        at, id = self.now(), message.id
        if id in self.traces:
            self.traces[id].sent_at, self.traces[id].is_written = at, True
        self.store.frame("out", message.raw, at=at, method=message.method, id=id)
        self._news.set()

    def accepted(self, *, message: base.Outgoing) -> None:
        """Stores the time at which a notification was accepted over HTTP."""
        # A JSON-RPC error in a 2xx response refuses the cancel. The transport reports the body first, then the accepted
        # POST.
        if message is not self._refused:
            self.accepted_at.setdefault(message.method, self.now())
        self._news.set()

    def replied(self, *, message: base.Outgoing, raw: bytes, status: int) -> None:
        """Stores the HTTP body that answered a notification; an error with no id of a request refuses the notification."""
        parsed = messages.parse(raw)
        for frame in parsed.frames if isinstance(parsed, Batch) else (parsed,):
            if (
                isinstance(frame, ResponseFrame)
                and frame.error is not None
                and named(frame.id, self.traces) is None
            ):
                self._refused = message
                text = f"error {frame.error.code} {frame.error.message[:EXCERPT_CHARACTERS]}".rstrip()
                self.not_sent(message=message, detail=text, refusal=base.RefusedResponse(status, raw))
                return
        if raw:
            self.received(raw=raw)

    def stream_ended(self, *, id: RequestId, detail: str = "") -> None:
        """Stores the end of the stream of a request."""
        self.traces[id].end(detail)
        self._news.set()

    def not_sent(self, *, message: base.Outgoing, detail: str, refusal: base.RefusedResponse) -> None:
        """Stores the reason why a message was refused or not delivered."""
        method = message.method
        if message.id is not None:
            self.traces[message.id].end(detail)
        elif method == CANCEL_METHOD:
            self.refusals.append(detail)
        how = "refused" if refusal.status else "not delivered"
        self.store.event(ev.Note(at=self.now(), text=f"{method} was {how}: {detail}"))
        self._news.set()

    def stderr_line(self, *, text: str, cut: bool = False, at: float | None = None) -> None:
        """Logs a line of the server's stderr."""
        self.store.event(ev.Stderr(at=self.now() if at is None else at, line=text))

    def degraded(self, *, detail: str) -> None:
        """Logs the functions that the connection has lost."""
        self.store.event(ev.Degraded(at=self.now(), detail=detail))

    def processes_ended(self, *, count: int) -> None:
        """Logs the number of the server's processes that still ran after its end."""
        self.store.event(ev.ProcessesEnded(at=self.now(), count=count))

    def secrets(self, *, values: Iterable[str]) -> None:
        """Masks secrets of the server from now on."""
        self.store.learn(values)

    def closed(self, *, detail: str, expected: bool = False, **_facts: object) -> None:
        """Stores the end of the connection."""
        if not expected:
            self.lost, self.ended_at = detail or "the connection ended", self.now()
        self.store.event(ev.Disconnected(at=self.now(), detail=detail))
        self._news.set()

    async def until(self, condition: Callable[[], bool], at: float) -> bool:
        """Waits until the condition is true, at most until the time ``at``; returns whether it is true."""
        while not condition():
            remaining = at - self.now()
            if remaining <= 0:
                return False
            # There is no await between the check of the condition and this line, so every later arrival wakes the wait.
            self._news.clear()
            try:
                async with Limit(remaining):
                    await self._news.wait()
            except TimeoutError:
                return condition()
        return True

    async def quiet(self, until: float) -> None:
        """Listens until a given time, or until the connection ends."""
        await self.until(lambda: bool(self.lost), until)

    # -- sent messages ---------------------------------------------------------------------------------------------

    def request(
        self, method: str, params: dict[str, Json], *, id: RequestId | None = None, behind: bytes = b""
    ) -> Trace:
        """Sends a request; ``id`` is by default the next one, from 1. ``behind`` is appended to the same write."""
        if id is None:
            id, self.next_id = self.next_id, self.next_id + 1
        trace = Trace(self, id, method)
        # From 2026-07-28 on, each request declares the protocol version and the capabilities that the client negotiated.
        agreed = self.server.client.ledger.negotiated.meta if self.server.revision.modern else {}
        meta = {**agreed, **as_object(params.get("_meta"))}
        if method == "tools/call":
            # The token equals the id, so that one function assigns both progress and responses to their call.
            meta["progressToken"] = id
            self.server.calls[str(params["name"]), messages.text(params["arguments"])] += 1
        made = messages.request(id, method, {**params, "_meta": meta} if meta else params or None)
        self._send(made, method, id, behind)
        return trace

    def call(
        self, tool: str, arguments: dict[str, Json], *, id: RequestId | None = None, behind: bytes = b""
    ) -> Trace:
        """Calls a tool."""
        return self.request("tools/call", {"name": tool, "arguments": arguments}, id=id, behind=behind)

    def ask(self) -> Trace:
        """Sends the request that shows whether the server still answers: ``tools/list``."""
        return self.request("tools/list", {})

    def echo(self) -> Trace:
        """Sends the lightest request. Its answer shows that everything sent before was read."""
        return self.request("server/discover" if self.server.revision.modern else "ping", {})

    def notify(self, method: str, params: Json = None) -> None:
        """Sends a notification with any params, even malformed ones."""
        self._send(messages.notification(method, params), method)

    def cancel(self, trace: Trace, reason: str = PROBE_REASON) -> float:
        """Cancels a call as its revision prescribes; returns the time of the cancel."""
        at = trace.cancel_at = self.now()
        if self.server.modern_http:
            self.close_stream(trace)
        else:
            self.notify(CANCEL_METHOD, {"requestId": trace.id, "reason": reason})
        return at

    def close_stream(self, trace: Trace) -> None:
        """Closes the stream of a call."""
        trace.closed_stream = True
        self.transport.release(trace.id)

    def cancel_all(self, reason: str) -> None:
        """Cancels every call in flight."""
        for trace in self.traces.values():
            if trace.method == "tools/call" and trace.cancel_at == math.inf and not trace.over():
                self.cancel(trace, reason)

    def _send(
        self, message: dict[str, Json], method: str, id: RequestId | None = None, behind: bytes = b""
    ) -> None:
        if self.lost:
            return
        # Requests after the handshake have the header MCP-Protocol-Version, but not the request that negotiates it.
        speaking = None if method == "initialize" else self.server.revision
        connection = Connection(transport=self.transport, speaking=speaking)
        made = connection.outgoing(message, method, id, self.server.client.mirrors)
        self.transport.send(replace(made, raw=made.raw + behind))

    def nameless(self, since: float) -> list[Arrival]:
        """Returns the responses without an id since a given time, except those on a request's own stream."""
        nameless = (each for each in self.arrivals if each.kind in ANSWERS and each.of is None)
        return [each for each in nameless if each.at >= since]


def violations(connections: Sequence[ProbeConnection]) -> list[str]:
    """Returns a sentence for each kind of message with a wrong id or token, with an example, and for unreadable data."""
    found: dict[str, list[str]] = {}
    for connection in connections:
        for each in connection.arrivals:
            if each.kind not in (*ANSWERS, "progress") or each.of is None:
                continue
            what = "progress messages have the token" if each.kind == "progress" else "responses have the id"
            id = named(each.of, connection.traces)
            example = messages.shown(each.of)
            if id is not None and type(id) is not type(each.of):
                found.setdefault(f"{what} of their call in another type", []).append(f"{example} for {id!r}")
            elif id is None and each.kind == "progress":
                found.setdefault(f"{what[:-9]}an unknown token", []).append(example)
    problems = [f"Violation: {len(seen):,} {what} ({seen[0]})" for what, seen in found.items()]
    unread = Counter(each.what for connection in connections for each in connection.discarded)
    counted = (f"{what}, {count:,} times" for what, count in unread.items())
    return [*problems, *(f"Violation: {each}, which no client reads" for each in counted)]


@dataclass(slots=True, eq=False)
class Trace:
    """One request of an experiment. Times are in monotonic seconds."""

    connection: ProbeConnection
    id: RequestId
    method: str
    cancel_at: float = math.inf
    closed_stream: bool = False
    """Whether the probe closed the stream of the request, so that later messages cannot be seen."""
    sent_at: float = field(default_factory=time.monotonic)
    """The time at which the request was written, or that of the call until then."""
    is_written: bool = False
    ended_at: float | None = None
    """The time at which the stream of the request ended."""
    failure: str = ""
    """The reason of a failure of the transport, such as an HTTP status or a refused connection."""

    def __post_init__(self) -> None:
        self.connection.traces[self.id] = self
        self.connection.server.traces.append(self)

    def end(self, failure: str) -> None:
        """Stores the end of the stream of the request."""
        self.ended_at = self.ended_at or self.connection.now()
        self.failure = self.failure or failure

    @property
    def responses(self) -> list[Arrival]:
        """The responses to the request, including those with its id in another JSON type."""
        return [each for each in self.connection.arrivals if each.kind in ANSWERS and self._is_named(each)]

    def progress(self) -> list[Arrival]:
        """Returns the progress messages with the token of the request, in any JSON type."""
        return [each for each in self.connection.arrivals if each.kind == "progress" and self._is_named(each)]

    def foreign_progress(self) -> list[Arrival]:
        """Returns progress under an unknown token that may belong to this call.

        Such progress arrived on the call's own stream, or no other call was made after this one.
        """
        alike = (each for each in self.connection.traces.values() if each.method == self.method)
        later = any(each.sent_at > self.sent_at for each in alike)
        return [
            each
            for each in self.connection.arrivals
            if each.kind == "progress"
            and each.at > self.sent_at
            and named(each.of, self.connection.traces) is None
            and (each.stream == self.id if each.stream is not None else not later)
        ]

    def _is_named(self, arrival: Arrival) -> bool:
        return named(arrival.of, (self.id,)) is not None

    def signs(self, until: float) -> dict[str, tuple[float, ...]]:
        """Returns the times of each sign of work, in seconds after the request; heartbeats only up to ``until``."""
        sent, arrivals = self.sent_at, self.connection.arrivals
        signs = {BEATS: [beat for beat in self.connection.server.beats if beat <= until]}
        # Unobservable signs are left out instead of being empty, because silence on a closed stream shows nothing.
        if not self.closed_stream:
            signs[PROGRESS] = [each.at for each in self.progress()]
            signs[LOG] = [each.at for each in arrivals if each.kind == "log"]
        return {name: tuple(at - sent for at in times if at > sent) for name, times in signs.items()}

    def answer(self) -> Answer | None:
        """Returns the first response in a form that can be compared with others; ``None`` without a response."""
        response = next(iter(self.responses), None)
        if response is None:
            return None
        took, fails, filled = response.at - self.sent_at, response.fails, response.is_filled
        steps = sum(each.at <= response.at for each in self.progress())
        return Answer(took, response.quoted, fails, response.type, filled, steps)

    def unread(self) -> tuple[tuple[float, str], ...]:
        """Returns the data that no client reads and that may belong to this request, in seconds after the request."""
        since = [each for each in self.connection.discarded if each.at > self.sent_at]
        return tuple((each.at - self.sent_at, each.what) for each in since if each.stream in (None, self.id))

    def over(self) -> bool:
        """Returns whether the request was answered, or can no longer be answered."""
        # A stream that the probe closed is the cancel, not a failure; other signs still show the work.
        failed = bool(self.failure) and not self.closed_stream
        return bool(self.responses or self.connection.lost) or failed

    async def leaves(self) -> None:
        """Waits until the request is written, at most 10 s."""
        await self.connection.until(lambda: self.is_written or self.over(), self.connection.now() + 10.0)

    async def answered(self, until: float) -> Arrival | None:
        """Waits for the first response, at most until the time ``until``; returns ``None`` without a response."""
        await self.connection.until(self.over, until)
        return next(iter(self.responses), None)

    def trouble(self) -> str:
        """Returns the reason of a failed connection or transport; empty if there is none."""
        return self.connection.lost or self.failure

    def waited(self) -> str:
        """Returns the result of :meth:`trouble`, or else the time spent waiting."""
        return self.trouble() or f"no answer within {self.connection.now() - self.sent_at:.1f} s"

    def evidence(self, response: Arrival) -> EvidenceItem:
        """Returns an arrival as evidence, with the time between the cancel of this request and the arrival."""
        lag = "" if self.cancel_at == math.inf else f", {response.at - self.cancel_at:+.3f} s from the cancel"
        return EvidenceItem(f"{response.words}{lag}", response.at - self.sent_at, response.frame)
