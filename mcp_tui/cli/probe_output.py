"""The output of both probes: progress, a table for people, JSON, JUnit XML, Markdown, and a badge."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable
from typing import Final

from mcp_tui.cli import reports
from mcp_tui.cli.output import Exit, colourful
from mcp_tui.cli.reports import NOT_JUDGED, ReportCase, ReportFinding, ReportRule
from mcp_tui.cli.session import Headless
from mcp_tui.probe.report import BAD, Finding, Report, Verdict, is_broken
from mcp_tui.probe.rules import Clause, Rule
from mcp_tui.view import probe_report as view
from mcp_tui.view.text import TO_ASCII

_SKIPPED: Final = (Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE)


async def reported(command: Headless, made: reports.Reports, run: Awaitable[Report], interrupted: str) -> int:
    """Waits for the report of a run and prints it; returns the exit status. ``interrupted`` describes the effect of
    ctrl+c.
    """
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


# -- messages ----------------------------------------------------------------------------------------------------


class ProgressPrinter:
    """Prints the steps and findings of a run as they arrive."""

    def __init__(self, command: Headless) -> None:
        self._command = command
        self._reported = set[str]()

    def __call__(self, news: str | Finding) -> None:
        at = f"{time.monotonic() - self._command.began:5.1f} s"
        if isinstance(news, Finding):
            if news.verdict in _SKIPPED:
                if news.sentence in self._reported:
                    return  # the report lists all rules that share a reason
                self._reported.add(news.sentence)
            news = finding_line(news)
        self._command.printer.say(f"{at}  {news}", dim=True)


def finding_line(finding: Finding) -> str:
    """Returns the line of a finding."""
    return f"  {finding.rule} {fitted(view.word(finding.verdict))}: {finding.sentence}"


def fitted(line: str) -> str:
    """Returns a line with only characters that stdout can encode."""
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
    """Writes a report in its other formats."""
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
    """Returns a case for each rule, and one for the run if it was not judged as a whole.

    Broken rules are failures (warnings too if ``strict``); rules that could not be observed are skipped.
    """
    revision = report.info.revision

    def case(rule: Rule, clause: Clause, finding: Finding) -> ReportCase:
        broken = is_broken(clause, finding, strict=strict)
        kind = "failure" if broken else "skipped" if finding.verdict in _SKIPPED else ""
        level = f"{clause.level.value}: {clause.text(rule.of(revision).name)}"
        lines = [level, *(view.evidence_line(each) for each in finding.evidence)]
        warns = finding.verdict in BAD and not broken
        return ReportCase(
            f"{rule.id} {rule.title}",
            ReportRule(rule.id, rule.title, level),
            kind,
            finding.verdict.value,
            finding.sentence,
            lines,
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
