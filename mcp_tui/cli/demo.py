"""``demo``: runs the demo server itself, on stdio or on 127.0.0.1."""

from __future__ import annotations

from pathlib import Path

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Failure
from mcp_tui.protocol.http_access import HttpAccess


def run(_name: str, given: Words) -> int:
    """Runs the server until its input ends or it is interrupted; returns the exit status."""
    options = given.options
    if options.judge:
        # With --judge a client waits for its server, so only this is loaded.
        from mcp_tui.cli import judged

        return judged.run(options.judge)
    if options.http is not None and not 0 <= options.http < 65536:
        raise Failure(f"Port {options.http} does not exist. Choose from 0 to 65535.")
    # This loads asyncio, which the error about a refused port does not need.
    from mcp_tui.demo.demo_server import main

    access = HttpAccess(options.allow_origins, options.allow_hosts)
    return main(options.http, Path(options.log) if options.log else None, access=access)
