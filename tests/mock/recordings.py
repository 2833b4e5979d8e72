"""Recordings as somebody writes them by hand: a header, and a line for each message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

Frame = dict[str, Any]

COUNT: Final[Frame] = {"name": "count", "arguments": {"n": 3}}
STOPPED: Final[Frame] = {"code": -32800, "message": "Request cancelled"}


def call(id_: Any, at: float, params: Frame = COUNT, method: str = "tools/call") -> tuple[float, str, Frame]:
    return (
        at,
        "out",
        {
            "jsonrpc": "2.0",
            "id": id_,
            "method": method,
            "params": {"_meta": {"progressToken": id_}, **params},
        },
    )


def cancel(id_: Any, at: float) -> tuple[float, str, Frame]:
    return at, "out", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}


def progress(token: Any, at: float, value: int) -> tuple[float, str, Frame]:
    params = {"progressToken": token, "progress": value}
    return at, "in", {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def answer(id_: Any, at: float, text: str = "done") -> tuple[float, str, Frame]:
    return at, "in", {"jsonrpc": "2.0", "id": id_, "result": {"content": [{"type": "text", "text": text}]}}


def error(id_: Any, at: float) -> tuple[float, str, Frame]:
    return at, "in", {"jsonrpc": "2.0", "id": id_, "error": STOPPED}


def session(*moments: tuple[float, str, Frame], target: str = "server") -> str:
    lines: list[Frame] = [{"record": "session", "v": 1, "id": "a", "mono": 100.0, "target": target}]
    for seq, (at, way, frame) in enumerate(moments, 1):
        lines.append(
            {"record": "frame", "seq": seq, "mono": 100.0 + at, "dir": way, "raw": json.dumps(frame)}
        )
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in lines)


def written(folder: Path, *sessions: str) -> Path:
    path = folder / "recording.jsonl"
    path.write_text("".join(sessions), encoding="utf-8")
    return path
