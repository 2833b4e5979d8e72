"""Large messages, read piece by piece while they come in: whether they are JSON, and an outline that tells what decides.

A piece ends at a comma outside of strings or, within a long string, where neither an escape nor a character is cut. With
what is open at its start before it, and closed behind it, it is JSON of its own, which the parser checks as a whole. That
proves the cuts, too: if the brackets or quotes that were counted here were wrong, it would not be. Only what stands next to
a comma is checked here, because ``[1,]`` is not JSON and ``[1]`` is.

What is not certain is read whole instead, by whoever wanted the outline.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_tui.protocol.patterns import late

LARGE_BYTES: Final = 1 << 20
"""Bytes of a message above which it is read in pieces."""

PIECE_BYTES: Final = 1 << 18
"""Bytes of a piece, about: it is read in a few milliseconds."""

_UNCUT_BYTES: Final = 1 << 23
"""Bytes without a place to cut at which the reading in pieces is given up."""

_KEPT_LEVELS: Final = 2
"""Levels of nesting of which the outline has everything: the message and its result."""

_PARSED_LEVELS: Final = 200
"""Levels of nesting that the parser reads."""

_STRINGS: Final = 64
"""Strings behind the last comma, at most, that are looked through for it."""

_WHITESPACE: Final = b" \t\r\n"
_NO_STRUCTURE: Final = bytes(each for each in range(256) if each not in b'"[]{}')
_CLOSERS: Final = bytes.maketrans(b"{[", b"}]")
_IN_STRING: Final = late(rb"(?<=[^\\]{6})(?![\x80-\xbf])|(?<=[^\\])(?=\\)(?!\\u[dD][c-fC-F])", re.DOTALL)
"""A place in a string that is in no escape, in no pair of them, and in no character."""
_ESCAPE_BYTES: Final = 8
_SEARCHED_BYTES: Final = 256
"""Bytes at the end of a piece in which such a place is looked for."""


class MessageOutline:
    """The outline of one message, whose bytes are fed to it as they come.

    It is the same message without most of what long arrays, objects, and strings hold that begin below the second level.
    """

    def __init__(self) -> None:
        self._size = 0
        self._rest = b""
        """The bytes after the last cut."""
        self._open = b""
        """The open brackets there, and the quote of an open string."""
        self._certain = True
        self._kept: list[bytes] = []
        self._kept_open = b""
        """The brackets that are open at the end of the kept bytes."""
        self._common = 0
        """How many of these are still open: the same array, object, or string."""
        self._lowest = 0
        """How many were open in the long value that is left out. A piece in which fewer are open ends it, and is kept."""

    def feed(self, data: bytes) -> None:
        """Takes the next bytes."""
        self._size += len(data)
        for at in range(0, len(data), PIECE_BYTES):
            if not self._certain:
                return
            self._rest += data[at : at + PIECE_BYTES]
            if self._size > LARGE_BYTES and len(self._rest) >= PIECE_BYTES:
                self._cut()

    def close(self) -> bytes | None:
        """Ends the message and returns its outline.

        It is empty if the message may be invalid, or has to be read whole; ``None`` if that is not large.
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
        """Takes the piece up to the last place where it can be cut."""
        text, is_open = self._rest, self._open.endswith(b'"')
        # as long as before, so that places are the same
        plain = text.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in text else text
        ends_open = is_open ^ plain.count(b'"') % 2
        end, behind = _last_comma(plain, ends_open), 1
        if ends_open and end < len(text) // 2:
            end, behind = _place_in_string(text, plain.rfind(b'"')), 0
        if end > 0:
            low, now_open = _structure(self._open, plain[:end])
            self._rest = text[end + behind :]
            if now_open:
                self._take(text[:end], low, now_open)
            else:
                self._give_up()
        elif len(text) > _UNCUT_BYTES:
            self._give_up()

    def _take(self, piece: bytes, low: int, now_open: bytes) -> None:
        """Checks a piece, and keeps it if it belongs into the outline; ``low`` is the least that was open in it."""
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
        # Late: the first frame, and the demo's server, split lines without it.
        from pydantic_core import from_json

        try:
            from_json(_opened(before) + piece + _closed(now_open), allow_inf_nan=False, cache_strings="keys")
        except ValueError:
            self._give_up()
            return
        self._keep(piece, low, now_open)
        self._open = now_open

    def _keep(self, piece: bytes, low: int, now_open: bytes) -> None:
        # The first pieces, and the one in which a value ends that is longer than they: the start of an answer is shown.
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
    """Returns JSON that opens these: all but the innermost object are within a member."""
    text = structure.replace(b"{", b'{"":')
    return text[:-3] if structure.endswith(b"{") else text


def _closed(structure: bytes) -> bytes:
    return structure[::-1].translate(_CLOSERS)


def _last_comma(plain: bytes, is_open: int) -> int:
    """Returns where the last comma outside of strings is, -1 if it is not found; ``is_open``: a string is, at the end."""
    end = len(plain)
    for _ in range(_STRINGS):
        quote = plain.rfind(b'"', 0, end)
        comma = -1 if is_open else plain.rfind(b",", quote + 1, end)
        if comma >= 0 or quote < 0:
            return comma
        end, is_open = quote, not is_open
    return -1


def _place_in_string(text: bytes, quote: int) -> int:
    """Returns the last place where the string can be cut that begins at a quote, or before the text; -1 if there is none."""
    last = len(text) - _ESCAPE_BYTES
    for at in range(last, max(quote + _ESCAPE_BYTES, last - _SEARCHED_BYTES), -1):
        if _IN_STRING.match(text, at):
            return at
    return -1


def _structure(before: bytes, plain: bytes) -> tuple[int, bytes]:
    """Returns the least that is open in a piece, and what is open behind it."""
    is_open = before.endswith(b'"')
    if is_open and b'"' not in plain:
        return len(before), before
    # Two quotes side by side change nothing in what is inside of a string and what is not.
    parts = plain.translate(None, _NO_STRUCTURE).replace(b'""', b"").split(b'"')
    brackets = b"".join(parts[is_open::2])
    for _ in range(_PARSED_LEVELS):
        left = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if len(left) == len(brackets):
            break
        brackets = left
    outer = before[: len(before) - is_open]
    opened = brackets.lstrip(b"]}")
    low = max(0, len(outer) - (len(brackets) - len(opened)))
    return low, outer[:low] + opened + b'"' * (is_open ^ (len(parts) - 1) % 2)
