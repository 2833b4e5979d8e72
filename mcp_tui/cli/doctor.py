"""``doctor``: one page about a server with one exit status, from the results of ``info``, ``tools --strict``, ``ping``,
and ``probe``.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from mcp_tui.cli import reports
from mcp_tui.cli import session as sessions
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.info import cuts, pollution, recorded_results, round_trip, started_after
from mcp_tui.cli.output import Exit, dump, out, table, warn
from mcp_tui.cli.printer import summary
from mcp_tui.cli.probe_output import fitted
from mcp_tui.cli.probe_server import probe_for
from mcp_tui.cli.session import Headless, HeadlessSession
from mcp_tui.cli.target import required
from mcp_tui.client.catalogue import LISTS, ListFailed, every, offers
from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import Target
from mcp_tui.client.connection import INITIALIZED, ServerInfo
from mcp_tui.client.lint import LINT_RULES, lint
from mcp_tui.client.stderr_lines import reports_error
from mcp_tui.config.own_program import tap_problem
from mcp_tui.config.servers import discover
from mcp_tui.probe.experiments import EXPERIMENTS
from mcp_tui.probe.raw_connection import Unprepared
from mcp_tui.probe.report import BAD, Finding, Report, Verdict
from mcp_tui.probe.rules import RULES
from mcp_tui.probe.tool_choice import Unsuitable
from mcp_tui.protocol.error_codes import METHOD_NOT_FOUND
from mcp_tui.protocol.events import Violation
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import State
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import TransportError
from mcp_tui.view import costs
from mcp_tui.view.probe_report import word
from mcp_tui.view.text import brief, clean

SLOW_START_SECONDS: Final = 10.0
"""Seconds after which a start counts as slow: some clients give up then."""

ROUND_TRIPS: Final = 3

_WORST: Final = (Verdict.FAIL, Verdict.WARNING, Verdict.PASS, Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE)


@frozen
class Row:
    """One line of the page.

    ``sentence`` may quote the server. ``seconds`` is the time that the check took. ``figures`` are the numbers of the
    sentence, as JSON.
    """

    name: str
    verdict: Verdict
    sentence: str
    seconds: float = 0.0
    figures: tuple[tuple[str, int], ...] = ()


def run(_name: str, given: Words) -> int:
    """Examines a server and prints the page; returns the exit status."""
    return reports.judging(given, lambda made: _examine(given, made))


def _examine(given: Words, report: reports.Reports) -> int:
    where, began = required(given), time.monotonic()
    taps = list(_taps(given))
    rows = taps.copy()
    infos: list[ServerInfo] = []

    async def examine(session: HeadlessSession) -> int:
        if (info := session.client.info) is not None:
            infos.append(info)
            since = began
            async for row in _examined(session, info):
                now = time.monotonic()
                rows.append(replace(row, seconds=now - since))
                since = now
        return Exit.COMPLETED

    try:
        status = sessions.run(given, examine)
    finally:
        for each in taps if not infos else ():  # no page is printed
            warn(f"The tap of server {given.options.server!r} has to be replaced: {each.sentence}.")
    if status or not infos:
        return status
    status = asyncio.run(_probed(given, where, began, rows))
    if status:
        return status
    rows.sort(key=lambda row: list(_PAGE_LINES).index(row.name))
    bad = {Verdict.FAIL, Verdict.WARNING} if given.options.strict else {Verdict.FAIL}
    sound = all(row.verdict not in bad for row in rows)
    report.judged([_case(row, bad) for row in rows], properties=[("server", _named(infos[0]))])
    _print(infos[0], rows, sound=sound, as_json=given.options.json)
    return Exit.COMPLETED if sound else Exit.BROKEN_RULE


_PAGE_LINES: Final = {
    "tap": "The tap in the config file can be started",
    "start": "The server starts in time, and by the protocol",
    "stdout": "Each line on stdout is a message",
    "stderr": "No error is reported on stderr",
    **{kind: f"The list of {kind} can be read" for kind in LISTS},
    "lint": "Other clients can use the tools",
    "ping": "The server answers round trips",
    "proxy": "No proxy keeps a cancel from the server",
    "cancel": "A tool stops when its call is cancelled",
    "exit": "The server exits when its stdin is closed",
}
"""The lines of the page in order, and the subject of each."""


def _case(row: Row, bad: set[Verdict]) -> reports.ReportCase:
    """Returns a line of the page as a case of a report; ``bad`` are the verdicts that fail."""
    rule = reports.ReportRule(
        f"doctor {row.name}", _PAGE_LINES[row.name], "mcp-tui doctor says what was seen."
    )
    kind = "failure" if row.verdict in bad else "" if row.verdict in (*BAD, Verdict.PASS) else "skipped"
    warns = row.verdict in BAD and not kind
    found = [reports.ReportFinding(row.sentence, "warning")] if warns else []
    return reports.ReportCase(row.name, rule, kind, row.verdict.value, row.sentence, (), found, row.seconds)


def _taps(given: Words) -> Iterator[Row]:
    """Yields the problems of the taps through which clients start a configured server; the doctor connects without them."""
    options = given.options
    if options.server is None:
        return
    config = Path(options.config) if options.config else None
    for each in discover(config=config).servers:
        if each.name == options.server and (problem := tap_problem(each)):
            yield Row("tap", Verdict.FAIL, f"{each.around.short(each.place)}: {problem}")


async def _examined(session: HeadlessSession, info: ServerInfo) -> AsyncIterator[Row]:
    """Yields the lines that one connection shows."""
    client, started = session.client, started_after(session)
    violations = [
        each.detail for each in client.store.log if isinstance(each, Violation) and INITIALIZED in each.detail
    ]
    verdict = Verdict.WARNING if violations or started > SLOW_START_SECONDS else Verdict.PASS
    yield Row("start", verdict, "; ".join((f"ready after {started:.2f} s", *violations)))
    tools: list[dict[str, Json]] = []
    for kind in filter(lambda kind: offers(client, kind), LISTS):
        method, before = LISTS[kind][0], len(client.requests.order)
        try:
            entries = await every(client, kind)
        except ListFailed as failed:
            if failed.row.code != METHOD_NOT_FOUND or kind != "templates":
                yield Row(kind, Verdict.FAIL, failed.why or f"{method} {summary(failed.row, client.now())}")
            continue
        pages = len(client.requests.order) - before
        text = f"{len(entries):,} on {pages:,} page{'s'[: pages != 1]}"
        figures: dict[str, int] = {}
        if kind == "tools" and entries:
            results = recorded_results(session)
            text = f"{text}: {_cost(entries, results)}"
            spent = sum(map(costs.cost, entries))
            figures = {"count": len(entries), "bytes": spent, "tokens_estimated": costs.tokens(spent)}
            figures |= {"largest_result": max(results.values())} if results else {}
        yield Row(kind, Verdict.PASS, text, figures=tuple(figures.items()))
        tools = entries if kind == "tools" else tools
    broken = lint(tools, any_output=info.revision.modern, cut=cuts(session))
    rules = dict.fromkeys(each.rule for each in broken)
    text = "; ".join(f"{rule} {LINT_RULES[rule]}" for rule in rules)
    if rules:
        yield Row("lint", Verdict.FAIL, f"broken: {text} (mcp-tui tools --strict says where)")
    elif tools:
        yield Row("lint", Verdict.PASS, f"none of {len(LINT_RULES)} rules is broken")
    trips = [await round_trip(client) for _ in range(ROUND_TRIPS)]
    failed = next((row for row in trips if row.state is not State.COMPLETED), None)
    if failed is not None:
        yield Row("ping", Verdict.FAIL, f"{failed.method} {summary(failed, client.now())}")
    else:
        middle = statistics.median(row.elapsed(client.now()) for row in trips)
        yield Row("ping", Verdict.PASS, f"{trips[0].method} is answered in {middle * 1000:.1f} ms")
    if info.revision.modern and (names := _proxies(client)):
        text = f"answers come through {names}: a cancel closes the stream, which may not reach a tool that sends nothing"
        advice = "mcp-tui probe --heartbeat FILE shows whether such a tool stops"
        yield Row("proxy", Verdict.NOT_OBSERVABLE, f"{text} ({advice})")
    if info.transport == "stdio":
        if noise := pollution(session):
            yield Row("stdout", Verdict.FAIL, noise)
        yield _stderr(client)


def _cost(tools: list[dict[str, Json]], results: dict[str, int]) -> str:
    """Returns the cost of a list of tools for a model: the definitions, and the largest recorded result."""
    most = max(tools, key=costs.cost)
    text = f"{costs.total(tools)}; the largest: {brief(str(most.get('name')), 60)} ({costs.costs(costs.cost(most))})"
    name = max(results, key=lambda each: results[each], default="")
    return (
        f"{text}; largest recorded result: {brief(name, 60)} ({costs.costs(results[name])})" if name else text
    )


def _stderr(client: Client) -> Row:
    """Returns the server's stderr as a line; a stack trace or an error in it is a warning."""
    lines = [*client.stderr]
    if not lines:
        return Row("stderr", Verdict.PASS, "no output")
    text = f"the last line is {str(brief(lines[-1], 200))!r}"
    bad = next((each for each in reversed(lines) if reports_error(each)), None)
    if bad is None:
        return Row("stderr", Verdict.PASS, text)
    text = text if bad == lines[-1] else f"{text}, and before it {str(brief(bad, 200))!r}"
    return Row("stderr", Verdict.WARNING, f"an error is reported: {text}")


def _proxies(client: Client) -> str:
    """Returns the proxies between this machine and a server behind a URL, as far as headers name them."""
    from mcp_tui.transport.http import HttpTransport  # takes time to load

    return ", ".join(client.transport.http.between) if isinstance(client.transport, HttpTransport) else ""


async def _probed(given: Words, where: Target, began: float, rows: list[Row]) -> int:
    """Adds the results of cancelling the slow tool and closing stdin; returns the exit status if it was interrupted."""
    command = Headless(given, where, began)
    shows = sys.stderr.isatty() and not given.options.json

    def report(news: str | Finding) -> None:
        if shows and isinstance(news, str):
            command.printer.status(f"{news} …")

    chosen = [each for each in EXPERIMENTS if each.name in ("cancelled mid-work", "stdin closed")]
    since = time.monotonic()
    try:
        made = list(
            _of_probe(await probe_for(command, where, on_progress=report, experiments=chosen).run(), rows)
        )
        share = (time.monotonic() - since) / len(made)
        rows += [replace(row, seconds=share) for row in made]
    except (TransportError, Unprepared, Unsuitable) as error:
        rows.append(Row("cancel", Verdict.NOT_OBSERVABLE, str(error)))
    except asyncio.CancelledError:
        warn("Interrupted. Running calls were cancelled and the servers stopped.")
        return command.stopped or Exit.INTERRUPTED
    finally:
        command.printer.status("")
        await command.finish()
        await command.end()
    return command.stopped or Exit.COMPLETED


def _of_probe(report: Report, rows: list[Row]) -> Iterator[Row]:
    answer, why = report.stops()
    found = [each for rule, each in report.findings.items() if RULES[rule].experiment == "cancelled mid-work"]
    verdicts = {each.verdict for each in found}
    worst = next((each for each in _WORST if each in verdicts), Verdict.NOT_OBSERVABLE)
    if answer == "not observable":
        worst = worst if worst is Verdict.FAIL else Verdict.NOT_OBSERVABLE
    if report.violations and worst is not Verdict.FAIL:
        worst = Verdict.WARNING
    called = f"{report.tool} stops" if report.tool else "stops"
    text = f"{called} when told to: {answer}, {why}"
    yield Row("cancel", worst, "; ".join((text, *report.violations)))
    for name, rule in (("exit", "P-21"), ("stdout", "P-32")):
        finding = report.findings.get(rule)
        absent = finding is None or finding.verdict is Verdict.NOT_APPLICABLE
        if finding is not None and not absent and not any(row.name == name for row in rows):
            of = f"{RULES[rule].title}: " if name == "exit" else ""
            yield Row(name, finding.verdict, f"{of}{finding.sentence}")


def _named(info: ServerInfo) -> str:
    return f"{info.name} {info.version}".strip()


def _print(info: ServerInfo, rows: list[Row], *, sound: bool, as_json: bool) -> None:
    server = _named(info)
    if as_json:
        checks = [
            {
                "check": each.name,
                "verdict": each.verdict.value,
                "sentence": each.sentence,
                **dict(each.figures),
            }
            for each in rows
        ]
        about = {"server": server, "transport": info.transport, "revision": info.revision.name}
        out(dump({**about, "holds": sound, "checks": checks}, indent=2))
        return
    out(fitted(brief(f"{server} · {info.transport} · {info.revision.name}")))
    for line in table([(clean(each.name), word(each.verdict), brief(each.sentence, 400)) for each in rows]):
        out(fitted(line))
