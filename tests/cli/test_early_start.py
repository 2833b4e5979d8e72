"""The server of a plain command line starts before the command is loaded, but none that the command may still refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from mcp_tui.cli import target
from mcp_tui.cli.grammar import read
from mcp_tui.transport import launching
from tests.cli.running import HANG, SERVERS

SERVER = ("--", sys.executable, "-S", str(SERVERS / "cli_server.py"))
MISSING = ("--", "/nowhere/server")


@pytest.mark.parametrize(
    ("words", "starts"),
    [
        (("call", "echo", "text=hi", *SERVER), 1),
        (("call", "echo", "text=hi", "--demo", "--json", "--timeout", "5", "--cancel-after", "1"), 1),
        (("tools", "--protocol", "2025-11-25", "-e", "A=b", *SERVER), 1),
        (("call", "echo", "text=hi", "http://127.0.0.1:9/mcp"), 0),
        (("call", "echo", "text=hi", "--session", "abcd"), 0),
        (("call", "echo", "--args", "{", *SERVER), 0),
        (("call", "echo", "text=\udcff", *SERVER), 0),
        (("call", "echo", "--record", "/nowhere/file", *SERVER), 0),
        (("call", "echo", "--protocol", "2020-01-01", *SERVER), 0),
        (("call", "echo", "--max-message", "0", *SERVER), 0),
        (("call", "echo", "--cwd", "/nowhere", *SERVER), 0),
        (("call", "echo", "-e", "=b", *SERVER), 0),
        (("call", "echo", "-H", "A: b", *SERVER), 0),
        (("tools", "--demo", *SERVER), 0),
        (("tools", "--config", "/nowhere/file"), 0),
        (("tools", "--server", "nobody"), 0),
        (("call", "echo", *MISSING), 0),
    ],
)
def test_only_what_nothing_refuses_starts_early(
    words: tuple[str, ...], starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Mock()
    monkeypatch.setattr(launching, "GuardedStart", start)
    monkeypatch.setattr(launching, "_early", [])
    target.start_server(read(words))
    assert start.call_count == starts


def test_a_setting_that_cannot_be_starts_nothing_early(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Mock()
    monkeypatch.setattr(launching, "GuardedStart", start)
    monkeypatch.setenv("MCP_TUI_TIMEOUT", "soon")
    target.loaded.cache_clear()
    target.start_server(read(["tools", "--demo"]))
    target.loaded.cache_clear()
    assert not start.called


BEFORE = """
import sys
from mcp_tui import __main__
from mcp_tui.transport import launching
started = launching.GuardedStart.__init__
def start(self, launch):
    loaded = {"asyncio", "mcp_tui.client.client", "mcp_tui.protocol.events"} & sys.modules.keys()
    print("starts after", sorted(loaded), file=sys.stderr)
    started(self, launch)
launching.GuardedStart.__init__ = start
sys.argv = ["mcp-tui", "call", "echo", "text=hi", "--demo"]
__main__.run()
"""


def test_one_server_is_started_before_what_talks_to_it_is_loaded(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", BEFORE], capture_output=True, text=True, timeout=HANG, check=True, cwd=tmp_path
    )
    assert ran.stdout == "hi\n"
    assert [line for line in ran.stderr.splitlines() if line.startswith("starts")] == ["starts after []"]


def test_a_setting_is_checked_by_a_process_that_has_loaded_nothing_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for value, status in (("5", 0), ("soon", 2)):
        monkeypatch.setenv("MCP_TUI_TIMEOUT", value)
        command = [sys.executable, "-m", "mcp_tui", "tools", "--demo"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)
        assert ran.returncode == status, ran.stderr


def test_the_demo_server_imports_nothing_from_the_folder_it_is_started_in(tmp_path: Path) -> None:
    for name in ("asyncio", "json", "random", "ssl"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(3)")
    command = [sys.executable, "-P", "-m", "mcp_tui", "tools", "--demo"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
