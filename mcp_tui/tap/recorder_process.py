"""The start of a tap's recorder, a process of its own, which runs :mod:`mcp_tui.tap.recorder_main`.

It starts at the same time as the server, because a limit must hold from the first line on.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os
import sys

PROGRAM = "import sys; sys.path[:] = {path!r}; from mcp_tui.tap.recorder_main import run; run()"
"""The program of a recorder, which imports from ``path``."""

NAME = "mcp_tui.tap.recorder"
"""The name by which a recorder is found in a list of processes."""


class RecorderProcess:
    """A recorder that is starting, and our ends of the pipes to and from it. ``kind`` is ``stdio`` or ``http``.

    ``session`` is the id of a session over stdio, with which another recorder may go on. The pipe to it does not block.
    """

    def __init__(self, kind: str, session: str = "") -> None:
        self.kind = kind
        self.session = session or os.urandom(6).hex()
        (its_records, self.records), (self.orders, its_orders) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                # Nothing of ours stays open. The guard ends the server when nobody holds its requests any more, and the
                # client waits for the ends of its streams.
                at = 0
                for number in sorted((its_records, its_orders)):
                    os.closerange(at, number)
                    os.set_inheritable(number, True)
                    at = number + 1
                os.closerange(at, 1 << 16)
                for _ in range(3):
                    os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
                if sys.platform == "linux":
                    os.sched_setscheduler(
                        0, os.SCHED_BATCH, os.sched_param(0)
                    )  # does not interrupt what runs
                # Isolated (-I -S): the variables of the environment that decide how a Python starts are the server's, and
                # the folder in which a client starts its servers may be anybody's.
                path, own = import_path()
                words = ["-I", "-S", "-c", PROGRAM.format(path=[*path, *(own,)[own in path :]])]
                words += [NAME, str(its_records), str(its_orders), kind, self.session]
                os.execv(sys.executable, [sys.executable, *words])
            finally:
                os._exit(1)
        os.close(its_records)
        os.close(its_orders)
        os.set_blocking(self.records, False)


def import_path() -> tuple[list[str], str]:
    """Returns the folders of modules, and the one with this package, which may be none of them.

    Neither that of the program, or of the client, is among them, nor those of a PYTHONPATH, which is the server's.
    """
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    foreign = () if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [each for each in sys.path[not sys.flags.safe_path :] if each not in foreign], own
