"""The index of recorded sessions, their cancellations, and the times of their calls: a cache file made from the journals.

The first line is a checksum of the other lines, which are JSON, one for each session. The file can be deleted at any
time. If it is damaged or missing, it is made again; if it cannot be written, the journals are read each time. A journal
that changed is read again from its start.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias, cast
from zlib import crc32

from mcp_tui.journal import records
from mcp_tui.journal.client_process import named_so
from mcp_tui.journal.journal_files import Journal, is_locked, journals, read_start
from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError, decode_event, encode_event
from mcp_tui.journal.state_folder import replace_file
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence, messages
from mcp_tui.protocol.client_violations import ClientViolation
from mcp_tui.protocol.evidence import Outcome
from mcp_tui.protocol.messages import Json, as_text
from mcp_tui.protocol.requests import Evidence, Request, fold
from mcp_tui.protocol.server_requests import NONE
from mcp_tui.protocol.transitions import KINDS
from mcp_tui.protocol.values import fact

CACHE_NAME: Final = "index-16.cache"
"""The name of the file, which no journal can have. The number is the version of the format."""

SLOW_BYTES: Final = 64 * 1024 * 1024
"""The bytes of journals that take about a second to read."""


@fact
class RecordedSession:
    """A line of the index: one session.

    ``written``, ``size``, and ``inode`` are those of the journal when it was read. ``written`` is -1 for a journal that
    must be read again, because a cancel is still watched or the last line is incomplete. ``problem`` is a sentence if the
    journal cannot be read.

    ``wall``, ``mono``, ``target``, ``client_pid``, and ``client_started`` are those of the header. ``server``, ``client``,
    ``transport``, and ``revision`` are those of the last connection; ``client`` is empty for mcp-tui itself. ``broken``
    counts lines that are not records, ``lost`` records that could not be written. ``removed`` is that of
    :class:`~mcp_tui.journal.recording.Recording`. ``cancellations`` are made by :func:`_cancellations`, ``violations`` by
    :func:`_violations`, and ``calls`` by :func:`_calls`.
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
    client: str = ""
    client_pid: int = 0
    client_started: float = 0.0
    transport: str = ""
    revision: str = ""
    frames: int = 0
    requests: int = 0
    broken: int = 0
    lost: int = 0
    removed: str = ""
    cancellations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    violations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    """A request in the index. ``wall`` is its time in seconds since the epoch; the connection is that at this time."""

    session: RecordedSession
    wall: float
    server: str
    client: str
    transport: str
    revision: str
    id: ev.RequestId
    method: str
    name: str
    internal: bool


@dataclass(frozen=True, kw_only=True)
class LoggedCancellation(LoggedRequest):
    """A cancellation in the index.

    ``until`` is the end of the observation, in monotonic seconds. ``lags`` has the delay of each of the ``outcomes``, in
    seconds. ``kept`` is JSON, from which the row is built when it is needed.
    """

    until: float
    cause: ev.Cause
    reason: str
    outcomes: tuple[Outcome, ...]
    lags: tuple[float | None, ...]
    kept: str

    @cached_property
    def row(self) -> Request:
        """The cancelled request."""
        kept: Any = records.parse_json(self.kept.encode())
        row = fold([decode_event(record) for record in kept["events"]]).order[0]
        row.late = tuple(Evidence(**late | {"kind": ev.Kind(late["kind"])}) for late in kept["late"])
        row.longest_gap = kept["longest"]  # a long history is shortened
        return row


@fact
class LoggedViolation(ClientViolation):
    """A rule that the client of a session broke. ``wall`` is the time in seconds since the epoch."""

    session: RecordedSession
    wall: float
    server: str
    client: str
    transport: str
    revision: str
    internal: bool = False
    outcomes: tuple[Outcome, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCall(LoggedRequest):
    """A call of a session. ``took`` is the response time in seconds; ``None`` if it was not answered in time.

    ``size`` is the size of the result in bytes; 0 without a result.
    """

    took: float | None
    size: int = 0
    cause: ev.Cause | None = None
    reason: str = ""
    outcomes: tuple[Outcome, ...] = ()


Logged: TypeAlias = LoggedCancellation | LoggedViolation
"""An entry of the log of all sessions."""


# -- from the journals -----------------------------------------------------------------------------------------


def sessions(folder: Path, notice: Callable[[int], None] | None = None) -> list[RecordedSession]:
    """Updates the index of a folder of journals; returns all sessions, the oldest first.

    ``notice`` is called with the number of bytes to read if that takes long.
    """
    before = {each.name: each for each in _load(folder / CACHE_NAME)}
    found = journals(folder)
    changed = [each for each in found if _is_changed(each, before.get(each.name))]
    ahead = sum(journal.size for journal in changed)
    if notice is not None and ahead > SLOW_BYTES:
        notice(ahead)
    made = {each.name: before[each.name] for each in found if each.name in before}
    try:
        for journal in changed:
            made[journal.name] = read_session(journal)
    finally:
        # Saved after an interruption as well, so that the journals read so far need not be read again.
        if changed or len(made) < len(before):
            _save(folder / CACHE_NAME, made.values())
    return [made[name] for name in sorted(made)]


def _load(path: Path) -> list[RecordedSession]:
    """Reads an index; empty if it is missing or damaged."""
    with suppress(OSError, ValueError, TypeError):
        checksum, _, lines = read_start(path, -1).partition(b"\n")
        # A damaged index is made again from the journals, because an incomplete one would hide cancellations.
        if int(checksum) == crc32(lines):
            return [RecordedSession(**(records.read_record(line) or {})) for line in lines.splitlines()]
    return []


def _save(path: Path, sessions: Iterable[RecordedSession]) -> None:
    """Replaces an index. Ignores errors, because the index can be made again."""
    values = ({each.name: getattr(session, each.name) for each in fields(session)} for session in sessions)
    lines = "".join(f"{messages.encode(each).decode()}\n" for each in values)
    with suppress(OSError):
        replace_file(path, f"{crc32(lines.encode())}\n{lines}", durable=False)


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
    requests = RecordedRequests.whole(recording)
    cancellations = list(_cancellations(requests, connections))
    violations = list(_violations(requests, connections))
    calls = _calls(recording, connections)
    _in_flight, watching, _late = requests.counts()
    recording.close()
    unfinished = watching > 0 or (recording.torn and is_locked(journal.paths[-1]))
    return replace(
        made,
        # An unfinished journal counts as changed, because no record shows that its writer was killed.
        written=-1.0 if unfinished else journal.written,
        wall=recording.header.wall,
        mono=recording.header.mono,
        target=recording.header.target,
        server=last.server,
        client=last.client,
        client_pid=recording.header.client_pid,
        client_started=recording.header.client_started,
        transport=last.transport,
        revision=last.revision,
        frames=recording.frame_count,
        requests=len(recording.table.first),
        broken=recording.skipped if unfinished else recording.damaged,
        lost=recording.lost,
        removed=recording.removed,
        cancellations=cast("list[dict[str, Any]]", records.parse_json(messages.encode(cancellations))),
        violations=cast("list[dict[str, Any]]", records.parse_json(messages.encode(violations))),
        calls=calls,
    )


_CANCEL_KIND: Final = KINDS.index(ev.CancelRequested)
_SENT_KIND: Final = KINDS.index(ev.Sent)
_ANSWER_KINDS: Final = (KINDS.index(ev.Completed), KINDS.index(ev.Failed))


def _cancellations(
    requests: RecordedRequests, connections: Mapping[int, ev.Connected]
) -> Iterator[dict[str, Any]]:
    """Yields the fields of :class:`LoggedCancellation` for each cancelled request, in order of their first cancels."""
    recording = requests.recording
    table = recording.table
    until = recording.ended_at
    seen, place = {NONE}, -1
    while (place := table.kinds.find(_CANCEL_KIND, place + 1)) >= 0:
        number = table.rows[place]
        if number in seen:
            continue
        seen.add(number)
        row = requests.row(number)
        asked = evidence.cancel_of(row)
        if asked is None:
            continue
        record: Json = {
            "late": [asdict(each) for each in row.late],
            "events": [encode_event(event) for event in row.history],
            "longest": row.longest_gap,
        }
        outcomes = evidence.outcomes(row, until)
        yield {
            "wall": recording.wall(asked.at),
            "until": until,
            **_connection(connections, place),
            "id": row.id,
            "method": row.method,
            "name": row.name,
            "cause": asked.cause,
            "reason": asked.reason,
            "internal": row.cancel_is_internal or recording.header.purpose == "probe",
            "outcomes": outcomes,
            "lags": [evidence.lag(row, each) for each in outcomes],
            "kept": messages.encode(record).decode(),
        }


def _violations(
    requests: RecordedRequests, connections: Mapping[int, ev.Connected]
) -> Iterator[dict[str, Any]]:
    """Yields the fields of :class:`LoggedViolation` for each rule that the client broke."""
    for number in requests.violation_events:
        found = requests.violation(number)
        yield asdict(found) | {"wall": requests.recording.wall(found.at), **_connection(connections, number)}


def _calls(recording: Recording, connections: Mapping[int, ev.Connected]) -> list[dict[str, Any]]:
    """Returns the times of the requests: members of :class:`LoggedCall` that many requests share, and lists of the others.

    No row is built for this, because that would take most of the time for a long session.
    """
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for first in recording.table.first:
        record = recording.record(first) or {}
        on, internal = _connection(connections, first), record.get("internal") is True
        named = as_text(record.get("method")) or "?", as_text(record.get("name"))
        shared = (*on.values(), *named, internal or recording.header.purpose == "probe")
        made = found.get(shared)
        if made is None:
            names = (*on, "method", "name", "internal")
            made = found[shared] = {
                **dict(zip(names, shared, strict=True)),
                "ids": [],
                "at": [],
                "took": [],
                "size": [],
            }
        took, size = _answer(recording, first)
        made["ids"].append(record.get("id"))
        made["at"].append(round((messages.number(record.get("mono")) or 0.0) - recording.header.mono, 6))
        made["took"].append(None if took is None else round(took, 6))
        made["size"].append(size)
    return [*found.values()]


def _answer(recording: Recording, event: int) -> tuple[float | None, int]:
    """Returns :attr:`~mcp_tui.protocol.requests.Request.answered_after` of a request, and the bytes of its result or 0."""
    table, sent_at = recording.table, None
    while (event := table.after[event]) != NONE:
        code = table.kinds[event]
        if code == _SENT_KIND and sent_at is None:
            sent_at = messages.number((recording.record(event) or {}).get("mono"))
        elif code in _ANSWER_KINDS:
            record = recording.record(event) or {}
            at, own = messages.number(record.get("mono")), record.get("origin") == ev.Origin.CLIENT.value
            took = None if own or at is None or sent_at is None else max(0.0, at - sent_at)
            return took, int(messages.number(record.get("size")) or 0)
    return None, 0


def _connection(connections: Mapping[int, ev.Connected], event: int) -> dict[str, str]:
    """Returns the facts about the connection at the time of an event."""
    places = [*connections]
    on = connections[places[bisect_left(places, event) - 1]]
    return {"server": on.server, "client": on.client, "transport": on.transport, "revision": on.revision}


# -- queries ---------------------------------------------------------------------------------------------------


def of_client(sessions: Iterable[RecordedSession], wanted: str) -> list[list[RecordedSession]]:
    """Returns the runs of a client with this name or process id, the oldest first.

    A run has all sessions of one process, including sessions in which the client gave no name. A session with an unknown
    process is a separate run.
    """
    runs: dict[object, list[RecordedSession]] = {}
    for each in sessions:
        process = (each.client_pid, each.client_started) if each.client_pid else each.path
        runs.setdefault(process, []).append(each)
    names = named_so((each.client for run in runs.values() for each in run), wanted)
    found = [
        run
        for run in runs.values()
        if any(each.client in names or str(each.client_pid) == wanted for each in run)
    ]
    return sorted(found, key=lambda run: max(each.wall for each in run))


def find(sessions: Iterable[RecordedSession], *, internal: bool = False) -> list[LoggedCancellation]:
    """Returns the cancellations of sessions, the oldest first; with ``internal``, also those of internal requests.

    A recorder that takes over from another one records recent cancellations again. Such duplicates are merged.
    """
    found: dict[object, LoggedCancellation] = {}
    for session in sessions:
        for values in session.cancellations:
            each = _logged(session, values)
            if internal or not each.internal:
                since = round(each.wall - session.wall, 3)
                found[session.target, session.mono, type(each.id), each.id, since] = each
    return sorted(found.values(), key=lambda each: each.wall)


def violations(sessions: Iterable[RecordedSession]) -> list[LoggedViolation]:
    """Returns the violations of clients behind a tap, the oldest first."""
    found: dict[object, LoggedViolation] = {}
    for session in sessions:
        for values in session.violations:
            each = LoggedViolation(session=session, **values)
            # a recorder that took over may have it as well, as :func:`find` says
            since = round(each.wall - session.wall, 3)
            found[session.target, session.mono, each.rule, each.detail, type(each.id), each.id, since] = each
    return sorted(found.values(), key=lambda each: each.wall)


def log(sessions: Sequence[RecordedSession], *, internal: bool = False) -> list[Logged]:
    """Returns the cancellations of sessions and the violations of their clients, the oldest first."""
    every = [*find(sessions, internal=internal), *violations(sessions)]
    return sorted(every, key=lambda each: each.wall)


def calls(sessions: Sequence[RecordedSession], *, internal: bool = False) -> Iterator[LoggedCall]:
    """Yields the requests of sessions; with ``internal``, also internal requests."""
    recorders = Counter((each.target, each.mono) for each in sessions)
    found: dict[object, LoggedCall] = {}
    for session in sessions:
        for values in session.calls:
            shared = {**values}
            each = (shared.pop(name) for name in ("ids", "at", "took", "size"))
            for id, at, took, size in zip(*each, strict=True) if internal or not values["internal"] else ():
                made = LoggedCall(
                    session=session, wall=session.wall + at, took=took, size=size, id=id, **shared
                )
                if recorders[session.target, session.mono] == 1:
                    yield made
                else:  # a recorder that took over may have it as well, as :func:`find` says
                    found[session.target, session.mono, type(id), id, at] = made
    yield from found.values()


def largest_results(sessions: Sequence[RecordedSession], server: str) -> dict[str, int]:
    """Returns the bytes of the largest recorded result of each tool of a server."""
    found: dict[str, int] = {}
    for each in calls(sessions):
        if each.method == "tools/call" and each.server == server and each.size:
            found[each.name] = max(each.size, found.get(each.name, 0))
    return found


def _logged(session: RecordedSession, values: dict[str, Any]) -> LoggedCancellation:
    more: dict[str, Any] = {"cause": ev.Cause(values["cause"])}
    more |= {"outcomes": tuple(map(Outcome, values["outcomes"])), "lags": tuple(values["lags"])}
    return LoggedCancellation(session=session, **values | more)
