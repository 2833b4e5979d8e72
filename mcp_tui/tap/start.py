"""The start of a tap over stdio: the server runs before anything is imported that this does not need.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os

from mcp_tui.config.tap_words import command_start
from mcp_tui.tap.recorder_process import RecorderProcess
from mcp_tui.tap.started_server import StartedServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def serve(found: dict[str, Any], command: list[str]) -> NoReturn:
    """Runs a tap and leaves this process as the server left its own."""
    try:
        server = StartedServer(command)
        recorder = RecorderProcess("stdio")
        from mcp_tui.tap.relay import Relay, leave  # while the server starts

        relay = Relay(server, recorder, found)
    except OSError as error:
        # Too few open files or processes are allowed. A server that runs is ended by its guard.
        text = f"mcp-tui tap: Cannot start the tap: {error.strerror}. Raise the limit (ulimit -n).\n"
        os.write(2, text.encode())
        os._exit(127)
    leave(relay.run())


# -- the command line ------------------------------------------------------------------------------------------

NUMBER_OPTIONS = ("--timeout", "--max-timeout")
TEXT_OPTIONS = ("--record", "--name")


def options(words: list[str]) -> dict[str, Any] | None:
    """Returns the options of a tap, if they are plainly written; else the whole command line must be read."""
    found: dict[str, Any] = {}
    rest = words[::-1]
    while rest:
        name, equals, value = rest.pop().partition("=")
        if name not in NUMBER_OPTIONS + TEXT_OPTIONS or not (equals or rest):
            return None
        value = value if equals else rest.pop()
        if not equals and value[:1] == "-":
            return None
        key = name[2:].replace("-", "_")
        if name in TEXT_OPTIONS:
            found[key] = value
            continue
        try:
            found[key] = float(value)
        except ValueError:
            return None
        if not 0 <= found[key] < 1e9:
            return None
    return found


def quick(words: list[str]) -> tuple[dict[str, Any], list[str]] | None:
    """Returns options and command of ``tap OPTIONS [--] COMMAND``, without what reads any command line (0.1 s)."""
    if words[:1] != ["tap"]:
        return None
    start = command_start(words[1:]) + 1
    found = options(words[1 : start - (words[start - 1] == "--")]) if start < len(words) else None
    return None if found is None else (found, words[start:])
