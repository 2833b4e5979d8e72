"""``--via``: ``ps`` and ``cancel`` by mcp-tui on other machines, in containers, and of other users."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure
from mcp_tui.cli.target import in_force
from mcp_tui.live import control
from mcp_tui.live.control import REASON_CHARACTERS, Problem, Summary
from mcp_tui.live.running import Running, Unknown
from mcp_tui.live.via import NOT_FOUND, USAGE, Host, ask, place
from mcp_tui.view.text import brief

HOST_NAME: Final = re.compile(r"[\w.@-]+", re.ASCII)
"""The name of a host: a colon ends it."""

SESSION_NAME: Final = re.compile(r"\w[\w.@-]*", re.ASCII)
"""The name of a session, a client, or a server that may be an argument, even where a shell reads it."""


def hosts(named: Sequence[str]) -> dict[str, Host]:
    """Returns hosts, in this order, by their names: each is ``named`` in the settings, or is a command.

    Raises:
        Failure: a command is empty or cannot be split, or a setting is invalid.
    """
    known = in_force().via
    found: dict[str, Host] = {}
    for each in named:
        try:
            command = tuple(shlex.split(known.get(each, each)))
        except ValueError as error:
            raise Failure(f"Cannot split --via {each!r}: {error}. Quote it as for a shell.") from None
        if not command:
            raise Failure("A command of --via is empty. Give one such as 'ssh build1'.")
        if each in known and not HOST_NAME.fullmatch(each):
            raise Failure(f"Invalid host {each!r} in [via]. Use letters, digits, and . _ @ - in its name.")
        base = name = each if each in known else _name(command)
        count = 1
        while name in found:
            count += 1
            name = f"{base}-{count}"
        found[name] = Host(name, command)
    return found


def _name(command: tuple[str, ...]) -> str:
    """Returns a name for the place that a command reaches: its last word that is no option, such as ``build1``."""
    words = [each for each in place(command) if not each.startswith("-")] or command
    return "-".join(HOST_NAME.findall(Path(words[-1]).name))[:40].strip("-") or "host"


def host_of(given: Words, named: str) -> tuple[Host, str]:
    """Returns the host that a name begins with, and the rest. It may be left out if ``--via`` names only one.

    Raises:
        Failure: there is no such host, or it is not named.
    """
    name, colon, rest = named.partition(":")
    found = hosts(given.options.via)
    if colon and not found and name in in_force().via:
        found = hosts([name])
    if colon and name in found:
        return found[name], rest
    if len(found) == 1:
        return next(iter(found.values())), named
    if found:
        raise Failure(f"Name the host, as in {next(iter(found))}:{named}. mcp-tui ps --via … lists them.")
    raise Failure(f"Unknown host {name!r}. Define it in [via] of the settings, or give --via.")


def sessions(given: Words) -> tuple[list[Running], list[Unknown]]:
    """Returns the running sessions of all hosts, and those sessions and hosts that are not known."""
    running: list[Running] = []
    unknown: list[Unknown] = []
    every = [*hosts(given.options.via).values()]
    for remote, output in ask(every, ["ps", "--json"], [], given.options.via_timeout):
        host = remote.host.name
        try:
            found = {} if remote.why else control.read_rows(output)
        except control.UNREADABLE:
            remote.not_understood(output)
            found = {}
        if remote.why:
            unknown.append(Unknown(f"{host}:", Problem.UNREACHABLE, remote.why))
        for name, each in found.items():
            if isinstance(each, Summary):
                running.append(Running(f"{host}:{name}", Path(), each))
            else:
                unknown.append(Unknown(f"{host}:{name}", *each))
    return running, unknown


def cancel(given: Words) -> str:
    """Cancels a request of another host, or lets its repeat through; returns a sentence about it.

    Raises:
        Failure: the host says why not, or gave no answer.
    """
    host, request = host_of(given, given.words[0])
    if not SESSION_NAME.fullmatch(request.partition("/")[0]):
        raise Failure(f"Not a session: {request!r}. Name one request as HOST:SESSION/ID.")
    options = given.options
    typed = [request] + (["--allow"] if options.allow else [])
    typed += [] if options.reason is None else [f"--reason={options.reason[:REASON_CHARACTERS]}"]
    for remote, output in ask([host], ["cancel", "--json", "--stdin"], typed, options.via_timeout):
        try:
            status, message = control.read_message(b"" if remote.why else output)
            ended = Exit(status)
        except control.UNREADABLE:
            if not remote.why:
                remote.not_understood(output)
        else:
            text = brief(f"{host.name}: {message}", 1000)
            if ended is not Exit.COMPLETED:
                raise Failure(text, ended)
            return text
        # A command that did not start, or does not know its arguments, cancels nothing.
        certain = remote.process is None or remote.status in (*NOT_FOUND, USAGE)
        late = Exit.UNREACHABLE if certain or remote.status is not None else Exit.TIMED_OUT
        more = "" if certain else "whether the cancel left is not known: "
        raise Failure(f"{host.name}: {more}{remote.why}", late)
    raise AssertionError("a host was not asked")
