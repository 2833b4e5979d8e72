"""The grammar of the command line: options in any order, the server's command behind ``--``.

A first pass finds the subcommand among the words before ``--``, which may stand anywhere; argparse then reads the rest by
that command's own options. A positional that begins with ``http://`` or ``https://`` is the server's URL.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from mcp_tui import __version__
from mcp_tui.cli.status import Exit

PAIR: Final = re.compile(r"[A-Za-z_][\w.-]*=", re.ASCII)
URL: Final = re.compile(r"https?://", re.IGNORECASE)


class Usage(Exception):
    """The words are not of the grammar, or help was asked for."""

    def __init__(self, text: str, status: Exit = Exit.USAGE) -> None:
        super().__init__(text)
        self.status = status

    def tell(self) -> int:
        """Print it where it belongs, and return the exit status."""
        print(self, file=sys.stdout if self.status is Exit.COMPLETED else sys.stderr)
        return self.status


class _Parser(argparse.ArgumentParser):
    """argparse that raises :class:`Usage` instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        text = f"mcp-tui: {message.removeprefix('argument ')}; see {self.prog} --help"
        raise Usage(text)

    def print_help(self, file: object = None) -> None:
        raise Usage(self.format_help().rstrip(), Exit.COMPLETED)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one command line. ``command`` is what stood behind ``--``, ``None`` without it."""

    options: argparse.Namespace
    words: list[str]
    url: str | None
    command: list[str] | None


@dataclass(frozen=True, slots=True)
class Command:
    """A command that is ready to run."""

    run: Callable[[], int]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        message = f"{text!r} is no number from 0 up"
        raise argparse.ArgumentTypeError(message)
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        message = f"{text!r} is no whole number"
        raise argparse.ArgumentTypeError(message) from None


def two_urls(word: str) -> None:
    """Refuse a word that is left over because it is the URL of a second server.

    Raises:
        Usage: it is a URL.
    """
    if URL.match(word):
        raise Usage("mcp-tui: two URLs are given, but a command talks to one server")


def _connecting(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("server")
    add = group.add_argument
    add("--server", metavar="NAME", help="a server from a config file")
    add("--config", metavar="FILE", help="the config file to look in")
    add("--demo", action="store_true", help="the demo server that ships with mcp-tui")
    add(
        "-e",
        dest="env",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="environment of a stdio server",
    )
    add("--cwd", metavar="DIR", help="folder of a stdio server")
    add("-H", dest="headers", metavar="'Name: value'", action="append", default=[], help="a header for HTTP")
    add("--transport", choices=["auto", "stdio", "http", "sse"], default="auto")
    add(
        "--protocol", metavar="auto|REVISION", default="auto", help="default: newest first, then falling back"
    )
    add("--inherit-env", action="store_true", help="the whole environment for a stdio server")
    add("--insecure", action="store_true", help="no TLS verification")
    group = parser.add_argument_group("limits (seconds; 0 = none)")
    add = group.add_argument
    add(
        "--connect-timeout",
        metavar="S",
        type=_number,
        default=30.0,
        help="to start, probe and shake hands (30)",
    )
    add(
        "--timeout",
        metavar="S",
        type=_number,
        default=60.0,
        help="idle limit of a request; progress re-arms it (60)",
    )
    add("--max-timeout", metavar="S", type=_number, default=600.0, help="limit that nothing re-arms (600)")
    add("--max-message", metavar="MB", type=_number, default=128.0, help="cap of one message (128)")
    group = parser.add_argument_group("journal")
    group.add_argument("--no-journal", action="store_true", help="keep nothing")
    group.add_argument("--record", metavar="FILE", help="also write a recording to FILE")


def _cancelling(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("cancelling").add_argument
    add("--cancel-after", metavar="S", type=_number, help="cancel S seconds after the request was written")
    add("--reason", metavar="TEXT", help="why; sent to the server where the protocol has a place for it")
    add(
        "--linger",
        metavar="S",
        type=_number,
        help="listen on for what still arrives (1 after a cancel, else 0)",
    )


def _call(parser: argparse.ArgumentParser) -> None:
    _cancelling(parser)
    parser.add_argument("--args", metavar="JSON|@FILE|-", help="all arguments at once, from a file or stdin")


def _request(parser: argparse.ArgumentParser) -> None:
    _cancelling(parser)
    parser.add_argument("--params", metavar="JSON|@FILE|-", help="the params of the request")


def _ping(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", metavar="N", type=_whole, default=4, help="round trips (4)")


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http", metavar="PORT", type=_whole, help="serve http://127.0.0.1:PORT/mcp instead of stdio"
    )
    parser.add_argument("--log", metavar="FILE", help="write what was received, and when, as JSON lines")


@dataclass(frozen=True, slots=True)
class _Spec:
    """A subcommand: the module that runs it, its words, what it does, and its own options."""

    module: str
    words: str
    does: str
    options: Callable[[argparse.ArgumentParser], None] | None = None
    connects: bool = True


COMMANDS: Final = {
    "call": _Spec("call", "TOOL [NAME=VALUE…]", "call a tool, cancel it, see what comes of it", _call),
    "request": _Spec("call", "METHOD", "send any request", _request),
    "read": _Spec("call", "URI", "read a resource", _cancelling),
    "prompt": _Spec("call", "NAME [NAME=VALUE…]", "get a prompt", _call),
    "tools": _Spec("lists", "", "list the tools, every page"),
    "resources": _Spec("lists", "", "list the resources, every page"),
    "templates": _Spec("lists", "", "list the resource templates, every page"),
    "prompts": _Spec("lists", "", "list the prompts, every page"),
    "info": _Spec("info", "", "connect; print transport, revision, server, capabilities"),
    "ping": _Spec("info", "", "measure round trips", _ping),
    "demo": _Spec("demo", "", "run the demo server itself", _demo, connects=False),
}


def _parser(name: str | None) -> argparse.ArgumentParser:
    if name is None:
        parser = _Parser(
            prog="mcp-tui",
            usage=(
                "mcp-tui [OPTIONS] [URL | -- COMMAND ARGS…]\n"
                "       mcp-tui SUBCOMMAND [OPTIONS] [ARGS] [URL | -- COMMAND ARGS…]"
            ),
            description="Open the workbench on an MCP server, or run one command without it.",
            epilog="subcommands:\n" + "\n".join(f"  {key:<10} {spec.does}" for key, spec in COMMANDS.items()),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        _connecting(parser)
    else:
        spec = COMMANDS[name]
        server = " [URL | -- COMMAND ARGS…]" if spec.connects else ""
        words = f" {spec.words}" if spec.words else ""
        parser = _Parser(
            prog=f"mcp-tui {name}",
            usage=f"mcp-tui {name} [OPTIONS]{words}{server}",
            description=f"{spec.does[0].upper()}{spec.does[1:]}.",
            allow_abbrev=False,
        )
        if spec.options:
            spec.options(parser)
        if spec.connects:
            parser.add_argument("--json", action="store_true", help="JSON for programs")
            _connecting(parser)
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    return parser


def _valued() -> frozenset[str]:
    """Every option, of any command, that takes a value: the first pass must not mistake the value for a command."""
    names: set[str] = set()
    for name in (None, *COMMANDS):
        for action in _parser(name)._actions:  # noqa: SLF001 - argparse offers no other view  # pyright: ignore[reportPrivateUsage]
            if action.option_strings and action.nargs != 0:
                names.update(action.option_strings)
    return frozenset(names)


def _subcommand(head: Sequence[str]) -> tuple[str | None, list[str]]:
    """The first word that is neither an option nor its value, if it names a command; and the rest."""
    valued = _valued()
    skip = False
    for index, word in enumerate(head):
        if skip:
            skip = False
        elif word in valued:
            skip = True
        elif not word.startswith("-"):
            if word in COMMANDS:
                return word, [*head[:index], *head[index + 1 :]]
            return None, list(head)
    return None, list(head)


def read(arguments: Sequence[str]) -> Command:
    """The command that the words ask for.

    Raises:
        Usage: they ask for none that there is.
    """
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    name, rest = _subcommand(arguments[:cut])
    command = list(arguments[cut + 1 :]) if cut < len(arguments) else None
    options = _parser(name).parse_intermixed_args(rest)
    if options.version:
        raise Usage(f"mcp-tui {__version__}", Exit.COMPLETED)
    if command == []:
        text = "mcp-tui: nothing stands behind --: give the server's command there"
        raise Usage(text)
    words, url = _server_url(name, options.words, command)
    given = Words(options, words, url, command)
    if name is None:
        return Command(lambda: _workbench(given))
    return Command(lambda: _run(name, given))


def _server_url(
    name: str | None, words: list[str], command: list[str] | None
) -> tuple[list[str], str | None]:
    """The words without the server's URL, and that. What ``read`` reads may be a URL too: it comes first."""
    urls = [index for index, word in enumerate(words) if URL.match(word)]
    if not urls or (command is not None and name == "read"):
        return words, None
    if name == "read" and len(words) == 1:
        return words, None
    at = urls[-1]
    return [*words[:at], *words[at + 1 :]], words[at]


def _workbench(given: Words) -> int:
    if given.words:
        two_urls(given.words[0])
        raise Usage(_unknown(given.words[0]))
    from mcp_tui.cli.workbench import run

    return run(given)


def _unknown(word: str) -> str:
    import difflib

    close = difflib.get_close_matches(word, COMMANDS, 1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return (
        f"mcp-tui: {word!r} is no subcommand{hint} and no URL; a server's command stands behind --, "
        "as in: mcp-tui -- python server.py"
    )


def _run(name: str, given: Words) -> int:
    from importlib import import_module

    module = import_module(f"mcp_tui.cli.{COMMANDS[name].module}")
    return module.run(name, given)
