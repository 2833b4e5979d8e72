"""``info``, ``ping``, and the lists: the server, its round-trip times, and everything that it offers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Container, Iterator
from itertools import groupby
from typing import Final

from mcp_tui.cli import reports
from mcp_tui.cli import session as sessions
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.one_request import sign_in_hint, status_of
from mcp_tui.cli.output import Exit, Failure
from mcp_tui.cli.printer import summary
from mcp_tui.cli.session import HeadlessSession
from mcp_tui.client import Client
from mcp_tui.client.catalogue import LISTS, ListFailed, every
from mcp_tui.client.lint import CUT, LINT_RULES, LintFinding, lint
from mcp_tui.client.parameters import schema_of, usage
from mcp_tui.client.schemas import path_text
from mcp_tui.protocol import units
from mcp_tui.protocol.events import Connected, Pollution, Violation
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request, State
from mcp_tui.view import costs
from mcp_tui.view.text import clean

HEAD_CHARACTERS: Final = 48
"""The number of characters of a name and its arguments up to which all descriptions begin in the same column."""

_URIS: Final = {"resources": "uri", "templates": "uriTemplate"}
"""The members that are shown instead of names."""


def run(name: str, given: Words) -> int:
    """Runs the command; returns the exit status."""
    if name == "tools" and (given.options.strict or reports.Reports(given).wanted):
        return reports.judging(given, lambda made: _strictly(given, made))
    if name in LISTS:
        return sessions.run(given, lambda session: _list(session, name))
    if name == "info":
        return sessions.run(given, _info)
    if given.options.count < 1:
        raise Failure("--count must be at least 1.")
    return sessions.run(given, _ping)


def _strictly(given: Words, made: reports.Reports) -> int:
    if not given.options.strict:
        raise Failure(f"Nothing is judged without --strict. Add it, or leave out {made.wanted}.")
    return sessions.run(given, lambda session: _lint(session, made))


def started_after(session: HeadlessSession) -> float:
    """Returns the seconds that start, probe, and handshake took."""
    log = session.client.store.log
    return next((event.at for event in log if isinstance(event, Connected)), log[0].at) - log[0].at


async def _info(session: HeadlessSession) -> int:
    info = session.client.info
    if info is None:
        return 0
    started = started_after(session)
    fields: dict[str, object] = {
        "transport": info.transport,
        "revision": info.revision.name,
        "server": {"name": info.name, "version": info.version, "title": info.title or None},
        "capabilities": info.capabilities,
        "instructions": info.instructions or None,
        "pid": info.pid,
        "started": round(started, 3),
        "stdout": pollution(session),
        "stderr": session.client.stderr.newest,
    }
    if session.printer.json:
        session.printer.value(fields)
        return 0
    lines = {
        **fields,
        "server": f"{info.title or info.name} {info.version}".strip(),
        "capabilities": ", ".join(info.capabilities),
        "started": f"{started:.2f} s",
    }
    for name, value in lines.items():
        if value:
            session.printer.out(f"{name:<13}{clean(str(value), newlines=True)}")
    return 0


def pollution(session: HeadlessSession) -> str | None:
    """Returns the lines on stdout that are not messages; a server must not write any."""
    noise = [event.line for event in session.client.store.log if isinstance(event, Pollution)]
    if not noise:
        return None
    count = "1 line is not a message" if len(noise) == 1 else f"{len(noise)} lines are not messages"
    return f"{count} (a MUST is broken): {noise[0][:200]}"


async def round_trip(client: Client) -> Request:
    """Sends a request that costs the server nothing; returns the request after its end."""
    revision = client.revision
    modern = revision is not None and revision.modern
    id_ = client.call("server/discover", {}, internal=True) if modern else client.call("ping", internal=True)
    await client.wait(id_)
    return client.ledger.row(id_)


async def _ping(session: HeadlessSession) -> int:
    client = session.client
    times, method = list[float](), ""
    for _ in range(session.given.options.count):
        row = await round_trip(client)
        method = row.method
        if row.state is not State.COMPLETED:
            session.printer.say(f"mcp-tui: {method} {summary(row, client.now())}")
            return status_of(session, row)
        times.append(row.elapsed(client.now()))
        if not session.printer.json:
            session.printer.out(f"{method}: {times[-1] * 1000:.2f} ms")
    middle = statistics.median(times)
    if session.printer.json:
        seconds = [round(each, 6) for each in times]
        session.printer.value({"method": method, "seconds": seconds, "median": round(middle, 6)})
    elif len(times) > 1:
        low, high = min(times), max(times)
        session.printer.out(f"min {low * 1000:.2f}  median {middle * 1000:.2f}  max {high * 1000:.2f} ms")
    return 0


def unlisted(session: HeadlessSession, failed: ListFailed) -> Failure:
    """Returns the error of a list that could not be read."""
    if failed.why:
        return Failure(f"Invalid list from the server: {failed.why}.", Exit.SERVER_ERROR)
    status, text = status_of(session, failed.row), summary(failed.row, session.client.now())
    hint = sign_in_hint(session, failed.row, status)
    return Failure(f"{failed.row.method} {text}{f'. {hint}' if hint else ''}", status)


async def _entries(session: HeadlessSession, name: str) -> list[dict[str, Json]]:
    try:
        return await every(session.client, name)
    except ListFailed as failed:
        raise unlisted(session, failed) from None


async def _list(session: HeadlessSession, name: str) -> int:
    entries = await _entries(session, name)
    sort = session.given.options.sort if name == "tools" else None
    results = recorded_results(session) if sort is not None else None
    if sort == "cost":
        entries.sort(key=costs.cost, reverse=True)
    elif results is not None:
        entries.sort(key=lambda entry: results.get(str(entry.get("name")), 0), reverse=True)
    if session.printer.json:
        session.printer.value(entries)
        return 0
    for line in _lines(name, entries, results):
        session.printer.out(line)
    if not entries:
        session.printer.say(f"No {name} on this server.")
    elif name == "tools":
        many = "1 tool" if len(entries) == 1 else f"{len(entries):,} tools"
        session.printer.say(f"{many}: {costs.total(entries)}")
    return 0


def recorded_results(session: HeadlessSession) -> dict[str, int]:
    """Returns the size in bytes of the largest recorded result of each tool of this server."""
    # This reads every journal that changed.
    from mcp_tui.journal import index
    from mcp_tui.journal.journal_files import journal_folder

    log = session.client.store.log
    name = next((each.server for each in log if isinstance(each, Connected)), "")
    return index.largest_results(index.sessions(journal_folder()), name)


def cuts(session: HeadlessSession, rules: Container[str] = CUT) -> list[str]:
    """Returns the problems that may have made a list shorter than the server intended."""
    log = session.client.store.log
    return [each.detail for each in log if isinstance(each, Violation) and each.rule in rules]


async def _lint(session: HeadlessSession, made: reports.Reports) -> int:
    """Prints the rules that a list of tools breaks, and the places."""
    printer, revision = session.printer, session.client.revision
    tools, began = await _entries(session, "tools"), time.monotonic()
    found = lint(tools, any_output=revision is not None and revision.modern, cut=cuts(session))
    made.judged(_cases(found, (time.monotonic() - began) / len(LINT_RULES)))
    if printer.json:
        fields = ("rule", "tool", "path", "detail")
        values = ((each.rule, each.tool or None, path_text(each.path), each.detail) for each in found)
        printer.value([dict(zip(fields, each, strict=True)) for each in values])
    else:
        for rule, findings in groupby(found, key=lambda each: each.rule):
            printer.out(f"{rule}  {LINT_RULES[rule]}")
            for each in findings:
                printer.out(clean(f"      {each}"))
        many = "1 tool" if len(tools) == 1 else f"{len(tools):,} tools"
        broken = len({each.rule for each in found})
        printer.say(
            f"{many}: {f'{broken} of {len(LINT_RULES)} rules broken' if broken else 'no rule broken'}"
        )
    return Exit.BROKEN_RULE if found else Exit.COMPLETED


def _cases(found: list[LintFinding], seconds: float) -> list[reports.ReportCase]:
    """Returns a case of a report for each rule; ``seconds`` is the time of each."""
    made: list[reports.ReportCase] = []
    for id, title in LINT_RULES.items():
        broken = [reports.ReportFinding(str(each)) for each in found if each.rule == id]
        rule = reports.ReportRule(
            id, title, "Other clients, or the model APIs behind them, refuse what breaks it."
        )
        text = f"broken in {len(broken):,} place{'s'[: len(broken) != 1]}" if broken else ""
        kind = "failure" if broken else ""
        made.append(reports.ReportCase(f"{id} {title}", rule, kind, kind and id, text, (), broken, seconds))
    return made


def _lines(name: str, entries: list[dict[str, Json]], results: dict[str, int] | None) -> Iterator[str]:
    """Yields a line for each entry: its name and arguments, the cost of a tool, and the start of its description."""
    heads = [_head(name, entry) for entry in entries]
    room = max(28, *(len(head) for head in heads if len(head) <= HEAD_CHARACTERS), 0)
    for entry, head in zip(entries, heads, strict=True):
        other = entry.get("name") if entry.get(_URIS.get(name, "")) else ""
        described = entry.get("description") or entry.get("title") or other
        first = str(described or "").strip().partition("\n")[0]
        if name == "tools":
            first = f"{costs.costs(costs.cost(entry)):<22}  {first}"
        if results is not None:
            known = results.get(str(entry.get("name")))
            first = f"results {f'up to {units.size(known)}' if known else 'unknown':<14}  {first}"
        yield clean(f"{head:<{room}}  {first}".rstrip())


def _head(name: str, entry: dict[str, Json]) -> str:
    head = str(entry.get(_URIS.get(name, "")) or entry.get("name") or "")
    return f"{head} {usage(schema_of(name, entry))}".rstrip() if name in ("tools", "prompts") else head
