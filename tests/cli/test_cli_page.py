"""The examples of docs/reference/cli.md about recordings and the probe: every command runs, every line of output is real."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tui.probe.rules import RULES
from tests.cli.running import HANG, MODERN, Ran, run
from tests.tui.conftest import terminals as terminals  # noqa: PLC0414 - a fixture
from tests.tui.terminal import Terminal

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
OURS = shlex.join([sys.executable, "-m", "mcp_tui"])


def examples(heading: str) -> tuple[list[str], list[str]]:
    """The commands under a heading, and the lines that they are said to print."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    commands = [line for kind, block in blocks if kind == "sh" for line in block.splitlines()]
    printed = [line for kind, block in blocks if not kind for line in block.splitlines() if line != "…"]
    return commands, printed


def ran(command: str, folder: Path) -> Ran:
    words = ["sh", "-c", command.replace(".venv/bin/mcp-tui", OURS)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=HANG, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def shape(line: str) -> str:
    """A line without what differs from run to run: numbers, and the tool that is under way."""
    return re.sub(r"[\d.]+", "0", line)


@pytest.mark.pty
@pytest.mark.clock("the page shows a result that comes seconds late")
def test_what_is_said_of_sessions_that_were_kept(tmp_path: Path, terminals: Callable[..., Terminal]):
    call = ("call", "stubborn", "seconds=2", "--cancel-after", "0.7", "--reason", "too slow", "--linger", "3")
    assert run(*call, "--protocol", MODERN, "--demo").status == 7
    commands, printed = examples("Recordings")
    assert len(commands) == 6
    out = ""
    for command in commands[:-1]:
        each = ran(command, tmp_path)
        assert (each.status, each.err) == (0, ""), each
        out += each.out
    shown = {shape(line) for line in out.splitlines()}
    assert [line for line in printed if shape(line) not in shown] == []
    assert "stubborn" in (tmp_path / "requests.csv").read_text()
    assert commands[-1].split()[1:] == ["replay", "last"]
    terminal = terminals(*commands[-1].split()[1:])
    terminal.see("stubborn", "late result")
    terminal.press("\x11")
    assert terminal.ended() == 0


@pytest.mark.slow
@pytest.mark.sends_anything  # malformed cancels are what some of the experiments are about
def test_what_is_said_of_the_probe(tmp_path: Path):
    (command,), printed = examples("Probe")
    each = ran(command, tmp_path)
    assert each.status == 0, each
    shown = {shape(line) for line in each.out.splitlines()}
    assert [line for line in printed if shape(line) not in shown] == []
    suite = ET.parse(tmp_path / "probe.xml").getroot()
    assert int(suite.get("tests", "0")) == len(RULES)
