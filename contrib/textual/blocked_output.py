"""A terminal that does not read: prints how long Textual's event loop was blocked. Less than 1 s is expected.

Run without arguments: the app runs in a pty whose other side is read for a second, then not for six, as after ctrl+s.
"""

import os
import pty
import sys
import tempfile
import time
from pathlib import Path

from textual.app import App, ComposeResult
from textual.widgets import Static


class Ticking(App[None]):
    """Redraws its screen, and writes the longest time between two ticks of 50 ms into a file."""

    longest, last = 0.0, 0.0

    def compose(self) -> ComposeResult:
        yield Static()

    def on_mount(self) -> None:
        self.last = time.monotonic()
        self.set_interval(0.05, self.tick)

    def tick(self) -> None:
        now = time.monotonic()
        self.longest, self.last = max(self.longest, now - self.last), now
        Path(sys.argv[1]).write_text(f"{self.longest:.2f}")
        self.query_one(Static).update("\n".join(f"{now} {line} " * 6 for line in range(40)))


if len(sys.argv) > 1:
    Ticking().run()
    sys.exit()

with tempfile.NamedTemporaryFile() as file:
    pid, terminal = pty.fork()
    if not pid:
        os.environ |= {"TERM": "xterm-256color", "LINES": "40", "COLUMNS": "140"}
        os.execv(sys.executable, [sys.executable, __file__, file.name])
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        os.read(terminal, 65536)
    time.sleep(6)  # nobody reads
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        os.read(terminal, 65536)
    print(f"longest time between two ticks: {Path(file.name).read_text()} s")
    os.kill(pid, 9)
