from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.protocol.framing import LINE_HEAD_BYTES, TAIL_BYTES, Oversized
from mcp_tui.transport.base import Turn
from mcp_tui.transport.http_bodies import EVENT_FIELD_BYTES, EventStream, ServerEvent, read_body

CAP = 1 << 20


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def decoded(
    *parts: bytes, cap: int = CAP, cut: bool | None = None, own: bool = False
) -> list[ServerEvent | Oversized]:
    """The events of a stream, and whether it was cut inside one, if that matters."""
    found: list[ServerEvent | Oversized] = []
    stream = EventStream(chunks(*parts), cap, Turn(), found.append, own=own)
    async for event in stream.events():
        found.append(event)  # noqa: PERF401 - oversized ones are appended meanwhile
    assert cut is None or stream.cut is cut
    return found


async def test_events_are_split_as_the_standard_says_and_bytes_stay_as_they_were():
    stream = (
        b"\xef\xbb\xbfdata: first\n\n"
        b": a comment\r\n\r\n"
        b'event: message\nid: 7\ndata: {"a":\ndata:  1}\n\n'
        b"data\ndata:\r\rretry: 250\ndata:x\n\n"
        b"data: caf\xc3\xa9 \xff\xed\xa0\x80\n\n\n"
        b"event: other\rid: 8\rdata: cr\r\r"
        b"id\ndata: no id\n\n"
        b"data: unfinished"
    )
    assert await decoded(stream, cut=True) == [
        ServerEvent("message", b"first", "", None),
        ServerEvent("message", b'{"a":\n 1}', "7", None),
        ServerEvent("message", b"\n", "7", None),
        ServerEvent("message", b"x", "7", 0.25),
        ServerEvent("message", b"caf\xc3\xa9 \xff\xed\xa0\x80", "7", None),
        ServerEvent("message", b"", "7", None),
        ServerEvent("other", b"cr", "8", None),
        ServerEvent("message", b"no id", "", None),
    ]


LINES = (
    *(b"data: a", b"data:", b"data", b"data:  b ", b"id: 1", b"id", b"id: \0", b": c", b"event: e"),
    *(b"retry: 5", b"", b"", b"x"),
)


@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=30),
    st.lists(st.integers(0, 200), max_size=6),
)
async def test_no_cut_changes_anything(lines: list[tuple[bytes, bytes]], cuts: list[int]):
    stream = b"".join(line + end for line, end in lines)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[start:end] for start, end in itertools.pairwise(places)]
    # a lone \r and a \n that follow each other are one line end, wherever they are cut
    assert await decoded(*pieces) == await decoded(stream)


@pytest.mark.parametrize(
    ("rest", "cut"), [(b"data: b\n", True), (b"data: b", True), (b": b\n", False), (b"", False)]
)
async def test_what_stands_behind_the_last_blank_line_is_no_event(rest: bytes, cut: bool):
    assert await decoded(b"data: a\n\n" + rest, cut=cut) == [ServerEvent("message", b"a", "", None)]


@pytest.mark.parametrize("value", [b"-5", b"x", b"9" * 400, b"9" * 5000, b"99999999999"])
async def test_a_strange_retry_is_a_wait_that_can_be_waited(value: bytes):
    (event,) = await decoded(b"retry: " + value + b"\ndata: a\n\n")
    assert isinstance(event, ServerEvent)
    assert event.retry is None or 0 <= event.retry <= 3600


@pytest.mark.parametrize("cap", [1000, LINE_HEAD_BYTES, LINE_HEAD_BYTES + 100_000])
@pytest.mark.parametrize("beyond", [TAIL_BYTES, 200_000])
@pytest.mark.parametrize("size", [700, 65_536, 1 << 20])
async def test_an_event_above_the_cap_is_reported_with_its_head_and_its_tail(
    cap: int, beyond: int, size: int
):
    data = bytes(33 + at % 90 for at in range(max(cap, LINE_HEAD_BYTES) + EVENT_FIELD_BYTES + beyond))
    stream = b"data: " + data + b"\n\ndata: b\n\n"
    large, last = await decoded(*(stream[at : at + size] for at in range(0, len(stream), size)), cap=cap)
    assert last == ServerEvent("message", b"b", "", None)
    assert isinstance(large, Oversized)
    assert large.head == data[: len(large.head)]
    assert len(large.head) >= min(LINE_HEAD_BYTES, len(data)) - len(b"data: ")
    assert 0 < len(large.tail) <= TAIL_BYTES
    assert data.endswith(large.tail)
    assert large.size >= len(data)


@pytest.mark.parametrize("end", [b"", b"\n\ndata: b\n\n"])
async def test_an_event_above_the_cap_ends_the_own_stream_of_a_request_though_it_may_never_end(end: bytes):
    first, large = await decoded(b"data: a\n\ndata: ", b"x" * 3000 + end, b"data: c\n\n", cap=1000, own=True)
    assert first == ServerEvent("message", b"a", "", None)
    assert isinstance(large, Oversized)
    assert (large.head, large.size) == (b"x" * 3000, 3006)


async def test_a_body_is_read_up_to_the_cap():
    assert await read_body(chunks(b"a", b"b"), 2, Turn()) == b"ab"
    assert await read_body(chunks(b"a", b"b", b"c", b"d"), 2, Turn()) == Oversized(head=b"abc", size=3)
    assert await read_body(chunks(b"a", b"b"), 2, Turn(), 3) == Oversized(head=b"a", size=3)
