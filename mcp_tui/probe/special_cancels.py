"""Experiments with what comes before a connection: initialize cancelled; and with tasks."""

from __future__ import annotations

import asyncio
import time
from typing import Final, cast

from mcp_tui.probe.connection import CANCELLED, OPENING, REASON, Arrival, ProbeConnection
from mcp_tui.probe.report import EvidenceItem, Finding, Verdict
from mcp_tui.probe.setup import EXTENSION, MID, Setup
from mcp_tui.probe.tools import AIM
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json, as_object

SOON: Final = 0.2
"""Seconds after which a task is cancelled of which nobody knows how long it takes."""

_OVER: Final = ("completed", "failed")
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"


async def initialize(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-15: no client may cancel ``initialize``, so a server does best to ignore it. On a connection without handshake."""
    await connection.start()
    opening = connection.request(*connection.peer.hello(), id=OPENING)
    connection.notify(CANCELLED, {"requestId": OPENING, "reason": REASON})
    patience = max(4.0, 2 * setup.connecting + 2.0)
    told = [EvidenceItem("initialize was sent, and cancelled at once")]
    heard = await opening.answered(opening.sent_at + patience)
    if heard is None:
        text = f"initialize: {opening.trouble() or f'never answered within {patience:.1f} s'}"
        return [Finding("P-15", Verdict.WARNING, f"{text}; the session cannot be used", tuple(told))]
    told.append(opening.evidence(heard))
    if heard.kind == "error":
        text = f"initialize was answered with error {heard.code}"
        return [Finding("P-15", Verdict.WARNING, text, tuple(told))]
    await connection.greeted()
    if await connection.ask().answered(connection.now() + setup.patience) is None:
        text = "initialize was answered, but no call after it"
        return [Finding("P-15", Verdict.WARNING, text, tuple(told))]
    text = "ignored: initialize and the next call were answered"
    return [Finding("P-15", Verdict.PASS, text, tuple(told))]


# -- tasks -----------------------------------------------------------------------------------------------------


class _Tasks:
    """Requests about a task, and what came of each."""

    def __init__(self, connection: ProbeConnection, setup: Setup) -> None:
        self.connection = connection
        self.setup = setup
        self.told: list[EvidenceItem] = []
        self.meta: dict[str, Json] = {}
        if setup.revision.modern:
            self.meta = {_CAPABILITIES: {"extensions": {EXTENSION: {}}}}

    async def ask(self, method: str, params: dict[str, Json]) -> tuple[Arrival | None, dict[str, Json]]:
        """Send a request; its response, and the result of it."""
        trace = self.connection.request(method, {**params, "_meta": self.meta} if self.meta else params)
        heard = await trace.answered(self.connection.now() + self.setup.patience)
        words = "no answer" if heard is None else heard.words
        self.told.append(EvidenceItem(f"{method}: {words}", None, "" if heard is None else heard.frame))
        return heard, {} if heard is None else heard.result

    def found(self, verdict: Verdict, sentence: str) -> list[Finding]:
        """The finding on P-20, with all that was told."""
        return [Finding("P-20", verdict, sentence, tuple(self.told))]


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
        return tasks.found(Verdict.NOT_OBSERVABLE, "the call did not become a task")
    await asyncio.sleep(max(0.0, began + middle - time.monotonic()))
    if not known:
        _, result = await tasks.ask("tasks/get", {"taskId": task})
        if result.get("status") in _OVER:
            return tasks.found(Verdict.NOT_OBSERVABLE, "the task was over before it could be cancelled")
    heard, result = await tasks.ask("tasks/cancel", {"taskId": task})
    if heard is None or heard.kind == "error":
        words = "no answer" if heard is None else heard.words
        _, result = await tasks.ask("tasks/get", {"taskId": task})
        if result.get("status") in _OVER:
            return tasks.found(Verdict.NOT_OBSERVABLE, "the task was over before it could be cancelled")
        return tasks.found(Verdict.FAIL, f"tasks/cancel of a working task: {words}")
    status = cast("str", result.get("status", ""))
    if not setup.revision.modern and status != "cancelled":
        return tasks.found(Verdict.FAIL, f"tasks/cancel was answered with the status {status!r}")
    await asyncio.sleep(max(0.0, began + length + 0.5 - time.monotonic()))
    heard, result = await tasks.ask("tasks/get", {"taskId": task})
    status = result.get("status", "")
    if heard is None or heard.kind == "error":
        return tasks.found(Verdict.NOT_OBSERVABLE, "the task is gone after its cancel")
    if status != "cancelled":
        bad = Verdict.WARNING if setup.revision.modern else Verdict.FAIL
        return tasks.found(bad, f"after its cancel the task became {status!r}")
    if not setup.revision.modern:
        heard, _ = await tasks.ask("tasks/cancel", {"taskId": task})
        if heard is not None and heard.kind == "result":
            return tasks.found(Verdict.FAIL, "a task that was cancelled could be cancelled again")
    return tasks.found(Verdict.PASS, "the task was cancelled, and stayed so")
