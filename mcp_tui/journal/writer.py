"""The writer of journals and recordings. It appends complete lines, which are readable after a ``kill -9``.

Data written to the operating system survives the end of the process, so nothing is synchronised to the disk. Only a crash of
the machine can lose written records.
"""

from __future__ import annotations

import binascii
import codecs
import errno
import os
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from operator import attrgetter
from pathlib import Path
from time import monotonic
from typing import Final

from mcp_tui import clock
from mcp_tui.journal import records
from mcp_tui.journal.journal_files import open_numbered, open_private, part_header, part_path, renamed_journal
from mcp_tui.journal.masks import secrets_in
from mcp_tui.journal.records import FrameHead, Header, RecordingError, why
from mcp_tui.journal.redaction import REDACTED_BYTES, Redactor
from mcp_tui.journal.retention import DAY, TENDED_SECONDS, Retention, prune
from mcp_tui.protocol import messages
from mcp_tui.protocol.descriptions import describe
from mcp_tui.protocol.events import Event
from mcp_tui.protocol.messages import Json

Record = Event | tuple[FrameHead, bytes]
"""A record to write: an event, or the head of a frame with its bytes."""

WRITE_BYTES: Final = 256 * 1024
"""The bytes of lines that are written together."""

FIRST_RETRY_SECONDS: Final = 1.0
"""The seconds until the first attempt to continue after a failed write; doubled after each further failure."""

MAX_RETRY_SECONDS: Final = 60.0
"""The most seconds between two attempts."""


NEEDED_BYTES: Final = 1024 * 1024
"""The most bytes of records that are kept from the removed parts of a journal."""


LEAST_PARTS: Final = 2
"""The number of parts that are never removed for lack of room; the newest part may still be empty."""

PARTS_AT_ONCE: Final = 4
"""The most parts that are removed together, because the records to keep are written again each time."""


@dataclass(slots=True)
class _Part:
    """A part of a journal: its number, and its offset in the whole journal.

    The part was written from ``began`` to ``until``, on the clock of :func:`mcp_tui.clock.awake`.
    """

    number: int
    start: int
    began: float
    until: float


@dataclass(slots=True)
class _Gap:
    """Records that could not be written, and the reason. Times are those of the records.

    ``torn`` says whether a part of a line is left in the file. ``wait`` is the number of seconds between attempts to
    continue.
    """

    why: str
    torn: bool
    wait: float
    frames: int
    events: int
    at: float = 0.0
    retry_at: float = 0.0

    def add(self, record: Record) -> None:
        """Counts a record."""
        if isinstance(record, Event):
            self.at = record.at
            self.events += 1
        else:
            self.at = record[0].at
            self.frames += 1
        self.retry_at = self.retry_at or self.at + self.wait


class Writer:
    """One file of records. The constructor writes the header.

    The file is always new. If the user names a ``recording`` that has content or is being written, the next free name is
    used (:func:`~mcp_tui.journal.journal_files.open_numbered`). The path must not be a symbolic link, and only its owner
    can read the file (0600, regardless of the umask). The folder must exist. With ``rotate``, a number of bytes, or
    ``retention``, the file continues in another part (:mod:`mcp_tui.journal.journal_files`) when it is long or old
    enough. With ``retention``, its oldest parts and other journals in the folder are removed if they exceed the limits.
    This is done in pieces, one after each batch of records, while the writer is :attr:`busy`.

    Disk errors are not raised. If a write fails, or the file was deleted, the file ends after its last complete line, and
    :attr:`news` has a sentence about it. Records are then counted and dropped. After a second, by the times of the
    records, the writer tries to continue. The first line after that is the gap; its ``mono`` is the end of the gap::

        {"record":"gap","mono":8130.5,"frames":12,"events":30,"why":"no space left on device"}

    Raises:
        RecordingError: the file cannot be created.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        redactor: Redactor | None = None,
        header: Header | None = None,
        recording: bool = False,
        rotate: int | None = None,
        retention: Retention | None = None,
    ) -> None:
        self._file: int | None
        if recording:
            self._file, self.path = open_numbered(Path(path))
        else:
            self.path = Path(path)
            self._file = open_private(self.path, replace=False)
        self.news: deque[str] = deque()
        """Sentences for the user that writing stopped or continued. The store removes them."""
        self._name = "recording" if recording else "journal"
        self.redactor = redactor or Redactor()
        self.notes: deque[str] = deque()
        """Sentences about deleted journals, for the log."""
        self._retention = retention
        self._rotate = rotate if retention is None else retention.part_bytes
        self._began = clock.wall(), clock.awake()
        self._tended = self._began[1]
        self._tending: Iterator[None] | None = None
        self._buffer = bytearray()
        self._end = 0  # bytes written and buffered, in all parts together
        self._whole = 0  # the end of the last complete line that was written
        self._parts = [_Part(1, 0, self._began[1], self._began[1])]
        self._seqs = array("I")  # numbers of the frames in the file
        self._offsets = array("Q")
        self._gap: _Gap | None = None
        self._wait = FIRST_RETRY_SECONDS
        self._header = self.redactor.redact((header or Header.now()).line())
        self._add(self._header)
        self._push()

    @property
    def is_writing(self) -> bool:
        """Whether the last write succeeded."""
        return self._file is not None and self._gap is None

    def rename_for(self, server: str) -> None:
        """Renames a journal after its server, while it has one part. A recording keeps the name that the user gave."""
        path = renamed_journal(self.path, server)
        if self._name == "journal" and path is not None and len(self._parts) == 1:
            with suppress(OSError):
                self.path = self.path.rename(path)

    # -- write -----------------------------------------------------------------------------------------------

    def write(self, wanted: Iterable[Record]) -> Iterator[None]:
        """Writes records, in order, in large writes. Yields after each 256 kB."""
        end = self._end
        for record in wanted:
            if self._file is None:
                return
            # A part ends between two records, because each part must be readable alone.
            if self._rotate is not None and self._end - self._parts[-1].start >= self._rotate:
                self._begin_part(self._rotate)
            if self._gap is not None:
                # While writes fail, records are only counted, because storing them would fill the memory.
                self._gap.add(record)
            elif isinstance(record, Event):
                self._add(self._event_line(record))
            elif len(record[1]) <= REDACTED_BYTES:
                self._add_frame(record[0], self._frame_line(*record))
            else:
                for _ in self._write_long_frame(*record):
                    yield
            if len(self._buffer) >= WRITE_BYTES:
                self._push()
                yield
        self._push()
        if self._gap is not None and self._gap.retry_at and self._gap.at >= self._gap.retry_at:
            self._gap.retry_at = self._gap.at + self._gap.wait
            self._continue(self._gap)
        if self._retention is not None and self._file is not None:
            self._tend(self._retention, wrote=self._end > end)

    @property
    def busy(self) -> bool:
        """Whether parts or journals are still being removed."""
        return self._tending is not None

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            if self._gap is not None and (self._gap.frames or self._gap.events):
                self._continue(self._gap)
            file, self._file, self._tending = self._file, None, None
            with suppress(OSError):
                os.close(file)

    def abandon(self) -> None:
        """Closes the file without writing, because another process has it, too."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _begin_part(self, rotate: int) -> None:
        """Continues in another part. If the part cannot be created, the present one may grow by the same size again."""
        # The buffer belongs to the present part. If it cannot be written, the gap must be closed in that part first.
        self._push()
        if self._gap is not None or self._file is None:
            return
        number = self._parts[-1].number + 1
        try:
            file = open_private(part_path(self.path, number), replace=False)
        except RecordingError:
            # A part that is too long loses no data, and another attempt for each record would cost a system call.
            self._rotate = self._end - self._parts[-1].start + rotate
            return
        with suppress(OSError):
            os.close(self._file)
        self._file = file
        self._parts.append(_Part(number, self._end, now := clock.awake(), now))
        self._add(part_header(self._header, number))
        self._push()
        self._tended = -inf

    # -- retention -------------------------------------------------------------------------------------------

    def _tend(self, retention: Retention, *, wrote: bool) -> None:
        """Checks from time to time for parts and journals to remove, and does a piece of that work."""
        now = clock.awake()
        if wrote:
            self._parts[-1].until = now
        if self._tending is None and now - self._tended >= TENDED_SECONDS:
            part = self._parts[-1]
            is_empty = self._end - part.start <= len(part_header(self._header, part.number))
            if now - part.began >= retention.part_seconds and not is_empty:
                self._begin_part(retention.part_bytes)
            self._tended = now
            self._tending = self._remove(retention)
        if self._tending is not None:
            try:
                next(self._tending)
            except (StopIteration, OSError, RecordingError):
                # An error is not final: the next check in an hour may succeed.
                self._tending = None

    def _remove(self, retention: Retention) -> Iterator[None]:
        """Removes old parts and journals. Yields after each piece of work."""
        from mcp_tui.journal.shortening import shorten  # most sessions are short

        while True:
            parts, now = self._parts, clock.awake()
            count = sum(retention.is_too_old(now - part.until) for part in parts[:-1])
            why = f"they are older than {retention.days or 0:g} days"
            size = self._end - parts[0].start
            if not count and len(parts) > LEAST_PARTS and retention.is_too_long(size, self.path.parent):
                count = min(len(parts) - LEAST_PARTS, PARTS_AT_ONCE)
                why = "the journal reached its size"
            if not count:
                break
            since = 0.0 if retention.days is None else monotonic() - retention.days * DAY
            space = min(NEEDED_BYTES, retention.part_bytes)
            numbers = range(parts[0].number, parts[count].number)
            yield from shorten(self.path, numbers, self._header, why, space=space, since=since)
            del parts[:count]
            kept = bisect_left(self._offsets, parts[0].start)
            del self._offsets[:kept], self._seqs[:kept]
        wall, awake = self._began
        passed = clock.awake() - awake
        # If the clock was wrong at the start of the session, it may have been corrected within a day.
        known = wall + passed if passed > DAY else 0.0
        self.notes += prune(self.path.parent, retention, known=known).deleted

    # -- full disk -------------------------------------------------------------------------------------------

    def _deleted(self, file: int) -> OSError | None:
        """Returns an error if the file was deleted, so that writes to it would be lost; ``None`` if it exists."""
        if os.fstat(file).st_nlink or part_path(self.path, self._parts[-1].number).exists():
            return None
        return OSError(errno.ENOENT, "the file was deleted")

    def _stop(self, file: int, error: OSError, lost: bytes) -> None:
        """Ends the file after its last complete line; ``lost`` has the data that could not be written."""
        torn = False
        try:
            # A part of a record would be read as damage, and the next line would be appended to it.
            os.ftruncate(file, self._whole - self._parts[-1].start)
        except OSError:
            torn = True
        kept = bisect_left(self._offsets, self._whole)
        frames = len(self._offsets) - kept
        # The offsets of frames that were only in the buffer would be after the end of the file.
        del self._offsets[kept:], self._seqs[kept:]
        reason = why(error)
        self.news.append(f"{self._name} stopped at #{self._seqs[-1] if kept else 0}: {reason}")
        self._gap = _Gap(reason, torn, self._wait, frames, lost.count(b'{"record":"event"'))
        self._wait = min(MAX_RETRY_SECONDS, 2 * self._wait)
        self._buffer.clear()
        self._end = self._whole

    def _continue(self, gap: _Gap) -> None:
        """Tries to write the record of the gap, after the header if that is missing, too."""
        assert self._file is not None
        number, start = self._parts[-1].number, self._parts[-1].start
        # If the file could not be truncated, a line end closes the incomplete record, which is then one damaged line. A file
        # without a header gets it first, because it could not be read otherwise.
        line = b"\n" if gap.torn else b""
        if self._whole == start:
            line += part_header(self._header, number)
        record = {"mono": gap.at, "frames": gap.frames, "events": gap.events, "why": gap.why}
        line += messages.encode({"record": "gap", **record}) + b"\n"
        if self._deleted(self._file) is not None:
            return
        try:
            at = os.lseek(self._file, 0, os.SEEK_END)
            # One write, so that the record is written completely or not at all, even if the disk is full again.
            if os.write(self._file, line) < len(line):
                os.ftruncate(self._file, at)
                return
        except OSError:
            return
        self._end = self._whole = start + max(at, 0) + len(line)
        self._gap = None
        counts = f"{gap.frames:,} messages and {gap.events:,} events"
        self.news.append(f"{self._name} continues: {counts} could not be written")

    # -- lines -----------------------------------------------------------------------------------------------

    def _event_line(self, event: Event) -> bytes:
        record = records.encode_event(event)
        # Only texts and names from the server can contain secrets. Searching all values would take most of the time when
        # many events arrive.
        for key in (*records.texts_of(event), *describe(event).named_by_server):
            text = record[key]
            if isinstance(text, str):
                record[key] = self.redactor.text(text)
        return messages.encode(record) + b"\n"

    def _frame_line(self, head: FrameHead, raw: bytes) -> bytes:
        clean = self.redactor.redact(raw)
        # Secrets are only learned from messages to the server, because the server may repeat a token from the arguments
        # under any name. If they were learned from its messages, a server could choose what is redacted later.
        if clean is not raw and head.direction == "out":
            self.redactor.learn(secrets_in(records.parse_json(raw)))
        record = self._record(head)
        try:
            record["raw"] = clean.decode()
        except UnicodeDecodeError:
            record["raw_b64"] = binascii.b2a_base64(clean, newline=False).decode()
        if len(clean) != len(raw):
            record["size"] = len(raw)
        return messages.encode(record) + b"\n"

    def _record(self, head: FrameHead) -> dict[str, Json]:
        """Returns the record of a frame without its bytes. Method and id are redacted if they come from the server."""
        record: dict[str, Json] = {"record": "frame", "seq": head.seq, "mono": head.at, "dir": head.direction}
        foreign = head.direction == "in"
        if head.method:
            record["method"] = self.redactor.text(head.method) if foreign else head.method
        if head.id is not None:
            record["id"] = self.redactor.text(head.id) if foreign and isinstance(head.id, str) else head.id
        if head.stream is not None:
            record["stream"] = head.stream
        if head.own:
            record["own"] = True
        return record

    def _write_long_frame(self, head: FrameHead, raw: bytes) -> Iterator[None]:
        """Writes a long frame in pieces, so that other work can run, and no copy of the frame is in memory. Yields."""
        try:
            # The bytes are decoded twice: the first pass checks whether all of them are UTF-8, because this decides the
            # name of the member (``raw`` or ``raw_b64``), which is written before the bytes.
            decode = codecs.getincrementaldecoder("utf-8")().decode
            for start in range(0, len(raw), REDACTED_BYTES):
                decode(raw[start : start + REDACTED_BYTES], start + REDACTED_BYTES >= len(raw))
                if start % (8 * REDACTED_BYTES) == 0:
                    yield
        except UnicodeDecodeError:
            self._add_frame(head, self._frame_line(head, raw))
            return
        self._add_frame(head, messages.encode(self._record(head))[:-1] + b',"raw":"')
        size = 0
        for piece in self.redactor.pieces(raw):
            # A piece could not be written, and the record was truncated, so the rest would be damage.
            if self._gap is not None:
                return
            size += len(piece)
            self._add(messages.encode(decode(piece))[1:-1])
            self._push()
            yield
        self._add(b'"}\n' if size == len(raw) else b'","size":%d}\n' % len(raw))

    def _add_frame(self, head: FrameHead, line: bytes) -> None:
        self._seqs.append(head.seq)
        self._offsets.append(self._end)
        self._add(line)

    def _add(self, line: bytes) -> None:
        self._buffer += line
        self._end += len(line)

    def _push(self) -> None:
        """Writes the buffer to the file."""
        if self._file is None or self._gap is not None or not self._buffer:
            return
        # Uses a new buffer, and a view of the old one: deleting from the front of the buffer would copy the rest each time.
        data, self._buffer = self._buffer, bytearray()
        start, written = self._end - len(data), 0
        # Writes to a deleted file succeed, but the data is lost.
        problem = self._deleted(self._file)
        with memoryview(data) as view:
            while written < len(data) and problem is None:
                try:
                    written += os.write(self._file, view[written:])
                except OSError as error:
                    problem = error
        last = data.rfind(b"\n", 0, written) + 1
        if last:
            self._whole = start + last
        if problem is not None:
            self._stop(self._file, problem, bytes(data[last:]))

    # -- read back -------------------------------------------------------------------------------------------

    def payload(self, seq: int) -> bytes | None:
        """Returns the redacted bytes of a frame from the file; ``None`` if the frame was not written."""
        index = bisect_left(self._seqs, seq)
        is_written = index < len(self._seqs) and self._seqs[index] == seq
        if not is_written or self._offsets[index] >= self._whole:
            return None
        offset = self._offsets[index]
        part = self._parts[bisect_right(self._parts, offset, key=attrgetter("start")) - 1]
        with suppress(OSError), part_path(self.path, part.number).open("rb") as file:
            file.seek(offset - part.start)
            return records.raw_of(records.read_record(file.readline()) or {})
        return None
