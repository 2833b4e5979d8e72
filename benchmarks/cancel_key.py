"""How soon a cancel reaches the server after its key: ``python -m benchmarks.cancel_key [TIMES [RATE …]]``.

In a real terminal, while the server sends RATE notifications a second: from the byte of enter in the prompt for a
reason to the byte of the cancel at the server. 99 of 100 have to take at most 20 ms. The last line is JSON.
"""

from __future__ import annotations

import json
import math
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

RATES = (0, 100, 10_000, 50_000)

SERVER = r"""
import json, sys, threading, time
log, rate = open(sys.argv[1], "a"), int(sys.argv[2])
lock = threading.Lock()
def say(**message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n"); sys.stdout.flush()
def flood():
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}) + "\n"
    due = time.monotonic()
    each = max(1, rate // 200)
    while rate:
        with lock:
            sys.stdout.write(note * each); sys.stdout.flush()
        due += each / rate
        time.sleep(max(0.0, due - time.monotonic()))
for line in sys.stdin:
    now = time.monotonic(); m = json.loads(line); method = m.get("method")
    if method == "initialize":
        say(id=m["id"], result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "flood", "version": "1"}})
        threading.Thread(target=flood, daemon=True).start()
    elif method == "tools/list":
        print("list", now, file=log, flush=True)
        say(id=m["id"], result={"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]})
    elif method == "notifications/cancelled":
        print("cancel", now, file=log, flush=True)
    elif method == "tools/call":
        print("call", now, file=log, flush=True)
    elif "id" in m and method:
        say(id=m["id"], error={"code": -32601, "message": "no"})
"""


def measured(times: int, rate: int) -> list[float]:
    """Milliseconds from each enter to its cancel."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "heard"
        log.touch()
        near, far = pty.openpty()
        homes = {f"XDG_{each}_HOME": folder for each in ("STATE", "CONFIG", "DATA", "CACHE")}
        program = [
            sys.executable,
            "-m",
            "mcp_tui",
            "--",
            sys.executable,
            "-S",
            "-c",
            SERVER,
            str(log),
            str(rate),
        ]
        size = {"COLUMNS": "120", "LINES": "36", "TERM": "xterm-256color"}
        app = subprocess.Popen(
            program, stdin=far, stdout=far, stderr=far, env={**os.environ, **homes, **size, "HOME": folder}
        )
        threading.Thread(target=_read, args=(near,), daemon=True).start()
        try:
            _said(log, "list", lambda: None)
            time.sleep(1)
            return [_once(near, log) for _ in range(times)]
        finally:
            app.kill()
            app.wait()


def _read(terminal: int) -> None:
    while True:
        try:
            os.read(terminal, 1 << 16)
        except OSError:
            return


def _once(terminal: int, log: Path) -> float:
    for keys, pause in ((b"n", 0.4), (b"wait", 0.2)):
        os.write(terminal, keys)
        time.sleep(pause)
    _said(log, "call", lambda: os.write(terminal, b"\x13"))
    time.sleep(0.8)  # a key does not act on a row that changed just now
    os.write(terminal, b"c")
    time.sleep(0.6)
    sent = time.monotonic()
    at = _said(log, "cancel", lambda: os.write(terminal, b"\r"))
    time.sleep(0.2)
    return (at - sent) * 1000


def _said(log: Path, word: str, do: Callable[[], object]) -> float:
    """Does something and waits until the server logs that it heard it; returns when that was."""
    count = log.read_text().count(word)
    do()
    until = time.monotonic() + 60
    while (text := log.read_text()).count(word) == count:
        if time.monotonic() > until:
            raise SystemExit(f"the server heard no {word}")
        time.sleep(0.002)
    return float(text.rpartition(f"{word} ")[2].split()[0])


def main() -> None:
    """Print the figures."""
    times, *rates = map(int, sys.argv[1:]) if len(sys.argv) > 1 else (100,)
    figures: dict[str, float] = {}
    for rate in rates or RATES:
        found = sorted(measured(times, rate))
        median, p99 = statistics.median(found), found[math.ceil(len(found) * 0.99) - 1]
        figures |= {f"{rate}_median": median, f"{rate}_p99": p99}
        print(
            f"enter to cancel, {rate:,} notifications/s: median {median:.1f} ms, p99 {p99:.1f} ms, worst "
            f"{found[-1]:.1f} ms of {times} (goal: p99 20 ms)",
            flush=True,
        )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
