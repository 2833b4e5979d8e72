from __future__ import annotations

import pytest

from mcp_tui.demo.frames import DemoRefusal, checked, decode, encode


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff", b'"\xed\xa0\x80"', b"NaN", b"[Infinity]", b"[" * 100_000]
)
def test_what_is_no_json(raw: bytes) -> None:
    with pytest.raises(DemoRefusal) as caught:
        decode(raw)
    assert caught.value.code == -32700


@pytest.mark.parametrize("text", ["plain", "é\u2028\U0001f600", "line\nend", "\ud800 alone", "\x00"])
def test_a_frame_is_one_line_that_says_the_same(text: str) -> None:
    raw = encode({"text": text})
    assert b"\n" not in raw
    assert decode(raw) == {"text": text}


@pytest.mark.parametrize(
    "message",
    [
        7,
        [],
        {},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "1.0", "method": "x"},
        {"jsonrpc": "2.0", "method": 1},
        {"jsonrpc": "2.0", "method": "x", "id": None},
        {"jsonrpc": "2.0", "method": "x", "id": True},
        {"jsonrpc": "2.0", "method": "x", "id": 1.0},
    ],
)
def test_what_is_no_message(message: object) -> None:
    with pytest.raises(DemoRefusal) as caught:
        checked(message)
    assert caught.value.code == -32600
