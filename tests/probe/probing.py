"""Probe a server in a test, and say which rules fell."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mcp_tui.client.settings import ClientSettings, StdioTarget, Target
from mcp_tui.journal.store import Store
from mcp_tui.probe.report import Finding, Report, Verdict
from mcp_tui.probe.run import Doing, Probe
from mcp_tui.probe.tools import Wish

HANDSHAKE: Final = "2025-11-25"
MODERN: Final = "2026-07-28"

AT_ONCE: Final = 3
"""Runs at a time: nearly all of a run is waiting."""

SERVER: Final = Path(__file__).parents[1] / "servers" / "probe_server.py"
DEMO: Final = StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo"))


def scripted(mode: str) -> StdioTarget:
    return StdioTarget(command=(sys.executable, "-S", str(SERVER), mode))


def probed(
    target: Target,
    tool: str = "",
    *pairs: tuple[str, str],
    revision: str = "auto",
    heartbeat: Path | None = None,
    patience: float = 10.0,
    tell: Callable[[Doing | Finding], None] = lambda _: None,
) -> Report:
    """Probe a server to the end."""
    made = Probe(
        target,
        ClientSettings(protocol=revision),
        wish=Wish(tool, pairs),
        heartbeat=heartbeat,
        store=lambda _: Store(),
        tell=tell,
        patience=patience,
    )
    return asyncio.run(made.run())


def fallen(report: Report) -> dict[str, str]:
    """The rules that are broken or not followed, with their verdicts."""
    bad = (Verdict.FAIL, Verdict.WARNING)
    return {rule.id: found.verdict.value for rule, _, found in report.rows() if found.verdict in bad}


def unseen(report: Report) -> set[str]:
    """The rules of which nothing could be seen."""
    return {rule.id for rule, _, found in report.rows() if found.verdict is Verdict.NOT_OBSERVABLE}


class Runs:
    """Runs under way, a few at a time, each begun once."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._runs: dict[str, Future[Report]] = {}

    def begin(self, name: str, run: Callable[[], Report]) -> None:
        self._runs[name] = self._pool.submit(run)

    def __getitem__(self, name: str) -> Report:
        return self._runs[name].result()


@contextmanager
def side_by_side() -> Generator[Runs]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield Runs(pool)
        pool.shutdown(cancel_futures=True)
