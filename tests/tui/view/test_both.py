"""The log and the wire in one list: in the order in which things happened, each line where it was first seen."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.journal.frames import FrameHead, Frames
from mcp_tui.journal.store import Log
from mcp_tui.protocol import events as ev
from mcp_tui.tui.view.both import BothLines, Told, about, counterpart
from mcp_tui.tui.view.log import LogLines
from mcp_tui.tui.view.text import width
from mcp_tui.tui.view.wire import WireLines
from tests.tui.making import book, started

KEPT = 8


class Session:
    """A log and a wire that keep few lines, and both of them."""

    def __init__(self) -> None:
        self.said, self.sent = Log(KEPT, 10_000), Frames(KEPT)
        self.log, self.wire = LogLines(self.said, origin=0.0), WireLines(self.sent, origin=0.0)
        self.both = BothLines(self.log, self.wire, self.before, live=True)
        self._frames = 0

    def before(self, number: int) -> int:
        at = self.log.item(number).at
        return self.sent.hidden + sum(head.at <= at for head in self.sent)

    def say(self, at: float, text: str = "x") -> None:
        self.said.append(ev.Note(at=at, text=text))

    def send(self, at: float, id: int | None = None) -> None:
        self._frames += 1
        self.sent.append(FrameHead(self._frames, at, "out", "m", id, 9))

    @property
    def told(self) -> list[Told]:
        return [self.both.item(number) for number in range(self.both.start, self.both.end)]


def test_lines_stand_in_the_order_in_which_things_happened():
    session = Session()
    session.send(1.0)
    session.say(2.0)
    session.say(2.5)
    session.send(3.0)
    assert [told.at for told in session.told if told is not None] == [1.0, 2.0, 2.5, 3.0]
    lines = [session.both.line(number, 60) for number in range(4)]
    assert [line.text[:1] for line in lines] == ["→", " ", " ", "→"]
    clocks = {line.text.index(":") for line in lines}
    assert len(clocks) == 1, "the times stand below each other"
    assert all(width(line.text) <= 60 for line in lines)


@given(st.lists(st.tuples(st.sampled_from(["say", "send", "look"]), st.integers(0, 3)), max_size=60))
def test_a_line_keeps_its_number_and_is_there_once(story: Sequence[tuple[str, int]]):
    session, clock = Session(), 0.0
    known: dict[int, Told] = {}
    for what, passed in story:
        clock += passed
        if what == "say":
            session.say(clock)
        elif what == "send":
            session.send(clock)
        else:
            both = session.both
            found = {number: both.item(number) for number in range(both.start, both.end)}
            for number, told in found.items():
                assert known.setdefault(number, told) == told
            frames = [told.seq for told in found.values() if isinstance(told, FrameHead)]
            assert frames == sorted(set(frames))
            times = [told.at for told in found.values() if told is not None]
            assert times == sorted(times)
            assert both.end == session.log.end + session.wire.end


def test_what_a_clock_says_late_does_not_move_what_was_seen():
    session = Session()
    session.send(5.0)
    assert len(session.told) == 1
    session.say(1.0)
    assert [told.at for told in session.told if told is not None] == [5.0, 1.0]


def test_of_a_list_that_let_lines_go_only_the_time_is_shown_that_both_still_have():
    session = Session()
    session.say(0.0)
    for at in range(3 * KEPT):
        session.send(float(at))
    assert session.both.start > 0
    assert all(isinstance(told, FrameHead) for told in session.told)


def test_the_same_thing_is_found_by_its_frame_or_else_the_nearest_of_the_same_request():
    session = Session()
    (row,) = book(started(7)).order

    def belongs(head: FrameHead | None) -> bool:
        return head is not None and head.id == 7

    session.send(1.0, id=7)
    session.send(2.0, id=9)
    broken = ev.Violation(at=2.0, rule="r", detail="d", seq=2)
    session.said.append(broken)
    session.send(3.0, id=7)
    late = ev.Violation(at=3.5, rule="r", detail="d", id=7)
    session.said.append(late)
    note = ev.Note(at=9.0, text="x")
    assert counterpart(session.wire, broken) == 1, "its frame"
    assert counterpart(session.wire, late, row, belongs) == 2, "the nearest of its request"
    assert counterpart(session.wire, note) is None
    assert counterpart(session.log, session.wire.item(0), row, belongs) == 1
    assert counterpart(session.both, late) == 4, "itself"
    assert (about(late), about(note)) == (7, None)
