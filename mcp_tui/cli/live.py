"""``ps`` and ``cancel``: the running sessions of this machine, the workbench, commands, and taps among them."""

from __future__ import annotations

import sys
from time import sleep
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, dump, out, show, table, warn

if TYPE_CHECKING:
    from pathlib import Path

WATCH_SECONDS: Final = 1.0
"""Seconds between two lists of ``ps --watch``."""

CLEAR: Final = "\x1b[H\x1b[J"


def run(name: str, given: Words) -> int:
    """Runs one of the two; returns the exit status."""
    return {"ps": _ps, "cancel": _cancel}[name](given)


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
            brief(f"{row['session']}/{row['id']}", 40),
            brief(_client(row), 30),
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


def _client(told: dict[str, Any]) -> str:
    if told["kind"] == "tap":
        return told["client"] or "unknown client"
    return f"{told['client']} {told['kind']}"


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
    if told is None:
        raise Failure(f"No running session {start!r} answered. mcp-tui ps lists what is in flight.")
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
    out(f"Cancelled {name}/{id_}.")
    return Exit.COMPLETED
