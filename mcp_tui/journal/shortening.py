"""Removes the oldest parts of a journal that is being written, except for records that the later parts need.

These are the connection, the requests without an answer, the handshake, the first lists, and the newest cancellations, each
with its messages unless they are large. These records are written to the first file, after a header that says what was
removed. A reader finds either the old or the new file; a reader that has the old parts open can still read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from mcp_tui import clock
from mcp_tui.journal.journal_files import part_path, shortened_header
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError, encode_event
from mcp_tui.journal.state_folder import replace_file
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import encode
from mcp_tui.protocol.server_requests import NONE
from mcp_tui.protocol.transitions import KINDS

MESSAGE_BYTES: Final = 256 * 1024
"""The most bytes of a message that is kept with its request."""

PROGRESS: Final = 1000
"""The most progress events of a request that are kept; these are the last ones."""

FIRST_REQUESTS: Final = 200
"""The number of first requests that are searched for the handshake and the lists."""

_SLICE: Final = 20
"""The number of requests that are handled in one piece of work."""

_PREPARES: Final = re.compile(rb'"method":"(?:initialize|server/discover|[a-z/]+/list)"')
_SEQ: Final = re.compile(rb'"seq":(\d+)\}\n?\Z')
_SEQ_BYTES: Final = 24
_CONNECTED: Final = KINDS.index(ev.Connected)
_PROGRESSED: Final = KINDS.index(ev.Progress)


def shorten(
    path: Path, numbers: range, header: bytes, why: str, *, space: int, since: float
) -> Iterator[None]:
    """Removes the oldest parts of the journal at ``path``. Yields after each piece of work.

    Args:
        path: the path of the first part.
        numbers: the numbers of the parts to remove.
        header: the header of the session.
        why: the end of the sentence about the removed messages.
        space: the most bytes of records that are kept.
        since: the monotonic time before which cancellations are not kept.

    Raises:
        OSError: a file cannot be written or deleted.
    """
    lines: list[bytes] = []
    until = clock.wall()
    try:
        recording = Recording(path, strict=False, last=numbers[-1])
    except RecordingError:
        pass  # the parts are damaged
    else:
        try:
            for _ in recording.scan():
                yield
            until = recording.wall(at := recording.ended_at)
            needed = _Needed(recording, space)
            yield from needed.choose(since)
            lines = needed.lines()
            lines.append(encode(encode_event(ev.Note(at=at, text=_removed(until, why)))) + b"\n")
        except RecordingError:
            pass
        finally:
            recording.close()
    text = _removed(until, why)
    yield
    replace_file(path, b"".join((shortened_header(header, numbers[-1] + 1, text), *lines)), durable=False)
    for number in numbers:
        if number > 1:
            yield  # deleting a file takes as long as writing hundreds of records
            part_path(path, number).unlink(missing_ok=True)


def _removed(until: float, why: str) -> str:
    return f"messages before {clock.local_stamp(until)} were removed: {why}"


class _Needed:
    """The records of the oldest parts that are kept, by their offsets, limited by ``space`` bytes."""

    def __init__(self, recording: Recording, space: int) -> None:
        self._recording = recording
        self._space = space
        self._lines: dict[int, bytes] = {}

    def lines(self) -> list[bytes]:
        """Returns the lines of the records, in order."""
        return [self._lines[offset] for offset in sorted(self._lines)]

    def choose(self, since: float) -> Iterator[None]:
        """Chooses the records to keep, the most important first. Yields after each piece of work."""
        table, server = self._recording.table, self._recording.table.server_requests
        self._add(self._connection())
        open_ = [place for place, over in enumerate(table.requests.over) if over == NONE]
        for count, place in enumerate(chain(reversed(open_), self._prepared(), self._cancelled(since)), 1):
            if self._space <= 0:
                return
            self._add(self._events(place))
            if count % _SLICE == 0:
                yield
        waiting = [at for at, over in zip(server.arrived, server.over, strict=True) if over == NONE]
        for number in reversed(waiting[-_SLICE:]):
            self._add([number])

    def _connection(self) -> list[int]:
        """Returns the last connection event, and all events of connections after it."""
        table, found = self._recording.table, list[int]()
        for number in reversed(table.connection):
            found.append(number)
            if table.kinds[number] == _CONNECTED:
                break
        return found

    def _prepared(self) -> Iterator[int]:
        """Yields the requests of the handshake and for lists."""
        table = self._recording.table
        own = table.requests.internal[-FIRST_REQUESTS:]
        for place in sorted({*range(min(FIRST_REQUESTS, len(table.first))), *own}):
            if _PREPARES.search(self._recording.line(table.offsets[table.first[place]])):
                yield place

    def _cancelled(self, since: float) -> Iterator[int]:
        """Yields the requests cancelled since a time, the newest first."""
        requests = self._recording.table.requests
        for place in reversed(requests.cancelled):
            if (over := requests.over[place]) != NONE:
                last = self._recording.event(over)
                if last is not None and last.at < since:
                    return
                yield place

    def _events(self, place: int) -> list[int]:
        """Returns the events of a request, with at most :data:`PROGRESS` progress events."""
        table, found, number = self._recording.table, list[int](), self._recording.table.first[place]
        while number != NONE:
            found.append(number)
            number = table.after[number]
        dropped = {*[each for each in found if table.kinds[each] == _PROGRESSED][:-PROGRESS]}
        return [each for each in found if each not in dropped] if dropped else found

    def _add(self, events: Iterable[int]) -> None:
        """Adds events, and their messages if there is room. Messages of progress are not kept."""
        recording, found, messages = self._recording, dict[int, bytes](), dict[int, bytes]()
        for number in events:
            offset = recording.table.offsets[number]
            line = found[offset] = recording.line(offset)
            match = None if recording.table.kinds[number] == _PROGRESSED else _SEQ.search(line[-_SEQ_BYTES:])
            frame = None if match is None else recording.find(int(match[1]))
            if frame is not None:
                offset = recording.frame_offset(frame)
                messages[offset] = recording.line(offset, MESSAGE_BYTES)
        for lines in (found, messages):
            new = {offset: line for offset, line in lines.items() if line.endswith(b"\n")}
            size = sum(map(len, new.values()))
            if size > self._space:
                return
            self._lines |= new
            self._space -= size
