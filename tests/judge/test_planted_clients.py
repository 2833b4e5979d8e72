"""Each planted fault of a client is found, and draws no complaint by another rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Final

import pytest

from mcp_tui.judge.client_rules import CLIENT_RULES
from mcp_tui.judge.client_run import ClientReport
from mcp_tui.judge.observed_run import SIGNALS
from tests.judge.judging import CELLS, PLANTED, client, fallen, judged, side_by_side

pytestmark = pytest.mark.sends_anything  # what a client sends is its own

Planted = tuple[str, str, str, str]
"""A fault, the language of its client, the transport, and the era."""

EXPERIMENTS: Final = {
    "K-03": ("limit", "question"),
    "K-04": ("limit", "ids"),
    "K-07": ("limit", "stop"),
    "K-12": ("late-progress", "ids"),
    "K-13": ("limit", "progress"),
    "K-15": tuple(SIGNALS),
    "K-16": tuple(SIGNALS),
}
"""The experiments in which they show, where a rule has not one of its own."""

_NO_STREAMS: Final = {
    "K-03 a notification",
    "K-03 both",
}  # the wrong signal where closing the stream is the right one
_NO_STATUS: Final = {"K-18 cut", "K-18 gateway"}
_NO_QUESTIONS: Final = {"K-05", "K-10", "K-03 cancels", "K-11 aborts", "K-12 reuses an id"}
NOT_IN: Final = {
    ("stdio", "legacy"): {*_NO_STREAMS, *_NO_STATUS},
    ("http", "legacy"): {*_NO_STREAMS, "K-14 kills", "K-15"},
    ("stdio", "modern"): {*_NO_STREAMS, *_NO_STATUS, *_NO_QUESTIONS},
    ("http", "modern"): {
        *_NO_QUESTIONS,
        "K-04",
        "K-07",
        "K-08",
        "K-09",
        "K-11 starts",
        "K-12",
        "K-14",
        "K-15",
        "K-17",
    },
}
"""What a transport and an era do not have."""


def cases_of(rule: str) -> list[Planted]:
    """Each fault in one of the cells that have it, the first in two; they are others for each."""
    made: list[Planted] = []
    for number, fault in enumerate(PLANTED[rule]):
        name = f"{rule} {fault}"
        fit = [each for each in CELLS if not any(name.startswith(one) for one in NOT_IN[each[1:]])]
        steps = (0, len(fit) // 2) if number == 0 else (0,)
        made += [(name, *fit[(number + step) % len(fit)]) for step in steps]
    return made


QUICK: Final = (
    ("K-07 dies quietly", "python", "stdio", "legacy"),
    ("K-09 dies", "python", "http", "legacy"),
    ("K-04 what was answered", "python", "stdio", "modern"),
    ("K-18 limit", "python", "stdio", "legacy"),
    ("K-18 same id", "python", "http", "modern"),
)


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest) -> Iterator[dict[Planted, Future[ClientReport]]]:
    with side_by_side(request, 4, _judged) as reports:
        yield reports


def _judged(planted: Planted, limit: float = 0.8) -> ClientReport:
    fault, language, transport, era = planted
    rule = fault.partition(" ")[0]
    return judged(
        client(fault, language, era),
        *EXPERIMENTS.get(rule, (CLIENT_RULES[rule].experiment,)),
        # How long the next call's answer is withheld depends on the client's limit: a slow machine needs the room.
        limit=3.0 if fault.endswith("mistakes it") else limit,
        maximum=6.0,
        gave_up=re.compile("gave up"),
        transport=transport,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "run",
    [
        *QUICK,
        *(
            pytest.param(
                each,
                marks=[pytest.mark.slow, pytest.mark.clock("a client's next call is withheld for seconds")],
            )
            for rule in PLANTED
            for each in cases_of(rule)
            if each not in QUICK
        ),
    ],
    ids=" ".join,
)
def test_each_planted_fault_is_found_in_its_rule_alone(
    run: Planted, reports: dict[Planted, Future[ClientReport]]
):
    report = reports[run].result()
    if not fallen(report):  # on a machine too busy to see the fault
        report = _judged(run, limit=2.0)
    assert fallen(report) == {run[0].partition(" ")[0]}, report.findings
