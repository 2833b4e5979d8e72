from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

import httpx
import pytest
from httpx_sse import EventSource
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.transport.http_bodies import (
    FIELDS,
    HEAD,
    TAIL,
    EventStream,
    OversizedBody,
    Turn,
    read_body,
)

CAP = 1 << 20


Decoded = tuple[str, bytes, str, float | None]


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def cut(stream: bytes, size: int) -> list[bytes]:
    return [stream[at : at + size] for at in range(0, len(stream), size)]


async def reading(stream: EventStream) -> list[Decoded]:
    return [(each.name, each.data, each.id, each.retry) async for each in stream.events() if each.data]


def decoded(*parts: bytes, cap: int = CAP) -> list[Decoded]:
    return asyncio.run(reading(EventStream(chunks(*parts), cap, Turn())))


STREAM = (
    b"\xef\xbb\xbfdata: first\n\n"
    b": a comment\r\n\r\n"
    b'event: message\nid: 7\ndata: {"a":\ndata:  1}\n\n'
    b"data\ndata:\r\rretry: 250\ndata:x\n\n"
    b"data: caf\xc3\xa9 \xff\xed\xa0\x80\n\n"
    b"event: other\rid: 8\rdata: cr\r\r"
    b"id\ndata: no id\n\n"
    b"data: unfinished"
)
EVENTS = [
    ("message", b"first", "", None),
    ("message", b'{"a":\n 1}', "7", None),
    ("message", b"\n", "7", None),
    ("message", b"x", "7", 0.25),
    ("message", b"caf\xc3\xa9 \xff\xed\xa0\x80", "7", None),
    ("other", b"cr", "8", None),
    ("message", b"no id", "", None),
]


def test_events_are_split_as_the_standard_says_and_bytes_stay_as_they_were():
    assert decoded(STREAM) == EVENTS


LINES = st.sampled_from(
    [
        b"data: a",
        b"data:",
        b"data",
        b"data:  b ",
        b"id: 1",
        b"id",
        b": c",
        b"event: e",
        b"retry: 5",
        b"",
        b"",
        b"x",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(st.lists(st.tuples(LINES, ENDS), max_size=30), st.lists(st.integers(0, 200), max_size=6))
def test_no_cut_changes_anything(lines: list[tuple[bytes, bytes]], cuts: list[int]):
    stream = b"".join(line + end for line, end in lines)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[start:end] for start, end in itertools.pairwise(places)]
    # a lone \r and a \n that follow each other are one line end, wherever they are cut
    assert decoded(*pieces) == decoded(stream)


async def test_what_stands_behind_the_last_blank_line_is_no_event():
    stream = EventStream(chunks(b"data: a\n\ndata: b\n"), CAP, Turn())
    assert [data for _, data, _, _ in await reading(stream)] == [b"a"]
    assert stream.partial


@pytest.mark.parametrize("value", [b"-5", b"x", b"9" * 400, b"9" * 5000, b"99999999999"])
def test_a_strange_retry_is_a_wait_that_can_be_waited(value: bytes):
    events = decoded(b"retry: " + value + b"\ndata: a\n\n")
    retry = events[0][3]
    assert retry is None or 0 <= retry <= 3600


async def test_what_the_decoder_raises_is_an_error_of_the_stream(monkeypatch: pytest.MonkeyPatch):
    def fails(self: EventSource) -> None:
        raise OverflowError("int too large")

    monkeypatch.setattr(EventSource, "aiter_sse", fails)
    with pytest.raises(httpx.DecodingError, match="int too large"):
        await reading(EventStream(chunks(b"data: a\n\n"), CAP, Turn()))


def test_comments_without_end_are_not_held():
    assert decoded(*[b": ping\n"] * 2000, b"data: a\n\n", cap=1000) == [("message", b"a", "", None)]


@pytest.mark.parametrize("cap", [1000, HEAD, HEAD + 100_000])
@pytest.mark.parametrize("beyond", [TAIL, 200_000])
@pytest.mark.parametrize("size", [700, 65_536, 1 << 20])
async def test_an_event_that_is_left_out_is_told_with_its_head_and_its_tail(cap: int, beyond: int, size: int):
    data = bytes(33 + at % 90 for at in range(max(cap, HEAD) + FIELDS + beyond))
    dropped: list[OversizedBody] = []
    parts = cut(b"data: " + data + b"\n\ndata: b\n\n", size)
    events = EventStream(chunks(*parts), cap, Turn(), dropped.append)
    assert [each[1] for each in await reading(events)] == [b"b"]
    (large,) = dropped
    assert large.head == data[: len(large.head)]
    assert len(large.head) >= min(HEAD, len(data)) - len(b"data: ")
    assert 0 < len(large.tail) <= TAIL
    assert data.endswith(large.tail)
    assert large.size >= len(data)


async def test_a_body_is_read_up_to_the_cap():
    assert await read_body(chunks(b"a", b"b"), 2, None, Turn()) == b"ab"
    with pytest.raises(OversizedBody) as caught:
        await read_body(chunks(b"a", b"b", b"c", b"d"), 2, None, Turn())
    assert (caught.value.head, caught.value.size) == (b"abc", 3)
