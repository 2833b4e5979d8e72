"""Renders the findings about servers and clients: the two pages of the repository, and the pages of the site.

The repository has the data and two short pages. The site has the same pages with every verdict linked to its evidence, and
a page for each server and client, outside the search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.real.install import REAL

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
PARTS: Final = REAL / "findings"
"""Where each report is kept."""

GLYPHS: Final = {"pass": "✓", "fail": "✗", "warning": "↯", "not observable": "∅", "not applicable": "·"}

Run = dict[str, Any]
"""A report of the probe, and what is known of the party that it is about."""


def row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def slug(*words: str) -> str:
    """Words as the name of a file or of a place; an @ makes a difference."""
    return re.sub(r"\W+", "-", " ".join(words).lower().replace("@", "at-")).strip("-")


def plain(text: str) -> str:
    """A text that may quote what a server or client wrote, as text."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def code(text: str) -> str:
    """The same as code."""
    return f"`{text.replace('`', chr(39)).replace('|', '¦').replace('](', '] (')}`"


def when(runs: list[Run]) -> str:
    """The first day of the runs and the last, and the versions of mcp-tui."""
    dates = sorted(run["date"][:10] for run in runs) or ["nothing was judged"]
    days = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    return f"{days}, mcp-tui {', '.join(sorted({run['mcp_tui'] for run in runs}))}"


def heading(rule: str, words: str = "") -> str:
    """A rule as a link to its clause."""
    return f"[{words or rule}](rules.md#{rule.lower()})"


NO_SEARCH: Final = "---\nsearch:\n  exclude: true\n---\n\n"
"""The head of a page that the search of the site leaves out."""


def linked(text: str, place: str, *, site: bool) -> str:
    """A text, on the site with a link to its evidence."""
    return f"[{text}]({place})" if site else text


def evidence_pages(
    groups: dict[Path, list[Run]], words: Callable[[Run], list[str]], back: str
) -> dict[Path, str]:
    """The text of a page for each server or client; ``words`` begins that of a run, ``back`` names the page of all."""
    made: dict[Path, str] = {}
    for path, runs in groups.items():
        lines = [f"{NO_SEARCH}# {runs[0]['name']}: evidence", "", f"All: [{back}](../{back}).", ""]
        for run in runs:
            lines += words(run)
        # The pages are one folder below that of the rules.
        made[path] = "\n".join(lines).replace("](rules.md", "](../rules.md").rstrip() + "\n"
    return made


def evidence(run: Run, anchor: str) -> Iterator[str]:
    """What was seen, rule by rule; ``anchor`` begins the name of each place."""
    for rule in run["rules"]:
        place = f'<a id="{anchor}-{rule["id"].lower()}"></a>{heading(rule["id"])}'
        clause = f" *{rule['level']}: {rule['clause']}*" if rule["clause"] else ""
        yield f"- {place} {GLYPHS[rule['verdict']]} {plain(rule['sentence'])}.{clause}"
        for each in rule["evidence"]:
            at = "" if each["t"] is None else f"{each['t']:+.2f} s "
            frame = f" {code(each['frame'][:160])}" if each["frame"] else ""
            yield f"  - {at}{plain(each['what'])}{frame}"
    yield from (f"- {plain(note)}." for note in run["notes"])
    yield ""


def lines_of(data: Run, runs: str) -> str:
    """The data as JSON, a run a line."""
    lines = ",\n".join(json.dumps(run, ensure_ascii=False) for run in data[runs])
    return json.dumps({**data, runs: []}, ensure_ascii=False).replace("[]}", f"[\n{lines}\n]}}\n")
