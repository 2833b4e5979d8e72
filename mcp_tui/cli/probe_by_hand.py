"""``probe-client --by-hand``: a person operates the client by instructions on this terminal."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import textwrap
import time
from typing import Any, Final

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure
from mcp_tui.cli.probe_output import finding_line, reported
from mcp_tui.cli.reports import Reports
from mcp_tui.cli.session import Headless
from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.journal.state_folder import state_folder
from mcp_tui.judge.by_hand import HandJudge
from mcp_tui.judge.client_run import Unstartable
from mcp_tui.probe.report import Finding
from mcp_tui.tap.installation import own_path
from mcp_tui.transport.unreachable import sentence

HOW_TO_RESUME: Final = "Completed steps are saved. Run the same command to resume."


def run(given: Words, made: Reports, **how: Any) -> int:
    """Judges a client that a person operates; returns the exit status. ``how`` has arguments of :class:`Judge`.

    Raises:
        Failure: there is no terminal, or another judge is running.
    """
    if not sys.stdin.isatty():
        raise Failure(
            "--by-hand asks a person, but stdin is not a terminal. "
            "Run it in a terminal, or judge a command: probe-client -- COMMAND."
        )
    return asyncio.run(_run(given, made, how))


async def _run(given: Words, made: Reports, how: dict[str, Any]) -> int:
    command = Headless(given, StdioTarget(command=("by hand",)), time.monotonic())
    judge = HandJudge(
        ("by hand",),
        **how,
        say=lambda text: _say(command, text, dim=text.startswith("  ")),
        on_progress=lambda news: _say(command, finding_line(news) if isinstance(news, Finding) else news),
        folder=state_folder() / "by-hand",
        server=[own_path(), "demo", "--judge"],
        restarts=given.options.restart,
    )
    rest = b""

    def read() -> None:
        nonlocal rest
        data = os.read(sys.stdin.fileno(), 4096)
        if not data:  # ctrl+d, or the terminal closed
            command.stop(Exit.INTERRUPTED)
            asyncio.get_running_loop().remove_reader(sys.stdin)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if judge.trial is not None:
                judge.trial.said(line.decode("utf-8", "replace"))

    asyncio.get_running_loop().add_reader(sys.stdin, read)
    try:
        return await reported(command, made, judge.run(), HOW_TO_RESUME)
    except Unstartable as error:
        raise Failure(sentence(str(error)), Exit.UNREACHABLE) from None
    finally:
        asyncio.get_running_loop().remove_reader(sys.stdin)


def _say(command: Headless, text: str, *, dim: bool = False) -> None:
    """Shows a line, wrapped between words; JSON stays unchanged."""
    if text.startswith("{"):
        lines = text.splitlines()
    else:
        columns = shutil.get_terminal_size().columns
        indent = " " * (len(text) - len(text.lstrip()) + 2)
        lines = textwrap.wrap(text, max(40, columns - 1), subsequent_indent=indent) or [""]
    for line in lines:
        command.printer.say(line, dim=dim)
