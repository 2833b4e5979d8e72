from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.protocol.deadlines import Deadlines, Timer
from mcp_tui.protocol.events import RequestId


def ids(taken: Iterable[tuple[Timer, RequestId]]) -> list[RequestId]:
    return [id_ for _, id_ in taken]


def test_one_may_be_armed_again_while_they_are_taken() -> None:
    deadlines = Deadlines()
    deadlines.arm(Timer.LIMIT, 1, 1.0)
    deadlines.arm(Timer.LIMIT, 2, 2.0)
    taken: list[RequestId] = []
    for _, id_ in deadlines.pop_due(3.0):
        taken.append(id_)
        if len(taken) == 1:
            deadlines.arm(Timer.LIMIT, 1, 2.5)
    assert taken == [1, 2, 1]


MOMENTS = st.none() | st.integers(0, 20).map(float)


@given(st.lists(st.tuples(st.integers(0, 5), MOMENTS) | st.integers(0, 20).map(float), max_size=300))
def test_it_behaves_as_a_dictionary_that_is_searched(steps: list[tuple[int, float | None] | float]) -> None:
    deadlines, model = Deadlines(), dict[int, float]()
    for step in steps:
        if isinstance(step, tuple):
            id_, due = step
            deadlines.arm(Timer.LIMIT, id_, due)
            if due is None:
                model.pop(id_, None)
            else:
                model[id_] = due
        else:
            taken = ids(deadlines.pop_due(step))
            expected = [id_ for id_, due in model.items() if due <= step]
            assert sorted(taken, key=str) == sorted(expected, key=str)
            assert [model[int(id_)] for id_ in taken] == sorted(model[id_] for id_ in expected)
            for id_ in expected:
                del model[id_]
        assert deadlines.next() == min(model.values(), default=None)
