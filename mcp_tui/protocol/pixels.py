"""The size of an image in pixels, read from the head of its base64 without decoding the image."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Final

IMAGE_HEAD_CHARACTERS: Final = 256 * 1024
"""The maximum number of base64 characters that are read: a JPEG may have long metadata before its size."""

_SIZES: Final = {
    b"\x89PNG\r\n\x1a\n": (">II", 16),
    b"GIF87a": ("<HH", 6),
    b"GIF89a": ("<HH", 6),
    b"BM": ("<ii", 18),
}
"""The layout and the offset of width and height, by the first bytes of the file."""


def pixels(data: str) -> str:
    """Returns ``300 × 200`` for the base64 of a PNG, GIF, JPEG, WebP, or BMP; empty for anything else."""
    head = data[:IMAGE_HEAD_CHARACTERS]
    try:
        width, height = _size(base64.b64decode(head[: len(head) // 4 * 4]))
    except (binascii.Error, ValueError, struct.error, IndexError):
        return ""
    # A BMP with a negative height is stored from top to bottom.
    return f"{width} × {abs(height)}" if width > 0 and height else ""


def _size(head: bytes) -> tuple[int, int]:
    for start, (layout, at) in _SIZES.items():
        if head.startswith(start):
            width, height = struct.unpack_from(layout, head, at)
            return width, height
    if head.startswith(b"\xff\xd8"):
        return _jpeg(head)
    return _webp(head) if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else (0, 0)


def _jpeg(head: bytes) -> tuple[int, int]:
    """Returns the size from the first frame header of a JPEG, after any other segments (ITU-T T.81, B.1)."""
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        if marker == 0x01 or 0xD0 <= marker <= 0xD7:  # without a length
            at += 2
        # C4, C8, and CC are in the range of frame headers, but hold tables and extensions.
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", head, at + 5)
            return width, height
        else:
            at += 2 + max(2, int.from_bytes(head[at + 2 : at + 4], "big"))
    return 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    """Returns the size from the first chunk of a WebP: lossy, lossless, or extended (RFC 9649)."""
    match head[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            # WebP stores each length minus one, in 24 bits here and in 14 bits above.
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        case _:
            return 0, 0
