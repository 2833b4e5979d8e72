"""Deletes journals that are too old, and the oldest ones if all together are too large.

Only the oldest parts of a journal that is being written are deleted. A clock can be wrong, and deleted journals are lost. So
the age of a journal is judged by two times: the present time of the clock, and the start of the newest session. The header
of a session shows how far its clock was ahead of other sessions; if it was far ahead, the session is ignored for a day. If
the present time is far ahead of every session, nothing is deleted.
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
"""The seconds between two sessions, or since the last session, above which the clock may be wrong."""

FRESH_SECONDS: Final = DAY
"""The seconds for which a journal counts as being written, if the file system has no locks."""

_NAMED: Final = 3
"""The most deleted journals that are named."""


TENDED_SECONDS: Final = 3600.0
"""The seconds after which a running session checks again for journals to delete."""

SHARE: Final = 2
"""The size limit divided by this is the most that a running session may use."""

PARTS: Final = 64
"""The number of parts into which a journal of the whole size limit is divided."""

LEAST_PART_BYTES: Final = 32 * 1024


@fact
class Retention:
    """The limits for journals: ``days`` of age, and bytes of all journals together (``size``); ``None`` means no limit."""

    days: float | None = None
    size: int | None = None

    @property
    def part_bytes(self) -> int:
        """The bytes after which a journal continues in another part."""
        return PART_BYTES if self.size is None else max(LEAST_PART_BYTES, min(PART_BYTES, self.size // PARTS))

    @property
    def part_seconds(self) -> float:
        """The seconds after which a journal continues in another part."""
        return float("inf") if self.days is None else self.days * DAY / 8

    def is_too_old(self, age: float) -> bool:
        """Whether a part that was written ``age`` seconds ago must be deleted."""
        return self.days is not None and age > self.days * DAY

    def is_too_long(self, size: int, folder: Path) -> bool:
        """Whether the oldest parts of a journal with ``size`` bytes that is being written must be deleted.

        Such a journal may use only a share of the limit, and no room that other journals use.
        """
        return self.size is not None and (size > self.size / SHARE or _size_of(folder) > self.size)


def _size_of(folder: Path) -> int:
    """Returns the bytes of all journals in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        return sum(each.stat().st_size for each in entries if each.name.endswith(".jsonl"))
    return 0


class Pruned(NamedTuple):
    """The result of :func:`prune`.

    ``newest`` is the start of the newest session, 0 without any. ``deleted`` has sentences about deleted journals.
    ``none`` is the reason if nothing was deleted because of the clock.
    """

    newest: float = 0.0
    deleted: tuple[str, ...] = ()
    none: str = ""


class _Dated(NamedTuple):
    """A journal, the time of its last write, and its start; the start is 0 if the clock of the session was wrong."""

    journal: Journal
    at: float
    began: float

    @classmethod
    def of(cls, journal: Journal, now: float) -> _Dated:
        header = read_header(journal.paths[0])
        wall, after = (number(header.get(name)) or 0.0 for name in ("wall", "after"))
        # If the clock of a session was behind, the session is at least as new as the sessions before it.
        behind = after - wall > DAY and after <= now
        at = max(journal.written, after) if behind else journal.written
        began = min(journal.written, wall or journal.written)
        ahead = after > 0 and wall - after > FAR_AHEAD_SECONDS and began > now - DAY
        return cls(journal, at, 0.0 if ahead or began > now + DAY else began)


def prune(folder: Path, limits: Retention, *, now: float | None = None, known: float = 0.0) -> Pruned:
    """Deletes journals that are too old, and the oldest if there are too many bytes, but none that is being written.

    ``now`` is in seconds since the epoch, by default the time of the clock. ``known`` is a time that is certainly past.
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
    # Usually nothing has to be deleted, and this check takes a tenth of the time.
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
    """Deletes journals; returns sentences about them. ``known`` is the start of the newest session."""
    before = 0.0 if limits.days is None else min(now, known) - limits.days * DAY
    aged: list[str] = []
    surplus: list[str] = []
    size = 0
    # Starts with the newest, so that the oldest ones exceed the limit. A journal with a time in the future has an unknown
    # age, and comes last.
    for journal, at, _ in sorted(found, key=lambda each: (each.at <= now + DAY, each.at), reverse=True):
        size += journal.size
        reason = aged if at < before else surplus if limits.size is not None and size > limits.size else None
        if reason is None or _is_written(journal, now):
            continue
        # The next older journal may be small enough to fit into the room of this one.
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
    # If a part was created after the folder was read, its file is locked, and the last known part is not.
    return locked or journal.next_path.exists()
