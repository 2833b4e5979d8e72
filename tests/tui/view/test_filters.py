from __future__ import annotations

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.filters import parse
from tests.tui.making import book, called, cancelled, completed, late, started


def rows() -> list[Request]:
    return book(
        started(1, name="Slow_SQL"),
        started(2, name="crawl"),
        completed(id=2),
        started(3, name="slow_sql"),
        cancelled(id=3, reason="wrong table"),
        late(id=3),
        called(212, method="resources/read", name="file:///big log"),
        started(21),
        ev.Overdue(at=60.0, id=21, until=70.0),
    ).order


def found(text: str) -> list[object]:
    wanted = parse(text)
    return [row.id for row in rows() if wanted.matches(row)]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", [1, 2, 3, 212, 21]),
        ("   ", [1, 2, 3, 212, 21]),
        ("state:late", [3]),
        ("state:LATE", [3]),
        ("state:ignored", [3]),
        ("state:in-flight", [1, 21]),
        ("state:flight", [1, 21]),
        ("state:overdue", [21]),
        ("state:queued", [212]),
        ("state:open", [1, 212, 21]),
        ("state:done", [2, 3]),
        ("state:light", []),
        ("name:slow", [1, 3, 21]),
        ("name:slow state:late", [3]),
        ("method:resources", [212]),
        ("id:21", [21]),
        ("id:2", [2]),
        ("reason:wrong", [3]),
        ('reason:"wrong table"', [3]),
        ("/big log/", [212]),
        ("/big log", [212]),
        ('"big log"', [212]),
        ("wrong", [3]),
        ("212", [212]),
        ("crawl slow", []),
        ("tools/call", [1, 2, 3, 21]),
        ("unknown:x", []),
        ("state:", []),
    ],
)
def test_what_a_filter_finds(text: str, ids: list[int]):
    assert found(text) == ids


def test_a_filter_keeps_what_was_typed():
    assert parse(" state:late ").text == "state:late"
    assert parse("x")
    assert not parse("")
