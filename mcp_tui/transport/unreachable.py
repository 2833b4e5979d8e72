"""The error about a server that cannot be reached, and helpers for its sentences."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from typing import Final

from mcp_tui.protocol.errors import McpError

STOPPING: Final = "the server is stopping: it refuses connections while its stream is open"


class TransportError(McpError):
    """The server cannot be reached. The text has complete sentences about what happened and what to do.

    ``stderr`` has lines of the server's stderr that may explain the error, not sanitised; a traceback shows them as notes.
    """

    stderr: tuple[str, ...] = ()

    def __init__(self, text: str) -> None:
        super().__init__(sentence(text))

    def add_stderr(self, stderr: Iterable[str]) -> None:
        """Adds lines of the server's stderr."""
        self.stderr = tuple(stderr)
        for line in self.stderr:
            self.add_note(f"stderr: {readable(line, 400)}")


def readable(text: str, limit: int = 200) -> str:
    """Returns a text from the server for use in a sentence: one line of printable text, at most ``limit`` characters."""
    head = "".join(character if character.isprintable() else "�" for character in text[: limit + 1])
    return head if len(head) <= limit else head[: limit - 1] + "…"


def within(text: str) -> str:
    """Returns a sentence for use after a colon: with a small first letter, unless it starts with an acronym."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def sentence(text: str) -> str:
    """Returns ``text`` with a capital first letter and a full stop."""
    first = text.partition(" ")[0]
    capital = text[:1].upper() + text[1:] if first.isalpha() else text
    return capital if capital.endswith((".", "?", "!", "…")) else f"{capital}."


def exit_text(code: int, guard_code: int = 0) -> str:
    """Returns a sentence about the end of a server; codes are negative for signals.

    ``guard_code`` is the exit code of the guard if it ended before the server.
    """
    if guard_code:
        return f"server was ended with its guard process, which {_how(guard_code)}"
    return f"server {_how(code)}"


def _how(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = f" ({signal.Signals(-code).name})"
    except ValueError:  # a real-time signal
        name = ""
    return f"was terminated by signal {-code}{name}"
