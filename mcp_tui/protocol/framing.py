"""Splits the bytes of stdio into lines, and checks HTTP headers.

"Messages are delimited by newlines, and MUST NOT contain embedded newlines" (transports, stdio, every revision). This
module decodes and parses no line, but it makes the outline of a large one as it arrives.
"""

from __future__ import annotations

from io import BytesIO
from typing import Final

from mcp_tui.protocol.large_messages import MessageOutline
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.values import fact

RawLine = bytes
"""One line without its line end; never blank."""

LINE_HEAD_BYTES: Final = 64 * 1024
"""The number of bytes kept from the start of a line above the cap. They are searched for the id of the message."""

TAIL_BYTES: Final = 512
"""The number of bytes kept from the end of such a line, because many servers write the id last."""

BOM: Final = b"\xef\xbb\xbf"
_SPARE_BYTES: Final = len(BOM) + len(b"\r")
"""The number of bytes that a line may have in the stream in addition to the cap."""


@fact
class Oversized:
    """A line above the cap: its first bytes, its last bytes, and its size in bytes.

    ``head`` has at most :data:`LINE_HEAD_BYTES`, ``tail`` at most :data:`TAIL_BYTES`. They do not overlap: ``tail``
    is empty if ``head`` is the whole line.
    """

    head: bytes
    size: int
    tail: bytes = b""


class LineFramer:
    """Splits a stream of bytes into lines, wherever the pieces of the stream end.

    A carriage return before the line feed and a UTF-8 byte order mark at the start of the stream do not belong to a
    line. Blank lines are skipped. A line of more than ``cap`` bytes is dropped as it arrives and is reported once, at
    its end. So memory is limited to ``cap`` bytes and one piece.

    ``separator`` is one line feed, or two to split at blank lines. ``outlined`` makes the outlines of large lines.
    """

    def __init__(self, cap: int, separator: bytes = b"\n", *, outlined: bool = False) -> None:
        self.outline: bytes | None = None
        """The outline of the first line of the last result, if that line is large and arrived in pieces."""
        self._outlined = outlined
        self._outline = MessageOutline() if outlined else None
        self._cap = cap
        self._separator = separator
        self._half = b""
        """The first of two line feeds, which may end the pending line."""
        self._pending = BytesIO()  # its value needs no copy, which takes 40 ms for 64 MB
        self._tail = b""
        self._size = 0
        self._first = True

    def feed(self, data: bytes) -> list[RawLine | Oversized]:
        """Adds the next piece of the stream and returns the lines that it completes."""
        self.outline = None
        *ended, rest = (self._half + data).split(self._separator)
        self._half = b""
        if rest.endswith(b"\n"):
            rest, self._half = rest[:-1], b"\n"
        lines: list[RawLine | Oversized] = []
        for line in ended:
            # Nearly every line arrives whole and needs none of this, so it is not copied into the buffer.
            if self._size or self._first or len(line) > self._cap or line.endswith(b"\r"):
                self._buffer(line)
                self._end(lines)
            elif line and not line.isspace():
                lines.append(line)
        self._buffer(rest)
        return lines

    @property
    def overflows(self) -> bool:
        """Whether the unfinished line is already above the cap."""
        return self._size > self._cap + _SPARE_BYTES

    @property
    def unfinished(self) -> bytes:
        """The received part of the last line; empty if it is above the cap."""
        return b"" if self.overflows else self._pending.getvalue()

    def close(self) -> list[RawLine | Oversized]:
        """Ends the stream and returns the unfinished line, if there is one."""
        lines: list[RawLine | Oversized] = []
        self._end(lines)
        return lines

    def _buffer(self, piece: bytes) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._size <= self._cap + _SPARE_BYTES:
            self._pending.write(piece)
            if self._outline is not None:
                self._outline.feed(piece)
            return
        self._outline = None
        buffered = self._pending.getvalue()
        end = TAIL_BYTES + 1  # with one for a carriage return
        self._tail = ((self._tail or buffered[-end:]) + piece[-end:])[-end:]
        # The buffer is cut to the head once, when the line grows above the cap; after that only the tail
        # changes.
        if len(buffered) != LINE_HEAD_BYTES + len(BOM):
            self._pending = BytesIO()
            self._pending.write(
                (buffered[: LINE_HEAD_BYTES + len(BOM)] + piece)[: LINE_HEAD_BYTES + len(BOM)]
            )

    def _end(self, lines: list[RawLine | Oversized]) -> None:
        # A byte order mark counts only at the very start, so even a blank first line ends that chance.
        if not self._size:
            self._first = False
            return
        buffered = self._pending.getvalue()
        start = len(BOM) if self._first and buffered.startswith(BOM) else 0
        end = self._tail or buffered[-TAIL_BYTES - 1 :]
        tail = end.removesuffix(b"\r")
        size = self._size - start - (len(end) - len(tail))
        line = buffered[start : start + (size if size <= self._cap else min(size, LINE_HEAD_BYTES))]
        if size > self._cap:
            # The bytes of the tail that are not in the head.
            tail = tail[-min(TAIL_BYTES, size - LINE_HEAD_BYTES) :] if size > LINE_HEAD_BYTES else b""
            lines.append(Oversized(head=line, size=size, tail=tail))
        elif line and not line.isspace():
            lines.append(line)
            self.outline = None if self._outline is None else self._outline.close()
        self._pending = BytesIO()
        self._outline = MessageOutline() if self._outlined else None
        self._size, self._tail, self._first = 0, b"", False


HTTP_NAME: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
"""The pattern of a name in HTTP (RFC 9110, section 5.6.2)."""

_HEADER_NAME: Final = late(HTTP_NAME)
_HEADER_VALUE: Final = late(r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*")
_ASCII: Final = late(r"[\t\x20-\x7e]*")
_CREDENTIALS: Final = {"authorization", "proxy-authorization"}


def is_header_name(name: str) -> bool:
    """Whether HTTP permits a header with this name (RFC 9110, section 5.1)."""
    return bool(_HEADER_NAME.fullmatch(name))


def header_fault(name: str, value: str) -> str:
    """Returns the reason why HTTP cannot carry a header, with the first wrong character; empty if it can.

    Values are sent as UTF-8 (RFC 9110, section 5.5). Credentials must be ASCII (section 11.4): a foreign character in
    a token is a copy-and-paste mistake that no server would accept.
    """
    allowed = _ASCII if name.lower() in _CREDENTIALS else _HEADER_VALUE
    for text, pattern, part in (
        (name, _HEADER_NAME, "The name of HTTP header"),
        (value, allowed, "HTTP header"),
    ):
        valid = pattern.match(text)
        end = 0 if valid is None else valid.end()
        if end < len(text):
            return f"{part} {name[:60]!r} cannot contain {text[end]!r} (U+{ord(text[end]):04X})"
    return "" if name else "An HTTP header has no name"
