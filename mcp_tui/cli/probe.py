"""``probe``: the cancellation probe, with a table for people, JSON, JUnit XML, Markdown, and a badge."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, Final

from mcp_tui.cli import reports
from mcp_tui.cli.grammar import PAIR, Words
from mcp_tui.cli.output import Exit, Failure, colourful, dump, out
from mcp_tui.cli.reports import NOT_JUDGED, ReportCase, ReportFinding, ReportRule
from mcp_tui.cli.session import Headless, failure, open_store, read_object, tokens_for
from mcp_tui.cli.target import limits, required, settings
from mcp_tui.client.settings import Target
from mcp_tui.journal.store import Store
from mcp_tui.probe.connection import Unprepared
from mcp_tui.probe.report import BAD, Finding, Report, Verdict, is_broken
from mcp_tui.probe.rules import RULES, Clause, Rule
from mcp_tui.probe.run import Probe
from mcp_tui.probe.tools import ListUnreadable, NamedTool, Unsuitable
from mcp_tui.transport.errors import TransportError, sentence
from mcp_tui.view import probe_report as view
from mcp_tui.view.text import TO_ASCII

WITHOUT_LIMIT_SECONDS: Final = 600.0
"""Seconds that a tool may take uncancelled with ``--timeout 0``."""

_SKIPPED: Final = (Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE)


def run(_: str, given: Words) -> int:
    """Runs the probe, or lists its rules; returns the exit status.

    Raises:
        Failure: the words do not fit, the tool cannot be called, no session came about.
    """
    if given.options.list and not reports.Reports(given).wanted:
        return _list(given)
    return reports.judging(given, lambda made: _judge(given, made))


def _list(given: Words) -> Exit:
    if given.options.client:
        # With the judge, of which a probe of a server needs nothing.
        from mcp_tui.cli import probe_client

        return probe_client.list_rules(given)
    rules = [rule.fields() for rule in RULES.values()]
    out(dump(rules) if given.options.json else "\n".join(view.rule_list(RULES.values())))
    return Exit.COMPLETED


def _judge(given: Words, made: reports.Reports) -> int:
    options = given.options
    if options.list:
        raise Failure(f"--list judges nothing. Leave out {made.wanted}.")
    if options.client:
        from mcp_tui.cli import probe_client

        return probe_client.run(given, made)
    if any((options.each, options.gave_up, options.http, options.by_hand, options.restart)):
        raise Failure("--each, --gave-up, --http, --by-hand, and --restart are about a client. Add --client.")
    wish, before = _wish(given), [_named(words) for words in given.options.before]
    where = required(given)
    return asyncio.run(_run(given, made, where, wish, before))


def _wish(given: Words) -> NamedTool:
    options = given.options
    arguments = {} if options.args is None else read_object(options.args, "--args")
    if (given.pairs or arguments) and not options.tool:
        raise Failure("Arguments without a tool. Add --tool NAME.")
    return NamedTool(options.tool or "", tuple(given.pairs), arguments)


def _named(words: Sequence[str]) -> NamedTool:
    """Returns the tool of one ``--before TOOL NAME=VALUE…``."""
    if PAIR.match(words[0]):
        raise Failure(f"--before without a tool. Use --before TOOL {words[0]}")
    pairs = (word.partition("=") for word in words[1:])
    return NamedTool(words[0], tuple((name, value) for name, _, value in pairs))


def probe_for(command: Headless, where: Target, **how: Any) -> Probe:
    """Returns a run of the probe against a server, with a store for each of its connections; ``how`` is as for the probe."""
    given, tokens = command.given, tokens_for(where)

    def store(experiment: str) -> Store:
        """Returns the store of one connection, with a journal, and with a recording of its own if wanted."""
        made = open_store(given, where, beside=re.sub(r"\W+", "-", experiment), purpose="probe")
        if tokens is not None:
            tokens.share_secrets(made.learn)
        command.opened(made)
        return made

    patience = limits(given).timeout or WITHOUT_LIMIT_SECONDS
    return Probe(where, settings(given), store=store, patience=patience, tokens=tokens, **how)


async def _run(
    given: Words, made: reports.Reports, where: Target, wish: NamedTool, before: Sequence[NamedTool]
) -> int:
    options, command = given.options, Headless(given, where, time.monotonic())
    probe = probe_for(
        command,
        where,
        wish=wish,
        before=before,
        limit=options.time or 0.0,
        heartbeat=Path(options.heartbeat) if options.heartbeat else None,
        tell=ProgressPrinter(command),
    )
    try:
        return await reported(
            command, made, probe.run(), "Running calls were cancelled and the servers stopped."
        )
    except (Unprepared, ListUnreadable) as error:
        raise Failure(sentence(str(error)), Exit.SERVER_ERROR) from None
    except TransportError as error:
        raise failure(error, where) from None
    except Unsuitable as error:
        raise Failure(sentence(str(error))) from None


async def reported(command: Headless, made: reports.Reports, run: Awaitable[Report], interrupted: str) -> int:
    """Waits for the report of a run and prints it; returns the exit status. ``interrupted`` is what ctrl+c did."""
    try:
        report = await run
        await command.finish()
        hand_over(report, made, strict=command.given.options.strict)
        print_report(command, report)
    except asyncio.CancelledError:
        command.printer.say(f"mcp-tui: Interrupted. {interrupted}")
        return command.stopped or Exit.INTERRUPTED
    finally:
        await command.end()
    return command.stopped or status(report, strict=command.given.options.strict)


def status(report: Report, *, strict: bool) -> Exit:
    """Returns the exit status of a report."""
    if report.broken(strict=strict):
        return Exit.BROKEN_RULE
    if report.lost:
        return Exit.LOST
    if report.unjudged(strict=strict):
        return Exit.TIMED_OUT
    if report.unlisted:
        return Exit.SERVER_ERROR
    return Exit.USAGE if report.no_tool else Exit.COMPLETED


# -- what is told ------------------------------------------------------------------------------------------------


class ProgressPrinter:
    """Prints the steps and findings of a run as they come."""

    def __init__(self, command: Headless) -> None:
        self._command = command
        self._told = set[str]()

    def __call__(self, news: str | Finding) -> None:
        at = f"{time.monotonic() - self._command.began:5.1f} s"
        if isinstance(news, Finding):
            if news.verdict in _SKIPPED:
                if news.sentence in self._told:
                    return  # the report lists all rules that share a reason
                self._told.add(news.sentence)
            news = finding_line(news)
        self._command.printer.say(f"{at}  {news}", dim=True)


def finding_line(finding: Finding) -> str:
    """Returns a finding as a line."""
    return f"  {finding.rule} {fitted(view.word(finding.verdict))}: {finding.sentence}"


def fitted(line: str) -> str:
    """Returns a line in characters that stdout's encoding has."""
    wide = (sys.stdout.encoding or "").lower().replace("-", "") in ("utf8", "utf8sig")
    return line if wide else line.translate(TO_ASCII)


def print_report(command: Headless, report: Report) -> None:
    """Prints a report."""
    printer = command.printer
    if command.given.options.json:
        printer.value(report.fields())
    else:
        for line in view.table(report, colour=colourful(sys.stdout)):
            printer.out(fitted(line))


def hand_over(report: Report, made: reports.Reports, *, strict: bool) -> None:
    """Hands a report over in its other forms."""
    made.judged(
        cases(report, strict=strict),
        properties=(
            (report.party, report.server_named),
            ("mcp-tui", report.probe),
            ("date", report.date),
            ("command", report.command),
            ("transport", report.info.transport),
            ("revision", report.info.revision.name),
            ("tool", report.tool),
        ),
        said=(view.headline(report), view.called(report), view.conclusion(report)),
        markdown=view.markdown(report),
        badge=report.badge(),
    )


def cases(report: Report, *, strict: bool) -> list[ReportCase]:
    """Returns a case for each rule, and one for the whole if it was not judged as a whole.

    Broken rules are failures (warnings too if ``strict``), rules that could not be observed are skipped.
    """
    revision = report.info.revision

    def case(rule: Rule, clause: Clause, finding: Finding) -> ReportCase:
        broken = is_broken(clause, finding, strict=strict)
        kind = "failure" if broken else "skipped" if finding.verdict in _SKIPPED else ""
        level = f"{clause.level.value}: {clause.text(rule.of(revision).name)}"
        told = [level, *(view.evidence_line(each) for each in finding.evidence)]
        warns = finding.verdict in BAD and not broken
        return ReportCase(
            f"{rule.id} {rule.title}",
            ReportRule(rule.id, rule.title, level),
            kind,
            finding.verdict.value,
            finding.sentence,
            told,
            [ReportFinding(finding.sentence, "warning")] if warns else [],
            report.seconds_of(rule),
        )

    made = [case(*row) for row in report.rows()]
    ended = status(report, strict=strict)
    if ended not in (Exit.COMPLETED, Exit.BROKEN_RULE):
        why = (
            report.lost
            or report.no_tool
            or "; ".join({report.findings[each].sentence for each in report.not_run})
        )
        made.append(
            ReportCase("the whole run", NOT_JUDGED, "error", NOT_JUDGED.id, why or view.conclusion(report))
        )
    return made
