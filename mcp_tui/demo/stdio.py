"""The demo server on stdio: one message a line (transports, every revision).

Standard input has a thread, because it can be a pipe, a socket, a terminal, or a file, and is shared with other processes
and so cannot be made non-blocking. Standard output is written to directly: a client that does not read holds the tools up.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import Final

from mcp_tui.demo import frames
from mcp_tui.demo.calls import Channel, well_formed
from mcp_tui.demo.dispatch import Conversation, Setting
from mcp_tui.demo.frames import DemoRefusal, Object
from mcp_tui.protocol.framing import LineFramer, Oversized

MESSAGE_CAP: Final = 64 * 1024 * 1024
"""Bytes that one line may have; a longer one is dropped."""

_CHUNK: Final = 256 * 1024  # bytes
_SWITCH: Final = 0.0005  # seconds after which a busy thread lets the reader in


class Output(Channel):
    """Standard output. ``gone`` is set when nobody reads it."""

    def __init__(self, lost: Callable[[], object]) -> None:
        super().__init__()
        self._lost = lost

    def send(self, frame: Object) -> bool:
        view = memoryview(frames.encode(frame) + b"\n")
        try:
            while view and not self.gone.is_set():
                view = view[os.write(1, view[:_CHUNK]) :]
        except OSError:
            self.gone.set()
            self._lost()
        return not self.gone.is_set()


class StdioServer:
    """One process, one client. Pending requests are dropped with the process."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._conversation = Conversation(setting)
        self._lines = LineFramer(MESSAGE_CAP)
        self._loop = asyncio.get_running_loop()
        sys.setswitchinterval(_SWITCH)
        self._output = Output(lambda: setting.end("stdout closed"))
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

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
