"""A field of one line, in a module of its own because the editor for several lines takes long to load.

Keys may be typed ahead: those after a key that moved the focus belong to the widget that has the focus now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual import events
from textual.app import App
from textual.geometry import Region
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from mcp_tui.view.text import one_line, safe

LINE_CHARACTERS: Final = 10_000
"""The maximum number of characters of a one-line field after a paste."""

if TYPE_CHECKING:
    _Widget = Widget
else:
    _Widget = object


class InOrder(_Widget):
    """Handles keys in the order of typing; passes on keys and pastes that follow a key that moved the focus.

    Textual runs a binding only after its key has bubbled up to the app; a character typed after it would overtake it.
    """

    async def _on_key(self, event: events.Key) -> None:
        focused = self.screen.focused
        if focused is not None and focused is not self and self in focused.ancestors:
            return  # the key bubbles up from a part of this widget
        elsewhere = focused is not None and focused is not self
        if not elsewhere and self.check_consume_key(event.key, event.character):
            return
        app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType] - of whatever result
        # The app looked for keys with priority while this widget still had the focus.
        if await app._check_bindings(event.key, priority=elsewhere):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            event.stop()
            event.prevent_default()
        else:
            self.hand_on(event)

    def hand_on(self, event: events.Key | events.Paste) -> bool:
        """Passes a key or a paste to the widget that has the focus now; returns false if that is this one."""
        focused = self.screen.focused
        if focused is None or focused is self or self in focused.ancestors:
            return False
        event.stop()
        event.prevent_default()
        key = isinstance(event, events.Key)
        focused.post_message(events.Key(event.key, event.character) if key else events.Paste(event.text))
        return True

    def on_paste(self, event: events.Paste) -> None:
        self.hand_on(event)


class LineInput(InOrder, Input):
    """A field of one line of visible text, even if other text is pasted or set. Its cursor does not blink.

    Its text is selected before the first key after the focus moved to it. ``entered`` is called in the handler of
    enter: keys typed after it may be for another field.
    """

    MOST: ClassVar = LINE_CHARACTERS
    """The maximum number of characters after a paste."""

    cursor_blink = reactive(False, init=False)
    entered: Callable[[], object] | None = None

    def replace(self, text: str, start: int, end: int) -> None:
        super().replace(one_line(text), start, end)

    def validate_value(self, value: str) -> str:
        """Returns the value without invisible characters, such as those in a default of a file."""
        return one_line(value)

    def on_paste(self, event: events.Paste) -> None:
        if self.hand_on(event):
            return
        event.stop()
        event.prevent_default()
        text, most = one_line(event.text.strip("\r\n")), self.max_length or self.MOST
        if len(self.value) - len(self.selected_text) + len(text) > most:
            sentence = safe("Not pasted: {:,} characters. This field holds {:,}.", len(text), most)
            self.app.notify(sentence, severity="warning", markup=False)  # pyright: ignore[reportUnknownMemberType]
        else:  # all lines: Textual takes only the first one
            self._initial_value = False  # with it, Textual does not scroll to the cursor
            self.replace(text, *sorted(self.selection))

    def on_resize(self) -> None:
        """Keeps the cursor visible when a label next to the field grew."""
        self.scroll_to_region(Region(self._cursor_offset, 0, 1, 1), force=True, animate=False)

    async def action_submit(self) -> None:
        if self.entered is None:
            await super().action_submit()
        else:
            self.entered()
