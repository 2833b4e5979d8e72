"""The keys as Textual takes them, and as footer, palette and help show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from textual.binding import Binding, BindingType
from textual.keys import _character_to_key  # pyright: ignore[reportPrivateUsage]

from mcp_tui.tui.keys import FIRST, SCOPES, Key, Scope, character, current, key_of, own
from mcp_tui.tui.view.text import SafeText, safe, words


def bindings(*scopes: Scope) -> list[BindingType]:
    """The keys of scopes as Textual takes them, for the ``BINDINGS`` of what has them."""
    return [
        Binding(",".join(key.names), key.action, key.label, id=key.id, show=False, priority=key.priority)
        for scope in scopes
        for key in scope.keys
    ]


# -- what a key is now ---------------------------------------------------------------------------------------


def means(id_: str, pressed: str) -> bool:
    """Whether a key that was pressed, by Textual's name, is one for something."""
    return pressed in map(normalised, current(FIRST[id_]).names)


def normalised(name: str) -> str:
    """The name of a key as Textual has it; a character may stand for itself."""
    name = name.strip()
    return _character_to_key(name) if len(name) == 1 else name


def is_typed(action: str, *scopes: Scope) -> bool:
    """Whether an action of scopes is on a key that is also a character of a text."""
    return any(
        key.action.partition("(")[0].rpartition(".")[2] == action and any(map(character, current(key).names))
        for scope in scopes
        for key in scope.keys
    )


def rivals(*ids: str) -> frozenset[str]:
    """The actions of the screens of sessions and recordings that are now on a key of one of these."""
    names = {normalised(name) for id_ in ids for name in current(FIRST[id_]).names}
    return frozenset(
        key.action.partition("(")[0]
        for name in ("workbench", "recording")
        for key in SCOPES[name].keys
        if not names.isdisjoint(map(normalised, current(key).names))
    )


# -- footer, palette, help -----------------------------------------------------------------------------------


def keys(*scopes: Scope) -> list[Key]:
    """The keys of scopes that do something there, as they are now; an id once."""
    found: dict[str, Key] = {}
    for scope in scopes or (SCOPES["workbench"], SCOPES["everywhere"]):
        for key in scope.keys:
            if key.action != "read_only":
                found.setdefault(key.id, current(key))
    return list(found.values())


def near_first(focused: object | None, offered: Iterable[Key], *, lends: bool) -> list[Key]:
    """The keys for the footer: those of the focused widget before those that are offered besides.

    ``lends`` says that keys which the widget lends to others are its own now.
    """
    around = [] if focused is None else keys(*scopes_of([focused]))
    near = [key for key in around if key.footer and (lends or not key.lends)]
    ids, taken = {each.id for each in near}, {name for each in near for name in each.names}
    return [*near, *(key for key in offered if key.id not in ids and key.names[0] not in taken)]


def in_footer(key: Key) -> SafeText:
    """A key as the footer has it: ``1-7`` where it stands for several and none of them is another one."""
    if not key.others or own(key.id, *key.others):
        return key.shown
    last = key_of(key.others[-1])
    return safe("{}-{}", key.shown, last) if len(key.others) > 1 else safe("{} {}", key.shown, last)


class Help(NamedTuple):
    """Keys of one scope, as they can be used where that stands among others: what a nearer one has is left out."""

    title: SafeText
    lines: tuple[tuple[SafeText, SafeText], ...]


def helped(scopes: Sequence[Scope]) -> list[Help]:
    """What every key does, of the nearest scope first."""
    told: list[Help] = []
    taken: set[str] = set()
    for scope in scopes:
        lines: list[tuple[SafeText, SafeText]] = []
        here: set[str] = set()
        for key in map(current, scope.keys):
            names = [name for name in map(normalised, key.names) if name not in taken]
            if names and key.action != "read_only":
                here.update([] if key.lends else names)
                lines.append((key._replace(keys=",".join(names)).all_shown, words(key.help)))
        taken |= here
        if lines:
            told.append(Help(words(scope.title), tuple(lines)))
    return told


def scopes_of(nodes: Iterable[object]) -> list[Scope]:
    """The scopes of what has the focus and of what is around it, the nearest first: by the ``SCOPES`` of their classes."""
    found: dict[str, Scope] = {}
    for node in nodes:
        for each in type(node).__mro__:
            for scope in each.__dict__.get("SCOPES", ()):
                found.setdefault(scope.name, scope)
    return list(found.values())
