r"""Recordings: the one file format of journals and of what is sent to a colleague, JSON lines.

The first line is a header, every other a frame or an event, in the order in which they happened::

    {"record":"session","v":1,"id":"5be1f20c9a44","wall":1795230900.5,"mono":8123.25,"app":"0.1.0","target":"npx -y …"}
    {"record":"frame","seq":1,"mono":8123.31,"dir":"out","method":"tools/call","id":1,"raw":"{\"jsonrpc\":…"}
    {"record":"event","event":"sent","mono":8123.31,"id":1,"seq":1}

``mono`` is monotonic seconds; the wall time of a record is ``wall + (mono - mono of the header)``. ``raw`` is the text
of a frame as it came, without its secrets; then ``size`` says how many bytes it had. ``raw_b64`` stands in its stead
for bytes that are no UTF-8. ``stream``, ``method`` and ``id`` are left out where a frame has none.
"""

from __future__ import annotations

import binascii
import json
import os
import time
from array import array
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, cast

from pydantic_core import from_json

from mcp_tui import __version__, clock
from mcp_tui.journal.codec import UnknownEvent, decode_event, dump
from mcp_tui.journal.frames import FrameHead, Frames
from mcp_tui.journal.parts import open_parts
from mcp_tui.protocol.events import Event
from mcp_tui.protocol.messages import Json, is_request_id, number
from mcp_tui.protocol.requests import Book, IllegalTransition

VERSION: Final = 1
"""The version of the format that this module reads and writes."""


class RecordingError(Exception):
    """A file cannot be read or written as a recording. The text is one sentence for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Where and when a session was recorded. ``wall`` and ``mono`` are one moment on both clocks, in seconds.

    ``target`` is the server's command line or URL; the writer redacts it.
    """

    id: str = ""
    wall: float = 0.0
    mono: float = 0.0
    app: str = ""
    target: str = ""

    @classmethod
    def now(cls, target: str = "") -> Header:
        """The header of a session that begins now."""
        return cls(
            id=os.urandom(6).hex(), wall=clock.wall(), mono=time.monotonic(), app=__version__, target=target
        )

    @classmethod
    def of(cls, record: dict[str, Json], path: Path) -> Header | None:
        """The header that a record is; ``None`` where it is damaged.

        Raises:
            RecordingError: it is one of another version of the format.
        """
        version = record.get("v")
        if not isinstance(version, int):
            return None
        if version != VERSION:
            raise RecordingError(
                f"{path} is a recording of format {version}; mcp-tui {__version__} reads format {VERSION}."
            )
        values = {each.name: record.get(each.name) for each in fields(cls)}
        if any(type(values[each.name]) is not type(each.default) for each in fields(cls)):
            return None
        return cls(**cast("dict[str, Any]", values))

    def line(self) -> bytes:
        """The header as a record, with its line end."""
        return (
            dump(
                {
                    "record": "session",
                    "v": VERSION,
                    "id": self.id,
                    "wall": self.wall,
                    "mono": self.mono,
                    "app": self.app,
                    "target": self.target,
                }
            )
            + b"\n"
        )


def why(error: OSError) -> str:
    """What the operating system says of an error, to stand within a sentence."""
    said = error.strerror or str(error)
    return said[:1].lower() + said[1:]


def raw_of(line: bytes) -> bytes | None:
    """The bytes of the frame whose record is ``line``; ``None`` where it is none, or damaged."""
    record = read_record(line)
    return None if record is None else _raw(record)


@dataclass(slots=True, kw_only=True)
class Recording:
    """A recording that was read.

    ``skipped`` counts lines that are no records (torn, damaged), ``unknown`` records and events of a newer version,
    ``misfits`` events that :meth:`book` could not fold, because of what was skipped before them.
    """

    path: Path
    header: Header
    events: list[Event] = field(default_factory=list[Event])
    frames: Frames = field(default_factory=Frames)
    skipped: int = 0
    unknown: int = 0
    misfits: int = 0
    _offsets: array[int] = field(default_factory=lambda: array("Q"))

    @classmethod
    def read(cls, path: Path | str) -> Recording:
        """Read a file. What is damaged in it is counted and left out.

        Raises:
            RecordingError: the file cannot be opened, is no recording, or is one of another version of the format.
        """
        recording = cls(path=Path(path), header=Header())
        try:
            with open_parts(recording.path) as file:
                if b'"record":"' not in file.read(PEEK):
                    raise RecordingError(f"{path} is no recording of mcp-tui.")
                file.seek(0)
                offset = 0
                for line in file:
                    record = read_record(line)
                    if record is None or not recording._take(record, offset):
                        recording.skipped += 1
                    offset += len(line)
        except OSError as error:
            raise RecordingError(f"{path} cannot be read: {why(error)}.") from None
        return recording

    def book(self) -> Book:
        """The requests, folded from the events."""
        book = Book()
        self.misfits = 0
        for event in self.events:
            try:
                book.apply(event)
            except IllegalTransition:
                self.misfits += 1
        return book

    def payload(self, seq: int) -> bytes | None:
        """The bytes of frame ``seq``, or ``None`` when there is none or the file is gone."""
        index = self.frames.find(seq)
        if index is None:
            return None
        try:
            with open_parts(self.path) as file:
                file.seek(self._offsets[index])
                return raw_of(file.readline())
        except OSError:
            return None

    def wall(self, at: float) -> float:
        """The wall time, in seconds since the epoch, of a moment of the recording."""
        return self.header.wall + (at - self.header.mono)

    def _take(self, record: dict[str, Json], offset: int) -> bool:
        """Take a record in; false when it is none."""
        match record.get("record"):
            case "session":
                return self._begin(record)
            case "frame":
                head = read_head(record)
                if head is not None:
                    self.frames.append(head)
                    self._offsets.append(offset)
                return head is not None
            case "event":
                try:
                    self.events.append(decode_event(record))
                except UnknownEvent:
                    self.unknown += 1
                except ValueError:
                    return False
                return True
            case str():
                self.unknown += 1
                return True
            case _:
                return False

    def _begin(self, record: dict[str, Json]) -> bool:
        header = Header.of(record, self.path)
        self.header = header or self.header
        return header is not None


# -- records ---------------------------------------------------------------------------------------------------

PEEK: Final = 4096
"""Bytes at the beginning of a file in which one record at least must begin."""


def parse_json(raw: bytes) -> Json:
    """The value of a JSON text, which may have lone surrogates, escaped or in bytes; ``None`` where it is not JSON."""
    try:
        return from_json(raw)
    except ValueError:
        try:  # a lone surrogate, which the faster parser refuses
            return json.loads(raw.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return None


def read_record(line: bytes) -> dict[str, Json] | None:
    """The JSON object of a line; ``None`` where it is not one."""
    value = parse_json(line)
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


def read_head(record: dict[str, Json]) -> FrameHead | None:
    """The head of the frame that a record is about; ``None`` where it is damaged."""
    raw = _raw(record)
    seq, at, direction = record.get("seq"), number(record.get("mono")), record.get("dir")
    method, id_, stream = record.get("method", ""), record.get("id"), record.get("stream")
    if (
        raw is None
        or type(seq) is not int
        or not 0 < seq < 1 << 63
        or at is None
        or direction not in ("in", "out")
        or not isinstance(method, str)
        or not (stream is None or is_request_id(stream))
    ):
        return None
    size = record.get("size")
    return FrameHead(
        seq=seq,
        at=at,
        direction="in" if direction == "in" else "out",
        method=method,
        id=id_ if isinstance(id_, (int, float, str)) else None,
        size=size if type(size) is int and 0 <= size < 1 << 63 else len(raw),
        stream=stream,
    )


def _raw(record: dict[str, Json]) -> bytes | None:
    raw, encoded = record.get("raw"), record.get("raw_b64")
    try:
        if isinstance(raw, str):
            return raw.encode()
        return binascii.a2b_base64(encoded, strict_mode=True) if isinstance(encoded, str) else None
    except ValueError:
        return None
