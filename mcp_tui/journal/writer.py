"""The writer of journals and recordings: whole lines, appended, readable after a ``kill -9``.

What was handed to the operating system survives the end of the process, so nothing is synchronised to the disk:
only a machine that stops can lose what was written.
"""

from __future__ import annotations

import binascii
import codecs
import errno
import os
import stat
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from mcp_tui.journal.codec import dump, dump_text, encode_event, texts_of
from mcp_tui.journal.frames import FrameHead
from mcp_tui.journal.recording import Header, RecordingError, raw_of, why
from mcp_tui.journal.redaction import PIECE, Redactor
from mcp_tui.protocol.events import Event
from mcp_tui.protocol.messages import Json

Record = Event | tuple[FrameHead, bytes]
"""What a writer writes: an event, or a frame's head with its bytes."""

BATCH: Final = 256 * 1024
"""Bytes of lines that go into one write."""


class Writer:
    """One file of records, its header written at once.

    A journal is always a new file (``replace=False``); a recording that a person names replaces what was there. In
    both cases the last part of the path may not be a symbolic link, and only its owner can read the file (0600,
    whatever the umask). The folder must exist.

    The disk never raises into a caller: when a write fails the file ends behind its last whole line, and
    :attr:`problem` says what happened. Everything after that is let go.

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
    ) -> None:
        self.path = Path(path)
        self.problem = ""
        self._name = "recording" if replace else "journal"
        self._redactor = redactor or Redactor()
        self._buffer = bytearray()
        self._end = 0  # of what was written and is buffered
        self._whole = 0  # of the last whole line that was written
        self._first = 0  # the number of the first frame
        self._offsets = array("Q")
        self._file: int | None = _open(self.path, replace=replace)
        self._add(self._redactor.redact((header or Header.now()).line()))
        self._push()

    # -- write -----------------------------------------------------------------------------------------------

    def write(self, records: Iterable[Record]) -> Iterator[None]:
        """Write records, in order, in as few writes as make sense. Yields after each 256 kB of work."""
        for record in records:
            if self._file is None or self.problem:
                break
            if isinstance(record, Event):
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

    def close(self) -> None:
        """Close the file; what it holds cannot be read back through this writer any more."""
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError):
                os.close(file)

    def _event_line(self, event: Event) -> bytes:
        record = encode_event(event)
        for key in texts_of(event):
            text = record[key]
            if text:
                record[key] = self._redactor.text(text)
        return dump(record) + b"\n"

    def _frame_line(self, head: FrameHead, raw: bytes) -> bytes:
        clean = self._redactor.redact(raw)
        record = _record(head)
        try:
            record["raw"] = clean.decode()
        except UnicodeDecodeError:
            record["raw_b64"] = binascii.b2a_base64(clean, newline=False).decode()
        if len(clean) != len(raw):
            record["size"] = len(raw)
        return dump(record) + b"\n"

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
        self._frame(head, dump(_record(head))[:-1] + b',"raw":"')
        size = 0
        for piece in self._redactor.pieces(raw):
            if self.problem:
                return
            size += len(piece)
            self._add(dump_text(decode(piece)))
            self._push()
            yield
        self._add(b'"}\n' if size == len(raw) else b'","size":%d}\n' % len(raw))

    def _frame(self, head: FrameHead, line: bytes) -> None:
        self._first = self._first or head.seq
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
            self._stop(problem)

    def _stop(self, error: OSError) -> None:
        assert self._file is not None
        with suppress(OSError):
            os.ftruncate(self._file, self._whole)
        kept = sum(1 for offset in self._offsets if offset < self._whole)
        number = self._first + kept - 1 if kept else 0
        self.problem = f"{self._name} stopped at #{number}: {why(error)}"
        self._buffer.clear()

    # -- read back -------------------------------------------------------------------------------------------

    def payload(self, seq: int) -> bytes | None:
        """The bytes of frame ``seq`` as they were written, without its secrets; ``None`` where they were not."""
        index = seq - self._first
        if self._file is None or not 0 <= index < len(self._offsets):
            return None
        offset = self._offsets[index]
        parts: list[bytes] = []
        try:
            os.lseek(self._file, offset, os.SEEK_SET)
            while offset < self._whole:
                part = os.read(self._file, min(1 << 16 if not parts else PIECE, self._whole - offset))
                end = part.find(b"\n")
                parts.append(part if end < 0 else part[:end])
                if end >= 0 or not part:
                    return raw_of(b"".join(parts))
                offset += len(part)
        except OSError:
            pass
        return None


def _record(head: FrameHead) -> dict[str, Json]:
    """What a record says of a frame before its bytes."""
    record: dict[str, Json] = {"record": "frame", "seq": head.seq, "mono": head.at, "dir": head.direction}
    if head.method:
        record["method"] = head.method
    if head.id is not None:
        record["id"] = head.id
    if head.stream is not None:
        record["stream"] = head.stream
    return record


def _open(path: Path, *, replace: bool) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | (0 if replace else os.O_EXCL)
    for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"):  # as far as the system has them
        flags |= getattr(os, name, 0)
    try:
        file = os.open(path, flags, 0o600)
    except OSError as error:
        why_not = "it is a symbolic link" if error.errno == errno.ELOOP else why(error)
        raise RecordingError(f"{path} cannot be written: {why_not}.") from None
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
        os.close(file)
        raise RecordingError(f"{path} cannot be written: it is no regular file.")
    if stat.S_ISREG(mode):
        if hasattr(os, "fchmod"):
            with suppress(OSError):  # some file systems have no modes
                os.fchmod(file, 0o600)
        if replace:
            os.ftruncate(file, 0)
    return file
