"""The size of an image, from its first bytes as formats define them; they come from a server."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

from mcp_tui.protocol.messages import ResponseFrame, parse, summary
from mcp_tui.protocol.pixels import pixels
from tests.cases import cases

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 300, 200)
FRAME = struct.pack(">HBHH", 17, 8, 200, 300)


def riff(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + body


@cases(
    ("head", "said"),
    [
        (PNG, "300 × 200"),
        (b"GIF89a" + struct.pack("<HH", 300, 200), "300 × 200"),
        (b"BM" + bytes(16) + struct.pack("<ii", 300, -200), "300 × 200"),
        (b"\xff\xd8\xff\xe1\0\x06EXIF\xff\xc2" + FRAME, "300 × 200"),
        (riff(b"VP8 ", bytes(6) + struct.pack("<HH", 300, 200)), "300 × 200"),
        (riff(b"VP8L", b"\x2f" + struct.pack("<I", 299 | 199 << 14)), "300 × 200"),
        (riff(b"VP8X", bytes(4) + b"\x2b\x01\0\xc7\0\0"), "300 × 200"),
        (PNG[:-1], ""),
        (b"\xff\xd8\xff\xe1\xff\xff", ""),
        (b"\xff\xd8" + b"\xff" * 1000, ""),
        (riff(b"VP8?", bytes(40)), ""),
        (PNG[:16] + bytes(8), ""),
        (b"<svg/>", ""),
        (b"", ""),
    ],
)
def test_pixels_are_read_from_the_head(head: bytes, said: str):
    assert pixels(base64.b64encode(head).decode()) == said


@cases("data", ["?", "é", "a", "\ud800"])
def test_what_is_not_base64_has_no_size(data: str):
    assert pixels(data) == ""


@cases(
    ("blocks", "said"),
    [
        (
            [{"type": "image", "mimeType": "image/png", "data": base64.b64encode(PNG).decode()}],
            "image/png 300 × 200",
        ),
        ([{"type": "image", "mimeType": "image/x", "data": "AAAA"}], "image/x"),
        ([{"type": "image", "mimeType": "image/x", "data": "AAAA"}] * 2, ""),
        ([{"type": "resource", "resource": {"mimeType": "image/x", "blob": "AAAA"}}], "image/x"),
        ([{"role": "user", "content": {"type": "image", "mimeType": "image/x", "data": "AAAA"}}], "image/x"),
        ([{"type": "image", "mimeType": 5, "data": True}], ""),
        ([5], ""),
    ],
)
def test_an_image_that_is_the_whole_result_is_its_summary(blocks: Any, said: str):
    frame: Any = parse(b'{"jsonrpc": "2.0", "id": 1, "result": {}}')
    frame.result["content"] = blocks
    assert summary(frame) == said


def test_the_summary_of_a_traceback_is_its_last_line():
    trace = "Traceback (most recent call last):\n" + '  File "a.py", line 1\n' * 40 + "ValueError: no rows\n"
    content = [{"type": "text", "text": trace}]
    frame = parse(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": content}}).encode())
    assert isinstance(frame, ResponseFrame)
    assert summary(frame) == "ValueError: no rows"
