"""The rules of the witness, by a state machine of exchanges, and proof that it would notice if one did not hold.

``MCP_TUI_STATE_MACHINE=nightly`` plays thirty thousand games instead of a few hundred.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mcp_tui.protocol.requests import IllegalTransition
from tests.protocol.exchanges import ExchangeMachine
from tests.protocol.mutants import Mutant
from tests.protocol.mutants_exchanges import MUTANTS
from tests.protocol.test_state_machine import COMMON, NIGHTLY

GAMES = 30_000 if NIGHTLY else 300


@pytest.mark.timeout(0 if NIGHTLY else 300)
def test_the_ledger_keeps_to_the_rules_whatever_a_request_takes() -> None:
    run_state_machine_as_test(ExchangeMachine, settings=settings(COMMON, max_examples=GAMES))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_planted_defect_of_an_exchange_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    found = settings(COMMON, max_examples=6000, phases=[Phase.generate], database=None, derandomize=True)
    with pytest.raises((AssertionError, IllegalTransition, KeyError)):
        run_state_machine_as_test(ExchangeMachine, settings=found)
