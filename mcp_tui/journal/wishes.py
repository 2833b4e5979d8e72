"""Which cancellations a person wants, in words such as ``outcome`` late, ``since`` 7d: for the command and the screen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeVar

from mcp_tui import clock
from mcp_tui.journal.projections import Outcome
from mcp_tui.journal.queries import Query
from mcp_tui.protocol.events import Cause

Choice = TypeVar("Choice", bound=Enum)

NAMES: Final = ("server", "tool", "outcome", "cause", "since", "until")
"""What can be asked for."""

_ANY_LATE: Final = frozenset(each for each in Outcome if each.value.startswith("late_"))
_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def query(
    wished: Mapping[str, str], *, session: str | None = None, limit: int | None = None, mark: str = ""
) -> Query:
    """What is asked of the index. ``wished`` has texts for some of :data:`NAMES`; ``mark`` stands before them in errors.

    Raises:
        ValueError: a text says nothing that there is; the error is half a sentence for a person.
    """
    outcome, cause = wished.get("outcome"), wished.get("cause")
    since, until = wished.get("since"), wished.get("until")
    return Query(
        session=session,
        server=wished.get("server", ""),
        tool=wished.get("tool", ""),
        outcomes=_outcomes(f"{mark}outcome", outcome),
        causes=_chosen(f"{mark}cause", cause, Cause),
        since=None if since is None else moment(f"{mark}since", since),
        until=None if until is None else moment(f"{mark}until", until, end=True),
        limit=limit,
    )


def _outcomes(name: str, text: str | None) -> frozenset[Outcome]:
    if text is None:
        return frozenset()
    rest = [part for part in _parts(text) if part != "late"]
    chosen = _chosen(name, ",".join(rest), Outcome, more=("late",)) if rest else frozenset[Outcome]()
    return chosen if len(rest) == len(_parts(text)) else chosen | _ANY_LATE


def _parts(text: str) -> list[str]:
    return [re.sub(r"[\s-]+", "_", part.strip().lower()) for part in text.split(",")]


def _chosen(name: str, text: str | None, kind: type[Choice], more: Sequence[str] = ()) -> frozenset[Choice]:
    if text is None:
        return frozenset()
    known = {each.value: each for each in kind}
    for part in _parts(text):
        if part not in known:
            all_ = ", ".join((*known, *more))
            sentence = f"{name} {part!r}: there are {all_}"
            raise ValueError(sentence)
    return frozenset(known[part] for part in _parts(text))


def moment(name: str, text: str, *, end: bool = False) -> float:
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
        sentence = f"{name} {text!r}: 90s, 15m, 2h, 3d, 1w is wanted, or a date as in 2026-11-21T10:30"
        raise ValueError(sentence) from None
