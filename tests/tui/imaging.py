"""Images as servers send them: made here, whole, broken and hostile."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from typing import Any

from PIL import Image

from mcp_tui.client.results import Part, PartKind

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def quarters(width: int = 8, height: int = 8) -> Image.Image:
    """Red and green above, blue and nothing below."""
    image = Image.new("RGBA", (width, height))
    image.paste((*RED, 255), (0, 0, width // 2, height // 2))
    image.paste((*GREEN, 255), (width // 2, 0, width, height // 2))
    image.paste((*BLUE, 255), (0, height // 2, width // 2, height))
    return image


def saved(image: Image.Image, name: str, **options: Any) -> bytes:
    """An image as a file of a format."""
    file = io.BytesIO()
    image.save(file, name, **options)
    return file.getvalue()


def animation(frames: int, name: str = "GIF") -> bytes:
    """An animation of so many frames, the first of them red."""
    others = [Image.new("RGB", (4, 4), (0, 0, 9 * number)) for number in range(1, frames)]
    return saved(Image.new("RGB", (4, 4), RED), name, save_all=True, append_images=others)


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *, between: bytes = b"") -> bytes:
    """A PNG whose header says a size, with the pixels of one line."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0" + bytes(3 * min(width, 8))))
    return b"\x89PNG\r\n\x1a\n" + header + between + pixels + chunk(b"IEND", b"")


def bmp(width: int, height: int) -> bytes:
    """The header of a BMP that says a size."""
    return (
        b"BM"
        + struct.pack("<IHHI", 54, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, *[0] * 6)
    )


def gif(width: int, height: int) -> bytes:
    """A GIF of one pixel whose frame says a size."""
    colours = b"\0\0\0\xff\xff\xff"
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02D\x01\x00"
    return b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + colours + frame + b";"


def webp(width: int, height: int) -> bytes:
    """A WebP of one pixel whose header says a size."""
    whole = saved(Image.new("RGBA", (1, 1)), "WEBP", lossless=True)[12:]
    sizes = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body = b"WEBP" + b"VP8X" + struct.pack("<I", 10) + bytes([0x10, 0, 0, 0]) + sizes + whole
    return b"RIFF" + struct.pack("<I", len(body)) + body


def jpeg_of_scans(width: int, height: int, scans: int) -> bytes:
    """A progressive JPEG with its last scan over and over: each of some bytes, each over the whole image."""
    plain = saved(Image.new("L", (width, height), 128), "JPEG", progressive=True)
    last = plain.rindex(b"\xff\xda")
    before = plain.rindex(b"\xff\xc4", 0, last)
    return plain[:before] + plain[before:-2] * scans + plain[-2:]


def part(data: bytes, mime: str = "image/png", sort: PartKind = PartKind.IMAGE, uri: str = "") -> Part:
    """A part that has these bytes."""
    return Part(sort, mime=mime, data=base64.b64encode(data).decode(), uri=uri)


def block(data: bytes, mime: str = "image/png") -> dict[str, Any]:
    """The same as a content block."""
    return {"type": "image", "mimeType": mime, "data": base64.b64encode(data).decode()}
