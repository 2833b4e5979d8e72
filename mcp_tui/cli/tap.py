"""``tap``: stand between a client and its server."""

from __future__ import annotations

from typing import NoReturn

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Failure


def run(_name: str, given: Words) -> int:
    """Runs the tap, in place of this process; or changes the config file of a client."""
    chosen = given.options
    if chosen.install is None and chosen.uninstall is None and not chosen.status:
        _relay(given)
    from mcp_tui.cli import install

    return install.run(given)


def _relay(given: Words) -> NoReturn:
    if not given.command:
        raise Failure("No server to tap. Use mcp-tui tap -- COMMAND, as the client would start it.")
    if given.words or given.url:
        raise Failure("A tap takes its options and, after --, the server's command. See mcp-tui tap --help.")
    options = given.options
    found = {
        "timeout": options.timeout,
        "max_timeout": options.max_timeout,
        "record": options.record,
        "name": options.name,
    }
    from mcp_tui.tap.relay import serve

    serve({key: value for key, value in found.items() if value is not None}, given.command)
