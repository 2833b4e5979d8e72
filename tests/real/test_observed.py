"""Do the real servers still do what `observed.py` says? Each row is a server started, a call cancelled, the rest heard."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.real.observed import OBSERVED, RIGHT
from tests.real.probe import Aside, Case, Seen, observe
from tests.real.registry import SERVERS_BY_NAME

AT_ONCE = 2  # nearly all of an observation is waiting

Observations = dict[Case, Future[tuple[Seen, Aside, str]]]


@pytest.fixture(scope="module")
def observations(request: pytest.FixtureRequest) -> Generator[Observations]:
    """The observations that this run asks for, under way in the order of the tests."""
    specs = [
        item.callspec
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and item.path == request.path
    ]
    cases = [case for spec in specs if isinstance(case := spec.params.get("case"), Case)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        present = [case for case in cases if not SERVERS_BY_NAME[case.server].missing()]
        yield {case: pool.submit(observe, case) for case in present}
        pool.shutdown(cancel_futures=True)


@pytest.mark.real
@pytest.mark.parametrize("case", OBSERVED, ids=str)
def test_a_server_does_what_it_was_seen_to_do(case: Case, observations: Observations):
    if reason := SERVERS_BY_NAME[case.server].missing():
        pytest.skip(reason)
    seen, aside, heartbeat = observations[case].result()
    assert seen == OBSERVED[case], f"{aside}\n{heartbeat}"


def test_every_tool_of_every_server_has_a_row_for_every_way_to_cancel_it_rightly():
    ways = {
        Case(server=server.name, transport=transport, revision=revision, signal=signal, tool=tool)
        for server in SERVERS_BY_NAME.values()
        for (transport, revision), signal in RIGHT.items()
        if revision in server.revisions
        for tool in server.tools
    }
    assert ways - OBSERVED.keys() == set()
