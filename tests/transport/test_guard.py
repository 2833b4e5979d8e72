from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_tui.protocol.revisions import LATEST
from mcp_tui.transport.launching import GUARD
from tests.servers.recorder import Closed, ProcessesEnded
from tests.servers.stdio_scripted import HANG, SERVER, Wire, over_stdio, processes, request, server
from tests.slow import slow

if sys.platform == "win32":
    pytest.skip("there is no guard on Windows", allow_module_level=True)

CLIENT = SERVER.with_name("stdio_client.py")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a subreaper")

SHELL = "{} & wait"
"""A shell that stays between us and the server, as npx does."""


def shell(command: list[str], line: str = SHELL) -> list[str]:
    quoted = subprocess.list2cmdline(command)
    return ["/bin/sh", "-c", line.format(quoted)]


def kinds(mark: Path) -> dict[str, list[str]]:
    return {
        "well-behaved": server("whole", mark),
        "deaf": server("deaf", mark),
        "behind a shell": shell(server("deaf", mark)),
        "behind two shells": shell(shell(server("deaf", mark), "exec {}"), "{} ; true"),
        "escaped": server("escape", mark),
    }


def wait_for_nothing(mark: Path) -> None:
    until = time.monotonic() + HANG
    while left := processes(str(mark)):
        assert time.monotonic() < until, left
        time.sleep(0.01)


def start_client(how: str, command: list[str]) -> subprocess.Popen[bytes]:
    client = subprocess.Popen(
        [sys.executable, str(CLIENT), how, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert client.stdout is not None
    with client.stdout:
        assert client.stdout.readline() == b"ready\n"
    return client


@pytest.mark.parametrize("rounds", [2, *slow(8)])
@pytest.mark.parametrize(
    "kind",
    [
        "deaf",
        "behind two shells",
        *slow("well-behaved", "behind a shell"),
        pytest.param("escaped", marks=linux),
    ],
)
def test_nothing_is_left_when_the_client_is_killed(kind: str, rounds: int, tmp_path: Path) -> None:
    for _ in range(rounds):
        client = start_client("wait", kinds(tmp_path)[kind])
        assert len(processes(str(tmp_path))) >= 3  # client, guard, server
        client.kill()
        assert client.wait() == -signal.SIGKILL
        wait_for_nothing(tmp_path)


@pytest.mark.parametrize("how", ["raise", "exit"])
@pytest.mark.parametrize("kind", ["deaf", pytest.param("escaped", marks=linux)])
def test_nothing_is_left_when_the_client_ends_without_closing(kind: str, how: str, tmp_path: Path) -> None:
    client = start_client(how, kinds(tmp_path)[kind])
    assert client.wait() == (how == "raise")
    wait_for_nothing(tmp_path)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (signal.SIGKILL, "deaf"),
        (signal.SIGTERM, "deaf"),
        (signal.SIGTERM, "behind a shell"),
        pytest.param(signal.SIGTERM, "escaped", marks=linux),
    ],
)
async def test_nothing_is_left_when_the_guard_is_killed_or_told_to_end(
    kind: str, number: signal.Signals, tmp_path: Path
) -> None:
    async with Wire(over_stdio(kinds(tmp_path)[kind])) as it:
        await it.until(lambda: it.lines)
        os.kill(guard_of(it), number)
        closed = await it.closed()
        how = f"was terminated by signal {number.value} ({number.name})"
        assert closed.detail == f"server was ended with its guard process, which {how}"
        wait_for_nothing(tmp_path)


@linux
@pytest.mark.parametrize("rounds", [1, *slow(20)])
@pytest.mark.parametrize(
    "killed",
    [("client", "guard"), ("guard", "client"), *slow(("client", "backup"), ("backup", "client"))],
    ids="-".join,
)
def test_nothing_is_left_when_two_are_killed(killed: tuple[str, ...], rounds: int, tmp_path: Path) -> None:
    for number in range(rounds):
        client = start_client("wait", [*kinds(tmp_path)["escaped"], str(number)])
        pids = {"client": client.pid, **guards(tmp_path)}
        for each in killed:
            os.kill(pids[each], signal.SIGKILL)
        client.wait()
        wait_for_nothing(tmp_path)


@linux
@pytest.mark.parametrize("line", ["exec {}", "setsid {} & wait"], ids=["alone", "with a session of its own"])
@pytest.mark.parametrize("killed", ["client", "guard"])
def test_a_launcher_has_time_to_stop_its_container(killed: str, line: str, tmp_path: Path) -> None:
    container = subprocess.Popen(["sleep", "600"])
    try:
        client = start_client("wait", shell(server("launcher", container.pid, tmp_path), line))
        os.kill({"client": client.pid, **guards(tmp_path)}[killed], signal.SIGKILL)
        assert container.wait(HANG) == -signal.SIGKILL
        client.kill()
        client.wait()
        wait_for_nothing(tmp_path)
    finally:
        container.kill()
        container.wait()


async def test_nothing_is_left_when_the_guard_was_stopped(tmp_path: Path) -> None:
    async with Wire(over_stdio(kinds(tmp_path)["deaf"])) as it:
        await it.until(lambda: it.lines)
        os.kill(guard_of(it), signal.SIGSTOP)
    wait_for_nothing(tmp_path)


async def test_the_exit_of_a_server_that_stopped_its_guard_is_told(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getppid(), signal.SIGSTOP); os._exit(3)"
    async with Wire(over_stdio([sys.executable, "-c", code])) as it:
        assert await it.closed() == Closed(detail="server exited with code 3", code=3)


async def test_the_signals_of_a_terminal_reach_neither_guard_nor_server(tmp_path: Path) -> None:
    async with Wire(over_stdio(server("whole", tmp_path))) as it:
        await it.until(lambda: it.lines)
        guard = guard_of(it)
        assert it.transport.pid is not None
        sessions = {os.getsid(0), os.getsid(guard), os.getsid(it.transport.pid)}
        assert len(sessions) == 3
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            os.kill(guard, number)
        assert guard in processes(str(tmp_path))
        await it.transport.close()
        assert it.items[-1] == Closed(detail="server exited with code 0", code=0, expected=True)


async def test_what_outlives_its_shell_has_time_to_say_goodbye() -> None:
    # SIGTERM goes to the whole group: the shell ends of it at once, the server a moment later.
    async with Wire(over_stdio(shell(server("polite", 0.4), "{} ; true"))) as it:
        await it.until(lambda: it.lines)
        await it.transport.close()
        assert it.lines == [b'"ready"', b'"goodbye"']


@linux
@pytest.mark.parametrize(
    ("command", "count"),
    [
        (server("works", "ends"), 3),  # with its helper, for all of them outlived it
        (shell(server("works", "ends"), "{} ; true"), 3),
        (server("works", "waits"), 2),
        (shell(server("works", "waits"), "{} ; true"), 2),  # not the server itself behind the shell
    ],
    ids=["ends", "ends behind a shell", "has to be ended", "has to be ended behind a shell"],
)
async def test_processes_that_a_server_left_running_are_counted(command: list[str], count: int) -> None:
    async with Wire(over_stdio(command)) as it:
        await it.until(lambda: it.lines == [b'"ready"'])
        it.transport.negotiated(LATEST)
        for id in (1, 2):
            it.transport.send(request(id))
        await it.until(lambda: it.lines == [b'"ready"', b'"working"', b'"working"'])
        await it.transport.close()
        assert it.all(ProcessesEnded) == [ProcessesEnded(count=count)]


@linux
async def test_processes_that_ended_with_their_server_are_not_counted(tmp_path: Path) -> None:
    for command in kinds(tmp_path)["well-behaved"], server("works", "waits"):
        async with Wire(over_stdio(command)) as it:
            await it.until(lambda: it.lines)
            it.transport.negotiated(LATEST)
            await it.transport.close()
            assert it.all(ProcessesEnded) == []


@linux
async def test_a_server_ignores_no_signal_that_we_do_not_ignore() -> None:
    async with Wire(over_stdio(["cat", "/proc/self/status"])) as it:
        await it.closed()
        facts = dict(line.split(b":\t", 1) for line in it.lines if b":\t" in line)
        ignored, blocked = int(facts[b"SigIgn"], 16), int(facts[b"SigBlk"], 16)
        for number in (
            signal.SIGPIPE,
            signal.SIGXFSZ,
            signal.SIGINT,
            signal.SIGHUP,
            signal.SIGQUIT,
            signal.SIGTERM,
        ):
            assert not ignored & 1 << number - 1
            assert not blocked & 1 << number - 1


async def test_a_guard_whose_client_is_gone_before_it_spoke_starts_nothing(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(write)
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", "-E", str(GUARD), str(read), sys.executable, *server("deaf", tmp_path)],
        stdout=subprocess.PIPE,
        pass_fds=(read,),
    )
    os.close(read)
    assert guard.stdout is not None
    with guard.stdout:
        assert guard.stdout.read() == b""
    assert guard.wait(HANG) == 0
    assert processes(str(tmp_path)) == []


def guard_of(wire: Wire) -> int:
    """The process id of the guard: the server's parent."""
    assert wire.transport.pid is not None
    return parent(wire.transport.pid)


def guards(mark: Path) -> dict[str, int]:
    """The guard of a server that runs, and its backup, which has nothing of the server in its command line."""
    (guard,) = (pid for pid in processes(str(mark)) if pid in processes(str(GUARD)))
    return {"guard": guard, "backup": parent(guard)}


def parent(pid: int) -> int:
    listing = subprocess.run(
        ["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True, check=True
    )
    return int(listing.stdout)
