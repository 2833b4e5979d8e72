"""The error of a server that cannot be reached, and the form of its sentences."""

from __future__ import annotations

from mcp_tui.protocol.errors import McpError


class TransportError(McpError):
    """An error in reaching the server. The text says in whole sentences what happened and what to do.

    ``stderr`` are lines of the server's stderr that may say more, unsanitised.
    """

    stderr: tuple[str, ...] = ()

    def __init__(self, text: str) -> None:
        super().__init__(sentence(text))


def within(text: str) -> str:
    """Returns a sentence as it follows a colon: with a small first letter, unless that belongs to an acronym."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def sentence(text: str) -> str:
    """Returns ``text`` with a capital first letter and a full stop."""
    first = text.partition(" ")[0]
    capital = text[:1].upper() + text[1:] if first.isalpha() else text
    return capital if capital.endswith((".", "?", "!", "…")) else f"{capital}."
