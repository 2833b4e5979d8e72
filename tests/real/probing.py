"""The product's probe on the real servers: each call that is cancelled, by server, transport, revision and tool."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mcp_tui.client.settings import ClientSettings, HttpTarget, StdioTarget
from mcp_tui.journal.store import Store
from mcp_tui.probe.report import Report
from mcp_tui.probe.run import Probe
from mcp_tui.probe.tools import NamedTool
from tests.real.registry import ENVIRONMENT, SERVERS_BY_NAME

SECONDS = "1.2"  # the work that is asked for


@dataclass(frozen=True, slots=True)
class Probed:
    """A run of the probe. `tool` is one of `servers/tools.py`; for server-everything the probe finds one by itself."""

    server: str
    transport: str
    revision: str
    tool: str = "cooperative"

    def __str__(self) -> str:
        return f"{self.server} {self.transport} {self.revision} {self.tool}"

    @property
    def package(self) -> str:
        return SERVERS_BY_NAME[self.server].package


OWN_TOOL = "its own"
"""The tool of a server that brings its own: the probe looks for it."""


def run(case: Probed) -> Report:
    """Probe a real server to the end. Its tools write a heartbeat; server-everything has none."""
    server = SERVERS_BY_NAME[case.server]
    with contextlib.ExitStack() as stack:
        heartbeat = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "heartbeat"
        if case.transport == "stdio":
            target = StdioTarget(command=server.stdio, env={"PATH": ENVIRONMENT["PATH"]})
        else:
            target = HttpTarget(url=stack.enter_context(server.serve()))
        finds = case.tool == OWN_TOOL
        pairs = (("seconds", SECONDS), ("heartbeat", str(heartbeat)))
        made = Probe(
            target,
            ClientSettings(protocol=case.revision),
            wish=NamedTool() if finds else NamedTool(case.tool, pairs),
            heartbeat=None if finds else heartbeat,
            store=lambda _: Store(),
            tell=lambda _: None,
        )
        return asyncio.run(made.run())


def cases() -> list[Probed]:
    """Every server over every transport in every revision with its good tool, and over stdio with those that are not."""
    found: list[Probed] = []
    for server in SERVERS_BY_NAME.values():
        good = "cooperative" if "cooperative" in server.tools else OWN_TOOL
        found += [
            Probed(server.name, transport, revision, good)
            for transport in ("stdio", "http")
            for revision in server.revisions
        ]
        found += [
            Probed(server.name, "stdio", server.revisions[-1], tool)
            for tool in ("blocking", "swallows")
            if tool in server.tools
        ]
    return found
