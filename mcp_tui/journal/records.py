r"""The records of a recording: the one file format of journals and of what is sent to a colleague, JSON lines.

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
from dataclasses import asdict, fields
from pathlib import Path
from typing import Final, cast

from pydantic_core import from_json

from mcp_tui import __version__, clock
from mcp_tui.journal.codec import dump
from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol.messages import Json, is_request_id, number
from mcp_tui.protocol.values import fact

VERSION: Final = 1
"""The version of the format that this module reads and writes."""


class RecordingError(Exception):
    """A file cannot be read or written as a recording. The text is one sentence for a person."""


class OtherFormat(RecordingError):
    """A file is a recording of another version of the format."""

    def __init__(self, path: Path, version: int) -> None:
        super().__init__(
            f"{path} is a recording of format {version}; mcp-tui {__version__} reads format {VERSION}."
        )
        self.version = version


@fact
class Header:
    """Where and when a session was recorded. ``wall`` and ``mono`` are one moment on both clocks, in seconds.

    ``target`` is the server's command line or URL; the writer redacts it.
    """

    id: str = ""
    wall: float = 0.0
    mono: float = 0.0
    app: str = ""
    target: str = ""
    purpose: str = ""
    """``workbench`` for a session of the workbench, ``probe`` where the probe made it, whose cancels are experiments."""

    @classmethod
    def now(cls, target: str = "", purpose: str = "") -> Header:
        """The header of a session that begins now."""
        return cls(
            id=os.urandom(6).hex(),
            wall=clock.wall(),
            mono=time.monotonic(),
            app=__version__,
            target=target,
            purpose=purpose,
        )

    @classmethod
    def of(cls, record: dict[str, Json], path: Path) -> Header | None:
        """The header that a record is; ``None`` where it is damaged.

        Raises:
            OtherFormat: it is one of another version of the format.
        """
        version = record.get("v")
        if not isinstance(version, int):
            return None
        if version != VERSION:
            raise OtherFormat(path, version)
        values = {each.name: record.get(each.name, each.default) for each in fields(cls)}
        if any(type(values[each.name]) is not type(each.default) for each in fields(cls)):
            return None
        return cls(**values)

    def line(self) -> bytes:
        """The header as a record, with its line end."""
        return dump({"record": "session", "v": VERSION, **asdict(self)}) + b"\n"


def why(error: OSError) -> str:
    """What the operating system says of an error, to stand within a sentence."""
    said = error.strerror or str(error)
    return said[:1].lower() + said[1:]


def raw_of(line: bytes) -> bytes | None:
    """The bytes of the frame whose record is ``line``; ``None`` where it is none, or damaged."""
    record = read_record(line)
    return None if record is None else _raw(record)


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
