"""Every scope with its keys: the one list for bindings, footer, help, palette, documents and a person's own keys."""

from __future__ import annotations

from typing import Final

from mcp_tui.tui.keys import dialogs, panes
from mcp_tui.tui.keys.key import Key
from mcp_tui.tui.keys.recording import RECORDING
from mcp_tui.tui.keys.workbench import EVERYWHERE, WORKBENCH

SCOPES: Final = {
    scope.name: scope
    for scope in (
        EVERYWHERE,
        WORKBENCH,
        panes.REQUESTS,
        panes.LINES,
        panes.DETAIL,
        panes.TIMELINE,
        RECORDING,
        dialogs.DIALOG,
        dialogs.REASON,
        dialogs.OVERDUE,
        dialogs.CALL,
        dialogs.CHOOSE,
        panes.FORM,
        panes.FIELD,
        dialogs.QUESTION,
        dialogs.LINK,
        dialogs.SIGN_IN,
        dialogs.RESULT,
        panes.PAGE,
        dialogs.ANSWER,
        dialogs.MENU,
        dialogs.SERVERS,
        dialogs.PICKER,
        dialogs.PROBE,
        dialogs.HELP,
    )
}
"""By their names, in the order of the documents."""

FIRST: Final[dict[str, Key]] = {}
"""The first key of each id: the one that says best what it does."""

for _scope in SCOPES.values():
    for _key in _scope.keys:
        FIRST.setdefault(_key.id, _key)
