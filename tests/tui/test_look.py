from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mcp_tui.tui.look import Look
from mcp_tui.tui.view.shares import Shares


def test_what_is_written_is_read_again(tmp_path: Path):
    path = tmp_path / "state" / "look.json"
    look = Look(
        shares=Shares().moved("left", 0.3), pane="log", theme="mcp-tui-light", follow=False, internal=True
    )
    look.path = path
    look.write()
    assert Look.read(path) == look
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b"\xff\xfe",
        b"[" * 60_000,
        b'{"shares": [], "pane": 7, "theme": null, "follow": "no", "own": 1}',
        b'{"theme": "\\u001b[31m"}',
        b'{"pane": "' + b"x" * 70_000 + b'"}',
    ],
)
def test_a_damaged_file_is_none(tmp_path: Path, damage: bytes):
    path = tmp_path / "look.json"
    path.write_bytes(damage)
    assert Look.read(path) == Look(path=path)


def test_where_there_is_no_file_it_looks_as_it_comes(tmp_path: Path):
    assert Look.read(tmp_path / "look.json") == Look(path=tmp_path / "look.json")


def test_what_cannot_be_written_stops_nothing(tmp_path: Path):
    (tmp_path / "file").write_text("")
    Look(path=tmp_path / "file" / "look.json").write()
    Look().write()
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
