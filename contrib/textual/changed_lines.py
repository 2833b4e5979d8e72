"""A list that moves down: prints the bytes that Textual writes, and those of the cells that changed."""

import os
import pty
import sys
import time

import pyte
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

WIDTH, HEIGHT, FRAMES = 120, 40, 50


class Rows(ScrollView):
    """Rows of which one more comes at the top with each frame. They differ in a number."""

    count = 0

    def on_mount(self) -> None:
        self.virtual_size = Size(WIDTH, HEIGHT)

    def render_line(self, y: int) -> Strip:
        green, grey = Style.parse("green"), Style.parse("grey50")
        cells = [
            Segment("● ", green),
            Segment(f"{self.count - y:>6} "),
            Segment("tools/call echo ", grey),
            Segment("completed ", green),
        ]
        return Strip([*cells, Segment("─" * 60, grey)]).adjust_cell_length(WIDTH)


class Moving(App[None]):
    """Draws 50 frames."""

    def compose(self) -> ComposeResult:
        yield Rows()

    def on_mount(self) -> None:
        self.set_interval(0.05, self.step, repeat=FRAMES)
        self.set_timer(0.05 * FRAMES + 1, self.exit)

    def step(self) -> None:
        rows = self.query_one(Rows)
        rows.count += 1
        rows.refresh()


if len(sys.argv) > 1:
    Moving().run()
    sys.exit()

pid, terminal = pty.fork()
if not pid:
    os.environ |= {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LINES": str(HEIGHT),
        "COLUMNS": str(WIDTH),
    }
    os.execv(sys.executable, [sys.executable, __file__, "app"])
screen = pyte.Screen(WIDTH, HEIGHT)
stream = pyte.ByteStream(screen)
before, written, changed = [], 0, 0
while True:
    try:
        data = os.read(terminal, 1 << 20)
    except OSError:
        break
    stream.feed(data)
    after = [[screen.buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]
    if before:
        written += len(data)
        changed += sum(
            old != new
            for olds, news in zip(before, after, strict=True)
            for old, new in zip(olds, news, strict=True)
        )
    before = after
    time.sleep(0.02)
print(f"{written / FRAMES:,.0f} bytes a frame, in which {changed / FRAMES:,.0f} cells changed")
