from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from mcp_tui.journal import replay as replays
from mcp_tui.journal.moment import Moment
from mcp_tui.journal.recording import Header, Recording, RecordingError
from mcp_tui.journal.replay import Replay
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from tests.journal.making import Session


def opened(path: Path) -> Replay:
    """A recording that was read to its end."""
    replay = Replay(path)
    for _ in replay.scan():
        pass
    return replay


def loosely(path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    """As a long recording is read: by the beginnings and the ends of its lines."""
    with monkeypatch.context() as patch:
        patch.setattr(replays, "STRICT", 0)
        patch.setattr(replays, "CHUNK", 2000)
        return opened(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session in which much happened."""
    path = tmp_path / "session.jsonl"
    session = Session(
        Store(Writer(path, header=Header(id="abc", wall=1000.0, mono=100.0))), "stdio", "2025-11-25"
    )
    draw = random.Random(5)
    steps = (
        "call", "written", "result", "progress", "cancel", "signalled", "tick", "error", "log", "asks", "garbage",
        "stranger", "pause", "resume", "extend",
    )  # fmt: skip
    for _ in range(600):
        session.step(
            draw.choice(steps), draw.randint(1, 60), draw.random() / 10, draw.choice(("why", "a,b", 'c"\\,d'))
        )
    session.store.close()
    return path


def same(replay: Replay, recording: Recording) -> None:
    """Everything that both ways of reading tell."""
    assert [replay.event(number) for number in range(len(replay.columns))] == recording.events
    assert [replay.head(number) for number in range(replay.frames)] == list(recording.frames)
    for head in recording.frames:
        assert replay.payload(head.seq) == recording.payload(head.seq)
    book, moment = recording.book(), Moment(replay)
    moment.seek(len(replay.columns))
    assert list(moment.order) == book.order
    assert replay.header == recording.header
    assert (replay.skipped, replay.unknown) == (recording.skipped, recording.unknown)
    assert replay.columns.misfits == recording.misfits


def test_a_session_reads_the_same_whether_all_at_once_strictly_or_loosely(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording.read(path)
    assert len(recording.events) > 400
    same(opened(path), recording)
    loose = loosely(path, monkeypatch)
    assert not loose.strict
    same(loose, recording)


def test_ids_that_look_like_ends_and_commas_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ids.jsonl"
    store = Store(Writer(path))
    ids = ["a,b", 'a","event', "a\\", 'a\\",b', "1", 1, "", "\ud800", "æ", "a", -7]
    for number, id_ in enumerate(ids):
        store.event(ev.Called(at=float(number), id=id_, method="tools/call", name=f"{number}"))
    for number, id_ in enumerate(ids):
        store.event(ev.Sent(at=20.0 + number, id=id_))
        store.event(ev.Completed(at=40.0 + number, id=id_, summary='"id":1'))
    store.close()
    recording = Recording.read(path)
    for replay in (opened(path), loosely(path, monkeypatch)):
        same(replay, recording)
        moment = Moment(replay)
        moment.seek(10**6)
        assert [getattr(moment.get(id_), "name", None) for id_ in ids] == [
            str(each) for each in range(len(ids))
        ]
        assert moment.get("b") is None


def test_records_put_together_by_others_are_read_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [json.loads(line) for line in path.read_bytes().splitlines()]
    lines = [json.dumps(dict(sorted(record.items())), separators=(",", ":")) for record in whole]
    path.write_text("\n".join(lines) + "\n")
    same(loosely(path, monkeypatch), Recording.read(path))


@pytest.mark.parametrize("loose", [False, True])
def test_a_file_cut_anywhere_is_read_up_to_there_and_says_that_it_is_torn(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, loose: bool
) -> None:
    whole = path.read_bytes()
    draw = random.Random(3)
    for cut in (*(draw.randrange(300, len(whole)) for _ in range(60)), len(whole) - 1, len(whole)):
        path.write_bytes(whole[:cut])
        replay = loosely(path, monkeypatch) if loose else opened(path)
        recording = Recording.read(path)
        assert len(replay.columns) == len(recording.events), cut
        assert replay.frames == len(recording.frames), cut
        assert replay.torn == bool(recording.skipped), cut
        assert replay.skipped == 0


def test_flipped_bytes_are_counted_as_a_full_reading_counts_them(path: Path) -> None:
    whole = path.read_bytes()
    draw = random.Random(4)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(5):
            damaged[draw.randrange(200, len(damaged) - 1)] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            recording = Recording.read(path)
        except RecordingError:
            continue
        recording.book()
        same(opened(path), recording)


def test_flipped_bytes_in_a_long_recording_are_survived(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, _, rest = path.read_bytes().partition(b"\n")
    draw = random.Random(6)
    found = 0
    for _ in range(40):
        damaged = bytearray(rest)
        for _ in range(20):
            damaged[draw.randrange(len(damaged) - 1)] ^= 1 << draw.randrange(8)
        path.write_bytes(header + b"\n" + damaged)
        replay = loosely(path, monkeypatch)
        moment = Moment(replay)
        moment.seek(10**6)
        list(moment.order)
        for number in range(replay.frames):
            head = replay.head(number)
            if head is not None:
                replay.payload(head.seq)
        found += bool(replay.skipped or moment.unreadable)
    assert found > 30


def test_what_is_appended_is_taken_in_by_the_next_scan(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = path.read_bytes()
    cut = len(whole) * 2 // 3
    path.write_bytes(whole[:cut])
    replay = loosely(path, monkeypatch)
    events = len(replay.columns)
    assert not replay.grown()
    with path.open("ab") as file:
        file.write(whole[cut:])
    assert replay.grown()
    for _ in replay.scan():
        pass
    assert len(replay.columns) > events
    assert not replay.torn
    same(replay, Recording.read(path))


def test_parts_are_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    store = Store(Writer(path, rotate=4000))
    for number in range(1, 200):
        seq = store.frame("in", b'{"jsonrpc":"2.0","method":"x"}', at=float(number), method="x")
        store.event(ev.Notified(at=float(number), method="x", seq=seq))
    store.close()
    assert (tmp_path / "long.2.jsonl").exists()
    replay = opened(path)
    assert (replay.frames, len(replay.columns), replay.skipped) == (199, 199, 0)
    assert replay.payload(199) == b'{"jsonrpc":"2.0","method":"x"}'


@pytest.mark.parametrize("version", [0, 2, 17])
def test_another_version_of_the_format_is_refused_in_one_sentence(path: Path, version: int) -> None:
    path.write_bytes(path.read_bytes().replace(b'"v":1', f'"v":{version}'.encode(), 1))
    with pytest.raises(RecordingError, match=rf"is a recording of format {version}; .* reads format 1\.$"):
        Replay(path)


def test_another_version_further_on_ends_the_scan(path: Path) -> None:
    other = Header(id="x").line().replace(b'"v":1', b'"v":2')
    path.write_bytes(path.read_bytes() + other)
    with pytest.raises(RecordingError, match="format 2"):
        opened(path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x00" * 10_000, b'{"event":"sent"}\n', b"[]"])
def test_what_is_no_recording_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.txt"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"other\.txt is no recording of mcp-tui\.$"):
        Replay(path)
    with pytest.raises(RecordingError, match=r"cannot be read: no such file"):
        Replay(tmp_path / "none.jsonl")


def test_a_gap_is_counted_with_all_that_it_lost(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"record":"gap","mono":8.5,"frames":12,"events":30,"why":"no space left on device"}\n')
    replay = opened(path)
    assert (replay.lost, replay.unknown, replay.skipped) == (42, 0, 0)


# -- moments of it ---------------------------------------------------------------------------------------------


def test_a_frame_is_in_sight_with_its_event(tmp_path: Path) -> None:
    store = Store(Writer(tmp_path / "a.jsonl"))
    store.event(ev.Called(at=1.0, id=1, method="ping"))
    store.frame("out", b"{}", at=2.0)
    store.event(ev.Sent(at=2.0, id=1, seq=1))
    store.frame("in", b"{}", at=3.0)
    store.event(ev.Completed(at=3.0, id=1, seq=2))
    store.frame("in", b"{}", at=4.0)
    store.close()
    replay = opened(tmp_path / "a.jsonl")
    assert [replay.frames_until(position) for position in range(4)] == [0, 0, 1, 3]
    assert [replay.at(position) for position in range(1, 4)] == [1.0, 2.0, 4.0]
    assert replay.at(0) == replay.header.mono


@pytest.mark.parametrize("needle", [b"tools/call", b"TOOLS/CALL", b"because", b"not in it"])
def test_a_search_finds_what_is_nearest_in_either_direction(
    path: Path, monkeypatch: pytest.MonkeyPatch, needle: bytes
) -> None:
    monkeypatch.setattr(replays, "CHUNK", 100)  # many edges to search over
    whole = path.read_bytes().lower()
    replay = opened(path)
    for begin in range(0, len(whole), 997):
        *waits, forward = replay.search(needle, begin)
        assert forward == whole.find(needle.lower(), begin)
        assert set(waits) <= {None}
        *_, back = replay.search(needle, begin, back=True)
        assert back is not None
        before = whole.rfind(needle.lower(), 0, begin + len(needle) - 1)
        assert back == before, begin


def test_going_from_hit_to_hit_meets_every_event_that_has_it_once(path: Path) -> None:
    replay = opened(path)
    lines = path.read_bytes().splitlines(keepends=True)
    wanted: list[int] = []
    events = 0
    pending = False
    for line in lines[1:]:
        pending = pending or b"progress" in line
        if line.startswith(b'{"record":"event"'):
            events += 1
            if pending:
                wanted.append(events)
            pending = False
    met: list[int] = []
    position = 0
    while True:
        *_, found = replay.search(b"progress", replay.next_to(position, back=False))
        if found is None or found < 0:
            break
        position = replay.position_of(found)
        if met and met[-1] == position:
            break
        met.append(position)
    assert met == wanted
    back: list[int] = []
    position = met[-1]
    while True:
        *_, found = replay.search(b"progress", replay.next_to(position, back=True), back=True)
        if found is None or found < 0:
            break
        position = replay.position_of(found)
        back.append(position)
    assert back == met[-2::-1]


def test_the_reason_of_a_cancel_is_no_more_than_text(tmp_path: Path) -> None:
    store = Store(Writer(tmp_path / "a.jsonl"))
    store.event(ev.Called(at=1.0, id=1, method="x", name='"internal":true,"kind":"progress"'))
    store.event(ev.CancelRequested(at=2.0, id=1, cause=Cause.USER, reason='"rearmed":false'))
    store.close()
    replay = opened(tmp_path / "a.jsonl")
    assert list(replay.columns.internal) == []
    assert list(replay.columns.cancels) == [1]
