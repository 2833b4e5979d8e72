from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mcp_tui.tui.preferences import Look
from mcp_tui.view.pane_sizes import Shares


def test_what_is_kept_is_read_again(tmp_path: Path):
    path = tmp_path / "state" / "look.json"
    look = Look(theme="mcp-tui-light", follow=False, internal=True, path=path)
    look.keep(Shares().moved("tabs", 0.3), "log")
    assert (look.pane, look.theme) == ("log", "mcp-tui-light")
    assert Look.read(path) == look
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        None,
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
def test_a_missing_or_damaged_file_gives_the_defaults(tmp_path: Path, damage: bytes | None):
    path = tmp_path / "look.json"
    if damage is not None:
        path.write_bytes(damage)
    assert Look.read(path) == Look(path=path)


def test_what_cannot_be_written_stops_nothing(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "look.json", None):
        Look(path=path).keep(Shares(), "")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
