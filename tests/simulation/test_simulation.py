"""Whole sessions under a virtual clock keep the ten invariants; see :mod:`tests.simulation.watch`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_tui.protocol import events as ev
from tests.planted import SIMULATION, Bug
from tests.simulation.many import many
from tests.simulation.run import Failed, play

ROOT = Path(__file__).parents[2]

ENOUGH = 600
"""Seeds within which a planted bug has to be found; most are found within ten."""


def test_in_eighty_schedules_rounds_tasks_and_prompts_happen_and_are_cancelled():
    wanted = {"Round", "InputRequired", "TaskCreated", "TaskStatus", "TASKS_CANCEL"}
    wanted |= {"ServerRequestWithdrawn", "Paused", "Resumed", "accept"}
    seen: set[str] = set()
    for seed in range(1, 81):
        events = [what for _, who, what in play(seed).said if who == "event"]
        seen |= {type(event).__name__ for event in events}
        seen |= {event.signal.name for event in events if isinstance(event, ev.CancelSignalled)}
        seen |= {event.how for event in events if isinstance(event, ev.ServerRequestAnswered)}
    assert seen >= wanted


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_schedules():
    tally = many(1001, 1_000)
    assert tally["played"] == 1_000
    assert tally["signals"] > 500


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("bug", SIMULATION, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_caught(bug: Bug, monkeypatch: pytest.MonkeyPatch):
    bug(monkeypatch)
    with pytest.raises(Failed) as caught:
        for seed in range(1, ENOUGH):
            play(seed)
    assert str(caught.value.why).startswith(f"invariant {SIMULATION[bug]}:"), caught.value.why
    assert f"python -m tests.simulation {caught.value.seed}" in str(caught.value)


def test_a_seed_is_the_same_dialogue_in_every_process():
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "5"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert play(5).dialogue().splitlines() == done.stdout.splitlines()[1:]
