"""Every scope with its keys: the one list for bindings, footer, help, palette, documents and a person's own keys."""

from __future__ import annotations

from typing import Final

from mcp_tui.tui.keys import dialogs, panes, recording, workbench
from mcp_tui.tui.keys.key import Key, Scope

SCOPES: Final = {
    each.name: each
    for module in (workbench, panes, recording, dialogs)
    for each in vars(module).values()
    if isinstance(each, Scope)
}
"""By their names, in the order of the documents."""

FIRST: Final[dict[str, Key]] = {}
"""The first key of each id: the one that says best what it does."""

for _scope in SCOPES.values():
    for _key in _scope.keys:
        FIRST.setdefault(_key.id, _key)
