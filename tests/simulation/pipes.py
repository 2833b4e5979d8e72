"""The world below the stdio transport: three pipes and a process, simulated.

A pipe keeps the order of its bytes, holds a few of them while nobody reads, and ends when its process does; the
process ends by itself, by SIGTERM or by SIGKILL, or late.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from mcp_tui.transport.base import TransportError
from mcp_tui.transport.launching import Launch
from mcp_tui.transport.read_ahead import PipeReader
from mcp_tui.transport.targets import StdioTarget
from tests.simulation.servers import Server
from tests.simulation.world import TICK, World, here

ROOM: Final = 200
"""Bytes that a pipe holds while nobody reads it: less than most messages, so that some stand half written."""


class StdinPipe(asyncio.WriteTransport):
    """Our end of the server's stdin."""

    def __init__(self, world: World, protocol: Any, process: Process) -> None:
        super().__init__()
        self._world = world
        self._protocol = protocol
        self._process = process
        self._buffer = bytearray()
        self._held = bytearray()
        self._line = bytearray()
        self._arrives = 0.0
        self._closing = False
        self._lost = False
        self._paused = False
        self.blocked = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == 0

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def is_closing(self) -> bool:
        return self._closing

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._lost or self._closing:
            return
        self._buffer += data
        self._world.watch.begins(bytes(data))
        self._drain()
        self._paused = bool(self._buffer)

    def _drain(self) -> None:
        """What the server reads at once is on its way; what it does not read fills the pipe, then our buffer."""
        room = len(self._buffer) if not self.blocked else max(0, ROOM - len(self._held))
        taken = bytes(self._buffer[:room])
        del self._buffer[:room]
        if self.blocked:
            self._held += taken
        else:
            self._deliver(bytes(self._held) + taken)
            self._held.clear()

    def _deliver(self, data: bytes) -> None:
        if data:
            self._arrives = max(self._arrives + TICK, self._world.loop.now + self._world.latency())
            self._world.at(self._arrives, self._arrive, data)

    def _arrive(self, data: bytes) -> None:
        *lines, rest = (bytes(self._line) + data).split(b"\n")
        self._line = bytearray(rest)
        for line in lines:
            if self._process.running:
                self._process.server.line(line)

    def block(self, blocked: bool) -> None:
        """Lets the server stop reading, or go on."""
        self.blocked = blocked
        if blocked or self._lost:
            return
        self._drain()
        if self._paused:
            self._paused = False
            self._protocol.resume_writing()
        if self._closing:
            self._lose()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            if not self._buffer:
                self._lose()

    def abort(self) -> None:
        self._closing = True
        self._buffer.clear()
        self._lose()

    def _lose(self) -> None:
        if self._lost or self._buffer:
            return
        self._lost = True
        self._world.at(max(self._arrives, self._world.loop.now) + 0.001, self._process.stdin_ended)
        self._world.loop.call_soon(self._protocol.connection_lost, None)

    def broken(self) -> None:
        """The process is gone: nobody reads any more."""
        if not self._lost:
            self._lost = self._closing = True
            self._buffer.clear()
            self._world.loop.call_soon(self._protocol.connection_lost, BrokenPipeError())


class OutPipe(asyncio.ReadTransport):
    """Our end of the server's stdout or stderr."""

    def __init__(self, world: World, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._world = world
        self._protocol = protocol
        self._arrives = 0.0
        self._closed = False
        self.ended = False
        protocol.connection_made(self)

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self._world.loop.call_soon(self._lose)

    def write(self, data: bytes) -> None:
        """The server writes; bytes come in the order in which they were written, in pieces of any size."""
        world = self._world
        cut = world.rng.randrange(len(data)) if len(data) > 1 and world.chance(0.1) else 0
        for piece in (data[:cut], data[cut:]):
            if piece:
                self._arrives = max(self._arrives + TICK, world.loop.now + world.latency())
                world.at(self._arrives, self._arrive, piece)

    def _arrive(self, data: bytes) -> None:
        if not self._closed:
            self._protocol.data_received(data)

    def end(self) -> None:
        """The server's end is closed."""
        if not self.ended:
            self.ended = True
            self._world.at(max(self._arrives, self._world.loop.now) + TICK, self._lose)

    def _lose(self) -> None:
        if not self._closed:
            self._closed = True
            self._protocol.connection_lost(None)


class Process:
    """A server's process."""

    def __init__(self, world: World, stdin: asyncio.BaseProtocol) -> None:
        self.pid = 4242
        self.exit: asyncio.Future[int] = world.loop.create_future()
        self.all_ended: asyncio.Future[None] = world.loop.create_future()
        self.ended = 0
        self.guard_code = 0
        self.running = True
        self._world = world
        self.stdin = StdinPipe(world, stdin, self)
        self.stdout, self.stderr = PipeReader(), PipeReader()
        self.out = OutPipe(world, self.stdout)
        self.err = OutPipe(world, self.stderr)
        self.server = Server(world)
        world.server = self.server
        self.server.process = self

    def ends(self, code: int) -> None:
        """The process ends; its exit is told before or after the last bytes of its pipes."""
        if not self.running:
            return
        self.running = False
        world = self._world
        world.say("server", f"exits with {code}")
        self.server.ended()
        self.out.end()
        self.err.end()
        self.stdin.broken()
        world.later(world.latency(), self._exited, code)

    def _exited(self, code: int) -> None:
        self.exit.set_result(code)
        self.all_ended.set_result(None)

    def ready(self) -> None: ...

    def wake(self) -> None: ...

    def stdin_ended(self) -> None:
        if self.running and not self._world.plan.ignores_eof:
            self._world.later(self._world.latency(), self.ends, 0)

    def stop_reading(self) -> None:
        self.out.close()
        self.err.close()

    def terminate(self) -> None:
        if not self._world.plan.ignores_term:
            self._world.later(0.01, self.ends, -15)

    def kill(self) -> None:
        self._world.later(0.001, self.ends, -9)

    def close(self) -> None:
        self.ends(-9)


async def start(launch: Launch, stdin: asyncio.BaseProtocol) -> Process:
    """Stands where the stdio transport starts its process."""
    world = here()
    await asyncio.sleep(world.latency())
    if world.chance(0.01):
        raise TransportError("there is no such program")
    process = Process(world, stdin)
    stdin.connection_made(process.stdin)
    return process


def prepare(*_: object) -> Launch:
    """Stands where the stdio transport looks a program up."""
    return Launch(path="server", target=StdioTarget(command=("server",)), environment={})
