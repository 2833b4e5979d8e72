"""The document of the races: where each applies, where it is played, and what the screen says.

``python -m tests.races_table`` writes ``docs/races.md``. A test belongs to the numbers in its name (``test_c07_…``,
``test_c56_c58_…``); others are named in :mod:`tests.races_rows`. Where a race applies and where it is played is in
:mod:`tests.races_where`. Words are not written down: each race has the events that it consists of, and what they look
like is asked of the code that draws rows and the cancellation log.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mcp_tui.protocol.requests import fold
from mcp_tui.tui.view.badges import badge
from mcp_tui.tui.view.cancellations import cancellation
from mcp_tui.tui.view.rows import info
from tests.races_rows import RACES, Race
from tests.races_where import TESTS, WHERE, Played, Where, names, played, said

ROOT: Final = Path(__file__).parents[1]
DOCUMENT: Final = ROOT / "docs" / "races.md"


def words(race: Race) -> str:
    """What a wide row and the cancellation log say of it, asked of the code that draws them."""
    said: list[str] = []
    if race.events:
        row = fold(list(race.events)).order[0]
        said.append(" · ".join(text for text in (badge(row).word, info(row, 4.5, wide=True)) if text))
        line = cancellation(row, origin=0.0)
        if line is not None:
            said.append(
                "log: " + ", ".join(text for text in (line.cause, line.signal, line.aftermath) if text)
            )
    return "; ".join((*said, *([race.note] if race.note else [])))


def exists(test: str) -> bool:
    """Whether a test that the table names is there."""
    file, _, name = test.partition("::")
    path = TESTS / file
    return path.is_file() and name in names(path)


def really(where: Where) -> str:
    """Whether a race is played over real transports, and where not."""
    left_out = "; ".join(f"not {said(places)}: {why}" for places, why in where.but)
    return "; ".join(text for text in ("yes" if where.real else "–", left_out) if text)


def document() -> str:
    """The text of ``docs/races.md``."""
    found = played()
    lines = [
        "# Races",
        "",
        "What can happen between a request, its answer, its cancel and its connection; in which transports and revisions it",
        "can; which tests play it there, in the ledger and over real transports; and what the screen says. Made by",
        "`python -m tests.races_table` from the tests' names and parameters and from the code that draws the rows: do not",
        "edit. Beside these, `tests/simulation` plays thousands of whole sessions in which they mix.",
        "",
        "| # | Race | Where | Really played | On the screen | Tests |",
        "|---|---|---|---|---|---|",
    ]
    for race in RACES:
        where = WHERE[race.number]
        tests = [*found.get(race.number, Played()).tests, *race.tests]
        proof = "<br>".join(f"`{test}`" for test in tests) or f"none yet: {race.later}"
        shown = (words(race) or "–").replace("|", "\\|")
        cells = (race.number, race.title, said(where.places), really(where), shown, proof)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(document(), "utf-8")
