from __future__ import annotations

import datetime as dt
import json
import stat
from pathlib import Path

import pytest

from mcp_tui.demo.log import DemoLog


def test_a_line_says_what_came_and_when(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = DemoLog(path, "http")
    log.received(
        {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"a": "\ud800"}}, http_method="POST", headers={}
    )
    log.event("exit", cause="eof", status=0)
    first, second = map(json.loads, path.read_text().splitlines())
    assert 0 <= first.pop("t") <= second["t"] < 60
    stamp = dt.datetime.fromisoformat(first.pop("wall"))
    assert stamp.tzinfo == dt.UTC
    assert first == {
        "transport": "http",
        "event": "received",
        "http_method": "POST",
        "headers": {},
        "id": 1,
        "method": "x",
        "params": {"a": "\ud800"},
    }
    assert (second["event"], second["cause"], second["status"]) == ("exit", "eof", 0)


def test_it_is_appended_to_and_private(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for _ in range(2):
        DemoLog(path, "stdio").event("start", pid=1)
    assert len(path.read_text().splitlines()) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_path_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    DemoLog(None, "stdio").event("start", pid=1)
    assert list(tmp_path.iterdir()) == []
