"""The command ``mcp-tui`` as a process of its own, and what it printed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp_tui.cli.status import Exit
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
        """Every line of stdout, each of which is one JSON object."""
        made = [json.loads(line, parse_constant=_refuse) for line in self.out.splitlines()]
        assert all(isinstance(each, dict) for each in made)
        return made

    @property
    def outcome(self) -> dict[str, Any]:
        """The last line, which is the outcome."""
        last = self.events[-1]
        assert last["event"] == "outcome"
        return last

    def of(self, event: str) -> list[dict[str, Any]]:
        return [each for each in self.events if each["event"] == event]

    def sentence(self, status: Exit, *words: str) -> None:
        """Assert that the command was refused as the contract says: its status, one sentence, nothing on stdout."""
        assert self.status == status, self
        assert self.out == ""
        assert "Traceback" not in self.err
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("mcp-tui"), self.err
        for word in words:
            assert word in lines[0], self.err


def _refuse(text: str) -> None:
    raise AssertionError(f"{text} is no JSON")


def run(*words: str, input: str | bytes = "", cwd: Path | None = None, **env: str) -> Ran:
    """Run a command to its end."""
    done = subprocess.run(
        [*MCP_TUI, *words],
        input=input if isinstance(input, bytes) else input.encode(),
        capture_output=True,
        timeout=HANG,
        cwd=cwd,
        env={**os.environ, **env},
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


async def running(*words: str) -> Ran:
    """The same, beside others."""
    process = await asyncio.create_subprocess_exec(
        *MCP_TUI,
        *words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(HANG):
            out, err = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


@contextlib.asynccontextmanager
async def demo_over_http(log: Path | None, **env: str) -> AsyncGenerator[str]:
    """The demo server over HTTP; gives its URL."""
    options = () if log is None else ("--log", str(log))
    process = await asyncio.create_subprocess_exec(
        *MCP_TUI, "demo", "--http", "0", *options, stdout=subprocess.PIPE, env={**os.environ, **env}
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(HANG):
            line = (await process.stdout.readline()).decode()
        yield line[line.index("http") :].strip()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


def logged(log: Path) -> list[dict[str, Any]]:
    """What the demo server wrote into its log."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def scripted(mode: str, *arguments: str) -> Sequence[str]:
    """The words that name a server of ``cli_server.py``."""
    return ("--", sys.executable, "-S", str(SERVERS / "cli_server.py"), mode, *arguments)


def processes(mark: str) -> list[int]:
    """The processes in whose command line a text stands."""
    if sys.platform.startswith("linux"):
        found: list[int] = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
        return found
    words = ["ps", "-axww", "-o", "pid=,command="]
    listing = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listing.splitlines() if mark in line]
