"""What it costs to open a recording of a million frames, to look through it, and to keep it in memory.

``python -m benchmarks.replay [FRAMES]`` writes three recordings (many short calls; calls with progress; one call with a
storm of progress), opens each in a process of its own at 140×40, and prints: seconds from the start of the process to the
first frame of the screen, and to the end of the recording on it, and how many seconds of the processor that took;
milliseconds that a key took which does nothing, which pages through the table, through the wire, and which steps back from
the end, the median and the worst of them; and the resident memory at its height, in MB.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Final

BEGAN: Final = time.perf_counter()

FRAMES: Final = 1_000_000

SHAPES: Final = {"calls": 0, "progress": 98, "storm": -1}
"""Notifications of progress for each call; -1: all in one call."""

PAGES: Final = 40

HANG: Final = 60.0
"""Seconds after which a recording that does not open is given up."""


def write(file: IO[bytes], frames: int, progress: int) -> None:
    """A recording of so many frames: calls one after the other, each with so much progress."""
    each = frames - 2 if progress < 0 else progress
    header = b'{"record":"session","v":1,"id":"5be1f20c9a44","wall":1795230900.5,"mono":100.0,"app":"0","target":"x"}\n'
    file.write(header)
    for call in range(frames // (each + 2)):
        file.writelines(_call(call + 1, call * (each + 2), each))


def _call(id_: int, seq: int, progress: int) -> Iterator[bytes]:
    at = 100 + seq / 10_000
    yield (
        b'{"record":"event","event":"called","mono":%f,"id":%d,"method":"tools/call","name":"slow_sql","limits":'
        b'{"idle":60.0,"maximum":600.0,"ask":0.0},"own":false,"parent":null,"as_task":false,"seq":0}\n'
        % (at, id_)
    )
    yield (
        b'{"record":"frame","seq":%d,"mono":%f,"dir":"out","method":"tools/call","id":%d,"raw":"{\\"jsonrpc\\":\\"2.0\\",'
        b'\\"id\\":%d,\\"method\\":\\"tools/call\\",\\"params\\":{\\"name\\":\\"slow_sql\\",\\"arguments\\":{\\"query\\":'
        b'\\"select 1\\"},\\"_meta\\":{\\"progressToken\\":%d}}}"}\n' % (seq + 1, at, id_, id_, id_)
    )
    yield b'{"record":"event","event":"sent","mono":%f,"id":%d,"seq":%d}\n' % (at, id_, seq + 1)
    for done in range(1, progress + 1):
        at = 100 + (seq + done) / 10_000
        yield (
            b'{"record":"frame","seq":%d,"mono":%f,"dir":"in","method":"notifications/progress","raw":"{\\"jsonrpc\\":'
            b'\\"2.0\\",\\"method\\":\\"notifications/progress\\",\\"params\\":{\\"progressToken\\":%d,\\"progress\\":%d,'
            b'\\"total\\":%d}}"}\n' % (seq + 1 + done, at, id_, done, progress)
        )
        yield (
            b'{"record":"event","event":"progress","mono":%f,"id":%d,"progress":%d.0,"total":%d.0,"message":null,'
            b'"rearmed":true,"seq":%d}\n' % (at, id_, done, progress, seq + 1 + done)
        )
    at = 100 + (seq + progress + 1) / 10_000
    yield (
        b'{"record":"frame","seq":%d,"mono":%f,"dir":"in","id":%d,"raw":"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":%d,'
        b'\\"result\\":{\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"17 rows\\"}]}}"}\n'
        % (seq + 2 + progress, at, id_, id_)
    )
    yield (
        b'{"record":"event","event":"completed","mono":%f,"id":%d,"size":80,"is_error":false,"summary":"","seq":%d}\n'
        % (at, id_, seq + 2 + progress)
    )


async def look(path: Path) -> dict[str, float]:
    """Open a recording and look through it."""
    from mcp_tui.journal.recording import Recording
    from mcp_tui.tui.app import WorkbenchApp
    from mcp_tui.tui.screens.replay import ReplayScreen

    app = WorkbenchApp(None, opening=partial(ReplayScreen, Recording(path)))
    async with app.run_test(size=(140, 40)) as pilot:
        async with asyncio.timeout(HANG):
            while not isinstance(app.screen, ReplayScreen) or not len(app.screen.table.outline):
                await asyncio.sleep(0.005)
        first = time.perf_counter() - BEGAN
        screen = app.screen
        while app.is_running and screen.playback.read is not None:
            await asyncio.sleep(0.005)
        screen.look()
        whole, cpu = time.perf_counter() - BEGAN, time.process_time()
        await pilot.pause()

        async def pressed(key: str) -> float:
            start = time.perf_counter()
            await pilot.press(key)
            return 1000 * (time.perf_counter() - start)

        idle = [await pressed("f12") for _ in range(PAGES)]
        table = [await pressed("pagedown") for _ in range(PAGES)]
        await pilot.press("5")
        wire = [await pressed("pageup") for _ in range(PAGES)]
        await pilot.press("escape")
        back = [await pressed("comma") for _ in range(10)]
    found = {"first": first, "whole": whole, "CPU": cpu}
    for name, times in {"idle": idle, "page": table, "wire": wire, "back": back}.items():
        found |= {name: statistics.median(times), f"worst {name}": max(times)}
    return {
        **found,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        / (1 << 10 if sys.platform != "darwin" else 1 << 20),
    }


def main() -> int:
    """Measure every shape."""
    if len(sys.argv) == 3:
        print(json.dumps(asyncio.run(look(Path(sys.argv[2])))))
        return 0
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else FRAMES
    print(f"{frames:,} frames; seconds to the first frame and to the end, milliseconds a page, MB at most")
    with tempfile.TemporaryDirectory() as folder:
        for name, progress in SHAPES.items():
            path = Path(folder, f"{name}.jsonl")
            with path.open("wb") as file:
                write(file, frames, progress)
            words = [sys.executable, "-m", "benchmarks.replay", "look", str(path)]
            ran = subprocess.run(words, capture_output=True, text=True, check=True)
            found: dict[str, float] = json.loads(ran.stdout)
            shown = "  ".join(
                f"{key} {value:.2f}" if value < 10 else f"{key} {value:.0f}" for key, value in found.items()
            )
            print(f"{name:<9} {path.stat().st_size / 1e6:4.0f} MB  {shown}", flush=True)
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
