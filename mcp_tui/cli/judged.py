"""``demo --judge``: the server that a client starts while its judge runs in another process. It must start fast."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mcp_tui.cli.output import Exit
from mcp_tui.judge import stub
from mcp_tui.live.sockets import reachable


def run(path: str) -> int:
    """Passes all bytes between the client and the judge at this socket; returns the exit status."""
    try:
        with reachable(Path(path)) as address:
            stub.main(address)
    except OSError:
        return _without_judge()
    return Exit.COMPLETED


def _without_judge() -> int:
    """Reports that no judge is running: on stderr, and to the client in the answer to its first request."""
    text = "No judge is running. Start mcp-tui probe-client --by-hand, then restart this server."
    print(f"mcp-tui: {text}", file=sys.stderr, flush=True)
    try:
        asked = json.loads(sys.stdin.readline())
        answer = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": text}}
        print(json.dumps(answer), flush=True)
    except (ValueError, TypeError, KeyError, OSError):
        pass  # there is no request to answer
    return Exit.UNREACHABLE
