"""``ps``, ``cancel``, ``attach``, and ``--session``: the running sessions of this user."""

from __future__ import annotations

import sys
from functools import partial
from time import sleep
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.options import CONNECTING
from mcp_tui.cli.output import Exit, Failure, dump, out, show, table, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mcp_tui.client.client import Client
    from mcp_tui.live.running import Running

WATCH_SECONDS: Final = 1.0
"""Seconds between two lists of ``ps --watch``."""

CLEAR: Final = "\x1b[H\x1b[J"


def run(name: str, given: Words) -> int:
    """Runs one of the three; returns the exit status."""
    return {"ps": _ps, "cancel": _cancel, "attach": _attach}[name](given)


# -- ps --------------------------------------------------------------------------------------------------------


def _ps(given: Words) -> int:
    if not given.options.watch:
        rows, sessions = _in_flight()
        return show(rows, _lines(rows, sessions), as_json=given.options.json)
    first = True
    while True:
        rows, sessions = _in_flight()
        if given.options.json:
            out(dump(rows), flush=True)
        else:
            above = CLEAR if sys.stdout.isatty() else "" if first else "\n"
            out(above + "\n".join(_lines(rows, sessions)), flush=True)
        first = False
        sleep(WATCH_SECONDS)


def _in_flight() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns every request in flight, and every running session. Warns of sessions that do not answer."""
    from mcp_tui.live.doors import ask_all

    told = ask_all({"ask": "list"})
    silent = [name for name, each in told.items() if each is None]
    if silent:
        warn(f"No answer from {', '.join(silent[:6])}{' …' * (len(silent) > 6)}: stopped, or very busy.")
    sessions: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for name, each in told.items():
        if each is not None:
            of = {"kind": each["kind"], "client": each["client"], "server": each["name"]}
            sessions.append({"session": name, **of})
            rows += [{**sessions[-1], **row} for row in each["requests"]]
    return rows, sessions


def _lines(rows: list[dict[str, Any]], sessions: list[dict[str, Any]]) -> list[str]:
    from mcp_tui.live.running import whose
    from mcp_tui.protocol.units import number
    from mcp_tui.tui.view import durations
    from mcp_tui.tui.view.text import brief, words

    if not rows:
        running = ", ".join(f"{each['session']} ({each['kind']}, {each['server']})" for each in sessions)
        return [brief(f"Nothing is in flight.{f' Running: {running}.' if running else ''}", 1000)]

    def progress(row: dict[str, Any]) -> str:
        if row["progress"] is None:
            return ""
        total = "" if row["total"] is None else f"/{number(row['total'])}"
        return f"{number(row['progress'])}{total} {row['message'] or ''}".rstrip()

    def limit(row: dict[str, Any]) -> str:
        limits = [each for each in (row["timeout"], row["max_timeout"]) if each is not None]
        return f"of {min(limits):g} s" if limits else ""

    cells = [
        (
            brief(f"{row['session']}/{row['id']}", 100),
            brief(whose(row["kind"], row["client"]), 30),
            brief(row["server"], 20),
            brief(f"{row['method']} {row['name']}".rstrip(), 40),
            brief(row["state"].replace("_", " "), 20),
            durations.elapsed(row["elapsed"]),
            brief(limit(row), 20),
            brief(progress(row), 60),
        )
        for row in rows
    ]
    heads = ("REQUEST", "CLIENT", "SERVER", "METHOD", "STATE", "ELAPSED", "LIMIT", "PROGRESS")
    return table([tuple(map(words, heads)), *cells])


# -- one session -----------------------------------------------------------------------------------------------


def door(start: str) -> tuple[str, Path]:
    """Returns the name and the door of the running session whose name begins so.

    Raises:
        Failure: there is none, or there are several.
    """
    from mcp_tui.live.doors import find

    try:
        found = find(start) if start else None
    except LookupError as error:
        raise Failure(str(error)) from None
    if found is None:
        raise Failure(f"No running session {start!r}. mcp-tui ps lists what is in flight.")
    return found


def _cancel(given: Words) -> int:
    if len(given.words) != 1 or "/" not in given.words[0]:
        raise Failure("Name one request as SESSION/ID. mcp-tui ps lists them.")
    start, _, id_ = given.words[0].partition("/")
    name, path = door(start)
    from mcp_tui.live.doors import ask

    told = ask(path, {"ask": "cancel", "id": id_, "reason": given.options.reason or ""})
    if told is None and path.exists():
        why = "Its server may not read, or its client is within a message"
        text = f"Session {name} did not answer in time. {why}; the cancel may still leave."
        raise Failure(text, Exit.TIMED_OUT)
    if told is None:
        raise Failure(f"Session {name} has ended. mcp-tui ps lists what is in flight.")
    if "unknown" in told:
        raise Failure(f"Session {name} has no request {id_!r}. mcp-tui ps lists what is in flight.")
    if "refused" in told:
        raise Failure(f"Not cancelled: {told['refused']}.")
    if "over" in told:
        raise Failure(f"Request {id_} was over already: {told['over'].replace('_', ' ')}.", Exit.CANCELLED)
    if "unsent" in told:
        raise Failure(
            f"Cancelled {name}/{id_}, but the server was not told: {told['unsent']}.", Exit.TIMED_OUT
        )
    from mcp_tui.tui.view.text import brief

    out(f"Cancelled {name}/{brief(id_, 200)}.")  # a script may have it from a client
    return Exit.COMPLETED


def _attach(given: Words) -> int:
    if len(given.words) > 1:
        raise Failure(f"Unexpected argument {given.words[1]!r}. attach takes one session.")
    chosen = named(given.words[0]) if given.words else _only()
    if not chosen.recording:
        raise Failure(
            f"Session {chosen.name} keeps no recording, so there is nothing to show. Use mcp-tui ps."
        )
    from mcp_tui.cli import workbench
    from mcp_tui.journal.recording import Recording

    recording = Recording(chosen.recording)
    workbench.need_terminal("attach", "ps and cancel")
    from mcp_tui.tui.app import WorkbenchApp
    from mcp_tui.tui.screens.attach import AttachScreen

    opening = partial(AttachScreen, chosen, recording)
    return workbench.show(WorkbenchApp(None, preferences=workbench.preferences(), opening=opening))


def named(start: str) -> Running:
    """Returns the running session whose name begins so, or else the only one whose server has this name.

    Raises:
        Failure: there is none, there are several, or it does not answer.
    """
    from mcp_tui.live.doors import ask
    from mcp_tui.live.running import Running, running

    alike = [each for each in running() if each.server == start]
    if len(alike) > 1:
        names = ", ".join(each.name for each in alike)
        raise Failure(f"{len(alike)} running sessions have a server {start!r}: {names}. Name one of these.")
    if alike:
        return alike[0]
    name, path = door(start)
    told = ask(path, {"ask": "list"})
    if told is None:
        raise Failure(f"Session {name} does not answer. It is stopped, very busy, or has ended.")
    return Running.of(name, path, told)


def _only() -> Running:
    from mcp_tui.live.running import running

    found = running()
    if not found:
        raise Failure("No running session. A workbench, a command, or a tap is one while it runs.")
    if len(found) > 1:
        lines = [f"{each.name}  {each.whose}  {each.server}  {each.busy} in flight" for each in found]
        raise Failure(f"{len(found)} sessions are running. Name one: mcp-tui attach SESSION.", lines=lines)
    return found[0]


# -- the connection of a session -------------------------------------------------------------------------------


def borrowed(given: Words) -> Callable[[], Client]:
    """Returns what makes the client of a command on the connection of the workbench that it names.

    Raises:
        Failure: there is no such workbench, or an option is given that is a matter of the workbench's.
    """
    from mcp_tui.cli.target import settings
    from mcp_tui.live.lending import BorrowedClient

    for wrong in _of_connections(given):
        raise Failure(f"{wrong} does not go with --session: the workbench has its connection already.")
    session = named(given.options.session)
    if session.kind != "workbench":
        why = "its connection belongs to its client" if session.kind == "tap" else "it is a command"
        raise Failure(f"Session {session.name} lends no connection: {why}. Name a workbench.")
    how = settings(given)
    return lambda: BorrowedClient(session, how)


def _of_connections(given: Words) -> Iterator[str]:
    """Yields what is given that says how to connect, or where to record."""
    if given.url is not None:
        yield "A URL"
    if given.command is not None:
        yield "A command after --"
    for option in (option for group in CONNECTING for option in group.options):
        name = option.names[-1]
        if (
            name not in ("--timeout", "--max-timeout")
            and getattr(given.options, option.dest) != option.default
        ):
            yield name
