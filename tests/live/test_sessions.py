"""Running sessions as other processes of the user meet them: what is listed, what is cancelled, and who says nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.live.doors import Door, connect, doors
from tests.cli.running import MCP_TUI, run
from tests.control import Control
from tests.waiting import HANG, wait


def listed() -> list[dict[str, Any]]:
    return json.loads(run("ps", "--json").out)


@contextmanager
def _calling(control: Control, *options: str) -> Generator[subprocess.Popen[str]]:
    """A command that calls a tool which goes on until the test lets it."""
    words = [*MCP_TUI, "call", "count", "seconds=10", "steps=2", *options, "--demo", *control.options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            control.wait("waiting", tool="count")
            yield process
        finally:
            process.kill()


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
    wait(lambda: not doors())


def test_a_session_that_keeps_nothing_has_no_door(control: Control):
    with _calling(control, "--no-journal"):
        assert not doors()


def test_a_dead_session_is_cleared_away_and_a_silent_one_is_named():
    door = Door("0123456789ab")
    path = next(iter(doors().values()))
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.fspath(path.with_name("dead.sock")))
    ran = run("ps")
    assert ran.out == "Nothing is in flight.\n"
    assert ran.err == "mcp-tui: No answer from 0123: stopped, or very busy.\n"
    assert list(doors()) == ["0123"]
    assert [each.stat().st_mode & 0o777 for each in (path, path.parent)] == [0o600, 0o700]
    door.close()
    assert not list(Path(path.parent).iterdir())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_holds_no_sessions_of_ours():
    door = Door("0123456789ab")
    (path,) = doors().values()
    os.chown(path.parent, 65534, 65534)
    assert not doors()
    door.close()


def test_many_may_wait_at_a_door_until_its_session_has_time():
    door = Door("0123456789ab")
    (path,) = doors().values()
    visitors = [connect(path, 0.0) for _ in range(64)]
    assert all(visitors)
    for each in visitors:
        assert each
        each.close()
    door.close()
