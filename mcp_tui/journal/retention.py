"""Deletes journals that are too old, and the oldest if all together are too large.

A clock can be wrong, and what is deleted does not come back. So age is judged by two clocks: that of now, and the time at
which the newest other session began. Its header says how far ahead of the others that was: a session that began far ahead of
all says nothing about the time for a day. While the clock itself is far ahead of every session, nothing is deleted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from mcp_tui import clock
from mcp_tui.journal.files import Journal, is_held, journals, read_header
from mcp_tui.journal.state_folder import remove_unfinished
from mcp_tui.protocol.messages import number

DAY: Final = 86_400.0

FAR_AHEAD_SECONDS: Final = 62 * DAY
"""Seconds between two sessions, or between the last one and now, above which the clock may be wrong."""

FRESH_SECONDS: Final = DAY
"""Seconds during which a journal counts as being written, if the file system has no locks."""

_NAMED: Final = 3
"""Deleted journals that are named."""


class Pruned(NamedTuple):
    """The result of :func:`prune`: the time of the newest session, 0 without any, and what is to be said."""

    newest: float = 0.0
    notes: tuple[str, ...] = ()


class _Dated(NamedTuple):
    """A journal, when it was written last, and when it began, as far as that can be believed; 0 if not at all."""

    journal: Journal
    at: float
    began: float

    @classmethod
    def of(cls, journal: Journal, now: float) -> _Dated:
        header = read_header(journal.paths[0])
        wall, after = (number(header.get(name)) or 0.0 for name in ("wall", "after"))
        # A session whose clock was behind is not older than those that were there before it.
        behind = after - wall > DAY and after <= now
        at = max(journal.written, after) if behind else journal.written
        began = min(journal.written, wall or journal.written)
        ahead = after > 0 and wall - after > FAR_AHEAD_SECONDS and began > now - DAY
        return cls(journal, at, 0.0 if ahead or began > now + DAY else began)


def prune(
    folder: Path, *, keep_days: float | None = None, keep_bytes: int | None = None, now: float | None = None
) -> Pruned:
    """Deletes journals of more than ``keep_days``, and the oldest beyond ``keep_bytes``, but none that is being written.

    ``now`` is the time in seconds since the epoch, by default that of the clock.
    """
    now = clock.wall() if now is None else now
    written: list[float] = []
    size = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for each in entries:
            if each.name.endswith(".jsonl"):
                status = each.stat(follow_symlinks=False)
                written.append(status.st_mtime)
                size += status.st_size
    is_old = keep_days is not None and any(each < now - keep_days * DAY for each in written)
    # Most often nothing is to be deleted, which is seen in a tenth of the time.
    if not is_old and (keep_bytes is None or size <= keep_bytes):
        return Pruned(max((each for each in written if each <= now), default=max(written, default=0.0)))
    remove_unfinished(folder)
    found = [_Dated.of(each, now) for each in journals(folder)]
    known = max((each.began for each in found), default=0.0)
    return Pruned(known, tuple(_deleted(found, known, keep_days, keep_bytes, now)))


def _deleted(
    found: list[_Dated], known: float, keep_days: float | None, keep_bytes: int | None, now: float
) -> list[str]:
    """Deletes what is to be deleted, if a session is known to have begun at ``known``; returns what is said of it."""
    if known and now - known > FAR_AHEAD_SECONDS:
        days = (now - known) / DAY
        return [f"the clock is {days:,.0f} days ahead of every recording, so none is deleted"]
    before = 0.0 if keep_days is None else min(now, known) - keep_days * DAY
    aged: list[str] = []
    surplus: list[str] = []
    size = 0
    # From the newest on, so that the room goes to the newest and the oldest are deleted. What seems to be from the future
    # has no known age, and comes last.
    for journal, at, _ in sorted(found, key=lambda each: (each.at <= now + DAY, each.at), reverse=True):
        size += journal.size
        reason = aged if at < before else surplus if keep_bytes is not None and size > keep_bytes else None
        if reason is None or _is_written(journal, now):
            continue
        # What is deleted makes room for the next older one, which may be small enough to stay.
        size -= journal.size
        for path in journal.paths:
            with suppress(OSError):
                path.unlink()
        reason.append(journal.name)
    notes: list[str] = []
    if aged:
        notes.append(f"deleted {_named(aged)}, older than {keep_days:g} days")
    if surplus:
        notes.append(
            f"deleted {_named(surplus)}, the oldest, to keep all below {(keep_bytes or 0) / 1e6:,g} MB"
        )
    return notes


def _named(names: Sequence[str]) -> str:
    more = ", …" * (len(names) > _NAMED)
    return f"{len(names):,} recording{'s' * (len(names) > 1)} ({', '.join(names[:_NAMED])}{more})"


def _is_written(journal: Journal, now: float) -> bool:
    """Whether a running process writes to a journal."""
    held = is_held(journal.paths[-1])
    if held is None:
        return journal.written > now - FRESH_SECONDS
    # If it goes on in a part that has begun since the folder was read, that one has the lock.
    return held or journal.next_path.exists()
