"""The decision table for the first request, row by row (protocol revision negotiation, 2026-07-28)."""

from __future__ import annotations

import pytest

from mcp_tui.client.negotiation import Reply, Step, after_initialize, after_probe, no_common
from mcp_tui.protocol.revisions import LATEST, REVISIONS
from tests.cases import cases

OLD, NEW = "2025-11-25", LATEST.name


def step(outcome: Reply, transport: str = "stdio", *, retried: bool = False) -> tuple[Step, str | None]:
    decision = after_probe(outcome, transport=transport, retried=retried)
    return decision.step, decision.revision.name if decision.step in (Step.SPEAK, Step.RETRY) else None


def unsupported(*versions: object, status: int = 0) -> Reply:
    return Reply(code=-32022, message="no", data={"supported": list(versions)}, status=status)


def test_a_server_that_refuses_what_it_lists_is_not_said_to_list_something_else():
    decision = after_probe(unsupported(NEW, "2099-01-01"), transport="http", retried=True)
    assert (decision.step, decision.why) == (Step.NO_COMMON, f"the server lists {NEW} and refuses it")


@cases("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Reply(result={"supportedVersions": [NEW]}), (Step.SPEAK, NEW)),
        (Reply(result={"supportedVersions": [OLD, NEW, "2099-01-01"]}), (Step.SPEAK, NEW)),
        (Reply(result={"supportedVersions": [OLD]}), (Step.INITIALIZE, None)),
        (Reply(result={"supportedVersions": ["2099-01-01"]}), (Step.NO_COMMON, None)),
        (Reply(result={"supportedVersions": []}), (Step.INITIALIZE, None)),
        (Reply(result={"supportedVersions": [7, None]}), (Step.INITIALIZE, None)),
        (Reply(result={"supportedVersions": "all"}), (Step.INITIALIZE, None)),
        (Reply(result=[]), (Step.INITIALIZE, None)),
        (unsupported(NEW), (Step.RETRY, NEW)),
        (unsupported(OLD), (Step.INITIALIZE, None)),
        (unsupported("2099-01-01"), (Step.NO_COMMON, None)),
        (unsupported(), (Step.NO_COMMON, None)),
        (Reply(code=-32022, data="none"), (Step.NO_COMMON, None)),
        (Reply(code=-32020), (Step.SPEAK, NEW)),
        (Reply(code=-32021), (Step.SPEAK, NEW)),
        (Reply(code=-32601), (Step.INITIALIZE, None)),
        (Reply(code=-32602), (Step.INITIALIZE, None)),
        (Reply(code=0), (Step.INITIALIZE, None)),
        (Reply(silent=True), (Step.INITIALIZE, None)),
    ],
    ids=repr,
)
def test_what_is_the_same_everywhere(outcome: Reply, expected: tuple[Step, str | None], transport: str):
    assert step(outcome, transport) == expected


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Reply(status=400), Step.INITIALIZE),
        (Reply(status=404), Step.INITIALIZE),
        (Reply(status=405), Step.INITIALIZE),
        (Reply(status=415), Step.INITIALIZE),
        (Reply(code=-32601, status=404), Step.INITIALIZE),
        (Reply(code=-32601, status=200), Step.INITIALIZE),
        (Reply(code=-32000, status=500), Step.INITIALIZE),
        (Reply(status=500, detail="HTTP 500"), Step.INITIALIZE),
        (Reply(status=503, detail="HTTP 503"), Step.INITIALIZE),
        (Reply(status=200, detail="HTML"), Step.INITIALIZE),
        (Reply(status=202, detail="nothing"), Step.INITIALIZE),
        (Reply(detail="the stream ended"), Step.INITIALIZE),
        (Reply(status=302, detail="redirected"), Step.FAIL),
        (Reply(status=407, detail="a proxy refuses"), Step.FAIL),
        (Reply(status=200, sse=True, detail="HTTP+SSE"), Step.FAIL),
        (Reply(closed=True, detail="connection refused"), Step.FAIL),
    ],
    ids=repr,
)
def test_http(outcome: Reply, expected: Step):
    assert step(outcome, "http")[0] is expected


def test_a_process_that_exits_on_the_probe_is_started_again():
    decision = after_probe(Reply(closed=True, detail="server exited with code 4"), transport="stdio")
    assert decision.step is Step.RESPAWN
    assert "code 4" in decision.why


@cases(
    ("version", "said"),
    [
        (NEW, f"the server answers initialize with {NEW}, which has no initialize"),
        ("1999-01-01", no_common(["1999-01-01"])),
        *((odd, "the response to initialize has no protocolVersion") for odd in (None, 7, ["2025-11-25"])),
    ],
)
def test_an_answer_to_initialize_that_names_nothing_to_speak_is_told_as_that(version: object, said: str):
    decision = after_initialize(Reply(result={"protocolVersion": version}), wanted=None, may_fall_back=False)
    assert (decision.step, decision.why) == (Step.NO_COMMON, said)


@pytest.mark.parametrize(
    "outcome",
    [
        Reply(status=500, detail="HTTP 500"),
        Reply(closed=True, detail="gone"),
        Reply(silent=True),
        Reply(code=-32603, message="boom"),
    ],
    ids=repr,
)
def test_everything_else_fails(outcome: Reply):
    decision = after_initialize(outcome, wanted=None, may_fall_back=True)
    assert decision.step is Step.FAIL
    assert decision.why


def test_the_sentence_names_both_lists():
    text = no_common(["2099-01-01"])
    assert "2099-01-01" in text
    assert all(name in text for name in REVISIONS)
    assert "no known version" in no_common([])
