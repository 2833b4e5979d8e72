"""The options of the commands, and the table of the commands themselves.

Each subcommand is one entry of :data:`COMMANDS`; the module that runs it is loaded when it is asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


def number(text: str) -> float:
    """A number of seconds, megabytes and the like: finite, from 0 up."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        message = f"{text!r} is no number from 0 up"
        raise argparse.ArgumentTypeError(message)
    return value


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        message = f"{text!r} is no whole number"
        raise argparse.ArgumentTypeError(message) from None


def connecting(parser: argparse.ArgumentParser) -> None:
    """The options of every command that connects."""
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
    _settable(parser)
    parser.add_argument_group("recording").add_argument(
        "--record", metavar="FILE", help="also write a recording to FILE"
    )


def _settable(parser: argparse.ArgumentParser) -> None:
    """The options that go before a setting; ``None`` where they are not given."""
    add = parser.add_argument_group("limits (seconds; 0 = none)").add_argument
    add(
        "--connect-timeout",
        metavar="S",
        type=number,
        help="to start, probe and shake hands (30)",
    )
    add(
        "--timeout",
        metavar="S",
        type=number,
        help="idle limit of a request; progress re-arms it (60)",
    )
    add("--max-timeout", metavar="S", type=number, help="limit that nothing re-arms (600)")
    add("--max-message", metavar="MB", type=number, help="cap of one message (128)")
    add = parser.add_argument_group("journal").add_argument
    add("--no-journal", action="store_true", help="keep nothing")


def _cancelling(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("cancelling").add_argument
    add("--cancel-after", metavar="S", type=number, help="cancel S seconds after the request was written")
    add("--reason", metavar="TEXT", help="why; sent to the server where the protocol has a place for it")
    add(
        "--linger",
        metavar="S",
        type=number,
        help="listen on for what still arrives (1 after a cancel, else 0)",
    )


def _call(parser: argparse.ArgumentParser) -> None:
    _prompt(parser)
    parser.add_argument(
        "--saved", metavar="NAME", help="run a saved call; NAME=VALUE goes before what was saved"
    )


def _prompt(parser: argparse.ArgumentParser) -> None:
    _cancelling(parser)
    parser.add_argument("--args", metavar="JSON|@FILE|-", help="all arguments at once, from a file or stdin")


def _request(parser: argparse.ArgumentParser) -> None:
    _cancelling(parser)
    parser.add_argument("--params", metavar="JSON|@FILE|-", help="the params of the request")


def _ping(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", metavar="N", type=whole, default=4, help="round trips (4)")


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http", metavar="PORT", type=whole, help="serve http://127.0.0.1:PORT/mcp instead of stdio"
    )
    parser.add_argument("--log", metavar="FILE", help="write what was received, and when, as JSON lines")


def _probe(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what").add_argument
    add("--list", action="store_true", help="list the rules; needs no server")
    add("--tool", metavar="NAME", help="the tool to cancel; default: a slow, harmless one is looked for")
    add("--args", metavar="JSON|@FILE|-", help="all arguments of the tool at once, from a file or stdin")
    add(
        "--heartbeat",
        metavar="FILE",
        help="a file that the tool writes to while it works: shows whether it stopped",
    )
    add("--strict", action="store_true", help="exit status 9 also where a SHOULD is not followed")
    add = parser.add_argument_group("reports").add_argument
    add("--junit", metavar="FILE", help="also write JUnit XML, for CI")
    add("--markdown", metavar="FILE", help="also write Markdown, for an issue or a pull request")


def _config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--example", action="store_true", help="print a settings file with every default, commented"
    )
    parser.add_argument(
        "--keys", action="store_true", help="print what has a key, for the [keys] of that file"
    )
    _settable(parser)


def _servers(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--config", metavar="FILE", help="the config file to look in, instead of the usual places")
    add("--trust", metavar="NAME", help="show what a project's server would start, and agree to it")
    add("--distrust", metavar="NAME", help="withdraw that again")
    add("--yes", action="store_true", help="agree without being asked, for scripts")


def _log(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("which").add_argument
    add("--server", metavar="TEXT", help="of servers with this in their name, command line or URL")
    add("--tool", metavar="NAME", help="of a tool, a prompt, a resource or a method")
    add("--outcome", metavar="X", help="silent, late, late_result, still_progressing, …; several with commas")
    add("--cause", metavar="X", help="user, timeout, max_timeout, shutdown, parent; several with commas")
    add("--since", metavar="WHEN", help="from then on: 2h, 3d, or a date and time as in 2026-11-21T10:30")
    add("--until", metavar="WHEN", help="up to then")
    add("--limit", metavar="N", type=whole, help="the newest N (1000 as text; 0 = all of them)")
    add = parser.add_argument_group("how").add_argument
    add("--sums", action="store_true", help="how often each tool had each outcome")
    add("--sessions", action="store_true", help="the sessions instead of their cancellations")
    add("--csv", action="store_true", help="CSV, with a header")


def _export(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--format", choices=EXPORTS, required=True, help="the form that is wanted")
    add("--id", metavar="N", help="one request alone")
    add("--cancellations", action="store_true", help="the requests alone that were cancelled")
    add("-o", "--output", metavar="FILE", help="write to FILE (for you alone) instead of stdout")


def speed(text: str) -> float | None:
    """How many times as fast as it happened; ``None`` for all at once."""
    if text == "max":
        return None
    value = number(text.removesuffix("x"))
    if not value:
        message = "it would never move; give 1, 4 or max"
        raise argparse.ArgumentTypeError(message)
    return value


def _replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--speed",
        metavar="N|max",
        type=speed,
        default=None,
        help="play from the start, N times as fast as it happened; max, the default, shows the end at once",
    )


@dataclass(frozen=True, slots=True)
class Spec:
    """A subcommand: the module that runs it, its words, what it does, and its own options.

    ``connects``: it takes a server and the options for it. ``prints``: it takes ``--json``.
    """

    module: str
    words: str
    does: str
    options: Callable[[argparse.ArgumentParser], None] | None = None
    connects: bool = True
    prints: bool = True


EXPORTS: Final = ("jsonl", "har", "markdown", "csv")
"""The forms that a session can be put into."""

COMMANDS: Final = {
    "call": Spec("call", "TOOL [NAME=VALUE…]", "call a tool, cancel it, see what comes of it", _call),
    "request": Spec("call", "METHOD", "send any request", _request),
    "read": Spec("call", "URI", "read a resource", _cancelling),
    "prompt": Spec("call", "NAME [NAME=VALUE…]", "get a prompt", _prompt),
    "tools": Spec("lists", "", "list the tools, every page"),
    "resources": Spec("lists", "", "list the resources, every page"),
    "templates": Spec("lists", "", "list the resource templates, every page"),
    "prompts": Spec("lists", "", "list the prompts, every page"),
    "info": Spec("info", "", "connect; print transport, revision, server, capabilities"),
    "ping": Spec("info", "", "measure round trips", _ping),
    "probe": Spec(
        "probe", "[NAME=VALUE…]", "does the server stop when told to? experiments, rule by rule", _probe
    ),
    "log": Spec(
        "log", "[SESSION|FILE|last]", "tell what was cancelled, and what came of it", _log, connects=False
    ),
    "export": Spec(
        "export",
        "SESSION|FILE|last",
        "put a session into another form",
        _export,
        connects=False,
        prints=False,
    ),
    "config": Spec(
        "config",
        "",
        "tell where settings, themes and journals are, and what is in force",
        _config,
        connects=False,
    ),
    "replay": Spec(
        "replay",
        "FILE|SESSION|last",
        "open a recording in the workbench, read-only",
        _replay,
        connects=False,
        prints=False,
    ),
    "servers": Spec("servers", "", "list the servers that the config files define", _servers, connects=False),
    "demo": Spec("demo", "", "run the demo server itself", _demo, connects=False, prints=False),
}

VALUED: Final = frozenset(
    {
        "--args",
        "--cancel-after",
        "--cause",
        "--config",
        "--connect-timeout",
        "--count",
        "--cwd",
        "--distrust",
        "--format",
        "--heartbeat",
        "--http",
        "--id",
        "--junit",
        "--limit",
        "--linger",
        "--log",
        "--markdown",
        "--max-message",
        "--max-timeout",
        "--outcome",
        "--output",
        "--params",
        "--protocol",
        "--reason",
        "--record",
        "--saved",
        "--server",
        "--since",
        "--speed",
        "--timeout",
        "--tool",
        "--transport",
        "--trust",
        "--until",
        "-H",
        "-e",
        "-o",
    }
)
"""Every option, of any command, that takes a value: the first pass must not mistake the value for a command."""
