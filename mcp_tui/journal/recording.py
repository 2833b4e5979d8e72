"""A recording that is read where it is looked at: what stays in memory is where each record begins, and columns.

:class:`~mcp_tui.journal.records.Recording` reads everything and is exact about every byte; this opens a million frames
in a second or two. A file up to :data:`STRICT` bytes is read as exactly. In a longer one the beginnings and the ends of
its lines are looked at; what is damaged in between is found when it is wanted.
"""

from __future__ import annotations

import io
import re
import weakref
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, compress
from operator import itemgetter
from pathlib import Path
from typing import Final

from mcp_tui.journal import records
from mcp_tui.journal.event_table import EventTable
from mcp_tui.journal.files import open_parts
from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Connected, Event, RequestId
from mcp_tui.protocol.messages import Json, number

STRICT: Final = 16 * 1024 * 1024
"""Bytes up to which every record of a recording is parsed when it is opened."""

_BACK: Final = 100
"""Events before a damaged one that are looked at for a moment."""

CHUNK: Final = 256 * 1024
"""Bytes that are read in one piece: their lines fit into the caches of a processor."""

_KIND: Final = len(b'{"record":"')
"""Where in a line as the writer writes it the kind of its record begins."""

_FRAME: Final = re.compile(rb'\{"record":"frame","seq":([0-9]{1,18}),')
_FRAMES: Final = bytes(code == ord("f") for code in range(256))
_EVENTS: Final = bytes(code == ord("e") for code in range(256))


class Recording:
    """An open recording. Only its header is known until :meth:`scan` has been exhausted; :meth:`read` does both.

    ``skipped`` counts lines that are not records, ``unknown`` records of a newer version, ``lost`` what the writer could
    not write. ``end`` is how many bytes were read. ``torn`` says that the file ends within a line: it is still being
    written, or the writer was stopped. ``strict`` says whether every record is parsed, whatever the length of the file.

    Raises:
        RecordingError: the file cannot be opened, is no recording, or is one of another version of the format.
    """

    def __init__(self, path: Path | str, *, strict: bool | None = None) -> None:
        self.path = Path(path)
        self.header = records.Header()
        self.table = EventTable()
        self.skipped = 0
        self.unknown = 0
        self.lost = 0
        self.torn = False
        self._frames = array("Q")
        self._seqs = array("Q")
        self.end = 0
        self._read_to = 0
        try:
            self._file = open_parts(self.path)
            weakref.finalize(self, self._file.close)
            peek = self._file.read(records.PEEK)
            first = self._line(0)
        except OSError as error:
            raise records.RecordingError(f"Cannot read {path}: {records.why(error)}.") from None
        if b'"record":' not in peek:
            raise records.RecordingError(f"{path} is not a recording of mcp-tui.")
        record = records.read_record(first)
        if record is not None and record.get("record") == "session":
            self._begin(record)
        self.strict = self.size() <= STRICT if strict is None else strict
        self.head = lru_cache(512)(self._head)

    @classmethod
    def read(cls, path: Path | str) -> Recording:
        """Open a recording and read it to its end, every record parsed.

        Raises:
            RecordingError: as for the class itself, and as :meth:`scan`.
        """
        recording = cls(path, strict=True)
        for _ in recording.scan():
            pass
        return recording

    @property
    def damaged(self) -> int:
        """Lines that are not records, a torn last one included."""
        return self.skipped + self.torn

    def close(self) -> None:
        """Close the file: nothing more is read of it."""
        self._file.close()

    def size(self) -> int:
        """The bytes of the file, or of all its parts."""
        return self._file.seek(0, io.SEEK_END)

    def grown(self) -> bool:
        """Whether there is more in the file than when it was read to its end."""
        try:
            return self.size() > self._read_to
        except (OSError, ValueError):
            return False

    # -- scan ------------------------------------------------------------------------------------------------

    def scan(self) -> Iterator[float]:
        """Read what was not read yet, piece by piece; gives the share of the file that is read.

        What is appended in the meantime is read as well. Go through it again to take in what came later.

        Raises:
            RecordingError: the file cannot be read, or goes on in another version of the format.
        """
        while True:
            try:
                self._file.seek(self.end)
                chunk = self._file.read(CHUNK)
                chunk += self._file.readline()
            except (OSError, ValueError) as error:
                said = records.why(error) if isinstance(error, OSError) else "it was closed"
                raise records.RecordingError(f"Cannot read {self.path}: {said}.") from None
            self._read_to = max(self._read_to, self.end + len(chunk))
            chunk, rest = self._whole(chunk)
            self.torn = bool(rest)
            if not chunk:
                return
            if self.strict:
                self._take_each(chunk)
            else:
                self._take_all(chunk)
            self.end += len(chunk)
            yield min(1.0, self.end / max(1, self.size()))

    def _whole(self, chunk: bytes) -> tuple[bytes, bytes]:
        """The lines of a chunk that are whole, and what is left. A record whose line end alone is missing is whole."""
        if not chunk or chunk.endswith(b"\n"):
            return chunk, b""
        cut = chunk.rfind(b"\n") + 1
        if records.read_record(chunk[cut:]) is not None:
            return chunk, b""
        return chunk[:cut], chunk[cut:]

    def _take_all(self, chunk: bytes) -> None:
        """Take in a chunk by the beginnings and the ends of its lines."""
        lines = chunk.split(b"\n")
        if not lines[-1]:
            lines.pop()
        try:
            kinds = bytes(map(itemgetter(_KIND), lines))
        except IndexError:
            kinds = b""
        frames, events = kinds.translate(_FRAMES), kinds.translate(_EVENTS)
        ordinary = frames.count(1) + events.count(1) == len(lines)
        if not ordinary or set(map(itemgetter(-1), lines)) != {ord("}")}:
            self._take_each(chunk)
            return
        seqs = _seqs(lines, frames)
        if seqs is None:
            self._take_each(chunk)
            return
        offsets = tuple(accumulate(map((1).__add__, map(len, lines)), initial=self.end))
        self._frames.extend(compress(offsets, frames))
        self._seqs.extend(seqs)
        self.table.extend(compress(lines, events), compress(offsets, events), self._take_odd)

    def _take_odd(self, line: bytes, offset: int) -> None:
        if line == b"\n":  # the end of a line that was read before it had one
            return
        record = records.read_record(line)
        if record is None or not self._take(record, line, offset):
            self.skipped += 1

    def _take_each(self, chunk: bytes) -> None:
        """Take in a chunk line by line, every record parsed."""
        offset = self.end
        for line in io.BytesIO(chunk):
            self._take_odd(line, offset)
            offset += len(line)

    def _take(self, record: dict[str, Json], line: bytes, offset: int) -> bool:
        """Take in a record; false when it is none."""
        match record.get("record"):
            case "event":
                try:
                    records.decode_event(record)
                except records.UnknownEvent:
                    self.unknown += 1
                except ValueError:
                    return False
                else:
                    name = b'"event":"%s"' % str(record["event"]).encode()
                    self.table.add(name, written_id(record.get("id")), line, offset)
            case "frame":
                head = records.read_head(record)
                if head is None:
                    return False
                self._frames.append(offset)
                self._seqs.append(head.seq)
            case "session":
                return self._begin(record)
            case "gap":
                self.lost += sum(
                    each for each in (record.get("frames"), record.get("events")) if isinstance(each, int)
                )
            case str():
                self.unknown += 1
            case _:
                return False
        return True

    def _begin(self, record: dict[str, Json]) -> bool:
        header = records.Header.of(record, self.path)
        if header is None:
            return False
        if not self.header.id:
            self.header = header
        return True

    # -- read ------------------------------------------------------------------------------------------------

    def event(self, place: int) -> Event | None:
        """The event of a number; ``None`` where its record turns out to be damaged, or the file is gone."""
        record = self._record(self.table.offsets[place])
        try:
            return None if record is None else records.decode_event(record)
        except (records.UnknownEvent, ValueError):
            return None

    def at(self, position: int) -> float:
        """The moment at which the first ``position`` events had happened; at the end, the last record's.

        Of a damaged record that of the one before it, so that moments never go back.
        """
        offsets = list(reversed(self.table.offsets[max(0, position - _BACK) : position]))
        if position >= len(self.table) and self._frames:
            offsets.insert(0, max(self._frames[-1], *self.table.offsets[-1:]))
        found = (self._record(offset) for offset in offsets)
        moments = (number(record.get("mono")) for record in found if record is not None)
        return next((moment for moment in moments if moment is not None), self.header.mono)

    def position_at(self, moment: float) -> int:
        """How many events had happened at a moment."""
        return bisect_right(range(1, len(self.table) + 1), moment, key=self.at)

    def row(self, id: RequestId) -> int | None:
        """The number of the request with an id, by type and value."""
        return self.table.row(written_id(id))

    def events(self) -> Iterator[Event]:
        """Every event, in order; damaged ones are left out."""
        for place in range(len(self.table)):
            event = self.event(place)
            if event is not None:
                yield event

    def connections(self) -> dict[int, Connected]:
        """Every connection of the session, in order, by the number of its event."""
        found = ((place, self.event(place)) for place in self.table.connection)
        return {place: event for place, event in found if isinstance(event, Connected)}

    @property
    def frame_count(self) -> int:
        """How many frames there are."""
        return len(self._frames)

    def frames_until(self, position: int) -> int:
        """How many frames came before the last of the first ``position`` events; at the end, all."""
        offsets = self.table.offsets
        if position >= len(offsets):
            return len(self._frames)
        return bisect_left(self._frames, offsets[position - 1]) if position else 0

    def _head(self, frame: int) -> FrameHead | None:
        """What is known of a frame, by its number from 0; ``None`` where its record is damaged."""
        record = self._record(self._frames[frame])
        return None if record is None else records.read_head(record)

    def find(self, seq: int) -> int | None:
        """The number of the frame with a sequence number."""
        seqs = self._seqs
        guess = bisect_left(seqs, seq)
        if guess < len(seqs) and seqs[guess] == seq:
            return guess
        try:
            return seqs.index(seq)
        except ValueError:
            return None

    def payload(self, seq: int) -> bytes | None:
        """The bytes of a frame by its sequence number; ``None`` where there is none, or it is damaged."""
        frame = self.find(seq)
        return None if frame is None else self.raw(frame)

    def raw(self, frame: int) -> bytes | None:
        """The bytes of a frame by its number from 0; ``None`` where its record is damaged."""
        try:
            return records.raw_of(self._line(self._frames[frame]))
        except (OSError, ValueError):
            return None

    def wall(self, at: float) -> float:
        """The wall time, in seconds since the epoch, of a moment of the recording."""
        return self.header.wall + (at - self.header.mono)

    def _record(self, offset: int) -> dict[str, Json] | None:
        try:
            return records.read_record(self._line(offset))
        except (OSError, ValueError):
            return None

    def _line(self, offset: int) -> bytes:
        self._file.seek(offset)
        return self._file.readline()

    # -- search ----------------------------------------------------------------------------------------------

    def next_to(self, position: int, *, back: bool) -> int:
        """Where a search begins that leaves out what the event before ``position`` and its frames say."""
        before = position - 1 if back else position
        offsets = self.table.offsets
        if before > len(offsets) or before < 1:
            return 0
        try:
            return offsets[before - 1] + len(self._line(offsets[before - 1]))
        except (OSError, ValueError):
            return 0

    def position_of(self, offset: int) -> int:
        """The position at which the record around an offset of the file is in sight; a frame is with its event."""
        offsets = self.table.offsets
        events = bisect_right(offsets, offset)
        within = events and offset < self.next_to(events, back=False)
        return events if within else min(events + 1, len(offsets))

    def search(self, needle: bytes, begin: int, *, back: bool = False) -> Iterator[int | None]:
        """Look for bytes among the records, whatever the case of ASCII letters; ``begin`` is an offset in the file.

        Gives ``None`` after each few megabytes, and at last the offset of the first place from there on, or of the last
        one before it where ``back``; -1 where there is none.
        """
        pattern = re.compile(re.escape(needle), re.IGNORECASE)
        step = 16 * CHUNK
        while 0 <= begin <= self.end:
            low = max(0, begin - step) if back else begin
            high = begin if back else min(self.end, begin + step)
            self._file.seek(low)
            # what begins before the edge may end behind it
            data = self._file.read(min(self.end, high + len(needle) - 1) - low)
            found = [match.start() for match in pattern.finditer(data)] if back else pattern.search(data)
            if found:
                yield low + (found[-1] if isinstance(found, list) else found.start())
                return
            if (low == 0) if back else (high == self.end):
                break
            begin = low if back else high
            yield None
        yield -1


def written_id(id: Json) -> bytes:
    """An id as it stands in a record: ``b'"id":7'``."""
    return messages.encode({"id": id})[1:-1]


def _seqs(lines: list[bytes], frames: bytes) -> Iterable[int] | None:
    """The sequence numbers of the lines that are ``frames``; ``None`` where not all begin as the writer has it.

    Where the first and the last are as far apart as they should be, those between are not looked at.
    """
    count = frames.count(1)
    if not count:
        return ()
    first, last = _FRAME.match(lines[frames.find(1)]), _FRAME.match(lines[frames.rfind(1)])
    if first is not None and last is not None and int(last[1]) - int(first[1]) == count - 1:
        return range(int(first[1]), int(last[1]) + 1)
    found = [match for match in map(_FRAME.match, compress(lines, frames)) if match is not None]
    return [int(match[1]) for match in found] if len(found) == count else None
