"""Work that is shared among processes."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

import pytest

from mcp_tui.cli import main
from mcp_tui.journal import workers
from mcp_tui.journal.workers import in_parallel
from tests.journal.test_canonical_lines import write


@pytest.fixture(autouse=True)
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PLACES", 10)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)


def test_the_results_come_in_order_and_from_other_processes() -> None:
    found = [*in_parallel(95, lambda places: (os.getpid(), [*places]))]
    assert [*chain.from_iterable(places for _, places in found)] == [*range(95)]
    assert len({pid for pid, _ in found} - {os.getpid()}) == 3


def test_a_process_that_ends_is_replaced_and_its_error_is_raised_here() -> None:
    parent = os.getpid()

    def work(places: range) -> tuple[int, range]:
        if os.getpid() != parent and 50 in places:
            os._exit(1)
        if 90 in places:
            raise ZeroDivisionError("here")
        return os.getpid(), places

    found = in_parallel(95, work)
    made = [next(found) for _ in range(9)]
    assert [*chain.from_iterable(places for _, places in made)] == [*range(90)]
    with pytest.raises(ZeroDivisionError, match="here"):
        next(found)
    for pid in {pid for pid, _ in made} - {parent}:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def test_few_places_need_no_process() -> None:
    assert [*in_parallel(0, len)] == []
    assert [*in_parallel(15, lambda places: (os.getpid(), len(places)))] == [
        (os.getpid(), 10),
        (os.getpid(), 5),
    ]


def test_check_and_export_say_the_same_with_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "long.jsonl")
    write(Path(path))
    filters = (
        "--fail-on",
        "state:late",
        "--fail-on",
        "why",
        "--fail-on",
        "size:>3",
        "--expect",
        "state:done",
    )
    said: list[str] = []
    for cores in (3, 1):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert main(["check", path, *filters, "--within", "0.01", "--json", "--internal"]) == 9
        assert main(["export", path, "--format", "csv"]) == 0
        said.append(capfd.readouterr().out)
    assert said[0] == said[1]
    assert len(said[0]) > 5000
