"""All recordings of one client as one: what each of its servers said, in the order of the times.

Several sessions use the same ids, and number their messages alike. So an id becomes a text that begins with the name of the
session, as ``ps`` and ``cancel`` write it, and messages are numbered anew. Lines are read when they are needed: only where
they begin is kept.
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

from mcp_tui.journal.journal_files import is_locked, open_parts, parts_of
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header, read_record
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_text, encode, is_request_id, number

_IDS: Final = ("id", "parent", "request_id", "wire_id", "stream", "response_id", "cancelled")
"""Members of records that may be the id of a request."""


class RecordedSource:
    """The recording of one session: the session's name, and the path.

    ``server`` is the name of its server; ``transport`` and ``revision`` are those of its last connection.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, name: str, server: str, path: Path) -> None:
        self.name = name
        self.server = server
        self.path = path
        self.transport = self.revision = ""
        self.file: Final = open_parts(path)
        self.header = read_record(self.file.readline()) or {}
        self.at = number(self.header.get("mono")) or 0.0
        """The time of the line that was read last."""
        self.end = self.file.tell()
        """Where the next line begins."""
        self.numbers: dict[int, int] = {}
        """The numbers of messages in the whole, by those in this recording."""

    def lines(self, number_of_source: int) -> Iterator[tuple[float, int, int]]:
        """Yields the time, this number, and the offset of each line that is complete, and was not read before."""
        while True:
            self.file.seek(self.end)
            line = self.file.readline()
            if not line.endswith(b"\n"):
                return
            record = read_record(line) or {}
            offset, self.end = self.end, self.end + len(line)
            if record.get("record") == "session":
                continue  # another part begins
            self.at = max(self.at, number(record.get("mono")) or 0.0)
            if record.get("event") == "connected":
                self.transport, self.revision = as_text(record["transport"]), as_text(record["revision"])
            yield self.at, number_of_source, offset

    @property
    def unread(self) -> int:
        """The bytes that follow the last line that was read."""
        return max(0, self.file.seek(0, os.SEEK_END) - self.end)

    def named(self, id: RequestId) -> str:
        """Returns an id of this session as one of the whole."""
        odd = isinstance(id, str) and (id.lstrip("-").isdecimal() or id.startswith(("text:", "number:", '"')))
        return f"{self.name}/text:{id}" if odd else f"{self.name}/{id}"


class JoinedSources(io.RawIOBase):
    """The lines of several recordings as one file that can be read at any place. It grows as they do."""

    def __init__(self, header: Header) -> None:
        super().__init__()
        self.sources: list[RecordedSource] = []
        self.origins: dict[str, tuple[RecordedSource, RequestId]] = {}
        """The session of each request, and its id there."""
        self._head = header.line()
        self._starts = array("Q")
        self._source = array("H")
        self._offsets = array("Q")
        self._end = len(self._head)
        self._at = 0
        self._count = 0
        self._recent = self._head
        """The lines that were taken in last, up to the end: these are read next."""

    def _rest(self) -> Iterator[tuple[float, int, int]]:
        """Yields time, source, and offset of the lines that were not taken in, in the order of their times."""
        return heapq.merge(*(each.lines(number) for number, each in enumerate(self.sources)))

    def pull(self, until: int) -> None:
        """Takes lines in until there are so many bytes."""
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
                # What was read ahead of the others is read again.
                for each, end in zip(self.sources, ends, strict=True):
                    each.end = end
                break
        if recent:
            self._recent = bytes(recent)

    def _renamed(self, source: RecordedSource, line: bytes, *, is_new: bool = False) -> bytes:
        """Returns a line with the ids and numbers of the whole."""
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
        """Returns the end of one of the connections, which is not that of the others."""
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
        """Returns what follows of the lines that were taken in last, without those before."""
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
    """The recordings of all sessions of a client, whose ``name`` is shown. More may be added while it is read.

    Raises:
        OSError: one cannot be opened.
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
        return any(is_locked(parts_of(each.path)[-1]) for each in self.joined.sources)

    def grown(self) -> bool:
        return any(each.unread for each in self.joined.sources)

    def source_of(self, id: RequestId) -> RecordedSource | None:
        """Returns the session of a request, ours or the server's."""
        name, slash, _ = str(id).partition("/")
        found = (each for each in self.joined.sources if each.name == name)
        return next(found, None) if slash else None

    def server_of(self, id: RequestId) -> str:
        source = self.source_of(id)
        return "" if source is None else source.server
