"""A reader that takes its time holds up nothing but the end: no cancel, no signal, no order of lines."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mcp_tui.cli import printer
from mcp_tui.protocol import events as ev
from tests.cli.running import HANG, MCP_TUI, Command, scripted
from tests.waiting import wait


def unread(heard: Path, stdout: int = subprocess.PIPE) -> Command:
    """A call whose server says more than a pipe holds. Nobody reads the command's stdout, until somebody does."""
    options = ("--json", "--no-journal", "--linger", "0", "-e", f"HEARD={heard}")
    return Command("call", "odd", *options, *scripted("flood"), stdout=stdout)


def until(heard: Path, word: str) -> None:
    """Wait until the server was told so."""
    wait(lambda: heard.exists() and f'"{word}"' in heard.read_text())


@pytest.mark.parametrize("blocking", [True, False])
def test_a_cancel_leaves_though_nobody_reads_and_nothing_is_lost(tmp_path: Path, blocking: bool):
    heard = tmp_path / "heard"
    reading, writing = os.pipe()
    os.set_blocking(writing, blocking)
    command = unread(heard, writing)
    os.close(writing)
    until(heard, "flooded")  # everything that the server said was read
    command.process.send_signal(signal.SIGINT)
    until(heard, "notifications/cancelled")
    with open(reading, "rb") as file:  # noqa: PTH123 - a descriptor
        events = [json.loads(line) for line in file]
    assert command.end() == (130, "")
    assert (events[-1]["event"], events[-1]["state"]) == ("outcome", "cancelled")
    assert [each["progress"] for each in events if each["event"] == "progress"] == list(range(2000))


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_ends_a_command_that_nobody_reads(tmp_path: Path, number: signal.Signals, status: int):
    command = unread(tmp_path / "heard")
    until(tmp_path / "heard", "tools/call")
    command.process.send_signal(number)
    assert command.process.wait(HANG) == status
    command.process.communicate()


def test_what_goes_to_stdout_and_to_stderr_comes_in_order():
    words = ("call", "odd", "--no-journal", *scripted("pollution"))
    ran = subprocess.run(
        [*MCP_TUI, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANG, check=False
    )
    pollution, text, end = ran.stdout.decode().splitlines()
    assert (pollution, text) == ("pollution: not JSON on stdout: not json", "after the noise")
    assert end.startswith("completed after")


async def test_events_beyond_what_may_wait_are_counted_and_never_waited_for(monkeypatch: pytest.MonkeyPatch):
    read = threading.Event()

    class Unread(io.StringIO):
        def write(self, s: str, /) -> int:
            read.wait()
            return super().write(s)

    out, err = Unread(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(printer, "UNREAD_CHARACTERS", 1000)
    made = printer.Printer(as_json=True, began=0.0, closed=lambda _: None)
    for at in range(100):
        made.event(ev.Progress(at=float(at), id=1, progress=at), None)
    made.end()
    made.value("the result")
    read.set()
    assert await made.streams.drained()
    *events, result = map(json.loads, out.getvalue().splitlines())
    assert result == "the result"
    assert [each["progress"] for each in events] == list(range(len(events)))
    assert f"{100 - len(events)} events were not printed" in err.getvalue()
