"""What the documents take from the code: the tables of keys and the diagram of a request's states.

``python -m tests.generated`` writes them anew; a test fails while they differ.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from mcp_tui.protocol.states import TRANSITIONS, State
from mcp_tui.tui.bindings import KEYS, RECORDED, Key

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
KEYS_PAGE: Final = ROOT / "docs" / "keys.md"
STATES_PAGE: Final = ROOT / "docs" / "states.md"

ALSO: Final = frozenset({"server.list", "server.next", "request.mark", "view.sort"})

BEGIN: Final = "<!-- keys: made by python -m tests.generated -->\n"
END: Final = "<!-- /keys -->\n"


def table(keys: list[Key]) -> str:
    """Keys and what they do, as a table."""
    rows = [f"| `{_shown(key)}` | {key.help} | `{key.id}` |" for key in keys]
    return "\n".join(["| key | does | name in `[keys]` |", "|---|---|---|", *rows, ""])


def short(keys: list[Key]) -> str:
    """The keys of the footer, and a few that it has no room for."""
    rows = [f"| `{_shown(key)}` | {key.help} |" for key in keys if key.footer or key.id in ALSO]
    return "\n".join(["| key | does |", "|---|---|", *rows, ""])


def _shown(key: Key) -> str:
    return "space" if key.keys == "space" else key.shown.replace("^", "ctrl+").replace("|", "\\|")


def readme(text: str) -> str:
    """The README with the table of keys as it is now."""
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:start] + short(list(KEYS)) + text[end:]


def keys_page() -> str:
    """All keys."""
    return "\n".join(
        [
            "# Keys",
            "",
            "Made by `python -m tests.generated` from the one list that bindings, footer, help and palette come from.",
            "Every key can be another one: `[keys]` in the settings takes the names on the right.",
            "",
            "## The workbench",
            "",
            table(list(KEYS)),
            "## A recording",
            "",
            table([key for key in RECORDED if key not in KEYS]),
        ]
    )


def states_page() -> str:
    """The table of transitions as a diagram."""
    lines = [
        "# The states of a request",
        "",
        "Made by `python -m tests.generated` from the table in `mcp_tui/protocol/states.py`. Events that leave a state",
        "as it is stand below. *Timed out* and *late, ignored* are no states: they are read from cause and evidence.",
        "",
        "```mermaid",
        "stateDiagram-v2",
        "    [*] --> queued: Called",
    ]
    for state, allowed in TRANSITIONS.items():
        moves: dict[State, list[str]] = {}
        for event, target in allowed.items():
            if target is not None:
                moves.setdefault(target, []).append(event.__name__)
        lines += [
            f"    {state.value} --> {target.value}: {', '.join(names)}" for target, names in moves.items()
        ]
    lines += ["```", "", "| state | events that leave it as it is |", "|---|---|"]
    for state, allowed in TRANSITIONS.items():
        names = ", ".join(event.__name__ for event, target in allowed.items() if target is None)
        lines.append(f"| {state.value.replace('_', ' ')} | {names or '–'} |")
    return "\n".join([*lines, ""])


def main() -> int:
    """Write all of them."""
    README.write_text(readme(README.read_text()))
    KEYS_PAGE.write_text(keys_page())
    STATES_PAGE.write_text(states_page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
