"""What the monkey does: steps made of a seed alone, so that the same seed types the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from mcp_tui.view.keys import SCOPES

TOOLS: Final = (
    "quick",
    "slow",
    "silent",
    "late",
    "twice",
    "broken",
    "noisy",
    "ask",
    "asks_later",
    "crash",
    "work",
)
SIZES: Final = ((60, 15), (80, 24), (140, 40))
LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:-+?[]{}()=äß漢"
"""Characters of a burst. No slash: no path that is typed leads out of the folder of the run."""

MOVES: Final = ("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "shift+tab")
WORDS: Final = ("kill", "history", "json", "theme", "wire", "zoom", "server", "open", "log level", "save")
"""Words that find commands in the palette."""

NAMED: Final = {
    "TOOL": TOOLS,
    "WORD": WORDS,
    "CHOICE": ("shared", "asking", "locked"),
    "EARLIER": ("history", "open a rec"),
    "WAITING": ("silent", "late", "asks"),
}
"""Texts that find something, by the words of a flow."""

OPENERS: Final = (
    "ctrl+p",
    "f1",
    "n",
    "v",
    "c",
    "X",
    "slash",
    "a",
    "S",
    "question_mark",
    "E",
    "b",
    "1",
    "z",
)
"""Keys that open or close something."""

KEYS: Final = sorted(
    {name for scope in SCOPES.values() for key in scope.keys for name in key.names}
    - {"q", "ctrl+c", "ctrl+q", "ctrl+z"}
)
FLOWS: Final[tuple[tuple[str, ...], ...]] = (
    *6 * (("n", "TOOL", "ctrl+s"),),
    *4 * (("n", "TOOL", "enter", "ctrl+s", "r"),),
    *4 * (("n", "TOOL", "ctrl+s", "c", "TEXT", "enter"),),
    *2 * (("n", "TOOL", "enter", "ctrl+s", "r", "c", "TEXT", "enter"),),
    *2 * (("r", "PAUSE", "r", "C"),),
    *2 * (("a", "PAUSE", "ctrl+s"),),
    ("n", "TOOL", "enter", "TEXT", "tab", "TEXT", "ctrl+s"),
    ("2", "down", "enter", "ctrl+s"),
    ("c", "TEXT", "enter"),
    ("C",),
    ("X", "y"),
    ("a", "TEXT", "ctrl+s"),
    ("slash", "TEXT", "enter"),
    *2 * (("ctrl+p", "TEXT", "down", "enter"),),
    ("ctrl+p", "WORD", "enter"),
    ("E", "enter", "enter"),
    ("w", "enter"),
    *2 * (("S", "PAUSE", "enter"),),
    ("S", "down", "enter"),
    ("v", "down", "enter"),
    ("v", "a", "escape"),
    ("1", "enter", "pagedown", "escape"),
    ("m", "down", "m", "r"),
    ("m", "down", "m", "c", "TEXT", "enter"),
    ("P", "PAUSE", "enter", "PAUSE", "down", "escape", "escape"),
    ("n", "TOOL", "enter", "ctrl+t", "TEXT", "ctrl+t", "ctrl+o", "ctrl+n", "ctrl+r", "escape"),
    ("n", "TOOL", "enter", "tab", "tab", "down", "space", "down", "enter", "ctrl+s"),
    *2 * (("v", "a", "CHOICE", "enter", "PAUSE", "TEXT", "PAUSE", "y", "ctrl+n"),),
    *2
    * (
        (
            "v",
            "a",
            "CHOICE",
            "enter",
            "PAUSE",
            "end",
            "pagedown",
            "y",
            "PAUSE",
            "TEXT",
            "tab",
            "down",
            "ctrl+s",
        ),
    ),
    ("v", "a", "CHOICE", "enter", "PAUSE", "L", "PAUSE", "TEXT", "enter", "ctrl+y", "escape"),
    ("v", "down", "x", "PAUSE", "n"),
    ("ctrl+n", "L", "PAUSE", "TEXT", "enter"),
    ("ctrl+p", "EARLIER", "enter", "PAUSE", "down", "slash", "TEXT", "enter", "space", "escape", "escape"),
    ("b", "down", "enter", "TEXT", "enter"),
    ("n", "WAITING", "ctrl+s", "PAUSE", "PAUSE", "TEXT", "f2"),
    ("question_mark", "slash", "TEXT", "enter", "n", "escape"),
    ("slash", "TEXT", "enter", "z", "slash", "escape", "escape"),
    ("6", "i", "I", "left", "home", "end", "enter"),
    *2 * (("a", "PAUSE", "ctrl+t", "TEXT", "ctrl+y", "pagedown", "ctrl+s"),),
    ("a", "PAUSE", "ctrl+d"),
    ("space", "right", "comma", "]", "}"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done, as it is printed."""

    kind: Literal["press", "type", "packet", "paste", "click", "resize", "wait", "connect"]
    keys: tuple[str, ...] = ()
    at: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    thought: float = 0.0
    """Seconds that pass before it, by the clock of the guard."""

    def __str__(self) -> str:
        match self.kind:
            case "press" | "packet":
                return " ".join(self.keys)
            case "type" | "paste":
                return repr("".join(self.keys))
            case "wait":
                return f"wait {self.seconds:.2f}"
            case "connect":
                return "connect"
            case _:
                return f"{self.kind} {self.at[0]},{self.at[1]}"


def steps(seed: int) -> Iterator[Step]:
    """The steps of a seed, without end."""
    dice = random.Random(seed)
    yield Step("connect" if dice.random() < 0.8 else "wait")
    while True:
        match dice.choices(
            ("key", "move", "flow", "type", "packet", "paste", "click", "resize", "wait"),
            (15, 8, 46, 6, 8, 2, 8, 3, 8),
        )[0]:
            case "key":
                yield Step("press", (dice.choice(KEYS),) * dice.choice((1, 1, 1, 1, 5)))
            case "move":
                yield Step("press", (dice.choice(MOVES),) * dice.choice((1, 2, 8)))
            case "flow":
                pause = (
                    1.0 if dice.random() < 0.8 else 0.0
                )  # before a person means something else, they look up
                if dice.random() < 0.8:
                    yield Step("press", ("escape", "escape", "escape"), thought=pause)
                for each in ("ctrl+c",) if dice.random() < 0.01 else dice.choice(FLOWS):
                    if each in NAMED:
                        yield Step("type", tuple(dice.choice(NAMED[each])))
                    elif each == "TEXT":
                        yield _burst(dice)
                    elif each == "PAUSE":
                        yield Step("wait", seconds=0.3, thought=1.0)
                    else:
                        yield Step("press", (each,), thought=pause)
            case "type" | "packet" | "paste" as kind:
                yield _burst(dice) if kind == "type" else _at_once(dice, kind)
            case "click":
                yield Step("click", at=(dice.randrange(140), dice.randrange(40)))
            case "resize":
                yield Step("resize", at=dice.choice((*SIZES, (20, 5), (200, 60))))
            case _:
                yield Step("wait", seconds=dice.choice((0.0, 0.05, 0.3, 1.0)))


def _burst(dice: random.Random) -> Step:
    return Step("type", tuple(dice.choices(LETTERS, k=dice.randrange(1, 21))))


def _at_once(dice: random.Random, kind: Literal["packet", "paste"]) -> Step:
    """Keys in one write, which open and close before anything is drawn; or a long text."""
    if kind == "paste":
        return Step(kind, tuple(dice.choices(LETTERS, k=dice.randrange(1, 200))))
    some = (*OPENERS, *MOVES, "escape", "enter", *dice.choices(LETTERS, k=3))
    return Step(kind, tuple(dice.choices(some, k=dice.randrange(2, 7))))
