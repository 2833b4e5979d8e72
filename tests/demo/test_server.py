from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.demo.conftest import Make
from tests.demo.peers import PATIENCE, HttpPeer, command


def test_nobody_to_print_the_url_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # so that Python has something to flush at its exit
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(command("--http", 0), stdout=write, stderr=subprocess.PIPE) as process:
        os.close(write)
        assert process.wait(PATIENCE) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize("options", [(), ("--http", "0")])
def test_no_stdout_at_all(options: tuple[str, ...]) -> None:
    words = ["sh", "-c", '"$@" >&-', "sh", *command(*options)]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
    assert result.returncode == 141


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    words = command("--log", tmp_path)
    result = subprocess.run(words, input="", capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert result.returncode == 2
    assert result.stderr == f"mcp-tui demo: Cannot write the log {tmp_path}: Is a directory.\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_signals_end_it_quietly(connect: Make, revision: str, number: signal.Signals, status: int) -> None:
    peer = connect("http", revision)
    call = peer.call("stubborn")
    call_in_flight = peer.logged("received", call.id)
    peer.process.send_signal(number)
    assert peer.process.wait(PATIENCE) == status
    assert peer.close() == ""
    last = peer.log_lines()[-1]
    assert (last["event"], last["cause"], last["status"]) == ("exit", number.name, status)
    assert peer.events("dropped", call.id)
    assert last["t"] >= call_in_flight["t"]


def test_it_listens_on_this_machine_alone(connect: Make) -> None:
    peer = connect("http", "2026-07-28")
    assert isinstance(peer, HttpPeer)
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", peer.port), timeout=PATIENCE):
        pass
