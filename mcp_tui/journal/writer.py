"""The writer of journals and recordings: whole lines, appended, readable after a ``kill -9``.

What was handed to the operating system survives the end of the process, so nothing is synchronised to the disk:
only a machine that stops can lose what was written.
"""

from __future__ import annotations

import binascii
import codecs
import io
import os
import weakref
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_tui.journal import records
from mcp_tui.journal.files import open_parts, open_private, part_header, part_path
from mcp_tui.journal.frames import FrameHead
from mcp_tui.journal.masks import secrets_in
from mcp_tui.journal.records import Header, RecordingError, why
from mcp_tui.journal.redaction import PIECE, Redactor
from mcp_tui.protocol import messages
from mcp_tui.protocol.descriptions import describe
from mcp_tui.protocol.events import Event
from mcp_tui.protocol.messages import Json

Record = Event | tuple[FrameHead, bytes]
"""What a writer writes: an event, or a frame's head with its bytes."""

BATCH: Final = 256 * 1024
"""Bytes of lines that go into one write."""

RETRY: Final = 1.0
"""Seconds between two attempts to go on after a write has failed; twice as many after each time that it fails again."""

PATIENCE: Final = 60.0
"""Seconds between two attempts at most."""


@dataclass(slots=True)
class _Gap:
    """What could not be written: how much, why, and until when in the records' own time.

    ``torn`` says that a piece of a line is left in the file, ``wait`` how many seconds are between two attempts to go on.
    """

    why: str = ""
    torn: bool = False
    wait: float = RETRY
    frames: int = 0
    events: int = 0
    at: float = 0.0
    tried: float | None = None

    def due(self) -> bool:
        """Whether it is time to try again."""
        if self.tried is None or self.at < self.tried + self.wait:
            return False
        self.tried = self.at
        return True


class Writer:
    """One file of records, its header written at once.

    A journal is always a new file (``replace=False``); a recording that a person names replaces what was there. In
    both cases the last part of the path may not be a symbolic link, and only its owner can read the file (0600,
    whatever the umask). The folder must exist. With ``rotate``, a number of bytes, the file goes on in another one
    (:mod:`mcp_tui.journal.files`) as soon as it is that long.

    The disk never raises into a caller: when a write fails the file ends behind its last whole line, and
    :attr:`problem` says what happened. What comes then is counted and let go. After a second of the records'
    own time it is tried again; the first line of what follows is the gap, ``mono`` its end::

        {"record":"gap","mono":8130.5,"frames":12,"events":30,"why":"no space left on device"}

    Raises:
        RecordingError: the file cannot be made.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        redactor: Redactor | None = None,
        header: Header | None = None,
        replace: bool = False,
        rotate: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.problem = ""
        """Why nothing is written at present; empty while all is well."""
        self.news: deque[str] = deque()
        """What a person should be told, in sentences: that writing stopped, that it goes on. The store takes them away."""
        self._name = "recording" if replace else "journal"
        self.redactor = redactor or Redactor()
        self._rotate = rotate
        self._buffer = bytearray()
        self._end = 0  # of what was written and is buffered, in all parts together
        self._whole = 0  # of the last whole line that was written
        self._parts = [0]  # where each part begins
        self._seqs = array("I")  # of the frames that are in it
        self._offsets = array("Q")
        self._gap = _Gap()
        self._wait = RETRY
        self._header = self.redactor.redact((header or Header.now()).line())
        self._file: int | None = open_private(self.path, replace=replace)
        self._reader: io.BufferedReader | None = None  # of all parts that there were when it was opened
        self._add(self._header)
        self._push()

    # -- write -----------------------------------------------------------------------------------------------

    def write(self, wanted: Iterable[Record]) -> Iterator[None]:
        """Write records, in order, in as few writes as make sense. Yields after each 256 kB of work."""
        for record in wanted:
            if self._file is None:
                return
            if self._rotate is not None and self._end - self._parts[-1] >= self._rotate:
                self._turn_over(self._rotate)
            if self.problem:
                self._let_go(record)
            elif isinstance(record, Event):
                self._add(self._event_line(record))
            elif len(record[1]) <= PIECE:
                self._frame(record[0], self._frame_line(*record))
            else:
                for _ in self._long_frame(*record):
                    yield
            if len(self._buffer) >= BATCH:
                self._push()
                yield
        self._push()
        if self.problem and self._gap.due():
            self._go_on()

    def close(self) -> None:
        """Close the file; what it holds cannot be read back through this writer any more."""
        if self._file is not None:
            if self.problem and (self._gap.frames or self._gap.events):
                self._go_on()
            file, self._file = self._file, None
            self._forget_reader()
            with suppress(OSError):
                os.close(file)

    def _turn_over(self, rotate: int) -> None:
        """Go on in another part. Where none can be made, this one grows by as much again."""
        self._push()
        if self.problem or self._file is None:
            return
        number = len(self._parts) + 1
        try:
            file = open_private(part_path(self.path, number), replace=False)
        except RecordingError:
            self._rotate = self._end - self._parts[-1] + rotate
            return
        with suppress(OSError):
            os.close(self._file)
        self._file = file
        self._parts.append(self._end)
        self._forget_reader()
        self._add(part_header(self._header, number))
        self._push()

    # -- the disk is full ------------------------------------------------------------------------------------

    def _stop(self, error: OSError, lost: bytes) -> None:
        """End the file behind its last whole line; ``lost`` is what was to follow."""
        assert self._file is not None
        torn = False
        try:
            os.ftruncate(self._file, self._whole - self._parts[-1])
        except OSError:
            torn = True
        kept = bisect_left(self._offsets, self._whole)
        frames = len(self._offsets) - kept
        del self._offsets[kept:], self._seqs[kept:]
        reason = why(error)
        self.problem = f"{self._name} stopped at #{self._seqs[-1] if kept else 0}: {reason}"
        self.news.append(self.problem)
        events = lost.count(b'{"record":"event"')
        self._gap = _Gap(reason, torn, self._wait, frames, events)
        self._wait = min(PATIENCE, 2 * self._wait)
        self._buffer.clear()
        self._end = self._whole

    def _let_go(self, record: Record) -> None:
        gap = self._gap
        if isinstance(record, Event):
            gap.at = record.at
            gap.events += 1
        else:
            gap.at = record[0].at
            gap.frames += 1
        gap.tried = gap.at if gap.tried is None else gap.tried

    def _go_on(self) -> None:
        """Try whether there is space again: for the header, where even that is missing, and the gap."""
        assert self._file is not None
        lost, start = self._gap, self._parts[-1]
        line = b"\n" if lost.torn else b""
        if self._whole == start:
            line += part_header(self._header, len(self._parts))
        told = {"mono": lost.at, "frames": lost.frames, "events": lost.events, "why": lost.why}
        line += messages.encode({"record": "gap", **told}) + b"\n"
        try:
            at = os.lseek(self._file, 0, os.SEEK_END)
            written = os.write(self._file, line)
            if written < len(line):
                os.ftruncate(self._file, at)
                return
        except OSError:
            return
        self._end = self._whole = start + max(at, 0) + len(line)
        self.problem = ""
        counts = f"{lost.frames:,} messages and {lost.events:,} events"
        self.news.append(f"{self._name} goes on: {counts} could not be written")
        self._gap = _Gap()

    # -- lines -----------------------------------------------------------------------------------------------

    def _event_line(self, event: Event) -> bytes:
        record = records.encode_event(event)
        for key in (*records.texts_of(event), *describe(event).named_by_server):
            text = record[key]
            if isinstance(text, str):
                record[key] = self.redactor.text(text)
        return messages.encode(record) + b"\n"

    def _frame_line(self, head: FrameHead, raw: bytes) -> bytes:
        clean = self.redactor.redact(raw)
        if clean is not raw and head.direction == "out":
            self.redactor.learn(secrets_in(records.parse_json(raw)))  # whatever is said of them from now on
        record = self._record(head)
        try:
            record["raw"] = clean.decode()
        except UnicodeDecodeError:
            record["raw_b64"] = binascii.b2a_base64(clean, newline=False).decode()
        if len(clean) != len(raw):
            record["size"] = len(raw)
        return messages.encode(record) + b"\n"

    def _record(self, head: FrameHead) -> dict[str, Json]:
        """What a record says of a frame before its bytes. What the server calls things may be a secret that it was given."""
        record: dict[str, Json] = {"record": "frame", "seq": head.seq, "mono": head.at, "dir": head.direction}
        foreign = head.direction == "in"
        if head.method:
            record["method"] = self.redactor.text(head.method) if foreign else head.method
        if head.id is not None:
            record["id"] = self.redactor.text(head.id) if foreign and isinstance(head.id, str) else head.id
        if head.stream is not None:
            record["stream"] = head.stream
        return record

    def _long_frame(self, head: FrameHead, raw: bytes) -> Iterator[None]:
        """Write a long frame in pieces: nobody waits for all of it, and it is never in memory twice."""
        try:
            decode = codecs.getincrementaldecoder("utf-8")().decode
            for start in range(0, len(raw), PIECE):
                decode(raw[start : start + PIECE], start + PIECE >= len(raw))
                if start % (8 * PIECE) == 0:
                    yield
        except UnicodeDecodeError:
            self._frame(head, self._frame_line(head, raw))
            return
        self._frame(head, messages.encode(self._record(head))[:-1] + b',"raw":"')
        size = 0
        for piece in self.redactor.pieces(raw):
            if self.problem:
                return
            size += len(piece)
            self._add(messages.encode(decode(piece))[1:-1])
            self._push()
            yield
        self._add(b'"}\n' if size == len(raw) else b'","size":%d}\n' % len(raw))

    def _frame(self, head: FrameHead, line: bytes) -> None:
        self._seqs.append(head.seq)
        self._offsets.append(self._end)
        self._add(line)

    def _add(self, line: bytes) -> None:
        self._buffer += line
        self._end += len(line)

    def _push(self) -> None:
        """Hand the buffer to the operating system."""
        if self._file is None or self.problem or not self._buffer:
            return
        data, self._buffer = self._buffer, bytearray()
        start, written = self._end - len(data), 0
        problem: OSError | None = None
        with memoryview(data) as view:
            while written < len(data):
                try:
                    written += os.write(self._file, view[written:])
                except OSError as error:
                    problem = error
                    break
        last = data.rfind(b"\n", 0, written) + 1
        if last:
            self._whole = start + last
        if problem is not None:
            self._stop(problem, bytes(data[last:]))

    # -- read back -------------------------------------------------------------------------------------------

    def payload(self, seq: int) -> bytes | None:
        """The bytes of frame ``seq`` as they were written, without its secrets; ``None`` where they were not."""
        index = bisect_left(self._seqs, seq)
        is_kept = index < len(self._seqs) and self._seqs[index] == seq and self._offsets[index] < self._whole
        if self._file is None or not is_kept:
            return None
        try:
            if self._reader is None:
                self._reader = open_parts(self.path)
                weakref.finalize(self, self._reader.close)
            self._reader.seek(self._offsets[index])
            return records.raw_of(self._reader.readline())
        except OSError:
            return None

    def _forget_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
