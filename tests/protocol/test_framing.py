from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_tui.protocol.framing import HEAD, TAIL, Line, LineFramer, Oversized

MB = 1 << 20
BOM = b"\xef\xbb\xbf"


def framed(*pieces: bytes, cap: int = MB) -> list[Line | Oversized]:
    framer = LineFramer(cap)
    lines: list[Line | Oversized] = []
    for piece in pieces:
        lines += framer.feed(piece)
    return lines + framer.close()


def expected(stream: bytes, cap: int) -> list[Line | Oversized]:
    """What a stream holds, said in the plainest way."""
    lines: list[Line | Oversized] = []
    for line in stream.removeprefix(BOM).split(b"\n"):
        content = line.removesuffix(b"\r")
        if len(content) > cap:
            lines.append(Oversized(head=content[:HEAD], size=len(content), tail=content[HEAD:][-TAIL:]))
        elif content.strip():
            lines.append(content)
    return lines


def two_hundred_messages() -> list[bytes]:
    texts = ["", "ü", "世🦊", '\\ "', "\u2028\x0b"]
    return [
        json.dumps({"id": n, "r": texts[n % 5]}, ensure_ascii=n % 2 == 0, separators=(",", ":")).encode()
        for n in range(200)
    ]


def test_every_split_point_of_a_stream_gives_the_same_messages() -> None:
    messages = two_hundred_messages()
    stream = BOM + b"".join(
        message + (b"\r\n" if n % 3 == 0 else b"\n") for n, message in enumerate(messages)
    )
    for at in range(len(stream) + 1):
        assert framed(stream[:at], stream[at:]) == messages


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
def test_lines_do_not_depend_on_how_the_stream_is_cut(stream: bytes, cuts: list[int], cap: int) -> None:
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(bounds)]
    assert framed(*pieces, cap=cap) == framed(stream, cap=cap) == expected(stream, cap)


def test_a_byte_order_mark_counts_at_the_start_only() -> None:
    assert framed(BOM + b"{}\n" + BOM + b"{}\n") == [b"{}", BOM + b"{}"]


def test_blank_lines_are_no_lines() -> None:
    assert framed(b"\n\r\n  \t\n{}\n\n") == [b"{}"]
    assert framed(BOM + b"\n") == []


def test_only_one_carriage_return_belongs_to_the_end_of_a_line() -> None:
    assert framed(b"a\rb\r\r\n") == [b"a\rb\r"]


def test_the_unfinished_last_line_comes_at_the_end() -> None:
    framer = LineFramer(MB)
    assert framer.feed(b'{"a"') == []
    assert framer.feed(b": 1}") == []
    assert framer.close() == [b'{"a": 1}']
    assert framer.close() == []


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("start", [b"", BOM])
def test_the_cap_is_the_longest_line_that_passes(start: bytes, end: bytes) -> None:
    assert framed(start + b"x" * 1000 + end, cap=1000) == [b"x" * 1000]
    assert framed(start + b"x" * 1001 + end, cap=1000) == [Oversized(head=b"x" * 1001, size=1001)]


def test_a_line_above_the_cap_is_reported_where_the_stream_ends_in_it() -> None:
    large = Oversized(head=b"z" * HEAD, size=100_000, tail=b"z" * TAIL)
    assert framed(b"z" * 70_000, b"z" * 30_000, cap=50_000) == [large]


@pytest.mark.parametrize("beyond", [1, 2, TAIL - 1, TAIL, TAIL + 1, 3 * TAIL])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("start", [b"", BOM])
@pytest.mark.parametrize("piece", [1, 500, HEAD, 1 << 20])
def test_head_and_tail_of_a_line_above_the_cap_share_no_byte(
    beyond: int, end: bytes, start: bytes, piece: int
) -> None:
    line = bytes(33 + at % 90 for at in range(HEAD + beyond))
    stream = start + line + end
    pieces = [stream[at : at + piece] for at in range(0, len(stream), piece)]
    large = Oversized(head=line[:HEAD], size=len(line), tail=line[HEAD:][-TAIL:])
    assert framed(*pieces, cap=1000) == framed(*pieces, cap=HEAD) == [large]


def test_an_endless_line_takes_no_more_memory_than_the_cap() -> None:
    framer = LineFramer(4 * MB)
    piece = b"q" * 65536
    tracemalloc.start()
    try:
        for _ in range(64 * 16):
            assert framer.feed(piece) == []
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 4 * HEAD
    assert peak < 6 * MB
    large = Oversized(head=b"q" * HEAD, size=64 * MB, tail=b"q" * TAIL)
    assert framer.feed(b"\n{}\n") == [large, b"{}"]
