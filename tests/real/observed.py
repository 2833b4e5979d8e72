"""What the real servers were seen to do when a call is cancelled: data, asserted by `test_cli.py`.

The call works for about a second with progress ten times a second, and is cancelled on its way by the signal that the
revision and the transport ask for. Errors come at once or after the cleaning up, results when the work is done.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.real.registry import JUNE, LEGACY, MODERN

Transport = Literal["stdio", "http"]

LATENCY = 3  # progress of so many steps more may have been on its way when the cancel arrived
TOOLS = ("cooperative", "blocking", "swallows")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A call to cancel: on which server, how it is reached, which revision is spoken."""

    server: str
    transport: Transport
    revision: str
    tool: str
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.server, *self.flags, self.transport, self.revision, self.tool))

    @property
    def signal(self) -> str:
        return "stream_closed" if (self.transport, self.revision) == ("http", MODERN) else "notification"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a server did once the cancel had left.

    answer: `silent`, `result` or `error CODE`, as it came back late.
    progress: whether progress went on, beyond what may have been on its way.
    ran_on: whether the work went on to its end, by the heartbeat.
    """

    answer: str = "silent"
    progress: bool = False
    ran_on: bool = False


class Heartbeat:
    """What the tool wrote of its work."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def text(self) -> str:
        return self.path.read_text() if self.path.exists() else ""

    def step(self) -> int:
        return max((int(step) for step in re.findall(r" step (\d+)/", self.text())), default=0)


def until(condition: Callable[[], bool], within: float) -> bool:
    """Wait until the condition holds; False when it does not within so many seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


STOPS = Seen()
RUNS_ON = Seen(ran_on=True)
RUNS_ON_TELLING = Seen(ran_on=True, progress=True)
LATE_RESULT = Seen(answer="result", ran_on=True)
WITHOUT_EFFECT = Seen(answer="result", ran_on=True, progress=True)


def _error(code: int, *, ran_on: bool = False, progress: bool = False) -> Seen:
    return Seen(answer=f"error {code}", ran_on=ran_on, progress=progress)


def _rows(server: str, transport: Transport, revision: str, *seen: Seen, flag: str = "") -> dict[Case, Seen]:
    tools = ("trigger-long-running-operation",) if server == "everything" else TOOLS
    flags = (flag,) if flag else ()
    return {
        Case(server=server, transport=transport, revision=revision, tool=tool, flags=flags): each
        for tool, each in zip(tools, seen, strict=False)
    }


OBSERVED: dict[Case, Seen] = {
    # npm @modelcontextprotocol/server-everything: its long tool never looks at the cancel
    **_rows("everything", "stdio", LEGACY, RUNS_ON_TELLING),
    **_rows("everything", "http", LEGACY, RUNS_ON_TELLING),
    # PyPI mcp 1.x: answers at once with an error of code 0, and breaks when the tool then answers too
    **_rows("mcp1", "stdio", LEGACY, _error(0), LATE_RESULT, _error(0, ran_on=True, progress=True)),
    **_rows("mcp1", "http", LEGACY, _error(0), LATE_RESULT, _error(0, ran_on=True)),
    **_rows("mcp1", "http", LEGACY, WITHOUT_EFFECT, flag="--stateless"),
    # PyPI mcp 2.x: blocking tools run in a thread; over HTTP, errors come when the work is done
    **_rows("mcp2", "stdio", LEGACY, STOPS, RUNS_ON, RUNS_ON_TELLING),
    **_rows("mcp2", "stdio", MODERN, STOPS, RUNS_ON, RUNS_ON_TELLING),
    **_rows(
        "mcp2",
        "http",
        LEGACY,
        _error(-32800),
        _error(-32800, ran_on=True),
        _error(-32800, ran_on=True, progress=True),
    ),
    **_rows("mcp2", "http", LEGACY, WITHOUT_EFFECT, flag="--stateless"),
    # what swallows the cancel would run on, were it not for its progress, which never returns without a stream
    **_rows("mcp2", "http", MODERN, STOPS, RUNS_ON, STOPS),
    **_rows("mcp2", "http", MODERN, RUNS_ON, flag="--json"),
    # npm @modelcontextprotocol/sdk 1.x: drops the progress of a cancelled request
    **_rows("sdk1", "stdio", LEGACY, STOPS, LATE_RESULT, RUNS_ON),
    **_rows("sdk1", "http", LEGACY, STOPS, LATE_RESULT, RUNS_ON),
    **_rows("sdk1", "http", LEGACY, WITHOUT_EFFECT, flag="--stateless"),
    # npm @modelcontextprotocol/server 2.x: over HTTP it has no sessions, and only closing stops anything
    **_rows("server2", "stdio", LEGACY, STOPS, LATE_RESULT, RUNS_ON_TELLING),
    **_rows("server2", "stdio", MODERN, STOPS, LATE_RESULT, RUNS_ON_TELLING),
    **_rows("server2", "http", LEGACY, WITHOUT_EFFECT, LATE_RESULT, WITHOUT_EFFECT),
    **_rows("server2", "http", MODERN, STOPS, RUNS_ON, STOPS),
    **_rows("server2", "http", MODERN, STOPS, flag="--json"),
    # PyPI fastmcp 4.x: stands on mcp 2.x and does as that does
    **_rows("fastmcp4", "stdio", LEGACY, STOPS, RUNS_ON),
    **_rows("fastmcp4", "stdio", MODERN, STOPS, RUNS_ON),
    **_rows("fastmcp4", "http", LEGACY, _error(-32800), _error(-32800, ran_on=True)),
    **_rows("fastmcp4", "http", LEGACY, WITHOUT_EFFECT, flag="--stateless"),
    **_rows("fastmcp4", "http", MODERN, STOPS, RUNS_ON),
    **_rows("fastmcp4", "http", MODERN, RUNS_ON, flag="--json"),
    # npm tmcp: no notification ever stops a tool; only a stream that is closed does
    **_rows("tmcp", "stdio", JUNE, WITHOUT_EFFECT, LATE_RESULT, WITHOUT_EFFECT),
    **_rows("tmcp", "stdio", MODERN, WITHOUT_EFFECT, LATE_RESULT, WITHOUT_EFFECT),
    **_rows("tmcp", "http", JUNE, WITHOUT_EFFECT, LATE_RESULT, WITHOUT_EFFECT),
    **_rows("tmcp", "http", MODERN, STOPS, RUNS_ON, RUNS_ON),
}
