"""The page about clients that repeat: it is made of the runs beside it, and the server that counts makes each fault."""

from __future__ import annotations

import json
import sys

import pytest

from tests.real.agents import AGENTS, NEWER
from tests.real.clients.repeats import DATA, FAULTS, PAGE, page, seen, title
from tests.real.clients.table import JUDGED, REPEATING

FOUND = json.loads(DATA.read_text(encoding="utf-8"))
TEXT = PAGE.read_text(encoding="utf-8")
(OURS,) = (each for each in JUDGED if each.package == "mcp-tui" and not each.speaks)


def test_the_page_is_made_of_the_runs_beside_it():
    assert page(FOUND) == TEXT, "run make repeats"
    assert len(TEXT.splitlines()) <= 120


def test_every_client_has_its_row_or_is_named_as_not_run():
    made = {run["name"]: run for run in FOUND["clients"]}
    for client in (*REPEATING, *AGENTS, *NEWER):
        run = made.get(client.name)
        assert run or client.name in FOUND["not run"], "run make repeats"
        assert run is None or f"| {title(run)} | " in TEXT


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_client_that_sends_once_is_counted_once(fault: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    found = seen(OURS, fault, 2)
    assert (found["sends"], found["ended"]) == (1, True)
    assert found["executions"] == (fault != "404")
    assert found["resumed"] == (fault == "resumable")
