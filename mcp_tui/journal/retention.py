"""Deletes journals that are too old, and the oldest if all together are too large; of one that is being written, its parts.

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
from mcp_tui.journal.journal_files import PART_BYTES, Journal, is_locked, journals, read_header
from mcp_tui.journal.state_folder import remove_unfinished
from mcp_tui.protocol.messages import number
from mcp_tui.protocol.values import fact

DAY: Final = 86_400.0

FAR_AHEAD_SECONDS: Final = 62 * DAY
"""Seconds between two sessions, or between the last one and now, above which the clock may be wrong."""

FRESH_SECONDS: Final = DAY
"""Seconds during which a journal counts as being written, if the file system has no locks."""

_NAMED: Final = 3
"""Deleted journals that are named."""


TENDED_SECONDS: Final = 3600.0
"""Seconds after which a running session looks again at what has to go."""

SHARE: Final = 2
"""A running session has at most this part of the room of all."""

PARTS: Final = 64
"""Parts of a journal that would have all the room."""

LEAST_PART_BYTES: Final = 32 * 1024


@fact
class Retention:
    """For how many ``days`` journals are kept, and how many bytes of them all together; ``None`` sets no limit."""

    days: float | None = None
    size: int | None = None

    @property
    def part_bytes(self) -> int:
        """Bytes after which a journal continues in another part."""
        return PART_BYTES if self.size is None else max(LEAST_PART_BYTES, min(PART_BYTES, self.size // PARTS))

    @property
    def part_seconds(self) -> float:
        """Seconds after which it does so, too."""
        return float("inf") if self.days is None else self.days * DAY / 8

    def is_too_old(self, age: float) -> bool:
        """Whether a part that was written so many seconds ago has to go."""
        return self.days is not None and age > self.days * DAY

    def is_too_long(self, size: int, folder: Path) -> bool:
        """Whether the oldest parts of a journal in this folder have to go, which has ``size`` bytes and is being written.

        It takes no room of the journals that are complete, and not all that there is.
        """
        return self.size is not None and (size > self.size / SHARE or _size_of(folder) > self.size)


def _size_of(folder: Path) -> int:
    """Returns the bytes of all journals in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        return sum(each.stat().st_size for each in entries if each.name.endswith(".jsonl"))
    return 0


class Pruned(NamedTuple):
    """The result of :func:`prune`: when the newest session began, 0 without any; which were deleted; why none was."""

    newest: float = 0.0
    deleted: tuple[str, ...] = ()
    none: str = ""


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


def prune(folder: Path, limits: Retention, *, now: float | None = None, known: float = 0.0) -> Pruned:
    """Deletes journals that are too old, and the oldest of too many, but none that is being written.

    ``now`` is the time in seconds since the epoch, by default that of the clock; ``known`` a time that has surely come.
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
    is_old = limits.days is not None and any(each < now - limits.days * DAY for each in written)
    # Most often nothing is to be deleted, which is seen in a tenth of the time.
    if not is_old and (limits.size is None or size <= limits.size):
        return Pruned(max((each for each in written if each <= now), default=max(written, default=0.0)))
    remove_unfinished(folder)
    found = [_Dated.of(each, now) for each in journals(folder)]
    known = max([known, *(each.began for each in found)])
    if known and (ahead := now - known) > FAR_AHEAD_SECONDS:
        return Pruned(
            known, none=f"the clock is {ahead / DAY:,.0f} days ahead of every recording, so none is deleted"
        )
    return Pruned(known, tuple(_deleted(found, known, limits, now)))


def _deleted(found: list[_Dated], known: float, limits: Retention, now: float) -> list[str]:
    """Deletes what is to be deleted, if a session is known to have begun at ``known``; returns what is said of it."""
    before = 0.0 if limits.days is None else min(now, known) - limits.days * DAY
    aged: list[str] = []
    surplus: list[str] = []
    size = 0
    # From the newest on, so that the room goes to the newest and the oldest are deleted. What seems to be from the future
    # has no known age, and comes last.
    for journal, at, _ in sorted(found, key=lambda each: (each.at <= now + DAY, each.at), reverse=True):
        size += journal.size
        reason = aged if at < before else surplus if limits.size is not None and size > limits.size else None
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
        notes.append(f"deleted {_named(aged)}, older than {limits.days:g} days")
    if surplus:
        notes.append(
            f"deleted {_named(surplus)}, the oldest, to keep all below {(limits.size or 0) / 1e6:,g} MB"
        )
    return notes


def _named(names: Sequence[str]) -> str:
    more = ", …" * (len(names) > _NAMED)
    return f"{len(names):,} recording{'s' * (len(names) > 1)} ({', '.join(names[:_NAMED])}{more})"


def _is_written(journal: Journal, now: float) -> bool:
    """Whether a running process writes to a journal."""
    locked = is_locked(journal.paths[-1])
    if locked is None:
        return journal.written > now - FRESH_SECONDS
    # If it goes on in a part that has begun since the folder was read, that one has the lock.
    return locked or journal.next_path.exists()
