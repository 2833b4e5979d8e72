"""The argparse parser, made from the tables, for help, errors, and command lines that are not plain."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from textwrap import fill
from typing import NoReturn

from mcp_tui.cli.manual import ELSEWHERE, checks, examples, overview, usage
from mcp_tui.cli.options import COMMANDS, MOVED, groups_of, options_of
from mcp_tui.cli.output import Failure, HelpAsked


class _Parser(argparse.ArgumentParser):
    """An argparse parser that raises :class:`Failure` instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        what = message.removeprefix("argument ")
        if what.startswith("unrecognized arguments: -"):
            option = what.split()[2].partition("=")[0]
            if moved := MOVED.get((self.prog, option)):
                raise Failure(f"{self.prog} {option} is now a command. Use {moved}")
            text = _unrecognised(option, list(self._option_string_actions))
        else:
            text = _plain(what)
        raise Failure(f"{text} See {self.prog} --help.")

    def print_help(self, file: object = None) -> None:
        raise HelpAsked(overview() if self.prog == "mcp-tui" else self.format_help().rstrip())


def parser(name: str | None) -> argparse.ArgumentParser:
    """Returns the parser of a subcommand, or of the workbench for ``None``."""
    does = "open the workbench on an MCP server" if name is None else COMMANDS[name].does
    made = _Parser(
        prog=f"mcp-tui {name or ''}".rstrip(),
        usage=fill(usage(name), 73, subsequent_indent=" " * 11),
        description=f"{does[0].upper()}{does[1:]}.",
        epilog=examples(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for group in groups_of(name):
        into = made.add_argument_group(group.title) if group.title else made
        for option in group.options:
            into.add_argument(*option.names, **option.how)
    made.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    return made


def _plain(message: str) -> str:
    """Returns an error of argparse in our words."""
    option, _, what = message.partition(": ")
    if what.startswith("invalid choice: "):
        value, _, choices = what.removeprefix("invalid choice: ").partition(" (choose from ")
        choices = choices.rstrip(")").replace("'", "")
        return f"Unknown {option} {value}. Choose from: {choices}."
    if what == "expected one argument":
        return f"{option} needs a value."
    if what.startswith("ignored explicit argument"):
        return f"{option} takes no value."
    return f"Missing {what}." if option.endswith("arguments are required") else f"Invalid {option}: {what}."


def _unrecognised(option: str, known: Sequence[str]) -> str:
    """Returns the error about an option that does not exist, or not for this command."""
    others = [name for name in COMMANDS if any(option in each.names for each in options_of(name))]
    if others:
        return f"Option {option} belongs to {', '.join(others[:4])}{', and others' * (len(others) > 4)}."
    # Imported late: only for errors.
    from mcp_tui.config.files import guess

    return f"Unknown option {option!r}.{guess(option, known)}"


def elsewhere(words: list[str]) -> None:
    """Explains a word that is not a command; returns if nothing is known about it.

    Raises:
        HelpAsked, Failure: the word has a meaning elsewhere.
    """
    word, *topics = words
    if word == "help":
        _help(topics)
    if word == "version":
        # Imported late: rarely needed.
        from mcp_tui.cli import version

        raise HelpAsked(version.text())
    if word in ELSEWHERE:
        raise Failure(f"Unknown command {word!r}. {ELSEWHERE[word]}")


def _help(topics: list[str]) -> NoReturn:
    """Shows the help on a topic.

    Raises:
        HelpAsked, Failure: always.
    """
    topic = topics[0] if topics else ""
    if not topic:
        raise HelpAsked(overview())
    if topic == "checks":
        raise HelpAsked(checks())
    if topic == "workbench" or topic in COMMANDS:
        raise HelpAsked(parser(None if topic == "workbench" else topic).format_help().rstrip())
    raise Failure(f"Unknown help topic {topic!r}. Choose workbench, checks, or a command.")
