"""Make `docs/findings.md` and the JSON beside it: the probe on every server.

python tests/real/install.py --all    # once: the servers, from their registries
python -m tests.real.findings         # each report is kept below .real/findings, so that a second call goes on
python -m tests.real.findings --again [NAME…]    # probe all servers again, or those with one of the names
python -m tests.real.findings --kept             # write the page of the reports that were made
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_tui.probe.rules import RULES
from tests.real.install import FASTMCP_NPM, FASTMCP_TS, REAL
from tests.real.page import (
    DOCS,
    GLYPHS,
    PARTS,
    ROOT,
    Run,
    code,
    evidence,
    evidence_pages,
    heading,
    lines_of,
    linked,
    plain,
    row,
    slug,
    when,
)
from tests.real.probing import OWN_TOOL, SECONDS, cases, newest
from tests.real.registry import Case, Server
from tests.real.used import BRIDGES, USED, Used, chromium

FINDINGS: Final = DOCS / "findings.md"
DATA: Final = DOCS / "findings.json"
HERE: Final = Path(__file__).resolve().parent

AT_ONCE: Final = 2
WHOLE_RUN: Final = 400
"""Seconds: what a server does is to be seen on a slow machine too."""

GROUPS: Final = {
    "used": "Servers that people use",
    "bridges": "Bridges",
    "sdks": "SDKs and frameworks",
    "older": "Older versions, and the servers of PyPI's mcp without its upper layer",
}
SHORT: Final = {
    "P-03": "stops",
    "P-01": "sends no response",
    "P-02": "no progress",
    "P-04": "next call works",
    "P-14": "others unharmed",
    "P-21": "exits with stdin",
    "P-29": "exits with client",
}

INTRODUCTION: Final = """\
# What servers do when a call is cancelled

**The question.** If a client cancels a running call, does the server stop the tool, send nothing more for that call, and
go on serving others?

**How to read a row.** A row is one server with its version, and the protocol version that it spoke. Each further column is
a rule; its number leads to its clause. MUST lists the rules of that kind that the server broke, SHOULD counts those that it
did not follow. For example, ↯ below P-03 and ✓ below P-04 say: the tool kept working after the cancel, and the next call was
answered. The evidence is in [findings.json](findings.json); on the site each cell leads to it.

✓ pass; ✗ a MUST is broken; ↯ a SHOULD is not followed; ∅ not observable; · not applicable.
"""

LIMITS: Final = """\
**What a cell rests on.** A verdict is about one call of one tool, in one run. Most calls write to a file while they work
(shell: a loop; page: a slow local server that sees its reader leave), so ✓ and ↯ below P-03 were observed. If a call cannot
do that, and reports no progress, ∅ says that nothing shows whether the work continues. Behind each bridge is
@modelcontextprotocol/sdk in 2025-11-25 and @modelcontextprotocol/server in 2026-07-28: what a bridge adds is the difference
to its row. "With mcp<2": as installed by default, the
server does not start. P-07 and P-22 depend on which of two messages is first, and where a server dies of a cancel, P-01,
P-05 and P-25 depend on how soon.
"""

SURPRISES: Final = """\
**What surprises.**

- 16 of the 24 servers that people use keep working after a cancel (P-03), 2 were observed to stop.
- mcp 1.2 to 1.12 (PyPI): one cancel ends the server, or its session (P-04).
- fastmcp 3 (PyPI): a cancel of a tool that blocks ends the server (P-04).
- mcp 1.30 (PyPI): a cancel of a tool that blocks ends the server while another call is open (P-14).
- Over stdio mcp 1.x answers a cancelled call with an error, mcp 2.x and @modelcontextprotocol/sdk send nothing.
- @modelcontextprotocol/server stops over stdio; over HTTP, in 2025-11-25, it keeps working.
- Without a session (stateless HTTP) the tool keeps working after its cancel, with every SDK that was tried.
- With JSON answers in place of streams, mcp 2.3.0 does not see that a client closed its request (P-18).
- mcp-remote breaks rules in 2026-07-28 that it follows in 2025-11-25.
- Behind mcp-proxy (PyPI) the tool keeps working in both directions; behind supergateway and mcp-proxy (npm) it stops.
- In a session over HTTP each SDK runs a call again that is delivered again with the same id (P-34).
- @modelcontextprotocol/sdk 1.32.2, and servers on it,
  [ignore a cancel of the request 0](../findings/typescript-sdk-never-cancels-request-0.sh) (P-23).
- chuk-mcp-server sends progress in events named `server_request`, which no client reads.
"""

REPEAT: Final = """\
## Repeat it

`make findings` installs the servers below `.real/` and probes each. A second run resumes it. The command
of each row is with its evidence; the words in capitals are explained in
[`tests/real/used.py`](../tests/real/used.py). For your own server: `mcp-tui probe --markdown report.md -- COMMAND`. The
same as JSON: [findings.json](findings.json).
"""


# -- what is probed ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """A run to make: of which server, over what, with which call; and how its words are found."""

    name: str
    title: str
    group: str
    over: str
    call: str
    shown: list[str]
    missing: Callable[[], str | None]
    start: Callable[[], AbstractContextManager[tuple[list[str], list[str], Path]]]
    """Give the words that name the call, those that name the server, and the folder of the run."""
    slow: bool = True

    @property
    def key(self) -> str:
        """What tells it from the others."""
        return f"{self.name} {self.over} {self.call}"


def version(server: Server) -> str:
    """What is installed of a server: `mcp 1.30.0 (PyPI)`."""
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


def _case(case: Case) -> Job:
    own, server = case.tool == OWN_TOOL, case.entry
    beats = ["--tool", case.tool, f"seconds={SECONDS}", "heartbeat=BEATS", "--heartbeat", "BEATS"]
    options = ["--protocol", case.revision, *([] if own else beats)]

    @contextmanager
    def start() -> Generator[tuple[list[str], list[str], Path]]:
        with ExitStack() as stack:
            here = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            words = [word.replace("BEATS", str(here / "heartbeat")) for word in options]
            if case.transport == "stdio":
                target = ["--", *server.stdio]
            else:
                target = ["--transport", case.transport, stack.enter_context(server.serve(*case.flags))]
            yield words, target, here

    command = shlex.join(
        [*server.command, *(server.on_stdio if case.transport == "stdio" else (*server.on_http, *case.flags))]
    )
    tail = ["--", command] if case.transport == "stdio" else ["URL"]
    return Job(
        name=case.server,
        title=version(server),
        group="sdks" if newest(server) else "older",
        over=" ".join(
            filter(None, (case.transport, case.mode, "" if case.revision == "auto" else case.revision))
        ),
        call=server.tools[0] if own else case.tool,
        shown=[*options, *tail],
        missing=server.missing,
        start=start,
    )


def _used(group: str, each: Used) -> Job:
    server = (
        ["--cwd", "HERE", "-e", "HOME=HERE", "--", each.command]
        if not each.path
        else [f"http://127.0.0.1:PORT{each.path}"]
    )
    return Job(
        name=each.name,
        title=each.title,
        group=group,
        over=f"{each.transport} {each.revision}".strip(),
        call=each.how or "none takes long",
        shown=[*each.words(), *server],
        missing=each.missing,
        start=each.run,
        slow=bool(each.how),
    )


def jobs() -> list[Job]:
    """Everything that is probed, in the order of the page."""
    lines = [_case(case) for case in cases()]
    groups = ((_used("used", each) for each in USED), (_used("bridges", each) for each in BRIDGES), lines)
    return sorted((job for group in groups for job in group), key=lambda job: [*GROUPS].index(job.group))


# -- the runs, kept one by one -----------------------------------------------------------------------------------


def make(job: Job) -> Run | str:
    """The report of a run, from an earlier call where there is one; or one sentence why there is none."""
    file = PARTS / f"{slug(job.key)}.json"
    flags = [word for word in sys.argv[1:] if word.startswith("--")]
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    again = "--again" in flags and (not names or any(name in job.key for name in names))
    if file.exists() and not again:
        return _judged(job, json.loads(file.read_text()))
    if "--kept" in flags:
        return "not run"
    if reason := job.missing():
        return reason
    try:
        with job.start() as (options, server, here):
            words = [
                sys.executable,
                "-m",
                "mcp_tui",
                "probe",
                "--json",
                "--no-journal",
                "--time",
                str(WHOLE_RUN),
            ]
            done = subprocess.run(
                [*words, *options, *server],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                timeout=WHOLE_RUN + 60,
                check=False,
            )
            text = done.stdout.replace(str(here), "HERE")
    except (subprocess.SubprocessError, RuntimeError) as error:
        return f"it was given up: {error}"
    if not text.startswith("{"):
        said = [line for line in done.stderr.splitlines() if line.startswith("mcp-tui: ")]
        return (said or ["mcp-tui: it said nothing"])[-1].removeprefix("mcp-tui: ").replace(str(here), "HERE")
    known = {"name": job.name, "title": job.title, "group": job.group, "over": job.over, "call": job.call}
    told = {**known, "probed by": shlex.join(["mcp-tui", "probe", *job.shown])}
    text = json.dumps({**told, **json.loads(text)}, ensure_ascii=False)
    text = text.replace(str(REAL), ".real").replace(f"{ROOT}/", "").replace(sys.executable, "python")
    file.write_text(text, encoding="utf-8")
    made = json.loads(text)
    print(f"{job.key}: {made['stops']}, {made['why']} ({made['seconds']:.0f} s)", file=sys.stderr, flush=True)
    return _judged(job, made)


def _judged(job: Job, run: Run) -> Run | str:
    """The run; where its call failed, or was too quick, the reason."""
    failed = next((note for note in run["notes"] if "answered that it failed" in note), "")
    why = failed or ("" if run["tool"] or not job.slow else str(run["why"]).partition(": name a tool")[0])
    return why or run


# -- the page ----------------------------------------------------------------------------------------------------


def anchor(run: Run, rule: str = "") -> str:
    """The name of the place where the evidence of a run is, or that of one rule."""
    return slug(run["over"], "blocking" if run["call"] == "blocking" else "", rule)


def place(run: Run, rule: str = "") -> str:
    """The same as a link from the page on the site."""
    return f"servers/{slug(run['name'])}.md#{anchor(run, rule)}"


def bad(run: Run, verdict: str) -> list[str]:
    return [rule["id"] for rule in run["rules"] if rule["verdict"] == verdict]


def cells(run: Run, rules: Iterator[str], *, site: bool) -> Iterator[str]:
    found = {rule["id"]: rule["verdict"] for rule in run["rules"]}
    # A rule that is newer than the run has no verdict until the next one.
    return (
        linked(GLYPHS[found[rule]], place(run, rule), site=site) if rule in found else "" for rule in rules
    )


def short(runs: list[Run], *, site: bool) -> Iterator[str]:
    """One line a server: the rules that most people ask for."""
    heads = (f"{heading(rule)} {words}" for rule, words in SHORT.items())
    yield row(("server", "speaks", *heads, "MUST", "SHOULD"))
    yield "|---" * (len(SHORT) + 4) + "|"
    for run in runs:
        fails = " ".join(linked(rule, place(run, rule), site=site) for rule in bad(run, "fail"))
        known = linked(run["title"], place(run), site=site), run["revision"]
        shown = cells(run, iter(SHORT), site=site)
        yield row((*known, *shown, fails or "–", len(bad(run, "warning")) or "–"))


def table(runs: list[Run]) -> Iterator[str]:
    """One line a run, each rule."""
    numbers = (heading(rule, rule.removeprefix("P-")) for rule in RULES)
    yield row(("server", "over", "speaks", "the call", *numbers))
    yield "|---" * (len(RULES) + 4) + "|"
    for run in runs:
        over = run["over"].removesuffix(run["revision"])
        known = (linked(run["title"], place(run), site=True), over, run["revision"], run["call"])
        yield row((*known, *cells(run, iter(RULES), site=True)))


def broken(runs: list[Run]) -> Iterator[str]:
    """Every MUST that is broken: rule by rule, the runs that share a sentence in one line."""
    for rule in RULES.values():
        hits = [
            (run, each)
            for run in runs
            for each in run["rules"]
            if (each["id"], each["verdict"]) == (rule.id, "fail")
        ]
        if hits:
            yield from ("", f"**{heading(rule.id)} {rule.title}**", "")
        for run, each in hits:
            yield f"- [{run['title']}]({place(run, rule.id)}), {run['over']}, {run['call']}: {plain(each['sentence'])}"


def in_short(runs: list[Run]) -> list[Run]:
    """Returns the runs of the short table: the servers that people use, and each SDK over stdio in its newest era."""
    newest: dict[str, Run] = {}
    for run in runs:
        if run["group"] == "sdks" and run["over"].startswith("stdio") and run["call"] != "blocking":
            newest[run["name"]] = max(newest.get(run["name"], run), run, key=lambda each: each["revision"])
    return [*(run for run in runs if run["group"] == "used"), *newest.values()]


def page(data: Run, *, site: bool = False) -> str:
    """The page itself; that of the site leads from each verdict to its evidence, and lists all runs."""
    runs: list[Run] = data["servers"]
    lines = [INTRODUCTION, *short(in_short(runs), site=site), ""]
    lines += [f"{when(runs)}; {data['with']}. {len(runs)} runs of all rules.", "", LIMITS, SURPRISES]
    if site:
        lines += ["## Every MUST that was broken", *(list(broken(runs)) or ["", "None."]), ""]
        lines += ["## All rules", "", "All runs, over each transport and protocol version.", ""]
        for name, title in GROUPS.items():
            lines += [
                f"### {title}: all rules",
                "",
                *table([run for run in runs if run["group"] == name]),
                "",
            ]
    lines += ["## Not judged", "", *([f"- {each}." for each in data["not run"]] or ["None."]), ""]
    return "\n".join((*lines, REPEAT))


def pages(data: Run) -> dict[Path, str]:
    """The pages of the site: the path and text of each, relative to the page."""
    groups: dict[Path, list[Run]] = {}
    for run in data["servers"]:
        groups.setdefault(Path("servers", f"{slug(run['name'])}.md"), []).append(run)

    def words(run: Run) -> list[str]:
        took = "" if run["duration"] is None else f"; the call takes {run['duration']:.1f} s"
        return [
            f'## {run["title"]}, {run["over"]}, {run["call"]} <a id="{anchor(run)}"></a>',
            "",
            f"{run['date'][:10]}, mcp-tui {run['mcp_tui']}, {run['revision']}, {run['seconds']:.0f} s{took}:",
            code(run["probed by"]),
            "",
            *evidence(run, anchor(run)),
        ]

    return evidence_pages(groups, words, FINDINGS.name)


def main() -> int:
    """Make what is missing, and write the pages."""
    PARTS.mkdir(parents=True, exist_ok=True)
    wanted = jobs()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = list(zip(wanted, pool.map(make, wanted), strict=True))
    node, browser = (
        subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        for command in ("node", chromium() or "true")
    )
    python = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    data = {
        "with": ", ".join(filter(None, (python, f"Node {node}", " ".join(browser.split()[:2])))),
        "not run": [
            f"{job.title}, {job.over}, {job.call}: {run.rstrip('.')}"
            for job, run in made
            if isinstance(run, str)
        ],
        "servers": [run for _, run in made if not isinstance(run, str)],
    }
    DATA.write_text(lines_of(data, "servers"), encoding="utf-8")
    FINDINGS.write_text(page(data), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
