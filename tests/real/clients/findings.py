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
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

from mcp_tui.probe.clients.rules import CLIENT_RULES
from mcp_tui.protocol.revisions import REVISIONS
from tests.real.clients.table import JUDGED, Client
from tests.real.findings import FINDINGS, GLYPHS, PARTS, ROOT, row
from tests.real.install import REAL

PAGE: Final = FINDINGS.with_name("findings-clients.md")
DATA: Final = PAGE.with_suffix(".json")
TRANSPORTS: Final = {"stdio": "stdio"}
SHORT: Final = (
    *("limit", "stop", "signal", "id", "initialize", "task", "late result", "late progress", "crossing", "question"),
    *("unknown id", "ids in use", "maximum", "exit", "left behind", "interrupted", "reason"),
)  # fmt: skip
CELLS: Final = {**GLYPHS, "not applicable": "·"}
EARLIER: Final = {"+": ("pass",), "-": ("fail", "warning"), "?": ("not observable", "not applicable")}
WORDS: Final = {"+": "passed", "-": "was broken", "?": "was not seen"}

Run = dict[str, Any]

INTRODUCTION: Final = """\
# What clients do when a call is to stop

**The question.** If a call reaches its limit, is stopped, or is interrupted, does the client cancel it by the right signal,
does it bear what comes late, and does it leave its server behind?

**How to read a row.** A row is one client with its version. "speaks" is the protocol version of its runs: the newest that
it knows, or the only one that its server had. Each further column is a rule; its number leads to [its
clause](rules.md#clients). Each cell leads to what was seen. For example, ✓ below K-01 and ↯ below K-15 say: the client
cancels a call that reached its limit, and left a server behind that ignores the end of its stdin, and SIGTERM.

✓ pass; ✗ a MUST is broken; ↯ a SHOULD is not followed (K-17: only information); ∅ not observable; · not applicable.
"""

LIMITS: Final = """\
**What a cell rests on.** Each client is a [small program](../tests/real/clients) on its package's usual API. A verdict is
about what that program does with it, in one run. ∅ says nothing about the package: its evidence says why. @ai-sdk/mcp has no
limit for a tool: an abort signal is its limit here. Judge your own client: [clients.md](clients.md).
"""

REPEAT: Final = """\
## Repeat it

`make findings` installs the clients below `.real/` and judges each. A second call goes on where the first ended. The command
of each row is with its evidence. The same as JSON: [findings-clients.json](findings-clients.json).
"""


# -- the runs, kept one by one -----------------------------------------------------------------------------------


def slug(*words: str) -> str:
    """Words as the name of a file or of a place; an @ makes a difference."""
    return re.sub(r"\W+", "-", " ".join(words).lower().replace("@", "at-")).strip("-")


def command(client: Client, transport: str) -> list[str]:
    """What judges a client."""
    options = ["--gave-up", "^gave up", "--timeout", f"{client.limit:g}"]
    options += ["--max-timeout", f"{client.most:g}"] if client.most else []
    options += ["--protocol", client.speaks] if client.speaks else []
    options += [] if transport == "stdio" else ["--http"]
    return ["probe", "--client", *options, "--", *client.command]


def make(client: Client, transport: str) -> Run | None:
    """The report on a client, from an earlier call where there is one."""
    file = PARTS / f"client-{slug(client.name, transport)}.json"
    if file.exists() and "--again" not in sys.argv[1:]:
        return json.loads(file.read_text())
    if "--kept" in sys.argv[1:]:
        return None
    words = command(client, transport)
    done = subprocess.run(
        [sys.executable, "-m", "mcp_tui", *words[:2], "--json", *words[2:]],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    if not done.stdout.startswith("{"):
        print(f"{client.name} over {transport}: {done.stderr.strip()}", file=sys.stderr, flush=True)
        return None
    known = {"name": client.name, "package": client.package, "version": client.version}
    told = {**known, "registry": client.registry, "command": shlex.join(["mcp-tui", *words])}
    text = json.dumps({**json.loads(done.stdout), **told}, ensure_ascii=False)
    text = text.replace(str(REAL), ".real").replace(f"{ROOT}/", "")
    file.write_text(text, encoding="utf-8")
    print(f"{client.name} over {transport}: {json.loads(text)['why']}", file=sys.stderr, flush=True)
    return json.loads(text)


# -- the page ----------------------------------------------------------------------------------------------------


def title(run: Run) -> str:
    """A client with its version and registry: `mcp 1.30.0 (PyPI, 1.x ClientSession)`."""
    kind = run["name"].removeprefix(run["package"]).strip()
    where = ", ".join(each for each in (run["registry"], kind) if each)
    return f"{run['package']} {run['version']}{f' ({where})' * bool(where)}"


def anchor(run: Run, rule: str = "") -> str:
    """The name of the place where the evidence of a run is, or that of one rule."""
    return slug(run["name"], run["transport"], rule)


def heading(rule: str) -> str:
    return f"[{rule}](rules.md#{rule.lower()})"


def table(runs: list[Run]) -> Iterator[str]:
    """One line a client, each rule."""
    heads = (f"{heading(rule)} {short}" for rule, short in zip(CLIENT_RULES, SHORT, strict=True))
    yield row(("client", "speaks", *heads))
    yield "|---" * (len(CLIENT_RULES) + 2) + "|"
    for run in runs:
        cells = (f"[{CELLS[rule['verdict']]}](#{anchor(run, rule['id'])})" for rule in run["rules"])
        yield row((f"[{title(run)}](#{anchor(run)})", run["revision"], *cells))


def plain(sentence: str) -> str:
    """A sentence that may quote what a client wrote, as text."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", sentence)


def broken(runs: list[Run]) -> Iterator[str]:
    """Every MUST that is broken."""
    for run in runs:
        for rule in run["rules"]:
            if rule["verdict"] == "fail":
                where = f"[{title(run)}](#{anchor(run, rule['id'])}), {TRANSPORTS[run['transport']]}"
                yield f"- {heading(rule['id'])} {rule['title']}. {where}: {plain(rule['sentence'])}"


def different(runs: list[Run]) -> Iterator[str]:
    """Everything that is not as in the earlier look."""
    earlier = {client.name: client.earlier.split() for client in JUDGED}
    for run in runs:
        rules = {rule["id"].removeprefix("K-"): rule for rule in run["rules"]}
        for mark in earlier[run["name"]] if run["transport"] == "stdio" else ():
            if mark in REVISIONS:
                if mark != run["revision"]:
                    yield f"- {title(run)}: it spoke {mark}; now it speaks {run['revision']}"
            elif (rule := rules[mark[:2]])["verdict"] not in EARLIER[mark[2]]:
                now = f"now {CELLS[rule['verdict']]} {plain(rule['sentence'])}"
                yield f"- {title(run)}, {heading(rule['id'])}: it {WORDS[mark[2]]}; {now}"


def evidence(run: Run) -> Iterator[str]:
    """What was seen of a client, rule by rule."""
    yield f'### {title(run)}, {TRANSPORTS[run["transport"]]} <a id="{anchor(run)}"></a>'
    yield ""
    yield f"{run['date'][:10]}, mcp-tui {run['mcp_tui']}, {run['revision']}, {run['seconds']:.0f} s:"
    yield f"`{run['command']}`"
    yield ""
    for rule in run["rules"]:
        place = f'<a id="{anchor(run, rule["id"])}"></a>'
        clause = f" *{rule['level']}: {rule['clause']}*" if rule["clause"] else ""
        yield f"- {place}{heading(rule['id'])} {CELLS[rule['verdict']]} {plain(rule['sentence'])}.{clause}"
        for each in rule["evidence"]:
            at = "" if each["t"] is None else f"{each['t']:+.2f} s "
            yield f"  - {at}{plain(each['what'])}"
    yield from (f"- {plain(note)}." for note in run["notes"])
    yield ""


def page(data: Run) -> str:
    """The whole page."""
    runs: list[Run] = data["clients"]
    dates = sorted({run["date"][:10] for run in runs})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    made = ", ".join(sorted({run["mcp_tui"] for run in runs}))
    lines = [INTRODUCTION]
    for transport, name in TRANSPORTS.items():
        lines += [f"## Over {name}", "", *table([run for run in runs if run["transport"] == transport]), ""]
    lines += [f"{when}, mcp-tui {made}; {data['with']}. {len(runs)} rows, all rules, over stdio.", ""]
    if data["not run"]:
        lines += [f"Not run: {', '.join(data['not run'])}.", ""]
    lines += [LIMITS, "## Every MUST that was broken", "", *(list(broken(runs)) or ["None."]), ""]
    changes = list(different(runs))
    told = "A look on 2026-11-25 by hand came to the same in all cells that it had"
    lines += ["## Beside an earlier look", "", f"{told}{', but:' if changes else '.'}", "", *changes, ""]
    lines += [REPEAT, "## Evidence", ""]
    for run in runs:
        lines += evidence(run)
    return "\n".join(lines).rstrip() + "\n"


def lines_of(data: Run) -> str:
    """The data as JSON, a client a line."""
    clients = ",\n".join(json.dumps(run, ensure_ascii=False) for run in data["clients"])
    return json.dumps({**data, "clients": []}, ensure_ascii=False).replace("[]}", f"[\n{clients}\n]}}\n")


def main() -> int:
    """Make what is missing, and write the page."""
    PARTS.mkdir(parents=True, exist_ok=True)
    wanted = [(client, transport) for transport in TRANSPORTS for client in JUDGED]
    made = [(client, transport, make(client, transport)) for client, transport in wanted]
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    data = {
        "with": f"Python {sys.version_info[0]}.{sys.version_info[1]}, Node {node}",
        "not run": [f"{client.name} over {transport}" for client, transport, run in made if run is None],
        "clients": [run for _, _, run in made if run is not None],
    }
    DATA.write_text(lines_of(data), encoding="utf-8")
    PAGE.write_text(page(data), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
