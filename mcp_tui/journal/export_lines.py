"""The lines of a recording that concern some requests: a recording again, only shorter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mcp_tui.journal.codec import EVENTS
from mcp_tui.journal.recording import read_record
from mcp_tui.journal.streamed import Streamed
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestEvent
from mcp_tui.protocol.requests import Request

_ALWAYS = frozenset({"connected", "disconnected"})
_OF_REQUESTS = frozenset(name for name, kind in EVENTS.items() if issubclass(kind, RequestEvent)) | {
    "violation",
    "oversize",
}


def lines_about(lines: Iterable[bytes], recording: Streamed, rows: Iterable[Request]) -> Iterator[bytes]:
    """Of the lines of a recording that was read: the header, the connections, and what concerns the requests."""
    wanted = list(rows)
    ids = {_key(id_) for row in wanted for id_ in (row.id, *row.round_ids)}
    internal = {_key(row.id) for row in wanted}
    frames = {
        event.seq
        for event in recording.events()
        if isinstance(event, _Numbered) and _key(event.id) in internal
    }
    for line in lines:
        record = read_record(line)
        if record is None:
            continue
        match record.get("record"):
            case "event":
                event = record.get("event")
                about = event in _OF_REQUESTS and _key(record.get("id")) in internal
                if about or event in _ALWAYS:
                    yield line
            case "frame":
                named = record.get("method") and record.get("dir") == "in"  # then the id is the server's
                about = not named and _key(record.get("id")) in ids
                if about or _key(record.get("stream")) in ids or record.get("seq") in frames:
                    yield line
            case _:
                yield line


def _key(id_: object) -> tuple[type, object]:
    return (type(id_), id_) if isinstance(id_, (int, str)) else (type(None), None)


_Numbered = (
    ev.Called,
    ev.Sent,
    ev.Progress,
    ev.Completed,
    ev.Failed,
    ev.CancelSignalled,
    ev.Late,
    ev.Duplicate,
)
