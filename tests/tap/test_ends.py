"""Who ended a server behind a tap over stdio, in the recording; and what is left when any of its processes is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from mcp_tui.journal.journal_files import journal_folder, journals
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.protocol import events as ev
from mcp_tui.tap.recorder_link import Queue
from mcp_tui.tap.recorder_process import NAME
from mcp_tui.tap.relay import ByteStream, is_let_go
from mcp_tui.tap.server_end import ENDING_SECONDS, ServerEnd
from tests.cases import cases
from tests.cli.running import MCP_TUI, run
from tests.slow import slow
from tests.tap.test_recorder import connected
from tests.tap.test_tap import OBEDIENT, Client, tap
from tests.waiting import HANG, wait

INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
CLOSED: Final = 0
"""The end of stdin, among signals."""
SOON: Final = ENDING_SECONDS / 2
LONG: Final = ENDING_SECONDS + 1


@cases(
    ("asked", "code", "at", "words"),
    [
        ([INT], 130, SOON, "the client ended the server (SIGINT)"),
        # Claude Code 2.1.332: stdin stays open
        ([INT, TERM, TERM], 1, SOON, "the client ended the server (SIGINT, SIGTERM)"),
        # @modelcontextprotocol/client 2.4.0, when server/discover is refused: it starts another one
        ([TERM], -15, SOON, "the client ended the server (SIGTERM)"),
        # Codex 0.171.0, Gemini CLI 0.61.0: at once
        ([TERM, CLOSED], -15, SOON, "the client ended the server (SIGTERM, closed stdin)"),
        ([CLOSED, TERM], -15, SOON, "the client ended the server (closed stdin, SIGTERM)"),
        # opencode 1.18.33, Inspector 2.12.0
        ([CLOSED], 0, LONG, "the client ended the server (closed stdin)"),
        ([INT], -2, LONG, "the client ended the server (SIGINT)"),
        ([INT, TERM], None, SOON, "the client ended the server (SIGINT, SIGTERM), then the tap was killed"),
        ([], None, SOON, None),
        ([], 3, SOON, None),
        ([INT], 1, LONG, None),
        ([CLOSED], -11, LONG, None),
        ([INT], None, LONG, None),
    ],
)
def test_a_client_ended_its_server_if_it_ends_as_asked_or_soon(
    asked: list[int], code: int | None, at: float, words: str | None
):
    end = ServerEnd()
    for each in asked:
        end.signalled(each, 0.0) if each else end.input_closed(0.0)
    told, expected = end.words(at, code)
    assert expected == (words is not None)
    assert words in (told, None)


@cases(("later", "ended_by"), [(0.1, "the client"), (2.0, "server exited")])
def test_a_client_that_goes_on_after_a_signal_did_not_end_its_server(later: float, ended_by: str):
    end = ServerEnd()
    end.signalled(INT, 0.0)
    end.requested(later)
    assert end.words(3.0, 1)[0].startswith(ended_by)


@cases(
    ("asked", "words"),
    [
        ([], "the client is gone, so the tap sent SIGTERM and SIGKILL"),
        (
            [CLOSED],
            "the client ended the server (closed stdin); it did not exit, so the tap sent SIGTERM and SIGKILL",
        ),
    ],
)
def test_what_the_tap_did_is_told(asked: list[int], words: str):
    end = ServerEnd()
    for _ in asked:
        end.input_closed(0.0)
    end.tap_signalled(TERM)
    end.tap_signalled(KILL)
    assert end.words(LONG, -9) == (words, True)


@cases(
    ("facts", "let_go"),
    [
        ("input_over", False),  # it may wait for answers
        ("told", False),  # ctrl+c in its terminal reaches the server
        ("orphaned", False),
        ("told orphaned", False),
        ("input_over told", True),
        ("unread told", True),
        ("input_over unread", True),
        ("input_over orphaned", True),
        ("unread orphaned", True),
    ],
)
def test_a_server_is_let_go_by_a_client_that_is_gone_or_told_it_to_end(facts: str, let_go: bool):
    names = ("input_over", "unread", "orphaned", "told")
    assert is_let_go(**{name: name in facts.split() for name in names}) is let_go


@pytest.mark.parametrize("breaks", [True, False])
def test_the_end_of_what_a_client_writes_is_its_own_unless_the_server_reads_no_more(breaks: bool):
    source, written = os.pipe()
    reader, sink = os.pipe()
    queue = Queue()
    put: list[tuple[bytes, int]] = []
    queue.put = lambda kind, data=b"", number=0: put.append((kind, number))  # pyright: ignore[reportUnknownLambdaType]
    if breaks:
        os.close(reader)
        os.write(written, b"x")
    os.close(written)
    ByteStream(source, sink, b"o", queue, server=os.getpid()).run()
    assert put[-1] == (b"c", not breaks)


DEAF: Final = (
    "import signal\nfor number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):\n"
    f"    signal.signal(number, signal.SIG_IGN)\n{OBEDIENT}while True:\n    signal.pause()"
)
"""A server that ends by nothing but SIGKILL."""
CRASHES: Final = OBEDIENT.replace("    asked =", "    if 'crash' in line:\n        sys.exit(3)\n    asked =")


def recorded() -> list[ev.Event]:
    """The events of the journal so far."""
    with suppress(RecordingError, IndexError):
        return list(Recording.read(journals(journal_folder())[-1].paths[0]).events())
    return []


def has_noted(text: str) -> bool:
    return any(isinstance(each, ev.Note) and each.text == text for each in recorded())


def ended() -> ev.Disconnected:
    """The end of the session."""
    wait(lambda: any(isinstance(each, ev.Disconnected) for each in recorded()))
    (found,) = (each for each in recorded() if isinstance(each, ev.Disconnected))
    return found


def cancelled_and_waiting(client: Client) -> None:
    """The client cancels a call, and another one is in flight."""
    client.call(1, "silent")
    client.write(method="notifications/cancelled", params={"requestId": 1, "reason": "enough"})
    client.call(2, "silent")
    client.call(3, "any")
    assert client.read()["id"] == 3


def evidence() -> dict[str, Any]:
    """What `log` says of the cancelled call; every other view is of the same fold."""
    (row,) = (each for each in json.loads(run("log", "--json").out) if "outcome" in each)
    return {name: row[name] for name in ("id", "outcome", "disconnected")}


def test_a_client_ends_its_server_by_a_signal():
    with connected(tap(code=OBEDIENT)) as client:
        cancelled_and_waiting(client)
        client.process.send_signal(INT)
        assert client.process.wait(HANG) == -INT
    words = "the client ended the server (SIGINT)"
    assert (ended().detail, ended().expected) == (words, True)
    assert has_noted("server was terminated by signal 2 (SIGINT)")
    assert [(each.id, each.detail) for each in recorded() if isinstance(each, ev.Lost)] == [(2, words)]
    assert evidence() == {"id": 1, "outcome": "no_reply", "disconnected": None}


def test_a_client_kills_the_tap_after_its_signals_did_not_help():
    with connected(tap(code=DEAF)) as client:
        cancelled_and_waiting(client)
        for number in (INT, TERM):
            client.process.send_signal(number)
            wait(lambda number=number: has_noted(f"the client sent {number.name}"))
        client.process.kill()
    words = "the client ended the server (SIGINT, SIGTERM), then the tap was killed"
    assert (ended().detail, ended().expected) == (words, True)
    assert evidence() == {"id": 1, "outcome": "no_reply", "disconnected": None}


def test_a_client_that_lives_on_leaves_no_server_that_it_told_to_end():
    # Codex 0.171.0, Gemini CLI 0.61.0, and opencode 1.18.33 send no SIGKILL, and leave a deaf server behind without a tap
    with connected(tap(code=DEAF)) as client:
        assert client.process.stdin is not None
        client.process.stdin.close()
        client.process.send_signal(TERM)
        assert client.process.wait(HANG) == -KILL
    asked, sent = ended().detail.split("; ")
    assert asked in {
        f"the client ended the server ({how})" for how in ("closed stdin, SIGTERM", "SIGTERM, closed stdin")
    }
    assert sent == "it did not exit, so the tap sent SIGTERM and SIGKILL"


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ("os._exit(3)", "server exited with code 3"),
        ("os.close(1)", "server closed its stdout but is still running"),
    ],
)
def test_a_server_that_breaks_off_in_an_answer_is_said_to(ends: str, words: str):
    half = b'{"jsonrpc":"2.0","id":1,"result":{"con'
    breaks = f"    if 'crash' in line:\n        os.write(1, {half}); {ends}; continue\n    asked ="
    with connected(tap(code="import os\n" + OBEDIENT.replace("    asked =", breaks))) as client:
        client.call(1, "silent")
        client.write(method="notifications/cancelled", params={"requestId": 1})
        client.call(2, "crash")
        assert ended().detail == f"{words} in the middle of a message"
        assert evidence()["outcome"] == "late_malformed"  # not "no reply": half of one came


def test_a_client_that_reads_no_more_ends_its_server():
    # Not the server: it did not close its stdout, and its next message kills it.
    stops = f"import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n{OBEDIENT}"
    with connected(tap(code=stops)) as client:
        assert client.process.stdout is not None
        client.call(1, "silent")
        client.process.stdout.close()
        client.call(2, "any")
        wait(lambda: has_noted("the client closed the server's stdout"))
        client.call(3, "any")
        assert client.process.wait(HANG) == -signal.SIGPIPE
    assert (ended().detail, ended().expected) == ("the client ended the server (closed stdout)", True)


def test_a_server_that_crashes_is_not_said_to_be_ended_by_its_client():
    with connected(tap(code=CRASHES)) as client:
        assert client.process.stdin is not None
        assert client.process.stdout is not None
        client.call(1, "crash")
        assert client.process.stdout.read() == b""
        client.process.send_signal(TERM)
        client.process.stdin.close()
        assert client.process.wait(HANG) == 3
    assert (ended().detail, ended().expected) == ("server exited with code 3", False)


# -- killed ----------------------------------------------------------------------------------------------------

PARENT: Final = """import signal, subprocess, sys
tap = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
signal.pause()"""
"""A client that holds the pipe to its server, as long as it lives."""

FAMILY: Final = """import os, signal, subprocess, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
    signal.signal(number, signal.SIG_IGN)
if sys.argv[-1] != "child":
    none = subprocess.DEVNULL
    subprocess.Popen([sys.executable, *sys.argv, "child"], stdin=none, stdout=none, stderr=none, start_new_session=True)
print(os.getpid(), os.getppid(), flush=True)
while True:
    signal.pause()"""
"""A server that ends by nothing but SIGKILL, with a child of the same kind that has left its session."""

WRAPPERS: Final = {
    "sh": ["sh", "-c", '"$@"; true', "sh"],
    "npx": ["npx", "-c", "$FAMILY"],
    "uvx": ["uvx", "--offline", "--python"],
}
"""What stands between a guard and a server."""


def parents() -> dict[int, int]:
    """Each process that runs, with its parent."""
    found: dict[int, int] = {}
    for each in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            state, parent = (each / "stat").read_text().rpartition(")")[2].split()[:2]
            if state not in ("Z", "X"):
                found[int(each.name)] = int(parent)
    return found


def below(pid: int) -> set[int]:
    """All processes that run below one."""
    found, known = {pid}, parents()
    while more := {each for each, parent in known.items() if parent in found} - found:
        found |= more
    return found - {pid}


NAMES: Final[tuple[str, ...]] = ("client", "relay", "guard", "recorder", "server")


class Family:
    """A client, the processes of its tap, and a server with a child that has left its session."""

    def __init__(self, wrapper: str, folder: Path) -> None:
        script = folder / "family.py"
        script.write_text(FAMILY)
        server = [sys.executable, str(script)]
        given = {"sh": server, "npx": [], "uvx": [sys.executable, "python", str(script)]}[wrapper]
        # Or a recorder that came in place of a killed one would record this family, too.
        env = {**os.environ, "XDG_RUNTIME_DIR": tempfile.mkdtemp(dir=folder)}
        env["FAMILY"] = subprocess.list2cmdline(server)
        command = [*MCP_TUI, "tap", "--", *WRAPPERS[wrapper], *given]
        self.client = subprocess.Popen(
            [sys.executable, "-c", PARENT, *command], stdout=subprocess.PIPE, env=env
        )
        assert self.client.stdout is not None
        server = int(self.client.stdout.readline().split()[0])
        wait(lambda: len(self._of(str(script), "child")) == 1)
        self.all, known = below(self.client.pid), parents()
        (relay,) = (pid for pid, parent in known.items() if parent == self.client.pid)
        (recorder,) = self._of(NAME)
        (backup,) = (pid for pid, parent in known.items() if parent == relay and pid != recorder)
        (guard,) = (pid for pid, parent in known.items() if parent == backup)
        self.pids = dict(zip(NAMES, (self.client.pid, relay, guard, recorder, server), strict=True))

    def _of(self, *words: str) -> list[int]:
        found: list[int] = []
        for pid in below(self.client.pid):
            with suppress(OSError):
                if {*words} <= {*Path(f"/proc/{pid}/cmdline").read_text().split("\0")}:
                    found.append(pid)
        return found

    def is_gone(self) -> bool:
        return not self.all & parents().keys()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
@pytest.mark.parametrize(
    "wrapper", ["sh", *(pytest.param(each, marks=pytest.mark.real) for each in ("npx", "uvx"))]
)
@pytest.mark.parametrize(
    "killed",
    [
        "client",
        "relay",
        "guard",
        "guard recorder relay client",
        *slow("server", "relay guard", "guard relay", "all"),
    ],
)
def test_nothing_is_left_whoever_is_killed(killed: str, wrapper: str, tmp_path: Path):
    if shutil.which(wrapper) is None:
        pytest.skip(f"there is no {wrapper}")
    orders = [killed.split()]
    if killed == "all":
        # Four behind those that take seconds to start.
        orders = [Random(seed).sample(NAMES, len(NAMES)) for seed in range(20 if wrapper == "sh" else 4)]
    for order in orders:
        family = Family(wrapper, tmp_path)
        try:
            for name in order:
                os.kill(family.pids[name], KILL)
            wait(family.is_gone, lambda order=order: str(order))
        finally:
            family.client.kill()
            family.client.__exit__(None, None, None)
