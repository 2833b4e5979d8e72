"""Keys as bindings of Textual, and for footer, palette, and help."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.binding import Binding, BindingType

from mcp_tui.tui.keys import SCOPES, Key, Scope, all_shown
from mcp_tui.tui.view.text import SafeText, words


def bindings(*scopes: Scope) -> list[BindingType]:
    """Returns the keys of scopes for the ``BINDINGS`` of a widget or screen."""
    return [
        Binding(key.keys, key.action, key.label, id=key.id, show=False, priority=key.priority)
        for scope in scopes
        for key in scope.keys
    ]


# -- footer, palette, help -----------------------------------------------------------------------------------


def keys(*scopes: Scope) -> list[Key]:
    """Returns the keys of scopes that do something there, each id once."""
    found: dict[str, Key] = {}
    for scope in scopes or (SCOPES["workbench"], SCOPES["everywhere"]):
        for key in scope.keys:
            if key.action != "read_only":
                found.setdefault(key.id, key)
    return list(found.values())


def footer_keys(focused: object | None, offered: Iterable[Key], *, lends: bool) -> list[Key]:
    """Returns the keys for the footer: those of the focused widget, then those ``offered`` besides.

    ``lends`` says that the keys which the widget lends to others are its own now.
    """
    around = [] if focused is None else keys(*scopes_of([focused]))
    near = [key for key in around if key.footer and (lends or not key.lends)]
    ids, taken = {each.id for each in near}, {name for each in near for name in each.names}
    return [*near, *(key for key in offered if key.id not in ids and key.names[0] not in taken)]


def help_texts(scopes: Sequence[Scope]) -> list[tuple[SafeText, list[tuple[SafeText, SafeText]]]]:
    """Returns the title of each scope, the nearest first, with its keys that no nearer scope has, and their help."""
    told: list[tuple[SafeText, list[tuple[SafeText, SafeText]]]] = []
    taken: set[str] = set()
    for scope in scopes:
        lines: list[tuple[SafeText, SafeText]] = []
        here: set[str] = set()
        for key in scope.keys:
            names = [name for name in key.names if name not in taken]
            if names and key.action != "read_only":
                here.update([] if key.lends else names)
                lines.append((all_shown(names), words(key.help)))
        taken |= here
        if lines:
            told.append((words(scope.title), lines))
    return told


def scopes_of(nodes: Iterable[object]) -> list[Scope]:
    """Returns the ``SCOPES`` of the classes of nodes: of the focused widget and those around it, the nearest first."""
    found: dict[str, Scope] = {}
    for node in nodes:
        for each in type(node).__mro__:
            for scope in each.__dict__.get("SCOPES", ()):
                found.setdefault(scope.name, scope)
    return list(found.values())
