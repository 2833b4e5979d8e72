"""Finds out whether the terminal is light: asks once with OSC 11; the answer arrives among the keys.

Textual takes an unknown answer for keys, so it is removed before. Nothing waits for a terminal that does not answer.
:class:`Answers` is a workaround: ``contrib/textual`` has the text of an issue, and a reproduction.
"""

from __future__ import annotations

import os
import re
from typing import Final

from textual.color import Color
from textual.message import Message

from mcp_tui.protocol.patterns import late

BACKGROUND_QUERY: Final = "\x1b]11;?\x1b\\"

_COLOUR_ANSWER: Final = late(r"\x1b\]11;([^\x07\x1b]*)(?:\x07|\x1b\\)")
_BEGUN: Final = late(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]{0,60}\x1b?)?)?)?\Z")
_RGB_COLOUR: Final = late(
    r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?"
)


class Background(Message):
    """The terminal reported whether its background is ``light``."""

    def __init__(self, light: bool) -> None:
        super().__init__()
        self.light = light


def assumed_light() -> bool:
    """Whether the background is light by the environment, as rxvt and Konsole set it."""
    return os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


class Answers:
    """Removes the answer from the terminal's input."""

    def __init__(self) -> None:
        self._kept = ""
        self.light: bool | None = None
        """Whether the background is light, after the terminal reported it."""

    def typed(self, text: str) -> str:
        """Returns the typed text. The start of an answer is stored until the rest arrives, or until a call with an empty
        text.

        A single escape at the end is not such a start: :class:`~mcp_tui.tui.terminal.pastes.Pastes` joins it with the
        next input.
        """
        whole = _COLOUR_ANSWER.sub(self._take, self._kept + text)
        begun = _BEGUN.search(whole) if text else None
        self._kept = begun[0] if begun else ""
        return whole.removesuffix(self._kept)

    def _take(self, answer: re.Match[str]) -> str:
        found = _RGB_COLOUR.fullmatch(answer[1])
        if found is not None:
            parts = [int(part, 16) * 255 // (16 ** len(part) - 1) for part in found.groups()]
            self.light = Color(*parts).brightness > 0.5
        return ""
