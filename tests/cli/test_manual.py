"""Help and man page: short, whole, and every example runs."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from mcp_tui.cli.manual import CHECKS, EXAMPLES, overview
from mcp_tui.cli.options import COMMANDS
from mcp_tui.cli.output import Exit
from tests.cases import cases
from tests.cli.examples import words_of, write_server
from tests.cli.running import Command, demo_over_http, run, running

ELSEWHERE = (None, "login", "logout", "metrics", "replay", "attach")
"""Whose examples are run by tests/tui/test_pty.py, tests/auth/test_login.py, and tests/cli/test_metrics.py; the third of the
workbench is run here.
"""

RUN = [line for name, lines in EXAMPLES.items() for line in lines if name not in ELSEWHERE] + [
    line for line in EXAMPLES[None] if "call" in line
]
MADE = {
    " last": "call add a=2 b=3",
    "run.jsonl": "tools --record run.jsonl",
    "tools.lock": "snapshot -o tools.lock",
    "tap uninstall": "tap install my-server --yes",
}
"""What the examples take, and how it is made."""


def _marked(line: str) -> object:
    takes_long = line.startswith(("mcp-tui probe", "mcp-tui doctor")) and "--list" not in line
    return pytest.param(line, marks=[pytest.mark.slow, pytest.mark.sends_anything] if takes_long else [])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    write_server(tmp_path)
    server = {"command": sys.executable, "args": [str(tmp_path / "server.py")]}
    (config := Path.home() / ".cursor" / "mcp.json").parent.mkdir()
    config.write_text(json.dumps({"mcpServers": {"my-server": server}}))
    return tmp_path


@pytest.mark.parametrize("line", [_marked(line) for line in RUN])
async def test_an_example_runs(line: str, folder: Path):
    name, session = line.split()[1], ""
    for needs, made_by in MADE.items():
        if needs in line and name != "snapshot":
            words = made_by.split() if name == "tap" else [*made_by.split(), "--demo"]
            assert (await running(*words)).status == Exit.COMPLETED
    async with demo_over_http(None) if "://" in line else nullcontext("") as url:
        call = Command("call", "silent", "--json", "--demo") if name == "cancel" else None
        if call is not None:
            call.until("sent")
            (row,) = json.loads((await running("ps", "--json")).out)
            session, line = row["session"], line.replace("/3", f"/{row['id']}")
        yes = ["--yes"] * (" tap install" in line or " tap uninstall" in line)
        ran = await running(*words_of(line, url, session), *yes)
    assert "Traceback" not in ran.err
    assert ran.status == (Exit.CANCELLED if "--cancel-after" in line else Exit.COMPLETED), ran
    if call is not None:
        assert call.end()[0] == Exit.CANCELLED


def test_the_help_fits_one_screen():
    lines = run("--help").out.splitlines()
    assert "\n".join(lines) == overview()
    assert len(lines) <= 40
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("name", ["workbench", *COMMANDS])
def test_the_help_of_a_command_fits_80_columns_and_ends_with_examples(name: str):
    ran = run("help", name, COLUMNS="80")
    assert (ran.status, ran.err) == (Exit.COMPLETED, "")
    lines = ran.out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    told = EXAMPLES[None if name == "workbench" else name]
    assert [line.partition("  # ")[0].strip() for line in lines[lines.index("examples:") + 1 :]] == [*told]
    if name != "workbench":
        assert run(name, "--help", COLUMNS="80").out == ran.out


@cases(
    ("words", "said"),
    [
        ("help", "usage: mcp-tui [COMMAND]"),
        ("help checks", next(iter(CHECKS))),
        ("-V", "mcp-tui 0."),
        ("version", "mcp-tui 0."),
        ("call -V", "mcp-tui 0."),
        ("ls", "The lists are tools, "),
        ("list --demo", "The lists are tools, "),
        ("help frobnicate", "Unknown help topic 'frobnicate'."),
        ("sessions", "mcp-tui log --sessions"),
        ("tols", "Did you mean 'tools'?"),
    ],
)
def test_what_people_try_leads_to_the_right_place(words: str, said: str):
    ran = run(*words.split())
    assert said in ran.out + ran.err
    assert ran.status == (Exit.COMPLETED if ran.out else Exit.USAGE)
