"""Processes that work on the journals of one folder at once. Each says what it did as JSON in its last line.

Usage: busy.py write FRAMES_A_SECOND SECONDS | busy.py ask SECONDS | busy.py delete SECONDS

``write`` makes sessions, one after the other, of about 2,000 cancelled calls each, in parts of 300 kB. ``ask`` brings the
index up to date and asks it for all that was cancelled, over and over; ``delete`` takes the index away, over and over.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress

from mcp_tui.journal import index
from mcp_tui.journal.files import journal_folder, new_journal_path, prune
from mcp_tui.journal.index import Query
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Signal

FRAME = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"' + b"x" * 200 + b'"}}'


def write(rate: int, seconds: float) -> dict[str, object]:
    made: dict[str, int] = {}
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        path = new_journal_path("busy")
        prune(path.parent, keep_days=30, keep_bytes=2_000_000_000)
        writer = Writer(path, rotate=300_000)
        store = Store(writer, soon=lambda _: None)
        number = 0
        while number < 2_000 and time.monotonic() - began < seconds:
            at = time.monotonic()
            for _ in range(max(1, rate // 500)):
                store.frame("in", FRAME, at=at, method="notifications/message")
            number += 1
            for event in (
                ev.Called(at=at, id=number, method="tools/call", name="busy"),
                ev.Sent(at=at, id=number),
                ev.CancelRequested(at=at, id=number, cause=Cause.USER, reason="x"),
                ev.CancelSignalled(at=at, id=number, signal=Signal.NOTIFICATION, reason_delivered=True),
                ev.Settled(at=at, id=number),
            ):
                store.event(event)
            store.flush()
            print(writer.path.stem, number, flush=True)
            time.sleep(0.002)
        store.close()
        assert store.problems == []
        made[writer.path.stem] = number
    return {"cancelled": made}


def ask(seconds: float) -> dict[str, object]:
    began, asked, latest = time.monotonic(), 0, 0
    while time.monotonic() - began < seconds:
        folder = journal_folder()
        if folder.is_dir():
            found = index.find(index.sessions(folder), Query())
            latest = len([each.row for each in found[-50:]])
            asked += 1
        time.sleep(0.01)
    return {"asked": asked, "count": latest}


def delete(seconds: float) -> dict[str, object]:
    began, deleted = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        with suppress(OSError):
            (journal_folder() / index.NAME).unlink()
        deleted += 1
        time.sleep(0.15)
    return {"deleted": deleted}


match sys.argv[1:]:
    case ["write", rate, seconds]:
        done = write(int(rate), float(seconds))
    case ["ask", seconds]:
        done = ask(float(seconds))
    case ["delete", seconds]:
        done = delete(float(seconds))
    case other:
        raise SystemExit(f"unknown words: {other}")
print(json.dumps(done), flush=True)
