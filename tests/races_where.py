"""Where races are played: the places, which are a transport and a revision each, and the tests' parameters that name them.

A test is played in the places that its parameter ``wire`` goes through. What is asked here is the mark itself, not the
test's text, so a place that is left out of a list is missed.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import pytest

from tests.protocol.playbook import (
    EVERYWHERE,
    HANDSHAKE,
    HANDSHAKEN,
    MODERN,
    MODERN_HTTP,
    NOTIFYING,
    ON_HTTP,
    ON_STDIO,
    Wire,
)

TESTS: Final = Path(__file__).parent
REAL: Final = "races/"
"""The folder of the tests that play over real transports; those of the ledger in it say so by their name."""

Places = tuple[Wire, ...]

ALL: Final[Places] = tuple(EVERYWHERE)
STDIO: Final[Places] = tuple(ON_STDIO)
HTTP: Final[Places] = tuple(ON_HTTP)
NOTIFIED: Final[Places] = tuple(NOTIFYING)
"""Where a cancel leaves as a notification."""
LEGACY: Final[Places] = tuple(HANDSHAKEN)
LEGACY_HTTP: Final[Places] = tuple(wire for wire in ON_HTTP if wire in HANDSHAKEN)
SSE: Final[Places] = (Wire("sse", HANDSHAKE[0]),)
POSTED: Final[Places] = (*LEGACY_HTTP, *SSE)
"""Where a cancel is posted."""
NEW_STDIO: Final[Places] = (Wire("stdio", MODERN),)
NEW_HTTP: Final[Places] = (MODERN_HTTP,)
NEW: Final[Places] = (*NEW_STDIO, *NEW_HTTP)
BATCHES: Final[Places] = (Wire("stdio", "2025-03-26"), Wire("http", "2025-03-26"))
CORE_TASKS: Final[Places] = (Wire("stdio", "2025-11-25"), Wire("http", "2025-11-25"))
TASKS: Final[Places] = (*CORE_TASKS, *NEW)
UNSETTLED: Final[Places] = (Wire("stdio", None), Wire("http", None))
"""Before the revision is known."""

REVISIONS: Final = (*HANDSHAKE, MODERN)


_GROUPS: Final = (
    (ALL, "everywhere"),
    (LEGACY, "everywhere before 2026-07-28"),
    (NOTIFIED, "everywhere but http 2026-07-28"),
    (NEW, "2026-07-28"),
    (UNSETTLED, "before the revision is known"),
)


def said(places: Collection[Wire]) -> str:
    """Places in words: ``stdio 2024-11-05…2026-07-28, sse 2024-11-05``."""
    for group, words in _GROUPS:
        if set(places) == set(group):
            return words
    parts: list[str] = []
    for transport in ("stdio", "http", "sse"):
        mine = {str(wire.revision or "") for wire in places if wire.transport == transport}
        if "" in mine:
            parts.append(f"{transport} before the revision is known")
        parts += [f"{transport} {run}" for run in _runs(mine)]
    return ", ".join(parts)


def _runs(revisions: Collection[str]) -> list[str]:
    """Revisions that follow each other, as ranges."""
    runs: list[list[str]] = []
    for number, revision in enumerate(REVISIONS):
        if revision not in revisions:
            continue
        if runs and runs[-1][-1] == REVISIONS[number - 1]:
            runs[-1].append(revision)
        else:
            runs.append([revision])
    return [run[0] if len(run) == 1 else f"{run[0]}…{run[-1]}" for run in runs]


@dataclass(frozen=True, slots=True)
class Where:
    """Where a race applies (protocol reference, "Cancellation races"). All of it has to be played.

    ``real``: over real transports too, and not only in the ledger. ``but`` are places that are left out, and why.
    """

    places: Places
    real: bool = False
    but: tuple[tuple[Places, str], ...] = ()

    @property
    def left_out(self) -> set[Wire]:
        return {wire for places, _ in self.but for wire in places}


CLOSED: Final = ((NEW_HTTP, "nothing is read from a stream that was closed"),)
OWN_STREAM: Final = ((NEW_HTTP, "what comes on a request's own stream can only answer that one: C-29"),)
ENDED_POST: Final = (((Wire("http", None),), "nothing is read from a POST that was ended"),)

WHERE: Final[dict[str, Where]] = {
    "C-01": Where(LEGACY, real=True),
    "C-02": Where(NEW_STDIO, real=True),
    "C-03": Where(NEW_HTTP, real=True),
    "C-04": Where(NEW_HTTP, real=True),
    "C-05": Where(POSTED),
    "C-06": Where(ALL),
    "C-07": Where(STDIO),
    "C-08": Where(STDIO),
    "C-09": Where(ALL, real=True),
    "C-10": Where(ALL, real=True, but=CLOSED),
    "C-11": Where(ALL, real=True),
    "C-12": Where(ALL, real=True, but=CLOSED),
    "C-13": Where(NEW, real=True, but=CLOSED),
    "C-14": Where(ALL, real=True, but=CLOSED),
    "C-15": Where(ALL, real=True, but=CLOSED),
    "C-16": Where(NEW, real=True, but=CLOSED),
    "C-17": Where(TASKS, but=CLOSED),
    "C-18": Where(ALL, real=True),
    "C-19": Where(ALL, real=True, but=CLOSED),
    "C-20": Where(ALL),
    "C-21": Where(ALL),
    "C-22": Where(LEGACY),
    "C-23": Where(UNSETTLED),
    "C-24": Where(UNSETTLED, but=ENDED_POST),
    "C-25": Where(ALL, real=True),
    "C-26": Where(ALL, real=True, but=OWN_STREAM),
    "C-27": Where(ALL, real=True),
    "C-28": Where(ALL, real=True),
    "C-29": Where(HTTP, real=True),
    "C-30": Where(HTTP, real=True),
    "C-31": Where(POSTED, real=True),
    "C-32": Where(POSTED, real=True),
    "C-33": Where(LEGACY_HTTP),
    "C-34": Where(LEGACY_HTTP, real=True),
    "C-35": Where(LEGACY_HTTP, real=True),
    "C-36": Where(LEGACY_HTTP, real=True),
    "C-37": Where(LEGACY_HTTP),
    "C-38": Where(NEW_HTTP, real=True),
    "C-39": Where(NEW_HTTP, real=True),
    "C-40": Where(LEGACY_HTTP, real=True),
    "C-41": Where(STDIO, real=True),
    "C-42": Where(SSE, real=True),
    "C-43": Where(BATCHES, real=True),
    "C-44": Where(ALL, real=True),
    "C-45": Where(LEGACY, real=True),
    "C-50": Where(LEGACY),
    "C-51": Where(LEGACY),
    "C-52": Where(LEGACY, real=True),
    "C-53": Where(LEGACY),
    "C-54": Where(LEGACY),
    "C-55": Where(LEGACY, real=True),
    "C-56": Where(NEW),
    "C-57": Where(NEW, real=True),
    "C-58": Where(NEW),
    "C-59": Where(NEW),
    "C-60": Where(NEW),
    "C-61": Where(NEW),
    "C-62": Where(LEGACY),
    "C-63": Where(LEGACY),
    "C-64": Where(NEW),
    "C-65": Where(NEW),
    "C-66": Where(NEW),
    "C-67": Where(NEW),
    "C-68": Where(ALL),
    "C-69": Where(LEGACY),
    "C-70": Where(NEW, real=True),
    "C-80": Where(CORE_TASKS),
    "C-81": Where(NEW),
    "C-82": Where(CORE_TASKS),
    "C-83": Where(NEW),
    "C-84": Where(TASKS),
    "C-85": Where(CORE_TASKS),
    "C-86": Where(CORE_TASKS),
    "C-87": Where(NEW),
    "C-88": Where(TASKS),
    "C-89": Where(TASKS),
    "C-90": Where(TASKS),
}
"""Where each race applies."""

_TEST: Final = re.compile(r"^(?:async )?def (test_\w+)\(", re.MULTILINE)
_NUMBERED: Final = re.compile(r"test_((?:c\d\d_)+)")


def names(path: Path) -> list[str]:
    """The tests of a file."""
    return _TEST.findall(path.read_text("utf-8"))


def numbers(name: str) -> list[str]:
    """The numbers that a test's name begins with: ``C-01``, …."""
    head = _NUMBERED.match(name)
    return [f"C-{each[1:]}" for each in head[1].split("_") if each] if head else []


class Played:
    """The tests of one race, by the numbers in their names, and where they are played."""

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.places: set[Wire] = set()
        self.really: set[Wire] = set()
        """Places in which it is played over a real transport."""

    def add(self, test: str, places: Iterable[Wire]) -> None:
        self.tests.append(test)
        found = set(places)
        self.places |= found
        if test.startswith(REAL) and "ledger" not in test.partition("::")[0]:
            self.really |= found


def played() -> dict[str, Played]:
    """What is played of each race."""
    found: dict[str, Played] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        numbered = [name for name in names(path) if numbers(name)]
        if not numbered:
            continue
        file = path.relative_to(TESTS)
        module = importlib.import_module(".".join(("tests", *file.with_suffix("").parts)))
        for name in numbered:
            places = _places(vars(module)[name])
            for number in numbers(name):
                found.setdefault(number, Played()).add(f"{file.as_posix()}::{name}", places)
    return found


def missing(where: Where, tests: Played) -> list[str]:
    """Where a race applies and is not played, and nothing says why."""
    owed = set(where.places) - where.left_out
    bare = [f"{wire}" for wire in where.places if wire in owed - tests.places]
    if where.real:
        bare += [f"{wire}, really" for wire in where.places if wire in owed - tests.really]
    return bare


def excused(where: Where, tests: Played) -> list[str]:
    """Places that are left out for a reason although the race is played there, or does not apply."""
    done = tests.really if where.real else tests.places
    return [str(wire) for wire in sorted(where.left_out & done | where.left_out - set(where.places), key=str)]


def _places(test: object) -> list[Wire]:
    marks = cast("list[pytest.Mark]", getattr(test, "pytestmark", []))
    return [
        wire
        for mark in marks
        if mark.name == "parametrize" and mark.args[0] == "wire"
        for wire in cast("Iterable[Wire]", mark.args[1])
    ]
