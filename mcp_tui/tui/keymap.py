"""Checks a person's own keys: Textual accepts any name, and silently drops one of two bindings with the same key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS  # the keys that every terminal can send
from textual.binding import Binding
from textual.keys import Keys

from mcp_tui.config.files import closest
from mcp_tui.view.keys import FIRST_KEYS, SCOPES, Key, Scope, character, names_of, shown_as

_KNOWN_KEYS: Final = frozenset(key.value for key in Keys if not key.value.startswith("<")) - {
    "ctrl-at",
    "return",
}
_SENT: Final = frozenset(
    key.value for keys in ANSI_SEQUENCES_KEYS.values() if isinstance(keys, tuple) for key in keys
)

_ALIASES: Final = {
    "ctrl+h": "backspace",
    "ctrl+i": "tab",
    "ctrl+j": "enter",
    "ctrl+left_square_bracket": "escape",
    "ctrl+m": "enter",
    "ctrl+[": "escape",
}
"""The keys that a terminal cannot distinguish from another key."""

Chosen = dict[str, tuple[str, ...]]
"""The names of a person's own keys, by id."""


@cache
def editing() -> frozenset[str]:
    """Returns the keys of Textual's fields and editors."""
    # Imported late: Textual loads its widgets one by one, and `config` alone needs few.
    from textual.scroll_view import ScrollView
    from textual.widgets import Input, TextArea

    kinds = Input, TextArea, ScrollView
    return frozenset(each.key for kind in kinds for each in Binding.make_bindings(kind.BINDINGS))


def keymap(
    wanted: Mapping[str, str], origins: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Returns the wanted keys that can be used, by id, and a sentence for each other one, which keeps its default.

    ``origins`` has the file and line of each setting by ``keys.ID``.
    """
    problems: list[str] = []
    chosen: Chosen = {}

    def note_problem(id_: str, said: str) -> None:
        place = (origins or {}).get(f"keys.{id_}")
        problems.append(f"{place}: {said}" if place else said)

    for id_, text in wanted.items():
        if id_ not in FIRST_KEYS:
            close = closest(id_, FIRST_KEYS)
            note_problem(id_, f"unknown action {id_}" + (f"; did you mean {close}?" if close else ""))
            continue
        names = names_of(text)
        usual = {name for _, key in _places(id_) for name in names_of(key.keys)}
        if {*names} == {*names_of(FIRST_KEYS[id_].keys)}:
            continue
        new = [name for name in names if name not in usual]
        wrong = [problem for problem in (*map(_problem, new), _shadowed(id_, names, usual)) if problem]
        if wrong:
            note_problem(id_, f"{id_} = {text!r}: {wrong[0]}")
            continue
        chosen[id_] = names
        for name in new:
            if _seldom(name):
                note_problem(id_, f"{id_} = {text!r}: many terminals cannot send {name}")
    while (clash := _clash(chosen)) is not None:
        id_, name, other = clash
        chosen.pop(id_)
        note_problem(
            id_, f"{id_} = {wanted[id_]!r}: {shown_as(name)} already means {other.label} ({other.id})"
        )
    return {id_: ",".join(names) for id_, names in chosen.items()}, problems


def _problem(name: str) -> str:
    """Returns the problem of a key's name; empty if there is none."""
    if not name:
        return "a key is missing"
    *modifiers, base = name.split("+")
    if name in _ALIASES:
        return f"{name} is the same key as {_ALIASES[name]} in a terminal"
    if len(base) == 1 and base.isalpha() and modifiers and base != base.lower():
        return f"{name} is the same key as {'+'.join((*modifiers, base.lower()))} in a terminal"
    if modifiers == ["shift"] and len(base) == 1:
        return f"write {base.upper()} for {name}" if base.isalpha() else f"a terminal sends no {name}"
    known = base in _KNOWN_KEYS or (len(base) == 1 and base.isprintable()) or character(base)
    if name in _KNOWN_KEYS or (
        {"ctrl", "shift", "alt", "super", "meta", "hyper"}.issuperset(modifiers) and known
    ):
        return ""
    return f"unknown key {name!r}"


def _seldom(name: str) -> bool:
    """Whether only terminals with the Kitty protocol send a key."""
    plain = name.removeprefix("alt+")
    return "+" in plain and plain not in _SENT


def _shadowed(id_: str, names: tuple[str, ...], usual: set[str]) -> str:
    """Returns why no key of an action would work in its scopes: it moves the focus, or belongs to a field or a list."""
    for scope, key in _places(id_):
        reasons = [_conflict(scope, key, name) if name not in usual else "" for name in names]
        if all(reasons) or (key.priority and any(map(character, names)) and scope.field):
            return next(filter(None, reasons), "")
    return ""


def _conflict(scope: Scope, key: Key, name: str) -> str:
    """Returns why a key would not work in a scope; empty if it would."""
    if name in ("tab", "shift+tab"):
        return f"{name} goes from pane to pane and from field to field"
    if name in scope.taken:
        return f"{name} belongs to the list or the buttons there"
    if scope.field and character(name):
        return f"{shown_as(name)} is typed into the field there"
    if scope.field and name in editing() and not key.priority:
        return f"{name} is for editing in the field there"
    return ""


# -- clashes -------------------------------------------------------------------------------------------------


def _places(id_: str) -> Iterator[tuple[Scope, Key]]:
    """Yields the scopes with an id, and their key."""
    for scope in SCOPES.values():
        for key in scope.keys:
            if key.id == id_:
                yield scope, key


def _surrounding(scope: Scope) -> frozenset[str]:
    """Returns the names of a scope and of all scopes that may be around it."""
    return frozenset({scope.name}).union(*(_surrounding(SCOPES[name]) for name in scope.within))


def _others(id_: str) -> Iterator[Key]:
    """Yields the keys with another meaning that work at the same time, except those with the same default key."""
    for scope, key in _places(id_):
        for around in SCOPES.values():
            if scope.name not in _surrounding(around) and around.name not in _surrounding(scope):
                continue
            for other in around.keys:
                apart = other.id != id_ and other.action != key.action
                alive = "read_only" not in {key.action, other.action} and not (key.lends or other.lends)
                if apart and alive and {*names_of(key.keys)}.isdisjoint(names_of(other.keys)):
                    yield other


def _clash(chosen: Chosen) -> tuple[str, str, Key] | None:
    """Returns one clash between a person's keys: the id, the name of the key, and the other id; the last clash first."""
    for id_ in reversed(chosen):
        for other in _others(id_):
            taken = chosen.get(other.id) or names_of(other.keys)
            for name in chosen[id_]:
                if name in taken:
                    return id_, name, other
    return None
