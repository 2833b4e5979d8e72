"""Where journals live, and how long."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from mcp_tui import clock
from mcp_tui.journal.files import is_held, is_ours, make_private, parts_of
from mcp_tui.journal.records import Header, RecordingError, read_record, why
from mcp_tui.journal.redaction import Redactor
from mcp_tui.journal.state import state_folder
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.messages import as_text

KEEP_DAYS: Final = 30.0
"""Days after its last record for which a journal is kept."""

KEEP_BYTES: Final = 2_000_000_000
"""Bytes of journals kept, all together."""

PART_BYTES: Final = 256 * 1024 * 1024
"""Bytes from which on a journal goes on in another file."""

HEADER: Final = 65_536
"""Bytes of the first line of a journal that are read, at most."""

FRESH: Final = 24 * 3600.0
"""Seconds since its last record in which a journal may still be written, where the file system has no lock that says so."""

_OURS: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}-[A-Za-z0-9._-]+-\d+)(?:\.([1-9]\d*))?\.jsonl", re.ASCII)
"""The name of a journal, and of a part of one: the name of its session, and the number."""


def journal_folder() -> Path:
    """Where journals are: ``journal`` in the state folder."""
    return state_folder() / "journal"


def new_journal_path(server_name: str) -> Path:
    """The path of a new journal, ``journal/2026-11-21T031500-everything-4711.jsonl`` in the state folder.

    Makes the folder, readable by its owner only.

    Raises:
        RecordingError: the folder cannot be made, or belongs to somebody else.
    """
    folder = journal_folder()
    make_private(folder)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", server_name).strip("-.")[:48].strip("-.") or "server"
    stamp = clock.local_stamp(clock.wall()).replace(" ", "T").replace(":", "")
    stem = f"{stamp}-{name}-{os.getpid()}"
    path, number = folder / f"{stem}.jsonl", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.jsonl"
    return path


def open_journal(
    server_name: str,
    *,
    redactor: Redactor,
    header: Header | None = None,
    keep_days: float | None = KEEP_DAYS,
    keep_bytes: int | None = KEEP_BYTES,
    part_bytes: int | None = PART_BYTES,
) -> Writer:
    """A writer of a new journal. What is older than ``keep_days``, and the oldest beyond ``keep_bytes``, is deleted first.

    ``None`` sets no limit: of age, of size, of the size of one file.

    Raises:
        RecordingError: it cannot be made.
    """
    path = new_journal_path(server_name)
    prune(path.parent, keep_days=keep_days, keep_bytes=keep_bytes)
    return Writer(path, redactor=redactor, header=header, rotate=part_bytes)


class Journal(NamedTuple):
    """A journal in the folder: the name of its session, its files in order, and what the system says of them.

    ``written`` is the moment of its last record, in seconds since the epoch; ``size`` its bytes in all; ``inode`` the number
    of its first file.
    """

    name: str
    paths: tuple[Path, ...]
    written: float
    size: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Journal:
        """A recording anywhere, under the name of its path.

        Raises:
            OSError: there is none.
        """
        return cls.made(str(path), [(each, each.stat()) for each in parts_of(path)])

    @classmethod
    def made(cls, name: str, parts: Sequence[tuple[Path, os.stat_result]]) -> Journal:
        """A journal of its files, in order, and what the system says of each."""
        return cls(
            name=name,
            paths=tuple(path for path, _ in parts),
            written=max(status.st_mtime for _, status in parts),
            size=sum(status.st_size for _, status in parts),
            inode=parts[0][1].st_ino,
        )

    @property
    def purpose(self) -> str:
        """That of :class:`~mcp_tui.journal.records.Header`, read from the file; empty where that cannot be read."""
        with suppress(OSError), self.paths[0].open("rb") as file:
            return as_text((read_record(file.readline(HEADER)) or {}).get("purpose"))
        return ""


def journals(folder: Path) -> list[Journal]:
    """The journals in a folder, sorted by name, which is oldest first; none where the folder does not exist.

    Files with another name, files that are not regular, and files of another user are left out.

    Raises:
        RecordingError: the folder cannot be read, or belongs to another user.
    """
    found: dict[str, dict[int, tuple[Path, os.stat_result]]] = {}
    try:
        if not is_ours(folder.stat()):
            raise RecordingError(f"The journal folder {folder} belongs to another user.")
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordingError(f"Cannot read the journal folder {folder}: {why(error)}.") from None
    for entry in entries:
        match = _OURS.fullmatch(entry.name)
        if match is None:
            continue
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and is_ours(status):
                found.setdefault(match[1], {})[int(match[2] or 1)] = Path(entry.path), status
    return [Journal.made(name, [part for _, part in sorted(found[name].items())]) for name in sorted(found)]


def prune(folder: Path, *, keep_days: float | None = KEEP_DAYS, keep_bytes: int | None = KEEP_BYTES) -> None:
    """Delete journals that are too old, and the oldest while all are too large, but none that is being written."""
    now = clock.wall()
    size = 0
    for journal in sorted(journals(folder), key=attrgetter("written"), reverse=True):
        size += journal.size
        old = keep_days is not None and journal.written < now - keep_days * 86_400
        if (old or (keep_bytes is not None and size > keep_bytes)) and not _is_written(journal, now):
            size -= journal.size
            for path in journal.paths:
                with suppress(OSError):
                    path.unlink()


def _is_written(journal: Journal, now: float) -> bool:
    held = is_held(journal.paths[-1])
    return journal.written > now - FRESH if held is None else held
