"""The tap as a process between a client and a server: what it lets through, what it ends, and what outlives it."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any, Final

import pytest

from mcp_tui.journal.journal_files import journal_folder, journals
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.live.control import CancelAnswer
from mcp_tui.live.running import cancel
from mcp_tui.live.sockets import sockets
from mcp_tui.protocol import events as ev
from mcp_tui.tap.pipes import write
from mcp_tui.tap.recorder_link import AWAY, GONE, QUEUE_BYTES, Queue, RecorderLink
from mcp_tui.tap.recorder_process import RecorderProcess
from mcp_tui.tap.recorder_records import EXIT, HEAD, VERSION, packed
from mcp_tui.tap.relay import ByteStream, wait_for_rest
from tests.cli.running import MCP_TUI, run
from tests.control import Control
from tests.waiting import HANG, wait

COPY: Final = "import os\nwhile data := os.read(0, 65536):\n    os.write(1, data)"
STUBBORN: Final = """import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print(os.getpid(), os.getppid(), flush=True)
while True:
    time.sleep(60)"""

NOBODY: Final = 1 << 30
"""A process id that no process has."""


def tap(*words: str, code: str = "") -> list[str]:
    return [
        *MCP_TUI,
        "tap",
        *words,
        "--",
        sys.executable,
        *(("-S", "-c", code) if code else ("-m", "mcp_tui.demo")),
    ]


def planted(code: str, words: list[str]) -> list[str]:
    """The command line of a tap whose recorder runs ``code`` first."""
    program = f"""
from mcp_tui.__main__ import run
from mcp_tui.tap import recorder_process
recorder_process.PROGRAM = recorder_process.PROGRAM.replace("; from", "\\n" + {code!r} + "\\nfrom")
run()"""
    return [sys.executable, "-c", program, *words[words.index("tap") :]]


class Client:
    """A client that somebody else wrote."""

    def __init__(self, command: list[str], **more: Any) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more
        )

    def write(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def connect(self) -> None:
        told = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "other", "version": "3"},
        }
        self.write(id=0, method="initialize", params=told)
        assert self.read()["id"] == 0
        self.write(method="notifications/initialized")

    def end(self) -> int:
        """Closes its end, as a client does that is done; returns the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(HANG)

    def complaint(self) -> str:
        """The next line on stderr."""
        assert self.process.stderr is not None
        return self.process.stderr.readline().decode()

    def call(self, id: Any, tool: str, **arguments: Any) -> None:
        self.write(id=id, method="tools/call", params={"name": tool, "arguments": arguments})


@contextmanager
def _client(command: list[str], **more: Any) -> Generator[Client]:
    client = Client(command, **more)
    try:
        yield client
    finally:
        client.process.kill()
        client.process.__exit__(None, None, None)


def recorded() -> list[ev.Event]:
    """The events of the newest journal, once the session is over in it."""

    def events() -> list[ev.Event]:
        with suppress(IndexError, RecordingError):
            recording = Recording.read(journals(journal_folder())[-1].paths[0])
            return list(recording.events())
        return []

    wait(lambda: any(isinstance(each, ev.Disconnected) for each in events()))
    return events()


def _has_room(reader: int) -> bool:
    """Whether more fits into a pipe."""
    waiting = bytearray(4)
    fcntl.ioctl(reader, termios.FIONREAD, waiting)
    return int.from_bytes(waiting, sys.byteorder) < fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ)


def is_there(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    return False


DATA: Final = {
    "binary, carriage returns, and half a line": bytes(range(256)) * 500
    + b'{"jsonrpc":"2.0","method":"x"}\r\n\r\n\0\n\xff\xfe\n' * 50
    + b'{"jsonrpc":"2.0","id":1',
    "one long frame": b'{"jsonrpc":"2.0","id":1,"method":"x","params":"' + b"a" * 8_000_000 + b'"}\n',
    "many frames": b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}\n' * 20_000,
}


@pytest.mark.sends_anything  # bytes, whatever they are
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_every_byte_passes(data: bytes):
    ran = subprocess.run(tap(code=COPY), input=data, capture_output=True, check=False, timeout=HANG)
    assert (ran.stdout == data, ran.stderr, ran.returncode) == (True, b"", 0)


@pytest.mark.parametrize(
    ("code", "status", "out", "err"),
    [
        ("import sys; print('o'); print('e', file=sys.stderr); sys.exit(3)", 3, b"o\n", b"e\n"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, b"", b""),
        ("import os; os.close(0); os.write(1, b'x')", 0, b"x", b""),
        (
            "import os, sys; os.write(1, os.getcwd().encode()); os.write(2, os.environb[b'A'])",
            0,
            b"/",
            b"\xff",
        ),
    ],
    ids=["exit status", "signal", "stdin closed by the server", "folder and environment"],
)
def test_the_end_and_the_surroundings_are_the_server_s(code: str, status: int, out: bytes, err: bytes):
    given = {**os.environb, b"A": b"\xff"}
    ran = subprocess.run(
        tap(code=code),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        cwd="/",
        env=given,
        timeout=HANG,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, out, err)


@pytest.mark.parametrize("unread", [1, 2], ids=["stdout", "stderr"])
def test_a_client_that_reads_no_more_ends_its_server_by_a_signal(unread: int):
    code = f"import os\nos.write({3 - unread}, b'.')\nwhile True: os.write({unread}, b'x' * 65536)"
    with _client(tap(code=code)) as client:
        out, err = client.process.stdout, client.process.stderr
        assert out is not None
        assert err is not None
        read, full = (err, out) if unread == 1 else (out, err)
        assert read.read(1) == b"."
        wait(lambda: not _has_room(full.fileno()))
        client.process.terminate()
        assert client.process.wait(HANG) == -signal.SIGTERM


def test_a_client_that_reads_slowly_gets_all_that_a_server_told_to_end_still_says():
    last = b"0123456789" * 150_000
    code = "import os, signal\ndef bye(*_):\n    os.write(1, b'0123456789' * 150_000)\n    os._exit(0)\n"
    code += "signal.signal(signal.SIGTERM, bye)\nos.write(1, b'.')\nwhile True: signal.pause()"
    with _client(tap(code=code)) as client:
        assert client.process.stdout is not None
        out = client.process.stdout.fileno()
        assert os.read(out, 1) == b"."
        client.process.terminate()
        got = bytearray()
        while select.select([out], [], [], HANG)[0] and (some := os.read(out, 8)):
            got += some
        assert (got == last, client.process.wait(HANG)) == (True, 0)


def test_a_signal_that_ends_nothing_leaves_the_last_bytes_to_the_client():
    code = "import os\nos.write(2, b'%d\\n' % os.getppid())\nos.write(1, bytes(400_000))"
    with _client(tap(code=code)) as client:
        guard = int(client.complaint())
        wait(lambda: not is_there(guard))
        client.process.send_signal(signal.SIGWINCH)
        out, _ = client.process.communicate(timeout=HANG)
        assert (len(out), client.process.returncode) == (400_000, 0)


def test_what_follows_soon_on_a_piece_that_was_read_late_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    direction, now = ByteStream(-1, -1, b"i", Queue()), 0.0
    # The client takes a piece after 1.5 s, and the next one comes after 0.2 s.
    states = iter([(False, 0, False)] * 15 + [(True, 1, False)] * 2 + [(True, 2, True)])

    def sleep(_: float) -> None:
        nonlocal now
        now += 0.1
        direction.reading, direction.moved, direction.ended = next(states)

    monkeypatch.setattr("mcp_tui.tap.relay.sleep", sleep)
    monkeypatch.setattr("mcp_tui.tap.relay.monotonic", lambda: now)
    wait_for_rest(direction, wanted=False)
    assert direction.ended


def test_a_client_that_blocks_signals_gets_the_end_of_its_server():
    ran = subprocess.run(
        tap(code="raise SystemExit(3)"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=HANG,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()),
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, b"", b"")


DESCRIPTORS: Final = """import fcntl, os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
while fcntl.fcntl(0, fcntl.F_DUPFD, 3) < 1100:
    pass
os.execv(sys.argv[1], sys.argv[1:])"""


def test_a_client_that_leaves_a_thousand_descriptors_open_gets_every_byte():
    command = [sys.executable, "-c", DESCRIPTORS, *tap(code=COPY)]
    data = b"x" * 3_000_000
    ran = subprocess.run(command, input=data, capture_output=True, check=False, timeout=HANG)
    assert (ran.stdout == data, ran.stderr, ran.returncode) == (True, b"", 0)


EARLY: Final = """import os, signal, sys, threading, time
from mcp_tui.tap.relay import Relay, leave
from mcp_tui.tap.started_server import StartedServer
server = StartedServer(["sleep", "600"])
real, (server.reports, late) = server.reports, os.pipe()
def between():
    while signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGTERM)
    while data := os.read(real, 4096):
        os.write(late, data)
    os.close(late)
threading.Thread(target=between, daemon=True).start()
leave(Relay(server, {}).run())"""
"""A tap that gets a signal before it knows its server."""


def test_a_signal_before_the_server_is_there_reaches_it():
    ran = subprocess.run(
        [sys.executable, "-c", EARLY], stdin=subprocess.PIPE, capture_output=True, check=False, timeout=HANG
    )
    assert (ran.returncode, ran.stderr) == (-signal.SIGTERM, b"")


@pytest.mark.parametrize(("program", "name"), [("no-such-program", "no-such-program"), ("", "''")])
def test_a_program_that_is_not_there_is_told_in_one_line(program: str, name: str):
    ran = subprocess.run([*MCP_TUI, "tap", "--", program], capture_output=True, check=False, timeout=HANG)
    assert ran.returncode == 127
    assert ran.stderr.decode() == f"mcp-tui tap: cannot start {name}: No such file or directory.\n"


@pytest.mark.parametrize("given", ["option", "setting"])
def test_a_limit_ends_a_call_for_the_client_and_keeps_the_late_answer_back(
    given: str, control: Control, tmp_path: Path
):
    options, env = ("--max-timeout", "0.2"), {**os.environ, **control.env}
    if given == "setting":
        file = tmp_path / "settings.toml"
        file.write_text("[tap]\nmax-timeout = 60\n[tap.servers.limited.tools.stubborn]\nmax-timeout = 0.2\n")
        options, env = (), {**env, "MCP_TUI_CONFIG": str(file)}
    with _client(tap(*options, "--name", "limited"), env=env) as client:
        client.connect()
        client.call("slow", "stubborn", seconds=1)
        message = "timed out after 0.2 s (maximum), a limit of mcp-tui tap. The server may still be running the call. "
        message += "If its answer comes, it is kept in the recording of mcp-tui. Sending the call again may do it twice."
        assert client.read() == {
            "jsonrpc": "2.0",
            "id": "slow",
            "result": {
                "content": [{"type": "text", "text": message}],
                "isError": True,
                "_meta": {
                    "mcp-tui/ended": {"cause": "max_timeout", "mayStillBeRunning": True, "answerIsKept": True}
                },
            },
        }
        control.wait("cancelled", id="slow", reason="timed out after 0.2 s (maximum)")
        control.release("stubborn")
        control.wait("sent", id="slow", kind="result")
        client.call(7, "add", a=1, b=2)
        assert client.read()["id"] == 7  # the late answer and its progress went to nobody
        assert client.end() == 0
    told = recorded()
    assert [each.kind for each in told if isinstance(each, ev.Late)][-1] is ev.Kind.RESULT
    assert [each.client for each in told if isinstance(each, ev.Connected)] == ["other 3"]
    logged = [each for each in json.loads(run("log", "--json").out) if each["id"] == "slow"]
    assert [(each["cause"], each["outcome"]) for each in logged] == [("max_timeout", "late_result")]


HALF: Final = """import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "tools/call":
        os.write(1, b'{"jsonrpc":"2.0",')
    elif asked["method"] == sys.argv[1]:
        os.write(1, sys.argv[2].encode() + b"\\n")
    if asked["method"] in ("initialize", "ping"):
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "half", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A server that stops within a line when it is called, and goes on when it is sent a certain method."""
NOTE: Final = '"method":"notifications/x"}'
ANSWER: Final = '"id":"5","result":{"content":[]}}'


@pytest.mark.parametrize(
    ("continues", "rest", "read"),
    [
        ("notifications/cancelled", NOTE, ["note", "error", "ping"]),
        ("notifications/cancelled", ANSWER, ["answer", "ping"]),
        ("ping", NOTE, ["half", "error", "note", "ping"]),
        ("ping", ANSWER, ["half", "error", "ping"]),  # the late answer is withheld
    ],
    ids=["a message", "the answer", "a message that is never ended", "an answer that is never ended"],
)
def test_a_server_that_stops_within_a_line_is_told_and_so_is_the_client(
    continues: str, rest: str, read: list[str]
):
    start = b'{"jsonrpc":"2.0",'
    with _client([*tap("--max-timeout", "0.2", code=HALF), continues, rest]) as client:
        client.connect()
        client.call("5", "any")
        assert client.process.stdout is not None
        names = {
            start + b"\n": "half",
            start + NOTE.encode() + b"\n": "note",
            start + ANSWER.encode() + b"\n": "answer",
        }

        def line() -> str:
            assert client.process.stdout is not None
            raw = client.process.stdout.readline()
            found: dict[str, Any] = json.loads(raw) if raw not in names else {}
            return names.get(raw) or (
                "error" if found["id"] == "5" and found["result"].get("isError") else "ping"
            )

        got = [line() for _ in read[: read.index("error") + 1 if "error" in read else 1]]
        client.write(id=6, method="ping")
        assert got + [line() for _ in read[len(got) :]] == read
        assert client.end() == 0
    told = recorded()
    assert [each.signal for each in told if isinstance(each, ev.CancelSignalled)] == [ev.Signal.NOTIFICATION]
    assert [each.kind for each in told if isinstance(each, ev.Late)] == [ev.Kind.RESULT] * (rest == ANSWER)
    notes = "".join(each.text for each in told if isinstance(each, ev.Note))
    assert ("stopped within a line" in notes, "got this answer" in notes) == (
        "half" in read,
        "answer" in read,
    )


OBEDIENT: Final = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("params", {}).get("name") == "silent" or "id" not in asked:
        continue
    token = asked["params"].get("_meta", {}).get("progressToken")
    if token:
        told = {"progressToken": token, "progress": 1}
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": told}), flush=True)
    result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "obedient", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A server that never answers a call of ``silent``, and reports progress where that is asked for."""


def test_what_a_client_asks_for_by_an_id_or_a_token_of_an_ended_call_passes():
    with _client(tap("--max-timeout", "0.2", code=OBEDIENT)) as client:
        client.connect()

        def call(id: int, tool: str) -> None:
            client.write(
                id=id, method="tools/call", params={"name": tool, "_meta": {"progressToken": "always"}}
            )

        call(1, "silent")
        assert client.read()["result"]["isError"]
        call(2, "any")
        assert [client.read().get("method"), client.read().get("id")] == ["notifications/progress", 2]
        call(1, "any")
        assert [client.read().get("method"), client.read().get("id")] == ["notifications/progress", 1]
        assert client.end() == 0


UUID: Final = "550e8400-e29b-41d4-a716-446655440000-\x1b[31m"


def test_a_person_sees_and_cancels_what_a_client_called(control: Control):
    def mine() -> list[dict[str, Any]]:
        return [each for each in json.loads(run("ps", "--json").out) if each["server"] == "watched"]

    with _client(tap("--name", "watched"), env={**os.environ, **control.env}) as client:
        client.connect()
        client.call("7", "stubborn", seconds=1)
        wait(lambda: [each["name"] for each in mine()] == ["stubborn"])
        (row,) = mine()
        assert (row["client"], row["id"], row["method"], row["max_timeout"]) == (
            "other 3",
            "7",
            "tools/call",
            None,
        )
        assert "stubborn" in run("ps").out
        (journal,) = journals(journal_folder())
        wait(lambda: b"stubborn" in journal.paths[0].read_bytes())  # while it is in flight
        named = f"{row['session']}/7"
        done = run("cancel", named, "--reason", "it hangs")
        assert (done.status, done.out) == (0, f"Cancelled {named}.\n")
        result = client.read()["result"]
        assert result["isError"]
        assert result["content"][0]["text"].startswith("cancelled by a person: it hangs. ")
        control.wait("cancelled", id="7", reason="it hangs")
        client.call(7, "stubborn", seconds=600)
        wait(lambda: any(each["id"] == 7 for each in json.loads(run("ps", "--json").out)))
        assert run("cancel", named).status == 0
        assert client.read()["id"] == 7
        client.call(UUID, "stubborn", seconds=600)
        shown = f"{row['session']}/{UUID}".replace("\x1b", "␛")
        wait(lambda: f"{shown} " in run("ps").out)  # whole, as cancel takes it
        assert run("cancel", f"{row['session']}/{UUID}").out == f"Cancelled {shown}.\n"
        assert client.read()["id"] == UUID
        assert run("cancel", named).status == 7
        assert run("cancel", f"{row['session']}/8").status == 2
        path = sockets()[row["session"]]
        client.call("9", "stubborn", seconds=600)
        client.call(9, "stubborn", seconds=600)
        wait(lambda: any(each["id"] == 9 for each in json.loads(run("ps", "--json").out)))
        assert cancel(row["session"], path, 9, "") == CancelAnswer(signal="notification")
        assert client.read()["id"] == 9
        came = cancel(row["session"], path, 9, "")  # the text is another request
        assert came == CancelAnswer(signal="notification", already=True)
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        client.process.terminate()
        assert client.process.wait(HANG) == 143  # as it ends without a tap
    wait(lambda: not path.exists())


def test_the_first_of_two_requests_with_one_id_is_cancelled(control: Control):
    with _client(tap(), env={**os.environ, **control.env}) as client:
        client.connect()
        client.call(7, "stubborn", seconds=600)
        client.call(7, "echo", text="again")
        assert client.read()["error"]["code"] == -32600
        wait(lambda: [each["name"] for each in json.loads(run("ps", "--json").out)] == ["stubborn"])
        (row,) = json.loads(run("ps", "--json").out)
        assert run("cancel", f"{row['session']}/7").status == 0
        control.wait("cancelled", id=7)
        assert client.end() == 0
    assert [each.id for each in recorded() if isinstance(each, ev.CancelSignalled)] == [7]


def test_the_tap_of_a_client_s_cancel_is_silent(control: Control):
    with _client(tap(), env={**os.environ, **control.env}) as client:
        client.connect()
        client.call(1, "stubborn", seconds=1)
        client.write(method="notifications/cancelled", params={"requestId": 1, "reason": "enough"})
        control.wait("cancelled", id=1, reason="enough")
        control.release("stubborn")
        assert client.read()["id"] == 1  # as without the tap: what it does with it is the client's business
        assert client.end() == 0
    assert [each.cause.value for each in recorded() if isinstance(each, ev.CancelRequested)] == ["client"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
def test_nothing_is_left_when_the_client_closes_and_the_server_does_not_read():
    with _client(tap(code=STUBBORN)) as client:
        process = client.process
        assert process.stdin is not None
        assert process.stdout is not None
        server, guard = map(int, process.stdout.readline().split())
        os.set_blocking(process.stdin.fileno(), False)
        with suppress(BlockingIOError):
            while True:
                os.write(process.stdin.fileno(), b"\n" * 65536)
        process.stdin.close()
        process.stdout.close()
        assert process.wait(HANG) == -signal.SIGKILL
        wait(lambda: not any(map(is_there, (server, guard))))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
def test_the_traffic_goes_on_when_the_recorder_ends_and_it_is_started_again_once(tmp_path: Path):
    with _client(tap("--record", str(tmp_path / "r.jsonl"), code=COPY)) as client:
        client.write(id=1, method="ping")
        assert client.read()["id"] == 1
        for said in (AWAY, f"again. {GONE}"):
            recorder = recorder_of(client.process.pid)
            os.kill(recorder, signal.SIGKILL)
            wait(lambda pid=recorder: not is_there(pid))
            for number in range(3):
                client.write(id=number, method="ping")
                assert client.read()["id"] == number
            line = client.complaint()
            # The second recorder may say this before it is killed: the first one had made that file.
            if "recording to" in line:
                line = client.complaint()
            assert line.startswith("mcp-tui tap: the recorder was killed by signal 9")
            assert line.endswith(f"{said}\n")
        assert client.end() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
def test_a_recorder_that_is_told_to_end_writes_what_comes():
    with _client(tap(code=COPY)) as client:
        client.write(id=1, method="ping")
        assert client.read()["id"] == 1
        # Before it has begun, the signal ends it, and another starts.
        wait(lambda: journals(journal_folder()))
        os.kill(recorder_of(client.process.pid), signal.SIGTERM)
        client.write(id=2, method="ping")
        assert client.read()["id"] == 2
        assert client.end() == 0
    assert [each.id for each in recorded() if isinstance(each, ev.Called)] == [1, 2]


def test_what_the_recorder_missed_is_told_though_nothing_comes_behind_it():
    queue = Queue()
    for size in (QUEUE_BYTES + 1, 5):
        queue.put(b"i", bytes(size))
    queue.put(b"o", b"a call")  # of the client, which did not flood the queue
    queue.close()
    pieces: list[bytes | memoryview] = []
    while more := queue.take()[0]:
        pieces += more
    missed, what, _, call = pieces[-4:]
    assert (HEAD.unpack(missed)[0], what, call) == (b"g", b"i" + (5).to_bytes(8, "big"), b"a call")


def test_a_recorder_that_is_behind_a_flood_ends_a_call_whose_limit_ran_out():
    recorder = RecorderProcess("stdio")
    os.set_blocking(recorder.records, True)
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"on"}}\n' * 500
    done = Event()

    def put(kind: bytes, data: bytes, at: float, number: int = 0) -> None:
        write(recorder.records, packed([(kind, at, number, data)]))

    def flood() -> None:
        while not done.is_set():  # always more than the recorder has read
            put(b"i", note, monotonic())

    began = monotonic() - 5
    begin = {"command": ["flood"], "path": "flood", "pid": NOBODY, "max_timeout": 1, "version": VERSION}
    call = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hang"}}\n'
    put(b"b", repr(begin).encode(), began)
    put(b"o", call, began)
    flooding = Thread(target=flood, daemon=True)
    flooding.start()
    link = RecorderLink(recorder)
    try:
        assert link.next() == {"hold": 1}
        done.set()
        flooding.join()
        put(b"h", b"", monotonic())
        said = list(iter(link.next, {"go": 1}))
        put(b"x", b"0", monotonic())
        assert os.waitpid(recorder.pid, 0)[1] == 0
    finally:
        done.set()
        with suppress(ProcessLookupError):
            os.kill(recorder.pid, signal.SIGKILL)
    for each in (recorder.records, recorder.orders):
        os.close(each)
    assert [each.get("keep") for each in said if each and each != {"wait": 1}] == [7]


def test_a_recorder_that_ends_with_the_server_is_not_replaced(capfd: pytest.CaptureFixture[str]):
    link = RecorderLink(RecorderProcess("stdio"))
    begin: Any = {
        "at": monotonic(),
        "command": ["x"],
        "path": "x",
        "pid": NOBODY,
        "client": NOBODY,
        "folder": "",
    }
    feeding = Thread(target=lambda: link.feed(begin), daemon=True)
    feeding.start()
    link.queue.put(EXIT, b"0")
    assert link.next() is None  # though the relay is not done yet: with --once it still closes its own log
    link.finish(feeding)
    assert capfd.readouterr().err == ""


def test_a_recorder_of_another_version_says_so_and_ends():
    recorder = RecorderProcess("stdio")
    data = repr({"command": ["x"], "path": "x", "pid": NOBODY, "version": VERSION + 1}).encode()
    write(recorder.records, packed([(b"b", 1.0, 0, data)]))
    assert os.waitpid(recorder.pid, 0)[1] == 0
    said = json.loads(os.read(recorder.orders, 4096))
    assert said == {"failed": "the recorder is of another version of mcp-tui"}
    for each in (recorder.records, recorder.orders):
        os.close(each)


def recorder_of(tap: int) -> int:
    """The recorder of a tap: a child of it, or one that left a shared one, which has ended since."""
    home = f"XDG_STATE_HOME={os.environ['XDG_STATE_HOME']}".encode()

    def fits(pid: int) -> bool:
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            ours = parent == tap or home in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            return b"mcp_tui.tap.recorder" in words and ours
        return False

    def found() -> list[int]:
        return [int(each.name) for each in Path("/proc").glob("[0-9]*") if fits(int(each.name))]

    wait(found)
    return max(found())


def test_what_a_server_says_last_is_recorded_however_late():
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}\n' % (
        b"x" * 100_000
    )
    code = f"import os, sys\nfor _ in range(100): sys.stdout.buffer.write({note!r})\nsys.stdout.flush(); os._exit(3)"
    with _client(tap(code=code), start_new_session=True) as client:
        out, err = client.process.communicate(timeout=HANG)
        assert (out == note * 100, err, client.process.returncode) == (True, b"", 3)
        with suppress(ProcessLookupError):  # a client that ends whatever it has started
            os.killpg(client.process.pid, signal.SIGTERM)
    told = recorded()
    assert "server exited with code 3" in [each.text for each in told if isinstance(each, ev.Note)]
    assert len([each for each in told if isinstance(each, ev.Log)]) == 100


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("full disk", "journal stopped at #"),
        ("exception", "the recorder failed (ValueError planted)"),
        ("exception in a pause", "the recorder failed (ValueError planted)"),
    ],
)
def test_the_traffic_goes_on_when_the_recorder_fails(fault: str, said: str):
    in_pause = fault == "exception in a pause"
    where, what = (
        ("tap.observed_session", "ObservedSession.tick")
        if in_pause
        else ("protocol.observing", "Observer.sent")
    )
    fails = f"from mcp_tui.{where} import *\ndef fails(*_, **__):\n    raise ValueError('planted')\n{what} = fails"
    full = fault == "full disk"

    def limit() -> None:
        if full:
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    limits = ("--max-timeout", "0.1") if in_pause else ()
    words = tap(*limits, code=COPY)
    with _client(words if full else planted(fails, words), preexec_fn=limit) as client:
        for number in range(20):
            client.write(id=number, method="ping", params={"text": "x" * 200})
            assert client.read()["id"] == number
        for end in ("The traffic continues.\n",) if full else (f"{AWAY}\n", f"again. {GONE}\n"):
            line = client.complaint()
            assert line.startswith(f"mcp-tui tap: {said}")
            assert line.endswith(end)
        client.write(id=99, method="ping")
        assert client.read()["id"] == 99
        assert client.end() == 0
        assert client.process.stderr is not None
        lines = client.process.stderr.read().splitlines()  # of a disk that may have room again
        assert [line for line in lines if not line.endswith(b"The traffic continues.")] == []


def test_the_traffic_goes_on_without_a_journal(tmp_path: Path):
    (tmp_path / "file").write_text("")
    env = {**os.environ, "MCP_TUI_STATE": str(tmp_path / "file" / "state")}
    with _client(tap("--record", str(tmp_path / "no" / "r.jsonl"), code=COPY), env=env) as client:
        for start in ("Cannot write", "no journal"):
            line = client.complaint()
            assert line.startswith(f"mcp-tui tap: {start}")
            assert line.endswith("The traffic continues.\n")
        client.write(id=1, method="ping")
        assert client.read()["id"] == 1


def test_each_window_and_each_restart_has_a_recording_of_its_own(tmp_path: Path):
    def client_in(path: Path) -> str:
        with suppress(RecordingError):
            connected = Recording.read(path).connections().values()
            return ",".join(each.client.partition(" ")[0] for each in connected)
        return ""

    file = tmp_path / "r.jsonl"
    command = tap("--record", str(file))
    with _client(command) as first:
        first.connect()
        wait(lambda: client_in(file))
        with _client(command) as second:
            second.connect()
            said = second.complaint()
            assert said.startswith(f"mcp-tui tap: recording to {tmp_path}/r-2.jsonl, because {file} exists")
            first.process.kill()
            with _client(command) as again:
                again.connect()
                paths = [file, tmp_path / "r-2.jsonl", tmp_path / "r-3.jsonl"]
                wait(lambda: [*map(client_in, paths)] == ["other"] * 3, lambda: str([*map(client_in, paths)]))
