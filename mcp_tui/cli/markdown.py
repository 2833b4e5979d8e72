"""A session, or one request of it, as Markdown for an issue tracker.

Whatever a server said stands in code: in a fence longer than any run of backticks inside, or in a code span. So it is no
markup, no mention and no link there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from mcp_tui import clock
from mcp_tui.journal.projections import cancel_of
from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Kind
from mcp_tui.protocol.messages import Json, ResponseFrame, RpcError
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.badges import badge
from mcp_tui.tui.view.cancellations import cancellation
from mcp_tui.tui.view.detail import facts, history
from mcp_tui.tui.view.markdown import code, fence
from mcp_tui.tui.view.text import clean, pretty

LONGEST: Final = 16_000
"""Characters of one payload: an issue has room for 65,536."""


def request(recording: Recording, row: Request) -> Iterator[str]:
    """One request: what it was, what happened when, what was sent and what came."""
    yield f"### {code(row.label)}: {badge(row).word}"
    yield ""
    yield from session(recording)
    yield from fence(line.text.rstrip() for line in list(facts(row, _over(row)))[1:])
    yield ""
    yield "#### Timeline"
    yield from timeline(row)
    yield from _payloads(recording, row)


def cancellations(recording: Recording, rows: Iterable[Request]) -> Iterator[str]:
    """All that was cancelled, in a table, and then the timeline of each."""
    some = [row for row in rows if cancel_of(row) is not None]
    yield f"### Cancellations: {len(some)}"
    yield ""
    yield from session(recording)
    if not some:
        yield "Nothing was cancelled."
        return
    yield "| id | request | cause | reason | signal | what came |"
    yield "|---|---|---|---|---|---|"
    for row in some:
        shown = cancellation(row, origin=recording.wall(0.0))
        if shown is not None:
            name, reason, came = map(_cell, (row.label, shown.reason, shown.aftermath))
            yield f"| {_cell(shown.id)} | {name} | {shown.cause} | {reason} | {shown.signal} | {came} |"
    for row in some:
        yield ""
        yield f"#### {code(f'{row.label} ({row.id})')}: {badge(row).word}"
        yield from timeline(row)


def requests(recording: Recording) -> Iterator[str]:
    """All requests of a session in a table, but for those of mcp-tui's own."""
    some = [_line(recording, row) for row in RecordedBook.whole(recording).order if not row.internal]
    yield f"### Requests: {len(some)}"
    yield ""
    yield from session(recording)
    if not some:
        yield "There was no request."
        return
    yield "| id | request | state | after | what came |"
    yield "|---|---|---|---|---|"
    yield from some


def _line(recording: Recording, row: Request) -> str:
    shown = cancellation(row, origin=recording.wall(0.0))
    came = (
        row.error or row.summary
        if shown is None
        else ", ".join(filter(None, (shown.signal, shown.aftermath)))
    )
    ran = f"{row.elapsed(_over(row)):.3f} s" if row.sent_at is not None and not row.open else ""
    return f"| {_cell(str(row.id))} | {_cell(row.label)} | {badge(row).word} | {ran} | {_cell(came)} |"


def session(recording: Recording) -> Iterator[str]:
    """On which server, how it was spoken to, when and by which version."""
    header = recording.header
    connected = next(recording.connections(), None)
    names = [header.target]
    if connected is not None:
        names += [connected.server, connected.transport, connected.revision]
    stamp = ""
    with suppress(ValueError):
        stamp = clock.utc_stamp(header.wall)
    app = code(f"mcp-tui {header.app}".rstrip())
    yield ", ".join(filter(None, (*map(code, names), stamp, app)))
    yield ""


def timeline(row: Request) -> Iterator[str]:
    """What happened to a request, counted from its writing."""
    yield ""
    yield from fence(line.text.rstrip() for line in history(row))


def _over(row: Request) -> float:
    ended = row.ended_at if row.ended_at is not None else row.heard_at
    return row.called_at if ended is None else ended


def _payloads(recording: Recording, row: Request) -> Iterator[str]:
    sent = recording.payload(row.request_seq) if row.request_seq else None
    frame = None if sent is None else messages.parse(sent)
    if isinstance(frame, messages.RequestFrame):
        yield from _payload("Request", frame.params)
    if row.response_seq:
        yield from _answer(recording, row, row.response_seq, "Error" if row.error else "Result")
    for evidence in row.late:
        if evidence.seq and evidence.kind is not Kind.PROGRESS:
            yield from _answer(recording, row, evidence.seq, "Late, ignored")


def _answer(recording: Recording, row: Request, seq: int, title: str) -> Iterator[str]:
    raw = recording.payload(seq)
    frame = None if raw is None else messages.parse(raw)
    if isinstance(frame, messages.Batch):
        answers = (each for each in frame.frames if isinstance(each, ResponseFrame))
        frame = next((each for each in answers if each.id == row.id), None)
    if isinstance(frame, ResponseFrame):
        error = frame.error
        yield from _payload(title, frame.result if error is None else _members(error))
    elif raw is not None:
        yield ""
        yield f"#### {title}"
        yield ""
        yield from fence([clean(raw[:LONGEST].decode(errors="replace"))])


def _members(error: RpcError) -> dict[str, Json]:
    members: dict[str, Json] = {"code": error.code, "message": error.message}
    return members if error.data is None else {**members, "data": error.data}


def _payload(title: str, value: Json) -> Iterator[str]:
    yield ""
    yield f"#### {title}"
    yield ""
    yield from fence(pretty(value, limit=LONGEST), "json")


def _cell(text: str) -> str:
    """A code span in a table: there a bar ends the cell even in code, unless a backslash stands before it."""
    return code(text).replace("|", "\\|")
