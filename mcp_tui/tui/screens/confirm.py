"""A question with two answers."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button, Static

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.dialogs import ANSWER
from mcp_tui.tui.screens.dialog import Dialog, button, copied, focus_next_button, place
from mcp_tui.tui.view.text import SafeText, clean


class AnswerScreen(Dialog[bool]):
    """Dismisses ``True`` for yes, by its key or its button; ``False`` for no, and for whatever closes a dialog.

    No has the focus at first, so a stray enter does nothing. What is at stake is said in :attr:`text`, which scrolls.
    """

    DEFAULT_CSS = """
    AnswerScreen {
        & VerticalScroll { height: auto; max-height: 12; scrollbar-size-vertical: 1; }
        & Button.-textual-compact.-yes:focus { background: $warning; color: $background; }
    }
    """

    OF_SERVER = False

    SCOPES = (ANSWER,)
    BINDINGS = bindings(*SCOPES)

    AUTO_FOCUS = "#no"

    def __init__(self, title: SafeText, *, yes: SafeText, no: SafeText) -> None:
        super().__init__()
        self._question = title
        self.text = place()
        self._scroll = VerticalScroll(self.text, can_focus=False)
        self._keys: Static = place("keys")
        self._buttons = [button("answer.yes", yes, "yes"), button("answer.no", no, "no")]
        self._buttons[0].add_class("-yes")

    def content(self) -> ComposeResult:
        yield self._scroll
        with Horizontal(id="buttons"):
            yield from self._buttons
        yield self._keys

    def on_mount(self) -> None:
        super().on_mount()
        self.caption(self._question)
        self.tell()
        self._tell_keys()
        self.call_after_refresh(self._tell_keys)

    def tell(self) -> None:
        """Say what is at stake."""

    def _tell_keys(self) -> None:
        more = self._scroll.max_scroll_y
        first = (
            ("answer.up answer.down", "read on") if more else ("answer.previous answer.next enter", "choose")
        )
        self.say(self._keys, *self.keys([first, ("answer.yes answer.no", "answer"), ("app.back", "no")]))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def action_close(self) -> None:
        self.dismiss(False)

    def action_move(self, step: int) -> None:
        focus_next_button(self.focused, step, self._buttons)

    def action_scroll(self, step: int) -> None:
        self._scroll.scroll_relative(y=3 * step, animate=False)


class ConfirmScreen(AnswerScreen):
    """Whether something is to be done.

    ``lines`` is what is at stake, one thing a line; ``interrupt`` is what ctrl+c answers.
    """

    def __init__(
        self, title: str, lines: Sequence[SafeText], *, yes: str, no: str, interrupt: bool = False
    ) -> None:
        super().__init__(clean(title), yes=clean(yes), no=clean(no))
        self._lines = lines
        self._interrupt = interrupt

    def action_interrupt(self) -> None:
        if not copied(self):
            self.dismiss(self._interrupt)

    def tell(self) -> None:
        self.say(self.text, SafeText("\n".join(self._lines)))
