"""One run of a client's command: the judge's server that it starts, its output, its end, and processes that it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any, Final, cast

from mcp_tui.demo import frames
from mcp_tui.demo.calls import Call, Channel, Task
from mcp_tui.demo.demo_log import DemoLog
from mcp_tui.demo.demo_server import LineChannel
from mcp_tui.demo.demo_tools import TOOLS, Run
from mcp_tui.demo.dispatch import WORKING, Setting
from mcp_tui.demo.frames import DemoRefusal, Object
from mcp_tui.demo.http_server import HttpRefusal, HttpResponse, HttpServer
from mcp_tui.judge import harm, stub
from mcp_tui.judge.observed_connection import ObservedConnection
from mcp_tui.judge.observed_run import (
    ObservedCall,
    ObservedHttpSession,
    ObservedRun,
    ObservedServer,
    OutputLine,
    call_key,
    model_id,
)
from mcp_tui.probe.left_behind import running
from mcp_tui.protocol.error_codes import INTERNAL_ERROR, METHOD_NOT_FOUND
from mcp_tui.protocol.events import Signal, Violation
from mcp_tui.protocol.json_values import as_object, object_or_none
from mcp_tui.protocol.messages import is_request_id, shown

CLIENT_PATIENCE_SECONDS: Final = 30.0
"""Seconds to wait for a client in which nothing happens."""

START_SECONDS: Final = 90.0
"""Seconds that a client has to make its call, from its start."""

LEFT_SECONDS: Final = 10.0
"""Seconds after its client's end from which a server counts as left behind."""

CLOSED_SECONDS: Final = 2.0
"""Seconds in which the streams of a client that has ended are closed."""

KILLED_SECONDS: Final = 5.0
"""Seconds to wait for the end of a killed process."""

MOST_LINES: Final = 400
OUTPUT_LINE_CHARACTERS: Final = 1000
"""The maximum number of the client's lines that are kept, and characters of each."""

WITHHELD_SECONDS: Final = 1.0
MOST_WITHHELD_SECONDS: Final = 2.0
"""Seconds by which the answer to the next call is delayed, at least and at most."""

WITHHELD_SHARE: Final = 0.8
"""The share of a client's limit after which its next call is answered at the latest."""

NEXT: Final = "add"
"""The tool that a client calls next."""

_SIGNALS_OF_WAYS: Final = {
    "notification": Signal.NOTIFICATION,
    "stream_closed": Signal.STREAM_CLOSED,
    "tasks_cancel": Signal.TASKS_CANCEL,
}


class WithheldCall:
    """A call whose answer the judge controls."""

    def __init__(self, call: Call, observed: ObservedCall) -> None:
        self.call = call
        self.observed = observed
        self.over = asyncio.Event()

    @property
    def reachable(self) -> bool:
        """Whether messages about the call can still reach the client."""
        return not self.call.channel.disconnected.is_set()

    def answer(self) -> None:
        """Answers the call with a result."""
        self.observed.answered_at = self.observed.answered_at or monotonic()
        self.call.answer("finished (cancel ignored)")
        self.over.set()

    def refuse(self) -> None:
        """Answers the call with an error."""
        self.observed.answered_at = self.observed.answered_at or monotonic()
        self.call.refuse(DemoRefusal(INTERNAL_ERROR, "failed (cancel ignored)"))
        self.over.set()

    def lose(self, status: int = 0) -> None:
        """Loses the answer: over stdio the server exits, over HTTP a gateway answers or, with 0, the connection is reset."""
        channel = self.call.channel
        if isinstance(channel, Overheard) and isinstance(channel.channel, HttpResponse):
            channel.channel.lose(status)
        elif isinstance(channel, StubProcess):
            channel.end_process()
        self.cut()

    def cut(self) -> None:
        """Ends the event stream of the call, without an answer."""
        channel = self.call.channel
        if isinstance(channel, Overheard) and isinstance(channel.channel, HttpResponse):
            channel.channel.begin()
        # In 2026-07-28 the request is over with its stream.
        if isinstance(channel, Overheard) and self.call.caller.modern:
            channel.connection.stream_ended(self.call.id)
        self.over.set()

    def report(self, step: int) -> None:
        """Sends progress of the call."""
        self.call.progress(step, None, f"still working, step {step}")


class Overheard(Channel):
    """The channel of a request over HTTP, all of which is observed."""

    def __init__(self, channel: Channel, connection: ObservedConnection) -> None:
        super().__init__()
        self.disconnected = channel.disconnected
        self.drain = channel.drain
        self.end = channel.end
        self.number = connection.number
        self.channel = channel
        self.connection = connection

    def send(self, frame: Object) -> bool:
        self.connection.server_wrote(frames.encode(frame))
        return self.channel.send(frame)


class WatchingLog(DemoLog):
    """The log of the judge's server, which reports to the trial."""

    def __init__(self, trial: ClientTrial) -> None:
        super().__init__(None, "stdio")
        self._trial = trial

    def received(self, frame: Object, **http: Any) -> None:
        """Takes a message, over HTTP with its headers."""
        if http:
            self._trial.posted(frame, http["headers"].get("mcp-session-id", ""))
        super().received(frame, **http)

    def event(self, name: str, **fields: Any) -> None:
        """Takes one event."""
        self._trial.logged(name, fields)


class StubProcess(LineChannel):
    """One process that the client started as its server, and the traffic through it."""

    def __init__(self, trial: ClientTrial, number: int, writer: asyncio.StreamWriter) -> None:
        super().__init__(trial.setting)
        self.number = number
        self.observed = ObservedServer(began=monotonic())
        self.connection = ObservedConnection()
        self._trial = trial
        self._writer = writer

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Reads the records of the process until it ends."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                self._take(*await stub.read_record(reader))
        self.observed.ended_at = monotonic()
        self.disconnected.set()
        self.close()
        self._writer.close()
        self._trial.news()

    def _take(self, kind: bytes, data: bytes, since: float, at: float) -> None:
        match kind:
            case stub.STARTED:
                self.observed.pid, version = map(int, data.split())
                if version != stub.VERSION:
                    self.end_process()
            case stub.FROM_CLIENT:
                # The demo server handles a message within take(), so its events now are about this connection.
                self._trial.speaking, self._trial.read = self.number, (since, at)
                self.connection.client_wrote(data, at)
                self.take(data)
            case stub.INPUT_END:
                self.observed.stdin_closed_at = at
            case _:
                self.observed.signals += [(at, number) for number in data]
        # The stub decides nothing: this is where the server ends after the end of its stdin, or a signal.
        if kind in (stub.INPUT_END, stub.SIGNALS) and not self._trial.deaf:
            self.end_process()
        self._trial.news()

    def send(self, frame: Object) -> bool:
        raw = frames.encode(frame)
        self.connection.server_wrote(raw)
        if self._writer.is_closing():
            return False
        self._writer.write(raw + b"\n")
        return True

    def end_process(self) -> None:
        """Ends the process, as an obedient server would."""
        self._writer.close()

    def kill(self) -> None:
        """Kills the process, if it does not end."""
        self.end_process()
        if self.observed.ended_at is None and self.observed.pid:
            with contextlib.suppress(OSError):
                os.kill(self.observed.pid, signal.SIGKILL)


class ClientTrial(asyncio.SubprocessProtocol):
    """One run. ``folder`` is where its socket is, and nothing else.

    ``deaf``: the server ignores the end of its stdin, and every signal but SIGKILL. ``silent``: it answers no handshake.
    ``speaks`` is the one protocol version that it has, empty for all. ``streams``: calls over HTTP are answered by streams.
    ``ends_session``: the session of the first call of the tool is gone (HTTP 404).
    """

    def __init__(
        self,
        observed: ObservedRun,
        folder: Path,
        *,
        speaks: str = "",
        gave_up: re.Pattern[str] | None = None,
        arguments: Object,
    ) -> None:
        self.observed = observed
        self.folder = folder
        self.deaf = False
        self.silent = False
        self.streams = True
        self.ends_session = False
        self.gate = asyncio.Event()
        """Set when the next call may be answered."""
        self.withheld: list[WithheldCall] = []
        self.talks: list[StubProcess] = []
        self.arguments = arguments
        self._speaks = speaks
        self._pattern = gave_up
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._process: asyncio.SubprocessTransport | None = None
        self._rest = {"stdout": b"", "stderr": b""}
        self._listener: asyncio.Server | HttpServer | None = None
        self.url = ""
        self.speaking = 0
        """The number of the connection whose message is being handled."""
        self.read = 0.0, 0.0
        """The last time at which that message had not arrived yet, and the time at which it was read."""
        self._reads: dict[tuple[int, object], tuple[float, float]] = {}
        """The same times of each call, by its connection and its id, because a call is handled after it was received."""
        self._looks = monotonic(), monotonic()
        """The last two times at which the event loop read messages."""
        self._gone: str | None = None
        """The HTTP session that was ended."""
        self._sessions: dict[str, ObservedConnection] = {}
        """What is seen of each HTTP session; without an id, of what opens one and of all in 2026-07-28."""
        self._opened: dict[str, ObservedConnection] = {}
        """What is seen of each session that was opened and that no message of the client has named yet."""
        self._overheard: list[ObservedConnection] = []
        own: Mapping[str, Run] = dict.fromkeys(("stubborn", "count", "ask", "send"), self._withhold_call)
        self.setting = Setting(
            log=WatchingLog(self),
            end=lambda _: None,
            spawn=self.spawn,
            through=self._through,
            instead={**own, "research": self._research, NEXT: self._next},
            # No client uses such ids, so a cancel with one of them can only name a request of the server.
            streams=lambda frame: (
                frame["method"] in WORKING and (self.streams or frame["method"] != "tools/call")
            ),
            ids=(f"judge-{mark}-{number}" for mark in [os.urandom(4).hex()] for number in count(1)),
        )

    # -- waiting -------------------------------------------------------------------------------------------------

    def news(self) -> None:
        """Wakes the waiting coroutines after a change."""
        self._news.set()

    async def until(self, test: Callable[[], object], seconds: float = CLIENT_PATIENCE_SECONDS) -> bool:
        """Waits until ``test`` is true, for ``seconds`` at most; returns whether it is."""
        end = monotonic() + seconds
        while not test():
            self._news.clear()
            try:
                async with asyncio.timeout(max(0.0, end - monotonic())):
                    await self._news.wait()
            except TimeoutError:
                return bool(test())
        return True

    @property
    def is_over(self) -> bool:
        """Whether the client has ended."""
        return self.observed.ended_at is not None

    def has_left(self, call: ObservedCall) -> bool:
        """Whether the client, or the connection of its call, has ended."""
        return self.is_over or self.observed.disconnected_at(call) is not None

    @property
    def broke_a_rule(self) -> bool:
        """Whether the client has broken a rule."""
        return any(isinstance(event, Violation) for each in self.connections for event in each.events)

    @property
    def connections(self) -> list[ObservedConnection]:
        """The connections of the client so far."""
        return [*(talk.connection for talk in self.talks), *self._overheard]

    def gather(self) -> None:
        """Adds to the observations which rules the client broke, its name, and its protocol version."""
        observed = self.observed
        for each in self.connections:
            observed.events += [event for event in each.events if isinstance(event, Violation)]
            observed.client = each.observer.client or observed.client
            observed.revision = each.revision or observed.revision

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs a coroutine for as long as the run lasts."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- the server ----------------------------------------------------------------------------------------------

    @property
    def server(self) -> list[str]:
        """The command line that starts the judge's server."""
        return [sys.executable, "-I", "-S", str(Path(stub.__file__)), str(self.folder / "judge")]

    async def open(self) -> None:
        """Listens for the processes that the client starts, or serves over HTTP."""
        if self.observed.transport == "http":
            self._listener = HttpServer(self.setting)
            self.url = await self._listener.open(0)
            self.spawn(self._look())
            return
        self._listener = await asyncio.start_unix_server(self._connected, self.folder / "judge")

    async def _look(self) -> None:
        """Notes when the event loop reads messages: one over HTTP arrived after the last time but one."""
        while True:
            self._looks = self._looks[1], monotonic()
            await asyncio.sleep(stub.BEAT_SECONDS)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = StubProcess(self, len(self.talks), writer)
        self.talks.append(talk)
        self.observed.servers.append(talk.observed)
        await talk.run(reader)

    def posted(self, frame: Object, session: str) -> None:
        """Takes a message over HTTP."""
        if frame.get("method") == "initialize":
            self._sessions[session] = self._new_observed()
        connection = self._session(session)
        self.speaking, self.read = connection.number, (self._looks[0], monotonic())
        self._end_session(frame, session)
        connection.client_wrote(frames.encode(frame) + b"\n", self.read[1])

    def _end_session(self, frame: Object, session: str) -> None:
        """Raises `HttpRefusal` (HTTP 404: nothing was executed) for what names the session that is gone."""
        params = as_object(frame.get("params"))
        calls = frame.get("method") == "tools/call" and params.get("name") == self.observed.tool
        if self.ends_session and self._gone is None and session and calls:
            self._gone = session
        if not session or session != self._gone:
            return
        if calls:
            call = ObservedCall(self.observed.tool, self.read[1], self.speaking, frame.get("id", 0))
            call.lost_at, call.key, call.model_id = call.at, call_key(params), model_id(params)
            self.observed.tools.append(call.tool)
            self.observed.calls.append(call)
            self.news()
        raise HttpRefusal(404, "the session is gone")

    def _session(self, session: str) -> ObservedConnection:
        """Returns what sees the messages that name an HTTP session, or none: what names a foreign one is seen alone."""
        if session not in self._sessions:
            opened = self._opened.pop(session, None)
            if opened is not None:
                self.observed.sessions.append(ObservedHttpSession(opened.number, monotonic()))
                if self._sessions.get("") is opened:
                    del self._sessions[""]
            self._sessions[session] = opened or self._new_observed()
        return self._sessions[session]

    def _new_observed(self) -> ObservedConnection:
        self._overheard.append(ObservedConnection("http", len(self._overheard)))
        return self._overheard[-1]

    def _through(self, frame: Object, channel: Channel) -> Channel | None:
        if not self._answers(frame):
            self.spawn(self._abandoned(channel))
            return None
        if not self._overheard:
            return channel
        connection = self._overheard[self.speaking]  # A message is handled as soon as it was posted.
        if isinstance(channel, HttpResponse) and channel.session:
            self._opened[channel.session] = connection
        return Overheard(channel, connection)

    async def _abandoned(self, channel: Channel) -> None:
        """Notes that the client has abandoned its last handshake."""
        asked = self.observed.initialize_at
        await channel.disconnected.wait()
        # A connection that closes because the judge ends the client, or after a later handshake, abandons nothing.
        if self.observed.initialize_at == asked and not self.observed.stopped:
            self.observed.abandoned_at = monotonic()
            self.news()

    def _answers(self, frame: Object) -> bool:
        method = frame["method"]
        self.observed.requests += 1
        if method == "initialize":
            if self.silent:
                self.observed.initialize_at, self.observed.abandoned_at = monotonic(), None
            if self._speaks == frames.MODERN:
                raise DemoRefusal(METHOD_NOT_FOUND, "Method not found: initialize")
            if self._speaks and (params := object_or_none(frame.get("params"))) is not None:
                params["protocolVersion"] = self._speaks
            return not self.silent
        if method == "server/discover" and (self.silent or self._speaks not in ("", frames.MODERN)):
            raise DemoRefusal(METHOD_NOT_FOUND, "Method not found: server/discover")
        return True

    def logged(self, name: str, fields: dict[str, Any]) -> None:
        """Takes an event of the server's log, for as long as the client does what it wants."""
        # Events after the judge has ended the client are not caused by the client.
        if self.observed.stopped:
            return
        if name == "received" and fields.get("method") == "tools/call":
            self.observed.tools.append(str(as_object(fields.get("params")).get("name")))
            self._reads[self.speaking, fields.get("id")] = self.read
        if name == "cancelled":
            self._cancelled(fields["id"], _SIGNALS_OF_WAYS.get(fields["how"]), fields["reason"])
            if fields["how"] == "stream_closed":
                for connection in self._overheard:
                    connection.client_left(fields["id"])
        elif name == "disconnected":
            for each in self.withheld:
                if not each.reachable and each.observed.answered_at is None:
                    each.observed.closed_at = each.observed.closed_at or monotonic()
        elif name == "received" and fields.get("http_method") in ("GET", "DELETE"):
            self._end_session({}, fields["headers"].get("mcp-session-id", ""))
            if fields["http_method"] == "DELETE" and (named := fields["headers"].get("mcp-session-id")):
                self._deleted(self._session(named).number)
        elif name == "received" and "method" not in fields:
            self._answered(fields)
        elif name == "received" and "cancel" in fields["method"].lower():
            # A cancel of the wrong kind or with the wrong id breaks other rules, but still is a cancel.
            params = as_object(fields.get("params"))
            named = params.get("requestId", params.get("taskId", params.get("id")))
            way = Signal.TASKS_CANCEL if "id" in fields else Signal.NOTIFICATION
            self._cancelled(named, way, params.get("reason"))
        self.news()

    def _answered(self, fields: dict[str, Any]) -> None:
        for asked in self.observed.questions:
            if asked.id == fields.get("id") and asked.answered_at is None:
                asked.answered_at, asked.is_error = self.read[1], "error" in fields

    def _deleted(self, connection: int) -> None:
        for each in self.observed.sessions:
            if each.connection == connection and each.deleted_at is None:
                each.deleted_at = monotonic()

    def _cancelled(self, id_: object, way: Signal | None, reason: object) -> None:
        # The same id may be in use on several connections. A message is about its own connection, a stream about its call.
        calls = [
            each
            for each in (*self.observed.calls, *self.observed.nexts)
            if way is Signal.STREAM_CLOSED or each.is_task or each.connection == self.speaking
        ]
        named = [each for each in calls if str(each.id) == str(id_)]
        open_ = [each for each in calls if each.answered_at is None and each.cancelled_at is None]
        if not named and way is Signal.TASKS_CANCEL:
            self.observed.strays.append(shown(id_))
        elif not named and len(open_) == 1 and not self._is_known(id_):
            named = open_
        for each in named:
            if each.cancelled_at is None:
                each.cancelled_since, each.cancelled_at = self._read(way)
                each.signal, each.reason = way, reason

    def _is_known(self, id_: object) -> bool:
        """Returns whether a request has this id that is no call of a tool, from the client or the server."""
        connection = self._overheard[self.speaking] if self.url else self.talks[self.speaking].connection
        ledger = connection.ledger
        return is_request_id(id_) and (ledger.named(id_) is not None or ledger.inbound.knows(id_))

    def _read(self, way: Signal | None) -> tuple[float, float]:
        """Returns the earliest time of a cancel, and the time at which it was read. A closed stream has no message."""
        return self.read if way is not Signal.STREAM_CLOSED else (self._looks[0], monotonic())

    # -- its tools -----------------------------------------------------------------------------------------------

    def _observed_call(self, call: Call) -> ObservedCall:
        # A task has no channel.
        number = call.channel.number if isinstance(call.channel, (StubProcess, Overheard)) else self.speaking
        since, at = self._reads.get((number, call.id), (monotonic(), monotonic()))
        is_task = isinstance(call, Task)
        observed = ObservedCall(call.tool, at, number, call.id, call.reports, is_task, since)
        observed.key, observed.model_id = call_key(call.params), model_id(call.params)
        return observed

    def _withheld_call(self, call: Call) -> WithheldCall:
        withheld = WithheldCall(call, self._observed_call(call))
        self.withheld.append(withheld)
        self.observed.calls.append(withheld.observed)
        self.news()
        return withheld

    async def _withhold_call(self, call: Call, **_: Any) -> None:
        withheld = self._withheld_call(call)
        if call.tool == self.observed.tool:
            await withheld.over.wait()
        else:
            call.answer(f"Call {self.observed.tool} instead.")

    async def _research(self, call: Call, **given: Any) -> None:
        self._withheld_call(call)
        await TOOLS["research"].run(call, **given)

    async def _next(self, call: Call, **given: Any) -> None:
        observed = self._observed_call(call)
        self.observed.nexts.append(observed)
        self.news()
        # The next call is answered only after the late result was sent, so that the client has read that first.
        if self.observed.call is not None:
            await self.gate.wait()
            await self._withhold(observed)
        # A client that has ended gets no answer.
        if not call.channel.disconnected.is_set() and not self.has_left(observed):
            observed.answered_at = monotonic()
            await self._add(call, **given)

    async def _withhold(self, following: ObservedCall) -> None:
        """Waits before the next call is answered: a client that goes on meanwhile took something else for the answer.

        A busy machine makes a client slow, which its start shows.
        """
        observed = self.observed
        if observed.acted_at is None or harm.next_call(observed) is not following:
            return
        took = (observed.calls[0].at if observed.calls else following.at) - observed.began
        seconds = min(MOST_WITHHELD_SECONDS, max(WITHHELD_SECONDS, took))
        if observed.timeout:  # The next call has that limit as well, and must not reach it.
            seconds = min(seconds, max(0.0, following.at + WITHHELD_SHARE * observed.timeout - monotonic()))
        before = len(observed.tools)

        def went_on() -> bool:
            more = following.cancelled_at is not None or len(observed.tools) > before
            return more or self.has_left(following)

        await self.until(went_on, seconds)

    async def _add(self, call: Call, **given: Any) -> None:
        await TOOLS[NEXT].run(call, **given)

    async def called(self) -> WithheldCall | None:
        """Waits for the call of the experiment; returns ``None`` if the client does not make it."""

        def found() -> WithheldCall | None:
            return next((each for each in self.withheld if each.observed.tool == self.observed.tool), None)

        await self.until(lambda: found() or self.is_over, START_SECONDS)
        return found()

    # -- the client ----------------------------------------------------------------------------------------------

    async def start(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Starts the client's command.

        Raises:
            OSError: it cannot be started.
        """
        self.observed.began = monotonic()
        null = asyncio.subprocess.DEVNULL
        await asyncio.get_running_loop().subprocess_exec(
            lambda: self, *words, stdin=null, env=environment, start_new_session=True
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Stores the client's process here, because it may end before its starter continues."""
        self._process = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Takes output of the client; no bytes are the end of that stream."""
        name = "stdout" if fd == 1 else "stderr"
        self.observed.output += len(data)
        *lines, rest = (self._rest[name] + data).split(b"\n")
        if rest and (len(rest) > OUTPUT_LINE_CHARACTERS or not data):
            lines, rest = [*lines, rest], b""
        self._rest[name] = rest
        for line in lines:
            self._line(name, line)
        self.news()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Takes the end of stdout or stderr."""
        self.pipe_data_received(fd, b"")

    def process_exited(self) -> None:
        """Notes the end of the client's process, even if others still have its streams."""
        assert self._process is not None
        self.observed.exit, self.observed.ended_at = self._process.get_returncode(), monotonic()
        self.news()

    def _line(self, name: str, raw: bytes) -> None:
        text = raw[:OUTPUT_LINE_CHARACTERS].decode("utf-8", "backslashreplace").rstrip("\r")
        line, observed = OutputLine(monotonic(), name, text), self.observed
        has_begun = observed.call is not None or observed.initialize_at is not None
        if has_begun and observed.gave_up is None and self._pattern and self._pattern.search(text):
            observed.gave_up = line
        observed.lines.append(line)
        del observed.lines[: max(0, len(observed.lines) - MOST_LINES)]

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the client's process alone."""
        if self._process is not None and not self.is_over:
            self._process.send_signal(number)

    async def finish(self, patience: float = CLIENT_PATIENCE_SECONDS) -> None:
        """Waits for the client's end, and for the end of its servers."""
        if not await self.until(lambda: self.is_over, patience):
            self.observed.stopped, self.observed.stopped_at = True, monotonic()
            return
        # The system closes its streams a little later.
        channels = [each.call.channel for each in self.withheld if self.url]
        await self.until(lambda: all(each.disconnected.is_set() for each in channels), CLOSED_SECONDS)
        # A deaf server ends only if its client kills it. After the time limit it counts as left behind.
        wait = LEFT_SECONDS if self.deaf else CLIENT_PATIENCE_SECONDS
        await self.until(lambda: all(each.observed.ended_at is not None for each in self.talks), wait)

    async def close(self) -> None:
        """Ends all remaining processes and connections."""
        for talk in self.talks:
            talk.observed.left = talk.observed.ended_at is None and not self.observed.stopped
            talk.kill()
        self.gather()
        if self._listener is not None:
            self._listener.close()
        if self._process is not None:
            # The client's group first, then processes that left it: nothing that a client started may remain.
            for pid in {*running(self._process.get_pid()), *self._strays()}:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            await self.until(lambda: self.is_over, KILLED_SECONDS)
            self._process.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for talk in self.talks:
            talk.close()

    def _strays(self) -> list[int]:
        """Returns the processes that left the client's group, by their environment, which names this run."""
        mark, found = os.fsencode(self.folder), list[int]()
        for each in Path("/proc").glob("[0-9]*"):
            if int(each.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if mark in (each / "environ").read_bytes() or mark in (each / "cmdline").read_bytes():
                        found.append(int(each.name))
        return found
