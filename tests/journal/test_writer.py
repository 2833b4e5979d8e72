from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_tui.journal.journal_files import parts_of
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header, RecordingError, read_record
from mcp_tui.journal.redaction import Redactor
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from tests.journal.making import heads
from tests.slow import slow

HERE = Path(__file__).parent


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- the file --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
@pytest.mark.parametrize("recording", [False, True])
def test_only_the_owner_can_read_it_whatever_the_umask(tmp_path: Path, umask: int, recording: bool) -> None:
    path = tmp_path / "a.jsonl"
    if recording:
        path.touch()
        path.chmod(0o644)
    before = os.umask(umask)
    try:
        Writer(path, recording=recording)
    finally:
        os.umask(before)
    assert Recording.read(path).skipped == 0
    assert mode(path) == 0o600


@pytest.mark.parametrize("recording", [False, True])
def test_a_symbolic_link_is_never_followed(tmp_path: Path, recording: bool) -> None:
    victim, link = tmp_path / "victim", tmp_path / "a.jsonl"
    victim.write_bytes(b"precious")
    link.symlink_to(victim)
    with pytest.raises(RecordingError, match=r"Cannot write .*: (it is a symbolic link|file exists)"):
        Writer(link, recording=recording)
    assert victim.read_bytes() == b"precious"
    dangling = tmp_path / "b.jsonl"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(RecordingError):
        Writer(dangling, recording=recording)
    assert not (tmp_path / "nowhere").exists()


def test_a_pipe_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(RecordingError, match="not a regular file"):
        Writer(fifo, recording=True)


def test_a_recording_never_overwrites_one_and_what_is_being_written_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.b.jsonl"
    path.write_bytes(b"old\n")
    (tmp_path / "a.b-2.jsonl").touch()  # empty, as mktemp leaves it
    (tmp_path / "a.b-4.jsonl").mkdir()
    writers = [Writer(path, recording=True) for _ in range(2)]
    assert [writer.path.name for writer in writers] == ["a.b-2.jsonl", "a.b-3.jsonl"]
    with pytest.raises(RecordingError, match=r"a\.b-4\.jsonl: is a directory"):
        Writer(path, recording=True)
    assert path.read_bytes() == b"old\n"
    assert {Recording.read(writer.path).header.mono > 0 for writer in writers} == {True}


AT_ONCE = """
import sys
from mcp_tui.journal.writer import Writer
sys.stdin.readline()
print(Writer(sys.argv[1], recording=True).path, flush=True)
sys.stdin.readline()
"""


def test_two_recordings_that_begin_at_once_have_a_file_each(tmp_path: Path) -> None:
    words = [sys.executable, "-c", AT_ONCE, str(tmp_path / "a.jsonl")]
    processes = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for _ in range(4)
    ]
    for line in ("go\n", "end\n"):
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(line)
    paths = {process.communicate()[0].strip() for process in processes}
    assert {Path(path).name for path in paths} == {"a.jsonl", "a-2.jsonl", "a-3.jsonl", "a-4.jsonl"}
    assert len({Recording.read(path).header.id for path in paths}) == 4


# -- the disk --------------------------------------------------------------------------------------------------


needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")


@needs_dev_full
def test_a_full_disk_stops_the_file_on_it_and_nothing_else(tmp_path: Path) -> None:
    mode_before = mode(Path("/dev/full"))
    writer, other = Writer("/dev/full", recording=True), Writer(tmp_path / "a.jsonl")
    store = Store(writer, other, memory=0)
    problem = "recording stopped at #0: no space left on device"
    assert list(writer.news) == [problem]
    for at in range(100):
        seq = store.frame("in", b"{}", at=at)
        store.event(ev.Note(at=at, text="on"))
        assert store.payload(seq) == b"{}"
    store.close()
    assert store.problems == [problem]
    assert [event.text for event in store.log if isinstance(event, ev.Note)].count(problem) == 1
    assert mode(Path("/dev/full")) == mode_before
    assert len(heads(Recording.read(other.path))) == 100


def test_a_deleted_file_is_told_once_and_takes_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    store = Store(Writer(path))
    for at in range(1, 40):
        store.event(ev.Note(at=float(at), text="on"))
        if at == 10:
            path.unlink()
    assert store.problems == ["journal stopped at #0: the file was deleted"]
    store.close()
    assert not path.exists()


GO_ON = """
import resource, sys
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.events import Note
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
def space(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
space(int(sys.argv[2]))
writer = Writer(sys.argv[1])
store = Store(writer)
def second(at):
    store.frame("in", b'{"x":"%s"}' % (b"y" * 1500), at=float(at))
    store.event(Note(at=float(at), text="x"))
for at in range(1, 21):
    second(at)
assert len(store.problems) == 1
space(hard)
for at in range(21, 121):
    second(at)
assert len(store.problems) == 2
for seq in range(1, 121):
    assert store.payload(seq)
store.close()
print("\\n".join(store.problems))
"""


@pytest.mark.parametrize("space", [10_000, 10], ids=["in the middle", "from the start"])
def test_when_space_returns_the_journal_goes_on_and_says_what_is_missing(tmp_path: Path, space: int) -> None:
    path = tmp_path / "a.jsonl"
    words = [sys.executable, "-c", GO_ON, path, str(space)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    told = ran.stdout.splitlines()
    assert "journal stopped at #" in told[0]
    assert told[-1].startswith("journal continues: ")
    recording = Recording.read(path)
    gaps = [each for each in map(json.loads, path.read_bytes().splitlines()) if each["record"] == "gap"]
    assert recording.header.id
    assert recording.skipped == 0
    assert len(gaps) * 2 == len(told)
    assert gaps[0]["why"] == "file too large"
    assert len(heads(recording)) + sum(gap["frames"] for gap in gaps) == 120
    assert heads(recording)[-1].seq == 120
    notes = [event for event in recording.events() if isinstance(event, ev.Note) and event.text == "x"]
    # what was told is an event as well, and the first of it was lost like the others
    assert len(list(recording.events())) + sum(gap["events"] for gap in gaps) == 120 + len(told)
    assert notes[-1].at == 120.0
    for head in heads(recording):
        assert recording.payload(head.seq) is not None


# -- parts -----------------------------------------------------------------------------------------------------


def test_a_journal_goes_on_in_another_part_when_it_is_long_enough(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = Writer(path, header=Header(id="abc", target="npx server"), rotate=20_000)
    store = Store(writer, memory=0)
    followed = Recording.read(path)
    for at in range(100):
        store.frame("in", b'{"n":%d,"x":"%s"}' % (at, b"y" * 1500), at=float(at))
        store.event(ev.Note(at=float(at), text=str(at)))
        assert followed.grown()
        assert len(list(followed.scan())) > 0
        assert len(followed.table) == at + 1
    paths = parts_of(path)
    assert [each.name for each in paths[:3]] == ["a.jsonl", "a.2.jsonl", "a.3.jsonl"]
    assert len(paths) == len(list(tmp_path.iterdir())) > 5
    for number, each in enumerate(paths, 1):
        assert mode(each) == 0o600
        assert each.stat().st_size < 22_000
        header = json.loads(each.read_bytes().splitlines()[0])
        assert (header["record"], header["id"], header.get("part", 1)) == ("session", "abc", number)
        assert Recording.read(each).header.target == "npx server"
    whole = Recording.read(path)
    assert whole.skipped == followed.skipped == 0
    assert [head.seq for head in heads(whole)] == list(range(1, 101))
    assert heads(followed) == heads(whole)
    assert [event.at for event in whole.events()] == list(range(100))
    for seq in range(1, 101):
        raw = store.payload(seq)
        assert raw is not None
        assert raw == whole.payload(seq)
        assert json.loads(raw)["n"] == seq - 1
    store.close()


# -- kill -9 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["at-once", "batched"])
@pytest.mark.parametrize("records", [1, 500, *slow(5_000)])
def test_after_a_kill_every_acknowledged_record_is_readable(tmp_path: Path, how: str, records: int) -> None:
    path = tmp_path / "a.jsonl"
    process = subprocess.Popen([sys.executable, HERE / "journalling.py", path, how], stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = [process.stdout.readline()]
    while int(said[-1]) < records:
        said.append(process.stdout.readline())
    process.kill()
    said += process.stdout.read().splitlines()
    process.wait()
    process.stdout.close()
    acknowledged = int(said[-1])
    assert acknowledged >= records

    recording = Recording.read(path)
    assert recording.skipped == 0, "only the last line may be torn"
    assert recording.header.id
    events, frames = list(recording.events()), heads(recording)
    assert len(events) >= acknowledged
    assert [head.seq for head in frames] == list(range(1, len(frames) + 1))
    assert len(frames) - len(events) in {0, 1}
    assert isinstance(events[acknowledged - 1], ev.Log)
    assert events[acknowledged - 1].at == acknowledged
    last = path.read_bytes().rpartition(b"\n")[2]
    assert recording.torn == bool(last and read_record(last) is None)


def test_names_and_ids_that_a_server_makes_of_a_secret_are_redacted(tmp_path: Path) -> None:
    secret = "hunter2-hunter2"
    store = Store(Writer(tmp_path / "a.jsonl", redactor=Redactor([secret])))
    raw = json.dumps({"id": secret, "method": secret}).encode()
    seq = store.frame("in", raw, at=1.0, method=secret, id=secret)
    store.event(ev.ServerRequestReceived(at=1.0, request_id=secret, method=secret, seq=seq))
    store.event(ev.ServerRequestAnswered(at=1.0, request_id=secret, seq=seq))
    store.event(ev.ServerRequestWithdrawn(at=1.0, request_id=secret, reason=secret))
    store.event(ev.Notified(at=1.0, method=secret))
    store.event(ev.Unknown(at=1.0, response_id=secret, kind=ev.Kind.RESULT))
    store.frame("in", raw + b" " * 600_000, at=1.0, method=secret, id=secret)
    store.close()
    assert secret not in (tmp_path / "a.jsonl").read_text()
    recording = Recording.read(tmp_path / "a.jsonl")
    assert recording.skipped == 0
    asked, answered, *_ = recording.events()
    assert isinstance(asked, ev.ServerRequestReceived)
    assert isinstance(answered, ev.ServerRequestAnswered)
    assert asked.request_id == answered.request_id == asked.method == heads(recording)[0].id
