"""The reader of recordings. It keeps offsets and columns in memory, and reads a record only when it is needed.

When a file of up to :data:`STRICT_BYTES` bytes is opened, every record is checked: by one grammar if all lines of a chunk
have the form in which this version writes them, otherwise by parsing each. In a longer file, only the start and end of each
line are checked, so that a million frames open in two seconds. Damage inside a record of such a file is only found when
the record is read.
"""

from __future__ import annotations

import io
import re
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

from mcp_tui.journal import records
from mcp_tui.journal.event_table import (
    OF_A_REQUEST,
    OF_THE_SERVER,
    REARMS,
    RECORD_CODES,
    EventTable,
    written_id,
)
from mcp_tui.journal.frame_index import FrameIndex
from mcp_tui.journal.journal_files import following_part, is_written, open_parts
from mcp_tui.journal.records import FrameHead
from mcp_tui.protocol.events import Connected, Event, RequestId
from mcp_tui.protocol.messages import Json, as_text, number
from mcp_tui.protocol.server_requests import NONE

STRICT_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of a recording whose records are all parsed when it is opened."""

READ_BYTES: Final = 96 * 1024
"""The bytes read at a time, which fit into the caches of a processor, and for which malloc asks no new pages each time."""

_SHORT_BYTES: Final = 16 * 1024
"""The bytes of a chunk below which parsing each line is faster than making the grammar of all."""

_NO_END: Final = frozenset({b'\\"', b':"'})
"""Ends of an id in quotation marks that only look like its end."""

_BACK: Final = 100
"""The most events before a damaged one that are searched for a time."""


class Recording:
    """An open recording. Only its header is known until :meth:`scan` is exhausted; :meth:`read` does both.

    ``skipped`` counts lines that are not records, ``unknown`` records of a newer version, and ``lost`` records that the
    writer could not write. ``end`` is the number of bytes read. ``torn`` is true if the file ends within a line, because
    it is still being written, or its writer was killed. ``removed`` is a sentence about messages that were removed
    because the journal was too long; empty for a complete one. ``is_tail`` means that only the end of the file is read.

    Args:
        path: the path of the first part.
        strict: whether to parse every record; by default this depends on the length of the file.
        last: the number of the last part to read; by default all parts are read.
        tail: the number of bytes to read at the end; by default all are read. Events of requests that were called before
            do not count as inconsistent.
        file: an open file to read instead of that at ``path``.

    Raises:
        RecordingError: the file cannot be opened, is not a recording, or has another version of the format.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        strict: bool | None = None,
        last: int | None = None,
        tail: int | None = None,
        file: io.BufferedIOBase | io.RawIOBase | None = None,
    ) -> None:
        self.path = Path(path)
        self.header = records.Header()
        self.table = EventTable()
        self.skipped = 0
        self.unknown = 0
        self.lost = 0
        self.removed = ""
        self.torn = False
        self.end = 0
        self._frames = FrameIndex(self._read)
        self._read_to = 0
        self._following = 0
        self.is_tail = False
        try:
            self._file = file or open_parts(self.path, last)
            weakref.finalize(self, self._file.close)
            # Checked before a whole line is read, because a file that is not a recording may have a line of many gigabytes.
            if b'"record":' not in (self._file.read(records.PEEK_BYTES) or b""):
                raise records.RecordingError(f"{path} is not a recording of mcp-tui.")
            record = records.read_record(self.line(0))
        except OSError as error:
            raise records.RecordingError(f"Cannot read {path}: {records.why(error)}.") from None
        if record is not None and record.get("record") == "session":
            self._take_header(record)
        self.strict = self.size() <= STRICT_BYTES if strict is None else strict
        self.is_tail = tail is not None and self._skip_to(self.size() - tail)
        self.head = lru_cache(512)(self._head)

    def _skip_to(self, offset: int) -> bool:
        """Leaves out the lines that begin before an offset; returns false if there are none."""
        if offset <= 0:
            return False
        try:
            self.line(offset - 1)
            self.end = self._file.tell()
        except OSError:
            return False
        self.table.is_shortened = True
        return True

    @classmethod
    def read(cls, path: Path | str, *, strict: bool | None = True) -> Recording:
        """Opens a recording, and reads it to its end.

        Raises:
            RecordingError: as for the constructor and :meth:`scan`.
        """
        recording = cls(path, strict=strict)
        for _ in recording.scan():
            pass
        return recording

    @property
    def damaged(self) -> int:
        """The number of lines that are not records, including a torn last one."""
        return self.skipped + self.torn

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def size(self) -> int:
        """Returns the bytes of all parts of the file."""
        return self._file.seek(0, io.SEEK_END)

    def is_locked(self) -> bool:
        """Whether a running process writes to the file."""
        return is_written(self.path, self._file)

    def server_of(self, id: RequestId) -> str:
        """Returns the name of the server of a request; empty for a recording of only one server."""
        del id
        return ""

    def grown(self) -> bool:
        """Whether the file has grown since it was read to its end."""
        try:
            return self.size() > self._read_to
        except (OSError, ValueError):
            return False

    # -- scan ------------------------------------------------------------------------------------------------

    def scan(self) -> Iterator[float]:
        """Reads the rest of the file in chunks; yields the share of the file that has been read.

        Call it again to read lines that were appended later.

        Raises:
            RecordingError: the file cannot be read, or continues in another version of the format.
        """
        size = 0
        while True:
            try:
                self._file.seek(self.end)
                chunk = self._file.read(READ_BYTES) or b""
                # The chunk ends with a complete line.
                chunk += self._file.readline()
            except (OSError, ValueError) as error:
                reason = records.why(error) if isinstance(error, OSError) else "it was closed"
                raise records.RecordingError(f"Cannot read {self.path}: {reason}.") from None
            self._read_to = max(self._read_to, self.end + len(chunk))
            last = chunk[chunk.rfind(b"\n") + 1 :]
            # A last line without a line end is complete if it can be parsed: the writer was killed just before the line end.
            self.torn = bool(last) and records.read_record(last) is None
            if self.torn:
                chunk = chunk[: -len(last)]
            if not chunk:
                return
            self._take_chunk(chunk)
            # The size is not asked for each chunk, because that looks for further parts.
            size = size if self.end < size else self.size()
            yield min(1.0, self.end / max(1, size))

    def _take_chunk(self, chunk: bytes) -> None:
        """Adds the records of complete lines."""
        # In a long file the start and the end of a line are enough, unless the line has an unusual form.
        by_start = not self.strict or (len(chunk) > _SHORT_BYTES and records.are_canonical(chunk))
        table, start, offset, is_regular = self.table, self.end, self.end, by_start
        add_offset, add_seq = self._frames.adders()
        run: tuple[bytes, bytes] | None = None  # the name and id of the event before, if it is progress
        rearms, further = False, array("Q")
        try:
            for line in io.BytesIO(chunk):
                try:
                    if not by_start or not line.endswith(b"}\n"):
                        raise ValueError
                    record, name, _, id, _ = line.split(b",", 4)
                    if record == b'{"record":"frame"':
                        add_seq(int(name.removeprefix(b'"seq":')))
                        add_offset(offset)
                    elif (name, id) == run and rearms == (REARMS in line):
                        further.append(offset)
                    else:
                        table.add_further(further)
                        # An unknown name raises a KeyError, so that the parser counts the record.
                        self._add_event(RECORD_CODES[name], id, line, offset)
                        is_run = name == b'"event":"progress"' and table.rows[-1] != NONE
                        run, rearms = (name, id) if is_run else None, REARMS in line
                except (KeyError, ValueError, OverflowError):
                    table.add_further(further)
                    self.end, is_regular, run = offset, False, None
                    self._take(line, offset)
                offset += len(line)
        finally:
            table.add_further(further)
            self.end = offset
            self._frames.close_chunk(start, len(chunk), is_regular=is_regular)

    def _add_event(self, code: int, id: bytes, line: bytes, offset: int) -> None:
        """Adds an event by the start of its line.

        Raises:
            ValueError: the line must be parsed, because the id contains a comma, or something that looks like its end.
        """
        if (
            b':"' in id
            and (id[-1:] != b'"' or id[-2:] in _NO_END)
            and (OF_A_REQUEST[code] or OF_THE_SERVER[code])
        ):
            raise ValueError
        self.table.add(code, id, line, offset)

    def _take(self, line: bytes, offset: int) -> None:
        """Parses a line, and adds its record."""
        if line == b"\n":  # the end of a line that was read before it was complete
            return
        record = records.read_record(line) or {}
        match record.get("record"):
            case "event":
                try:
                    records.decode_event(record)
                except records.UnknownEvent:
                    self.unknown += 1
                except ValueError:
                    self.skipped += 1
                else:
                    code = RECORD_CODES[b'"event":"%s"' % str(record["event"]).encode()]
                    name = "request_id" if OF_THE_SERVER[code] else "id"
                    self.table.add(code, written_id(record.get(name), name), line, offset)
            case "frame" if (head := records.read_head(record)) is not None:
                self._frames.add(offset, head.seq)
            case "session" if self._take_header(record):
                pass
            case "gap":
                counts = (record.get("frames"), record.get("events"))
                self.lost += sum(each for each in counts if isinstance(each, int))
            case str(kind) if kind not in {"frame", "session"}:
                self.unknown += 1
            case _:
                self.skipped += 1

    def _take_header(self, record: dict[str, Json]) -> bool:
        header = records.Header.of(record, self.path)
        if self.is_tail:
            return header is not None
        if header is not None and not self.header.id:
            self.header = header
            self.removed = as_text(record.get("removed"))
            self._following = following_part(record)
        elif header is not None and isinstance(part := record.get("part"), int):
            if part > self._following:
                self.removed = "messages were removed before they were read: the journal reached its size"
            self._following = part + 1
        self.table.is_shortened, self.table.is_tap = bool(self.removed), self.header.purpose == "tap"
        return header is not None

    # -- read ------------------------------------------------------------------------------------------------

    def event(self, place: int) -> Event | None:
        """Returns an event by its number; ``None`` if its record is damaged or the file was closed."""
        record = self.record(place)
        try:
            return None if record is None else records.decode_event(record)
        except (records.UnknownEvent, ValueError):
            return None

    def record(self, place: int) -> dict[str, Json] | None:
        """Returns the record of an event by its number; ``None`` if it is damaged or the file was closed."""
        return self._record(self.table.offsets[place])

    def at(self, position: int) -> float:
        """Returns the time of the last of the first ``position`` events; at the end, that of the last record.

        A damaged record has the time of the record before it, so that times never decrease.
        """
        last = min(position, len(self.table))
        found = map(self.record, range(last - 1, max(0, position - _BACK) - 1, -1))
        if position >= len(self.table) and self._frames_before(last) < len(self._frames):
            found = chain([self._frame(len(self._frames) - 1)], found)
        times = (number(record.get("mono")) for record in found if record is not None)
        return next((at for at in times if at is not None), self.header.mono)

    @property
    def ended_at(self) -> float:
        """The time of the last record."""
        return self.at(len(self.table))

    def position_at(self, at: float) -> int:
        """Returns the number of events that happened up to a time."""
        return bisect_right(range(1, len(self.table) + 1), at, key=self.at)

    def events(self) -> Iterator[Event]:
        """Yields every event, in order, without damaged ones."""
        return (event for event in map(self.event, range(len(self.table))) if event is not None)

    def connections(self) -> dict[int, Connected]:
        """Returns the connections of the session, in order, by the numbers of their events."""
        found = ((place, self.event(place)) for place in self.table.connection)
        return {place: event for place, event in found if isinstance(event, Connected)}

    @property
    def frame_count(self) -> int:
        """The number of frames."""
        return len(self._frames)

    def frames_until(self, position: int) -> int:
        """Returns the number of frames before the last of the first ``position`` events; at the end, of all frames."""
        return len(self._frames) if position >= len(self.table) else self._frames_before(position)

    def _frames_before(self, position: int) -> int:
        try:
            return self._frames.before(self.table.offsets[position - 1]) if position else 0
        except (OSError, ValueError):  # the file was closed
            return 0

    def _head(self, frame: int) -> FrameHead | None:
        """Returns the head of a frame by its number from 0; ``None`` if its record is damaged."""
        record = self._frame(frame)
        return None if record is None else records.read_head(record)

    def find(self, seq: int) -> int | None:
        """Returns the number, from 0, of the frame with a sequence number; ``None`` if there is none."""
        return self._frames.find(seq)

    def payload(self, seq: int) -> bytes | None:
        """Returns the bytes of a frame by its sequence number; ``None`` if it is missing or damaged."""
        frame = self.find(seq)
        return None if frame is None else self.raw(frame)

    def raw(self, frame: int) -> bytes | None:
        """Returns the bytes of a frame by its number from 0; ``None`` if its record is damaged."""
        record = self._frame(frame)
        return None if record is None else records.raw_of(record)

    def wall(self, at: float) -> float:
        """Converts a time of the recording to seconds since the epoch."""
        return self.header.wall + (at - self.header.mono)

    def _record(self, offset: int) -> dict[str, Json] | None:
        try:
            return records.read_record(self.line(offset))
        except (OSError, ValueError):
            return None

    def _frame(self, frame: int) -> dict[str, Json] | None:
        try:
            return self._record(self._frames.offset(frame))
        except (OSError, ValueError):
            return None

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size) or b""

    def line(self, offset: int, size: int = -1) -> bytes:
        """Returns the line at an offset, or its first ``size`` bytes.

        Raises:
            OSError: the file cannot be read.
                ValueError: the file was closed.
        """
        self._file.seek(offset)
        return self._file.readline(size)

    def frame_offset(self, frame: int) -> int:
        """Returns the offset of a frame by its number from 0."""
        return self._frames.offset(frame)

    # -- search ----------------------------------------------------------------------------------------------

    def next_to(self, position: int, *, back: bool) -> int:
        """Returns the offset at which to continue a search, after the event before ``position`` and its frames."""
        before = position - 1 if back else position
        offsets = self.table.offsets
        if before > len(offsets) or before < 1:
            return 0
        try:
            return offsets[before - 1] + len(self.line(offsets[before - 1]))
        except (OSError, ValueError):
            return 0

    def position_of(self, offset: int) -> int:
        """Returns the position that shows the record at an offset of the file; a frame belongs to the next event."""
        offsets = self.table.offsets
        events = bisect_right(offsets, offset)
        within = events and offset < self.next_to(events, back=False)
        return events if within else min(events + 1, len(offsets))

    def search(self, needle: bytes, begin: int, *, back: bool = False) -> Iterator[int | None]:
        """Searches the records for bytes, ignoring the case of ASCII letters; ``begin`` is an offset in the file.

        Yields ``None`` after each chunk without a match, and finally the offset of the first match after ``begin`` or, with
        ``back``, of the last match before it.
        """
        pattern = re.compile(re.escape(needle), re.IGNORECASE)
        while 0 <= begin <= self.end:
            low = max(0, begin - READ_BYTES) if back else begin
            high = begin if back else min(self.end, begin + READ_BYTES)
            self._file.seek(low)
            # A match may cross the end of the chunk.
            data = self._file.read(min(self.end, high + len(needle) - 1) - low)
            found = [match.start() for match in pattern.finditer(data)]
            if found:
                yield low + found[-1 if back else 0]
                return
            begin = low if back else high
            if begin in {0, self.end}:
                return
            yield None
