"""Images for the screen: decoded in a thread, one at a time, and kept while they are shown."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

from textual.app import App
from textual.widget import Widget

from mcp_tui.client.results import Part
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.view.lines import Segments
from mcp_tui.view.picture import Drawing, NotDrawn, Picture, decoded, pictured, remarks
from mcp_tui.view.text import NOTHING, SafeText, join, safe, words

DECODING_SECONDS: Final = 20.0
"""Seconds that decoding an image may take."""

IMAGE_LINES: Final = 16
"""Lines of an image among other lines."""

SHOWN_IMAGES: Final = 8
"""Images among other lines in one place."""

_ONE_DECODER: Final = threading.Lock()


async def decode(part: Part) -> Picture | SafeText:
    """Decodes an image in a thread; returns the reason if it is not drawn. A cancelled call that waits does not decode."""
    loop = asyncio.get_running_loop()
    made: asyncio.Future[Picture | SafeText] = loop.create_future()

    def tell(result: Picture | SafeText) -> None:
        if not made.done():
            made.set_result(result)

    def work() -> None:
        with _ONE_DECODER:
            if made.done():
                return
            try:
                result = decoded(part)
            except NotDrawn as error:
                result = safe("not drawn: {}", error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is there to look
            loop.call_soon_threadsafe(tell, result)

    # Not the loop's executor: whoever quits would wait for its threads.
    threading.Thread(target=work, name="image", daemon=True).start()
    try:
        async with asyncio.timeout(DECODING_SECONDS):
            return await made
    except TimeoutError:
        return safe("not drawn: decoding took more than {} s", f"{DECODING_SECONDS:g}")


def undrawn(app: App[Any]) -> SafeText:
    """Returns why images are not drawn here; empty if they are."""
    if getattr(app, "ascii", False):
        return words("not drawn: ASCII only")
    if app.no_color:
        return words("not drawn: NO_COLOR is set")
    if app.console.color_system is None:
        return words("not drawn: no colours in this terminal")
    if find_spec("PIL") is None:
        return words("not drawn: install mcp-tui-client[images] to see images")
    return NOTHING


def ground(widget: Widget) -> tuple[int, int, int]:
    """Returns the background colour of a widget; black or white if only the terminal knows."""
    colour = widget.background_colors[1]
    if colour.ansi is None:
        return colour.rgb
    dark = widget.app.current_theme.dark  # pyright: ignore[reportUnknownMemberType] - Textual leaves the app's result open
    return (0, 0, 0) if dark else (255, 255, 255)


class Pictures:
    """The images among the lines of a widget. ``changed`` is called when one is decoded."""

    def __init__(self, widget: Canvas, changed: Callable[[], None]) -> None:
        self._widget = widget
        self._changed = changed
        self._known: dict[int, tuple[Part, Picture | SafeText]] = {}

    def lines(self, part: Part, cells: int) -> list[Segments]:
        """Returns the lines of a part's image, or one with the reason for none; empty if it is not an image."""
        if not pictured(part):
            return []
        odd: list[Segments] = [((said, "warning"),) for said in remarks(part)]
        why = undrawn(self._widget.app)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - any app
        if why:
            return [*odd, ((why, "muted"),)]
        if id(part) not in self._known:
            if len(self._known) >= SHOWN_IMAGES:
                return []
            self._known[id(part)] = part, words("reading …")
            self._widget.run_worker(self._read(part), group="pictures", exit_on_error=True)
        found = self._known[id(part)][1]
        if not isinstance(found, Picture):
            return [*odd, ((found, "muted"),)]
        drawing = Drawing(found, cells, ground(self._widget), IMAGE_LINES)
        said = ((join(found.said(), ", "), "muted"),)
        return [*odd, said, *(drawing.line(number) for number in range(drawing.count))]

    async def _read(self, part: Part) -> None:
        found = await decode(part)
        if id(part) in self._known:
            self._known[id(part)] = part, found
            self._changed()

    def forget(self) -> None:
        """Forgets all images, and stops waiting for those that are not decoded yet."""
        if self._known:
            self._known.clear()
            self._widget.workers.cancel_group(self._widget, "pictures")  # pyright: ignore[reportUnknownMemberType]

    @property
    def any(self) -> bool:
        """Whether there are images."""
        return bool(self._known)
