"""A key while frames are drawn: prints the median and the worst time until it acts. Few milliseconds are expected.

A frame takes 40 ms here, and one is due every 50 ms.
"""

import threading
import time

from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

KEYS = 40


class Slow(ScrollView):
    """A list of 24 rows that takes 40 ms to draw."""

    def on_mount(self) -> None:
        self.virtual_size = Size(80, 24)

    def render_line(self, y: int) -> Strip:
        time.sleep(0.04 / 24)
        return Strip.blank(80)


class Measured(App[None]):
    """Measures the time from a key at the driver to its handler."""

    pressed: list[float] = []
    took: list[float] = []

    def compose(self) -> ComposeResult:
        yield Slow()

    def on_mount(self) -> None:
        self.set_interval(0.05, self.query_one(Slow).refresh)
        threading.Thread(target=self.type, daemon=True).start()

    def type(self) -> None:
        for _ in range(KEYS):
            time.sleep(0.093)
            self.pressed.append(time.monotonic())
            assert self._driver is not None
            self._driver.process_message(events.Key("x", "x"))
        time.sleep(0.5)
        self.call_from_thread(self.exit)

    def on_key(self) -> None:
        self.took.append(time.monotonic() - self.pressed[len(self.took)])


app = Measured()
app.run(headless=True)
took = sorted(app.took)
print(f"median {took[len(took) // 2] * 1000:.0f} ms, worst {took[-1] * 1000:.0f} ms of {len(took)} keys")
