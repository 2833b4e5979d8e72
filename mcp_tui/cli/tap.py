"""``tap``: stand between a client and its server; ``ps`` and ``cancel``: what is in flight there, and the end of it."""

from __future__ import annotations

from typing import Any

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, out, show, table


def run(name: str, given: Words) -> int:
    """Runs one of the three; returns the exit status."""
    return {"tap": _tap, "ps": _ps, "cancel": _cancel}[name](given)


def _tap(given: Words) -> int:
    if not given.command:
        raise Failure("No server to tap. Use mcp-tui tap -- COMMAND, as the client would start it.")
    if given.words or given.url:
        raise Failure("A tap takes its options and, after --, the server's command. See mcp-tui tap --help.")
    options = given.options
    found = {
        "timeout": options.timeout,
        "max_timeout": options.max_timeout,
        "record": options.record,
        "name": options.name,
    }
    from mcp_tui.tap.relay import serve

    serve({key: value for key, value in found.items() if value is not None}, given.command)


def _every() -> dict[str, dict[str, Any]]:
    """Returns what each running session says of itself, by its name."""
    from mcp_tui.live import doors

    told = {name: doors.ask(door, {"ask": "list"}) for name, door in doors.doors().items()}
    return {name: each for name, each in told.items() if each is not None}


def _ps(given: Words) -> int:
    rows = [
        {"session": session, "client": told.get("client", ""), "server": told.get("name", ""), **each}
        for session, told in _every().items()
        for each in told.get("requests", ())
    ]
    return show(rows, _lines(rows), as_json=given.options.json)


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    from mcp_tui.protocol.units import number
    from mcp_tui.tui.view import durations
    from mcp_tui.tui.view.text import brief, words

    if not rows:
        return ["Nothing is in flight."]

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
            brief(row["client"] or "unknown client", 30),
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


def _cancel(given: Words) -> int:
    if len(given.words) != 1 or "/" not in given.words[0]:
        raise Failure("Name one request as SESSION/ID. mcp-tui ps lists them.")
    start, _, id_ = given.words[0].partition("/")
    from mcp_tui.live import doors

    known = doors.doors()
    found = [name for name in known if name.startswith(start)]
    if len(found) > 1 and start not in found:
        raise Failure(f"{len(found)} running sessions start with {start!r}. Give more of the name.")
    name = start if start in found else next(iter(found), None)
    wanted = {"ask": "cancel", "id": id_, "reason": given.options.reason or ""}
    told = None if name is None else doors.ask(known[name], wanted)
    if told is None:
        raise Failure(f"No running session {start!r} answered. mcp-tui ps lists what is in flight.")
    if "unknown" in told:
        raise Failure(f"Session {name} has no request {id_!r}. mcp-tui ps lists what is in flight.")
    if "refused" in told:
        raise Failure(f"Not cancelled: {told['refused']}.")
    if "over" in told:
        raise Failure(f"Request {id_} was over already: {told['over'].replace('_', ' ')}.", Exit.CANCELLED)
    out(f"Cancelled {name}/{id_}.")
    return Exit.COMPLETED
