"""The ten invariants, by a state machine, and proof that it would notice if one did not hold.

``MCP_TUI_STATE_MACHINE=nightly`` plays a hundred thousand games instead of a few hundred.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mcp_tui.protocol.requests import IllegalTransition
from tests.protocol.machine import LedgerMachine
from tests.protocol.mutants import MUTANTS, Mutant

NIGHTLY = os.environ.get("MCP_TUI_STATE_MACHINE") == "nightly"

GAMES, STEPS = (100_000, 50) if NIGHTLY else (300, 40)

COMMON = settings(
    deadline=None,
    stateful_step_count=STEPS,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.timeout(0 if NIGHTLY else 300)
def test_the_ledger_holds_its_invariants() -> None:
    run_state_machine_as_test(LedgerMachine, settings=settings(COMMON, max_examples=GAMES))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_planted_defect_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    found = settings(COMMON, max_examples=4000, phases=[Phase.generate], database=None, derandomize=True)
    with pytest.raises((AssertionError, IllegalTransition, KeyError)):
        run_state_machine_as_test(LedgerMachine, settings=found)
