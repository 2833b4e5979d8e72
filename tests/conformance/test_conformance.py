"""The official conformance suite judges the client, each scenario alone; and the harness judges the suite."""

from __future__ import annotations

import re
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance.scenarios import LEFT_OUT, LEGACY, MODERN, RUN, Scenario
from tests.conformance.suite import Verdict, faults, listed, missing, run

pytestmark = [pytest.mark.npm, pytest.mark.real, pytest.mark.timeout(300)]

AT_ONCE = 2

RUNS = [(scenario, revision) for scenario in RUN for revision in scenario.says]


def named(name: str) -> Scenario:
    return next(scenario for scenario in RUN if scenario.name == name)


Verdicts = dict[tuple[str, str], Future[Verdict]]


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest, installed: None) -> Generator[Verdicts]:
    """The runs of the client that these tests ask for, under way in their order."""
    ours = test_the_client_passes.__name__
    specs = [
        item.callspec
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and item.originalname == ours
    ]
    asked = {spec.id for spec in specs}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            (scenario.name, revision): pool.submit(run, scenario, revision)
            for scenario, revision in RUNS
            if f"{scenario.name} {revision}" in asked
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize(
    ("scenario", "revision"),
    RUNS,
    ids=[f"{scenario.name} {revision}" for scenario, revision in RUNS],
)
def test_the_client_passes(scenario: Scenario, revision: str, verdicts: Verdicts):
    verdict = verdicts[scenario.name, revision].result()
    assert faults(scenario, revision, verdict) == [], verdict.said


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_client_that_does_nothing_fails(revision: str):
    scenario = named("tools_call")
    assert faults(scenario, revision, run(scenario, revision, "true")) != []


def test_a_scenario_that_does_not_apply_is_no_pass():
    scenario = named("request-metadata")
    verdict = run(scenario, LEGACY)
    assert verdict.status == 0
    assert "nothing was checked" in faults(Scenario(name=scenario.name, says={LEGACY: ()}), LEGACY, verdict)


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_every_scenario_that_a_revision_asks_for_is_run_at_it_or_left_out_for_a_reason(revision: str):
    required = listed("--requirements", revision)
    assert "tools_call" in required
    left_out = {name for name in required if any(re.fullmatch(pattern, name) for pattern in LEFT_OUT)}
    assert required - left_out == {scenario.name for scenario in RUN if revision in scenario.says}


def test_every_scenario_that_there_is_is_run_or_left_out_for_a_reason():
    known = listed("--client")
    left_out = {name for name in known if any(re.fullmatch(pattern, name) for pattern in LEFT_OUT)}
    assert known - left_out == {scenario.name for scenario in RUN}


def test_the_readme_names_everything_that_is_left_out():
    readme = (
        Path(__file__)
        .with_name("README.md")
        .read_text()
        .partition("## What is left out")[2]
        .partition("\n## ")[0]
    )
    told = set(re.findall(r"^\| `([^`]+)`", readme, re.MULTILINE))
    left_out = {name for name in listed("--client") if any(re.fullmatch(it, name) for it in LEFT_OUT)}
    assert told == left_out
