"""Which cancellations are wanted, from the options of ``log``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeVar

from mcp_tui import clock
from mcp_tui.cli.grammar import Usage, Words
from mcp_tui.journal.folder import Journal
from mcp_tui.journal.projections import Outcome
from mcp_tui.journal.queries import Query
from mcp_tui.protocol.events import Cause

Choice = TypeVar("Choice", bound=Enum)

SHOWN: Final = 1000
"""Cancellations that are shown as text where nobody said how many."""

_ANY_LATE: Final = frozenset(each for each in Outcome if each.value.startswith("late_"))
_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def query(given: Words, where: Journal | None) -> Query:
    """What is asked of the index, about one session or about all.

    Raises:
        Usage: an option says nothing that there is.
    """
    options = given.options
    limit = options.limit
    if limit is not None and limit < 0:
        text = f"mcp-tui: --limit {limit}: a number from 0 up is wanted"
        raise Usage(text)
    if limit is None and not (options.json or options.csv):
        limit = SHOWN
    return Query(
        session=None if where is None else where.name,
        server=options.server or "",
        tool=options.tool or "",
        outcomes=_outcomes(options.outcome),
        causes=_chosen("--cause", options.cause, Cause),
        since=None if options.since is None else moment("--since", options.since),
        until=None if options.until is None else moment("--until", options.until, end=True),
        limit=limit or None,
    )


def _outcomes(text: str | None) -> frozenset[Outcome]:
    if text is None:
        return frozenset()
    rest = [part for part in _parts(text) if part != "late"]
    chosen = _chosen("--outcome", ",".join(rest), Outcome, more=("late",)) if rest else frozenset[Outcome]()
    return chosen if len(rest) == len(_parts(text)) else chosen | _ANY_LATE


def _parts(text: str) -> list[str]:
    return [re.sub(r"[\s-]+", "_", part.strip().lower()) for part in text.split(",")]


def _chosen(option: str, text: str | None, kind: type[Choice], more: Sequence[str] = ()) -> frozenset[Choice]:
    if text is None:
        return frozenset()
    known = {each.value: each for each in kind}
    for part in _parts(text):
        if part not in known:
            all_ = ", ".join((*known, *more))
            sentence = f"mcp-tui: {option} {part!r}: there are {all_}"
            raise Usage(sentence)
    return frozenset(known[part] for part in _parts(text))


def moment(option: str, text: str, *, end: bool = False) -> float:
    """A moment as a person says it, in seconds since the epoch: so long ago, a date, or a date and time.

    A date alone means its beginning, or with ``end`` its last moment. Without a zone it is local time.

    Raises:
        Usage: it is none.
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
        sentence = (
            f"mcp-tui: {option} {text!r}: 90s, 15m, 2h, 3d, 1w is wanted, or a date as in 2026-11-21T10:30"
        )
        raise Usage(sentence) from None
