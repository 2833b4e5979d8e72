"""What a list says where it has no line: nothing is there, nothing matches, or it is still searched."""

from __future__ import annotations

from typing import Final, LiteralString

from mcp_tui.tui.keys.now import hint, key_of
from mcp_tui.tui.view.rows import plural
from mcp_tui.tui.view.text import SafeText, fit, join, safe, words

_NOTHING: Final = words("")

_STEPS: Final = (
    ("app.palette", words("Every command")),
    ("app.help", words("Keys, states, and counters")),
    ("request.saved", words("Saved calls")),
    ("server.menu", words("Reconnect or stop the server")),
)


def first_steps() -> SafeText:
    """Returns what a session without requests says: that there are none, and the keys to begin with."""
    steps = [safe("{} {}", fit(key_of(key), 3), does) for key, does in _STEPS]
    return join((hint("No requests yet. Press {request.new} to call a tool."), words(" "), *steps), "\n")


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
    shown: int, total: int, what: LiteralString, *, internal: int = 0, key: SafeText = _NOTHING
) -> SafeText:
    """Returns how many of the lines are shown, each a ``what``, and how many internal ones ``key`` would show."""
    if internal:
        some = safe("{:,} of {:,}", shown, total) if shown != total else safe("{:,} shown", shown)
        return safe("{}, {:,} internal hidden ({} shows)", some, internal, key)
    return safe("{:,} of {}", shown, plural(total, what)) if shown != total else plural(shown, what)
