"""A server of a tap over stdio that is starting, behind its guard.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os

from mcp_tui.transport import guard


class StartedServer:
    """A server that its guard is starting, and this process's ends of the pipes to both."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.path = find(command[0])
        streams = [os.pipe() for _ in range(3)]
        (its_requests, self.requests), (self.reports, its_reports) = os.pipe(), os.pipe()
        self.guard = os.fork()
        if self.guard == 0:
            try:
                # The relay passes on the signals of the client's terminal, and the guard has to survive them.
                os.setsid()
                for number, (reader, writer) in enumerate(streams):
                    os.dup2(writer if number else reader, number)
                    os.close(reader)
                    os.close(writer)
                os.close(self.requests)  # The guard ends the server when this pipe is closed everywhere.
                os.close(self.reports)
                guard.run(its_requests, self.path, command, os.environb, its_reports)
            finally:
                os._exit(0)
        for each in (its_requests, its_reports, streams[0][0], streams[1][1], streams[2][1]):
            os.close(each)
        self.stdin, self.stdout, self.stderr = streams[0][1], streams[1][0], streams[2][0]


def find(program: str) -> str:
    """Returns the path of a program as ``execvp`` finds it. To import ``shutil`` for that takes too long."""
    if "/" in program:
        return program
    for folder in os.get_exec_path():
        path = os.path.join(folder, program)  # noqa: PTH118 - pathlib is a costly import
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    return program
