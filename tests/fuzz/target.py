"""A target of the fuzzer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """``sound`` are inputs to begin from, ``share`` how many of all it gets, relative to the others.

    ``as_json``: the inputs stay sound JSON.
    """

    name: str
    check: Callable[[bytes], object]
    sound: tuple[bytes, ...]
    share: int = 10
    refuses: tuple[type[Exception], ...] = ()
    as_json: bool = False
