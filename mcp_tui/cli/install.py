"""``tap --install``, ``--uninstall``, and ``--status``: the taps in the config files of clients."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.options import options_of
from mcp_tui.cli.output import Exit, Failure, asked, out, show, table, warn
from mcp_tui.cli.target import require_consent
from mcp_tui.config import consent
from mcp_tui.config.definitions import Definition
from mcp_tui.config.programs import tap_problem
from mcp_tui.config.servers import discover, find
from mcp_tui.config.sharing import Sharing, sharing
from mcp_tui.config.sources import REGISTRY
from mcp_tui.tap.install import ConfigEntry, NotEditable, options, own_path
from mcp_tui.view.text import clean

FITTING_OPTIONS: Final = {
    "--install": {"install", "config", "yes", "timeout", "max_timeout", "name"},
    "--uninstall": {"uninstall", "config", "yes"},
    "--status": {"status", "config", "json"},
}
"""Options that go with each of the three."""


def run(given: Words) -> int:
    """Runs one of the three; returns the exit status.

    Raises:
        Failure: the words do not fit together, there is no such server, it cannot be edited, or nobody agreed.
    """
    chosen = given.options
    names = [each for each in (chosen.install, chosen.uninstall) if each is not None]
    if len(names) + chosen.status != 1 or given.command or given.words or given.url:
        raise Failure("Use one of: tap --install NAME, tap --uninstall NAME, tap --status, tap -- COMMAND.")
    does = "--status" if chosen.status else "--install" if chosen.install is not None else "--uninstall"
    for option in options_of("tap"):
        if option.dest not in FITTING_OPTIONS[does] and getattr(chosen, option.dest) != option.default:
            raise Failure(f"{option.names[-1]} does not go with {does}.")
    config = Path(chosen.config) if chosen.config else None
    if chosen.status:
        return _status(config, as_json=chosen.json)
    server = _find(names[0], config)
    installs = chosen.install is not None
    if server.tapped == installs:
        if problem := tap_problem(server):
            raise Failure(_broken(server, problem))
        out(
            clean(
                f"Server {server.name!r} ({server.place}) has {'a' if installs else 'no'} tap. Nothing changed."
            )
        )
        return Exit.COMPLETED
    try:
        entry = ConfigEntry(server)
        if installs:
            program = own_path()
            require_consent(given, server)
            words = options(chosen.timeout, chosen.max_timeout, chosen.name or server.name)
            edit = entry.install(program, words)
        else:
            edit = entry.uninstall()
    except NotEditable as error:
        raise Failure(str(error), lines=error.lines) from None
    for line in edit.diff():
        out(clean(line))
    for said in entry.repeated:
        warn(f"{server.file}: {said}. Only the last one is used, and only that is changed.")
    if installs:
        _warn_if_shared(server.file, named=config is not None, yes=chosen.yes)
    if not (chosen.yes or asked("Write this?", "write it in a script")):
        raise Failure("Nothing was written.")
    agreed = consent.is_given(server)
    kept = edit.write()
    if agreed:  # it starts what it started before
        consent.give(_find(server.name, server.file))
    out(clean(f"Written. Restart the client. The file as it was: {kept}"))
    return Exit.COMPLETED


def _warn_if_shared(file: Path, *, named: bool, yes: bool) -> None:
    """Says who else gets a file with a path of this machine.

    Raises:
        Failure: git tracks the file, and nobody is asked who could see that, nor did anybody name the file.
    """
    shared = sharing(file)
    if shared is Sharing.OWN:
        return
    said = f"{file} {shared.value}: others get a path of this machine with it, and cannot start the server."
    if yes and not named and shared is not Sharing.PROJECT:
        raise Failure(
            f"{said} Nothing was written. Name the file to write it: --config {shlex.quote(str(file))}"
        )
    warn(said)


def _find(name: str, config: Path | None) -> Definition:
    """Returns the server of this name, in the only file that has one."""
    every = discover(config=config)
    if config is not None and every.problems:
        lines = [
            f"command: {own_path()}",
            "args: tap, --, and then the server's command and arguments, each a word",
        ]
        raise Failure(f"{every.problems[0]}. Put the tap there by hand:", lines=lines)
    found = [each for each in every.servers if each.name == name]
    files = {each.file.resolve(): each for each in reversed(found)}
    if len(files) > 1:
        listed = ", ".join(f"{each.place} ({each.source.title})" for each in reversed(files.values()))
        raise Failure(f"{len(files)} files define server {name!r}: {listed}. Choose one with --config FILE.")
    return found[0] if found else find(name, config)


def _broken(server: Definition, problem: str) -> str:
    name = shlex.quote(server.name)
    return (
        f"The tap of server {server.name!r} ({server.place}) has to be replaced: {problem}. "
        f"Run mcp-tui tap --uninstall {name}, then --install {name}"
    )


def _status(config: Path | None, *, as_json: bool) -> int:
    found = discover(config=config)
    if config is not None and found.problems:
        raise Failure(found.problems[0])
    servers = [each for each in found.servers if each.source is not REGISTRY]
    problems = list(map(tap_problem, servers))
    fields = [
        {
            "name": each.name,
            "tap": each.tapped,
            "problem": problem or None,
            "tool": each.source.title,
            "file": str(each.file),
            "line": each.line,
            "command": each.command_words or None,
            "url": each.url or None,
        }
        for each, problem in zip(servers, problems, strict=True)
    ]
    rows = [
        (
            each.name,
            "broken tap" if problem else "tap" if each.tapped else "no tap",
            each.around.short(each.place),
            each.summary or each.problem,
        )
        for each, problem in zip(servers, problems, strict=True)
    ]
    show(fields, table([[clean(cell) for cell in row] for row in rows]), as_json=as_json)
    for each, problem in zip(servers, problems, strict=True):
        if problem:
            warn(_broken(each, problem))
    for problem in found.problems:
        warn(problem)
    if not servers and not found.problems:
        warn("No servers in the config files. Use --config FILE.")
    return Exit.COMPLETED
