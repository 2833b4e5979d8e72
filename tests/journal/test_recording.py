"""The reader: what it tells of whole, long, torn, damaged and foreign files, and how it searches them."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.journal import recording as recordings
from mcp_tui.journal.recorded_requests import left_at_end
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header, read_record
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.requests import State, fold
from tests.journal.making import STEPS, Session, heads, rows

OUT = b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'
IN = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"æøå ✓"}]}}'.encode()
BROKEN = b'{"jsonrpc":"2.0","id":1,"result":"\xff\xfe"}'


def loosely(path: Path, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """As a long recording is read: by the beginnings and the ends of its lines."""
    with monkeypatch.context() as patch:
        patch.setattr(recordings, "STRICT_BYTES", 0)
        patch.setattr(recordings, "READ_BYTES", 2000)
        recording = Recording(path)
        for _ in recording.scan():
            pass
    assert not recording.strict
    return recording


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small recording with every kind of line."""
    path = tmp_path / "small.jsonl"
    store = Store(Writer(path, header=Header(id="abc", wall=1000.0, mono=10.0, app="9", target="./server")))
    store.event(ev.Called(at=10.0, id=1, method="tools/call", name="slow"))
    seq = store.frame("out", OUT, at=10.5, method="tools/call", id=1)
    store.event(ev.Sent(at=10.5, id=1, seq=seq))
    store.event(ev.CancelRequested(at=12.0, id=1, cause=Cause.USER, reason="too slow"))
    store.event(ev.Stderr(at=12.1, line="W worker 3 slow"))
    store.frame("in", IN, at=12.5, stream=1, id=1)
    store.frame("in", BROKEN, at=13.0)
    store.close()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session in which much happened."""
    path = tmp_path / "session.jsonl"
    header = Header(id="abc", wall=1000.0, mono=100.0)
    session = Session(Store(Writer(path, header=header)), "stdio", "2025-11-25")
    draw = random.Random(5)
    steps = (
        "call", "written", "result", "progress", "cancel", "signalled", "tick", "error", "log", "asks", "garbage",
        "stranger", "pause", "resume", "extend",
    )  # fmt: skip
    texts = ("why", "a,b", 'c"\\,d')
    for _ in range(600):
        session.step(draw.choice(steps), draw.randint(1, 60), draw.random() / 10, draw.choice(texts))
    session.store.close()
    return path


def plainly(path: Path) -> tuple[list[Any], int]:
    """The records of a file, each parsed, and how many lines are none: what the reader must agree with."""
    found = list(map(read_record, path.read_bytes().splitlines()))
    return [record for record in found if record is not None], found.count(None)


def same(one: Recording, other: Recording) -> None:
    """Everything that a recording tells."""
    assert [one.event(place) for place in range(len(one.table))] == list(other.events())
    assert heads(one) == heads(other)
    assert all(one.payload(head.seq) == other.payload(head.seq) for head in heads(one))
    assert rows(one) == rows(other)
    assert one.header == other.header
    assert (one.damaged, one.unknown, one.table.misfits) == (
        other.damaged,
        other.unknown,
        other.table.misfits,
    )


# -- the format ------------------------------------------------------------------------------------------------


def test_the_format_is_one_json_object_a_line(small: Path) -> None:
    header, called, frame, sent, *_, last = map(json.loads, small.read_bytes().splitlines())
    assert header == {
        "record": "session", "v": 1, "id": "abc", "wall": 1000.0, "mono": 10.0, "app": "9", "target": "./server",
        "purpose": "", "client_pid": 0, "client_started": 0.0, "after": 0.0,
    }  # fmt: skip
    assert called["event"] == "called"
    assert frame == {
        "record": "frame", "seq": 1, "mono": 10.5, "dir": "out", "method": "tools/call", "id": 1, "raw": OUT.decode(),
    }  # fmt: skip
    assert sent == {"record": "event", "event": "sent", "mono": 10.5, "id": 1, "seq": 1}
    assert "raw_b64" in last


@pytest.mark.parametrize(
    ("transport", "revision"),
    [
        ("stdio", "2025-11-25"),
        pytest.param("http", "2025-03-26", marks=pytest.mark.slow),
        ("http", "2026-07-28"),
    ],
)
@settings(max_examples=20)
@given(steps=st.lists(STEPS, max_size=40), at_once=st.booleans())
def test_the_journal_folds_to_the_live_requests(
    transport: str, revision: str, steps: list[tuple[str, int, float, str]], at_once: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        writer = Writer(path)
        store = Store(writer) if at_once else Store(writer, soon=lambda _: None)
        session = Session(store, transport, revision)
        for step in steps:
            session.step(*step)
        store.close()
        recording = Recording.read(path)
        assert not store.problems
        assert (recording.damaged, recording.unknown, recording.table.misfits) == (0, 0, 0)
        assert list(recording.events()) == session.told
        live = session.ledger.requests
        folded = list(fold(list(recording.events())).order)
        assert folded == list(live.order)  # every field of every row
        end = recording.at(len(recording.table))
        assert rows(recording) == [left_at_end(row, end) for row in folded]
        assert heads(recording) == list(store.frames)
        assert all(recording.payload(head.seq) == store.payload(head.seq) for head in store.frames)


# -- torn, damaged, foreign ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loose", [False, True])
def test_a_file_cut_anywhere_is_read_up_to_there_and_says_that_it_is_torn(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, loose: bool
) -> None:
    whole = path.read_bytes()
    draw = random.Random(3)
    for cut in (*(draw.randrange(300, len(whole)) for _ in range(60)), len(whole) - 1, len(whole)):
        path.write_bytes(whole[:cut])
        recording = loosely(path, monkeypatch) if loose else Recording.read(path)
        records, torn = plainly(path)
        assert 1 + len(recording.table) + recording.frame_count == len(records), cut
        assert (recording.skipped, recording.torn) == (0, bool(torn)), cut


def test_what_another_version_adds_or_names_otherwise_is_counted_and_left_out(small: Path) -> None:
    with small.open("ab") as file:
        file.write(b"""{"record":"event","event":"teleported","mono":14.0,"id":1}
{"record":"event","event":"request_event","mono":14.0,"id":1}
{"record":"event","event":"asked","mono":14.0,"request_id":1,"method":"ping"}
{"record":"screenshot","mono":14.0}
{"record":"event","event":"note","mono":15.0,"text":"on","colour":"red"}
{"record":"event","event":"called","mono":16.0,"id":2,"method":"x","own":true,"leg":1}
""")
    recording = Recording.read(small)
    assert (recording.unknown, recording.skipped) == (4, 0)
    assert ev.Note(at=15.0, text="on") in list(recording.events())
    assert [row.state for row in rows(recording)] == [State.CANCELLED, State.QUEUED]


def test_a_damaged_record_takes_the_moment_of_the_one_before_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    whole = loosely(path, monkeypatch)
    middle = len(whole.table) // 2
    at = whole.table.offsets[middle]
    broken = next(number for number in range(len(lines)) if sum(map(len, lines[:number])) == at)
    lines[broken] = lines[broken].replace(b'"mono":', b'"mono";')
    path.write_bytes(b"".join(lines))
    damaged = loosely(path, monkeypatch)
    assert damaged.event(middle) is None
    assert damaged.at(middle + 1) == whole.at(middle)
    last = whole.at(len(whole.table) // 4)
    assert damaged.position_at(last) == whole.position_at(last)


# -- a file that grows, parts, order ---------------------------------------------------------------------------


@pytest.mark.parametrize("within", [-5, 0, 1], ids=["in a line", "before its end", "behind it"])
def test_what_is_appended_is_taken_in_by_the_next_scan(
    path: Path, monkeypatch: pytest.MonkeyPatch, within: int
) -> None:
    whole = path.read_bytes()
    middle = whole.index(b"\n", len(whole) * 2 // 3)
    cut = middle + within
    path.write_bytes(whole[:cut])
    recording = loosely(path, monkeypatch)
    events = len(recording.table)
    assert not recording.grown()
    with path.open("ab") as file:
        file.write(whole[cut:])
    assert recording.grown()
    for _ in recording.scan():
        pass
    assert len(recording.table) > events
    same(recording, Recording.read(path))
