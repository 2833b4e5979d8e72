"""A session over HTTP as HAR 1.2, in pieces: however long a session is, no more than columns of its frames is held.

What a recording does not have is not made up: there are no headers, and the status is 200 or 202 where the message was
taken, as the specification has it (transports, "Sending Messages"), and 0 where it was not.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final
from urllib.parse import parse_qsl, urlsplit

from mcp_tui import __version__, clock
from mcp_tui.journal.files import open_parts
from mcp_tui.journal.frames import FrameHead
from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header, raw_of, read_head, read_record
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
    book = RecordedBook.whole(recording)
    frames = _Frames.of(recording, wanted)
    head = {"version": "1.2", "creator": {"name": "mcp-tui", "version": __version__}, "comment": _COMMENT}
    yield f'{{"log": {json.dumps(head)[:-1]}, "entries": ['
    comma = "\n"
    with open_parts(recording.path) as file:
        for owner in frames.order():
            yield comma
            comma = ",\n"
            yield from _entry(recording.header, file, book, frames, owner)
    yield "\n]}}\n"


# -- which frames belong together ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Frames:
    """Columns of the frames. The owner of each is the number of the message of ours that it belongs to, or _APART."""

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    at: array[float] = field(default_factory=lambda: array("d"))
    sizes: array[int] = field(default_factory=lambda: array("Q"))
    owners: array[int] = field(default_factory=lambda: array("q"))
    _members: array[int] = field(default_factory=lambda: array("q"))
    """The numbers of the frames, those of one owner next to each other, the message itself first."""

    @classmethod
    def of(cls, recording: Recording, wanted: Container[int] | None) -> _Frames:
        """Go through the frames of a recording."""
        made = cls()
        by_id: dict[type, dict[RequestId, int]] = {int: {}, str: {}}
        for offset, head in recording.frames():
            if wanted is not None and head.seq not in wanted:
                continue
            number = len(made.offsets)
            made.offsets.append(offset)
            made.at.append(head.at)
            made.sizes.append(head.size)
            if head.direction == "out":
                made.owners.append(number)
                if _is_request(head) and isinstance(head.id, (int, str)):
                    by_id[type(head.id)][head.id] = number
                continue
            id_ = head.stream if head.stream is not None else None if head.method else head.id
            found = by_id.get(type(id_), {}).get(id_, _APART) if isinstance(id_, (int, str)) else _APART
            made.owners.append(found)
        made._members = array("q", sorted(range(len(made.owners)), key=made.owners.__getitem__))
        return made

    def of_owner(self, owner: int) -> Sequence[int]:
        """The numbers of the frames of an owner, in order; the message itself first."""
        begin = bisect_left(self._members, owner, key=self.owners.__getitem__)
        return self._members[
            begin : bisect_right(self._members, owner, lo=begin, key=self.owners.__getitem__)
        ]

    def order(self) -> Iterator[int]:
        """The owners, in the order in which they began."""
        begins = [number for number, owner in enumerate(self.owners) if owner == number]
        apart = self.of_owner(_APART)[:1]
        begins += apart
        begins.sort(key=self.at.__getitem__)
        return (_APART if number in apart else number for number in begins)


def _is_request(head: FrameHead) -> bool:
    return bool(head.method) and head.method != "response" and head.id is not None


# -- entries ---------------------------------------------------------------------------------------------------


def _entry(header: Header, file: IO[bytes], book: RecordedBook, frames: _Frames, owner: int) -> Iterator[str]:
    numbers = frames.of_owner(owner)
    came = numbers if owner == _APART else numbers[1:]
    entry = _common(header, frames, numbers[0], came)
    if owner == _APART:
        entry["request"]["method"] = "GET"
        entry["comment"] = "What came on no stream of a request."
        entry["response"] |= _status(200)
    else:
        _post(entry, file, book, frames.offsets[owner], answered=bool(came))
    # as a member: inside of any text its quotation marks would be escaped
    before, _, after = json.dumps(entry, indent=1).partition(f'"text": {json.dumps(_BODY)}')
    yield f'{before}"text": "'
    for number in came:
        file.seek(frames.offsets[number])
        text = (raw_of(file.readline()) or b"").decode(errors="replace")
        if len(came) > 1:
            text = "".join(f"data: {line}\n" for line in text.splitlines() or [""]) + "\n"
        yield json.dumps(text)[1:-1]
    yield f'"{after}'


def _post(entry: dict[str, Any], file: IO[bytes], book: RecordedBook, offset: int, *, answered: bool) -> None:
    file.seek(offset)
    record = read_record(file.readline()) or {}
    head = read_head(record)
    if head is None:
        raise AssertionError(offset)
    id_ = head.id if isinstance(head.id, (int, str)) else None
    row = book.get(id_) if id_ is not None and _is_request(head) else None
    status = 200 if answered and not (row is not None and row.rule == "http") else 0
    if row is None and not answered:  # a notification, or an answer of ours
        status = 202
    entry["response"] |= _status(status)
    file.seek(offset)
    text = (raw_of(file.readline()) or b"").decode(errors="replace")
    entry["request"]["bodySize"] = head.size
    entry["request"]["postData"] = {"mimeType": "application/json", "text": text, "params": []}
    about: dict[str, Any] = {"method": head.method, "id": id_}
    if row is not None:
        about["state"] = row.state.value
        if row.cause is not None:
            about["cancel"] = {"cause": row.cause.value, "reason": row.reason}
        if row.state in {State.FAILED, State.LOST}:
            entry["comment"] = row.error
    entry["_mcp"] = about


def _status(status: int) -> dict[str, Any]:
    return {"status": status, "statusText": {200: "OK", 202: "Accepted"}.get(status, "")}


def _common(header: Header, frames: _Frames, own: int, came: Sequence[int]) -> dict[str, Any]:
    at = frames.at[own]
    first = max(0.0, frames.at[came[0]] - at) if came else 0.0
    last = max(first, frames.at[came[-1]] - at) if came else 0.0
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
            "content": {"size": sum(frames.sizes[each] for each in came), "mimeType": kind, "text": _BODY},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
        },
        "cache": {},
        "timings": {"send": 0, "wait": round(1000 * first, 3), "receive": round(1000 * (last - first), 3)},
    }


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
