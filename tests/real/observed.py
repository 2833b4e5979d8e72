"""What the real servers were seen to do when a call is cancelled: data, asserted by `test_observed.py`.

The call works for about a second with progress ten times a second, and is cancelled after its third step. `RIGHT`
says which signal the revision and the transport ask for; rows with the other signal show what that would do. Words
and fields are those of `probe.Seen`. Errors come at once or after the cleaning up, results when the work is done.
"""

from __future__ import annotations

from tests.real.probe import Case, Fate, Seen, Signal, Transport
from tests.real.registry import LEGACY, MODERN, OLDER

RIGHT: dict[tuple[Transport, str], Signal] = {
    ("stdio", OLDER): "notification",
    ("stdio", LEGACY): "notification",
    ("stdio", MODERN): "notification",
    ("http", OLDER): "notification",
    ("http", LEGACY): "notification",
    ("http", MODERN): "stream_closed",
}

# What is seen most often.
STOPS = Seen()
RUNS_ON = Seen(ran_on=True)
RUNS_ON_TELLING = Seen(ran_on=True, progress=True)
LATE_RESULT = Seen(answer="result", ran_on=True)

# The same over HTTP, after a notification: its POST is accepted, and the response stream has a fate of its own.
STOPS_LEAVING_OPEN = Seen(stream="open", posted="202")
WITHOUT_EFFECT = Seen(answer="result", ran_on=True, progress=True, stream="ended", posted="202")
UNHEARD_UNTIL_DONE = Seen(answer="result", ran_on=True, stream="ended", posted="202 after the work")


def _error(code: int, *, ran_on: bool = False, progress: bool = False, server: Fate = "lives") -> Seen:
    answer = f"error {code}"
    return Seen(answer=answer, ran_on=ran_on, progress=progress, stream="ended", posted="202", server=server)


def _rows(
    server: str,
    transport: Transport,
    revision: str,
    rows: dict[str, Seen],
    *flags: str,
    signal: Signal | None = None,
) -> dict[Case, Seen]:
    signal = signal or RIGHT[transport, revision]
    return {
        Case(
            server=server, transport=transport, revision=revision, signal=signal, tool=tool, flags=flags
        ): seen
        for tool, seen in rows.items()
    }


_MCP2_STDIO = {
    "cooperative": STOPS,
    "blocking": RUNS_ON,  # in a thread, while other calls are answered
    "swallows": RUNS_ON_TELLING,
    "cleanup": STOPS,
    "raises": STOPS,
}
_SERVER2_STDIO = {
    "cooperative": STOPS,
    "blocking": LATE_RESULT,  # the event loop is held: the cancel is read when the result has been written
    "swallows": RUNS_ON_TELLING,
    "cleanup": STOPS,
    "raises": STOPS,
}
_CLOSED = {
    "cooperative": STOPS,
    "blocking": RUNS_ON,
    # It would run on, were it not for its progress: with the stream gone, the next report never returns (mcp2)
    # or throws (server2).
    "swallows": STOPS,
    "cleanup": STOPS,
    "raises": STOPS,
}

_TMCP_STDIO = {
    tool: LATE_RESULT if tool == "blocking" else Seen(answer="result", ran_on=True, progress=True)
    for tool in ("cooperative", "blocking", "swallows")
}
_FASTMCP4_STDIO = {tool: _MCP2_STDIO[tool] for tool in ("cooperative", "blocking")}
_FASTMCP4_CLOSED = {tool: _CLOSED[tool] for tool in ("cooperative", "blocking")}

OBSERVED: dict[Case, Seen] = {
    # -- npm @modelcontextprotocol/server-everything: its long tool never looks at the cancel ---------------
    **_rows("everything", "stdio", LEGACY, {"trigger-long-running-operation": RUNS_ON_TELLING}),
    **_rows(
        "everything",
        "http",
        LEGACY,
        {"trigger-long-running-operation": Seen(ran_on=True, progress=True, stream="open", posted="202")},
    ),
    **_rows(
        "everything",
        "http",
        LEGACY,
        {"trigger-long-running-operation": Seen(ran_on=None)},
        signal="stream_closed",
    ),
    # -- PyPI mcp 1.x: answers at once with an error of code 0, and breaks when the tool then answers too ---
    **_rows(
        "mcp1",
        "stdio",
        LEGACY,
        {
            "cooperative": Seen(answer="error 0"),
            "blocking": LATE_RESULT,  # and every other call waits
            "swallows": Seen(answer="error 0", ran_on=True, progress=True, server="dies next"),
            "cleanup": Seen(answer="error 0"),
            # Silent as long as nothing more is sent; the error comes, nearly always, as the server dies.
            "raises": Seen(server="dies next"),
        },
    ),
    **_rows(
        "mcp1",
        "http",
        LEGACY,
        {
            "cooperative": _error(0),
            "blocking": UNHEARD_UNTIL_DONE,
            "swallows": _error(0, ran_on=True, server="session lost"),
            "cleanup": _error(0),
            "raises": _error(0, server="session lost"),
        },
    ),
    **_rows("mcp1", "http", LEGACY, {"cooperative": RUNS_ON}, signal="stream_closed"),
    **_rows("mcp1", "http", LEGACY, {"cooperative": WITHOUT_EFFECT}, "--stateless"),
    **_rows("mcp1", "http", LEGACY, {"cooperative": STOPS}, "--stateless", signal="stream_closed"),
    # -- PyPI mcp 2.x ---------------------------------------------------------------------------------------
    **_rows("mcp2", "stdio", LEGACY, _MCP2_STDIO),
    **_rows("mcp2", "stdio", MODERN, _MCP2_STDIO),
    **_rows(
        "mcp2",
        "http",
        LEGACY,
        {
            "cooperative": _error(-32800),
            "blocking": _error(-32800, ran_on=True),  # when the work is done
            "swallows": _error(-32800, ran_on=True, progress=True),  # when the work is done
            "cleanup": _error(-32800),
            "raises": _error(-32800),
        },
    ),
    **_rows("mcp2", "http", LEGACY, {"cooperative": RUNS_ON}, signal="stream_closed"),
    **_rows("mcp2", "http", LEGACY, {"cooperative": WITHOUT_EFFECT}, "--stateless"),
    **_rows("mcp2", "http", LEGACY, {"cooperative": STOPS}, "--stateless", signal="stream_closed"),
    **_rows("mcp2", "http", MODERN, _CLOSED),
    **_rows("mcp2", "http", MODERN, {"cooperative": WITHOUT_EFFECT}, signal="notification"),
    **_rows("mcp2", "http", MODERN, {"cooperative": RUNS_ON}, "--json"),
    # -- npm @modelcontextprotocol/sdk 1.x: leaves the response stream open for ever ------------------------
    **_rows(
        "sdk1",
        "stdio",
        LEGACY,
        {
            "cooperative": STOPS,
            "blocking": LATE_RESULT,
            "swallows": RUNS_ON,  # the SDK drops the progress of a cancelled request; server-everything goes round it
            "cleanup": STOPS,
            "raises": STOPS,
        },
    ),
    **_rows(
        "sdk1",
        "http",
        LEGACY,
        {
            "cooperative": STOPS_LEAVING_OPEN,
            "blocking": UNHEARD_UNTIL_DONE,
            "swallows": Seen(ran_on=True, stream="open", posted="202"),
            "cleanup": STOPS_LEAVING_OPEN,
            "raises": STOPS_LEAVING_OPEN,
        },
    ),
    **_rows("sdk1", "http", LEGACY, {"cooperative": RUNS_ON}, signal="stream_closed"),
    **_rows("sdk1", "http", LEGACY, {"cooperative": WITHOUT_EFFECT}, "--stateless"),
    **_rows("sdk1", "http", LEGACY, {"cooperative": RUNS_ON}, "--stateless", signal="stream_closed"),
    # -- npm @modelcontextprotocol/server 2.x: over HTTP it has no sessions, and only closing stops anything --
    **_rows("server2", "stdio", LEGACY, _SERVER2_STDIO),
    **_rows("server2", "stdio", MODERN, _SERVER2_STDIO),
    **_rows(
        "server2",
        "http",
        LEGACY,
        {
            "cooperative": WITHOUT_EFFECT,
            "blocking": UNHEARD_UNTIL_DONE,
            "swallows": WITHOUT_EFFECT,
            "cleanup": WITHOUT_EFFECT,
            "raises": WITHOUT_EFFECT,
        },
    ),
    **_rows("server2", "http", LEGACY, {"cooperative": STOPS}, signal="stream_closed"),
    **_rows("server2", "http", MODERN, _CLOSED),
    **_rows("server2", "http", MODERN, {"cooperative": WITHOUT_EFFECT}, signal="notification"),
    **_rows("server2", "http", MODERN, {"cooperative": STOPS}, "--json"),
    # -- PyPI fastmcp 4.x: stands on mcp 2.x and does as that does --------------------------------------------
    **_rows("fastmcp4", "stdio", LEGACY, _FASTMCP4_STDIO),
    **_rows("fastmcp4", "stdio", MODERN, _FASTMCP4_STDIO),
    **_rows(
        "fastmcp4",
        "http",
        LEGACY,
        {
            "cooperative": _error(-32800),
            "blocking": _error(-32800, ran_on=True),  # when the work is done
        },
    ),
    **_rows("fastmcp4", "http", LEGACY, {"cooperative": WITHOUT_EFFECT}, "--stateless"),
    **_rows("fastmcp4", "http", MODERN, _FASTMCP4_CLOSED),
    **_rows("fastmcp4", "http", MODERN, {"cooperative": RUNS_ON}, "--json"),
    # -- npm tmcp: no notification ever stops a tool, whatever the revision; only a stream that is closed does --
    **_rows(
        "tmcp", "stdio", OLDER, _TMCP_STDIO
    ),  # one call after another: the next one waits for the cancelled one
    **_rows("tmcp", "stdio", MODERN, _TMCP_STDIO),
    **_rows(
        "tmcp",
        "http",
        OLDER,
        {
            "cooperative": WITHOUT_EFFECT,
            "blocking": UNHEARD_UNTIL_DONE,
            "swallows": WITHOUT_EFFECT,
        },
    ),
    **_rows("tmcp", "http", OLDER, {"cooperative": STOPS}, signal="stream_closed"),
    **_rows(
        "tmcp", "http", MODERN, {**_CLOSED, "swallows": RUNS_ON}
    ),  # progress into a closed stream is no error
    **_rows(
        "tmcp",
        "http",
        MODERN,
        # refused, because the probe's notification does not say whose it is
        {"cooperative": Seen(answer="result", ran_on=True, progress=True, stream="ended", posted="400")},
        signal="notification",
    ),
}
