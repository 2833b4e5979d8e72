"""One request at work: what a tool sees of the caller, and the way back to it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any, Final

from mcp_tui.demo.frames import (
    INVALID_REQUEST,
    LEVELS,
    DemoCaller,
    DemoRefusal,
    Object,
    RequestId,
    as_object,
    checked,
    complete,
    error_frame,
    is_request_id,
    key,
    notification_frame,
    request_frame,
    result_frame,
)
from mcp_tui.demo.log import DemoLog
from mcp_tui.protocol.values import frozen


@frozen
class CallOutcome:
    """What a tool answers: a text and, where the tool declares an output schema, the same as an object."""

    text: str
    structured: Object | None = None
    is_error: bool = False


class Channel:
    """Where the frames of one request go: nowhere, unless a transport says otherwise.

    ``gone`` is set once nothing reaches the peer this way any more.
    """

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    def send(self, frame: Object) -> bool:
        """Hand over one frame; ``False`` where it can no longer reach the peer."""
        return False

    async def drain(self) -> None:
        """Wait until the peer has taken enough of what was sent, so that what waits for it stays bounded."""

    async def flush(self) -> None:
        """Wait until everything that was sent has left the process."""

    def end(self) -> None:
        """Nothing more comes for this request."""


def well_formed(messages: list[object], log: DemoLog) -> list[Object]:
    """The members of a batch (2025-03-26) that are messages, each to be answered by itself; the others are logged."""
    frames: list[Object] = []
    for message in messages:
        try:
            frames.append(checked(message))
        except DemoRefusal as refusal:
            log.event("malformed", detail=refusal.message)
    return frames


class DemoQuestions:
    """What this server has asked one client and was not told yet (handshake era).

    Their ids are its own, and may equal ids of the client's.
    """

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._open: dict[tuple[str, RequestId], asyncio.Future[Object]] = {}

    def pose(self) -> tuple[RequestId, asyncio.Future[Object]]:
        """A new id, and where the response will be."""
        request_id = next(self._ids)
        answer = self._open[key(request_id)] = asyncio.get_running_loop().create_future()
        return request_id, answer

    def answered(self, response: Object) -> None:
        """Take a response. One to nothing that is open, or no longer, is ignored."""
        request_id: Any = response.get("id")
        if is_request_id(request_id) and (answer := self._open.pop(key(request_id), None)) is not None:
            answer.set_result(response)

    def close(self, request_id: RequestId) -> bool:
        """Want no response any more. Returns whether none had come."""
        return self._open.pop(key(request_id), None) is not None


class Call:
    """A request that works for a while, its cancel, and what is sent for it."""

    def __init__(
        self,
        request_id: RequestId,
        tool: str,
        caller: DemoCaller,
        params: Object,
        channel: Channel,
        log: DemoLog,
        questions: DemoQuestions | None = None,
    ) -> None:
        self.id: Final = request_id
        self.tool: Final = tool
        self.caller: Final = caller
        self.params: Final = params
        self.channel: Final = channel
        self.cancelled: Final = asyncio.Event()
        self.cancelled_at: float | None = None
        self.answered = False
        self.closed = False
        self._token: object = (as_object(params.get("_meta")) or {}).get("progressToken")
        self._log = log
        self._questions = questions or DemoQuestions()
        self._asking: RequestId | None = None
        self._control = log.control
        self._reached = 0.0  # seconds on the test's clock
        self._steps = 0

    # -- the cancel --------------------------------------------------------------------------------------------

    def cancel(self, how: str, reason: object = None) -> None:
        """Note that the client wants no more of this. What the tool does about it is the tool's affair."""
        if not self.cancelled.is_set():
            self._log.event("cancelled", id=self.id, tool=self.tool, how=how, reason=reason)
            self.cancelled_at = self.now()
            self.cancelled.set()
            if self._asking is not None and self._questions.close(self._asking):
                why = f"the call of {self.tool} was cancelled"
                taken_back: Object = {"requestId": self._asking, "reason": why}
                self.send(notification_frame("notifications/cancelled", taken_back), "cancelled")

    def disconnect(self) -> None:
        """Note that the peer closed this request's stream where that is no cancel (transports, 2025-11-25)."""
        self._log.event("disconnected", id=self.id, tool=self.tool)

    # -- time --------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """The clock of the event loop, in seconds; that of the test where one has the time in its hands."""
        return asyncio.get_running_loop().time() if self._control is None else self._reached

    async def until(self, deadline: float) -> bool:
        """Wait for `deadline`, or less long when cancelled. Returns whether it was cancelled."""
        if self._control is not None:
            return await self.wait(self.sleep_until(deadline))
        try:
            async with asyncio.timeout_at(deadline):
                await self.cancelled.wait()
        except TimeoutError:
            pass
        return self.cancelled.is_set()

    async def sleep_until(self, deadline: float) -> None:
        """Wait for `deadline`, cancelled or not."""
        if self._control is None:
            await asyncio.sleep(deadline - self.now())
            return
        self._steps += 1
        self._log.event("waiting", id=self.id, tool=self.tool, step=self._steps)
        await self._control.step(self.tool)
        self._reached = deadline

    async def wait(self, awaited: Coroutine[Any, Any, object] | asyncio.Future[Object]) -> bool:
        """Wait for `awaited`, or less long when cancelled. Returns whether it was cancelled."""
        async with asyncio.TaskGroup() as group:
            cancelled = group.create_task(self.cancelled.wait())
            other = awaited if isinstance(awaited, asyncio.Future) else group.create_task(awaited)
            await asyncio.wait((cancelled, other), return_when=asyncio.FIRST_COMPLETED)
            cancelled.cancel()
            other.cancel()
        return self.cancelled.is_set()

    async def breathe(self) -> None:
        """Let the peer take what was sent, and the server read what came meanwhile."""
        await self.channel.drain()
        await asyncio.sleep(0)

    # -- what is asked -----------------------------------------------------------------------------------------

    async def ask(self, method: str, params: Object) -> Object | None:
        """Send a request of this server's own and wait for the response (handshake era).

        ``None`` when the call is cancelled first, which takes the question back (cancellation, until 2025-11-25:
        either side cancels what it has asked). Raises `DemoRefusal` where there is no way to ask.
        """
        request_id, answer = self._questions.pose()
        try:
            if not self.send(request_frame(request_id, method, params), "request", method=method):
                raise DemoRefusal(INVALID_REQUEST, "Invalid request: asking the client needs a stream")
            self._asking = request_id
            return None if await self.wait(answer) else answer.result()
        finally:
            self._asking = None
            self._questions.close(request_id)

    # -- what is sent ------------------------------------------------------------------------------------------

    def wants_messages(self, level: str) -> bool:
        """Whether the caller wants log messages of this level."""
        wanted = self.caller.log_level
        return wanted is not None and LEVELS.index(level) >= LEVELS.index(wanted)

    def progress(self, progress: float, total: float | None, message: str) -> None:
        """Report progress, if the caller gave a token (progress, every revision; ``message`` from 2025-03-26)."""
        if self._token is None:
            return
        params: Object = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if self.caller.revision >= "2025-03-26":
            params["message"] = message
        self.send(notification_frame("notifications/progress", params), "progress", progress=progress)

    def message(self, level: str, data: object) -> None:
        """Send a log message, if the caller wants one of this level."""
        if self.wants_messages(level):
            params: Object = {"level": level, "logger": self.tool, "data": data}
            self.send(notification_frame("notifications/message", params), "message")

    def answer(self, outcome: CallOutcome) -> None:
        """Send the result response of ``tools/call`` (tools, every revision; structured content from 2025-06-18)."""
        result: Object = {"content": [{"type": "text", "text": outcome.text}], "isError": outcome.is_error}
        if outcome.structured is not None and self.caller.revision >= "2025-06-18":
            result["structuredContent"] = outcome.structured
        self.finish(result)

    def finish(self, result: Object) -> None:
        """Send the result response of any method."""
        self.answered = True
        self.send(result_frame(self.id, complete(result, self.caller.revision)), "result")

    def refuse(self, refusal: DemoRefusal) -> None:
        """Send the error response."""
        self.answered = True
        self.send(error_frame(self.id, refusal), "error", code=refusal.code)

    def send(self, frame: Object, kind: str, **fields: object) -> bool:
        """Send one frame, and log that it was sent or that it had nowhere to go, which is returned as ``False``."""
        sent = self.channel.send(frame)
        self._log.event("sent" if sent else "ran_on", id=self.id, kind=kind, **fields)
        return sent

    def exiting(self, status: int) -> None:
        """Note that this call is about to end the process."""
        self._log.event("exit", cause=self.tool, status=status)

    def close(self, *, dropped: bool = False) -> None:
        """Nothing more comes: it has answered, it ended without an answer, or the server dropped it."""
        if dropped or not self.answered:
            self._log.event("dropped" if dropped else "stopped", id=self.id, tool=self.tool)
        self.closed = True
        self.channel.end()
