"""The rows at a moment are those that the one fold gives for the events up to it."""

from __future__ import annotations

import random
import tempfile
from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.pings import write as write_pings
from mcp_tui.journal import event_table, records
from mcp_tui.journal.recorded_requests import RecordedRequests, left_at_end
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages, transitions
from mcp_tui.protocol.events import Cause, Kind
from mcp_tui.protocol.requests import Request, Requests, State, fold
from mcp_tui.protocol.server_requests import NONE
from mcp_tui.view.outline import Outline
from mcp_tui.view.rows import logged
from tests.journal.making import STEPS, events, recorded_session, write
from tests.protocol.recorded import agrees_with_its_rows


def agree(requests: RecordedRequests, live: Requests) -> None:
    """What views ask of requests is the same of both."""
    agrees_with_its_rows(live)
    rows = list(live.order)
    if requests.over:  # a recording that ends does not leave anybody watching
        rows = [left_at_end(row, requests.recording.at(requests.position)) for row in rows]
    assert list(requests.order) == rows
    assert len(requests.order) == len(rows)
    for row in rows:
        assert requests.get(row.id) == row
    in_flight, requested, late = live.counts()
    assert requests.counts() == (in_flight, 0 if requests.over else requested, late)
    assert [*requests.cancelled] == [*live.cancelled]
    numbers = range(len(live.order))
    assert [*map(requests.is_over, numbers)] == [*map(live.is_over, numbers)]


@pytest.mark.parametrize(("transport", "revision"), [("stdio", "2025-11-25"), ("http", "2026-07-28")])
@settings(max_examples=20, deadline=None)
@given(steps=st.lists(STEPS, max_size=40), seed=st.integers(0, 100))
def test_at_every_position_forwards_backwards_and_at_random(
    transport: str, revision: str, steps: list[tuple[str, int, float, str]], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        session = recorded_session(path, transport, revision, steps)
        recording = Recording.read(path)
        events = list(session.told)
        positions = list(range(len(events) + 1))
        ways = [*positions, *positions[::-1], *random.Random(seed).choices(positions, k=20)]
        snapshots = [fold(events[:position]) for position in positions]
        requests = RecordedRequests(recording)
        for position in ways:
            version, moved = requests.version, requests.position != position
            assert requests.seek(position) is moved
            assert (requests.version != version) is moved
            agree(requests, snapshots[position])
            assert list(requests.server_requests) == list(snapshots[position].server_requests)


CALL = (ev.Called(at=0.0, id=1, method="tools/call"), ev.Sent(at=0.1, id=1))
CANCEL = ev.CancelRequested(at=0.2, id=1, cause=Cause.USER, reason="")
SHUTDOWN = ev.CancelRequested(at=0.2, id=1, cause=Cause.SHUTDOWN, reason="")
TASK = ev.TaskCreated(at=0.4, id=1, task_id="t", status="working", core=False)


def late(kind: Kind) -> ev.Event:
    return ev.Late(at=0.3, id=1, kind=kind, after=0.1)


@pytest.mark.parametrize(
    "told",
    [
        (CANCEL, late(Kind.TASK), TASK),
        (CANCEL, late(Kind.TASK), TASK, late(Kind.RESULT)),
        (CANCEL, late(Kind.TASK), late(Kind.RESULT), TASK),
        (TASK, CANCEL, late(Kind.TASK)),
        (SHUTDOWN, late(Kind.RESULT)),
        (SHUTDOWN, ev.CancelWithdrawn(at=0.3, id=1), CANCEL, late(Kind.RESULT), late(Kind.ERROR)),
        (CANCEL, ev.Late(at=0.3, id=1, kind=Kind.RESULT, after=0.1, after_end=True)),
    ],
)
def test_what_is_counted_is_what_the_rows_say_after_each_event(
    told: tuple[ev.Event, ...], tmp_path: Path
) -> None:
    live, told = Requests(), CALL + told
    requests = RecordedRequests(Recording.read(write(tmp_path / "a.jsonl", *told)))
    for position, event in enumerate(told, 1):
        live.apply(event)
        requests.seek(position)
        agree(requests, live)


@pytest.mark.parametrize("kind", transitions.ASPECTS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_matters_of_an_event_is_found_in_the_bytes_of_its_record(
    kind: type[ev.Event], data: st.DataObject
) -> None:
    event = data.draw(events(kind))
    line = messages.encode(records.encode_event(event))
    assert event_table.aspect_in(line, transitions.CODES[kind]) == transitions.aspect_of(event)


def storm(kind: str, count: int, *, id: int = 1) -> list[ev.Event]:
    """Many events of a kind for one request, between what comes once."""
    called = [ev.Called(at=0.0, id=id, method="tools/call", name="storm"), ev.Sent(at=0.1, id=id)]
    cancelled = [
        ev.CancelRequested(at=0.2, id=id, cause=Cause.USER, reason="enough"),
        ev.CancelSignalled(at=0.3, id=id, signal=ev.Signal.NOTIFICATION, reason_delivered=True),
    ]
    numbers = range(count)
    match kind:
        case "progress":
            progress = (
                ev.Progress(at=1.0 + each, id=id, progress=each, message=f"{each}") for each in numbers
            )
            return [*called, *progress]
        case "stalled":
            stalled = (ev.Progress(at=1.0 + each, id=id, progress=1.0, rearmed=False) for each in numbers)
            return [*called, ev.Progress(at=0.5, id=id, progress=1.0), *stalled]
        case "duplicate":
            duplicates = (ev.Duplicate(at=1.0 + each, id=id, kind=Kind.RESULT) for each in numbers)
            return [*called, ev.Completed(at=0.5, id=id), *duplicates]
        case "polled":
            return [*called, TASK, *(ev.Polled(at=1.0 + each, id=id) for each in numbers)]
        case "task_status":
            status = [
                ev.TaskStatus(at=1.0 + each, id=id, status="working", message=f"{each}") for each in numbers
            ]
            return [*called, TASK, *status]
        case "delivered":
            return [*called, *(ev.Delivered(at=1.0 + each, id=id, method="x") for each in numbers)]
        case _:
            late = [ev.Late(at=0.4 + each / 100, id=id, kind=Kind.PROGRESS, after=each) for each in numbers]
            return [*called, *cancelled, *late, ev.Late(at=9e9, id=id, kind=Kind.RESULT, after=9e9)]


def reads(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the events that are read from now on."""
    read: list[int] = []
    event = recording.event

    def noted(number: int) -> ev.Event | None:
        read.append(number)
        return event(number)

    monkeypatch.setattr(recording, "event", noted)
    return read


@pytest.mark.parametrize(
    "kind", ["progress", "stalled", "duplicate", "delivered", "late", "polled", "task_status"]
)
def test_a_storm_is_not_read_event_by_event(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = storm(kind, 2000)
    recording = Recording.read(write(tmp_path / "a.jsonl", *events))
    read = reads(recording, monkeypatch)
    requests = RecordedRequests(recording)
    requests.seek(len(recording.table))
    assert len(read) < 400
    (row,) = fold(events).order
    assert requests.order[0] == (left_at_end(row, recording.at(len(events))) if requests.over else row)


def test_a_session_goes_on_when_its_journal_is_renamed_after_its_server(tmp_path: Path) -> None:
    store = Store(Writer(tmp_path / "2026-01-01T000000-npx-7.jsonl", rotate=1 << 20))
    store.event(ev.Called(at=1.0, id=1, method="ping"))
    store.flush()
    (writer,) = store.writers
    recording = Recording.read(writer.path)
    requests = RecordedRequests.whole(recording)
    assert not requests.over
    store.rename_for("everything")
    assert not recording.path.exists()
    requests.seek(0)
    requests.seek(len(recording.table))
    assert not requests.over
    store.close()
    requests.seek(0)
    list(recording.scan())
    requests.seek(len(recording.table))
    assert requests.over


def test_more_requests_than_are_kept_folded_are_all_there(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    for number in range(1, 3001):
        events += [ev.Called(at=number, id=number, method="ping"), ev.Sent(at=number, id=number)]
    requests = RecordedRequests(Recording.read(write(tmp_path / "a.jsonl", *events)))
    requests.seek(len(events))
    assert [row.id for row in requests.order] == list(range(1, 3001))
    first: Request = requests.order[0]
    assert first.state is State.IN_FLIGHT
    assert [requests.order[place].id for place in (-2, -1)] == [2999, 3000]
    with pytest.raises(IndexError):
        requests.order[3000]


def test_log_messages_while_a_request_runs_are_counted_live_and_recorded(tmp_path: Path) -> None:
    texts = ('"mono":9.5, it says', "x")
    logs = [ev.Log(at=at, level="info", data=texts[at % 2 == 0]) for at in (0.5, 1.0, 3.0, 7.0)]
    call = [ev.Called(at=0.6, id=1, method="x"), ev.Sent(at=0.7, id=1)]
    told: list[ev.Event] = [logs[0], *call, logs[1], logs[2], ev.Completed(at=4.0, id=1), logs[3]]
    for strict in (True, False):
        recorded = RecordedRequests(Recording.read(write(tmp_path / f"{strict}.jsonl", *told), strict=strict))
        for position in range(3, len(told) + 1):
            recorded.seek(position)
            live = fold(told[:position])
            now = told[position - 1].at
            counts = [logged(requests.order[0], requests.logged_at, now) for requests in (live, recorded)]
            assert counts == [min(2, position - 3)] * 2


def pings(count: int) -> list[ev.Event]:
    """Pings of the server's, each answered, and a request that waits from the beginning."""
    told: list[ev.Event] = [ev.ServerRequestReceived(at=0.0, request_id="first", method="roots/list")]
    for number in range(count):
        told.append(ev.ServerRequestReceived(at=number, request_id=number, method="ping"))
        told.append(ev.ServerRequestAnswered(at=number, request_id=number))
    return told


def test_a_step_reads_no_request_of_the_servers_but_those_that_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording.read(write(tmp_path / "a.jsonl", *pings(5000)))
    read = reads(recording, monkeypatch)
    requests = RecordedRequests(recording)
    lines = Outline(requests)
    end = len(recording.table)
    for position in (end, end - 1, end - 2, end - 1, end, 4001, 4002, 0, end):
        requests.seek(position)
        lines.update()
    assert (lines.shown, lines.internal_hidden) == (1, 5000)
    assert not read
    item = lines.item(0).server_request
    assert item is not None
    assert item.request_id == "first"
    assert len(read) == 1


def columns(holder: object) -> int:
    """The bytes of all columns that an object holds."""
    held: list[object] = [*vars(holder).values()]
    return sum(memoryview(each).nbytes for each in held if isinstance(each, (array, bytearray)))  # pyright: ignore[reportUnknownArgumentType] - an array of whatever


def test_a_ping_of_the_servers_takes_less_than_a_hundred_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        write_pings(file, 1000)
    recording = Recording.read(path)
    table = recording.table
    assert recording.frame_count == len(table) == 2000
    each = sum(map(columns, (recording, table, table.requests, table.server_requests))) / 1000
    assert each * 9 / 8 < 100  # a column has an eighth to grow into


IDS = st.one_of(st.integers(), st.text(st.sampled_from('a,":\\}é'), max_size=6))


@settings(max_examples=25, deadline=None)
@given(
    told=st.lists(
        st.one_of(
            st.builds(
                ev.ServerRequestReceived,
                at=st.just(1.0),
                request_id=IDS,
                method=st.sampled_from(["ping", "roots/list", '"parent":null', '"method":"ping"', "a,b"]),
                parent=st.one_of(st.none(), st.integers(1, 3)),
            ),
            st.builds(
                ev.ServerRequestAnswered, at=st.just(2.0), request_id=IDS, how=st.sampled_from(["", "accept"])
            ),
            st.builds(ev.ServerRequestWithdrawn, at=st.just(3.0), request_id=IDS),
            st.builds(ev.Disconnected, at=st.just(4.0), detail=st.just("closed")),
        ),
        max_size=20,
    )
)
def test_requests_of_the_servers_are_the_same_live_parsed_and_by_the_ends_of_their_lines(
    told: list[ev.Event],
) -> None:
    answers = [
        ev.ServerRequestAnswered(at=5.0, request_id=each.request_id)
        for each in told[::2]
        if isinstance(each, ev.ServerRequestReceived)
    ]
    events = [ev.Called(at=0.0, id=1, method="tools/call"), *told, *answers]
    live = Requests(keep=0)
    for event in events:
        live.apply(event)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder, "a.jsonl"), *events)
        for strict in (True, False):
            requests = RecordedRequests.whole(Recording.read(path, strict=strict))
            assert list(requests.server_requests) == list(live.server_requests)
            for field in ("over", "ended", "places", "kinds", "children"):
                found, wanted = (getattr(each.server_requests.table, field) for each in (requests, live))
                if field == "over":  # moments count all events in a recording
                    found, wanted = ([each == NONE for each in moments] for moments in (found, wanted))
                assert found == wanted
