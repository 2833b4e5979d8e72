"""The options of the commands, and the table of the commands themselves: each option and each command is one entry.

The module that runs a command is loaded when the command is asked for.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from mcp_tui.protocol.values import frozen


def number(text: str) -> float:
    """A number of seconds, megabytes and the like: finite, from 0 up."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return value


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def speed(text: str) -> float | None:
    """How many times as fast as it happened; ``None`` for all at once."""
    if text == "max":
        return None
    value = number(text.removesuffix("x"))
    if not value:
        raise argparse.ArgumentTypeError("it must be above 0, or max")
    return value


class Option:
    """An option: its names, the name of its value (none for a switch), its help, and what else argparse takes.

    ``many`` is the name of the list of its values, of one that may be given several times.
    """

    def __init__(self, names: str, value: str, does: str, *, many: str = "", **more: Any) -> None:
        self.names = names.split()
        self.takes_value = bool(value)
        kind = {"metavar": value} if value and "choices" not in more else {}
        self.how: dict[str, Any] = {**(kind if value else {"action": "store_true"}), "help": does, **more}
        if many:
            self.how |= {"dest": many, "action": "append", "default": []}


class OptionGroup:
    """Options that stand under a title in the help; without a title they are the command's own."""

    def __init__(self, title: str, *options: Option) -> None:
        self.title = title
        self.options = options


def _own(*options: Option) -> OptionGroup:
    return OptionGroup("", *options)


_CONFIG: Final = Option("--config", "FILE", "read servers from this config file")
_ARGS: Final = Option("--args", "JSON|@FILE|-", "all arguments as a JSON object, also from a file or stdin")
JSON: Final = _own(Option("--json", "", "print JSON"))
VERSION: Final = _own(Option("--version", "", "print the version"))

_LIMITS: Final = (
    OptionGroup(
        "limits (seconds; 0 = none)",
        Option("--connect-timeout", "S", "connect timeout: start, probe, and handshake (30)", type=number),
        Option("--timeout", "S", "idle timeout; progress resets it (60)", type=number),
        Option("--max-timeout", "S", "max timeout; nothing resets it (600)", type=number),
        Option("--max-message", "MB", "maximum message size in MB (128)", type=number),
    ),
    OptionGroup("journal", Option("--no-journal", "", "do not save this session")),
)
"""Options that override a setting; ``None`` where one is not given."""

CONNECTING: Final = (
    OptionGroup(
        "server",
        Option("--server", "NAME", "a server from a config file"),
        _CONFIG,
        Option("--demo", "", "the demo server that ships with mcp-tui"),
        Option("-e", "KEY=VALUE", "set an environment variable of a stdio server", many="env"),
        Option("--cwd", "DIR", "working directory of a stdio server"),
        Option("-H", "'Name: value'", "send an HTTP header", many="headers"),
        Option(
            "--transport",
            "T",
            "transport (default: auto)",
            choices=["auto", "stdio", "http", "sse"],
            default="auto",
        ),
        Option(
            "--protocol",
            "auto|REVISION",
            "protocol version; auto (default) starts with the newest and falls back",
            default="auto",
        ),
        Option("--inherit-env", "", "pass the full environment to a stdio server"),
        Option("--insecure", "", "do not verify TLS certificates"),
    ),
    *_LIMITS,
    OptionGroup("recording", Option("--record", "FILE", "also write a recording to FILE")),
)
"""The options of every command that connects."""

_CANCELLING: Final = OptionGroup(
    "cancelling",
    Option("--cancel-after", "S", "cancel S seconds after the request was sent", type=number),
    Option("--reason", "TEXT", "reason for the cancel; sent to the server if the protocol allows it"),
    Option(
        "--linger", "S", "seconds to keep listening for late messages (1 after a cancel, else 0)", type=number
    ),
)

_SAVED: Final = Option("--saved", "NAME", "run a saved call; NAME=VALUE overrides its saved arguments")

_PROBE: Final = (
    OptionGroup(
        "what",
        Option("--list", "", "list the rules (no server needed)"),
        Option("--tool", "NAME", "tool to cancel (default: a slow, harmless tool that reports progress)"),
        Option(
            "--args", "JSON|@FILE|-", "all arguments of the tool as a JSON object, also from a file or stdin"
        ),
        Option("--heartbeat", "FILE", "the tool writes to FILE while it works; detects whether it stopped"),
        Option("--strict", "", "also fail (exit 9) on broken SHOULDs"),
    ),
    OptionGroup(
        "reports",
        Option("--junit", "FILE", "also write JUnit XML, for CI"),
        Option("--markdown", "FILE", "also write Markdown, for an issue or a pull request"),
        Option("--badge", "FILE", "also write badge JSON (shields.io endpoint)"),
    ),
)

_LOG: Final = (
    OptionGroup(
        "which",
        Option("--server", "TEXT", "only servers with TEXT in their name, command line, or URL"),
        Option("--tool", "NAME", "only this tool, prompt, resource, or method"),
        Option("--outcome", "X", "no_reply, late, late_result, still_progressing, …; several with commas"),
        Option(
            "--cause",
            "X",
            "only these causes (comma-separated): user, timeout, max_timeout, shutdown, parent",
        ),
        Option("--since", "WHEN", "not before WHEN: 2h, 3d, or a date such as 2026-11-21T10:30"),
        Option("--until", "WHEN", "not after WHEN"),
        Option("--limit", "N", "newest N only (1000 as text; 0 = all)", type=whole),
        Option("--internal", "", "also what mcp-tui itself cancelled: on quitting, probing, connecting"),
    ),
    OptionGroup(
        "how",
        Option("--sums", "", "count the outcomes of each tool"),
        Option("--sessions", "", "list sessions instead of cancellations"),
        Option("--csv", "", "print CSV with a header row"),
    ),
)

EXPORTS: Final = ("jsonl", "har", "markdown", "csv")
"""The formats that a session can be exported to."""

_EXPORT: Final = _own(
    Option("--format", "F", "output format", choices=EXPORTS, required=True),
    Option("--id", "N", "only this request"),
    Option("--cancellations", "", "only cancelled requests"),
    Option("-o --output", "FILE", "write to FILE (readable only by you) instead of stdout"),
)

_SPEED: Final = Option(
    "--speed", "N|max", "play from the start at N times the speed; max (default) jumps to the end", type=speed
)

_SETTINGS: Final = _own(
    Option("--example", "", "print a settings file with every default, commented"),
    Option("--keys", "", "list the names for the [keys] section of that file"),
)

_SERVERS: Final = _own(
    Option("--config", "FILE", "read only this config file"),
    Option("--trust", "NAME", "show what a project's server would start, and approve it"),
    Option("--distrust", "NAME", "withdraw the approval"),
    Option("--yes", "", "approve without asking (for scripts)"),
)

_DEMO: Final = _own(
    Option("--http", "PORT", "serve http://127.0.0.1:PORT/mcp instead of stdio", type=whole),
    Option("--log", "FILE", "log received messages to FILE as JSON lines"),
)


@frozen
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


_SIGN_IN_SERVER: Final = OptionGroup(
    "server",
    Option("--server", "NAME", "a server from a config file"),
    _CONFIG,
    Option("--insecure", "", "do not verify the TLS certificate of the server"),
)

_LOGIN: Final = (
    _own(
        Option("--no-browser", "", "do not open a browser; paste the URL it was redirected to"),
        Option("--scope", "SCOPES", "request these scopes (default: those the server names)"),
    ),
    OptionGroup(
        "a client you registered (its secret is read from MCP_TUI_CLIENT_SECRET)",
        Option("--client-id", "ID", "client id"),
        Option("--issuer", "URL", "authorization server it belongs to; needed with a secret or key"),
        Option("--client-credentials", "", "sign in as the client itself, without a person"),
        Option("--key", "FILE", "private key (PEM) to sign with instead of a secret"),
        Option("--algorithm", "ALG", "signature algorithm of the key (ES256)", default="ES256"),
    ),
    OptionGroup(
        "a JWT you were given (an identity provider's secret is read from MCP_TUI_IDP_CLIENT_SECRET)",
        Option("--assertion", "FILE", "sign in with the JWT in this file, or in a variable: env:NAME"),
        Option("--idp", "URL", "identity provider that turns it into a grant for the server"),
        Option("--idp-client-id", "ID", "client id at the identity provider"),
    ),
    _SIGN_IN_SERVER,
)

PAIRS: Final = "[NAME=VALUE…]"
_FROM_JOURNAL: Final = "[SESSION|FILE|last]"

COMMANDS: Final = {
    "call": Spec(
        "call",
        f"TOOL {PAIRS}",
        "call a tool, cancel it, and see what happens",
        (_CANCELLING, _own(_ARGS, _SAVED)),
    ),
    "request": Spec(
        "call",
        "METHOD",
        "send any request",
        (_CANCELLING, _own(Option("--params", "JSON|@FILE|-", "params of the request as a JSON object"))),
    ),
    "read": Spec("call", "URI", "read a resource", (_CANCELLING,)),
    "prompt": Spec("call", f"NAME {PAIRS}", "get a prompt", (_CANCELLING, _own(_ARGS))),
    "tools": Spec("info", "", "list all tools"),
    "resources": Spec("info", "", "list all resources"),
    "templates": Spec("info", "", "list all resource templates"),
    "prompts": Spec("info", "", "list all prompts"),
    "info": Spec("info", "", "show transport, protocol version, server, and capabilities"),
    "ping": Spec(
        "info",
        "",
        "measure round-trip times",
        (_own(Option("--count", "N", "number of round trips (4)", type=whole, default=4)),),
    ),
    "probe": Spec("probe", PAIRS, "check whether the server stops when a request is cancelled", _PROBE),
    "login": Spec("login", "[URL]", "sign in to a server behind a URL", _LOGIN, connects=False),
    "logout": Spec(
        "login",
        "[URL]",
        "delete the stored sign-in of a server",
        (_own(Option("--all", "", "delete all stored sign-ins")), _SIGN_IN_SERVER),
        connects=False,
        prints=False,
    ),
    "auth": Spec("login", "", "list stored sign-ins", connects=False),
    "log": Spec("log", _FROM_JOURNAL, "list cancellations and their outcomes", _LOG, connects=False),
    "export": Spec(
        "export",
        "SESSION|FILE|last",
        "export a session (markdown, csv, har, …)",
        (_EXPORT,),
        connects=False,
        prints=False,
    ),
    "config": Spec(
        "config", "", "show file locations and active settings", (_SETTINGS, *_LIMITS), connects=False
    ),
    "replay": Spec(
        "workbench",
        "FILE|SESSION|last",
        "open a recording in the workbench (read-only)",
        (_own(_SPEED),),
        connects=False,
        prints=False,
    ),
    "servers": Spec("servers", "", "list servers from config files", (_SERVERS,), connects=False),
    "completion": Spec(
        "completion", "SHELL", "print shell completion (bash, zsh, fish)", connects=False, prints=False
    ),
    "demo": Spec("demo", "", "run the demo server", (_DEMO,), connects=False, prints=False),
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
"""Every option of any command that takes a value: the first pass must not mistake the value for a command."""
