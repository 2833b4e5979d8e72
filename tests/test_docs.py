"""The ``console`` blocks of the documents: each runs as printed, or a comment above it says why not.

A line that begins with ``$ `` is a command, and the lines below it are printed by it, in this order. Numbers may differ, and
``…`` stands for any text or lines. A command ends with 0, unless ``$ echo $?`` follows with another status.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.running import HANG, run

ROOT = Path(__file__).parents[1]
PAGES = {
    str(page.relative_to(ROOT)): page.read_text("utf-8")
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
}
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>.+?) -->\n)?```console\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL
)
RUN = {
    name: blocks
    for name, page in PAGES.items()
    if (blocks := [each["text"] for each in BLOCK.finditer(page) if not each["why"]])
}
OURS = (sys.executable, "-m", "mcp_tui")
SHELL = set("|&;<>$`*")


def _marked(name: str) -> object:
    """A page about the probe takes long, and sends what no schema permits."""
    probes = any("mcp-tui probe" in block or "mcp-tui doctor" in block for block in RUN[name])
    return pytest.param(name, marks=[pytest.mark.slow, pytest.mark.sends_anything] if probes else [])


def _output(command: str, folder: Path) -> tuple[int, list[str]]:
    """Runs a command; returns its status and what it printed."""
    words = shlex.split(command)
    # A server of a forked command is no process below it, by which ``serve`` knows the call that asks.
    if words[0] == "mcp-tui" and not {"tap", "serve"} & {*words} and not SHELL & set(command):
        pairs = pairwise(words)
        ours = (OURS if pair == ("--", "mcp-tui") else pair[1:] for pair in pairs)
        done = run(*(word for each in ours for word in each), cwd=folder)
        return done.status, (done.out + done.err).splitlines()
    path = f"PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    shell = subprocess.run(
        ["sh", "-c", path + command], cwd=folder, capture_output=True, text=True, timeout=HANG, check=False
    )
    return shell.returncode, (shell.stdout + shell.stderr).splitlines()


def _shape(line: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[\d.,]*\d", "0", line)).strip()


def _missing(expected: list[str], printed: list[str]) -> list[str]:
    """Returns the expected lines that were not printed, or not in this order."""
    rest = iter(_shape(line) for line in printed)
    patterns = (
        ".*".join(map(re.escape, _shape(line).split("…")))
        for line in expected
        if line.strip() not in ("", "…")
    )
    return [pattern for pattern in patterns if not any(re.fullmatch(pattern, line) for line in rest)]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", [_marked(name) for name in RUN])
def test_the_commands_of_a_page_print_what_it_says(name: str, tmp_path: Path) -> None:
    for block in RUN[name]:
        status, command = 0, ""
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            given, *expected = step.replace("\\\n", "").splitlines()
            if given == "echo $?":
                assert expected == [str(status)], command
                status = 0
                continue
            assert status == 0, (command, status)
            command = given
            status, printed = _output(command, tmp_path)
            assert _missing(expected, printed) == [], (command, status, printed)
        assert status == 0, (command, status)


def test_every_block_of_commands_is_run_or_says_why_not() -> None:
    assert sum(map(len, RUN.values())) > 30
    commands = {name: page for name, page in PAGES.items() if "/commands/" in name}
    assert [name for name, page in commands.items() if not BLOCK.search(page)] == []
    assert [
        name
        for name, page in PAGES.items()
        if re.search(r"^ *```(?:sh|bash|shell|zsh)\b|^ +```console", page, re.MULTILINE)
    ] == []
    reasons = [each["why"] for page in PAGES.values() for each in BLOCK.finditer(page) if each["why"]]
    assert [why for why in reasons if len(why) < 8] == []
