"""``call --saved NAME``: a saved call, on the server that it was saved for unless the words name another."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.settings import loaded, saved_folder
from mcp_tui.cli.status import Exit, Failure
from mcp_tui.cli.target import target
from mcp_tui.config import saved
from mcp_tui.config.files import ConfigError
from mcp_tui.config.saved import SavedCall, SavedServer
from mcp_tui.tui.view.text import clean


def recall(given: Words) -> tuple[SavedCall, Words]:
    """The saved call that the words name, and the words with its server, where they name none.

    Raises:
        Failure: there is none, there are several, or its server was not kept.
    """
    named = given.command is not None or given.url is not None or given.options.demo
    named = named or given.options.server is not None
    try:
        where = target(given) if named else None
        kept = None if where is None else saved.server_of(where)
        call = saved.find(saved_folder(loaded()), given.options.saved, kept)
    except ConfigError as error:
        raise Failure(clean(str(error)), Exit.USAGE) from None
    return call, given if named else _on(call.server, given)


def _on(server: SavedServer, given: Words) -> Words:
    options = given.options
    if not server.found:
        text = "the server of this call was not kept, since it had a secret in it: add a URL, -- COMMAND or --server NAME"
        raise Failure(text, Exit.USAGE)
    if server.name == "demo":
        options.demo = True
        return given
    if server.name:
        options.server = server.name
        return given
    if server.url:
        _lacking(server.headers, [each.partition(":")[0].strip() for each in options.headers], "-H '{}: …'")
        if options.transport == "auto":
            options.transport = server.transport
        return replace(given, url=server.url)
    options.cwd = options.cwd or server.cwd or None
    known = {each.partition("=")[0] for each in options.env}
    have = [name for name in server.env if name not in known and name in os.environ]
    options.env = [*options.env, *(f"{name}={os.environ[name]}" for name in have)]
    _lacking(server.env, [each.partition("=")[0] for each in options.env], "-e {}=…")
    return replace(given, command=list(server.command))


def _lacking(names: tuple[str, ...], given: list[str], option: str) -> None:
    """Say which values were not kept and are not given: the call may do without them."""
    have = {name.lower() for name in given}
    for name in names:
        if name.lower() not in have:
            said = option.format(name)
            print(
                clean(f"mcp-tui: the value of {name} was not kept with the call; give it with {said}"),
                file=sys.stderr,
            )
