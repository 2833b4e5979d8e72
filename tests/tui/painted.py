"""What is painted, on a screen or in a widget, as lines of text."""

from __future__ import annotations

from typing import Any, cast

from textual._context import visible_screen_stack
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget


def strips(app: App[Any]) -> list[Strip]:
    """The lines of the screen on top, those beneath a dialog among them, as the app itself draws them."""
    beneath = app._background_screens  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType, reportUnknownMemberType]
    visible_screen_stack.set(cast("list[Screen[object]]", beneath))
    return app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]


def screen_text(app: App[Any]) -> str:
    """What stands on the screen on top."""
    return "\n".join(strip.text for strip in strips(app))


def widget_text(widget: Widget) -> str:
    """All that a widget draws, its border with the captions among it."""
    width, height = widget.outer_size
    return "\n".join(strip.text for strip in widget.render_lines(Region(0, 0, width, height)))
