"""ctrl+c, SIGTERM, and a stdout that nobody reads: what is in flight is cancelled, and no server is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import HANG, MCP_TUI, Command, logged, run, scripted
from tests.client.connected import received
from tests.control import Control
from tests.servers.stdio_scripted import processes
from tests.waiting import wait

Lines = list[dict[str, Any]]


@pytest.fixture
def mark() -> Iterator[str]:
    """A text in the server's command line; the test fails if such a process is left."""
    made = f"mark-{uuid.uuid4().hex}"
    yield made
    wait(lambda: not processes(made), lambda: f"left over: {processes(made)}")


def silent(log: Path, mark: str, *options: str) -> Command:
    """A call that is never answered, of a demo server that is found by its mark and writes a log."""
    name = log.with_name(f"{mark}.jsonl")
    server = ("--", sys.executable, "-m", "mcp_tui", "demo", "--log", str(name))
    return Command("call", "silent", "--json", "--no-journal", *options, *server)


def log_of(log: Path, mark: str) -> Lines:
    return logged(log.with_name(f"{mark}.jsonl"))


def reasons(lines: Lines) -> list[str]:
    return [each["reason"] for each in lines if each["event"] == "cancelled"]


def test_the_first_interrupt_cancels_lingers_and_tells_the_outcome(tmp_path: Path, mark: str):
    command = silent(tmp_path / "log", mark, "--linger", "0.3")
    command.until("sent")
    command.process.send_signal(signal.SIGINT)
    assert command.end() == (130, "")
    check_outcome(command)
    outcome = command.lines[-1]
    assert (outcome["reason"], outcome["reason_delivered"]) == ("interrupted", True)
    assert reasons(log_of(tmp_path / "log", mark)) == ["interrupted"]


def test_the_second_interrupt_tells_the_outcome_exits_at_once_and_is_in_the_log(tmp_path: Path, mark: str):
    server = (sys.executable, "-m", "mcp_tui", "demo", "--log", str(tmp_path / mark))
    command = Command("call", "silent", "--json", "--linger", "600", "--", *server)
    command.until("sent")
    command.process.send_signal(signal.SIGINT)
    command.until("cancel_signalled")
    command.process.send_signal(signal.SIGINT)
    assert command.end() == (130, "")
    check_outcome(command)
    (entry,) = json.loads(run("log", "--json").out)
    assert entry["outcome"] == "no_reply"
    assert entry["details"].startswith("sent; no reply (watched ")
    assert entry["watched"] >= command.lines[-1]["watched"]


def test_who_ends_a_command_that_lingers_gets_its_outcome_and_waits_no_longer(tmp_path: Path, mark: str):
    command = silent(tmp_path / "log", mark, "--cancel-after", "0", "--linger", "600")
    command.until("cancel_signalled")
    command.process.send_signal(signal.SIGTERM)
    assert command.end() == (143, "")
    check_outcome(command)


def check_outcome(command: Command) -> None:
    outcome = command.lines[-1]
    assert (outcome["event"], outcome["state"], outcome["cause"]) == ("outcome", "cancelled", "user")
    assert (outcome["signal"], outcome["delivery"]) == ("notification", "written")


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)]
)
def test_a_signal_that_ends_it_cancels_and_says_shutdown(
    number: signal.Signals, status: int, tmp_path: Path, mark: str
):
    command = silent(tmp_path / "log", mark, "--linger", "0.2")
    command.until("sent")
    command.process.send_signal(number)
    assert command.end() == (status, "")
    assert (command.lines[-1]["state"], command.lines[-1]["cause"]) == ("cancelled", "shutdown")
    assert len(reasons(log_of(tmp_path / "log", mark))) == 1


def test_an_interrupt_after_another_signal_exits_at_once_with_the_status_of_the_first(
    tmp_path: Path, mark: str
):
    command = silent(tmp_path / "log", mark, "--linger", "600")
    command.until("sent")
    command.process.send_signal(signal.SIGTERM)
    command.until("cancel_signalled")
    command.process.send_signal(signal.SIGINT)
    assert command.end() == (143, "")
    assert command.lines[-1]["event"] == "outcome"


def test_an_interrupt_with_nothing_left_to_cancel_ends_the_lingering(control: Control):
    control.release("twice")
    words = ("call", "twice", "--json", "--no-journal", "--linger", "600", "--demo")
    command = Command(*words, *control.options)
    command.until("duplicate")  # so the first answer was taken
    command.process.send_signal(signal.SIGINT)
    assert command.end() == (130, "")
    assert command.lines[-1]["state"] == "completed"
    control.wait("gone")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGQUIT, 131)])
def test_a_signal_while_connecting(number: signal.Signals, status: int, mark: str):
    command = Command("call", "ok", "--json", "--no-journal", *scripted("mute", mark))
    command.until("stderr")  # it was probed, and says nothing
    command.process.send_signal(number)
    assert command.end()[0] == status
    last = command.lines[-1]
    cause = "user" if number is signal.SIGINT else "shutdown"
    assert (last["event"], last["id"], last["state"], last["cause"]) == ("outcome", None, "cancelled", cause)
    assert (last["outcomes"], last["signal"], last["error"]) == ([], None, None)


@pytest.mark.parametrize(
    ("words", "number", "status"),
    [
        (("tools",), signal.SIGINT, 130),
        (("ping",), signal.SIGTERM, 143),
        (("call", "odd"), signal.SIGQUIT, 131),
        (("probe", "--tool", "odd"), signal.SIGHUP, 129),
    ],
)
def test_whatever_a_command_waits_for_is_cancelled_before_the_server_is_ended(
    words: tuple[str, ...], number: signal.Signals, status: int, tmp_path: Path, mark: str
):
    log = tmp_path / mark

    def heard() -> Lines:
        return received(log) if log.exists() else []

    options = ("--no-journal", "--protocol", "2025-11-25", "-e", f"HEARD={log}")
    command = Command(*words, *options, *scripted("opens", mark))
    wait(lambda: heard() and heard()[-1]["method"] in ("tools/list", "ping"))
    asked = heard()[-1]["id"]
    command.process.send_signal(number)
    process = command.process
    out, err = process.communicate(timeout=HANG)
    assert (process.returncode, out) == (status, b"")
    assert b"Traceback" not in err
    last = heard()[-1]
    assert (last["method"], last["params"]["requestId"]) == ("notifications/cancelled", asked)


def test_a_stdout_that_is_closed_after_the_first_line(mark: str):
    words = ("call", "odd", "--json", "--no-journal", "--cancel-after", "0.3", "--linger", "30")
    command = Command(*words, *scripted("never", mark))
    command.until("sent")
    assert command.process.stdout is not None
    command.process.stdout.close()
    command.process.stdout = None
    assert command.end() == (141, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_stdout_that_is_closed_in_the_middle_of_a_result(unbuffered: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = Command("call", "odd", "--no-journal", *scripted("large"))
    assert command.process.stdout is not None
    assert command.process.stdout.read(5) == b"xxxxx"
    command.process.stdout.close()
    command.process.stdout = None
    assert command.end()[0] == 141


@pytest.mark.parametrize("words", [("tools", "--json"), ("call", "ok", "--json"), ("info",)])
def test_a_stdout_that_nobody_ever_read(words: tuple[str, ...], mark: str):
    reading, writing = os.pipe()
    os.close(reading)
    command = Command(*words, "--no-journal", *scripted("never", mark), stdout=writing)
    os.close(writing)
    assert command.end() == (141, "")


def test_no_stdout_and_no_stderr_at_all():
    for closing, status in ((">&-", 141), ("2>&-", 0), ("<&-", 0)):
        words = ["sh", "-c", f'"$@" {closing}', "sh", *MCP_TUI, "tools", "--demo", "--no-journal"]
        ran = subprocess.run(words, capture_output=True, timeout=HANG, check=False)
        assert ran.returncode == status, (closing, ran)
        assert b"Traceback" not in ran.stderr


def test_a_locale_that_cannot_write_it():
    ran = run("--help", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert ran.status == 0
    assert "usage: mcp-tui" in ran.out
