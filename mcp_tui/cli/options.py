"""The options of the commands, and the table of the commands themselves: each option and each command is one entry.

The module that runs a command is loaded when the command is asked for.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, Final


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


def speed(text: str) -> float | None:
    """How many times as fast as it happened; ``None`` for all at once."""
    if text == "max":
        return None
    value = number(text.removesuffix("x"))
    if not value:
        message = "it would never move; give 1, 4 or max"
        raise argparse.ArgumentTypeError(message)
    return value


class Option:
    """An option: its names, the name of its value (none for a switch), its help, and what else argparse takes."""

    def __init__(self, names: str, value: str, does: str | None, **more: Any) -> None:
        self.names = names.split()
        self.takes_value = bool(value)
        kind = {"metavar": value} if value and "choices" not in more else {}
        self.how: dict[str, Any] = {**(kind if value else {"action": "store_true"}), "help": does, **more}


class OptionGroup:
    """Options that stand under a title in the help; without a title they are the command's own."""

    def __init__(self, title: str, *options: Option) -> None:
        self.title = title
        self.options = options


def _own(*options: Option) -> OptionGroup:
    return OptionGroup("", *options)


_CONFIG: Final = Option("--config", "FILE", "the config file to look in")
_ARGS: Final = Option("--args", "JSON|@FILE|-", "all arguments at once, from a file or stdin")
JSON: Final = _own(Option("--json", "", "JSON for programs"))
VERSION: Final = _own(Option("--version", "", "print the version"))

_LIMITS: Final = (
    OptionGroup(
        "limits (seconds; 0 = none)",
        Option("--connect-timeout", "S", "to start, probe and shake hands (30)", type=number),
        Option("--timeout", "S", "idle limit of a request; progress re-arms it (60)", type=number),
        Option("--max-timeout", "S", "limit that nothing re-arms (600)", type=number),
        Option("--max-message", "MB", "cap of one message (128)", type=number),
    ),
    OptionGroup("journal", Option("--no-journal", "", "keep nothing")),
)
"""What goes before a setting; ``None`` where it is not given."""

CONNECTING: Final = (
    OptionGroup(
        "server",
        Option("--server", "NAME", "a server from a config file"),
        _CONFIG,
        Option("--demo", "", "the demo server that ships with mcp-tui"),
        Option("-e", "KEY=VALUE", "environment of a stdio server", dest="env", action="append", default=[]),
        Option("--cwd", "DIR", "folder of a stdio server"),
        Option("-H", "'Name: value'", "a header for HTTP", dest="headers", action="append", default=[]),
        Option("--transport", "T", None, choices=["auto", "stdio", "http", "sse"], default="auto"),
        Option("--protocol", "auto|REVISION", "default: newest first, then falling back", default="auto"),
        Option("--inherit-env", "", "the whole environment for a stdio server"),
        Option("--insecure", "", "no TLS verification"),
    ),
    *_LIMITS,
    OptionGroup("recording", Option("--record", "FILE", "also write a recording to FILE")),
)
"""The options of every command that connects."""

_CANCELLING: Final = OptionGroup(
    "cancelling",
    Option("--cancel-after", "S", "cancel S seconds after the request was written", type=number),
    Option("--reason", "TEXT", "why; sent to the server where the protocol has a place for it"),
    Option("--linger", "S", "listen on for what still arrives (1 after a cancel, else 0)", type=number),
)

_SAVED: Final = Option("--saved", "NAME", "run a saved call; NAME=VALUE goes before what was saved")

_PROBE: Final = (
    OptionGroup(
        "what",
        Option("--list", "", "list the rules; needs no server"),
        Option("--tool", "NAME", "the tool to cancel; default: a slow, harmless one that reports progress"),
        Option("--args", "JSON|@FILE|-", "all arguments of the tool at once, from a file or stdin"),
        Option(
            "--heartbeat",
            "FILE",
            "the tool writes to FILE while it works; detects whether it stopped",
        ),
        Option("--strict", "", "also fail (exit 9) on broken SHOULDs"),
    ),
    OptionGroup(
        "reports",
        Option("--junit", "FILE", "also write JUnit XML, for CI"),
        Option("--markdown", "FILE", "also write Markdown, for an issue or a pull request"),
        Option("--badge", "FILE", "also write the JSON that badge services read (shields.io endpoint)"),
    ),
)

_LOG: Final = (
    OptionGroup(
        "which",
        Option("--server", "TEXT", "of servers with this in their name, command line or URL"),
        Option("--tool", "NAME", "of a tool, a prompt, a resource or a method"),
        Option("--outcome", "X", "silent, late, late_result, still_progressing, …; several with commas"),
        Option("--cause", "X", "user, timeout, max_timeout, shutdown, parent; several with commas"),
        Option("--since", "WHEN", "from then on: 2h, 3d, or a date and time as in 2026-11-21T10:30"),
        Option("--until", "WHEN", "up to then"),
        Option("--limit", "N", "the newest N (1000 as text; 0 = all of them)", type=whole),
    ),
    OptionGroup(
        "how",
        Option("--sums", "", "how often each tool had each outcome"),
        Option("--sessions", "", "the sessions instead of their cancellations"),
        Option("--csv", "", "CSV, with a header"),
    ),
)

EXPORTS: Final = ("jsonl", "har", "markdown", "csv")
"""The forms that a session can be put into."""

_EXPORT: Final = _own(
    Option("--format", "F", "the form that is wanted", choices=EXPORTS, required=True),
    Option("--id", "N", "one request alone"),
    Option("--cancellations", "", "the requests alone that were cancelled"),
    Option("-o --output", "FILE", "write to FILE (for you alone) instead of stdout"),
)

_SPEED: Final = Option(
    "--speed",
    "N|max",
    "play from the start, N times as fast as it happened; max, the default, shows the end at once",
    type=speed,
)

_SETTINGS: Final = _own(
    Option("--example", "", "print a settings file with every default, commented"),
    Option("--keys", "", "print what has a key, for the [keys] of that file"),
)

_SERVERS: Final = _own(
    Option("--config", "FILE", "the config file to look in, instead of the usual places"),
    Option("--trust", "NAME", "show what a project's server would start, and agree to it"),
    Option("--distrust", "NAME", "withdraw that again"),
    Option("--yes", "", "agree without being asked, for scripts"),
)

_DEMO: Final = _own(
    Option("--http", "PORT", "serve http://127.0.0.1:PORT/mcp instead of stdio", type=whole),
    Option("--log", "FILE", "write what was received, and when, as JSON lines"),
)


@dataclass(frozen=True, slots=True)
class Spec:
    """A subcommand: the module that runs it, its words, what it does, and its own options.

    ``connects``: it takes a server and the options for it. ``prints``: it takes ``--json``.
    """

    module: str
    words: str
    does: str
    groups: tuple[OptionGroup, ...] = ()
    connects: bool = True
    prints: bool = True

    def options(self) -> tuple[OptionGroup, ...]:
        """Everything that the command takes."""
        return (
            *self.groups,
            *((JSON,) if self.prints else ()),
            *(CONNECTING if self.connects else ()),
            VERSION,
        )


_PAIRS: Final = "[NAME=VALUE…]"
_FROM_JOURNAL: Final = "[SESSION|FILE|last]"

COMMANDS: Final = {
    "call": Spec(
        "call",
        f"TOOL {_PAIRS}",
        "call a tool, cancel it, see what comes of it",
        (_CANCELLING, _own(_ARGS, _SAVED)),
    ),
    "request": Spec(
        "call",
        "METHOD",
        "send any request",
        (_CANCELLING, _own(Option("--params", "JSON|@FILE|-", "the params of the request"))),
    ),
    "read": Spec("call", "URI", "read a resource", (_CANCELLING,)),
    "prompt": Spec("call", f"NAME {_PAIRS}", "get a prompt", (_CANCELLING, _own(_ARGS))),
    "tools": Spec("info", "", "list the tools, every page"),
    "resources": Spec("info", "", "list the resources, every page"),
    "templates": Spec("info", "", "list the resource templates, every page"),
    "prompts": Spec("info", "", "list the prompts, every page"),
    "info": Spec("info", "", "connect; print transport, revision, server, capabilities"),
    "ping": Spec(
        "info",
        "",
        "measure round trips",
        (_own(Option("--count", "N", "round trips (4)", type=whole, default=4)),),
    ),
    "probe": Spec("probe", _PAIRS, "run the cancellation probe: does the server stop when told to?", _PROBE),
    "log": Spec("log", _FROM_JOURNAL, "tell what was cancelled, and what came of it", _LOG, connects=False),
    "export": Spec(
        "export",
        "SESSION|FILE|last",
        "put a session into another form",
        (_EXPORT,),
        connects=False,
        prints=False,
    ),
    "config": Spec(
        "config",
        "",
        "tell where settings, themes and journals are, and what is in force",
        (_SETTINGS, *_LIMITS),
        connects=False,
    ),
    "replay": Spec(
        "workbench",
        "FILE|SESSION|last",
        "open a recording in the workbench, read-only",
        (_own(_SPEED),),
        connects=False,
        prints=False,
    ),
    "servers": Spec(
        "servers", "", "list the servers that the config files define", (_SERVERS,), connects=False
    ),
    "demo": Spec("demo", "", "run the demo server itself", (_DEMO,), connects=False, prints=False),
}


def options_of(groups: tuple[OptionGroup, ...]) -> list[Option]:
    """The options of groups."""
    return [option for group in groups for option in group.options]


VALUED: Final = frozenset(
    name
    for spec in COMMANDS.values()
    for option in options_of(spec.options())
    if option.takes_value
    for name in option.names
)
"""Every option, of any command, that takes a value: the first pass must not mistake the value for a command."""
