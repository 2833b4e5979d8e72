"""``servers``: what the config files define and where each stands; and consent to what a project's file defines.

Nothing is started, and no file of another tool is written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.status import Exit, Failure
from mcp_tui.config import consent
from mcp_tui.config.consent import Availability, availability
from mcp_tui.config.definitions import Definition
from mcp_tui.config.filling import command_words, url, what
from mcp_tui.config.servers import FoundServers, discover, find
from mcp_tui.config.sources import Surroundings
from mcp_tui.tui.view.text import SafeText, clean, fit, width


def run(_name: str, given: Words) -> int:
    """Run the command; the exit status.

    Raises:
        Failure: the file that is named cannot be read, there is no such server, or nobody agreed.
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
        raise Failure(clean(found.problems[0]))
    if options.json:
        broken = [
            {"name": None, "state": Availability.PROBLEM.value, "detail": problem}
            for problem in found.problems
        ]
        print(json.dumps([*map(_fields, found.servers), *broken], indent=2))
    else:
        _list(found)
    for problem in found.problems:
        print(clean(f"mcp-tui: {problem}"), file=sys.stderr)
    return Exit.COMPLETED


# -- the list ----------------------------------------------------------------------------------------------------


def _list(found: FoundServers) -> None:
    around = Surroundings.now()
    rows: list[tuple[SafeText, ...]] = []
    for each in found.servers:
        state, said = availability(each)
        shown = (
            said
            if state not in (Availability.USABLE, Availability.CONSENT, Availability.ASKS)
            else what(each)
        )
        rows.append(
            (
                clean(each.name),
                clean(state.value),
                clean(each.source.title),
                clean(_short(each.place, around)),
                clean(shown),
            )
        )
    for line in table(rows):
        print(line)
    if any(availability(each)[0] is Availability.CONSENT for each in found.servers):
        print(
            "mcp-tui: Servers from a project's file need approval. Run mcp-tui servers --trust NAME.",
            file=sys.stderr,
        )
    if not found.servers and not found.problems:
        print(
            "mcp-tui: No servers in the config files. Use --config FILE, a URL, or -- COMMAND.",
            file=sys.stderr,
        )


def table(rows: Sequence[Sequence[SafeText]]) -> list[str]:
    """Rows with their columns aligned; the last one as long as it is."""
    if not rows:
        return []
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join((*(fit(cell, cells) for cell, cells in zip(row, widths, strict=False)), row[-1])).rstrip()
        for row in rows
    ]


def _short(path: str, around: Surroundings) -> str:
    """A path as a person would write it here."""
    for folder, instead in ((around.cwd, ""), (around.home, "~/")):
        prefix = f"{folder}/"
        if len(prefix) > 2 and path.startswith(prefix):
            return instead + path.removeprefix(prefix)
    return path


def _fields(each: Definition) -> dict[str, object]:
    state, said = availability(each)
    launch = each.launch
    words = command_words(each)
    return {
        "name": each.name,
        "state": state.value,
        "detail": said or None,
        "source": each.source.id,
        "tool": each.source.title,
        "file": str(each.file),
        "line": each.line,
        "project": each.project,
        "transport": None if launch is None else launch.transport,
        "command": words[0] if words else None,
        "args": words[1:] if words else None,
        "env": None if launch is None else list(launch.env),
        "url": url(each) or None,
        "headers": None if launch is None else list(launch.headers),
        "disabled": each.disabled,
        "unread": list(each.unread),
    }


# -- consent -----------------------------------------------------------------------------------------------------


def _trust(found: Definition, *, sure: bool) -> int:
    if not found.project:
        print(clean(f"Server {found.name!r} needs no approval: {found.file} is your own file."))
        return Exit.COMPLETED
    if found.launch is None:
        raise Failure(clean(f"Cannot approve server {found.name!r} ({found.place}): {found.problem}."))
    for word, said in consent.account(found):
        print(f"{word:<10}{clean(said)}")
    if consent.is_given(found):
        print("Already approved; nothing has changed since.")
        return Exit.COMPLETED
    if not sure and not _asked():
        raise Failure(f"Not approved; {clean(found.name)!r} was not started.")
    consent.give(found)
    print("Approved. If the definition changes, mcp-tui asks again.")
    return Exit.COMPLETED


def _asked() -> bool:
    if not sys.stdin.isatty():
        raise Failure("Cannot ask for approval: stdin is not a terminal. Add --yes to approve in a script.")
    print("Allow mcp-tui to start this server? [y/N] ", end="", flush=True)
    try:
        answer = sys.stdin.readline()
    except UnicodeDecodeError:
        return False
    return answer.strip().lower() in ("y", "yes")


def _distrust(found: Definition) -> int:
    if consent.withdraw(found):
        print(clean(f"Approval withdrawn: {found.name!r} in {found.file}."))
    else:
        print(clean(f"No approval to withdraw: {found.name!r} in {found.file}."))
    return Exit.COMPLETED
