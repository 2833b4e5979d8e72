from __future__ import annotations

import tracemalloc
from itertools import pairwise, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_tui.protocol.framing import LINE_HEAD_BYTES, TAIL_BYTES, LineFramer, Oversized, RawLine

MB = 1 << 20
BOM = b"\xef\xbb\xbf"


def framed(*pieces: bytes, cap: int = MB) -> list[RawLine | Oversized]:
    framer = LineFramer(cap)
    lines: list[RawLine | Oversized] = []
    for piece in pieces:
        lines += framer.feed(piece)
    return lines + framer.close()


def expected(stream: bytes, cap: int) -> list[RawLine | Oversized]:
    """What a stream holds, said in the plainest way."""
    lines: list[RawLine | Oversized] = []
    for line in stream.removeprefix(BOM).split(b"\n"):
        content = line.removesuffix(b"\r")
        if len(content) > cap:
            lines.append(
                Oversized(
                    head=content[:LINE_HEAD_BYTES],
                    size=len(content),
                    tail=content[LINE_HEAD_BYTES:][-TAIL_BYTES:],
                )
            )
        elif content.strip():
            lines.append(content)
    return lines


_parts = st.lists(
    st.sampled_from(
        [b"\n", b"\r", b"\r\n", BOM, BOM[:1], b" ", b"\t\n", b"{}", b"\xff\x00", b"a" * 9, b"b" * 40]
    ),
    max_size=40,
).map(b"".join)


@given(
    stream=_parts | st.binary(max_size=200),
    cuts=st.lists(st.integers(0, 400), max_size=12),
    cap=st.integers(1, 50),
)
@example(stream=BOM + b"123\r\n4", cuts=[1, 2, 6, 7], cap=3)
@example(stream=b"123\r\r\n", cuts=[5], cap=3)
@example(stream=BOM + BOM, cuts=[3], cap=3)
@example(stream=BOM + b"{}\n" + BOM + b"{}\n", cuts=[], cap=9)
@example(stream=b"\n\r\n  \t\n{}\na\rb\r\r\n\n", cuts=[], cap=9)
def test_lines_do_not_depend_on_how_the_stream_is_cut(stream: bytes, cuts: list[int], cap: int) -> None:
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(bounds)]
    assert framed(*pieces, cap=cap) == framed(stream, cap=cap) == expected(stream, cap)


def test_the_unfinished_last_line_comes_at_the_end() -> None:
    framer = LineFramer(MB)
    assert framer.feed(b'{"a"') == []
    assert framer.feed(b": 1}") == []
    assert framer.close() == [b'{"a": 1}']
    assert framer.close() == []


@pytest.mark.parametrize("beyond", [1, 2, TAIL_BYTES - 1, TAIL_BYTES, TAIL_BYTES + 1, 3 * TAIL_BYTES])
@pytest.mark.parametrize("piece", [61, 500, LINE_HEAD_BYTES, 1 << 20])
def test_head_and_tail_of_a_line_above_the_cap_share_no_byte(beyond: int, piece: int) -> None:
    line = bytes(33 + at % 90 for at in range(LINE_HEAD_BYTES + beyond))
    large = Oversized(head=line[:LINE_HEAD_BYTES], size=len(line), tail=line[LINE_HEAD_BYTES:][-TAIL_BYTES:])
    for start, end in product([b"", BOM], [b"\n", b"\r\n", b""]):
        stream = start + line + end
        pieces = [stream[at : at + piece] for at in range(0, len(stream), piece)]
        assert framed(*pieces, cap=1000) == framed(*pieces, cap=LINE_HEAD_BYTES) == [large]


def test_an_endless_line_takes_no_more_memory_than_the_cap() -> None:
    framer = LineFramer(4 * MB)
    piece = b"q" * 65536
    tracemalloc.start()
    try:
        for _ in range(64 * 16):
            assert framer.feed(piece) == []
        deferred, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert deferred < 4 * LINE_HEAD_BYTES
    assert peak < 6 * MB
    large = Oversized(head=b"q" * LINE_HEAD_BYTES, size=64 * MB, tail=b"q" * TAIL_BYTES)
    assert framer.feed(b"\n{}\n") == [large, b"{}"]
