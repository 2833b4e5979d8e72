"""Sessions as earlier runs kept them, and commands that read them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_tui.cli import main
from mcp_tui.journal.journal_files import journal_folder, make_private
from mcp_tui.journal.records import Header
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Signal
from tests.cli.running import Ran

WALL = 1_700_000_000.0  # 2023-11-14T22:13:20Z
ONE = "2023-11-14T221320-everything-1"
TWO = "2023-11-15T091500-example.com-2"


def report(capfd: pytest.CaptureFixture[str], *words: str) -> Ran:
    """Run a command in this process."""
    capfd.readouterr()
    status = main(list(words))
    out, err = capfd.readouterr()
    return Ran(status, out, err)


def keep(
    name: str,
    *events: ev.Event | Sequence[ev.Event],
    target: str = "npx everything",
    wall: float = WALL,
    path: Path | None = None,
    purpose: str = "",
) -> Path:
    """Write a session that began at 100 on its own clock: its events, and a frame for each request and answer."""
    if path is None:
        make_private(journal_folder())
        path = journal_folder() / f"{name}.jsonl"
    header = Header(id=name[-12:], wall=wall, mono=100.0, app="0.1.0", target=target, purpose=purpose)
    store = Store(Writer(path, header=header))
    for each in events:
        for event in [each] if isinstance(each, ev.Event) else each:
            _frame(store, event)
            store.event(event)
    store.close()
    return path


def _frame(store: Store, event: ev.Event) -> None:
    seq = getattr(event, "seq", 0)
    if not seq or not isinstance(event, ev.RequestEvent):
        return
    message: dict[str, object] = {"jsonrpc": "2.0", "id": event.id}
    if isinstance(event, ev.Sent):
        message |= {
            "method": "tools/call",
            "params": {"name": f"of {event.id}", "arguments": {"n": event.id}},
        }
    elif isinstance(event, ev.Failed) or (isinstance(event, ev.Late) and event.kind is Kind.ERROR):
        message |= {"error": {"code": event.code, "message": "it failed"}}
    else:
        message |= {"result": {"content": [{"type": "text", "text": f"answer to {event.id}"}]}}
    out = isinstance(event, ev.Sent)
    made = store.frame(
        "out" if out else "in",
        json.dumps(message).encode(),
        at=event.at,
        method="tools/call" if out else "",
        id=event.id,
    )
    assert made == seq, f"number the frames in order: {made}"


def connected(
    server: str = "Everything 1.0", transport: str = "stdio", revision: str = "2025-11-25"
) -> ev.Event:
    return ev.Connected(at=100.0, transport=transport, revision=revision, server=server)


def called(id: ev.RequestId, seq: int = 0, *, name: str = "slow_sql", at: float = 100.0) -> list[ev.Event]:
    return [ev.Called(at=at, id=id, method="tools/call", name=name), ev.Sent(at=at, id=id, seq=seq)]


def cancelled(
    id: ev.RequestId, at: float = 102.0, *, cause: Cause = Cause.USER, reason: str = "wrong table"
) -> list[ev.Event]:
    return [
        ev.CancelRequested(at=at, id=id, cause=cause, reason=reason),
        ev.CancelSignalled(at=at, id=id, signal=Signal.NOTIFICATION, reason_delivered=True),
    ]


def late(
    id: ev.RequestId, after: float, kind: Kind = Kind.RESULT, *, code: int | None = None, seq: int = 0
) -> ev.Event:
    return ev.Late(at=102.0 + after, id=id, kind=kind, after=after, code=code, seq=seq)


def kept() -> None:
    """Two sessions with every kind of outcome that is common."""
    keep(
        ONE,
        connected(),
        *(
            part
            for number in range(1, 4)
            for part in (called(number), cancelled(number), [ev.Settled(at=104.0, id=number)])
        ),
        called(4),
        cancelled(4),
        late(4, 2.4),
        called(5, name="count"),
        cancelled(5, cause=Cause.TIMEOUT, reason="no progress for 60 s"),
        late(5, 0.5, Kind.PROGRESS),
        late(5, 1.5, Kind.PROGRESS),
        ev.Settled(at=104.0, id=5),
        called(6),
        ev.Completed(at=104.0, id=6),
    )
    keep(
        TWO,
        connected("Other 2", "http", "2026-07-28"),
        called("a"),
        ev.CancelRequested(at=102.0, id="a", cause=Cause.USER, reason=""),
        ev.CancelSignalled(at=102.0, id="a", signal=Signal.STREAM_CLOSED, reason_delivered=False),
        ev.Settled(at=102.0, id="a"),
        target="https://example.com/mcp",
        wall=WALL + 40_000,
    )


def age(path: Path, seconds: float) -> None:
    """Let a file have been written at another moment."""
    written = path.stat().st_mtime - seconds
    os.utime(path, (written, written))
