"""``ps``, ``cancel``, and ``--session``: act on the running sessions of this user."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.options import CONNECTING
from mcp_tui.cli.output import Exit, Failure, dump, out, show, table, warn
from mcp_tui.live.control import CancelAnswer, InFlight, Problem, Summary
from mcp_tui.live.running import (
    Running,
    RunningClient,
    Unknown,
    allow,
    by_client,
    cancel,
    clients_named,
    sessions,
)
from mcp_tui.live.sockets import find
from mcp_tui.protocol.units import number
from mcp_tui.view import durations
from mcp_tui.view.text import SafeText, brief, join, safe, words

if TYPE_CHECKING:
    from mcp_tui.client.client_port import Requester

WATCH_SECONDS: Final = 1.0
"""The number of seconds between two lists of ``ps --watch``."""

CLEAR: Final = "\x1b[H\x1b[J"

SHOWN_OF_SESSION: Final = ("kind", "client", "client_pid", "client_folder", "client_started", "server")
"""The members of a session that the JSON of its requests has."""

HEADS: Final = ("SERVER", "METHOD", "STATE", "ELAPSED", "LIMIT", "PROGRESS")

CANCELLING: Final = "cancel_requested"
"""The state that a session of an older version gives for a request that is being cancelled."""

NOT_YET: Final = "not sent yet"
"""The start of the words about an unsent cancel."""


def run(name: str, given: Words) -> int:
    """Runs ``ps`` or ``cancel``; returns the exit status."""
    return (_ps if name == "ps" else _cancel)(given)


# -- ps --------------------------------------------------------------------------------------------------------


def _ps(given: Words) -> int:
    client = given.options.client

    def lines(running: list[Running], unknown: list[Unknown]) -> list[str]:
        if client is not None and not (running or unknown):  # Of others, something may be in flight.
            return [brief(f"No running session of a client {client!r}.", 200)]
        return (_flat if given.options.flat else _by_client)(running, unknown)

    if not given.options.watch:
        running, unknown = _found(given)
        silent = [each for each in unknown if each.problem is not Problem.UNREACHABLE]
        if len(silent) < len(unknown):
            hosts = ", ".join(each.host for each in unknown if each not in silent)
            warn(f"What is in flight behind {hosts} is not known.")
        if silent:
            warn(f"What is in flight in {len(silent)} of {len(running) + len(silent)} sessions is not known.")
        show(_rows(running, unknown), lines(running, unknown), as_json=given.options.json)
        return Exit.UNREACHABLE if unknown else Exit.COMPLETED
    first = True
    while True:
        running, unknown = _found(given)
        if given.options.json:
            out(dump(_rows(running, unknown)), flush=True)
        else:
            above = CLEAR if sys.stdout.isatty() else "" if first else "\n"
            out(above + "\n".join(lines(running, unknown)), flush=True)
        first = False
        sleep(WATCH_SECONDS)


def _found(given: Words) -> tuple[list[Running], list[Unknown]]:
    """Returns the running sessions, all or those of one client, and the sessions whose client is unknown."""
    if given.options.via:
        from mcp_tui.cli import via  # Imported late: ps must be fast without other hosts.

        running, unknown = via.sessions(given)
    else:
        running, unknown = sessions()
    if (name := given.options.client) is not None:
        running = [each for client in clients_named(running, name) for each in client.sessions]
    return running, unknown


def _rows(running: list[Running], unknown: list[Unknown]) -> list[dict[str, Any]]:
    """Returns each request in flight as JSON, and each session without a readable answer as one without an id."""
    rows: list[dict[str, Any]] = []
    for each in running:
        rows += [_of_host(each.host) | request_row(each, row) for row in each.summary.requests]
    members = (*SHOWN_OF_SESSION, *InFlight._fields)
    for each in unknown:
        name = each.name.rpartition(":")[2] or None
        about = {"session": name, **dict.fromkeys(members), "state": each.problem.value, "detail": each.why}
        rows.append(_of_host(each.host) | about)
    return rows


def _of_host(host: str) -> dict[str, Any]:
    return {"host": host} if host else {}


def request_row(session: Running, row: InFlight) -> dict[str, Any]:
    """Returns a request in flight as JSON."""
    summary = session.summary
    of = {name: getattr(summary, name) for name in SHOWN_OF_SESSION}
    of["client_folder"] = summary.client_folder or None
    return {"session": session.name.rpartition(":")[2], **of, **row._asdict(), "message": row.message or None}


def _by_client(running: list[Running], unknown: list[Unknown]) -> list[str]:
    """Returns a section for each client: its name and folder, its requests in flight, and its idle servers."""
    cells: list[tuple[SafeText, ...]] = [tuple(map(words, ("  REQUEST", *HEADS)))]
    heads: dict[int, list[str]] = {}
    for client in by_client(running):
        begun = len(cells)
        for session in client.sessions:
            for row in session.summary.requests:
                request, *others = _cells(session, row)
                cells.append((safe("  {}", request), *others))
        count = len(cells) - begun
        parts = [brief(client.client_name, 60), brief(client.where, 80)]
        parts += [safe("on {}", host) for host in {client.sessions[0].host} - {""}]
        parts.append(safe("{:,} in flight", count) if count else words("nothing in flight"))
        idle = [
            safe("{} ({})", brief(each.summary.server, 40), each.name)
            for each in client.sessions
            if not each.summary.requests
        ]
        lines = [join(filter(None, parts), " · ")]
        if idle:
            lines.append(safe("  idle: {}", brief(join(idle, ", "), 400)))
        heads.setdefault(begun, []).extend(lines)
    made = table(cells)
    lines = made[:1] if len(cells) > 1 else []
    for at in range(1, len(cells) + 1):
        lines += heads.get(at, ())
        lines += made[at : at + 1]
    lines += [brief(f"{each.name} {each.problem.value.replace('_', ' ')}: {each.why}") for each in unknown]
    return lines or ["Nothing is in flight."]


def _flat(running: list[Running], unknown: list[Unknown]) -> list[str]:
    """Returns one table of the requests in flight."""
    idle = [each for each in running if not each.summary.requests]
    others = ", ".join(f"{each.name} ({each.summary.kind}, {each.summary.server})" for each in idle)
    cells: list[tuple[SafeText, ...]] = []
    for each in running:
        client = brief(each.client_name, 30), brief(each.where, 40)
        for row in each.summary.requests:
            request, *more = _cells(each, row)
            cells.append((request, *client, *more))
    none = words("–")
    for each in unknown:
        known = {"STATE": brief(each.problem.value.replace("_", " "), 20), HEADS[-1]: brief(each.why)}
        cells.append((brief(each.name, 20), none, none, *(known.get(head, none) for head in HEADS)))
    if not cells:
        return [brief(f"Nothing is in flight.{f' Running: {others}.' if others else ''}", 1000)]
    return table([tuple(map(words, ("REQUEST", "CLIENT", "PROCESS", *HEADS))), *cells])


def _cells(session: Running, row: InFlight) -> tuple[SafeText, ...]:
    progress = ""
    if row.progress is not None:
        total = "" if row.total is None else f"/{number(row.total)}"
        progress = f"{number(row.progress)}{total} {row.message}".rstrip()
    limits = [each for each in (row.timeout, row.max_timeout) if each is not None]
    summary = session.summary
    return (
        brief(f"{session.name}/{id_for_cancel(row, summary)}", 100),
        brief(summary.server, 20),
        brief(f"{row.method} {row.name}".rstrip(), 40),
        brief(
            row.state.replace("_", " ") + ("" if row.repeat_of is None else f", repeats {row.repeat_of}"), 60
        ),
        durations.elapsed(row.elapsed),
        brief(f"of {min(limits):g} s" if limits else "", 20),
        brief(progress, 60),
    )


# -- ids -------------------------------------------------------------------------------------------------------

NUMBER: Final = "number:"
TEXT: Final = "text:"


def id_for_cancel(row: InFlight, summary: Summary) -> str:
    """Returns the id of a request as ``cancel`` accepts it: with its type if another request has the same text."""
    text = str(row.id)
    alike = any(str(each.id) == text for each in summary.requests if type(each.id) is not type(row.id))
    if isinstance(row.id, int):
        return f"{NUMBER}{text}" if alike else text
    return f"{TEXT}{text}" if alike or text.startswith((NUMBER, TEXT, '"')) else text


def request_id(text: str) -> tuple[int | str, bool]:
    """Returns the id in a text, and whether its type is given: ``text:7``, ``number:7``, or ``"7"`` as in JSON.

    Raises:
        Failure: it is not a number.
    """
    if text.startswith(NUMBER):
        try:
            return int(text.removeprefix(NUMBER)), True
        except ValueError:
            raise Failure(
                f"Not a number: {text!r}. Write number:7, or text:ID for an id that is a text."
            ) from None
    if text.startswith(TEXT):
        return text.removeprefix(TEXT), True
    if text.startswith('"'):
        with suppress(ValueError):
            read: object = json.loads(text)
            if isinstance(read, str):
                return read, True
    return text, False


# -- one session -----------------------------------------------------------------------------------------------


def socket_of(start: str) -> tuple[str, Path]:
    """Returns the name and the socket of the running session whose name begins with ``start``.

    Raises:
        Failure: there is none, or there are several.
    """
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
    if given.options.allow and given.options.reason is not None:
        raise Failure("Use either --allow or --reason: nothing is cancelled by --allow.")
    try:
        if given.options.via or ":" in given.words[0].partition("/")[0]:
            from mcp_tui.cli import via  # Imported late: only for other hosts.

            text = via.cancel(given)
        else:
            request = _allow if given.options.allow else cancel_request
            text = request(given.words[0], given.options.reason or "")
    except Failure as failure:
        if not given.options.json:
            raise
        out(dump({"status": failure.status, "message": str(failure)}))
        return failure.status
    out(dump({"status": Exit.COMPLETED, "message": text}) if given.options.json else text)
    return Exit.COMPLETED


def _allow(named: str, _: str) -> str:
    """Permits one call that is equal to the refused one SESSION/ID; returns a sentence about it."""
    start, _, id_ = named.partition("/")
    wanted, exact = request_id(id_)
    name, path = socket_of(start)
    answer = allow(name, path, wanted, exact=exact)
    if isinstance(answer, CancelAnswer) and answer.allowed:
        request = f"{name}/{brief(id_, 200)}"
        return f"The next call equal to {request} is sent to the server. Have the client send it again."
    if isinstance(answer, CancelAnswer):
        why = (
            f"Session {name} has no request {id_!r}"
            if answer.unknown
            else answer.refused or "it was not refused"
        )
        raise Failure(f"Not allowed: {why}.")
    why = f"{name} has ended." if answer is None else f"{name} {answer.why}"
    raise Failure(f"Session {why}", Exit.USAGE if answer is None else Exit.TIMED_OUT)


def cancel_request(named: str, reason: str) -> str:
    """Cancels the request SESSION/ID in a running session; returns a sentence about it.

    Raises:
        Failure: there is none, it is over, or no signal was sent.
    """
    start, _, id_ = named.partition("/")
    wanted, exact = request_id(id_)
    name, path = socket_of(start)
    answer = cancel(name, path, wanted, reason, exact=exact)
    request = f"{name}/{brief(id_, 200)}"  # a script may have got it from a client
    if answer is None:
        raise Failure(f"Session {name} has ended. mcp-tui ps lists what is in flight.")
    if isinstance(answer, Unknown):
        silent = answer.problem is Problem.SILENT
        then = (
            "The cancel may still leave, or have left." if silent else "Whether the cancel left is not known."
        )
        raise Failure(f"Session {name} {answer.why} {then}", Exit.TIMED_OUT)
    if answer.unknown:
        raise Failure(f"Session {name} has no request {id_!r}. mcp-tui ps lists what is in flight.")
    if answer.refused:
        raise Failure(f"Not cancelled: {answer.refused}.")
    already = f"Request {request} is being cancelled already"
    if answer.over == CANCELLING or (answer.already and answer.signal):
        raise Failure(f"{already}.", Exit.CANCELLED)
    if answer.over:
        raise Failure(f"Request {request} was over already: {answer.over.replace('_', ' ')}.", Exit.CANCELLED)
    if answer.unsent:
        text = already if answer.already else f"Cancelled {request}"
        then = (
            "It may still leave." if answer.unsent.startswith(NOT_YET) else "The server may still work on it."
        )
        raise Failure(f"{text}, but the cancel was {answer.unsent}. {then}", Exit.TIMED_OUT)
    return f"Cancelled {request}."


def find_running(start: str | None) -> Running | RunningClient:
    """Returns the running sessions that a word means: one session, or all of a client; without a word, the only one.

    The whole name of a session or of its server comes first, then a client, then the start of a session's name.

    Raises:
        Failure: there is none, there are several, or it does not answer.
    """
    running, _ = sessions()
    if start is None:
        clients = by_client(running)
        return clients[0] if len(clients) == 1 and len(running) > 1 else only_running()
    is_one = any(start in (each.name, each.summary.server) for each in running)
    found = [] if is_one else clients_named(running, start)
    if len(found) > 1:
        lines = [f"{each.pid}  {each.client_name}  {each.where}" for each in found if each.pid is not None]
        raise Failure(
            f"{len(found)} running clients are called {start!r}. Name one by its process.", lines=lines
        )
    return found[0] if found else running_named(start)


def running_named(start: str) -> Running:
    """Returns the running session whose name begins with ``start``, or else the only one with a server of this name.

    Raises:
        Failure: there is none, there are several, or it does not answer.
    """
    running, unknown = sessions()
    alike = [each for each in running if each.summary.server == start]
    if len(alike) > 1:
        names = ", ".join(each.name for each in alike)
        raise Failure(f"{len(alike)} running sessions have a server {start!r}: {names}. Name one of these.")
    if alike:
        return alike[0]
    try:
        name, path = socket_of(start)
    except Failure as failure:
        if not unknown:
            raise
        lines = [f"Session {each.name} {each.why}" for each in unknown]
        raise Failure(f"{failure} {len(unknown)} did not answer.", Exit.UNREACHABLE, lines) from None
    if any(each.name == name for each in unknown):
        # On a busy machine one session may need longer to answer than the time for all.
        running, unknown = sessions({name: path})
    for each in running:
        if each.name == name:
            return each
    for each in unknown:
        raise Failure(f"Session {name} {each.why}", Exit.UNREACHABLE)
    raise Failure(f"Session {name} has ended. mcp-tui ps lists what is in flight.")


def only_running() -> Running:
    """Returns the only running session.

    Raises:
        Failure: there is none, there are several, or it does not answer.
    """
    running, unknown = sessions()
    lines: list[str] = []
    for each in running:
        summary = each.summary
        about = (
            each.name,
            each.client_name,
            summary.where,
            summary.server,
            f"{len(summary.requests)} in flight",
        )
        lines.append("  ".join(filter(None, about)))
    lines += [f"{each.name}  {each.why}" for each in unknown]
    if len(lines) > 1:
        raise Failure(f"{len(lines)} sessions are running. Name one: mcp-tui attach SESSION.", lines=lines)
    if unknown:
        raise Failure(f"Session {unknown[0].name} {unknown[0].why}", Exit.UNREACHABLE)
    if not running:
        raise Failure("No running session. A workbench, a command, or a tap is one while it runs.")
    return running[0]


# -- the connection of a session -------------------------------------------------------------------------------


def shared_client(given: Words) -> Callable[[], Requester]:
    """Returns the factory of a client that uses the connection of the named workbench.

    Raises:
        Failure: there is no such workbench, or an option only applies to the workbench.
    """
    # This loads the client, which ps and cancel do not need.
    from mcp_tui.cli.target import settings
    from mcp_tui.live.shared_connection import SharedClient

    for wrong in _of_connections(given):
        raise Failure(f"{wrong} does not go with --session: the workbench has its connection already.")
    session = running_named(given.options.session)
    if (kind := session.summary.kind) != "workbench":
        why = "its connection belongs to its client" if kind == "tap" else "it is a command"
        raise Failure(f"Session {session.name} shares no connection: {why}. Name a workbench.")
    how = settings(given)
    return lambda: SharedClient(session, how)


def _of_connections(given: Words) -> Iterator[str]:
    """Yields the given options about connecting and recording."""
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
