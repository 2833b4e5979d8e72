"""The text of help and man page besides the options: groups of commands, examples, checks, files, and variables.

It is loaded only for help, and to make the documents and the man page.
"""

from __future__ import annotations

from typing import Final

from mcp_tui.cli.options import COMMANDS

GROUPS: Final = {
    "use a server": {
        "call": "call a tool, cancel it, see what happens",
        "read, prompt, request": "read a resource, get a prompt, send anything",
        "tools": "list tools, and what each costs a model",
        "resources, templates, prompts": "list the rest of what it offers",
        "info, ping": "show version and capabilities; measure it",
        "login, logout, auth": "sign in, sign out, list sign-ins",
    },
    "test a server or client": {
        "doctor": "check a server's health, on one page",
        "probe, probe-client": "does a cancel stop it? does a client cancel?",
        "snapshot, check": "lock a catalogue; check it, or recordings",
        "mock, demo": "a server that answers as recorded; the demo",
    },
    "watch other clients": {
        "tap, serve, metrics": "a client's calls, for you, agents, Prometheus",
        "ps, cancel, attach": "list, cancel, or open what is in flight",
    },
    "recordings": {
        "log, export, replay": "list cancellations; convert one; open one",
    },
    "set up": {
        "servers, config, completion": "servers, settings, and shell completion",
    },
}
"""Every command, in groups: the commands of a line, separated by commas, and their purpose."""

FEW_OPTIONS: Final = {
    "--server NAME": "a server in a config file, your editor's too",
    "--demo": "the demo server that ships with mcp-tui",
    "--timeout S": "end calls after S s without progress (60)",
    "-V, --version": "print the version",
    "-h, --help": "show this; after a command, all about it",
}

EXAMPLES: Final[dict[str | None, dict[str, str]]] = {
    None: {
        "mcp-tui --demo": "the workbench: n calls a tool, c cancels it",
        "mcp-tui -- python server.py": "the same on your own server",
        "mcp-tui call add a=2 b=3 --demo": "one call, without a screen",
    },
    "call": {
        'mcp-tui call stubborn seconds=2 --cancel-after 0.5 --reason "too slow" --demo': "",
        """mcp-tui call echo --args '{"text": "hi"}' --json -- python server.py""": "",
    },
    "request": {
        """mcp-tui request prompts/get --params '{"name": "greeting"}' --demo""": "",
    },
    "read": {
        "mcp-tui read demo://story --demo": "",
        "mcp-tui read 'demo://square/{n}' n=7 --demo": "",
    },
    "prompt": {"mcp-tui prompt review 'code=x = 1' --demo": ""},
    "tools": {
        "mcp-tui tools -- python server.py": "",
        "mcp-tui tools --sort cost --demo": "what costs a model most comes first",
        "mcp-tui tools --strict --junit tools.xml --demo": "where rules are broken",
    },
    "resources": {"mcp-tui resources --demo": ""},
    "templates": {"mcp-tui templates --json --demo": ""},
    "prompts": {"mcp-tui prompts --demo": ""},
    "info": {"mcp-tui info http://127.0.0.1:3001/mcp": ""},
    "ping": {"mcp-tui ping --count 10 -- python server.py": ""},
    "probe": {
        "mcp-tui probe --heartbeat work.log -- mcp-tui demo --log work.log": "",
        "mcp-tui probe --list": "all rules",
    },
    "probe-client": {
        "mcp-tui probe-client --each exit -- mcp-tui call {tool} a=1 b=2 -- {server}": "",
        "mcp-tui probe-client --list": "all rules and experiments",
    },
    "check": {
        "mcp-tui check last --fail-on state:failed": "",
        "mcp-tui check --catalogue tools.lock -- python server.py": "",
    },
    "snapshot": {"mcp-tui snapshot -o tools.lock -- python server.py": ""},
    "doctor": {"mcp-tui doctor --junit doctor.xml -- python server.py": ""},
    "login": {"mcp-tui login https://host/mcp": ""},
    "logout": {"mcp-tui logout https://host/mcp": ""},
    "auth": {"mcp-tui auth list": ""},
    "log": {
        "mcp-tui log --since 2h --outcome late": "",
        "mcp-tui log --sums": "how long each tool takes",
    },
    "export": {
        "mcp-tui export last": "its newest request, for an issue",
        "mcp-tui export last --format csv -o requests.csv": "",
    },
    "config": {"mcp-tui config --example": ""},
    "replay": {"mcp-tui replay last": ""},
    "servers": {"mcp-tui servers": ""},
    "completion": {"mcp-tui completion bash": ""},
    "tap": {
        "mcp-tui tap --max-timeout 600 -- python server.py": "in a client's config file",
        "mcp-tui tap install my-server --max-timeout 600": "asks first",
        "mcp-tui tap status": "",
        "mcp-tui tap uninstall my-server": "",
    },
    "serve": {"mcp-tui call running -- mcp-tui serve": "what an agent gets to see"},
    "metrics": {"mcp-tui metrics --listen 127.0.0.1:9464": "until ctrl+c"},
    "ps": {"mcp-tui ps": ""},
    "cancel": {'mcp-tui cancel 7bc6/3 --reason "it hangs"': "a REQUEST as ps lists it"},
    "attach": {"mcp-tui attach 7bc6": "a session as ps lists it"},
    "mock": {"mcp-tui tools -- mcp-tui mock run.jsonl": "or any other client"},
    "demo": {"mcp-tui demo --log work.log": ""},
}
"""The examples of each command, of the workbench for ``None``, with their purposes. The tests run each of them."""

_PAGES: Final = "../reference/commands"

CHECKS: Final = {
    "Does my server work at all? (All in short, tools --strict too)": (
        "doctor",
        "the server",
        f"{_PAGES}/doctor.md",
    ),
    "Will other clients and models accept my tools? Where not?": (
        "tools --strict",
        "the server",
        f"{_PAGES}/tools.md",
    ),
    "Did I break my callers?": (
        "check --catalogue",
        "the server, a lock file by snapshot",
        f"{_PAGES}/check.md#a-catalogue",
    ),
    "Does a tool stop when it is cancelled?": (
        "probe",
        "the server, a slow tool that writes to a file",
        f"{_PAGES}/probe.md",
    ),
    "The same in my test suite?": ("assert_stops_when_cancelled", "pytest", "test-with-pytest.md"),
    "Does a call work, without a broken rule?": ("call --strict", "the server", f"{_PAGES}/call.md"),
    "Was a run fast enough, without errors and late answers?": (
        "check RECORDING",
        "a recording",
        f"{_PAGES}/check.md#recordings",
    ),
    "Does my client cancel, and leave nothing behind?": ("probe-client", "the client", "judge-a-client.md"),
    "Does my client still work, without the server?": ("mock --strict", "a recording", f"{_PAGES}/mock.md"),
}
"""The check for each question: its command, its needs, and its page, as docs/how-to/checks.md links it."""

FILES: Final = {
    "~/.config/mcp-tui/config.toml": "settings; mcp-tui config --example prints all, with their defaults",
    "~/.config/mcp-tui/themes, ~/.config/mcp-tui/saved": "your own themes, and saved calls",
    "~/.local/state/mcp-tui/journal": "recordings of your sessions, without secrets",
    "~/.local/share/mcp-tui": "approved servers of projects, and recently used ones",
    ".mcp.json, .vscode/mcp.json, ~/.cursor/mcp.json, …": "servers; mcp-tui servers lists them and their files",
}
"""The files that matter. ``mcp-tui config`` shows their paths."""

ENVIRONMENT: Final = {
    "MCP_TUI_CONFIG": "the settings file to use",
    "MCP_TUI_STATE": "the folder for recordings and other state",
    "MCP_TUI_TIMEOUT, MCP_TUI_THEME, …": "override a setting; mcp-tui config --example names each",
    "MCP_TUI_CLIENT_SECRET, MCP_TUI_IDP_CLIENT_SECRET": "secrets for mcp-tui login",
    "MCP_TUI_INPUT_NAME": "the answer to the input NAME of a server in a config file",
    "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME": "where the folders above are",
    "NO_COLOR": "no colors",
    "VISUAL, EDITOR, PAGER": "programs for long texts",
}

SEE_ALSO: Final = (
    "The specification: https://modelcontextprotocol.io. Documentation: the folder docs of the project."
)

_LISTS: Final = (
    "The lists are tools, resources, templates, and prompts of a server; servers, ps, log, and auth list."
)

ELSEWHERE: Final = {
    "ls": _LISTS,
    "list": _LISTS,
    "list-tools": "Use mcp-tui tools.",
    "lint": "Use mcp-tui tools --strict.",
    "test": "mcp-tui help checks says which check you need.",
    "sessions": "Use mcp-tui ps for what runs, mcp-tui log --sessions for what was recorded.",
    "kill": "Use mcp-tui cancel SESSION/ID; mcp-tui ps lists what is in flight.",
    "install": "Use mcp-tui tap install NAME.",
    "run": "To start a server: mcp-tui -- python server.py",
}
"""Words that people try as commands, and the place of their meaning."""

_WIDE: Final = 31
"""The width of the left column in the overview."""


def usage(name: str | None) -> str:
    """Returns the usage of a command, or of mcp-tui itself for ``None``."""
    if name is None:
        return "mcp-tui [COMMAND] [OPTIONS] [ARGS] [URL | -- SERVER ARGS…]"
    spec = COMMANDS[name]
    server = "[URL | -- COMMAND ARGS…]" if spec.connects else ""
    return " ".join(filter(None, ("mcp-tui", name, "[OPTIONS]", spec.words, server)))


def overview() -> str:
    """Returns the help of mcp-tui: at most 40 lines of 80 columns."""
    lines = [f"usage: {usage(None)}", "Without COMMAND: the workbench, where you call, watch, and cancel."]
    sections = {**GROUPS, "options": FEW_OPTIONS, "examples": EXAMPLES[None]}
    for title, rows in sections.items():
        lines += ["", f"{title}:", *(f"  {left:<{_WIDE}}  {right}" for left, right in rows.items())]
    return "\n".join(
        [*lines, "", "All about one: mcp-tui COMMAND --help. More: mcp-tui help workbench|checks."]
    )


def examples(name: str | None) -> str:
    """Returns the examples of a command as the end of its help."""
    lines = (f"  {line}{f'  # {text}' if text else ''}" for line, text in EXAMPLES[name].items())
    return "\n".join(["examples:", *lines])


def checks() -> str:
    """Returns the table of the checks by question."""
    lines = (f"  {asked}\n      {check} (needs {needs})" for asked, (check, needs, _) in CHECKS.items())
    return "\n".join(["Which check do I need?", "", *lines, "", "Start with doctor."])
