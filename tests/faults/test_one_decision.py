"""A server that works on at irregular times after a cancel: every view says that it still progresses."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from random import Random

import pytest

from mcp_tui.journal.journal_files import journal_folder, make_private
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import evidence
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.sources.recorded import RecordedScene
from mcp_tui.view.badges import GOING_ON, badge
from tests.cli.keeping import report
from tests.journal.making import Session
from tests.slow import slow

RUNS = 20
CANCELLED, LINGERED = 1.5, 3.0

GAPS: dict[str, Callable[[Random, int], float]] = {
    "jitter": lambda random, _: random.uniform(0.07, 0.13),
    "exponential": lambda random, _: random.expovariate(10),
    "burst": lambda _, number: 0.4 if number % 5 == 0 else 0.02,
}
"""Seconds to the next progress, by the kind of server."""


def works_on(session: Session, gap: Callable[[Random, int], float], random: Random) -> None:
    """Calls a tool, cancels it, and listens for three seconds more, while it goes on."""
    began = session.now
    session.step("call", 1, 0.0, "slow")
    session.step("written", 1, 0.0, "")
    times, at = [(CANCELLED, "cancel"), (CANCELLED, "signalled")], random.uniform(0.0, 0.4)
    for number in range(1, 1000):
        if at > CANCELLED + LINGERED:
            break
        times.append((at, "progress"))
        at += gap(random, number)
    for at, what in sorted(
        [*times, (CANCELLED + 2.0, "tick"), (CANCELLED + LINGERED, "")], key=lambda each: each[0]
    ):
        if what:
            session.step(what, 1, began + at - session.now, "")
    session.now = began + CANCELLED + LINGERED
    session.ledger.receiving_ended("", at=session.now, expected=True)
    session.step("progress", 1, 0.1, "")  # our own closing makes the server write what it held back
    session.step("result", 1, 0.1, "")
    session.ledger.closed("closed", at=session.now, expected=True)
    session.step("tick", 1, 1.0, "")


@pytest.mark.parametrize("kind", ["jitter", *slow("exponential", "burst")])
def test_a_server_that_works_on_is_still_progressing_in_every_view(
    kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    make_private(journal_folder())
    paths = [journal_folder() / f"2026-11-25T1000{run:02}-{kind}-1.jsonl" for run in range(RUNS)]
    for run, path in enumerate(paths):
        session = Session(Store(Writer(path)), "stdio", "2025-11-25")
        works_on(session, GAPS[kind], Random(run))
        session.store.close()
        row = session.ledger.row(1)
        assert badge(row, session.now) is GOING_ON, (kind, run)
        words = evidence.summary_words(row, session.now)
        assert words.startswith("sent; still progressing: "), words
        scene = RecordedScene(Recording.read(path))
        scene.seek(scene.events)
        replayed = scene.cancellations.item(0)
        assert isinstance(replayed, Request)
        assert badge(replayed, scene.now()) is GOING_ON
        assert evidence.summary_words(replayed, scene.now()) == words
    logged = json.loads(report(capfd, "log", "--json").out)
    assert [each["outcomes"] for each in logged] == [["still_progressing"]] * RUNS
    assert {each["watched"] for each in logged} == {LINGERED}
    assert len(json.loads(report(capfd, "log", "--json", "--outcome", "still_progressing").out)) == RUNS
    (sums,) = json.loads(report(capfd, "log", "--sums", "--json").out)
    assert {name: each["count"] for name, each in sums["outcomes"].items()} == {"still_progressing": RUNS}
    for path in paths[:5]:
        (exported,) = csv.DictReader(io.StringIO(report(capfd, "export", str(path), "--format", "csv").out))
        assert exported["outcomes"] == "still_progressing"
        told = report(capfd, "export", str(path), "--format", "markdown", "--cancellations").out
        assert "still progressing: " in told
        assert " at +3.2 s, after the end of watching" in told
