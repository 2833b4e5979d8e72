"""The page about tests with pytest: its example runs as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import SERVERS, run
from tests.waiting import HANG

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "test-with-pytest.md").read_text(encoding="utf-8")


def pytest_in(folder: Path, *words: str) -> str:
    """Run pytest as a user does, without the settings of this project."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *words]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=HANG, check=False
    )
    return done.stdout + done.stderr


def test_the_example_runs_as_printed(tmp_path: Path):
    (example,) = re.findall(r"```python\n(# test_report\.py\n.*?)```", PAGE, re.DOTALL)
    (record, _) = re.findall(r"```console\n\$ (.*?)\n\$ (.*?)\n```", PAGE, re.DOTALL)[0]
    (tmp_path / "test_report.py").write_text(example, encoding="utf-8")
    assert run(*record.split()[1:], cwd=tmp_path).status == 0
    assert "5 passed" in (said := pytest_in(tmp_path, "test_report.py")), said


def test_without_a_server_or_a_recording_the_way_out_is_named(tmp_path: Path):
    (tmp_path / "test_none.py").write_text(
        "def test_none(mcp_session): pass\n"
        "def test_gone(recorded_server): recorded_server('gone.jsonl')\n"
        "def test_unseen(assert_stops_when_cancelled): assert_stops_when_cancelled('echo', {'text': 'x'})\n"
    )
    said = pytest_in(tmp_path)
    assert "Define a fixture mcp_server" in said, said
    assert "gone.jsonl does not exist" in said, said
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmcp_server = {sys.executable} -m mcp_tui.demo\n")
    said = pytest_in(tmp_path, "-k", "unseen")
    assert "Nothing shows whether echo stops" in said, said


MOCKED = """
import pytest
from mcp_tui.client import CallFailed
from mcp_tui.testing import McpSession

def hidden(server, arguments):
    with McpSession(server) as session:
        try:
            session.call("add", arguments)
        except CallFailed:
            pass

def test_refused(recorded_server):
    hidden(recorded_server("add.jsonl"), {"a": 9})

def test_unasked(recorded_server):
    McpSession(recorded_server("add.jsonl", options=("--strict",))).close()

def test_unchecked(recorded_server):
    hidden(recorded_server("add.jsonl", check=False), {"a": 9})

def test_strict(recorded_server):
    with McpSession(recorded_server("add.jsonl", options=("--strict",), check=False)) as session:
        session.tools()

def test_sound(recorded_server):
    hidden(recorded_server("add.jsonl", options=("--strict",)), {"a": 2, "b": 3})
"""


def test_what_a_mock_refused_or_was_never_asked_fails_the_test(tmp_path: Path):
    assert run("call", "add", "a=2", "b=3", "--demo", "--record", str(tmp_path / "add.jsonl")).status == 0
    (tmp_path / "test_it.py").write_text(MOCKED)
    said = pytest_in(tmp_path)
    assert "1 failed, 4 passed, 2 errors" in said, said
    assert 'Not recorded: tools/call add {"a":9}. Recorded for tools/call: add {"a":2,"b":3}.' in said, said
    assert "The mock was never started." in said, said
    assert "AssertionError: mcp-tui mock: Recorded and never asked" in said, said


SERVER = """
import json, os, runpy, sys
if "BREAK" in os.environ:
    sys.exit("the database is down")
answer = {{"content": [{{"type": "text", "text": os.environ.get("TOKEN", "none")}}]}}
sys.argv.append(json.dumps({{"tools/call": answer}}))
runpy.run_path({server!r}, run_name="__main__")
"""

CHECKS = """
import pytest

def test_set(monkeypatch, mcp_session):
    monkeypatch.setenv("TOKEN", "later")
    assert "later" in str(mcp_session.call("any"))

def test_unset(mcp_session):
    assert "none" in str(mcp_session.call("any"))

def test_broken(monkeypatch, mcp_session):
    monkeypatch.setenv("BREAK", "1")
    mcp_session.call("any")
"""


def test_the_setting_runs_in_the_root_folder_with_what_a_test_sets(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmcp_server = python server.py\n")
    (tmp_path / "server.py").write_text(SERVER.format(server=str(SERVERS / "results_server.py")))
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "test_it.py").write_text(CHECKS)
    said = pytest_in(tmp_path / "below")
    assert "1 failed, 2 passed" in said, said
    assert "ConnectError: Server exited with code 1.\nE       stderr: the database is down" in said, said
    assert "mcp_tui/" not in said, said
