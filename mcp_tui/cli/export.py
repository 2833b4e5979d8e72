"""``export``: a session in another form."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from mcp_tui import clock
from mcp_tui.cli import journals, markdown
from mcp_tui.cli.grammar import Usage, Words
from mcp_tui.cli.output import outcome_state
from mcp_tui.cli.printing import out
from mcp_tui.cli.status import Exit, Failure
from mcp_tui.cli.tables import csv_line
from mcp_tui.journal.export_har import har
from mcp_tui.journal.files import open_parts
from mcp_tui.journal.folder import Journal
from mcp_tui.journal.projections import cancel_of, cancelled
from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError, read_record, why
from mcp_tui.journal.writer import open_private
from mcp_tui.protocol.descriptions import about
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.text import brief, clean

HEAD: Final = (
    "id", "method", "name", "internal", "state", "called", "elapsed", "progress", "size", "is_error", "code", "error",
    "cause", "reason", "signal", "reason_delivered", "outcome", "late",
)  # fmt: skip
"""The columns of the CSV."""

_ALWAYS: Final = frozenset({"connected", "disconnected"})
_NAMED: Final = 100
"""Requests that are named at most where the one that is wanted is not there."""


def run(name: str, given: Words) -> int:
    """Write the session in the form that is wanted; the exit status."""
    options = given.options
    named = journals.word(name, given)
    if named is None:
        raise Usage("mcp-tui: export takes a session: the start of its name, a FILE, or last")
    if options.id is not None and options.cancellations:
        raise Usage("mcp-tui: export takes one choice of requests: --id or --cancellations")
    where = journals.find(named)
    recording = journals.open_recording(where, whole=True)
    pieces = _pieces(given, where, recording, _rows(given, where, recording))
    if options.output is None:
        for piece in pieces:
            out(piece)
    else:
        _write(Path(options.output), where, pieces)
    if recording.damaged:
        lines = "1 broken line was" if recording.damaged == 1 else f"{recording.damaged:,} broken lines were"
        print(f"mcp-tui: {lines} left out", file=sys.stderr)
    return Exit.COMPLETED


def _rows(given: Words, where: Journal, recording: Recording) -> list[Request] | None:
    """The requests that are wanted; ``None`` for all."""
    options = given.options
    if options.cancellations:
        return [row for row in RecordedBook.whole(recording).order if cancel_of(row) is not None]
    if options.id is None:
        return None
    rows = RecordedBook.whole(recording)
    number = int(options.id) if re.fullmatch("-?[0-9]{1,30}", options.id) else None
    found = (rows.get(id_) for id_ in (number, options.id) if id_ is not None)
    row = next((each for each in found if each is not None and str(each.id) == options.id), None)
    if row is None:
        named = (brief(str(each.id), 40) for each in rows.order if not each.internal)
        others = list(islice(named, _NAMED))
        text = (
            f"no request {options.id!r} in {clean(where.name)}; there are {', '.join(others)[:200] or 'none'}"
        )
        raise Failure(text, Exit.USAGE)
    return [row]


def _pieces(given: Words, where: Journal, recording: Recording, rows: list[Request] | None) -> Iterable[str]:
    """The text that is wanted, in pieces with their line ends."""
    match given.options.format:
        case "jsonl":
            return _lines(recording, rows)
        case "har":
            return _har(where, recording, rows)
        case "csv":
            return _csv(recording, rows)
        case _:
            return (line + "\n" for line in _markdown(given, recording, rows))


def _markdown(given: Words, recording: Recording, rows: list[Request] | None) -> Iterator[str]:
    if given.options.cancellations:
        return markdown.cancellations(recording, rows or [])
    if rows:
        return markdown.request(recording, rows[0])
    return markdown.requests(recording)


# -- forms -----------------------------------------------------------------------------------------------------


def _lines(recording: Recording, rows: list[Request] | None) -> Iterator[str]:
    """The records as they were written: all, or those about some requests, which make a recording again."""
    for record, line in _records(recording, rows):
        yield _kept(record, line)


def _records(recording: Recording, rows: list[Request] | None) -> Iterator[tuple[dict[str, Json], bytes]]:
    is_about = None if rows is None else _about(recording, rows)
    with open_parts(recording.path) as file:
        for line in file:
            record = read_record(line)
            if record is not None and (is_about is None or is_about(record)):
                yield record, line


def _about(recording: Recording, rows: Iterable[Request]) -> Callable[[dict[str, Json]], bool]:
    """Whether a record is the header, about a connection, or about one of the requests."""
    wanted = list(rows)
    ids = {_key(row.id) for row in wanted}
    wire_ids = ids | {_key(id_) for row in wanted for id_ in row.round_ids}
    frames = {
        seq for event in recording.events() if _key(about(event)) in ids and (seq := getattr(event, "seq", 0))
    }

    def is_about(record: dict[str, Json]) -> bool:
        match record.get("record"):
            case "event":
                event = record.get("event")
                return event in _ALWAYS or _key(record.get("id")) in ids
            case "frame":
                named = record.get("method") and record.get("dir") == "in"  # then the id is the server's
                answers = not named and _key(record.get("id")) in wire_ids
                return answers or _key(record.get("stream")) in wire_ids or record.get("seq") in frames
            case _:
                return True

    return is_about


def _key(id_: object) -> tuple[type, object]:
    return (type(id_), id_) if isinstance(id_, (int, str)) else (type(None), None)


def _kept(record: dict[str, Json], line: bytes) -> str:
    """A record as it was kept; on a terminal with everything but ASCII escaped."""
    if sys.stdout.isatty():
        return json.dumps(record) + "\n"
    return line.decode(errors="replace").rstrip("\r\n") + "\n"


def _har(where: Journal, recording: Recording, rows: list[Request] | None) -> Iterator[str]:
    transports = {connected.transport for connected in recording.connections()}
    over_http = "stdio" not in transports if transports else "://" in recording.header.target
    if not over_http:
        text = f"{clean(where.name)} is a session on stdio, and HAR is for HTTP; choose --format jsonl or markdown"
        raise Failure(text, Exit.USAGE)
    wanted: set[int] | None = None
    if rows is not None:
        records = (record for record, _ in _records(recording, rows) if record.get("record") == "frame")
        wanted = {seq for record in records if isinstance(seq := record.get("seq"), int)}
    return har(recording, wanted)


def _csv(recording: Recording, rows: list[Request] | None) -> Iterator[str]:
    yield csv_line(HEAD) + "\r\n"
    for row in RecordedBook.whole(recording).order if rows is None else rows:
        yield csv_line(_cells(recording, row)) + "\r\n"


def _cells(recording: Recording, row: Request) -> list[object]:
    facts = cancelled(row)
    over = row.ended_at
    called: str | None = None
    with suppress(ValueError):
        called = clock.utc_stamp(recording.wall(row.called_at))
    return [
        row.id,
        row.method,
        row.name,
        row.internal,
        outcome_state(row) if over is not None else row.state.value,
        called,
        None if row.sent_at is None or over is None else round(row.elapsed(over), 6),
        row.progress_count,
        row.response_size or None,
        row.is_error,
        row.code,
        row.error,
        None if facts is None else facts.cause.value,
        None if facts is None else facts.reason,
        None if facts is None or facts.signal is None else facts.signal.value,
        None if facts is None else facts.reason_delivered,
        None if facts is None else facts.outcome.value,
        " ".join(f"{each.kind.value}+{each.after:.6f}" for each in row.late),
    ]


# -- out -------------------------------------------------------------------------------------------------------


def _write(path: Path, where: Journal, pieces: Iterable[str]) -> None:
    """Write a file for its owner only; what it is made of is not written over."""
    with suppress(OSError):
        if any(path.samefile(each) for each in where.paths):
            text = f"{path} is what is exported: choose another file"
            raise Failure(text, Exit.USAGE)
    made = iter(pieces)
    first = next(made, "")  # what cannot be made leaves the file alone
    try:
        with os.fdopen(open_private(path, replace=True), "w", encoding="utf-8", newline="") as file:
            file.write(first)
            file.writelines(made)
    except RecordingError as error:
        raise journals.failure(error) from None
    except OSError as error:
        text = f"{path} cannot be written: {why(error)}"
        raise Failure(text, Exit.USAGE) from None
