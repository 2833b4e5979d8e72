"""A session over HTTP as HAR 1.2.

What a recording does not have is not made up: there are no headers, and the status is 200 or 202 where the message was
taken, as the specification has it (transports, "Sending Messages"), and 0 where it was not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from mcp_tui import __version__, clock
from mcp_tui.journal.frames import FrameHead
from mcp_tui.journal.recording import Header
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Book, State

Frame = tuple[FrameHead, bytes]

_COMMENT: Final = (
    "Made of a recording of MCP messages. Headers were not recorded; a status of 200 or 202 stands for a message that was "
    "taken, 0 for one that was not."
)


@dataclass(slots=True)
class _Exchange:
    """One message of ours, and what came on the stream that answered it."""

    head: FrameHead
    raw: bytes
    came: list[Frame] = field(default_factory=list[Frame])


def har(header: Header, book: Book, frames: Iterable[Frame]) -> dict[str, Any]:
    """The HAR object. Every message of ours is a POST; what came outside of their streams is one GET."""
    exchanges: list[_Exchange] = []
    by_id: dict[tuple[type, RequestId], _Exchange] = {}
    apart: list[Frame] = []
    for head, raw in frames:
        if head.direction == "out":
            exchange = _Exchange(head, raw)
            exchanges.append(exchange)
            if isinstance(head.id, (int, str)) and head.method and head.method != "response":
                by_id[type(head.id), head.id] = exchange
            continue
        own = head.stream if head.stream is not None else None if head.method else head.id
        found = by_id.get((type(own), own)) if isinstance(own, (int, str)) else None
        if found is None:
            apart.append((head, raw))
        else:
            found.came.append((head, raw))
    entries = [_post(header, book, each) for each in exchanges]
    if apart:
        entries.append(_get(header, apart))
    entries.sort(key=_began)
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "mcp-tui", "version": __version__},
            "entries": entries,
            "comment": _COMMENT,
        }
    }


def _began(entry: dict[str, Any]) -> str:
    return entry["startedDateTime"]


def _post(header: Header, book: Book, exchange: _Exchange) -> dict[str, Any]:
    head = exchange.head
    row = book.get(head.id) if isinstance(head.id, (int, str)) else None
    refused = row is not None and row.rule == "http"
    answered = bool(exchange.came) and not refused
    status = 200 if answered else 0
    if row is None and not exchange.came:  # a notification, or an answer of ours
        status = 202
    entry = _entry(header, "POST", head.at, exchange.came, status)
    text = exchange.raw.decode(errors="replace")
    entry["request"]["bodySize"] = head.size
    entry["request"]["postData"] = {"mimeType": "application/json", "text": text, "params": []}
    about: dict[str, Any] = {"method": head.method, "id": head.id}
    if row is not None:
        about["state"] = row.state.value
        if row.cause is not None:
            about["cancel"] = {"cause": row.cause.value, "reason": row.reason}
        if row.state in {State.FAILED, State.LOST}:
            entry["comment"] = row.error
    entry["_mcp"] = about
    return entry


def _get(header: Header, came: list[Frame]) -> dict[str, Any]:
    entry = _entry(header, "GET", came[0][0].at, came, 200)
    entry["comment"] = "What came on no stream of a request."
    return entry


def _entry(header: Header, verb: str, at: float, came: list[Frame], status: int) -> dict[str, Any]:
    first = max(0.0, came[0][0].at - at) if came else 0.0
    last = max(first, came[-1][0].at - at) if came else 0.0
    body, kind = _body(came)
    return {
        "startedDateTime": _stamp(header, at),
        "time": round(1000 * last, 3),
        "request": {
            "method": verb,
            "url": header.target,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": [],
            "queryString": [{"name": name, "value": value} for name, value in _query(header.target)],
            "headersSize": -1,
            "bodySize": 0,
        },
        "response": {
            "status": status,
            "statusText": {200: "OK", 202: "Accepted"}.get(status, ""),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": [],
            "content": {"size": sum(head.size for head, _ in came), "mimeType": kind, "text": body},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
        },
        "cache": {},
        "timings": {"send": 0, "wait": round(1000 * first, 3), "receive": round(1000 * (last - first), 3)},
    }


def _body(came: list[Frame]) -> tuple[str, str]:
    """What came, as one JSON text, or as events where there is more than one message."""
    texts = [raw.decode(errors="replace") for _, raw in came]
    if len(texts) == 1:
        return texts[0], "application/json"
    events = ("".join(f"data: {line}\n" for line in text.splitlines() or [""]) + "\n" for text in texts)
    return "".join(events), "text/event-stream" if texts else ""


def _query(url: str) -> Iterator[tuple[str, str]]:
    try:
        yield from parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return


def _stamp(header: Header, at: float) -> str:
    try:
        return clock.utc_stamp(header.wall + (at - header.mono))
    except ValueError:
        return clock.utc_stamp(0.0)
