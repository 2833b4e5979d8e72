"""Faults of servers that could deceive the probe: one behaviour, one verdict, and nothing passes that was not seen."""

from __future__ import annotations

import asyncio

import pytest

from mcp_tui.cli.output import Exit
from mcp_tui.probe.experiments import EXPERIMENTS
from mcp_tui.probe.report import Finding, Verdict
from tests.cli.running import run
from tests.probe.probing import probing, scripted

pytestmark = pytest.mark.sends_anything  # malformed cancels are what some of the experiments are about

ZERO = [each for each in EXPERIMENTS if each.name in ("cancelled mid-work", "the id 0 cancelled")]


@pytest.mark.clock("the probe cancels when half of a call's time is over")
def test_the_id_0_is_faulted_only_for_what_no_other_id_does():
    async def found(mode: str) -> Finding:
        report = await probing(scripted(mode), "slow_work", ("seconds", "0.8"), experiments=ZERO)
        return report.findings["P-23"]

    async def both() -> tuple[Finding, Finding]:
        return await asyncio.gather(found("P-23:ignored"), found("P-01:error"))

    alone, every = asyncio.run(both())
    assert (alone.verdict, "only with the id 0" in alone.sentence) == (Verdict.WARNING, True)
    assert every.verdict in (Verdict.PASS, Verdict.NOT_OBSERVABLE), every.sentence


def test_a_must_that_was_not_judged_for_lack_of_time_is_6():
    ran = run("probe", "--time", "0.1", "--tool", "slow_work", "seconds=0.4", "--", *scripted("good").command)
    assert ran.status == Exit.TIMED_OUT
    assert (
        "not observable  P-01 … P-33: not run: time was over (mcp-tui probe --time S gives more)" in ran.out
    )
    assert "not run because time was over" in ran.out.splitlines()[-2]
