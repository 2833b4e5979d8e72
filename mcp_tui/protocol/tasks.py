"""Tasks, in both flavours: the core of 2025-11-25 and the extension of 2026-07-28.

A request that became a task stays one row. The ledger polls it at the server's interval, by requests of its own that name
the row as their parent; what they say moves the row. Cancelling a task is a request too, ``tasks/cancel``, and what it
promises differs: in the core its answer says *cancelled* and that must stay so; in the extension it is acknowledged, and
the task may finish all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.effects import Gather, GatherOver
from mcp_tui.protocol.events import Cause, Kind, Limits, RequestId, Signal
from mcp_tui.protocol.messages import Json, ResponseFrame, as_object, number, shown
from mcp_tui.protocol.polls import POLL, POLL_LIMITS, Polls
from mcp_tui.protocol.requests import Request, State

EXTENSION: Final = "io.modelcontextprotocol/tasks"

MISSES: Final = 5
"""Polls in a row that may fail before a task is given up for lost."""

UNLIMITED: Final = Limits(timeout=None, max_timeout=None)

UNKNOWN_TASK: Final = -32602
STATUSES: Final = frozenset({"working", "input_required", "completed", "failed", "cancelled"})
SHOWN: Final = 1000


class Tasks(Polls):
    """The part of a ledger that looks after tasks. ``can_cancel_tasks``: the server declared ``tasks.cancel``."""

    can_cancel_tasks: bool = True

    # -- a task comes about ----------------------------------------------------------------------------------

    def _handle(self, row: Request, frame: ResponseFrame) -> dict[str, Json] | None:
        """The task that a result is the handle of, if it is one."""
        result = as_object(frame.result)
        if self.modern:
            return result if result.get("resultType") == "task" else None
        task = as_object(result.get("task"))
        return task if row.as_task and isinstance(task.get("taskId"), str) else None

    def _created(self, row: Request, task: dict[str, Json], at: float, seq: int) -> str:
        """Take in a task's handle; why it is none, or nothing."""
        task_id, status = task.get("taskId"), task.get("status")
        if row.method not in ("tools/call", "tasks/get"):
            return f"{row.method} cannot become a task"
        if not isinstance(task_id, str) or not task_id:
            return f"a task with the id {shown(task_id)}"
        ttl, poll = self._times(task)
        self._emit(
            ev.TaskCreated(
                at=at,
                id=row.id,
                task_id=task_id,
                status=status if isinstance(status, str) and status in STATUSES else "working",
                message=_text(task.get("statusMessage")),
                ttl=ttl,
                poll=poll,
                core=not self.modern,
                seq=seq,
            )
        )
        known = self._tasks.get(task_id)
        if known is not None and known.state is not State.TASK:
            self._unfollow(known)  # of two rows with one task the later one is told of it
        self._tasks[task_id] = row
        if row.state is State.TASK:
            self._arm(row)
            self._plan(row, at, 0.0 if row.task_status != "working" else None)
        elif row.task_core and not self.can_cancel_tasks:
            self._unfollow(row)
        elif row.state is not State.LOST:
            self._cancel_task(row, at)
        return ""

    def _times(self, task: dict[str, Json]) -> tuple[float | None, float | None]:
        ttl = number(task.get("ttlMs" if self.modern else "ttl"))
        poll = number(task.get("pollIntervalMs" if self.modern else "pollInterval"))
        return None if ttl is None else max(0.0, ttl / 1000), None if poll is None else max(0.0, poll / 1000)

    # -- what is heard of it ---------------------------------------------------------------------------------

    def _errand_over(self, errand: Request, frame: ResponseFrame | None, at: float, seq: int) -> None:
        """A request that was made for a task's sake has ended."""
        row = self._errands.pop(errand.id, None)
        if row is None:
            return
        match errand.method:
            case "tasks/get":
                self._polled(row, errand, frame, at, seq)
            case "tasks/result":
                self._fetched(row, errand, frame, at, seq)
            case "tasks/cancel":
                self._cancel_answered(row, errand, frame, at, seq)
            case _:  # tasks/update: an acknowledgement, or a violation that its own row shows
                self._plan(row, at, 0.0)

    def _polled(
        self, row: Request, errand: Request, frame: ResponseFrame | None, at: float, seq: int
    ) -> None:
        if frame is not None and frame.error is None:
            self._misses.pop(row.id, None)
            self._told(row, as_object(frame.result), frame.size, at, seq)
            return
        if errand.code == UNKNOWN_TASK:
            if row.state is State.TASK:
                spent = row.task_ttl is not None and at >= row.task_at + row.task_ttl
                why = "it expired" if spent else "it may have expired"
                self._give_up(row, f"the server knows the task no more: {why}", "expired", at)
            elif row.state is State.CANCEL_REQUESTED:
                self._settle(row, "the server knows the task no more", at)
            return
        if not self._followed(row, at):
            self._unfollow(row)
            return
        misses = self._misses[row.id] = self._misses.get(row.id, 0) + 1
        if misses >= MISSES and row.state is State.TASK:
            self._lose(row, f"tasks/get failed {misses} times; the task may still be running", at)
        else:
            self._plan(row, at, POLL * 2.0**misses)

    def _told(self, row: Request, task: dict[str, Json], size: int, at: float, seq: int) -> None:
        """The server said where a task stands."""
        status = task.get("status")
        if not isinstance(status, str) or status not in STATUSES:
            self._violation("task-status", f"a task with the status {shown(status)}", at, seq, row.id)
            self._plan(row, at)
            return
        ttl, poll = self._times(task)
        said = (status, _text(task.get("statusMessage")), ttl, poll)
        if said != (row.task_status, row.task_message, row.task_ttl, row.task_poll):
            if row.state not in (State.TASK, State.CANCEL_REQUESTED, State.CANCELLED):
                return
            if row.task_status == "input_required" and status != "input_required":
                self._offered.pop(row.id, None)
                self._emit(GatherOver(id=row.id, why="the task goes on without it"))
            self._emit(
                ev.TaskStatus(at=at, id=row.id, status=status, message=said[1], ttl=ttl, poll=poll, seq=seq)
            )
        if row.state is State.TASK:
            self._goes_on(row, task, size, at, seq)
        elif row.state in (State.CANCEL_REQUESTED, State.CANCELLED):
            self._after_cancel(row, at, seq)

    def _goes_on(self, row: Request, task: dict[str, Json], size: int, at: float, seq: int) -> None:
        status = row.task_status
        if status == "cancelled":
            text = row.task_message or "the server says that the task is cancelled"
            self._over(row, ev.Failed(at=at, id=row.id, message=text, size=size, seq=seq))
        elif row.task_core and status != "working":
            self._fetch(row, at)
            if status == "input_required":
                self._plan(row, at)
        elif status in {"completed", "failed"}:
            self._finished(row, task, size, at, seq)
        else:
            if status == "input_required":
                self._offer(row, task)
            self._clocks_stand(at, row)
            self._plan(row, at)

    def _finished(self, row: Request, task: dict[str, Json], size: int, at: float, seq: int) -> None:
        """The end of a task of the extension, which brings its result or its error along."""
        if row.task_status == "completed" and isinstance(task.get("result"), dict):
            self._conclude_task(row, as_object(task["result"]), size, at, seq)
            return
        error = as_object(task.get("error"))
        code, message = error.get("code"), error.get("message")
        text = message if isinstance(message, str) else f"the task {row.task_status}, without a word"
        self._over(
            row,
            ev.Failed(
                at=at,
                id=row.id,
                code=code if type(code) is int else None,
                message=text[:8192],
                size=size,
                seq=seq,
            ),
        )

    def _conclude_task(self, row: Request, result: dict[str, Json], size: int, at: float, seq: int) -> None:
        frame = ResponseFrame(id=row.id, result=result, size=size)
        wrong = self._is_error(row, result, at, seq)
        summary = self._summary_of(frame)
        self._over(
            row, ev.Completed(at=at, id=row.id, size=size, is_error=wrong, summary=summary, seq=seq), frame
        )

    def _summary_of(self, frame: ResponseFrame) -> str:
        raise NotImplementedError

    # -- input -----------------------------------------------------------------------------------------------

    def _offer(self, row: Request, task: dict[str, Json]) -> None:
        """Have the new questions of a task answered; those that vanished are withdrawn (tasks extension, polling)."""
        asks = {key: as_object(value) for key, value in as_object(task.get("inputRequests")).items()}
        known = self._offered.setdefault(row.id, {})
        gone = frozenset(key for key, open_ in known.items() if open_ and key not in asks)
        if gone:
            known.update(dict.fromkeys(gone, False))
            self._emit(GatherOver(id=row.id, why="withdrawn by the server", keys=gone))
        new = {key: each for key, each in asks.items() if key not in known}
        if new:
            known.update(dict.fromkeys(new, True))
            self._emit(Gather(id=row.id, requests=new, task=True))

    def update(self, id: RequestId, responses: dict[str, Json], *, at: float) -> bool:
        """Send answers to a task's questions; false where the task waits for them no more."""
        row = self._live.get(id)
        if row is None or row.state is not State.TASK:
            return False
        self.unanswered(id, responses, at=at)
        self._ask(row, "tasks/update", POLL_LIMITS, at, {"inputResponses": responses})
        return True

    def unanswered(self, id: RequestId, keys: Iterable[str], *, at: float) -> None:
        """Nobody is asked these questions of a task any more, or nobody was: what waits for them is the server alone."""
        row = self._live.get(id)
        if row is not None and row.state is State.TASK:
            self._offered.setdefault(id, {}).update(dict.fromkeys(keys, False))
            self._clocks_stand(at, row)

    # -- the result of a core task ---------------------------------------------------------------------------

    def _fetch(self, row: Request, at: float) -> None:
        """Ask for the result, which comes when there is one, and with it the questions of a task that needs input."""
        waits = any(
            each is row and (errand := self.book.get(id_)) is not None and errand.method == "tasks/result"
            for id_, each in self._errands.items()
        )
        if not waits:
            self._ask(row, "tasks/result", UNLIMITED, at)

    def _fetched(
        self, row: Request, errand: Request, frame: ResponseFrame | None, at: float, seq: int
    ) -> None:
        if row.state is not State.TASK:
            if frame is not None and self._followed(row, at):
                self._anyway(row, Kind.RESULT if frame.error is None else Kind.ERROR, at, seq)
            return
        if frame is None:  # cancelled, timed out or lost: the task goes on
            self._plan(row, at)
        elif frame.error is None:
            self._conclude_task(row, as_object(frame.result), frame.size, at, seq)
        else:
            error = frame.error
            self._over(
                row,
                ev.Failed(
                    at=at, id=row.id, code=error.code, message=error.message[:8192], size=frame.size, seq=seq
                ),
            )

    # -- cancelling ------------------------------------------------------------------------------------------

    def _leave(self, row: Request, at: float) -> None:
        """Wait no more for a task that cannot be cancelled (C-85)."""
        what = "it" if row.task_id else "one that came of this"
        self._settle_unsignalled(row, f"the server cannot cancel tasks: {what} goes on", at)
        self._unfollow(row)

    def _cancel_task(self, row: Request, at: float) -> None:
        self._ask(row, "tasks/cancel", POLL_LIMITS, at)

    def _errand_written(self, errand: Request, at: float, seq: int) -> None:
        """``tasks/cancel`` left: that is the signal of its task's cancel."""
        row = self._errands.get(errand.id)
        if (
            row is None
            or errand.method != "tasks/cancel"
            or row.cancel_at is None
            or row.signalled_at is not None
        ):
            return
        signal = Signal.TASKS_CANCEL
        self._emit(ev.CancelSignalled(at=at, id=row.id, signal=signal, reason_delivered=False, seq=seq))
        self.inbound.pay(row.id, at=at)
        if row.state is State.CANCEL_REQUESTED:
            self.deadlines.arm(row.id, at + self.grace)

    def _cancel_answered(
        self, row: Request, errand: Request, frame: ResponseFrame | None, at: float, seq: int
    ) -> None:
        if frame is not None and frame.error is None:
            task = as_object(frame.result)
            if row.task_core:
                self._told(row, task, frame.size, at, seq)
            else:
                if row.state is State.CANCEL_REQUESTED:
                    self._acks[row.id] = "cancel acknowledged – not guaranteed"
                self._plan(row, at, 0.0)
        elif errand.code == UNKNOWN_TASK:
            # in the core that may be a task that is over, and only asking tells (tasks, 2025-11-25, "Task Cancellation")
            self._plan(row, at, 0.0)
        elif row.state in (State.CANCEL_REQUESTED, State.CANCELLED):
            why = (
                f"error {errand.code} {errand.error}"
                if errand.code is not None
                else errand.error or "no answer"
            )
            self._emit(ev.Undelivered(at=at, id=row.id, detail=f"tasks/cancel: {why}"[:SHOWN]))
            self.inbound.pay(row.id, at=at)
            self._plan(row, at)

    def _after_cancel(self, row: Request, at: float, seq: int) -> None:
        status = row.task_status
        if status == "cancelled":
            if row.state is State.CANCEL_REQUESTED:
                self._settle(row, "the server says that the task is cancelled", at)
        elif status in ("completed", "failed"):
            self._anyway(row, Kind.RESULT if status == "completed" else Kind.ERROR, at, seq)
        self._plan(row, at)

    def _anyway(self, row: Request, kind: Kind, at: float, seq: int) -> None:
        """A task that was cancelled has finished all the same (C-88): evidence."""
        if any(evidence.kind is kind for evidence in row.late):
            return
        since = row.cancel_at or at
        self._emit(
            ev.Late(
                at=at,
                id=row.id,
                kind=kind,
                after=max(0.0, at - since),
                summary="the task finished anyway",
                seq=seq,
            )
        )
        if row.task_core and row.task_status == "completed" and row.signalled_at is not None:
            text = "a task that was cancelled must stay cancelled"
            self._violation("task-after-cancel", text, at, seq, row.id)
        if row.state is State.CANCEL_REQUESTED:
            self._settle(row, "the task finished anyway", at)

    def stop_waiting(self, id: RequestId, *, at: float) -> bool:
        """Watch a task no more, and let it run (C-86); false where the request is no task."""
        row = self._live.get(id)
        if row is None or row.state is not State.TASK:
            return False
        self._stop_gathering(row, "nobody waits for the task any more")
        self._emit(ev.CancelRequested(at=at, id=id, cause=Cause.USER, reason="stopped waiting"))
        self._emit(ev.CancelSignalled(at=at, id=id, signal=Signal.NONE, reason_delivered=False))
        self._settle(row, "stopped waiting; the task goes on", at)
        self._unfollow(row)
        return True

    def pushed(self, task: dict[str, Json], *, size: int, at: float, seq: int) -> bool:
        """Take in a task that the server pushed; false where it is none of ours."""
        task_id = task.get("taskId")
        row = self._tasks.get(task_id) if isinstance(task_id, str) else None
        if row is None or not self._followed(row, at):
            return row is not None
        self._told(row, task, size, at, seq)
        return True

    def _forget(self, row: Request) -> None:
        super()._forget(row)
        if any(self._offered.pop(row.id, {}).values()):
            self._emit(GatherOver(id=row.id, why="the task is over"))
        if not self._followed(row, row.ended_at or 0.0):
            self._unfollow(row)


def _text(value: Json) -> str:
    return value[:SHOWN] if isinstance(value, str) else ""
