"""Make `docs/findings.md`: the probe on one tool a line and transport, and one cancel of the other tools.

python tests/real/install.py --all    # once: the servers, from their registries
python -m tests.real.findings         # each run is kept below .real/findings, so that a second call goes on; --again
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mcp_tui import __version__
from mcp_tui.probe.experiments import EXPERIMENTS
from mcp_tui.probe.rules import RULES
from tests.real.install import FASTMCP_NPM, FASTMCP_TS, REAL
from tests.real.probing import ONE_CANCEL, OWN_TOOL, cases, other_tools, run
from tests.real.registry import Case, Server

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "docs" / "findings.md"
HERE = Path(__file__).resolve().parent
PARTS = REAL / "findings"

AT_ONCE = 3
GLYPHS = {"pass": "✓", "fail": "✗", "warning": "↯", "not observable": "∅", "not applicable": ""}
LEGEND = "✓ pass · ✗ a MUST is broken · ↯ a SHOULD is not followed · ∅ not observable · blank: not applicable or not run"
BY_CHANCE = """\
P-07 and P-22 depend on which of two messages comes first, and where a server dies of a cancel, P-01, P-05 and P-25 on how
soon: there another run may show something else.
"""

Run = dict[str, Any]

INTRODUCTION = """\
# What servers do when they are told to stop

**The question.** If a client cancels a running call, does the server stop the tool, send nothing more for that call, and
go on serving others? `mcp-tui probe` asked servers and SDKs from the registries, over each transport and protocol version
that they have. Each rule that it judges has a number, which links to [its sentence](#the-rules).

**The tool.** Each server has the same tool, *cooperative*, which stops at a cancel as far as its SDK permits;
server-everything brings its own. It works for 1.2 s (server-everything: 2 s) and reports progress. Except in
server-everything, it also writes to a heartbeat file, which shows whether the work stopped. Less cooperative tools are in
[a table of their own](#other-tools-one-cancel-each) and in some of the worst findings.

**How to read a row.** A row is one server, with its version and registry. The next three columns say, for each transport,
whether *cooperative* stopped when it was cancelled; protocol versions are named where they differ, and "–" was not run.
MUST and SHOULD count the rules of the specification that the server broke on any transport. The last column names them, a
MUST in bold. For example, a row with "yes", "no (2025-11-25)", "–", "1", "7" says: the tool stops over stdio, keeps working
over HTTP in 2025-11-25, was not run over HTTP+SSE, and the server broke one MUST and seven SHOULDs.
"""

OTHERS = """\
## Other tools, one cancel each

Over stdio. *blocking* works synchronously, *swallows* notices the cancel and works on, *cleanup* takes half a
second to stop. Here the tool is to blame as much as the SDK; what the server made of it is the finding.
"""

REPEAT = """\
## Repeat it

```sh
make findings
```

installs the servers below `.real/` and probes each; a second call goes on where the first ended. For one server of your own:
`mcp-tui probe --markdown report.md -- COMMAND`. The tools are in [`tests/real/servers`](../tests/real/servers).
"""


def version(server: Server) -> str:
    """What is installed of a server: `mcp 1.30.0` (PyPI)."""
    line, _, kind = server.package.partition(", ")
    registry, name = line.split()[:2]
    if server.part is FASTMCP_TS:
        pin = FASTMCP_NPM[0].partition("@")[2]
    elif registry == "npm":
        pin = json.loads((HERE / "package.json").read_text())["dependencies"][name]
    else:
        pins = (HERE / f"{server.part.name}.txt").read_text()
        pin = re.findall(rf"^{re.escape(name)}==(\S+)$", pins, re.MULTILINE)[0]
    return f"{name} {pin} ({registry}{', ' * bool(kind)}{kind})"


# -- the runs, kept one by one -----------------------------------------------------------------------------------


def part(case: Case) -> Path:
    return PARTS / (re.sub(r"\W+", "-", str(case)) + ".json")


def make(case: Case) -> Run | None:
    """The run of a case, from an earlier call where there is one."""
    file = part(case)
    if file.exists() and "--again" not in sys.argv[1:]:
        return json.loads(file.read_text())
    if reason := case.entry.missing():
        print(reason, file=sys.stderr)
        return None
    try:
        report = run(case, ONE_CANCEL if case in other_tools() else EXPERIMENTS)
    except Exception as error:  # noqa: BLE001 - one server that does not start does not stop the others
        print(f"{case}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return None
    made: Run = {**report.fields(), "package": version(case.entry), "mode": case.mode}
    made["tool"] = report.tool if case.tool == OWN_TOOL else case.tool
    file.write_text(json.dumps(made, indent=1))
    print(f"{case}: {report.stops()[0]}", file=sys.stderr, flush=True)
    return made


# -- the page ----------------------------------------------------------------------------------------------------


def over(made: Run) -> str:
    """The transport in words."""
    return f"{made['transport']}, {made['mode']}" if made["mode"] else str(made["transport"])


def broken(made: Run, verdict: str) -> list[Run]:
    return [rule for rule in made["rules"] if rule["verdict"] == verdict]


def row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def summary(runs: list[Run]) -> list[str]:
    """One line a server."""
    heads = ("server", "stops over stdio", "over HTTP", "over HTTP+SSE", "MUST", "SHOULD", "broken rules")
    lines = [row(heads), "|---" * len(heads) + "|"]
    for package in dict.fromkeys(each["package"] for each in runs):
        own = [each for each in runs if each["package"] == package]
        fails, warnings = (
            {rule["id"] for each in own for rule in broken(each, kind)} for kind in ("fail", "warning")
        )
        named = [f"**{rule}**" for rule in sorted(fails)] + sorted(warnings - fails)
        answers = (_answers(own, transport) for transport in ("stdio", "http", "sse"))
        lines.append(row((package, *answers, len(fails), len(warnings - fails), " ".join(named))))
    return lines


def _answers(runs: list[Run], transport: str) -> str:
    """What the runs over a transport came to, by revision where they differ."""
    own = [each for each in runs if each["transport"] == transport]
    found = {f"{each['revision']} {each['mode']}".strip(): each["stops"] for each in own}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return "; ".join(f"{answer} ({name})" for name, answer in found.items()) or "–"


def frames(rule: Run) -> list[str]:
    """The evidence of a rule, with the messages that show it: of much of it, how it began and how it ended."""
    lines: list[str] = []
    evidence = rule["evidence"]
    for each in evidence if len(evidence) <= 6 else (evidence[0], *evidence[-5:]):
        at = "" if each["t"] is None else f"+{each['t']:.2f} s "
        frame = f" `{each['frame'][:160].replace('`', chr(39)).replace('|', '¦')}`" if each["frame"] else ""
        lines.append(f"  - {at}{each['what']}{frame}")
    return lines


def worst(runs: list[Run]) -> list[str]:
    """Every MUST that is broken, by rule, then by server; the messages of its first run."""
    lines: list[str] = []
    for rule in RULES.values():
        found: dict[str, list[tuple[Run, Run]]] = {}
        for each in runs:
            for fail in broken(each, "fail"):
                if fail["id"] == rule.id:
                    found.setdefault(each["package"], []).append((each, fail))
        if found:
            lines += ["", f"### {rule.id}: {rule.title}", ""]
        for package, hits in found.items():
            where = "; ".join(f"{over(each)} {each['revision']} {each['tool']}" for each, _ in hits)
            lines.append(f"- **{package}** ({where}): {hits[0][1]['sentence']}")
            lines += frames(hits[0][1])
    return lines or ["", "No MUST was broken."]


def details(runs: list[Run]) -> list[str]:
    """What each run did not follow, with the messages that show it."""
    lines: list[str] = []
    for each in runs:
        bad = broken(each, "warning")
        if not bad:
            continue
        took = f"{each['seconds']:.0f} s, {each['date'][:10]}, mcp-tui {each['mcp_tui']}"
        head = f"### {each['package']}, {over(each)}, {each['revision']}, {each['tool']}"
        lines += ["", head, "", took, ""]
        for rule in bad:
            lines.append(f"- **{rule['id']}** {rule['sentence']}. *{rule['level']}: {rule['clause']}*")
            lines += frames(rule)
        lines += [f"- {note}." for note in each["notes"] if "Other candidates" not in note]
    return lines


def table(runs: list[Run]) -> list[str]:
    """Each run, each rule."""
    numbers = (f"[{rule.removeprefix('P-')}](#{rule.lower()})" for rule in RULES)
    heads = ("server", "transport", "revision", "tool", "stops", *numbers)
    lines = [row(heads), "|---" * len(heads) + "|"]
    for each in runs:
        cells = [GLYPHS[rule["verdict"]] for rule in each["rules"]]
        known = (each["package"], over(each), each["revision"], each["tool"], each["stops"])
        lines.append(row((*known, *cells)))
    return lines


def others(runs: list[Run]) -> list[str]:
    """The other tools: what one cancel did."""
    heads = ("server", "revision", "tool", "response", "progress", "work", "next call")
    lines = [row(heads), "|---" * len(heads) + "|"]
    for each in runs:
        rules = [rule for rule in each["rules"] if rule["id"] in ("P-01", "P-02", "P-03", "P-04")]
        cells = (f"{GLYPHS[rule['verdict']]} {rule['sentence']}".replace("|", "¦") for rule in rules)
        lines.append(row((each["package"], each["revision"], each["tool"], *cells)))
    return lines


def linked(text: str) -> str:
    """Turn the numbers of rules into links to the list of rules, except in headings, in messages, and in that list."""

    def line(text: str) -> str:
        if text.startswith("#") or "<a id=" in text:
            return text
        pieces = re.split("(`[^`]*`)", text)
        pieces[::2] = (
            re.sub(r"(?<!\[)\bP-\d\d\b", lambda found: f"[{found[0]}](#{found[0].lower()})", each)
            for each in pieces[::2]
        )
        return "".join(pieces)

    return "\n".join(map(line, text.split("\n")))


def page(probed: list[Run], cancelled: list[Run], missed: list[Case]) -> str:
    """The whole page."""
    dates = sorted({each["date"][:10] for each in (*probed, *cancelled)})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    left_out = [f"- {version(case.entry)}: {case}" for case in missed]
    lines = [INTRODUCTION, *summary(probed), ""]
    lines += [f"mcp-tui {__version__}, {when}. {len(probed)} runs of all rules."]
    lines += ["", "## The worst findings", *worst([*probed, *cancelled])]
    lines += ["", REPEAT, "## All runs", "", LEGEND, "", BY_CHANCE, *table(probed)]
    lines += ["", OTHERS, *others(cancelled)]
    if left_out:
        lines += ["", "## Not run", "", *left_out]
    lines += [
        "",
        "## The rules",
        "",
        *(f'- **{rule.id}** {rule.title} <a id="{rule.id.lower()}"></a>' for rule in RULES.values()),
    ]
    lines += ["", "## SHOULDs that are not followed, run by run", *details([*probed, *cancelled])]
    text = "\n".join((*lines, "")).replace(str(REAL), ".real").replace(f"{ROOT}/", "")
    return linked(re.sub(r"/\S+/heartbeat", "heartbeat", text))


def main() -> int:
    """Make what is missing, and write the page."""
    PARTS.mkdir(parents=True, exist_ok=True)
    wanted, more = cases(), other_tools()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = list(pool.map(make, (*wanted, *more)))
    probed, cancelled = (
        [each for each in some if each] for some in (made[: len(wanted)], made[len(wanted) :])
    )
    missed = [case for case, each in zip((*wanted, *more), made, strict=True) if each is None]
    FINDINGS.write_text(page(probed, cancelled, missed), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
