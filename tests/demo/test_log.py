from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

from mcp_tui.demo.demo_log import DemoLog


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
