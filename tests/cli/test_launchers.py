"""A launcher that may still be downloading, on a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import pytest

from tests.cli.running import HANG, MCP_TUI


@pytest.mark.pty
def test_a_terminal_shows_what_a_launcher_says_meanwhile(tmp_path: Path):
    npx = tmp_path / "npx"
    npx.symlink_to(sys.executable)
    code = r"import sys, time; print('fetching \x1b[5mleft-pad', file=sys.stderr, flush=True); time.sleep(60)"
    words = [*MCP_TUI[1:], "tools", "--no-journal", "--", str(npx), "-S", "-c", code]
    env = os.environ | {"TERM": "xterm"}
    child: pexpect.spawn[str] = pexpect.spawn(
        MCP_TUI[0], words, encoding="utf-8", timeout=HANG, dimensions=(24, 100), env=env
    )
    child.expect(r"\r\x1b\[Knpx may still be downloading \(\d s of 30 s\): fetching left-pad")
    child.sendintr()
    child.expect_exact("\r\x1b[K")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
