"""A probe report as text: a table for the terminal, and Markdown for an issue. All text is sanitised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, cast

from mcp_tui.probe.report import BAD, EvidenceItem, Report, Verdict
from mcp_tui.probe.rules import RULES, Rule
from mcp_tui.probe.run import CANDIDATES, RUN_DURATIONS, RUN_GRACE_SECONDS
from mcp_tui.probe.tool_choice import Choice
from mcp_tui.protocol.messages import Json, text
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, join, markdown_code, paint, safe, words

VERDICT_GLYPHS: Final = {
    Verdict.PASS: ("✓", "success"),
    Verdict.FAIL: ("✗", "error"),
    Verdict.WARNING: ("↯", "warning"),
    Verdict.NOT_OBSERVABLE: ("∅", "muted"),
    Verdict.NOT_APPLICABLE: ("·", "muted"),
}
"""The glyph of each verdict and the name of its style."""

_SGR: Final = {"success": "32", "error": "1;31", "warning": "33", "muted": "2"}
"""The SGR parameters of each style, for a terminal with colors."""

EVIDENCE_CHARACTERS: Final = 200
"""The most characters shown of a sentence or a frame."""


def word(verdict: Verdict) -> SafeText:
    """Returns a verdict with its glyph: ``✓ pass``."""
    return safe("{} {}", VERDICT_GLYPHS[verdict][0], verdict.value)


def arguments(given: dict[str, Json]) -> SafeText:
    """Returns arguments in one line: ``seconds=2 steps=10``."""
    made = (f"{name}={value if isinstance(value, str) else text(value)}" for name, value in given.items())
    return brief(" ".join(made))


def plan(choices: Sequence[Choice] | None) -> list[SafeText]:
    """Returns sentences about what a probe will do with the first of ``choices``, and how long it takes.

    ``None`` means that the tools are not listed yet.
    """
    rules, first = len(RULES), choices[0] if choices else None
    if choices is not None and first is None:
        judged = safe(
            "it judges those of its {} rules that need no slow tool, in about half a minute.", rules
        )
        return [
            judged,
            words("No tool of this server looks both slow and harmless, so no cancelled call is judged."),
        ]
    called = words("a slow and harmless tool that it finds")
    if first is not None:
        called = safe("{} {}", brief(first.name, 60), arguments(first.arguments))
    lines = [safe("it calls {} about 25 times, cancels it in every way, and judges {} rules.", called, rules)]
    if first is not None and first.seconds:
        most = RUN_DURATIONS * first.seconds + RUN_GRACE_SECONDS
        lines.append(
            safe(
                "Takes at most {:.0f} s, if the tool works for the {:g} s that it is asked for.",
                most,
                first.seconds,
            )
        )
    else:
        lines.append(
            safe("Takes at most {}× the tool's run time plus {:.0f} s.", RUN_DURATIONS, RUN_GRACE_SECONDS)
        )
    if first is not None and first.destructive:
        lines.append(words("The server marks this tool as destructive (unverified)."))
    elif first is not None and first.why:
        others = ", ".join(each.name for each in (choices or ())[1:CANDIDATES])
        chosen = f"Chosen by {', '.join(first.why)}"
        lines.append(brief(f"{chosen}; if unfit: {others}." if others else f"{chosen}.", EVIDENCE_CHARACTERS))
    return lines


def headline(report: Report) -> SafeText:
    """Returns the server and the tool in one line."""
    parts = [
        report.server_named or f"unnamed {report.party}",
        report.info.transport,
        report.info.revision.name,
    ]
    if report.tool:
        took = "did not finish on its own" if report.duration is None else f"takes {report.duration:.2f} s"
        parts.append(f"{report.tool} {arguments(report.arguments)} {took}".replace("  ", " "))
    return brief(" · ".join(parts))


def provenance(report: Report) -> SafeText:
    """Returns version, date, and command of the run: ``mcp-tui 0.1.0 · 2026-11-21T11:04:31Z · python server.py``."""
    version = f"mcp-tui {report.probe}" if report.probe else ""
    parts = (version, report.date, report.command, f"{report.seconds:.1f} s in all")
    return brief(" · ".join(part for part in parts if part), 2 * EVIDENCE_CHARACTERS)


def called(report: Report) -> SafeText:
    """Returns the tools that were called, with their arguments and the number of calls."""
    if not report.calls:
        return words("No tool was called")
    made = (f"{each.tool} {arguments(each.arguments)}".rstrip() + f" × {each.times}" for each in report.calls)
    return clean("Called: " + "; ".join(made))


def counted(report: Report) -> SafeText:
    """Returns the number of rules with each verdict: ``14 pass, 2 warning``."""
    counts = [f"{count} {verdict.value}" for verdict, count in report.counts().items() if count]
    if report.not_run:
        way = "mcp-tui probe --time S gives more"
        counts.append(f"{len(report.not_run)} of them not run because time was over ({way})")
    return clean(", ".join(counts))


def conclusion(report: Report) -> SafeText:
    """Returns the answer to the question of the probe: whether the server stops a cancelled call."""
    answer, why = report.stops()
    verb, _, rest = report.asked.partition(" ")
    return brief(f"{verb}s {rest}: {answer} – {why}", 2 * EVIDENCE_CHARACTERS)


def evidence_pieces(
    evidence: EvidenceItem, most: int = EVIDENCE_CHARACTERS
) -> tuple[SafeText, SafeText, SafeText]:
    """Returns the time of a piece of evidence, its text, and its message, cut to ``most`` characters."""
    at = "" if evidence.at is None else f"{evidence.at:+.3f} s"
    frame = safe("  {}", brief(evidence.frame, most)) if evidence.frame else NOTHING
    return safe("{:>10}  ", at), brief(evidence.what, most), frame


def evidence_line(evidence: EvidenceItem) -> SafeText:
    """Returns a piece of evidence in one line, with its time."""
    return join(evidence_pieces(evidence))


def table(report: Report, *, colour: bool = False) -> list[SafeText]:
    """Returns the whole report for a terminal: the rules, why some did not pass, and the answer in the last line."""

    def painted(verdict: Verdict, line: SafeText) -> SafeText:
        return paint(line, _SGR[VERDICT_GLYPHS[verdict][1]]) if colour else line

    rows = report.rows()
    lines = [headline(report), provenance(report), NOTHING]
    for rule, clause, finding in rows:
        verdict = painted(finding.verdict, safe("{:<16}", word(finding.verdict)))
        cells = (clean(rule.id), verdict, safe("{:<6}", clause.level.value), clean(rule.title))
        lines.append(join(cells, "  "))
    for verdict in BAD:
        chosen = [row for row in rows if row[2].verdict is verdict]
        lines += [NOTHING] if chosen else []
        for rule, clause, finding in chosen:
            why = safe("{}  {}: {}", rule.id, verdict.value, brief(finding.sentence, 2 * EVIDENCE_CHARACTERS))
            lines.append(painted(verdict, why))
            lines.append(
                safe("      {}: {}", clause.level.value, clause.text(rule.of(report.info.revision).name))
            )
            lines += [safe("  {}", evidence_line(each)) for each in finding.evidence]
    for verdict in (Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE):
        reasons = _reasons(report, verdict)
        lines += [NOTHING] if reasons else []
        for sentence, rules in reasons.items():
            named = f"{rules[0]} … {rules[-1]}" if len(rules) > 2 else ", ".join(rules)
            why = safe("{}  {}: {}", verdict.value, named, brief(sentence, 2 * EVIDENCE_CHARACTERS))
            lines.append(painted(verdict, why))
    if report.passed_over:
        lines += [NOTHING, *passed_over(report)]
    lines += [NOTHING, *(safe("{}.", clean(note)) for note in report.notes)]
    return [*lines, called(report), counted(report), conclusion(report)]


def _reasons(report: Report, verdict: Verdict) -> dict[str, list[str]]:
    """Returns the reasons for a verdict, each once, with the ids of the rules that share it."""
    reasons: dict[str, list[str]] = {}
    for rule, _, finding in report.rows():
        if finding.verdict is verdict:
            reasons.setdefault(finding.sentence, []).append(rule.id)
    return reasons


def passed_over(report: Report) -> list[SafeText]:
    """Returns the best candidates if no slow tool was used: why each was not used, and the command that uses it."""
    lines = [words("Best candidates:")] if report.passed_over else []
    for each in report.passed_over:
        lines.append(safe("  {}: {}", brief(each.tool, 40), brief(each.why, 2 * EVIDENCE_CHARACTERS)))
        lines.append(safe("    {}", clean(each.command)))
    return lines


def rule_list(rules: Iterable[Rule]) -> list[SafeText]:
    """Returns a list of rules for a terminal."""
    lines: list[SafeText] = []
    for rule in rules:
        fields = rule.fields()
        lines.append(safe("{}  {!s:<6}  {}", rule.id, fields["level"], rule.title))
        lines.append(safe("      {}", fields["clause"]))
        newer = fields["modern"]
        if isinstance(newer, dict):
            modern = cast("dict[str, object]", newer)
            lines.append(safe("      {}: {}", modern["level"], modern["clause"]))
    return lines


# -- Markdown ----------------------------------------------------------------------------------------------------


_MARKDOWN_ESCAPES: Final = str.maketrans(
    {**{each: f"\\{each}" for each in "\\`*_[]|#~"}, "<": "&lt;", ">": "&gt;"}
)


def _cell(value: str) -> str:
    """Escapes text for Markdown, also in a table. Comments break mentions and URLs, which would work without markup."""
    escaped = brief(value, 2 * EVIDENCE_CHARACTERS).translate(_MARKDOWN_ESCAPES)
    return escaped.replace("@", "@<!-- -->").replace("://", ":<!-- -->//").replace("www.", "www<!-- -->.")


def markdown(report: Report) -> str:
    """Returns the report as Markdown."""
    answer, why = report.stops()
    lines = [
        f"# Does {_cell(report.server_named or f'the {report.party}')} {report.asked}? {answer}",
        "",
        f"{_cell(headline(report))}. {_cell(why)}.",
        "",
        f"{_cell(provenance(report))}",
        "",
        "| rule | verdict | level | what | why |",
        "|---|---|---|---|---|",
    ]
    first_rules: dict[str, str] = {}
    for rule, clause, finding in report.rows():
        verdict, level = word(finding.verdict), clause.level.value
        first = first_rules.setdefault(finding.sentence, rule.id)
        skipped = finding.verdict in (Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE)
        reason = f"as {first}" if skipped and first != rule.id else _cell(finding.sentence)
        cells = (rule.id, verdict, level, _cell(rule.title), reason)
        lines.append(f"| {' | '.join(cells)} |")
    bad = [row for row in report.rows() if row[2].verdict in BAD]
    if bad:
        lines += ["", "## Evidence"]
    for rule, clause, finding in bad:
        lines += ["", f"### {rule.id} {finding.verdict.value}: {_cell(finding.sentence)}", ""]
        lines += [f"{clause.level.value}: {_cell(clause.text(rule.of(report.info.revision).name))}", ""]
        lines += [f"- {_quoted(each)}" for each in finding.evidence]
    if report.passed_over:
        lines += ["", "## Best candidates", ""]
        lines += [
            f"- {_cell(each.tool)}: {_cell(each.why)} {markdown_code(each.command)}"
            for each in report.passed_over
        ]
    notes = (line for note in report.notes for line in (f"{_cell(note)}.", ""))
    lines += ["", _cell(counted(report)), "", *notes, f"{_cell(called(report))}.", ""]
    return "\n".join(lines)


def _quoted(evidence: EvidenceItem) -> str:
    at = "" if evidence.at is None else f"{evidence.at:+.3f} s "
    frame = f" {markdown_code(evidence.frame)}" if evidence.frame else ""
    return f"{at}{_cell(evidence.what)}{frame}"
