"""A session over HTTP as HAR 1.2, in pieces: of a long session only columns of its frames are in memory.

What a recording does not have is not invented: there are no headers, and the status is 200 or 202 if the message was
accepted, as the specification says (transports, "Sending Messages"), and 0 if it was not.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from mcp_tui import __version__, clock
from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import FrameHead
from mcp_tui.protocol import messages
from mcp_tui.protocol.states import State

_COMMENT: Final = (
    "Made from a recording of MCP messages. Headers were not recorded; a status of 200 or 202 means a message that was "
    "taken, 0 a message that was not accepted."
)

_APART: Final = -1
"""The owner of frames from the server that belong to no message of ours."""

_IGNORED: Final = -2
"""The owner of damaged frames and of those that are not wanted."""


def har(recording: Recording, wanted: Container[int] | None = None) -> Iterator[str]:
    """Yields the HAR in pieces. Each message of ours is a POST; what came outside of their streams is one GET.

    ``wanted`` are the sequence numbers of the frames to include; ``None`` for all.
    """
    made = _Har(recording, wanted)
    head = {"version": "1.2", "creator": {"name": "mcp-tui", "version": __version__}, "comment": _COMMENT}
    yield f'{{"log": {json.dumps(head)[:-1]}, "entries": ['
    comma = "\n"
    for owner in dict.fromkeys(made.owners):  # in the order in which they began
        if owner != _IGNORED:
            yield comma
            comma = ",\n"
            yield from made.entry(owner)
    yield "\n]}}\n"


class _Har:
    """The owner of each frame: the frame of the message of ours that it belongs to, or ``_APART``."""

    def __init__(self, recording: Recording, wanted: Container[int] | None) -> None:
        self._recording = recording
        self._book = RecordedBook.whole(recording)
        self.owners = array("q", [_IGNORED]) * recording.frame_count
        by_id: dict[type, dict[object, int]] = {int: {}, str: {}}
        for frame in range(recording.frame_count):
            head = recording.head(frame)
            if head is None or (wanted is not None and head.seq not in wanted):
                continue
            if head.direction == "out":
                self.owners[frame] = frame
                if _is_request(head) and type(head.id) in by_id:
                    by_id[type(head.id)][head.id] = frame
                continue
            id_ = head.stream if head.stream is not None else None if head.method else head.id
            self.owners[frame] = by_id.get(type(id_), {}).get(id_, _APART)
        self._by_owner = array("q", sorted(range(len(self.owners)), key=self.owners.__getitem__))

    def _head(self, frame: int) -> FrameHead:
        head = self._recording.head(frame)
        assert head is not None  # a damaged frame has no owner
        return head

    def _text(self, frame: int) -> str:
        return (self._recording.raw(frame) or b"").decode(errors="replace")

    def entry(self, owner: int) -> Iterator[str]:
        """Yields the entry of an owner in pieces."""
        begin = bisect_left(self._by_owner, owner, key=self.owners.__getitem__)
        frames = self._by_owner[
            begin : bisect_right(self._by_owner, owner, begin, key=self.owners.__getitem__)
        ]
        received = frames if owner == _APART else frames[1:]  # the first is the message itself
        entry = self._entry(frames[0], received)
        if owner == _APART:
            entry["request"]["method"] = "GET"
            entry["comment"] = "What came on no stream of a request."
            status = 200
        else:
            status = self._post(entry, owner, answered=bool(received))
        entry["response"] = self._response(status, received)
        # the last member is the text of the response, which may have any length and is added in pieces
        yield json.dumps(entry)[: -len('"}}}')]
        for frame in received:
            text = self._text(frame)
            if len(received) > 1:
                text = "".join(f"data: {line}\n" for line in text.splitlines() or [""]) + "\n"
            yield json.dumps(text)[1:-1]
        yield '"}}}'

    def _entry(self, own: int, received: Sequence[int]) -> dict[str, Any]:
        header, at = self._recording.header, self._head(own).at
        first = max(0.0, self._head(received[0]).at - at) if received else 0.0
        last = max(first, self._head(received[-1]).at - at) if received else 0.0
        return {
            "startedDateTime": clock.utc_stamp(self._recording.wall(at)) or clock.utc_stamp(0.0),
            "time": round(1000 * last, 3),
            "request": {
                "method": "POST",
                "url": header.target,
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": [],
                "queryString": [{"name": name, "value": value} for name, value in _query(header.target)],
                "headersSize": -1,
                "bodySize": 0,
            },
            "cache": {},
            "timings": {
                "send": 0,
                "wait": round(1000 * first, 3),
                "receive": round(1000 * (last - first), 3),
            },
        }

    def _response(self, status: int, received: Sequence[int]) -> dict[str, Any]:
        kind = "" if not received else "application/json" if len(received) == 1 else "text/event-stream"
        size = sum(self._head(each).size for each in received)
        return {
            "status": status,
            "statusText": {200: "OK", 202: "Accepted"}.get(status, ""),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": [],
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
            "content": {"size": size, "mimeType": kind, "text": ""},
        }

    def _post(self, entry: dict[str, Any], frame: int, *, answered: bool) -> int:
        """Adds a message of ours; returns the status."""
        head, text = self._head(frame), self._text(frame)
        id_ = head.id if isinstance(head.id, (int, str)) else None
        row = self._book.get(id_) if id_ is not None and _is_request(head) else None
        entry["request"]["bodySize"] = head.size
        entry["request"]["postData"] = {"mimeType": "application/json", "text": text, "params": []}
        about: dict[str, Any] = {"method": head.method, "id": id_}
        entry["_mcp"] = about
        if row is None:
            return 200 if answered else 0 if self._is_undelivered(head.method, text) else 202
        about["state"] = row.state.value
        if row.cause is not None:
            about["cancel"] = {"cause": row.cause.value, "reason": row.reason}
        if row.state in {State.FAILED, State.LOST}:
            entry["comment"] = row.error
        return 200 if answered and row.rule != "http" else 0

    def _is_undelivered(self, method: str, text: str) -> bool:
        """Whether a message of ours is a cancel that did not reach the server, or was refused."""
        message = messages.parse(text.encode()) if method == "notifications/cancelled" else None
        params = message.params if isinstance(message, messages.NotificationFrame) else None
        id_ = messages.as_object(params).get("requestId")
        row = self._book.get(id_) if isinstance(id_, (int, str)) else None
        return row is not None and bool(row.undelivered)


def _is_request(head: FrameHead) -> bool:
    return bool(head.method) and head.method != "response" and head.id is not None


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return []
