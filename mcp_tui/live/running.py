"""The running sessions of this user: those whose answers can be read, and the others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mcp_tui.live import control
from mcp_tui.live.control import CancelAnswer, Problem, Summary
from mcp_tui.live.sockets import ANSWER_SECONDS, LIST_SECONDS, Answer, ask, sockets


class Running(NamedTuple):
    """A running session: its name, the path of its socket, and its answer. Texts of its client and server are hostile."""

    name: str
    path: Path
    summary: Summary

    @property
    def whose(self) -> str:
        """Who calls in it: a foreign client, or mcp-tui itself."""
        return self.summary.whose


class Unknown(NamedTuple):
    """A session without an answer that can be read. ``why`` is the rest of a sentence about it, and what to do."""

    name: str
    problem: Problem
    why: str


def sessions(known: Mapping[str, Path] | None = None) -> tuple[list[Running], list[Unknown]]:
    """Asks all running sessions but those of this process, or ``known`` ones; returns those that answer, and the others."""
    found = sockets() if known is None else known
    answers = ask(found, control.LIST, LIST_SECONDS if known is None else ANSWER_SECONDS)
    running: list[Running] = []
    unknown: list[Unknown] = []
    for name, answer in answers.items():
        read = control.read_summary(answer.line) if answer.whole else Problem.SILENT
        if isinstance(read, Problem):
            if answer.pid != os.getpid():
                unknown.append(_unknown(name, read, answer))
        elif read.pid != os.getpid():
            running.append(Running(name, found[name], read))
    return running, unknown


def cancel(
    name: str, path: Path, id: int | str, reason: str, *, exact: bool = True
) -> CancelAnswer | Unknown | None:
    """Has a session cancel a request; returns what came of it, ``None`` if the session has ended.

    ``exact``: a text is the id, and not the number that it reads like.
    """
    wanted = control.cancel_line(id, reason, exact=exact)
    for answer in ask({name: path}, wanted, ANSWER_SECONDS).values():
        read = control.read_cancel(answer.line) if answer.whole else Problem.SILENT
        return _unknown(name, read, answer) if isinstance(read, Problem) else read
    return None


def _unknown(name: str, problem: Problem, answer: Answer) -> Unknown:
    process = "Its process" if answer.pid is None else f"Its process {answer.pid}"
    match problem:
        case Problem.SILENT:
            state = {"T": "is stopped", "X": "has ended", "Z": "has ended"}.get(
                answer.state, "is very busy, or hangs"
            )
            why = f"did not answer. {process} {state}."
        case Problem.OTHER_VERSION:
            why = "is of another version of mcp-tui. Use the mcp-tui that started it, or restart it."
        case Problem.NOT_UNDERSTOOD:
            why = "gave an answer that was not understood. It may be of another version of mcp-tui."
    return Unknown(name, problem, why)
