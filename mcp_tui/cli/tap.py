"""``tap``: runs between a client and its server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn, cast

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.options import TAP
from mcp_tui.cli.output import Failure
from mcp_tui.config.tap_words import RESERVED

if TYPE_CHECKING:
    from mcp_tui.config.tap_words import TapOptions


def run(_name: str, given: Words) -> int:
    """Runs the tap, on stdio as a replacement of this process; or changes the config file of a client."""
    if given.words[:1] and given.words[0] in RESERVED:
        # This loads the reader of the clients' configs.
        from mcp_tui.cli import tap_install

        return tap_install.run(given)
    chosen = given.options
    for option in ("all", "client", "config", "serve", "allow_cancel", "yes", "json"):
        if getattr(chosen, option):
            raise Failure(f"--{option.replace('_', '-')} goes with tap install, uninstall, or status.")
    return _relay(given) if chosen.http is None else _proxy(given)


def _relay(given: Words) -> NoReturn:
    if given.url and not given.command:
        raise Failure("A server behind a URL needs a port for the client. Use mcp-tui tap --http PORT URL.")
    if not given.command:
        raise Failure("No server to tap. Use mcp-tui tap -- COMMAND, as the client would start it.")
    if given.words or given.url:
        raise Failure("A tap takes its options and, after --, the server's command. See mcp-tui tap --help.")
    # A client waits for its server, so nothing else is loaded before the server starts.
    from mcp_tui.tap.start import serve

    serve(_begin(given), given.command)


def _proxy(given: Words) -> int:
    options = given.options
    port = options.http
    if given.url is None or given.words or given.command:
        raise Failure("A tap over HTTP takes its options and one URL. See mcp-tui tap --help.")
    if not 0 <= port < 65536:
        raise Failure(f"Invalid port {port}. Use 0 to 65535; 0 picks a free one.")
    begin = _begin(given)
    # First, so that the recorder starts while the modules below are imported.
    from mcp_tui.tap.recorder_process import RecorderProcess

    recorder = RecorderProcess("http")  # runs while the modules below are imported
    # This loads the HTTP library while the recorder starts.
    from mcp_tui.cli.session import tokens_for
    from mcp_tui.client.client_settings import HttpTarget
    from mcp_tui.protocol.http_access import HttpAccess
    from mcp_tui.tap.http_tap import serve
    from mcp_tui.transport.base import TransportError

    target = HttpTarget(
        url=given.url,
        name=options.name or "",
        insecure=options.insecure,
        client_cert=options.client_cert or "",
        client_key=options.client_key or "",
    )
    access = HttpAccess(options.allow_origins, options.allow_hosts)
    try:
        return serve(target, port, tokens_for(target), begin, recorder, access)
    except TransportError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise Failure(f"Cannot listen at port {port}: {why}. Choose another one, or 0.") from error


def _begin(given: Words) -> TapOptions:
    if given.options.keep_secrets and not given.options.record:
        raise Failure("--keep-secrets is about a recording. Add --record FILE.")
    values = {each.dest: getattr(given.options, each.dest) for each in TAP.options}
    return cast("TapOptions", {name: value for name, value in values.items() if value is not None})
