"""What a list says where it has no line: nothing is there, nothing matches, or it is still searched."""

from __future__ import annotations

from typing import Final

from mcp_tui.tui.view.text import SafeText, safe, words

_NOTHING: Final = words("")


def empty_state(none: SafeText, *, wanted: SafeText, hidden: int, searching: bool = False) -> SafeText:
    """Returns the sentence of a list without a line.

    Args:
        none: what it says where there is nothing at all.
        wanted: the filter as it was typed, empty for none.
        hidden: lines that the filter hides.
        searching: whether there are lines that the filter has not been held against yet.
    """
    if not wanted or not hidden:
        return none
    if searching:
        return words("Searching …")
    return safe("No match for '{}' ({:,} hidden)", wanted, hidden)


def counted(
    shown: int, total: int, *, internal: int = 0, key: SafeText = _NOTHING, what: SafeText
) -> SafeText:
    """Returns how many of the lines are shown, and how many internal ones ``key`` would show; ``what`` where all are."""
    if internal:
        some = safe("{:,} of {:,}", shown, total) if shown != total else safe("{:,} shown", shown)
        return safe("{}, {:,} internal hidden ({} shows)", some, internal, key)
    return safe("{:,} of {:,}", shown, total) if shown != total else what
