"""Shell completion: the words that are offered, and that each shell takes them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_tui.cli.options import COMMANDS
from mcp_tui.cli.output import Exit
from mcp_tui.cli.shell_completion import bash_candidates, candidates
from tests.cases import cases
from tests.cli.running import run


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["cal"], ["call"]),
        ([""], [*COMMANDS, "help"]),
        (["help", "ch"], ["check", "checks"]),
        (["auth", ""], ["list"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["probe-client", "--b"], ["--by-hand", "--badge"]),
        (["call", "--cancel"], ["--cancel-after"]),
        (["--demo", "call", "--re"], ["--reason", "--record"]),
        (["export", "--format", ""], ["jsonl", "markdown", "csv", "issue", "otlp"]),
        (["info", "--transport", "s"], ["stdio", "sse"]),
        (["--timeout", "ca"], []),
        (["call", "--", "ca"], []),
        (["log", "--cancel"], []),
    ],
)
def test_the_words_that_fit_are_offered(words: list[str], found: list[str]):
    assert candidates(words) == found


def test_names_that_a_shell_would_interpret_are_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    servers = {name: {"command": "x"} for name in ("good", "$(touch gotcha)", "a;b", "`x`")}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    monkeypatch.chdir(tmp_path)
    assert candidates(["info", "--server", ""]) == ["good"]


@cases(
    ("line", "found"),
    [
        ("", []),
        ("io.x:", [r"a\ b", "c"]),
        (r"io.x:a\ ", [r"a\ b"]),
        ("'io.x:a ", ["io.x:a b"]),
        ('"My', ["My (oci)"]),
        ("My", [r"My\ \(oci\)"]),
    ],
)
def test_names_with_colons_and_blanks_are_offered_as_bash_takes_them(
    line: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    servers = {name: {"command": "x"} for name in ("io.x:a b", "io.x:c", "My (oci)", "no$x")}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    monkeypatch.chdir(tmp_path)
    got = bash_candidates(f"mcp-tui --trust 'io.x:c' info --server {line}")
    assert got == (["My\\ \\(oci\\)", "io.x:a\\ b", "io.x:c"] if not line else found)


def test_an_unknown_shell_is_refused_with_the_choices():
    run("completion", "tcsh").sentence(Exit.USAGE, "Unknown shell 'tcsh'. Choose from: bash, zsh, fish.")
    run("completion").sentence(Exit.USAGE, "Missing shell.")


ASKED = {
    "bash": ". ./script; COMP_LINE='mcp-tui call --cancel'; COMP_POINT=21; _mcp_tui; echo ${COMPREPLY[@]}",
    "zsh": "compdef() { }; compadd() { print -l -- $found }; . ./script; words=(mcp-tui call --cancel); CURRENT=3; _mcp_tui",
    "fish": "source script; complete -C 'mcp-tui call --cancel'",
}


@pytest.mark.parametrize("shell", ASKED)
def test_each_shell_takes_its_script(shell: str, tmp_path: Path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is missing")
    command = tmp_path / "mcp-tui"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mcp_tui "$@"\n')
    command.chmod(0o755)
    (tmp_path / "script").write_text(run("completion", shell).out)
    path = f"set -x PATH {tmp_path} $PATH" if shell == "fish" else f"PATH={tmp_path}:$PATH"
    words = [shell, "-c", f"{path}; {ASKED[shell]}"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.stdout.split(), ran.stderr) == (["--cancel-after"], "")
