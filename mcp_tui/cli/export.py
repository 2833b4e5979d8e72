"""``export``: a session in another form."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
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
from mcp_tui.journal.export_lines import lines_about
from mcp_tui.journal.folder import Journal
from mcp_tui.journal.parts import open_parts
from mcp_tui.journal.projections import cancel_of, cancelled
from mcp_tui.journal.recording import Header, RecordingError, read_record, why
from mcp_tui.journal.streamed import Streamed
from mcp_tui.journal.writer import open_private
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.text import brief, clean

HEAD: Final = (
    "id", "method", "name", "internal", "state", "called", "elapsed", "progress", "size", "is_error", "code", "error",
    "cause", "reason", "signal", "reason_delivered", "outcome", "late",
)  # fmt: skip
"""The columns of the CSV."""

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
    journals.check(where)
    lost = Lost()
    if options.format == "jsonl" and options.id is None and not options.cancellations:
        pieces = _lines(where, lost)
    else:
        recording = _read(where)
        lost.lines = recording.skipped
        pieces = _pieces(given, where, recording, _rows(given, where, recording))
    if options.output is None:
        for piece in pieces:
            out(piece)
    else:
        _write(Path(options.output), where, pieces)
    if lost.lines:
        lines = "1 broken line was" if lost.lines == 1 else f"{lost.lines:,} broken lines were"
        print(f"mcp-tui: {lines} left out", file=sys.stderr)
    return Exit.COMPLETED


@dataclass(slots=True)
class Lost:
    """How many lines were left out because they are no records."""

    lines: int = 0


def _read(where: Journal) -> Streamed:
    try:
        return Streamed.read(where.paths[0])
    except RecordingError as error:
        raise _failure(error) from None


def _failure(error: RecordingError) -> Failure:
    return Failure(clean(str(error)).rstrip("."), Exit.USAGE)


def _rows(given: Words, where: Journal, recording: Streamed) -> list[Request] | None:
    """The requests that are wanted; ``None`` for all."""
    options = given.options
    if options.cancellations:
        return list(recording.rows(lambda row: row if cancel_of(row) is not None else None))
    if options.id is None:
        return None
    others: list[str] = []

    def wanted(row: Request) -> Request | None:
        if len(others) < _NAMED and not row.internal:
            others.append(brief(str(row.id), 40))
        return row if str(row.id) == options.id else None

    found = sorted(recording.rows(wanted), key=_is_text)
    if not found:
        text = (
            f"no request {options.id!r} in {clean(where.name)}; there are {', '.join(others)[:200] or 'none'}"
        )
        raise Failure(text, Exit.USAGE)
    return found[:1]


def _is_text(row: Request) -> bool:
    return isinstance(row.id, str)


def _pieces(given: Words, where: Journal, recording: Streamed, rows: list[Request] | None) -> Iterable[str]:
    """The text that is wanted, in pieces with their line ends."""
    match given.options.format:
        case "jsonl":
            return _some_lines(where, recording, rows or [])
        case "har":
            return _har(where, recording, rows)
        case "csv":
            return _csv(recording, rows)
        case _:
            return (line + "\n" for line in _markdown(given, recording, rows))


def _markdown(given: Words, recording: Streamed, rows: list[Request] | None) -> Iterator[str]:
    if given.options.cancellations:
        return markdown.cancellations(recording, rows or [])
    if rows:
        return markdown.request(recording, rows[0])
    return markdown.requests(recording)


# -- forms -----------------------------------------------------------------------------------------------------


def _lines(where: Journal, lost: Lost) -> Iterator[str]:
    """All records as they were kept, however many there are."""
    with open_parts(where.paths[0]) as file:
        for line in file:
            record = read_record(line)
            if record is None:
                lost.lines += 1
                continue
            try:
                if record.get("record") == "session":
                    Header.of(record, where.paths[0])
            except RecordingError as error:
                raise _failure(error) from None
            yield _kept(record, line)


def _some_lines(where: Journal, recording: Streamed, rows: list[Request]) -> Iterator[str]:
    with open_parts(where.paths[0]) as file:
        for line in lines_about(file, recording, rows):
            record = read_record(line)
            if record is not None:
                yield _kept(record, line)


def _kept(record: dict[str, Json], line: bytes) -> str:
    """A record as it was kept; on a terminal with everything but ASCII escaped."""
    if sys.stdout.isatty():
        return json.dumps(record) + "\n"
    return line.decode(errors="replace").rstrip("\r\n") + "\n"


def _har(where: Journal, recording: Streamed, rows: list[Request] | None) -> Iterator[str]:
    transports = recording.transports
    over_http = "stdio" not in transports if transports else "://" in recording.header.target
    if not over_http:
        text = f"{clean(where.name)} is a session on stdio, and HAR is for HTTP; choose --format jsonl or markdown"
        raise Failure(text, Exit.USAGE)
    wanted: set[int] | None = None
    if rows is not None:
        with open_parts(where.paths[0]) as file:
            wanted = {seq for line in lines_about(file, recording, rows) for seq in _seq(line)}
    return har(recording, wanted)


def _seq(line: bytes) -> Iterator[int]:
    record = read_record(line)
    if record is not None and record.get("record") == "frame":
        seq = record.get("seq")
        yield seq if isinstance(seq, int) else 0


def _csv(recording: Streamed, rows: list[Request] | None) -> Iterator[str]:
    yield csv_line(HEAD) + "\r\n"
    if rows is None:
        yield from recording.rows(lambda row: csv_line(_cells(recording, row)) + "\r\n")
    else:
        yield from (csv_line(_cells(recording, row)) + "\r\n" for row in rows)


def _cells(recording: Streamed, row: Request) -> list[object]:
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
        raise _failure(error) from None
    except OSError as error:
        text = f"{path} cannot be written: {why(error)}"
        raise Failure(text, Exit.USAGE) from None
