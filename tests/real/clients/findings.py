"""Make `docs/findings-clients.md`, and the JSON beside it: the judge of clients on every client.

python tests/real/install.py --clients    # once: the clients, from their registries
python -m tests.real.clients.findings     # each report is kept below .real/findings, so that a second call goes on; --again
python -m tests.real.clients.findings --kept    # write the page of the reports that were made
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from mcp_tui.judge.client_rules import CLIENT_RULES
from tests.real import page as pages
from tests.real.clients.table import COLUMNS, JUDGED, Client
from tests.real.install import REAL

PAGE: Final = pages.DOCS / "findings-clients.md"
DATA: Final = PAGE.with_suffix(".json")
TRANSPORTS: Final = {"stdio": "stdio", "http": "streamable HTTP"}
AT_ONCE: Final = 4
"""Clients that are judged at a time: nearly all of a run is waiting."""

SHORT: Final = {"K-01": "limit", "K-02": "stop"}
HEADS: Final = (*COLUMNS[:-1], *(f"{COLUMNS[-1]} {each}" for each in SHORT.values()))
"""The columns of the short table."""
SECONDS: Final = 1200
"""Seconds that one client may take; the judge itself ends every run long before."""

INTRODUCTION: Final = """\
# What clients do when a call must stop

**The question.** If a call reaches its limit, is stopped, or is interrupted, does the client cancel it by the right signal,
does a late message harm it, and does it leave its server behind?

**How to read a row.** A row is one client with its version. "speaks" is the protocol version of its runs: the newest that
it knows, or the only one that its server had. The evidence is in [findings-clients.json](findings-clients.json); on the
site each cell leads to it. The columns, over stdio where they do not say HTTP:

- *limit*, *stop*, *interrupted*: what the client does with a call that reached its limit, that was stopped, or that was
  running at SIGINT. **n** sends `notifications/cancelled`, **stream** closes the stream of the call, **ends** ends its
  server or its session, **none** sends nothing. After it, over HTTP: whether it left the stream of the call *open*.
- *reason*: is the reason of the cancel text for a person? *late result*: does it harm nothing? *initialize*: is that never
  cancelled? *left behind*: after which signals to the client a server still runs that ignores the end of its stdin, and
  SIGTERM.

✓ yes; ✗ a MUST is broken; ↯ a SHOULD is not followed (reason: only information); ∅ not observable; · not applicable.

For example, n below limit and "term, kill" below left behind say: the client cancels a call that reached its limit by
`notifications/cancelled`, and left a server behind after SIGTERM and SIGKILL.
"""

RULES: Final = """\
A column is a rule, K-01 to K-18. Its number leads to [its clause](rules.md#clients), each cell to what was seen. The signs
are those above.
"""

LIMITS: Final = """\
**What a cell rests on.** Each client is a [small program](../tests/real/clients) on its package's usual API. A verdict is
about what that program does with it, in one run. ∅ says nothing about the package: its evidence says why. @ai-sdk/mcp has no
limit for a tool: an abort signal is its limit here. mcp 2.x and fastmcp can call no tool as a task. mcporter, fastmcp call,
and Inspector CLI are commands: each makes one call, and nothing but a signal stops it. langchain-mcp-adapters (PyPI),
llama-index-tools-mcp, and autogen-ext connect again for each call. For your own client:
[Judge a client](how-to/judge-a-client.md).
"""

SURPRISES: Final = """\
**What surprises.**

- 5 of the packages send the server nothing about a call that they abandon: mcp 1.x, mcp-use, mcpadapt, semantic-kernel, and
  @ai-sdk/mcp (K-01, K-02); over streamable HTTP in 2026-07-28 @ai-sdk/mcp closes the stream.
- Every client leaves a server behind that ignores the end of its stdin and SIGTERM, except mcp-tui: after SIGKILL at the
  latest (K-15).
- With @modelcontextprotocol/sdk, @modelcontextprotocol/client, @ai-sdk/mcp, and semantic-kernel a late result
  surfaces as an error in the program (K-07).
- @modelcontextprotocol/sdk and @mastra/mcp cancel initialize at its limit, which is a broken MUST (K-05).
- The reason that TypeScript clients send is the text of their exception (K-17).
- Over HTTP in 2025-11-25 no client cancels its call at SIGTERM, mcp-tui neither (K-16); in 2026-07-28 the stream closes
  with the client, and that is the cancel.
- Of these only @mastra/mcp sends a call again whose outcome is unknown, after a lost connection (K-18). crewai and agent
  programs do, too: [which clients repeat](findings-repeats.md).
- openai-agents (PyPI) and @openai/agents (npm) have the same name, and differ in what they leave behind at SIGINT.
- langchain-mcp-adapters (PyPI), llama-index-tools-mcp, and autogen-ext start their server again for each call."""

REPEAT: Final = """\
## Repeat it

`make findings` installs the clients below `.real/` and judges each. A second run resumes it. The command
of each row is with its evidence. The same as JSON: [findings-clients.json](findings-clients.json).
"""


# -- the runs, kept one by one -----------------------------------------------------------------------------------


def command(client: Client, transport: str) -> list[str]:
    """What judges a client."""
    options = ["--gave-up", client.gave_up, "--timeout", f"{client.limit:g}"]
    options += ["--max-timeout", f"{client.most:g}"] if client.most else []
    options += ["--protocol", client.speaks] if client.speaks else []
    options += [] if transport == "stdio" else ["--http"]
    return ["probe-client", *options, "--", *client.command]


def make(client: Client, transport: str) -> pages.Run | str:
    """The report on a client, from an earlier call where there is one; in a sentence why there is none."""
    file = pages.PARTS / f"client-{pages.slug(client.name, transport)}.json"
    kept: pages.Run | None = (
        json.loads(file.read_text()) if file.exists() and "--again" not in sys.argv[1:] else None
    )
    missing = client.part.missing() if client.part is not None else None
    if kept is not None and ("--kept" in sys.argv[1:] or missing or kept["version"] == client.version):
        return kept
    if missing or "--kept" in sys.argv[1:]:
        return missing or "it was not judged yet"
    words = command(client, transport)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "mcp_tui", *words[:1], "--json", *words[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(pages.ROOT)},
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the judge did not end within {SECONDS} s"
    if not done.stdout.startswith("{"):
        return (done.stderr.strip().splitlines() or [f"the judge ended with status {done.returncode}"])[-1]
    known = {"name": client.name, "package": client.package, "version": client.version}
    told = {**known, "registry": client.registry, "command": shlex.join(["mcp-tui", *words])}
    text = json.dumps({**json.loads(done.stdout), **told}, ensure_ascii=False)
    text = text.replace(str(REAL), ".real").replace(f"{pages.ROOT}/", "")
    file.write_text(text, encoding="utf-8")
    return json.loads(text)


# -- the page ----------------------------------------------------------------------------------------------------


def title(run: pages.Run) -> str:
    """A client with its version and registry: `mcp 1.30.0 (PyPI, 1.x ClientSession)`."""
    kind = run["name"].removeprefix(run["package"]).strip()
    where = ", ".join(each for each in (run["registry"], kind) if each)
    return f"{run['package']} {run['version']}{f' ({where})' * bool(where)}"


def anchor(run: pages.Run, rule: str = "") -> str:
    """The name of the place where the evidence of a run is, or that of one rule."""
    return pages.slug(run["transport"], rule)


def place(run: pages.Run, rule: str = "") -> str:
    """The same as a link from the page on the site."""
    return f"clients/{pages.slug(run['name'])}.md#{anchor(run, rule)}"


def table(runs: list[pages.Run]) -> Iterator[str]:
    """One line a client, each rule."""
    yield pages.row(
        ("client", "speaks", *(pages.heading(rule, rule.removeprefix("K-")) for rule in CLIENT_RULES))
    )
    yield "|---" * (len(CLIENT_RULES) + 2) + "|"
    for run in runs:
        cells = (f"[{pages.GLYPHS[rule['verdict']]}]({place(run, rule['id'])})" for rule in run["rules"])
        yield pages.row((f"[{title(run)}]({place(run)})", run["revision"], *cells))


def word(rule: pages.Run) -> str:
    """What a client does with a call that it gives up, in one word; the sign of the verdict where that is not known."""
    # The column names SIGINT, and K-16 judges SIGTERM as well.
    said = rule["sentence"].partition("; SIGTERM: ")[0].removeprefix("SIGINT: ")
    words = {
        "by notifications/cancelled": "n",
        "by closing its stream": "stream",
        ", and sent no cancel": "none",
    }
    found = next((each for end, each in words.items() if said.endswith(end)), "")
    found = found or (
        "ends" if said.startswith(("it ends the", "it ended the")) else pages.GLYPHS[rule["verdict"]]
    )
    streams = {
        "the stream of the call was still open": ", open",
        "the client closed the stream of the call": ", closed",
    }
    return found + next((streams[each["what"]] for each in rule["evidence"] if each["what"] in streams), "")


def left(rule: pages.Run) -> str:
    """The signals after which a server was left behind."""
    found = re.match(r"left behind at ([^:]*):", rule["sentence"])
    return (
        found[1].replace("SIG", "").lower()
        if found
        else "none"
        if rule["verdict"] == "pass"
        else pages.GLYPHS[rule["verdict"]]
    )


def cells(run: pages.Run, http: pages.Run | None) -> dict[str, tuple[str, str]]:
    """The cells of the short table, each with the place of its evidence, by their columns."""
    rules = {rule["id"]: rule for rule in run["rules"]}
    made = {"speaks": (run["revision"], place(run))}
    for column, rule in (("limit", "K-01"), ("stop", "K-02"), ("interrupted", "K-16")):
        made[column] = word(rules[rule]), place(run, rule)
    for column, rule in (("reason", "K-17"), ("late result", "K-07"), ("initialize", "K-05")):
        made[column] = pages.GLYPHS[rules[rule]["verdict"]], place(run, rule)
    made["left behind"] = left(rules["K-15"]), place(run, "K-15")
    for rule in (each for each in (http or {"rules": ()})["rules"] if each["id"] in ("K-01", "K-02")):
        made[f"HTTP {SHORT[rule['id']]}"] = word(rule), place(http or {}, rule["id"])
    return {column: made[column] for column in HEADS if column in made}


def in_short(runs: list[pages.Run], *, site: bool) -> Iterator[str]:
    """One line a client: what people ask first, over both transports."""
    yield pages.row(("client", *HEADS))
    yield "|---" * (len(HEADS) + 1) + "|"
    for run, http in beside(runs):
        found = cells(run, http)
        told = (pages.linked(*found[each], site=site) if each in found else "" for each in HEADS)
        yield pages.row((pages.linked(title(run), place(run), site=site), *told))


def beside(runs: list[pages.Run]) -> Iterator[tuple[pages.Run, pages.Run | None]]:
    """Each run over stdio, with that over HTTP."""
    over_http = {run["name"]: run for run in runs if run["transport"] == "http"}
    yield from ((run, over_http.get(run["name"])) for run in runs if run["transport"] == "stdio")


def broken(runs: list[pages.Run]) -> Iterator[str]:
    """Every MUST that is broken."""
    for run in runs:
        for rule in run["rules"]:
            if rule["verdict"] == "fail":
                where = f"[{title(run)}]({place(run, rule['id'])}), {TRANSPORTS[run['transport']]}"
                yield f"- {pages.heading(rule['id'])} {rule['title']}. {where}: {pages.plain(rule['sentence'])}"


def page(data: pages.Run, *, site: bool = False) -> str:
    """The page itself; that of the site leads from each verdict to its evidence, and lists all rules."""
    runs: list[pages.Run] = data["clients"]
    lines = [INTRODUCTION, *in_short(runs, site=site), ""]
    lines += [f"{pages.when(runs)}; {data['with']}.", ""]
    lines += [f"- Not run: {name}: {pages.plain(why)}." for name, why in data["not run"].items()]
    lines += [""] if data["not run"] else []
    lines += [LIMITS, SURPRISES]
    if site:
        lines += ["## Every MUST that was broken", "", *(list(broken(runs)) or ["None."]), ""]
        lines += ["## All rules", "", RULES]
        for transport, name in TRANSPORTS.items():
            lines += [
                f"### Over {name}",
                "",
                *table([run for run in runs if run["transport"] == transport]),
                "",
            ]
    return "\n".join((*lines, REPEAT)).rstrip() + "\n"


def evidence(data: pages.Run) -> dict[Path, str]:
    """The pages of the site: the path and text of each, relative to the page."""
    groups: dict[Path, list[pages.Run]] = {}
    for run in data["clients"]:
        groups.setdefault(Path("clients", f"{pages.slug(run['name'])}.md"), []).append(run)

    def words(run: pages.Run) -> list[str]:
        return [
            f'## {title(run)}, {TRANSPORTS[run["transport"]]} <a id="{anchor(run)}"></a>',
            "",
            f"{run['date'][:10]}, mcp-tui {run['mcp_tui']}, {run['revision']}, {run['seconds']:.0f} s:",
            f"`{run['command']}`",
            "",
            *pages.evidence(run, anchor(run)),
        ]

    return pages.evidence_pages(groups, words, PAGE.name)


def main() -> int:
    """Make what is missing, and write the page."""
    pages.PARTS.mkdir(parents=True, exist_ok=True)
    wanted = [(client, transport) for transport in TRANSPORTS for client in JUDGED]
    made: list[pages.Run] = []
    not_run: dict[str, str] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for (client, transport), run in zip(wanted, pool.map(make, *zip(*wanted, strict=True)), strict=True):
            name = f"{client.name} over {transport}"
            if isinstance(run, str):
                not_run[name] = run
            else:
                made.append(run)
            print(f"{name}: {run if isinstance(run, str) else run['why']}", file=sys.stderr, flush=True)
    node = shutil.which("node")
    version = subprocess.check_output([node, "--version"], text=True).strip() if node else "none"
    data = {
        "with": f"Python {sys.version_info[0]}.{sys.version_info[1]}, Node {version}",
        "not run": not_run,
        "clients": made,
    }
    DATA.write_text(pages.lines_of(data, "clients"), encoding="utf-8")
    PAGE.write_text(page(data), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
