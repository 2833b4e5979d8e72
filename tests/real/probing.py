"""The product's probe on the real servers: each call that is cancelled, by server, transport, revision and tool."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_tui.client.settings import ClientSettings, HttpTarget, StdioTarget
from mcp_tui.journal.store import Store
from mcp_tui.probe.experiments import EXPERIMENTS, Experiment
from mcp_tui.probe.report import Report
from mcp_tui.probe.run import Probe
from mcp_tui.probe.tools import NamedTool
from tests.real.registry import ENVIRONMENT, FINDINGS_ONLY, SERVERS_BY_NAME, Server

SECONDS = "1.2"  # the work that is asked for

ONE_CANCEL = tuple(each for each in EXPERIMENTS if "P-01" in each.rules)
"""One call, cancelled mid-work, with its control run."""


@dataclass(frozen=True, slots=True)
class Probed:
    """A run of the probe. `tool` is one of `servers/tools.py`; for server-everything the probe finds one by itself.

    `mode` is `json` or `stateless` over HTTP, else empty.
    """

    server: str
    transport: str
    revision: str
    tool: str = "cooperative"
    mode: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.server, self.transport, self.mode, self.revision, self.tool)))

    @property
    def entry(self) -> Server:
        return {**SERVERS_BY_NAME, **FINDINGS_ONLY}[self.server]

    @property
    def package(self) -> str:
        return self.entry.package


OWN_TOOL = "its own"
"""The tool of a server that brings its own: the probe looks for it."""


def run(case: Probed, experiments: Sequence[Experiment] = EXPERIMENTS) -> Report:
    """Probe a real server to the end. Its tools write a heartbeat; server-everything has none."""
    server = case.entry
    with contextlib.ExitStack() as stack:
        heartbeat = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "heartbeat"
        if case.transport == "stdio":
            target = StdioTarget(command=server.stdio, env={"PATH": ENVIRONMENT["PATH"]})
        else:
            flag = "sse" if case.transport == "sse" else case.mode
            url = stack.enter_context(server.serve(*(f"--{each}" for each in (flag,) if each)))
            target = HttpTarget(url=url, transport="sse" if case.transport == "sse" else "auto")
        finds = case.tool == OWN_TOOL
        pairs = (("seconds", SECONDS), ("heartbeat", str(heartbeat)))
        made = Probe(
            target,
            ClientSettings(protocol=case.revision),
            wish=NamedTool() if finds else NamedTool(case.tool, pairs),
            heartbeat=None if finds else heartbeat,
            store=lambda _: Store(),
            tell=lambda _: None,
            experiments=experiments,
        )
        return asyncio.run(made.run())


def cases() -> list[Probed]:
    """Every line over every transport in every revision, with the good tool."""
    found: list[Probed] = []
    for server in {**SERVERS_BY_NAME, **FINDINGS_ONLY}.values():
        good = "cooperative" if "cooperative" in server.tools else OWN_TOOL
        for revision in server.revisions:
            found.append(Probed(server.name, "stdio", revision, good))
            if server.streamable:
                found.append(Probed(server.name, "http", revision, good))
        found += [
            Probed(server.name, "http", revision, good, mode)
            for mode in server.modes
            for revision in server.revisions
            if not (mode == "stateless" and revision == "2026-07-28")
        ]
        if server.sse:
            found.append(Probed(server.name, "sse", server.revisions[0], good))
    return found


def other_tools() -> list[Probed]:
    """Every line over stdio, with the tools that are not so good: one cancel each."""
    return [
        Probed(server.name, "stdio", server.revisions[-1], tool)
        for server in {**SERVERS_BY_NAME, **FINDINGS_ONLY}.values()
        for tool in ("blocking", "swallows", "cleanup")
        if tool in server.tools
    ]
