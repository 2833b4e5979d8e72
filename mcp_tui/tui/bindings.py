"""Makes Textual bindings from the table of keys."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding, BindingType

from mcp_tui.view.keys import Key, Scope, keys


class Bindings(list[BindingType]):
    """A widget or screen with the keys of :attr:`scopes` as its Textual bindings."""

    scopes: tuple[Scope, ...] = ()


def bindings(*scopes: Scope) -> Bindings:
    """Returns the keys of scopes for the ``BINDINGS`` of a widget or screen."""
    made = Bindings(
        Binding(key.keys, key.action, key.label, id=key.id, show=False, priority=key.priority)
        for scope in scopes
        for key in scope.keys
    )
    made.scopes = scopes
    return made


def footer_keys(focused: object | None, offered: Iterable[Key], *, lends: bool) -> list[Key]:
    """Returns the keys for the footer: those of the focused widget, then those ``offered``.

    ``lends``: the keys that the widget passes on to others are its own now.
    """
    around = [] if focused is None else keys(*scopes_of([focused]))
    near = [key for key in around if key.footer and (lends or not key.lends)]
    ids, taken = {each.id for each in near}, {name for each in near for name in each.names}
    return [*near, *(key for key in offered if key.id not in ids and key.names[0] not in taken)]


def scopes_of(nodes: Iterable[object]) -> list[Scope]:
    """Returns the scopes of the focused widget and of its parents, the nearest first."""
    found: dict[str, Scope] = {}
    for node in nodes:
        for each in type(node).__mro__:
            own = each.__dict__.get("BINDINGS")
            for scope in own.scopes if isinstance(own, Bindings) else ():
                found.setdefault(scope.name, scope)
    return list(found.values())
