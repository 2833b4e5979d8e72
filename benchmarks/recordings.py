"""What commands take for a long recording, beside ``jq -c .``: ``python -m benchmarks.recordings [MB [NAME …]]``.

It writes a recording of so many MB (100), and runs each command of :data:`COMMANDS` in turns, ``ROUNDS`` times (3), with the
build in ``.real/before`` too, where it is installed. For each it prints the median of the seconds, of those of the
processor, and the memory of its largest process at its height; then the seconds beside those of ``jq``, and beside that
build. The last line is JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.beside import BUILDS

BEGAN: Final = time.perf_counter()
ROUNDS: Final = int(os.environ.get("ROUNDS", "3"))

COMMANDS: Final = {
    "check": ("check", "{file}", "--fail-on", "tool:none"),
    "check late": ("check", "{file}", "--fail-on", "outcome:late_result"),
    "csv": ("export", "{file}", "--format", "csv"),
    "otlp": ("export", "{file}", "--format", "otlp"),
    "sums": ("log", "--sums", "{file}"),
}

GOALS: Final = {"check": 0.7, "check late": 0.7, "csv": 0.7, "otlp": 0.7, "sums": 0.1}
"""The goals beside ``jq``."""

MCP_TUI: Final = str(Path(sys.executable).with_name("mcp-tui"))
CALLS: Final = {
    "count": ("count", "seconds=0.07", "steps=7"),
    "cancelled": ("stubborn", "seconds=0.3", "--cancel-after", "0.05", "--linger", "0.5"),
}
"""The calls of a recording, as a user types them; one in two hundred is cancelled."""

_VALUES: Final = re.compile(rb'"mono":([\d.]+)|"seq":(\d+)|(\\?"(?:id|progressToken|requestId)\\?"):3\b')


def write(path: Path, size: int) -> int:
    """Writes a recording of ``size`` bytes: real calls of the demo server, repeated with new ids and times.

    Returns the number of calls.
    """
    head, tail, blocks = b"", b"", list[_Block]()
    with tempfile.TemporaryDirectory() as folder:
        for name, words in CALLS.items():
            file = Path(folder, f"{name}.jsonl")
            subprocess.run(
                [MCP_TUI, "call", "--demo", "--record", str(file), *words], capture_output=True, check=False
            )
            lines = file.read_bytes().splitlines(keepends=True)
            first = next(
                n for n, line in enumerate(lines) if b'"event":"called"' in line and b'"id":3' in line
            )
            head, block, tail = head or b"".join(lines[:first]), b"".join(lines[first:-1]), lines[-1]
            blocks.append(_Block(block))
    base = float(re.findall(rb'"mono":([\d.]+)', head)[-1])
    seq = int(re.findall(rb'"seq":(\d+)', head)[-1]) and max(map(int, re.findall(rb'"seq":(\d+)', head)))
    call = 0
    with path.open("wb") as out:
        written = out.write(head)
        while written < size:
            block = blocks[call % 200 == 199]
            written += out.write(block.text % block.values(call + 3, seq, base))
            seq, base, call = seq + block.frames, base + block.seconds, call + 1
        out.write(re.sub(rb'"mono":[\d.]+', b'"mono":%.6f' % base, tail))
    return call


class _Block:
    """The records of one call, with places for its times and numbers."""

    def __init__(self, block: bytes) -> None:
        times = [float(each) for each in re.findall(rb'"mono":([\d.]+)', block)]
        seqs = [each for each in map(int, re.findall(rb'"seq":(\d+)', block)) if each]
        began, before = times[0], min(seqs) - 1
        self.frames, self.seconds = max(seqs) - before, times[-1] - began + 0.01
        self.places: list[tuple[str, float]] = []

        def place(found: re.Match[bytes]) -> bytes:
            if found[1]:
                self.places.append(("mono", float(found[1]) - began))
                return b'"mono":%.6f'
            if found[2]:
                number = int(found[2])
                self.places.append(("seq", number - before) if number else ("none", 0))
                return b'"seq":%d'
            self.places.append(("id", 0))
            return found[3] + b":%d"

        self.text = _VALUES.sub(place, block.replace(b"%", b"%%"))

    def values(self, id: int, seq: int, base: float) -> tuple[float, ...]:
        """Returns the values of the places for a call."""
        add = {"mono": base, "seq": seq, "none": 0, "id": id}
        return tuple(add[kind] + value for kind, value in self.places)


def run(command: list[str], state: str) -> tuple[float, float, float]:
    """Runs a command; returns its seconds, those of the processor, and the MB of its largest process."""
    began = time.perf_counter()
    with Path(os.devnull).open("wb") as nothing:
        environment = {**os.environ, "MCP_TUI_STATE": state}
        process = subprocess.Popen(command, stdout=nothing, stderr=nothing, env=environment)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    kilobytes = used.ru_maxrss / (1 if sys.platform != "darwin" else 1024)
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, kilobytes / 1000


async def replay(path: Path) -> None:
    """Prints when the last request is on the screen, how long keys take while the rest is read, and when all is read."""
    # Imported late: this is a part of the time that is measured.
    from mcp_tui.journal.recording import Recording
    from mcp_tui.tui.app import WorkbenchApp
    from mcp_tui.tui.screens.replay import TAIL_BYTES, ReplayScreen, TailScreen

    opening = partial(TailScreen, Recording(path), Recording(path, tail=TAIL_BYTES))
    app = WorkbenchApp(None, opening=opening)

    def shown() -> ReplayScreen | None:
        return app.screen if isinstance(app.screen, ReplayScreen) else None

    async with app.run_test(size=(140, 40)):
        while (screen := shown()) is None or screen.table.selected is None:
            await asyncio.sleep(0.002)
        first, taken = time.perf_counter() - BEGAN, list[float]()
        for key in ("end", "home", "pagedown", "5", "pageup", "1", "slash", "4", "2", "enter", "escape") * 5:
            if isinstance(shown(), TailScreen):
                began, painted = time.perf_counter(), asyncio.Event()
                app.simulate_key(key)
                app.call_after_refresh(painted.set)
                await painted.wait()
                taken.append(1000 * (time.perf_counter() - began))
        while isinstance(shown(), TailScreen | None):
            await asyncio.sleep(0.01)
        whole = time.perf_counter() - BEGAN
    taken = taken or [0.0]
    keys = f"{statistics.median(taken):.0f} ms, at most {max(taken):.0f} ms ({len(taken)} keys)"
    print(f"replay     last screen {first:.2f} s, keys until all is read {keys}, all {whole:.1f} s")


def main() -> int:
    """Measures the commands in turns."""
    if sys.argv[1:2] == ["replay"]:
        asyncio.run(replay(Path(sys.argv[2])))
        return 0
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 100.0
    names = sys.argv[2:] or [*COMMANDS]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "long.jsonl")
        print(f"{write(path, int(size * 1e6)):,} calls in {size:,.0f} MB", flush=True)
        commands = {("jq", ""): ["jq", "-c", ".", str(path)]}
        for name in names:
            words = [each.format(file=path) for each in COMMANDS[name]]
            commands |= {
                (name, "" if build == "ours" else build): [found, *words] for build, found in BUILDS.items()
            }
        runs = {each: list[tuple[float, float, float]]() for each in commands}
        subprocess.run([sys.executable, "-m", "benchmarks.recordings", "replay", str(path)], check=True)
        for _ in range(ROUNDS):
            for each, command in commands.items():
                runs[each].append(run(command, folder))
    taken = {
        each: [statistics.median(column) for column in zip(*found, strict=True)]
        for each, found in runs.items()
    }
    jq = taken["jq", ""]
    for (name, program), (seconds, cpu, memory) in taken.items():
        text = f"{name:<11}{program:<7}{seconds:8.2f} s {cpu:8.2f} s CPU {memory:6.0f} MB"
        text += (
            f"  {seconds / jq[0]:5.2f} of jq (CPU {cpu / jq[1]:.2f}; goal {GOALS[name]})"
            if name in GOALS
            else ""
        )
        if (base := taken.get((name, "before"))) and not program:
            text += f"  {seconds / base[0]:5.2f} of 5dad7e7b (CPU {cpu / base[1]:.2f})"
        print(text)
    found: dict[str, dict[str, float]] = {"jq": {"seconds": jq[0]}}
    for (name, program), (seconds, _, memory) in taken.items():
        if name != "jq":
            figures = found.setdefault(program or "ours", {"mb": 0.0})
            figures |= {name: seconds, "mb": max(memory, figures["mb"])}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
