"""Exit statuses. A contract: scripts and CI rely on it."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the exit status of a command means; 0, 3, 4 and 5 as the official Inspector has them.

    A signal is 128 and its number, as shells have it: 130 SIGINT, 143 SIGTERM, 129 SIGHUP, 131 SIGQUIT, and 141 as after
    SIGPIPE.
    """

    COMPLETED = 0
    DEFECT = 1
    USAGE = 2
    UNAUTHORIZED = 3
    UNREACHABLE = 4
    SERVER_ERROR = 5
    TIMED_OUT = 6
    CANCELLED = 7
    LOST = 8
    BROKEN_RULE = 9
    INTERRUPTED = 130
    HUNG_UP = 129
    STDOUT_CLOSED = 141
    QUIT = 131
    TERMINATED = 143


class Failure(Exception):
    """A command cannot go on. The text is one sentence for stderr: what happened, and what to do."""

    def __init__(self, text: str, status: Exit = Exit.USAGE) -> None:
        super().__init__(text)
        self.status = status
