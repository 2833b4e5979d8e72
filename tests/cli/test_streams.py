"""A reader that takes its time holds up nothing but the end: no cancel, no signal, no order of lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import HANG, MCP_TUI, scripted
from tests.waiting import wait


class Unread:
    """A call whose server says more than a pipe holds. Nobody reads the command's stdout, until somebody does."""

    def __init__(self, heard: Path, *options: str, stdout: int = subprocess.PIPE) -> None:
        self.heard = heard
        words = (
            "call",
            "odd",
            "--no-journal",
            "--linger",
            "0",
            "-e",
            f"HEARD={heard}",
            *options,
            *scripted("flood"),
        )
        self.process = subprocess.Popen(
            [*MCP_TUI, *words], stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.STDOUT
        )

    def until(self, word: str) -> None:
        """Wait until the server was told so."""
        wait(lambda: self.heard.exists() and f'"{word}"' in self.heard.read_text())

    def cancel(self) -> None:
        """Cancel once everything that the server said was read."""
        self.until("flooded")
        self.process.send_signal(signal.SIGINT)
        self.until("notifications/cancelled")


@pytest.fixture
def heard(tmp_path: Path) -> Path:
    return tmp_path / "heard"


@pytest.mark.parametrize("blocking", [True, False])
def test_a_cancel_leaves_though_nobody_reads_and_nothing_is_lost(heard: Path, blocking: bool):
    reading, writing = os.pipe()
    os.set_blocking(writing, blocking)
    command = Unread(heard, "--json", stdout=writing)
    os.close(writing)
    command.cancel()
    with open(reading, "rb") as file:  # noqa: PTH123 - a descriptor
        events = [json.loads(line) for line in file]
    assert command.process.wait(HANG) == 130
    assert (events[-1]["event"], events[-1]["state"]) == ("outcome", "cancelled")
    assert [each["progress"] for each in events if each["event"] == "progress"] == list(range(2000))


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_ends_a_command_that_nobody_reads(heard: Path, number: signal.Signals, status: int):
    command = Unread(heard, "--json")
    command.until("tools/call")
    command.process.send_signal(number)
    assert command.process.wait(HANG) == status
    assert command.process.stdout is not None
    command.process.stdout.close()


def test_what_goes_to_stdout_and_to_stderr_comes_in_order():
    words = ("call", "odd", "--no-journal", *scripted("pollution"))
    ran = subprocess.run(
        [*MCP_TUI, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANG, check=False
    )
    pollution, text, end = ran.stdout.decode().splitlines()
    assert (pollution, text) == ("pollution: not JSON on stdout: not json", "after the noise")
    assert end.startswith("completed after")
