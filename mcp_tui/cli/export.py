"""``export``: writes sessions in another format. Of several sessions each piece names its file, as grep does.

In Markdown, text from a server is always code, in a span or in a fence longer than any run of backticks in it. So it
never acts as markup, a mention, or a link where it is pasted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Final

from mcp_tui import clock
from mcp_tui.cli import journals
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, csv_line, out, warn
from mcp_tui.journal.event_table import written_id
from mcp_tui.journal.journal_files import Journal, open_parts, open_private
from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recorded_spans import spans_of
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError, read_record, why
from mcp_tui.journal.spans import otlp_lines
from mcp_tui.journal.workers import in_parallel
from mcp_tui.protocol import evidence, messages
from mcp_tui.protocol.descriptions import about, repeat_words
from mcp_tui.protocol.events import Kind
from mcp_tui.protocol.framing import BOM
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.values import frozen
from mcp_tui.view.badges import badge
from mcp_tui.view.cancellations import cancellation
from mcp_tui.view.copies import exported, issue
from mcp_tui.view.detail import code, facts, fence, history
from mcp_tui.view.shell_command import recorded_target, redactor
from mcp_tui.view.text import brief, clean, pretty

EXPORT_COLUMNS: Final = (
    "id", "method", "name", "internal", "state", "called", "elapsed", "progress", "size", "is_error", "code", "error",
    "cause", "reason", "signal", "reason_delivered", "outcome", "outcomes", "late", "repeat_of", "first_outcome",
)  # fmt: skip
"""The columns of the CSV."""

PAYLOAD_CHARACTERS: Final = 16_000
"""The maximum number of characters of one payload: an issue has room for 65,536."""


def run(_name: str, given: Words) -> int:
    """Writes the sessions; returns the exit status."""
    options = given.options
    named = journals.all_named(given)
    if not named:
        raise Failure("Missing session. Give the start of its name, a file, last, or --client.")
    if options.id is not None and options.cancellations:
        raise Failure("Use either --id or --cancellations, not both.")
    skipped: list[Journal] = []
    sessions = _sessions(given, named, skipped)
    first = [*islice(sessions, 1)]  # an error about the first session precedes any output
    pieces = _pieces(given, chain(first, sessions)) if first else ()
    if options.output is None:
        for piece in pieces:
            out(piece, end="")
    else:
        _write(Path(options.output), named, pieces)
    return Exit.USAGE if skipped else Exit.COMPLETED


@frozen
class _ChosenSession:
    """One session to write. ``file`` is its name if there are several; ``rows`` are the chosen requests, or ``None``."""

    where: Journal
    file: str
    recording: Recording
    rows: list[Request] | None


def _sessions(given: Words, named: Sequence[Journal], skipped: list[Journal]) -> Iterator[_ChosenSession]:
    """Yields the sessions one by one as they are read. If there are several, unreadable ones are reported and skipped."""
    several = _several(given)
    for where in named:
        try:
            recording = Recording.read(where.paths[0])
        except RecordingError as error:
            if not several:
                raise
            warn(clean(f"{error}"))
            skipped.append(where)
            continue
        file = where.name if several else ""
        yield _ChosenSession(where, file, recording, _rows(given, where, recording))
        recording.close()
        if recording.removed:
            warn(clean(f"{where.name}: {recording.removed}."))
        if recording.damaged:
            among = f" in {clean(file)}" if several else ""
            warn(f"Skipped {recording.damaged:,} unreadable line{'s'[: recording.damaged > 1]}{among}.")


def _several(given: Words) -> bool:
    return len(given.words) > 1 or given.options.client is not None


def _rows(given: Words, where: Journal, recording: Recording) -> list[Request] | None:
    """Returns the chosen requests; ``None`` for all."""
    options, is_issue = given.options, given.options.format == "issue"
    if not (is_issue or options.cancellations or options.id is not None):
        return None
    rows = RecordedRequests.whole(recording)
    if options.cancellations:
        chosen = [
            row for row in rows.order if evidence.cancel_of(row) is not None and not row.cancel_is_internal
        ]
    else:
        chosen = [row for row in rows.order if not row.internal]
    if options.id is None:
        if is_issue and not chosen:
            kind = "cancellations" if options.cancellations else "requests"
            raise Failure(clean(f"No {kind} in {where.name}. Choose another session, or another --format."))
        if is_issue and not options.cancellations and len(chosen) > 1:
            warn(
                clean(f"This is the newest of {len(chosen):,} requests in {where.name}. --id N chooses one.")
            )
            return chosen[-1:]
        return chosen
    row = rows.written(options.id)
    if row is None:
        named = (brief(str(each.id), 40) for each in rows.order if not each.internal)
        others = list(islice(named, 100))
        choices = f"Choose from: {', '.join(others)[:200]}." if others else "It has no requests."
        raise Failure(f"No request {options.id!r} in {clean(where.name)}. {choices}")
    return [row]


def _pieces(given: Words, sessions: Iterable[_ChosenSession]) -> Iterable[str]:
    """Yields the text in pieces, with line ends."""
    match given.options.format:
        case "jsonl":
            return (line for each in sessions for line in _lines(each))
        case "otlp":
            return (line for each in sessions for line in _spans(each))
        case "csv":
            head = ("file", *EXPORT_COLUMNS) if _several(given) else EXPORT_COLUMNS
            return chain((csv_line(head),), (text for each in sessions for text in _csv(each, len(head))))
        case _:
            lines = (line for each in sessions for line in _markdown(given, each))
            return (f"{line}\n" for line in lines)


def _csv(session: _ChosenSession, columns: int) -> Iterator[str]:
    """Yields the text of one line or more."""
    recording, until = session.recording, session.recording.ended_at

    def lines(rows: Iterable[Request]) -> str:
        cells = ([session.where.name, *_cells(recording, row, until)] for row in rows)
        return "".join(csv_line(each[-columns:]) for each in cells)

    if session.rows is not None:
        return map(lines, ([row] for row in session.rows))
    requests = RecordedRequests.whole(recording, is_brief=True)
    return in_parallel(len(requests.order), lambda places: lines(map(requests.row, places)))


def _markdown(given: Words, session: _ChosenSession) -> Iterator[str]:
    recording, rows = session.recording, session.rows
    if session.file:
        yield from (f"## {code(session.file)}", "")
    if rows is None:
        yield from _markdown_requests(recording)
    elif given.options.format == "issue":
        for number, row in enumerate(rows):
            yield from ("",) * bool(number)
            yield from _issue(recording, row)
    elif given.options.cancellations:
        yield from _markdown_cancellations(recording, rows)
    else:
        yield from _markdown_request(recording, rows[0])
    if session.file:
        yield ""


# -- formats ---------------------------------------------------------------------------------------------------


def _lines(session: _ChosenSession) -> Iterator[str]:
    """Yields the lines of all records, or of the chosen requests; the lines of one session are a recording again."""
    for record, line in _records(session.recording, session.rows):
        if session.file:
            yield json.dumps({"file": session.file, **record}) + "\n"
        elif sys.stdout.isatty():  # everything but ASCII is escaped
            yield json.dumps(record) + "\n"
        else:
            yield line.removeprefix(BOM).decode(errors="replace").rstrip("\r\n") + "\n"


def _records(recording: Recording, rows: list[Request] | None) -> Iterator[tuple[dict[str, Json], bytes]]:
    is_about = None if rows is None else _about(recording, rows)
    with open_parts(recording.path) as file:
        for line in file:
            record = read_record(line)
            if record is not None and (is_about is None or is_about(record)):
                yield record, line


def _spans(session: _ChosenSession) -> Iterator[str]:
    """Yields the spans of a session as lines of OTLP, in the order in which they ended."""
    recording, rows = session.recording, session.rows
    table = recording.table
    places = None if rows is None else sorted(table.place(written_id(row.id)) for row in rows)
    return otlp_lines(spans_of(recording, places), recording.header)


def _about(recording: Recording, rows: list[Request]) -> Callable[[dict[str, Json]], bool]:
    """Returns a test for records that are the header, or about a connection or one of the requests."""
    ids = {_key(row.id) for row in rows}
    wire_ids = ids | {_key(id_) for row in rows for id_ in row.round_ids}
    frames = {seq for event in recording.events() if _key(about(event)) in ids and (seq := event.seq)}

    def is_about(record: dict[str, Json]) -> bool:
        match record.get("record"):
            case "event":
                connection = record.get("event") in {"connected", "disconnected"}
                return connection or _key(record.get("id")) in ids
            case "frame":
                foreign = record.get("method") and record.get("dir") == "in"  # then the id is the server's
                ours = not foreign and _key(record.get("id")) in wire_ids
                return ours or _key(record.get("stream")) in wire_ids or record.get("seq") in frames
            case _:
                return True

    return is_about


def _key(id_: object) -> tuple[type, object]:
    return (type(id_), id_) if isinstance(id_, (int, str)) else (type(None), None)


def _cells(recording: Recording, row: Request, until: float) -> list[object]:
    asked, over = evidence.cancel_of(row), row.ended_at
    return [
        row.id,
        row.method,
        row.name,
        row.internal,
        evidence.ended(row),
        clock.utc_stamp(recording.wall(row.called_at)),
        None if row.sent_at is None or over is None else round(row.elapsed(over), 6),
        row.progress_count,
        row.response_size or None,
        row.is_error,
        row.code,
        row.error,
        None if asked is None else asked.cause.value,
        None if asked is None else asked.reason,
        None if asked is None or row.signal is None else row.signal.value,
        None if asked is None else row.reason_delivered,
        None if asked is None else evidence.outcome(row, until).value,
        None if asked is None else " ".join(each.value for each in evidence.outcomes(row, until)),
        " ".join(f"{each.kind.value}+{each.after:.6f}" for each in row.late),
        None if row.repeat is None else row.repeat.repeat_of,
        None if row.repeat is None else row.repeat.first_outcome,
    ]


# -- output ----------------------------------------------------------------------------------------------------


def _write(path: Path, named: Sequence[Journal], pieces: Iterable[str]) -> None:
    """Writes a file that only its owner can read; refuses to overwrite a recording."""
    with suppress(OSError):
        if any(path.samefile(each) for where in named for each in where.paths):
            raise Failure(f"{path} is the recording itself. Choose another file.")
    made = iter(pieces)
    first = next(made, "")  # an error must leave an existing file unchanged
    try:
        with os.fdopen(open_private(path, replace=True), "w", encoding="utf-8", newline="") as file:
            file.write(first)
            file.writelines(made)
    except OSError as error:
        raise Failure(f"Cannot write {path}: {why(error)}.") from None


# -- Markdown ------------------------------------------------------------------------------------------------


def _markdown_request(recording: Recording, row: Request) -> Iterator[str]:
    """Yields one request: its properties, timeline, and payloads."""
    yield from _head(f"{code(row.label)}: {badge(row, recording.ended_at).word}", recording)
    yield from fence(line.text.rstrip() for line in list(facts(row, recording.ended_at))[1:])
    yield ""
    yield "#### Timeline"
    yield from _markdown_timeline(row)
    yield from _payloads(recording, row)


def _issue(recording: Recording, row: Request) -> Iterator[str]:
    """Yields one request for an issue tracker, as the workbench copies it."""
    header = recording.header
    connected = next(iter(recording.connections().values()), None)
    target = recorded_target(header.target)
    secrets = redactor(target)
    server = [("recorded by mcp-tui", header.app)]
    if connected is not None:
        server = [
            ("server", connected.server),
            ("protocol", connected.revision),
            ("transport", connected.transport),
            *server,
        ]
    found = exported(row, recording.payload, secrets)
    return issue(row, found, server=server, target=target, secrets=secrets, now=recording.ended_at)


def _markdown_cancellations(recording: Recording, rows: list[Request]) -> Iterator[str]:
    """Yields a table of the cancellations, and the timeline of each."""
    cells: list[tuple[str, ...]] = []
    for row in rows:
        shown = cancellation(row, origin=recording.wall(0.0), until=recording.ended_at)
        if shown is not None:
            texts = (shown.id, row.label, shown.reason, shown.aftermath)
            id_, name, reason, outcome = map(_code_cell, texts)
            cells.append((id_, name, shown.cause, reason, shown.signal, outcome))
    head = ("id", "request", "cause", "reason", "signal", "what came")
    yield from _table("Cancellations", recording, head, cells)
    requests = RecordedRequests.whole(recording)
    for number, event in enumerate(requests.violation_events):
        if not number:
            yield ""
        yield f"- {code(brief(requests.violation(event).words))}"
    for row in rows:
        yield ""
        yield f"#### {code(f'{row.label} ({row.id})')}: {badge(row, recording.ended_at).word}"
        yield from _markdown_timeline(row)


def _markdown_requests(recording: Recording) -> Iterator[str]:
    """Yields a table of the requests, without internal ones."""
    cells: list[tuple[str, ...]] = []
    for row in RecordedRequests.whole(recording).order:
        if row.internal:
            continue
        shown = cancellation(row, origin=recording.wall(0.0), until=recording.ended_at)
        outcome = [row.error or row.summary] if shown is None else [shown.signal, shown.aftermath]
        outcome = filter(None, [*outcome, "" if row.repeat is None else repeat_words(row.repeat)])
        ran = f"{row.elapsed(recording.ended_at):.3f} s" if row.sent_at is not None and not row.open else ""
        id_, name, text = map(_code_cell, (str(row.id), row.label, "; ".join(outcome)))
        cells.append((id_, name, badge(row, recording.ended_at).word, ran, text))
    return _table("Requests", recording, ("id", "request", "state", "after", "what came"), cells)


def _table(
    title: str, recording: Recording, head: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Yields a title with the number of rows, and the table."""
    yield from _head(f"{title}: {len(rows)}", recording)
    if rows:
        yield f"| {' | '.join(head)} |"
        yield f"|{'---|' * len(head)}"
        yield from (f"| {' | '.join(row)} |" for row in rows)
    else:
        yield f"No {title.lower()}."


def _head(title: str, recording: Recording) -> Iterator[str]:
    """Yields a title, and below it the server, transport, protocol version, client, time, and version of mcp-tui."""
    yield f"### {title}"
    yield ""
    header = recording.header
    connected = next(iter(recording.connections().values()), None)
    names = [header.target]
    if connected is not None:
        names += [connected.server, connected.transport, connected.revision, connected.client]
    app = code(f"mcp-tui {header.app}".rstrip())
    yield ", ".join(filter(None, (*map(code, names), clock.utc_stamp(header.wall), app)))
    yield ""


def _markdown_timeline(row: Request) -> Iterator[str]:
    """Yields the timeline of a request, starting when it was sent."""
    yield ""
    yield from fence(line.text.rstrip() for line in history(row))


def _payloads(recording: Recording, row: Request) -> Iterator[str]:
    sent = recording.payload(row.request_seq) if row.request_seq else None
    frame = None if sent is None else messages.parse(sent)
    if isinstance(frame, messages.RequestFrame):
        yield from _payload("Request", frame.params)
    if row.response_seq:
        yield from _answer(recording, row, row.response_seq, "Error" if row.error else "Result")
    for each in row.late:
        if each.seq and each.kind is not Kind.PROGRESS:
            yield from _answer(recording, row, each.seq, "Late, ignored")


def _answer(recording: Recording, row: Request, seq: int, title: str) -> Iterator[str]:
    raw = recording.payload(seq)
    frame = None if raw is None else messages.response_in(raw, row.id)
    if frame is not None:
        error = frame.error
        members = {} if error is None else {"code": error.code, "message": error.message, "data": error.data}
        members = {name: value for name, value in members.items() if value is not None}
        yield from _payload(title, members or frame.result)
    elif raw is not None:
        yield from ("", f"#### {title}", "")
        yield from fence([clean(messages.bytes_text(raw[:PAYLOAD_CHARACTERS]))])


def _payload(title: str, value: Json) -> Iterator[str]:
    yield from ("", f"#### {title}", "")
    yield from fence(pretty(value, limit=PAYLOAD_CHARACTERS), "json")


def _code_cell(text: str) -> str:
    """Returns a code span for a table, where even in code a bar must be escaped."""
    return code(text).replace("|", "\\|")
