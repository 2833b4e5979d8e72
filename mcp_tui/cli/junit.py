"""A report of the probe as JUnit XML, the form that every CI reads."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree as ET

from mcp_tui.probe.report import Report, Verdict
from mcp_tui.tui.view.probe import called, conclusion, evidence_line, headline
from mcp_tui.tui.view.text import clean

_SKIPPED: Final = (Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE)


def junit(report: Report, *, strict: bool) -> bytes:
    """One ``testcase`` a rule: broken ones are failures (warnings too where ``strict``), unseen ones are skipped."""
    failing = {Verdict.FAIL, Verdict.WARNING} if strict else {Verdict.FAIL}
    rows = report.rows()
    verdicts = [finding.verdict for _, _, finding in rows]
    counts = {
        "tests": str(len(rows)),
        "failures": str(sum(verdict in failing for verdict in verdicts)),
        "errors": "0",
        "skipped": str(sum(verdict in _SKIPPED for verdict in verdicts)),
        "time": f"{report.seconds:.3f}",
    }
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "mcp-tui probe", **counts})
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("server", clean(report.server_named)),
        ("mcp-tui", report.probe),
        ("date", report.date),
        ("command", clean(report.command)),
        ("transport", report.transport),
        ("revision", report.revision.name),
        ("tool", clean(report.tool)),
    ):
        ET.SubElement(properties, "property", {"name": name, "value": value})
    for rule, clause, finding in rows:
        case = ET.SubElement(
            suite,
            "testcase",
            {"classname": "mcp-tui.probe", "name": f"{rule.id} {rule.title}", "time": "0.000"},
        )
        sentence = clean(finding.sentence)
        told = [f"{clause.level.value}: {clause.text(report.revision.name)}"]
        told += [evidence_line(each) for each in finding.evidence]
        if finding.verdict in failing:
            attributes = {"message": sentence, "type": finding.verdict.value}
            ET.SubElement(case, "failure", attributes).text = "\n".join(told)
        elif finding.verdict in _SKIPPED:
            ET.SubElement(case, "skipped", {"message": f"{finding.verdict.value}: {sentence}"})
        else:
            lines = [f"{finding.verdict.value}: {sentence}", *told]
            ET.SubElement(case, "system-out").text = "\n".join(lines)
    ET.SubElement(suite, "system-out").text = "\n".join(
        (headline(report), called(report), conclusion(report))
    )
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
