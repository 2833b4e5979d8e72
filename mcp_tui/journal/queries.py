"""Questions to the index, and how a person words them: ``outcome`` late, ``since`` 7d."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeVar

from mcp_tui import clock
from mcp_tui.journal.files import is_held
from mcp_tui.journal.projections import Cancelled, cancelled, left_at_end
from mcp_tui.journal.session_fold import Facts, Trail
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.evidence import Outcome

_Named = TypeVar("_Named", bound=Enum)

QUERY_NAMES: Final = ("server", "tool", "outcome", "cause", "since", "until")
"""What can be asked for."""

_ANY_LATE: Final = frozenset(each for each in Outcome if each.value.startswith("late_"))
_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """A session of the index. ``torn`` says that its last line is not whole, though nobody writes it any more."""

    name: str
    path: Path
    size: int
    torn: bool
    facts: Facts


@dataclass(frozen=True, slots=True)
class LoggedCancellation:
    """A cancellation of the index: in which session, at which moment (seconds since the epoch), on which connection."""

    session: str
    wall: float
    server: str
    transport: str
    revision: str
    cancelled: Cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which cancellations are wanted. What is empty or ``None`` asks for nothing; times are seconds since the epoch.

    ``internal`` asks for the client's own cancels, too.
    ``server`` is part of the server's name, its target or the session's name, in any case of letters; ``tool`` is the name
    of a tool, a prompt, a resource, or a method. ``limit`` leaves the newest.
    """

    session: str | None = None
    server: str = ""
    tool: str = ""
    outcomes: frozenset[Outcome] = frozenset()
    causes: frozenset[Cause] = frozenset()
    since: float | None = None
    until: float | None = None
    limit: int | None = None
    internal: bool = False


OF_OUTCOME: Final = "' ' || outcomes || ' ' LIKE ?"


@dataclass(frozen=True, slots=True)
class Sum:
    """How many cancellations of a tool, of ``total``, had an outcome, and the worst lag among them in seconds."""

    name: str
    outcome: Outcome
    count: int
    worst: float | None
    total: int = 0


def sessions(file: sqlite3.Connection) -> list[RecordedSession]:
    """All sessions, the oldest first."""
    rows = file.execute("SELECT name, path, size, torn, facts FROM session ORDER BY name")
    return [
        RecordedSession(
            name, Path(path), size, bool(torn) and not is_held(Path(path)), Facts(**json.loads(facts))
        )
        for name, path, size, torn, facts in rows
    ]


def cancellations(file: sqlite3.Connection, query: Query) -> list[LoggedCancellation]:
    """The cancellations that are wanted, the oldest first."""
    where, values = _where(query)
    limit = -1 if query.limit is None else query.limit
    rows = file.execute(
        "SELECT session.name, wall, server, transport, revision, facts, trail, outcomes"  # noqa: S608
        f" FROM cancellation JOIN session ON session.number = cancellation.session {where}"
        " ORDER BY wall DESC, cancellation.number DESC LIMIT ?",
        (*values, limit),
    )
    return [entry for row in rows if (entry := _entry(*row)) is not None][::-1]


def count(file: sqlite3.Connection, query: Query) -> int:
    """How many cancellations are wanted, whatever the limit."""
    where, values = _where(query)
    return file.execute(
        f"SELECT count(*) FROM cancellation JOIN session ON session.number = cancellation.session {where}",  # noqa: S608
        values,
    ).fetchone()[0]


def sums(file: sqlite3.Connection, query: Query) -> list[Sum]:
    """How often each tool had each outcome, the most frequent tool first."""
    where, values = _where(query)
    rows = file.execute(
        "SELECT CASE WHEN cancellation.name = '' THEN method ELSE cancellation.name END AS tool, outcomes,"  # noqa: S608
        " count(*), max(worst)"
        f" FROM cancellation JOIN session ON session.number = cancellation.session {where} GROUP BY tool, outcomes",
        values,
    )
    totals: Counter[str] = Counter()
    found: dict[tuple[str, str], tuple[int, float | None]] = {}
    for tool, outcomes, number, worst in rows:
        totals[tool] += number
        for outcome in outcomes.split():  # of one cancellation several things may be true
            count, before = found.get((tool, outcome), (0, None))
            late = outcome.startswith("late_") or outcome == Outcome.STILL_PROGRESSING.value
            lags = [lag for lag in (worst if late else None, before) if lag is not None]
            found[tool, outcome] = count + number, max(lags, default=None)
    made = [
        Sum(tool, Outcome(outcome), count, worst, totals[tool])
        for (tool, outcome), (count, worst) in found.items()
    ]
    return sorted(made, key=lambda each: (-each.total, each.name, -each.count, each.outcome.value))


def _where(query: Query) -> tuple[str, list[Any]]:
    tests: list[str] = []
    values: list[Any] = []

    def test(text: str, *of: Any) -> None:
        tests.append(text)
        values.extend(of)

    if query.session is not None:
        test("session.name = ?", query.session)
    if query.server:
        part = query.server.casefold()
        test("(has(server, ?) OR has(target, ?) OR has(session.name, ?))", part, part, part)
    if query.tool:
        test("(cancellation.name = ? OR method = ?)", query.tool, query.tool)
    if not query.internal:
        test("NOT internal")
    if query.outcomes:
        names = [f"% {each.value} %" for each in query.outcomes]
        test(f"({' OR '.join([OF_OUTCOME] * len(names))})", *names)
    if query.causes:
        test(f"cause IN ({', '.join('?' * len(query.causes))})", *(each.value for each in query.causes))
    if query.since is not None:
        test("wall >= ?", query.since)
    if query.until is not None:
        test("wall <= ?", query.until)
    return (f"WHERE {' AND '.join(tests)}" if tests else ""), values


def _entry(
    session: str,
    wall: float,
    server: str,
    transport: str,
    revision: str,
    facts: str,
    trail: bytes,
    outcomes: str,
) -> LoggedCancellation | None:
    """A cancellation, watched until the last record of its session."""
    row, last = Trail.load(trail).row(), json.loads(facts)["last"]
    if row is not None and Outcome.WATCHING.value not in outcomes:
        row = left_at_end(row, last)
    made = None if row is None else cancelled(row, last)
    return None if made is None else LoggedCancellation(session, wall, server, transport, revision, made)


# -- in a person's words -----------------------------------------------------------------------------------------


def parse_query(
    texts: Mapping[str, str], *, session: str | None = None, limit: int | None = None, mark: str = ""
) -> Query:
    """The query for ``texts``, which has texts for some of :data:`QUERY_NAMES`; ``mark`` precedes these in errors.

    Raises:
        ValueError: a text says nothing that there is; the error is half a sentence for a person.
    """
    outcome, cause = texts.get("outcome"), texts.get("cause")
    since, until = texts.get("since"), texts.get("until")
    return Query(
        session=session,
        server=texts.get("server", ""),
        tool=texts.get("tool", ""),
        outcomes=_outcomes(f"{mark}outcome", outcome),
        causes=_chosen(f"{mark}cause", cause, Cause),
        since=None if since is None else parse_time(f"{mark}since", since),
        until=None if until is None else parse_time(f"{mark}until", until, end=True),
        limit=limit,
    )


def _outcomes(name: str, text: str | None) -> frozenset[Outcome]:
    if text is None:
        return frozenset()
    rest = [part for part in _words(text) if part != "late"]
    chosen = _chosen(name, ",".join(rest), Outcome, more=("late",)) if rest else frozenset[Outcome]()
    return chosen if len(rest) == len(_words(text)) else chosen | _ANY_LATE


def _words(text: str) -> list[str]:
    return [re.sub(r"[\s-]+", "_", part.strip().lower()) for part in text.split(",")]


def _chosen(name: str, text: str | None, kind: type[_Named], more: Sequence[str] = ()) -> frozenset[_Named]:
    if text is None:
        return frozenset()
    known = {each.value: each for each in kind}
    for part in _words(text):
        if part not in known:
            all_ = ", ".join((*known, *more))
            raise ValueError(f"Unknown {name.removeprefix('--')} {part!r}. Choose from: {all_}.")
    return frozenset(known[part] for part in _words(text))


def parse_time(name: str, text: str, *, end: bool = False) -> float:
    """A moment as a person says it, in seconds since the epoch: so long ago, a date, or a date and time.

    A date alone means its beginning, or with ``end`` its last moment. Without a zone it is local time.

    Raises:
        ValueError: it is none.
    """
    ago = _AGO.fullmatch(text.strip().lower())
    if ago is not None:
        return clock.wall() - float(ago[1]) * _SECONDS[ago[2]]
    try:
        made = datetime.fromisoformat(text.strip())
        if end and re.fullmatch(r"[\d-]+", text.strip()):
            made += timedelta(days=1, microseconds=-1)
        return made.timestamp()
    except (ValueError, OverflowError, OSError):
        sentence = f"Invalid {name} {text!r}. Use 90s, 15m, 2h, 3d, 1w, or a date such as 2026-11-21T10:30."
        raise ValueError(sentence) from None
