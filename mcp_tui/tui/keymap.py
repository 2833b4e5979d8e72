"""The person's own keys, checked: Textual takes any name for a key, and of two bindings on one drops one silently."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from textual.keys import Keys, _character_to_key, format_key, key_to_character  # pyright: ignore[reportPrivateUsage]

from mcp_tui.tui.bindings import KEYS, Key

_MODIFIED: Final = re.compile(r"((?:ctrl|shift|alt|super|meta|hyper)\+)*")
_NAMED: Final = frozenset(key.value for key in Keys) | {f"f{number}" for number in range(1, 25)}
_MOVES: Final = frozenset(
    {
        "enter",
        "tab",
        "shift+tab",
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "pageup",
        "pagedown",
        "j",
        "k",
    }
)
"""Keys that move in lists and fields, and cannot mean something else."""

_ALIASES: Final = {"ctrl+h": "backspace", "ctrl+i": "tab", "ctrl+j": "enter", "ctrl+m": "enter"}
"""What a terminal cannot tell from another key."""


def keymap(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The keys that can be had of those that are wanted, by the ids of what they do; and a sentence for each that cannot.

    What cannot be had keeps the key that it comes with.
    """
    known = {key.id: key for key in KEYS}
    problems: list[str] = []
    chosen: dict[str, list[str]] = {}
    for id_, text in wanted.items():
        if id_ not in known:
            close = difflib.get_close_matches(id_, known, 1)
            problems.append(
                f"{id_} is nothing that has a key" + (f"; did you mean {close[0]}?" if close else "")
            )
            continue
        names = [normalised(name) for name in text.split(",")]
        wrong = next((problem for problem in map(_problem, names) if problem), "")
        if wrong:
            problems.append(f"{id_} = {text!r}: {wrong}")
        else:
            chosen[id_] = names
    while (clash := _clash(chosen, known.values())) is not None:
        id_, name, other = clash
        problems.append(
            f"{id_} = {','.join(chosen.pop(id_))!r}: {name} already means {known[other].label} ({other})"
        )
    return {id_: ",".join(names) for id_, names in chosen.items()}, problems


def normalised(name: str) -> str:
    """The name of a key as Textual has it; a character may stand for itself."""
    name = name.strip()
    return _character_to_key(name) if len(name) == 1 else name


def shown(names: str) -> str:
    """Keys as the footer shows them: ``^p``, ``f1``, ``?``."""
    first = names.split(",", maxsplit=1)[0]
    return f"^{first.removeprefix('ctrl+')}" if re.fullmatch(r"ctrl\+\w", first) else format_key(first)


def _problem(name: str) -> str:
    if not name:
        return "a key is missing"
    if name in _ALIASES:
        return f"a terminal cannot tell {name} from {_ALIASES[name]}"
    if name in _MOVES:
        return f"{name} moves in lists and fields"
    modified = _MODIFIED.match(name)
    base = name[modified.end() :] if modified else name
    if name in _NAMED or base in _NAMED or (len(base) == 1 and base.isprintable()) or key_to_character(base):
        return ""
    return f"there is no key {name!r}"


def _clash(chosen: Mapping[str, list[str]], keys: Iterable[Key]) -> tuple[str, str, str] | None:
    """The last of the person's keys that something else has, its name, and what has it."""
    holders: dict[str, list[str]] = {}
    for key in keys:
        for name in chosen.get(key.id) or map(normalised, key.keys.split(",")):
            holders.setdefault(name, []).append(key.id)
    order = list(chosen)
    found: list[tuple[int, str, str, str]] = []
    for name, ids in holders.items():
        own = [id_ for id_ in ids if id_ in chosen]
        if len(ids) > 1 and own:
            last = max(own, key=order.index)
            other = next(id_ for id_ in ids if id_ != last) if len(set(ids)) > 1 else last
            if other != last:
                found.append((order.index(last), last, name, other))
    return max(found)[1:] if found else None
