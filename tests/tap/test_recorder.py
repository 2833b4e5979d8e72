"""The recorder of a tap as a process: what it loads, and how soon it is there."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_tui.live.doors import doors
from tests.tap.test_tap import OBEDIENT, Client, books_of, planted, tap
from tests.waiting import wait

HEAVY: Final = {
    "asyncio",
    "email",
    "h11",
    "httpcore",
    "httpx",
    "pydantic",
    "ssl",
    "subprocess",
    "tomllib",
}


@contextmanager
def connected(command: list[str], **more: Any) -> Generator[Client]:
    """A client of a tap, after its handshake."""
    client = Client(command, **more)
    try:
        client.connect()
        yield client
    finally:
        client.process.kill()
        client.process.__exit__(None, None, None)


REPORT: Final = """import atexit, json, sys
def report():
    with open(%r, "w") as file:
        json.dump(sorted(sys.modules), file)
atexit.register(report)"""


def test_a_recorder_loads_what_a_limit_and_a_journal_need_and_no_more(tmp_path: Path):
    found = tmp_path / "modules.json"
    with connected(planted(REPORT % str(found), tap("--max-timeout", "0.2", code=OBEDIENT))) as client:
        client.call(1, "silent")
        assert client.read()["error"]["code"] == -32001
        assert client.end() == 0
    wait(lambda: found.exists() and found.read_text().endswith("]"))
    loaded: set[str] = set(json.loads(found.read_text()))
    assert loaded >= {"mcp_tui.protocol.ledger", "mcp_tui.journal.writer", "pydantic_core"}
    assert loaded & HEAVY == set()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
def test_a_session_can_be_found_before_its_recorder_answers():
    stops = "import mcp_tui.live.doors as d, os, signal\nreal = d.Door.__init__\n"
    stops += "def opened(*given):\n    real(*given)\n    os.kill(os.getpid(), signal.SIGSTOP)\nd.Door.__init__ = opened"
    with connected(planted(stops, tap(code=OBEDIENT))) as client:
        wait(lambda: len(doors()) == 1)
        os.kill(books_of(client.process.pid), signal.SIGCONT)
        assert client.end() == 0
