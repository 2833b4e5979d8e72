"""The running sessions of this user: those whose answers can be read, and the others."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mcp_tui.journal.client_process import named_so, parent_of
from mcp_tui.live import control
from mcp_tui.live.control import CancelAnswer, Problem, Summary
from mcp_tui.live.sockets import ANSWER_SECONDS, LIST_SECONDS, Answer, ask, sockets


class Running(NamedTuple):
    """A running session: its name, the path of its socket, and its answer. Texts of its client and server are hostile.

    The name of a session behind ``--via`` begins with that of its host and a colon, and its path is of no use here.
    """

    name: str
    path: Path
    summary: Summary

    @property
    def host(self) -> str:
        """The name of its host, empty for this machine."""
        return self.name.rpartition(":")[0]

    @property
    def client_name(self) -> str:
        """The client of the session: a foreign one, or mcp-tui itself."""
        return self.summary.client_name

    @property
    def where(self) -> str:
        """The process of the client, and its folder."""
        return self.summary.where


class RunningClient(NamedTuple):
    """One running program with all its sessions, by the names of their servers."""

    sessions: tuple[Running, ...]

    @property
    def client_name(self) -> str:
        """The client's name and version, as it gave them in any session; of a program with several clients, all names."""
        known = dict.fromkeys(each.client_name for each in self.sessions if each.summary.client)
        return ", ".join(known) or self.sessions[0].client_name

    @property
    def pid(self) -> int | None:
        """The client's process id, if it is known."""
        return self.sessions[0].summary.client_pid

    @property
    def process(self) -> tuple[int, float]:
        """The process id and its start time in seconds since the machine started; 0 if they are not known."""
        return self.pid or 0, max(each.summary.client_started or 0.0 for each in self.sessions)

    @property
    def where(self) -> str:
        """The process, and its folder."""
        return self.sessions[0].summary.where


class Unknown(NamedTuple):
    """A session without an answer that can be read. ``why`` is the rest of a sentence about it, and what to do."""

    name: str
    problem: Problem
    why: str

    @property
    def host(self) -> str:
        """The name of its host, empty for this machine. For the host as a whole, the session has no name."""
        return self.name.rpartition(":")[0]


def sessions(
    known: Mapping[str, Path] | None = None, *, counts: bool = False
) -> tuple[list[Running], list[Unknown]]:
    """Asks all running sessions but those of this process, or ``known`` ones; returns those that answer, and the others.

    With ``counts``, asks for these too, and this process has no session: in another container one may have its number.
    """
    found = sockets() if known is None else known
    own = None if counts else os.getpid()
    asked = control.COUNTS if counts else control.LIST
    answers = ask(found, asked, LIST_SECONDS if known is None else ANSWER_SECONDS)
    running: list[Running] = []
    unknown: list[Unknown] = []
    for name, answer in answers.items():
        read = control.read_summary(answer.line) if answer.whole else Problem.SILENT
        if isinstance(read, Problem):
            if own is None or answer.pid != own:
                unknown.append(_unknown(name, read, answer))
        elif read.pid != own:
            running.append(Running(name, found[name], read))
    return running, unknown


def by_client(running: Collection[Running]) -> list[RunningClient]:
    """Returns the clients of these sessions. A session whose client has no known process is alone."""
    started = ((each.host, each.summary.client_pid, each.summary.client_started) for each in running)
    known = {(host, pid): at for host, pid, at in started if at is not None}
    found: dict[object, list[Running]] = {}
    for each in running:
        told = each.summary
        # A session of an earlier version does not report when its client started.
        at = told.client_started or known.get((each.host, told.client_pid))
        key = each.name if told.client_pid is None else (each.host, told.client_pid, at)
        found.setdefault(key, []).append(each)
    every = (sorted(each, key=lambda one: (one.summary.server, one.name)) for each in found.values())
    made = [RunningClient(tuple(each)) for each in every]
    return sorted(made, key=lambda client: (client.client_name, client.pid or 0))


def clients_named(running: Collection[Running], wanted: str) -> list[RunningClient]:
    """Returns the clients with this name or process id."""
    clients = by_client(running)
    names = named_so((each.summary.client for client in clients for each in client.sessions), wanted)
    return [
        client
        for client in clients
        if str(client.pid) == wanted or any(each.summary.client in names for each in client.sessions)
    ]


def ancestors() -> set[int]:
    """Returns the processes above this one; the parent alone where there is no ``/proc``."""
    found: set[int] = set()
    process = os.getppid()
    while process > 1 and process not in found:
        found.add(process)
        process = parent_of(process)
    return found


def cancel(
    name: str, path: Path, id: int | str, reason: str, *, exact: bool = True
) -> CancelAnswer | Unknown | None:
    """Has a session cancel a request; returns the outcome, ``None`` if the session has ended.

    ``exact``: a text is the id, and not the number that it reads like.
    """
    return _asked(name, path, control.cancel_line(id, reason, exact=exact))


def allow(name: str, path: Path, id: int | str, *, exact: bool = True) -> CancelAnswer | Unknown | None:
    """Has the guard of a tap let a call through that is equal to a refused one; returns what came of it, as of a cancel."""
    return _asked(name, path, control.allow_line(id, exact=exact))


def _asked(name: str, path: Path, wanted: dict[str, Any]) -> CancelAnswer | Unknown | None:
    for answer in ask({name: path}, wanted, ANSWER_SECONDS).values():
        read = control.read_cancel(answer.line) if answer.whole else Problem.SILENT
        return _unknown(name, read, answer) if isinstance(read, Problem) else read
    return None


def _unknown(name: str, problem: Problem, answer: Answer) -> Unknown:
    process = "Its process" if answer.pid is None else f"Its process {answer.pid}"
    match problem:
        case Problem.SILENT:
            states = {"T": "is stopped", "X": "has ended", "Z": "has ended"}
            why = f"did not answer. {process} {states.get(answer.state, 'is very busy, or hangs')}."
        case Problem.OTHER_VERSION:
            why = "is of another version of mcp-tui. Use the mcp-tui that started it, or restart it."
        case Problem.NOT_UNDERSTOOD | Problem.UNREACHABLE:
            why = "gave an answer that was not understood. It may be of another version of mcp-tui."
    return Unknown(name, problem, why)
