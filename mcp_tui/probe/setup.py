"""What the experiments share: the tool, its uncancelled run, the heartbeat, and how a cancelled call is watched."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from mcp_tui.client.connection import ServerInfo
from mcp_tui.probe import judging
from mcp_tui.probe.connection import REASON, Arrival, Peer, ProbeConnection, Trace
from mcp_tui.probe.judging import TRANSIT, Answer, ControlRun, Next, Observation
from mcp_tui.probe.report import EvidenceItem, Finding, Judged, Verdict
from mcp_tui.probe.rules import RULES, Level
from mcp_tui.probe.tools import Choice
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.revisions import Revision

EXTENSION: Final = "io.modelcontextprotocol/tasks"

MID: Final = 0.4
"""The part of its work after which a call is cancelled."""

BEAT: Final = 0.04
"""Seconds between two looks at the heartbeat file."""

AFTERMATH: Final = 0.4
"""Seconds that are listened on after a late result: a second one would follow it closely."""


class Heartbeat:
    """A file that the tool changes while it works. ``beats`` are the moments at which it was seen to have changed."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.beats: list[float] = []

    async def watch(self) -> None:
        """Look at the file until cancelled; without one return at once."""
        if self.path is None:
            return
        before = self._state()
        while True:
            await asyncio.sleep(BEAT)
            now = self._state()
            if now != before:
                self.beats.append(time.monotonic())
                before = now

    def _state(self) -> tuple[int, int]:
        assert self.path is not None
        try:
            status = self.path.stat()
        except OSError:
            return 0, 0
        return status.st_size, status.st_mtime_ns

    def between(self, sent: float, until: float) -> tuple[float, ...]:
        """The beats between two moments, as seconds since the first."""
        return tuple(beat - sent for beat in self.beats if sent < beat <= until)


@dataclass(slots=True, kw_only=True)
class Setup:
    """What is known of the server and the tool.

    ``connect`` opens a further connection, for what one experiment cannot show on its own. ``choice`` is ``None`` where no
    slow tool was found; ``task`` is the tool to run as a task; ``session``: the server opened an HTTP session. ``traces``
    are the requests of which each may have one response, ``calls`` counts tool calls by tool and arguments as JSON.
    ``findings`` are those made so far, ``noise`` what came over stdout and was not a message.
    """

    heartbeat: Heartbeat
    connect: Callable[[str], ProbeConnection]
    peer: Peer
    info: ServerInfo
    tools: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    choice: Choice | None = None
    control: ControlRun | None = None
    task: Choice | None = None
    brief: dict[str, Json] | None = None
    session: bool = False
    connecting: float = 0.0
    traces: list[Trace] = field(default_factory=list[Trace])
    calls: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    noise: list[Arrival] = field(default_factory=list[Arrival])

    @property
    def transport(self) -> str:
        return self.peer.transport

    @property
    def revision(self) -> Revision:
        return self.peer.revision

    @property
    def modern_http(self) -> bool:
        """Whether a cancel is the closing of a stream."""
        return self.revision.modern and self.transport == "http"

    def no_tasks(self) -> str:
        """Why there is no task to cancel, or an empty string."""
        capabilities = self.info.capabilities
        if self.revision.modern:
            extensions = as_object(capabilities.get("extensions"))
            return "" if EXTENSION in extensions else "the server offers no tasks"
        tasks = as_object(capabilities.get("tasks"))
        calls = as_object(as_object(tasks.get("requests")).get("tools"))
        if "call" not in calls:
            return "the server offers no tasks"
        if "cancel" not in tasks:
            return "the server offers tasks, but no tasks/cancel"
        return "" if self.task is not None else "no tool of the server takes tasks"

    def level(self, rule: str) -> Level:
        """How strongly a rule asks here."""
        return RULES[rule].clause(self.revision, self.transport).level

    def verdict(self, rule: str) -> Verdict | None:
        """What a rule came to, where it was judged."""
        finding = self.findings.get(rule)
        return None if finding is None else finding.verdict

    @property
    def work(self) -> tuple[Choice, ControlRun]:
        """The tool and its uncancelled run, for experiments that need them."""
        assert self.choice is not None
        assert self.control is not None
        return self.choice, self.control

    @property
    def busy(self) -> bool:
        """Whether a call can be in flight for long enough, and does not end the connection by itself."""
        return self.choice is not None and self.control is not None and not self.control.lost

    @property
    def mid(self) -> float:
        """Seconds after which a call is cancelled mid-work."""
        _, control = self.work
        return MID * control.length if control.duration is not None else min(MID * control.watched, 1.0)

    def end(self, since: float = 0.0) -> float:
        """Seconds from a call to the moment after which nothing more of it is expected."""
        _, control = self.work
        if control.duration is None:
            return since + 3.0
        return max(control.length, since) + max(0.5, 0.1 * control.length)

    @property
    def patience(self) -> float:
        """Seconds that the next call is given to be answered."""
        return 5.0 if self.control is None else min(5.0 + self.control.length, 15.0)

    # -- calls -----------------------------------------------------------------------------------------------------

    def called(self, trace: Trace, tool: str, arguments: dict[str, Json]) -> Trace:
        """Count a call of a tool."""
        self.calls[tool, messages.text(arguments)] += 1
        self.traces.append(trace)
        return trace

    def call(self, connection: ProbeConnection, *, brief: bool = False, id: RequestId | None = None) -> Trace:
        """Call the tool on a connection."""
        choice, _ = self.work
        arguments = self.brief if brief and self.brief is not None else choice.arguments
        return self.called(connection.call(choice.name, arguments, id=id), choice.name, arguments)

    async def begin(self, connection: ProbeConnection, *, id: RequestId | None = None) -> Trace:
        """Call the tool and wait until that is written."""
        trace = self.call(connection, id=id)
        await trace.written()
        return trace

    async def cancel(self, trace: Trace, after: float = 0.0, reason: str = REASON) -> Trace | None:
        """Cancel a call so many seconds after it was written, and wait until the server has read the cancel.

        Returns a request that was sent behind the cancel: its answer shows that the cancel was read.
        """
        connection = trace.connection
        await connection.quiet(trace.sent_at + after)
        at = connection.cancel(trace, reason)
        if connection.modern_http:
            return None  # there is nothing to be seen on a stream that is closed
        if connection.kind == "http":  # two POSTs overtake each other
            await connection.until(lambda: bool(connection.accepted_at), at + TRANSIT)
        behind = connection.echo()
        self.traces.append(behind)
        await behind.answered(at + TRANSIT)
        return behind

    async def cancelled_call(
        self, connection: ProbeConnection, after: float, reason: str = REASON, *, id: RequestId | None = None
    ) -> tuple[Trace, Observation]:
        """Call the tool, cancel it so many seconds later, and watch it until nothing more is expected."""
        trace = await self.begin(connection, id=id)
        behind = await self.cancel(trace, after, reason)
        await self.watch(trace, trace.sent_at + self.end(after))
        return trace, self.seen(trace, behind)

    async def survives(
        self, rule: str, connection: ProbeConnection, told: Iterable[EvidenceItem] = ()
    ) -> None:
        """Make the next call.

        Raises:
            Judged: the server does not answer it, which breaks ``rule``; ``told`` is what came before.
        """
        next_ = await self.next_call(connection)
        if not next_.works:
            found = judging.following(rule, next_, self.control)
            raise Judged(replace(found, evidence=(*told, *found.evidence)))

    async def next_call(self, connection: ProbeConnection, *, tool: bool = False) -> Next:
        """Whether the server still answers; with ``tool``, whether the tool works again as well."""
        trace = connection.ask()
        self.traces.append(trace)
        heard = await trace.answered(connection.now() + self.patience)
        if heard is None:
            return self._unanswered(trace)
        told = [
            EvidenceItem(f"{trace.method} answered after {heard.at - trace.sent_at:.2f} s", None, heard.frame)
        ]
        if tool and self.busy and self.control is not None and self.control.duration is not None:
            trace = self.call(connection, brief=True)
            heard = await trace.answered(connection.now() + self.patience + self.control.length)
            if heard is None:
                return self._unanswered(trace)
            if heard.kind == "error":
                evidence = EvidenceItem(f"tools/call: {heard.words}", None, heard.frame)
                return Next(False, f"error {heard.code}", (*told, evidence))
            text = f"tools/call answered after {heard.at - trace.sent_at:.2f} s"
            told.append(EvidenceItem(text, None, heard.frame))
        return Next(True, "", tuple(told))

    def _unanswered(self, trace: Trace) -> Next:
        words, connection = trace.waited(), trace.connection
        evidence = [EvidenceItem(f"{trace.method}: {words}")]
        cancelled = [each for each in self.traces if each.connection is connection and each.cancel_at]
        if connection.ended is not None and cancelled:
            last = cancelled[-1]
            lag = connection.ended.at - (last.cancel_at or 0.0)
            text = f"{connection.ended.detail}, {lag:+.3f} s from the cancel"
            evidence = [EvidenceItem(text, connection.ended.at - last.sent_at)]
        evidence += [EvidenceItem(f"stderr: {text}") for text in connection.stderr[-2:] if text.strip()]
        return Next(False, words, tuple(evidence))

    # -- what was seen ---------------------------------------------------------------------------------------------

    async def watch(self, trace: Trace, until: float) -> None:
        """Listen until a moment; not for long after a late result, and not beyond the end of the connection."""
        connection = trace.connection

        def over() -> bool:
            return connection.ended is not None or any(each.kind == "result" for each in trace.responses)

        if await connection.until(over, until) and connection.ended is None:
            await asyncio.sleep(min(AFTERMATH, max(0.0, until - connection.now())))

    def seen(self, trace: Trace, behind: Trace | None = None) -> Observation:
        """What came of a cancelled call; ``behind`` is the request that was sent behind its cancel."""
        sent, connection = trace.sent_at, trace.connection
        assert trace.cancel_at is not None
        cancel_at, now = trace.cancel_at, connection.now()
        early = [each for each in trace.responses if each.at < cancel_at]
        late = [each for each in trace.responses if each.at >= cancel_at]
        progress = trace.progress()
        read = next((each.at for each in behind.responses), None) if behind is not None else None
        after = [each for each in progress if each.at > cancel_at]
        how = "cancelled by closing its stream" if trace.closed_stream else "cancelled by notification"
        quotes = [EvidenceItem(how, max(0.0, cancel_at - sent))]  # in one write they share a moment
        if read is not None:
            quotes.append(EvidenceItem("a request sent behind the cancel was answered", read - sent))
        quotes += [trace.evidence(each) for each in (after if len(after) <= 2 else (after[0], after[-1]))]
        quotes += [trace.evidence(each) for each in early[:1]]
        ended = "" if connection.ended is None else connection.ended.detail
        before = ended if connection.ended is not None and connection.ended.at < cancel_at else ""
        if not trace.closed_stream and not trace.responses:
            before = before or connection.failures.get(trace.id, "")
        logs = (each.at - sent for each in tuple(connection.heard) if each.kind == "log" and each.at > sent)
        return Observation(
            cancel=cancel_at - sent,
            read=None if read is None else read - sent,
            answers=tuple(
                Answer(
                    each.words,
                    each.at - cancel_at,
                    each.at - sent,
                    each.kind == "result",
                    trace.evidence(each),
                )
                for each in late
            ),
            progress=tuple(each.at - sent for each in progress),
            logs=tuple(logs),
            beats=self.heartbeat.between(sent, now),
            early=early[0].words if early else before,
            lost=ended,
            watched=now - sent,
            quotes=tuple(quotes),
            closed_stream=trace.closed_stream,
        )
