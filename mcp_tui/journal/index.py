"""The index over sessions and cancellations: one SQLite file beside the journals, made of them and of nothing else.

It can be deleted at any time, is made anew when it is damaged, and several processes may use it at once. Where it cannot
be used at all (a folder that cannot be written, a lock that is not given), the same is found in memory, only slower.
A file is read on from where it was read before, in steps of a few megabytes, each a transaction of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import asdict
from io import BufferedReader
from pathlib import Path
from typing import Final, TypeVar

from mcp_tui.journal.files import is_held, open_parts
from mcp_tui.journal.folder import Journal, journals
from mcp_tui.journal.projections import cancelled, left_at_end
from mcp_tui.journal.session_fold import Facts, SessionFold, Trail
from mcp_tui.protocol.evidence import Outcome, is_internal

Answer = TypeVar("Answer")

NAME: Final = "index-5.sqlite"
"""The file's name; the number is that of the tables below and of what is in them: two versions of mcp-tui keep one each."""

STEP: Final = 8 * 1024 * 1024
"""Bytes of a journal that are read in one transaction."""

LONG: Final = 64 * 1024 * 1024
"""Bytes of journals that take a second or so to read."""

PATIENCE: Final = 20.0
"""Seconds to wait for another process that is writing."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS session(
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, path TEXT NOT NULL, written REAL NOT NULL, size INTEGER NOT NULL,
    inode INTEGER NOT NULL, offset INTEGER NOT NULL, torn INTEGER NOT NULL, facts TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS open(
    session INTEGER NOT NULL, id TEXT NOT NULL, trail BLOB NOT NULL, PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cancellation(
    number INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL, wall REAL NOT NULL, mono REAL NOT NULL,
    server TEXT NOT NULL, transport TEXT NOT NULL, revision TEXT NOT NULL, target TEXT NOT NULL, method TEXT NOT NULL,
    name TEXT NOT NULL, cause TEXT NOT NULL, internal INTEGER NOT NULL, outcomes TEXT NOT NULL, worst REAL,
    trail BLOB NOT NULL, UNIQUE (session, id)
);
CREATE INDEX IF NOT EXISTS cancellation_wall ON cancellation(wall);
"""


class Index:
    """The index in a file, or in memory for ``None``. Every method may raise :class:`sqlite3.Error`."""

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            _private(path)
        self.file = sqlite3.connect(path or ":memory:", timeout=PATIENCE, isolation_level=None)
        try:
            self.file.create_function("has", 2, _has, deterministic=True)
            self.file.execute("PRAGMA journal_mode=WAL")
            self.file.execute("PRAGMA synchronous=NORMAL")
            if self.file.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
                self.file.executescript(f"BEGIN IMMEDIATE;{_TABLES}COMMIT;")
        except sqlite3.Error:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    # -- from the journals -----------------------------------------------------------------------------------

    def update(self, found: Iterable[Journal], notice: Callable[[int], None] | None = None) -> None:
        """Take in what these journals have that is not in the index yet, and let go of those that are gone.

        ``notice`` is told how many bytes there are to be read, where that takes long.
        """
        known = {
            name: (path, (written, size, inode), offset)
            for name, path, written, size, inode, offset in self.file.execute(
                "SELECT name, path, written, size, inode, offset FROM session"
            )
        }
        new: list[Journal] = []
        ahead = 0
        for journal in found:
            _, state, offset = known.pop(journal.name, ("", (), 0))
            if state != (journal.written, journal.size, journal.inode):
                new.append(journal)
                ahead += max(0, journal.size - offset)
        if notice is not None and ahead > LONG:
            notice(ahead)
        for journal in new:
            with suppress(OSError):  # it was deleted meanwhile
                self._read(journal)
        gone = [name for name, (path, _, _) in known.items() if not Path(path).exists()]
        if gone:
            with self._writing():
                for name in gone:
                    self._forget(name)

    def _read(self, journal: Journal) -> None:
        with open_parts(journal.paths[0]) as file:
            more = True
            while more:
                with self._writing():
                    more = self._step(journal, file)

    def _step(self, journal: Journal, file: BufferedReader) -> bool:
        """Read a few megabytes on from where the index is; whether there is more."""
        number, offset, facts = self._place(journal, file.seek(0, os.SEEK_END))
        fold = SessionFold(Facts(**json.loads(facts)), lambda id_: self._trail(number, id_))
        for id_, trail in self.file.execute("SELECT id, trail FROM open WHERE session = ?", (number,)):
            fold.open[id_] = Trail.load(trail)
        file.seek(offset)
        until, torn, more = offset + STEP, False, True
        held = is_held(journal.paths[-1])
        while offset < until:
            line = file.readline()
            if not line.endswith(b"\n"):
                torn, more = bool(line), False
                break
            offset += len(line)
            fold.take(line)
        watching = self._keep(number, fold, over=not (more or held))
        # Until all of it is read, nothing is said of the file, so that whoever looks next goes on. While somebody watches,
        # the time is below 0 for the same reason: no line tells when its writer is killed.
        seen = (0, 0) if more else (-journal.written if watching else journal.written, journal.size)
        self.file.execute(
            "UPDATE session SET written = ?, size = ?, offset = ?, torn = ?, facts = ? WHERE number = ?",
            (*seen, offset, torn, json.dumps(asdict(fold.facts)), number),
        )
        return more

    def _place(self, journal: Journal, end: int) -> tuple[int, int, str]:
        """The number of a journal in the index, the offset to read on from, and what is known by then, as JSON.

        From the start where the file is another one, or was changed otherwise than by appending.
        """
        select = "SELECT number, offset, facts, written, size, inode FROM session WHERE name = ?"
        found = self.file.execute(select, (journal.name,)).fetchone()
        if found is not None:
            number, offset, facts, written, size, inode = found
            changed = size == journal.size and 0 != abs(written) != journal.written
            if inode == journal.inode and offset <= end and not changed:
                return number, offset, facts
            self._forget(journal.name)
        insert = "INSERT INTO session VALUES(NULL, ?, ?, 0, 0, ?, 0, 0, '{}')"
        values = (journal.name, str(journal.paths[0]), journal.inode)
        return self.file.execute(insert, values).lastrowid or 0, 0, "{}"

    def _keep(self, number: int, fold: SessionFold, *, over: bool) -> bool:
        """Keep what was read; whether somebody still watches a cancel, which is nobody in a session that is ``over``."""
        self.file.execute("DELETE FROM open WHERE session = ?", (number,))
        self.file.executemany(
            "INSERT INTO open VALUES(?, ?, ?)",
            ((number, id_, trail.dump()) for id_, trail in fold.open.items()),
        )
        facts = fold.facts
        # what was still going on may have become quiet meanwhile, of which no line tells
        going_on = self.file.execute(
            "SELECT id FROM cancellation WHERE session = ?"
            " AND (outcomes LIKE '%progressing%' OR outcomes LIKE '%watching%')",
            (number,),
        ).fetchall()
        for (id_,) in going_on:
            trail = None if id_ in fold.touched else self._trail(number, id_)
            if trail is not None:
                fold.touched[id_] = trail
        watching = False
        for id_, trail in fold.touched.items():
            row = trail.row()
            if row is not None and over:
                row = left_at_end(row, facts.last)
            made = None if row is None else cancelled(row, facts.last)
            if row is None or made is None:
                continue
            watching |= made.outcome is Outcome.WATCHING
            values = (
                number,
                id_,
                facts.wall + (made.request.at - facts.mono),
                made.request.at,
                *map(
                    _storable,
                    (trail.server, trail.transport, trail.revision, facts.target, row.method, row.name),
                ),
                made.request.cause.value,
                is_internal(row) or facts.purpose == "probe",
                " ".join(each.value for each in made.outcomes),
                made.worst,
                trail.dump(),
            )
            self.file.execute(_INSERT, (number, id_, *values))
        return watching

    def _trail(self, number: int, id_: str) -> Trail | None:
        found = self.file.execute(
            "SELECT trail FROM cancellation WHERE session = ? AND id = ?", (number, id_)
        ).fetchone()
        return None if found is None else Trail.load(found[0])

    def _forget(self, name: str) -> None:
        number = "(SELECT number FROM session WHERE name = ?)"
        for table in ("open", "cancellation"):
            self.file.execute(f"DELETE FROM {table} WHERE session = {number}", (name,))  # noqa: S608
        self.file.execute("DELETE FROM session WHERE name = ?", (name,))

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        self.file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):
                self.file.execute("ROLLBACK")
            raise
        self.file.execute("COMMIT")


_INSERT: Final = (
    "INSERT OR REPLACE INTO cancellation VALUES((SELECT number FROM cancellation WHERE session = ? AND id = ?),"
    " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
"""A cancellation keeps its number, and with it its place among those of the same moment."""


def _has(text: str, part: str) -> bool:
    return part in text.casefold()


def _storable(text: str) -> str:
    """``text`` as SQLite takes it: it has no lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


# -- the file --------------------------------------------------------------------------------------------------


def _private(path: Path) -> None:
    """Make the file, for its owner only, whatever the umask; a link in its place goes."""
    if path.is_symlink():
        path.unlink()
    with suppress(FileExistsError):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):
            os.fchmod(file, 0o600)
        os.close(file)


def ask(
    folder: Path,
    question: Callable[[sqlite3.Connection], Answer],
    notice: Callable[[int], None] | None = None,
) -> Answer:
    """Bring the index of a folder's journals up to date, and ask it something. ``notice`` is that of :meth:`Index.update`.

    Raises:
        sqlite3.Error: the question itself is at fault.
    """
    with _Lock(folder / "index.lock") as lock:
        for _ in range(2):
            try:
                with contextlib.closing(Index(folder / NAME)) as index:
                    index.update(journals(folder), notice)
                    return question(index.file)
            except OSError:
                break
            except (sqlite3.Error, ValueError, LookupError, TypeError) as error:
                if _is_busy(error) or not lock.alone():
                    break
                for end in ("", "-wal", "-shm"):
                    with suppress(OSError):
                        (folder / (NAME + end)).unlink()
    return ask_of(journals(folder), question)


def _is_busy(error: Exception) -> bool:
    """Whether the index is in use; everything else that goes wrong with it means that it is damaged."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def ask_of(found: Iterable[Journal], question: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """Ask something of these journals alone, in memory."""
    with contextlib.closing(Index(None)) as index:
        index.update(found)
        return question(index.file)


class _Lock:
    """Held by everybody who uses the index; only who holds it alone may take the file away."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def __enter__(self) -> _Lock:
        with suppress(OSError):
            _private(self._path)
            self._file = os.open(self._path, os.O_RDWR)
            fcntl.flock(self._file, fcntl.LOCK_SH)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)

    def alone(self) -> bool:
        if self._file is None:
            return False
        with suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False
