"""What the screen costs in a real terminal of 140×40, its journal on: ``python -m benchmarks.screen [LOAD …]``.

Each of :data:`LOADS` is measured without a key first: kB a second to the terminal, the share of a core. Then keys move the
cursor: from the byte of a key until the terminal has read the frame that shows it. The last line is JSON.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import math
import os
import pty
import random
import re
import signal
import statistics
import struct
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyte

SIZE = 140, 40
STEADY_SECONDS = 2.0
KEYS = int(os.environ.get("KEYS", "60"))
KEY_SECONDS = 0.06
"""Seconds between two keys, on average."""

Figures = dict[str, float]


class Load(NamedTuple):
    """What goes on: finished requests, calls a second, requests in flight, notifications a second."""

    finished: int = 20
    calls: int = 0
    in_flight: int = 0
    notifications: int = 0


LOADS = {
    "idle": Load(),
    "in_flight": Load(in_flight=10),
    "notes_100": Load(notifications=100),
    "notes_1000": Load(notifications=1000),
    "calls": Load(finished=400, calls=50),
    "old": Load(finished=50_000, calls=50),
}


# -- in the terminal -------------------------------------------------------------------------------------------


def child(load: Load, folder: Path) -> None:
    """The workbench under a load; it says in a file when that goes on."""
    from benchmarks.driver import SERVER
    from mcp_tui.client.client import Client
    from mcp_tui.client.client_settings import ClientSettings, StdioTarget, Target
    from mcp_tui.journal.store import Store
    from mcp_tui.journal.writer import Writer
    from mcp_tui.protocol.states import Limits
    from mcp_tui.tui.app import WorkbenchApp

    target = StdioTarget(command=(sys.executable, "-S", SERVER, f"{folder}/cancels"), name="bench")
    settings = ClientSettings(
        protocol="2025-11-25", limits=Limits(timeout=None, max_timeout=None), log_level=""
    )

    def client(_: Target) -> Client:
        store = Store(Writer(folder / "journal.jsonl"), soon=asyncio.get_running_loop().call_soon)
        return Client(target, settings, store=store)

    app = WorkbenchApp(target, client)

    async def loaded() -> None:
        while app.session is None or "tools" not in app.session.catalogue.entries:
            await asyncio.sleep(0.05)
        called = app.session.client
        for _ in range(0, load.finished, 500):
            ids = [called.call_tool("echo", {}) for _ in range(min(500, load.finished))]
            await asyncio.gather(*map(called.wait, ids))
        if load.notifications:
            await called.wait(called.call_tool("pour", {"rate": load.notifications}))
        for _ in range(load.in_flight):
            called.call_tool("silent", {})
        (folder / "ready").touch()
        due = time.monotonic()
        while load.calls:
            called.call_tool("echo", {})
            due += 1 / load.calls
            await asyncio.sleep(due - time.monotonic())

    async def main() -> None:
        loading = asyncio.create_task(loaded())
        await app.run_async()
        loading.cancel()

    gc.disable()  # as the command does: the app turns it on again behind its first frame
    asyncio.run(main())


# -- at the terminal -------------------------------------------------------------------------------------------


class Terminal:
    """A terminal with the workbench in it; keeps all that came, and when."""

    def __init__(self, load: Load, folder: str) -> None:
        words = [sys.executable, __file__, "--child", json.dumps(load), folder]
        homes = {f"XDG_{each}_HOME": folder for each in ("STATE", "CONFIG", "DATA", "CACHE")}
        variables = {**os.environ, **homes, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.pid, self._near = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
            os.execve(words[0], words, variables)
        self.came: list[tuple[float, bytes]] = []
        self._screen, self._display = pyte.Screen(*SIZE), ""
        self._stream, self._fed = pyte.ByteStream(self._screen), 0
        threading.Thread(target=self._read, daemon=True).start()
        until(Path(folder, "ready").exists)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._near, 1 << 16)
            except OSError:
                return
            self.came.append((time.monotonic(), data))

    def press(self, key: bytes) -> float:
        """When it was pressed."""
        at = time.monotonic()
        os.write(self._near, key)
        return at

    def shows(self, text: str) -> bool:
        """Whether a text is on the screen now."""
        if self._fed < len(self.came):
            new = self.came[self._fed :]
            self._fed += len(new)
            self._stream.feed(b"".join(data for _, data in new))
            self._display = "\n".join(self._screen.display)
        return text in self._display

    def processor(self) -> float:
        """Seconds of the processor that it took so far."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text(encoding="ascii").split()[0]) for each in threads) / 1e9

    def written(self) -> int:
        """Bytes so far."""
        return sum(len(data) for _, data in self.came)

    def end(self) -> None:
        """End it, without a good end."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def until(done: Callable[[], object]) -> None:
    """Wait for something, a minute at most."""
    late = time.monotonic() + 60
    while not done():
        if time.monotonic() > late:
            raise SystemExit(f"{done} did not come")
        time.sleep(0.002)


CURSOR = re.compile(r"›.*? (\d+) +tools/call ")


def under_cursor(screen: pyte.Screen) -> int:
    """The id of the request under the cursor; 0 if there is none."""
    found = next(filter(None, map(CURSOR.search, screen.display)), None)
    return int(found[1]) if found else 0


def repaints(came: list[tuple[float, bytes]], pressed: list[tuple[float, int]]) -> list[float]:
    """Milliseconds from each key, which adds a number to the id under the cursor, to the frame that shows it."""
    screen = pyte.Screen(*SIZE)
    stream = pyte.ByteStream(screen)
    taken: list[float] = []
    shown, wanted = 0, list[int]()
    for at, data in came:
        if at >= pressed[0][0] and not wanted:
            shown = under_cursor(screen)
            wanted = [shown + sum(by for _, by in pressed[: number + 1]) for number in range(len(pressed))]
        stream.feed(data)
        if not wanted:
            continue
        now = under_cursor(screen)
        if now != shown:
            shown = now
            ahead = wanted[len(taken) : len(taken) + 30]  # one frame may show several keys
            drawn = ahead.index(now) + 1 if now in ahead else 0
            taken += [(at - key) * 1000 for key, _ in pressed[len(taken) : len(taken) + drawn]]
    return taken


def measured(name: str) -> Figures:
    """All figures of a load."""
    load = LOADS[name]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        terminal = Terminal(load, folder)
        try:
            time.sleep(1.0)  # what the app still does behind its first frame is not steady
            began, bytes_, spent = time.monotonic(), terminal.written(), terminal.processor()
            time.sleep(STEADY_SECONDS)
            taken = time.monotonic() - began
            figures = {
                "kB": (terminal.written() - bytes_) / 1000 / taken,
                "core": (terminal.processor() - spent) / taken * 100,
            }
            pressed: list[tuple[float, int]] = []
            pick = random.Random(1)
            for number in range(KEYS):
                # while requests come, the one under the cursor goes down by itself
                down = not load.calls and number // 10 % 2 == 0
                pressed.append((terminal.press(b"\x1b[B" if down else b"\x1b[A"), -1 if down else 1))
                time.sleep(KEY_SECONDS * pick.uniform(0.6, 1.4))
            time.sleep(0.5)
        finally:
            terminal.end()
    found = sorted(repaints(terminal.came, pressed))
    if len(found) < KEYS * 0.8:
        raise SystemExit(f"{name}: only {len(found)} of {KEYS} keys were drawn")
    p99 = found[math.ceil(len(found) * 0.99) - 1]
    return figures | {"median": statistics.median(found), "p99": p99, "worst": found[-1]}


def main() -> None:
    """Measure, print."""
    named = [each for each in sys.argv[1:] if each in LOADS] or list(LOADS)
    print(f"{'':12} {'kB/s':>7} {'a core':>7} {'key: median':>12} {'p99':>8} {'worst':>8}")
    found: Figures = {}
    for name in named:
        each = measured(name)
        print(
            f"{name:12} {each['kB']:7.1f} {each['core']:6.1f}% {each['median']:9.1f} ms {each['p99']:5.0f} ms"
            f" {each['worst']:5.0f} ms",
            flush=True,
        )
        found |= {f"{name}_{figure}": value for figure, value in each.items()}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Load(*json.loads(sys.argv[2])), Path(sys.argv[3]))
    else:
        main()
