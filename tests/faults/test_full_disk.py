"""A disk that is full, or cannot be written at all: the session goes on, and says so in one sentence."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest

from mcp_tui.cli.output import Exit
from mcp_tui.journal.journal_files import journal_folder
from tests.cli.keeping import ONE, called, cancelled, keep
from tests.cli.running import HANG, MCP_TUI, Ran, run

CALL = ("call", "echo", "text=hi", "--demo")
CANCEL = ("call", "silent", "--cancel-after", "0.1", "--linger", "0.1", "--demo")


def limited(size: int, *words: str) -> Ran:
    """Run a command for which no file can grow beyond so many bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = subprocess.run(
        [*MCP_TUI, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG,
        preexec_fn=limit,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("size", [100, 5_000], ids=["from the start", "in the middle"])
def test_a_journal_on_a_full_disk_does_not_end_the_session(size: int):
    ran = limited(size, *CANCEL)
    assert ran.status == Exit.CANCELLED
    assert "Traceback" not in ran.err
    assert "journal stopped at #" in ran.err
    (path,) = journal_folder().glob("*.jsonl")
    whole = path.read_bytes()
    assert whole == b"" or whole.endswith(b"\n")
    assert all(json.loads(line) for line in whole.splitlines())
    ran = run("log")
    assert (ran.status, "Traceback" in ran.err) == (0, False)


def test_where_no_journal_can_be_made_the_session_goes_on_and_says_so_once(tmp_path: Path):
    (tmp_path / "state").write_text("a file")
    ran = run(*CALL, MCP_TUI_STATE=str(tmp_path / "state"))
    assert (ran.status, ran.out) == (0, "hi\n")
    assert ran.err.count("no journal: ") == 1


def test_log_says_that_the_folder_belongs_to_somebody_else_or_is_shut():
    keep(ONE, called(1), cancelled(1))
    place = journal_folder()
    if os.getuid() == 0:
        os.chown(place, 65534, 65534)
    else:
        place.chmod(0)
    try:
        said = "belongs to another user" if os.getuid() == 0 else "permission denied"
        for words in (("log",), ("export", "last", "--format", "csv"), ("replay", "last")):
            run(*words).sentence(Exit.USAGE, said, str(place))
    finally:
        if os.getuid() != 0:
            place.chmod(0o700)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("words", ["--version", "config --json", "log", " ".join(CALL), "nonsense"])
def test_a_stdout_on_a_full_disk_is_told_in_one_sentence(words: str):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*MCP_TUI, *words.split()],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"} if words == "nonsense" else None,
            timeout=HANG,
            check=False,
        )
    said = (
        "Unknown subcommand 'nonsense'"
        if words == "nonsense"
        else "Cannot write to stdout: No space left on device."
    )
    assert done.returncode == (Exit.USAGE if words == "nonsense" else Exit.DEFECT)
    told = done.stderr.decode()
    assert told.startswith(f"mcp-tui: {said}")
    assert told.count("Cannot write") == (words != "nonsense")
