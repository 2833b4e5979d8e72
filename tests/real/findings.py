"""Make `docs/findings.md`: the probe's table for every real server that this machine has.

python tests/real/install.py          # once: the servers, from their registries
python -m tests.real.findings         # some minutes; --print writes to stdout instead
"""

from __future__ import annotations

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mcp_tui.probe.report import Report, Verdict
from mcp_tui.probe.rules import RULES
from mcp_tui.tui.view.probe import BAD, GLYPHS
from tests.real.probing import OWN_TOOL, Probed, cases, run
from tests.real.registry import SERVERS_BY_NAME

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "docs" / "findings.md"
HERE = Path(__file__).resolve().parent

AT_ONCE = 2

INTRODUCTION = """\
# What servers do when they are told to stop

The table of [`mcp-tui probe`](../README.md) for servers and SDKs from the registries. Each row is a server over a
transport in a revision, and the tool that was cancelled; each column is a rule of the probe (`mcp-tui probe --list`).

The tools are those of [`tests/real/servers`](../tests/real/servers): *cooperative* stops where a cancel finds it as far
as its SDK lets it, *blocking* works synchronously, *swallows* notices the cancel and works on. So the first shows the
SDK, the others what it makes of a tool that is not so good. server-everything brings its own. They work for 1.2 s (2 s
server-everything) with progress, and write a heartbeat file, by which it is seen whether the work stopped.

Made by one script, which anybody can run again:

```sh
python tests/real/install.py
python -m tests.real.findings
```

✓ pass · ✗ fail (a MUST is broken) · ↯ warning (a SHOULD is not followed) · ∅ not observable · blank: not applicable
"""


def version(package: str) -> str:
    """`PyPI mcp 1.x` as what is installed of it: `mcp 1.30.0` (PyPI)."""
    registry, name, *line = package.split()
    pins: dict[str, str] = {}
    if registry == "npm":
        pins = json.loads((HERE / "package.json").read_text())["dependencies"]
    if registry == "PyPI":
        wanted = line[0].partition(".")[0] if line else ""
        for file in sorted(HERE.glob("*.txt")):
            for pin in re.findall(rf"^{re.escape(name)}==(\S+)$", file.read_text(), re.MULTILINE):
                if pin.partition(".")[0] == wanted:
                    pins[name] = pin
    return f"{name} {pins.get(name, ' '.join(line))}".strip() + f" ({registry})"


def row(case: Probed, report: Report) -> str:
    cells = [version(case.package), case.transport, report.revision.name, _tool(case, report)]
    cells.append(report.stops()[0])
    for _, _, found in report.rows():
        cells.append("" if found.verdict is Verdict.NOT_APPLICABLE else GLYPHS[found.verdict])
    return f"| {' | '.join(cells)} |"


def _tool(case: Probed, report: Report) -> str:
    return report.tool if case.tool == OWN_TOOL else case.tool


def told(case: Probed, report: Report) -> list[str]:
    """What is not as it should be, in sentences."""
    bad = [(rule, clause, found) for rule, clause, found in report.rows() if found.verdict in BAD]
    if not bad:
        return []
    head = f"### {version(case.package)}, {case.transport}, {report.revision.name}, {_tool(case, report)}"
    lines = ["", head, ""]
    for rule, clause, found in bad:
        clause_text = clause.text(report.revision.name)
        sentence = re.sub(r"\d+\.\d+ s", _rounded, found.sentence)
        lines.append(
            f"- **{rule.id}** {found.verdict.value}: {sentence}. *{clause.level.value}: {clause_text}*"
        )
    lines += [f"- {note}." for note in report.notes]
    return lines


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0].partition(' ')[0]):.1f} s"


def page(reports: dict[Probed, Report]) -> str:
    """The whole page."""
    columns = [
        "server",
        "transport",
        "revision",
        "tool",
        "stops",
        *(rule.removeprefix("P-") for rule in RULES),
    ]
    lines = [INTRODUCTION, f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [row(case, report) for case, report in reports.items()]
    lines += ["", "## The rules", ""]
    lines += [f"- **{rule.id}** {rule.title}" for rule in RULES.values()]
    lines += ["", "## What is not as it should be"]
    for case, report in reports.items():
        lines += told(case, report)
    return "\n".join((*lines, ""))


def main() -> int:
    """Run the probe on every server and write the page."""
    wanted: list[Probed] = []
    for case in cases():
        reason = SERVERS_BY_NAME[case.server].missing()
        if reason:
            print(reason, file=sys.stderr)
        else:
            wanted.append(case)
    reports: dict[Probed, Report] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for case, report in zip(wanted, pool.map(run, wanted), strict=True):
            print(f"{case}: {report.stops()[0]}", file=sys.stderr, flush=True)
            reports[case] = report
    text = page(reports)
    if "--print" in sys.argv[1:]:
        print(text, end="")
    else:
        FINDINGS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
