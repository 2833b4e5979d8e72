from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mcp_tui.client.settings import HttpTarget, StdioTarget, Target
from mcp_tui.config import files, recent
from mcp_tui.config.recent import Recent


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        (StdioTarget(command=("x",), env={"TOKEN": "t"}, name="mine"), Recent(server="mine")),
        (StdioTarget(command=("npx", "-y", "a b")), Recent(line="npx -y 'a b'")),
        (HttpTarget(url="https://h/mcp"), Recent(line="https://h/mcp")),
        (StdioTarget(command=("x", "--token=hunter22")), None),
        (StdioTarget(command=("x",), env={"A": "b"}), None),
        (StdioTarget(command=("x",), cwd=Path("/tmp")), None),
        (HttpTarget(url="https://h/mcp", headers={"A": "b"}), None),
        (HttpTarget(url="https://u:hunter22@h/mcp"), None),
    ],
    ids=str,
)
def test_what_can_be_opened_again_and_is_no_secret_is_remembered(target: Target, kept: Recent | None):
    recent.remember(target)
    assert recent.load() == ([] if kept is None else [kept])


def test_the_last_one_is_the_first_and_each_is_there_once():
    for name in ("a", "b", "a", *map(str, range(20))):
        recent.remember(StdioTarget(command=("x",), name=name))
    recent.remember(StdioTarget(command=("x",), name="19"))
    assert [each.server for each in recent.load()] == [str(number) for number in range(19, 7, -1)]
    assert stat.S_IMODE(files.recent_file().stat().st_mode) == 0o600
