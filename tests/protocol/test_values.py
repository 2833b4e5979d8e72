"""Value classes take and refuse what dataclasses of the same fields do."""

from __future__ import annotations

from dataclasses import field, replace

import pytest

from mcp_tui.protocol.values import fact, frozen


@fact
class Above:
    """A value."""

    at: float
    seq: int = 0


@fact
class Below(Above):
    """A value with more fields."""

    id: str
    rest: list[int] = field(default_factory=list[int])


@frozen
class Pair:
    """Two values."""

    one: int
    two: str = "two"


def test_first_and_later_objects_have_their_own_defaults() -> None:
    first, second = Below(at=1.0, id="a"), Below(id="a", at=1.0, seq=0)
    assert first == second
    assert first.rest is not second.rest
    assert (Above(at=2.0).seq, Pair(1), Pair(two="x", one=2)) == (0, Pair(1, "two"), Pair(2, "x"))
    assert replace(first, id="b", rest=[1]) == Below(at=1.0, id="b", rest=[1])


@pytest.mark.parametrize(
    ("kind", "given", "named"),
    [
        (Above, (1.0,), {}),
        (Above, (), {}),
        (Below, (), {"at": 1.0}),
        (Pair, (), {}),
        (Pair, (1,), {"three": 3}),
    ],
)
def test_wrong_arguments_are_refused_from_the_first_object_on(
    kind: type, given: tuple[float, ...], named: dict[str, float]
) -> None:
    for _ in range(2):
        with pytest.raises(TypeError):
            kind(*given, **named)
