"""A question with two answers."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import VerticalScroll

from mcp_tui.tui.keys.dialogs import ANSWER
from mcp_tui.tui.screens.dialog import Dialog, Hint, KeyButton, Piece, copied, place
from mcp_tui.tui.view.text import SafeText, brief, clean, safe, words


class ConfirmScreen(Dialog[bool]):
    """Dismisses ``True`` for yes, by its key or its button; ``False`` for no, and for whatever closes a dialog.

    No has the focus at first, so a stray enter does nothing.

    Args:
        title: the question.
        lines: what is at stake, one thing a line; they scroll.
        interrupt: what ctrl+c answers.
        lead: a warning above the lines, which stays in sight.
    """

    DEFAULT_CSS = """
    ConfirmScreen {
        &.-long > #dialog { width: 90; }
        & VerticalScroll { height: auto; max-height: 12; scrollbar-size-vertical: 1; }
        &.-long VerticalScroll { max-height: 14; margin-top: 1; }
        & Button.-textual-compact.-yes:focus { background: $warning; color: $background; }
    }
    """

    OF_SERVER = False

    SCOPES = (ANSWER,)
    AUTO_FOCUS = "#no"

    def __init__(
        self,
        title: str,
        lines: Sequence[SafeText | Sequence[Piece]],
        *,
        yes: str,
        no: str,
        interrupt: bool = False,
        lead: SafeText | None = None,
    ) -> None:
        self._lines = lines
        self._interrupt = interrupt
        self._lead_text = lead or words("")
        self._lead = place()
        self.text = place()
        self._scroll = VerticalScroll(self.text, can_focus=False)
        self._scroll.display = bool(lines)
        buttons = KeyButton("answer.yes", clean(yes), "yes"), KeyButton("answer.no", clean(no), "no")
        buttons[0].add_class("-yes")
        super().__init__(self._lead, self._scroll, title=clean(title), buttons=buttons)
        self.set_class(bool(lead), "-long")

    def hints(self) -> Sequence[Hint]:
        return [("answer.up answer.down", "Scroll")] if self._scroll.max_scroll_y else []

    def on_mount(self) -> None:
        self.say(self._lead, (self._lead_text, "$warning"))
        pieces: list[Piece] = []
        for number, each in enumerate(self._lines):
            pieces += [words("\n")] if number else []
            pieces += [each] if isinstance(each, str) else each
        self.say(self.text, *pieces)
        self.call_after_refresh(self.tick)

    def action_answer(self, answer: bool) -> None:
        if not answer or self.meant():
            self.dismiss(answer)

    def action_close(self) -> None:
        self.dismiss(False)

    def action_interrupt(self) -> None:
        if not copied(self):
            self.dismiss(self._interrupt)

    def action_scroll(self, step: int) -> None:
        self._scroll.scroll_relative(y=3 * step, animate=False)


def consent_screen(name: str, account: Sequence[tuple[str, str]]) -> ConfirmScreen:
    """Asks whether a server may start that a project's file defines.

    ``account`` is what a person agrees to, as :func:`mcp_tui.config.consent.account` gives it: nothing of it is cut short.
    """
    lines = [[(safe("{} ", f"{clean(word):<9}"), "$text-muted"), clean(said)] for word, said in account]
    return ConfirmScreen(
        safe("Start {}?", brief(name, 40)),
        lines,
        yes="Start",
        no="No",
        lead=words("A project file defines this server: whoever can change that file decides what runs."),
    )
