from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from mcp_tui.protocol.events import Signal
from mcp_tui.transport import stdio
from mcp_tui.transport.base import Outgoing, TransportError, spawn
from mcp_tui.transport.stdio import StdioTransport
from tests.servers.recorder import (
    Closed,
    Happened,
    Item,
    NotSent,
    Received,
    SignalFailed,
    SignalLeaving,
    Signalled,
    StderrLine,
    TooLarge,
    Writing,
    Written,
    recorder,
)
from tests.servers.stdio_scripted import HANG, Wire, cancel, processes, request, server

MB = 1 << 20
LADDER = 5.0
"""Seconds that closing may take, by contract."""


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signals follow each other at once, and what they do has all the time that it takes."""
    monkeypatch.setattr(stdio, "STDIN_GRACE", 0.05)
    monkeypatch.setattr(stdio, "TERM_GRACE", 0.05)
    monkeypatch.setattr(stdio, "KILL_GRACE", HANG)


def wire(mode: str, *arguments: object, max_message: int = 128 * MB) -> Wire:
    return Wire(StdioTransport(server(mode, *arguments), max_message=max_message))


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
            Writing(id=1),
            Written(raw=message.raw, method="tools/call", id=1),
            Received(raw=message.raw),
        ]


async def test_messages_arrive_in_the_order_in_which_they_were_sent() -> None:
    async with wire("echo") as it:
        messages = [request(n, size=n * 37 % 5000) for n in range(1000)]
        for message in messages:
            it.transport.send(message)
        await it.until(lambda: len(it.lines) == len(messages))
        assert it.lines == [message.raw for message in messages]
        assert [item.raw for item in it.all(Written)] == it.lines
        assert [item.id for item in it.all(Writing)] == [item.id for item in it.all(Written)]


async def test_what_is_sent_first_is_written_before_send_returns() -> None:
    async with wire("echo") as it:
        it.transport.send(request(1))
        assert [item.id for item in it.all(Written)] == [1]


async def test_a_notification_or_a_response_is_told_without_an_id() -> None:
    async with wire("echo") as it:
        it.transport.send(Outgoing(raw=b"{}", method="notifications/initialized"))
        assert it.items[1:] == [Written(raw=b"{}", method="notifications/initialized")]


async def test_a_line_of_20_mb_passes_both_ways() -> None:
    async with wire("echo") as it:
        message = request(1, size=20 * MB)
        it.transport.send(message)
        await it.until(lambda: it.lines)
        assert it.lines == [message.raw]


async def test_bytes_that_are_no_message_pass_as_they_are() -> None:
    stream = b"\xef\xbb\xbfStarting...\r\n\n\xff\xfe bad \x00 bytes\n\x1b[31mred\x1b[0m\n{}\n"
    async with wire("raw", stream.hex()) as it:
        await it.until(lambda: b"{}" in it.lines)
        assert it.lines == [b"Starting...", b"\xff\xfe bad \x00 bytes", b"\x1b[31mred\x1b[0m", b"{}"]


async def test_a_message_above_the_cap_is_dropped_and_the_next_one_works() -> None:
    async with wire("big", 3 * MB, max_message=MB) as it:
        it.transport.send(request(1))
        await it.until(lambda: it.lines)
        assert it.all(TooLarge) == [TooLarge(head=b"x" * 65536, size=3 * MB, tail=b"x" * 512)]
        assert it.lines == [request(1).raw]


async def test_a_flood_is_told_in_order_and_holds_up_no_signal() -> None:
    async with wire("flood", 100_000) as it:
        it.transport.send(request(1))
        await it.until(lambda: len(it.lines) > 1000)
        before = len(it.items)
        it.transport.signal(1, Signal.NOTIFICATION, cancel(1))
        assert it.items[before:] == [
            SignalLeaving(id=1),
            Signalled(id=1, signal=Signal.NOTIFICATION, raw=cancel(1).raw),
        ]
        await it.until(lambda: len(it.lines) == 100_003)
        numbers = [
            json.loads(line)["params"]["data"] for line in it.lines if b"notifications/message" in line
        ]
        assert numbers == list(range(100_000))
        assert it.lines.index(cancel(1).raw) < it.lines.index(
            b'"poured"'
        )  # the server had it while it was pouring


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

        it.tell = slow
        it.transport.send(request(1))
        async with asyncio.timeout(HANG):
            await others()
        # 0.2 ms each and 4 ms a turn; one read has hundreds.
        assert max(after - before for before, after in pairwise(turns)) <= 21


# -- stderr ----------------------------------------------------------------------------------------------------


async def test_stderr_is_told_by_line_with_bad_bytes_replaced() -> None:
    async with wire("errors", b"one\ntwo \xff\xe2\x82\n".hex()) as it:
        await it.until(lambda: len(it.all(StderrLine)) == 2)
        assert [item.text for item in it.all(StderrLine)] == ["one", "two \ufffd\ufffd"]


async def test_a_long_line_of_stderr_is_cut() -> None:
    async with wire("errors", (b"e" * 50_000 + b"\nnext\n").hex()) as it:
        await it.until(lambda: len(it.all(StderrLine)) == 2)
        assert [item.text for item in it.all(StderrLine)] == ["e" * 8192 + "… (50000 bytes)", "next"]


async def test_a_server_is_never_blocked_by_its_own_stderr() -> None:
    code = "import sys\nsys.stderr.write('noise\\n' * 300_000)\nprint('done', flush=True)\nsys.stdin.read()"
    async with Wire(StdioTransport([sys.executable, "-c", code])) as it:
        await it.until(lambda: it.lines)
        await it.transport.close()
        assert len(it.all(StderrLine)) == 300_000


# -- a server that does not read -------------------------------------------------------------------------------


async def test_what_a_blocked_pipe_does_not_take_stays_queued_and_can_be_taken_back(tmp_path: Path) -> None:
    async with wire("late", tmp_path / "start") as it:
        sent = await fill(it)
        waiting = sent[-1].id
        assert waiting is not None
        assert it.transport.unqueue(waiting)
        assert not it.transport.unqueue(waiting)
        assert not it.transport.unqueue(0)
        (tmp_path / "start").touch()
        it.transport.send(request(99_999))
        await it.until(lambda: len(it.lines) == len(sent) + 1)  # "ready", all but one, and the last
        assert json.loads(it.lines[-1])["head"].startswith('{"jsonrpc":"2.0","id":99999,')
        assert [item.id for item in it.all(Written)] == [*range(len(sent) - 1), 99_999]


async def test_a_signal_to_a_server_that_does_not_read_waits_and_can_be_recalled(tmp_path: Path) -> None:
    async with wire("late", tmp_path / "start") as it:
        await fill(it)
        it.transport.signal(3, Signal.NOTIFICATION, cancel(3))
        it.transport.signal(4, Signal.NOTIFICATION, cancel(4))
        await asyncio.sleep(0.05)
        assert it.all(SignalLeaving) == []
        assert it.transport.recall(3)
        assert not it.transport.recall(3)
        (tmp_path / "start").touch()
        await it.until(lambda: it.all(Signalled))
        assert [item.id for item in it.all(SignalLeaving)] == [4]
        assert not it.transport.recall(4)


async def test_a_signal_comes_after_the_line_being_written_and_before_all_that_is_queued(
    tmp_path: Path,
) -> None:
    async with wire("late", tmp_path / "start") as it:
        large = request(1, size=5 * MB)
        it.transport.send(large)
        for n in range(2, 50):
            it.transport.send(request(n))
        await asyncio.sleep(0.05)
        assert [item.id for item in it.all(Writing)] == [1]
        assert it.all(Written) == []
        it.transport.signal(1, Signal.NOTIFICATION, cancel(1))
        (tmp_path / "start").touch()
        await it.until(lambda: len(it.lines) == 51)
        arrived = [json.loads(line) for line in it.lines[1:]]
        assert arrived[0]["size"] == len(large.raw)
        assert arrived[1]["head"] == cancel(1).raw[:60].decode()
        assert [item["head"] for item in arrived[2:]] == [request(n).raw[:60].decode() for n in range(2, 50)]


async def test_a_request_that_is_a_signal_is_told_as_both() -> None:
    async with wire("echo") as it:
        message = Outgoing(raw=b'{"id":8,"method":"tasks/cancel"}', method="tasks/cancel", id=8)
        it.transport.signal(3, Signal.TASKS_CANCEL, message)
        assert it.items[1:] == [
            SignalLeaving(id=3),
            Writing(id=8),
            Written(raw=message.raw, method="tasks/cancel", id=8),
            Signalled(id=3, signal=Signal.TASKS_CANCEL, raw=message.raw),
        ]


async def test_stdio_has_no_stream_to_close() -> None:
    async with wire("echo") as it:
        it.transport.signal(3, Signal.STREAM_CLOSED, None)
        it.transport.release(3)
        it.transport.negotiated("2026-07-28", modern=True)
        assert it.items[1:] == [SignalFailed(id=3, detail="stdio has no stream to close")]


async def test_what_a_closed_stdin_does_not_take_is_refused_one_by_one() -> None:
    async with wire("unheard") as it:
        await it.until(lambda: it.lines)
        it.transport.send(request(1))
        it.transport.send(request(2))
        it.transport.signal(7, Signal.NOTIFICATION, cancel(7))
        await it.until(lambda: len(it.all(NotSent)) == 2 and it.all(SignalFailed))
        it.transport.send(request(3))
        detail = "the server closed its stdin"
        assert it.all(NotSent) == [NotSent(method="tools/call", detail=detail, id=n) for n in (1, 2, 3)]
        assert it.all(SignalFailed) == [SignalFailed(id=7, detail=detail)]
        assert it.all(Written) == []


# -- how it ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        (0, "server exited (code 0)"),
        (3, "server exited (code 3)"),
        (-9, "server was ended by signal 9 (SIGKILL)"),
        (-11, "server was ended by signal 11 (SIGSEGV)"),
    ],
)
async def test_a_server_that_exits_is_read_to_its_last_byte(code: int, detail: str) -> None:
    async with wire("leave", code) as it:
        it.transport.send(request(1))
        closed = await it.closed()
        assert closed == Closed(detail=detail, code=code)
        assert it.lines == [b'{"whole": true}', b'{"whole": fal']
        assert [item.text for item in it.all(StderrLine)] == ["leaving"]


@pytest.mark.parametrize("closing", [False, True])
async def test_a_server_that_exits_is_read_to_its_last_byte_however_slow_we_are(closing: bool) -> None:
    async with wire("leave", 0, 8000) as it:

        def slow(item: Item) -> None:
            time.sleep(0.0001)
            it.note(item)

        it.tell = slow
        it.transport.send(request(1))
        await it.until(lambda: it.lines)
        if closing:
            await it.transport.close()
        await it.closed()
        assert it.lines == [
            *(b'{"number": %d}' % number for number in range(8000)),
            b'{"whole": true}',
            b'{"whole": fal',
        ]


async def test_after_the_end_nothing_is_told() -> None:
    async with wire("leave", 3) as it:
        it.transport.send(request(1))
        await it.closed()
        await it.transport.close()
        told = len(it.items)
        it.transport.send(request(2))
        it.transport.signal(1, Signal.NOTIFICATION, cancel(1))
        assert len(it.items) == told


async def test_a_server_that_is_over_before_it_was_spoken_to_is_told_after_open() -> None:
    it = Wire(StdioTransport(["true"]))
    await it.open()
    assert it.all(Closed) == []
    assert (await it.closed()) == Closed(detail="server exited (code 0)", code=0)
    await it.transport.close()


async def test_a_server_that_closes_its_stdout_is_given_up() -> None:
    async with wire("unspoken") as it:
        closed = await it.closed()
        assert closed == Closed(detail="server closed its stdout and went on running")
        assert it.lines == [b'"ready"']


async def test_a_server_that_exits_while_a_child_holds_its_pipes_open_is_over(
    tmp_path: Path,
) -> None:
    async with wire("alone", tmp_path) as it:
        closed = await it.closed()
        assert closed == Closed(detail="server exited (code 4)", code=4)
        assert it.lines[0] == b'"leaving"'
        await it.transport.close()
        assert processes(str(tmp_path)) == []


async def test_closing_ends_a_server_by_closing_its_stdin() -> None:
    async with wire("echo") as it:
        await it.transport.close()
        assert it.items[-1] == Closed(detail="server exited (code 0)", code=0, expected=True)


async def test_closing_says_so_to_a_server_that_heeds_only_sigterm() -> None:
    async with wire("polite", 0) as it:
        await it.until(lambda: it.lines)
        await it.transport.close()
        assert it.lines == [b'"ready"', b'"goodbye"']
        assert it.items[-1] == Closed(detail="server exited (code 0)", code=0, expected=True)


def test_closing_takes_five_seconds_at_most() -> None:
    assert stdio.STDIN_GRACE + stdio.TERM_GRACE + stdio.KILL_GRACE + stdio.QUIET < LADDER


@pytest.mark.usefixtures("hasty")
async def test_a_deaf_server_is_killed_once_for_all_who_close() -> None:
    async with wire("deaf") as it:
        await it.until(lambda: it.lines)
        first = spawn(it.transport.close(), name="close")
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(it.transport.close(), it.transport.close())
        assert it.items[-1] == Closed(detail="server was ended by signal 9 (SIGKILL)", code=-9, expected=True)
        await it.transport.close()
        assert len(it.all(Closed)) == 1


@pytest.mark.usefixtures("hasty")
async def test_closing_with_a_full_pipe_refuses_what_waits_and_ends(tmp_path: Path) -> None:
    async with wire("late", tmp_path / "never") as it:
        sent = await fill(it)
        it.transport.signal(3, Signal.NOTIFICATION, cancel(3))
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


async def test_closing_what_was_never_opened_is_nothing() -> None:
    transport = StdioTransport(server("echo"))
    await transport.close()
    await transport.terminate()


@pytest.mark.parametrize("turns", [0, 1, 4, 16])
@pytest.mark.parametrize("seconds", [0.0, 0.02])
async def test_an_open_that_is_cancelled_leaves_no_process(
    turns: int, seconds: float, tmp_path: Path
) -> None:
    it = wire("deaf", tmp_path)
    opening = spawn(it.open(), name="open")
    for _ in range(turns):
        await asyncio.sleep(0)
    await asyncio.sleep(seconds)
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
        it.transport.signal(1, Signal.NOTIFICATION, cancel(1))
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
    text = await refusal(StdioTransport(["no-such-server", "--stdio"]))
    assert text == "no-such-server was not found in the server's PATH: install it, or write its whole path"


async def test_the_program_is_looked_up_in_the_servers_own_path(tmp_path: Path) -> None:
    path = script(tmp_path, "#!/bin/sh")
    text = await refusal(StdioTransport(["cat"], env={"PATH": str(tmp_path)}))
    assert text.startswith("cat was not found")
    it = Wire(StdioTransport([path.name], env={"PATH": f"/nowhere:{tmp_path}"}))
    await it.open()
    assert (await it.closed()).code == 0
    await it.transport.close()


async def test_a_path_is_one_from_the_servers_folder(tmp_path: Path) -> None:
    script(tmp_path, "#!/bin/sh")
    it = Wire(StdioTransport(["./server"], cwd=tmp_path))
    await it.open()
    assert (await it.closed()).code == 0
    await it.transport.close()


async def test_a_file_that_may_not_be_run_is_refused(tmp_path: Path) -> None:
    path = script(tmp_path, "#!/bin/sh", mode=0o644)
    hint = " is not executable: run chmod +x on it, or name the program that runs it"
    assert await refusal(StdioTransport([str(path)])) == f"{path}{hint}"
    assert await refusal(StdioTransport(["server"], env={"PATH": str(tmp_path)})) == f"{path}{hint}"


async def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    missing = await refusal(StdioTransport([str(tmp_path / "nothing")]))
    assert missing == f"{tmp_path / 'nothing'} does not exist: check the path of the server's program"
    assert await refusal(StdioTransport([str(tmp_path)])) == f"{tmp_path} is a folder, not a program"


async def test_a_missing_interpreter_is_told_from_a_missing_program(tmp_path: Path) -> None:
    path = script(tmp_path, "#!/no/such/interpreter")
    text = await refusal(StdioTransport([str(path)]))
    assert text.startswith(f"{path} could not be started: the interpreter that its first line (#!) names")


async def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "server"
    path.write_bytes(b"\x01\x02\x03 neither")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    text = await refusal(StdioTransport([str(path)]))
    assert "neither a program for this machine nor a script" in text


async def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    text = await refusal(StdioTransport(["cat"], cwd=tmp_path / "nowhere"))
    assert text == f"the server's folder {tmp_path / 'nowhere'} does not exist: give another one"
    file = script(tmp_path, "")
    assert "is not a folder" in await refusal(StdioTransport(["cat"], cwd=file))


async def test_what_no_command_line_can_hold_is_refused() -> None:
    assert "no command" in await refusal(StdioTransport([]))
    assert "NUL" in await refusal(StdioTransport(["cat", "a\0b"]))
    assert "NUL" in await refusal(StdioTransport(["cat"], env={"A": "\0"}))
    assert "no text" in await refusal(StdioTransport(["cat", "\ud800"]))
    assert "environment variable" in await refusal(StdioTransport(["cat"], env={"A=B": "c"}))
    assert "too long" in await refusal(StdioTransport(["cat", *["x" * 100_000] * 100]))


async def test_a_server_gets_a_short_environment_and_what_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CLIENT", "1")
    monkeypatch.setenv("LC_MESSAGES", "C")
    monkeypatch.setenv("TMPDIR", "/tmp")
    command = server("whole")
    given = {"GIVEN": "ü\n=", "TERM": "dumb"}
    async with Wire(StdioTransport(command, env=given)) as it:
        await it.until(lambda: it.lines)
        got = json.loads(it.lines[0])["environment"]
    assert got["GIVEN"] == "ü\n="
    assert (got["TERM"], got["NO_COLOR"], got["LC_MESSAGES"], got["TMPDIR"]) == ("dumb", "1", "C", "/tmp")
    assert got["PATH"] == os.environ["PATH"]
    assert "SECRET_OF_THE_CLIENT" not in got
    async with Wire(StdioTransport(command, inherit_env=True)) as it:
        await it.until(lambda: it.lines)
        got = json.loads(it.lines[0])["environment"]
    assert (got["SECRET_OF_THE_CLIENT"], got["NO_COLOR"]) == ("1", "1")


async def test_a_server_has_a_session_its_pipes_and_its_folder_and_nothing_else(
    tmp_path: Path,
) -> None:
    command = server("whole", "an argument", "", "*")
    async with Wire(StdioTransport(command, cwd=tmp_path)) as it:
        await it.until(lambda: it.lines)
        got = json.loads(it.lines[0])
        assert got["pid"] == got["session"] == got["group"] == it.transport.pid
        assert got["descriptors"] == [0, 1, 2]
        assert Path(got["cwd"]).samefile(tmp_path)
        assert got["argv"][2:] == ["an argument", "", "*"]
        assert it.items[0] == Happened(text=f"started {sys.executable} (process {it.transport.pid})")
