"""Headless commands of mcp-tui against a real server, each in a process and a home of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.registry import ENVIRONMENT, Server

ENDS_WITHIN = 60.0  # seconds; only to tell a hang from a slow machine

ECHOED = "still there?"

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended: its exit status and what it printed."""

    status: int
    out: str
    err: str

    def events(self, *names: str) -> list[Event]:
        """The events of those names, all without names, in order."""
        made: list[Event] = [json.loads(line) for line in self.out.splitlines()]
        return [event for event in made if not names or event["event"] in names]

    @property
    def outcome(self) -> Event:
        """The outcome, which has to be the last line."""
        last = self.events()[-1]
        assert last["event"] == "outcome", last
        return last


def environment(home: Path) -> dict[str, str]:
    """The environment of a command, whose files all stay below `home`."""
    ours = {
        name: value
        for name, value in ENVIRONMENT.items()
        if not name.startswith(("MCP_TUI_", "XDG_")) and not name.lower().endswith("_proxy")
    }
    return {**ours, "HOME": str(home), "NO_PROXY": "127.0.0.1,localhost"}


def argv(*words: str, on: str | Sequence[str]) -> tuple[str, ...]:
    """The command line of a command; `on` is a URL, or the command line of a server."""
    server = (on,) if isinstance(on, str) else ("--", *on)
    return (sys.executable, "-m", "mcp_tui", *words, *server)


def mcp_tui(*words: str, on: str | Sequence[str]) -> Ran:
    """Run a command to its end."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            argv(*words, on=on),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ENDS_WITHIN,
            env=environment(Path(home)),
        )
    return Ran(done.returncode, done.stdout, done.stderr)


def echo(server: Server) -> tuple[str, ...]:
    """A call of the server's quick tool; `ECHOED` stands in what comes back."""
    return "call", "echo", f"{'message' if server.name == 'everything' else 'text'}={ECHOED}"
