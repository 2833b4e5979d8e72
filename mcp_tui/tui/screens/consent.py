"""May a server start that a project's file defines? The whole of what would start, and No where nothing is chosen."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from mcp_tui.tui.screens.confirm import AnswerScreen
from mcp_tui.tui.screens.dialog import Piece, place
from mcp_tui.tui.view.text import SafeText, brief, clean, words


class ConsentScreen(AnswerScreen):
    """Whether a server may start.

    ``account`` is what a person agrees to, as :func:`mcp_tui.config.consent.account` gives it: nothing of it is cut short.
    """

    DEFAULT_CSS = """
    ConsentScreen {
        & > #dialog { width: 90; }
        & VerticalScroll { max-height: 14; margin-top: 1; }
    }
    """

    def __init__(self, name: str, account: Sequence[tuple[str, str]]) -> None:
        super().__init__(SafeText(f"Start {brief(name, 40)}?"), yes=words("let it start"), no=words("no"))
        self._account = account
        self._lead = place()

    def content(self) -> ComposeResult:
        yield self._lead
        yield from super().content()

    def tell(self) -> None:
        lead = words("A project's file defines this server: whoever can change it decides what runs.")
        self.say(self._lead, (lead, "$warning"))
        pieces: list[Piece] = []
        for word, said in self._account:
            pieces += [(SafeText(f"{clean(word):<9} "), "$text-muted"), SafeText(f"{clean(said)}\n")]
        self.say(self.text, *pieces)
