"""A recording that is gone through says the same of its requests as one that is held whole."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.journal.recording import Recording, RecordingError
from mcp_tui.journal.store import Store
from mcp_tui.journal.streamed import Fold, Streamed
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request
from tests.cli.keeping import called, cancelled, connected, late
from tests.journal.making import STEPS, Session


def written(path: Path, events: Iterable[ev.Event]) -> Streamed:
    store = Store(Writer(path))
    for event in events:
        store.event(event)
    store.close()
    return Streamed.read(path)


def told(row: Request) -> tuple[object, ...]:
    """All that an export tells of a row; that it was answered again is not among it."""
    return (
        row.id, row.label, row.internal, row.state, row.called_at, row.sent_at, row.ended_at, row.progress_count, row.code,
        row.error, row.cause, row.reason, row.signal, row.settled, tuple(map(str, row.late)), row.summary, row.task_status,
    )  # fmt: skip


@pytest.mark.parametrize(("transport", "revision"), [("stdio", "2025-11-25"), ("http", "2026-07-28")])
@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, max_size=40))
def test_the_requests_are_those_of_the_whole_recording(
    transport: str, revision: str, steps: list[tuple[str, int, float, str]]
):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        session = Session(Store(Writer(path)), transport, revision)
        for step in steps:
            session.step(*step)
        session.store.close()
        whole, streamed = Recording.read(path), Streamed.read(path)
        assert list(streamed.events()) == whole.events
        assert list(streamed.rows(told)) == list(map(told, whole.book().order))
        assert [head for _, head in streamed.frames()] == list(whole.frames)
        for head in whole.frames:
            assert streamed.payload(head.seq) == whole.payload(head.seq) is not None


def test_what_is_over_is_let_go_and_what_was_cancelled_is_not(tmp_path: Path):
    done = ev.Completed(at=101.0, id=1)
    fold = Fold()
    for event in (*called(1), *called(2), *cancelled(2), done):
        assert isinstance(event, ev.RequestEvent)
        assert fold.take(event) is not None
    again = ev.Duplicate(at=102.0, id=1, kind=ev.Kind.RESULT)
    assert fold.take(again) is None
    assert fold.gone(1) == "tools/call slow_sql"
    assert fold.gone("1") is fold.gone(2) is None
    answered = late(2, 0.5)
    assert isinstance(answered, ev.RequestEvent)
    row = fold.take(answered)
    assert row is not None
    assert len(row.late) == 1


def test_an_id_that_is_used_again_makes_no_second_row(tmp_path: Path):
    done = ev.Completed(at=101.0, id=1)
    events = (connected(), *called(1), done, *called(1, name="other"), *called("1"))
    streamed = written(tmp_path / "a.jsonl", events)
    assert list(streamed.rows(lambda row: (row.id, row.name))) == [(1, "slow_sql"), ("1", "slow_sql")]


def test_damage_is_counted_and_left_out(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    written(path, (connected(), *called(1)))
    path.write_bytes(
        path.read_bytes() + b'\x00\n{"record":"event","event":"sent","mono":"x"}\n{"record":"new"}\n{torn'
    )
    streamed = Streamed.read(path)
    assert streamed.skipped == 3
    assert streamed.transports == {"stdio"}
    assert list(streamed.rows(lambda row: row.id)) == [1]
    assert Streamed.read(path).skipped == Recording.read(path).skipped


def test_frames_that_are_out_of_order_are_found(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    store = Store(Writer(path))
    for number in range(1, 5):
        store.frame("in", b'{"n":%d}' % number, at=float(number))
    store.close()
    head, *frames = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((head, *reversed(frames))))
    streamed = Streamed.read(path)
    assert [streamed.payload(seq) for seq in range(6)] == [
        None,
        *(b'{"n":%d}' % n for n in range(1, 5)),
        None,
    ]
    path.unlink()
    assert streamed.payload(1) is None


@pytest.mark.parametrize("text", [b"", b"hello", b'{"record":"session","v":99}'])
def test_what_is_no_recording_is_refused(tmp_path: Path, text: bytes):
    path = tmp_path / "a.jsonl"
    path.write_bytes(text)
    with pytest.raises(RecordingError):
        Streamed.read(path)
    with pytest.raises(RecordingError):
        Streamed.read(tmp_path / "none")
