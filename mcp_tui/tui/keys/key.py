"""What a key is, and what a scope is: the part of the screen in which some keys work."""

from __future__ import annotations

import unicodedata
from typing import Final, LiteralString, NamedTuple

from mcp_tui.tui.view.text import SafeText, clean, safe


class Key(NamedTuple):
    """One key, or several that do the same.

    Attributes:
        id: what the settings name it by. The same id in several scopes is the same key, which there does what fits.
        keys: as Textual names them, parted by commas; a character may stand for itself.
        action: Textual's name of what is done.
        label: for footer and palette.
        help: what it does, for a person.
        footer: its place in the footer, the least first; 0 for none there.
        wide: leaves the footer first where there is no room.
        hidden: not in the palette.
        priority: works before the next key is looked at, so that what is typed ahead reaches what it opens.
        others: ids of keys that the footer shows with this one, where it has no room for each.
        lends: may be a key of the screen around it as well: it goes before that one, but only while it has a meaning.
        acts: acts on a server, so it does nothing on a recording.
    """

    id: LiteralString
    keys: str
    action: LiteralString
    label: LiteralString
    help: LiteralString
    footer: int = 0
    wide: bool = False
    hidden: bool = False
    priority: bool = False
    others: tuple[LiteralString, ...] = ()
    lends: bool = False
    acts: bool = False

    @property
    def names(self) -> list[str]:
        """The keys, each by its name."""
        return [name.strip() for name in self.keys.split(",")]

    @property
    def shown(self) -> SafeText:
        """The first of the keys as a footer has it: ``^p``, ``f1``, ``?``."""
        return shown_as(self.names[0])

    @property
    def all_shown(self) -> SafeText:
        """All of the keys, as a help screen has them."""
        return clean(" ".join(map(shown_as, self.names)))


class Scope(NamedTuple):
    """Keys that work in one place.

    Attributes:
        name: for ourselves.
        title: above its keys in the help screen and in the documents.
        keys: the keys.
        within: the names of the scopes of which one is around it, whose keys go on working in it.
        field: whether text is typed in it, so that characters, and keys that edit, belong to the field.
        taken: names of keys that Textual's own widgets in it use: a list to choose from, a row of buttons.
    """

    name: LiteralString
    title: LiteralString
    keys: tuple[Key, ...]
    within: tuple[LiteralString, ...] = ()
    field: bool = False
    taken: frozenset[str] = frozenset()


LIST: Final = frozenset({"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "enter"})
"""The keys of Textual's list of options."""

BUTTONS: Final = frozenset({"enter"})
"""The key of Textual's buttons."""

_CHARACTERS: Final = {
    "at": "@",
    "backslash": "\\",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "minus": "-",
    "plus": "+",
    "slash": "/",
    "underscore": "_",
}
"""Characters that Textual names not quite as Unicode does."""

_SHOWN: Final = {
    "delete": "del",
    "down": "↓",
    "escape": "esc",
    "left": "←",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "right": "→",
    "space": "space",
    "up": "↑",
}


def character(name: str) -> str:
    """The character that a key types, by the name of the key: itself, or Unicode's name for it; empty for none."""
    if len(name) == 1:
        return name
    if "+" in name:
        return ""
    try:
        found = _CHARACTERS.get(name) or unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return ""
    return found if len(found) == 1 and found.isprintable() else ""


def shown_as(name: str) -> SafeText:
    """The name of a key as a person reads it: ``^p`` for ``ctrl+p``, ``?`` for ``question_mark``."""
    *modifiers, base = name.split("+") if len(name) > 1 else [name]
    base = _SHOWN.get(base) or character(base) or base
    if modifiers == ["ctrl"] and len(base) == 1:
        return safe("^{}", base)
    return clean("+".join((*modifiers, base)))
