"""``servers``: lists the servers of the config files, and stores consent to servers of a project's file.

It starts nothing, and writes no file of another tool.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, confirm, out, show, table, warn
from mcp_tui.config import consent
from mcp_tui.config.consent import Availability, availability
from mcp_tui.config.definitions import Definition
from mcp_tui.config.servers import FoundServers, discover, find
from mcp_tui.view.text import SafeText, clean


def run(_name: str, given: Words) -> int:
    """Runs the command and returns the exit status.

    Raises:
        Failure: the named file cannot be read, there is no such server, or nobody agreed.
    """
    options = given.options
    if options.trust is not None and options.distrust is not None:
        raise Failure("Use either --trust or --distrust, not both.")
    config = Path(options.config) if options.config else None
    if options.trust is not None:
        return _trust(find(options.trust, config), sure=options.yes)
    if options.distrust is not None:
        return _distrust(find(options.distrust, config))
    found = discover(config=config)
    if config is not None and found.problems:
        raise Failure(found.problems[0])
    broken = [
        {"name": None, "state": Availability.PROBLEM.value, "detail": problem} for problem in found.problems
    ]
    stands = [(each, *availability(each)) for each in found.servers]
    fields = [_fields(*each) for each in stands]
    show([*fields, *broken], _lines(found, stands), as_json=options.json)
    for each in found.servers:
        if each.ignored:
            warn(
                f"{each.source.title} ignores {', '.join(each.ignored)} of server {each.name!r} ({each.place})."
            )
    for problem in found.problems:
        warn(problem)
    return Exit.COMPLETED


# -- the list ----------------------------------------------------------------------------------------------------


Stand = tuple[Definition, Availability, str]
"""A server, its availability, and a sentence about it."""


def _lines(found: FoundServers, stands: list[Stand]) -> Iterator[str]:
    """Yields a line for each server; advice goes to stderr."""
    startable = (Availability.USABLE, Availability.CONSENT, Availability.ASKS)
    rows: list[list[SafeText]] = []
    for each, state, text in stands:
        shown = each.summary if state in startable else text
        row = (each.name, state.value, each.tool, each.around.short(each.place), shown)
        rows.append([clean(cell) for cell in row])
    yield from table(rows)
    if any(state is Availability.CONSENT for _, state, _ in stands):
        warn("Servers from a project's file need approval. Run mcp-tui servers --trust NAME.")
    if not found.servers and not found.problems:
        warn("No servers in the config files. Use --config FILE, a URL, or -- COMMAND.")


def _fields(each: Definition, state: Availability, said: str) -> dict[str, object]:
    launch = each.launch
    words = each.command_words
    return {
        "name": each.name,
        "state": state.value,
        "detail": said or None,
        "source": each.source.id,
        "tool": each.source.title,
        "file": str(each.file),
        "line": each.line,
        "project": each.project,
        "scope": each.scope,
        "transport": None if launch is None else launch.transport,
        "command": words[0] if words else None,
        "args": words[1:] if words else None,
        "env": None if launch is None else list(launch.env),
        "url": each.url or None,
        "headers": None if launch is None else list(launch.headers),
        "disabled": each.disabled,
        "ignored": each.ignored,
        "timeout": each.call_limit,
        "start_timeout": each.start_limit,
        "unread": list(each.unread),
    }


# -- consent -----------------------------------------------------------------------------------------------------


def _trust(found: Definition, *, sure: bool) -> int:
    if not found.project:
        out(clean(f"Server {found.name!r} needs no approval: {found.file} is your own file."))
        return Exit.COMPLETED
    if found.launch is None:
        raise Failure(f"Cannot approve server {found.name!r} ({found.place}): {found.problem}.")
    out(f"{'server':<12}{clean(found.name)}")
    for word, text in consent.consent_details(found):
        out(f"{word:<12}{clean(text)}")
    if consent.is_given(found):
        out("Already approved; nothing has changed since.")
        return Exit.COMPLETED
    if not sure and not confirm("Allow mcp-tui to start this server?", "approve in a script"):
        raise Failure(f"Not approved; {found.name!r} was not started.")
    consent.give(found)
    out("Approved. If the definition changes, mcp-tui asks again.")
    return Exit.COMPLETED


def _distrust(found: Definition) -> int:
    if consent.withdraw(found):
        out(clean(f"Approval withdrawn: {found.name!r} in {found.file}."))
    else:
        out(clean(f"No approval to withdraw: {found.name!r} in {found.file}."))
    return Exit.COMPLETED
