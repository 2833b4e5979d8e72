"""The tables of the options and the commands: one entry for each.

The parser, help, completion, and man page are made from these tables. The module of a command is loaded only to run
it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from mcp_tui.protocol.http_access import host_of, origin_of


def _unfit(text: str) -> Exception:
    """Returns the error about a value as argparse expects it; argparse is loaded only then."""
    # Imported late: only for errors.
    from argparse import ArgumentTypeError

    return ArgumentTypeError(text)


def number(text: str) -> float:
    """Parses a number of seconds or megabytes: finite, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise _unfit(f"{text!r} is not a number of 0 or more")
    return value


def whole(text: str) -> int:
    """Parses a whole number."""
    try:
        return int(text)
    except ValueError:
        raise _unfit(f"{text!r} is not a whole number") from None


def counted(text: str) -> tuple[int, str]:
    """Parses a number and a filter."""
    count, _, filter = text.partition(" ")
    if not count.isdecimal():
        raise _unfit(f"{text!r} does not begin with a number")
    return int(count), filter


def speed(text: str) -> float | None:
    """Parses a speed factor; ``None`` means as fast as possible."""
    if text == "max":
        return None
    value = number(text.removesuffix("x"))
    if not value:
        raise _unfit("it must be above 0, or max")
    return value


def collector(text: str) -> str:
    """Parses the URL of a collector, or ``env``, and checks that the SDK for it is installed."""
    # Imported late: only for --otlp.
    from importlib.util import find_spec
    from urllib.parse import urlsplit

    try:
        url = urlsplit(text)
        sound = text == "env" or (url.scheme in ("http", "https") and bool(url.hostname))
    except ValueError:
        sound = False
    if not sound:
        # This loads the reader of settings.
        from mcp_tui.journal.masks import mask_url

        raise _unfit(f"{mask_url(text)!r} is not a URL such as http://127.0.0.1:4318")
    try:
        installed = find_spec("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ModuleNotFoundError:
        installed = None
    if installed is None:
        raise _unfit("it needs OpenTelemetry's SDK; install mcp-tui-client[otlp]")
    return text


def allowed_host(text: str) -> str:
    """Parses an additional value of ``Host``: a name, or a name and a port."""
    if host_of(text) is None:
        raise _unfit(f"{text!r} is not a host such as host.docker.internal or tap.example:7000")
    return text


def allowed_origin(text: str) -> str:
    """Parses an additional value of ``Origin``; the final slash, which browsers leave out, is permitted."""
    if text == "null":
        raise _unfit("any website can send the origin null")
    found = origin_of(text) or origin_of(text.removesuffix("/"))
    if found is None:
        raise _unfit(f"{text!r} is not an origin such as https://tap.example or vscode-file://vscode-app")
    return found


class Option:
    """An option: its names, the name of its value (none for a switch), its help, and further arguments of argparse.

    ``many`` is the name of the list of values of an option that may be repeated.
    """

    def __init__(self, names: str, value: str, does: str, *, many: str = "", **more: Any) -> None:
        self.names = names.split()
        long = next((each for each in self.names if each.startswith("--")), self.names[0])
        self.dest = many or long.lstrip("-").replace("-", "_")
        """The name of the parsed value."""
        self.takes_value = bool(value)
        self.how: dict[str, Any] = {"help": does, **more}
        if not value:
            self.how["action"] = "store_true"
        elif "choices" not in more:
            self.how.setdefault("metavar", value)
        if many:
            self.how |= {"dest": many, "action": "append", "default": []}
        self.default: Any = self.how.get("default", None if value else False)


class OptionGroup:
    """Options under a title in the help; options without a title belong to the command."""

    def __init__(self, title: str, *options: Option) -> None:
        self.title = title
        self.options = options


def _own(*options: Option) -> OptionGroup:
    return OptionGroup("", *options)


_SERVER: Final = Option("--server", "NAME", "a server from a config file")
_CONFIG: Final = Option("--config", "FILE", "read servers from this config file")
_CLIENT_CERT: Final = (
    Option("--client-cert", "FILE", "TLS client certificate (PEM)"),
    Option("--client-key", "FILE", "its private key (PEM), if it is in a separate file"),
)
_ARGS: Final = Option("--args", "JSON|@FILE|-", "all arguments as a JSON object, also from a file or stdin")
_RECORD_OPTIONS: Final = (
    Option("--record", "FILE", "also write a recording to FILE (FILE-2, FILE-3, … if it exists)"),
    Option("--keep-secrets", "", "do not redact passwords and tokens in that recording"),
)
_OTLP: Final = Option(
    "--otlp", "URL|env", "send spans, metrics, and logs to the OpenTelemetry collector at URL", type=collector
)
JSON: Final = _own(Option("--json", "", "print JSON"))
VERSION: Final = _own(Option("-V --version", "", "print the version"))

_LIMIT_OPTIONS: Final = (
    OptionGroup(
        "limits (seconds; 0 = none)",
        Option("--connect-timeout", "S", "connect timeout: start, probe, and handshake (30)", type=number),
        Option("--timeout", "S", "idle timeout; progress resets it (60)", type=number),
        Option("--max-timeout", "S", "max timeout; nothing resets it (600)", type=number),
        Option("--max-message", "MB", "maximum message size in MB (128)", type=number),
    ),
    OptionGroup("journal", Option("--no-journal", "", "do not save this session")),
)
"""The options that override a setting; ``None`` if not given."""

TRANSPORTS: Final = ("auto", "stdio", "http", "sse")
_PROTOCOL_HELP: Final = "protocol version; auto (default) starts with the newest and falls back"

CONNECTING: Final = (
    OptionGroup(
        "server",
        _SERVER,
        _CONFIG,
        Option("--demo", "", "the demo server that ships with mcp-tui"),
        Option("-e", "KEY=VALUE", "set an environment variable of a stdio server", many="env"),
        Option("--cwd", "DIR", "working directory of a stdio server"),
        Option("-H", "'Name: value'", "send an HTTP header", many="headers"),
        *_CLIENT_CERT,
        Option("--transport", "T", "transport (default: auto)", choices=TRANSPORTS, default="auto"),
        Option("--protocol", "auto|REVISION", _PROTOCOL_HELP, default="auto"),
        Option("--root", "DIR", "offer DIR to the server as a root", many="roots"),
        Option("--inherit-env", "", "pass the full environment to a stdio server"),
        Option("--insecure", "", "do not verify TLS certificates"),
    ),
    *_LIMIT_OPTIONS,
    OptionGroup("recording", *_RECORD_OPTIONS, _OTLP),
)
"""The options of all commands that connect."""

_WATCH: Final = _own(
    Option(
        "--watch", "PATH", "restart a stdio server when its files change (default: its sources)", nargs="*"
    )
)

_LINGER_HELP: Final = "seconds to keep listening for late messages (1 after a cancel, else 0)"
_CANCELLING: Final = OptionGroup(
    "cancelling",
    Option("--cancel-after", "S", "cancel S seconds after the request was sent", type=number),
    Option("--reason", "TEXT", "reason for the cancel; sent to the server if the protocol allows it"),
    Option("--linger", "S", _LINGER_HELP, type=number),
)

_RESULT_OPTIONS: Final = _own(
    Option("--session", "NAME", "use the connection of a running workbench: its name in ps, or its server's"),
    Option("-o --output", "FILE", "write the data of the result to FILE (its text if it has no data)"),
)
_CALL_OPTIONS: Final = (
    _CANCELLING,
    _RESULT_OPTIONS,
    _own(
        _ARGS,
        Option("--saved", "NAME", "run a saved call; NAME=VALUE overrides its saved arguments"),
        Option("--strict", "", "exit with 9 if a side broke a rule, or stderr reports an error"),
    ),
)
_PARAMS: Final = _own(Option("--params", "JSON|@FILE|-", "params of the request as a JSON object"))
_LINT: Final = _own(
    Option(
        "--sort", "BY", "the largest first: definitions, or recorded results", choices=("cost", "results")
    ),
    Option("--strict", "", "check compatibility: rule by rule, exit 9 if one is broken"),
)
_COUNT: Final = _own(Option("--count", "N", "number of round trips (4)", type=whole, default=4))

REPORTS: Final = (
    Option("--junit", "FILE", "also write JUnit XML, for CI"),
    Option("--sarif", "FILE", "also write SARIF, for code scanning"),
    Option("--markdown", "FILE", "also write Markdown, for an issue or a pull request"),
    Option("--badge", "FILE", "also write badge JSON (shields.io endpoint)"),
)
"""The reports of the commands that judge; only the probe makes a badge."""

_REPORTS: Final = OptionGroup("reports", *REPORTS[:-1])
_SHOULDS: Final = Option("--strict", "", "also fail (exit 9) on broken SHOULDs")
_TOOL_ARGS_HELP: Final = "all arguments of the tool as a JSON object, also from a file or stdin"
_PROBE_OPTIONS: Final = (
    OptionGroup(
        "what",
        Option("--list", "", "list the rules (no server needed)"),
        Option("--tool", "NAME", "tool to cancel (default: a slow, harmless tool that reports progress)"),
        Option("--args", "JSON|@FILE|-", _TOOL_ARGS_HELP),
        Option(
            "--before",
            "TOOL",
            "call TOOL first on every connection, to prepare what the slow tool needs (repeatable)",
            many="before",
            nargs="+",
            metavar=("TOOL", "NAME=VALUE"),
        ),
        Option(
            "--time", "S", "seconds for the whole run (10 times the tool's duration plus 30)", type=number
        ),
        Option("--heartbeat", "FILE", "the tool writes to FILE while it works; detects whether it stopped"),
        _SHOULDS,
    ),
    OptionGroup("reports", *REPORTS),
)

_PROBE_CLIENT: Final = (
    OptionGroup(
        "what",
        Option("--list", "", "list the rules and the experiments (no client needed)"),
        Option("--each", "NAMES", "only these experiments, with commas"),
        Option("--gave-up", "REGEX", "what the client writes when it abandons a call"),
        Option("--http", "", "serve the client over HTTP; its command gets the URL"),
        Option(
            "--protocol", "auto|REVISION", "a server of this version alone (auto: of all)", default="auto"
        ),
        Option("--timeout", "S", "idle timeout that the client is to set, in seconds (2)", type=number),
        Option("--max-timeout", "S", "max timeout that it is to set (none)", type=number),
        Option("--time", "S", "seconds for the whole run", type=number),
        _SHOULDS,
    ),
    OptionGroup(
        "a program with a window",
        Option("--by-hand", "", "say step by step what to do in the program (without a command)"),
        Option("--restart", "", "start over instead of resuming an interrupted run"),
    ),
    OptionGroup("reports", *REPORTS),
)

_RUN_OF: Final = Option("--client", "C", "the last run of client C (name or process id): all its sessions")

_CHECK: Final = (
    OptionGroup(
        "recordings",
        Option(
            "--fail-on",
            "FILTER",
            "fail if a request matches FILTER, as in the workbench: state:late, name:slow (repeatable)",
            many="fail_on",
        ),
        Option("--expect", "FILTER", "fail if no request matches FILTER (repeatable)", many="expect"),
        Option(
            "--at-most", "N FILTER", "fail if more than N requests match FILTER", many="at_most", type=counted
        ),
        Option("--at-least", "N FILTER", "fail if fewer than N do", many="at_least", type=counted),
        Option("--within", "S", "--expect: every match must have ended within S seconds", type=number),
        Option("--internal", "", "also the requests that mcp-tui made for itself"),
        _RUN_OF,
    ),
    OptionGroup(
        "catalogue (with a server)",
        Option("--catalogue", "LOCK", "fail if the server's catalogue breaks callers of LOCK, see snapshot"),
        Option("--strict", "", "also fail (exit 9) on risky differences"),
    ),
    _REPORTS,
)

_SNAPSHOT: Final = _own(
    Option("-o --output", "LOCK", "write to LOCK instead of stdout"),
    Option("--no-descriptions", "", "leave out titles and descriptions"),
)

_DOCTOR: Final = (_own(Option("--strict", "", "also fail (exit 9) on warnings")), _REPORTS)

_ONLY_VIA: Final = OptionGroup(
    "on other machines, in containers, of other users",
    Option(
        "--via",
        "COMMAND",
        "mcp-tui there: behind 'ssh build1', or a name of [via] in the settings (repeatable)",
        many="via",
    ),
)
_VIA: Final = OptionGroup(
    _ONLY_VIA.title,
    *_ONLY_VIA.options,
    Option(
        "--via-timeout",
        "S",
        "seconds that each may take to answer (10; 0 = no limit)",
        type=number,
        default=10.0,
    ),
)
_STDIN: Final = Option("--stdin", "", "read further arguments from stdin: one line, a JSON list")

_CAUSE_NAMES: Final = ("user", "timeout", "max_timeout", "shutdown", "parent", "client")
_LOG_OPTIONS: Final = (
    OptionGroup(
        "which",
        Option("--server", "TEXT", "only servers with TEXT in their name, command line, or URL"),
        Option("--client", "C", "only the runs of client C (name or process id)"),
        Option("--tool", "NAME", "only this tool, prompt, resource, or method"),
        Option("--outcome", "X", "no_reply, late, late_result, still_progressing, …; several with commas"),
        Option("--cause", "X", f"only these causes (comma-separated): {', '.join(_CAUSE_NAMES)}"),
        Option("--since", "WHEN", "not before WHEN: 2h, 3d, or a date such as 2026-11-21T10:30"),
        Option("--until", "WHEN", "not after WHEN"),
        Option("--limit", "N", "newest N only (1000 as text; 0 = all)", type=whole),
        Option("--internal", "", "also what mcp-tui itself cancelled: on quitting, probing, connecting"),
    ),
    _VIA,
    OptionGroup(
        "how",
        Option("--sums", "", "per tool: calls, p50, p95, and max of their times, outcomes of cancels"),
        Option("--sessions", "", "list sessions instead of cancellations"),
        Option("--csv", "", "print CSV with a header row"),
        _STDIN,
    ),
)

EXPORTS: Final = ("jsonl", "markdown", "csv", "issue", "otlp")
"""The formats of an exported session."""

_EXPORT: Final = _own(
    Option("--format", "F", "output format (default: issue)", choices=EXPORTS, default="issue"),
    Option("--id", "N", "only this request (issue: the newest by default)"),
    Option("--cancellations", "", "only cancelled requests"),
    _RUN_OF,
    Option("-o --output", "FILE", "write to FILE (readable only by you) instead of stdout"),
)

_SPEED_HELP: Final = "play from the start at N times the speed; max (default) jumps to the end"
_REPLAY: Final = _own(
    Option("--speed", "N|max", _SPEED_HELP, type=speed),
    Option("--follow", "", "stay at the newest event while the session runs (as without --speed)"),
)

_CONFIG_OPTIONS: Final = _own(
    Option("--example", "", "print a settings file with every default, commented"),
    Option("--keys", "", "list the names for the [keys] section of that file"),
)

_SERVERS_OPTIONS: Final = _own(
    Option("--config", "FILE", "read only this config file"),
    Option("--trust", "NAME", "show what a project's server would start, and approve it"),
    Option("--distrust", "NAME", "withdraw the approval"),
    Option("--yes", "", "approve without asking (for scripts)"),
)

_ACCESS: Final = (
    Option(
        "--allow-origin",
        "O",
        "answer pages of this origin, too (repeatable)",
        many="allow_origins",
        type=allowed_origin,
    ),
    Option(
        "--allow-host",
        "H",
        "answer requests to this host name, too (repeatable)",
        many="allow_hosts",
        type=allowed_host,
    ),
)

_METRICS: Final = _own(
    Option(
        "--listen",
        "HOST:PORT",
        "listen here (127.0.0.1:9464; port 0: any free one)",
        default="127.0.0.1:9464",
    )
)
_SERVE: Final = _own(Option("--allow-cancel", "", "offer a tool that cancels requests of other clients"))
_DEMO_OPTIONS: Final = _own(
    Option("--http", "PORT", "serve http://127.0.0.1:PORT/mcp instead of stdio", type=whole),
    *_ACCESS,
    Option("--log", "FILE", "log received messages to FILE as JSON lines"),
    Option("--judge", "SOCKET", "let the judge at SOCKET answer (probe-client --by-hand says so)"),
)

_MOCK: Final = _own(
    Option(
        "--http", "PORT", "serve http://127.0.0.1:PORT/mcp instead of stdio (0: any free port)", type=whole
    ),
    *_ACCESS,
    Option(
        "--speed", "N|max", "N times as fast as recorded (1); max: without delays", type=speed, default=1.0
    ),
    Option("--any", "NAME", "any value matches that of NAME in a request (repeatable)", many="any_of"),
    Option("--nearest", "", "answer unrecorded calls like the closest recorded one of the tool"),
    Option("--strict", "", "answer each recorded call once; exit 9 if any call was refused or is missing"),
    Option("--report", "FILE", "write to FILE, as JSON, what was refused and what was never asked"),
)

TAP: Final = _own(
    Option("--timeout", "S", "idle timeout of each request; progress resets it (none)", type=number),
    Option("--max-timeout", "S", "max timeout of each request; nothing resets it (none)", type=number),
    Option(
        "--once",
        "[=TOOL,…]",
        "send no call again whose outcome is unknown to the client (of these tools, or all unsafe ones)",
    ),
    *_RECORD_OPTIONS,
    _OTLP,
    Option("--name", "N", "name of the server, in ps and in the journal"),
)
_TAP_HTTP: Final = OptionGroup(
    "a server behind a URL",
    Option("--http", "PORT", "the client connects to 127.0.0.1:PORT (0: any free port)", type=whole),
    *_ACCESS,
    *_CLIENT_CERT,
    Option("--insecure", "", "do not verify the TLS certificate of the server"),
)
_PS: Final = _own(
    Option("--watch", "", "refresh every second, until ctrl+c"),
    Option("--flat", "", "one table of all requests, instead of one part per client"),
    Option("--client", "C", "only clients with this name or process id"),
)
_TAP_CONFIG: Final = OptionGroup(
    "in the config files of clients (tap install, uninstall, status)",
    Option("--all", "", "every server of every client"),
    Option(
        "--client",
        "NAME",
        "every server of this client, such as codex or claude; with names, only its servers",
    ),
    Option("--config", "FILE", "look at this file only"),
    Option("--serve", "", "install mcp-tui serve as a server of a client, instead of taps"),
    Option("--allow-cancel", "", "with --serve: the agent may cancel requests of other clients"),
    Option("--yes", "", "write without asking (for scripts)"),
    Option("--json", "", "print the status as JSON"),
)
_CANCEL_OPTIONS: Final = _own(
    Option("--reason", "TEXT", "reason, for the server and the client"),
    Option("--allow", "", "let one call through that is equal to this one, which tap --once refused"),
    _STDIN,
)


class Spec(NamedTuple):
    """A subcommand: its module, its purpose in a few words, its words, and its own options.

    ``connects``: it accepts a server and the options for it. ``prints``: it accepts ``--json``.
    """

    module: str
    does: str
    words: str = ""
    groups: tuple[OptionGroup, ...] = ()
    connects: bool = True
    prints: bool = True

    def options(self) -> tuple[OptionGroup, ...]:
        """Returns all options of the command."""
        printing = (JSON,) if self.prints else ()
        return (*self.groups, *printing, *(CONNECTING if self.connects else ()), VERSION)


_local: Final = partial(Spec, connects=False)
"""A command without a server."""
_silent: Final = partial(_local, prints=False)
"""A command without a server and without a value to print."""

_SIGN_IN_SERVER: Final = OptionGroup(
    "server",
    _SERVER,
    _CONFIG,
    *_CLIENT_CERT,
    Option("--insecure", "", "do not verify the TLS certificate of the server"),
)

_LOGIN: Final = (
    _own(
        Option("--no-browser", "", "do not open a browser; paste the URL it was redirected to"),
        Option("--scope", "SCOPES", "request these scopes (default: those the server names)"),
        Option("--redirect-uri", "URI", "redirect URI of the sign-in, on this machine"),
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
        "a JWT you were given (MCP_TUI_IDP_CLIENT_SECRET: the provider's secret)",
        Option("--assertion", "FILE", "sign in with the JWT in this file, or in a variable: env:NAME"),
        Option("--idp", "URL", "identity provider that turns it into a grant for the server"),
        Option("--idp-client-id", "ID", "client id at the identity provider"),
    ),
    _SIGN_IN_SERVER,
)

_LOGOUT: Final = (_own(Option("--all", "", "delete all stored sign-ins")), _SIGN_IN_SERVER)

PAIRS: Final = "[NAME=VALUE…]"

COMMANDS: Final = {
    "call": Spec(
        "one_request", "call a tool, cancel it, and see what happens", f"TOOL {PAIRS}", _CALL_OPTIONS
    ),
    "request": Spec("one_request", "send any request", "METHOD", (_CANCELLING, _RESULT_OPTIONS, _PARAMS)),
    "read": Spec(
        "one_request",
        "read a resource, or fill in a template",
        f"URI {PAIRS}",
        (_CANCELLING, _RESULT_OPTIONS),
    ),
    "prompt": Spec(
        "one_request", "get a prompt", f"NAME {PAIRS}", (_CANCELLING, _RESULT_OPTIONS, _own(_ARGS))
    ),
    "tools": Spec(
        "info",
        "list all tools, and what each costs a model; --strict checks compatibility",
        groups=(_LINT, _REPORTS),
    ),
    "resources": Spec("info", "list all resources"),
    "templates": Spec("info", "list all resource templates"),
    "prompts": Spec("info", "list all prompts"),
    "info": Spec("info", "show transport, protocol version, server, and capabilities"),
    "ping": Spec("info", "measure round-trip times", groups=(_COUNT,)),
    "probe": Spec(
        "probe_server", "check whether the server stops when a request is cancelled", PAIRS, _PROBE_OPTIONS
    ),
    "probe-client": _local(
        "probe_client",
        "check whether a client cancels what it gives up, and leaves nothing behind",
        "-- COMMAND ARGS…",
        _PROBE_CLIENT,
    ),
    "check": Spec(
        "check",
        "check what recordings show, or a server's catalogue",
        "[FILE|DIR|last …]",
        _CHECK,
    ),
    "snapshot": Spec("snapshot", "write the catalogue to a lock file, for check", groups=(_SNAPSHOT,)),
    "doctor": Spec(
        "doctor",
        "check a server's health: startup, output, lists, tools --strict, ping, shutdown",
        groups=_DOCTOR,
    ),
    "login": _local("login", "sign in to a server behind a URL", "[URL]", _LOGIN),
    "logout": _silent("login", "delete the stored sign-in of a server", "[URL]", _LOGOUT),
    "auth": _local("login", "list stored sign-ins", "list"),
    "log": _local(
        "log_cancellations", "list cancellations and their outcomes", "[SESSION|FILE|last …]", _LOG_OPTIONS
    ),
    "export": _silent(
        "export", "export sessions (markdown, csv, jsonl, …)", "SESSION|FILE|last …", (_EXPORT,)
    ),
    "config": _local(
        "config", "show file locations and active settings", groups=(_CONFIG_OPTIONS, *_LIMIT_OPTIONS)
    ),
    "replay": _silent(
        "open_workbench", "open a recording in the workbench (read-only)", "FILE|SESSION|last", (_REPLAY,)
    ),
    "servers": _local("configured_servers", "list servers from config files", groups=(_SERVERS_OPTIONS,)),
    "completion": _silent("shell_completion", "print shell completion (bash, zsh, fish)", "SHELL"),
    "tap": _silent(
        "tap",
        "watch and cancel the calls of another client",
        "[URL | -- COMMAND ARGS… | install NAME… | uninstall NAME… | status]",
        (TAP, _TAP_HTTP, _TAP_CONFIG),
    ),
    "ps": _local("running_sessions", "list what is in flight in every running session", groups=(_PS, _VIA)),
    "cancel": _local(
        "running_sessions",
        "cancel a request in a running session",
        "[HOST:]SESSION/ID",
        (_CANCEL_OPTIONS, _VIA),
    ),
    "attach": _silent(
        "open_workbench",
        "open a running session, or all of a client, in the workbench",
        "[SESSION|CLIENT]",
        (_ONLY_VIA,),
    ),
    "metrics": _silent("metrics", "answer Prometheus about all running sessions", groups=(_METRICS,)),
    "mock": _silent(
        "mock", "run a server that answers as a recording did", "FILE|DIR|SESSION|last …", (_MOCK,)
    ),
    "serve": _silent(
        "serve", "run an MCP server that shows an agent what is in flight on this machine", "", (_SERVE,)
    ),
    "demo": _silent("demo", "run the demo server", groups=(_DEMO_OPTIONS,)),
}


MOVED: Final = {
    ("mcp-tui probe", "--client"): "mcp-tui probe-client -- COMMAND",
    ("mcp-tui tap", "--install"): "mcp-tui tap install NAME",
    ("mcp-tui tap", "--uninstall"): "mcp-tui tap uninstall NAME",
    ("mcp-tui tap", "--status"): "mcp-tui tap status",
}
"""The replacements of options that existed before the first release."""

STARTING: Final = frozenset({"call", "read", "prompt", *("tools", "resources", "templates", "prompts")})
"""The commands that report no further error once the server and its options are known to be valid."""


SCREENS: Final = ("replay", "attach")
"""The commands that open a screen; the screen controls garbage collection itself."""


def options_of(name: str | None) -> list[Option]:
    """Returns the options of a command, or of the workbench for ``None``."""
    return [option for group in groups_of(name) for option in group.options]


def defaults_of(name: str | None) -> dict[str, Any]:
    """Returns the default value of each option of a command."""
    return {each.dest: each.default for each in options_of(name)}


def groups_of(name: str | None) -> tuple[OptionGroup, ...]:
    """Returns the options of a command in their groups."""
    return (*CONNECTING, _WATCH, VERSION) if name is None else COMMANDS[name].options()


COUNTING: Final = ("--at-most", "--at-least")
"""The options whose value is a number and a filter."""

FILTERING: Final = ("--fail-on", "--expect", *COUNTING)
"""The options whose value is a filter, which may begin with a dash."""

VALUED: Final = frozenset(
    each
    for name in (None, *COMMANDS)
    for option in options_of(name)
    if option.takes_value
    for each in option.names
)
"""Every option of any command with a value: the first pass must not take the value for a command."""
