"""The index over sessions and cancellations, and the questions to it: one file beside the journals, made of them.

Its first line is a checksum of the others; these are JSON, one for each session. It can be deleted at any time, and is made
anew where it is damaged or missing; where it cannot be written, the journals are read each time. A journal that changed is
read again from its start, by the one reader of recordings.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, field, fields, replace
from datetime import datetime, timedelta
from enum import Enum
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
from mcp_tui.protocol.evidence import LATE, Outcome
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Evidence, Request, fold
from mcp_tui.protocol.values import fact, frozen

_Named = TypeVar("_Named", bound=Enum)

NAME: Final = "index-8.cache"
"""The file's name; the number is that of the format: two versions of mcp-tui keep one each. No journal is called so."""

LONG: Final = 64 * 1024 * 1024
"""Bytes of journals that take a second or so to read."""

_BRIEF: Final = 0.25
"""Seconds of reading that may be repeated at any time. What takes longer is read again, while it still grows, only after
ten times as long, unless the latest is asked for."""


@fact
class RecordedSession:
    """A line of the index: what is known of a session. ``wall`` and ``mono`` are when it began, as its header has them.

    ``written``, ``size`` and ``inode`` are the journal's when it was read, ``written`` of none where somebody watched a
    cancel; ``again`` is from when on it is read anew while it grows. ``torn`` says that its last line was not whole.
    ``version`` is the format's; of another one nothing else is known. ``server``, ``transport`` and ``revision`` are those
    of its last connection. ``broken`` counts lines that are no records, ``lost`` the records that could not be written.
    """

    name: str
    path: str
    written: float
    size: int
    inode: int
    again: float = 0.0
    torn: bool = False
    version: int = records.VERSION
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
    """Each as :func:`_cancellations` makes it."""


@frozen
class LoggedCancellation:
    """A cancellation of the index: in which session, at which moment (seconds since the epoch), on which connection.

    ``until`` is the moment, on the clock of the row, up to which it was watched.
    """

    session: RecordedSession
    wall: float
    server: str
    transport: str
    revision: str
    row: Request
    until: float


# -- from the journals -----------------------------------------------------------------------------------------


def sessions(
    folder: Path, notice: Callable[[int], None] | None = None, *, latest: bool = False
) -> list[RecordedSession]:
    """Bring the index of a folder's journals up to date; all sessions, the oldest first.

    ``notice`` is told how many bytes there are to be read, where that takes long. ``latest`` reads what is still being
    written however long that takes; without it, the newest of a large session may be missing for a while.
    """
    before = {each.name: each for each in _kept(folder / NAME)}
    found = journals(folder)
    changed = [each for each in found if _is_changed(each, before.get(each.name), latest=latest)]
    ahead = sum(journal.size for journal in changed)
    if notice is not None and ahead > LONG:
        notice(ahead)
    made = {each.name: before[each.name] for each in found if each.name in before}
    try:
        for journal in changed:
            made[journal.name] = read_session(journal)
    finally:
        if changed or len(made) < len(before):
            _keep(folder / NAME, made.values())
    return [made[name] for name in sorted(made)]


def _kept(path: Path) -> list[RecordedSession]:
    """The lines of an index; none where there is none, or it is damaged."""
    with suppress(OSError, ValueError):
        checksum, _, lines = read_start(path, -1).partition(b"\n")
        if int(checksum) == crc32(lines):
            return [RecordedSession(**(records.read_record(line) or {})) for line in lines.splitlines()]
    return []


def _keep(path: Path, sessions: Iterable[RecordedSession]) -> None:
    """Write an index in place of the one that is there. That it cannot be written is no reason to stop."""
    values = ({each.name: getattr(session, each.name) for each in fields(session)} for session in sessions)
    lines = "".join(f"{messages.encode(each).decode()}\n" for each in values)
    with suppress(OSError):
        replace_file(path, f"{crc32(lines.encode())}\n{lines}")


def _is_changed(journal: Journal, known: RecordedSession | None, *, latest: bool) -> bool:
    if known is None:
        return True
    if (known.written, known.size, known.inode) == (journal.written, journal.size, journal.inode):
        return False
    return latest or known.again < clock.wall() or not is_held(journal.paths[-1])


def read_session(journal: Journal) -> RecordedSession:
    """What a journal has to tell, read from its start."""
    began = time.monotonic()
    path = journal.paths[0]
    made = RecordedSession(
        name=journal.name, path=str(path), written=journal.written, size=journal.size, inode=journal.inode
    )
    try:
        # of what grows, and is read again and again, lines are only looked at
        recording = Recording(path, strict=False if is_held(journal.paths[-1]) else None)
        for _ in recording.scan():
            pass
    except records.OtherFormat as error:
        return replace(made, version=error.version)
    except RecordingError:  # nothing in it is a record, or it was deleted meanwhile
        return replace(made, broken=min(1, journal.size))
    connections = {-1: ev.Connected(at=0.0, transport="", revision="", server=""), **recording.connections()}
    *_, last = connections.values()
    cancellations = list(_cancellations(recording, connections))
    recording.close()
    took = time.monotonic() - began
    watching = any(Outcome.WATCHING in each["outcomes"] for each in cancellations)
    return replace(
        made,
        # While somebody watches, it is always taken for changed: no line tells when its writer is killed.
        written=-1.0 if watching else journal.written,
        again=clock.wall() + 10 * took if took > _BRIEF else 0.0,
        torn=recording.torn,
        wall=recording.header.wall,
        mono=recording.header.mono,
        target=recording.header.target,
        server=last.server,
        transport=last.transport,
        revision=last.revision,
        frames=recording.frame_count,
        requests=len(recording.table.first),
        broken=recording.skipped,
        lost=recording.lost,
        cancellations=cast("list[dict[str, Any]]", records.parse_json(messages.encode(cancellations))),
    )


_CANCEL: Final = KINDS.index(ev.CancelRequested)


def _cancellations(recording: Recording, connections: Mapping[int, ev.Connected]) -> Iterator[dict[str, Any]]:
    """The requests that were cancelled, by the client itself too, in the order of their first cancels.

    What is ``kept`` of each is JSON in a text: it is read of those alone that somebody looks at.
    """
    table, book, places = recording.table, RecordedBook.whole(recording), [*connections]
    until = recording.at(len(table))
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
        }
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
            "outcomes": evidence.outcomes(row, until),
            "worst": evidence.worst(row),
            "kept": messages.encode(kept).decode(),
        }


# -- questions -------------------------------------------------------------------------------------------------


@fact
class Query:
    """Which cancellations are wanted. What is empty or ``None`` asks for nothing; times are seconds since the epoch.

    ``internal`` asks for the client's own cancels, too.
    ``server`` is part of the server's name, its target or the session's name, in any case of letters; ``tool`` is the name
    of a tool, a prompt, a resource, or a method.
    """

    server: str = ""
    tool: str = ""
    outcomes: frozenset[Outcome] = frozenset()
    causes: frozenset[ev.Cause] = frozenset()
    since: float | None = None
    until: float | None = None
    internal: bool = False

    def matches(self, found: Found) -> bool:
        """Whether a cancellation is wanted."""
        session, each = found
        names = f"{each['server']}\n{session.target}\n{session.name}".casefold()
        return (
            self.server.casefold() in names
            and self.tool in {"", each["name"], each["method"]}
            and (self.internal or not each["internal"])
            and (not self.outcomes or not self.outcomes.isdisjoint(map(Outcome, each["outcomes"])))
            and (not self.causes or ev.Cause(each["cause"]) in self.causes)
            and (self.since is None or each["wall"] >= self.since)
            and (self.until is None or each["wall"] <= self.until)
        )


Found = tuple[RecordedSession, dict[str, Any]]
"""A cancellation as the index has it, and its session."""


@frozen
class Sum:
    """How many cancellations of a tool, of ``total``, had an outcome, and the worst lag among them in seconds."""

    name: str
    outcome: Outcome
    count: int
    worst: float | None
    total: int = 0


def find(sessions: Iterable[RecordedSession], query: Query) -> list[Found]:
    """The cancellations that are wanted, the oldest first."""
    every = ((session, each) for session in sessions for each in session.cancellations)
    return sorted(filter(query.matches, every), key=lambda found: found[1]["wall"])


def logged(found: Found) -> LoggedCancellation:
    """A cancellation with its request, folded from the events that the index has kept."""
    session, each = found
    kept: Any = records.parse_json(each["kept"].encode())
    row = fold([decode_event(record) for record in kept["events"]]).order[0]
    row.late = [Evidence(**late | {"kind": ev.Kind(late["kind"])}) for late in kept["late"]]
    on = each["server"], each["transport"], each["revision"]
    return LoggedCancellation(session, each["wall"], *on, row, each["until"])


def sums(found: Iterable[Found]) -> list[Sum]:
    """How often each tool had each outcome, the most frequent tool first."""
    totals: Counter[str] = Counter()
    lags: dict[tuple[str, Outcome], list[float | None]] = {}
    for _, each in found:
        tool = each["name"] or each["method"]
        totals[tool] += 1
        for outcome in map(Outcome, each["outcomes"]):  # of one cancellation several things may be true
            late = outcome in _LATE or outcome is Outcome.STILL_PROGRESSING
            lags.setdefault((tool, outcome), []).append(each["worst"] if late else None)
    made = [
        Sum(
            tool,
            outcome,
            len(some),
            max((lag for lag in some if lag is not None), default=None),
            totals[tool],
        )
        for (tool, outcome), some in lags.items()
    ]
    return sorted(made, key=lambda each: (-each.total, each.name, -each.count, each.outcome.value))


# -- in a person's words -----------------------------------------------------------------------------------------

QUERY_NAMES: Final = ("server", "tool", "outcome", "cause", "since", "until")
"""What can be asked for."""

_LATE: Final = frozenset(LATE.values())
_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def parse_query(texts: Mapping[str, str], *, mark: str = "") -> Query:
    """The query for ``texts``, which has texts for some of :data:`QUERY_NAMES`; ``mark`` precedes these in errors.

    Raises:
        ValueError: a text says nothing that there is; the error is half a sentence for a person.
    """
    since, until = texts.get("since"), texts.get("until")
    outcomes = {each.value: frozenset({each}) for each in Outcome} | {"late": _LATE}
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
