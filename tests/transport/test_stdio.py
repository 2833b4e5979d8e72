from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.transport import stdio
from mcp_tui.transport.base import Outgoing, TransportError, spawn
from mcp_tui.transport.read_ahead import AHEAD_BYTES, PipeReader
from mcp_tui.transport.stdio import StdioTransport
from tests.servers.recorder import (
    Closed,
    CutOff,
    Happened,
    Item,
    NotSent,
    Received,
    ReceivingEnded,
    SignalFailed,
    SignalLeaving,
    Signalled,
    StderrLine,
    Writing,
    Written,
    recorder,
)
from tests.servers.stdio_scripted import HANG, Wire, cancel, over_stdio, processes, request, server
from tests.waiting import turns


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signals follow each other at once, and what they do has all the time that it takes."""
    monkeypatch.setattr(stdio, "STDIN_GRACE", 0.05)
    monkeypatch.setattr(stdio, "TERM_GRACE", 0.05)
    monkeypatch.setattr(stdio, "KILL_GRACE", HANG)


def wire(mode: str, *arguments: object) -> Wire:
    return Wire(over_stdio(server(mode, *arguments)))


async def fill(wire: Wire) -> list[Outgoing]:
    """Send requests to a server that does not read until they stay in the queue."""
    sent: list[Outgoing] = []
    while len(wire.all(Writing)) == len(sent):
        message = request(len(sent), size=1000)
        sent.append(message)
        wire.transport.send(message)
        await asyncio.sleep(0)
    return sent


# -- messages --------------------------------------------------------------------------------------------------


async def test_a_message_goes_there_and_comes_back() -> None:
    async with wire("echo") as it:
        message = request(1)
        it.transport.send(message)
        await it.until(lambda: it.lines)
        assert it.items[1:] == [
            Writing(message=message),
            Written(message=message),
            Received(raw=message.raw),
        ]


async def test_a_flood_leaves_turns_to_others_however_slow_its_reader_is() -> None:
    async with wire("flood", 5000) as it:
        turns = [0]

        def slow(item: Item) -> None:
            time.sleep(0.0002)
            it.note(item)

        async def others() -> None:
            while len(it.lines) < 5002:
                turns.append(len(it.lines))
                await asyncio.sleep(0)

        it.report = slow
        it.transport.send(request(1))
        async with asyncio.timeout(HANG):
            await others()
        # 0.2 ms each and 4 ms a turn; one read has hundreds.
        assert max(after - before for before, after in pairwise(turns)) <= 21


async def test_each_line_bears_the_time_at_which_it_was_read_however_late_it_is_handled() -> None:
    loop = asyncio.get_running_loop()
    reader, (source, sink) = PipeReader(), os.pipe()
    pipe, _ = await loop.connect_read_pipe(lambda: reader, os.fdopen(source, "rb", 0))
    async with asyncio.timeout(HANG):
        os.write(sink, b"one")
        while reader.unhandled.since is None:
            await asyncio.sleep(0)
        between = time.monotonic()
        os.write(sink, b"two")
        while reader.unhandled.read_at < between:
            await asyncio.sleep(0)
        both_read = time.monotonic()
        first, second = reader.take(), reader.take()
        assert [first[1], second[1]] == [b"one", b"two"]
        assert first[0] < between < second[0] < both_read
        assert reader.unhandled.since == second[0], "it is in hand"
        reader.unhandled.handled()
        assert reader.unhandled.since is None
    pipe.close()


async def test_what_is_read_is_handled_in_the_same_turn_of_the_loop_and_an_error_ends_the_handling() -> None:
    reader = PipeReader()
    handled: list[bytes] = []

    def work() -> Iterator[bool]:
        while True:
            yield False
            handled.append(reader.take()[1])
            if len(handled) == 2:
                raise ValueError

    reader.follow(work())
    await turns(1)
    reader.data_received(b"one")
    assert handled == [b"one"]
    assert not reader.over.done()
    with pytest.raises(ValueError):
        reader.data_received(b"two")
    assert reader.over.done()


async def test_a_server_waits_once_four_megabytes_are_unhandled() -> None:
    loop = asyncio.get_running_loop()
    reader, (source, sink) = PipeReader(), os.pipe()
    os.set_blocking(sink, False)
    pipe, _ = await loop.connect_read_pipe(lambda: reader, os.fdopen(source, "rb", 0))
    written = 0
    async with asyncio.timeout(HANG):
        refused = 0
        while refused < 100:  # the loop had a hundred turns to read more
            try:
                written += os.write(sink, b"x" * 65536)
                refused = 0
            except BlockingIOError:
                refused += 1
            await asyncio.sleep(0)
        assert AHEAD_BYTES <= written < 2 * AHEAD_BYTES
        os.close(sink)
        taken = 0
        while not reader.ended or reader.unhandled:
            if reader.unhandled:
                taken += len(reader.take()[1])
            await asyncio.sleep(0)
    assert taken == written
    pipe.close()


# -- a server that does not read -------------------------------------------------------------------------------


async def test_a_signal_to_a_server_that_does_not_read_waits_and_can_be_recalled(tmp_path: Path) -> None:
    async with wire("late", tmp_path / "start") as it:
        await fill(it)
        it.transport.signal(cancel(3))
        it.transport.signal(cancel(4))
        await turns()
        assert it.all(SignalLeaving) == []
        it.transport.withdraw(3)
        it.transport.withdraw(3)
        (tmp_path / "start").touch()
        await it.until(lambda: it.all(Signalled))
        assert [item.id for item in it.all(SignalLeaving)] == [4]


async def test_a_signal_comes_after_the_line_being_written_and_before_all_that_is_queued(
    tmp_path: Path,
) -> None:
    async with wire("late", tmp_path / "start") as it:
        large = request(1, size=5_000_000)
        it.transport.send(large)
        for n in range(2, 50):
            it.transport.send(request(n))
        await turns()
        assert [item.id for item in it.all(Writing)] == [1]
        assert it.all(Written) == []
        it.transport.signal(cancel(1))
        (tmp_path / "start").touch()
        await it.until(lambda: len(it.lines) == 51)
        arrived = [json.loads(line) for line in it.lines[1:]]
        assert arrived[0]["size"] == len(large.raw)
        assert arrived[1]["head"] == cancel(1).raw[:60].decode()
        assert [item["head"] for item in arrived[2:]] == [request(n).raw[:60].decode() for n in range(2, 50)]


async def test_what_a_closed_stdin_does_not_take_is_refused_one_by_one() -> None:
    async with wire("unheard") as it:
        await it.until(lambda: it.lines)
        it.transport.send(request(1))
        it.transport.send(request(2))
        it.transport.signal(cancel(7))
        await it.until(lambda: len(it.all(NotSent)) == 2 and it.all(SignalFailed))
        it.transport.send(request(3))
        detail = "the server closed its stdin"
        assert it.all(NotSent) == [NotSent(message=request(n), detail=detail) for n in (1, 2, 3)]
        assert it.all(SignalFailed) == [SignalFailed(message=cancel(7), detail=detail)]
        assert it.all(Written) == []


# -- how it ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        (0, "server exited with code 0"),
        (3, "server exited with code 3"),
        (-9, "server was terminated by signal 9 (SIGKILL)"),
        (-11, "server was terminated by signal 11 (SIGSEGV)"),
    ],
)
async def test_a_server_that_exits_is_read_to_its_last_byte(code: int, detail: str) -> None:
    async with wire("leave", code) as it:
        it.transport.send(request(1))
        closed = await it.closed()
        assert closed == Closed(detail=detail, code=code)
        assert (it.lines, it.all(CutOff)) == ([b'{"whole": true}'], [CutOff(raw=b'{"whole": fal')])
        assert [item.text for item in it.all(StderrLine)] == ["leaving"]


async def test_a_server_that_exits_is_read_to_its_last_byte_by_a_slow_reader_too() -> None:
    # its last bytes are still in the pipe, and the reader is behind for longer than a silence may last
    code = "print(('x' * 300 + chr(10)) * 1700, end='')"
    it = Wire(over_stdio([sys.executable, "-c", code]))

    def slow(item: Item) -> None:
        time.sleep(0.001)
        it.note(item)

    it.report = slow
    async with it:
        await it.closed()
        assert len(it.lines) == 1700


async def test_a_server_that_closes_its_stdout_is_given_up() -> None:
    async with wire("unspoken") as it:
        closed = await it.closed()
        assert closed == Closed(detail="server closed its stdout but is still running")
        assert it.all(ReceivingEnded) == [ReceivingEnded(detail="server closed its stdout")]
        assert it.lines == [b'"ready"']


async def test_a_server_that_exits_while_a_child_holds_its_pipes_open_is_over(
    tmp_path: Path,
) -> None:
    async with wire("alone", tmp_path) as it:
        closed = await it.closed()
        assert closed == Closed(detail="server exited with code 4", code=4)
        assert it.lines[0] == b'"leaving"'
        await it.transport.close()
        assert processes(str(tmp_path)) == []


@pytest.mark.parametrize(
    ("mode", "lines"),
    [(("echo",), []), (("polite", 0), [b'"ready"', b'"goodbye"'])],
    ids=["stdin", "SIGTERM"],
)
async def test_closing_ends_a_server_by_closing_its_stdin_or_by_sigterm(
    mode: tuple[str, int], lines: list[bytes]
) -> None:
    async with wire(*mode) as it:
        await it.until(lambda: it.lines == lines[:1])
        await it.transport.close()
        assert it.lines == lines
        assert it.items[-1] == Closed(detail="server exited with code 0", code=0, expected=True)


@pytest.mark.usefixtures("hasty")
async def test_a_deaf_server_is_killed_once_for_all_who_close() -> None:
    async with wire("deaf") as it:
        await it.until(lambda: it.lines)
        first = spawn(it.transport.close(), name="close")
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(it.transport.close(), it.transport.close())
        assert it.items[-1] == Closed(
            detail="server was terminated by signal 9 (SIGKILL)", code=-9, expected=True
        )
        await it.transport.close()
        assert len(it.all(Closed)) == 1


@pytest.mark.usefixtures("hasty")
async def test_a_reply_while_closing_does_not_take_back_a_cancel_that_is_leaving() -> None:
    class Pipe(asyncio.Transport):
        def get_write_buffer_size(self) -> int:
            return len(held)

        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
        def is_closing(self) -> bool:
            return False

        def write(self, data: bytes | bytearray | memoryview) -> None:
            held.extend(data)

        def close(self) -> None: ...

    held = bytearray()
    items: list[Item] = []
    writer = stdio.LineWriter()
    writer.sink = recorder(items.append)
    writer.connection_made(Pipe())
    writer.signal(cancel(1))
    writer.end_input("closing")
    writer.send(request(2))
    held.clear()
    writer.resume_writing()
    assert [type(item) for item in items] == [SignalLeaving, NotSent, Signalled]


async def test_closing_with_a_full_pipe_refuses_what_waits_and_ends(tmp_path: Path) -> None:
    async with wire("late", tmp_path / "never") as it:
        sent = await fill(it)
        it.transport.signal(cancel(3))
        await it.transport.close()
        told = [str(item.id) for item in (*it.all(Written), *it.all(NotSent))]
        assert sorted(told) == sorted(str(message.id) for message in sent)  # each one once
        assert [item.id for item in it.all(SignalFailed)] == [3]
        closed = it.items[-1]
        assert isinstance(closed, Closed)
        assert closed.expected


async def test_terminating_hastens_a_close_under_way(tmp_path: Path) -> None:
    async with wire("polite", 0) as it:
        await it.until(lambda: it.lines)
        closing = spawn(it.transport.close(), name="close")
        await asyncio.sleep(0)
        await it.transport.terminate()
        assert closing.done() or not await closing
        assert it.lines == [b'"ready"', b'"goodbye"']


@pytest.mark.parametrize("count", [0, 1, 4, 16, 500])
async def test_an_open_that_is_cancelled_leaves_no_process(count: int, tmp_path: Path) -> None:
    it = wire("deaf", tmp_path)
    opening = spawn(it.open(), name="open")
    await turns(count)
    opening.cancel()
    await asyncio.wait((opening,))
    await it.transport.terminate()
    async with asyncio.timeout(HANG):
        while processes(str(tmp_path)):
            await asyncio.sleep(0.01)
    assert it.all(Closed) == [] if opening.cancelled() else [Closed]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 has eager tasks first")
@pytest.mark.parametrize("mode", ["echo", "deaf", "leave 3"])
async def test_tasks_may_be_eager_as_those_of_the_workbench_are(mode: str) -> None:
    if sys.version_info >= (3, 12):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    async with wire(*mode.split()) as it:
        it.transport.send(request(1))
        it.transport.signal(cancel(1))
        await it.until(lambda: it.lines)
        await asyncio.gather(it.transport.close(), it.transport.terminate())
        await it.closed()


# -- how it starts ---------------------------------------------------------------------------------------------


async def refusal(transport: StdioTransport) -> str:
    items: list[Item] = []
    with pytest.raises(TransportError) as caught:
        await transport.open(recorder(items.append))
    await transport.close()
    assert [item for item in items if isinstance(item, Closed | Happened)] == []
    return str(caught.value)


def script(folder: Path, first: str, *, mode: int = 0o755) -> Path:
    path = folder / "server"
    path.write_text(first + "\nexit 0\n")
    path.chmod(mode)
    return path


async def test_a_missing_program_is_named_with_what_to_do() -> None:
    text = await refusal(over_stdio(["no-such-server", "--stdio"]))
    assert text == "Command not found: no-such-server. Install it or give its full path."


async def test_the_program_is_looked_up_in_the_servers_own_path(tmp_path: Path) -> None:
    path = script(tmp_path, "#!/bin/sh")
    text = await refusal(over_stdio(["cat"], env={"PATH": str(tmp_path)}))
    assert text.startswith("Command not found: cat.")
    it = Wire(over_stdio([path.name], env={"PATH": f"/nowhere:{tmp_path}"}))
    await it.open()
    assert (await it.closed()).code == 0
    await it.transport.close()


async def test_a_file_that_may_not_be_run_is_refused(tmp_path: Path) -> None:
    path = script(tmp_path, "#!/bin/sh", mode=0o644)
    said = f"Not executable: {path}. Run chmod +x on it, or name the program that runs it."
    assert await refusal(over_stdio([str(path)])) == said
    assert await refusal(over_stdio(["server"], env={"PATH": str(tmp_path)})) == said


async def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    text = await refusal(over_stdio(["cat"], cwd=tmp_path / "nowhere"))
    assert text == f"The working directory {tmp_path / 'nowhere'} does not exist. Choose another one."
    file = script(tmp_path, "")
    assert "is not a directory" in await refusal(over_stdio(["cat"], cwd=file))


async def test_a_server_gets_a_short_environment_and_what_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CLIENT", "1")
    monkeypatch.setenv("LC_MESSAGES", "C")
    monkeypatch.setenv("TMPDIR", "/tmp")
    command = server("whole")
    given = {"GIVEN": "ü\n=", "TERM": "dumb"}
    async with Wire(over_stdio(command, env=given)) as it:
        await it.until(lambda: it.lines)
        got = json.loads(it.lines[0])["environment"]
    assert got["GIVEN"] == "ü\n="
    assert (got["TERM"], got["NO_COLOR"], got["LC_MESSAGES"], got["TMPDIR"]) == ("dumb", "1", "C", "/tmp")
    assert got["PATH"] == os.environ["PATH"]
    assert "SECRET_OF_THE_CLIENT" not in got
    async with Wire(over_stdio(command, inherit_env=True)) as it:
        await it.until(lambda: it.lines)
        got = json.loads(it.lines[0])["environment"]
    assert (got["SECRET_OF_THE_CLIENT"], got["NO_COLOR"]) == ("1", "1")


async def test_a_server_has_a_session_its_pipes_and_its_folder_and_nothing_else(
    tmp_path: Path,
) -> None:
    command = server("whole", "an argument", "", "*")
    async with Wire(over_stdio(command, cwd=tmp_path)) as it:
        await it.until(lambda: it.lines)
        got = json.loads(it.lines[0])
        assert got["pid"] == got["session"] == got["group"] == it.transport.pid
        assert got["descriptors"] == [0, 1, 2]
        assert Path(got["cwd"]).samefile(tmp_path)
        assert got["argv"][2:] == ["an argument", "", "*"]
        assert Happened(text=f"started {sys.executable} (pid {it.transport.pid})") in it.items


class Refusing:
    """The operating system, refusing the next starts."""

    def __init__(self, number: int, times: int) -> None:
        self.number, self.times, self.asked = number, times, 0
        self._popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen

    def __call__(self, *words: Any, **how: Any) -> subprocess.Popen[bytes]:
        self.asked += 1
        if self.asked <= self.times:
            raise OSError(self.number, os.strerror(self.number))
        return self._popen(*words, **how)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EFAULT])
async def test_a_start_that_is_refused_for_the_moment_is_tried_once_more(
    number: int, monkeypatch: pytest.MonkeyPatch
):
    refusing = Refusing(number, 1)
    monkeypatch.setattr(subprocess, "Popen", refusing)
    transport = over_stdio([sys.executable, "-S", "-c", "input()"])
    items: list[Item] = []
    await transport.open(recorder(items.append))
    assert transport.pid
    assert refusing.asked == 2
    await transport.close()
