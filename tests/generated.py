"""What the documents take from the code: tables of keys, options, and rules, and the diagram of a request's states.

``python -m tests.generated`` writes them anew; a test fails while they differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mcp_tui.cli.manual import CHECKS, GROUPS, usage
from mcp_tui.cli.options import COMMANDS, CONNECTING, Option, OptionGroup
from mcp_tui.judge.client_rules import CLIENT_RULES
from mcp_tui.probe.rules import RULES, Clause
from mcp_tui.protocol.states import State
from mcp_tui.protocol.transitions import TRANSITIONS
from mcp_tui.view.keys import FIRST_KEYS, RECORDED, SCOPES, Key, Scope, in_footer, keys, shown_as

ROOT: Final = Path(__file__).parents[1]
GUIDE: Final = ROOT / "docs" / "reference" / "workbench.md"
KEYS_PAGE: Final = ROOT / "docs" / "reference" / "keys.md"
STATES_PAGE: Final = ROOT / "docs" / "explanation" / "states.md"
RULES_PAGE: Final = ROOT / "docs" / "rules.md"
COMMAND_PAGES: Final = ROOT / "docs" / "reference" / "commands"
INDEX_PAGE: Final = ROOT / "docs" / "reference" / "index.md"
CHECKS_PAGE: Final = ROOT / "docs" / "how-to" / "checks.md"
CONNECTING_PAGE: Final = ROOT / "docs" / "reference" / "connecting.md"

ALSO: Final = frozenset({"server.list", "server.next", "request.mark", "view.sort"})

BEGIN: Final = "<!-- keys: made by python -m tests.generated -->\n"
END: Final = "<!-- /keys -->\n"
BEGIN_OPTIONS: Final = "<!-- options: made by python -m tests.generated -->\n"
END_OPTIONS: Final = "<!-- /options -->\n"


ENDS: Final = """## Keys of Textual

Fields and editors use the keys of Textual: arrows, `home`, `end`, `ctrl+a`, `ctrl+e`, `ctrl+w`, `ctrl+u`, `ctrl+k`;
with selected text `ctrl+x`, `ctrl+c`, and `ctrl+v`; in an editor also `ctrl+z` and `ctrl+y`. `enter` accepts a line. In
a menu, the arrows, `home`, `end`, the page keys, and `enter` choose; on a button, `enter` presses it. `tab` and
`shift+tab` move between panes and fields. These keys cannot be changed. In a search that was opened with `/`, typed
characters extend it, `backspace` deletes one, and `enter` closes it.
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
        f"| `{_long(in_footer(key))}` | {', '.join([key.help, *(FIRST_KEYS[other].label for other in key.others)])} |"
        for key in shown
    ]
    return "\n".join(["| key | does |", "|---|---|", *rows, ""])


def _all(key: Key) -> str:
    return ", ".join(f"`{_long(shown_as(name))}`" for name in key.names)


def _long(shown: str) -> str:
    return shown.replace("^", "ctrl+").replace("|", "\\|")


def guide(text: str) -> str:
    """The guide with the table of keys as it is now."""
    return _between(text, BEGIN, short(), END)


def command_page(name: str, text: str) -> str:
    """The page of a command with its usage and its options as they are now."""
    spec = COMMANDS[name]
    groups = [group for group in spec.options() if group not in CONNECTING]
    more = ", and the [options of connecting](../connecting.md#options)" if spec.connects else ""
    return _between(text, BEGIN_OPTIONS, f"`{usage(name)}`{more}\n{_options(groups)}", END_OPTIONS)


def index_page(text: str) -> str:
    """The page of the command line with the groups of the help."""
    rows = [
        f"| {' · '.join(f'[{each}](commands/{each}.md)' for each in names.split(', '))} | {does} |"
        for lines in GROUPS.values()
        for names, does in lines.items()
    ]
    return _between(
        text, BEGIN_OPTIONS, "\n".join(["| commands | do |", "|---|---|", *rows, ""]), END_OPTIONS
    )


def checks_page(text: str) -> str:
    """The page about checks with the table of ``mcp-tui help checks``."""
    rows = [f"| {asked} | [`{check}`]({page}) | {needs} |" for asked, (check, needs, page) in CHECKS.items()]
    head = ["| the question | the check | needs |", "|---|---|---|"]
    return _between(text, BEGIN_OPTIONS, "\n".join([*head, *rows, ""]), END_OPTIONS)


def connecting_page(text: str) -> str:
    """The page about connecting with the options of every command that connects."""
    return _between(text, BEGIN_OPTIONS, _options(CONNECTING), END_OPTIONS)


def _options(groups: Iterable[OptionGroup]) -> str:
    rows = [
        f"| `{', '.join(option.names)}{_value(option)}` | {option.how['help']} |"
        for group in groups
        for option in group.options
        if option.dest != "version"
    ]
    return "\n".join(["", "| option | does |", "|---|---|", *rows, ""]) if rows else ""


def _value(option: Option) -> str:
    value = option.how.get("metavar") or option.how.get("choices", "")
    words = (
        value
        if isinstance(value, str)
        else (f"{' '.join(value)}…" if "nargs" in option.how else "|".join(value))
    )
    return f" {words}".replace("|", "\\|").rstrip()


def _between(text: str, begin: str, made: str, end: str) -> str:
    return text[: text.index(begin) + len(begin)] + made + text[text.index(end) :]


def keys_page() -> str:
    """All keys."""
    lines = [
        "# Keys",
        "",
        "Generated by `python -m tests.generated` from the list that bindings, footer, help, and palette share. Every key",
        "can be changed: use the names on the right under `[keys]` in the settings; separate several keys with commas.",
        "`mcp-tui config` reports keys that cannot be used. A name that appears in several tables is the same key",
        "everywhere. `f1` shows the keys of the current pane or dialog.",
        "",
    ]
    for scope in SCOPES.values():
        lines += [f"## {scope.title}", "", table(scope)]
        if scope.name == "recording":
            lines += [
                "All keys of the workbench that change nothing work here, too.",
                "",
            ]
        elif scope.name == "attached":
            lines += ["All keys of a recording work here, too.", ""]
    return "\n".join([*lines, ENDS])


def states_page() -> str:
    """The table of transitions as a diagram."""
    lines = [
        "# The states of a request",
        "",
        "Generated by `python -m tests.generated` from `mcp_tui/protocol/transitions.py`. The table below the",
        "diagram lists events that keep a state. *Timed out* and *late* are not states: they follow from cause",
        "and evidence.",
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
    lines += ["```", "", "| state | events that keep it |", "|---|---|"]
    for state, allowed in TRANSITIONS.items():
        names = ", ".join(event.__name__ for event, target in allowed.items() if target is None)
        lines.append(f"| {state.value.replace('_', ' ')} | {names or '–'} |")
    return "\n".join([*lines, ""])


def rules_page() -> str:
    """The rules of both probes with their clauses."""
    lines = [
        "# Rules of the probe",
        "",
        "Generated by `python -m tests.generated` from `probe/rules.py` and `judge/client_rules.py`. *Inferred*",
        "clauses are our reading of the specification, not its words. Where a rule has no clause, it does not apply.",
    ]
    for title, rules in (("Servers", RULES), ("Clients", CLIENT_RULES)):
        heads = "| rule | what | up to 2025-11-25 | 2026-07-28 | 2026-07-28 over HTTP |"
        lines += ["", f"## {title}", "", heads, "|---|---|---|---|---|"]
        for rule in rules.values():
            clauses = (rule.handshake, rule.modern, rule.over_http or rule.modern)
            cells = (f'{rule.id} <a id="{rule.id.lower()}"></a>', rule.title, *map(_clause, clauses))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _clause(clause: Clause | None) -> str:
    if clause is None:
        return "–"
    return f"{clause.level.value}: {clause.name}{', inferred' if clause.inferred else ''}"


def main() -> int:
    """Write all of them."""
    GUIDE.write_text(guide(GUIDE.read_text()))
    CONNECTING_PAGE.write_text(connecting_page(CONNECTING_PAGE.read_text()))
    INDEX_PAGE.write_text(index_page(INDEX_PAGE.read_text()))
    CHECKS_PAGE.write_text(checks_page(CHECKS_PAGE.read_text()))
    for page in COMMAND_PAGES.glob("*.md"):
        page.write_text(command_page(page.stem, page.read_text()))
    KEYS_PAGE.write_text(keys_page())
    STATES_PAGE.write_text(states_page())
    RULES_PAGE.write_text(rules_page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
