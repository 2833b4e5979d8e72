"""The index over sessions and cancellations, and the questions to it: one SQLite file beside the journals, made of them.

It can be deleted at any time, and is made anew when it is damaged. Who uses it has it alone. Where it cannot be used at all
(a folder that cannot be written, a lock that is not given), the same is found in memory, only slower. A journal that
changed is read again from its start, by the one reader of recordings.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeVar

from mcp_tui import clock
from mcp_tui.journal import records
from mcp_tui.journal.event_table import KINDS, NONE
from mcp_tui.journal.files import Journal, is_held, journals, open_private
from mcp_tui.journal.recorded_book import Cancelled, RecordedBook, cancelled
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError, decode_event, encode_event
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.evidence import LATE, Outcome, is_internal
from mcp_tui.protocol.requests import Evidence, Request, fold
from mcp_tui.protocol.values import fact, frozen

Answer = TypeVar("Answer")
_Named = TypeVar("_Named", bound=Enum)

NAME: Final = "index-7.sqlite"
"""The file's name; the number is that of the tables below and of what is in them: two versions of mcp-tui keep one each."""

LONG: Final = 64 * 1024 * 1024
"""Bytes of journals that take a second or so to read."""

PATIENCE: Final = 20.0
"""Seconds to wait for another process that uses the index."""

_BRIEF: Final = 0.25
"""Seconds of reading that may be repeated at any time. What takes longer is read again, while it still grows, only after
ten times as long, unless the latest is asked for."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS session(
    name TEXT PRIMARY KEY, path TEXT NOT NULL, written REAL NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    again REAL NOT NULL, torn INTEGER NOT NULL, facts TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS cancellation(
    number INTEGER PRIMARY KEY, session TEXT NOT NULL, wall REAL NOT NULL, until REAL NOT NULL, server TEXT NOT NULL,
    transport TEXT NOT NULL, revision TEXT NOT NULL, names TEXT NOT NULL, method TEXT NOT NULL, name TEXT NOT NULL,
    cause TEXT NOT NULL, internal INTEGER NOT NULL, outcomes TEXT NOT NULL, worst REAL, events BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS cancellation_wall ON cancellation(wall);
CREATE INDEX IF NOT EXISTS cancellation_session ON cancellation(session);
"""


@fact
class Facts:
    """What is known of a session. ``wall`` is when it began, in seconds since the epoch; sizes are counts.

    ``server``, ``transport`` and ``revision`` are those of its last connection. ``version`` is the format's; of another
    one nothing else is known. ``broken`` counts lines that are no records, ``lost`` the records that could not be written.
    """

    version: int = records.VERSION
    wall: float = 0.0
    target: str = ""
    server: str = ""
    transport: str = ""
    revision: str = ""
    frames: int = 0
    requests: int = 0
    broken: int = 0
    lost: int = 0


@frozen
class RecordedSession:
    """A session of the index. ``torn`` says that its last line is not whole, though nobody writes it any more."""

    name: str
    path: Path
    size: int
    torn: bool
    facts: Facts


@frozen
class LoggedCancellation:
    """A cancellation of the index: in which session, at which moment (seconds since the epoch), on which connection."""

    session: str
    wall: float
    server: str
    transport: str
    revision: str
    cancelled: Cancelled


# -- ask -------------------------------------------------------------------------------------------------------


def ask(
    folder: Path,
    question: Callable[[sqlite3.Connection], Answer],
    notice: Callable[[int], None] | None = None,
    *,
    latest: bool = False,
) -> Answer:
    """Bring the index of a folder's journals up to date, and ask it something.

    ``notice`` is told how many bytes there are to be read, where that takes long. ``latest`` reads what is still being
    written however long that takes; without it, the newest of a large session may be missing for a while.

    Raises:
        sqlite3.Error: the question itself is at fault.
    """
    path = folder / NAME
    with suppress(OSError):
        for _ in range(2):
            try:
                if path.is_symlink():
                    path.unlink()
                with suppress(RecordingError):  # it is there
                    os.close(open_private(path, replace=False))
                with closing(sqlite3.connect(path, timeout=0)) as file:
                    # one lock for all transactions, taken at once: two that read could not both go on to write
                    file.execute("PRAGMA locking_mode = EXCLUSIVE")
                    _begin(file)
                    _update(file, journals(folder), notice, latest=latest)
                    return question(file)
            except (sqlite3.Error, ValueError, LookupError, TypeError) as error:
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                    break  # another process has it
                for each in folder.glob(f"{NAME}*"):  # it is damaged
                    each.unlink()
    return ask_of(journals(folder), question)


def _begin(file: sqlite3.Connection) -> None:
    """Wait until nobody else has the index. SQLite's own waiting would be deaf to ctrl+c.

    Raises:
        sqlite3.OperationalError: another process has it for too long.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            file.execute("BEGIN EXCLUSIVE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.02)


def ask_of(found: Iterable[Journal], question: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """Ask something of these journals alone, in memory."""
    with closing(sqlite3.connect(":memory:")) as file:
        _update(file, found)
        return question(file)


# -- from the journals -----------------------------------------------------------------------------------------


def _update(
    file: sqlite3.Connection,
    found: Iterable[Journal],
    notice: Callable[[int], None] | None = None,
    *,
    latest: bool = False,
) -> None:
    """Take in the journals that are new or changed, and let go of those that are gone."""
    file.executescript(_TABLES)
    select = "SELECT name, path, written, size, inode, again FROM session"
    known = {name: (path, state, again) for name, path, *state, again in file.execute(select)}
    new: list[Journal] = []
    for journal in found:
        _, state, again = known.pop(journal.name, ("", [], 0.0))
        changed = state != [journal.written, journal.size, journal.inode]
        if changed and (latest or again < clock.wall() or not is_held(journal.paths[-1])):
            new.append(journal)
    ahead = sum(journal.size for journal in new)
    if notice is not None and ahead > LONG:
        notice(ahead)
    for journal in new:
        with file:
            _forget(file, journal.name)
            _take_in(file, journal)
    with file:
        for name, (path, _, _) in known.items():
            if not Path(path).exists():
                _forget(file, name)


def _forget(file: sqlite3.Connection, name: str) -> None:
    file.execute("DELETE FROM cancellation WHERE session = ?", (name,))
    file.execute("DELETE FROM session WHERE name = ?", (name,))


def _take_in(file: sqlite3.Connection, journal: Journal) -> None:
    began = time.monotonic()
    torn = watching = False
    try:
        # of what grows, and is read again and again, lines are only looked at
        recording = Recording(journal.paths[0], strict=False if is_held(journal.paths[-1]) else None)
        for _ in recording.scan():
            pass
    except records.OtherFormat as error:
        facts = Facts(version=error.version)
    except RecordingError:  # nothing in it is a record, or it was deleted meanwhile
        facts = Facts(broken=min(1, journal.size))
    else:
        torn = recording.torn
        facts, watching = _keep(file, journal.name, recording)
        recording.close()
    took = time.monotonic() - began
    # While somebody watches a cancel, the file is always taken for changed: no line tells when its writer is killed.
    written = -1.0 if watching else journal.written
    again = clock.wall() + 10 * took if took > _BRIEF else 0.0
    known = (str(journal.paths[0]), written, journal.size, journal.inode, again, torn)
    told = json.dumps(asdict(facts))
    file.execute("INSERT INTO session VALUES(?, ?, ?, ?, ?, ?, ?, ?)", (journal.name, *known, told))


def _keep(file: sqlite3.Connection, name: str, recording: Recording) -> tuple[Facts, bool]:
    """Keep the cancellations of a session; the facts of it, and whether somebody still watches one of them."""
    header, table, book = recording.header, recording.table, RecordedBook.whole(recording)
    until = recording.at(len(table))
    none = ev.Connected(at=0.0, transport="", revision="", server="")
    connections = {-1: none, **recording.connections()}
    places = [*connections]
    last = connections[places[-1]]
    watching = False
    for place in _cancels(recording):
        row = book.row(table.rows[place])
        made = cancelled(row, until)
        if made is None:
            continue
        watching |= made.outcome is Outcome.WATCHING
        on = connections[places[bisect_left(places, place) - 1]]
        names = f"{on.server}\n{header.target}\n{name}".casefold()
        values = (
            name,
            recording.wall(made.request.at),
            until,
            *map(_storable, (on.server, on.transport, on.revision, names, row.method, row.name)),
            made.request.cause.value,
            is_internal(row) or header.purpose == "probe",
            f" {' '.join(each.value for each in made.outcomes)} ",
            made.worst,
            _packed(row),
        )
        file.execute(f"INSERT INTO cancellation VALUES(NULL{', ?' * len(values)})", values)
    facts = Facts(
        wall=header.wall,
        target=header.target,
        server=last.server,
        transport=last.transport,
        revision=last.revision,
        frames=recording.frame_count,
        requests=len(table.first),
        broken=recording.skipped,
        lost=recording.lost,
    )
    return facts, watching


_CANCEL: Final = KINDS.index(ev.CancelRequested)


def _cancels(recording: Recording) -> Iterable[int]:
    """The first cancel of each request, the client's own too, by the number of its event."""
    table, place = recording.table, -1
    seen = {NONE}
    while (place := table.kinds.find(_CANCEL, place + 1)) >= 0:
        if table.rows[place] not in seen:
            seen.add(table.rows[place])
            yield place


def _packed(row: Request) -> bytes:
    """A request as far as its cancellation goes: what came late, and the events of its history, a line each."""
    late = [asdict(each) | {"kind": each.kind.value} for each in row.late]
    return b"\n".join(
        (json.dumps(late).encode(), *(messages.encode(encode_event(event)) for event in row.history))
    )


def _unpacked(raw: bytes) -> Request:
    late, *lines = raw.split(b"\n")
    row = fold([decode_event(records.read_record(line) or {}) for line in lines]).order[0]
    row.late = [Evidence(**each | {"kind": ev.Kind(each["kind"])}) for each in json.loads(late)]
    return row


def _storable(text: str) -> str:
    """``text`` as SQLite takes it: it has no lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


# -- questions -------------------------------------------------------------------------------------------------


@fact
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
    causes: frozenset[ev.Cause] = frozenset()
    since: float | None = None
    until: float | None = None
    limit: int | None = None
    internal: bool = False


@frozen
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
    """The cancellations that are wanted, the oldest first, each watched until the last record of its session."""
    source, values = _source(query)
    limit = -1 if query.limit is None else query.limit
    rows = file.execute(
        f"SELECT session, wall, server, transport, revision, events, until {source}"
        " ORDER BY wall DESC, number DESC LIMIT ?",
        (*values, limit),
    )
    found: list[LoggedCancellation] = []
    for session, wall, server, transport, revision, events, until in rows:
        made = cancelled(_unpacked(events), until)
        if made is not None:
            found.append(LoggedCancellation(session, wall, server, transport, revision, made))
    return found[::-1]


def count(file: sqlite3.Connection, query: Query) -> int:
    """How many cancellations are wanted, whatever the limit."""
    source, values = _source(query)
    return file.execute(f"SELECT count(*) {source}", values).fetchone()[0]


def sums(file: sqlite3.Connection, query: Query) -> list[Sum]:
    """How often each tool had each outcome, the most frequent tool first."""
    source, values = _source(query)
    rows = file.execute(
        "SELECT CASE WHEN name = '' THEN method ELSE name END AS tool, outcomes,"
        f" count(*), max(worst) {source} GROUP BY tool, outcomes",
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


def _source(query: Query) -> tuple[str, list[Any]]:
    """The end of a statement, from ``FROM`` on: where the cancellations that are wanted stand; and its values."""
    tests: list[str] = ["true"]
    values: list[Any] = []

    def test(text: str, *of: Any) -> None:
        tests.append(text)
        values.extend(of)

    if query.session is not None:
        test("session = ?", query.session)
    if query.server:
        test("instr(names, ?)", query.server.casefold())
    if query.tool:
        test("(name = ? OR method = ?)", query.tool, query.tool)
    if not query.internal:
        test("NOT internal")
    if query.outcomes:
        names = [f" {each.value} " for each in query.outcomes]
        test(f"({' OR '.join(['instr(outcomes, ?)'] * len(names))})", *names)
    if query.causes:
        test(f"cause IN ({', '.join('?' * len(query.causes))})", *(each.value for each in query.causes))
    if query.since is not None:
        test("wall >= ?", query.since)
    if query.until is not None:
        test("wall <= ?", query.until)
    return f"FROM cancellation WHERE {' AND '.join(tests)}", values


# -- in a person's words -----------------------------------------------------------------------------------------

QUERY_NAMES: Final = ("server", "tool", "outcome", "cause", "since", "until")
"""What can be asked for."""

_ANY_LATE: Final = frozenset(LATE.values())
_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def parse_query(
    texts: Mapping[str, str], *, session: str | None = None, limit: int | None = None, mark: str = ""
) -> Query:
    """The query for ``texts``, which has texts for some of :data:`QUERY_NAMES`; ``mark`` precedes these in errors.

    Raises:
        ValueError: a text says nothing that there is; the error is half a sentence for a person.
    """
    since, until = texts.get("since"), texts.get("until")
    outcomes = {each.value: frozenset({each}) for each in Outcome} | {"late": _ANY_LATE}
    causes = {each.value: frozenset({each}) for each in ev.Cause}
    return Query(
        session=session,
        server=texts.get("server", ""),
        tool=texts.get("tool", ""),
        outcomes=_chosen(f"{mark}outcome", texts.get("outcome"), outcomes),
        causes=_chosen(f"{mark}cause", texts.get("cause"), causes),
        since=None if since is None else parse_time(f"{mark}since", since),
        until=None if until is None else parse_time(f"{mark}until", until, end=True),
        limit=limit,
    )


def _chosen(name: str, text: str | None, known: Mapping[str, frozenset[_Named]]) -> frozenset[_Named]:
    """What words separated by commas stand for."""
    found = frozenset[_Named]()
    for part in [] if text is None else text.split(","):
        word = re.sub(r"[\s-]+", "_", part.strip().lower())
        if word not in known:
            raise ValueError(f"Unknown {name.removeprefix('--')} {word!r}. Choose from: {', '.join(known)}.")
        found |= known[word]
    return found


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
