"""``completion``: prints the completion script of a shell, and the completions of a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from mcp_tui.cli.grammar import Words, subcommand
from mcp_tui.cli.options import COMMANDS, options_of
from mcp_tui.cli.output import Exit, Failure, out
from mcp_tui.config.tap_words import RESERVED, split

_SCRIPTS: Final = {
    "bash": """\
_mcp_tui() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do COMPREPLY+=("$word"); done \\
        < <(mcp-tui completion line -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o bashdefault -o default -F _mcp_tui mcp-tui mcp-tui-client
""",
    "zsh": """\
#compdef mcp-tui mcp-tui-client
_mcp_tui() {
    local -a found
    found=("${(@f)$(mcp-tui completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n $found[1] ]]; then compadd -a found; else _files; fi
}
compdef _mcp_tui mcp-tui mcp-tui-client
""",
    "fish": """\
function __mcp_tui
    set -l before (commandline -opc)
    set -l current (commandline -ct | string replace -ra '\\\\\\\\(.)' '$1' | string trim -lc '\\'"')
    mcp-tui completion words -- $before[2..-1] "$current" 2>/dev/null
end
complete -c mcp-tui -a '(__mcp_tui)'
complete -c mcp-tui-client -w mcp-tui
""",
}

_SAFE: Final = re.compile(r"[\w.@/+:(),-]+(?: [\w.@/+:(),-]+)*", re.ASCII)
"""The names that are offered: a project's file may contain any text, and no shell must interpret it."""

_QUOTED: Final = re.compile(r"[ ()]")
"""The characters in such a name that bash would interpret; other shells quote them."""


def run(_name: str, given: Words) -> int:
    """Prints the script of a shell, or the completions of the last word after ``--``; with ``line``, of a line of bash."""
    match given.words:
        case [shell] if shell in _SCRIPTS:
            out(_SCRIPTS[shell], end="")
        case ["words"] if given.command:
            for word in candidates(given.command):
                out(word)
        case ["line"] if given.command:
            for word in bash_candidates(given.command[0]):
                out(word)
        case wrong:
            what = f"Unknown shell {wrong[0]!r}" if wrong else "Missing shell"
            raise Failure(f"{what}. Choose from: {', '.join(_SCRIPTS)}.")
    return Exit.COMPLETED


def candidates(words: Sequence[str]) -> list[str]:
    """Returns the completions of the last word; none for a file, a value, or the server's command."""
    *before, current = words
    if "--" in before:
        return []
    name, rest = subcommand(before)
    if name == "tap" and split(rest)[0] < len(rest):
        return []
    options = options_of(name)
    last = next((each for each in options if before and before[-1] in each.names and each.takes_value), None)
    if last is not None:
        found: Iterable[str] = last.how.get("choices") or _values(last.names)
    elif current.startswith("-"):
        found = [option for each in options for option in each.names]
    elif name == "tap":
        found = _values(("--server",)) if rest and rest[0] in RESERVED else RESERVED
    else:
        found = _first_words(name, rest)
    return [each for each in found if each.startswith(current) and _SAFE.fullmatch(each)]


def bash_candidates(line: str) -> list[str]:
    """Returns the completions of the last word of a line in the form that bash inserts.

    Bash replaces only the text after the last colon or equals sign, or after an open quotation mark.
    """
    words, quote, escaped = [""], "", False
    for char in line.lstrip():
        if escaped:
            words[-1], escaped = words[-1] + char, False
        elif char == "\\" and quote != "'":
            escaped = True
        elif char == quote:
            quote = ""
        elif char in "\"'" and not quote:
            quote = char
        elif char == " " and not quote:
            words += [""] if words[-1] else []
        else:
            words[-1] += char
    current = words[-1]
    kept = 0 if quote else max(current.rfind(":"), current.rfind("=")) + 1
    found = (each[kept:] for each in candidates(words[1:]))
    return [each if quote else _QUOTED.sub(r"\\\g<0>", each) for each in found]


def _first_words(name: str | None, before: Sequence[str]) -> Iterable[str]:
    """Returns the words that may follow: commands, topics of the help, shells, running sessions."""
    match name:
        case None:
            return (*COMMANDS, *(("workbench", "checks") if "help" in before else ("help",)))
        case "auth":
            return ("list",)
        case "completion":
            return _SCRIPTS
        case _:
            return _running(name)


def _running(name: str) -> list[str]:
    """Returns the running sessions, or their requests in flight, for a command that takes one."""
    # Each tab starts a process, so it loads only the modules that it needs.
    from mcp_tui.cli.running_sessions import id_for_cancel
    from mcp_tui.live.running import sessions
    from mcp_tui.live.sockets import sockets

    if name == "attach":
        return sorted(sockets())
    running = sessions()[0] if name == "cancel" else ()
    return [
        f"{each.name}/{id_for_cancel(row, each.summary)}" for each in running for row in each.summary.requests
    ]


def _values(names: Sequence[str]) -> list[str]:
    """Returns the names of servers, sessions, or saved calls, for an option that takes one."""
    if "--session" in names:
        return _running("attach")
    if "--client" in names:
        # As above.
        from mcp_tui.config.sources import CLIENTS

        return [each.id for each in CLIENTS]
    if {"--server", "--trust", "--distrust"} & set(names):
        # As above: the servers of all configs take long to load.
        from mcp_tui.config.servers import discover

        return sorted({each.name for each in discover().servers})
    if "--saved" in names:
        # As above.
        from mcp_tui.cli.target import loaded
        from mcp_tui.config.saved import load

        return sorted({each.name for each in load(loaded().settings.saved_folder)[0]})
    return []
