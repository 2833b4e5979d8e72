"""What the documents take from the code: the tables of keys and the diagram of a request's states.

``python -m tests.generated`` writes them anew; a test fails while they differ.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from mcp_tui.protocol.requests import TRANSITIONS
from mcp_tui.protocol.states import State
from mcp_tui.tui.bindings import in_footer, keys
from mcp_tui.tui.keys.key import Key, Scope, shown_as
from mcp_tui.tui.keys.recording import RECORDED
from mcp_tui.tui.keys.scopes import FIRST, SCOPES

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
KEYS_PAGE: Final = ROOT / "docs" / "keys.md"
STATES_PAGE: Final = ROOT / "docs" / "states.md"

ALSO: Final = frozenset({"server.list", "server.next", "request.mark", "view.sort"})

BEGIN: Final = "<!-- keys: made by python -m tests.generated -->\n"
END: Final = "<!-- /keys -->\n"


ENDS: Final = """## What Textual brings

In a field and in an editor the keys are Textual's: arrows, `home` and `end`, `ctrl+a` and `ctrl+e`, `ctrl+w`, `ctrl+u`
and `ctrl+k`, `ctrl+x`, `ctrl+c` and `ctrl+v` where text is selected, `ctrl+z` and `ctrl+y` in an editor; `enter` in a line
takes it. In a menu the arrows, `home`, `end`, the page keys and `enter` choose; on a button `enter` presses it. `tab` and
`shift+tab` go from pane to pane and from field to field. These cannot be other keys, and nothing else can be on them there.
While a text is looked for that was begun with `/`, characters belong to it, `backspace` takes one away and `enter` ends it.
"""


def table(scope: Scope) -> str:
    """The keys of a scope and what they do, as a table."""
    shown = RECORDED if scope.name == "recording" else scope.keys
    rows = [f"| {_all(key)} | {key.help} | `{key.id}` |" for key in shown]
    return "\n".join(["| key | does | name in `[keys]` |", "|---|---|---|", *rows, ""])


def short() -> str:
    """The keys of the footer, and a few that it has no room for."""
    shown = [key for key in keys() if key.footer or key.id in ALSO]
    rows = [
        f"| `{_long(in_footer(key))}` | {', '.join([key.help, *(FIRST[other].label for other in key.others)])} |"
        for key in shown
    ]
    return "\n".join(["| key | does |", "|---|---|", *rows, ""])


def _all(key: Key) -> str:
    return ", ".join(f"`{_long(shown_as(name))}`" for name in key.names)


def _long(shown: str) -> str:
    return shown.replace("^", "ctrl+").replace("|", "\\|")


def readme(text: str) -> str:
    """The README with the table of keys as it is now."""
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:start] + short() + text[end:]


def keys_page() -> str:
    """All keys."""
    lines = [
        "# Keys",
        "",
        "Made by `python -m tests.generated` from the one list that bindings, footer, help and palette come from.",
        "Every key can be another one: `[keys]` in the settings takes the names on the right, and several keys parted by",
        "commas. `mcp-tui config` says which of them cannot be had, and why. A name that stands in several tables is the",
        "same key everywhere. `f1` shows the keys of the pane or dialog that one is in.",
        "",
    ]
    for scope in SCOPES.values():
        lines += [f"## {scope.title}", "", table(scope)]
        if scope.name == "recording":
            lines += [
                "And all keys of the workbench that only look; the others say that a recording is read-only.",
                "",
            ]
    return "\n".join([*lines, ENDS])


def states_page() -> str:
    """The table of transitions as a diagram."""
    lines = [
        "# The states of a request",
        "",
        "Made by `python -m tests.generated` from the table in `mcp_tui/protocol/requests.py`. Events that leave a state",
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
