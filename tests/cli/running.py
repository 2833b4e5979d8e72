"""The command ``mcp-tui`` as a process of its own, and what it printed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from mcp_tui.cli.output import Exit
from tests.forking import Forked, Piped
from tests.waiting import HANG

MCP_TUI: Final = (sys.executable, "-m", "mcp_tui")
SERVERS: Final = Path(__file__).parents[1] / "servers"
MODERN: Final = "2026-07-28"
HANDSHAKE: Final = "2025-11-25"


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended."""

    status: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Every line of stdout, each of which is one JSON object as ``docs/reference/json.md`` says."""
        made = [json.loads(line, parse_constant=_refuse) for line in self.out.splitlines()]
        for each in made:
            event_schema(each["event"]).validate(each)
        return made

    @property
    def outcome(self) -> dict[str, Any]:
        """The last line, which is the outcome."""
        last = self.events[-1]
        assert last["event"] == "outcome"
        return last

    def of(self, event: str) -> list[dict[str, Any]]:
        return [each for each in self.events if each["event"] == event]

    def sentence(self, status: Exit, *words: str, stderr: Sequence[str] = ()) -> None:
        """Assert that the command was refused as the contract says: its status, one sentence, nothing on stdout.

        ``stderr`` are the lines of the server's below it.
        """
        assert self.status == status, self
        assert self.out == ""
        assert "Traceback" not in self.err
        lines = self.err.splitlines()
        assert lines[1:] == [f"  {line}" for line in stderr], self.err
        assert lines[0].startswith("mcp-tui"), self.err
        for word in words:
            assert word in lines[0], self.err


@cache
def events_schema() -> dict[str, Any]:
    """The JSON Schema of all events."""
    return json.loads((SERVERS.parents[1] / "docs" / "events.schema.json").read_text(encoding="utf-8"))


@cache
def event_schema(event: str) -> jsonschema_rs.Draft202012Validator:
    """The validator of the events of a name."""
    return jsonschema_rs.Draft202012Validator({**events_schema(), "oneOf": [{"$ref": f"#/$defs/{event}"}]})


def _refuse(text: str) -> None:
    raise AssertionError(f"{text} is not JSON")


_STARTING: Final = ("LC_ALL", "PYTHONPATH", "PYTHONUTF8")
"""What Python looks at when it starts: a command with these is a process of its own from the beginning."""


def run(*words: str, input: str | bytes = "", cwd: Path | None = None, **env: str) -> Ran:
    """Run a command to its end."""
    given = input if isinstance(input, bytes) else input.encode()
    if not env.keys().isdisjoint(_STARTING):
        whole = {**os.environ, **env}
        done = subprocess.run(
            [*MCP_TUI, *words], input=given, capture_output=True, timeout=HANG, env=whole, check=False
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
    reading, writing = os.pipe()
    os.write(writing, given)
    os.close(writing)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        files = [reading, out.fileno(), err.fileno()]
        command = Forked("command", [*words], str(cwd or Path.cwd()), {**os.environ, **env}, files)
        os.close(reading)
        try:
            status = command.wait(HANG)
        except TimeoutError:
            os.kill(command.pid, signal.SIGKILL)
            raise
        out.seek(0)
        err.seek(0)
        return Ran(status, out.read().decode(), err.read().decode())


async def running(*words: str) -> Ran:
    """The same, beside others."""
    return await asyncio.to_thread(run, *words)


class Command:
    """A command that runs, read line by line."""

    def __init__(self, *words: str, stdout: int = -1) -> None:
        self.process = Piped("command", words, os.environ, out=stdout)
        self.process.stdin.close()
        self.lines: list[dict[str, Any]] = []

    def until(self, event: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))
            if self.lines[-1]["event"] == event:
                return self.lines[-1]
        raise AssertionError(f"no {event} in {self.lines}: {self.process.communicate()}")

    def end(self) -> tuple[int, str]:
        """Wait for the end; the exit status and stderr."""
        out, err = self.process.communicate(timeout=HANG)
        self.lines += [json.loads(line) for line in (out or b"").splitlines()]
        for each in self.lines:
            event_schema(each["event"]).validate(each)
        assert b"Traceback" not in err, err.decode()
        return self.process.wait(), err.decode()


@contextlib.asynccontextmanager
async def demo_over_http(log: Path | None, **env: str) -> AsyncGenerator[str]:
    """The demo server over HTTP; gives its URL."""
    options = () if log is None else ("--log", str(log))
    server = await asyncio.to_thread(
        Piped, "command", ["demo", "--http", "0", *options], {**os.environ, **env}
    )
    assert server.stdout is not None
    try:
        async with asyncio.timeout(HANG):
            line = (await asyncio.to_thread(server.stdout.readline)).decode()
        yield line[line.index("http") :].strip()
    finally:
        server.send_signal(signal.SIGTERM)
        await asyncio.to_thread(server.communicate)


def logged(log: Path) -> list[dict[str, Any]]:
    """What the demo server wrote into its log."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def scripted(mode: str, *arguments: str) -> Sequence[str]:
    """The words that name a server of ``cli_server.py``."""
    return ("--", sys.executable, "-S", str(SERVERS / "cli_server.py"), mode, *arguments)
