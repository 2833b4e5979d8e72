"""After ``kill -9`` of the client no process of a server is left, whatever the server does about it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import uuid
from typing import Final

import pytest

from tests.cli.running import HANG, MCP_TUI, SERVERS
from tests.servers.stdio_scripted import processes

SERVER: Final = (sys.executable, "-S", str(SERVERS / "cli_server.py"))
ROUNDS: Final = 2


def command(kind: str, mark: str) -> list[str]:
    """A server of a kind, with a mark in the command line of each of its processes."""
    match kind:
        case "shell":
            quoted = " ".join(f"'{word}'" for word in (*SERVER, "deaf", mark))
            return ["sh", "-c", f"{quoted}; true", mark]
        case _:
            return [*SERVER, kind, mark]


def kill_amid_a_call(kind: str, mark: str) -> int:
    """Kill the client when the server is deaf to everything; how many of its processes there were then."""
    words = ("call", "odd", "--json", "--no-journal", "--", *command(kind, mark))
    client = subprocess.Popen([*MCP_TUI, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert client.stdout is not None
        for line in client.stdout:
            if json.loads(line)["event"] == "progress":
                break
        alive = len(processes(mark))
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait(HANG)
        if client.stdout is not None:
            client.stdout.close()
    return alive


@pytest.mark.parametrize("kind", ["deaf", "shell", "family", "forked"])
def test_nothing_is_left_after_kill_9(kind: str):
    if kind == "forked" and not sys.platform.startswith("linux"):
        pytest.skip("only Linux lets the guard find what left by a double fork")
    for _ in range(ROUNDS):
        mark = f"mark-{uuid.uuid4().hex}"
        alive = kill_amid_a_call(kind, mark)
        assert alive >= (1 if kind == "deaf" else 2)
        until = time.monotonic() + HANG
        while left := processes(mark):
            assert time.monotonic() < until, f"left over: {left}"
            time.sleep(0.02)
