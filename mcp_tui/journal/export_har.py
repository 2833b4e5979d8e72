"""A session over HTTP as HAR 1.2, in pieces: however long a session is, no more than columns of its frames is held.

What a recording does not have is not made up: there are no headers, and the status is 200 or 202 where the message was
taken, as the specification has it (transports, "Sending Messages"), and 0 where it was not.
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
from mcp_tui.journal.records import FrameHead, Header
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.states import State

_COMMENT: Final = (
    "Made from a recording of MCP messages. Headers were not recorded; a status of 200 or 202 means a message that was "
    "taken, 0 a message that was not accepted."
)

_BODY: Final = "\N{NULL}body"
"""What stands in an entry where the text of its response is put in, piece by piece: that may be of any length."""

_APART: Final = -1
"""The owner of what came on no stream of a message of ours."""


def har(recording: Recording, wanted: Container[int] | None = None) -> Iterator[str]:
    """The HAR in pieces. Every message of ours is a POST; what came outside of their streams is one GET.

    ``wanted`` are the numbers of the frames that are told of; ``None`` for all.
    """
    made = _Har(recording, wanted)
    head = {"version": "1.2", "creator": {"name": "mcp-tui", "version": __version__}, "comment": _COMMENT}
    yield f'{{"log": {json.dumps(head)[:-1]}, "entries": ['
    comma = "\n"
    for owner in made.order():
        yield comma
        comma = ",\n"
        yield from made.entry(owner)
    yield "\n]}}\n"


class _Har:
    """Which frames belong together. The owner of each is the frame of the message of ours that it belongs to, or _APART.

    ``_members`` are the frames, those of one owner next to each other, the message itself first.
    """

    def __init__(self, recording: Recording, wanted: Container[int] | None) -> None:
        self._recording = recording
        self._book = RecordedBook.whole(recording)
        self._owners = array("q", [_APART]) * recording.frame_count
        members = array("q")
        by_id: dict[type, dict[RequestId, int]] = {int: {}, str: {}}
        for frame in range(recording.frame_count):
            head = recording.head(frame)
            if head is None or (wanted is not None and head.seq not in wanted):
                continue
            members.append(frame)
            if head.direction == "out":
                self._owners[frame] = frame
                if _is_request(head) and isinstance(head.id, (int, str)):
                    by_id[type(head.id)][head.id] = frame
                continue
            id_ = head.stream if head.stream is not None else None if head.method else head.id
            if isinstance(id_, (int, str)):
                self._owners[frame] = by_id.get(type(id_), {}).get(id_, _APART)
        self._members = array("q", sorted(members, key=self._owners.__getitem__))

    def _of(self, owner: int) -> Sequence[int]:
        """The frames of an owner, in order; the message itself first."""
        begin = bisect_left(self._members, owner, key=self._owners.__getitem__)
        return self._members[
            begin : bisect_right(self._members, owner, lo=begin, key=self._owners.__getitem__)
        ]

    def _head(self, frame: int) -> FrameHead:
        head = self._recording.head(frame)
        assert head is not None  # only what can be read is a member
        return head

    def _text(self, frame: int) -> str:
        return (self._recording.raw(frame) or b"").decode(errors="replace")

    def order(self) -> Iterator[int]:
        """The owners, in the order in which they began."""
        apart = self._of(_APART)[:1]
        begins = [frame for frame in self._members if self._owners[frame] == frame]
        begins += apart
        begins.sort(key=lambda frame: self._head(frame).at)
        return (_APART if frame in apart else frame for frame in begins)

    def entry(self, owner: int) -> Iterator[str]:
        """The entry of an owner, in pieces."""
        frames = self._of(owner)
        came = frames if owner == _APART else frames[1:]
        entry = self._common(frames[0], came)
        if owner == _APART:
            entry["request"]["method"] = "GET"
            entry["comment"] = "What came on no stream of a request."
            entry["response"] |= _status(200)
        else:
            self._post(entry, owner, answered=bool(came))
        # as a member: inside of any text its quotation marks would be escaped
        before, _, after = json.dumps(entry, indent=1).partition(f'"text": {json.dumps(_BODY)}')
        yield f'{before}"text": "'
        for frame in came:
            text = self._text(frame)
            if len(came) > 1:
                text = "".join(f"data: {line}\n" for line in text.splitlines() or [""]) + "\n"
            yield json.dumps(text)[1:-1]
        yield f'"{after}'

    def _common(self, own: int, came: Sequence[int]) -> dict[str, Any]:
        header, at = self._recording.header, self._head(own).at
        first = max(0.0, self._head(came[0]).at - at) if came else 0.0
        last = max(first, self._head(came[-1]).at - at) if came else 0.0
        kind = "" if not came else "application/json" if len(came) == 1 else "text/event-stream"
        return {
            "startedDateTime": _stamp(header, at),
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
            "response": {
                **_status(0),
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": [],
                "content": {
                    "size": sum(self._head(each).size for each in came),
                    "mimeType": kind,
                    "text": _BODY,
                },
                "redirectURL": "",
                "headersSize": -1,
                "bodySize": -1,
            },
            "cache": {},
            "timings": {
                "send": 0,
                "wait": round(1000 * first, 3),
                "receive": round(1000 * (last - first), 3),
            },
        }

    def _post(self, entry: dict[str, Any], frame: int, *, answered: bool) -> None:
        head = self._head(frame)
        id_ = head.id if isinstance(head.id, (int, str)) else None
        row = self._book.get(id_) if id_ is not None and _is_request(head) else None
        status = 200 if answered and not (row is not None and row.rule == "http") else 0
        if row is None and not answered:  # a notification, or an answer of ours
            status = 0 if self._is_undelivered(head.method, frame) else 202
        entry["response"] |= _status(status)
        entry["request"]["bodySize"] = head.size
        entry["request"]["postData"] = {
            "mimeType": "application/json",
            "text": self._text(frame),
            "params": [],
        }
        about: dict[str, Any] = {"method": head.method, "id": id_}
        if row is not None:
            about["state"] = row.state.value
            if row.cause is not None:
                about["cancel"] = {"cause": row.cause.value, "reason": row.reason}
            if row.state in {State.FAILED, State.LOST}:
                entry["comment"] = row.error
        entry["_mcp"] = about

    def _is_undelivered(self, method: str, frame: int) -> bool:
        """Whether a message of ours is a cancel that did not reach the server, or was refused."""
        if method != "notifications/cancelled":
            return False
        message = messages.parse(self._text(frame).encode())
        params = message.params if isinstance(message, messages.NotificationFrame) else None
        id_ = messages.as_object(params).get("requestId")
        row = self._book.get(id_) if isinstance(id_, (int, str)) else None
        return row is not None and bool(row.undelivered)


def _is_request(head: FrameHead) -> bool:
    return bool(head.method) and head.method != "response" and head.id is not None


def _status(status: int) -> dict[str, Any]:
    return {"status": status, "statusText": {200: "OK", 202: "Accepted"}.get(status, "")}


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
