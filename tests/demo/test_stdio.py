from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo.conftest import Make
from tests.demo.official import check
from tests.demo.peers import PATIENCE, Frame, StdioPeer, command, initialize


def stdio(connect: Make, revision: str = "2025-11-25") -> StdioPeer:
    peer = connect("stdio", revision)
    assert isinstance(peer, StdioPeer)
    return peer


GARBAGE = [
    b"garbage",
    b"\xff\xfe",
    b'{"a": NaN}',
    b"[" * 100_000,
    b"7",
    b'{"jsonrpc": "1.0"}',
    b"[]",
    *(b'{"jsonrpc":"2.0","method":"ping","id":%b}' % id for id in (b"null", b"true", b"1.0", b"[]", b"{}")),
]


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_what_is_no_message_is_answered_where_an_error_needs_no_id(connect: Make, revision: str) -> None:
    peer = stdio(connect, revision)
    for garbage in GARBAGE:
        peer.write(garbage + b"\n")
        assert peer.request("ping").result() == {}
    assert [line["event"] for line in peer.log_lines()].count("malformed") == len(GARBAGE)
    if revision == "2025-06-18":
        assert peer.stray == []
        return
    assert len(peer.stray) == len(GARBAGE)
    for frame in peer.stray:
        assert "id" not in frame
        assert frame["error"]["code"] in {-32700, -32600}
        check(frame, revision)


def test_each_request_of_a_batch_is_answered(connect: Make) -> None:
    peer = stdio(connect, "2025-03-26")
    echo = {"name": "echo", "arguments": {"text": "a"}}
    count = {"name": "count", "arguments": {"steps": 1}, "_meta": {"progressToken": "p"}}
    batch = [
        {"jsonrpc": "2.0", "id": 90, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/unheard-of"},
        "no message",
        {"jsonrpc": "2.0", "id": 91, "method": "tools/call", "params": echo},
        {"jsonrpc": "2.0", "id": 92, "method": "tools/call", "params": count},
        {"jsonrpc": "2.0", "id": 93, "method": "tools/call", "params": {"name": "nothing"}},
    ]
    peer.step("count")
    peer.exchanges[0] = peer.exchanges[1]
    peer.write(json.dumps(batch).replace('"p"', '"token-0"').encode() + b"\n")
    peer.wait(lambda: len(peer.stray) == 4)
    assert {frame["id"] for frame in peer.stray} == {90, 91, 92, 93}
    for frame in peer.stray:
        check(frame, "2025-03-26", "ping" if frame["id"] == 90 else "tools/call")
    assert peer.exchanges[0].frames[-1]["method"] == "notifications/progress"


class TestTheEnd:
    @pytest.mark.parametrize("redirected", [False, True])
    def test_everything_that_was_asked_is_answered_first(self, tmp_path: Path, redirected: bool) -> None:
        requests: list[Frame] = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25")},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "big", "arguments": {}}},
        ]
        script = tmp_path / "script"
        script.write_text("".join(json.dumps(request) + "\n" for request in requests))
        piped = None if redirected else script.read_bytes()
        with script.open("rb") as file:
            process = subprocess.Popen(
                command(),
                stdin=file if redirected else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        with process:
            stdout, stderr = process.communicate(piped, PATIENCE)
        answers = [json.loads(line) for line in stdout.splitlines()]
        assert [answer["id"] for answer in answers] == [1, 2]
        assert len(answers[1]["result"]["content"][0]["text"]) == 1_000_000
        assert stderr == b""
        assert process.returncode == 0

    def test_pipes_that_another_made_non_blocking_lose_nothing(self) -> None:
        """What is set for one end of a pipe holds for all processes that share it."""
        (theirs, questions), (answers, its) = os.pipe(), os.pipe()
        with (
            subprocess.Popen(command(), stdin=theirs, stdout=its) as process,
            open(questions, "w", buffering=1) as asked,  # noqa: PTH123 - a descriptor
            open(answers) as said,  # noqa: PTH123
        ):

            def ask(id_: int, method: str, params: Frame) -> Frame:
                asked.write(
                    json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) + "\n"
                )
                return json.loads(said.readline())

            ask(1, "initialize", initialize("2025-11-25"))
            os.set_blocking(theirs, False)
            os.set_blocking(its, False)
            answer = ask(2, "tools/call", {"name": "big", "arguments": {}})
            answer = ask(3, "tools/call", {"name": "big", "arguments": {}})
            assert len(answer["result"]["content"][0]["text"]) == 1_000_000
            os.close(theirs)
            asked.close()
            assert process.wait(PATIENCE) == 0
        os.close(its)

    def test_a_reader_that_is_gone(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        read, write = os.pipe()
        with subprocess.Popen(
            command("--log", log), stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE
        ) as process:
            os.close(write)
            os.close(read)
            assert process.stdin is not None
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            process.stdin.flush()
            assert process.wait(PATIENCE) == 141
            assert process.stderr is not None
            assert process.stderr.read() == b""
        assert json.loads(log.read_text().splitlines()[-1])["cause"] == "stdout closed"


def test_it_imports_little(tmp_path: Path) -> None:
    """Headless commands start this server, so what it loads is what they wait for."""
    unwanted = {
        "httpx",
        "pydantic",
        "textual",
        "importlib.resources",
        "importlib.metadata",
        "jsonschema_rs",
        "http",
    }
    code = (
        "import sys; from mcp_tui.demo.demo_server import main; main(None, None); "
        f"print(sorted({unwanted!r} & sys.modules.keys()), file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        input=b"",
        capture_output=True,
        timeout=PATIENCE,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.stderr == b"[]\n"
