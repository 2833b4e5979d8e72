"""What the harness makes of verdicts that the suite itself calls a pass."""

from __future__ import annotations

import dataclasses
import json

from tests.conformance.scenarios import LEGACY, RUN, Scenario
from tests.conformance.suite import Check, Verdict, faults

SCENARIO = Scenario(name="some", says={LEGACY: ("tools/list",)}, wire_checked=True)
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def check(status: str, id: str = "some-check", why: str = "because") -> Check:
    return {"id": id, "description": "Client does it", "status": status, "errorMessage": why}


PASS = Verdict(
    status=0,
    said="",
    checks=[check("SUCCESS"), check("SUCCESS", "wire-schema-valid")],
    printed=json.dumps(LIST),
)


def judged(*more: Check, scenario: Scenario = SCENARIO, printed: str = PASS.printed) -> list[str]:
    verdict = dataclasses.replace(PASS, checks=[*PASS.checks, *more], printed=printed)
    return faults(scenario, LEGACY, verdict)


def test_a_pass_has_no_faults():
    assert judged() == []
    assert judged(check("INFO")) == []


def test_a_warning_and_a_message_that_the_suite_finds_invalid_are_faults():
    assert judged(check("WARNING")) == ["failed: some-check (Client does it): because"]
    assert judged(check("FAILURE", "wire-schema-valid", "no id")) == [
        "failed: wire-schema-valid (Client does it): no id"
    ]


def test_what_was_skipped_is_a_fault_unless_it_cannot_be_run():
    assert judged(check("SKIPPED")) == ["skipped: some-check (Client does it): because"]
    assert judged(check("SKIPPED"), scenario=dataclasses.replace(SCENARIO, may_skip="does it")) == []


def test_a_message_that_breaks_the_schema_is_a_fault():
    (fault,) = judged(printed=json.dumps({**LIST, "id": None}))
    assert fault.startswith("invalid by the schema")
    (fault,) = judged(printed=json.dumps(LIST) + "\n" + json.dumps({"jsonrpc": "2.0", "id": 7, "result": 7}))
    assert fault.startswith("invalid by the schema")


def test_who_does_nothing_passes_no_scenario_whatever_the_suite_says():
    for scenario in RUN:
        for revision, methods in scenario.says.items():
            found = faults(scenario, revision, dataclasses.replace(PASS, printed=""))
            assert [f"{method} was never sent" for method in methods] == found != [], scenario.name
