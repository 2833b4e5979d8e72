"""The probe on the real servers: it sees what was seen of them by hand, and by the raw probe of this folder.

What is broken is named by its rule: a SHOULD that is not followed, and a MUST. Where either of two things may come first,
or where a server dies a little earlier or later, the rules that depend on it stand under *by chance*.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import pytest

from mcp_tui.probe.report import Report, Verdict
from tests.probe.probing import fallen, unseen
from tests.real.probing import OWN_TOOL, run
from tests.real.registry import LEGACY, MODERN, Case

pytestmark = [pytest.mark.sends_anything, pytest.mark.real, pytest.mark.npm, pytest.mark.timeout(600)]

AT_ONCE: Final = 2

ANSWERS: Final = ("P-01", "P-05", "P-16")
"""It answers the cancelled call, mid-work, at once, and after a timeout."""

GOES_ON: Final = ("P-02", "P-05", "P-16")
"""It goes on with progress."""

WORKS_ON: Final = ("P-03",)
AS_STRING: Final = ("P-13",)
UNINITIALIZED: Final = ("P-15",)
"""It never answers an initialize that was cancelled at once."""

TOGETHER: Final = ("P-27",)
"""The same as at once, where call and cancel come in one write."""

ID_0: Final = ("P-23",)
OPEN: Final = ("P-24",)
"""It leaves the stream of a cancelled call open."""

AGAIN: Final = ("P-34",)
"""It runs a request again that is delivered twice in a session."""

CLOSED: Final = {"P-01", "P-02", "P-05", "P-16"}
"""What cannot be seen where the cancel is the closing of the stream."""


class Expected:
    """What falls: rules that are not followed, rules that are broken, and those that are either by chance."""

    def __init__(
        self,
        *should: tuple[str, ...],
        must: tuple[str, ...] = (),
        chance: tuple[str, ...] = (),
        stops: str = "yes",
    ) -> None:
        rules = {rule: "warning" for rules in should for rule in rules}
        self.fallen = {**rules, **dict.fromkeys(must, "fail")}
        self.chance = frozenset(chance)
        self.stops = stops


PROBED: Final[dict[Case, Expected]] = {
    # it never looks at the cancel: no answer, but progress to the end; together with its call too, which P-05 tells
    Case("everything", "stdio", LEGACY, OWN_TOOL): Expected(
        GOES_ON, WORKS_ON, UNINITIALIZED, ID_0, stops="no"
    ),
    Case("everything", "http", LEGACY, OWN_TOOL): Expected(GOES_ON, WORKS_ON, ID_0, OPEN, AGAIN, stops="no"),
    # it answers with an error of code 0, and dies where the tool answers as well: at completion, or when swallowed
    Case("mcp1", "stdio", LEGACY): Expected(ANSWERS, TOGETHER, chance=("P-07", "P-22")),
    Case("mcp1", "http", LEGACY): Expected(ANSWERS, AGAIN, chance=("P-07", "P-22")),
    # a sync tool holds up everything: the cancel is read when the result was written, of which it may die
    Case("mcp1", "stdio", LEGACY, "blocking"): Expected(
        ANSWERS, WORKS_ON, TOGETHER, chance=("P-14",), stops="no"
    ),
    Case("mcp1", "stdio", LEGACY, "swallows"): Expected(
        ("P-01", "P-02"),
        WORKS_ON,
        must=("P-04",),
        chance=(
            "P-05",
            "P-06",
            "P-07",
            "P-08",
            "P-11",
            "P-12",
            "P-14",
            "P-16",
            "P-22",
            "P-23",
            "P-26",
            "P-27",
            "P-30",
        ),
        stops="no",
    ),
    # silent and stopped; "1" is taken for 1
    Case("mcp2", "stdio", LEGACY): Expected(AS_STRING),
    Case("mcp2", "stdio", MODERN): Expected(AS_STRING),
    Case("mcp2", "http", LEGACY): Expected(ANSWERS, AS_STRING, AGAIN),  # error -32800
    Case("mcp2", "http", MODERN): Expected(),
    Case("mcp2", "stdio", MODERN, "blocking"): Expected(WORKS_ON, AS_STRING, stops="no"),
    Case("sdk1", "stdio", LEGACY): Expected(UNINITIALIZED, ID_0),
    Case("sdk1", "http", LEGACY): Expected(ID_0, OPEN, AGAIN),
    Case("sdk1", "stdio", LEGACY, "blocking"): Expected(
        ("P-01", "P-16"), WORKS_ON, UNINITIALIZED, chance=("P-05", "P-23", "P-27"), stops="no"
    ),
    Case("server2", "stdio", LEGACY): Expected(UNINITIALIZED),
    Case("server2", "stdio", MODERN): Expected(),
    # stateless: a cancel is without effect, and a disconnect stops the work although it should not
    Case("server2", "http", LEGACY): Expected(ANSWERS, ("P-02", "P-17"), WORKS_ON, stops="no"),
    Case("server2", "http", MODERN): Expected(),
    Case("fastmcp4", "stdio", MODERN): Expected(AS_STRING),
    Case("fastmcp4", "http", LEGACY): Expected(ANSWERS, AS_STRING, AGAIN),
    # it knows nothing of cancels, but over HTTP in 2026-07-28 the work ends with its stream
    Case("tmcp", "stdio", MODERN): Expected(WORKS_ON, must=(*ANSWERS, *TOGETHER, "P-02"), stops="no"),
    Case("tmcp", "http", MODERN): Expected(),
}


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest) -> Iterator[dict[Case, Future[Report]]]:
    """The runs that are asked for, under way in the order of the tests."""
    specs = [
        item.callspec
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and item.path == request.path
    ]
    asked = [each for spec in specs if isinstance(each := spec.params.get("probed"), Case)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        present = [each for each in asked if not each.entry.missing()]
        yield {each: pool.submit(run, each) for each in present}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("probed", PROBED, ids=str)
def test_the_report_agrees_with_what_was_seen_by_hand(probed: Case, reports: dict[Case, Future[Report]]):
    if reason := probed.entry.missing():
        pytest.skip(reason)
    report, expected = reports[probed].result(), PROBED[probed]
    told = {rule: found.sentence for rule, found in report.findings.items()}
    fell = {rule: verdict for rule, verdict in fallen(report).items() if rule not in expected.chance}
    assert fell == expected.fallen, told
    assert report.stops()[0] == expected.stops, told
    if probed.closes:
        assert unseen(report) == CLOSED
        assert report.findings["P-18"].verdict is Verdict.PASS
        assert report.findings["P-19"].verdict is Verdict.PASS
    assert not report.not_run
