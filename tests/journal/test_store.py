from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mcp_tui.journal.recording import Recording
from mcp_tui.journal.redaction import Redactor
from mcp_tui.journal.store import EventLog, Frames, Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from tests.journal.making import event_classes, heads, plain


def note(text: str, at: float = 1.0) -> ev.Note:
    return ev.Note(at=at, text=text)


# -- memory ----------------------------------------------------------------------------------------------------


def test_payloads_are_bounded_in_bytes_and_the_newest_is_always_there() -> None:
    store = Store(memory=10_000)
    for n in range(1000):
        store.frame("in", b"x" * 100, at=n)
    kept = [seq for seq in range(1, 1001) if store.payload(seq) is not None]
    assert kept == list(range(1001 - len(kept), 1001))
    assert 50 < len(kept) <= 100
    big = store.frame("in", b"y" * 50_000, at=1.0)
    assert store.payload(big) == b"y" * 50_000
    small = store.frame("in", b"z", at=1.0)
    assert store.payload(big) is None
    assert store.payload(small) == b"z"


def test_the_log_has_what_belongs_to_no_row_and_duplicates() -> None:
    store = Store()
    for kind in event_classes():
        store.event(plain(kind))
    logged = {type(event) for event in store.log}
    assert logged == {kind for kind in event_classes() if not issubclass(kind, ev.RequestEvent)} | {
        ev.Duplicate
    }


# -- files -----------------------------------------------------------------------------------------------------


def test_evicted_payloads_are_read_back_from_the_file(tmp_path: Path) -> None:
    store = Store(Writer(tmp_path / "a.jsonl"), memory=1000)
    raws = [b'{"n":%d,"x":"%s"}' % (n, b"\xc3\xa9\\n" * (n * 37 % 5000)) for n in range(200)]
    raws += [b"\xff\xfe no text \x00", b'{"long":"' + b"a" * 300_000 + b'"}']
    for raw in raws:
        store.frame("in", raw, at=1.0)
        store.event(note("between"))
    assert [store.payload(seq) for seq in range(1, len(raws) + 1)] == raws
    assert store.payload(len(raws) + 1) is None


def test_a_payload_that_is_read_back_has_no_secrets(tmp_path: Path) -> None:
    store = Store(Writer(tmp_path / "a.jsonl", redactor=Redactor(["hunter22"])), memory=0)
    seq = store.frame("in", b'{"x":"hunter22"}', at=1.0)
    assert store.payload(seq) == b'{"x":"hunter22"}'
    store.frame("in", b"{}", at=1.0)
    payload = store.payload(seq)
    assert payload is not None
    assert payload.startswith('{"x":"‹redacted:'.encode())
    assert heads(Recording.read(tmp_path / "a.jsonl")) == list(store.frames)  # its size is the true one


def test_a_long_frame_takes_many_turns_and_what_follows_keeps_its_order(tmp_path: Path) -> None:
    turns: list[Callable[[], None]] = []
    writer = Writer(tmp_path / "a.jsonl")
    store = Store(writer, soon=turns.append)
    raw = b'{"x":"' + b"a" * 3_000_000 + b'"}'
    store.frame("in", raw, at=1.0)
    count = 0
    while turns:
        count += 1
        store.event(note("meanwhile", count))
        turns.pop()()
    assert count > 10
    store.flush()
    recording = Recording.read(writer.path)
    assert recording.skipped == 0
    assert [event.at for event in recording.events()] == list(range(1, count + 1))
    assert recording.payload(1) == raw
    kinds = [line[:17] for line in writer.path.read_bytes().splitlines()]
    assert kinds == [b'{"record":"sessio', b'{"record":"frame"', *[b'{"record":"event"'] * count]


def test_what_was_written_is_read_back_without_the_rest_of_a_long_frame(tmp_path: Path) -> None:
    turns: list[Callable[[], None]] = []
    store = Store(Writer(tmp_path / "a.jsonl"), memory=0, soon=turns.append)
    first = store.frame("out", b'{"first":1}', at=1.0)
    store.flush()
    long = store.frame("in", b'{"x":"' + b"a" * 3_000_000 + b'"}', at=2.0)
    last = store.frame("in", b'{"last":1}', at=3.0)
    turns.pop()()
    written = (tmp_path / "a.jsonl").stat().st_size
    assert store.payload(first) == b'{"first":1}'
    assert (tmp_path / "a.jsonl").stat().st_size == written < 3_000_000
    assert store.payload(long) == b'{"x":"' + b"a" * 3_000_000 + b'"}'  # the rest is written for it
    assert store.payload(last) == b'{"last":1}'


def test_frames_and_the_log_keep_the_newest_within_their_bounds() -> None:
    frames, log, long = Frames(capacity=16), EventLog(capacity=16), EventLog(text=1_000)
    for number in range(1, 101):
        frames.append(float(number), "in", "", None, 1, None)
        log.append(note("x", number))
        long.append(note("y" * 300, number))
    for kept in (frames, log, long):
        assert len(kept) <= 16
        assert len(kept) + kept.hidden == 100
        assert kept[-1].at == 100.0
    assert 1 <= len(long) <= 3
