"""Probe a server in a test, and say which rules fell."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from mcp_tui.client.client_settings import ClientSettings, HttpTarget, StdioTarget, Target
from mcp_tui.journal.store import Store
from mcp_tui.probe.experiments import EXPERIMENTS, Experiment
from mcp_tui.probe.report import Finding, Report, Verdict
from mcp_tui.probe.run import Probe
from mcp_tui.probe.tool_choice import NamedTool
from tests.forking import Piped

AT_ONCE: Final = 6
"""Runs at a time: nearly all of a run is waiting."""

SERVER: Final = Path(__file__).parents[1] / "servers" / "probe_server.py"
DEMO: Final = StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo"))


def scripted(mode: str, *flags: str) -> StdioTarget:
    """The server that breaks the rule of its mode, over stdio."""
    return StdioTarget(command=(sys.executable, "-S", str(SERVER), mode, *flags))


@contextmanager
def serving(mode: str, *flags: str) -> Generator[HttpTarget]:
    """The same over HTTP."""
    with serving_command(*scripted(mode, *flags).command, "--http") as target:
        yield target


@contextmanager
def serving_command(*command: str) -> Generator[HttpTarget]:
    """A server over HTTP whose first line ends with its URL."""
    with Piped("server", command, os.environ) as process:
        try:
            assert process.stdout is not None
            yield HttpTarget(url=process.stdout.readline().decode().split()[-1])
        finally:
            process.send_signal(signal.SIGKILL)


async def probing(
    target: Target,
    tool: str = "",
    *pairs: tuple[str, str],
    revision: str = "auto",
    heartbeat: Path | None = None,
    patience: float = 10.0,
    on_progress: Callable[[str | Finding], None] = lambda _: None,
    experiments: Sequence[Experiment] = EXPERIMENTS,
    before: Sequence[NamedTool] = (),
    limit: float = 0.0,
    reuse: bool = False,
) -> Report:
    """Probe a server to the end."""
    made = Probe(
        target,
        ClientSettings(protocol=revision),
        wish=NamedTool(tool, pairs),
        heartbeat=heartbeat,
        store=lambda _: Store(),
        on_progress=on_progress,
        patience=patience,
        experiments=experiments,
        before=before,
        limit=limit,
        reuse=reuse,
    )
    return await made.run()


def probed(target: Target, tool: str = "", *pairs: tuple[str, str], **more: Any) -> Report:
    """Probe a server to the end, in a loop of its own."""
    return asyncio.run(probing(target, tool, *pairs, **more))


def fallen(report: Report) -> dict[str, str]:
    """The rules that are broken or not followed, with their verdicts."""
    bad = (Verdict.FAIL, Verdict.WARNING)
    return {rule.id: found.verdict.value for rule, _, found in report.rows() if found.verdict in bad}


def unseen(report: Report) -> set[str]:
    """The rules of which nothing could be seen."""
    return {rule.id for rule, _, found in report.rows() if found.verdict is Verdict.NOT_OBSERVABLE}


class Runs:
    """Runs under way, a few at a time, each begun once. They share one loop, as they do in the workbench."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._places = asyncio.Semaphore(AT_ONCE)
        self._runs: dict[str, Future[Report]] = {}

    def begin(self, name: str, run: Coroutine[None, None, Report]) -> None:
        self._runs[name] = asyncio.run_coroutine_threadsafe(self._in_turn(run), self._loop)

    async def _in_turn(self, run: Coroutine[None, None, Report]) -> Report:
        async with self._places:
            return await run

    def __getitem__(self, name: str) -> Report:
        return self._runs[name].result()


@contextmanager
def side_by_side() -> Generator[Runs]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield Runs(loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        with asyncio.Runner(loop_factory=lambda: loop):
            pass  # which ends what is still under way
