"""The limit of open files: raised by the command line alone, never by the library."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from mcp_tui import cli
from tests.waiting import HANG


def test_more_files_may_be_open(monkeypatch: pytest.MonkeyPatch):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = min(256, soft)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
    try:
        monkeypatch.setattr(cli, "FILES", few + 1)
        cli.allow_files()
        now = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert now == (few + 1 if hard == resource.RLIM_INFINITY or hard > few else few, hard)
        monkeypatch.setattr(cli, "FILES", few - 1)
        cli.allow_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == now, "never lowered"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("words", [("tap",), ("info",)])
def test_ten_open_files_are_too_few_in_one_sentence(words: tuple[str, ...]):
    limit = "resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))"
    limited = f"import os, resource, sys; {limit}; os.execv(sys.executable, sys.argv[1:])"
    command = [sys.executable, "-m", "mcp_tui", *words, "--", sys.executable, "-c", "input()"]
    ran = subprocess.run(
        [sys.executable, "-c", limited, *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert ran.returncode == (127 if words == ("tap",) else 4)
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert "oo many open files" in line
