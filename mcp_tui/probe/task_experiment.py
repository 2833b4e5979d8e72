"""The experiment with a task: a call that runs as a task is cancelled by ``tasks/cancel``."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from mcp_tui.probe import judging
from mcp_tui.probe.report import Verdict
from mcp_tui.probe.tool_choice import AIM_SECONDS
from mcp_tui.probe.trial import MID, Trial
from mcp_tui.protocol.messages import Json, as_object, shown
from mcp_tui.protocol.revisions import META_CAPABILITIES
from mcp_tui.protocol.tasks import EXTENSION

CANCEL: Final = "tasks/cancel"

UNKNOWN_TASK_SECONDS: Final = 0.2
"""The seconds after which a task of unknown duration is cancelled."""


async def _ask(trial: Trial, method: str, params: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    """Sends a request about a task; returns the error (empty for none) and the result."""
    if trial.server.revision.modern:
        params = {**params, "_meta": {META_CAPABILITIES: {"extensions": {EXTENSION: {}}}}}
    trace = trial.connection.request(method, params)
    response = await trace.answered(trial.connection.now() + trial.server.patience)
    if response is None:
        trial.note(f"{method}: no answer")
        return "no answer", {}
    trial.note(f"{method}: {response.words}", None, response.frame)
    return response.words if response.kind == "error" else "", response.result


async def tasks_cancel(trial: Trial) -> None:
    """P-20: a call that runs as a task is cancelled by ``tasks/cancel``."""
    began = time.monotonic()
    verdict, sentence = await _task(trial)
    if verdict is Verdict.PASS:
        verdict, sentence = _at_work(trial, began, sentence)
    if verdict in (Verdict.PASS, Verdict.WARNING):
        sentence = f"{sentence}; {await trial.survives('P-20')}"
    trial.found("P-20", verdict, sentence)


def _at_work(trial: Trial, began: float, sentence: str) -> tuple[Verdict, str]:
    """Returns the verdict on a task with the status "cancelled"; a heartbeat may show that it keeps working."""
    traces = trial.connection.traces.values()
    cancelled = next((each.sent_at for each in traces if each.method == CANCEL), began)
    since = cancelled + judging.settling(trial.control)
    on = [beat for beat in trial.server.beats if beat > since]
    if len(on) < judging.SOME:
        return Verdict.PASS, sentence
    how = f"the heartbeat continued until {on[-1] - cancelled:.2f} s after"
    return Verdict.WARNING, f"{sentence}, but the tool kept working: {how}"


async def _task(trial: Trial) -> tuple[Verdict, str]:
    server, modern = trial.server, trial.server.revision.modern
    bad = Verdict.WARNING if modern else Verdict.FAIL
    choice = (server.choice or server.task) if modern else server.task
    if choice is None:
        return Verdict.NOT_OBSERVABLE, server.needs_tool
    # The duration of a tool that only runs as a task is unknown, so the task is cancelled soon.
    known = server.choice == choice
    length = server.control.length if known else AIM_SECONDS
    middle = MID * length if known else UNKNOWN_TASK_SECONDS
    params: dict[str, Json] = {"name": choice.name, "arguments": choice.arguments}
    if not modern:
        params["task"] = {"ttl": 60_000}
    began = time.monotonic()
    refused, result = await _ask(trial, "tools/call", params)
    task = (result if modern else as_object(result.get("task"))).get("taskId")
    if refused or not isinstance(task, str):
        return Verdict.NOT_OBSERVABLE, "the call did not become a task"

    async def is_over() -> bool:
        _, result = await _ask(trial, "tasks/get", {"taskId": task})
        return result.get("status") in ("completed", "failed")

    over = Verdict.NOT_OBSERVABLE, "the task was over before it could be cancelled"
    await asyncio.sleep(max(0.0, began + middle - time.monotonic()))
    if not known and await is_over():
        return over
    refused, result = await _ask(trial, CANCEL, {"taskId": task})
    if refused:
        return over if await is_over() else (Verdict.FAIL, f"tasks/cancel of a working task: {refused}")
    status, named = result.get("status", ""), result.get("taskId", task)
    if named != task:
        return bad, f"tasks/cancel of {shown(task)} was answered about {shown(named)}"
    if not modern and status != "cancelled":
        return Verdict.FAIL, f"tasks/cancel was answered with the status {status!r}"
    await asyncio.sleep(max(0.0, began + length + 0.5 - time.monotonic()))
    gone, result = await _ask(trial, "tasks/get", {"taskId": task})
    status = result.get("status", "")
    if gone:
        return Verdict.NOT_OBSERVABLE, "the task is gone after its cancel"
    if status != "cancelled":
        return bad, f"after its cancel the task became {status!r}"
    if not modern:
        refused, _ = await _ask(trial, CANCEL, {"taskId": task})
        if not refused:
            return Verdict.FAIL, "a task that was cancelled could be cancelled again"
    return Verdict.PASS, "the task was cancelled, and stayed so"
