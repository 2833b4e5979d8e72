"""A request that is delivered twice: what shows that it ran twice, and where nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.probe.experiments import EXPERIMENTS
from mcp_tui.probe.report import Report, Verdict
from mcp_tui.probe.rules import RULES, ProbedServer
from mcp_tui.protocol.revisions import LATEST, LATEST_HANDSHAKE
from tests.probe.probing import fallen, probed, serving

pytestmark = pytest.mark.sends_anything

DELIVERED = [each for each in EXPERIMENTS if each.name == "delivered twice"]


def report(mode: str, *flags: str, heartbeat: Path | None = None, revision: str = "2025-11-25") -> Report:
    beats = () if heartbeat is None else ("--heartbeat", str(heartbeat))
    with serving(mode, *beats, *flags) as target:
        return probed(
            target,
            "slow_work",
            ("seconds", "1.0"),
            heartbeat=heartbeat,
            experiments=DELIVERED,
            revision=revision,
            limit=900.0,
        )


def test_it_applies_only_where_an_id_belongs_to_one_client():
    unless = RULES["P-34"].unless
    assert unless(ProbedServer(transport="http", revision=LATEST_HANDSHAKE, session=True)) == ""
    for transport, revision, session in (
        ("stdio", LATEST, False),
        ("http", LATEST_HANDSHAKE, False),
        ("http", LATEST, False),
    ):
        assert unless(ProbedServer(transport=transport, revision=revision, session=session))


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("P-34:override", "the tool ran again while the tool worked: its progress began again"),
        ("P-34:answered", "the tool ran again after its answer: "),
        ("P-34:handed", "the tool ran again after its answer: it was answered after "),
        ("P-34:quiet", "the tool ran again while the tool worked: it was answered after "),
    ],
)
@pytest.mark.clock("a run is known by its length")
@pytest.mark.slow
def test_a_second_run_is_known_without_a_heartbeat(mode: str, words: str):
    made = report(mode)
    found = made.findings["P-34"]
    assert (found.verdict, found.sentence.startswith(words)) == (Verdict.WARNING, True), found
    assert fallen(made) == {"P-34": "warning"}, "that it was answered twice breaks no other rule"
    assert not made.broken(strict=True), "it is information"


@pytest.mark.parametrize(
    ("mode", "words"), [("good", "was refused: error -32600"), ("joins", "brought no work")]
)
def test_a_request_that_runs_once_passes(mode: str, words: str, tmp_path: Path):
    found = report(mode, heartbeat=tmp_path / "beats").findings["P-34"]
    assert found.verdict is Verdict.PASS, found
    assert found.sentence.startswith(f"the second delivery {words}")


@pytest.mark.parametrize(
    ("mode", "when"), [("in-flight", "while the tool worked"), ("handed", "after its answer")]
)
@pytest.mark.clock("a run is known by its heartbeat")
def test_the_second_run_shows_in_the_heartbeat(mode: str, when: str, tmp_path: Path):
    found = report(f"P-34:{mode}", heartbeat=tmp_path / "beats").findings["P-34"]
    assert found.verdict is Verdict.WARNING, found
    assert found.sentence.startswith(f"the tool ran again {when}: the heartbeat continued until ")
