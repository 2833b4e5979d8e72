"""``log``: lists the cancellations of all sessions or of one, or sums up their calls, from the index and without a
server.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from mcp_tui import clock
from mcp_tui.cli import journals
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, colourful, csv_lines, dump, out, table, warn
from mcp_tui.journal import index, journal_files
from mcp_tui.journal.index import Logged, LoggedCall, LoggedCancellation, LoggedViolation, RecordedSession
from mcp_tui.journal.journal_files import Journal
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import evidence, units
from mcp_tui.protocol.client_violations import REPEAT, VIOLATION
from mcp_tui.protocol.evidence import Outcome
from mcp_tui.protocol.values import frozen
from mcp_tui.view.text import SafeText, brief, clean, clip, fit, join, width

if TYPE_CHECKING:
    from mcp_tui.view.filters import Test

SHOWN_CANCELLATIONS: Final = 1000
"""The number of cancellations that are shown as text without ``--limit``."""

FILTERS: Final = ("server", "tool", "outcome", "cause", "since", "until")
"""The options that filter."""

CAPS: Final = (19, 10, 32, 8, 96, 240)
"""The maximum widths of the columns: time, id, request, cause, outcome, reason."""

LOG_COLUMNS: Final = (
    "session", "time", "server", "transport", "revision", "id", "method", "name", "state", "outcome", "outcomes", "cause",
    "reason", "signal", "reason_delivered", "delivery", "watched", "disconnected", "elapsed", "late", "worst", "details",
    "client", "violation", "repeat_of", "first_outcome",
)  # fmt: skip
"""The columns of the CSV."""


@frozen
class Forms:
    """The output in three formats: CSV with its header, lines of text, and JSON, if it differs from the CSV."""

    head: Sequence[str]
    rows: Iterable[dict[str, Any]]
    lines: Iterable[str]
    objects: Iterable[dict[str, Any]] | None = None


def run(_name: str, given: Words) -> int:
    """Prints the log; returns the exit status."""
    options = given.options
    formats = [name for name in LOG_FORMATS if getattr(options, name)]
    if len(formats) > 1:
        raise Failure(f"Use either --{formats[0]} or --{formats[1]}, not both.")
    if options.sums and options.sessions:
        raise Failure("Use either --sums or --sessions, not both.")
    limit = options.limit
    if limit is not None and limit < 0:
        raise Failure(f"Invalid --limit {limit}. Use a number of 0 or more.")
    if limit is None and not formats:
        limit = SHOWN_CANCELLATIONS
    passes = _filter(given)
    if options.via or any(":" in each for each in given.words):
        from mcp_tui.cli import via  # Imported late: only for other hosts.

        if (status := via.log(given, _HEADS)) is not None:
            return status
    named = journals.all_named(given)
    sessions = _sessions(named)
    found = [each for each in index.log(sessions, internal=options.internal) if passes(each)]
    hidden = 0
    if options.sessions:
        forms = _session_forms(sessions)
    elif options.sums:
        calls = index.calls(sessions, internal=options.internal)
        forms = _sum_forms(found, filter(passes, calls))
    else:
        newest = found[-(limit or 0) :]
        hidden = len(found) - len(newest)
        columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        shown = lines(newest, columns, colour=colourful(sys.stdout))
        forms = Forms(LOG_COLUMNS, map(_row, newest), shown, map(as_json, newest))
    printed = False
    for text in LOG_FORMATS[formats[0]](forms) if formats else (f"{line}\n" for line in forms.lines):
        out(text, end="")
        printed = True
    if not printed:
        out(_nothing(given, len(sessions)))
    elif hidden and not formats:
        warn(f"{hidden:,} older ones not shown (--limit 0 shows all)")
    _report(sessions)
    return Exit.USAGE if named and any(each.problem for each in sessions) else Exit.COMPLETED


def _filter(given: Words) -> Callable[[Logged | LoggedCall], bool]:
    """Returns a test for the options that are fields of the filter language; a tool is given by its full name."""

    def named(text: str) -> Test[Logged | LoggedCall]:
        return lambda each: text in {"", each.name, each.method}

    chosen = [(name, text) for name in FILTERS if (text := getattr(given.options, name)) is not None]
    if not chosen:
        return lambda _: True
    from mcp_tui.view.list_filters import logged_fields  # Imported late: it takes a fourth of the start.

    fields = logged_fields("--") | {"tool": named}
    try:
        tests = [fields[name](text) for name, text in chosen]
    except ValueError as error:
        raise Failure(f"{error}") from None
    return lambda each: all(test(each) for test in tests)


def _sessions(named: Sequence[Journal]) -> list[RecordedSession]:
    """Returns the named sessions, or all; of sessions with journals in other folders, only the running ones."""
    if len(named) == 1:
        Recording(named[0].paths[0]).close()  # raises an error if it cannot be read
    elsewhere = [each for each in named if each.name == str(each.paths[0])] if named else journals.elsewhere()
    found = [index.read_session(each) for each in elsewhere]
    if not named or len(elsewhere) < len(named):
        names = {each.name for each in named}
        every = index.sessions(journal_files.journal_folder(), _ahead)
        found += [each for each in every if not named or each.name in names]
    return found


def _ahead(size: int) -> None:
    if sys.stderr.isatty():
        warn(f"Indexing {size / 1e6:,.0f} MB of new journals …")


# -- output ----------------------------------------------------------------------------------------------------


def _csv(forms: Forms) -> Iterator[str]:
    return csv_lines(forms.head, ([row[each] for each in forms.head] for row in forms.rows))


def _json(forms: Forms) -> Iterator[str]:
    elements = ",\n".join(map(dump, forms.rows if forms.objects is None else forms.objects))
    yield f"[{elements}]\n"


LOG_FORMATS: Final[dict[str, Callable[[Forms], Iterator[str]]]] = {"csv": _csv, "json": _json}
"""The formats for programs, by the names of their options: functions that yield the text."""


def _nothing(given: Words, count: int) -> str:
    if not count:
        return f"No recorded sessions in {clean(str(journal_files.journal_folder()))}."
    among = "this session" if len(given.words) == 1 else "1 session" if count == 1 else f"{count:,} sessions"
    chosen = any(getattr(given.options, each) is not None for each in FILTERS)
    what = "requests" if given.options.sums else "cancellations"
    return f"No {'matching ' if chosen else ''}{what} in {among}."


def lines(entries: Sequence[Logged], columns: int | None, *, colour: bool = False) -> Iterator[str]:
    """Yields the log as text: the name of each session, and below it its cancellations in columns.

    ``columns`` is the maximum width of a line; ``None`` means no limit.
    """
    rows = [_cells(entry) for entry in entries]
    widths = [
        min(cap, max(map(width, column))) for cap, column in zip(CAPS, zip(*rows, strict=True), strict=False)
    ]
    pairs = zip(entries, rows, strict=True)
    for _, group in groupby(pairs, lambda pair: (pair[0].session.name, pair[0].server, pair[0].client)):
        for number, (entry, row) in enumerate(group):
            if not number:
                facts = map(brief, (entry.server, entry.transport, entry.revision, _called_by(entry)))
                head = join((clean(entry.session.name), *facts), " · ")
                head = head if columns is None else clip(head, columns)
                yield f"\x1b[2m{head}\x1b[0m" if colour else head
            cells = (
                fit(cell, cells if columns is not None else max(cells, width(cell)))
                for cell, cells in zip(row, widths, strict=True)
            )
            line = clean("  ".join(("", *cells)).rstrip(" "))
            yield line if columns is None else clip(line, columns)


def _called_by(entry: Logged) -> str:
    return f"called by {entry.client}" if entry.client else ""


def _cells(entry: Logged) -> tuple[SafeText, ...]:
    # This loads the order of the table of requests, which --json and --csv do not need.
    from mcp_tui.view.cancellations import logged

    shown = logged(entry)
    outcome = join((shown.signal, shown.aftermath), "; ")
    return clean(clock.local_stamp(entry.wall)), shown.id, shown.request, shown.cause, outcome, shown.reason


def as_json(entry: Logged) -> dict[str, Any]:
    """Returns a line as JSON. A cancellation has the members of the outcome of a headless call, a violation its own."""
    broken = isinstance(entry, LoggedViolation)
    return {
        "session": entry.session.name,
        "file": entry.session.path,
        "time": clock.utc_stamp(entry.wall) or None,
        "server": entry.server or None,
        "transport": entry.transport or None,
        "revision": entry.revision or None,
        **(entry.as_json() if broken else evidence.cancellation_json(entry.row, entry.until)),
        "client": entry.client or None,
        **({} if broken else {"violation": None}),
    }


def _row(entry: Logged) -> dict[str, Any]:
    made = as_json(entry)
    if isinstance(entry, LoggedViolation):
        return dict.fromkeys(LOG_COLUMNS) | made
    made["late"] = " ".join(f"{each['kind']}+{each['after']}" for each in made["late"])
    lost = made["disconnected"]
    made["outcomes"] = " ".join(made["outcomes"])
    made["disconnected"] = None if lost is None else f"{lost['detail']} (+{lost['after']})"
    return made


# -- sums and sessions -----------------------------------------------------------------------------------------


_ORDER: Final = [*Outcome]
"""The outcomes, the worst first."""

_TIMES: Final = {"p50": 0.5, "p95": 0.95, "max": 1.0}
"""The percentiles of the times of a tool, by their names."""

SUM_COLUMNS: Final = ("tool", "outcome", "count", "worst", "calls", "answers", *_TIMES)
"""The columns of the CSV of sums."""

SESSION_COLUMNS: Final = (
    "session", "time", "server", "transport", "revision", "requests", "frames", "bytes", "target",
)  # fmt: skip
"""The columns of the CSV of sessions."""

_HEADS: Final = (LOG_COLUMNS, SUM_COLUMNS, SESSION_COLUMNS)


def _sum_forms(found: Iterable[Logged], calls: Iterable[LoggedCall]) -> Forms:
    """Sums up each tool: the times of its answers, and the outcomes of its cancels. Violations and repeats do not count.

    The most often cancelled tool comes first, then the most often called one. Of the outcomes of a tool, the most
    frequent comes first, then the worst.
    """
    times: dict[str, list[float | None]] = {}
    cancels: dict[str, list[LoggedCancellation]] = {}
    broken, repeated, twice = Counter[str](), Counter[str](), Counter[str]()
    for call in calls:
        times.setdefault(call.name or call.method, []).append(call.took)
    for each in found:
        tool = each.name or each.method
        times.setdefault(tool, [])
        if isinstance(each, LoggedViolation):
            broken[tool] += not each.is_repeat
            repeated[tool] += each.is_repeat
            twice[tool] += each.ran_twice
        else:
            cancels.setdefault(tool, []).append(each)
    rows: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    shown: list[tuple[SafeText, ...]] = []
    for tool, took in sorted(
        times.items(), key=lambda of: (-len(cancels.get(of[0], ())), -len(of[1]), of[0])
    ):
        timed = _timed(took)
        worst = _outcomes(cancels.get(tool, ()))
        counted = [(outcome.value, count, lag) for outcome, (count, lag) in worst.items()]
        parts = [_summed(outcome, *count) for outcome, count in worst.items()]
        outcomes = {
            name: {"count": count} | ({} if lag is None else {"worst": round(lag, 6)})
            for name, count, lag in counted
        }
        if repeated[tool]:
            counted.append((REPEAT, repeated[tool], None))
            both = f" (both answered {twice[tool]:,})" if twice[tool] else ""
            parts.append(f"repeat {repeated[tool]:,}{both}")
        if broken[tool]:
            counted.append((VIOLATION, broken[tool], None))
            parts.append(f"violation by the client {broken[tool]:,}")
        cells = ((tool, *each, *timed.values()) for each in counted or [(None, 0, None)])
        rows += [dict(zip(SUM_COLUMNS, each, strict=True)) for each in cells]
        counts = {"total": len(cancels.get(tool, ())), "outcomes": outcomes, "violations": broken[tool]}
        counts |= {"repeats": repeated[tool], "ran_twice": twice[tool]}
        objects.append({"tool": tool or None, **timed, **counts})
        spans = ("" if timed[name] is None else f"{name} {units.span(timed[name])}" for name in _TIMES)
        often = "1 call" if len(took) == 1 else f"{len(took):,} calls"
        shown.append((brief(tool, 80), clean(often), *map(clean, spans), clean(", ".join(parts))))
    return Forms(SUM_COLUMNS, rows, table(shown), objects)


def _timed(took: Sequence[float | None]) -> dict[str, Any]:
    """Returns the number of calls, the number of answers in time, and the percentiles of their times in seconds."""
    answers = [each for each in took if each is not None]
    ranks = (units.percentile(answers, share) if answers else None for share in _TIMES.values())
    return {"calls": len(took), "answers": len(answers), **dict(zip(_TIMES, ranks, strict=True))}


def _outcomes(cancels: Iterable[LoggedCancellation]) -> dict[Outcome, tuple[int, float | None]]:
    """Returns the count of each outcome, and its greatest delay in seconds."""
    counted, lags = Counter[Outcome](), dict[Outcome, float]()
    for each in cancels:
        counted.update(each.outcomes)  # a cancel may have several
        for outcome, lag in zip(each.outcomes, each.lags, strict=True):
            if lag is not None:
                lags[outcome] = max(lag, lags.get(outcome, lag))
    ordered = sorted(counted.items(), key=lambda each: (-each[1], _ORDER.index(each[0])))
    return {outcome: (count, lags.get(outcome)) for outcome, count in ordered}


def _summed(outcome: Outcome, count: int, worst: float | None) -> str:
    """Returns the words for an outcome of a tool: ``late result 3 (worst 2.4 s)``."""
    text = f"{evidence.OUTCOME_WORDS[outcome]} {count:,}"
    return text if worst is None else f"{text} (worst {units.span(worst)})"


def _session_forms(sessions: Sequence[RecordedSession]) -> Forms:
    rows: list[dict[str, Any]] = []
    shown: list[tuple[SafeText, SafeText]] = []
    for each in sessions:
        names = (each.server or None, each.transport or None, each.revision or None)
        sizes = (each.requests, each.frames, each.size)
        cells = (each.name, clock.utc_stamp(each.wall) or None, *names, *sizes, each.target or None)
        rows.append(dict(zip(SESSION_COLUMNS, cells, strict=True)))
        count = "1 request" if each.requests == 1 else f"{each.requests:,} requests"
        shown.append((clean(each.name), join((brief(each.server or each.target), clean(count)), "  ")))
    return Forms(SESSION_COLUMNS, rows, table(shown))


def _report(sessions: Sequence[RecordedSession]) -> None:
    """Reports on stderr the sessions that could not be read."""
    broken = [each for each in sessions if each.broken]
    total = sum(each.broken for each in broken)
    if total:
        where = clean(broken[0].name) if len(broken) == 1 else f"{len(broken)} sessions"
        warn(f"Skipped {total:,} unreadable line{'s'[: total > 1]} in {where}.")
    lost = sum(each.lost for each in sessions)
    if lost:
        warn(f"{lost:,} records are missing because they could not be written.")
    shortened = [each for each in sessions if each.removed]
    if len(shortened) == 1:
        warn(clean(f"{shortened[0].name}: {shortened[0].removed}."))
    elif shortened:
        count = f"{len(shortened):,} sessions"
        warn(f"The oldest messages of {count} were removed: their journals were too long or too old.")
    problems = [each.problem for each in sessions if each.problem]
    if problems:
        warn(f"Skipped {len(problems):,} session{'s'[: len(problems) > 1]}. {clean(problems[0])}")
