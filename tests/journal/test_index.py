from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.journal import index, journal_files
from mcp_tui.journal.index import LoggedCancellation
from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header, read_record
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Cause, Kind
from mcp_tui.protocol.evidence import RECORDING_ENDS, Outcome
from mcp_tui.protocol.requests import Request, State
from tests.cli.keeping import WALL, called, connected, late
from tests.cli.keeping import cancelled as cancelling
from tests.journal.making import STEPS, Session
from tests.protocol import claims

NAME = "2026-01-01T101010-demo-1"


def journal(place: Path) -> Writer:
    return Writer(
        place / f"{NAME}.jsonl", header=Header(id=NAME[-12:], wall=WALL, mono=100.0, target="npx demo")
    )


def cancel(id: int, *, cause: Cause = Cause.USER) -> list[ev.Event]:
    """A call, written at 100, and its cancel."""
    return [*called(id), *cancelling(id, cause=cause)]


def settled(id: int) -> ev.Event:
    return ev.Settled(at=104.0, id=id)


CONNECTED = connected()


def write(writer: Writer, *events: ev.Event | list[ev.Event]) -> None:
    for _ in writer.write(event for each in events for event in (each if isinstance(each, list) else [each])):
        pass


def entries(place: Path, *, internal: bool = False) -> list[LoggedCancellation]:
    return index.find(index.sessions(place), internal=internal)


def cancelled(place: Path, *, internal: bool = False) -> list[Request]:
    return [entry.row for entry in entries(place, internal=internal)]


def outcomes(place: Path) -> list[Outcome]:
    return [evidence.outcome(each.row, each.until) for each in entries(place)]


def in_index(place: Path) -> int:
    """How many cancellations the file has, without being brought up to date."""
    _checksum, *lines = (place / index.CACHE_NAME).read_text().splitlines()
    return sum(len(json.loads(line)["cancellations"]) for line in lines)


# -- what it holds ---------------------------------------------------------------------------------------------


WIRES = [("stdio", "2025-11-25"), ("http", "2025-03-26"), ("http", "2026-07-28")]


@pytest.mark.parametrize(("transport", "revision"), WIRES)
@settings(max_examples=25)
@given(steps=st.lists(STEPS, max_size=60), cuts=st.sets(st.integers(0, 60), max_size=4))
def test_the_index_says_what_the_live_requests_say_however_often_it_looks(
    tmp_path_factory: pytest.TempPathFactory,
    transport: str,
    revision: str,
    steps: list[tuple[str, int, float, str]],
    cuts: set[int],
) -> None:
    place = tmp_path_factory.mktemp("index")
    store = Store(journal(place))
    session = Session(store, transport, revision)
    for number, step in enumerate(steps):
        session.step(*step)
        if number in cuts:
            entries(place)
    store.flush()
    found = entries(place, internal=True)
    until = found[0].until if found else 0.0
    rows = {row.id: row for row in session.ledger.requests.order}
    live = [row for row in rows.values() if evidence.cancel_of(row) is not None]
    assert sorted(told(each.row, each.until) for each in found) == sorted(told(row, until) for row in live)
    assert len(entries(place)) == sum(not row.cancel_is_internal for row in live)
    again = index.find(map(index.read_session, journal_files.journals(place)), internal=True)
    assert again == index.find(index.sessions(place), internal=True)
    for entry in found:
        assert (entry.row.state, entry.row.late) == (rows[entry.row.id].state, rows[entry.row.id].late)
    calls = index.calls(index.sessions(place), internal=True)
    assert {each.id: (each.name, each.took, each.size) for each in calls} == {
        row.id: (row.name, _rounded(row.answered_after), row.response_size) for row in rows.values()
    }
    store.close()  # without a word, as the system does it for a client that is killed
    _nobody_watches(place, session)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def test_a_cancel_that_failed_is_looked_at_again_once_nobody_watches(tmp_path: Path) -> None:
    writer = journal(tmp_path)
    write(writer, cancel(1)[:3], ev.Undelivered(at=102.0, id=1, detail="broken pipe"))
    (watched,) = entries(tmp_path)
    assert watched.row.state is State.CANCEL_REQUESTED
    writer.close()  # without another word: the file is the same
    (left,) = entries(tmp_path)
    assert evidence.delivery_words(left.row, left.until) == "not delivered: broken pipe"
    assert (left.row.state, left.row.settled) == (State.CANCELLED, RECORDING_ENDS)


def _nobody_watches(place: Path, session: Session) -> None:
    """In a recording that nobody goes on with no cancel is watched; index and replay say what its events show."""
    recording = Recording.read(place / f"{NAME}.jsonl")
    end = recording.at(len(recording.table))
    replayed = [row for row in RecordedRequests.whole(recording).order if evidence.cancel_of(row) is not None]
    found = entries(place, internal=True)
    assert sorted(told(each.row, each.until) for each in found) == sorted(told(row, end) for row in replayed)
    for row in replayed:
        events = [
            event for event in session.told if isinstance(event, ev.RequestEvent) and event.id == row.id
        ]
        if row.settled == RECORDING_ENDS:
            events.append(ev.Settled(at=end, id=row.id, detail=RECORDING_ENDS))
        assert Outcome.WATCHING not in evidence.outcomes(row, end)
        claims.check(row, events, end)


def told(row: Request, until: float) -> str:
    """All that is told of a cancellation, as text, so that it can be sorted."""
    came = [each.value for each in evidence.outcomes(row, until)]
    return json.dumps([evidence.cancellation_json(row, until), came, until], sort_keys=True)


def test_the_cancels_of_the_client_itself_are_in_no_list_or_count(tmp_path: Path) -> None:
    own = cancel(2)
    own[0] = ev.Called(at=100.0, id=2, method="server/discover", internal=True)
    listen = cancel(3)
    listen[0] = ev.Called(at=100.0, id=3, method="subscriptions/listen")
    write(journal(tmp_path), CONNECTED, cancel(1), own, listen, cancel(4, cause=Cause.SHUTDOWN), late(2, 0.5))
    probed = tmp_path / "2026-01-02T101010-x-1.jsonl"
    write(Writer(probed, header=Header.now("npx demo", purpose="probe")), cancel(5))
    assert [row.id for row in cancelled(tmp_path)] == [1]
    assert sorted(row.id for row in cancelled(tmp_path, internal=True)) == [1, 2, 3, 4, 5]


def watched(place: Path) -> float:
    (entry,) = entries(place)
    return evidence.watched(entry.row, entry.until)


def test_what_was_watched_on_is_so_however_often_it_was_looked_at(tmp_path: Path) -> None:
    writer = journal(tmp_path)
    write(writer, cancel(1), settled(1))
    assert watched(tmp_path) == 2.0
    write(writer, ev.Note(at=160.0, text="still there"))
    assert watched(tmp_path) == 58.0


# -- read on ---------------------------------------------------------------------------------------------------


def test_only_a_file_that_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = journal(tmp_path)
    write(writer, CONNECTED, cancel(1), settled(1), cancel(2), settled(2))
    assert outcomes(tmp_path) == [Outcome.NO_REPLY, Outcome.NO_REPLY]
    read: list[Path] = []
    read_session = index.read_session

    def reading(journal: journal_files.Journal) -> index.RecordedSession:
        read.append(journal.paths[0])
        return read_session(journal)

    monkeypatch.setattr(index, "read_session", reading)
    assert len(entries(tmp_path)) == 2
    assert read == []
    write(writer, late(2, 0.5), cancel(3))
    found = [Outcome.NO_REPLY, Outcome.LATE_RESULT, Outcome.WATCHING]
    assert outcomes(tmp_path) == found
    assert read == [writer.path]


def test_a_file_that_was_changed_is_read_anew(tmp_path: Path) -> None:
    writer = journal(tmp_path)
    write(writer, cancel(1), cancel(2))
    assert len(entries(tmp_path)) == 2
    path = writer.path
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"wrong table", b"other table"))
    os.utime(path, (1e9, 1e9))
    assert {row.reason for row in cancelled(tmp_path)} == {"other table"}
    path.write_bytes(whole[: whole.index(b'"id":2') - 60])
    assert [row.id for row in cancelled(tmp_path)] == [1]
    path.unlink()
    path.with_name("new").write_bytes(whole)
    path.with_name("new").rename(path)
    assert len(entries(tmp_path)) == 2
    path.unlink()
    assert entries(tmp_path) == []
    assert in_index(tmp_path) == 0


# -- damage ----------------------------------------------------------------------------------------------------


def test_every_cut_of_a_journal_can_be_read_and_read_on(tmp_path: Path) -> None:
    writer = journal(tmp_path)
    write(writer, CONNECTED, cancel(1), late(1, 0.1, Kind.PROGRESS), settled(1))
    writer.close()
    whole = writer.path.read_bytes()
    for cut in range(0, len(whole), 23):
        writer.path.write_bytes(whole[:cut])
        first = entries(tmp_path)
        records = map(read_record, whole[:cut].splitlines())  # the last line may lack its end alone
        assert len(first) == any((each or {}).get("event") == "cancel_requested" for each in records)
        with writer.path.open("ab") as file:
            file.write(whole[cut:])
        assert outcomes(tmp_path) == [Outcome.NO_REPLY]


def test_a_damaged_call_in_a_long_journal_hides_its_own_cancel_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_tui.journal.recording.STRICT_BYTES", 0)
    writer = journal(tmp_path)
    write(writer, cancel(6), settled(6), cancel(7), settled(7))
    writer.close()
    lines = writer.path.read_bytes().splitlines(keepends=True)
    broken = next(at for at, line in enumerate(lines) if b'"called"' in line and b'"id":7' in line)
    lines[broken] = lines[broken].replace(b"slow_sql", b"\0")
    writer.path.write_bytes(b"".join(lines))
    assert [(row.id, row.name) for row in cancelled(tmp_path)] == [(6, "slow_sql")]


# -- the file --------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Path]:
    write(journal(tmp_path), CONNECTED, cancel(1), settled(1))
    assert len(entries(tmp_path)) == 1
    yield tmp_path
    assert len(entries(tmp_path)) == 1
    assert in_index(tmp_path) == 1


def test_it_is_read_each_time_where_it_cannot_be_written(filled: Path) -> None:
    path = filled / index.CACHE_NAME
    path.unlink()
    path.mkdir()
    assert len(entries(filled)) == 1
    path.rmdir()


def test_a_line_that_is_whole_but_not_as_it_was_written_is_not_believed(filled: Path) -> None:
    path = filled / index.CACHE_NAME
    path.write_bytes(path.read_bytes().replace(b'"wall":', b'"wail":'))
    assert len(entries(filled)) == 1
    assert in_index(filled) == 1


def test_nothing_waits_for_a_pipe_in_its_place(filled: Path) -> None:
    path = filled / index.CACHE_NAME
    path.unlink()
    os.mkfifo(path)
    assert len(entries(filled)) == 1


@pytest.mark.parametrize("damage", [b"no index\n" * 1000, b"{}\n", b"\xff", b""])
def test_an_index_that_is_damaged_is_made_anew(filled: Path, damage: bytes) -> None:
    (filled / index.CACHE_NAME).write_bytes(damage)
