"""The grammar of the command line: options in any order, the server's command after ``--``.

A first pass finds the subcommand among the words before ``--``. The rest is parsed with the options of that command:
by this module if it is plain, in a tenth of the time, else by argparse. A positional word that begins with
``http://`` or ``https://`` is the server's URL.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from itertools import takewhile
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

from mcp_tui.cli.options import COMMANDS, COUNTING, FILTERING, PAIRS, VALUED, defaults_of, options_of
from mcp_tui.cli.output import Failure, HelpAsked
from mcp_tui.config.tap_words import split
from mcp_tui.protocol.patterns import late

PAIR: Final = late(r"([^=]+)=")
_ASSIGNMENT: Final = late(r"([\w.%]+)=")
"""``NAME=VALUE`` next to a URI, which may contain an equals sign too: the name is a variable of a template."""
URL: Final = late(r"https?://", re.IGNORECASE)
_HOST: Final = late(
    r"(localhost|[\w-]+(\.[\w-]+)+|\[[\da-fA-F:]+\])(:\d+)?(/.*)?|[\w.-]+:\d+(/.*)?", re.ASCII
)
"""A URL without its scheme."""

STDIN_CHARACTERS: Final = 65536
"""The maximum length of the line of ``--stdin``."""


class Words(NamedTuple):
    """The parsed words of one command line.

    ``command`` is the server's command after ``--``, ``None`` without ``--``. ``name`` is the subcommand, ``None``
    for the workbench. ``pairs`` are the ``NAME=VALUE`` of a command that accepts them.
    """

    name: str | None
    options: SimpleNamespace
    words: list[str]
    pairs: list[tuple[str, str]]
    url: str | None
    command: list[str] | None


def subcommand(head: Sequence[str]) -> tuple[str | None, list[str]]:
    """Returns the first word that is neither an option nor a value, if it is a command, and the other words."""
    skip = False
    for index, word in enumerate(head):
        if skip:
            skip = False
        elif word in VALUED:
            skip = True
        elif not word.startswith("-"):
            if word in COMMANDS:
                return word, [*head[:index], *head[index + 1 :]]
            return None, list(head)
    return None, list(head)


def _joined(head: Sequence[str]) -> list[str]:
    """Returns the words with each filter that begins with ``-`` joined to its option: ``--fail-on=-state:completed``.

    ``--at-most 3 FILTER`` becomes the one word ``--at-most=3 FILTER``; ``--at-least`` likewise.
    """
    words: list[str] = []
    for word in head:
        # the short options have one letter
        if words and words[-1] in COUNTING and word.isdecimal():
            words[-1] += f"={word}"
        elif words and (counted := words[-1].partition("="))[0] in COUNTING and counted[2].isdecimal():
            words[-1] += f" {word}"
        elif word == "--once":
            words.append("--once=")  # its value is optional, so the next word is not its value
        elif words and words[-1] in FILTERING and len(word) > 2 and word[0] == "-" != word[1]:
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


def plain_options(name: str | None, rest: Sequence[str]) -> SimpleNamespace | None:
    """Returns the options of a command and its ``words``; ``None`` unless argparse would parse them the same way."""
    known = {each: option for option in options_of(name) for each in option.names}
    found = {**defaults_of(name), "words": list[str]()}
    words = list(reversed(rest))
    while words:
        word, equals, value = words.pop(), "", ""
        if word[:1] != "-" or word == "-":
            found["words"].append(word)
            continue
        if word.startswith("--"):
            word, equals, value = word.partition("=")
        option = known.get(word)
        if option is None or "nargs" in option.how or bool(equals) > option.takes_value:
            return None
        if option.takes_value and not equals:
            if not words or words[-1][:1] == "-":
                return None
            value = words.pop()
        try:
            made = option.how.get("type", str)(value) if option.takes_value else True
        except Exception:  # noqa: BLE001 - argparse words it
            return None
        if made not in option.how.get("choices", (made,)):
            return None
        found[option.dest] = [*found[option.dest], made] if option.how.get("action") == "append" else made
    return SimpleNamespace(**found)


def read(arguments: Sequence[str]) -> Words:
    """Parses a command line.

    Raises:
        Failure: the command or an option does not exist.
        HelpAsked: the command line asks for help or the version.
    """
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    name, rest = subcommand(_joined(arguments[:cut]))
    command = list(arguments[cut + 1 :]) if cut < len(arguments) else None
    if name == "tap" and (start := split(rest)[0]) < len(rest):  # a client removed the --
        rest, command = rest[:start], [*rest[start:], *arguments[cut:]]
    options = plain_options(name, rest)
    if options is None:
        # This loads argparse, which plain command lines do not need.
        from mcp_tui.cli.parser import parser

        options = parser(name).parse_intermixed_args(rest, SimpleNamespace())
    if options.version:
        # Imported late: rarely needed.
        from mcp_tui.cli import version

        raise HelpAsked(version.text())
    if getattr(options, "stdin", False):
        given = [each for each in arguments[:cut] if each != "--stdin"]
        return read([*given, *_from_stdin(), *arguments[cut:]])
    if command == []:
        raise Failure("No server command after --. Put the program and its arguments there.")
    grouped: list[list[str]] = getattr(options, "before", [])
    for group in grouped:
        # argparse assigns every word up to the next option to it
        own = 1 + len(list(takewhile(lambda word: PAIR.match(word) and not URL.match(word), group[1:])))
        options.words += group[own:]
        del group[own:]
    words, url = _server_url(name, options.words, command)
    pairs: list[tuple[str, str]] = []
    if name is not None and PAIRS in COMMANDS[name].words:
        pair = _ASSIGNMENT if name == "read" else PAIR
        pairs = [(found[1], word[found.end() :]) for word in words if (found := pair.match(word))]
        words = [word for word in words if not pair.match(word)]
    given = Words(name, options, words, pairs, url, command)
    _refuse_words(given)
    return given


def _from_stdin() -> list[str]:
    """Returns the arguments in the first line of stdin."""
    try:
        found: Any = json.loads(sys.stdin.readline(STDIN_CHARACTERS))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in cast("list[Any]", found)):
        raise Failure('No arguments on stdin. Write a JSON list of texts in one line, such as ["7bc6/3"].')
    return cast("list[str]", found)


def _refuse_words(given: Words) -> None:
    """Rejects missing and unexpected words, and a server for a command that connects to none."""
    name, others = given.name, given.words
    spec = None if name is None else COMMANDS[name]
    optional = spec is not None and spec.words.startswith("[")
    if spec is not None and spec.connects and spec.words and not optional:
        subject = spec.words.partition(" ")[0]
        saved = getattr(given.options, "saved", None) is not None
        if not (others or saved):
            raise Failure(f"Missing {subject}. See mcp-tui {name} --help.")
        others = others[0 if saved else 1 :]
    elif spec is not None and (not spec.connects or spec.words.endswith(" …]")):
        # A command with words of its own explains unexpected ones best.
        others = [] if spec.words else [*others, *filter(None, (given.url, *(given.command or ())))]
    if not others:
        return
    if URL.match(others[0]) and (spec is None or spec.connects):
        raise Failure("Two URLs. A command connects to one server.")
    if spec is None:
        # Imported late: only for help and for errors.
        from mcp_tui.cli.parser import elsewhere
        from mcp_tui.config.files import guess

        elsewhere(others)
        if _HOST.fullmatch(others[0]):
            raise Failure(f"A URL begins with http:// or https://. Is it http://{others[0]}?")
        text = f"Unknown subcommand {others[0]!r}.{guess(others[0], COMMANDS)}"
        raise Failure(f"{text} To start a server: mcp-tui -- python server.py")
    hint = f"See mcp-tui {name} --help."
    if spec.connects and _HOST.fullmatch(others[0]):
        hint = f"A URL begins with http:// or https://. Is it http://{others[0]}?"
    elif spec.connects:
        hint = "Put the server command after --"
        if spec.words:
            hint = f"Use {'--tool NAME and ' * (name == 'probe')}NAME=VALUE; put the server command after --"
    raise Failure(f"Unexpected argument {others[0]!r}. {hint}")


def _server_url(
    name: str | None, words: list[str], command: list[str] | None
) -> tuple[list[str], str | None]:
    """Returns the words without the server's URL, and the URL. The subject of ``read`` may also be a URL; it comes first."""
    urls = [index for index, word in enumerate(words) if URL.match(word)]
    alone = name == "read" and len([each for each in words if not _ASSIGNMENT.match(each)]) == 1
    if not urls or alone or (name == "read" and command is not None):
        return words, None
    at = urls[-1]
    return [*words[:at], *words[at + 1 :]], words[at]
