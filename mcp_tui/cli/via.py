"""``--via``: ``ps``, ``cancel``, ``log``, and ``attach`` by mcp-tui on other machines, in containers, and of other users."""

from __future__ import annotations

import csv
import re
import shlex
import signal
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.options import options_of
from mcp_tui.cli.output import Exit, Failure, csv_lines, dump, end_by_signal, out, warn
from mcp_tui.cli.target import in_force
from mcp_tui.live import control
from mcp_tui.live.control import REASON_CHARACTERS, Problem, Summary
from mcp_tui.live.running import Running, Unknown
from mcp_tui.live.via import AT_ONCE, ENDING, NOT_FOUND, REPLY_BYTES, USAGE, Host, Remote, ask, lines, place
from mcp_tui.view.text import brief, clean

HOST_NAME: Final = re.compile(r"[\w.@-]+", re.ASCII)
"""The name of a host: a colon ends it."""

SESSION_NAME: Final = re.compile(r"\w[\w.@-]*", re.ASCII)
"""The name of a session, a client, or a server that may be an argument, even where a shell reads it."""


def hosts(named: Sequence[str]) -> dict[str, Host]:
    """Returns hosts, in this order, by their names: each is ``named`` in the settings, or is a command.

    Raises:
        Failure: a command is empty or cannot be split, or a setting is invalid.
    """
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end_by_signal)
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


def attach(given: Words) -> tuple[str, list[str]]:
    """Returns the host of a session, and the command that opens it at this terminal.

    Raises:
        Failure: there is no such host, or the name could be more than a name to a shell.
    """
    host, session = host_of(given, given.words[0] if given.words else "")
    if session and not SESSION_NAME.fullmatch(session):
        raise Failure(
            f"Not a session: {session!r}. Name it as mcp-tui ps --via lists it, such as {host.name}:7bc6."
        )
    return host.name, host.words("attach", *filter(None, [session]), terminal=True)


# -- log -------------------------------------------------------------------------------------------------------


def log(given: Words, heads: Collection[tuple[str, ...]]) -> int | None:
    """Prints the logs of other hosts, one after the other; returns the exit status, ``None`` if no host is named.

    ``heads`` are the columns that a CSV may have.
    """
    wanted = _wanted(given)
    own = [
        option
        for option in options_of("log")
        if option.dest not in ("via", "via_timeout", "stdin", "version")
    ]
    values = [(option.names[-1], getattr(given.options, option.dest), option.default) for option in own]
    typed = [name if value is True else f"{name}={value}" for name, value, usual in values if value != usual]
    status, forms = 0, _Forms(given, heads)
    for first in range(0, len(wanted), AT_ONCE):
        remotes = [
            Remote(host, ["log", "--stdin"], [*words, *typed], given.options.via_timeout)
            for host, words in wanted[first : first + AT_ONCE]
        ]
        try:
            for remote in remotes:
                remote.start()
            for remote in remotes:
                for text in forms.of(remote):
                    out(text, end="")
                status = max(status, _ended(remote))
        finally:
            for remote in remotes:
                remote.close()
    out(forms.end, end="")
    return status if wanted else None


def _wanted(given: Words) -> list[tuple[Host, list[str]]]:
    """Returns the hosts that are asked for their log, and the words for each: those without a host are for all."""
    known = in_force().via
    found = hosts(given.options.via)
    found = found or hosts(
        [*dict.fromkeys(name for each in given.words if (name := each.partition(":")[0]) in known)]
    )
    split = [
        each.partition(":") if each.partition(":")[0] in found else ("", "", each) for each in given.words
    ]
    named = {name for name, _, _ in split} - {""} or found
    every = [(found[name], [word for of, _, word in split if of in ("", name)]) for name in named]
    return sorted(every, key=lambda each: [*found].index(each[0].name))


class _Forms:
    """The output of hosts in the form that the options ask for: lines, JSON, or CSV, with the name of the host."""

    def __init__(self, given: Words, heads: Collection[tuple[str, ...]]) -> None:
        self._read = self._json if given.options.json else self._csv if given.options.csv else self._lines
        self._heads = heads
        self._separator = "["
        self._head: list[str] | None = None
        self._is_json = given.options.json

    @property
    def end(self) -> str:
        """The text after all hosts."""
        return "" if not self._is_json else "[]\n" if self._separator == "[" else "]\n"

    def of(self, remote: Remote) -> Iterator[str]:
        """Yields the output of a host; it ends where that is not as mcp-tui writes it."""
        try:
            yield from self._read(remote)
        except (*control.UNREADABLE, csv.Error):
            remote.status = 0
            remote.not_understood(b"")

    def _lines(self, remote: Remote) -> Iterator[str]:
        for line in lines(remote):
            text = clean(line.decode(errors="replace"))
            yield f"{text}\n" if text.startswith(" ") else f"{remote.host.name}: {text}\n"

    def _json(self, remote: Remote) -> Iterator[str]:
        for line in lines(remote):
            if row := line.strip().removeprefix(b"[").rstrip(b",]"):
                made = {"host": remote.host.name, **control.read_object(row)}
                yield f"{self._separator}{dump(made)}"
                self._separator = ",\n"

    def _csv(self, remote: Remote) -> Iterator[str]:
        csv.field_size_limit(REPLY_BYTES)
        rows = csv.reader(line.decode(errors="replace") + "\n" for line in lines(remote))
        head = next(rows, list[str]())
        if tuple(head) not in self._heads and head:
            raise ValueError
        made = csv_lines(["host", *head], ([remote.host.name, *row] for row in rows if len(row) == len(head)))
        first = next(made)
        if head and self._head is None:
            self._head = head
            yield first
        yield from made


def _ended(remote: Remote) -> Exit:
    """Says what went wrong on a host, and what its mcp-tui said; returns the exit status."""
    reports = [
        line for line in remote.stderr.decode(errors="replace").splitlines() if line.startswith("mcp-tui: ")
    ]
    if not remote.why and remote.status and not reports:
        remote.not_understood(b"")
    if remote.why:
        warn(f"{remote.host.name}: {remote.why}")
        return Exit.UNREACHABLE
    for line in reports:
        warn(f"{remote.host.name}: {line.removeprefix('mcp-tui: ')}")
    old = any("--stdin" in line for line in reports)
    if old:
        warn(f"{remote.host.name}: its mcp-tui may be older. Update it there.")
    return Exit.UNREACHABLE if old else Exit(remote.status or 0)
