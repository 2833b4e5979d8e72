"""All recordings of one client as a single recording, in the order of time.

Different sessions use the same ids and message numbers. So each id becomes a text with the name of the session before it, as
in ``ps`` and ``cancel``, and messages get new numbers. Only the offsets of lines are in memory; lines are read when needed.
"""

from __future__ import annotations

import heapq
import io
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from mcp_tui.journal.journal_files import is_written, open_parts
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header, read_record
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_text, encode, is_request_id, number

_IDS: Final = ("id", "parent", "request_id", "wire_id", "stream", "response_id", "cancelled")
"""The members of records that may have the id of a request."""


class RecordedSource:
    """The recording of one session.

    ``server`` is the name of the server. ``transport`` and ``revision`` are those of the last connection.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, name: str, server: str, path: Path) -> None:
        self.name = name
        self.server = server
        self.path = path
        self.transport = self.revision = ""
        self.file: Final = open_parts(path)
        self.header = read_record(self.file.readline()) or {}
        self.at = number(self.header.get("mono")) or 0.0
        """The time of the line that was read last, in monotonic seconds."""
        self.end = self.file.tell()
        """The offset of the next line."""
        self.numbers: dict[int, int] = {}
        """The number of each message in the joined recording, by its number in this one."""

    def lines(self, number_of_source: int) -> Iterator[tuple[float, int, int]]:
        """Yields the time, ``number_of_source``, and the offset of each complete line that was not read before."""
        while True:
            self.file.seek(self.end)
            line = self.file.readline()
            if not line.endswith(b"\n"):
                return
            record = read_record(line) or {}
            offset, self.end = self.end, self.end + len(line)
            if record.get("record") == "session":
                continue  # the header of another part
            self.at = max(self.at, number(record.get("mono")) or 0.0)
            if record.get("event") == "connected":
                self.transport, self.revision = as_text(record["transport"]), as_text(record["revision"])
            yield self.at, number_of_source, offset

    @property
    def unread(self) -> int:
        """The number of bytes after the last line that was read."""
        return max(0, self.file.seek(0, os.SEEK_END) - self.end)

    def named(self, id: RequestId) -> str:
        """Returns the id in the joined recording for an id of this session."""
        odd = isinstance(id, str) and (id.lstrip("-").isdecimal() or id.startswith(("text:", "number:", '"')))
        return f"{self.name}/text:{id}" if odd else f"{self.name}/{id}"


class JoinedSources(io.RawIOBase):
    """The lines of several recordings as one seekable file, which grows as they do."""

    def __init__(self, header: Header) -> None:
        super().__init__()
        self.sources: list[RecordedSource] = []
        self.origins: dict[str, tuple[RecordedSource, RequestId]] = {}
        """The session of each request, and its id in that session, by its id in the joined recording."""
        self._head = header.line()
        self._starts = array("Q")
        self._source = array("H")
        self._offsets = array("Q")
        self._end = len(self._head)
        self._at = 0
        self._count = 0
        self._recent = self._head
        """The bytes of the lines that were added last, which are usually read next."""

    def _rest(self) -> Iterator[tuple[float, int, int]]:
        """Yields time, source, and offset of the lines that were not added yet, in the order of time."""
        return heapq.merge(*(each.lines(number) for number, each in enumerate(self.sources)))

    def pull(self, until: int) -> None:
        """Adds lines until the file has ``until`` bytes, or there are no more."""
        if self._end >= until:
            return
        recent, ends = bytearray(), [each.end for each in self.sources]
        for _, at, offset in self._rest():
            source = self.sources[at]
            source.file.seek(offset)
            line = source.file.readline()
            ends[at] = offset + len(line)
            self._starts.append(self._end)
            self._source.append(at)
            self._offsets.append(offset)
            made = self._renamed(source, line, is_new=True)
            self._end += len(made)
            recent += made
            if self._end >= until:
                # The merge has read one line ahead in each source; that line is read again later.
                for each, end in zip(self.sources, ends, strict=True):
                    each.end = end
                break
        if recent:
            self._recent = bytes(recent)

    def _renamed(self, source: RecordedSource, line: bytes, *, is_new: bool = False) -> bytes:
        """Returns a line with the ids and numbers of the joined recording."""
        record = read_record(line)
        if record is None:
            return line
        for member in _IDS:
            if is_request_id(id := record.get(member)):
                record[member] = source.named(id)
                if is_new and record.get("event") == "called" and member == "id":
                    self.origins[source.named(id)] = source, id
        if isinstance(seq := record.get("seq"), int):
            if is_new and record.get("record") == "frame":
                self._count += 1
                source.numbers[seq] = self._count
            record["seq"] = source.numbers.get(seq, 0)
        if record.get("event") == "disconnected":
            record = self._disconnected(source, record)
        return encode(record) + b"\n"

    def _disconnected(self, source: RecordedSource, record: dict[str, Json]) -> dict[str, Json]:
        """Returns a note about the end of one connection, because the other connections continue."""
        text = f"{source.server} disconnected: {as_text(record.get('detail'))}"
        return {"record": "event", "event": "note", "mono": record.get("mono"), "text": text, "seq": 0}

    # -- as a file -------------------------------------------------------------------------------------------

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            offset += self._end + sum(each.unread for each in self.sources)
        self._at = offset
        return offset

    def read(self, size: int = -1, /) -> bytes:
        pieces: list[bytes] = []
        while size > 0 and (piece := self._piece(size) or self.readline(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _piece(self, size: int) -> bytes:
        """Returns at most ``size`` bytes from the lines that were added last; empty if the position is before them."""
        self.pull(self._at + size)
        start = self._at - (self._end - len(self._recent))
        piece = self._recent[start : start + size] if start >= 0 else b""
        self._at += len(piece)
        return piece

    def readline(self, size: int | None = -1, /) -> bytes:
        self.pull(self._at + 1)
        if self._at >= self._end:
            return b""
        if self._at < len(self._head):
            start, line = 0, self._head
        else:
            place = bisect_right(self._starts, self._at) - 1
            start, source = self._starts[place], self.sources[self._source[place]]
            source.file.seek(self._offsets[place])
            line = self._renamed(source, source.file.readline())
        line = line[self._at - start :]
        line = line if size is None or size < 0 else line[:size]
        self._at += len(line)
        return line

    def close(self) -> None:
        for each in self.sources:
            each.file.close()
        super().close()


class ClientRecording(Recording):
    """The recordings of all sessions of the client ``name``. More recordings may be added while it is read.

    Raises:
        OSError: a recording cannot be opened.
    """

    def __init__(self, name: str, sources: list[RecordedSource]) -> None:
        first = min(sources, key=lambda each: number(each.header.get("mono")) or 0.0)
        header = Header.of(first.header, first.path) or Header()
        self.name = name
        self.joined = JoinedSources(replace(header, target=""))
        self.joined.sources += sources
        super().__init__(first.path, file=self.joined)

    def add(self, source: RecordedSource) -> None:
        """Adds a recording."""
        self.joined.sources.append(source)

    def is_locked(self) -> bool:
        return any(is_written(each.path, each.file) for each in self.joined.sources)

    def grown(self) -> bool:
        return any(each.unread for each in self.joined.sources)

    def source_of(self, id: RequestId) -> RecordedSource | None:
        """Returns the session of a request from the client or the server; ``None`` if it is unknown."""
        name, slash, _ = str(id).partition("/")
        found = (each for each in self.joined.sources if each.name == name)
        return next(found, None) if slash else None

    def server_of(self, id: RequestId) -> str:
        source = self.source_of(id)
        return "" if source is None else source.server
