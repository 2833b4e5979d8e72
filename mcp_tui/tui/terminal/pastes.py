"""Removes whole bracketed pastes from the terminal's input, before anything looks for keys in it.

Textual's parser looks for keys in a paste: a control character could end its protection, and the rest would act as
keys. Not every terminal removes the end marker from pasted text (tmux does not), so an end marker counts only if
nothing follows it at once. This module is a workaround: ``contrib/textual`` has the text of an issue about the
parser, and a reproduction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from textual.events import Key, Paste

from mcp_tui.protocol.patterns import late

START: Final = "\x1b[200~"
END: Final = "\x1b[201~"

UNENDED_SECONDS: Final = 2.0
"""Seconds without input after which a paste counts as complete although its end is missing."""

_BEGUN: Final = late(r"\x1b(?:\[(?:2(?:0(?:0)?)?)?)?\Z")
_ONE_KEY: Final = late(r"[^\x1b]|\x1b(?:[^\x1b\[]|O.|\[[\d;]*[~A-HJ-NP-Za-z])?")


class Pastes:
    """Separates pastes from typed text. ``now`` is a monotonic clock."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._received_at = now()
        self._rest = ""
        """The end of typed text that may be the start of a paste."""
        self._pasted: list[str] | None = None
        """The text since the start marker of a paste, while its end is uncertain."""
        self._unended = False
        """Whether a part of the paste was delivered without its end. Then a single key is a person's."""

    def sort(self, text: str) -> Iterator[str | Paste | Key]:
        """Yields pastes and typed text in order. An empty ``text`` means that the terminal was quiet for a moment."""
        if not text:
            yield from self._quiet()
            return
        self._received_at = self._now()
        if self._unended and _ONE_KEY.fullmatch(text):
            self._pasted, self._unended = None, False
        if self._pasted is not None:
            self._pasted.append(text)
            return
        typed, start, pasted = (self._rest + text).partition(START)
        self._rest = ""
        if start:
            self._pasted = [pasted]
        elif begun := _BEGUN.search(typed):
            self._rest = begun[0]
            typed = typed.removesuffix(self._rest)
        if typed:
            yield typed

    def _quiet(self) -> Iterator[str | Paste | Key]:
        if self._pasted is None:
            # A person does not type a longer start: its rest may still arrive.
            if self._rest == "\x1b":
                self._rest = ""
                yield Key("escape", "\x1b")
            elif self._rest == "\x1b[":
                self._rest = ""
                yield "\x1b["
            return
        text = "".join(self._pasted)
        pasted, end, typed = text.rpartition(END)
        if end and START not in typed:
            self._pasted, self._unended = None, False
            yield from map(Paste, pasted.split(END + START))
            if typed:
                yield from self.sort(typed)
        elif text and self._now() - self._received_at >= UNENDED_SECONDS:
            self._pasted, self._unended = [], True
            yield Paste(text)
