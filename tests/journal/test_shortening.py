"""What is left of a journal whose oldest parts were removed while it was written."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui import clock
from mcp_tui.journal.journal_files import journals, part_path, parts_of
from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header
from mcp_tui.journal.retention import DAY, TENDED_SECONDS, Retention
from mcp_tui.journal.shortening import shorten
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Signal
from tests.journal.making import STEPS, Session

NAME = "2026-01-01T101010-demo-1"
MEGABYTE = 1_000_000


def ids(recording: Recording) -> list[int]:
    return [int(row.id) for row in RecordedRequests.whole(recording).order]


class Turns:
    """A loop of which each turn is run by hand."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def soon(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def run(self) -> None:
        while self._calls:
            self._calls.pop(0)()


class Running:
    """A session that writes a journal of a megabyte."""

    def __init__(self, folder: Path, retention: Retention | None = None) -> None:
        self.path = folder / f"{NAME}.jsonl"
        limits = retention or Retention(size=MEGABYTE)
        self.turns = Turns()
        self.writer = Writer(self.path, header=Header.now(), retention=limits)
        self.store = Store(self.writer, soon=self.turns.soon)
        self._ids = count(1)

    def ids(self) -> list[int]:
        """The ids of the requests that can be read."""
        return ids(Recording.read(self.path))

    def request(self, method: str = "tools/call", answer: str | None = "", text: str = "") -> int:
        """A request, and its answer unless that is ``None``; returns its id."""
        id_, at = next(self._ids), monotonic()
        raw = b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"text":"%s"}}' % (
            id_,
            method.encode(),
            text.encode(),
        )
        seq = self.store.frame("out", raw, at=at, method=method, id=id_)
        self.store.event(ev.Called(at=at, id=id_, method=method, name="slow"))
        self.store.event(ev.Sent(at=at, id=id_, seq=seq))
        if answer is not None:
            self.answer(id_, answer)
        return id_

    def answer(self, id_: int, text: str) -> None:
        raw = b'{"jsonrpc":"2.0","id":%d,"result":{"text":"%s"}}' % (id_, text.encode())
        seq = self.store.frame("in", raw, at=monotonic(), id=id_)
        self.store.event(ev.Completed(at=monotonic(), id=id_, seq=seq, size=len(raw)))

    def cancelled(self) -> int:
        """A request that was cancelled, and got no reply."""
        id_, at = self.request(answer=None), monotonic()
        self.store.event(ev.CancelRequested(at=at, id=id_, cause=Cause.USER, reason="too slow"))
        self.store.event(ev.CancelSignalled(at=at, id=id_, signal=Signal.NOTIFICATION, reason_delivered=True))
        self.store.event(ev.Settled(at=at, id=id_))
        return id_

    def flood(self, size: int) -> None:
        """Writes calls of a kilobyte, for so many bytes."""
        for _ in range(size // 1000):
            self.request(text="x" * 250, answer="y" * 250)
            self.turns.run()

    def sizes(self) -> int:
        return sum(each.size for each in journals(self.path.parent))


def test_a_running_journal_keeps_its_size_and_what_later_messages_need(tmp_path: Path) -> None:
    others = [tmp_path / f"2025-0{number}-01T101010-demo-1.jsonl" for number in range(1, 7)]
    for other in others:
        other.write_bytes(b"x" * 100_000)
    session = Running(tmp_path)
    session.request("initialize", "the handshake")
    session.store.event(
        ev.Connected(at=monotonic(), transport="stdio", revision="2025-11-25", server="srv 1", client="c 2")
    )
    session.request("tools/list", "the tools")
    session.request(answer="finished long ago")
    waiting, cancelled = session.request(text="still open", answer=None), session.cancelled()
    for _ in range(40):
        session.flood(100_000)
        assert session.sizes() < 1.1 * MEGABYTE
    assert all(other.exists() for other in others)
    session.answer(waiting, "at last")
    newest = session.request()
    session.turns.run()
    recording = Recording.read(session.path)
    assert (recording.skipped, recording.unknown, recording.table.misfits) == (0, 0, 0)
    assert recording.removed.startswith(f"messages before {clock.local_stamp(clock.wall())[:11]}")
    assert recording.removed.endswith("were removed: the journal reached its size")
    assert recording.removed in [event.text for event in recording.events() if isinstance(event, ev.Note)]
    assert [each.server for each in recording.connections().values()] == ["srv 1"]
    requests = RecordedRequests.whole(recording)
    found = ids(recording)
    assert found[:4] == [1, 2, waiting, cancelled]
    assert found[4:] == [*range(newest - len(found) + 5, newest + 1)]
    row = requests.order[2]
    assert (row.open, recording.payload(row.request_seq), recording.payload(row.response_seq)) == (
        False,
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"text":"still open"}}',
        b'{"jsonrpc":"2.0","id":4,"result":{"text":"at last"}}',
    )
    assert b"the tools" in (recording.payload(requests.order[1].response_seq) or b"")
    assert requests.cancelled[0] == 3
    assert session.writer.payload(1) is None
    assert session.writer.payload(recording.frame_count) is None
    last = recording.head(recording.frame_count - 1)
    assert last is not None
    assert session.writer.payload(last.seq) == recording.payload(last.seq)


def test_a_recording_that_was_asked_for_has_no_bound(tmp_path: Path) -> None:
    session = Running(tmp_path)
    whole = Writer(tmp_path / "whole.txt", recording=True)
    session.store = Store(session.writer, whole, soon=session.turns.soon)
    session.flood(2 * MEGABYTE)
    session.store.close()
    assert ids(Recording.read(whole.path)) == [*range(1, 2001)]


def test_a_follower_reads_on_while_parts_are_removed(tmp_path: Path) -> None:
    session = Running(tmp_path)
    session.turns.run()
    steady, late = Recording(session.path), Recording(session.path)
    for number in range(30):
        session.flood(100_000)
        for _ in steady.scan():
            pass
        if number == 1:
            for _ in late.scan():
                pass
    assert ids(steady) == [*range(1, 3001)]
    assert (steady.removed, steady.skipped) == ("", 0)
    for _ in late.scan():
        pass
    assert (ids(late)[:200], ids(late)[-100:]) == ([*range(1, 201)], [*range(2901, 3001)])
    assert late.removed == "messages were removed before they were read: the journal reached its size"
    assert (late.skipped, late.table.misfits) == (0, 0)


def test_little_room_is_left_for_a_journal_beside_finished_ones(tmp_path: Path) -> None:
    finished = tmp_path / "2025-01-01T101010-demo-1.jsonl"
    finished.write_bytes(b"x" * 900_000)
    session = Running(tmp_path)
    session.flood(2 * MEGABYTE)
    assert finished.exists()
    assert 30_000 < session.sizes() - 900_000 < 130_000


def test_days_hold_while_a_session_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.awake()
    monkeypatch.setattr(clock, "awake", lambda: now)
    session = Running(tmp_path, Retention(days=30))
    waiting = session.request(answer=None)
    old = tmp_path / "2025-01-01T101010-demo-1.jsonl"
    for day in range(1, 60):
        now += DAY
        if day == 45:
            old.write_bytes(b"x")
            os.utime(old, (clock.wall() - 31 * DAY, clock.wall() - 31 * DAY))
        session.request(text=f"day {day}")
        session.turns.run()
        assert not old.exists()
    recording = Recording.read(session.path)
    first, *days = ids(recording)
    assert first == waiting
    assert days == [*range(days[0], 61)]
    assert 30 <= len(days) <= 35
    assert recording.removed.endswith("were removed: they are older than 30 days")
    said = [event.text for event in recording.events() if isinstance(event, ev.Note)]
    assert "deleted 1 recording (2025-01-01T101010-demo-1), older than 30 days" in said
    now += 60 * DAY
    session.store.tend()  # without any message
    session.turns.run()
    assert session.ids() == [waiting]
    assert len(parts_of(session.path)) == 2


def test_what_is_not_due_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.awake()
    monkeypatch.setattr(clock, "awake", lambda: now)
    session = Running(tmp_path, Retention(days=30))
    session.turns.run()
    old = tmp_path / "2025-01-01T101010-demo-1.jsonl"
    old.write_bytes(b"x")
    os.utime(old, (clock.wall() - 31 * DAY, clock.wall() - 31 * DAY))
    now += TENDED_SECONDS - 1
    session.request()
    session.turns.run()
    assert old.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from mcp_tui.journal.shortening import shorten
Path.unlink = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
path = Path(sys.argv[1])
header = path.read_bytes().partition(b"\\n")[0] + b"\\n"
for _ in shorten(path, range(1, 4), header, "x", space=10_000, since=0.0):
    pass
"""


def test_a_process_killed_between_two_steps_leaves_a_whole_journal(tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.jsonl"
    store = Store(Writer(path, rotate=2_000))
    for at in range(60):
        store.event(ev.Called(at=at, id=at, method="ping"))
        store.event(ev.Completed(at=at, id=at, size=2))
    store.close()
    kept = len(ids(Recording.read(part_path(path, 4))))
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert part_path(path, 2).exists(), "it was not killed"
    assert parts_of(path)[1] == part_path(path, 4)
    found = ids(Recording.read(path))
    assert found == [*range(60 - len(found), 60)]
    assert len(found) >= kept


def test_the_most_needed_is_kept_where_not_all_has_room(tmp_path: Path) -> None:
    session = Running(tmp_path, Retention())
    session.request("initialize", "z" * 2_000)
    for _ in range(20):
        session.cancelled()
    waiting = session.request(answer=None, text="w" * 3_000)
    session.turns.run()
    session.writer._rotate = 1  # pyright: ignore[reportPrivateUsage] - a part ends here
    session.request()
    session.turns.run()
    header = session.path.read_bytes().partition(b"\n")[0] + b"\n"
    for _ in shorten(session.path, range(1, 2), header, "x", space=6_000, since=0.0):
        pass
    requests = RecordedRequests.whole(recording := Recording.read(session.path))
    found = ids(recording)
    assert (found[0], found[-2:]) == (1, [waiting, waiting + 1])
    assert found[1:-2] == [*range(found[1], waiting)], "of the cancelled ones the newest"
    assert 2 <= len(found[1:-2]) < 20
    assert recording.payload(requests.order[-2].request_seq) is not None
    assert session.path.stat().st_size < 7_000


@settings(max_examples=30)
@given(steps=st.lists(STEPS, min_size=20, max_size=60), cut=st.integers(1, 6))
def test_a_row_that_is_kept_is_as_in_the_whole_journal(
    steps: list[tuple[str, int, float, str]], cut: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, whole = Path(folder, f"{NAME}.jsonl"), Path(folder, "whole.jsonl")
        writer = Writer(path, rotate=1_500)
        session = Session(Store(writer, Writer(whole)), "stdio", "2025-11-25")
        for step in steps:
            session.step(*step)
        session.store.close()
        parts = len(parts_of(path))
        if parts < 2:
            return
        cut = min(cut, parts - 1)
        before = RecordedRequests.whole(Recording.read(path, strict=False))
        header = path.read_bytes().partition(b"\n")[0] + b"\n"
        removed = Recording(path, last=cut)
        for _ in removed.scan():
            pass
        open_ = {row.id for row in RecordedRequests.whole(removed).order if row.open}
        for number in range(1, cut + 1):  # one after the other, as a session does it
            for _ in shorten(path, range(number, number + 1), header, "x", space=10**6, since=0.0):
                pass
        recording = Recording.read(path)
        assert (recording.skipped, recording.unknown, recording.table.misfits) == (0, 0, 0)
        rows = {row.id: row for row in RecordedRequests.whole(recording).order}
        full = {row.id: row for row in before.order}
        assert all(row == full[id_] for id_, row in rows.items())
        later = [row.id for row in before.order][len(removed.table.first) :]
        assert {*open_, *later} <= {*rows}
