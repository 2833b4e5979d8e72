"""ctrl+z of an app that a script started: prints the states of both. T (stopped) is expected of both, as for any program.

A shell waits for the script, so it does not notice that the app was stopped, and the terminal hangs.
"""

import os
import pty
import sys
import time
from pathlib import Path

from textual.app import App


class Suspending(App[None]):
    """Suspends itself after a second, as ctrl+z does."""

    def on_mount(self) -> None:
        self.set_timer(1, self.action_suspend_process)


if len(sys.argv) > 1:
    Suspending().run()
    sys.exit()


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


pid, terminal = pty.fork()
if not pid:
    os.execv("/bin/sh", ["sh", "-c", f"{sys.executable} {__file__} app; true"])
until = time.monotonic() + 4
os.set_blocking(terminal, False)
while time.monotonic() < until:
    try:
        os.read(terminal, 65536)
    except BlockingIOError:
        time.sleep(0.05)
app = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
print(f"app: {state(app)}, script: {state(pid)}")
os.kill(app, 9)
os.kill(pid, 9)
