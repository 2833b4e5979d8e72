"""Every scope with its keys, and the keys as they are now: a person's own go before those that they come with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, LiteralString

from mcp_tui.tui.keys import dialogs, panes, workbench
from mcp_tui.tui.keys.key import Key, Scope
from mcp_tui.tui.view.text import SafeText, clean

SCOPES: Final = {
    each.name: each
    for module in (workbench, panes, dialogs)
    for each in vars(module).values()
    if isinstance(each, Scope)
}
"""By their names, in the order of the documents."""

FIRST: Final[dict[str, Key]] = {}
"""The first key of each id: the one that says best what it does."""

for _scope in SCOPES.values():
    for _key in _scope.keys:
        FIRST.setdefault(_key.id, _key)


_NAMED: Final = re.compile(r"\{([a-z-]+\.[a-z0-9-]+)\}")

_OWN: Final[dict[str, str]] = {}


def use(own: Mapping[str, str]) -> None:
    """Know a person's own keys from now on, by the ids of what they do. That they work is for Textual's keymap to see to."""
    _OWN.clear()
    _OWN.update(own)


def own(*ids: str) -> bool:
    """Whether a person has another key for one of these."""
    return not _OWN.keys().isdisjoint(ids)


def current(key: Key) -> Key:
    """A key with the person's own in place of those that it comes with."""
    return key._replace(keys=_OWN[key.id]) if key.id in _OWN else key


def key_of(id_: str) -> SafeText:
    """The key for something, by its id, as a sentence names it: ``r``, ``^p``."""
    return current(FIRST[id_]).shown


def hint(text: LiteralString) -> SafeText:
    """Words of our own that name keys by ids in braces: ``press {server.menu} to connect again``."""
    return clean(_NAMED.sub(lambda found: key_of(found[1]), text))
