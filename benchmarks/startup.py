"""From the start of a process to its first frame, next to a Textual app with one line of text in the same run.

``python -m benchmarks.startup [ROUNDS]`` starts both in turns on a pseudo-terminal of 140 by 40, in an environment of its
own, and waits for the words that the first frame has. It prints the processor time and the time by the clock, the
least and the median of each, and the ratios to the bare app. Trust the ratios, and of the times those of the processor:
the clock also counts what else the machine does. Both are compiled before, as what pip installs is.

The first frame of the workbench has its places and the server's name, and takes keys; client and panes are loaded when it
can be seen. So that nothing is merely moved behind it, one more moment is measured from the start: when it shows what the
server offers. The server's own processor time is not part of that; that of the clock is.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

ROUNDS = 7
HANG = 30.0

BARE = """
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("the first frame")

Bare().run()
"""

DEMO = [sys.executable, "-m", "mcp_tui", "--demo", "--no-journal"]

RUNS = {
    "bare": ([sys.executable, "-c", BARE], {"first": b"first frame"}),
    "ours": (DEMO, {"first": b"Requests", "tools": b"Tools"}),
}
"""Commands, and the words that their frames have."""

Taken = tuple[float, float]
"""Milliseconds by the clock and of the processor."""


def frames(command: list[str], words: dict[str, bytes], folder: str) -> dict[str, Taken]:
    """From the start until the frame with each of these words, in their order.

    Raises:
        RuntimeError: a frame does not come.
    """
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "XDG_STATE_HOME": folder,
        "XDG_DATA_HOME": folder,
        "XDG_CONFIG_HOME": folder,
        "PYTHONPYCACHEPREFIX": f"{folder}/compiled",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        os.execve(command[0], command, environment)
    seen, taken = b"", dict[str, Taken]()
    try:
        for name, text in words.items():
            while text not in seen:
                if not select.select([terminal], [], [], HANG)[0]:
                    raise RuntimeError(seen.decode(errors="replace"))
                try:
                    seen += os.read(terminal, 65536)
                except OSError:
                    raise RuntimeError(seen.decode(errors="replace")) from None
            clock = time.perf_counter() - began
            threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
            processor = sum(int(each.read_text(encoding="ascii").split()[0]) for each in threads) / 1e9
            taken[name] = clock * 1000, processor * 1000
    finally:
        os.kill(pid, signal.SIGTERM)
        _drain(terminal)
        os.waitpid(pid, 0)
        os.close(terminal)
    return taken


def measured(rounds: int) -> dict[str, dict[str, list[Taken]]]:
    """All frames, in turns, so that a noisy machine is noisy for both; the first round only compiles."""
    found: dict[str, dict[str, list[Taken]]] = {
        client: {name: [] for name in words} for client, (_, words) in RUNS.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for client, run in RUNS.items():
                for name, taken in frames(*run, folder).items():
                    found[client][name] += [taken] if number else []
    return found


def _drain(terminal: int) -> None:
    """Read what a process says on its way out, so that it is not held up by a full terminal."""
    until = time.monotonic() + 5
    while time.monotonic() < until and select.select([terminal], [], [], 5)[0]:
        try:
            if not os.read(terminal, 65536):
                return
        except OSError:
            return


def main() -> None:
    """Measure, print."""
    found = measured(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
    print(f"{'':12} {'processor':>12} {'median':>9} {'clock':>10} {'median':>9}   ratios")
    least: list[list[float]] = []
    for client, named in found.items():
        for name, taken in named.items():
            clock, processor = ([each[part] for each in taken] for part in (0, 1))
            numbers = [min(processor), statistics.median(processor), min(clock), statistics.median(clock)]
            least.append(numbers)
            ratios = "  ".join(f"{mine / bare:.2f}" for mine, bare in zip(numbers, least[0], strict=True))
            first, second, third, fourth = numbers
            label = f"{client} {name}"
            print(f"{label:12} {first:9.0f} ms {second:6.0f} ms {third:7.0f} ms {fourth:6.0f} ms   {ratios}")


if __name__ == "__main__":
    main()
