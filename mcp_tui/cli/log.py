"""``log``: the cancellation log over all sessions, or one; from the index, without a server."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any, Final

from mcp_tui.cli import journals
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, colourful, csv_line, dump, out, table, utc, warn
from mcp_tui.journal import files, index
from mcp_tui.journal.files import Journal
from mcp_tui.journal.index import QUERY_NAMES, LoggedCancellation, Query, RecordedSession, Sum, parse_query
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import VERSION
from mcp_tui.protocol.evidence import OUTCOME_WORDS
from mcp_tui.protocol.values import frozen
from mcp_tui.tui.view.text import SafeText, brief, clean, clip, fit, join, width

SHOWN: Final = 1000
"""Cancellations that are shown as text where nobody said how many."""

CAPS: Final = (19, 10, 32, 8, 96, 240)
"""Cells that each column takes at most: when, id, what, cause, what came of it, reason."""

HEAD: Final = (
    "session", "time", "server", "transport", "revision", "id", "method", "name", "state", "outcome", "cause", "reason",
    "signal", "reason_delivered", "delivery", "watched", "disconnected", "elapsed", "late", "worst", "details",
)  # fmt: skip
"""The columns of the CSV."""


@frozen
class Forms:
    """One thing in three forms: for programs, as CSV under its head, and in lines for people."""

    objects: Iterable[dict[str, Any]]
    head: Sequence[str]
    rows: Iterable[Iterable[object]]
    lines: Iterable[str]


@frozen
class LogResult:
    """What the index answered: the sessions looked at, and what was asked for."""

    sessions: list[RecordedSession]
    entries: list[LoggedCancellation]
    sums: list[Sum]
    count: int


def run(_name: str, given: Words) -> int:
    """Print the log; the exit status."""
    options = given.options
    if options.csv and options.json:
        raise Failure("Use either --csv or --json, not both.")
    if options.sums and options.sessions:
        raise Failure("Use either --sums or --sessions, not both.")
    where = journals.chosen(given)
    found = _ask(where, _query(given, where), sums=options.sums, only=options.sessions)
    form = _sessions if options.sessions else _sums if options.sums else _log
    _print(given, found, form(found))
    _tell(found.sessions)
    return Exit.COMPLETED


def _query(given: Words, where: Journal | None) -> Query:
    """What is asked of the index, about one session or about all.

    Raises:
        Failure: an option says nothing that there is.
    """
    options = given.options
    limit = options.limit
    if limit is not None and limit < 0:
        raise Failure(f"Invalid --limit {limit}. Use a number of 0 or more.")
    if limit is None and not (options.json or options.csv):
        limit = SHOWN
    texts = {name: text for name in QUERY_NAMES if (text := getattr(options, name)) is not None}
    try:
        session = None if where is None else where.name
        wanted = parse_query(texts, session=session, limit=limit or None, mark="--")
    except ValueError as error:
        raise Failure(f"{error}") from None
    return replace(wanted, internal=options.internal)


def _ask(where: Journal | None, wanted: Query, *, sums: bool, only: bool) -> LogResult:
    def question(file: sqlite3.Connection) -> LogResult:
        sessions = index.sessions(file)
        if wanted.session is not None:
            sessions = [each for each in sessions if each.name == wanted.session]
        if only:
            return LogResult(sessions, [], [], 0)
        if sums:
            return LogResult(sessions, [], index.sums(file, wanted), 0)
        return LogResult(sessions, index.cancellations(file, wanted), [], index.count(file, wanted))

    if where is None or where.name != str(where.paths[0]):
        place = files.journal_folder()
        files.journals(place)  # refuses a folder that is not ours before the index is put there
        found = index.ask(place, question, _ahead, latest=True)
    else:
        Recording(where.paths[0]).close()
        found = index.ask_of([where], question)
    if where is not None and (foreign := _foreign(found.sessions)):
        text = f"{foreign[0].path} is a recording of format {foreign[0].facts.version}."
        raise Failure(f"{text} This mcp-tui reads format {VERSION}.")
    return found


def _foreign(sessions: Sequence[RecordedSession]) -> list[RecordedSession]:
    """Those of another format."""
    return [each for each in sessions if each.facts.version not in {0, VERSION}]


def _ahead(size: int) -> None:
    if sys.stderr.isatty():
        warn(f"Indexing {size / 1e6:,.0f} MB of new journals …")


# -- how -------------------------------------------------------------------------------------------------------


def _print(given: Words, found: LogResult, forms: Forms) -> None:
    if given.options.json:
        elements = ",\n".join(map(dump, forms.objects))
        out(f"[{elements}]")
    elif given.options.csv:
        for row in (forms.head, *forms.rows):
            out(csv_line(row), end="\r\n")
    else:
        line = None
        for line in forms.lines:
            out(line)
        if line is None:
            out(_nothing(given, found))
        elif (hidden := found.count - len(found.entries)) > 0:
            warn(f"{hidden:,} older ones not shown (--limit 0 shows all)")


def _nothing(given: Words, found: LogResult) -> str:
    count = len(found.sessions)
    if not count:
        return f"No recorded sessions in {clean(str(files.journal_folder()))}."
    among = "this session" if given.words else "1 session" if count == 1 else f"{count:,} sessions"
    chosen = any(getattr(given.options, each) is not None for each in QUERY_NAMES)
    return f"No {'matching ' if chosen else ''}cancellations in {among}."


def _log(found: LogResult) -> Forms:
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    shown = lines(found.entries, columns, colour=colourful(sys.stdout))
    return Forms(map(as_json, found.entries), HEAD, map(_row, found.entries), shown)


def lines(
    entries: Sequence[LoggedCancellation], columns: int | None, *, colour: bool = False
) -> Iterator[str]:
    """The log for people: under the name of each session its cancellations, in columns of one width for all.

    ``columns`` is how wide a line may be; without one it is as long as it is.
    """
    rows = [_cells(entry) for entry in entries]
    widths = [max((width(row[column]) for row in rows), default=0) for column in range(len(CAPS))]
    each = iter(rows)
    for _, group in groupby(entries, lambda entry: (entry.session, entry.server)):
        some = list(group)
        first = some[0]
        facts = (clean(first.session), brief(first.server), brief(first.transport), brief(first.revision))
        head = join(facts, " · ")
        head = head if columns is None else clip(head, columns)
        yield f"\x1b[2m{head}\x1b[0m" if colour else head
        for row in islice(each, len(some)):
            cells = [
                fit(cell, min(widest, cap) if columns is not None else max(min(widest, cap), width(cell)))
                for cell, widest, cap in zip(row, widths, CAPS, strict=True)
            ]
            line = clean("  ".join(("", *cells)).rstrip(" "))
            yield line if columns is None else clip(line, columns)


def _cells(entry: LoggedCancellation) -> tuple[SafeText, ...]:
    from mcp_tui.tui.view.cancellations import logged
    from mcp_tui.tui.view.durations import stamp

    shown = logged(entry)
    came = join((shown.signal, shown.aftermath), "; ")
    return stamp(entry.wall), shown.id, shown.request, shown.cause, came, shown.reason


def as_json(entry: LoggedCancellation) -> dict[str, Any]:
    """A cancellation for programs: as the outcome of a headless call tells it, and when, where and of what it was."""
    return {
        "session": entry.session,
        "time": utc(entry.wall),
        "server": entry.server or None,
        "transport": entry.transport or None,
        "revision": entry.revision or None,
        **entry.cancelled.as_json(),
    }


def _row(entry: LoggedCancellation) -> list[object]:
    made = as_json(entry)
    made["late"] = " ".join(f"{each['kind']}+{each['after']}" for each in made["late"])
    lost = made["disconnected"]
    made["disconnected"] = None if lost is None else f"{lost['detail']} +{lost['after']}"
    return [made[column] for column in HEAD]


# -- sums and sessions -----------------------------------------------------------------------------------------


def _sums(found: LogResult) -> Forms:
    tools = [(name, list(group)) for name, group in groupby(found.sums, lambda each: each.name)]
    objects = (
        {
            "tool": name,
            "total": group[0].total,
            "outcomes": {
                each.outcome.value: {"count": each.count}
                | ({} if each.worst is None else {"worst": round(each.worst, 6)})
                for each in group
            },
        }
        for name, group in tools
    )
    rows = ((each.name, each.outcome.value, each.count, each.worst) for each in found.sums)
    shown = table([(brief(name, 80), clean(", ".join(map(_summed, group)))) for name, group in tools])
    return Forms(objects, ("tool", "outcome", "count", "worst"), rows, shown)


def _summed(each: Sum) -> str:
    """One outcome of a tool: ``late result 3 (worst 2.4 s)``."""
    said = f"{OUTCOME_WORDS[each.outcome]} {each.count:,}"
    if each.worst is None:
        return said
    worst = f"{each.worst:.1f} s" if each.worst >= 0.9995 else f"{max(0.0, each.worst) * 1000:.0f} ms"
    return f"{said} (worst {worst})"


def _sessions(found: LogResult) -> Forms:
    head = ("session", "time", "server", "transport", "revision", "requests", "frames", "bytes", "target")
    rows: list[tuple[object, ...]] = []
    shown: list[tuple[SafeText, SafeText]] = []
    for each in found.sessions:
        facts = each.facts
        names = (facts.server or None, facts.transport or None, facts.revision or None)
        sizes = (facts.requests, facts.frames, each.size)
        rows.append((each.name, utc(facts.wall), *names, *sizes, facts.target or None))
        count = "1 request" if facts.requests == 1 else f"{facts.requests:,} requests"
        shown.append((clean(each.name), join((brief(facts.server or facts.target), clean(count)), "  ")))
    return Forms((dict(zip(head, row, strict=True)) for row in rows), head, rows, table(shown))


def _tell(sessions: Sequence[RecordedSession]) -> None:
    """Say what could not be read, on stderr."""
    broken = [(each, each.facts.broken + each.torn) for each in sessions if each.facts.broken or each.torn]
    total = sum(count for _, count in broken)
    if total:
        where = clean(broken[0][0].name) if len(broken) == 1 else f"{len(broken)} sessions"
        warn(f"Skipped {total:,} unreadable line{'s'[: total > 1]} in {where}.")
    lost = sum(each.facts.lost for each in sessions)
    if lost:
        warn(f"{lost:,} records are missing because they could not be written.")
    foreign = len(_foreign(sessions))
    if foreign:
        of = "1 session of another format" if foreign == 1 else f"{foreign} sessions of other formats"
        warn(f"Skipped {of}. This mcp-tui reads format {VERSION}.")
