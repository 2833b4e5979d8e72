"""Experiments with what ends a connection, or comes before it: initialize cancelled, stdin closed; and tasks."""

from __future__ import annotations

import asyncio
import time
from typing import Final, cast

from mcp_tui.client.connecting import CLIENT_INFO, make_transport
from mcp_tui.client.headers import headers
from mcp_tui.probe.connection import CANCELLED, Arrival, ProbeConnection
from mcp_tui.probe.report import Evidence, Finding, Verdict
from mcp_tui.probe.setup import MID, REASON, Setup
from mcp_tui.probe.tools import AIM
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_object, is_request_id
from mcp_tui.transport import base

EXIT_WAIT: Final = 2.0
"""Seconds that a server is given to exit by itself once its stdin is closed; then it gets SIGTERM."""

EXTENSION: Final = "io.modelcontextprotocol/tasks"

SOON: Final = 0.2
"""Seconds after which a task is cancelled of which nobody knows how long it takes."""

_OVER: Final = ("completed", "failed")
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"


# -- initialize ------------------------------------------------------------------------------------------------


class _Unopened(base.Silence):
    """Notes what comes on a line whose client was not connected."""

    def __init__(self, connection: ProbeConnection) -> None:
        self._connection = connection

    def received(self, *, raw: bytes, stream: RequestId | None = None, **_facts: object) -> None:
        self._connection.note_message(raw, stream)
        self._connection.store.frame("in", raw, at=self._connection.now(), stream=stream)
        self._connection.news.set()

    def written(self, *, raw: bytes, method: str, id: RequestId | None = None) -> None:
        self._connection.store.frame("out", raw, at=self._connection.now(), method=method, id=id)

    def closed(
        self, *, detail: str, code: int | None = None, expected: bool = False, **_facts: object
    ) -> None:
        self._connection.note_end(detail, code, expected=expected)
        self._connection.news.set()


async def initialize(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-15: no client may cancel ``initialize``, so a server does best to ignore it. On a line that was not opened."""
    transport, _ = make_transport(connection.client, "sse" if setup.transport == "sse" else "")

    await transport.open(cast("base.Sink", _Unopened(connection)))
    try:
        return [await _initialize(connection, setup, transport)]
    finally:
        await transport.close()


async def _initialize(connection: ProbeConnection, setup: Setup, transport: base.Transport) -> Finding:
    params: dict[str, Json] = {
        "protocolVersion": setup.revision.name,
        "capabilities": {},
        "clientInfo": CLIENT_INFO,
    }
    began = connection.now()
    _send(transport, messages.request(1, "initialize", params), 1)
    _send(transport, messages.notification(CANCELLED, {"requestId": 1, "reason": REASON}))
    patience = max(4.0, 2 * setup.connecting + 2.0)
    told = [Evidence("initialize was sent, and cancelled at once")]

    def answered(id_: int) -> bool:
        return bool(connection.answers(id_)) or connection.ended is not None

    await connection.until(lambda: answered(1), began + patience)
    heard = next(iter(connection.answers(1)), None)
    if heard is None:
        words = (
            f"never answered within {patience:.1f} s" if connection.ended is None else connection.ended.detail
        )
        return Finding(
            "P-15", Verdict.WARNING, f"initialize: {words}; the session cannot be used", tuple(told)
        )
    told.append(Evidence(f"{heard.words} after {heard.at - began:.2f} s", None, heard.frame))
    if heard.kind == "error":
        return Finding(
            "P-15", Verdict.WARNING, f"initialize was answered with error {heard.code}", tuple(told)
        )
    _send(transport, messages.notification("notifications/initialized"), headed=setup)
    _send(transport, messages.request(2, "ping"), 2, headed=setup)
    await connection.until(lambda: answered(2), connection.now() + setup.patience)
    if not connection.answers(2):
        return Finding("P-15", Verdict.WARNING, "initialize was answered, but no call after it", tuple(told))
    return Finding("P-15", Verdict.PASS, "ignored: initialize and the next call were answered", tuple(told))


def _send(
    transport: base.Transport,
    message: dict[str, Json],
    id_: int | None = None,
    *,
    headed: Setup | None = None,
) -> None:
    http = headed is not None and headed.transport == "http"
    made = headers(headed.revision, message) if headed is not None and http else {}
    raw = messages.encode(message)
    transport.send(base.Outgoing(raw=raw, method=str(message["method"]), id=id_, headers=made))


# -- stdin -----------------------------------------------------------------------------------------------------


async def stdin_closed(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-21: the server's stdin is closed while a tool works, if there is one."""
    busy = setup.choice is not None and setup.control is not None and not setup.control.lost
    if busy:
        trace = setup.call(connection)
        await trace.written()
        await connection.until(lambda: connection.ended is not None, trace.sent_at + setup.mid)
    told = [Evidence("stdin was closed " + ("with a call in flight" if busy else "with nothing in flight"))]
    began = connection.now()
    await connection.client.disconnect()
    closed = connection.closed
    if closed is None or closed.at < began:
        how = "the server had ended before" if closed is None else closed.detail
        return [Finding("P-21", Verdict.NOT_OBSERVABLE, how, tuple(told))]
    took = closed.at - began
    told.append(Evidence(f"{closed.detail} after {took:.2f} s"))
    if took < EXIT_WAIT and (closed.code is None or closed.code >= 0):
        return [Finding("P-21", Verdict.PASS, f"{closed.detail} after {took:.2f} s", tuple(told))]
    text = f"it did not exit within {EXIT_WAIT:g} s and was told to by a signal: {closed.detail}"
    return [Finding("P-21", Verdict.WARNING, text, tuple(told))]


# -- tasks -----------------------------------------------------------------------------------------------------


def no_tasks(setup: Setup) -> str:
    """Why there is no task to cancel, or an empty string."""
    assert setup.info is not None
    capabilities = setup.info.capabilities
    if setup.revision.modern:
        extensions = as_object(capabilities.get("extensions"))
        return "" if EXTENSION in extensions else "the server offers no tasks"
    tasks = as_object(capabilities.get("tasks"))
    calls = as_object(as_object(tasks.get("requests")).get("tools"))
    if "call" not in calls:
        return "the server offers no tasks"
    if "cancel" not in tasks:
        return "the server offers tasks, but no tasks/cancel"
    return "" if setup.task is not None else "no tool of the server takes tasks"


class _Tasks:
    """Requests about a task, past the ledger."""

    def __init__(self, connection: ProbeConnection, setup: Setup) -> None:
        self.connection = connection
        self.setup = setup
        self.told: list[Evidence] = []
        self.meta: dict[str, Json] = {}
        if setup.revision.modern:
            self.meta = {_CAPABILITIES: {"extensions": {EXTENSION: {}}}}
        self.count = 0

    async def ask(self, method: str, params: dict[str, Json]) -> tuple[Arrival | None, dict[str, Json]]:
        """Send a request; its response, and the result of it."""
        self.count += 1
        id_ = f"probe-{self.count}"
        self.connection.raw(id_, method, params, self.meta)
        connection = self.connection
        await connection.until(
            lambda: bool(connection.answers(id_)) or connection.ended is not None,
            connection.now() + self.setup.patience,
        )
        heard = next(iter(connection.answers(id_)), None)
        words = "no answer" if heard is None else heard.words
        self.told.append(Evidence(f"{method}: {words}", None, "" if heard is None else heard.frame))
        return heard, self._result(id_)

    def _result(self, id_: str) -> dict[str, Json]:
        for head in reversed(self.connection.store.frames):
            if head.direction != "in":
                continue
            frame = messages.parse(self.connection.store.payload(head.seq) or b"")
            if isinstance(frame, messages.ResponseFrame) and is_request_id(frame.id) and str(frame.id) == id_:
                return as_object(frame.result)
        return {}


async def tasks_cancel(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-20: a call that runs as a task is cancelled by ``tasks/cancel``."""
    choice = (setup.choice or setup.task) if setup.revision.modern else setup.task
    if choice is None:
        return [Finding("P-20", Verdict.NOT_OBSERVABLE, "it takes a slow tool, and none was found")]
    # how long a tool takes that was never run without a task nobody knows: then it is cancelled soon
    known = setup.control is not None and setup.choice == choice
    length = setup.control.length if setup.control is not None and known else AIM
    middle = MID * length if known else SOON
    tasks = _Tasks(connection, setup)
    params: dict[str, Json] = {"name": choice.name, "arguments": choice.arguments}
    if not setup.revision.modern:
        params["task"] = {"ttl": 60_000}
    setup.calls[choice.name, messages.text(choice.arguments)] += 1
    began = time.monotonic()
    heard, result = await tasks.ask("tools/call", params)
    made = result if setup.revision.modern else as_object(result.get("task"))
    task = made.get("taskId")
    if heard is None or not isinstance(task, str):
        told = tuple(tasks.told)
        return [Finding("P-20", Verdict.NOT_OBSERVABLE, "the call did not become a task", told)]
    await asyncio.sleep(max(0.0, began + middle - time.monotonic()))
    if not known:
        _, result = await tasks.ask("tasks/get", {"taskId": task})
        if result.get("status") in _OVER:
            return [_task(Verdict.NOT_OBSERVABLE, "the task was over before it could be cancelled", tasks)]
    heard, result = await tasks.ask("tasks/cancel", {"taskId": task})
    if heard is None or heard.kind == "error":
        words = "no answer" if heard is None else heard.words
        _, result = await tasks.ask("tasks/get", {"taskId": task})
        if result.get("status") in _OVER:
            return [_task(Verdict.NOT_OBSERVABLE, "the task was over before it could be cancelled", tasks)]
        return [_task(Verdict.FAIL, f"tasks/cancel of a working task: {words}", tasks)]
    status = cast("str", result.get("status", ""))
    if not setup.revision.modern and status != "cancelled":
        return [_task(Verdict.FAIL, f"tasks/cancel was answered with the status {status!r}", tasks)]
    await asyncio.sleep(max(0.0, began + length + 0.5 - time.monotonic()))
    heard, result = await tasks.ask("tasks/get", {"taskId": task})
    status = result.get("status", "")
    if heard is None or heard.kind == "error":
        return [_task(Verdict.NOT_OBSERVABLE, "the task is gone after its cancel", tasks)]
    if status != "cancelled":
        bad = Verdict.WARNING if setup.revision.modern else Verdict.FAIL
        return [_task(bad, f"after its cancel the task became {status!r}", tasks)]
    if not setup.revision.modern:
        heard, _ = await tasks.ask("tasks/cancel", {"taskId": task})
        if heard is not None and heard.kind == "result":
            return [_task(Verdict.FAIL, "a task that was cancelled could be cancelled again", tasks)]
    return [_task(Verdict.PASS, "the task was cancelled, and stayed so", tasks)]


def _task(verdict: Verdict, sentence: str, tasks: _Tasks) -> Finding:
    return Finding("P-20", verdict, sentence, tuple(tasks.told))
