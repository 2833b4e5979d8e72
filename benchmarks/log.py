"""What the cancellation log costs over a session of a million frames.

``python -m benchmarks.log [FRAMES]`` writes a journal (calls and answers, one in a thousand cancelled), and prints how
long ``mcp-tui log`` takes the first time, when it reads the file, and from then on, from the index; and with how much
memory. The journal's folder is a new one and goes afterwards.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcp_tui.journal.files import new_journal_path
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Signal

EVERY = 1000
"""Of so many calls one is cancelled."""

MEASURE = """
import resource, sys
from mcp_tui.cli import main
status = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


def write(frames: int) -> Path:
    """A journal of so many frames, with two calls in five that make progress once."""
    writer = Writer(new_journal_path("bench"))
    store = Store(writer, soon=lambda _: None)
    store.event(ev.Connected(at=0.0, transport="stdio", revision="2025-11-25", server="bench 1"))
    id_ = seq = 0
    at = 0.0
    while seq < frames:
        id_ += 1
        at += 0.001
        params = {"name": "query", "arguments": {"sql": f"select {id_}"}, "_meta": {"progressToken": id_}}
        raw = json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}).encode()
        store.event(ev.Called(at=at, id=id_, method="tools/call", name=f"tool_{id_ % 7}"))
        seq = store.frame("out", raw, at=at, method="tools/call", id=id_)
        store.event(ev.Sent(at=at, id=id_, seq=seq))
        if id_ % 5 < 2:
            progress = {"progressToken": id_, "progress": 1, "message": "on it"}
            note = json.dumps(
                {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
            ).encode()
            seq = store.frame("in", note, at=at, method="notifications/progress")
            store.event(ev.Progress(at=at, id=id_, progress=1.0, message="on it", seq=seq))
        if id_ % EVERY == 0:
            store.event(ev.CancelRequested(at=at, id=id_, cause=Cause.USER, reason="too slow"))
            store.event(ev.CancelSignalled(at=at, id=id_, signal=Signal.NOTIFICATION, reason_delivered=True))
        answer = {"content": [{"type": "text", "text": f"row {id_} " * 8}]}
        seq = store.frame(
            "in", json.dumps({"jsonrpc": "2.0", "id": id_, "result": answer}).encode(), at=at, id=id_
        )
        if id_ % EVERY == 0:
            store.event(ev.Late(at=at, id=id_, kind=Kind.RESULT, after=0.001 * (id_ % 100), seq=seq))
            store.event(ev.Settled(at=at, id=id_, detail="answered late"))
        else:
            store.event(ev.Completed(at=at, id=id_, size=200, seq=seq))
    store.close()
    return writer.path


def run(*words: str) -> tuple[float, int, bytes]:
    """Seconds, kilobytes at most, and what was printed."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", MEASURE, *words], capture_output=True, check=True)
    took = time.perf_counter() - began
    return took, int(done.stderr.split()[-1]), done.stdout


def main(frames: int) -> None:
    """Write, read, and print what it took."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MCP_TUI_STATE"] = folder
        began = time.perf_counter()
        path = write(frames)
        size = sum(each.stat().st_size for each in path.parent.glob("*.jsonl"))
        print(f"written: {frames:,} frames, {size / 1e6:.0f} MB, {time.perf_counter() - began:.1f} s")
        for name, words in {
            "log, first": ("log",),
            "log": ("log",),
            "log --json": ("log", "--json"),
            "log --sums": ("log", "--sums"),
        }.items():
            took, memory, out = run(*words)
            print(f"{name:12} {took:6.2f} s  {memory / 1024:5.0f} MB  {len(out.splitlines()):,} lines")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
