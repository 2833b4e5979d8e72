"""What a config file asks a person for: typed at the terminal, a secret unseen."""

from __future__ import annotations

import sys

from mcp_tui.cli.status import Exit, Failure
from mcp_tui.config.definitions import Definition, Input
from mcp_tui.config.filling import questions
from mcp_tui.config.templates import input_name
from mcp_tui.tui.view.text import clean


def answers(definition: Definition) -> dict[str, str]:
    """An answer to each input of a definition that has neither a default nor a variable in the environment.

    Raises:
        Failure: there is no terminal to ask at, or nothing was answered.
    """
    asked = questions(definition)
    if not asked:
        return {}
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        names = ", ".join(input_name(each.id) for each in asked)
        text = f"{definition.place}: {definition.name!r} asks for {asked[0].id!r}: set {names}, or run it on a terminal"
        raise Failure(clean(text), Exit.USAGE)
    return {each.id: _ask(each) for each in asked}


def _ask(each: Input) -> str:
    said = clean(" ".join(part for part in (each.description or each.id, _choices(each)) if part))
    try:
        if each.secret:
            from getpass import getpass

            answer = getpass(f"{said}: ", stream=sys.stderr)
        else:
            print(f"{said}: ", end="", file=sys.stderr, flush=True)
            answer = sys.stdin.readline().rstrip("\r\n")
    except (EOFError, UnicodeDecodeError):
        answer = ""
    if not answer or (each.options and answer not in each.options):
        text = (
            f"{clean(each.id)} was not answered" if not answer else f"{clean(answer)} is none of the choices"
        )
        raise Failure(text, Exit.USAGE)
    return answer


def _choices(each: Input) -> str:
    return f"({', '.join(each.options)})" if each.options else ""
