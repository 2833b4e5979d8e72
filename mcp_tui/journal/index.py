"""The index of recorded sessions and their cancellations: one file beside the journals, made from them.

Its first line is a checksum of the others, which are JSON, one for each session. It can be deleted at any time, and is made
again if it is damaged or missing; if it cannot be written, the journals are read each time. A journal that changed is read
again from its start.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from zlib import crc32

from mcp_tui import clock
from mcp_tui.journal import records
from mcp_tui.journal.event_table import KINDS, NONE
from mcp_tui.journal.files import Journal, is_held, journals, read_start
from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError, decode_event, encode_event
from mcp_tui.journal.state import replace_file
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence, messages
from mcp_tui.protocol.evidence import LATE_OUTCOMES, Outcome
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Evidence, Request, fold
from mcp_tui.protocol.values import fact

_Named = TypeVar("_Named", bound=Enum)

NAME: Final = "index-10.cache"
"""The name of the file, never that of a journal. The number is that of its format, so that versions do not share it."""

LONG: Final = 64 * 1024 * 1024
"""Bytes of journals that take a second or so to read."""


@fact
class RecordedSession:
    """A line of the index: one session. ``wall`` and ``mono`` are its start, as in its header.

    ``written``, ``size``, and ``inode`` are those of the journal when it was read; ``written`` is -1 while a cancel is
    watched, or its last line is not complete yet. ``problem`` is why it cannot be read, in one sentence. ``server``,
    ``transport``, and ``revision`` are those of the last connection. ``broken`` counts lines that are not records, ``lost``
    records that could not be written. ``cancellations`` are made by :func:`_cancellations`.
    """

    name: str
    path: str
    written: float
    size: int
    inode: int
    problem: str = ""
    wall: float = 0.0
    mono: float = 0.0
    target: str = ""
    server: str = ""
    transport: str = ""
    revision: str = ""
    frames: int = 0
    requests: int = 0
    broken: int = 0
    lost: int = 0
    cancellations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass(frozen=True)
class LoggedCancellation:
    """A cancellation in the index. ``wall`` is its time in seconds since the epoch; the connection is that of the time.

    ``until`` is the time, on the clock of the row, up to which it was watched. ``lags`` are those of the ``outcomes``, in
    seconds. ``kept`` is JSON, from which the row is folded when it is needed.
    """

    session: RecordedSession
    wall: float
    until: float
    server: str
    transport: str
    revision: str
    method: str
    name: str
    cause: ev.Cause
    internal: bool
    outcomes: tuple[Outcome, ...]
    lags: tuple[float | None, ...]
    kept: str

    @cached_property
    def row(self) -> Request:
        """The cancelled request."""
        kept: Any = records.parse_json(self.kept.encode())
        row = fold([decode_event(record) for record in kept["events"]]).order[0]
        row.late = [Evidence(**late | {"kind": ev.Kind(late["kind"])}) for late in kept["late"]]
        row.longest_gap = kept["longest"]  # of a long history only a part is kept
        return row


# -- from the journals -----------------------------------------------------------------------------------------


def sessions(folder: Path, notice: Callable[[int], None] | None = None) -> list[RecordedSession]:
    """Updates the index of a folder of journals; returns all sessions, the oldest first.

    ``notice`` is called with the number of bytes to read if that takes long.
    """
    before = {each.name: each for each in _load(folder / NAME)}
    found = journals(folder)
    changed = [each for each in found if _is_changed(each, before.get(each.name))]
    ahead = sum(journal.size for journal in changed)
    if notice is not None and ahead > LONG:
        notice(ahead)
    made = {each.name: before[each.name] for each in found if each.name in before}
    try:
        for journal in changed:
            made[journal.name] = read_session(journal)
    finally:
        if changed or len(made) < len(before):
            _save(folder / NAME, made.values())
    return [made[name] for name in sorted(made)]


def _load(path: Path) -> list[RecordedSession]:
    """Reads an index; empty if it is missing or damaged."""
    with suppress(OSError, ValueError, TypeError):
        checksum, _, lines = read_start(path, -1).partition(b"\n")
        if int(checksum) == crc32(lines):
            return [RecordedSession(**(records.read_record(line) or {})) for line in lines.splitlines()]
    return []


def _save(path: Path, sessions: Iterable[RecordedSession]) -> None:
    """Replaces an index. Errors are ignored, because it can be made again."""
    values = ({each.name: getattr(session, each.name) for each in fields(session)} for session in sessions)
    lines = "".join(f"{messages.encode(each).decode()}\n" for each in values)
    with suppress(OSError):
        replace_file(path, f"{crc32(lines.encode())}\n{lines}")


def _is_changed(journal: Journal, known: RecordedSession | None) -> bool:
    now = (journal.written, journal.size, journal.inode)
    return known is None or (known.written, known.size, known.inode) != now


def read_session(journal: Journal) -> RecordedSession:
    """Reads a journal from its start."""
    path = journal.paths[0]
    made = RecordedSession(
        name=journal.name, path=str(path), written=journal.written, size=journal.size, inode=journal.inode
    )
    try:
        recording = Recording.read(path, strict=None)
    except RecordingError as error:
        return replace(made, problem=str(error) if journal.size else "")
    connections = {-1: ev.Connected(at=0.0, transport="", revision="", server=""), **recording.connections()}
    *_, last = connections.values()
    book = RecordedBook.whole(recording)
    cancellations = list(_cancellations(book, connections))
    _in_flight, watching, _late = book.counts()
    recording.close()
    unfinished = watching > 0 or (recording.torn and is_held(journal.paths[-1]))
    return replace(
        made,
        # an unfinished journal counts as changed, because no record says that its writer was killed
        written=-1.0 if unfinished else journal.written,
        wall=recording.header.wall,
        mono=recording.header.mono,
        target=recording.header.target,
        server=last.server,
        transport=last.transport,
        revision=last.revision,
        frames=recording.frame_count,
        requests=len(recording.table.first),
        broken=recording.skipped if unfinished else recording.damaged,
        lost=recording.lost,
        cancellations=cast("list[dict[str, Any]]", records.parse_json(messages.encode(cancellations))),
    )


_CANCEL: Final = KINDS.index(ev.CancelRequested)


def _cancellations(book: RecordedBook, connections: Mapping[int, ev.Connected]) -> Iterator[dict[str, Any]]:
    """Yields the fields of :class:`LoggedCancellation` for each cancelled request, in the order of the first cancels."""
    recording, places = book.recording, [*connections]
    table = recording.table
    until = recording.ended_at
    seen, place = {NONE}, -1
    while (place := table.kinds.find(_CANCEL, place + 1)) >= 0:
        number = table.rows[place]
        if number in seen:
            continue
        seen.add(number)
        row = book.row(number)
        asked = evidence.cancel_of(row)
        if asked is None:
            continue
        on = connections[places[bisect_left(places, place) - 1]]
        kept: Json = {
            "late": [asdict(each) for each in row.late],
            "events": [encode_event(event) for event in row.history],
            "longest": row.longest_gap,
        }
        outcomes = evidence.outcomes(row, until)
        yield {
            "wall": recording.wall(asked.at),
            "until": until,
            "server": on.server,
            "transport": on.transport,
            "revision": on.revision,
            "method": row.method,
            "name": row.name,
            "cause": asked.cause,
            "internal": row.cancel_is_internal or recording.header.purpose == "probe",
            "outcomes": outcomes,
            "lags": [evidence.lag(row, each) for each in outcomes],
            "kept": messages.encode(kept).decode(),
        }


# -- queries ---------------------------------------------------------------------------------------------------


@fact
class Query:
    """A query for cancellations. Empty fields and ``None`` match everything; times are seconds since the epoch.

    ``internal`` includes the client's own cancels. ``server`` is part of the server's name, its target, or the session's
    name, ignoring case; ``tool`` is the name of a tool, prompt, or resource, or a method.
    """

    server: str = ""
    tool: str = ""
    outcomes: frozenset[Outcome] = frozenset()
    causes: frozenset[ev.Cause] = frozenset()
    since: float | None = None
    until: float | None = None
    internal: bool = False

    def matches(self, each: LoggedCancellation) -> bool:
        """Whether a cancellation matches."""
        names = f"{each.server}\n{each.session.target}\n{each.session.name}".casefold()
        return (
            self.server.casefold() in names
            and self.tool in {"", each.name, each.method}
            and (self.internal or not each.internal)
            and (not self.outcomes or not self.outcomes.isdisjoint(each.outcomes))
            and (not self.causes or each.cause in self.causes)
            and (self.since is None or each.wall >= self.since)
            and (self.until is None or each.wall <= self.until)
        )


def find(sessions: Iterable[RecordedSession], query: Query) -> list[LoggedCancellation]:
    """Returns the matching cancellations, the oldest first."""
    every = (_logged(session, each) for session in sessions for each in session.cancellations)
    return sorted(filter(query.matches, every), key=lambda each: each.wall)


def _logged(session: RecordedSession, values: dict[str, Any]) -> LoggedCancellation:
    more: dict[str, Any] = {"cause": ev.Cause(values["cause"])}
    more |= {"outcomes": tuple(map(Outcome, values["outcomes"])), "lags": tuple(values["lags"])}
    return LoggedCancellation(session, **values | more)


# -- parsing queries -------------------------------------------------------------------------------------------

QUERY_NAMES: Final = ("server", "tool", "outcome", "cause", "since", "until")
"""The fields of a query that the user can give."""

_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def parse_query(texts: Mapping[str, str], *, mark: str = "") -> Query:
    """Parses a query. ``texts`` has values for some of :data:`QUERY_NAMES`; ``mark`` precedes these in errors.

    Raises:
        ValueError: a value is invalid; the error is a sentence for the user.
    """
    since, until = texts.get("since"), texts.get("until")
    outcomes = {each.value: frozenset({each}) for each in Outcome} | {"late": LATE_OUTCOMES}
    causes = {each.value: frozenset({each}) for each in ev.Cause}
    return Query(
        server=texts.get("server", ""),
        tool=texts.get("tool", ""),
        outcomes=_chosen(f"{mark}outcome", texts.get("outcome"), outcomes),
        causes=_chosen(f"{mark}cause", texts.get("cause"), causes),
        since=None if since is None else parse_time(f"{mark}since", since),
        until=None if until is None else parse_time(f"{mark}until", until, end=True),
    )


def _chosen(name: str, text: str | None, known: Mapping[str, frozenset[_Named]]) -> frozenset[_Named]:
    """Parses words separated by commas."""
    found = frozenset[_Named]()
    for part in [] if text is None else text.split(","):
        word = re.sub(r"[\s-]+", "_", part.strip().lower())
        if word not in known:
            raise ValueError(f"Unknown {name.removeprefix('--')} {word!r}. Choose from: {', '.join(known)}.")
        found |= known[word]
    return found


def parse_time(name: str, text: str, *, end: bool = False) -> float:
    """Parses an age, a date, or a date and time; returns seconds since the epoch.

    A date alone means its beginning, or with ``end`` its end. Without a time zone it is local time.

    Raises:
        ValueError: it is invalid.
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
