"""The start of a tap over stdio: the server runs before anything is imported that this does not need.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os

from mcp_tui.config.tap_words import command_start
from mcp_tui.tap.recorder_process import RecorderProcess
from mcp_tui.transport import guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class StartedServer:
    """A server that its guard is starting, and our ends of the pipes to both."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.path = find(command[0])
        streams = [os.pipe() for _ in range(3)]
        (its_requests, self.requests), (self.reports, its_reports) = os.pipe(), os.pipe()
        self.guard = os.fork()
        if self.guard == 0:
            try:
                # The signals of the client's terminal are for the relay to pass on: the guard has to outlive them.
                os.setsid()
                for number, (reader, writer) in enumerate(streams):
                    os.dup2(writer if number else reader, number)
                    os.close(reader)
                    os.close(writer)
                os.close(self.requests)  # when nobody has it any more, the guard ends the server
                os.close(self.reports)
                guard.run(its_requests, self.path, command, os.environb, its_reports)
            finally:
                os._exit(0)
        for each in (its_requests, its_reports, streams[0][0], streams[1][1], streams[2][1]):
            os.close(each)
        self.stdin, self.stdout, self.stderr = streams[0][1], streams[1][0], streams[2][0]


def find(program: str) -> str:
    """Returns the path of a program, as ``execvp`` finds it; to import ``shutil`` for that takes too long."""
    if "/" in program:
        return program
    for folder in os.get_exec_path():
        path = os.path.join(folder, program)  # noqa: PTH118 - pathlib is a costly import
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    return program


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
