"""The demo server on stdio: one message a line (transports, every revision).

Reading and writing each have a thread. Standard streams can be pipes, sockets, terminals or files, and they are shared
with other processes and so cannot be made non-blocking.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from mcp_tui.demo import frames
from mcp_tui.demo.calls import Channel, well_formed
from mcp_tui.demo.dispatch import Conversation, Setting
from mcp_tui.demo.frames import DemoRefusal, Object
from mcp_tui.protocol.framing import LineFramer, Oversized

MESSAGE_CAP: Final = 64 * 1024 * 1024
"""Bytes that one line may have; a longer one is dropped."""

_CHUNK: Final = 256 * 1024  # bytes
_HIGH_WATER: Final = 1024 * 1024  # bytes that may wait for the peer before tools are held up
_FAREWELL: Final = 1.0  # seconds that the last answers have to leave
_SWITCH: Final = 0.0005  # seconds after which a busy thread lets the reader in


class Output(Channel):
    """Standard output: frames leave in the order in which they were sent. ``gone`` is set when nobody reads it."""

    def __init__(self, descriptor: int, lost: Callable[[], object]) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[bytes] = SimpleQueue()
        self._left = 0  # bytes that are not written yet
        self._moved = asyncio.Event()
        threading.Thread(target=self._write, name="stdout", daemon=True).start()

    def send(self, frame: Object) -> bool:
        if self.gone.is_set():
            return False
        line = frames.encode(frame) + b"\n"
        self._left += len(line)
        self._queue.put(line)
        return True

    async def drain(self) -> None:
        await self._wait(_HIGH_WATER)

    async def flush(self) -> None:
        with contextlib.suppress(TimeoutError):  # whoever should read it does not
            async with asyncio.timeout(_FAREWELL):
                await self._wait(0)

    async def _wait(self, allowed: int) -> None:
        """Wait until no more than `allowed` bytes are left to write, or nobody reads them any more."""
        while self._left > allowed and not self.gone.is_set():
            self._moved.clear()
            await self._moved.wait()

    def _write(self) -> None:
        while True:
            lines = [self._queue.get()]
            while not self._queue.empty():
                lines.append(self._queue.get())
            data = b"".join(lines)
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(self._descriptor, view[:_CHUNK]) :]
            except OSError:
                self._tell(self._lose)
                return
            self._tell(self._wrote, len(data))

    def _tell(self, callback: Callable[..., object], *facts: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(callback, *facts)

    def _wrote(self, size: int) -> None:
        self._left -= size
        self._moved.set()

    def _lose(self) -> None:
        self.gone.set()
        self._moved.set()
        self._lost()


class StdioServer:
    """One process, one client. Pending requests are dropped with the process."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._conversation = Conversation(setting)
        self._lines = LineFramer(MESSAGE_CAP)
        self._loop = asyncio.get_running_loop()
        sys.setswitchinterval(_SWITCH)
        self._output = Output(1, lambda: setting.end("stdout closed"))
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def close(self) -> None:
        """Let the last answers leave."""
        await self._output.flush()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(0, _CHUNK)
            except OSError:
                data = b""
            try:
                self._loop.call_soon_threadsafe(self._take, data)
            except RuntimeError:  # the loop has ended
                return
            if not data:
                return

    def _take(self, data: bytes) -> None:
        if not data:
            self._setting.end("eof")
            return
        for line in self._lines.feed(data):
            try:
                taken = self._messages(line)
            except DemoRefusal as refusal:
                self._setting.log.event("malformed", detail=refusal.message)
                revision = self._conversation.revision
                if revision is None or revision >= "2025-11-25":  # before, an error response must have an id
                    self._output.send(frames.error_frame(None, refusal))
            else:
                for frame in taken:
                    self._setting.log.received(frame)
                    self._conversation.receive(frame, self._conversation.caller, self._output)

    def _messages(self, line: bytes | Oversized) -> list[Object]:
        if isinstance(line, Oversized):
            raise frames.bad_request(f"larger than {MESSAGE_CAP} bytes")
        message = frames.decode(line)
        batch = frames.as_list(message)
        if batch is None:
            return [frames.checked(message)]
        if not batch or self._conversation.revision != "2025-03-26":
            raise frames.bad_request("batches are not supported")
        return well_formed(batch, self._setting.log)
