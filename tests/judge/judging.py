"""Judges the client of a planted fault in a test, and says which rules fell."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_tui.judge.client_run import ClientReport, Judge
from mcp_tui.probe.report import BAD
from tests.cli.running import SERVERS
from tests.waiting import wait

HARM: Final = (
    "dies",
    "dies quietly",
    "crashes",
    "hangs",
    "complains",
    "mistakes it",
    "answers it",
    "starts again",
)
PLANTED: Final = {
    "K-01": ("sends nothing", "tells nobody", "cancels too late"),
    "K-02": ("sends nothing", "tells nobody", "cancels too late"),
    "K-03": ("cancels the question", "cancels what it answered", "another kind", "another kind too", "a request", "a task",
             "a notification", "both"),
    "K-04": ("a string", "another", "a fraction", "nothing", "twice", "what was answered"),
    "K-05": ("once", "with a reason", "and ends"),
    "K-06": ("a notification", "both", "its name", "another"),
    "K-07": HARM,
    "K-08": HARM,
    # what surfaces is a fault by K-07, and only this experiment has a call behind the next one
    "K-09": (*(each for each in HARM if each != "complains"), "fails later"),
    "K-10": ("answers", "answers at once", "answers with an error", "answers the second", "dies quietly", "hangs"),
    "K-11": (*HARM, "aborts its call"),
    "K-12": ("reuses an id", "reuses a token", "reuses the id of a cancelled call"),
    "K-13": ("no maximum", "late maximum", "pushed back"),
    "K-14": ("leaves", "terminates", "kills"),
    "K-15": ("leaves", "no guard", "sigint", "sigterm"),
    "K-16": ("SIGINT", "SIGTERM", "forgets"),
    "K-17": ("an error", "an object", "no words"),
    "K-18": ("limit", "reset", "cancels", "same id", "cut", "gateway"),
}  # fmt: skip
"""The faults of ``judged_client`` by the rule that each breaks."""

CELLS: Final = [(*cell,) for cell in product(("python", "node"), ("stdio", "http"), ("legacy", "modern"))]


def judged(command: Sequence[str], *each: str, **more: Any) -> ClientReport:
    """The report, once no process of the judge's server is left."""
    judge = Judge(command, chosen=each, **more)
    report = asyncio.run(judge.run())
    for pid in (server.pid for observed in judge.runs.values() for server in observed.servers):
        wait(lambda: not is_there(pid))  # noqa: B023 - waited for here
    return report


@contextmanager
def side_by_side(
    request: pytest.FixtureRequest, at_once: int, judge: Callable[[Any], ClientReport]
) -> Generator[dict[Any, Future[ClientReport]]]:
    """The runs that the tests of a file ask for as ``run``, under way in their order: nearly all of a run is waiting."""
    asked = [
        item.callspec.params["run"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and "run" in item.fixturenames
    ]
    with ThreadPoolExecutor(at_once) as pool:
        yield {run: pool.submit(judge, run) for run in dict.fromkeys(asked)}
        pool.shutdown(cancel_futures=True)


def is_there(pid: int) -> bool:
    return bool(pid) and Path(f"/proc/{pid}").exists()


def client(fault: str, language: str = "python", era: str = "legacy") -> tuple[str, ...]:
    if language == "node" and shutil.which("node") is None:
        pytest.skip("node is not on the PATH")
    programs = {
        "python": (sys.executable, "-S", str(SERVERS / "judged_client.py")),
        "node": ("node", str(SERVERS / "judged_client.mjs")),
    }
    return (*programs[language], fault, era)


def fallen(report: ClientReport) -> set[str]:
    return {rule for rule, found in report.findings.items() if found.verdict in BAD}
