"""The product's probe on the real servers: each call that is cancelled, by server, transport, revision and tool."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mcp_tui.client.client_settings import HttpTarget, StdioTarget
from mcp_tui.probe.experiments import EXPERIMENTS, Experiment
from mcp_tui.probe.report import Report
from tests.probe.probing import probed
from tests.real.install import OLDER
from tests.real.registry import ENVIRONMENT, EVERY_LINE, Case, Server

SECONDS = "1.2"  # the work that is asked for
PATIENCE = 60.0

ENOUGH = 400.0
"""Seconds for a whole run: what a server does is to be seen on a slow machine too."""

OWN_TOOL = "its own"
"""The tool of a server that brings its own: the probe looks for it."""


def run(case: Case, experiments: Sequence[Experiment] = EXPERIMENTS) -> Report:
    """Probe a real server to the end. Its tools write a heartbeat; server-everything has none."""
    with ExitStack() as stack:
        heartbeat = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "heartbeat"
        if case.transport == "stdio":
            target = StdioTarget(command=case.entry.stdio, env={"PATH": ENVIRONMENT["PATH"]})
        else:
            url = stack.enter_context(case.entry.serve(*case.flags))
            target = HttpTarget(url=url, transport="sse" if case.transport == "sse" else "auto")
        if case.tool == OWN_TOOL:
            return probed(
                target, revision=case.revision, patience=PATIENCE, experiments=experiments, limit=ENOUGH
            )
        return probed(
            target,
            case.tool,
            ("seconds", SECONDS),
            ("heartbeat", str(heartbeat)),
            revision=case.revision,
            heartbeat=heartbeat,
            patience=PATIENCE,
            experiments=experiments,
            limit=ENOUGH,
        )


def newest(server: Server) -> bool:
    """Whether a line is the newest of its SDK, in the layer that most people use."""
    return server.part not in OLDER[:-1] and not server.name.startswith("low-level")


def cases() -> list[Case]:
    """Every line over every transport in every revision, with the good tool; the newest with a synchronous one too."""
    found: list[Case] = []
    for server in EVERY_LINE.values():
        good = "cooperative" if "cooperative" in server.tools else OWN_TOOL
        for revision in server.revisions:
            found.append(Case(server.name, "stdio", revision, good))
            if server.streamable:
                found.append(Case(server.name, "http", revision, good))
        found += [
            Case(server.name, "http", revision, good, mode)
            for mode in server.modes
            for revision in server.revisions
            if not (mode == "stateless" and revision == "2026-07-28")
        ]
        if server.sse:
            found.append(Case(server.name, "sse", server.revisions[0], good))
        if newest(server) and "blocking" in server.tools:
            found.append(Case(server.name, "stdio", server.revisions[-1], "blocking"))
    return found
