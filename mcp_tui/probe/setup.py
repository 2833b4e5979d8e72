"""What the experiments share: the tool, its uncancelled run, the heartbeat, and how a cancelled call is watched."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcp_tui.client.connection import ServerInfo
from mcp_tui.client.headers import Mirrors
from mcp_tui.probe.connection import UNLIMITED, Arrival, ProbeConnection, Trace
from mcp_tui.probe.judging import Answer, Control, Next, Observation
from mcp_tui.probe.report import Evidence
from mcp_tui.probe.rules import RULES, Level
from mcp_tui.probe.tools import Choice
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.revisions import Revision

MID: Final = 0.4
"""The part of its work after which a call is cancelled."""

REASON: Final = "mcp-tui probe"

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


@dataclass(slots=True)
class Setup:
    """What is known of the server and the tool.

    ``choice`` is ``None`` where no slow tool was found; ``task`` is the tool to run as a task. ``traces`` are all requests
    of all experiments, ``calls`` counts tool calls by tool and arguments as JSON.
    """

    heartbeat: Heartbeat
    info: ServerInfo | None = None
    transport: str = ""
    tools: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    mirrors: dict[str, Mirrors] = field(default_factory=dict[str, Mirrors])
    choice: Choice | None = None
    control: Control | None = None
    task: Choice | None = None
    brief: dict[str, Json] | None = None
    connecting: float = 0.0
    traces: list[Trace] = field(default_factory=list[Trace])
    calls: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    @property
    def revision(self) -> Revision:
        assert self.info is not None
        return self.info.revision

    @property
    def modern_http(self) -> bool:
        """Whether a cancel is the closing of a stream."""
        return self.revision.modern and self.transport == "http"

    def level(self, rule: str) -> Level:
        """How strongly a rule asks here."""
        return RULES[rule].clause(self.revision, self.transport).level

    @property
    def work(self) -> tuple[Choice, Control]:
        """The tool and its uncancelled run, for experiments that need them."""
        assert self.choice is not None
        assert self.control is not None
        return self.choice, self.control

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

    # -- calls -----------------------------------------------------------------------------------------------

    def call(
        self, connection: ProbeConnection, *, brief: bool = False, limits: ev.Limits = UNLIMITED
    ) -> Trace:
        """Call the tool on a line."""
        choice, _ = self.work
        arguments = self.brief if brief and self.brief is not None else choice.arguments
        return self.calling(connection, choice.name, arguments, limits=limits)

    def calling(
        self,
        connection: ProbeConnection,
        tool: str,
        arguments: dict[str, Json],
        *,
        limits: ev.Limits = UNLIMITED,
    ) -> Trace:
        """Call any tool, and count it."""
        self.calls[tool, messages.text(arguments)] += 1
        trace = connection.call(tool, arguments, limits=limits)
        self.traces.append(trace)
        return trace

    async def next_call(self, connection: ProbeConnection, *, tool: bool = False) -> Next:
        """Whether the server still answers; with ``tool``, whether the tool works again as well."""
        trace = connection.ask()
        self.traces.append(trace)
        heard = await trace.answered(connection.now() + self.patience)
        if heard is None:
            return self._unanswered(trace)
        told = [
            Evidence(f"{trace.row.method} answered after {heard.at - trace.sent_at:.2f} s", None, heard.frame)
        ]
        if tool and self.control is not None and self.control.duration is not None and not self.control.lost:
            trace = self.call(connection, brief=True)
            heard = await trace.answered(connection.now() + self.patience + self.control.length)
            if heard is None:
                return self._unanswered(trace)
            if heard.kind == "error":
                evidence = Evidence(f"tools/call: {heard.words}", None, heard.frame)
                return Next(False, f"error {heard.code}", (*told, evidence))
            told.append(
                Evidence(f"tools/call answered after {heard.at - trace.sent_at:.2f} s", None, heard.frame)
            )
        return Next(True, "", tuple(told))

    def _unanswered(self, trace: Trace) -> Next:
        words = trace.waited()
        evidence = [Evidence(f"{trace.row.label}: {words}")]
        ended = trace.connection.ended
        last = next(
            (
                each
                for each in reversed(self.traces)
                if each.connection is trace.connection and each.row.cancel_at
            ),
            None,
        )
        if ended is not None and last is not None and last.row.cancel_at is not None:
            lag = ended.at - last.row.cancel_at
            evidence = [Evidence(f"{ended.detail}, {lag:+.3f} s from the cancel", ended.at - last.sent_at)]
        evidence += [
            Evidence(f"stderr: {text}")
            for text in list(trace.connection.client.stderr_tail)[-2:]
            if text.strip()
        ]
        return Next(False, words, tuple(evidence))

    # -- what was seen ---------------------------------------------------------------------------------------

    async def watch(self, trace: Trace, until: float) -> None:
        """Listen until a moment; not for long after a late result, and not beyond the end of the connection."""
        connection = trace.connection

        def over() -> bool:
            return connection.ended is not None or any(each.kind == "result" for each in trace.responses)

        if await connection.until(over, until) and connection.ended is None:
            await asyncio.sleep(min(AFTERMATH, max(0.0, until - connection.now())))

    def seen(self, trace: Trace, cancel_at: float) -> Observation:
        """What came of a call that was cancelled at a moment."""
        sent, connection = trace.sent_at, trace.connection
        now = connection.now()
        early = [each for each in trace.responses if each.at < cancel_at]
        late = [each for each in trace.responses if each.at >= cancel_at]
        progress = trace.progress()
        after = [each for each in progress if each.at > cancel_at]
        closed = connection.modern_http and trace.row.signal is ev.Signal.STREAM_CLOSED
        signal = trace.row.signal
        how = "cancelled" if signal is None else _SIGNALS[signal]
        quotes = [Evidence(how, cancel_at - sent)]
        quotes += [trace.evidence(each, cancel_at=cancel_at) for each in _ends(after)]
        quotes += [trace.evidence(each) for each in early[:1]]
        return Observation(
            cancel=cancel_at - sent,
            answers=tuple(
                Answer(
                    each.words,
                    each.at - cancel_at,
                    each.at - sent,
                    each.kind == "result",
                    trace.evidence(each, cancel_at=cancel_at),
                )
                for each in late
            ),
            progress=tuple(each.at - sent for each in progress),
            logs=tuple(
                each.at - sent for each in tuple(connection.heard) if each.kind == "log" and each.at > sent
            ),
            beats=tuple(beat - sent for beat in self.heartbeat.beats if sent < beat <= now),
            early=early[0].words if early else _before(trace, cancel_at),
            lost="" if connection.ended is None else connection.ended.detail,
            watched=now - sent,
            quotes=tuple(quotes),
            closed_stream=closed,
        )


_SIGNALS: Final = {
    ev.Signal.NOTIFICATION: "cancelled by notification",
    ev.Signal.STREAM_CLOSED: "cancelled by closing its stream",
    ev.Signal.TASKS_CANCEL: "cancelled by tasks/cancel",
    ev.Signal.NONE: "cancelled before it was sent",
}


def _before(trace: Trace, cancel_at: float) -> str:
    ended = trace.connection.ended
    if ended is not None and ended.at < cancel_at:
        return ended.detail
    return trace.trouble() if trace.row.error and trace.row.cause is None and not trace.row.open else ""


def _ends(arrivals: list[Arrival]) -> list[Arrival]:
    """The first and the last of several."""
    return arrivals if len(arrivals) <= 2 else [arrivals[0], arrivals[-1]]
