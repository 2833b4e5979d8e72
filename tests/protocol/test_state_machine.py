"""The rules of the witness, by a state machine, and proof that it would notice if one did not hold.

``MCP_TUI_STATE_MACHINE=nightly`` plays thirty thousand games instead of a hundred.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mcp_tui.protocol.transitions import IllegalTransition
from tests.planted import MACHINE, Bug
from tests.protocol.machine import LedgerMachine

NIGHTLY = os.environ.get("MCP_TUI_STATE_MACHINE") == "nightly"

GAMES, STEPS = (30_000, 50) if NIGHTLY else (100, 40)

COMMON = settings(
    deadline=None,
    stateful_step_count=STEPS,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.timeout(0 if NIGHTLY else 600)
def test_the_ledger_keeps_to_the_rules_of_the_witness() -> None:
    run_state_machine_as_test(LedgerMachine, settings=settings(COMMON, max_examples=GAMES))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("bug", MACHINE, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_noticed(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    found = settings(COMMON, max_examples=6000, phases=[Phase.generate], database=None, derandomize=True)
    with pytest.raises((AssertionError, IllegalTransition, KeyError)):
        run_state_machine_as_test(LedgerMachine, settings=found)
