from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from mcp_tui import __version__
from mcp_tui.journal.frames import FrameHead
from mcp_tui.journal.recording import Header, Recording, RecordingError
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.requests import State

OUT = b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'
IN = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"æøå ✓"}]}}'.encode()
BROKEN = b'{"jsonrpc":"2.0","id":1,"result":"\xff\xfe"}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
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


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def read_or_none(path: Path) -> Recording | None:
    try:
        return Recording.read(path)
    except RecordingError:
        return None


def test_the_format_is_one_json_object_a_line(path: Path) -> None:
    header, called, frame, sent, *_ = lines(path)
    assert header == {
        "record": "session", "v": 1, "id": "abc", "wall": 1000.0, "mono": 10.0, "app": "9", "target": "./server",
    }  # fmt: skip
    assert called["event"] == "called"
    assert frame == {
        "record": "frame", "seq": 1, "mono": 10.5, "dir": "out", "method": "tools/call", "id": 1, "raw": OUT.decode(),
    }  # fmt: skip
    assert sent == {"record": "event", "event": "sent", "mono": 10.5, "id": 1, "seq": 1}


def test_frames_are_kept_as_they_came(path: Path) -> None:
    recording = Recording.read(path)
    assert [recording.payload(seq) for seq in (1, 2, 3, 4, 0)] == [OUT, IN, BROKEN, None, None]
    assert list(recording.frames) == [
        FrameHead(1, 10.5, "out", "tools/call", 1, len(OUT), None),
        FrameHead(2, 12.5, "in", "", 1, len(IN), 1),
        FrameHead(3, 13.0, "in", "", None, len(BROKEN), None),
    ]
    assert "raw_b64" in lines(path)[-1]


def test_the_wall_time_follows_from_the_header(path: Path) -> None:
    recording = Recording.read(path)
    assert recording.header == Header(id="abc", wall=1000.0, mono=10.0, app="9", target="./server")
    assert recording.wall(12.5) == 1002.5


def test_a_header_of_now_says_who_wrote_it() -> None:
    one, other = Header.now("x"), Header.now("x")
    assert one.app == __version__
    assert one.id != other.id
    assert one.wall > 1_600_000_000
    assert 0 <= other.mono - one.mono < 60


def test_a_file_cut_at_any_byte_is_read_up_to_there(path: Path) -> None:
    whole = path.read_bytes()
    recorded = Recording.read(path)
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        intact = sum(1 for end in ends if end - 1 <= cut)  # without its line end a line is whole as well
        torn = cut not in ends and cut + 1 not in ends and cut > 0
        recording = read_or_none(path)
        if recording is None:
            assert cut < ends[0], cut
            continue
        assert recording.skipped == torn, cut
        assert 1 + len(recording.events) + len(recording.frames) == max(intact, 1), cut
        assert recording.events == recorded.events[: len(recording.events)]
        recording.book()


def test_flipped_bytes_are_survived_and_counted(path: Path) -> None:
    whole = path.read_bytes()
    records = whole.count(b"\n")
    draw = random.Random(1)
    noticed = 0
    for _ in range(800):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        recording = read_or_none(path)
        if recording is None:
            assert bytes(damaged).partition(b"\n")[0] != whole.partition(b"\n")[0]
            continue
        read = len(recording.events) + len(recording.frames) + recording.unknown
        assert read >= records - 3  # a flipped line end costs two lines, and the header is no record
        noticed += recording.skipped > 0
        recording.book()
        for head in recording.frames:
            recording.payload(head.seq)
    assert noticed > 80


def test_ten_thousand_flipped_bytes_in_one_file_are_survived(path: Path) -> None:
    header, *rest = path.read_bytes().splitlines(keepends=True)
    damaged = bytearray(b"".join(rest) * 2_000)
    draw = random.Random(2)
    for _ in range(10_000):
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
    path.write_bytes(header + damaged)
    recording = Recording.read(path)
    read = len(recording.events) + len(recording.frames) + recording.unknown
    assert 2_000 < read < 2_000 * len(rest)
    assert recording.skipped > 2_000
    recording.book()


def test_numbers_of_frames_out_of_order_are_found_all_the_same(path: Path) -> None:
    raw = path.read_bytes().replace(b'"seq":1,"mono":10.5,"dir"', b'"seq":9,"mono":10.5,"dir"')
    path.write_bytes(raw)
    recording = Recording.read(path)
    assert recording.payload(9) == OUT
    assert recording.payload(2) == IN
    assert recording.payload(1) is None


def test_events_that_do_not_fit_any_more_are_left_out_of_the_book(path: Path) -> None:
    kept = [line for line in path.read_bytes().splitlines(keepends=True) if b'"called"' not in line]
    path.write_bytes(b"".join(kept))
    recording = Recording.read(path)
    assert recording.book().order == []
    assert recording.misfits == 2


def test_what_a_newer_version_adds_is_counted_and_left_out(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"record":"event","event":"teleported","mono":14.0,"id":1}\n')
        file.write(b'{"record":"screenshot","mono":14.0}\n')
        file.write(b'{"record":"event","event":"note","mono":15.0,"text":"on","colour":"red"}\n')
    recording = Recording.read(path)
    assert (recording.unknown, recording.skipped) == (2, 0)
    assert recording.events[-1] == ev.Note(at=15.0, text="on")
    assert recording.book().order[0].state is State.CANCEL_REQUESTED


@pytest.mark.parametrize("version", [0, 2, 17])
def test_another_version_of_the_format_is_refused_in_one_sentence(path: Path, version: int) -> None:
    path.write_bytes(path.read_bytes().replace(b'"v":1', f'"v":{version}'.encode()))
    with pytest.raises(RecordingError, match=rf"is a recording of format {version}; .* reads format 1\.$"):
        Recording.read(path)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"hello\nworld\n", b"\x00" * 10_000, b'{"event":"sent"}\n', b"[]"]
)
def test_what_is_no_recording_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.txt"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"other\.txt is no recording of mcp-tui\.$"):
        Recording.read(path)


def test_what_cannot_be_opened_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"cannot be read: no such file or directory\.$"):
        Recording.read(tmp_path / "none.jsonl")
    with pytest.raises(RecordingError, match=r"cannot be read: is a directory\.$"):
        Recording.read(tmp_path)


def test_hostile_lines_are_skipped(path: Path) -> None:
    with path.open("ab") as file:
        for line in (
            b"[" * 100_000,
            b'{"record":"frame","seq":-1,"mono":1,"dir":"in","raw":""}',
            b'{"record":"frame","seq":1e400,"mono":1,"dir":"in","raw":""}',
            b'{"record":"frame","seq":99999999999999999999999,"mono":1,"dir":"in","raw":""}',
            b'{"record":"frame","seq":7,"mono":1,"dir":"up","raw":""}',
            b'{"record":"frame","seq":7,"mono":1,"dir":["in"],"raw":""}',
            b'{"record":"frame","seq":7,"mono":1,"dir":"in","raw":"\\ud800"}',
            b'{"record":"frame","seq":7,"mono":1,"dir":"in","raw_b64":"!"}',
            b'{"record":"frame","seq":7,"mono":null,"dir":"in","raw":""}',
            b'{"record":"frame","seq":7,"mono":1%s,"dir":"in","raw":""}' % (b"0" * 400),
            b'{"record":"event","event":"note","text":"","mono":1%s}' % (b"0" * 400),
            b'{"record":["frame"]}',
            b'{"record":"event","event":["note"],"mono":1}',
            b"null",
            b"\xff\xff",
        ):
            file.write(line + b"\n")
    recording = Recording.read(path)
    assert len(recording.frames) == 3
    assert recording.skipped + recording.unknown == 15


def test_a_recording_whose_file_went_away_still_shows_its_rows(path: Path) -> None:
    recording = Recording.read(path)
    path.unlink()
    assert recording.payload(1) is None
    assert recording.book().order[0].reason == "too slow"
