"""The lines of stderr that are shown of a server that failed."""

from __future__ import annotations

import pytest

from mcp_tui.client.stderr_lines import StderrLines

USAGE = [f"  --flag-{number}" for number in range(40)]
TRACE = [f"    at frame {number}" for number in range(20)]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ([], []),
        (["", "no licence", " \t"], ["no licence"]),
        (["Error: no context", *USAGE], ["Error: no context", *USAGE[:3], "… 32 lines left out …", *USAGE[-5:]]),
        ([*USAGE[:9], "x"], [*USAGE[:4], "… 1 line left out …", *USAGE[5:9], "x"]),
        (
            ["a", "b", "c", "d", "e", "Error: old", "f", "Error: no module", *TRACE],
            ["a", "b", "c", "d", "… 3 lines left out …", "Error: no module", "… 15 lines left out …", *TRACE[-5:]],
        ),
    ],
    ids=["none", "blank", "reason first", "reason last", "reason between"],
)  # fmt: skip
def test_the_reason_is_among_the_lines(said: list[str], shown: list[str]):
    lines = StderrLines()
    for each in said:
        lines.add(each)
    assert list(lines) == shown
    assert lines.newest == (shown[-1] if shown else None)


def test_another_process_begins_with_no_lines():
    lines = StderrLines()
    for each in ("a", "b", "c", "d", "Error: e", *USAGE):
        lines.add(each)
    lines.clear()
    assert not lines
    assert list(lines) == []
