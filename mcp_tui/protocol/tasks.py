"""Requests with more than one message: rounds, and tasks.

A server of 2026-07-28 may answer a request by asking for input. That answer ends the request on the wire. The same
row continues with a new round under a new id, which carries the input and the server's state (multi round-trip
requests). A round also sends other headers if the server requires them.

There are two kinds of tasks: the core tasks of 2025-11-25 and the extension of 2026-07-28. A request that became a
task stays one row. The ledger polls it at the server's interval, by internal requests that name the row as their
parent; their results update the row. A task is cancelled by a request too, ``tasks/cancel``. The answer to it
differs: in the core it says *cancelled*, and that must stay true; in the extension it is only an acknowledgement, and
the task may still finish.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.clocks import Clocks
from mcp_tui.protocol.core import Core, Live
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.error_codes import HEADER_MISMATCH
from mcp_tui.protocol.events import Cause, Kind, Limits, RequestId, Signal
from mcp_tui.protocol.evidence import CONFIRMED
from mcp_tui.protocol.messages import Json, ResponseFrame, as_object, as_text, number, shown
from mcp_tui.protocol.ports import Decisions
from mcp_tui.protocol.requests import Request, State

EXTENSION: Final = "io.modelcontextprotocol/tasks"

POLL_SECONDS: Final = 1.0
"""Seconds between two polls if the server names no interval."""

POLLS: Final = (0.1, 60.0)
"""The shortest and the longest interval in seconds, regardless of the server's."""

POLLED_AFTER_SECONDS: Final = 10.0
"""Seconds after a cancel in which a task is still polled, because it may finish."""

POLL_LIMITS: Final = Limits(timeout=30.0, max_timeout=60.0)

MISSES: Final = 5
"""The number of consecutive failed polls after which a task is lost."""

UNLIMITED: Final = Limits(timeout=None, max_timeout=None)

UNKNOWN_TASK: Final = -32602
STATUSES: Final = frozenset({"working", "input_required", "completed", "failed", "cancelled"})
TASK_TEXT_CHARACTERS: Final = 1000

ROUND_METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The methods for which a server may ask for input (multi round-trip requests, 2026-07-28, "Supported Requests")."""

ROUND_CAP: Final = 10
"""The maximum number of rounds of input for one request: a server might ask endlessly (C-67)."""

POLL_RETRY_SECONDS: Final = 0.1
"""Seconds before the first retry that only returns the server's state; each further one waits twice as long."""


class Rounds:
    """The part of a ledger that sends requests again as further rounds."""

    def __init__(self, core: Core, ledger: Decisions) -> None:
        self._core = core
        self._ledger = ledger

    def input_required(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> str:
        """Handles an ``input_required`` result; returns an error text if it is invalid."""
        core = self._core
        fields = as_object(frame.result)
        asks, state = fields.get("inputRequests"), fields.get("requestState")
        if row.method not in ROUND_METHODS:
            return f"input may not be asked for by an answer to {row.method}"
        if asks is None and state is None:
            return "input is required, but neither inputRequests nor requestState says which"
        if (asks is not None and not isinstance(asks, dict)) or not isinstance(state, str | None):
            return f"input is required with inputRequests {shown(asks)} and requestState {shown(state)}"
        requests = {key: as_object(value) for key, value in as_object(asks).items()}
        named = ", ".join(dict.fromkeys(str(each.get("method"))[:80] for each in requests.values()))
        round_ = row.rounds + 1
        # Nobody's time may run out while a person is asked.
        core.deadlines.arm(Timer.LIMIT, row.id, None)
        core.emit(
            ev.InputRequired(at=at, id=row.id, round=round_, asks=named[:200], size=frame.size, seq=seq)
        )
        if round_ > ROUND_CAP and not core.observes:
            self._ledger.fail(row, f"stopped after {ROUND_CAP} rounds of input", "rounds", at)
            return ""
        live = core.live[row.id]
        live.request_state, live.gathers = state, asks is not None
        wait = 0.0 if requests else min(2.0, POLL_RETRY_SECONDS * 2.0 ** (round_ - 1))
        core.do(core.port.gather, row.id, requests, wait=wait)
        return ""

    def supply(self, id: RequestId, responses: dict[str, Json], *, at: float) -> bool:
        """Continues a request with the gathered input; returns false if the request no longer waits for input.

        The state is sent back unchanged, and only if there is one (multi round-trip requests, "Client Requirements").
        """
        live = self._core.live.get(id)
        if live is None or live.row.state is not State.AWAITING_INPUT:
            return False
        params: dict[str, Json] = dict(live.params or {})
        if live.gathers:
            params["inputResponses"] = responses
        if live.request_state is not None:
            params["requestState"] = live.request_state
        live.gathers, live.request_state = False, None
        self._ledger.send_round(live.row, params, "input given" if responses else "asked to try again", at)
        return True

    def resend(self, id: RequestId) -> bool:
        """Sends a deferred round; returns false if there is none."""
        live = self._core.live.get(id)
        if live is None or not live.deferred:
            return False
        live.deferred = False
        self._ledger.dispatch(live.row, live.params)
        return True

    def give_up(self, id: RequestId, text: str, *, at: float, rule: str = "unsupported") -> bool:
        """Fails a request that waits between two rounds; returns false if the request does not wait."""
        live = self._core.live.get(id)
        if live is None or (live.row.state is not State.AWAITING_INPUT and not live.deferred):
            return False
        live.deferred = False
        self._ledger.fail(live.row, text, rule, at)
        return True

    def retry_with_headers(self, row: Request, code: int, at: float) -> bool:
        """Lists the tools and sends a request again if the server requires other headers; else returns false."""
        core, negotiated = self._core, self._core.negotiated
        wanted = code == HEADER_MISMATCH and negotiated.modern and negotiated.transport == "http"
        # Once only: a server that rejects the headers of a fresh list would reject them for ever.
        if not wanted or row.method != "tools/call" or row.round_ids:
            return False
        self._ledger.send_round(row, None, "the server requires other headers", at, deferred=True)
        core.do(core.port.relist, row.id)
        return True

    def stop_gathering(self, row: Request, why: str) -> None:
        """Stops gathering input for a request."""
        if row.state is State.AWAITING_INPUT or row.task_status == "input_required":
            self._core.do(self._core.port.gather_over, row.id, why)


class Tasks:
    """The part of a ledger that polls and cancels tasks."""

    def __init__(self, core: Core, ledger: Decisions, clocks: Clocks, rounds: Rounds) -> None:
        self._core = core
        self._ledger = ledger
        self._clocks = clocks
        self._rounds = rounds
        self._followed_by_id: dict[str, Request] = {}
        """The rows by the ids of their followed tasks."""
        self._misses: dict[RequestId, int] = {}
        """The number of consecutive failed polls, by the id of the followed row."""

    # -- a new task ------------------------------------------------------------------------------------------

    def handle(self, row: Request, frame: ResponseFrame) -> dict[str, Json] | None:
        """Returns the task if a result is a task handle, else ``None``."""
        modern = self._core.negotiated.modern
        if not (modern or row.as_task):
            return None
        result = as_object(frame.outline)
        if modern:
            return result if result.get("resultType") == "task" else None
        task = as_object(result.get("task"))
        return task if isinstance(task.get("taskId"), str) else None

    def created(self, row: Request, task: dict[str, Json], at: float, seq: int) -> str:
        """Handles a task handle; returns an error text if it is invalid."""
        task_id = task.get("taskId")
        if row.method not in ("tools/call", "tasks/get"):
            return f"{row.method} cannot become a task"
        if not isinstance(task_id, str) or not task_id:
            return f"a task with the id {shown(task_id)}"
        fields, old = self._status_fields(row, task, at, seq), not self._core.negotiated.modern
        self._core.emit(ev.TaskCreated(at=at, id=row.id, task_id=task_id, core=old, seq=seq, **fields))
        known = self._followed_by_id.get(task_id)
        if known is not None and known.state is not State.TASK:
            self._unfollow(known)  # of two rows with the same task, the newer follows it
        self._followed_by_id[task_id] = row
        if row.state is State.TASK:
            self._clocks.arm(row)
            self._schedule_poll(row, at, 0.0 if row.task_status not in ("", "working") else None)
        elif row.task_core and not self._core.negotiated.cancels_tasks:
            self._unfollow(row)
        # C-80: the request was cancelled before its task id was known; now the cancel can be sent.
        elif row.state is not State.LOST:
            self.cancel(row, at)
        return ""

    def _status_fields(self, row: Request, task: dict[str, Json], at: float, seq: int) -> dict[str, Any]:
        """Returns the fields of an event about a task. An unknown status is a violation and left empty."""
        status, unit = task.get("status"), "Ms" if self._core.negotiated.modern else ""
        if not isinstance(status, str) or status not in STATUSES:
            self._core.violation("task-status", f"a task with the status {shown(status)}", at, seq, row.id)
            status = ""
        times = (number(task.get(name + unit)) for name in ("ttl", "pollInterval"))
        ttl, poll = (None if time is None else max(0.0, time / 1000) for time in times)
        message = as_text(task.get("statusMessage"))[:TASK_TEXT_CHARACTERS]
        return {"status": status, "message": message, "ttl": ttl, "poll": poll}

    # -- the status of a task --------------------------------------------------------------------------------

    def errand_over(self, row: Request, errand: Request, frame: ResponseFrame | None, at: float) -> None:
        """Handles the end of ``errand``, a request that was sent for the task of ``row``."""
        match errand.method:
            case "tasks/get":
                self._polled(row, errand, frame, at)
            case "tasks/result":
                self._fetched(row, errand, frame, at)
            case "tasks/cancel":
                self._cancel_answered(row, errand, frame, at)
            case _:  # tasks/update: an acknowledgement, or a violation that its own row shows
                self._schedule_poll(row, at, 0.0)

    def _polled(self, row: Request, errand: Request, frame: ResponseFrame | None, at: float) -> None:
        if frame is not None and frame.error is None:
            self._misses.pop(row.id, None)
            asked = errand.sent_at or errand.called_at
            if row.task_core and row.accepted_at is not None and asked < row.accepted_at:
                return  # the status may be older than the answer to the cancel
            self._update_status(row, as_object(frame.result), frame.size, at, errand.response_seq)
            return
        # Tasks, 2025-11-25: a server may delete a task after its ttl, and then answers with -32602.
        if errand.code == UNKNOWN_TASK:
            if row.state is State.TASK:
                spent = row.task_ttl is not None and at >= row.task_at + row.task_ttl
                why = "it expired" if spent else "it may have expired"
                self._ledger.fail(row, f"the server no longer knows the task: {why}", "expired", at)
            elif row.state is State.CANCEL_REQUESTED:
                self._ledger.settle(row, row.cancel_answer or "the server no longer knows the task", at)
            return
        if not self._is_followed(row, at):
            self._unfollow(row)
            return
        misses = self._misses[row.id] = self._misses.get(row.id, 0) + 1
        if misses >= MISSES and row.state is State.TASK:
            detail = f"tasks/get failed {misses} times; the task may still be running"
            self._ledger.over(row, ev.Lost(at=at, id=row.id, detail=detail))
        else:
            self._schedule_poll(row, at, POLL_SECONDS * 2.0**misses)

    def _update_status(self, row: Request, task: dict[str, Json], size: int, at: float, seq: int) -> None:
        """Handles the status of a task."""
        if (
            not self._is_about(row, task, at, seq)
            or not (fields := self._status_fields(row, task, at, seq))["status"]
        ):
            self._schedule_poll(row, at)
            return
        status, before = fields["status"], row.task_status
        broken = row.cancel_answer == CONFIRMED and status != "cancelled"
        if not broken and tuple(fields.values()) == (before, row.task_message, row.task_ttl, row.task_poll):
            if row.state is State.TASK:
                self._core.emit(ev.Polled(at=at, id=row.id, seq=seq))
        else:
            if row.state not in (State.TASK, State.CANCEL_REQUESTED, State.CANCELLED):
                return
            if row.task_status == "input_required" and status != "input_required":
                live = self._core.live.get(row.id)
                if live is not None:
                    live.questions.clear()
                self._core.do(self._core.port.gather_over, row.id, "the task continues without it")
            self._core.emit(ev.TaskStatus(at=at, id=row.id, seq=seq, **fields))
        self._clocks.arm(row)
        if row.state is State.TASK:
            self._act_on_status(row, task, size, at, seq)
        elif row.state in (State.CANCEL_REQUESTED, State.CANCELLED):
            # Tasks, "Task Cancellation": a cancelled task MUST remain cancelled, even if its execution continues.
            if broken:
                text = f"a task that was cancelled must stay cancelled, and is {shown(status)}"
                self._core.violation("task-after-cancel", text, at, seq, row.id)
            self._after_cancel(row, task, at, seq)

    def _is_about(self, row: Request, task: dict[str, Json], at: float, seq: int) -> bool:
        """Whether an answer is about the task of a row. One that names another task is a violation."""
        named = task.get("taskId", row.task_id)
        if named == row.task_id:
            return True
        text = f"an answer about the task {shown(named)} instead of {shown(row.task_id)}"
        self._core.violation("task-mismatch", text, at, seq, row.id)
        return False

    def _act_on_status(self, row: Request, task: dict[str, Json], size: int, at: float, seq: int) -> None:
        status = row.task_status
        if status == "cancelled":
            self._fail(row, None, row.task_message or "the server cancelled the task", size, at, seq)
        # Tasks, 2025-11-25: tasks/result brings the result, and also the server's requests while input is required.
        elif row.task_core and status != "working":
            self._fetch(row, at)
            if status == "input_required":
                self._schedule_poll(row, at)
        elif status in {"completed", "failed"}:
            self._finished(row, task, size, at, seq)
        else:
            if status == "input_required":
                self._gather_answers(row, task)
            self._clocks.pause_while_asked(at, row)
            self._schedule_poll(row, at)

    def _finished(self, row: Request, task: dict[str, Json], size: int, at: float, seq: int) -> None:
        """Ends a task of the extension. Its last status contains the result or the error."""
        if row.task_status == "completed" and isinstance(task.get("result"), dict):
            result = ResponseFrame(id=row.id, outline=task["result"], size=size)
            self._ledger.complete(row, result, at, seq)
            return
        error = as_object(task.get("error"))
        code, message = error.get("code"), error.get("message")
        text = message if isinstance(message, str) else f"the task {row.task_status}, without a word"
        self._fail(row, code if type(code) is int else None, text, size, at, seq)

    def _fail(self, row: Request, code: int | None, text: str, size: int, at: float, seq: int) -> None:
        """Ends a task by an error of the server."""
        text = text[:8192]
        self._ledger.over(row, ev.Failed(at=at, id=row.id, code=code, message=text, size=size, seq=seq))

    # -- input -----------------------------------------------------------------------------------------------

    def _gather_answers(self, row: Request, task: dict[str, Json]) -> None:
        """Gathers answers to new questions of a task, and withdraws those that vanished (tasks extension, polling)."""
        asks = {key: as_object(value) for key, value in as_object(task.get("inputRequests")).items()}
        core, known = self._core, self._core.live[row.id].questions
        removed = frozenset(key for key, open_ in known.items() if open_ and key not in asks)
        if removed:
            known.update(dict.fromkeys(removed, False))
            core.do(core.port.gather_over, row.id, "withdrawn by the server", removed)
        new = {key: each for key, each in asks.items() if key not in known}
        if new:
            known.update(dict.fromkeys(new, True))
            core.do(core.port.gather, row.id, new, task=True)

    def update(self, id: RequestId, responses: dict[str, Json], *, at: float) -> bool:
        """Sends answers to a task's questions; returns false if the task no longer waits."""
        live = self._core.live.get(id)
        if live is None or live.row.state is not State.TASK:
            return False
        self.unanswered(id, responses, at=at)
        self._ask(live.row, "tasks/update", POLL_LIMITS, at, {"inputResponses": responses})
        return True

    def unanswered(self, id: RequestId, keys: Iterable[str], *, at: float) -> None:
        """Notes that nobody answers these questions of a task any more."""
        live = self._core.live.get(id)
        if live is not None and live.row.state is State.TASK:
            live.questions.update(dict.fromkeys(keys, False))
            self._clocks.pause_while_asked(at, live.row)

    # -- the result of a core task ---------------------------------------------------------------------------

    def _fetch(self, row: Request, at: float) -> None:
        """Requests the result of a core task, which also delivers its questions."""
        live = self._core.live[row.id]
        if live.fetch not in self._core.live and not self._core.observes:
            live.fetch = self._ask(row, "tasks/result", UNLIMITED, at)

    def _fetched(self, row: Request, errand: Request, frame: ResponseFrame | None, at: float) -> None:
        seq = errand.response_seq
        if row.state is not State.TASK:
            # An error only tells how the cancel ended, as the answer to tasks/cancel or the next poll does.
            if frame is not None and frame.error is None and row.signal is Signal.TASKS_CANCEL:
                self._finished_anyway(row, Kind.RESULT, at, seq)
            return
        if frame is None:  # Cancelled, timed out, or lost: the task continues.
            self._schedule_poll(row, at)
        elif frame.error is None:
            self._ledger.complete(row, replace(frame, id=row.id), at, seq)
        else:
            self._fail(row, frame.error.code, frame.error.message, frame.size, at, seq)

    # -- cancelling ------------------------------------------------------------------------------------------

    def leave(self, row: Request, at: float) -> None:
        """Stops waiting for a task that the server cannot cancel (C-85: the task keeps running)."""
        what = "it" if row.task_id else "one that came of this"
        self._ledger.settle_unsignalled(row, f"the server cannot cancel tasks: {what} keeps running", at)
        self._unfollow(row)

    def cancel(self, row: Request, at: float) -> None:
        """Cancels a task by ``tasks/cancel``."""
        self._ask(row, "tasks/cancel", POLL_LIMITS, at)

    def errand_written(self, row: Request, errand: Request, at: float, seq: int) -> None:
        """Notes that ``tasks/cancel`` was written, which is the cancel signal of its task."""
        sent = row.signal not in (None, Signal.NONE)
        if errand.method != "tasks/cancel" or row.cancel_at is None or sent:
            return
        core = self._core
        self._ledger.signal_written(row, Signal.TASKS_CANCEL, at, seq, answered=True)
        if row.state is State.CANCEL_REQUESTED:
            core.deadlines.arm(Timer.LIMIT, row.id, at + core.grace)

    def _cancel_answered(self, row: Request, errand: Request, frame: ResponseFrame | None, at: float) -> None:
        if frame is not None and frame.error is None:
            self._cancel_accepted(row, as_object(frame.result), at, errand.response_seq)
        elif row.state in (State.CANCEL_REQUESTED, State.CANCELLED):
            if errand.code is not None or errand.rule == "http":
                text = errand.error if errand.code is None else f"error {errand.code} {errand.error}"
                self._core.emit(
                    ev.Undelivered(at=at, id=row.id, detail=text[:TASK_TEXT_CHARACTERS], refused=True)
                )
            elif errand.state is State.LOST and row.state is State.CANCEL_REQUESTED and row.signal is None:
                self._core.deadlines.arm(Timer.LIMIT, row.id, None)
                self._core.emit(ev.Undelivered(at=at, id=row.id, detail=errand.error[:TASK_TEXT_CHARACTERS]))
            self._ledger.send_owed(row.id, at)
            # An unknown task may just be over; only a poll tells (tasks, 2025-11-25, "Task Cancellation").
            self._schedule_poll(row, at, 0.0 if errand.code == UNKNOWN_TASK else None)

    def _cancel_accepted(self, row: Request, task: dict[str, Json], at: float, seq: int) -> None:
        """Handles a result of ``tasks/cancel``, and polls the task.

        Only that poll settles the task, because some servers report the task as cancelled and let it run on.
        """
        if not self._is_about(row, task, at, seq):
            self._schedule_poll(row, at, 0.0)
            return
        if row.cancel_at is not None:
            sure = CONFIRMED if task.get("status") == "cancelled" else ""
            detail = sure if row.task_core else "cancel acknowledged – not guaranteed"
            self._core.emit(ev.CancelAccepted(at=at, id=row.id, detail=detail, seq=seq))
        status: dict[str, Any] = {"status": ""}
        fields = self._status_fields(row, task, at, seq) if row.task_core else status
        if fields["status"] not in ("", "cancelled") and row.state is not State.LOST:
            text = f"tasks/cancel was answered with the status {shown(fields['status'])}, not 'cancelled'"
            self._core.violation("task-status", text, at, seq, row.id)
            self._core.emit(ev.TaskStatus(at=at, id=row.id, seq=seq, **fields))
        self._schedule_poll(row, at, 0.0)

    def _after_cancel(self, row: Request, task: dict[str, Json], at: float, seq: int) -> None:
        """Handles the status of a cancelled task. A status is not a result unless it contains one (C-88)."""
        status = row.task_status
        if status == "completed" and isinstance(task.get("result"), dict) and not row.task_core:
            self._finished_anyway(row, Kind.RESULT, at, seq)
        elif status == "failed" and isinstance(task.get("error"), dict) and not row.task_core:
            self._finished_anyway(row, Kind.ERROR, at, seq)
        elif status in ("completed", "failed", "cancelled") and row.state is State.CANCEL_REQUESTED:
            self._ledger.settle(row, CONFIRMED if status == "cancelled" else "", at)
        self._schedule_poll(row, at)

    def _finished_anyway(self, row: Request, kind: Kind, at: float, seq: int) -> None:
        """Records as evidence that a cancelled task finished anyway (C-88)."""
        if any(evidence.kind is kind for evidence in row.late):
            return
        since = at if row.cancel_at is None else row.signalled_at or row.cancel_at
        self._core.emit(
            ev.Late(
                at=at,
                id=row.id,
                kind=kind,
                after=max(0.0, at - since),
                after_end=row.watching_over,
                summary="the task finished anyway",
                seq=seq,
            )
        )
        if row.state is State.CANCEL_REQUESTED:
            self._ledger.settle(row, "the task finished anyway", at)

    def stop_waiting(self, id: RequestId, *, at: float) -> bool:
        """Stops waiting for a task and lets it run (C-86: that is not a cancel); returns false if there is no task."""
        live = self._core.live.get(id)
        if live is None or live.row.state is not State.TASK:
            return False
        row = live.row
        self._rounds.stop_gathering(row, "no longer waiting for the task")
        self._core.emit(ev.CancelRequested(at=at, id=id, cause=Cause.USER, reason="stopped waiting"))
        self._ledger.settle_unsignalled(row, "stopped waiting; the task keeps running", at)
        self._unfollow(row)
        return True

    def pushed(self, task: dict[str, Json], *, size: int, at: float, seq: int) -> None:
        """Handles a status notification for one of our tasks."""
        row = self.row_of(task.get("taskId"))
        if row is not None and self._is_followed(row, at):
            self._update_status(row, task, size, at, seq)

    def row_of(self, task_id: Json) -> Request | None:
        """Returns the row of a followed task."""
        return self._followed_by_id.get(task_id) if isinstance(task_id, str) else None

    def row_over(self, live: Live) -> None:
        """Handles the end of a request: withdraws its questions, and unfollows its task unless it was just cancelled."""
        if any(live.questions.values()):
            self._core.do(self._core.port.gather_over, live.row.id, "the task is over")
        if not self._is_followed(live.row, live.row.ended_at or 0.0):
            self._unfollow(live.row)

    # -- polling ----------------------------------------------------------------------------------------------

    def _schedule_poll(self, row: Request, at: float, after: float | None = None) -> None:
        """Schedules the next poll of a followed task."""
        if not self._is_followed(row, at):
            self._unfollow(row)
            return
        if self._core.observes:
            return
        if after is None:
            low, high = POLLS
            after = min(high, max(low, POLL_SECONDS if row.task_poll is None else row.task_poll))
            if row.limits.timeout is not None:
                after = min(
                    after, row.limits.timeout / 2
                )  # poll before the timeout, which only an answer can restart
            if row.state is not State.TASK and row.cancel_at is not None:
                # One last poll before the task is unfollowed.
                after = min(after, row.cancel_at + POLLED_AFTER_SECONDS - at)
        self._core.deadlines.arm(Timer.POLL, row.id, at + after)

    def poll(self, id: RequestId, at: float) -> None:
        """Polls a task."""
        row = self._core.requests.get(id)
        if row is None or not row.task_id:
            return
        if self._is_followed(row, at):
            self._ask(row, "tasks/get", POLL_LIMITS, at)
        else:
            self._unfollow(row)

    def _is_followed(self, row: Request, at: float) -> bool:
        """Whether the status of a task still matters."""
        if row.state is State.TASK:
            return True
        if self._followed_by_id.get(row.task_id) is not row:
            return False
        over = row.task_status in ("completed", "failed", "cancelled")
        waits = row.state is State.CANCEL_REQUESTED or (row.state is State.CANCELLED and not over)
        return waits and row.cancel_at is not None and at - row.cancel_at < POLLED_AFTER_SECONDS

    def _unfollow(self, row: Request) -> None:
        """Stops following a task, whose status no longer matters."""
        self._core.deadlines.arm(Timer.POLL, row.id, None)
        self._misses.pop(row.id, None)
        if self._followed_by_id.get(row.task_id) is row:
            del self._followed_by_id[row.task_id]

    def connection_ended(self) -> None:
        """Stops following all tasks when the connection ends."""
        for row in tuple(self._followed_by_id.values()):
            self._unfollow(row)

    def _ask(self, row: Request, method: str, limits: Limits, at: float, more: Json = None) -> RequestId:
        params: dict[str, Json] = {"taskId": row.task_id, **as_object(more)}
        return self._ledger.errand(row, method, params, limits, at)
