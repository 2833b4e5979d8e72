"""What the real servers were seen to do when a call is cancelled: data, asserted by `test_cli.py`.

The call works for about a second with progress ten times a second, and is cancelled on its way by the signal that the
revision and the transport ask for. Errors come at once or after the cleaning up, results when the work is done.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.real.registry import JUNE, LEGACY, MODERN, Case

LATENCY = 3  # progress of so many steps more may have been on its way when the cancel arrived
TOOLS = ("cooperative", "blocking", "swallows")


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


STOPS = Seen()
RUNS_ON = Seen(ran_on=True)
RUNS_ON_TELLING = Seen(ran_on=True, progress=True)
LATE_RESULT = Seen(answer="result", ran_on=True)
WITHOUT_EFFECT = Seen(answer="result", ran_on=True, progress=True)


def _error(code: int, *, ran_on: bool = False, progress: bool = False) -> Seen:
    return Seen(answer=f"error {code}", ran_on=ran_on, progress=progress)


def _rows(server: str, transport: str, revision: str, *seen: Seen, mode: str = "") -> dict[Case, Seen]:
    tools = ("trigger-long-running-operation",) if server == "everything" else TOOLS
    cases = (Case(server, transport, revision, tool, mode) for tool in tools)
    return dict(zip(cases, seen, strict=False))


OBSERVED: dict[Case, Seen] = {
    # npm @modelcontextprotocol/server-everything: its long tool never looks at the cancel
    **_rows("everything", "stdio", LEGACY, RUNS_ON_TELLING),
    **_rows("everything", "http", LEGACY, RUNS_ON_TELLING),
    # PyPI mcp 1.x: answers at once with an error of code 0, and breaks when the tool then answers too
    **_rows("mcp1", "stdio", LEGACY, _error(0), LATE_RESULT, _error(0, ran_on=True, progress=True)),
    **_rows("mcp1", "http", LEGACY, _error(0), LATE_RESULT, _error(0, ran_on=True)),
    **_rows("mcp1", "http", LEGACY, WITHOUT_EFFECT, mode="stateless"),
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
    **_rows("mcp2", "http", LEGACY, WITHOUT_EFFECT, mode="stateless"),
    # what swallows the cancel would run on, were it not for its progress, which never returns without a stream
    **_rows("mcp2", "http", MODERN, STOPS, RUNS_ON, STOPS),
    **_rows("mcp2", "http", MODERN, RUNS_ON, mode="json"),
    # npm @modelcontextprotocol/sdk 1.x: drops the progress of a cancelled request
    **_rows("sdk1", "stdio", LEGACY, STOPS, LATE_RESULT, RUNS_ON),
    **_rows("sdk1", "http", LEGACY, STOPS, LATE_RESULT, RUNS_ON),
    **_rows("sdk1", "http", LEGACY, WITHOUT_EFFECT, mode="stateless"),
    # npm @modelcontextprotocol/server 2.x: over HTTP it has no sessions, and only closing stops anything
    **_rows("server2", "stdio", LEGACY, STOPS, LATE_RESULT, RUNS_ON_TELLING),
    **_rows("server2", "stdio", MODERN, STOPS, LATE_RESULT, RUNS_ON_TELLING),
    **_rows("server2", "http", LEGACY, WITHOUT_EFFECT, LATE_RESULT, WITHOUT_EFFECT),
    **_rows("server2", "http", MODERN, STOPS, RUNS_ON, STOPS),
    **_rows("server2", "http", MODERN, STOPS, mode="json"),
    # PyPI fastmcp 4.x: stands on mcp 2.x and does as that does
    **_rows("fastmcp4", "stdio", LEGACY, STOPS, RUNS_ON),
    **_rows("fastmcp4", "stdio", MODERN, STOPS, RUNS_ON),
    **_rows("fastmcp4", "http", LEGACY, _error(-32800), _error(-32800, ran_on=True)),
    **_rows("fastmcp4", "http", LEGACY, WITHOUT_EFFECT, mode="stateless"),
    **_rows("fastmcp4", "http", MODERN, STOPS, RUNS_ON),
    **_rows("fastmcp4", "http", MODERN, RUNS_ON, mode="json"),
    # npm tmcp: no notification ever stops a tool; only a stream that is closed does
    **_rows("tmcp", "stdio", JUNE, WITHOUT_EFFECT, LATE_RESULT, WITHOUT_EFFECT),
    **_rows("tmcp", "stdio", MODERN, WITHOUT_EFFECT, LATE_RESULT, WITHOUT_EFFECT),
    **_rows("tmcp", "http", JUNE, WITHOUT_EFFECT, LATE_RESULT, WITHOUT_EFFECT),
    **_rows("tmcp", "http", MODERN, STOPS, RUNS_ON, RUNS_ON),
}
