"""Reads a large message piece by piece as it arrives: checks that it is JSON, and makes an outline of it.

The outline has the members that decide what the message is, without most of its long values.

A piece ends at a comma outside of strings or, in a long string, where the cut splits neither an escape nor a
character. The parser checks each piece as JSON of its own: the brackets that are open at its start are put before it,
and the closing ones after it. A wrong count of brackets or quotes would make that text invalid, so the check also
proves the cuts. Only the neighbours of a comma are checked here, because ``[1,]`` is not JSON although ``[1]`` is.

If a check fails, the outline is empty, and the caller parses the whole message.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_tui.protocol.patterns import late

LARGE_BYTES: Final = 1 << 20
"""The number of bytes above which a message is read in pieces."""

PIECE_BYTES: Final = 1 << 18
"""The approximate number of bytes in a piece, which the parser reads in a few milliseconds."""

_UNCUT_BYTES: Final = 1 << 23
"""The number of bytes without a place to cut after which reading in pieces stops."""

_KEPT_LEVELS: Final = 2
"""The levels of nesting that the outline keeps whole: the message and its result."""

_PARSED_LEVELS: Final = 200
"""The maximum levels of nesting that the parser reads."""

_STRINGS: Final = 64
"""The maximum number of strings that are skipped, from the end, to find the last comma."""

_WHITESPACE: Final = b" \t\r\n"
_NO_STRUCTURE: Final = bytes(each for each in range(256) if each not in b'"[]{}')
_CLOSERS: Final = bytes.maketrans(b"{[", b"}]")
_IN_STRING: Final = late(rb"(?<=[^\\]{6})(?![\x80-\xbf])|(?<=[^\\])(?=\\)(?!\\u[dD][c-fC-F])", re.DOTALL)
"""A place in a string that is not inside an escape, a surrogate pair of escapes, or a UTF-8 character."""
_ESCAPE_BYTES: Final = 8
_SEARCHED_BYTES: Final = 256
"""The number of bytes at the end of a piece that are searched for such a place."""


class MessageOutline:
    """The outline of one message, made from its bytes as they arrive.

    It is the same message, but most of a long array, object, or string below the second level is missing.
    """

    def __init__(self) -> None:
        self._size = 0
        self._rest = b""
        """The bytes after the last cut."""
        self._open = b""
        """The brackets that are open at the last cut, and a quote if a string is open."""
        self._certain = True
        self._kept: list[bytes] = []
        self._kept_open = b""
        """The brackets that are open at the end of the kept bytes."""
        self._common = 0
        """The number of these brackets that are still open for the same array, object, or string."""
        self._lowest = 0
        """The number of brackets open in the long value that is left out. A piece with fewer ends that value, and is
        kept.
        """

    def feed(self, data: bytes) -> None:
        """Adds the next bytes."""
        self._size += len(data)
        for at in range(0, len(data), PIECE_BYTES):
            if not self._certain:
                return
            self._rest += data[at : at + PIECE_BYTES]
            if self._size > LARGE_BYTES and len(self._rest) >= PIECE_BYTES:
                self._cut()

    def close(self) -> bytes | None:
        """Ends the message and returns its outline.

        The outline is empty if the message may be invalid or must be parsed whole. It is ``None`` for a message that
        is not large.
        """
        if self._size <= LARGE_BYTES:
            return None
        if self._certain:
            rest, self._rest = self._rest, b""
            self._take(rest, 0, b"")
        return b"".join(self._kept) if self._certain else b""

    def _give_up(self) -> None:
        self._certain = False
        self._rest, self._kept = b"", []

    def _cut(self) -> None:
        """Handles the bytes up to the last place where they can be cut."""
        text, is_open = self._rest, self._open.endswith(b'"')
        # Each escape becomes two other bytes, so that positions in both texts are equal.
        plain = text.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in text else text
        ends_open = is_open ^ plain.count(b'"') % 2
        end, behind = _last_comma(plain, ends_open), 1
        # A comma in the first half would leave most of the bytes, so the long string is cut instead.
        if ends_open and end < len(text) // 2:
            end, behind = _place_in_string(text, plain.rfind(b'"')), 0
        if end > 0:
            low, now_open = _structure(self._open, plain[:end])
            self._rest = text[end + behind :]
            # Nothing is open although bytes follow: the message ended early, so it is not one JSON value.
            if now_open:
                self._take(text[:end], low, now_open)
            else:
                self._give_up()
        elif len(text) > _UNCUT_BYTES:
            self._give_up()

    def _take(self, piece: bytes, low: int, now_open: bytes) -> None:
        """Checks a piece, and keeps it if it belongs to the outline; ``low`` is the lowest number of brackets open in it."""
        before, inner = self._open, piece.strip(_WHITESPACE)
        after_comma, before_comma = before[-1:] not in (b"", b'"'), now_open[-1:] not in (b"", b'"')
        if (
            (not before and not inner.startswith(b"{"))
            or (after_comma and inner[:1] in (b"", b"]", b"}"))
            or (before_comma and inner[-1:] in (b"[", b"{"))
            or (not now_open and low)
        ):
            self._give_up()
            return
        # Imported late: the first screen and the demo server split lines without the parser.
        from pydantic_core import from_json

        try:
            from_json(_opened(before) + piece + _closed(now_open), allow_inf_nan=False, cache_strings="keys")
        except ValueError:
            self._give_up()
            return
        self._keep(piece, low, now_open)
        self._open = now_open

    def _keep(self, piece: bytes, low: int, now_open: bytes) -> None:
        # Keep the first pieces, because the start of an answer is shown, and each piece that ends a long value.
        if len(self._kept) > 1 and low > _KEPT_LEVELS and low >= self._lowest:
            self._common = min(self._common, low)
            return
        if self._kept:
            same, before = self._open[: self._common], self._open
            self._kept.append(_closed(self._kept_open[self._common :]))
            self._kept.append(b"" if same.endswith(b'"') else b",")
            self._kept.append(_opened(before)[len(_opened(same)) :])
        self._kept.append(piece)
        self._lowest = min(self._lowest, low) if self._lowest and low > _KEPT_LEVELS else len(now_open)
        self._kept_open, self._common = now_open, len(now_open)


def _opened(structure: bytes) -> bytes:
    """Returns JSON that opens these brackets: each object but the innermost one stands in a member of an outer object."""
    text = structure.replace(b"{", b'{"":')
    return text[:-3] if structure.endswith(b"{") else text


def _closed(structure: bytes) -> bytes:
    return structure[::-1].translate(_CLOSERS)


def _last_comma(plain: bytes, is_open: int) -> int:
    """Returns the position of the last comma outside of strings, or -1; ``is_open``: the text ends in a string."""
    end = len(plain)
    for _ in range(_STRINGS):
        quote = plain.rfind(b'"', 0, end)
        comma = -1 if is_open else plain.rfind(b",", quote + 1, end)
        if comma >= 0 or quote < 0:
            return comma
        end, is_open = quote, not is_open
    return -1


def _place_in_string(text: bytes, quote: int) -> int:
    """Returns the last place to cut the string that begins at ``quote`` or before the text, or -1 if there is none."""
    last = len(text) - _ESCAPE_BYTES
    for at in range(last, max(quote + _ESCAPE_BYTES, last - _SEARCHED_BYTES), -1):
        if _IN_STRING.match(text, at):
            return at
    return -1


def _structure(before: bytes, plain: bytes) -> tuple[int, bytes]:
    """Returns the lowest number of brackets that are open in a piece, and the brackets that are open after it."""
    is_open = before.endswith(b'"')
    if is_open and b'"' not in plain:
        return len(before), before
    # An empty string has no brackets in it, so two adjacent quotes can be removed.
    parts = plain.translate(None, _NO_STRUCTURE).replace(b'""', b"").split(b'"')
    brackets = b"".join(parts[is_open::2])
    for _ in range(_PARSED_LEVELS):
        # Each round removes the innermost pairs; what stays was closed or opened by this piece alone.
        left = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if len(left) == len(brackets):
            break
        brackets = left
    outer = before[: len(before) - is_open]
    opened = brackets.lstrip(b"]}")
    low = max(0, len(outer) - (len(brackets) - len(opened)))
    return low, outer[:low] + opened + b'"' * (is_open ^ (len(parts) - 1) % 2)
