"""Running sessions as other processes of the user meet them: what is listed, what is cancelled, and who says nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.live.control import Problem
from mcp_tui.live.running import Unknown, cancel
from mcp_tui.live.sockets import ListeningSocket, connect, sockets
from tests.cli.running import run
from tests.control import Control
from tests.forking import Piped
from tests.live.odd_answers import CANCELS, NO_CANCEL, ODD, answering
from tests.waiting import HANG, wait


def listed() -> list[dict[str, Any]]:
    return json.loads(run("ps", "--json").out)


@contextmanager
def _calling(control: Control, *options: str) -> Generator[Piped]:
    """A command that calls a tool which goes on until the test lets it."""
    words = ["call", "count", "seconds=10", "steps=2", *options, "--demo", *control.options]
    with Piped("command", words, os.environ) as process:
        try:
            control.wait("waiting", tool="count")
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def test_a_command_is_listed_and_cancelled_from_elsewhere(control: Control):
    with _calling(control) as process:
        wait(lambda: len(listed()) == 1)
        (row,) = listed()
        assert (row["kind"], row["server"], row["name"], row["timeout"]) == ("call", "demo", "count", 60.0)
        assert "mcp-tui" in row["client"]
        assert '"name":"count"' in run("export", row["session"], "--format", "jsonl").out
        named = f"{row['session']}/{row['id']}"
        assert run("cancel", named, "--reason", "enough").out == f"Cancelled {named}.\n"
        control.wait("cancelled", reason="enough")
        assert run("cancel", named).status == 7
        assert process.wait(HANG) == 7
    wait(lambda: not sockets())


def test_a_session_that_keeps_nothing_has_no_socket(control: Control):
    with _calling(control, "--no-journal"):
        assert not sockets()


def test_a_dead_session_is_cleared_away_and_a_silent_one_is_named():
    listening = ListeningSocket("0123456789ab")
    path = next(iter(sockets().values()))
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.fspath(path.with_name("dead.sock")))
    ran = run("ps", "--flat")
    said = f"did not answer. Its process {os.getpid()} is very busy, or hangs."
    shown = [each for each in ran.out.splitlines()[1].split() if each != "–"]
    assert (ran.status, shown) == (4, ["0123", "silent", *said.split()])
    assert ran.err == "mcp-tui: What is in flight in 1 of 1 sessions is not known.\n"
    assert list(sockets()) == ["0123"]
    assert f"Session 0123 {said}" in run("attach").err
    assert [each.stat().st_mode & 0o777 for each in (path, path.parent)] == [0o600, 0o700]
    listening.close()
    assert not list(Path(path.parent).iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
def test_a_session_that_is_killed_while_it_is_asked_is_named():
    dies = """
import os, select
from mcp_tui.live.sockets import ListeningSocket
listening = ListeningSocket("0123456789ab")
print(listening.name, flush=True)
select.select([listening.socket], [], [])
os._exit(1)
"""
    with subprocess.Popen([sys.executable, "-c", dies], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0123\n"
        ran = run("ps", "--flat")
    assert (ran.status, ran.out.splitlines()[1].split()[:6]) == (4, ["0123", *"––––", "silent"])
    assert f"Its process {process.pid} has ended." in ran.out
    assert run("ps").out == "Nothing is in flight.\n"
    assert run("ps", "--client", "x").out == "No running session of a client 'x'.\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_holds_no_sessions_of_ours():
    listening = ListeningSocket("0123456789ab")
    (path,) = sockets().values()
    os.chown(path.parent, 65534, 65534)
    assert not sockets()
    listening.close()


def test_many_may_wait_at_a_socket_until_its_session_has_time():
    listening = ListeningSocket("0123456789ab")
    (path,) = sockets().values()
    links = [connect(path, 0.0) for _ in range(64)]
    assert all(links)
    for each in links:
        assert each
        each.close()
    listening.close()


def test_odd_answers_are_named_beside_the_good_ones():
    with answering({what: told for answers in ODD.values() for what, told in answers.items()}) as names:
        ran = run("ps", "--json")
        found = {
            row["session"]: "understood" if row["id"] is not None else row["state"]
            for row in json.loads(ran.out)
        }
        expected = {names[what]: group for group, answers in ODD.items() for what in answers}
        assert (ran.status, found) == (4, expected)
    quick = ODD["not_understood"] | ODD["other_version"] | ODD["understood"]
    with answering(quick) as names:
        listing = "from mcp_tui.tui.screens.picker import gather; print(*(each.name for each in gather()[0]))"
        shown = subprocess.check_output([sys.executable, "-c", listing], text=True)
        assert set(shown.split()) >= set(names.values())
        for words, status in {
            ("ps",): 4,
            ("attach",): 2,
            ("attach", names["NaN"]): 4,
            ("attach", names["a later version"]): 4,
            ("call", "x", "--session", "nobody"): 4,
            ("log", names["null"]): 4,
            ("log", names["hostile texts"]): 2,
            ("attach", names["hostile texts"]): 2,
            ("completion", "words", "--", "cancel", ""): 0,
        }.items():
            ran = run(*words)
            assert (ran.status, "Internal error" in ran.err) == (status, False), (words, ran)
            assert not set(ran.out + ran.err) & set("\x1b\x9b\x00\r\u202e"), words
            if words == ("ps",):
                assert all(name in ran.out for name in names.values())


def test_what_came_of_a_cancel_is_said_only_if_it_was_understood():
    with answering({what: told for what, (told, _, _) in CANCELS.items()}) as names:
        for what, (_, status, words) in CANCELS.items():
            ran = run("cancel", f"{names[what]}/1")
            assert (ran.status, words in ran.out + ran.err) == (status, True), (what, ran)
            assert not set(ran.err) & set("\x1b\x9b")
    with answering(NO_CANCEL) as names:
        known = sockets()
        for what, name in names.items():
            came = cancel(name, known[name], 1, "")
            assert isinstance(came, Unknown), (what, came)
            assert came.problem is Problem.NOT_UNDERSTOOD, (what, came)
