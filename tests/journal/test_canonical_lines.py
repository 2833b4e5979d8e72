"""The grammar of records, and reading by it: the same as if each line was parsed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from mcp_tui.journal import recording as recordings
from mcp_tui.journal import records
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header, decode_event, encode_event, read_head, read_record
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import encode
from tests.journal.making import Session
from tests.journal.test_recording import same

EVENTS: Final = (
    ev.Called(
        at=1.5, id=1, method="tools/call", name='a"\\é\n', limits=ev.Limits(timeout=None, max_timeout=1.0)
    ),
    ev.Sent(at=2.0, id="a", seq=7),
    ev.Progress(at=2.0, id=1, progress=1e-7, total=None, message="☃", rearmed=True, seq=3),
    ev.CancelRequested(at=2.0, id=1, cause=ev.Cause.USER, reason="why"),
    ev.Disconnected(at=3.0, detail="gone", expected=False, after=None, ids=(1, "b")),
)

CHANGES: Final[tuple[Callable[[random.Random, bytes], bytes], ...]] = (
    lambda draw, line: line[: draw.randrange(len(line))] + b"\n",
    lambda draw, line: line.replace(b'"seq":', b'"number":', 1),
    lambda draw, line: re.sub(
        rb'"seq":\d+', b'"seq":%d' % draw.choice((0, 7, 2**31, 2**32, -4)), line, count=1
    ),
    lambda draw, line: re.sub(rb'"id":(\d+)', rb'"id":"a,\1"', line, count=1),
    lambda draw, line: re.sub(rb'"id":(\d+)', rb'"id :\1', line, count=1),
    lambda draw, line: line.replace(b'"event":"', b'"event":"new_', 1),
    lambda draw, line: line.replace(b'"mono":', b'"mono":1e999', 1),
    lambda draw, line: line.replace(b"\n", b"\r\n"),
    lambda draw, line: line.replace(b'","', b'", "', 1),
    lambda draw, line: line + line,
    lambda draw, line: b"\n",
    lambda draw, line: b'{"record":"gap","frames":2,"events":3}\n',
    lambda draw, line: b'{"record":"frame","seq":5,"mono":1}\n',
    lambda draw, line: bytes(
        draw.choice((each, draw.randrange(256))) if draw.random() < 0.01 else each for each in line
    ),
)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    path = tmp_path_factory.mktemp("lines") / "session.jsonl"
    write(path)
    return path.read_bytes().splitlines(keepends=True)


def write(path: Path) -> None:
    """Writes a recording of several hundred kilobytes."""
    session = Session(
        Store(Writer(path, header=Header(id="abc", wall=1000.0, mono=100.0))), "stdio", "2025-11-25"
    )
    draw = random.Random(7)
    steps = (
        "call",
        "written",
        "result",
        "progress",
        "progress",
        "progress",
        "cancel",
        "signalled",
        "log",
        "asks",
    )
    for _ in range(1500):
        session.step(
            draw.choice(steps), draw.randint(1, 60), draw.random() / 10, draw.choice(("why", "a,b", 'c"\\,d'))
        )
    session.store.close()


def test_the_lines_of_a_session_are_canonical(lines: list[bytes]) -> None:
    assert records.are_canonical(b"".join(lines[1:]))
    assert not records.are_canonical(lines[0]), "the header is read by itself"


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_as_it_is_written_is_canonical(event: ev.Event) -> None:
    line = encode(encode_event(event)) + b"\n"
    assert records.are_canonical(line)
    assert decode_event(read_record(line) or {}) == event


def test_a_canonical_line_can_be_read_whatever_was_changed_in_it(lines: list[bytes]) -> None:
    draw, accepted = random.Random(3), 0
    for _ in range(1000):
        line = bytearray(draw.choice(lines[1:]))
        for _ in range(draw.choice((1, 1, 3))):
            line[draw.randrange(len(line) - 1)] = draw.choice(
                b'"\\{}[],:0123456789eE+-.tfnuldDcC \t\x7f\xc3\xa9'
            )
        if records.are_canonical(bytes(line)):
            accepted += 1
            for each in bytes(line).splitlines():
                record = read_record(each) or {}
                assert read_head(record) if record["record"] == "frame" else decode_event(record)
    assert accepted > 100


@pytest.mark.parametrize("seed", range(12))
def test_a_chunk_is_read_as_its_lines_are(
    lines: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw, path = random.Random(seed), tmp_path / "changed.jsonl"
    changed = [*lines]
    for _ in range(draw.choice((0, 1, 1, 5))):
        at = draw.randrange(1, len(changed))
        changed[at] = draw.choice(CHANGES)(draw, changed[at])
    path.write_bytes(b"".join(changed))
    monkeypatch.setattr(recordings, "READ_BYTES", 50_000)
    by_chunk = Recording.read(path, strict=True)
    monkeypatch.setattr(recordings, "_SHORT_BYTES", 1 << 40)
    by_line = Recording.read(path, strict=True)
    same(by_chunk, by_line)
    assert by_chunk.end == by_line.end == path.stat().st_size
    assert by_chunk.table.offsets == by_line.table.offsets
