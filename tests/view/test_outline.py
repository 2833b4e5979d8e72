from __future__ import annotations

import random
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import TERMINAL, Requests
from mcp_tui.protocol.transitions import IllegalTransition
from mcp_tui.view.columns import Sort
from mcp_tui.view.filters import parse
from mcp_tui.view.outline import Outline, Rows
from mcp_tui.view.table_columns import SORTS
from tests.journal.making import STEPS as RECORDED
from tests.journal.making import recorded_session, write
from tests.tui.making import called, cancelled, completed, requests, started

SORTED = {sort.value: sort for sort in SORTS}
NEWEST, ELAPSED, NAME, STATE = (SORTED[each] for each in ("newest", "elapsed", "name", "state"))


def outline(made: Rows) -> Outline:
    found = Outline(made)
    found.update()
    return found


def shown(lines: Outline) -> list[object]:
    """What stands in the lines: ids of ours, and ``<`` before those of the server's, indented where they belong to one."""
    found: list[object] = []
    for line in range(len(lines)):
        item = lines.item(line)
        name: object = None
        if item.server_request is not None:
            name = f"<{item.server_request.request_id}"
        elif item.round_ is not None:
            name = f"round {item.round_.wire_id}"
        elif item.row is not None:
            name = item.row.id
        found.append(name if item.after is None else f"  {name}")
    return found


def errand(id: int, parent: int, *, at: float = 2.0) -> list[ev.Event]:
    made = ev.Called(at=at, id=id, method="tasks/get", name="", internal=True, parent=parent)
    return [made, ev.Sent(at=at, id=id)]


def asked(
    id: str, *, at: float, parent: int | None = None, method: str = "roots/list"
) -> ev.ServerRequestReceived:
    return ev.ServerRequestReceived(at=at, request_id=id, method=method, parent=parent)


def family() -> Requests:
    return requests(
        started(1),
        started(2, at=1.0),
        asked("s1", at=1.045, parent=2, method="sampling/createMessage"),
        errand(3, 2, at=2.0),
        ev.InputRequired(at=3.0, id=2, round=1, asks="elicitation/create"),
        ev.Round(at=4.0, id=2, wire_id=4, number=2),
        started(5, at=5.0),
    )


def test_what_belongs_to_a_row_is_counted_and_stands_under_it_when_it_is_opened():
    lines = outline(family())
    assert shown(lines) == [5, 2, 1]
    assert [lines.item(line).children for line in range(3)] == [0, 3, 0]
    lines.expand((int, 2), expanded=True)
    assert shown(lines) == [5, 2, "  <s1", "  3", "  round 4", 1]
    assert [round(lines.item(line).after or 0, 3) for line in (2, 3, 4)] == [0.045, 1.0, 3.0]
    assert lines.item(1).expanded
    lines.expand((int, 2), expanded=False)
    assert shown(lines) == [5, 2, 1]


def test_requests_of_the_servers_without_a_row_stand_where_they_came_in():
    made = requests(
        started(1), asked("a", at=0.5), started(2, at=1.0), asked("b", at=1.5), asked("c", at=1.6)
    )
    lines = outline(made)
    assert shown(lines) == ["<c", "<b", 2, "<a", 1]
    assert [lines.line(lines.item(line).key) for line in range(5)] == [0, 1, 2, 3, 4]
    lines.refilter(parse("method:roots"), show_internal=False)
    assert shown(lines) == ["<c", "<b", "<a"]
    lines.refilter(parse("name:slow"), show_internal=False)
    assert shown(lines) == [2, 1]


def test_orders():
    made = requests(
        started(1, name="b"),
        completed(id=1, at=3.0),
        started(2, name="a", at=1.0),
        started(3, name="C", at=2.0),
    )
    made.apply(asked("s", at=2.5))
    lines = outline(made)
    orders: dict[Sort, list[object]] = {
        NEWEST: ["<s", 3, 2, 1],
        ELAPSED: [2, 3, 1, "<s"],
        STATE: [3, 2, 1, "<s"],
        NAME: [2, 1, 3, "<s"],
    }
    for sort, ids in orders.items():
        lines.resort(sort, 10.0)
        assert shown(lines) == ids, sort
        assert [lines.line(lines.item(line).key) for line in range(4)] == [0, 1, 2, 3]
    made.apply(called(4, name="aa", at=4.0))
    made.apply(completed(id=2, at=9.0))
    lines.update()
    assert shown(lines) == [4, 2, 1, 3, "<s"], "it holds still, and what is new waits on top"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["call", "own", "errand", "ask", "ask of", "end", "cancel", "settle", "open", "close"]
        ),
        st.integers(1, 8),
    ),
    max_size=50,
)
FILTERS = st.sampled_from(["", "state:flight", "state:completed", "state:open", "3", "id:2"])


@given(STEPS, FILTERS, st.sampled_from(SORTS), st.booleans(), st.integers(1, 7))
def test_every_line_has_one_key_and_every_row_that_passes_has_its_line(
    steps: list[tuple[str, int]], text: str, sort: Sort, show_internal: bool, every: int
):
    made = Requests()
    lines = outline(made)
    wanted = parse(text)
    lines.refilter(wanted, show_internal=show_internal)
    lines.resort(sort, 0.0)
    for at, (verb, number) in enumerate(steps, 1):
        id = len(made.order) + 1
        events: dict[str, list[ev.Event]] = {
            "call": started(id, at=at),
            "own": [called(id, at=at, internal=True), ev.Sent(at=at, id=id)],
            "errand": errand(id, number, at=at),
            "ask": [asked(f"s{at}", at=at)],
            "ask of": [asked(f"s{at}", at=at, parent=number)],
            "end": [completed(id=number, at=at)],
            "cancel": cancelled(id=number, at=at),
            "settle": [ev.Settled(at=at, id=number)],
        }
        try:
            for event in events.get(verb, ()):
                made.apply(event)
        except IllegalTransition:
            pass
        if verb in {"open", "close"}:
            lines.expand((int, number), expanded=verb == "open")
        if at % every:
            continue
        lines.update()
        items = [lines.item(line) for line in range(len(lines))]
        keys = [item.key for item in items]
        assert [lines.item(lines.line(each) or 0).key for each in keys] == keys
        passing = {
            row.id
            for row in made.order
            if row.parent is None
            and wanted.matches(row)
            and (show_internal or not row.internal or row.state not in TERMINAL)
        }
        assert {item.row.id for item in items if item.row is not None and item.row.parent is None} == passing
        if not text:
            assert len(set(keys)) == len(keys)
            assert [lines.line(each) for each in keys] == list(range(len(keys)))
            tops = [item.key for item in items if item.after is None]
            if sort is NEWEST:
                moments = [_at(lines, each) for each in tops]
                assert moments == sorted(moments, reverse=True)


def _at(lines: Outline, key: tuple[type, ev.RequestId]) -> float:
    line = lines.line(key)
    assert line is not None
    item = lines.item(line)
    if item.server_request is not None:
        return item.server_request.at
    assert item.row is not None
    return item.row.called_at


def ids(index: Outline) -> list[object]:
    return [index.item(line).key[1] for line in range(len(index))]


def test_own_requests_are_hidden_when_they_are_over_and_not_before():
    made = requests(called(1, internal=True), ev.Sent(at=0.0, id=1), called(2))
    index = Outline(made)
    index.update()
    assert ids(index) == [2, 1]
    made.apply(completed(id=1))
    index.update()
    assert ids(index) == [2]
    assert (index.total, index.internal_hidden) == (1, 1)
    index.refilter(parse(""), show_internal=True)
    assert ids(index) == [2, 1]


def test_the_total_under_a_filter_has_no_request_below_a_row_and_none_that_is_hidden():
    own = [called(1, internal=True), ev.Sent(at=0.0, id=1), completed(id=1)]
    index = outline(requests(own, started(2), asked("a", at=1.0, parent=2), asked("b", at=2.0)))
    index.refilter(parse("zzz"), show_internal=False)
    assert (index.shown, index.total, index.internal_hidden) == (0, 2, 1)


def test_a_cancel_that_a_recording_leaves_open_passes_another_filter_at_its_end(tmp_path: Path):
    recording = Recording.read(write(tmp_path / "a.jsonl", *started(1), *cancelled(id=1), *started(2)))
    moment = RecordedRequests(recording)
    moment.seek(len(recording.table) - 1)
    index = Outline(moment)
    index.refilter(parse("state:requested"), show_internal=False)
    assert ids(index) == [1]
    moment.seek(len(recording.table))
    index.update()
    assert ids(index) == []
    moment.seek(len(recording.table) - 1)
    index.update()
    assert ids(index) == [1]


def test_a_recording_that_goes_back_leaves_the_lines_their_keys_until_they_are_looked_at_again(
    tmp_path: Path,
):
    recording = Recording.read(write(tmp_path / "a.jsonl", *started(1), asked("s-1", at=3.0)))
    moment = RecordedRequests(recording)
    moment.seek(len(recording.table))
    index = outline(moment)
    keys = [*map(index.key, range(2))]
    moment.seek(1)
    assert [*map(index.key, range(2))] == keys


def told(index: Outline) -> tuple[object, ...]:
    """Everything that the lines say of themselves."""
    while index.unfiltered:
        index.update()
    items = [index.item(line) for line in range(len(index))]
    lines = [index.line(item.key) for item in items]
    below = [(item.key, item.children, item.server_request and item.server_request.outcome) for item in items]
    return below, lines, index.shown, index.total, index.internal_hidden


@settings(max_examples=20, deadline=None)
@given(steps=st.lists(RECORDED, max_size=40), text=FILTERS, own=st.booleans(), seed=st.integers(0, 100))
@example(steps=[("asks", 1, 0.0, ""), ("call", 1, 0.0, "")], text="", own=False, seed=0)
def test_a_step_in_a_recording_finds_what_a_new_look_finds(
    steps: list[tuple[str, int, float, str]], text: str, own: bool, seed: int
):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        recorded_session(path, "stdio", "2025-11-25", steps)
        moment = RecordedRequests(Recording.read(path))
        index = Outline(moment)
        index.refilter(parse(text), show_internal=own)
        for position in random.Random(seed).choices(range(len(moment.recording.table) + 1), k=20):
            moment.seek(position)
            index.update()
            again = Outline(moment)
            again.refilter(parse(text), show_internal=own)
            assert told(index) == told(again)
